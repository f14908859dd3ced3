package session

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// The single cases of what the chaos tests have found.

// TestSE05BusyIsNoAttempt shows that a request which waits for a busy server, while others find its session lost, goes on
// with the fresh one, and still has its one repetition.
func TestSE05BusyIsNoAttempt(t *testing.T) {
	r := newRestartable(t)
	waiting := make(chan struct{}, 100)
	r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
		if method != "prompts/list" {
			return false
		}
		switch req.Header.Get("Mcp-Session-Id") {
		case "session-1":
			waiting <- struct{}{}
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return true
		case "session-2":
			http.Error(w, "session not found", http.StatusNotFound)
			return true
		}
		return false
	}
	s := supervise(t, r.entry())
	done := make(chan error, 1)
	go func() {
		done <- s.Do(t.Context(), Request{Name: "prompts/list"}, func(ctx context.Context, sess *Session) error {
			_, err := sess.Raw(ctx, "prompts/list", nil)
			return err
		})
	}()
	<-waiting
	old, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.forget()
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	<-old.closed
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := s.Stats().Handshakes; n != 3 {
		t.Errorf("%d handshakes", n)
	}
}

// TestSSEOneFailedPost shows that over the older transport a message that is not taken leaves the session to the others.
func TestSSEOneFailedPost(t *testing.T) {
	srv := startChaos(t, 1, true)
	srv.calm = true
	defer srv.stop()
	s := supervise(t, chaosEntry(srv.url(), config.TransportSSE))
	if _, err := s.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.mu.Lock()
	srv.starting, srv.retryAfter = 1, true
	srv.mu.Unlock()
	for range 2 {
		if _, err := call(t.Context(), s, "increment", nil, false); err != nil {
			t.Error(err)
		}
	}
	if n := s.Stats().Handshakes; n != 1 {
		t.Errorf("%d handshakes", n)
	}
}

// TestSSEEndedStream shows that a message for a stream that has ended is known not to have been sent.
func TestSSEEndedStream(t *testing.T) {
	srv := startChaos(t, 1, true)
	srv.calm = true
	defer srv.stop()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	conn, err := (&streamTransport{Transport: &mcp.SSEClientTransport{Endpoint: srv.url(), HTTPClient: client}, ctx: t.Context()}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	// The SDK gives this error to a request that it had not begun to send, too.
	s := supervise(t, chaosEntry(srv.url(), config.TransportSSE))
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sess.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := sess.judge(t.Context(), "ping", transport.ExchangeState{}, io.EOF, 0); e.kind != kindNotSent {
		t.Errorf("%v is of kind %d", e, e.kind)
	}
	err = conn.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "ping"})
	if e := classify(evidence{opened: true, err: err}); !errors.Is(err, mcp.ErrConnectionClosed) || e.kind != kindNotSent {
		t.Errorf("%v is of kind %d", err, e.kind)
	}
}

// TestSE04ForgottenHandshake shows that a session which the server forgets in the middle of the handshake is opened again,
// once.
func TestSE04ForgottenHandshake(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "always": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestartable(t)
			left := times
			r.hold = func(method string) {
				if method == "notifications/initialized" && left > 0 {
					left--
					r.forget()
				}
			}
			_, err := call(t.Context(), supervise(t, r.entry()), "x", nil, false)
			if failed := err != nil; failed != (times > 1) {
				t.Error(err)
			}
			if n := r.issued; n != 2 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

// TestLateRefusal shows that an error which comes as the limit runs out is not taken for an execution.
func TestLateRefusal(t *testing.T) {
	st := transport.ExchangeState{Method: "tools/call", Written: true, Answered: true, Error: []byte(`{"code":-32001,"message":"Session not found"}`)}
	e := classify(evidence{opened: true, state: st, err: context.DeadlineExceeded, ctx: context.DeadlineExceeded})
	if e.kind != kindTimeout || e.Outcome != OutcomeUnknown {
		t.Errorf("kind %d, outcome %s", e.kind, e.Outcome)
	}
}

// TestCutStatusLine shows that an answer which is cut off within its status line is a broken connection, not a server that
// does not speak HTTP.
func TestCutStatusLine(t *testing.T) {
	r := newRestartable(t)
	var cuts atomic.Int32
	r.handle = func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method != "tools/call" || cuts.Add(1) > 1 {
			return false
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 20")
		_ = conn.Close()
		return true
	}
	if _, err := call(t.Context(), supervise(t, r.entry()), "x", nil, true); err != nil {
		t.Error(err)
	}
}
