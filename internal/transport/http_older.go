package transport

import (
	"errors"
	"net/http"
)

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
