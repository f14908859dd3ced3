package session

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestBehindProxies shows what proxies do to servers that are well: the next step is about the proxy.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	const notInitialized = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`
	const opened = `{"jsonrpc":"2.0","id":%ID%,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	wait := func(r *http.Request) { <-r.Context().Done() }
	// wantsSession is a server that wants a session id, and sees none.
	wantsSession := func(id string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			if !strings.Contains(string(body), `"initialize"`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, notInitialized)
				return
			}
			if id != "" {
				w.Header().Set("Mcp-Session-Id", id)
			}
			_, number, _ := strings.Cut(string(body), `"id":`)
			number, _, _ = strings.Cut(number, ",")
			_, _ = io.WriteString(w, strings.ReplaceAll(opened, "%ID%", number))
		}
	}
	for name, c := range map[string]struct {
		path    string
		answer  http.HandlerFunc
		message string
		seen    string
		hint    string
	}{
		"events are held back": {"/sse", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.NotFound(w, r)
				return
			}
			wait(r)
		}, "the GET for an event stream got no answer within connect_timeout 1s", "as streamable HTTP: HTTP 404", "proxy_buffering off"},
		"a prefix is cut off, and outside of it all is well": {"/x/sse", func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/x/sse":
			case r.Method == http.MethodPost:
				http.NotFound(w, r)
			default:
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: endpoint\ndata: /message?sessionId=1\n\n")
				_ = http.NewResponseController(w).Flush()
				wait(r)
			}
		}, "no answer within connect_timeout 1s", "the server announces /message, and a POST there got HTTP 200", "cuts off the beginning of the path /x/sse"},
		"the session id of answers is hidden":  {"/mcp", wantsSession(""), "its answer to initialize gave none: HTTP 400 Bad Request: Bad Request: Server not initialized", "", "pass the header Mcp-Session-Id of answers on"},
		"the session id of requests is hidden": {"/mcp", wantsSession("s1"), "Server not initialized", "", "does not pass on the header Mcp-Session-Id?"},
		"no site of Caddy matches": {"/mcp", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server", "Caddy")
		}, "the answer is empty", "", "Caddyfile"},
		"a rule refuses POST": {"/mcp", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<html><head><title>403 Forbidden</title></head></html>")
		}, "403", "", "see the rules of the server, or of a proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(c.answer)
			defer srv.Close()
			server := config.Server{Name: "n", URL: srv.URL + c.path, ConnectTimeout: time.Second}
			_, err := (&Dialer{}).Dial(t.Context(), server)
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) ||
				!slices.ContainsFunc(append(e.Evidence, ""), func(s string) bool { return strings.Contains(s, c.seen) }) {
				t.Errorf("%v\nhint: %s\nevidence: %q", err, e.Hint, e.Evidence)
			}
		})
	}
}

// TestCutTwice shows a proxy that ends the stream before the response, on a fresh session, too.
func TestCutTwice(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(string(body), `"initialize"`):
			_, id, _ := strings.Cut(string(body), `"id":`)
			id, _, _ = strings.Cut(id, ",")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
		case strings.Contains(string(body), `"tools/list"`):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": wait\n\n")
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer srv.Close()
	s := NewSupervisor(&Dialer{}, config.Server{Name: "n", URL: srv.URL + "/mcp", Protocol: "2025-11-25", Enabled: true})
	defer func() { _ = s.Close() }()
	err := s.Do(t.Context(), Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, sess *Session) error {
		_, err := sess.Raw(ctx, "tools/list", nil)
		return err
	})
	e, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(e.Message, "failed again on a fresh session") || !strings.Contains(e.Hint, "proxy_read_timeout") {
		t.Errorf("%v: %+v", err, e)
	}
}
