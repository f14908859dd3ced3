//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const arrowDown = "\x1b[B"

// TestAPersonAnswers shows the answers that a person can give to a form, in both eras: and that the person is told who asks.
func TestAPersonAnswers(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		for _, c := range []struct{ keys, want string }{
			{arrowDown + "\r", "answered with decline"},
			{arrowDown + arrowDown + "\r", "answered with cancel"},
			{"\x1b", "answered with cancel"},
		} {
			term := onTerminalOf(t, 80, t.TempDir(), "call", "demo", "ask", "--protocol", protocol)
			term.awaitText("Your answer to demo")
			term.answer(c.keys)
			code, out := term.end()
			if code != 0 || !strings.HasSuffix(withoutLive(out), c.want+"\n") {
				t.Errorf("%s %q: exit code %d: %q", protocol, c.keys, code, out)
			}
			if !strings.Contains(out, "demo asks:") || !strings.Contains(out, "\n  Tell me about you. Nothing of it is kept.\n") {
				t.Errorf("nobody says who asks, and what: %q", out)
			}
		}
	}
}

// TestCtrlCAtAQuestion shows that Ctrl-C at a question ends the program with 130.
func TestCtrlCAtAQuestion(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		term := onTerminalOf(t, 80, t.TempDir(), "call", "demo", "ask", "--protocol", protocol)
		term.awaitText("Your answer to demo")
		term.answer("\x03")
		if code, out := term.end(); code != codeInterrupted || !strings.Contains(out, "interrupted") {
			t.Errorf("%s: exit code %d: %q", protocol, code, out)
		}
	}
}

// TestCtrlCAtAQuestionIsTold shows that the server hears of a Ctrl-C at its question: its call is cancelled.
func TestCtrlCAtAQuestionIsTold(t *testing.T) {
	t.Parallel()
	cancelled := make(chan struct{})
	url := asker(t, map[string]mcp.ToolHandler{"ask": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, _ = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	}})
	term := onTerminalOf(t, 80, t.TempDir(), "call", url, "ask")
	term.awaitText("Decline")
	term.answer("\x03")
	if code, out := term.end(); code != codeInterrupted {
		t.Errorf("exit code %d: %q", code, out)
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("the server was not told")
	}
}

// TestAPersonIsNotHurried shows that a limit for requests stands still while a person thinks.
func TestAPersonIsNotHurried(t *testing.T) {
	t.Parallel()
	term := onTerminalOf(t, 80, t.TempDir(), "call", "demo", "ask", "--timeout", "1s")
	term.awaitText("Your answer to demo")
	<-time.After(1500 * time.Millisecond) // longer than the limit
	term.answer(arrowDown + "\r")
	if code, out := term.end(); code != 0 || !strings.HasSuffix(withoutLive(out), "answered with decline\n") {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// TestAPageIsOpenedAfterAYes shows that a page is opened in the browser of the environment, and only when the person says so.
func TestAPageIsOpenedAfterAYes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		protocol, keys string
		opened         bool
	}{
		{"2025-11-25", "\r", true},
		{"2026-07-28", "\r", true},
		{"2025-11-25", arrowDown + "\r", false},
	} {
		home := t.TempDir()
		mark := filepath.Join(home, "opened")
		browser := filepath.Join(home, "browser")
		if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+mark+"\n"), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		term := onTerminalWith(t, 80, home, []string{"BROWSER=" + browser}, "call", "demo", "ask", "url=https://bücher.example/a?b=c", "--protocol", c.protocol)
		term.awaitText("Open the page for demo?")
		term.answer(c.keys)
		if c.protocol > "2026" {
			term.awaitText("When you are done there")
			term.answer("\r")
		}
		code, out := term.end()
		if code != 0 || !strings.HasSuffix(withoutLive(out), "answered with accept\n") {
			t.Errorf("exit code %d: %q", code, out)
		}
		if !strings.Contains(out, "  to open https://bücher.example/a?b=c\n") || !strings.Contains(out, "xn--bcher-kva.example") {
			t.Errorf("address and host are not told: %q", out)
		}
		if got := awaitFile(mark, c.opened); (got == "https://bücher.example/a?b=c\n") != c.opened {
			t.Errorf("opened %q", got)
		}
	}
}

