package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Dialer opens sessions. The zero value works. It may be used by several goroutines at once.
type Dialer struct {
	// ClientName and ClientVersion are what servers are told about the client. If empty, "mcpctl" and "dev".
	ClientName, ClientVersion string
	// Environ is the environment that children get a part of, "NAME=value" each. If nil, os.Environ().
	Environ []string
	// Logger tells of attempts and their failures. If nil, nothing is logged.
	Logger *slog.Logger
	// Mask hides secrets in what is kept as evidence of a failure, before it is cut to a length. If nil, nothing is hidden.
	Mask func(string) string
	// Kill ends the process groups of all children at once when it is closed. If nil, nothing does.
	Kill <-chan struct{}
	// Trace gets what goes over the wire, in both directions, as lines of text for people, masked by Mask. Each line is one
	// Write at most. If nil, nothing is traced.
	Trace io.Writer

	// OAuth returns what gets authorization for a server, nil for nothing; for the same server always the same. It is not
	// asked for a server whose entry has an Authorization header. At the moment when it asks a person, it calls
	// [LoginBegins]. If nil, no authorization is got.
	OAuth func(config.Server) Authorizer
	// ForLogin gives all limits the floor of a login from the start: whoever uses the dialer begins with one.
	ForLogin bool
	// OnWait is called before a wait of a second or more for a server that is coming up, or busy: how long it will be, and
	// why. Of several that the server did not ask for it is told of the first. It must not block, nor wait for the end of a
	// session or a supervisor (Close). If nil, nobody is told.
	OnWait func(server string, wait time.Duration, why *Error)
	// OnNotification is called with each notification of a server, from one goroutine at a time for a session. It must not
	// block, nor wait for the end of a session or a supervisor (Close). If nil, nobody is told.
	OnNotification func(server string, n Notification)
	// Answers are what servers are answered when they ask something. The zero value offers nothing.
	Answers Answers
	// Listen says whether sessions over HTTP keep the stream open on which servers say what they are not asked, and ask. A
	// call waits until it is open, for a second at most. Without it, only what comes with the answers to requests is noticed.
	Listen Listening
	// LogDir is where the standard error of children is kept, one file for each server; see [LogFile]. It need not exist. If
	// empty, only the last lines are kept, in memory.
	LogDir string

	// NetDial opens the TCP connections to servers and proxies, for those who reach them in a way of their own. If nil, they
	// are opened as by a net.Dialer, but that a host is looked up once for all of some time.
	NetDial func(ctx context.Context, network, address string) (net.Conn, error)

	// CacheDir is where the era, the transport and the tools of servers are remembered, to spare round trips. It need not
	// exist. If empty, nothing is remembered, which is right for questions about a server's health.
	CacheDir string

	completed completions
	lobbies   lobbies
	shared    shared
	traceOnce sync.Once
	trace     *transport.Trace
}

// netDial returns what opens TCP connections.
func (d *Dialer) netDial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if d.NetDial != nil {
		return d.NetDial
	}
	return d.shared.names.DialContext
}

// connTrace returns the trace of the next connection to a server, nil if nothing is traced.
func (d *Dialer) connTrace(server string) *transport.ConnTrace {
	d.traceOnce.Do(func() {
		if d.Trace != nil {
			d.trace = transport.NewTrace(d.Trace, d.Mask)
		}
	})
	return d.trace.Connection(server)
}

const (
	// probeBound and its share of the connect limit bound the question for the modern era: servers that do not know it may
	// be silent. Cold starts answer late, so it is not shorter.
	probeBound = 5 * time.Second
	// acceptBound and its share bound the wait for the acceptance of the initialized notification.
	acceptBound = 3 * time.Second
	boundShare  = 3
	// firstBackoff, maxBackoff and jitter shape the waits between attempts: enough for a server that is starting, and not
	// all clients at the same moment.
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 4 * time.Second
	jitter       = 0.2
	// lastMoment is what is left of the time for the last attempt.
	lastMoment = 50 * time.Millisecond
	// resumptions is how often the SDK resumes a response stream that broke and can be resumed.
	resumptions = 2
	// initializedMethod is the notification that ends the handshake of the legacy era.
	initializedMethod = "notifications/initialized"
	// deleteGrace is how long a failed opening may still try to delete the session that it had begun.
	deleteGrace = 500 * time.Millisecond
)

// Dial opens a session with a server whose variables have been expanded. It goes on as long as the failure can pass by
// itself, at most for the limit "wait", and always within the connect limit. The failure is an [*Error].
func (d *Dialer) Dial(ctx context.Context, server config.Server) (*Session, error) {
	limits := d.limitsFor(server)
	ctx, cancel := WithLimit(ctx, limits.Connect)
	defer cancel()
	until := time.Now().Add(limits.Wait.Value)
	return d.dial(ctx, dialing{server: server, limits: limits, whole: limits.Connect, until: func() time.Time { return until }})
}

