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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
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

	mu      sync.Mutex
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

// pendingCall is a request whose response has not come.
type pendingCall struct {
	id json.RawMessage
	ex *Exchange
	// answered is called when the response has come, nil if nobody is to be told.
	answered func()
	// number is that of the message among those that were written to a child.
	number int
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

// redirect returns where the hop that a redirect asks for leads, or why it is not made. It never leaves the origin of the
// endpoint.
func redirect(endpoint, from *url.URL, status int, location string, hop int) (*url.URL, *Fault) {
	next, err := from.Parse(location)
	if err != nil {
		return nil, &Fault{Kind: KindRedirect, Location: location}
	}
	f := &Fault{Kind: KindRedirect, Location: bareURL(next)}
	switch {
	case hop >= maxRedirects:
		f.Err = fmt.Errorf("the server redirects in circles: more than %d times, the last to %s", maxRedirects, f.Location)
		return nil, f
	case status == http.StatusSeeOther || !SameOrigin(next, endpoint):
		return nil, f
	}
	return next, nil
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

// evidence completes a fault with what the answer says, and ends the answer.
func (x *roundTrip) evidence(resp *http.Response, f Fault) Fault {
	if f.Body == nil {
		f.Body = x.errorBody(resp)
	}
	discard(resp.Body)
	f.Status, f.ContentType = resp.StatusCode, resp.Header.Get("Content-Type")
	if f.Err == nil {
		f.Err = x.unauthorized
	}
	f.Challenge = strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")
	f.RetryAfter, f.HasRetryAfter = retryAfter(resp.Header, time.Now())
	if len(f.Body) > errorBody {
		f.Body = f.Body[:errorBody]
	}
	if mask := x.h.opts.Mask; mask != nil {
		f.Body = []byte(mask(string(f.Body)))
	}
	f.Title, f.Signs = pageTitle(f.Body), signs(resp.Header, x.h.opts.Mask)
	if e, ok := parseEnvelope(trimMessage(f.Body)); ok && e.Error != nil {
		f.RPCError, f.OwnID = e.Error, !e.nullID() && e.id() == x.msg.id()
	}
	if len(f.Body) > faultBody {
		f.Body = f.Body[:faultBody]
	}
	return f
}

// errorBody reads the body of an answer that is no answer. It waits for it for a short while only, and never until the
// caller's limit has run out: the status would be lost with it.
func (x *roundTrip) errorBody(resp *http.Response) []byte {
	wait := errorBodyTime
	if deadline, ok := x.caller.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	timer := time.AfterFunc(wait, func() { x.cancel(nil) })
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	return body
}

// answered looks at the answer to a request.
func (x *roundTrip) answered(resp *http.Response) (*http.Response, error) {
	x.ex.update(func(s *ExchangeState) { s.Status, s.Length = resp.StatusCode, resp.ContentLength })
	resp.Body = &countedBody{resp.Body, x.ex}
	if x.fault.SessionID {
		resp.Header.Del(sessionHeader) // a second id would make the SDK give up the session
	}
	success := resp.StatusCode >= 200 && resp.StatusCode < 300
	if !success {
		if resp.StatusCode == http.StatusTooManyRequests {
			x.h.Odd.note(OddBusy, "%s is refused with HTTP 429", x.msg.Method)
		}
		body := trimMessage(x.errorBody(resp))
		f := x.evidence(resp, Fault{Kind: KindStatus, Body: body})
		if !f.OwnID || !answers(resp.StatusCode) {
			return nil, x.fail(f)
		}
		e, _ := parseEnvelope(body)
		x.answer(e)
		return jsonAnswer(resp, forSDK(body, e, x.msg, x.ex)), nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	page := media == "text/html" || media == "application/xhtml+xml"
	if media == "" || x.h.opts.AnyContent || media != "application/json" && media != "text/event-stream" && !page {
		// Other clients take less: what is got over is noted.
		claimed := media
		if media = sniff(resp); claimed != media && media != "" {
			x.h.Odd.note(OddContentType, "%s is answered with %s, and Content-Type says %s", x.msg.Method, media, cmp.Or(claimed, "nothing"))
		}
	}
	switch media {
	case "text/event-stream":
		resp.Header.Set("Content-Type", media)
		x.stream(resp, x.msg.id())
		return resp, nil
	case "application/json":
		return x.wholeAnswer(resp)
	}
	return nil, x.fail(x.evidence(resp, Fault{Kind: KindContent}))
}

// countedBody counts what has come of a body.
type countedBody struct {
	io.ReadCloser
	ex *Exchange
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ex.update(func(s *ExchangeState) { s.Read += int64(n) })
	return n, err
}

// answers reports whether a JSON-RPC error with the request's own id under an HTTP status is the server's answer to the
// request. Under the others the status says more: the request did not get as far.
func answers(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// wholeAnswer reads a JSON body.
func (x *roundTrip) wholeAnswer(resp *http.Response) (*http.Response, error) {
	data, err := readWhole(resp.Body, resp.ContentLength, MaxMessage)
	switch {
	case errors.Is(err, errTooLarge):
		_ = resp.Body.Close()
		return nil, x.fail(Fault{Kind: KindTooLarge, Status: resp.StatusCode, Err: err})
	case err != nil:
		discard(resp.Body)
		return nil, x.netFault(err)
	}
	discard(resp.Body)
	var messages [][]byte
	var found bool
	if b := trimMessage(data); len(b) > 0 && b[0] == '[' {
		x.h.Odd.note(OddBatch, "the response to %s stands in an array", x.msg.Method)
	}
	for _, m := range splitBatch(data) {
		e, ok := parseEnvelope(m)
		if !ok {
			continue
		}
		if e.isResponse() {
			if !x.mine(e) {
				x.h.stray(e)
				continue
			}
			found = true
			x.answer(e)
			m = forSDK(m, e, x.msg, x.ex)
		}
		x.h.opts.Notify.notify(e)
		x.h.Odd.heard(e)
		messages = append(messages, carried(e, m))
	}
	if !found {
		f := Fault{Kind: KindContent, Body: data}
		if e, ok := parseEnvelope(trimMessage(data)); ok && e.isResponse() {
			f.Err = fmt.Errorf("its id is %s, the request's is %s", e.ID, x.msg.ID)
		} else {
			f.Err = whatIsWrong(data)
		}
		return nil, x.fail(x.evidence(resp, f))
	}
	if len(messages) == 1 {
		return jsonAnswer(resp, messages[0]), nil
	}
	// The SDK reads one message from JSON, and any number from a stream.
	var b bytes.Buffer
	for _, m := range messages {
		b.Write(sseEvent{data: m}.encode())
	}
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Body = io.NopCloser(&b)
	return resp, nil
}

// mine reports whether a response can only be the one to this request. An error without an id is: on a POST's own
// answer there is no other request it could belong to.
func (x *roundTrip) mine(e envelope) bool {
	return e.id() == x.msg.id() || e.nullID() && e.Error != nil
}

func (x *roundTrip) answer(e envelope) {
	x.h.Odd.own(e, x.msg)
	x.ex.answer(e)
	x.h.forget(x.msg)
}

// stream makes the answer's body a stream that is looked at. own is the id of the request it answers, "" if none.
func (x *roundTrip) stream(resp *http.Response, own string) {
	h := x.h
	done, resumable := false, false
	var dropped *droppedEvent
	src := resp.Body
	onEvent := func(ev sseEvent) (sseEvent, bool, error) {
		resumable = resumable || ev.hasID
		if len(ev.data) == 0 {
			return ev, ev.hasID || ev.retry != "", nil // it primes a resumption
		}
		if ev.name != "" && ev.name != "message" {
			dropped = dropped.or(ev)
			return ev, false, nil
		}
		data := splitBatch(ev.data)[0]
		e, ok := parseEnvelope(data)
		if !ok {
			dropped = dropped.or(ev)
			ev.data = nil
			return ev, ev.hasID, nil
		}
		if e.isResponse() {
			switch {
			case own != "" && x.mine(e):
				x.answer(e)
				data = forSDK(data, e, x.msg, x.ex)
				done = true
			default:
				if data = h.deliver(e, data); data == nil {
					ev.data = nil
					return ev, ev.hasID, nil
				}
			}
		}
		h.opts.Notify.notify(e)
		h.Odd.heard(e)
		ev.data = carried(e, data)
		return ev, true, nil
	}
	var body *sseBody
	onEnd := func(err error) {
		x.listened(false)
		if own != "" && !done {
			if x.caller.Err() != nil {
				return
			}
			f := &Fault{
				Kind: KindSevered, Written: true, SessionID: x.fault.SessionID, Method: x.fault.Method, URL: x.fault.URL,
				Status: resp.StatusCode, Err: errNoResponse,
			}
			shown, why := dropped.why(body.ignored)
			switch {
			case errors.Is(err, errTooLarge):
				f.Kind, f.Err = KindTooLarge, err
			case why != nil && errors.Is(err, io.EOF) && !resumable: // the server itself ended it
				f.Kind, f.Err, f.ContentType, f.Body = KindContent, why, resp.Header.Get("Content-Type"), shown
				if h.opts.Mask != nil {
					f.Body = []byte(h.opts.Mask(string(shown)))
				}
			}
			x.ex.fail(f)
		}
	}
	body = newSSEBody(src, MaxMessage, onEvent, onEnd)
	body.done = &done
	if own != "" {
		// The SDK would resume the stream, only to be sent the same again, and then give the session up.
		body.tooLarge = refusal(x.msg)
	}
	resp.Body = &drainedBody{body}
}

// droppedEvent is the first event of a stream that is no message.
type droppedEvent struct {
	name string
	data []byte
}

// or returns d, or an event if there is no d. One that looks like a message counts more than a ping.
func (d *droppedEvent) or(ev sseEvent) *droppedEvent {
	message := func(data []byte) bool { return bytes.Contains(data, []byte(`"jsonrpc"`)) }
	if d != nil && (message(d.data) || !message(ev.data)) {
		return d
	}
	return &droppedEvent{ev.name, bytes.Clone(ev.data[:min(len(ev.data), errorBody)])}
}

// why says why there is no response in a stream that has ended, and shows what is there; nil if nothing came that could be
// meant as one. ignored is the first line that is no field of an event.
func (d *droppedEvent) why(ignored []byte) (shown []byte, err error) {
	cut := func(data []byte) []byte { return data[:min(len(data), faultBody)] }
	if d == nil {
		if len(ignored) > 0 && bytes.ContainsAny(ignored[:1], "{[<") {
			return cut(ignored), errors.New("the stream ended before the response, and there is no event in it")
		}
		return nil, nil
	}
	if !bytes.Contains(d.data, []byte(`"jsonrpc"`)) {
		return nil, nil
	}
	if _, ok := parseEnvelope(trimMessage(d.data)); ok {
		return cut(d.data), fmt.Errorf("the stream ended before the response: clients take events of the name message, and this one is %.40q", d.name)
	}
	if why := whatIsWrong(d.data); why != nil && !cutShort(d.data) {
		return cut(d.data), fmt.Errorf("the stream ended before the response: in its event, %w", why)
	}
	return nil, nil
}

var errNoResponse = errors.New("the stream ended before the response")

// refusal is what the SDK is told in place of a response that is too large.
func refusal(request envelope) []byte {
	const internalError = -32603 // JSON-RPC 2.0, 5.1
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the response is too large"}}`, request.ID, internalError)
}

// notified looks at the answer to a notification or to a response of ours.
func (x *roundTrip) notified(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if x.msg.Method == "" {
			x.h.Odd.note(OddReply, "our answer to a request of the server's got HTTP %d", resp.StatusCode)
		}
		return nil, x.fail(x.evidence(resp, Fault{Kind: KindStatus}))
	}
	return resp, nil
}

// listening looks at the answer to a GET: a stream that is resumed, or the one stream of the legacy transport.
func (x *roundTrip) listening(resp *http.Response) (*http.Response, error) {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !x.h.opts.Legacy {
		if resp.StatusCode == http.StatusOK && media == "text/event-stream" {
			x.stream(resp, "")
		}
		return resp, nil
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, x.fail(x.evidence(resp, Fault{Kind: KindStatus}))
	}
	if media != "text/event-stream" {
		return nil, x.fail(x.evidence(resp, Fault{Kind: KindContent}))
	}
	x.legacyStream(resp)
	return resp, nil
}

// heard takes note of what has come on a stream that no request waits for, and returns it as the SDK gets it, ok false for
// what is no message.
func (h *HTTP) heard(event []byte) (data []byte, ok bool) {
	data = splitBatch(event)[0]
	e, ok := parseEnvelope(data)
	if !ok {
		return nil, false
	}
	if e.isResponse() {
		if data = h.deliver(e, data); data == nil {
			return nil, false
		}
	}
	h.opts.Notify.notify(e)
	h.Odd.heard(e)
	return carried(e, data), true
}

// legacyStream makes the answer's body the stream that carries everything the server says.
func (x *roundTrip) legacyStream(resp *http.Response) {
	h := x.h
	first := true
	onEvent := func(ev sseEvent) (sseEvent, bool, error) {
		if first {
			// Others pass over what they do not know, such as a ping; an event without a name is the SDK's to refuse.
			if ev.name != "" && ev.name != "message" && ev.name != "endpoint" {
				return ev, false, nil
			}
			first = ev.name != "endpoint"
			return ev, true, nil
		}
		data, ok := h.heard(ev.data)
		if !ok {
			return ev, false, nil
		}
		ev.name, ev.data = "message", data
		return ev, true, nil
	}
	onEnd := func(err error) {
		switch {
		case x.caller.Err() != nil:
			err = errors.New("the event stream was closed")
		case isEOF(err):
			err = errors.New("the server ended the event stream")
		}
		h.end(err)
	}
	resp.Body = newSSEBody(resp.Body, MaxMessage, onEvent, onEnd)
}

// behindProxy sends a POST of the legacy transport again, with the path's prefix that a proxy before the server cuts off,
// when there is nothing at the address which the server announced: it does not know the prefix. The POST that was
// answered with 404 reached nobody.
func (x *roundTrip) behindProxy(ctx context.Context, req *http.Request, body []byte, resp *http.Response) (*http.Response, error) {
	prefix := path.Dir(x.h.opts.Endpoint.Path)
	if resp.StatusCode != http.StatusNotFound || prefix == "/" || prefix == "." || strings.HasPrefix(req.URL.Path, prefix+"/") {
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

// legacyPosted looks at the answer to a POST of the legacy transport, which says only whether it was taken.
func (x *roundTrip) legacyPosted(resp *http.Response) (*http.Response, error) {
	x.ex.update(func(s *ExchangeState) { s.Status = resp.StatusCode })
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, x.fail(x.evidence(resp, Fault{Kind: KindStatus}))
	}
	discard(resp.Body)
	resp.Body = http.NoBody
	return resp, nil
}

// expect notes that the response to a request is to be delivered to an exchange.
func (h *HTTP) expect(ctx context.Context, msg envelope, ex *Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending[msg.id()] = pendingCall{id: msg.ID, ex: ex}
	// What nobody waits for any more is not kept.
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, open := h.pending[msg.id()]; open {
			h.givenUp = remembered(h.givenUp, msg.id())
		}
		delete(h.pending, msg.id())
	})
}

// onAnswer sets what is done when the response to a request has been delivered.
func (h *HTTP) onAnswer(msg envelope, answered func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if call, ok := h.pending[msg.id()]; ok {
		call.answered = answered
		h.pending[msg.id()] = call
	}
}

func (h *HTTP) forget(msg envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pending, msg.id())
}

// deliver gives a response that came on a shared stream to the exchange of its request, and returns it with the
// request's own id.
func (h *HTTP) deliver(e envelope, data []byte) []byte {
	h.mu.Lock()
	h.legacyOpened = h.opts.Legacy
	id := e.id()
	if e.nullID() {
		// The SDK would end the connection. An error is the answer to the only request that waits, if it is not that to a
		// notification, which some servers answer.
		if len(h.pending) != 1 || e.Error == nil || refusesMessage(e.Error) {
			h.mu.Unlock()
			h.stray(e)
			return nil
		}
		for id = range h.pending { //nolint:revive // takes the only key
		}
	}
	call, ok := h.pending[id]
	delete(h.pending, id)
	late := slices.Contains(h.givenUp, id)
	h.mu.Unlock()
	if !ok {
		if !late {
			h.stray(e)
		}
		return data
	}
	h.Odd.own(e, envelope{ID: call.id})
	call.ex.answer(e)
	if call.answered != nil {
		call.answered()
	}
	return forSDK(data, e, envelope{ID: call.id}, call.ex)
}

// stray counts a response that belongs to no request.
func (h *HTTP) stray(e envelope) {
	h.Strays.Add(1)
	h.Odd.note(OddStray, "a response with the id %.40s, which no request has", e.ID)
}

// withOwnID returns the response with the request's id, if it is spelled otherwise.
func withOwnID(data []byte, e, request envelope) []byte {
	if bytes.Equal(e.ID, request.ID) {
		return data
	}
	return withID(data, request.ID)
}

func jsonAnswer(resp *http.Response, message []byte) *http.Response {
	resp.Header.Set("Content-Type", "application/json")
	resp.ContentLength = int64(len(message))
	resp.Body = io.NopCloser(bytes.NewReader(message))
	return resp
}

// sniff guesses the media type of an answer that has none.
func sniff(resp *http.Response) string {
	// One read: a stream that has begun may wait for a long time before it goes on.
	var head [512]byte
	n, _ := resp.Body.Read(head[:])
	start := trimMessage(head[:n])
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head[:n:n]), resp.Body), resp.Body}
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return "application/json"
	}
	for _, field := range []string{"event:", "data:", "id:", ":"} {
		if bytes.HasPrefix(start, []byte(field)) {
			return "text/event-stream"
		}
	}
	return ""
}

