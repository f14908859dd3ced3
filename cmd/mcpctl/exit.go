package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpctl/mcpctl/internal/errno"
	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// The exit codes. `mcpctl help exit-codes` explains them.
const (
	codeOK             = 0
	codeFailed         = 1
	codeUsage          = 2
	codeConnect        = 3
	codeAuth           = 4
	codeTool           = 5
	codeTimeout        = 6
	codeUnknownOutcome = 7
	codeInterrupted    = 130
)

// The classes of failures, as JSON documents name them.
const (
	classFailed         = "failed"
	classUsage          = "usage"
	classConfig         = "config"
	classConnect        = "connect"
	classProtocol       = "protocol"
	classSession        = "session"
	classBusy           = "busy"
	classAuth           = "auth"
	classTool           = "tool"
	classTimeout        = "timeout"
	classUnknownOutcome = "unknown-outcome"
	classInterrupted    = "interrupted"
)

// codeOf returns the exit code of a class.
func codeOf(class string) int {
	switch class {
	case classUsage, classConfig:
		return codeUsage
	case classConnect, classProtocol, classSession, classBusy:
		return codeConnect
	case classAuth:
		return codeAuth
	case classTool:
		return codeTool
	case classTimeout:
		return codeTimeout
	case classUnknownOutcome:
		return codeUnknownOutcome
	case classInterrupted:
		return codeInterrupted
	default:
		return codeFailed
	}
}

// usageError is a command line that cannot be carried out as it stands.
type usageError struct {
	message string
	// hints are next steps, one a line: usually the corrected line.
	hints []string
}

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// hint adds a next step.
func (e *usageError) hint(format string, args ...any) *usageError {
	e.hints = append(e.hints, fmt.Sprintf(format, args...))
	return e
}

// ofFlag is what is wrong with the value of a flag.
func ofFlag(flag string, err error) *usageError {
	u := usagef("--%s: %s", flag, err)
	if e, ok := errors.AsType[*pasted.Error](err); ok && e.Example != "" {
		example := "--" + flag + " " + e.Example
		u.hint("%s", strings.TrimPrefix(e.Hint+": "+example, ": "))
	}
	return u
}

// configError is a configuration that does not allow what was asked for.
type configError struct {
	server  string
	message string
	hint    string
	cause   error
}

func (e *configError) Error() string {
	if e.server == "" {
		return e.message
	}
	return e.server + ": " + e.message
}

func (e *configError) Unwrap() error { return e.cause }

// reportedError ends the process with a code when everything has been said already.
type reportedError int

