package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/pkg/baseline"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// Target is the server that is asked about. Fill in the exported fields and give it to [Run]; it can be used once.
type Target struct {
	// Server is the entry, its variables not yet expanded.
	Server config.Server
	// ConfigPath is the file that the entry came from, "" if it came from none.
	ConfigPath string
	// Environment is where the entry's variables get their values from, and what the checks know of the environment.
	Environment config.Environment
	// Dialer opens the sessions. If nil, a zero one does.
	Dialer *session.Dialer
	// OnSecrets is called with the secrets that the expansion met, before anything is started or sent. If nil, they are
	// dropped: whoever writes the report should mask them.
	OnSecrets func([]string)
	// Kills is how often the session is killed on purpose; 0 leaves recovery alone.
	Kills int
	// Soak is how long requests go on while the session is killed at random moments; 0 leaves that out.
	Soak time.Duration
	// Rows says which rows are wanted of the checks that make many. The zero value wants all.
	Rows Selection
	// Baseline is what the server must still offer, nil for anything.
	Baseline *Baseline
	// Capture wants [Target.Captured] to return what the server offers.
	Capture bool
	// LoginLine is the line to type to log in at the server. If empty, mcpctl login with the name of the entry.
	LoginLine string
	// Mask replaces secrets in the texts of the report and of what the server offers. If nil, none is replaced.
	Mask func(string) string

	// Connections is on how many new TCP connections at once the session is tried; 0 means 8.
	Connections int
	// Idle is how long nothing is sent before the session must answer again; 0 leaves that out.
	Idle time.Duration

	// What the checks learn on their way.
	expanded config.Server
	sup      *session.Supervisor
	openOnce sync.Once
	opened   *session.Session
	openErr  error
	lists    map[string]session.List
	listErrs map[string]error
	// repeated tells of the lists that had to be asked for twice, by method.
	repeated map[string]string
	// mute is set when a list that the server does not announce was met with silence.
	mute bool
	// pace is how long the latest harmless request took, 0 while none was made.
	pace time.Duration
	// pingless is set when a ping was not answered as soon as another request was.
	pingless bool
	// hung is the first list method that was not answered within its limit, "" if all were.
	hung string
	// runtime is the question for the version of a stdio server's runtime, nil until it is asked.
	runtime *runtimeQuestion
	// health says what became of the entry's own call.
	health healthState
	// healthTask is set when that call became a task.
	healthTask bool
	chain      *session.Authorization
	// earlier and login are what was kept of a login before the session was opened, and after it; loginErr why that is not known.
	earlier, login session.Login
	loginErr       error
	stream         *listening
	// closed is the session that shutdown.close has ended.
	closed *session.Session
	// captured is what the server offers, nil if it is not known.
	captured baseline.Offer
	drill    drill
	soak     atomic.Pointer[soak]
	spans    []Span
}

// dialer returns the dialer, never nil.
func (t *Target) dialer() *session.Dialer {
	if t.Dialer == nil {
		return &session.Dialer{}
	}
	return t.Dialer
}

// stdio reports whether the server is a child process.
func stdio(t *Target) bool { return t.Server.Command != "" }

// overHTTP reports whether the server is reached by a URL.
func overHTTP(t *Target) bool { return t.Server.URL != "" }

// place is the server's URL without what may be secret.
func (t *Target) place() string {
	u, err := url.Parse(t.expanded.URL)
	if err != nil {
		return "another"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// hostOf is the host in a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return firstWords(raw)
	}
	return u.Host
}

// https reports whether the server is reached over TLS.
func https(t *Target) bool { return strings.HasPrefix(strings.ToLower(t.Server.URL), "https://") }

// open opens the session of the examination, once.
func (t *Target) open(ctx context.Context) (*session.Session, error) {
	t.openOnce.Do(func() {
		t.sup = session.NewSupervisor(t.Dialer, t.expanded)
		if overHTTP(t) {
			t.earlier, t.loginErr = t.dialer().Login(ctx, t.expanded)
		}
		t.opened, t.openErr = t.sup.Session(ctx)
		if overHTTP(t) { // it may have been refreshed, or got by a grant that needs no person
			t.login, t.loginErr = t.dialer().Login(ctx, t.expanded)
		}
		if t.openErr == nil {
			t.spans = append(t.spans, t.opened.Info().Spans...)
		}
	})
	return t.opened, t.openErr
}

// current returns the session that stands, nil if there is none. None is opened for it.
func (t *Target) current(ctx context.Context) *session.Session {
	if t.sup.Status().State != session.StateReady {
		return nil
	}
	s, err := t.sup.Session(ctx)
	if err != nil {
		return nil
	}
	return s
}

// sessions are the first session of the examination and the one that stands now.
func (t *Target) sessions() []*session.Session {
	if t.opened == nil {
		return nil
	}
	list := []*session.Session{t.opened}
	if t.sup.Status().State == session.StateReady {
		if s, err := t.sup.Session(context.Background()); err == nil && s != t.opened {
			list = append(list, s)
		}
	}
	return list
}