// readRequest returns the body of a request.
func readRequest(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	return io.ReadAll(req.Body)
}

// discard ends an answer; a little of what is left is read so that the TCP connection can be used again. A body that does
// not end is not waited for.
func discard(body io.ReadCloser) {
	timer := time.AfterFunc(drainTime, func() { _ = body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, faultBody)
	_ = body.Close()
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

// bareURL returns the URL without what may be secret: query, fragment, user info.
func bareURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return bare.String()
}

// SameOrigin reports whether two URLs have the same scheme, host and port. See RFC 6454. Only the letters of ASCII have a
// case in a host (RFC 3986, 6.2.2.1): to Unicode the Kelvin sign is a k, too.
func SameOrigin(a, b *url.URL) bool {
	return asciiLower(a.Scheme) == asciiLower(b.Scheme) && asciiLower(a.Hostname()) == asciiLower(b.Hostname()) && port(a) == port(b)
}

func asciiLower(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return string(lower)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// releasedBody frees the request's context when the answer is done with.
type releasedBody struct {
	io.ReadCloser
	release func()
}

func (b *releasedBody) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// drainedBody reads a stream to its end, for a short while, once its response has come. Nobody waits for it.
type drainedBody struct{ *sseBody }

func (b *drainedBody) Close() error {
	if *b.done {
		timer := time.AfterFunc(drainTime, func() { _ = b.src.Close() })
		_, _ = io.CopyN(io.Discard, b.r, faultBody)
		timer.Stop()
	}
	return b.src.Close()
}

// countedConn counts the writes to a TCP connection, before they happen: a request that reached the server and was
// answered with a reset must never look as if it had not been written.
type countedConn struct {
	net.Conn
	n    atomic.Int64
	stop func() bool
}

// Close closes it; nothing is left that would.
func (c *countedConn) Close() error {
	c.stop()
	return c.Conn.Close()
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(p)
}

// writeProbe finds out whether a request wrote anything.
type writeProbe struct {
	mu      sync.Mutex
	conns   map[*countedConn]int64
	unknown bool
}

func (p *writeProbe) trace(h *HTTP) *httptrace.ClientTrace {
	// Two connections may be opened for one request.
	var dns, tcp, handshake time.Time
	begin := func(at *time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		*at = time.Now()
	}
	since := func(at *time.Time) time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		return *at
	}
	span := func(name string, since time.Time) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.spans) < 3 && !since.IsZero() {
			h.spans = append(h.spans, Span{Name: name, Elapsed: time.Since(since)})
		}
	}
	return &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { begin(&dns) },
		DNSDone:      func(httptrace.DNSDoneInfo) { span("dns", since(&dns)) },
		ConnectStart: func(string, string) { begin(&tcp) },
		ConnectDone: func(_, addr string, err error) {
			if err == nil {
				span("tcp", since(&tcp))
				h.opts.Trace.Event("connected to %s in %s", addr, time.Since(since(&tcp)).Round(time.Millisecond))
			}
		},
		TLSHandshakeStart: func() { begin(&handshake) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			span("tls", since(&handshake))
			if err == nil {
				h.opts.Trace.Event("%s, %s", tls.VersionName(state.Version), cmp.Or(state.NegotiatedProtocol, "http/1.1"))
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			conn := info.Conn
			if c, ok := conn.(interface{ NetConn() net.Conn }); ok {
				conn = c.NetConn()
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			counted, ok := conn.(*countedConn)
			if !ok {
				p.unknown = true
				return
			}
			if p.conns == nil {
				p.conns = map[*countedConn]int64{}
			}
			p.conns[counted] = counted.n.Load()
		},
	}
}

func (p *writeProbe) written() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, before := range p.conns {
		if c.n.Load() > before {
			return true
		}
	}
	return p.unknown
}
