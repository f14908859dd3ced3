//go:build !unix

package main

import "os/exec"

// ownGroup does nothing: the command itself is ended.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing: there is no group.
func endGroup(*exec.Cmd) {}
