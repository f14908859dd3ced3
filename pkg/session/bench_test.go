package session

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// benchServer serves the demonstration server over HTTP with sessions.
func benchServer(tb testing.TB) config.Server {
	tb.Helper()
	srv, err := demo.ServeHTTP(tb.Context(), "", demo.HTTPOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = srv.Close() })
	return config.Server{Name: "bench", URL: srv.URL(), Transport: config.TransportHTTP, Protocol: legacyVersion}
}

// benchSupervisor returns a supervisor with a session that is ready.
func benchSupervisor(tb testing.TB, server config.Server) *Supervisor {
	tb.Helper()
	s := NewSupervisor(nil, server)
	tb.Cleanup(func() { _ = s.Close() })
	if _, err := s.Session(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

func noop(context.Context, *Session) error { return nil }

var benchRequest = Request{Name: "tools/call"}

// BenchmarkDo measures what a supervisor costs a request: alone, with many at a time, and beside the SDK's own session
// over the same server.
func BenchmarkDo(b *testing.B) {
	server := benchServer(b)
	s := benchSupervisor(b, server)
	b.Run("noop", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Do(b.Context(), benchRequest, noop); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, goroutines := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("noop/goroutines=%d", goroutines), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(goroutines)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.Do(b.Context(), benchRequest, noop); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	args := map[string]any{"message": "hi"}
	b.Run("call", func(b *testing.B) {
		sess := bare(b, server)
		var ours, theirs time.Duration
		b.ReportAllocs()
		for b.Loop() { // in turns, so that the ratio means something on a busy machine
			begin := time.Now()
			if _, err := call(b.Context(), s, "echo", args, true); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			if _, err := sess.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args}); err != nil {
				b.Fatal(err)
			}
			ours, theirs = ours+middle.Sub(begin), theirs+time.Since(middle)
		}
		report(b, ours, theirs)
	})
}

// report tells the times of both sides and their ratio.
func report(b *testing.B, ours, theirs time.Duration) {
	b.Helper()
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "mcpctl-ns/op")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "sdk-ns/op")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(0, "ns/op") // of both together it says nothing
}

// bare opens a session with the SDK alone.
func bare(tb testing.TB, server config.Server) *mcp.ClientSession {
	tb.Helper()
	// With connections of its own, as ours has: a fresh session does not go over what a lost one left.
	own := &http.Transport{}
	tb.Cleanup(own.CloseIdleConnections)
	t := &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: own}}
	sess, err := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil).
		Connect(tb.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = sess.Close() })
	return sess
}

// forgetSession makes the server forget a session.
func forgetSession(b *testing.B, url, id string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodDelete, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", id)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
}

// BenchmarkRecovery measures the time from a request on a session that the server does not know any more to its repeated
// answer, beside the same by hand: a request that fails, a handshake, the request again.
func BenchmarkRecovery(b *testing.B) {
	server := benchServer(b)
	args := map[string]any{"message": "hi"}
	s := benchSupervisor(b, server)
	var ours, theirs, opening time.Duration
	for b.Loop() {
		sess, err := s.Session(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		forgetSession(b, server.URL, sess.ID())
		begin := time.Now()
		if _, err := call(b.Context(), s, "echo", args, false); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begin)
		opening += s.Stats().Info.Elapsed

		old := bare(b, server)
		forgetSession(b, server.URL, old.ID())
		begin = time.Now()
		if _, err := old.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args}); err == nil {
			b.Fatal("the session is alive")
		}
		fresh := bare(b, server)
		if _, err := fresh.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args}); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(begin)
		_ = fresh.Close()
	}
	report(b, ours, theirs)
	b.ReportMetric(float64(opening.Nanoseconds())/float64(b.N), "opening-ns/op")
	if n := s.Stats().Handshakes; n != b.N+1 {
		b.Errorf("%d handshakes for %d losses", n, b.N)
	}
}

// BenchmarkWaiters measures how soon a thousand requests that met the same loss go on, once there is a fresh session. The
// loss is one replacement.
func BenchmarkWaiters(b *testing.B) {
	const waiters = 1000
	s := benchSupervisor(b, benchServer(b))
	var all time.Duration
	for b.Loop() {
		before := s.Stats().Handshakes
		var met, done sync.WaitGroup
		met.Add(waiters)
		var last atomic.Int64
		var opened atomic.Int64
		for range waiters {
			done.Go(func() {
				var attempts int
				err := s.Do(b.Context(), benchRequest, func(_ context.Context, sess *Session) error {
					if attempts++; attempts > 1 {
						last.Store(time.Now().UnixNano())
						return nil
					}
					met.Done()
					met.Wait() // they meet it together
					opened.CompareAndSwap(0, time.Now().UnixNano())
					return &Error{Class: ClassSession, kind: kindExpired, Message: "session not found"}
				})
				if err != nil {
					b.Error(err)
				}
			})
		}
		done.Wait()
		elapsed := time.Duration(last.Load() - opened.Load())
		all += elapsed - s.Stats().Info.Elapsed
		if n := s.Stats().Handshakes - before; n != 1 {
			b.Fatalf("%d handshakes", n)
		}
	}
	b.ReportMetric(float64(all.Nanoseconds())/float64(b.N)/waiters, "ns/waiter")
}

// TestDoAllocations guards that what a supervisor costs a request does not grow.
func TestDoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, too")
	}
	s := benchSupervisor(t, benchServer(t))
	do := func() {
		if err := s.Do(t.Context(), benchRequest, noop); err != nil {
			t.Error(err)
		}
	}
	// The context with its limit, its timer, and the end of both.
	const most = 8
	alone := testing.AllocsPerRun(1000, do)
	if alone > most {
		t.Errorf("%v allocations for a request, %d at most", alone, most)
	}
	// Others that are on their way cost it nothing.
	release := make(chan struct{})
	var busy, ready sync.WaitGroup
	for range 100 {
		ready.Add(1)
		busy.Go(func() {
			_ = s.Do(t.Context(), benchRequest, func(context.Context, *Session) error {
				ready.Done()
				<-release
				return nil
			})
		})
	}
	ready.Wait()
	if crowd := testing.AllocsPerRun(1000, do); crowd > alone {
		t.Errorf("%v allocations beside 100 others, %v alone", crowd, alone)
	}
	close(release)
	busy.Wait()
}
