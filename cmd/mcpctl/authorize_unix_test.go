//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// protectedServer starts a server that wants a login, and logs everybody in without a question.
func protectedServer(t *testing.T) string {
	t.Helper()
	c, ok := faultlab.Find("oauth-full-chain")
	if !ok {
		t.Fatal("no such case")
	}
	server, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server.URL
}

// loginEnv is what a terminal needs on which a browser logs in by itself.
func loginEnv(home string) []string {
	return []string{
		"BROWSER=curl -sSL -o /dev/null", "XDG_DATA_HOME=" + home + "/data", "XDG_CACHE_HOME=" + home + "/cache",
		"XDG_STATE_HOME=" + home + "/state", "MCPCTL_CREDENTIALS=file",
	}
}

// TestAPersonIsAskedToLogIn shows which commands ask at a terminal, and that the others name the line to type.
func TestAPersonIsAskedToLogIn(t *testing.T) {
	t.Parallel()
	url := protectedServer(t)
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"tools", url}, codeOK},
		{[]string{"call", url, "echo", "text=hi"}, codeOK},
		{[]string{"add", "lab", url, "--yes"}, codeOK},
		{[]string{"add", "lab", url, "--yes", "--auth", "oauth"}, codeOK},
		{[]string{"tools", url, "--no-input"}, codeAuth},
		{[]string{"tools", url, "-o", "json"}, codeAuth},
		{[]string{"ping", url, "-c", "1"}, codeAuth},
		{[]string{"doctor", url}, codeFailed},
	} {
		home := t.TempDir()
		code, out := onTerminalWith(t, 80, home, loginEnv(home), c.args...).end()
		out = withoutSequences(out)
		asked := strings.Contains(out, "wants you to log in")
		if code != c.code || asked != (c.code == codeOK) {
			t.Errorf("%q: exit code %d, want %d; asked %v:\n%s", c.args, code, c.code, asked, out)
		}
		if !asked && !strings.Contains(out, "mcpctl login "+url) {
			t.Errorf("%q: no line to type:\n%s", c.args, out)
		}
	}
}

// TestAShellLogsInInTheMiddle logs out and in again while a session is held.
func TestAShellLogsInInTheMiddle(t *testing.T) {
	t.Parallel()
	url, home := protectedServer(t), t.TempDir()
	s := &typing{terminal: onTerminalWith(t, 120, home, loginEnv(home), "shell", url), home: home}
	s.then("", "/mcp> ")
	s.line("call echo text=one", "one\r\n")
	s.line("logout", "logged out of")
	s.line("call echo text=two", "two\r\n")
	s.line("logout", "logged out of")
	s.line("doctor", "login")
	s.line("login", "logged in to")
	s.line("call echo text=three", "three\r\n")
	s.then(ctrlD, "")
	code, out := s.end()
	if code != codeOK {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if n := strings.Count(withoutSequences(out), "wants you to log in"); n != 3 {
		t.Errorf("asked %d times, want 3:\n%s", n, withoutSequences(out))
	}
	if history := s.historyFile(); !strings.Contains(history, "login") {
		t.Errorf("the history:\n%s", history)
	}
}
