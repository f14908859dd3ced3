package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestOwnErrorsOfTheFunction shows that Do repeats for what the wire says, and not for what fn thinks of the answer.
func TestOwnErrorsOfTheFunction(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	own := errors.New("not what I want")
	err := s.Do(t.Context(), Request{Name: "tools/call"}, func(ctx context.Context, sess *Session) error {
		if _, err := sess.Raw(ctx, "tools/call", map[string]any{"name": "x"}); err != nil {
			return err
		}
		return own
	})
	if !errors.Is(err, own) || r.calls.Load() != 1 || s.Stats().Handshakes != 1 {
		t.Errorf("err = %v, %d calls, %d handshakes", err, r.calls.Load(), s.Stats().Handshakes)
	}
}

// TestApplicationErrors shows that an application's error that speaks of some session is an answer: nothing is replaced or
// repeated.
func TestApplicationErrors(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	for i, text := range []string{
		"row inserted, then the database connection was not initialized",
		"GitHub client not initialized",
		"payment submitted, but the checkout session has expired",
		"browser session not found: tab-3",
		"Order placed. Warning: invalid session for audit log",
		"session_id is required",
		"session cookie not found",
		"session key is required",
		"session closed: the order was placed",
		"session expired, and the payment went through",
	} {
		r.refusal = text
		_, err := call(t.Context(), s, "x", nil, false)
		var e *Error
		if !errors.As(err, &e) || e.Class != ClassAnswered {
			t.Errorf("%q: %v", text, err)
		}
		if n := r.calls.Load(); n != int32(i+1) || s.Stats().Handshakes != 1 {
			t.Errorf("%q: %d calls, %d handshakes", text, n, s.Stats().Handshakes)
		}
	}
}

// TestWholePhrases shows which messages of a JSON-RPC error mean that the session is gone.
func TestWholePhrases(t *testing.T) {
	for _, text := range []string{
		"Session not found", "Session not found: 1234", "Bad Request: No valid session ID provided", "Stale session",
		"Invalid params: Invalid or expired session", "MCP session is unknown on this API instance", "Session expired.",
		"MCP error -32001: Session not found", "The session has been terminated", "Unauthorized: Session not found",
		"Session not found or expired", "Session abc-123 not found", "No transport found for sessionId",
		"Invalid or missing session ID", "Session not found!", "Session expired or invalid", "unknown MCP session id x",
		"No session with id 7", "-32001: session not found", "Session with ID abc not found", `Session "abc" not found`,
		"Session not found, please reconnect", "Session not found. You must initialize first", "Session expired (the server was restarted)",
		"Session has expired due to inactivity", "Service Unavailable: MCP session is unknown on this API instance",
		"Invalid session ID: 0f3e-22", "Session closed - send initialize again", "No active session. Call initialize first.",
		"Invalid sessionId", "Unknown sessionId: x", "Mcp-Session-Id not found", "Error: session 'x' has expired",
	} {
		if !(evidence{}).saysLost(text, true) {
			t.Errorf("%q is not recognised", text)
		}
		if (evidence{}).saysLost(text, false) {
			t.Errorf("%q is recognised without a session", text)
		}
	}
	for _, text := range []string{"Server not initialized", "Bad Request: Server not initialized", "Session was not initialised yet"} {
		if !(evidence{opened: true, legacy: true}).saysLost(text, false) {
			t.Errorf("%q is not recognised", text)
		}
	}
}

// TestLocalRefusals shows that what the SDK refuses by itself is no lost session.
func TestLocalRefusals(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	err := s.Do(t.Context(), Request{Name: "server/discover", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		_, err := sess.Raw(ctx, "server/discover", nil)
		return err
	})
	if ClassOf(err) != ClassProtocol || s.Stats().Handshakes != 1 {
		t.Errorf("err = %v, %d handshakes", err, s.Stats().Handshakes)
	}
}

