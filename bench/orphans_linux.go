package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of what the programs that it starts leave behind, so that it can be ended.
func adopt() (end func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	return endChildren, nil
}

// endChildren ends all children, and theirs, which become ours meanwhile.
func endChildren() {
	for {
		pids := children(os.Getpid())
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
				return
			}
		}
	}
}

// children are the processes whose parent is this one.
func children(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The name of the program stands in parentheses and may hold anything.
		words := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(words) > 1 && string(words[1]) == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}