func (e reportedError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// filterError is a --jq filter that failed on the document it got.
type filterError struct{ cause error }

func (e *filterError) Error() string {
	// The messages of jq quote the value that they are about, which may be megabytes.
	const most = 200
	return "--jq: " + render.Cut(render.OneLine(e.cause.Error()), most)
}

func (e *filterError) Unwrap() error { return e.cause }

// serverError is an error that concerns a server and does not know its name.
type serverError struct {
	server string
	cause  error
}

func (e *serverError) Error() string { return e.cause.Error() }
func (e *serverError) Unwrap() error { return e.cause }

// outputError is a failure to write to standard output.
type outputError struct{ cause error }

func (e *outputError) Error() string { return "standard output: " + e.cause.Error() }
func (e *outputError) Unwrap() error { return e.cause }

// isBrokenPipe reports whether err says that nobody reads standard output any more. The pipe to a server's process
// breaks, too, and that is a failure.
func isBrokenPipe(err error) bool {
	var e *outputError
	return errors.As(err, &e) && errno.Is(e, syscall.EPIPE)
}

// failure is an error as the process reports it.
type failure struct {
	errorBody
	code int
	// said is the message as text, with the server and the phase in it.
	said string
	// hints are next steps, one a line.
	hints []string
	// evidence are lines for people below the message, and more those that only -v shows.
	evidence, more []string
	// details are lines below the message that are broken at the width. If there are several things to say, headline takes
	// the place of the message, which holds all of them in one line.
	details  []detail
	headline string
	// reported is set when everything has been said already.
	reported bool
	// login is the line with which a person logs in, if that is what is missing.
	login string
	// loginEnded is set when a login had been begun, and it is what failed.
	loginEnded bool
}

// detail is a line below a message, and how far it is indented.
type detail struct {
	indent, text string
}

// errorDocument is the JSON document of a failure.
type errorDocument struct {
	Version int          `json:"version"`
	Error   errorBody    `json:"error"`
	Session *sessionBody `json:"session,omitempty"`
}

// errorBody is a failure inside a JSON document.
type errorBody struct {
	Class        string            `json:"class"`
	Message      string            `json:"message"`
	Hint         string            `json:"hint,omitempty"`
	Server       string            `json:"server,omitempty"`
	Phase        string            `json:"phase,omitempty"`
	HTTPStatus   int               `json:"http_status,omitempty"`
	RetryAfterMS int64             `json:"retry_after_ms,omitempty"`
	ExitStatus   *int              `json:"exit_status,omitempty"`
	Signal       string            `json:"signal,omitempty"`
	Evidence     []string          `json:"evidence,omitempty"`
	StderrTail   []string          `json:"stderr_tail,omitempty"`
	Limit        *limitBody        `json:"limit,omitempty"`
	Outcome      string            `json:"outcome,omitempty"`
	RPC          *session.RPCError `json:"rpc,omitempty"`
	Task         *taskBody         `json:"task,omitempty"`
	Retryable    bool              `json:"retryable"`
	ExitCode     int               `json:"exit_code"`
}

// limitBody is a limit that ran out.
type limitBody struct {
	Name    string `json:"name"`
	ValueMS int64  `json:"value_ms"`
	Source  string `json:"source"`
}

// classify says what err means for the process: its class, message, hint and exit code. It is the only place that
// knows. It returns false when there is nothing to report. Interrupted is set when somebody wished to stop.
func classify(err error, interrupted bool) (failure, bool) {
	f, failed := classifyBare(err, interrupted)
	var named *serverError
	if errors.As(err, &named) && f.Server == "" {
		f.Server = named.server
	}
	if kept, ok := errors.AsType[*keptError](err); ok {
		f.addHint("what was typed is kept: " + toolargs.Quote(kept.file))
	}
	return f, failed
}

func classifyBare(err error, interrupted bool) (failure, bool) {
	var (
		reported reportedError
		usage    *usageError
		argument *toolargs.UsageError
		wrong    *configError
		unknown  *config.NotFoundError
		unset    *config.UnsetError
		file     *config.Error
		failed   *session.Error
		filter   *filterError
		login    *loginFailedError
	)
	switch {
	case err == nil, isBrokenPipe(err):
		return failure{}, false
	case errors.As(err, &reported):
		return failure{code: int(reported), reported: true}, int(reported) != codeOK
	case errors.As(err, &usage):
		return newFailure(classUsage, usage.Error(), usage.hints...), true
	case errors.As(err, &argument):
		return argumentFailure(argument), true
	case errors.As(err, &unknown):
		return newFailure(classUsage, fmt.Sprintf("no server %q", unknown.Name), unknownHints(unknown)...), true
	case errors.As(err, &failed):
		f := sessionFailure(failed)
		if login, ok := errors.AsType[*loginError](err); ok {
			f.needsLogin(login.line)
		}
		var notSaved *notSavedError
		switch {
		case !errors.As(err, &notSaved) || f.code == codeInterrupted:
		case f.login != "":
			f.hints = nil
			f.addHint("nothing was saved; to save it without contacting it: --no-check; then: " + f.login)
		default:
			f.forgetLogin()
			f.addHint("nothing was saved; to save it anyway: --no-check")
		}
		return f, true
	case errors.As(err, &login):
		return loginFailure(login), true
	case session.Unauthorized("", err) != nil: // a login that no request had begun
		return sessionFailure(session.Unauthorized(serverOf(err), err)), true
	case errors.As(err, &unset):
		return unsetFailure(unset), true
	case errors.As(err, &wrong):
		f := newFailure(classConfig, wrong.Error(), nonEmpty(wrong.hint)...)
		f.Server = wrong.server
		return f, true
	case errors.As(err, &file):
		return fileFailure(err, file), true
	case errors.Is(err, prompt.ErrCancelled):
		return newFailure(classInterrupted, "cancelled: nothing was changed"), true
	case interrupted && errors.Is(err, context.Canceled):
		return newFailure(classInterrupted, "interrupted"), true
	case errors.As(err, &filter):
		return newFailure(classFailed, filter.Error()), true
	default:
		return newFailure(classFailed, err.Error()), true
	}
}

// serverOf returns the name of the server that an error concerns, "" if it does not say.
func serverOf(err error) string {
	if named, ok := errors.AsType[*serverError](err); ok {
		return named.server
	}
	return ""
}

// addHint adds a next step.
func (f *failure) addHint(hint string) {
	f.hints = append(f.hints, hint)
	f.Hint = strings.Join(f.hints, "\n")
}

// needsLogin makes the line with which a person logs in the next step, in place of what else there is to do.
func (f *failure) needsLogin(line string) {
	f.login, f.hints = line, nil
	f.addHint(line)
}

// forgetLogin drops the hints to log in to a server that is not saved, and so cannot be logged in to by its name.
func (f *failure) forgetLogin() {
	f.hints = slices.DeleteFunc(f.hints, func(hint string) bool { return strings.Contains(hint, "mcpctl login ") })
	f.Hint = strings.Join(f.hints, "\n")
}

func newFailure(class, message string, hints ...string) failure {
	code := codeOf(class)
	f := failure{code: code, said: message, hints: hints}
	f.errorBody = errorBody{Class: class, Message: message, Hint: strings.Join(hints, "\n"), ExitCode: code}
	return f
}

// sessionFailure is a failure of a server.
func sessionFailure(e *session.Error) failure {
	class := classOf(e)
	f := newFailure(class, e.Error(), nonEmpty(e.Hint)...)
	f.Message = e.Message
	f.Server, f.Phase = e.Server, e.Phase
	f.HTTPStatus = e.Status
	f.RetryAfterMS = e.RetryAfter.Milliseconds()
	f.ExitStatus, f.Signal = e.ExitStatus, e.Signal
	f.Evidence, f.StderrTail = e.Evidence, e.StderrTail
	f.Outcome = string(e.Outcome)
	f.RPC, f.Task = e.RPC, newTaskBody(e.Task)
	f.Retryable = e.Retryable
	f.loginEnded = loginEnded(e)
	if e.RPC != nil && len(e.RPC.Data) > 0 && string(e.RPC.Data) != "null" {
		f.more = append(f.more, "data: "+compactData(e.RPC.Data))
	}
	if e.Limit != nil {
		f.Limit = &limitBody{Name: e.Limit.Name, ValueMS: e.Limit.Value.Milliseconds(), Source: e.Limit.Source}
	}
	f.evidence = append(f.evidence, e.Evidence...)
	for _, line := range e.StderrTail {
		f.evidence = append(f.evidence, "stderr: "+line)
	}
	return f
}

// loginEnded reports whether a person was asked to log in, or a token was asked for, and that is what failed.
func loginEnded(err error) bool {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Reason == oauth.NeedsLogin {
		return false
	}
	switch e.Step {
	case oauth.StepRegistration, oauth.StepBrowser, oauth.StepCallback, oauth.StepToken, oauth.StepExchange, oauth.StepServerAgain:
		return true
	case oauth.StepChallenge, oauth.StepResource, oauth.StepServer, oauth.StepRefresh, oauth.StepRevocation, oauth.StepStore:
	}
	return false
}

// compactData returns the data of a JSON-RPC error on one line. It may be a page, or a stack of calls.
func compactData(data json.RawMessage) string {
	const most = 2000 // -o json has it all
	var text string
	if json.Unmarshal(data, &text) == nil { // line ends are worth more than quotes
		return render.Cut(render.OneLine(text), most)
	}
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return render.Cut(render.OneLine(string(data)), most)
	}
	return render.Cut(render.OneLine(b.String()), most)
}

