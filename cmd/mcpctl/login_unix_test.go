//go:build unix

package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// loginOn is mcpctl on a terminal whose credentials are files, without a display.
func loginOn(t *testing.T, home string, env []string, args ...string) *terminal {
	t.Helper()
	env = append([]string{
		"MCPCTL_CREDENTIALS=file", "XDG_DATA_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home,
		"BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY=", "WSL_DISTRO_NAME=", "WSL_INTEROP=",
	}, env...)
	return onTerminalWith(t, 80, home, env, args...)
}

const pasteHere = "or paste the address › "

// address returns the address to log in at, which stands on a line of its own.
func (term *terminal) address() string {
	term.t.Helper()
	term.awaitText(pasteHere)
	found := regexp.MustCompile(`(?m)^(https?://\S+[?&]state=\S+)\r?$`).FindStringSubmatch(strings.ReplaceAll(term.out.String(), "\r\n", "\n"))
	if found == nil {
		term.t.Fatalf("no address on\n%s", term.out.String())
	}
	return found[1]
}

// comesTo returns where the authorization server sends a browser.
func comesTo(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	to := resp.Header.Get("Location")
	if to == "" {
		t.Fatalf("%s answered %s, and no redirect", address, resp.Status)
	}
	return to
}

// TestAPersonWithoutABrowserPastesTheAddress logs in over a plain terminal: the address is printed, it is opened elsewhere,
// and what the browser ends at is pasted, after some mistakes.
func TestAPersonWithoutABrowserPastesTheAddress(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"oauth-full-chain", "login-whole-way"} {
		server, home := serveCase(t, name), t.TempDir()
		term := loginOn(t, home, nil, "login", "--no-browser", server.URL)
		back := comesTo(t, term.address())
		for typed, want := range map[string]string{
			"nonsense\r": "a code alone does not say which login it answers",
			strings.Replace(back, "state=", "state=x", 1) + "\r": "it answers another login",
			term.address() + "\r":                                "that is the address to log in at",
		} {
			term.answer(typed)
			term.awaitText(want)
		}
		term.answer("\x1b[200~" + back + "\x1b[201~")
		term.awaitText(" characters, not shown)")
		term.answer("\r")
		code, out := term.end()
		if code != codeOK || !strings.Contains(out, "logged in to "+server.URL) || !strings.Contains(out, "kept in  ") {
			t.Fatalf("%s: exit code %d:\n%s", name, code, out)
		}
		secret := regexp.MustCompile(`[?&]code=([^&]+)`).FindStringSubmatch(back)[1]
		if strings.Contains(out, secret) || strings.Contains(out, "tok-1-faultlab") {
			t.Errorf("%s: a secret is on the terminal:\n%s", name, out)
		}
		// The login is there for others.
		if code, out := loginOn(t, home, nil, "tools", server.URL, "-o", "name", "--no-input").end(); code != codeOK {
			t.Errorf("%s: exit code %d:\n%s", name, code, out)
		}
		code, out = loginOn(t, home, nil, "logout", server.URL).end()
		if code != codeOK || !strings.Contains(out, "logged out of ") {
			t.Errorf("%s: exit code %d:\n%s", name, code, out)
		}
		if code, out := loginOn(t, home, nil, "tools", server.URL, "--no-input").end(); code != codeAuth {
			t.Errorf("%s: after the logout: exit code %d:\n%s", name, code, out)
		}
	}
}

// TestABrowserLogsInWithinAnotherCommand has curl as the browser.
func TestABrowserLogsInWithinAnotherCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"login"}, {"tools", "-o", "name"}} {
		server, home := serveCase(t, "oauth-full-chain"), t.TempDir()
		page := filepath.Join(home, "page.html")
		code, out := loginOn(t, home, []string{"BROWSER=curl -sSL -o '" + page + "'"}, append(args, server.URL)...).end()
		if code != codeOK || !strings.Contains(out, "This address is opened in your browser") {
			t.Errorf("%q: exit code %d:\n%s", args, code, out)
		}
		if raw := polled(t, page, "</html>"); !strings.Contains(raw, "You are logged in") {
			t.Errorf("%q: the page is\n%s", args, raw)
		}
	}
}

// polled reads a file of another process until it holds a text.
func polled(t *testing.T, path, text string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(5 * time.Second)
	for {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), text) {
			return string(raw)
		}
		select {
		case <-limit:
			t.Fatalf("%s does not hold %q", path, text)
		case <-tick.C:
		}
	}
}

