package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Notification is called with each notification of the server, its parameters byte for byte. It must not block.
type Notification func(method string, params json.RawMessage)

// notify tells of a message, if it is a notification and somebody listens.
func (n Notification) notify(e envelope) {
	if n != nil && e.Method != "" && e.nullID() {
		n(e.Method, e.Params)
	}
}

// listenMethod is the request of the modern era whose answer is a stream of notifications. See the MCP specification,
// 2026-07-28, "Subscriptions".
const listenMethod = "subscriptions/listen"

// listened tells how a request for a stream of notifications stands.
func (x *roundTrip) listened(open bool) {
	if x.request != nil && x.h.opts.OnListen != nil && x.h.ctx.Err() == nil && x.caller.Err() == nil {
		x.h.opts.OnListen(x.request, x.ex.State(), open)
	}
}

const (
	// listenPause is the pause before a stream that broke is opened again, unless the server says another; it doubles up to
	// listenMost.
	listenPause = time.Second
	listenMost  = time.Minute
)

// isListening reports whether a request is the SDK's for the stream of what the server says unasked.
func isListening(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get("Accept") == "text/event-stream" && req.Header.Get("Last-Event-ID") == ""
}

// standalone answers the SDK's GET for the stream of what the server says unasked with a pipe, at once, and feeds it from
// a stream of our own, which is opened again when it breaks. The SDK would wait for the answer without a limit, and give
// the session up when the stream breaks some times.
//
// See the MCP specification, 2025-11-25, "Listening for Messages from the Server".
func (h *HTTP) standalone(req *http.Request) *http.Response {
	r, w := io.Pipe()
	h.begun()
	header := req.Header.Clone()
	go func() {
		defer func() { _ = w.Close() }()
		h.listen(header, w)
		<-h.ctx.Done() // an end of the pipe would make the SDK ask again
	}()
	context.AfterFunc(h.ctx, func() { _ = r.Close() })
	resp := accepted(req)
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Body = r
	return resp
}

// listen keeps the stream open until the connection is closed. It returns when the server offers none, or does not know
// the session any more.
func (h *HTTP) listen(header http.Header, w io.Writer) {
	opened, pause := false, listenPause
	for h.ctx.Err() == nil {
		begin := time.Now()
		streamed, retry, err := h.listenOnce(header, w)
		h.tried()
		var f *Fault
		switch {
		case streamed:
			opened = true
			if time.Since(begin) > listenMost { // it is none that ends at once
				pause = listenPause
			}
		case errors.As(err, &f) && f.SessionID && opened && (f.Status == http.StatusNotFound || f.Status == http.StatusGone):
			h.end(f) // a server that had the stream does not know the session any more
			return
		case errors.As(err, &f) && h.opts.Authorizer != nil && (f.Kind == KindAuth || f.Status == http.StatusUnauthorized):
			h.streamed(false) // until there is other authorization, which the requests get: this alone is no reason to log in
		case errors.As(err, &f) && f.Status == http.StatusMethodNotAllowed,
			errors.As(err, &f) && !opened && f.Status >= 200 && f.Status < 500 && f.Status != http.StatusTooManyRequests:
			h.streamed(false)
			return
		}
		next := max(pause, retry)
		h.opts.Trace.Event("the stream of notifications: %v; again in %s", err, next)
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-h.ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, listenMost)
	}
}

// streamed tells that the stream was opened, or that the server offers none.
func (h *HTTP) streamed(open bool) {
	if h.opts.OnStream != nil {
		h.opts.OnStream(open)
	}
}

// listenOnce opens the stream and gives its messages on until it ends. It reports whether it was opened, and the pause
// that the server asks for.
func (h *HTTP) listenOnce(header http.Header, w io.Writer) (opened bool, retry time.Duration, err error) {
	req, err := http.NewRequestWithContext(h.ctx, http.MethodGet, h.opts.Endpoint.String(), nil)
	if err != nil {
		return false, 0, err
	}
	req.Header = header.Clone()
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	x := &roundTrip{h: h, caller: h.ctx, cancel: cancel, fault: Fault{Method: req.Method, URL: bareURL(req.URL)}}
	resp, err := x.send(ctx, req, nil)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || media != "text/event-stream" {
		f := x.evidence(resp, Fault{Kind: KindStatus})
		return false, min(f.RetryAfter, listenMost), x.fail(f)
	}
	h.tried()
	h.streamed(true)
	var body *sseBody
	body = newSSEBody(resp.Body, MaxMessage, func(ev sseEvent) (sseEvent, bool, error) {
		if ev.hasID {
			header.Del("Last-Event-ID") // and an empty one is none
			if ev.id != "" {
				header.Set("Last-Event-ID", ev.id)
			}
		}
		if ms, err := strconv.Atoi(ev.retry); err == nil && ms > 0 {
			retry = min(time.Duration(ms)*time.Millisecond, listenMost)
		}
		if ev.name != "" && ev.name != "message" {
			return ev, false, nil
		}
		data, ok := h.heard(body, ev)
		return sseEvent{data: data}, ok, nil // the SDK is not to resume anything
	}, func(error) {})
	_, err = io.Copy(w, body)
	if err == nil {
		err = errors.New("the server ended it")
	}
	return true, retry, err
}
