//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endTogether makes a program that is ended take what it has started with it.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
