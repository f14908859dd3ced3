package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Era is one of the two kinds of MCP: with a handshake and sessions, or without.
type Era string

// The eras.
const (
	// EraLegacy is protocol versions 2024-11-05 to 2025-11-25: handshake, sessions, ping.
	EraLegacy Era = "legacy"
	// EraModern is protocol version 2026-07-28: no handshake, no sessions.
	EraModern Era = "modern"
)

// modernVersion is the first protocol version of [EraModern].
const modernVersion = "2026-07-28"

// legacyVersion is the newest protocol version of [EraLegacy].
const legacyVersion = "2025-11-25"

// Span is one stretch of the time that an opening took: "dns", "tcp", "tls", "start", or the name of a method.
type Span = transport.Span

// Info says what an opening found out.
type Info struct {
	// Generation counts the connections of one server, from 1.
	Generation int
	// Transport is "http", "sse" or "stdio".
	Transport string
	Era       Era
	// ProtocolVersion is the version that both sides agreed on.
	ProtocolVersion string
	// ServerName, ServerTitle and ServerVersion are what the server calls itself; empty when it does not.
	ServerName, ServerTitle, ServerVersion string
	Instructions                           string
	// Capabilities are what the server announced, never nil.
	Capabilities *mcp.ServerCapabilities
	// Announced are the same byte for byte, with what the SDK does not know. Nil if the server announced nothing.
	Announced json.RawMessage
	// Spans tell where the time of the opening went, in order; Elapsed is all of it.
	Spans   []Span
	Elapsed time.Duration
	// Notes tell how it went, where that was not the straight way, one sentence each.
	Notes []string
	// Warnings tell what is wrong with the server and did not stop the opening.
	Warnings []Warning
}

// WarningKind says what a [Warning] is about.
type WarningKind string

// The kinds of warnings.
const (
	// WarnRedirect means that the server redirects to another address of its origin.
	WarnRedirect WarningKind = "redirect"
	// WarnUnaccepted means that the notification which ends the handshake was not answered.
	WarnUnaccepted WarningKind = "unaccepted"
	// WarnPrefix means that the server announces an address without the path of the proxy before it.
	WarnPrefix WarningKind = "prefix"
	// WarnVersion means that the server refuses a newer version of the protocol where it has to answer with its own.
	WarnVersion WarningKind = "version"
	// WarnReuse means that the server closed a TCP connection without an answer when it was used again.
	WarnReuse WarningKind = "reuse"
	// WarnRestart means that a session was lost within its handshake.
	WarnRestart WarningKind = "restart"
	// WarnIncomplete means that members are missing in the result of initialize. See the MCP specification, 2025-11-25,
	// "Lifecycle", "Initialization".
	WarnIncomplete WarningKind = "incomplete"
)

// Warning is something that is wrong with a server and did not stop the opening, in one sentence.
type Warning struct {
	Kind WarningKind
	Text string
}

// Noise is what a stdio server wrote to its standard output that is not MCP.
type Noise = transport.Noise

// QuoteLine returns a line that a server wrote in quotes: without colours and control characters, and cut to what fits two
// lines of a terminal.
func QuoteLine(line string) string { return transport.Quote(line) }

// Ending tells what it took to end a stdio server.
type Ending = transport.Ending

