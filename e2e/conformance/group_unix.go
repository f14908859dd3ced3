//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup makes a command the leader of a process group, and its end that of the group.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup ends what is left of the group that a command has led.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		killGroupOf(cmd.Process.Pid)
	}
}

// killGroupOf ends what is left of a process group.
func killGroupOf(leader int) {
	_ = syscall.Kill(-leader, syscall.SIGKILL) // mostly there is nothing left
}
