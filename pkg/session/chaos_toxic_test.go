package session

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// toxicProxy stands between client and server and puts toxics, those of Toxiproxy, on its connections. Toxiproxy's own
// proxy is not used: it comes with a web server and its metrics, and could not tell one connection from another.
type toxicProxy struct {
	ln       net.Listener
	upstream string
	seed     uint64
	all      sync.WaitGroup

	mu     sync.Mutex
	n      int
	harmed map[string]string // by the address of the client
	open   map[net.Conn]bool
	closed bool
}

func startToxic(t *testing.T, upstream string, seed uint64) *toxicProxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &toxicProxy{ln: ln, upstream: upstream, seed: seed, harmed: map[string]string{}, open: map[net.Conn]bool{}}
	p.all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.carry(conn) })
		}
	})
	return p
}

// stop closes everything.
func (p *toxicProxy) stop() {
	_ = p.ln.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// harms reports whether the connection of a client is harmed.
func (p *toxicProxy) harms(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.harmed[client] != ""
}

// keep notes a connection, and closes it if it is too late.
func (p *toxicProxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.open[conn] = true
	return true
}

func (p *toxicProxy) drop(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

// choose returns the toxics of a connection: what slows it, and what harms it. Silence is rare: it costs a limit.
func choose(d *rand.Rand) (up, down []toxics.Toxic, harm string) {
	switch d.IntN(4) {
	case 0:
		down = append(down, &toxics.LatencyToxic{Latency: int64(d.IntN(10)), Jitter: int64(d.IntN(10))})
	case 1:
		slicer := &toxics.SlicerToxic{AverageSize: 64, SizeVariation: 32, Delay: 50} // µs
		up, down = append(up, slicer), append(down, slicer)
	}
	switch d.IntN(200) {
	case 0, 1, 2:
		harm = "reset_peer"
		down = append(down, &toxics.ResetToxic{Timeout: int64(d.IntN(20))})
	case 3, 4, 5:
		harm = "limit_data"
		down = append(down, &toxics.LimitDataToxic{Bytes: int64(d.IntN(4000))})
	case 6, 7:
		harm = "limit_data upstream"
		up = append(up, &toxics.LimitDataToxic{Bytes: int64(d.IntN(4000))})
	case 8:
		harm = "timeout"
		down = append(down, &toxics.TimeoutToxic{})
	case 9:
		harm = "timeout upstream"
		up = append(up, &toxics.TimeoutToxic{})
	case 10:
		harm = "bandwidth"
		down = append(down, &toxics.BandwidthToxic{Rate: 1}) // KB/s
	}
	return up, down, harm
}

// carry connects a client with the server.
func (p *toxicProxy) carry(client net.Conn) {
	p.mu.Lock()
	p.n++
	up, down, harm := choose(dice(p.seed, "connection", p.n))
	p.harmed[client.RemoteAddr().String()] = harm
	p.mu.Unlock()
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	if harm == "reset_peer" {
		for _, conn := range []net.Conn{client, server} {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pipe(server, client, up) })
	both.Go(func() { pipe(client, server, down) })
	both.Wait()
}

// pipe copies from one side to the other through a chain of toxics, and closes both at the end.
func pipe(dst, src net.Conn, chain []toxics.Toxic) {
	var all sync.WaitGroup
	in := make(chan *stream.StreamChunk)
	source, last := in, in
	for _, toxic := range chain {
		buffer := 0
		if b, ok := toxic.(toxics.BufferedToxic); ok {
			buffer = b.GetBufferSize()
		}
		next := make(chan *stream.StreamChunk, buffer)
		stub := toxics.NewToxicStub(last, next)
		if stateful, ok := toxic.(toxics.StatefulToxic); ok {
			stub.State = stateful.NewState()
		}
		from := last
		all.Go(func() {
			stub.Run(&toxics.ToxicWrapper{Toxic: toxic, Toxicity: 1})
			_ = src.Close() // nothing more is wanted
			for range from {
			}
		})
		last = next
	}
	all.Go(func() {
		_, _ = io.Copy(stream.NewChanWriter(source), src)
		close(source)
	})
	out := stream.NewChanReader(last)
	_, _ = io.Copy(dst, out)
	_, _ = dst.Close(), src.Close()
	for range last {
	}
	all.Wait()
}

// TestChaosToxic shows the same, and TL-06 and TL-07, on a bad network: slow, cut in slices, reset, cut off, silent.
func TestChaosToxic(t *testing.T) {
	nothing := nothingLeft(t)
	run := newChaosRun(t, 100, 2000, 20000)
	srv := startChaos(t, run.seed, false)
	srv.calm = true
	proxy := startToxic(t, srv.addr, run.seed)
	run.harms = proxy.harms
	run.kill = func(_ context.Context, _ int, _ *rand.Rand, current *Session) {
		srv.drop(current.info.ServerVersion)
	}
	entry := chaosEntry("http://"+proxy.ln.Addr().String()+"/mcp", config.TransportHTTP)
	entry.ConnectTimeout, entry.Timeout, entry.MaxTimeout, entry.SessionWait = 2*time.Second, 2*time.Second, 2*time.Second, 4*time.Second
	s := NewSupervisor(nil, entry)
	calls := run.run(t.Context(), s)
	st := s.Stats()
	_ = s.Close()
	var timeouts int
	for _, c := range calls {
		if e, ok := errors.AsType[*Error](c.err); ok && e.Limit != nil {
			timeouts++
		}
	}
	run.check(t, calls, srv.books, st)
	t.Logf("%d connections; %d calls ended by their limit", proxy.n, timeouts)
	proxy.stop()
	srv.stop()
	nothing()
}
