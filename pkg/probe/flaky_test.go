package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// flaky is an HTTP server with sessions whose failures the tests choose. Its fields are set before it is used.
type flaky struct {
	// list answers the nth tools/list, and reports whether it did. If nil, or after false, it is answered as usual.
	list func(n int, w http.ResponseWriter, r *http.Request) bool
	// ping is the same for ping, and del for DELETE.
	ping func(n int, w http.ResponseWriter, r *http.Request) bool
	del  func(n int, w http.ResponseWriter, r *http.Request) bool
	// call is the same for tools/call.
	call func(n int, w http.ResponseWriter, r *http.Request) bool
	// uses is how many requests a session answers, 0 for any number.
	uses int
	// sessions is how many there are in all, 0 for any number.
	sessions int
	// nameless gives no session ids.
	nameless bool

	mu     sync.Mutex
	used   map[string]int
	counts map[string]int
	// opened is when the latest session was, and cut the number of the request that was cut last.
	opened time.Time
	cut    int
	// over is closed at the end of the test.
	over chan struct{}
}

// serve starts the server.
func (s *flaky) serve(t *testing.T) config.Server {
	t.Helper()
	s.used, s.counts, s.over = map[string]int{}, map[string]int{}, make(chan struct{})
	srv := httptest.NewServer(s)
	t.Cleanup(func() { close(s.over); srv.CloseClientConnections(); srv.Close() })
	return config.Server{
		Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true, Protocol: "2025-11-25",
		SessionWait: 2 * time.Second,
	}
}

// cutNow cuts a connection now and then, and never while a request may be repeated: it would be lost for good.
func (s *flaky) cutNow(n int, _ http.ResponseWriter, _ *http.Request) bool {
	s.mu.Lock()
	now := n > s.cut+5 && time.Since(s.opened) > 250*time.Millisecond
	if now {
		s.cut = n
	}
	s.mu.Unlock()
	if now {
		panic(http.ErrAbortHandler)
	}
	return false
}

// hang leaves a request without an answer.
func (s *flaky) hang(r *http.Request) {
	select {
	case <-s.over:
	case <-r.Context().Done():
	}
}

func (s *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if r.Method != http.MethodPost {
		m.Method = r.Method
	}
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	s.counts[m.Method]++
	n := s.counts[m.Method]
	if m.Method == "initialize" {
		s.opened = time.Now()
	}
	used, known := s.used[id]
	if known {
		s.used[id]++
		known = s.uses == 0 || used < s.uses
	}
	if m.Method == "initialize" && (s.sessions == 0 || n <= s.sessions) && !s.nameless {
		id = fmt.Sprintf("session-%d", n)
		s.used[id] = 0
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.mu.Unlock()
	hooks := map[string]func(int, http.ResponseWriter, *http.Request) bool{
		"tools/list": s.list, "ping": s.ping, http.MethodDelete: s.del, "tools/call": s.call,
	}
	switch hook := hooks[m.Method]; {
	case m.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.Method == "initialize":
		if s.sessions > 0 && n > s.sessions {
			http.Error(w, "no more sessions", http.StatusServiceUnavailable)
			return
		}
		s.answer(w, m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"flaky","version":"1"}}`)
		return
	case hook != nil && hook(n, w, r):
		return
	case !known && !s.nameless:
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	case m.Method == http.MethodDelete:
		s.forget(id)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch m.Method {
	case "tools/list":
		s.answer(w, m.ID, `{"tools":[{"name":"peek","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case "tools/call":
		s.answer(w, m.ID, `{"content":[{"type":"text","text":"pong"}]}`)
	default:
		s.answer(w, m.ID, `{}`)
	}
}

// forget drops a session.
func (s *flaky) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, id)
}

func (s *flaky) answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