// Session is one connection to a server with one MCP session on it. It is used, dies, and is never revived. It is safe
// for concurrent use. End it with [Session.Close].
//
// Requests are made with [Session.Raw] and [Session.List], which give what the server sent, to the digit, and tell what
// a failure means. The SDK's session is kept inside: its own methods would go past both.
type Session struct {
	sdk    *mcp.ClientSession
	server string
	client *mcp.Client
	http   *transport.HTTP
	child  *transport.Child
	// stream ends the context under which the legacy SSE transport lives.
	stream context.CancelFunc
	info   Info
	// endpoint is the URL of an HTTP server.
	endpoint string
	// lobby holds the limits of those who wait for authorization for the server.
	lobby *lobby

	// ctx ends all requests when the session is closed.
	ctx    context.Context //nolint:containedctx // the life of the session, not of one call
	cancel context.CancelFunc

	closeOnce sync.Once
	closed    chan struct{}
	// tell is told of each notification, nil if nobody is.
	tell func(Notification)
	// doubted gets a value when somebody has reason to think that the session is of no use any more.
	doubted chan struct{}
	// retired is closed when the supervisor hands the session out no more, because it was lost.
	retired chan struct{}
	// dismissed is set when the session was healthy and put aside on request. The supervisor's lock guards it.
	dismissed bool
	// proven is set once the connection has done something useful: it is not one that opens and dies at once.
	proven atomic.Bool

	mu       sync.Mutex
	inFlight int
	used     time.Time // when the latest request ended
	hearings map[string]*hearing
	// mending is set while streams of notifications that ended are opened again.
	mending bool
	level   string // the log level that requests of the modern era ask for
	heard   func(Notification)
	// noStream is set when the server offers no stream for what it is not asked.
	noStream bool
	idle     chan struct{} // closed when inFlight becomes 0; nil if nobody waits
	// abandoned counts the requests that were sent and given up.
	abandoned atomic.Int32
	progress  progress
	memory    *memory
	// offer is the version that was offered in the handshake.
	offer string
	// asks is the method of a ping on this connection, "" for the usual one of the era.
	asks string
	// ask is about what the server asks; completed is told of what is done elsewhere.
	ask       asking
	completed *completions
}

// Info says what the opening found out.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.info
	info.Spans, info.Notes, info.Warnings = slices.Clone(info.Spans), slices.Clone(info.Notes), slices.Clone(info.Warnings)
	return info
}

// ID returns the session id that an HTTP server gave, "" if it gave none, and on other transports.
func (s *Session) ID() string {
	if s.sdk == nil {
		return "" // it is not open yet
	}
	return s.sdk.ID()
}

// Noise returns what the child wrote to its standard output that is not MCP. It is zero on other transports.
func (s *Session) Noise() Noise {
	if s.child == nil {
		return Noise{}
	}
	return s.child.Noise()
}

// Oddity is something that a server does otherwise than the specification says, and that was got over.
type Oddity = transport.Oddity

// OddityKind says in what a server differs from the specification.
type OddityKind = transport.OddityKind

// The kinds of oddities.
const (
	OddContentType = transport.OddContentType
	OddID          = transport.OddID
	OddNullID      = transport.OddNullID
	OddBatch       = transport.OddBatch
	OddLines       = transport.OddLines
	OddPosted      = transport.OddPosted
	OddUnended     = transport.OddUnended
	OddStray       = transport.OddStray
	OddLine        = transport.OddLine
	OddText        = transport.OddText
	OddSpanning    = transport.OddSpanning
	OddNotified    = transport.OddNotified
	OddReuse       = transport.OddReuse
	OddBusy        = transport.OddBusy
	OddReply       = transport.OddReply
)

// Oddities returns what the server did otherwise than the specification says, until now.
func (s *Session) Oddities() []Oddity {
	if s.child != nil {
		return s.child.Odd.List()
	}
	return s.http.Odd.List()
}

// Asked returns the methods of the requests that the server made of its client, until now.
func (s *Session) Asked() []string {
	if s.child != nil {
		return s.child.Odd.Asked()
	}
	return s.http.Odd.Asked()
}

// Redirected is where the server redirected the latest request to that it redirected, "" if it did not.
func (s *Session) Redirected() string {
	if s.http == nil {
		return ""
	}
	return s.http.Redirected()
}

// Strays counts the answers that belonged to no request. They are ignored.
func (s *Session) Strays() int {
	if s.child != nil {
		return int(s.child.Strays.Load())
	}
	return int(s.http.Strays.Load())
}

// Stderr returns the last lines of the child's standard error, nil on other transports.
func (s *Session) Stderr() []string {
	if s.child == nil {
		return nil
	}
	return s.child.Stderr()
}

