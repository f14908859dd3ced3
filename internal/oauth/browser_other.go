//go:build !unix

package oauth

import "os/exec"

// apart starts a command apart from us. Without a console's window there is nothing to do.
func apart(*exec.Cmd) {}

// askToEnd asks a command to end, where that can be asked.
func askToEnd(cmd *exec.Cmd) { kill(cmd) }

// kill ends a command.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