// TestCtrlCEndsALogin presses the key while the browser is waited for: at once, with nothing left, and the earlier login as
// it was.
func TestCtrlCEndsALogin(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "oauth-full-chain"), t.TempDir()
	if code, out := loginOn(t, home, []string{"BROWSER=curl -sSL -o /dev/null"}, "login", server.URL).end(); code != codeOK {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	browser := filepath.Join(home, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho $$ >"+home+"/pid\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	term := loginOn(t, home, []string{"BROWSER=" + browser}, "login", server.URL)
	term.awaitText(pasteHere)
	pid, err := strconv.Atoi(strings.TrimSpace(polled(t, filepath.Join(home, "pid"), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	lap := stopwatch.Start(t)
	term.answer(ctrlC)
	code, out := term.end()
	if took := lap.End(); code != codeInterrupted || took > 2*time.Second {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	groupIsGone(t, pid)
	_, after, restored := strings.Cut(out, "\x1b[?25h\x1b[?2004l")
	if !restored || !strings.Contains(strings.ReplaceAll(after, "\n  ", " "), "interrupted: no login, and an earlier one is as it was\n") {
		t.Errorf("the terminal is left as\n%q", out)
	}
	if code, out := loginOn(t, home, nil, "tools", server.URL, "--no-input").end(); code != codeOK {
		t.Errorf("the earlier login is gone: exit code %d:\n%s", code, out)
	}
}

func TestThePersonMaySayNo(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "login-denied"), t.TempDir()
	code, out := loginOn(t, home, []string{"BROWSER=curl -sSL -o /dev/null"}, "login", server.URL).end()
	if code != codeAuth || !strings.Contains(out, "said no (access_denied") || !strings.Contains(out, "hint: to try again: mcpctl login "+server.URL) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestAddShowsHowALoginEnded is told why the login failed, and not that one is needed.
func TestAddShowsHowALoginEnded(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "login-denied"), t.TempDir()
	file := filepath.Join(home, "c.yaml")
	term := loginOn(t, home, []string{"BROWSER=curl -sSL -o /dev/null"}, "add", "lab", server.URL, "--config", file)
	term.awaitText("What now?")
	term.answer("5\r")
	code, out := term.end()
	out = strings.ReplaceAll(out, "\n  ", " ")
	if code != codeAuth || !strings.Contains(out, "said no (access_denied") || strings.Contains(out, "cause  auth.access") ||
		strings.Contains(out, "mcpctl login lab") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if strings.Count(out, "wants you to log in") != 1 {
		t.Errorf("asked more than once:\n%s", out)
	}
}

// TestOneLineTellsOfTheTimeLeft waits without a question: nothing else is drawn where the time that is left stands.
func TestOneLineTellsOfTheTimeLeft(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "oauth-full-chain"), t.TempDir()
	env := []string{"MCPCTL_CREDENTIALS=file", "XDG_DATA_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}
	term := startOn(t, 80, home, env, exec.CommandContext(t.Context(), "sh", "-c", `exec mcpctl login "$1" </dev/null`, "sh", server.URL))
	term.awaitText("mcpctl waits for the answer until ")
	term.awaitText("4:57 left for the login in the browser")
	_, shown, _ := strings.Cut(term.out.String(), "mcpctl waits for the answer until ")
	if strings.Contains(shown, "asking how to log in") {
		t.Errorf("two lines in one place:\n%s", shown)
	}
	term.answer("\x03")
	if code, out := term.end(); code != codeInterrupted {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestABrowserThatFailsIsToldOf goes on waiting, as a person can open the address.
func TestABrowserThatFailsIsToldOf(t *testing.T) {
	t.Parallel()
	server := serveCase(t, "oauth-full-chain")
	term := loginOn(t, t.TempDir(), []string{"BROWSER=no-such-browser:false"}, "login", server.URL)
	term.awaitText("open the address above yourself: no-such-browser: executable file not found in $PATH; false: exit status 1")
	term.answer(comesTo(t, term.address()) + "\r")
	if code, out := term.end(); code != codeOK {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestATakenPortEndsALoginAtOnce is case oauth-callback-port: before any browser.
func TestATakenPortEndsALoginAtOnce(t *testing.T) {
	t.Parallel()
	server, home := serveCase(t, "oauth-full-chain"), t.TempDir()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := filepath.Join(home, "c.yaml")
	config := "servers:\n  lab: {url: '" + server.URL + "', oauth: {client_id: registered, redirect_uri: 'http://localhost:" + port + "/callback'}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := loginOn(t, home, []string{"BROWSER=touch " + home + "/opened"}, "login", "lab", "--config", file).end()
	if code != codeUsage || !strings.Contains(strings.ReplaceAll(out, "\n  ", " "), "port "+port+" of localhost is taken by another program") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(home, "opened")); err == nil {
		t.Error("the browser was opened")
	}
}