// Ending tells what it took to end the child. It is zero before the end of [Session.Close], and on other transports.
func (s *Session) Ending() Ending {
	if s.child == nil {
		return Ending{}
	}
	return s.child.Ending()
}

// LeftRunning reports whether any process of the child's group is alive.
func (s *Session) LeftRunning() bool { return s.child != nil && s.child.GroupAlive() }

// PID returns the process id of the child, 0 on other transports.
func (s *Session) PID() int {
	if s.child == nil {
		return 0
	}
	return s.child.PID()
}

// Dead returns why the connection can carry no more requests, nil as far as is known. A lost HTTP session is only known
// by the answer to a request.
func (s *Session) Dead() error {
	select {
	case <-s.closed:
		return transport.ErrClosed
	default:
	}
	if s.child != nil {
		if f := s.child.Fault(); f != nil {
			return f
		}
		return nil
	}
	return s.http.EndErr()
}

// legacy reports whether the session has a handshake behind it.
func (s *Session) legacy() bool { return s.info.Era == EraLegacy }

// Raw makes one request and returns the result byte for byte as the server sent it. params is encoded as JSON; nil
// means no parameters. The failure is an [*Error].
//
// A server may answer with questions: they are put to the dialer's Answers, and the request is made again with the answers,
// ten times at most. See the MCP specification, 2026-07-28, "Multi Round-Trip Requests".
func (s *Session) Raw(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded := json.RawMessage("{}")
	if params != nil {
		var err error
		if encoded, err = encodeRaw(params); err != nil {
			return nil, &Error{
				Server: s.server, Phase: method, Class: ClassProtocol, kind: kindProtocol, Err: err,
				Message: fmt.Sprintf("encode parameters: %v", err), Outcome: OutcomeNotSent,
			}
		}
	}
	s.begin()
	defer s.end()
	release := s.limited(ctx)
	defer release()
	encoded = s.withLevel(method, encoded)
	if rounds[method] {
		s.awaitStream(ctx)
	}
	first := encoded
	for range mostRounds {
		result, err := s.request(ctx, method, encoded)
		if err != nil {
			return nil, err
		}
		in := wantsInput(result)
		if in == nil || !rounds[method] || s.legacy() { // the legacy era knows no types of results: it is one, whatever it says
			return result, nil
		}
		if encoded, err = s.supply(ctx, method, first, in); err != nil {
			return nil, err
		}
	}
	return nil, s.neverDone(method)
}

