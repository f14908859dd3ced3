//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// billboard is a server with one resource, over HTTP, that can be changed, and restarted behind one address.
type billboard struct {
	*httptest.Server
	stateless bool

	mu      sync.Mutex
	server  *mcp.Server
	servers []*mcp.Server
	handler http.Handler
	text    string
	// subscribed gets a value for each subscription, streams for each stream of notifications that is asked for.
	subscribed, streams chan struct{}
	// cut ends the latest of these streams.
	cut context.CancelFunc
	// deaf is set when there is no such stream.
	deaf bool
}

const billboardURI = "board://text"

func newBillboard(t *testing.T, stateless bool) *billboard {
	t.Helper()
	b := &billboard{stateless: stateless, text: "first", subscribed: make(chan struct{}, 100), streams: make(chan struct{}, 100)}
	b.restart()
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b.mu.Lock()
		handler := b.handler
		refuse := b.deaf && req.Method == http.MethodGet
		if req.Method == http.MethodGet || req.Header.Get("Mcp-Method") == "subscriptions/listen" {
			var ctx context.Context
			ctx, b.cut = context.WithCancel(req.Context())
			req = req.WithContext(ctx)
			b.streams <- struct{}{}
		}
		b.mu.Unlock()
		if refuse {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Close()
		for _, s := range b.servers {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
	})
	return b
}

// restart forgets all sessions.
func (b *billboard) restart() {
	server := mcp.NewServer(&mcp.Implementation{Name: "board", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error {
			b.subscribed <- struct{}{}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddResource(&mcp.Resource{URI: billboardURI, Name: "text"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: billboardURI, MIMEType: "text/plain", Text: b.text}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: b.stateless})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server, b.handler, b.servers = server, handler, append(b.servers, server)
}

// write changes the text, and tells of it if somebody is to be told.
func (b *billboard) write(ctx context.Context, text string, tell bool) {
	b.mu.Lock()
	b.text = text
	server := b.server
	b.mu.Unlock()
	if tell {
		_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: billboardURI})
	}
}

// watchRun is a read --watch -o json whose documents are read as they come.
type watchRun struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string
	stderr screen
}

func startWatch(t *testing.T, args ...string) *watchRun {
	t.Helper()
	home := t.TempDir()
	w := &watchRun{t: t, cmd: exec.CommandContext(t.Context(), "mcpctl", append([]string{"read", "--watch", "-o", "json"}, args...)...), lines: make(chan string, 1000)}
	w.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	})
	go func() {
		defer close(w.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			w.lines <- in.Text()
		}
	}()
	return w
}