// dialing is what an opening is to be like.
type dialing struct {
	server config.Server
	limits Limits
	// whole is the limit of all attempts together, which ends the context.
	whole Limit
	// until is when an attempt that failed is followed by no other. It may be moved meanwhile.
	until func() time.Time
	// report is told of the failures of attempts. If nil, nobody is.
	report func(*Error)
	// known is how the session before was opened, zero if there was none.
	known remembered
}

// dial opens a session. While the server is coming up it tries again; one attempt is bound by the connect limit.
func (d *Dialer) dial(ctx context.Context, to dialing) (*Session, error) {
	server, limits, whole := to.server, to.limits, to.whole
	if err := check(server); err != nil {
		return nil, err
	}
	way, err := d.route(server)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	backoff := firstBackoff
	var noReuse, told, forgotten, broke bool
	mem := d.memory(server)
	for attempt := 1; ; attempt++ {
		o := &opening{d: d, server: server, limits: limits, noReuse: noReuse, memory: mem, route: way, known: to.known}
		s, err := o.bounded(ctx)
		if err == nil {
			s.info.Elapsed = time.Since(begin)
			mem.opened(s.info, o.offer)
			s.memory, s.offer = mem, o.offer
			d.log().LogAttrs(ctx, slog.LevelDebug, "session opened", slog.String("server", server.Name), slog.String("transport", s.info.Transport),
				slog.String("protocol", s.info.ProtocolVersion), slog.Int("attempt", attempt), slog.Duration("elapsed", s.info.Elapsed))
			if forgotten {
				s.info.Warnings = append(s.info.Warnings, Warning{WarnRestart, lostInHandshake})
			}
			if broke {
				s.info.Warnings = append(s.info.Warnings, Warning{WarnReuse, "a connection was closed without an answer when it was used again"})
			}
			if attempt > 1 {
				s.info.Notes = append(s.info.Notes, fmt.Sprintf("the server was ready at attempt %d, after %s", attempt, s.info.Elapsed.Round(time.Millisecond)))
			}
			return s, nil
		}
		if !passes(err) && (err.kind != kindExpired || forgotten) {
			return nil, err
		}
		// A server that forgets a session in the middle of the handshake has restarted, once. One that does it again drops all.
		forgotten = forgotten || err.kind == kindExpired
		if to.report != nil {
			to.report(err)
		}
		to.known = remembered{} // it may have become another
		noReuse = noReuse || err.kind == kindSevered
		if f, ok := errors.AsType[*transport.Fault](err.Err); ok {
			broke = broke || f.Reused
		}
		pause, until := spread(backoff), to.until()
		if left := time.Until(until); left > firstBackoff {
			pause = min(pause, left-lastMoment) // one more attempt at the very end
		}
		if err.RetryAfter > 0 {
			pause, until = max(err.RetryAfter, pause), begin.Add(whole.Value)
		}
		if time.Now().Add(pause).After(until) {
			if err.RetryAfter > 0 {
				err.Hint = fmt.Sprintf("the server asks to wait %s, which is past the limit %s", err.RetryAfter, whole)
			}
			return nil, gaveUp(err, attempt, time.Since(begin), whole)
		}
		d.log().LogAttrs(ctx, slog.LevelDebug, "opening failed, trying again", slog.String("server", server.Name),
			slog.Int("attempt", attempt), slog.Duration("pause", pause), slog.Any("error", err))
		told = d.waits(server.Name, pause, err, told)
		if !sleep(ctx, pause) {
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, classify(evidence{server: server.Name, method: "connect", ctx: context.Cause(ctx), err: err})
			}
			return nil, gaveUp(err, attempt, time.Since(begin), whole)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// lostInHandshake tells of a session that had to be opened twice: once is a restart, always is several instances, or a
// server that drops sessions.
const lostInHandshake = "a session was lost within its handshake, and another was opened"

// passes reports whether the failure of an opening can pass by itself.
func passes(e *Error) bool {
	switch e.kind {
	case kindBusy, kindNoToken:
		return true
	case kindSevered, kindNotSent:
		var f *transport.Fault
		if !errors.As(e.Err, &f) {
			return false
		}
		return f.Kind == transport.KindRefused || f.Kind == transport.KindSevered || f.Kind == transport.KindStatus || proxyMayPass(f)
	case kindProtocol, kindExpired, kindUncertain, kindAuth, kindBroken, kindAnswered, kindTimeout, kindInterrupted, kindConfig:
	}
	return false
}

func gaveUp(e *Error, attempts int, elapsed time.Duration, whole Limit) *Error {
	e.Retryable = true
	if attempts > 1 {
		e.Message = fmt.Sprintf("%s (tried %d times in %s)", e.Message, attempts, elapsed.Round(100*time.Millisecond))
	}
	switch {
	case whole.Name == sessionWait && e.RetryAfter == 0:
		e.Hint = moreTime(whole)
	case e.Hint == "" && e.Status == http.StatusTooManyRequests:
		e.Hint = "the server, or a proxy before it, takes no more requests from here for now: wait, or ask for a higher limit; --wait 2m goes on trying"
	case e.Hint == "":
		e.Hint = "see that the server is running; --wait 30s waits for one that is starting"
	}
	return e
}

// moreTime is what can be done about a server that did not come back in time.
func moreTime(wait Limit) string {
	return fmt.Sprintf("see that the server is running; %s %s gives it more time to come back", wait.Flag(), 2*wait.Value)
}

// noticeable is the least wait that somebody is told of.
const noticeable = time.Second

// waits tells of a wait that is about to begin: of each that the server asks for, and of the first of our own. It returns
// whether somebody has been told.
func (d *Dialer) waits(server string, pause time.Duration, why *Error, told bool) bool {
	if d.OnWait == nil || pause < noticeable || told && why.RetryAfter == 0 {
		return told
	}
	d.OnWait(server, pause, why)
	return true
}

// spread adds jitter.
func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 - jitter + 2*jitter*rand.Float64()))
}