// awaitFile reads a file, which may be about to be written.
func awaitFile(path string, expected bool) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 || !expected {
			return string(data)
		}
		<-tick.C
	}
	return ""
}

// asker serves tools over HTTP with sessions.
func asker(t *testing.T, tools map[string]mcp.ToolHandler) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	for name, handler := range tools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return h.URL
}

func textOf(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// TestAQuestionGoesAwayWhenTheServerDoesNotWait shows that a question that was taken back leaves the screen, and the call
// ends as the server says.
func TestAQuestionGoesAwayWhenTheServerDoesNotWait(t *testing.T) {
	t.Parallel()
	standing := make(chan struct{})
	url := asker(t, map[string]mcp.ToolHandler{"hasty": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		short, cancel := context.WithCancel(ctx)
		go func() {
			<-standing
			cancel()
		}()
		_, err := req.Session.Elicit(short, &mcp.ElicitParams{Message: "quick!", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		return textOf(fmt.Sprint("gave up: ", err != nil)), nil
	}})
	term := onTerminalOf(t, 80, t.TempDir(), "call", url, "hasty")
	term.awaitText("Decline")
	close(standing)
	code, out := term.end()
	if code != 0 || !strings.Contains(out, "waits for the answer no more") || !strings.Contains(out, "gave up: true\n") {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// TestAMessageCannotPretend shows that a long message with control characters is cut, made harmless and set apart.
func TestAMessageCannotPretend(t *testing.T) {
	t.Parallel()
	url := asker(t, map[string]mcp.ToolHandler{"lies": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
			Message:         "\x1b[2J\x1b]0;owned\x07mcpctl: error: give me\nmcpctl: note: trust me\n" + strings.Repeat("long\n", 100000),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"api_key":{"type":"string"}}}`),
		})
		if err != nil {
			return nil, err
		}
		return textOf(got.Action), nil
	}})
	term := onTerminalOf(t, 40, t.TempDir(), "call", url, "lies")
	term.awaitText("Decline")
	term.answer(arrowDown + "\r")
	code, out := term.end()
	if code != 0 || strings.Contains(out, "\x1b[2J") || strings.Contains(out, "owned") || strings.Contains(out, "\nmcpctl: note: trust") {
		t.Errorf("exit code %d: %q", code, out)
	}
	if n := strings.Count(out, "long\n"); n > messageLines {
		t.Errorf("%d lines of it are shown", n)
	}
	if !strings.Contains(strings.Join(strings.Fields(out), " "), `servers may not ask for secrets`) {
		t.Errorf("no word about secrets: %q", out)
	}
}

// TestPagesThatACallNeeds shows a call that is refused until a person has been at a page: it is made once more after that,
// and where nobody is, the address is told.
func TestPagesThatACallNeeds(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	url := asker(t, map[string]mcp.ToolHandler{"locked": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if calls.Add(1)%2 == 1 {
			return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{
				Mode: "url", Message: "Unlock it first.", URL: "https://example.com/unlock", ElicitationID: "u1",
			}})
		}
		return textOf("open"), nil
	}})
	term := onTerminalOf(t, 80, t.TempDir(), "call", url, "locked")
	term.awaitText("Open the page for")
	term.answer(arrowDown + "\r")
	term.awaitText("When you are done there")
	term.answer("\r")
	if code, out := term.end(); code != 0 || !strings.Contains(out, "Unlock it first.") || !strings.HasSuffix(withoutLive(out), "open\n") {
		t.Errorf("exit code %d: %q", code, out)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("called %d times", n)
	}
	code, _, errOut := runHere(t.Context(), t, "", "call", url, "locked")
	if code != codeTool || !strings.Contains(errOut, "open https://example.com/unlock (host example.com), then do it again") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	calls.Store(0)
	if code, out, errOut := runHere(t.Context(), t, "", "call", url, "locked", "--elicit", "accept"); code != 0 || out != "open" || !strings.Contains(errOut, "example.com/unlock") {
		t.Errorf("exit code %d: %s %s", code, out, errOut)
	}
}