// classOf returns the class of a server's failure.
func classOf(e *session.Error) string {
	switch e.Class {
	case session.ClassConfig:
		return classConfig
	case session.ClassConnect:
		return classConnect
	case session.ClassProtocol:
		return classProtocol
	case session.ClassSession:
		return classSession
	case session.ClassBusy:
		return classBusy
	case session.ClassAuth:
		return classAuth
	case session.ClassAnswered:
		switch e.Phase {
		case "tools/call", "resources/read", "prompts/get", "completion/complete", "resources/subscribe", "subscriptions/listen",
			"tasks/get", "tasks/result", "tasks/update", "tasks/cancel":
			return classTool
		}
		return classProtocol
	case session.ClassTimeout:
		return classTimeout
	case session.ClassUnknownOutcome:
		return classUnknownOutcome
	case session.ClassInterrupted:
		return classInterrupted
	}
	return classFailed
}

// fileFailure is something wrong in a configuration. The first mistake is the message; further ones are evidence.
func fileFailure(err error, first *config.Error) failure {
	bare := func(e *config.Error) string {
		b := *e
		b.Hint = ""
		return b.Error()
	}
	f := newFailure(classConfig, bare(first), nonEmpty(first.Hint)...)
	f.Server = first.Server
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, other := range joined.Unwrap() {
			var e *config.Error
			if errors.As(other, &e) && e != first {
				f.evidence = append(f.evidence, e.Error())
			}
		}
		f.Evidence = f.evidence
	}
	return f
}

