package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// requestCounter stands in front of a server and notes the requests that come: the method of HTTP where it is not POST, and
// that of the message.
type requestCounter struct {
	mu   sync.Mutex
	seen []string
}

func (c *requestCounter) handler(to string) http.Handler {
	target, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Method
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			var message struct {
				Method string `json:"method"`
			}
			_ = json.Unmarshal(body, &message)
			name = message.Method
		}
		c.mu.Lock()
		c.seen = append(c.seen, name)
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	})
}

// take returns what has come since it was asked last.
func (c *requestCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// oneRun runs a command line with its files in home.
func oneRun(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ios, _, out, errOut := iostreams.Test()
	code = run(t.Context(), process{
		args: args, io: ios, home: home,
		lookup: func(name string) (string, bool) {
			if name == "HOME" || strings.HasPrefix(name, "XDG_") {
				return home, true
			}
			return os.LookupEnv(name)
		},
		build: readBuild("1.2.3", "", ""),
	})
	return code, out.String(), errOut.String()
}

// TestRequestsOnTheWire holds exactly which requests a command makes of a server that is not known, and of one that is. A
// program that uses go-sdk alone makes the probe each time, and a GET in the legacy era.
func TestRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	const (
		discover, initialize, initialized = "server/discover", "initialize", "notifications/initialized"
		list, call, end                   = "tools/list", "tools/call", "DELETE"
	)
	legacyCold := []string{discover, initialize, initialized}
	legacyWarm := []string{initialize, initialized}
	add := []string{"add", "a=1", "b=2"}
	for _, c := range []struct {
		name       string
		modern     bool
		command    string
		args       []string
		cold, warm []string
	}{
		{"legacy call", false, "call", add, slices.Concat(legacyCold, []string{list, call, end}), slices.Concat(legacyWarm, []string{call, end})},
		{"legacy tools", false, "tools", nil, slices.Concat(legacyCold, []string{list, end}), slices.Concat(legacyWarm, []string{list, end})},
		{"modern call", true, "call", add, []string{discover, list, call}, []string{discover, call}},
		{"modern tools", true, "tools", nil, []string{discover, list}, []string{discover, list}},
	} {
		for _, entry := range []bool{false, true} {
			name := c.name + ", by URL"
			if entry {
				name = c.name + ", by entry"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{Stateless: c.modern})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = server.Close() })
				counter := &requestCounter{}
				front := httptest.NewServer(counter.handler(server.URL()))
				t.Cleanup(front.Close)
				home := t.TempDir()
				address := front.URL + "/mcp"
				named := address
				if entry {
					dir := filepath.Join(home, "mcpctl")
					if err := os.MkdirAll(dir, 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("version: 1\nservers: {it: {url: \""+address+"\"}}\n"), 0o600); err != nil {
						t.Fatal(err)
					}
					named = "it"
				}
				args := slices.Concat([]string{c.command, named}, c.args)
				for round, want := range [][]string{c.cold, c.warm, c.warm} {
					if code, _, errOut := oneRun(t, home, args...); code != codeOK {
						t.Fatalf("round %d: %q exits with %d\n%s", round+1, args, code, errOut)
					}
					if got := counter.take(); !slices.Equal(got, want) {
						t.Errorf("round %d: %q, want %q", round+1, got, want)
					}
				}
			})
		}
	}
}

// TestAWrongMemoryCostsARequest changes a server's era behind an address that is known, and then back: what is remembered is
// then wrong, and the call has its right result all the same.
func TestAWrongMemoryCostsARequest(t *testing.T) {
	t.Parallel()
	var servers [2]*demo.HTTPServer
	for i := range servers {
		var err error
		if servers[i], err = demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{Stateless: i == 1}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	counter := &requestCounter{}
	handlers := []http.Handler{counter.handler(servers[0].URL()), counter.handler(servers[1].URL())}
	var mu sync.Mutex
	now := 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[now]
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	home := t.TempDir()
	for round, era := range []int{0, 0, 1, 1, 0, 0} {
		mu.Lock()
		now = era
		mu.Unlock()
		code, out, errOut := oneRun(t, home, "call", front.URL+"/mcp", "add", "a=1", "b=2")
		if code != codeOK || strings.TrimSpace(out) != "3" {
			t.Errorf("round %d: exit code %d, %q\n%s\n%q", round+1, code, out, errOut, counter.take())
		}
		calls := 0
		seen := counter.take()
		for _, m := range seen {
			if m == "tools/call" {
				calls++
			}
		}
		if calls != 1 {
			t.Errorf("round %d: the tool was called %d times: %q", round+1, calls, seen)
		}
	}
}
