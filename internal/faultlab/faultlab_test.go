package faultlab

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// TestMain lets the test binary be the stdio server that a test starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "stdio" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	if !explicit("test.parallel") {
		_ = flag.Set("test.parallel", checksAtATime) // the flag is there and takes numbers
	}
	goleak.VerifyTestMain(m)
}

// checksAtATime is how many tests run side by side, on a machine with any number of processors: checking a case takes
// about a second of waiting and little computing. With more of them, servers start too late for a probe that waits for
// one second.
const checksAtATime = "10"

// explicit reports whether the command line has the flag.
func explicit(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// TestCatalogue keeps names and ids unique, texts present, and every served case checked.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		for _, key := range []string{c.ID, c.Name} {
			if key == "" || seen[key] {
				t.Errorf("%s %s: %q is empty or not unique", c.ID, c.Name, key)
			}
			seen[key] = true
		}
		for _, text := range []string{c.Area, c.Title, c.Source, c.Symptom, c.Cause, c.Repro, c.Right, c.Exit} {
			if text == "" || unwrap(text) != strings.Join(strings.Fields(text), " ") {
				t.Errorf("%s: text %q is empty or badly wrapped", c.Name, text)
			}
		}
		if c.Level < 1 || c.Level > 3 {
			t.Errorf("%s: level %d", c.Name, c.Level)
		}
		if c.serves(Config) != (c.config != nil) {
			t.Errorf("%s: served over %s, but config function present: %t", c.Name, c.Over, c.config != nil)
		}
		for _, over := range transports() {
			if c.serves(over) && c.check.pattern(over) == "" {
				t.Errorf("%s: no check over %s", c.Name, over)
			}
		}
	}
}

// attempts is how often a case may be checked until it misbehaves. A busy machine can be late with an answer that the
// check waits for; a fault that has gone stays gone.
const attempts = 3

// TestEveryCaseMisbehaves is the selftest.
func TestEveryCaseMisbehaves(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(Cases(), Healthy()) {
		for _, over := range transports() {
			if !c.serves(over) {
				continue
			}
			t.Run(c.Name+"/"+over.String(), func(t *testing.T) {
				t.Parallel()
				for attempt := 1; ; attempt++ {
					err := c.verify(over, self)
					if err == nil {
						return
					}
					if attempt == attempts {
						t.Fatal(err)
					}
					t.Logf("attempt %d: %v", attempt, err)
				}
			})
		}
	}
}

// TestCloseEndsHeldRequests shows that a test can use a case that never answers, and leave nothing behind.
func TestCloseEndsHeldRequests(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, held := range []struct{ name, method, body string }{
		{"init-never", http.MethodPost, initializeBody()},
		{"notif-hang", http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{"ping-during-init", http.MethodPost, initializeBody()},
		{"slow-start", http.MethodPost, initializeBody()},
		{"session-delete-hang", http.MethodDelete, ""},
		{"sse-only-legacy", http.MethodGet, ""},
		{"net-late-listen", http.MethodPost, initializeBody()}, // not held, but the listener is still to come
	} {
		closeWhileHeld(t, held.name, held.method, held.body)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// closeWhileHeld closes the server of a case while a request is open.
func closeWhileHeld(t *testing.T, name, method, body string) {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("no case %s", name)
	}
	s, err := c.Serve(HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	client := &http.Client{Transport: &http.Transport{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	awaitRequest(t, s, ended)
	lap := stopwatch.Start(t)
	if err := s.Close(); err != nil {
		t.Errorf("%s: close: %v", name, err)
	}
	if d := lap.End(); d > shutdownTime {
		t.Errorf("%s: close took %s", name, d)
	}
	<-ended
	client.CloseIdleConnections()
}

// awaitRequest waits until the server has a request, or the request has ended without reaching it.
func awaitRequest(t *testing.T, s *Server, ended <-chan struct{}) {
	t.Helper()
	arrived := func(e Event) bool { return e["kind"] == "http" }
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(5 * time.Second)
	for !slices.ContainsFunc(s.Events(), arrived) {
		select {
		case <-tick.C:
		case <-ended:
			return
		case <-limit:
			t.Fatal("the request does not arrive")
		}
	}
}

func TestServeRefusesOtherAddresses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "localhost:0", "[::1]:0", "127.0.0.1"} {
		if s, err := Healthy().Serve(HTTPOptions{Addr: addr}); err == nil {
			t.Errorf("%s: served at %s", addr, s.URL)
			_ = s.Close()
		}
	}
}

// TestMainAnswers shows the command without starting a process.
func TestMainAnswers(t *testing.T) {
	for _, c := range []struct {
		args     []string
		code     int
		out, err string // beginnings, or parts
	}{
		{[]string{"list", "--transport", "stdio", "--area", "stdio"}, 0, "CASE-080", ""},
		{[]string{"show", "CASE-001"}, 0, "session-404-restart", ""},
		{[]string{"config", "healthy", "--bin", "/bin/lab"}, 0, `"command": "/bin/lab"`, ""},
		{[]string{"doc"}, 0, "# MCP connectivity bug cases", ""},
		{[]string{"help"}, 0, "faultlab list", ""},
		{[]string{"stdio", "healthy"}, 0, `"id":1,"result":{}`, ""},
		{[]string{"show", "no-such-case"}, 1, "", `no case "no-such-case"`},
		{[]string{"stdio", "session-404-restart"}, 1, "", "not served over stdio"},
		{[]string{"config", "session-404-restart"}, 1, "", "no configuration file"},
		{[]string{"http", "stdio-banner"}, 1, "", "not served over http"},
		{[]string{"other"}, 2, "", "faultlab list"},
		{nil, 2, "", "faultlab list"},
		{[]string{"list", "--other"}, 2, "", "not defined: -other"},
	} {
		var out, errOut bytes.Buffer
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		if code := Main(c.args, in, &out, &errOut); code != c.code {
			t.Errorf("%v: code %d, want %d; stderr %s", c.args, code, c.code, errOut.String())
		}
		if !strings.Contains(out.String(), c.out) || !strings.Contains(errOut.String(), c.err) {
			t.Errorf("%v: stdout %.200q, want %q; stderr %.200q, want %q", c.args, out.String(), c.out, errOut.String(), c.err)
		}
	}
}
