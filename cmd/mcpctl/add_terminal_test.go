//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// asked is add on a terminal, with a configuration of its own.
type asked struct {
	*terminal
	file string
	was  string
}

// someEntries is what the file holds before.
const someEntries = "# mine\nservers:\n  notes: {command: npx}   # kept\n"

func askOn(t *testing.T, columns, lines uint16, env []string, args ...string) *asked {
	t.Helper()
	home := t.TempDir()
	a := &asked{file: filepath.Join(home, "c.yaml"), was: someEntries}
	if err := os.WriteFile(a.file, []byte(someEntries), 0o600); err != nil {
		t.Fatal(err)
	}
	a.terminal = onTerminalWith(t, columns, home, env, append([]string{"--config", a.file}, args...)...)
	if err := pty.Setsize(a.pty, &pty.Winsize{Rows: lines, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	return a
}

// withoutSequences leaves out what moves a cursor, or colours.
func withoutSequences(text string) string {
	return regexp.MustCompile(`\x1b\[[?0-9;]*[a-zA-Z]`).ReplaceAllString(text, "")
}

// finish waits for the end, and compares the file with what is wanted: "" for what it was.
func (a *asked) finish(code int, saved string) string {
	a.t.Helper()
	got, out := a.end()
	if got != code {
		a.t.Errorf("exit code %d, want %d:\n%s", got, code, out)
	}
	file, err := os.ReadFile(a.file)
	if err != nil {
		a.t.Fatal(err)
	}
	switch {
	case saved == "" && string(file) != a.was:
		a.t.Errorf("the file was changed:\n%s", file)
	case saved != "" && !strings.Contains(string(file), saved):
		a.t.Errorf("no %q in the file:\n%s", saved, file)
	}
	if strings.Count(out, hide) > 0 && strings.LastIndex(out, show) < strings.LastIndex(out, hide) {
		a.t.Errorf("the cursor is left hidden:\n%q", out)
	}
	if strings.Contains(out, "?1049") || strings.LastIndex(out, "?2004l") < strings.LastIndex(out, "?2004h") {
		a.t.Errorf("a mode of the terminal is left:\n%q", out)
	}
	state, err := term.GetState(int(a.pty.Fd()))
	if err == nil && *state != *a.before {
		a.t.Errorf("the terminal is not as it was: %+v, want %+v", state, a.before)
	}
	return withoutSequences(out)
}

const hide, show = "\x1b[?25l", "\x1b[?25h"

// demoArgs add the demonstration server.
func demoArgs() []string { return []string{"add", "d", "--", "mcpctl", "demo-server"} }

// unreached is a server that refuses connections.
func unreached() []string { return []string{"add", "bad", "http://127.0.0.1:9/mcp", "--wait", "1ms"} }

func TestAddTakesAllToolsWithOneKey(t *testing.T) {
	t.Parallel()
	a := askOn(t, 80, 24, nil, demoArgs()...)
	a.awaitText("enter: take")
	a.answer("\r")
	out := a.finish(0, "command: mcpctl")
	if raw, _ := os.ReadFile(a.file); strings.Contains(string(raw), "tools:") || !strings.HasPrefix(string(raw), "# mine\n") {
		t.Errorf("the file: %s", raw)
	}
	if !strings.Contains(out, "found mcpctl-demo") || !strings.Contains(out, "✓ Tools to use all 10") {
		t.Errorf("got %s", out)
	}
}

func TestAddSavesTheToolsThatAreChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns, lines uint16
		env            []string
	}{{80, 24, nil}, {40, 12, nil}, {80, 10, []string{"NO_COLOR=1"}}} {
		a := askOn(t, c.columns, c.lines, c.env, demoArgs()...)
		a.awaitText("enter: take")
		a.answer("a\r") // none, which is refused
		a.awaitText("none is chosen")
		a.answer("/wea")
		a.awaitText("1 found")
		a.answer("\r")
		a.awaitText("all again")
		a.answer(" \x1b")
		a.awaitText("1 of 10")
		a.answer("\r")
		out := a.finish(0, "include:")
		if raw, _ := os.ReadFile(a.file); strings.Count(string(raw), "weather") != 1 || strings.Contains(string(raw), "echo") {
			t.Errorf("the file: %s", raw)
		}
		if !strings.Contains(out, "--include weather -- mcpctl demo-server") {
			t.Errorf("no line to learn in %s", out)
		}
	}
}

func TestACancelledAddChangesNothing(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"\x03", "\x1b", "\x04"} {
		for _, args := range [][]string{demoArgs(), unreached(), {"add"}} {
			a := askOn(t, 80, 24, nil, args...)
			a.awaitText(map[int]string{1: "paste a URL", 5: "esc: cancel"}[min(len(args), 5)])
			a.answer(keys)
			if out := a.finish(codeInterrupted, ""); !strings.Contains(out, "mcpctl: error: cancelled: nothing was changed\n") {
				t.Errorf("%q: %s", keys, out)
			}
		}
	}
}

