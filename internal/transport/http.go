package transport

// How HTTP works here.
//
// An HTTP is the http.RoundTripper of one connection: one endpoint, one MCP session. The SDK writes requests through
// it and decodes what it lets pass. Three things happen here that cannot be done above the SDK:
//
//   - An answer that is no answer (a status, a web page, a redirect, an empty body) becomes a *Fault, returned as the
//     error of the round trip. So its status, headers and first bytes survive, and the SDK does not declare the
//     connection broken. A JSON-RPC response with the request's own id passes, whatever its status.
//   - Every message of an answer is looked at: the exact bytes of the response to a request go into the Exchange of
//     the request's context; ids of another type, a null id of an error, batches of one are put right.
//   - Every request ends when the connection is closed (the kill switch), also those that the SDK does not bound.
//
// A redirect is followed only within the endpoint's origin and with the request kept as it is; configured headers never
// go anywhere else, because nothing else is ever asked.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sessionHeader = "Mcp-Session-Id"
	// methodHeader and nameHeader repeat the method of the body and what it is about, in the modern era.
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	// faultBody is how much of an answer is kept as evidence.
	faultBody = 4 << 10
	// errorBody is how much of an error's body is read to find a JSON-RPC error in it.
	errorBody = 1 << 20
	// errorBodyTime bounds the wait for an error's body: the status is enough to go on.
	errorBodyTime = 2 * time.Second
	// drainTime bounds the wait for the end of a body of which nothing more is wanted, so that its TCP connection can be
	// used again. Most servers end it at once.
	drainTime = 100 * time.Millisecond
	// unendedTime is how long the blank line behind a response on a stream is waited for: longer than a lost packet takes to be
	// sent again.
	unendedTime = 500 * time.Millisecond
	// maxIssued bounds the session ids that are remembered: a server that gives a new one with each answer is odd enough.
	maxIssued = 8
	// maxStale is how many idle connections that the server has closed are passed over: there are not more of them.
	maxStale = 16
	// postGrace is how long a POST of the legacy transport may go unanswered once its response has come on the stream.
	postGrace = 500 * time.Millisecond
	// maxRedirects is that of net/http: more is a loop.
	maxRedirects = 10
)

// ErrClosed is the cause of requests that ended because their connection was closed.
var ErrClosed = errors.New("the connection was closed")

