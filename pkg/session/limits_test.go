package session

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestTL02Sources shows where the connect limit comes from, and TL-03 its floor.
func TestTL02Sources(t *testing.T) {
	flag := map[string]config.Source{"connect_timeout": {Kind: "flag", Detail: "--connect-timeout"}}
	for _, tt := range []struct {
		name   string
		server config.Server
		want   Limit
	}{
		{"built-in", config.Server{URL: "http://x"}, Limit{Value: 30 * time.Second, Source: "built-in"}},
		{"a command", config.Server{Command: "node"}, Limit{Value: 30 * time.Second, Source: "built-in"}},
		{"npx", config.Server{Command: "npx", Args: []string{"-y", "x"}}, Limit{Value: 120 * time.Second, Source: "built-in, for npx"}},
		{"npx, by path", config.Server{Command: "/usr/bin/npx"}, Limit{Value: 120 * time.Second, Source: "built-in, for npx"}},
		{"npm exec", config.Server{Command: "npm", Args: []string{"--yes", "exec", "x"}}, Limit{Value: 120 * time.Second, Source: "built-in, for npm"}},
		{"npm start", config.Server{Command: "npm", Args: []string{"start"}}, Limit{Value: 30 * time.Second, Source: "built-in"}},
		{"uv run", config.Server{Command: "uv", Args: []string{"run", "x"}}, Limit{Value: 120 * time.Second, Source: "built-in, for uv"}},
		{"docker run", config.Server{Command: "docker", Args: []string{"run", "x"}}, Limit{Value: 120 * time.Second, Source: "built-in, for docker"}},
		{
			"flag",
			config.Server{Command: "npx", ConnectTimeout: 5 * time.Second, Sources: flag},
			Limit{Value: 5 * time.Second, Source: "flag --connect-timeout"},
		},
		{
			"floor",
			config.Server{URL: "http://x", ConnectTimeout: 200 * time.Millisecond, Sources: flag},
			Limit{Value: time.Second, Source: "flag --connect-timeout", Note: "raised from 200ms: 1s is the least"},
		},
		{
			"wait raises it",
			config.Server{URL: "http://x", Wait: time.Minute},
			Limit{Value: time.Minute, Source: "built-in", Note: "raised from 30s to the wait"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Name = "connect_timeout"
			if got := LimitsFor(tt.server).Connect; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// silent is a listener that accepts connections and never says a word.
func silent(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return "http://" + l.Addr().String() + "/mcp"
}

// TestTL07Silence shows that silence ends at the connect limit, at every stage and on both transports, and TL-05 that
// the message says which limit it was.
func TestTL07Silence(t *testing.T) {
	limited := func(s config.Server) config.Server {
		s.ConnectTimeout = time.Second
		s.Set("connect_timeout", config.Source{Kind: "flag", Detail: "--connect-timeout"})
		return s
	}
	_, initNever := fault(t, "init-never")
	for name, server := range map[string]config.Server{
		"http, no byte":           limited(config.Server{Name: "s", URL: silent(t), Transport: config.TransportAuto}),
		"http, sse":               limited(config.Server{Name: "s", URL: silent(t), Transport: config.TransportSSE}),
		"http, initialize":        limited(initNever),
		"stdio, initialize":       limited(faultChild(t, "init-never")),
		"stdio, an ordinary tool": limited(config.Server{Name: "s", Command: "sleep", Args: []string{"30"}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lap := stopwatch.Start(t)
			s, err := (&Dialer{}).Dial(t.Context(), server)
			elapsed := lap.End()
			if err == nil {
				_ = s.Close()
				t.Fatal("it opened")
			}
			var e *Error
			if !errors.As(err, &e) || e.Class != ClassTimeout || e.Limit == nil || e.Limit.Name != "connect_timeout" {
				t.Fatalf("err = %v", err)
			}
			if want := "connect_timeout 1s (flag --connect-timeout)"; !strings.Contains(e.Message, want) {
				t.Errorf("%q does not say %q", e.Message, want)
			}
			// The limit, a second, and the end of a child that ignores everything but SIGKILL.
			if most := 3 * time.Second; elapsed > most {
				t.Errorf("it took %s", elapsed)
			}
		})
	}
}

// TestTL05Interrupted shows that a person's wish to stop never looks like a timeout or a lost session.
func TestTL05Interrupted(t *testing.T) {
	for name, server := range map[string]config.Server{
		"opening, http":  {Name: "s", URL: silent(t), Transport: config.TransportAuto},
		"opening, stdio": faultChild(t, "init-never"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := supervise(t, server)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err := call(ctx, s, "echo", nil, false)
			if ClassOf(err) != ClassInterrupted {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("during a call", func(t *testing.T) {
		t.Parallel()
		s := supervise(t, faultChild(t, "healthy"))
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Do(ctx, Request{Name: "tools/call"}, func(ctx context.Context, sess *Session) error {
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err := sess.Raw(ctx, "tools/call", map[string]any{"name": "slow", "arguments": map[string]any{"ms": 20000}})
			return err
		})
		if ClassOf(err) != ClassInterrupted {
			t.Errorf("err = %v", err)
		}
		if n := s.Stats().Handshakes; n != 1 {
			t.Errorf("%d handshakes", n)
		}
	})
}

// TestTL06RequestLimit shows that a call that takes too long is a timeout with an unknown outcome.
func TestTL06RequestLimit(t *testing.T) {
	_, overHTTP := fault(t, "http-hang")
	for name, server := range map[string]config.Server{"http": overHTTP, "stdio": faultChild(t, "healthy")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.Timeout = 300 * time.Millisecond
			s := supervise(t, server)
			_, err := call(t.Context(), s, "slow", map[string]any{"ms": 20000}, true)
			var e *Error
			if !errors.As(err, &e) || e.Class != ClassTimeout || e.Limit.Name != "timeout" || e.Outcome != OutcomeUnknown {
				t.Fatalf("err = %v", err)
			}
		})
	}
}

// TestTL06Progress shows that a call which reports progress may take longer than the request limit, and no longer than
// the limit over all.
func TestTL06Progress(t *testing.T) {
	_, overHTTP := fault(t, "progress-keepalive")
	_, another := fault(t, "progress-keepalive") // it ends a request by its number, whose session it may be
	child := faultChild(t, "progress-keepalive")
	for name, servers := range map[string][2]config.Server{"http": {overHTTP, another}, "stdio": {child, child}} {
		server, short := servers[0], servers[1]
		short.Timeout, short.MaxTimeout = 2*time.Second, 3*time.Second
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.Timeout = 3 * time.Second
			s := supervise(t, server)
			var reports atomic.Int32
			ctx := WithProgress(t.Context(), func(Progress) { reports.Add(1) })
			if _, err := call(ctx, s, "slow", map[string]any{"ms": 1}, false); err != nil {
				t.Error(err)
			}
			if reports.Load() == 0 {
				t.Error("nobody heard of the progress")
			}
		})
		t.Run(name+", over all", func(t *testing.T) {
			t.Parallel()
			s := supervise(t, short)
			_, err := call(t.Context(), s, "slow", map[string]any{"ms": 1}, false)
			var e *Error
			if !errors.As(err, &e) || e.Class != ClassTimeout || e.Limit.Name != "max_timeout" {
				t.Errorf("err = %v", err)
			}
		})
	}
}