// unsetFailure is an entry that needs variables which are not set.
func unsetFailure(e *config.UnsetError) failure {
	var places, exports []string
	known := true // all of them are variables
	var outside bool
	for _, v := range e.Vars {
		if v.Kind != config.KindVariable {
			outside = true
			continue
		}
		places = append(places, v.Name+" (in "+v.Place+")")
		if hint := v.Hint(); hint != "" {
			known = false
			exports = append(exports, hint)
			continue
		}
		if export := "export " + v.Name + "=…"; !slices.Contains(exports, export) {
			exports = append(exports, export)
		}
	}
	what := "variable not set"
	switch {
	case !known:
		what = "not known here"
	case len(exports) > 1:
		what = "variables not set"
	}
	message := fmt.Sprintf("%s: %s", what, strings.Join(places, ", "))
	if outside {
		bare := *e
		bare.Server = ""
		message = bare.Error()
	}
	f := newFailure(classConfig, message, exports...)
	f.Server = e.Server
	if e.Server != "" {
		f.said = e.Server + ": " + f.Message
	}
	return f
}

// argumentFailure is an argument of a tool that does not fit.
func argumentFailure(e *toolargs.UsageError) failure {
	var hints []string
	if e.Suggestion != "" {
		hints = append(hints, e.Suggestion)
	}
	f := newFailure(classUsage, e.Error(), hints...)
	if len(e.Problems) == 0 {
		f.detail("  ", e.Help)
		return f
	}
	f.hints = nil
	var messages []string
	for i, p := range e.Problems {
		messages = append(messages, p.Message)
		if i == mostProblems {
			f.detail("  ", fmt.Sprintf("… and %d more", len(e.Problems)-i))
		}
		if i >= mostProblems {
			continue
		}
		f.detail("  ", p.Message)
		f.detail("    ", p.Suggestion)
		f.detail("    ", p.Help)
	}
	what := strings.TrimSuffix(e.Error(), strings.Join(messages, "; "))
	f.headline = fmt.Sprintf("%s%d mistakes in the arguments", what, len(e.Problems))
	return f
}

// mostProblems is how many mistakes are told in lines of their own: nobody mends more at once.
const mostProblems = 6

// detail adds a line below the message, unless it is empty.
func (f *failure) detail(indent, text string) {
	if text != "" {
		f.details = append(f.details, detail{indent, text})
	}
}

// unknownHints says what to type instead of a server's name that the configuration lacks.
func unknownHints(e *config.NotFoundError) []string {
	if len(e.Near) > 0 {
		return []string{"did you mean " + orList(e.Near) + "?"}
	}
	return []string{"mcpctl list shows the servers there are"}
}