// awaitStream waits until the server can ask something on the stream of the session, if it has one.
func (s *Session) awaitStream(ctx context.Context) {
	if s.http == nil || !s.legacy() {
		return
	}
	listening := s.http.Listening()
	if listening == nil {
		return
	}
	select {
	case <-listening:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// request makes one request and returns its result byte for byte.
func (s *Session) request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *Error) {
	callCtx, ex := transport.WithExchange(ctx)
	callCtx, cancel := context.WithCancel(callCtx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	encoded, done := s.progress.expect(ctx, method, params)
	ex.SetParams(encoded)
	asked := method
	if method == discoverMethod && !s.legacy() {
		ex.SetMethod(method)
		asked = discoverStandIn
	}
	err := s.send(callCtx, asked, encoded)
	reports := done()
	st := ex.State()
	switch {
	case st.Answered || err == nil:
	case ctx.Err() != nil && st.Written:
		s.abandoned.Add(1)
	case ctx.Err() == nil && s.ctx.Err() != nil && st.Fault == nil:
		st.Fault = &transport.Fault{Kind: transport.KindSevered, Written: st.Written, Err: transport.ErrClosed}
	}
	if st.Answered && st.Error == nil {
		return st.Result, nil // also when the SDK could not decode it
	}
	if err == nil && st.Error == nil {
		err = errors.New("the request was not sent")
	}
	return nil, s.judge(ctx, method, st, err, reports)
}

// begin counts a request in.
func (s *Session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
}

// end counts a request out.
func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.used = time.Now()
	if s.inFlight > 0 {
		return
	}
	s.withdraw()
	if s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// wait returns when no request is on its way, or ctx ends.
func (s *Session) wait(ctx context.Context) {
	s.mu.Lock()
	if s.inFlight == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// judge turns the failure of a request on this session, whose progress was reported so many times, into an error.
func (s *Session) judge(ctx context.Context, method string, st transport.ExchangeState, err error, reports int) *Error {
	if dead := s.Dead(); dead != nil && st.Method == "" { // the SDK had given the connection up before
		unsent := transport.Fault{Kind: transport.KindSevered, Err: dead}
		if f, ok := errors.AsType[*transport.Fault](dead); ok {
			unsent = *f
			unsent.Written = false
		}
		st.Fault = &unsent
	}
	e := classify(evidence{
		server: s.server, method: method, state: st, err: err, ctx: ended(ctx),
		opened: true, legacy: s.legacy() && s.child == nil, reports: reports,
	})
	if e.kind == kindTimeout {
		e.Evidence = append(e.Evidence, fmt.Sprintf("%s was answered: the session had opened in %s",
			map[bool]string{true: "initialize", false: "server/discover"}[s.legacy()], s.info.Elapsed.Round(time.Millisecond)))
		if s.child != nil {
			describeChild(e, s.child)
		}
	}
	return e
}

// send makes the request through the SDK, which keeps ids, progress, cancellation and the modern era's headers. What it
// decodes is not used.
func (s *Session) send(ctx context.Context, method string, params json.RawMessage) error {
	var err error
	switch method {
	case "tools/list":
		_, err = s.sdk.ListTools(ctx, decoded[mcp.ListToolsParams](params))
	case "tools/call":
		p := decoded[mcp.CallToolParams](params)
		var raw struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(params, &raw) == nil && raw.Arguments != nil {
			p.Arguments = raw.Arguments
		}
		_, err = s.sdk.CallTool(ctx, p)
	case "resources/list":
		_, err = s.sdk.ListResources(ctx, decoded[mcp.ListResourcesParams](params))
	case "resources/templates/list":
		_, err = s.sdk.ListResourceTemplates(ctx, decoded[mcp.ListResourceTemplatesParams](params))
	case "resources/read":
		_, err = s.sdk.ReadResource(ctx, decoded[mcp.ReadResourceParams](params))
	case "prompts/list":
		_, err = s.sdk.ListPrompts(ctx, decoded[mcp.ListPromptsParams](params))
	case "prompts/get":
		_, err = s.sdk.GetPrompt(ctx, decoded[mcp.GetPromptParams](params))
	case "completion/complete":
		_, err = s.sdk.Complete(ctx, decoded[mcp.CompleteParams](params))
	case "ping":
		err = s.sdk.Ping(ctx, decoded[mcp.PingParams](params))
	case "resources/subscribe":
		err = s.sdk.Subscribe(ctx, decoded[mcp.SubscribeParams](params))
	case "resources/unsubscribe":
		err = s.sdk.Unsubscribe(ctx, decoded[mcp.UnsubscribeParams](params))
	case "logging/setLevel":
		err = s.sdk.SetLoggingLevel(ctx, decoded[mcp.SetLoggingLevelParams](params)) //nolint:staticcheck // servers of the legacy era have it
	default:
		if err = mcp.AddSendingCustomMethod[*rawParams, *rawResult](s.client, method); err == nil {
			_, err = mcp.CallCustomMethod[*rawParams, *rawResult](ctx, s.sdk, method, &rawParams{})
		}
	}
	return err
}

// decoded reads the SDK's form of params. What does not fit it is left out: the exact bytes go over the wire anyway.
func decoded[P any](params json.RawMessage) *P {
	p := new(P)
	_ = json.Unmarshal(params, p)
	return p
}

// rawParams and rawResult are for methods that the SDK does not know. The embedded types lend them the methods that the
// SDK asks for.
type rawParams struct{ mcp.PingParams }

type rawResult struct{ mcp.CompleteResult }

// UnmarshalJSON accepts anything: the exact bytes come from the exchange.
func (*rawResult) UnmarshalJSON([]byte) error { return nil }

// List is what a list method returned.
type List struct {
	// Items are the entries of all pages, byte for byte as the server sent them.
	Items []json.RawMessage
	// Problems tell what was odd, one sentence each.
	Problems []string
	// Paging tells what was odd about the pages: those of the problems that are about cursors, and a last page that does not
	// say that it is the last.
	Paging []string
	// Pages is how many pages were asked for.
	Pages int
	// Incomplete is set when the list was cut short.
	Incomplete bool
	// Unsupported is set when the server does not know the method; the list is then empty.
	Unsupported bool
}

// maxPages bounds a list: more pages than that are a server that never ends.
const maxPages = 1000

// listKeys are the list methods with the key of their entries.
var listKeys = map[string]string{
	"tools/list":               "tools",
	"resources/list":           "resources",
	"resources/templates/list": "resourceTemplates",
	"prompts/list":             "prompts",
	"tasks/list":               "tasks",
}

// List asks for all pages of a list: "tools/list", "resources/list", "resources/templates/list", "prompts/list" or
// "tasks/list". A server that does not know the method has an empty list.
//
// See the MCP specification, 2025-11-25, "Pagination".
func (s *Session) List(ctx context.Context, method string) (List, error) {
	var list List
	key, ok := listKeys[method]
	if !ok {
		return list, &Error{Server: s.server, Phase: method, Class: ClassProtocol, Message: "not a list method"}
	}
	var params any
	seen := map[string]bool{}
	var last []json.RawMessage // of the page before, if this one was asked for with an empty cursor
	for range maxPages {
		result, err := s.Raw(ctx, method, params)
		if err != nil {
			var e *Error
			if errors.As(err, &e) && list.Pages > 0 {
				cursor, _ := params.(map[string]string)
				e.laterPage(list, cursor["cursor"])
			}
			if errors.As(err, &e) && e.RPC != nil && e.RPC.Code == codeMethodNotFound && e.kind == kindAnswered && len(seen) == 0 {
				list.Unsupported = true
				return list, nil
			}
			return list, err
		}
		list.Pages++
		items, next, problem := page(result, key)
		if last != nil && sameItems(items, last) {
			// The same page once more: the empty cursor meant that there is no more.
			list.Paging = append(list.Paging, method+": the last page has an empty nextCursor in place of none")
			return s.whole(method, list), nil
		}
		list.Items = append(list.Items, items...)
		if problem != "" {
			list.Problems = append(list.Problems, method+": "+problem)
			list.Incomplete = list.Incomplete || items == nil || len(list.Items) > 0 // the rest cannot be asked for
		}
		switch {
		case next == nil:
			return s.whole(method, list), nil
		case seen[*next]:
			if *next != "" { // an empty cursor is how some servers say that there is no more
				list.odd(fmt.Sprintf("%s: the server sent the cursor %q twice", method, *next))
				list.Incomplete = true
			} else {
				list.Paging = append(list.Paging, method+": the last page has an empty nextCursor in place of none")
			}
			return s.whole(method, list), nil
		}
		seen[*next] = true
		params = map[string]string{"cursor": *next}
		if last = nil; *next == "" {
			last = items
		}
	}
	list.odd(fmt.Sprintf("%s: more than %d pages", method, maxPages))
	list.Incomplete = true
	return list, nil
}

// laterPage says of the failure of a list that it was not the first page which failed.
func (e *Error) laterPage(list List, cursor string) {
	came := fmt.Sprintf("%d entries had come on %d pages", len(list.Items), list.Pages)
	if list.Pages == 1 {
		came = fmt.Sprintf("the first page had come (entries: %d)", len(list.Items))
	}
	if e.kind == kindTimeout && e.Limit != nil {
		e.Message = fmt.Sprintf("the whole list did not come within %s: %s, and the last page named another (nextCursor)", e.Limit, came)
		e.Hint = fmt.Sprintf("if that has no end: the server has to leave nextCursor out on the last page; else raise the limit with %s", e.Limit.Flag())
		return
	}
	e.Message = fmt.Sprintf("page %d, with the cursor %.40q that the server had named: %s", list.Pages+1, cursor, e.Message)
	e.Evidence = append(e.Evidence, came)
	if e.kind == kindAnswered && e.Hint == "" {
		e.Hint = "the server has to take each nextCursor that it gives, also when another of its instances gave it"
	}
}

// odd notes a problem with the pages.
func (l *List) odd(text string) {
	l.Problems, l.Paging = append(l.Problems, text), append(l.Paging, text)
}

// whole remembers a list that has come to its end.
func (s *Session) whole(method string, list List) List {
	if method == "tools/list" {
		s.memory.listed(list)
	} else {
		s.memory.offered(method, list)
	}
	return list
}

// sameItems reports whether two pages have the same entries.
func sameItems(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}

// codeMethodNotFound is that of JSON-RPC 2.0, section 5.1.
const codeMethodNotFound = -32601

// fewWords returns the beginning of a result on one line, as it stands in a sentence.
func fewWords(result json.RawMessage) string {
	const most = 80
	text := transport.Snippet(result)
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// page reads one page of a list.
func page(result json.RawMessage, key string) (items []json.RawMessage, next *string, problem string) {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(result, &whole); err != nil {
		return nil, nil, "the result is not an object: " + fewWords(result)
	}
	raw, ok := whole[key]
	if !ok {
		return nil, nil, fmt.Sprintf("the result has no %q: %s", key, fewWords(result))
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, nil, fmt.Sprintf("%q is not an array: %s", key, fewWords(raw))
	}
	if items == nil { // a list that nobody has made: Go writes null for it
		items, problem = []json.RawMessage{}, fmt.Sprintf("%q is null, and has to be an array", key)
	}
	cursor, ok := whole["nextCursor"]
	if !ok || string(cursor) == "null" {
		return items, nil, problem
	}
	var s string
	if err := json.Unmarshal(cursor, &s); err != nil {
		return items, nil, fmt.Sprintf("nextCursor is not a string: %s", cursor)
	}
	return items, &s, problem
}

// Close ends the session and everything that belongs to it, within about 3 s: the HTTP session is deleted at the server,
// the child process and its group are ended. Requests in flight end with it.
func (s *Session) Close() error {
	s.closePatient()
	return nil
}

func (s *Session) closePatient() { s.close(context.Background(), transport.PatientGrace) }

// closeHasty is Close for a session that nobody waits for any more: after Ctrl-C, or a limit that ran out.
func (s *Session) closeHasty() { s.close(context.Background(), transport.HastyGrace) }

// close ends the session. What is left of it when hurry ends is done in haste.
func (s *Session) close(hurry context.Context, grace transport.Grace) {
	s.closeOnce.Do(func() {
		s.tellCancels()
		s.cancel() // the SDK's own end would wait for requests in flight
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.sdk.Close() // what the server says to its end is nobody's problem
		}()
		if s.child != nil {
			s.child.Stop(hurry, grace)
		} else {
			transport.Patience(hurry, done, grace.EOF+grace.Term, transport.HastyGrace.EOF)
			if s.stream != nil {
				s.stream()
			}
			s.http.Close()
		}
		transport.Patience(hurry, done, grace.Term, transport.HastyGrace.Term)
		close(s.closed)
	})
	<-s.closed
}

// cancelGrace is how long a server that is about to be left may take to hear that nobody waits for its answers.
const cancelGrace = 200 * time.Millisecond

// tellCancels waits until the server has been told of all requests that were given up: the SDK does that in the
// background, and the end of the session would overtake it.
func (s *Session) tellCancels() {
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	n := int(s.abandoned.Load())
	if n == 0 || s.Dead() != nil {
		return
	}
	if s.child != nil {
		s.child.Cancels.Wait(ctx, n)
		return
	}
	s.http.Cancels.Wait(ctx, n)
}

// ShortID makes a session id fit for a report: enough to tell two apart, too little to use.
func ShortID(id string) string { return transport.ShortID(id) }