// sleep waits, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *Dialer) log() *slog.Logger {
	if d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger
}

func (d *Dialer) implementation() *mcp.Implementation {
	impl := &mcp.Implementation{Name: "mcpctl", Version: "dev"}
	if d.ClientName != "" {
		impl.Name = d.ClientName
	}
	if d.ClientVersion != "" {
		impl.Version = d.ClientVersion
	}
	return impl
}

func (d *Dialer) environ() []string {
	if d.Environ != nil {
		return d.Environ
	}
	return os.Environ() //nolint:forbidigo // the default of a library that works without being set up
}

// check looks at an entry before anything is started or sent.
func check(server config.Server) *Error {
	bad := func(format string, args ...any) *Error {
		return &Error{Server: server.Name, Phase: "config", Class: ClassConfig, kind: kindConfig, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case server.Protocol != "" && server.Protocol != "auto" && !slices.Contains(mcp.SupportedProtocolVersions(), server.Protocol):
		return bad("unknown protocol version %s; supported are %s", server.Protocol, strings.Join(mcp.SupportedProtocolVersions(), ", "))
	case server.Command == "" && server.URL == "":
		return bad("neither a command nor a URL is given")
	case server.Command != "" && server.URL != "":
		return bad("both a command and a URL are given")
	case server.Command != "":
		return nil
	}
	u, err := url.Parse(server.URL)
	switch {
	case err != nil:
		return bad("the URL cannot be read: %v", errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("the URL must begin with http:// or https://")
	case u.Host == "":
		return bad("the URL names no host")
	case u.User != nil:
		return bad("the URL holds a user name or a password; use --header \"Authorization: …\"")
	}
	return nil
}

// opening is one attempt to open a session.
type opening struct {
	d      *Dialer
	server config.Server
	limits Limits
	route  route
	// noReuse is set when a TCP connection broke in the attempt before.
	noReuse bool
	memory  *memory
	// known is how the session before was opened: a replacement need not ask what the server is.
	known remembered
	// offer is the version that is offered to servers of the legacy era.
	offer string
	// patient is set when the question for the modern era was not answered within its bound.
	patient bool
	// modern is set when the server has said that it speaks the modern era only: its answer is worth a wait.
	modern bool

	mu       sync.Mutex
	spans    []Span
	notes    []string
	warnings []Warning
	// exchange is that of the handshake, and announced are the capabilities in its answer.
	exchange  *transport.Exchange
	announced json.RawMessage
}

// bounded opens a session within the connect limit. One that is dead before anybody used it was not opened.
func (o *opening) bounded(ctx context.Context) (*Session, *Error) {
	ctx, cancel := WithLimit(ctx, o.limits.Connect)
	defer cancel()
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	if dead := s.Dead(); dead != nil {
		s.closeHasty()
		f := &transport.Fault{Kind: transport.KindSevered, Err: dead}
		err := classify(evidence{server: o.server.Name, method: "initialize", state: transport.ExchangeState{Fault: f}, err: dead})
		err.Message = "the session was opened and lost at once: " + err.Message
		return nil, err
	}
	return s, nil
}

// open opens a session as the server is remembered, if it is. When that does not work any more, everything is asked anew.
func (o *opening) open(ctx context.Context) (*Session, *Error) {
	known := o.known
	if known.Era == "" {
		known = o.memory.recall()
	}
	o.offer = legacyVersion
	switch {
	case o.server.Command != "" && known.Era == EraModern && o.pins(""),
		o.server.URL != "" && o.server.Transport == config.TransportAuto && known.Transport == "sse",
		o.server.URL != "" && known.Transport == "http" && known.Era == EraLegacy && o.pins(""):
		within := ctx
		if known.Transport == "sse" { // where that stream was there may be another by now, which is silent
			var cancel context.CancelFunc
			within, cancel = withShare(ctx, probeBound, o.limits.Connect.Value)
			defer cancel()
		}
		s, err := o.openAs(within, known)
		silent := err != nil && within.Err() != nil && ctx.Err() == nil
		if err == nil || !doubtful(err) && !silent {
			return s, err
		}
		o.memory.misled()
		o.note("what was remembered of the server does not hold any more: " + err.Message)
	}
	return o.openAs(ctx, remembered{})
}

// doubtful reports whether the failure of an opening may be the fault of what was remembered.
func doubtful(e *Error) bool {
	switch e.kind {
	case kindProtocol, kindAnswered, kindBroken, kindExpired:
		return true
	case kindNotSent, kindSevered: // of a child: it ended when it was asked for the modern era
		f, ok := errors.AsType[*transport.Fault](e.Err)
		return ok && f.Kind == transport.KindExit
	case kindUncertain, kindBusy, kindAuth, kindNoToken, kindTimeout, kindInterrupted, kindConfig:
	}
	return false
}

// openAs opens a session with what is known of the server.
func (o *opening) openAs(ctx context.Context, known remembered) (*Session, *Error) {
	if o.server.Command != "" {
		return o.openStdio(ctx, known)
	}
	if o.server.Transport == config.TransportSSE || known.Transport == "sse" {
		return o.openSSE(ctx)
	}
	version := o.server.Protocol
	if known.Era == EraLegacy {
		version, o.offer = cmp.Or(known.Offer, legacyVersion), cmp.Or(known.Offer, legacyVersion)
	}
	s, err := o.openHTTP(ctx, version)
	if err != nil && o.patient && !o.modern && wantsModern(err) { // it is slow, and modern
		o.modern = true
		s, err = o.openHTTP(ctx, version)
	}
	if version := offered(err); version != "" && o.pins("") {
		o.askOlder(version, err)
		s, err = o.openHTTP(ctx, version)
	}
	if err == nil || o.server.Transport == config.TransportHTTP || !oldTransport(err) {
		return s, err
	}
	s, second := o.openSSE(ctx)
	if second == nil {
		s.info.Notes = append(s.info.Notes, "the server speaks the older HTTP with SSE transport: "+err.Message)
		return s, nil
	}
	if second.Class == ClassTimeout || second.Class == ClassInterrupted {
		second.Evidence = append(second.Evidence, "as streamable HTTP: "+err.Message)
		return nil, second
	}
	if second.Class == ClassAuth && second.Status == http.StatusUnauthorized { // nobody guards what is not there
		second.Evidence = append(second.Evidence, "as streamable HTTP: "+err.Message)
		return nil, second
	}
	f, ok := errors.AsType[*transport.Fault](second.Err)
	if ok && f.Kind == transport.KindStatus && f.Method == http.MethodPost { // the stream had opened, and named where to POST
		second.Evidence = append(second.Evidence, "as streamable HTTP: "+err.Message)
		if second.Hint == hintPath || second.Hint == "" {
			second.Hint = "the event stream opened, and named this address for POST: see that the server has it, below the path that a proxy gives it, " +
				"and that one process has both, the stream and the POST"
		}
		return nil, second
	}
	err.Evidence = append(err.Evidence, "as HTTP with SSE: "+second.Message)
	if !ok || f.Kind != transport.KindStatus && f.Kind != transport.KindContent {
		err.Message += "; as HTTP with SSE: " + second.Message // it got further there
		err.Hint = cmp.Or(second.Hint, err.Hint)
	}
	return nil, err
}

// pins reports whether the entry leaves the version open, or pins the given one.
func (o *opening) pins(version string) bool {
	p := o.server.Protocol
	return p == version || version == "" && p == "auto"
}

// versionDate is how protocol versions look.
var versionDate = lazily(`\b20\d\d-\d\d-\d\d\b`)

// offered returns the newest protocol version that both sides know, if a server refused the handshake for its version, with
// 400 or an error of JSON-RPC, and named its own; else "".
func offered(e *Error) string {
	if e == nil {
		return ""
	}
	said := e.Message
	if e.RPC != nil {
		said += string(e.RPC.Data)
	}
	switch {
	case e.Phase == "initialize" && e.Status == http.StatusBadRequest:
	case e.Phase == "initialize" && e.RPC != nil && versionWords().MatchString(said):
	case e.Phase == initializedMethod && e.Status == http.StatusBadRequest && versionWords().MatchString(said): // it took the version, and then not the header
	default:
		return ""
	}
	named := versionDate().FindAllString(said, -1)
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < legacyVersion && slices.Contains(named, v) {
			return v
		}
	}
	return ""
}

// askOlder has the next attempt ask for an older version, and tells of it: other clients ask for their newest one only.
func (o *opening) askOlder(version string, why *Error) {
	o.offer = version
	w := Warning{WarnVersion, fmt.Sprintf("the server does not negotiate the version of the protocol, and works with %s: %s", version, why.Message)}
	if !slices.Contains(o.warnings, w) {
		o.warnings = append(o.warnings, w)
	}
}

// oldTransport reports whether the answer to initialize is one that servers of the older transport give. See the MCP
// specification, 2025-11-25, "Transports", "Backwards Compatibility".
func oldTransport(e *Error) bool {
	var f *transport.Fault
	if e.Phase != "initialize" || !errors.As(e.Err, &f) || f.Kind != transport.KindStatus || f.RPCError != nil {
		return false
	}
	switch f.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

func (o *opening) endpoint() *url.URL {
	u, _ := url.Parse(o.server.URL) // checked before
	return u
}

// session returns a session that is not connected yet. What the server says is noticed from the first moment.
func (o *opening) session() *Session {
	s := &Session{
		server: o.server.Name, endpoint: o.server.URL, closed: make(chan struct{}), retired: make(chan struct{}),
		doubted: make(chan struct{}, 1), ask: asking{answers: o.d.Answers}, completed: &o.d.completed,
		lobby: o.d.lobbies.of(o.server),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if tell := o.d.OnNotification; tell != nil {
		s.tell = func(n Notification) { tell(o.server.Name, n) }
	}
	return s
}

// httpOptions are those of a connection to the server.
func (o *opening) httpOptions(legacy bool) transport.HTTPOptions {
	opts := o.wayOptions()
	for name, value := range o.server.Headers {
		opts.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	opts.Legacy, opts.NoReuse, opts.AnyContent = legacy, o.noReuse, o.server.SkipPreflight
	opts.Authorizer, opts.Lost = o.d.authorizer(o.server), saysLostSession
	return opts
}

// wayOptions are those of a connection that takes the server's way, without what the server alone is to see.
func (o *opening) wayOptions() transport.HTTPOptions {
	return transport.HTTPOptions{
		Endpoint: o.endpoint(), Header: http.Header{"User-Agent": {o.d.implementation().Name + "/" + o.d.implementation().Version}},
		Mask: o.d.Mask, TLS: o.route.tls, Proxy: o.route.proxy, ConnectTo: o.route.connectTo, Dial: o.d.netDial(),
		Trace: o.d.connTrace(o.server.Name),
	}
}

func (o *opening) openHTTP(ctx context.Context, version string) (*Session, *Error) {
	s := o.session()
	opts := o.httpOptions(false)
	opts.Notify, opts.OnListen, opts.OnStream, opts.Listen = s.hear, s.listened, s.streamed, o.d.listen()
	opts.Unattended = s.unattended
	h := transport.NewHTTP(opts)
	s.http = h
	t := &mcp.StreamableClientTransport{
		Endpoint: o.server.URL, HTTPClient: h.Client(), DisableStandaloneSSE: !opts.Listen, MaxRetries: resumptions,
	}
	if version == "auto" {
		version = ""
	}
	// The SDK's own clean-up after a failure is not bound by the context: the kill switch is.
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(deleteGrace, h.Close) })
	err := o.connect(ctx, s, t, version, "http")
	if !stop() && err == nil {
		err = classify(evidence{server: o.server.Name, method: "initialize", ctx: ended(ctx)})
	}
	if err != nil {
		s.deleteAbandoned(ctx, "")
		h.Close()
		if s.sdk != nil {
			_ = s.sdk.Close() // it was opened, and is not wanted: its goroutines end
		}
		return nil, err
	}
	s.deleteAbandoned(ctx, s.ID()) // of the question for the era
	return s, nil
}

func (o *opening) openSSE(ctx context.Context) (*Session, *Error) {
	s := o.session()
	opts := o.httpOptions(true)
	opts.Notify = s.hear
	h := transport.NewHTTP(opts)
	// The stream lives as long as the context that it was opened with, so that must not be the opening's.
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.http, s.stream = h, cancel
	stop := context.AfterFunc(ctx, cancel)
	t := &streamTransport{Transport: &mcp.SSEClientTransport{Endpoint: o.server.URL, HTTPClient: h.Client(), MaxEventSize: transport.MaxMessage}, ctx: streamCtx}
	version := o.server.Protocol
	if version == "" || version == "auto" || version >= modernVersion {
		version = legacyVersion // the transport is older than the modern era
	}
	err := o.connect(ctx, s, t, version, "sse")
	if !stop() && err == nil {
		err = classify(evidence{server: o.server.Name, method: "initialize", ctx: ended(ctx)})
	}
	if err != nil {
		if err.kind == kindTimeout {
			o.explainSilence(err, h)
		}
		cancel()
		h.Close()
		return nil, err
	}
	if prefix := h.Prefix(); prefix != "" {
		s.info.Warnings = append(s.info.Warnings, Warning{WarnPrefix, fmt.Sprintf("the server announces an address without %s, where it is: a proxy cuts it off, and the server does not know", prefix)})
	}
	return s, nil
}

// streamTransport connects under a context of its own.
type streamTransport struct {
	mcp.Transport
	ctx context.Context //nolint:containedctx // the life of the stream, not of one call
}

// Connect implements the SDK's Transport.
func (t *streamTransport) Connect(context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(t.ctx) //nolint:contextcheck // that is what the type is for
	if err != nil {
		return nil, err
	}
	return &postConn{conn}, nil
}

// postConn keeps the SDK from giving the connection up when one POST fails: each message is a request of its own, and
// what matters to the others is the stream. The SDK does the same on its newer transport.
type postConn struct{ mcp.Connection }

// Write implements the SDK's Connection.
func (c *postConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if err == nil {
		return nil
	}
	if err == io.EOF { //nolint:errorlint // bare, it says that the stream has ended and nothing was sent; a POST's own is wrapped
		return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
	}
	return fmt.Errorf("%w: %w", errRejected, err)
}

// errRejected is recognised by the SDK, by its code, as the failure of one message.
var errRejected = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

func (o *opening) openStdio(ctx context.Context, known remembered) (*Session, *Error) {
	version := o.server.Protocol
	switch {
	case known.Era == EraModern:
		version = ""
	case o.pins(""):
		// Servers exist that end, or say nothing, when asked for the modern era first.
		version = legacyVersion
	}
	s, err := o.startChild(ctx, version)
	if err != nil && version == legacyVersion && o.server.Protocol != legacyVersion && wantsModern(err) {
		o.modern = true
		return o.startChild(ctx, "")
	}
	if version := offered(err); version != "" && o.pins("") {
		o.askOlder(version, err)
		return o.startChild(ctx, version)
	}
	return s, err
}

// wantsModern reports whether a server refused a handshake because it speaks only the modern era: it says so, or does
// not know the method.
func wantsModern(e *Error) bool {
	return e.RPC != nil && e.Phase == "initialize" &&
		(e.RPC.Code == mcp.CodeUnsupportedProtocolVersion || e.RPC.Code == codeMethodNotFound ||
			strings.Contains(string(e.RPC.Data), modernVersion))
}

func (o *opening) startChild(ctx context.Context, version string) (*Session, *Error) {
	command, err := childCommand(o.server, o.d.environ())
	if err != nil {
		return nil, err.failure(o.server.Name)
	}
	command.Mask, command.Trace, command.Log = o.d.Mask, o.d.connTrace(o.server.Name), LogFile(o.d.LogDir, o.server.Name)
	s := o.session()
	command.Notify = s.hear
	begin := time.Now()
	child, startErr := transport.StartChild(command)
	if startErr != nil {
		return nil, o.notStarted(command, startErr)
	}
	o.span("start", time.Since(begin))
	s.child = child
	if o.d.Kill != nil {
		go func() {
			select {
			case <-o.d.Kill:
				child.Kill()
			case <-child.Gone():
			}
		}()
	}
	if err := o.connect(ctx, s, child, version, "stdio"); err != nil {
		if err.kind == kindTimeout {
			describeChild(err, child)
		}
		child.Stop(ctx, transport.HastyGrace)
		if len(err.StderrTail) == 0 {
			err.StderrTail = child.Stderr()
		}
		if len(err.StderrTail) >= transport.StderrLines && command.Log != "" {
			err.Evidence = append(err.Evidence, "all of its standard error is in "+command.Log)
		}
		// What it said in place of an answer tells more than what is known of the wait.
		switch n := child.Noise(); {
		case n.Lines == 1:
			err.Evidence = slices.Insert(err.Evidence, 0, fmt.Sprintf("line %d of standard output is not MCP: %s", n.Number, transport.Quote(n.First)))
		case n.Lines > 1:
			err.Evidence = slices.Insert(err.Evidence, 0, fmt.Sprintf("%d lines of standard output are not MCP; line %d is %s", n.Lines, n.Number, transport.Quote(n.First)))
		}
		o.explainChild(err, child, command)
		return nil, err
	}
	return s, nil
}

// notStarted says why the system did not start a command that was found.
func (o *opening) notStarted(c transport.Command, err error) *Error {
	e := &Error{Server: o.server.Name, Phase: "start", Class: ClassConnect, kind: kindConfig, Message: err.Error(), Err: err}
	if why, _ := inspect(c.Path, c.Env, c.Dir, thisHost()); why != nil {
		e.Message, e.Hint, e.Evidence = why.message, why.hint, append(why.evidence, "the system says: "+err.Error())
	} else if errors.Is(err, syscall.EACCES) {
		e.Hint = "see whether its permissions, those of its directories, and the file system allow to run it: ls -l, mount"
	}
	return e
}

// firstWords cuts a line of a server to what fits two lines of a terminal.
func firstWords(s string) string {
	const most = 140
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// connect does the handshake over a transport and completes the session.
func (o *opening) connect(ctx context.Context, s *Session, t mcp.Transport, version, kind string) *Error {
	s.client = mcp.NewClient(o.d.implementation(), &mcp.ClientOptions{
		Capabilities:   o.d.Answers.capabilities(),
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // Session.Raw does that
		Logger:         slog.New(slog.DiscardHandler),
	})
	s.client.AddSendingMiddleware(o.middleware)
	s.client.AddReceivingMiddleware(s.receiving)
	ctx, ex := transport.WithExchange(ctx)
	o.exchange, o.announced = ex, nil
	cs, err := s.client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if s.http != nil {
		o.mu.Lock()
		o.spans = slices.Concat(s.http.Spans(), o.spans)
		o.mu.Unlock()
	}
	if err != nil {
		st := ex.State()
		var f *transport.Fault
		if errors.As(err, &f) && (st.Fault == nil || st.Answered) {
			// A notification's fault, or the stream's of the older transport: it belongs to no request.
			st.Fault, st.Answered = f, false
		}
		switch {
		case st.Fault != nil:
		case s.child != nil && errors.Is(err, mcp.ErrConnectionClosed):
			st.Fault = s.child.Fault() // the child ended before the SDK wrote anything
		case kind == "sse" && st.Error == nil && ctx.Err() == nil && s.http.EndErr() != nil:
			// The stream ended between two messages of the handshake: to the SDK that is an end of input.
			st.Fault, st.Answered = &transport.Fault{Kind: transport.KindSevered, Written: st.Written, Err: s.http.EndErr()}, false
		}
		e := classify(evidence{server: o.server.Name, method: o.phase(st, err), state: st, err: err, ctx: ended(ctx)})
		o.explain(ctx, e)
		if s.http != nil {
			o.explainClosed(ctx, s.http, e)
		}
		return e
	}
	s.sdk = cs
	s.info = infoOf(cs.InitializeResult(), kind)
	s.info.Announced = o.announced
	if s.http != nil {
		if target := s.http.Redirected(); target != "" {
			o.warn(WarnRedirect, "the server redirects to "+target+": use that address")
		}
	}
	o.mu.Lock()
	s.info.Spans, s.info.Notes, s.info.Warnings = o.spans, o.notes, o.warnings
	o.mu.Unlock()
	if !o.pins("") && !o.pins(s.info.ProtocolVersion) {
		return &Error{ // the caller ends what was opened
			Server: o.server.Name, Phase: "initialize", Class: ClassProtocol, kind: kindProtocol,
			Message: fmt.Sprintf("the server speaks protocol %s, and %s is wanted", s.info.ProtocolVersion, o.server.Protocol),
			Hint:    "leave --protocol (the key protocol) out, or set it to the server's version",
		}
	}
	return nil
}

// phase names the step that an opening failed in.
func (o *opening) phase(st transport.ExchangeState, err error) string {
	if strings.Contains(err.Error(), strconv.Quote(initializedMethod)) {
		return initializedMethod
	}
	switch {
	case st.Method != "":
		return st.Method
	case o.server.Command != "": // it ended before the request was written, or right after: nobody can tell the two apart
		return "initialize"
	}
	return "connect"
}

// middleware bounds the steps of the handshake that may be met with silence, and times them.
func (o *opening) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "server/discover":
			if o.modern || o.server.Protocol >= modernVersion && o.server.Protocol < "a" { // nothing else will do
				defer o.timed(method, time.Now())
				defer o.noteAnnounced()
				return next(ctx, method, req)
			}
			bounded, cancel := withShare(ctx, probeBound, o.limits.Connect.Value)
			defer cancel()
			defer o.timed(method, time.Now())
			res, err := next(bounded, method, req)
			o.noteAnnounced()
			o.patient = o.patient || err != nil && bounded.Err() != nil && ctx.Err() == nil
			return res, err
		case "initialize":
			defer o.timed(method, time.Now())
			defer o.noteAnnounced()
			defer o.noteMissing()
		case "tools/call", tasksGet, tasksUpdate, tasksCancel:
			announceTasks(ctx, method, req)
		case initializedMethod:
			defer o.timed(method, time.Now())
			bounded, cancel := withShare(ctx, acceptBound, o.limits.Connect.Value)
			defer cancel()
			res, err := next(bounded, method, req)
			if err != nil && bounded.Err() != nil && ctx.Err() == nil {
				o.warn(WarnUnaccepted, "the server did not answer the POST of notifications/initialized; taken as accepted")
				return res, nil
			}
			return res, err
		case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read":
			res, err := next(ctx, method, req)
			forget(res)
			if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
				list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return t == nil || !hasHeaders(t.InputSchema) })
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}

