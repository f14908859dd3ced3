//go:build unix

package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// peakMiB returns the peak memory of a process that has ended, or that of the largest of its children, if that is larger.
func peakMiB(state *os.ProcessState) (float64, error) {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("this system tells no peak memory")
	}
	mib := float64(usage.Maxrss) / 1024
	if runtime.GOOS == "darwin" {
		mib /= 1024 // bytes there, KiB elsewhere
	}
	return mib, nil
}
