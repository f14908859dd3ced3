package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// caught finds the set of signals that a process has handlers for.
var caught = regexp.MustCompile(`(?m)^SigCgt:\s+([0-9a-f]+)$`)

// awaitHandler returns when a process has a handler for Ctrl-C, and has slept for a moment: what is done before it waits is
// done then.
func awaitHandler(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		<-tick.C
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		m := caught.FindSubmatch(status)
		if m == nil {
			continue
		}
		set, err := strconv.ParseUint(string(m[1]), 16, 64)
		const sigint = 1 << 1
		if err == nil && set&sigint != 0 && regexp.MustCompile(`(?m)^State:\s+S`).Match(status) {
			return
		}
	}
	t.Fatal("it does not wait for anything")
}

// TestCtrlCWhileInputIsRead ends a command whose arguments nobody types.
func TestCtrlCWhileInputIsRead(t *testing.T) {
	t.Parallel()
	in, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	cmd := exec.CommandContext(t.Context(), "mcpctl", "call", "demo", "echo", "--args", "-", "--trace", t.TempDir()+"/trace")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stdin = in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	awaitHandler(t, cmd.Process.Pid)
	r := &running{t: t, cmd: cmd}
	if code, elapsed := r.signal(os.Interrupt); code != codeInterrupted || elapsed > hangHurry+raceAllowance {
		t.Errorf("exit code %d after %s: %s", code, elapsed, &stderr)
	}
}

// TestCtrlCWhileAPipeIsOpened ends commands that were given a pipe in place of a file, which nobody writes to.
func TestCtrlCWhileAPipeIsOpened(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"doctor", "demo", "--baseline", pipe},
		{"doctor", "demo", "--write-baseline", pipe},
		{"doctor", "demo", "--smoke", pipe},
		{"call", "demo", "echo", "message=@" + pipe},
		{"call", "demo", "ask", "--elicit-set", "name=@" + pipe},
	} {
		t.Run(words[0]+" "+words[2], func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "mcpctl", words...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitHandler(t, cmd.Process.Pid)
			r := &running{t: t, cmd: cmd}
			if code, elapsed := r.signal(os.Interrupt); code != codeInterrupted || elapsed > hangHurry+raceAllowance {
				t.Errorf("exit code %d after %s: %s", code, elapsed, &stderr)
			}
		})
	}
}
