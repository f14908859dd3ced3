//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// interruptTask runs a line, interrupts it as often as wanted when the server has been asked for the task, and returns how it
// ended.
func interruptTask(t *testing.T, srv *faultlab.TaskServer, times int, args ...string) (code int, stderr string, took time.Duration) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "mcpctl", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	var b bytes.Buffer
	cmd.Stderr = &b
	before := srv.Asked("tasks/get")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(pingTime); srv.Asked("tasks/get") < before+2; { // by then it has heard of the task
		if <-tick.C; time.Now().After(limit) {
			t.Fatalf("nobody asked for the task: %s", &b)
		}
	}
	begin := time.Now()
	for i := range times {
		for i > 0 && srv.Asked("tasks/cancel") == 0 && time.Since(begin) < pingTime {
			<-tick.C
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the code tells
	return cmd.ProcessState.ExitCode(), b.String(), time.Since(begin)
}

// TestCtrlCCancelsATask shows that the task of a call is cancelled, in a bounded time and with the code of an interruption.
func TestCtrlCCancelsATask(t *testing.T) {
	for _, c := range []struct {
		name, plan, says string
		modern           bool
		times, running   int
	}{
		{"legacy", `{"stuck":true}`, "interrupted; the task is cancelled now", false, 1, 0},
		{"modern", `{"stuck":true}`, "interrupted; the server was asked to cancel the task", true, 1, 0},
		{"silent server", `{"stuck":true,"mute":true}`, "the server did not say within 750ms", false, 1, 1},
		{"silent server, twice", `{"stuck":true,"mute":true}`, "", false, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv, err := faultlab.ServeTasks(faultlab.TaskOptions{Modern: c.modern})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = srv.Close() }()
			code, stderr, took := interruptTask(t, srv, c.times, "call", srv.URL, "job", c.plan)
			if code != codeInterrupted || !strings.Contains(stderr, c.says) || took > 3*time.Second {
				t.Errorf("exit code %d after %s: %s", code, took, stderr)
			}
			if srv.Asked("tasks/cancel") != 1 || srv.Running() != c.running {
				t.Errorf("%d wishes to cancel, %d running", srv.Asked("tasks/cancel"), srv.Running())
			}
		})
	}
}

// TestCtrlCLeavesATaskPickedUp shows that who waits for a task of an earlier line ends the wait and not the task.
func TestCtrlCLeavesATaskPickedUp(t *testing.T) {
	t.Parallel()
	srv, err := faultlab.ServeTasks(faultlab.TaskOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	begin := exec.CommandContext(t.Context(), "mcpctl", "call", srv.URL, "job", "stuck=true", "--detach")
	home := t.TempDir()
	begin.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := begin.Output()
	if err != nil || string(out) != "task-1\n" {
		t.Fatalf("%s, %v", out, err)
	}
	code, stderr, _ := interruptTask(t, srv, 1, "task", srv.URL, "task-1")
	if code != codeInterrupted || !strings.Contains(stderr, "interrupted; the task goes on at the server") || !strings.Contains(stderr, "task-1") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if srv.Asked("tasks/cancel") != 0 || srv.Running() != 1 {
		t.Errorf("%d wishes to cancel, %d running", srv.Asked("tasks/cancel"), srv.Running())
	}
}
