package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// answerBound is how long a server may take to begin its answer to a request that is not MCP: it looks something up, and
// signs something. Whoever asks has a limit of his own, which is usually shorter.
const answerBound = 10 * time.Second

// NewWeb returns a client for what belongs to a server and is not MCP: documents, token endpoints. It takes the way that
// the options describe, and sends none of their headers but User-Agent, and no authorization of theirs. It follows no
// redirects, keeps no cookies, sends nothing twice, and leaves no TCP connection open once the body of an answer was
// closed. How much of a body is read is the caller's choice. The trace shows what was asked and the status of the
// answer, without queries, headers and bodies, which hold credentials.
//
// A failure of the network is a [*Fault] in plain words; a context that ended is not.
func NewWeb(opts HTTPOptions) *http.Client {
	opts.NoReuse = true
	w := &web{wire: newWire(context.Background(), opts), opts: opts}
	w.base = w.wire.transport()
	w.base.ResponseHeaderTimeout = answerBound
	return &http.Client{
		Transport:     w,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type web struct {
	opts HTTPOptions
	wire *wire
	base *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, way := watch(untraced{req.Context()})
	r := req.Clone(ctx)
	r.GetBody = nil // net/http cannot send it again by itself
	if agent := w.opts.Header.Get("User-Agent"); agent != "" {
		r.Header.Set("User-Agent", agent)
	}
	where := bareURL(r.URL)
	trace, begin := w.opts.Trace.exchange(), time.Now()
	trace.bare('>', "%s %s", r.Method, where)
	resp, err := w.base.RoundTrip(r)
	switch {
	case err != nil && req.Context().Err() != nil:
		trace.Event("given up after %s", time.Since(begin).Round(time.Millisecond))
		return nil, context.Cause(req.Context())
	case err != nil:
		trace.Event("no answer after %s: %v", time.Since(begin).Round(time.Millisecond), plainNetError(err))
		f, _ := w.wire.fault(err, way, where)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && f.Kind == KindSevered {
			f.Kind, f.Err = KindOther, &worded{fmt.Sprintf("no answer within %s", answerBound), err}
		}
		return nil, w.failed(r, f)
	}
	trace.bare('<', "%s %s (%s)", resp.Proto, resp.Status, time.Since(begin).Round(time.Millisecond))
	if resp.StatusCode == http.StatusProxyAuthRequired && w.opts.Proxy != nil {
		_ = resp.Body.Close()
		text := w.wire.refusal(resp.StatusCode, resp.Header.Get("Proxy-Authenticate"), "")
		return nil, w.failed(r, Fault{Kind: KindProxy, Status: resp.StatusCode, Err: &worded{text: text, err: errors.New(text)}})
	}
	if err := decode(r, resp); err != nil {
		_ = resp.Body.Close()
		return nil, w.failed(r, Fault{Kind: KindContent, Status: resp.StatusCode, Err: err})
	}
	return resp, nil
}

// failed completes a fault.
func (w *web) failed(r *http.Request, f Fault) error {
	f.Method, f.URL = cmp.Or(f.Method, r.Method), cmp.Or(f.URL, bareURL(r.URL))
	f.Written = true // nobody repeats it
	w.wire.mark(&f)
	return &f
}