// noteAnnounced keeps the capabilities in the answer to a step of the handshake.
func (o *opening) noteAnnounced() {
	var res struct {
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if json.Unmarshal(o.exchange.State().Result, &res) == nil {
		o.announced = res.Capabilities
	}
}

// noteMissing warns of members that have to be in the result of initialize, and are not: other clients refuse it.
func (o *opening) noteMissing() {
	result := o.exchange.State().Result
	if result == nil {
		return
	}
	var missing []string
	for _, path := range [][]string{{"capabilities"}, {"serverInfo"}, {"serverInfo", "name"}, {"serverInfo", "version"}} {
		value := result
		for _, key := range path {
			value = rawjson.Get(value, key)
		}
		name := strings.Join(path, ".")
		within := slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(name, m+".") })
		if (len(value) == 0 || string(value) == "null") && !within {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		o.warn(WarnIncomplete, "the result of initialize lacks "+strings.Join(missing, " and "))
	}
}

// hasHeaders reports whether a schema names parameters that are sent as headers, too: for their sake alone the SDK has to know
// a tool. It takes the schemas of all others apart once more, which would be a third of the memory that a call needs; what
// is shown and checked here is what the server sent, byte for byte. See the MCP specification, 2026-07-28, "Streamable HTTP".
func hasHeaders(schema any) bool {
	switch s := schema.(type) {
	case map[string]any:
		for key, value := range s {
			if key == "x-mcp-header" || hasHeaders(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(s, hasHeaders)
	}
	return false
}

// forget makes the SDK ask again each time: a list from its cache says nothing about the server's health.
func forget(res mcp.Result) {
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		if r != nil {
			r.TTLMs = 0
		}
	case *mcp.ListResourcesResult:
		if r != nil {
			r.TTLMs = 0
		}
	case *mcp.ListResourceTemplatesResult:
		if r != nil {
			r.TTLMs = 0
		}
	case *mcp.ListPromptsResult:
		if r != nil {
			r.TTLMs = 0
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			r.TTLMs = 0
		}
	}
}

func (o *opening) timed(method string, begin time.Time) { o.span(method, time.Since(begin)) }

func (o *opening) span(name string, elapsed time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans = append(o.spans, Span{Name: name, Elapsed: elapsed})
}

func (o *opening) warn(kind WarningKind, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.warnings = append(o.warnings, Warning{kind, text})
}

func (o *opening) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notes = append(o.notes, text)
}

func infoOf(res *mcp.InitializeResult, kind string) Info {
	info := Info{Transport: kind, Era: EraLegacy, Capabilities: &mcp.ServerCapabilities{}}
	if res == nil {
		return info
	}
	info.ProtocolVersion, info.Instructions = res.ProtocolVersion, res.Instructions
	if res.ProtocolVersion >= modernVersion {
		info.Era = EraModern
	}
	if res.ServerInfo != nil {
		info.ServerName, info.ServerTitle, info.ServerVersion = res.ServerInfo.Name, res.ServerInfo.Title, res.ServerInfo.Version
	}
	if res.Capabilities != nil {
		info.Capabilities = res.Capabilities
	}
	return info
}
