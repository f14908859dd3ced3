package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestLostSessions shows SE-01 to SE-06 on every public way in which a server says that a session is gone: one extra
// handshake, one execution, the right result.
func TestLostSessions(t *testing.T) {
	for _, name := range []string{
		"session-404-restart", "session-400-no-valid-id", "session-200-invalid-params", "session-fresh-wait",
		"session-replacement-no-id", "session-needs-initialized", "session-401-stale", "session-200-not-initialized",
		"session-409-conflict", "session-503-then-404", "session-404-malformed",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := faultlab.Find(name)
			if !ok {
				t.Fatalf("no case %q", name)
			}
			srv, err := c.Serve(faultlab.HTTPOptions{Delay: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = srv.Close() }()
			s := supervise(t, config.Server{Name: name, URL: srv.URL, Transport: config.TransportAuto})

			result, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(result), `"hi"`) {
				t.Errorf("result %s", result)
			}
			st := s.Stats()
			if st.Handshakes != 2 || !st.Recovered || st.Recovery.NewGeneration != 2 || !st.Recovery.Repeated {
				t.Errorf("stats %+v, recovery %+v", st, st.Recovery)
			}
			if got := srv.Stats(); got.SessionsIssued != 2 || got.ToolExec["echo"] != 1 {
				t.Errorf("the server saw %d handshakes and %d executions", got.SessionsIssued, got.ToolExec["echo"])
			}
		})
	}
}

// TestSE07LostAgain shows that a server that drops every session gets one recovery and a clear failure.
func TestSE07LostAgain(t *testing.T) {
	srv, entry := fault(t, "session-always-dead")
	s := supervise(t, entry)
	_, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false)
	var e *Error
	if !errors.As(err, &e) || e.Class != ClassSession || !strings.Contains(e.Message, "lost again at once") {
		t.Fatalf("err = %v", err)
	}
	if n := srv.Stats().SessionsIssued; n != 2 {
		t.Errorf("%d handshakes", n)
	}
	if n := srv.Stats().ToolExec["echo"]; n != 0 {
		t.Errorf("%d executions", n)
	}
}

// TestSE11UnknownOutcome shows that a request that may have been executed is not repeated, and the transport is healed.
func TestSE11UnknownOutcome(t *testing.T) {
	t.Run("http", func(t *testing.T) {
		srv, entry := fault(t, "replay-hazard-drop")
		s := supervise(t, entry)
		_, err := call(t.Context(), s, "increment", nil, false)
		checkUnknown(t, err)
		if n := srv.Stats().ToolExec["increment"]; n != 1 {
			t.Errorf("%d executions", n)
		}
		// What may be repeated is.
		if _, err := call(t.Context(), s, "peek", nil, true); err != nil {
			t.Errorf("peek: %v", err)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		s := supervise(t, faultChild(t, "stdio-crash-mid-call"))
		_, err := call(t.Context(), s, "crash", nil, false)
		checkUnknown(t, err)
		if st := s.Stats(); st.Handshakes != 2 {
			t.Errorf("%d handshakes", st.Handshakes)
		}
		if _, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false); err != nil {
			t.Errorf("the fresh session: %v", err)
		}
	})
}

func checkUnknown(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %v", err)
	}
	if e.Class != ClassUnknownOutcome || e.Outcome != OutcomeUnknown || e.Retryable {
		t.Errorf("class %s, outcome %s, retryable %v", e.Class, e.Outcome, e.Retryable)
	}
	if e.Recovery == nil || e.Recovery.NewGeneration != 2 || e.Recovery.Repeated {
		t.Errorf("recovery %+v", e.Recovery)
	}
	if !strings.Contains(e.Hint, "fresh session is ready") || !strings.Contains(e.Message, "may have been executed") {
		t.Errorf("message %q, hint %q", e.Message, e.Hint)
	}
}

// TestST07ChildDies shows that a child that is dead before a request is replaced, and one that dies during a list too.
func TestST07ChildDies(t *testing.T) {
	s := supervise(t, faultChild(t, "healthy"))
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k, err := sess.Kill(t.Context())
	if err != nil || !k.Confirmed || k.How != "sigkill" {
		t.Fatalf("kill %+v, %v", k, err)
	}
	if sess.LeftRunning() {
		t.Error("the group is alive")
	}
	result, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false)
	if err != nil || !strings.Contains(string(result), `"hi"`) {
		t.Fatalf("result %s, %v", result, err)
	}
	if st := s.Stats(); st.Handshakes != 2 || !st.Recovered || !strings.Contains(st.Recovery.Cause, "killed") {
		t.Errorf("stats %+v, recovery %+v", st, st.Recovery)
	}

	// Killed while the list is on its way: a list may be repeated.
	var kills atomic.Int32
	err = s.Do(t.Context(), Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		if kills.Add(1) == 1 {
			sess.child.Kill()
		}
		_, err := sess.Raw(ctx, "tools/list", nil)
		return err
	})
	if err != nil {
		t.Errorf("list: %v", err)
	}
	if st := s.Stats(); st.Handshakes != 3 || kills.Load() != 2 {
		t.Errorf("%d handshakes, %d attempts", st.Handshakes, kills.Load())
	}
}

