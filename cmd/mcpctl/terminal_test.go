//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// terminal is a program that runs on a terminal.
type terminal struct {
	t    *testing.T
	pty  *os.File
	done chan struct{}
	out  screen
	cmd  *exec.Cmd
	// before is how the terminal was set before the program began.
	before *term.State
}

// onTerminal starts mcpctl with all its streams on a terminal.
func onTerminal(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	return onTerminalOf(t, 60, home, args...)
}

// onTerminalOf is onTerminal with another number of columns.
func onTerminalOf(t *testing.T, columns uint16, home string, args ...string) *terminal {
	t.Helper()
	return onTerminalWith(t, columns, home, nil, args...)
}

// onTerminalWith is onTerminalOf with further variables.
func onTerminalWith(t *testing.T, columns uint16, home string, env []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mcpctl", args...)
	return startOn(t, columns, home, env, cmd)
}

// onCommand starts another program on a terminal.
func onCommand(t *testing.T, home, name string, args ...string) *terminal {
	t.Helper()
	return startOn(t, 80, home, nil, exec.CommandContext(t.Context(), name, args...))
}

func startOn(t *testing.T, columns uint16, home string, env []string, cmd *exec.Cmd) *terminal {
	t.Helper()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "TERM=xterm", "CI=", "NO_COLOR=", "COLUMNS=")
	cmd.Env = append(cmd.Env, env...)
	f, tty, err := pty.Open()
	if err == nil {
		err = pty.Setsize(f, &pty.Winsize{Rows: 24, Cols: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(tty.Fd())) // nothing has been set yet
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, pty: f, cmd: cmd, done: make(chan struct{}), before: before}
	go func() {
		defer close(term.done)
		_, _ = io.Copy(&term.out, f) // ends with an error when the program has gone
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = f.Close()
	})
	return term
}

// end waits for the program and returns its exit code and all that was on the terminal.
func (term *terminal) end() (int, string) {
	term.t.Helper()
	err := term.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		term.t.Fatal(err)
	}
	select {
	case <-term.done:
	case <-time.After(5 * time.Second):
		term.t.Fatal("the terminal is held open")
	}
	return term.cmd.ProcessState.ExitCode(), strings.ReplaceAll(term.out.String(), "\r\n", "\n")
}

func (term *terminal) answer(text string) {
	term.t.Helper()
	if _, err := io.WriteString(term.pty, text); err != nil {
		term.t.Fatal(err)
	}
}