// next returns the number and the text of the next document.
func (w *watchRun) next() (update int, text string) {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatalf("it ended: %s", w.stderr.String())
		}
		var doc struct {
			Update *int `json:"update"`
			Result struct {
				Contents []struct {
					Text string `json:"text"`
				} `json:"contents"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil || doc.Update == nil || len(doc.Result.Contents) == 0 {
			w.t.Fatalf("%v: %s", err, line)
		}
		return *doc.Update, doc.Result.Contents[0].Text
	case <-time.After(pingTime):
		w.t.Fatalf("nothing came: %s", w.stderr.String())
	}
	return 0, ""
}

// wants waits for documents until one has a text.
func (w *watchRun) wants(text string) {
	w.t.Helper()
	for {
		if _, got := w.next(); got == text {
			return
		}
	}
}

// interrupted presses Ctrl-C, and wants the code of that.
func (w *watchRun) interrupted() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	for range w.lines {
		continue
	}
	_ = w.cmd.Wait() // the code tells
	if code := w.cmd.ProcessState.ExitCode(); code != codeInterrupted {
		w.t.Errorf("exit code %d: %s", code, w.stderr.String())
	}
}

func await1(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(pingTime):
		t.Fatal("it did not happen")
	}
}

// TestAWatchOutlivesItsSession changes a resource, and changes it again while the server has forgotten the session and tells
// nobody: both are shown, in both eras, and the loss is told in one line.
func TestAWatchOutlivesItsSession(t *testing.T) {
	for name, stateless := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBillboard(t, stateless)
			w := startWatch(t, b.URL, billboardURI)
			if n, text := w.next(); n != 0 || text != "first" {
				t.Errorf("%d, %q", n, text)
			}
			await1(t, b.streams)
			b.write(t.Context(), "second", true)
			w.wants("second")
			b.restart()
			b.write(t.Context(), "third", false)
			b.CloseClientConnections()
			w.wants("third")
			await1(t, b.streams)
			b.write(t.Context(), "fourth", true)
			w.wants("fourth")
			w.interrupted()
			lost := regexp.MustCompile(`(?m)^mcpctl: note: .*: the session was lost \(.*\) and replaced in .*; watching again$`)
			if n := len(lost.FindAllString(w.stderr.String(), -1)); !stateless && n != 1 {
				t.Errorf("the loss was told %d times: %s", n, w.stderr.String())
			}
		})
	}
}

// TestAStreamThatBreaksHidesNoChange ends only the stream of notifications, and changes the resource meanwhile.
func TestAStreamThatBreaksHidesNoChange(t *testing.T) {
	t.Parallel()
	b := newBillboard(t, false)
	w := startWatch(t, b.URL, billboardURI)
	w.wants("first")
	await1(t, b.streams)
	b.mu.Lock()
	b.cut()
	b.mu.Unlock()
	b.write(t.Context(), "second", false)
	w.wants("second")
	w.interrupted()
	if strings.Contains(w.stderr.String(), "lost") {
		t.Errorf("no session was lost: %s", w.stderr.String())
	}
}

// TestAServerWithoutAStreamCannotBeWatched ends, and does not wait for news that cannot come.
func TestAServerWithoutAStreamCannotBeWatched(t *testing.T) {
	t.Parallel()
	b := newBillboard(t, false)
	b.mu.Lock()
	b.deaf = true
	b.mu.Unlock()
	w := startWatch(t, b.URL, billboardURI)
	for range w.lines {
		continue
	}
	_ = w.cmd.Wait() // the code tells
	if code := w.cmd.ProcessState.ExitCode(); code != codeConnect || !strings.Contains(w.stderr.String(), "offers no stream of notifications") {
		t.Errorf("exit code %d: %s", code, w.stderr.String())
	}
}

// TestAWatchedChildIsStartedAgain kills a server that is a process.
func TestAWatchedChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	// A dollar is written twice, because mcpctl replaces variables.
	command := `sh -c 'echo $$$$ > "` + pidFile + `"; exec mcpctl demo-server'`
	w := startWatch(t, "--stdio", strings.ReplaceAll(command, "$$$$", "$$"), "demo://readme")
	w.next()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	limit := time.After(pingTime)
	tick := time.NewTicker(20 * time.Millisecond) // polls another process
	defer tick.Stop()
	for !strings.Contains(w.stderr.String(), "watching again") {
		select {
		case <-limit:
			t.Fatalf("nothing was told: %s", w.stderr.String())
		case <-tick.C:
		}
	}
	w.interrupted()
}

// TestWatchingOnATerminal shows each change under a line of its own, and Ctrl-C ends it.
func TestWatchingOnATerminal(t *testing.T) {
	t.Parallel()
	b := newBillboard(t, false)
	term := onTerminalOf(t, 60, t.TempDir(), "read", b.URL, billboardURI, "--watch")
	term.awaitText("first\r\n")
	await1(t, b.streams)
	b.write(t.Context(), "a\x1b[2Jb", true)
	term.awaitText("ab\r\n")
	term.answer(ctrlC)
	code, out := term.end()
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(withoutLive(out), "")
	if code != codeInterrupted || !regexp.MustCompile(`── \d\d:\d\d:\d\d  as it is now\nfirst\n── \d\d:\d\d:\d\d  change 1\nab\n`).MatchString(plain) {
		t.Errorf("exit code %d: %q", code, plain)
	}
}

// TestResourcesAndPromptsOnATerminal are cut to the width, and nothing of them moves the cursor.
func TestResourcesAndPromptsOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns uint16
		args    []string
		want    []string
	}{
		{80, []string{"resources", "demo"}, []string{"\nTEMPLATE               NAME", "demo://readme   About this server  text/markdown"}},
		{40, []string{"resources", "--stdio", "faultlab stdio resource-lists-odd"}, []string{"lab://red", "1.2 MB"}},
		{80, []string{"prompts", "demo"}, []string{"PROMPT  ARGUMENTS     DESCRIPTION\n", "greet   name, style?  Ask for a greeting for somebody\n"}},
		{60, []string{"prompt", "demo", "tour"}, []string{"A tour of the demonstration server\n\nuser:\nWhat does this server offer?\n\nassistant:\n"}},
		{60, []string{"read", "--stdio", "faultlab stdio resource-wrong-mime", "lab://thing"}, []string{"[resource text/plain lab://thing, 13 bytes"}},
		{60, []string{"read", "demo", "demo://picture"}, []string{"demo://picture, "}},
	} {
		code, out := onTerminalOf(t, c.columns, t.TempDir(), c.args...).end()
		plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(withoutLive(out), "")
		if code != codeOK {
			t.Errorf("%q: exit code %d: %s", c.args, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(plain, want) {
				t.Errorf("%q: no %q in\n%s", c.args, want, plain)
			}
		}
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%q: it moves the cursor: %q", c.args, plain)
		}
	}
}
