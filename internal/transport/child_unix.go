//go:build unix

package transport

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// group is the process group of a child.
type group struct{ pgid int }

// prepare makes the child the leader of a group of its own. So Ctrl-C on the terminal reaches only us, and we end it.
func (g *group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (g *group) started(cmd *exec.Cmd) error {
	g.pgid = cmd.Process.Pid
	return nil
}

// alive reports whether the group has a process that runs. The leader counts until it is waited for.
func (g *group) alive() bool {
	if err := syscall.Kill(-g.pgid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	// In a container whose first process reaps nothing, dead grandchildren stay as zombies for ever, and a signal to the
	// group still succeeds.
	return runtime.GOOS != "linux" || runsInGroup(g.pgid)
}

// runsInGroup looks into /proc for a process of the group that is not a zombie. In doubt there is one.
func runsInGroup(pgid int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	want := []byte(strconv.Itoa(pgid))
	for _, e := range entries {
		if name := e.Name(); name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid pgrp …; the name may hold spaces and parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && bytes.Equal(fields[2], want) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return true
		}
	}
	return false
}

// ending reports whether the leader is known to be on its way out, or to be gone and not waited for yet. In doubt it is not.
func (g *group) ending() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(g.pgid) + "/stat")
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	const state, flags, exiting = 0, 6, 0x4 // PF_EXITING, of the kernel's sched.h; behind the name as in runsInGroup
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= flags {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return fields[state][0] == 'Z' || fields[state][0] == 'X' || err == nil && n&exiting != 0
}

func (g *group) terminate() { _ = syscall.Kill(-g.pgid, syscall.SIGTERM) }

func (g *group) kill() { _ = syscall.Kill(-g.pgid, syscall.SIGKILL) }

func (g *group) release() {}

// exitOf tells how a process ended.
func exitOf(state *os.ProcessState) Exit {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Status: -1, Signal: ws.Signal().String()}
	}
	return Exit{Status: state.ExitCode()}
}
