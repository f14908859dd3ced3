//go:build unix

package transport

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// leaveGroup is what the test binary does as a child: it joins the group of its parent, ignores SIGTERM, and stays for a
// while.
func leaveGroup() {
	if err := syscall.Setpgid(0, os.Getppid()); err != nil {
		if err := syscall.Setpgid(0, syscall.Getpgrp()); err != nil {
			os.Exit(3)
		}
	}
	signal.Ignore(syscall.SIGTERM)
	time.Sleep(20 * time.Second)
}

// TestST01LeavesItsGroup shows that a child that is not in its group any more is ended, too.
func TestST01LeavesItsGroup(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pgid, err := syscall.Getpgid(os.Getpid())
	if err != nil || pgid != os.Getpid() {
		// Its parent is no group leader: give it a group to join.
		if err := syscall.Setpgid(0, 0); err != nil {
			t.Skipf("cannot lead a group: %v", err)
		}
	}
	k, err := StartChild(Command{Path: exe, Args: []string{"leave-group"}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	for k.GroupAlive() { // until it has left
		select {
		case <-k.exited:
			t.Fatalf("it ended: %s", k.Exit())
		case <-time.After(10 * time.Millisecond):
		}
	}
	lap := stopwatch.Start(t)
	k.Stop(t.Context(), Grace{EOF: 100 * time.Millisecond, Term: 100 * time.Millisecond})
	if elapsed := lap.End(); elapsed > 5*time.Second {
		t.Errorf("it took %s", elapsed)
	}
	if end := k.Ending(); end.By != "sigkill" || end.LeftRunning || end.Exit.Signal != "killed" {
		t.Errorf("ending %+v", end)
	}
}

// TestAnEndIsKnownBeforeItIsWaitedFor shows that a process that has closed its output is told from one that has ended, however
// late its end is learned.
func TestAnEndIsKnownBeforeItIsWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is not known elsewhere")
	}
	for script, want := range map[string]bool{"exec >&-; read wait": false, "exit 0": true} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out) // to its end
		g := group{pgid: cmd.Process.Pid}
		if got := g.ending(); got != want {
			t.Errorf("%s: ending is %t", script, got)
		}
		_ = in.Close()
		_ = cmd.Wait()
		if !g.ending() {
			t.Errorf("%s: gone, and not ending", script)
		}
	}
}

// TestWhatAChildDoesWithoutItsInputIsNotItsOwnDoing shows that a child that lived when its input was ended is told from one that
// had ended before, also when both are gone.
func TestWhatAChildDoesWithoutItsInputIsNotItsOwnDoing(t *testing.T) {
	for script, want := range map[string]bool{"read -r line; exit 0": true, "exit 0": false} {
		k, err := StartChild(Command{Path: "/bin/sh", Args: []string{"-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := k.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !want {
			<-k.Dead()
		}
		_ = conn.Close()
		<-k.Dead()
		if k.Left.Load() != want {
			t.Errorf("%s: left is %t", script, !want)
		}
		k.Stop(t.Context(), HastyGrace)
	}
}