func TestTablesAreCutToTheWidthOfATerminal(t *testing.T) {
	t.Parallel()
	code, out := onTerminal(t, t.TempDir(), "tools", "demo").end()
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(out, "")
	for _, want := range []string{
		"TOOL       DESCRIPTION\n",
		"weather    Return the made-up weather of a city, always the…\n",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if plain == out {
		t.Error("no colours on a terminal")
	}
}

// wide is a configuration whose entries are wider than terminals.
const wide = `servers:
  a-server-with-a-name-that-nobody-would-type-twice: {command: no-such-command-anywhere, args: [with, many, words]}
  another-one-with-a-long-name: {url: "https://a.very.long.name.example/with/a/long/path/mcp", enabled: false, timeout: 90s}
  demo: {command: mcpctl, args: [demo-server]}
`

func TestNoLineOfATableIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	if err := os.WriteFile(file, []byte(wide), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, columns := range []uint16{50, 80} {
		for _, c := range []struct {
			titles string
			args   []string
		}{
			{"NAME TRANSPORT TARGET CONNECT REQUEST STATE", []string{"list"}},
			{"NAME STATE ERA TOOLS LATENCY DETAIL", []string{"list", "--check"}},
			{"KEY VALUE SOURCE", []string{"get", "another-one-with-a-long-name"}},
			{"TOOL DESCRIPTION", []string{"tools", "demo"}},
		} {
			args := append(c.args, "--config", file)
			_, out := onTerminalOf(t, columns, home, args...).end()
			out = regexp.MustCompile(`\x1b\[[0-9;]*[mK]|.*\r`).ReplaceAllString(out, "")
			found := false
			for line := range strings.Lines(out) {
				line = strings.TrimRight(line, "\n")
				if strings.HasPrefix(line, "mcpctl: hint: ") {
					continue // a line to copy
				}
				if n := utf8.RuneCountInString(line); n > int(columns) {
					t.Errorf("%q on %d columns: a line of %d: %q", c.args, columns, n, line)
				}
				found = found || strings.Join(strings.Fields(line), " ") == c.titles
			}
			if !found {
				t.Errorf("%q on %d columns: no titles %q in\n%s", c.args, columns, c.titles, out)
			}
		}
	}
}

func TestACheckTellsOfFailuresInALineEach(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	config := "servers:\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		config += "  " + name + ": {command: sh, args: [-c, 'echo one >&2; echo two >&2; echo " + strings.Repeat("long ", 20) + " >&2; exit 4']}\n"
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := onTerminal(t, home, "list", "--check", "--config", file).end()
	if code != codeFailed {
		t.Errorf("exit code %d", code)
	}
	errors := regexp.MustCompile(`(?m)^mcpctl: error: [a-f]: .*$`).FindAllString(out, -1)
	if len(errors) != 5 || !strings.Contains(out, "mcpctl: note: 1 more failure; ") {
		t.Errorf("%d lines of failures: %s", len(errors), out)
	}
	if strings.Contains(out, "stderr:") || !strings.Contains(out, "mcpctl: hint: mcpctl doctor --config "+file+" a b c d e f\n") {
		t.Errorf("got %s", out)
	}
}

// withoutLive returns what a terminal shows in the end: the live line, which comes on a busy machine, is gone then.
func withoutLive(out string) string {
	if i := strings.LastIndex(out, eraseLine); i >= 0 {
		return out[i+len(eraseLine):]
	}
	return out
}

func TestTextOnATerminalEndsItsLine(t *testing.T) {
	t.Parallel()
	if _, out := onTerminal(t, t.TempDir(), "call", "demo", "echo", "message=hi").end(); withoutLive(out) != "hi\n" {
		t.Errorf("got %q", out)
	}
}

func TestTextFromServersNeverMovesTheCursor(t *testing.T) {
	t.Parallel()
	_, out := onTerminal(t, t.TempDir(), "call", "demo", "echo", "message=one\x1b[2J\x1b]0;title\x07 two\u202e").end()
	if withoutLive(out) != "one two\n" {
		t.Errorf("got %q", out)
	}
	_, out = onTerminal(t, t.TempDir(), "call", "demo", "echo", "message=one\u009b2J\u202e", "-o", "json").end()
	if !strings.Contains(out, `"one\u009b2J\u202e"`) {
		t.Errorf("got %q", out)
	}
}

func TestRemoveAsksOnATerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	config := "servers:\n  notes: {command: npx}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typed string
		code  int
		gone  bool
	}{{"\r", 1, false}, {"n\r", 1, false}, {"y\r", 0, true}} {
		term := onTerminal(t, home, "remove", "notes", "--config", file)
		term.answer(c.typed)
		code, out := term.end()
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if code != c.code || !strings.Contains(out, "Remove notes from "+file+"? [y/N]") || c.gone == (string(got) == config) {
			t.Errorf("typed %q: exit code %d, file %q, terminal %q", c.typed, code, got, out)
		}
	}
}

func TestALiveLineIsTakenAwayAgain(t *testing.T) {
	t.Parallel()
	_, out := onTerminal(t, t.TempDir(), "call", "demo", "slow", "seconds=1").end()
	if !strings.Contains(out, " of 1.0 s ██") || !strings.HasSuffix(out, "\r\x1b[Kwaited 1s\n") {
		t.Errorf("got %q", out)
	}
}

// startSlow starts a call that takes a minute, and returns when the call is under way, with the id of the server's
// process.
func startSlow(t *testing.T) (cmd *exec.Cmd, server int, stderr *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "server.sh")
	// The wrapper stays, so that a whole group has to be ended.
	if err := os.WriteFile(script, []byte("echo $$ > "+dir+"/pid\nmcpctl demo-server\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), "mcpctl", "call", "--stdio", "sh "+script, "slow", "seconds=60", "-o", "json", "--trace", filepath.Join(dir, "trace"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		trace, _ := os.ReadFile(filepath.Join(dir, "trace"))
		if raw, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && bytes.Contains(trace, []byte("tools/call")) {
			for _, c := range bytes.TrimSpace(raw) {
				server = 10*server + int(c-'0')
			}
			return cmd, server, stderr
		}
		time.Sleep(20 * time.Millisecond) // polls another process
	}
	t.Fatal("the server did not start")
	return nil, 0, nil
}

func groupIsGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) {
		if err := syscall.Kill(-pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		time.Sleep(20 * time.Millisecond) // polls another process
	}
	t.Errorf("processes of the server's group %d are left", pid)
}