// HTTPOptions describe an HTTP connection.
type HTTPOptions struct {
	// Endpoint is the URL of the MCP endpoint.
	Endpoint *url.URL
	// Header is sent with each request, over what the SDK sets.
	Header http.Header
	// Legacy selects the HTTP with SSE transport of 2024-11-05: responses come on one long GET stream.
	Legacy bool
	// Mask hides secrets in what is kept as evidence, before it is cut. If nil, nothing is hidden.
	Mask func(string) string
	// AnyContent takes an answer for what its first bytes look like, whatever content type it claims.
	AnyContent bool
	// NoReuse opens a TCP connection for each request: some proxies break a connection that is used again.
	NoReuse bool
	// Trace is told what goes over the wire. If nil, nothing is.
	Trace *ConnTrace
	// Authorizer gets authorization for the requests. It is not asked if Header has an Authorization. If nil, nothing does.
	Authorizer Authorizer
	// Lost reports whether the body of a 401 without a challenge says that the server does not know the session: that is
	// not for the Authorizer. If nil, none does.
	Lost func(body []byte) bool
	// Unattended reports whether nobody waits for a request for a stream of notifications of the modern era, whose context is
	// the SDK's own. If nil, somebody waits for all.
	Unattended func(request []byte) bool
	// TLS is how HTTPS is spoken with the server. If nil, the system's authorities are trusted.
	TLS *tls.Config
	// Proxy carries all requests. If nil, none does.
	Proxy *Proxy
	// ConnectTo is the host and the port that are dialled in place of the endpoint's, "" for the endpoint's. A proxy goes
	// before it.
	ConnectTo string
	// Notify is told of each notification. If nil, nobody is.
	Notify Notification
	// Listen keeps the stream open on which the server says what it is not asked, when the SDK wishes to have it. Not for
	// the legacy transport, which has only one stream.
	Listen bool
	// OnListen is told how a request for a stream of notifications of the modern era was answered, and later of the end of
	// the stream, but not of an end that was asked for. Open is set while there is a stream. If nil, nobody is told.
	OnListen func(request []byte, st ExchangeState, open bool)
	// OnStream is told each time that stream was opened, and when the server offers none. It must not block.
	OnStream func(open bool)
	// Dial opens the TCP connections. If nil, a net.Dialer does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// HTTP is the round tripper of one connection to an MCP endpoint. See the MCP specification, 2025-11-25, "Streamable
// HTTP", and 2024-11-05, "HTTP with SSE".
type HTTP struct {
	opts HTTPOptions
	wire *wire
	base *http.Transport
	ctx  context.Context //nolint:containedctx // the kill switch: every request of the connection ends with it
	kill context.CancelCauseFunc

	// Cancels counts the notifications that gave a request up.
	Cancels Counter
	// Strays counts the responses that belonged to no request.
	Strays atomic.Int64
	// Odd collects what the server does otherwise than the specification says.
	Odd Oddities
	// Leave is set when the session is to go on at the server: nobody asks to end it.
	Leave atomic.Bool
	// quiet is set when nobody is to be asked to log in because of the connection's requests.
	quiet bool

	mu sync.Mutex
	// used is when the latest request was sent, by the clock on the wall.
	used    time.Time
	pending map[string]pendingCall
	forged  string
	// forbidden is why the question which era the server is of was refused to a token: the handshake that the SDK tries next
	// would be refused, too, and with what has nothing to do with it.
	forbidden error
	// givenUp are the ids of requests that were given up, the latest last: what is answered all the same is late, not wrong.
	givenUp []string
	// issued are the session ids that the server gave, and that it was not asked to end.
	issued []string
	// deleted is the status with which the server answered the latest DELETE, 0 if it was not asked, or did not answer.
	deleted int
	// legacyOpened is set when the first response has come on the stream of the legacy transport.
	legacyOpened bool
	// stream is the stream of the legacy transport, and posted what takes the responses that came in the answer to a POST.
	stream legacyStream
	posted *io.PipeWriter
	// prefix is the path of a proxy that the endpoint event of the legacy transport left out, "" if it left out none.
	prefix string
	// redirected is where the server redirected the latest request to that it redirected, "" if it did not.
	redirected string
	spans      []Span
	// listening is closed when it is known how the opening of the standalone stream went; nil if there is none.
	listening   chan struct{}
	listenTried bool

	ended   chan struct{}
	endOnce sync.Once
	endErr  error
}

// Span is one stretch of time: "dns", "tcp", "tls".
type Span struct {
	Name    string
	Elapsed time.Duration
}

// NewHTTP returns the round tripper of a new connection.
func NewHTTP(opts HTTPOptions) *HTTP {
	h := &HTTP{opts: opts, pending: map[string]pendingCall{}, ended: make(chan struct{})}
	h.ctx, h.kill = context.WithCancelCause(context.Background())
	h.wire = newWire(h.ctx, opts)
	h.base = h.wire.transport()
	return h
}

// Client returns an HTTP client that uses the connection. It follows no redirects by itself and has no time limit: the
// contexts of requests do.
func (h *HTTP) Client() *http.Client {
	return &http.Client{
		Transport:     h,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Sibling returns the round tripper of another connection to the same endpoint, on the same way and with the same headers,
// over which those in header are laid. It uses each TCP connection once. Nobody is asked to log in because of its requests.
func (h *HTTP) Sibling(header http.Header) *HTTP {
	opts := h.opts
	opts.Header = opts.Header.Clone()
	if opts.Header == nil {
		opts.Header = http.Header{}
	}
	maps.Copy(opts.Header, header)
	opts.NoReuse, opts.Listen, opts.Notify, opts.OnListen, opts.OnStream = true, false, nil, nil, nil
	sibling := NewHTTP(opts)
	sibling.quiet = true
	return sibling
}

// Close ends all requests and closes all TCP connections. It is the kill switch: an orderly end of the MCP session comes
// before it.
func (h *HTTP) Close() {
	if h.ctx.Err() == nil {
		h.opts.Trace.Event("closed")
	}
	h.kill(ErrClosed)
	h.base.CloseIdleConnections()
	h.end(ErrClosed)
}

// Drop closes idle TCP connections: the next request opens a new one.
func (h *HTTP) Drop() { h.base.CloseIdleConnections() }

// wake drops idle TCP connections on which nothing was sent for longer than they are kept. net/http does so itself, by a clock
// that stands still while the machine sleeps: the other side has forgotten them by then, and says so late or never.
func (h *HTTP) wake() {
	now := time.Now().Round(0) // by the clock on the wall, which goes on
	h.mu.Lock()
	asleep := !h.used.IsZero() && now.Sub(h.used) > idleKept
	h.used = now
	h.mu.Unlock()
	if asleep {
		h.Drop()
	}
}

// Forge makes all further requests carry id as their session id, in place of the one that the server gave.
func (h *HTTP) Forge(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forged = id
}

// Ended is closed when the connection can carry no more requests: the stream of the legacy transport has ended, or the
// connection was closed.
func (h *HTTP) Ended() <-chan struct{} { return h.ended }

// EndErr returns why the connection ended, nil while it has not.
func (h *HTTP) EndErr() error {
	select {
	case <-h.ended:
		return h.endErr
	default:
		return nil
	}
}

// Spans returns the time that name resolution, TCP and TLS took for the first TCP connection.
func (h *HTTP) Spans() []Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Span(nil), h.spans...)
}

func (h *HTTP) end(err error) {
	h.endOnce.Do(func() {
		h.endErr = err
		close(h.ended)
		h.mu.Lock()
		calls := h.pending
		h.pending = map[string]pendingCall{}
		h.mu.Unlock()
		if !h.opts.Legacy {
			return // each call has an answer of its own
		}
		for _, c := range calls {
			f := &Fault{Kind: KindSevered, Written: true, Err: err}
			if errors.Is(err, errTooLarge) {
				f.Kind = KindTooLarge
			}
			c.ex.fail(f)
		}
	})
}

// RoundTrip implements [http.RoundTripper].
func (h *HTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	release := func() { stop(); cancel(nil) }
	if h.opts.Legacy && req.Method == http.MethodPost { // its answer would come on a stream that is no more
		over := make(chan struct{})
		go func() {
			select {
			case <-h.ended:
				cancel(h.endErr)
			case <-over:
			}
		}()
		plain := release
		release = sync.OnceFunc(func() { close(over); plain() })
	}

	x := &roundTrip{h: h, caller: req.Context(), cancel: cancel, fault: Fault{Method: req.Method, URL: bareURL(req.URL)}}
	if h.ctx.Err() != nil { // the context above ends a moment later
		release()
		return nil, x.fail(Fault{Kind: KindSevered, Err: context.Cause(h.ctx)})
	}
	if h.opts.Listen && isListening(req) {
		release()
		return h.standalone(req), nil
	}
	if req.Method == http.MethodDelete && h.Leave.Load() {
		release()
		return accepted(req), nil
	}
	resp, err := x.do(ctx, req)
	x.listened(err == nil && !x.ex.State().Answered)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &releasedBody{ReadCloser: resp.Body, release: release}
	return resp, nil
}

// roundTrip is one request on its way.
type roundTrip struct {
	h      *HTTP
	caller context.Context //nolint:containedctx // of this one request: its end is told apart from the wire's faults
	cancel context.CancelCauseFunc
	msg    envelope // of a POST
	// renamed is set when the exchange has changed the method.
	renamed bool
	// request is the body of a POST that asks for a stream of notifications, nil of another.
	request []byte
	ex      *Exchange
	way     *progress
	fault   Fault // what every fault of this request says
	// refusals counts how often the request was refused; unauthorized is why it was not sent again after the latest.
	refusals     int
	unauthorized error
}

func (x *roundTrip) do(ctx context.Context, req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Method == http.MethodPost {
		var err error
		if body, err = readRequest(req); err != nil {
			return nil, err
		}
		x.msg, _ = parseEnvelope(body)
		if x.msg.Method == listenMethod {
			x.request = body
		}
		if x.msg.Method == cancelledMethod {
			defer x.h.Cancels.add()
		}
		if x.msg.isCall() {
			if x.ex = exchangeOf(ctx); x.ex == nil && x.request != nil {
				_, x.ex = WithExchange(ctx)
			}
			asked := x.msg.Method
			x.msg.Method = x.ex.rename(asked)
			x.renamed = x.msg.Method != asked
			x.ex.begin(x.msg.Method)
			body = x.ex.params(body)
			x.h.expect(x.caller, x.msg, x.ex)
			if x.h.opts.Legacy {
				x.h.onAnswer(x.msg, func() { time.AfterFunc(postGrace, func() { x.cancel(nil) }) })
			}
		}
	}
	resp, err := x.send(ctx, req, body)
	switch {
	case err != nil && x.h.opts.Legacy && x.caller.Err() == nil && x.ex.State().Answered:
		return accepted(req), nil // the stream has said it all
	case err != nil:
		return nil, err
	}
	switch {
	case req.Method == http.MethodPost && x.h.opts.Legacy:
		if resp, err = x.behindProxy(ctx, req, body, resp); err != nil {
			return nil, err
		}
		return x.legacyPosted(resp)
	case req.Method == http.MethodPost && x.msg.isCall():
		return x.answered(resp)
	case req.Method == http.MethodPost:
		return x.notified(resp)
	case req.Method == http.MethodGet:
		return x.listening(resp)
	}
	return resp, nil
}

// accepted is the answer to a POST whose own answer does not matter any more.
func accepted(req *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusAccepted, Status: "202 Accepted", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// send writes the request, following redirects within the origin.
func (x *roundTrip) send(ctx context.Context, req *http.Request, body []byte) (*http.Response, error) {
	target := req.URL
	if prefix := x.h.Prefix(); prefix != "" && req.Method == http.MethodPost && !strings.HasPrefix(target.Path, prefix+"/") {
		behind := *target
		behind.Path, behind.RawPath = prefix+target.Path, ""
		target = &behind
	}
	x.h.wake()
	stale := 0
	for hop := 0; ; hop++ {
		if !SameOrigin(target, x.h.opts.Endpoint) {
			return nil, x.fail(Fault{Kind: KindRedirect, Location: bareURL(target), Err: fmt.Errorf(
				"the server names an endpoint at another origin: %s", bareURL(target))})
		}
		r := req.Clone(ctx)
		r.URL, r.Host = target, ""
		if body != nil {
			// Without GetBody, net/http cannot send the request again by itself, whatever happens. We alone decide on that.
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		}
		x.headers(r)
		routeTask(r, x.msg.Method, body)
		if err := x.authorize(r); err != nil {
			return nil, err
		}

		trace, begin := x.h.opts.Trace.exchange(), time.Now()
		trace.request(r, body)
		probe := &writeProbe{}
		var watched context.Context // not the authorizer's: it makes requests of its own
		watched, x.way = watch(httptrace.WithClientTrace(ctx, probe.trace(x.h)))
		resp, err := x.h.base.RoundTrip(r.WithContext(watched))
		x.fault.Written = x.fault.Written || probe.written()
		if err != nil {
			x.h.unanswered(req, x.fault.Written)
			trace.Event("no answer after %s: %v", time.Since(begin).Round(time.Millisecond), plainNetError(err))
			if stale < maxStale && x.way.reused && !x.fault.Written && ctx.Err() == nil {
				stale++ // the server had closed an idle connection: nothing was written
				hop--
				continue
			}
			if x.way.reused && x.fault.Written && ctx.Err() == nil {
				x.fault.Reused = true
				x.h.Odd.note(OddReuse, "%s on a connection that had been used before: %v", cmp.Or(x.msg.Method, req.Method), plainNetError(err))
			}
			return nil, x.netFault(err)
		}
		x.fault.Written = true
		if f, ok := x.proxyAnswer(resp); ok {
			trace.response(resp, time.Since(begin))
			return nil, x.fail(f)
		}
		x.ex.wrote()
		x.h.wire.answered.Store(true)
		x.h.noteSession(r, resp)
		err = decode(r, resp)
		trace.response(resp, time.Since(begin))
		if err != nil {
			return nil, x.fail(x.evidence(resp, Fault{Kind: KindContent, Err: err}))
		}
		again, err := x.refused(r, resp)
		switch {
		case err != nil:
			return nil, err
		case again:
			hop--
			continue
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return resp, nil
		}
		next, f := redirect(x.h.opts.Endpoint, target, resp.StatusCode, location, hop)
		if f != nil {
			return nil, x.fail(x.evidence(resp, *f))
		}
		discard(resp.Body)
		target = next
		x.fault.Redirect = fmt.Sprintf("redirected (%d) to %s", resp.StatusCode, bareURL(next))
		x.h.mu.Lock()
		x.h.redirected = bareURL(next)
		x.h.mu.Unlock()
	}
}

// noteSession keeps the session id that the server gave, and that it was asked to end the session.
func (h *HTTP) noteSession(req *http.Request, resp *http.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id := resp.Header.Get(sessionHeader); id != "" && !slices.Contains(h.issued, id) && len(h.issued) < maxIssued {
		h.issued = append(h.issued, id)
	}
	if req.Method == http.MethodDelete {
		h.deleted = resp.StatusCode
		gone := req.Header.Get(sessionHeader)
		h.issued = slices.DeleteFunc(h.issued, func(id string) bool { return id == gone })
	}
}

// Deleted returns the status with which the server answered the DELETE of the session, 0 if it was not asked, or did not
// answer.
func (h *HTTP) Deleted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted
}

// Abandoned returns the ids of the sessions that the server opened and was not asked to end.
func (h *HTTP) Abandoned() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.issued)
}

