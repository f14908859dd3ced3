package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// legacyStream is what is known of the stream of the legacy transport.
type legacyStream struct {
	// unanswered is set when it was asked for, and not even the headers of an answer came.
	unanswered bool
	opened     bool
	// endpoint is set when the stream has said where to POST.
	endpoint bool
	// others counts the events that came before that, and other is the name of the first.
	others int
	other  string
	// comments counts the comments before that.
	comments int
	// taken is set when a POST of a request was accepted.
	taken bool
	// outside is the path of the last POST that was sent where the path of the stream does not begin, and status its answer's.
	outside string
	status  int
}

// noteStream changes what is known of the stream of the legacy transport.
func (h *HTTP) noteStream(change func(*legacyStream)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.stream)
}

// Taken reports whether a request was accepted on the legacy transport: its response is to come on the stream.
func (h *HTTP) Taken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stream.taken
}

// unanswered notes that a request got no answer, if it was the one for the stream of the legacy transport.
func (h *HTTP) unanswered(req *http.Request, written bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stream.unanswered = h.opts.Legacy && req.Method == http.MethodGet && written
}

// Unanswered reports whether the stream of the legacy transport was asked for, and not even the headers of an answer came.
func (h *HTTP) Unanswered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stream.unanswered
}

// Outside returns the path to which the last message of the legacy transport was sent, and the status of the answer, if that
// path is not below the one of the stream, as it is when a proxy before the server cuts a prefix off.
func (h *HTTP) Outside() (path string, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stream.outside, h.stream.status
}

// Unannounced says what came on the stream of the legacy transport in place of the event that names the endpoint, "" if that
// came, or there is no stream.
func (h *HTTP) Unannounced() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stream
	switch {
	case !s.opened || s.endpoint:
		return ""
	case s.others > 0:
		return fmt.Sprintf("what came on it: %d events, the first of the name %.40q, and %d comments", s.others, cmp.Or(s.other, "message"), s.comments)
	case s.comments > 0:
		return fmt.Sprintf("what came on it: %d comments, and no event", s.comments)
	}
	return "nothing came on it"
}

// legacyStream makes the answer's body the stream that carries everything the server says.
func (x *roundTrip) legacyStream(resp *http.Response) {
	h := x.h
	first := true
	var body *sseBody
	note := h.noteStream
	note(func(s *legacyStream) { s.opened = true })
	onEvent := func(ev sseEvent) (sseEvent, bool, error) {
		if first {
			if ev.name != "endpoint" {
				note(func(s *legacyStream) { s.others, s.other = s.others+1, cmp.Or(s.other, ev.name) })
			}
			// Others pass over what they do not know, such as a ping; an event without a name is the SDK's to refuse.
			if ev.name != "" && ev.name != "message" && ev.name != "endpoint" {
				return ev, false, nil
			}
			first = ev.name != "endpoint"
			note(func(s *legacyStream) { s.endpoint = !first })
			return ev, true, nil
		}
		data, ok := h.heard(body, ev)
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
	body = newSSEBody(resp.Body, MaxMessage, onEvent, onEnd)
	body.onComment = func() { note(func(s *legacyStream) { s.comments++ }) }
	h.takeUnended(body, h.waitsFor)
	// Responses that come elsewhere are put into it, between two events.
	r, w := io.Pipe()
	h.mu.Lock()
	h.posted = w
	h.mu.Unlock()
	stop := context.AfterFunc(h.ctx, func() { _ = r.Close() })
	go func() {
		defer stop()
		for {
			event, err := body.read()
			if err == nil {
				_, err = w.Write(event)
			}
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
		}
	}()
	resp.Body = &pipedBody{r, body}
}

// pipedBody is a body of which something else is read.
type pipedBody struct {
	*io.PipeReader
	src io.Closer
}

// Close ends both.
func (b *pipedBody) Close() error {
	_ = b.PipeReader.Close()
	return b.src.Close()
}

// waitsFor reports whether a request waits for a response.
func (h *HTTP) waitsFor(e envelope) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.pending[e.id()]
	return ok
}

// legacyPosted looks at the answer to a POST of the legacy transport, which says only whether it was taken. Some servers put
// the response there.
func (x *roundTrip) legacyPosted(resp *http.Response) (*http.Response, error) {
	x.ex.update(func(s *ExchangeState) { s.Status, s.Length = resp.StatusCode, -1 })
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, x.fail(x.evidence(resp, Fault{Kind: KindStatus}))
	}
	if x.msg.isCall() {
		x.h.mu.Lock()
		x.h.stream.taken = true
		x.h.mu.Unlock()
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if x.msg.isCall() && (media == "application/json" || strings.HasSuffix(media, "+json")) {
		if err := x.takePosted(resp); err != nil {
			return nil, err
		}
	}
	discard(resp.Body)
	resp.Body = http.NoBody
	return resp, nil
}

// takePosted puts the response to a request onto the stream, if it is in the answer to its POST.
func (x *roundTrip) takePosted(resp *http.Response) error {
	data, err := readWhole(resp.Body, resp.ContentLength, MaxMessage)
	switch {
	case errors.Is(err, errTooLarge):
		return x.fail(Fault{Kind: KindTooLarge, Status: resp.StatusCode, Err: err})
	case err != nil:
		data = nil // it broke off
	}
	data = trimMessage(data)
	e, ok := parseEnvelope(data)
	if !ok || !e.isResponse() || !x.mine(e) || !x.h.waitsFor(x.msg) {
		return nil // the stream is to say it
	}
	x.h.Odd.note(OddPosted, "the response to %s came in the answer to its POST, and not on the event stream", x.msg.Method)
	if e.nullID() {
		e.ID, data = x.msg.ID, withID(data, x.msg.ID)
	}
	x.h.mu.Lock()
	posted := x.h.posted
	x.h.mu.Unlock()
	if data = x.h.deliver(e, data); data != nil && posted != nil {
		_, _ = posted.Write(sseEvent{name: "message", data: carried(e, data)}.encode())
	}
	return nil
}