// restartable is an HTTP server whose sessions can be forgotten, with counters. It answers what the tests need.
type restartable struct {
	*httptest.Server
	mu       sync.Mutex
	sessions map[string]bool
	issued   int
	down     int // how many requests are still answered 503
	calls    atomic.Int32
	stale    atomic.Int32
	hold     func(method string) // called before a request is answered, if not nil

	contentType string
	before      string // what stands before each result
	refusal     string // the message of the JSON-RPC error that calls are answered with, "" for a result
	broken      string // the method that is answered with 502
	// handle answers a request in its own way, if it is not nil and returns true.
	handle func(w http.ResponseWriter, req *http.Request, method string) bool
}

// lastID returns the id of the message in a request that handle was given.
func (r *restartable) lastID(req *http.Request) string { return req.Header.Get("X-Message-Id") }

func newRestartable(t *testing.T) *restartable {
	t.Helper()
	r := &restartable{sessions: map[string]bool{}, contentType: "application/json"}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *restartable) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.sessions)
}

func (r *restartable) serve(w http.ResponseWriter, req *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(req.Body).Decode(&msg)
	req.Header.Set("X-Message-Id", string(msg.ID)) // for handle, which cannot read the body again
	if r.hold != nil {
		r.hold(msg.Method)
	}
	if r.handle != nil && r.handle(w, req, msg.Method) {
		return
	}
	if r.broken != "" && msg.Method == r.broken {
		http.Error(w, "bad", http.StatusBadGateway)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get("Mcp-Session-Id")
	if r.down > 0 {
		r.down--
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	reply := func(result string) {
		w.Header().Set("Content-Type", r.contentType)
		_, _ = fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"result":%s}`, r.before, msg.ID, result)
	}
	switch {
	case req.Method == http.MethodDelete:
		delete(r.sessions, id)
		w.WriteHeader(http.StatusNoContent)
	case msg.Method == "server/discover":
		http.Error(w, "no", http.StatusBadRequest)
	case msg.Method == "initialize":
		r.issued++
		id = fmt.Sprintf("session-%d", r.issued)
		r.sessions[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)
	case !r.sessions[id]:
		r.stale.Add(1)
		http.Error(w, "session not found", http.StatusNotFound)
	case msg.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case r.refusal != "" && msg.Method == "tools/call":
		r.calls.Add(1)
		w.Header().Set("Content-Type", r.contentType)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, msg.ID, r.refusal)
	default:
		r.calls.Add(1)
		reply(`{"content":[],"tools":[]}`)
	}
}

func (r *restartable) entry() config.Server {
	return config.Server{Name: "r", URL: r.URL, Transport: config.TransportHTTP}
}

// TestSE01OneReplacement shows that requests that fail together cause exactly one replacement.
func TestSE01OneReplacement(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	r.forget()
	const together = 50
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			if _, err := call(t.Context(), s, "x", nil, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := s.Stats().Handshakes; n != 2 {
		t.Errorf("%d handshakes", n)
	}
	if n := r.calls.Load(); n != together+1 {
		t.Errorf("%d calls were answered", n)
	}
}

// TestSE02NobodyGetsTheOldOne shows that after a loss the old connection is handed to nobody, not even while the
// replacement is under way: the server sees a stale id once for each request that met the loss, and never again.
func TestSE02NobodyGetsTheOldOne(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	old, _ := s.Session(t.Context())

	opening := make(chan struct{})
	release := make(chan struct{})
	var once sync.Once
	r.hold = func(method string) {
		if method == "initialize" {
			once.Do(func() { close(opening) })
			<-release
		}
	}
	r.forget()
	first := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), s, "x", nil, false)
		first <- err
	}()
	<-opening // the replacement is under way
	if state := s.Status().State; state != StateReconnecting {
		t.Errorf("state %s", state)
	}
	got := make(chan *Session, 1)
	go func() {
		sess, err := s.Session(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- sess
	}()
	select {
	case sess := <-got:
		t.Fatalf("generation %d was handed out during the replacement", sess.Info().Generation)
	default:
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if sess := <-got; sess == old || sess.Info().Generation != 2 {
		t.Errorf("generation %d", sess.Info().Generation)
	}
	if n := r.stale.Load(); n != 1 {
		t.Errorf("%d requests carried a stale id", n)
	}
}

// TestSE03AboveTheGeneration shows that a request is repeated only on a generation above the one that it met dead.
func TestSE03AboveTheGeneration(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	var seen []int
	err := s.Do(t.Context(), Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		seen = append(seen, sess.Info().Generation)
		if len(seen) == 1 {
			r.forget()
		}
		_, err := sess.Raw(ctx, "tools/list", nil)
		return err
	})
	if err != nil || len(seen) != 2 || seen[0] != 1 || seen[1] != 2 {
		t.Errorf("generations %v, %v", seen, err)
	}
}

// TestSE04WaitsForTheServer shows that a replacement goes on while the server is coming up.
func TestSE04WaitsForTheServer(t *testing.T) {
	r := newRestartable(t)
	s := supervise(t, r.entry())
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.forget()
	// The session is gone, and once that is known the server answers 503 for a while.
	var once sync.Once
	r.hold = func(method string) {
		if method == "server/discover" {
			once.Do(func() { r.mu.Lock(); r.down = 4; r.mu.Unlock() })
		}
	}
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Handshakes; n != 2 {
		t.Errorf("%d handshakes", n)
	}
	if sess.Dead() == nil {
		// It is ended in the background; Close of the supervisor waits for that.
		_ = s.Close()
	}
	if sess.Dead() == nil {
		t.Error("the old session was not ended")
	}
}

// TestSE06NoFreshSession shows what is said when no fresh session comes in time.
func TestSE06NoFreshSession(t *testing.T) {
	r := newRestartable(t)
	entry := r.entry()
	entry.SessionWait = time.Second
	entry.Set("session_wait", config.Source{Kind: "flag", Detail: "--session-wait"})
	s := supervise(t, entry)
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Fatal(err)
	}
	r.forget()
	r.handle = func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method != "server/discover" && method != "initialize" {
			return false
		}
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return true
	}
	_, err := call(t.Context(), s, "x", nil, false)
	var e *Error
	if !errors.As(err, &e) || e.Class != ClassSession || e.Status != http.StatusServiceUnavailable {
		t.Fatalf("err = %v", err)
	}
	for _, want := range []string{"session not found", "503", "session_wait 1s (flag --session-wait)"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q does not say %q", e.Message, want)
		}
	}
}

// TestDecide shows the at-most-once rule, row by row.
func TestDecide(t *testing.T) {
	type answer struct{ fresh, repeat bool }
	for k, want := range map[kind][2]answer{ // not repeatable, repeatable
		kindExpired:     {{true, true}, {true, true}},
		kindNotSent:     {{true, true}, {true, true}},
		kindSevered:     {{true, false}, {true, true}},
		kindUncertain:   {{true, false}, {true, true}},
		kindBusy:        {},
		kindAuth:        {},
		kindProtocol:    {},
		kindBroken:      {},
		kindAnswered:    {},
		kindTimeout:     {},
		kindInterrupted: {},
		kindConfig:      {},
	} {
		for i, repeatable := range []bool{false, true} {
			v := decide(k, repeatable)
			if got := (answer{v.fresh, v.repeat}); got != want[i] {
				t.Errorf("kind %d, repeatable %v: %+v, want %+v", k, repeatable, got, want[i])
			}
			if v.fresh && v.why == "" {
				t.Errorf("kind %d, repeatable %v: no reason", k, repeatable)
			}
		}
	}
}

// TestSessionPhrases shows the closed list: what is about the transport's session, and what is an application's matter.
func TestSessionPhrases(t *testing.T) {
	for text, want := range map[string]bool{
		"Session not found":                           true,
		"Bad Request: No valid session ID provided":   true,
		"Invalid params: Invalid or expired session":  true,
		"MCP session is unknown on this API instance": true,
		"Stale session":                               true,
		"session has expired":                         true,
		"The session was terminated":                  true,
		"session does not exist":                      true,
		"invalid session id":                          true,
		"Session ID not found":                        true,
		"session_id is required":                      false,
		"sessions are not supported":                  false,
		"no such tool":                                false,
		"session limit reached":                       false,
		"missing parameter: session":                  false,
		"obsession not found":                         false,
		"the checkout session needs a session key":    false,
	} {
		if got := sessionPhrases().MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestReplacementAsksNothingTwice shows that a replacement does not ask again what the server is, and that it does when
// the server has become another.
func TestReplacementAsksNothingTwice(t *testing.T) {
	r := newRestartable(t)
	var mu sync.Mutex
	asked := map[string]int{}
	modern := false
	r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[method]++
		if modern && method == "initialize" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"]}}}`, r.lastID(req))
			return true
		}
		if modern && method == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"2"}}}`, r.lastID(req))
			return true
		}
		if modern && method == "tools/list" && req.Header.Get("Mcp-Session-Id") == "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, r.lastID(req))
			return true
		}
		return false
	}
	s := supervise(t, r.entry())
	for i, want := range []map[string]int{
		{"server/discover": 1, "initialize": 1},
		{"server/discover": 1, "initialize": 2},
		{"server/discover": 2, "initialize": 3},
	} {
		if i == 2 {
			mu.Lock()
			modern = true // a new release
			mu.Unlock()
		}
		if _, err := list(t.Context(), s); err != nil {
			t.Fatal(i, err)
		}
		r.forget()
		mu.Lock()
		for method, n := range want {
			if asked[method] != n {
				t.Errorf("session %d: %s was asked for %d times, want %d", i+1, method, asked[method], n)
			}
		}
		mu.Unlock()
	}
	if info := s.Stats().Info; info.Era != EraModern {
		t.Errorf("%+v", info)
	}
}