// headers sets the configured headers, and the forged session id if there is one.
func (x *roundTrip) headers(r *http.Request) {
	for name, values := range x.h.opts.Header {
		if http.CanonicalHeaderKey(name) == "Host" {
			r.Host = values[0]
			continue
		}
		r.Header.Del(name)
		// net/http repeats a request by itself if it has one of these headers in its usual spelling; we alone decide on that.
		if key := http.CanonicalHeaderKey(name); key == "Idempotency-Key" || key == "X-Idempotency-Key" {
			name = strings.ToLower(key)
		}
		r.Header[name] = values
	}
	x.h.wire.acceptEncoding(r)
	if r.Header.Get(methodHeader) != "" && x.renamed {
		r.Header.Set(methodHeader, x.msg.Method)
	}
	x.h.mu.Lock()
	forged, opened := x.h.forged, x.h.legacyOpened
	x.h.mu.Unlock()
	if opened {
		// The address that the stream gave is the session's id.
		x.fault.SessionID = true
		x.ex.update(func(s *ExchangeState) { s.SessionID = true })
	}
	if r.Header.Get(sessionHeader) != "" {
		if forged != "" {
			r.Header.Set(sessionHeader, forged)
		}
		x.fault.SessionID = true
		x.ex.update(func(s *ExchangeState) { s.SessionID = true })
	}
}

