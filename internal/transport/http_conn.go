package transport

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

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

// discard ends an answer; a little of what is left is read so that the TCP connection can be used again. A body that does
// not end is not waited for.
func discard(body io.ReadCloser) {
	timer := time.AfterFunc(drainTime, func() { _ = body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, faultBody)
	_ = body.Close()
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
	if *b.done && b.looking == nil {
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
	// plain is set for a connection without TLS, and heard once something has come on it. One goroutine reads.
	plain, heard bool
}

// errHTTP2 is the end of a plain connection whose server began with a frame of HTTP/2. net/http would tell of it in other ways, by
// whether it comes before the request is written.
var errHTTP2 = errors.New("a frame of HTTP/2 in place of an answer")

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.plain && !c.heard {
		c.heard = true
		if beginsHTTP2(p[:n]) {
			return 0, errHTTP2
		}
	}
	return n, err
}

// beginsHTTP2 reports whether a connection begins with a frame of settings, or one that gives the connection up, for the stream 0. See
// RFC 9113, 4.1.
func beginsHTTP2(b []byte) bool {
	const frameHead, settings, goAway = 9, 4, 7
	return len(b) >= frameHead && b[0] == 0 && b[1] == 0 && (b[3] == settings || b[3] == goAway) && bytes.Equal(b[4:frameHead], make([]byte, frameHead-4))
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
