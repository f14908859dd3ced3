//go:build unix

package transport

import (
	"os"
	"os/signal"
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
