package transport

import (
	"context"
	"net/http"
	"time"
)

// NewWeb returns a client for what belongs to a server and is not MCP: documents, token endpoints. It takes the way that
// the options describe, and sends none of their headers but User-Agent. It follows no redirects, sends nothing twice, and
// reuses no TCP connection. The trace shows its requests without their bodies, which hold credentials.
func NewWeb(opts HTTPOptions) *http.Client {
	opts.NoReuse = true
	w := &web{wire: newWire(context.Background(), opts), opts: opts}
	w.base = w.wire.transport()
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
	r := req.Clone(req.Context())
	r.GetBody = nil
	if agent := w.opts.Header.Get("User-Agent"); agent != "" {
		r.Header.Set("User-Agent", agent)
	}
	trace, begin := w.opts.Trace.exchange(), time.Now()
	trace.request(r, nil)
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		trace.Event("no answer after %s: %v", time.Since(begin).Round(time.Millisecond), plainNetError(err))
		f := &Fault{Kind: KindDial, Method: r.Method, URL: bareURL(r.URL), Err: err}
		w.wire.mark(f)
		return nil, f
	}
	trace.response(resp, time.Since(begin))
	return resp, nil
}
