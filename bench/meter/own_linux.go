package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ownMiB returns the peak memory of a process that runs, 0 if it has ended. Its children are not in it.
func ownMiB(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(status, []byte("VmHWM:"))
	if !ok {
		return 0
	}
	words := bytes.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kib, err := strconv.ParseFloat(string(words[0]), 64)
	if err != nil {
		return 0
	}
	return kib / 1024
}
