//go:build unix

package oauth

import (
	"os/exec"
	"syscall"
)

// apart starts a command in a session of its own: the terminal's keys are not for it, and it cannot read or write there.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// askToEnd asks a command, and what it has started, to end.
func askToEnd(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends a command and what it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
