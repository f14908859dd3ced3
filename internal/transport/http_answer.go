package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// pendingCall is a request whose response has not come.
type pendingCall struct {
	id json.RawMessage
	ex *Exchange
	// answered is called when the response has come, nil if nobody is to be told.
	answered func()
	// number is that of the message among those that were written to a child.
	number int
}

// evidence completes a fault with what the answer says, and ends the answer.
func (x *roundTrip) evidence(resp *http.Response, f Fault) Fault {
	if f.Body == nil {
		f.Body = x.errorBody(resp)
	}
	discard(resp.Body)
	f.Status, f.ContentType = resp.StatusCode, Snippet([]byte(resp.Header.Get("Content-Type")))
	if f.Err == nil {
		f.Err = x.unauthorized
	}
	challenge := strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")
	f.RetryAfter, f.HasRetryAfter = retryAfter(resp.Header, time.Now())
	if len(f.Body) > errorBody {
		f.Body = f.Body[:errorBody]
	}
	if mask := x.h.opts.Mask; mask != nil {
		f.Body, challenge = []byte(mask(string(f.Body))), mask(challenge)
	}
	f.Challenge = challenge[:min(len(challenge), faultBody)]
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
			said := cmp.Or(claimed, Snippet([]byte(resp.Header.Get("Content-Type"))), "nothing")
			x.h.Odd.note(OddContentType, "%s is answered with %s, and Content-Type says %s", x.msg.Method, media, said)
		}
	}
	if page && sniff(resp) == "application/json" { // what PHP says of everything for which the author says nothing
		x.h.Odd.note(OddContentType, "%s is answered with application/json, and Content-Type says %s", x.msg.Method, media)
		media = "application/json"
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
	case errors.Is(err, io.ErrUnexpectedEOF):
		discard(resp.Body)
		return nil, x.netFault(&worded{cutOff(len(data), resp.ContentLength), err})
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
	list := slices.Collect(splitBatch(data))
	for i := 0; i < len(list); i++ {
		m := list[i]
		e, ok := parseEnvelope(m)
		if !ok {
			if lines := splitLines(m); lines != nil {
				x.h.Odd.note(OddLines, "the response to %s stands among %d messages, one after the other, which are no JSON together", x.msg.Method, len(lines))
				list = append(list, lines...)
			}
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
		switch e, ok := parseEnvelope(trimMessage(data)); {
		case ok && e.isResponse() && len(e.ID) == 0:
			f.Err = fmt.Errorf("it has no id, the request's is %s", x.msg.ID)
		case ok && e.isResponse():
			f.Err = fmt.Errorf("its id is %s, the request's is %s", e.ID, x.msg.ID)
		case ok && e.Method == x.msg.Method && e.id() == x.msg.id():
			f.Err = errors.New("the request itself came back")
		default:
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

// cutOff says that an answer ended before its end. length is what it announces, -1 if it is sent in chunks.
func cutOff(read int, length int64) string {
	if length < 0 {
		return fmt.Sprintf("the answer broke off after %d bytes", read)
	}
	return fmt.Sprintf("the answer broke off after %d of the %d bytes that its Content-Length announces", read, length)
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
	var body *sseBody
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
		data, e, ok := h.messageIn(body, ev)
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
		h.takeUnended(body, x.mine)
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
	if d != nil && (d.meant() || !meant(ev.data)) {
		return d
	}
	return &droppedEvent{ev.name, bytes.Clone(ev.data[:min(len(ev.data), errorBody)])}
}

// meant reports whether data is meant as a message, perhaps in another encoding: the word stands in it.
func meant(data []byte) bool { return bytes.Contains(data, []byte("jsonrpc")) }

func (d *droppedEvent) meant() bool { return meant(d.data) }

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
	if text := trimMessage(d.data); len(text) > 0 && (text[0] == '{' || text[0] == '[') && !d.meant() && meant(ignored) {
		return cut(append(d.data, ignored...)), errors.New("the stream ended before the response: each line of an event has to begin with data:, and the message goes on without it")
	}
	if !d.meant() {
		switch text := trimMessage(d.data); {
		case strings.Contains(strings.ToLower(d.name), "error"):
			return cut(d.data), fmt.Errorf("the stream ended before the response, and an event of the name %.40q came in its place", d.name)
		case rawjson.Get(text, "error") != nil || rawjson.Get(text, "detail") != nil:
			return cut(d.data), errors.New("the stream ended before the response, and its event is no message")
		}
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

// messageIn returns the message of an event. The others of an event that holds several, in an array or one after the other, are
// events of their own that come next. It reports false if there is none.
func (h *HTTP) messageIn(body *sseBody, ev sseEvent) (data []byte, e envelope, ok bool) {
	data = trimMessage(ev.data)
	if e, ok = parseEnvelope(data); ok {
		return data, e, true
	}
	list := severalMessages(data)
	if len(list) == 0 {
		return data, envelope{}, false
	}
	if data[0] == '[' {
		h.Odd.note(OddBatch, "a message on an event stream stands in an array")
	} else {
		h.Odd.note(OddLines, "%d messages stand in one event, one after the other, which are no JSON together", len(list))
	}
	for _, m := range list[1:] {
		body.queue = append(body.queue, sseEvent{name: ev.name, data: m})
	}
	e, ok = parseEnvelope(list[0])
	return list[0], e, ok
}

// heard takes note of what has come on a stream that no request waits for, and returns it as the SDK gets it, ok false for
// what is no message.
func (h *HTTP) heard(body *sseBody, ev sseEvent) (data []byte, ok bool) {
	data, e, ok := h.messageIn(body, ev)
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

// takeUnended makes a stream take a response of its own without the blank line that ends an event, when that does not come.
func (h *HTTP) takeUnended(body *sseBody, mine func(envelope) bool) {
	body.impatient = h.Odd.has(OddUnended)
	body.whole = func(ev sseEvent) bool {
		if ev.name == "endpoint" {
			return len(ev.data) > 0
		}
		data := trimMessage(ev.data)
		e, ok := parseEnvelope(data)
		if list := severalMessages(data); !ok && len(list) > 0 { // those before it were not ended either
			e, ok = parseEnvelope(list[len(list)-1])
		}
		return ok && e.isResponse() && mine(e)
	}
	body.unended = func() {
		body.impatient = true
		h.Odd.note(OddUnended, "the server did not end an event with a blank line, and the stream went on in silence")
	}
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