// orList returns "a", "a or b", "a, b or c", each in quotes.
func orList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (f failure) body() errorBody { return f.errorBody }

// tailLines is how much evidence is shown unless more is asked for: enough for a cause, short enough to be read.
const tailLines = 6

// text returns the failure as lines for people. The message is broken at the width, if there is one; hints are not,
// because they are often lines to copy.
func (f failure) text(everything bool, width int) string {
	var b strings.Builder
	said := f.said
	if f.headline != "" {
		said = f.headline
	}
	if !everything {
		said = shorter(said)
	}
	const indent = "  " // of the lines that follow
	message := render.Wrap("mcpctl: error: "+oneLine(said), max(0, width-len(indent)), "")
	b.WriteString(strings.ReplaceAll(message, "\n", "\n"+indent) + "\n")
	for _, d := range f.details {
		b.WriteString(render.Wrap(oneLine(d.text), width, d.indent) + "\n")
	}
	evidence := f.evidence
	if cut := len(evidence) - tailLines; cut > 0 && !everything {
		end := max(render.Telling(evidence)+1, tailLines) // what comes behind it is a stack of calls, or less
		evidence = append([]string{"… " + plural(cut, "more line") + " with -v"}, evidence[end-tailLines:end]...)
	}
	if everything {
		evidence = append(slices.Clip(evidence), f.more...)
	}
	for _, line := range evidence {
		line = oneLine(line)
		if !everything {
			line = render.Cut(line, mostEvidence)
		}
		b.WriteString("  " + line + "\n")
	}
	for _, hint := range f.hints {
		for line := range strings.Lines(hint) {
			b.WriteString("mcpctl: hint: " + oneLine(line) + "\n")
		}
	}
	return b.String()
}

// mostEvidence is how many columns of a line of evidence are shown unless more is asked for: servers log whole messages.
const mostEvidence = 500

// mostSaid is how many bytes of a message are for people to read: a screen or so. Servers have sent a megabyte.
const mostSaid = 2000

// shorter returns the beginning of a message that nobody would read to its end.
func shorter(said string) string {
	cut := len(said) - mostSaid
	if cut <= 0 {
		return said
	}
	return strings.ToValidUTF8(said[:mostSaid], "") + fmt.Sprintf("… (%d bytes more with -v)", cut)
}

// oneLine makes text harmless and one line of it, with the spaces that it has: it may be a line to copy.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(iostreams.Sanitize(text)), "\n", " ")
}

// rawDocument is a JSON document whose strings have been masked.
type rawDocument = json.RawMessage

// documentVersion is the version of all JSON documents. Changes only add keys.
const documentVersion = 1

// sessionBody tells in a JSON document of the session that was used.
type sessionBody struct {
	Era             string        `json:"era"`
	ProtocolVersion string        `json:"protocol_version"`
	Recovered       bool          `json:"recovered"`
	Handshakes      int           `json:"handshakes"`
	Recovery        *recoveryBody `json:"recovery,omitempty"`
}

// recoveryBody tells of a replaced session.
type recoveryBody struct {
	Cause     string `json:"cause"`
	ElapsedMS int64  `json:"elapsed_ms"`
	Repeated  bool   `json:"repeated"`
	Reason    string `json:"reason,omitempty"`
}

// sessionBody returns what there is to tell of the session, nil if none was opened.
func (a *app) sessionBody() *sessionBody {
	if a.used == nil {
		return nil
	}
	stats := a.shell.news(a.used.Stats(), a.used)
	if stats.Handshakes == 0 {
		return nil
	}
	b := &sessionBody{
		Era:             string(stats.Info.Era),
		ProtocolVersion: stats.Info.ProtocolVersion,
		Recovered:       stats.Recovered,
		Handshakes:      stats.Handshakes,
	}
	if r := stats.Recovery; r != nil {
		b.Recovery = &recoveryBody{Cause: a.redact.String(r.Cause), ElapsedMS: r.Elapsed.Milliseconds(), Repeated: r.Repeated, Reason: r.Reason}
	}
	return b
}