// TestSE10OthersGoOn shows that a session that one request found broken is not taken from the requests that are still
// being answered on it.
func TestSE10OthersGoOn(t *testing.T) {
	r := newRestartable(t)
	started, release := make(chan struct{}), make(chan struct{})
	r.hold = func(method string) {
		if method == "tools/call" {
			close(started)
			<-release
		}
	}
	r.broken = "prompts/list"
	s := supervise(t, r.entry())
	long := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), s, "x", nil, false)
		long <- err
	}()
	<-started
	err := s.Do(t.Context(), Request{Name: "prompts/list", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		_, err := sess.Raw(ctx, "prompts/list", nil)
		return err
	})
	if ClassOf(err) != ClassConnect || s.Stats().Handshakes != 2 {
		t.Errorf("err = %v, %d handshakes", err, s.Stats().Handshakes)
	}
	close(release)
	if err := <-long; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
}

// TestSE10PutAsideIsDeleted shows that a session that was replaced while the server still had it does not stay there.
func TestSE10PutAsideIsDeleted(t *testing.T) {
	r := newRestartable(t)
	r.broken = "prompts/list"
	s := supervise(t, r.entry())
	for range 3 {
		_ = s.Do(t.Context(), Request{Name: "prompts/list", Repeatable: true}, func(ctx context.Context, sess *Session) error {
			_, err := sess.Raw(ctx, "prompts/list", nil)
			return err
		})
	}
	if n := s.Stats().Handshakes; n < 3 {
		t.Errorf("%d handshakes: nothing was replaced", n)
	}
	_ = s.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) > 0 {
		t.Errorf("%d of %d sessions are left at the server", len(r.sessions), r.issued)
	}
}