func TestCtrlCEndsACallAndItsServer(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, server, stderr := startSlow(t)
		lap := stopwatch.Start(t)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != codeInterrupted {
			t.Errorf("%s: exit code %d, want %d: %s", signal, code, codeInterrupted, stderr)
		}
		if elapsed := lap.End(); elapsed > 3*time.Second {
			t.Errorf("%s: it took %s", signal, elapsed)
		}
		if !strings.Contains(stderr.String(), "interrupted; the call may have been executed\n") {
			t.Errorf("%s: it says nothing about the call: %s", signal, stderr)
		}
		groupIsGone(t, server)
	}
}

func TestASecondCtrlCKillsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A server that ignores the end of its input and SIGTERM takes the longest time to end.
	script := filepath.Join(dir, "server.sh")
	if err := os.WriteFile(script, []byte("trap '' TERM INT\necho $$ > "+dir+"/pid\nwhile :; do sleep 1; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "mcpctl", "tools", "--stdio", "sh "+script)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for range 500 {
		if raw, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && bytes.HasSuffix(raw, []byte("\n")) {
			for _, c := range bytes.TrimSpace(raw) {
				pid = 10*pid + int(c-'0')
			}
			break
		}
		time.Sleep(20 * time.Millisecond) // polls another process
	}
	lap := stopwatch.Start(t)
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two signals at once would be one
	}
	_ = cmd.Wait() // the code tells
	if code := cmd.ProcessState.ExitCode(); code != codeInterrupted {
		t.Errorf("exit code %d, want %d", code, codeInterrupted)
	}
	if elapsed := lap.End(); elapsed > 600*time.Millisecond {
		t.Errorf("it took %s", elapsed)
	}
	groupIsGone(t, pid)
}

func TestABrokenPipeEndsQuietly(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	cmd := exec.CommandContext(t.Context(), "mcpctl", "tools", "demo")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	err = cmd.Run()
	_ = w.Close()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// TestSoakOnATerminal shows a soak on a terminal: a live line that tells how it stands, and after Ctrl-C, at once, what was
// measured until then, on 80 columns.
func TestSoakOnATerminal(t *testing.T) {
	t.Parallel()
	server, err := faultlab.Healthy().Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	term := onTerminalOf(t, 80, t.TempDir(), "doctor", server.URL, "--soak", "1h")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	term.awaitText(" kills, ")              // in the live line, which is drawn after a moment
	for server.Stats().SessionsIssued < 4 { // three kills
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("there were no kills")
		}
	}
	term.answer("\x03")
	code, out := term.end()
	if code != codeInterrupted {
		t.Errorf("exit code %d, want %d", code, codeInterrupted)
	}
	live := regexp.MustCompile(`soaking \S+: \d+ calls, \d+ kills, .* … \d`)
	if !live.MatchString(out) {
		t.Errorf("no live line in\n%s", out)
	}
	out = regexp.MustCompile(`\x1b\[[0-9;]*[mK]|.*\r`).ReplaceAllString(out, "")
	for _, want := range []string{
		`\? recovery\.soak: interrupted after \d.*: \d+ calls, [1-9]\d* kills, [1-9]\d* recovered,\s+0\s+lost`,
		`(?m)^ +recovery\.soak +count +p50 +p95 +max$`, `(?m)^ +fresh sessions, until ready +[1-9]\d* +\d`,
		`(?m)^mcpctl: error: interrupted$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	// A session that the server had just made when the key came is known to nobody: one may be left, and no more.
	if n := server.Stats().SessionsLive; n > 1 {
		t.Errorf("%d sessions are left at the server", n)
	}
}

// TestDoctorTellsHowFarItIs shows the live line while several servers are examined, and that it gives way to the report.
func TestDoctorTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	config := "servers: {refused: {url: 'http://127.0.0.1:1/mcp'}, silent: {command: sleep, args: ['30'], connect_timeout: 1500ms}}"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := onTerminalOf(t, 80, home, "doctor", "--config", file).end()
	if code != codeFailed {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if !strings.Contains(out, "examining: 1 of 2 done, 1 failed: refused … ") {
		t.Errorf("no live line in\n%q", out)
	}
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(out[strings.LastIndex(out, "\x1b[K")+len("\x1b[K"):], "")
	if !strings.HasPrefix(plain, "refused   FAIL   auto   http://127.0.0.1:1/mcp   ") || !strings.HasSuffix(plain, "\nnext: mcpctl doctor --config "+file+" refused -v\n") {
		t.Errorf("the report is\n%s", plain)
	}
}