// list asks for a list once, through the supervisor, as a command would.
func (t *Target) list(ctx context.Context, method string) (session.List, error) {
	if list, ok := t.lists[method]; ok {
		return list, t.listErrs[method]
	}
	var list session.List
	var n tries
	if t.hung != "" { // one silence is enough to wait for
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, hungPatience, fmt.Errorf("not waited for, as %s was not answered either", t.hung))
		defer cancel()
	}
	begin := time.Now()
	ctx, stop := t.listLimit(ctx)
	defer stop()
	err := t.sup.Do(ctx, session.Request{Name: method, Repeatable: true}, func(ctx context.Context, s *session.Session) (err error) {
		list, err = s.List(ctx, method)
		n.note(err)
		return err
	})
	if t.lists == nil {
		t.lists, t.listErrs, t.repeated = map[string]session.List{}, map[string]error{}, map[string]string{}
	}
	if n.lost {
		t.repeated[method] = n.loss
	}
	t.lists[method], t.listErrs[method] = list, err
	t.timed(method, begin)
	if session.ClassOf(err) == session.ClassTimeout && t.hung == "" {
		t.hung = method
	}
	return list, err
}

// listLimit bounds a list, where nobody has set a limit for requests: the built-in one of minutes is for calls that work. A
// list that takes longer than the opening may is of no use to a client.
func (t *Target) listLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	limits := t.sup.Limits()
	if limits.Request.Source != builtIn || limits.Request.Value <= limits.Connect.Value {
		return ctx, func() {}
	}
	return session.WithLimit(ctx, session.Limit{Name: "connect_timeout", Value: limits.Connect.Value, Source: limits.Connect.Source})
}

// builtIn is the source of a limit that nobody has set.
const builtIn = "built-in"

// hungPatience bounds the wait for a list when another one was met with silence up to its limit.
const hungPatience = 300 * time.Millisecond

// timed notes that something took from begin until now.
func (t *Target) timed(name string, begin time.Time) {
	t.spans = append(t.spans, Span{Name: name, Elapsed: time.Since(begin)})
}

// close ends what the checks have left open, and lets go of it: whoever examines hundreds of servers keeps the targets to
// the end.
func (t *Target) close() {
	if t.stream != nil {
		t.stream.stop()
	}
	if t.sup != nil {
		t.sup.CloseHasty()
	}
	if t.runtime != nil {
		<-t.runtime.done // it is bound
	}
	t.sup, t.opened, t.closed, t.stream, t.lists, t.expanded = nil, nil, nil, nil, nil, config.Server{}
}

// pass, warn and fail make findings.
func pass(message string) Finding { return Finding{Status: Pass, Message: message} }

func warn(message, fix string) Finding { return Finding{Status: Warn, Message: message, Fix: fix} }

func skip(message string) Finding { return Finding{Status: Skip, Message: message} }

// failure turns an error into a finding. A caller's own end is no finding about the server.
func failure(err error) Finding {
	var e *session.Error
	if !errors.As(err, &e) {
		return Finding{Status: Fail, Message: err.Error(), Class: "failed"}
	}
	if e.Class == session.ClassInterrupted {
		return Finding{Status: Unknown, Message: "interrupted", Class: string(e.Class)}
	}
	f := Finding{Status: Fail, Message: e.Message, Fix: cmp.Or(e.Hint, nextStep(e)), Class: class(e)}
	if e.Phase != "" {
		f.Message = e.Phase + ": " + e.Message
	}
	detail := append([]string(nil), e.Evidence...)
	for _, line := range e.StderrTail {
		detail = append(detail, "stderr: "+line)
	}
	f.Detail = strings.Join(detail, "\n")
	f.Data = map[string]any{}
	if e.Status != 0 {
		f.Data["http_status"] = e.Status
	}
	if e.ExitStatus != nil {
		f.Data["exit_status"] = *e.ExitStatus
	}
	if e.Signal != "" {
		f.Data["signal"] = e.Signal
	}
	if e.Symptom != "" {
		f.Data["symptom"] = e.Symptom
	}
	if e.Limit != nil {
		f.Data["limit"] = map[string]any{"name": e.Limit.Name, "value_ms": e.Limit.Value.Milliseconds(), "source": e.Limit.Source}
	}
	return f
}

// nextStep is what to do about a failure that says nothing of it.
func nextStep(e *session.Error) string {
	what := cmp.Or(e.Phase, "the request")
	switch e.Class {
	case session.ClassTimeout:
		return "see what the server does with " + what + ": its log, its load; a slow one needs a higher limit"
	case session.ClassAuth:
		return "give the server a credential that is allowed to do this: --header 'Authorization: Bearer ${TOKEN}'"
	case session.ClassSession:
		return "see why the server drops the session: a restart, an idle limit, several instances without shared sessions"
	case session.ClassBusy:
		return "wait, or ask for a higher rate limit"
	case session.ClassAnswered, session.ClassProtocol, session.ClassConnect, session.ClassUnknownOutcome:
	case session.ClassConfig, session.ClassInterrupted:
		return ""
	}
	return "check the server's own log: it received " + what + " at this moment"
}

// class returns the word for an error's class. An answered error met by a check is the protocol's: no tool was called.
func class(e *session.Error) string {
	if e.Class == session.ClassAnswered {
		return string(session.ClassProtocol)
	}
	return string(e.Class)
}
