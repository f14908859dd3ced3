//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// followed is mcpctl logs -f in a pipe.
type followed struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func follow(t *testing.T, state string, args ...string) *followed {
	t.Helper()
	f := &followed{t: t, cmd: exec.CommandContext(t.Context(), "mcpctl", args...), lines: make(chan string, 100)}
	f.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "MCPCTL_CONFIG=", "XDG_STATE_HOME="+state)
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() })
	go func() {
		defer close(f.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			f.lines <- s.Text()
		}
	}()
	return f
}

// next waits for a line.
func (f *followed) next() string {
	f.t.Helper()
	select {
	case line, ok := <-f.lines:
		if !ok {
			f.t.Fatal("it has ended")
		}
		return line
	case <-time.After(10 * time.Second):
		f.t.Fatal("nothing more comes")
	}
	return ""
}

// end ends it with Ctrl-C and returns its exit code.
func (f *followed) end() int {
	f.t.Helper()
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		f.t.Fatal(err)
	}
	for range f.lines {
	}
	_ = f.cmd.Wait() // the state says it all
	return f.cmd.ProcessState.ExitCode()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogsFollow waits for a log that does not exist, and follows it when it is put aside.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	path := filepath.Join(state, "mcpctl", "logs", "demo.log")
	f := follow(t, state, "logs", "-f", "demo")
	appendTo(t, path, "2026-11-30T08:32:45.123Z 7 + sh\n")
	if got := f.next(); got != "2026-11-30T08:32:45.123Z [7] --- started: sh" {
		t.Errorf("got %q", got)
	}
	appendTo(t, path, "2026-11-30T08:32:45.124Z 7 | one\n")
	if got := f.next(); !strings.HasSuffix(got, " [7] one") {
		t.Errorf("got %q", got)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "2026-11-30T08:32:45.125Z 7 | two\n")
	if got := f.next(); !strings.HasSuffix(got, " [7] two") {
		t.Errorf("got %q", got)
	}
	if code := f.end(); code != codeInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// TestLogsFollowJSON shows one document a line, and what -n has of the past.
func TestLogsFollowJSON(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	path := filepath.Join(state, "mcpctl", "logs", "demo.log")
	for i := range 5 {
		appendTo(t, path, fmt.Sprintf("2026-11-30T08:32:45.12%dZ 7 | %d\n", i, i))
	}
	f := follow(t, state, "logs", "demo", "-f", "-n", "1", "-o", "json")
	for _, want := range []string{"4", "5"} {
		line := f.next()
		var doc struct {
			Version            int
			Server, Time, Text string
			Kind               string
			PID                int
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if doc.Version != 1 || doc.Server != "demo" || doc.Text != want || doc.Kind != "stderr" || doc.PID != 7 || doc.Time != "2026-11-30T08:32:45.12"+want+"Z" {
			t.Errorf("got %s", line)
		}
		if want == "4" {
			appendTo(t, path, "2026-11-30T08:32:45.125Z 7 | 5\n")
		}
	}
	if code := f.end(); code != codeInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// TestLogsOnATerminal shows that what a server wrote cannot act on the terminal, whatever is in the file.
func TestLogsOnATerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, filepath.Join(home, "mcpctl", "logs", "demo.log"), "2026-11-30T08:32:45.123Z 7 | red \x1b[31malert\x1b]0;title\a\n")
	code, out := onTerminalWith(t, 80, home, []string{"XDG_STATE_HOME=" + home, "NO_COLOR=1"}, "logs", "demo").end()
	if want := "2026-11-30T08:32:45.123Z [7] red alert\n"; code != 0 || out != want {
		t.Errorf("exit code %d, %q, want %q", code, out, want)
	}
}
