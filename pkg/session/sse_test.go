package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestSSEUnansweredPost shows that a POST of the older transport which is never answered keeps nobody waiting once the
// response has come on the stream.
func TestSSEUnansweredPost(t *testing.T) {
	server := olderServer(t, "", "tools/call", func(method string, id json.RawMessage) string {
		switch method {
		case "initialize":
			return fmt.Sprintf(olderOpening, id)
		case "tools/call":
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
		}
		return ""
	})
	server.Timeout = time.Minute
	s := supervise(t, server)
	begin := time.Now()
	for range 2 {
		if _, err := call(t.Context(), s, "x", nil, false); err != nil {
			t.Fatal(err)
		}
	}
	if elapsed := time.Since(begin); elapsed > 20*time.Second {
		t.Errorf("it took %s", elapsed)
	}
	if n := s.Stats().Handshakes; n != 1 {
		t.Errorf("%d handshakes", n)
	}
}

// TestSSEWantsAToken shows a server of the older transport that answers POST at the path of its stream with 404, and lets
// nobody read that without a token: that is what is wrong, and not the URL.
func TestSSEWantsAToken(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/sse" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.NotFound(w, r)
	}))
	defer srv.Close()
	for path, want := range map[string]Class{"/sse": ClassAuth, "/nope": ClassConnect} {
		_, err := (&Dialer{}).Dial(t.Context(), config.Server{Name: "n", URL: srv.URL + path})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Class != want {
			t.Fatalf("%s: %+v", path, err)
		}
		if want == ClassAuth && (!strings.Contains(e.Hint, "static token") || !slices.ContainsFunc(e.Evidence, func(s string) bool {
			return strings.HasPrefix(s, "as streamable HTTP: HTTP 404")
		})) {
			t.Errorf("hint %q, evidence %q", e.Hint, e.Evidence)
		}
	}
}

// olderOpening answers initialize.
const olderOpening = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`

// olderServer serves the older transport: opening is what stands on the stream before the endpoint, and answer the event that
// a message gets, "" for none. The POSTs of the method silent get no answer of their own.
func olderServer(t *testing.T, opening, silent string, answer func(method string, id json.RawMessage) string) config.Server {
	t.Helper()
	events, end := make(chan string, 8), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, opening+"event: endpoint\ndata: /post\n\n")
			for {
				_ = http.NewResponseController(w).Flush()
				select {
				case e := <-events:
					_, _ = io.WriteString(w, "data: "+e+"\n\n")
				case <-r.Context().Done():
					return
				case <-end:
					return
				}
			}
		case r.Method == http.MethodPost && r.URL.Path == "/post":
			var msg struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			_ = json.NewDecoder(r.Body).Decode(&msg)
			if e := answer(msg.Method, msg.ID); e != "" {
				events <- e
			}
			if silent != "" && msg.Method == silent {
				select {
				case <-r.Context().Done():
				case <-end:
				}
				return
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(end) })
	return config.Server{Name: "s", URL: srv.URL + "/sse", Transport: config.TransportSSE}
}

// TestSSEWhatStandsBeforeAndBetween shows that an event of another name before the endpoint is passed over, that an error
// without an id for a notification ends nothing, and that one for the only request that waits is its answer.
func TestSSEWhatStandsBeforeAndBetween(t *testing.T) {
	t.Parallel()
	server := olderServer(t, ": hello\n\nevent: ping\ndata: {}\n\n", "", func(method string, id json.RawMessage) string {
		switch method {
		case "initialize":
			return fmt.Sprintf(olderOpening, id)
		case "notifications/initialized":
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`
		case "tools/list":
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}}`, id)
		case "tools/call":
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"disk full"}}`
		}
		return ""
	})
	s := supervise(t, server)
	for range 3 {
		list, err := s.ListTools(t.Context())
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d tools, %v", len(list.Items), err)
		}
	}
	if _, err := call(t.Context(), s, "x", nil, false); ClassOf(err) != ClassAnswered {
		t.Errorf("call: %v", err)
	}
	if n := s.Stats().Handshakes; n != 1 {
		t.Errorf("%d handshakes", n)
	}
}
