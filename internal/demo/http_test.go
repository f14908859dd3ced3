package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// serve opens a server, and closes it when the test ends.
func serve(t *testing.T, o HTTPOptions) *HTTPServer {
	t.Helper()
	s, err := ServeHTTP(t.Context(), "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// overHTTP returns a transport whose connections end with the test.
func overHTTP(t *testing.T, s *HTTPServer) mcp.Transport {
	t.Helper()
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(client.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: s.URL(), HTTPClient: client, MaxRetries: -1}
}

func TestHTTPServesBothEras(t *testing.T) {
	for _, c := range []struct {
		stateless bool
		version   string
	}{{false, "2025-11-25"}, {true, "2026-07-28"}} {
		t.Run(c.version, func(t *testing.T) {
			told := make(chan string, 100)
			s := connect(t, overHTTP(t, serve(t, HTTPOptions{Stateless: c.stateless})), &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					told <- r.Params.Message
				},
			})
			if got := s.InitializeResult().ProtocolVersion; got != c.version || (s.ID() == "") != c.stateless {
				t.Errorf("version %s, session %q", got, s.ID())
			}
			if got := text(t, call(t, s, "add", `{"a":2,"b":3}`)); got != "5" {
				t.Errorf("2 + 3 = %s", got)
			}
			call(t, s, "note", `{"text":"kept"}`)
			read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: noteURI(1)})
			if err != nil || read.Contents[0].Text != "kept" {
				t.Errorf("note: %v, %v", read, err)
			}
			params := &mcp.CallToolParams{Name: "slow", Arguments: json.RawMessage(`{"seconds":0.25}`)}
			params.SetProgressToken(1)
			if _, err := s.CallTool(t.Context(), params); err != nil {
				t.Error(err)
			}
			select {
			case message := <-told:
				if !strings.HasPrefix(message, "waited 0.") {
					t.Errorf("progress %q", message)
				}
			case <-time.After(5 * time.Second):
				t.Error("no progress")
			}
		})
	}
}

func TestHTTPCallStopsWhenCancelled(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		server := serve(t, HTTPOptions{Stateless: stateless})
		s := connect(t, overHTTP(t, server), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		// The end of a session waits for its calls, so this takes 3 s if slow goes on.
		lap := stopwatch.Start(t)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if d := lap.End(); d > 2*time.Second {
			t.Errorf("stateless %t: closing took %s", stateless, d)
		}
	}
}

// TestHTTPCloseEndsCallsAndStreams shows that Close is prompt and leaves nothing, whatever is open.
func TestHTTPCloseEndsCallsAndStreams(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, stateless := range []bool{false, true} {
		server, err := ServeHTTP(t.Context(), "", HTTPOptions{Stateless: stateless})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: new(http.Transport)}
		s, ended := startSlow(t, func(o *mcp.ClientOptions) *mcp.ClientSession {
			return connect(t, &mcp.StreamableClientTransport{Endpoint: server.URL(), HTTPClient: client, MaxRetries: -1}, o)
		})
		// A connection that never carries a request.
		idle, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(server.URL(), "http://"), "/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		lap := stopwatch.Start(t)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if d := lap.End(); d > 3*time.Second {
			t.Errorf("stateless %t: closing took %s", stateless, d)
		}
		if err := server.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("wait: %v", err)
		}
		wantFailure(t, ended)
		_ = idle.Close()
		_ = s.Close()
		client.CloseIdleConnections()
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestHTTPEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := ServeHTTP(ctx, "127.0.0.1:0", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestHTTPRefusesAddressesThatOthersReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1"} {
		if s, err := ServeHTTP(t.Context(), addr, HTTPOptions{}); err == nil {
			t.Errorf("%s: served at %s", addr, s.URL())
			_ = s.Close()
		}
	}
	s, err := ServeHTTP(t.Context(), "localhost:0", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") && !strings.HasPrefix(s.URL(), "http://[::1]:") {
		t.Errorf("localhost became %s", s.URL())
	}
	remote, err := ServeHTTP(t.Context(), "0.0.0.0:0", HTTPOptions{AllowRemote: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Close(); err != nil {
		t.Error(err)
	}
}

// TestHTTPRefusesPages shows that a page in a browser cannot use the server, not even by renaming itself localhost.
func TestHTTPRefusesPages(t *testing.T) {
	s := serve(t, HTTPOptions{})
	client := &http.Client{Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	for _, c := range []struct{ name, host, origin string }{
		{"cross origin", "", "https://example.com"},
		{"rebound name", "example.com", "http://example.com"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", c.origin)
		r.Host = c.host
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", c.name, resp.StatusCode)
		}
	}
}