// netFault turns the error of a request without an answer into a fault.
func (x *roundTrip) netFault(err error) error {
	if cause := context.Cause(x.h.ctx); cause != nil {
		return x.fail(Fault{Kind: KindSevered, Err: cause})
	}
	if ended := x.h.EndErr(); ended != nil && x.h.opts.Legacy && x.caller.Err() == nil {
		return x.fail(Fault{Kind: KindSevered, Err: ended})
	}
	if x.caller.Err() != nil {
		if x.fault.Written {
			x.ex.wrote()
		}
		return err
	}
	return x.fail(x.wireFault(err))
}

// fail completes a fault with what is known of the request and records it.
func (x *roundTrip) fail(f Fault) error {
	if f.Method == "" {
		f.Method, f.URL = x.fault.Method, x.fault.URL
	}
	f.Written, f.SessionID, f.Redirect, f.Reused = x.fault.Written, x.fault.SessionID, x.fault.Redirect, x.fault.Reused
	f.Authorized = x.fault.Authorized
	x.h.wire.mark(&f)
	x.ex.fail(&f)
	if x.msg.isCall() {
		x.h.forget(x.msg)
	}
	return &f
}

// behindProxy sends a POST of the legacy transport again, with the path's prefix that a proxy before the server cuts off,
// when there is nothing at the address which the server announced: it does not know the prefix. The POST that was
// answered with 404 reached nobody.
func (x *roundTrip) behindProxy(ctx context.Context, req *http.Request, body []byte, resp *http.Response) (*http.Response, error) {
	prefix := path.Dir(x.h.opts.Endpoint.Path)
	if prefix == "/" || prefix == "." || strings.HasPrefix(req.URL.Path, prefix+"/") {
		return resp, nil
	}
	x.h.noteStream(func(s *legacyStream) { s.outside, s.status = req.URL.Path, resp.StatusCode })
	if resp.StatusCode != http.StatusNotFound {
		return resp, nil
	}
	x.h.mu.Lock()
	first := x.h.prefix == "" && !x.h.legacyOpened
	x.h.mu.Unlock()
	if !first {
		return resp, nil
	}
	f := x.evidence(resp, Fault{Kind: KindStatus})
	again := req.Clone(ctx)
	again.URL.Path, again.URL.RawPath = prefix+again.URL.Path, ""
	second, err := x.send(ctx, again, body)
	switch {
	case err != nil:
		return nil, err
	case second.StatusCode < 200 || second.StatusCode > 299:
		discard(second.Body)
		f.Err = fmt.Errorf("the server announces %s, and nothing is there; a proxy's prefix is missing? %s is not there either",
			bareURL(req.URL), again.URL.Path)
		return nil, x.fail(f)
	}
	x.h.mu.Lock()
	x.h.prefix = prefix
	x.h.mu.Unlock()
	return second, nil
}

// Prefix returns the path of a proxy that the server's endpoint event left out, "" if it left out none.
func (h *HTTP) Prefix() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.prefix
}

// Redirected returns where the server redirects requests to, "" if it does not.
func (h *HTTP) Redirected() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.redirected
}

// readRequest returns the body of a request.
func readRequest(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	return io.ReadAll(req.Body)
}

// plainNetError drops net/http's "Post URL:" around an error: the fault has the URL.
func plainNetError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	// HTTP/2 wraps what happened in advice for programmers.
	if _, after, ok := strings.Cut(err.Error(), "cannot retry err ["); ok {
		if cause, _, ok := strings.Cut(after, "] after"); ok {
			return &worded{text: "HTTP/2: " + strings.TrimPrefix(cause, "http2: "), err: err}
		}
	}
	return err
}