// TestSH01CloseEndsRequests shows that Close ends a request in flight, with a reason that tells that it may have been
// executed, and also one whose stream the SDK would resume much later.
func TestSH01CloseEndsRequests(t *testing.T) {
	for name, stream := range map[string]bool{"waiting": false, "to be resumed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestartable(t)
			arrived := make(chan struct{})
			r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
				if method != "tools/call" {
					return false
				}
				if stream {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = fmt.Fprint(w, "id: 1\nretry: 20000\ndata: \n\n")
					close(arrived)
					return true
				}
				close(arrived)
				<-req.Context().Done()
				return true
			}
			s := NewSupervisor(nil, r.entry())
			done := make(chan error, 1)
			go func() {
				_, err := call(t.Context(), s, "x", nil, false)
				done <- err
			}()
			<-arrived
			lap := stopwatch.Start(t)
			_ = s.Close()
			if elapsed := lap.End(); elapsed > 4*time.Second {
				t.Errorf("Close took %s", elapsed)
			}
			var e *Error
			if err := <-done; !errors.As(err, &e) || e.Class != ClassInterrupted || e.Outcome != OutcomeUnknown {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestStorm shows that a server that opens sessions and drops them at once is given up soon, and not asked without end.
func TestStorm(t *testing.T) {
	s := supervise(t, config.Server{
		Name: "s", Transport: config.TransportStdio, Command: "sh", ConnectTimeout: 5 * time.Second,
		// It answers initialize, and ends when it is told that the session is open.
		Args: []string{"-c", `read -r line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'; read -r line`},
	})
	_, err := list(t.Context(), s)
	if ClassOf(err) == "" || ClassOf(err) == ClassTimeout {
		t.Errorf("err = %v", err)
	}
	if n := s.Stats().Handshakes; n > maxOpenings+1 {
		t.Errorf("%d handshakes", n)
	}
}

// TestTL01Replacement shows that an attempt at a replacement is bound by the connect limit, and says so truly.
func TestTL01Replacement(t *testing.T) {
	r := newRestartable(t)
	entry := r.entry()
	entry.ConnectTimeout, entry.SessionWait = time.Second, 10*time.Second
	s := supervise(t, entry)
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	r.forget()
	r.handle = func(_ http.ResponseWriter, req *http.Request, method string) bool {
		if method != "initialize" {
			return false
		}
		<-req.Context().Done()
		return true
	}
	_, err := call(t.Context(), s, "x", nil, false)
	if ClassOf(err) != ClassSession || !strings.Contains(err.Error(), "connect_timeout 1s") {
		t.Errorf("err = %v", err)
	}
}

// TestSSELostSession shows that the older transport's "session not found" is a lost session too.
func TestSSELostSession(t *testing.T) {
	_, entry := fault(t, "sse-only-legacy")
	s := supervise(t, entry)
	if _, err := list(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if k, err := sess.Kill(t.Context()); err != nil || k.How != "stream closed" || !k.Confirmed {
		t.Fatalf("kill %+v, %v", k, err)
	}
	if _, err := list(t.Context(), s); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.Handshakes != 2 || st.Recovery == nil || !strings.Contains(st.Recovery.Cause, "stream") {
		t.Errorf("stats %+v, recovery %+v", st, st.Recovery)
	}
}

// TestRetryUnsafe shows that a repetition that somebody accepted does not make the outcome known: when no answer comes, the
// request may have been executed, and is not safe to make again.
func TestRetryUnsafe(t *testing.T) {
	for name, down := range map[string]bool{"lost again": false, "not replaced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestartable(t)
			r.handle = func(_ http.ResponseWriter, _ *http.Request, method string) bool {
				if method == "tools/call" {
					r.calls.Add(1)
					if down {
						r.mu.Lock()
						r.down = 1000
						r.mu.Unlock()
					}
					panic(http.ErrAbortHandler)
				}
				return false
			}
			entry := r.entry()
			entry.SessionWait = time.Second
			s := supervise(t, entry)
			err := s.Do(t.Context(), Request{Name: "tools/call", RetryUnsafe: true}, func(ctx context.Context, sess *Session) error {
				_, err := sess.Raw(ctx, "tools/call", map[string]any{"name": "x"})
				return err
			})
			var e *Error
			if !errors.As(err, &e) || e.Class != ClassUnknownOutcome || e.Retryable || e.Outcome != OutcomeUnknown {
				t.Errorf("err = %v, retryable %v", err, e != nil && e.Retryable)
			}
			want, says := int32(2), "may have been executed twice"
			if down {
				want, says = 1, "so it was not repeated"
			}
			if err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
			if n := r.calls.Load(); n != want {
				t.Errorf("%d executions, want %d", n, want)
			}
		})
	}
}

// TestPinnedProtocol shows that a pinned version is spoken or refused.
func TestPinnedProtocol(t *testing.T) {
	for version, class := range map[string]Class{"2025-11-25": "", "2026-07-28": ClassProtocol, "1999-01-01": ClassConfig} {
		server := faultChild(t, "healthy")
		server.Protocol = version
		s, err := (&Dialer{}).Dial(t.Context(), server)
		if ClassOf(err) != class {
			t.Errorf("%s: %v", version, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
	// Over HTTP nothing of the session that was opened is left: no goroutine (TestMain looks), and nothing at the server.
	r := newRestartable(t)
	entry := r.entry()
	entry.Protocol = "2025-06-18"
	if _, err := (&Dialer{}).Dial(t.Context(), entry); ClassOf(err) != ClassProtocol {
		t.Errorf("over HTTP: %v", err)
	}
	if r.mu.Lock(); len(r.sessions) != 0 {
		t.Errorf("%d sessions are left at the server", len(r.sessions))
	}
	r.mu.Unlock()
}

// TestNotSent shows that a call for which no session could be opened is known not to have been sent.
func TestNotSent(t *testing.T) {
	entry := refused(t)
	entry.Name, entry.Transport, entry.Wait = "s", config.TransportAuto, time.Second
	s := supervise(t, entry)
	_, err := call(t.Context(), s, "x", nil, false)
	var e *Error
	if !errors.As(err, &e) || e.Outcome != OutcomeNotSent || !e.Retryable {
		t.Errorf("err = %v", err)
	}
}

// TestImpatientCallers shows that callers who leave at once take nothing away from a call that is on its way on the same
// child.
func TestImpatientCallers(t *testing.T) {
	s := supervise(t, faultChild(t, "healthy"))
	if _, err := list(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	long := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), s, "slow", map[string]any{"ms": 700}, false)
		long <- err
	}()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, _ = list(gone, s)
		brief, cancel := context.WithTimeout(t.Context(), 50*time.Microsecond)
		_, _ = list(brief, s)
		cancel()
	}
	if err := <-long; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	if n := s.Stats().Handshakes; n != 1 {
		t.Errorf("%d handshakes", n)
	}
}

// TestRefusedThenSevered shows what is said when a request was refused by a dead session, and the connection broke after
// its one repetition: it may have been executed, once.
func TestRefusedThenSevered(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	if _, err := s.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.forget()
	r.handle = func(_ http.ResponseWriter, req *http.Request, method string) bool {
		if method == "tools/call" && req.Header.Get("Mcp-Session-Id") == "session-2" {
			r.calls.Add(1)
			panic(http.ErrAbortHandler)
		}
		return false
	}
	_, err := call(t.Context(), s, "x", nil, false)
	if ClassOf(err) != ClassUnknownOutcome || !strings.Contains(err.Error(), "sent again") || r.calls.Load() != 1 {
		t.Errorf("err = %v, %d executions", err, r.calls.Load())
	}
}

// TestAnswersThatLeaveItOpen shows that a call which may have been executed is neither repeated nor called a failure,
// whatever the server answers, and that a result is one although a null error stands beside it.
func TestAnswersThatLeaveItOpen(t *testing.T) {
	for name, c := range map[string]struct {
		status            int
		contentType, body string
		class             Class
	}{
		"303":                           {303, "text/plain", "x", ClassUnknownOutcome},
		"300":                           {300, "text/plain", "x", ClassUnknownOutcome},
		"408":                           {408, "text/plain", "x", ClassUnknownOutcome},
		"204":                           {204, "", "", ClassUnknownOutcome},
		"202":                           {202, "", "", ClassUnknownOutcome},
		"a web page":                    {200, "text/html", "done", ClassUnknownOutcome},
		"no JSON-RPC":                   {200, "application/json", `{"ok":true}`, ClassUnknownOutcome},
		"500":                           {500, "text/plain", "x", ClassUnknownOutcome},
		"409 about another session":     {409, "text/plain", "order placed, but the checkout session has expired", ClassUnknownOutcome},
		"407 without a proxy":           {407, "text/plain", "x", ClassProtocol},
		"418":                           {418, "text/plain", "x", ClassProtocol},
		"a result beside a null error":  {200, "application/json", `{"jsonrpc":"2.0","id":ID,"error":null,"result":{"content":[]}}`, ""},
		"404 about another session, id": {404, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"order placed, but the checkout session has expired"}}`, ClassUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestartable(t)
			var calls atomic.Int32
			r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
				if method != "tools/call" {
					return false
				}
				calls.Add(1)
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				if c.status == http.StatusSeeOther || c.status == http.StatusMultipleChoices {
					w.Header().Set("Location", "/done")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(c.body, "ID", r.lastID(req)))
				return true
			}
			_, err := call(t.Context(), supervise(t, r.entry()), "pay", nil, false)
			if n := calls.Load(); ClassOf(err) != c.class || n != 1 {
				t.Errorf("%d calls, %v", n, err)
			}
		})
	}
}

// TestPF05ProbeSession shows that a session which the question for the era has opened is ended again.
func TestPF05ProbeSession(t *testing.T) {
	r := newRestartable(t)
	var mu sync.Mutex
	deleted := map[string]bool{}
	r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
		switch {
		case method == "server/discover":
			w.Header().Set("Mcp-Session-Id", "of-the-probe")
			http.Error(w, "no", http.StatusBadRequest)
			return true
		case req.Method == http.MethodDelete:
			mu.Lock()
			defer mu.Unlock()
			deleted[req.Header.Get("Mcp-Session-Id")] = true
		}
		return false
	}
	s, err := (&Dialer{}).Dial(t.Context(), r.entry())
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	mu.Lock()
	defer mu.Unlock()
	if !deleted["of-the-probe"] || !deleted["session-1"] || len(deleted) != 2 {
		t.Errorf("deleted %v", deleted)
	}
}