func TestAddShowsTheCauseAndTriesAgain(t *testing.T) {
	t.Parallel()
	a := askOn(t, 80, 24, nil, unreached()...)
	a.awaitText("What now?")
	a.answer("\r")
	a.awaitText("Try again\x1b[0m\r\n")
	a.answer("\x1b[B\x1b[B\x1b[A\r")
	a.awaitText("URL, or command line")
	a.answer("\x15mcpctl demo-server\r")
	a.awaitText("Tools to use")
	a.answer("\r")
	out := a.finish(0, "demo-server")
	if !strings.Contains(out, "cause  net.tcp: 127.0.0.1:9: connection refused") || !strings.Contains(out, "fix:") {
		t.Errorf("no cause in %s", out)
	}
	if !strings.Contains(out, " bad -- mcpctl demo-server\n") {
		t.Errorf("no line in %s", out)
	}
}

func TestAddSavesOrLeavesWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key   string
		code  int
		saved string
	}{{"4\r", 0, "127.0.0.1:9"}, {"5\r", codeConnect, ""}} {
		a := askOn(t, 60, 24, nil, unreached()...)
		a.awaitText("What now?")
		a.answer(c.key)
		a.finish(c.code, c.saved)
	}
	a := askOn(t, 60, 24, nil, append(unreached(), "--yes")...)
	if out := a.finish(codeConnect, ""); strings.Contains(out, "What now?") {
		t.Errorf("with --yes it asks: %s", out)
	}
}

func TestTheFormAsksStepByStep(t *testing.T) {
	t.Parallel()
	a := askOn(t, 40, 12, nil, "add")
	a.awaitText("paste a URL")
	a.answer("\x1b[200~{\"mcpServers\": {\"my demo\": {\r\n  \"command\": \"mcpctl\", // this\r\n  \"args\": [\"demo-server\",],\r\n  \"env\": {\"API_TOKEN\": \"sesame-sesame-sesame-1\"}}}}\x1b[201~")
	a.answer("\r")
	a.awaitText("what it is called")
	a.answer("\x15notes\r")
	a.awaitText("already")
	a.answer("\x15mine\r")
	a.awaitText("Tools to use")
	a.answer("\r")
	out := a.finish(0, "API_TOKEN: \"${MINE_API_TOKEN}\"")
	for _, want := range []string{"mcpctl add --config", "--env API_TOKEN='${MINE_API_TOKEN}' -- mcpctl demo-server", "export MINE_API_TOKEN=…"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if raw, _ := os.ReadFile(a.file); strings.Contains(string(raw), "sesame") {
		t.Errorf("the secret is in the file: %s", raw)
	}
}

func TestTheFormTakesURLsAndTokens(t *testing.T) {
	t.Parallel()
	a := askOn(t, 80, 24, nil, "add", "--no-check")
	a.awaitText("paste a URL")
	a.answer("claude mcp add --transport http search https://mcp.search.example/mcp\r")
	a.awaitText("what it is called")
	a.answer("\r")
	a.awaitText("enter alone for none")
	a.answer("SEARCH_TOKEN\r")
	a.awaitText("leaves it unset")
	a.answer("sesame-sesame-sesame-2\r")
	out := a.finish(0, "Authorization: \"Bearer ${SEARCH_TOKEN}\"")
	if strings.Contains(out, "sesame") {
		t.Errorf("the value was shown: %s", out)
	}
}

func TestAddAsksInLinesOnADumbTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	for _, c := range []struct {
		typed string
		code  int
	}{{"1,3-4\r", 0}, {"\x1b", codeInterrupted}, {"\x03", codeInterrupted}} {
		d := onTerminalWith(t, 80, home, []string{"TERM=dumb"}, append([]string{"--config", file}, demoArgs()...)...)
		d.awaitText("[all]: ")
		d.answer(c.typed)
		code, out := d.end()
		if code != c.code || strings.Contains(out, "\x1b[") {
			t.Errorf("%q: exit code %d: %q", c.typed, code, out)
		}
		_ = os.Remove(file)
	}
}

func TestAListIsDrawnAnewAfterAResize(t *testing.T) {
	t.Parallel()
	a := askOn(t, 80, 24, nil, demoArgs()...)
	a.awaitText("esc: cancel")
	if err := pty.Setsize(a.pty, &pty.Winsize{Rows: 10, Cols: 30}); err != nil {
		t.Fatal(err)
	}
	a.awaitText("Keep a note…")
	a.answer("\r")
	a.finish(0, "demo-server")
}

func TestAddInAPipeKeepsItsOutputClean(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	home := t.TempDir()
	sh := onCommand(t, home, "sh", "-c", "mcpctl add d -- mcpctl demo-server | cat > "+out)
	sh.awaitText("esc: cancel")
	sh.answer("\r")
	if code, text := sh.end(); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	raw, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(raw), "\x1b") || strings.Contains(string(raw), "Tools to use") || !strings.Contains(string(raw), "added d in") {
		t.Errorf("the output is %q, %v", raw, err)
	}
}

// TestASignalEndsAQuestion shows what comes when a terminal is closed, and when somebody stops the program.
func TestASignalEndsAQuestion(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		a := askOn(t, 80, 24, nil, demoArgs()...)
		a.awaitText("esc: cancel")
		if err := a.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		a.finish(codeInterrupted, "")
	}
}
