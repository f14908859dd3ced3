// Command meter starts one program and tells what that took. It is a program of its own, and a small one, because the
// system counts the memory of the process that starts another as the other's, up to the start.
//
//	meter run [-alone] COMMAND [ARG…]
//	meter pipe FILE COMMAND [ARG…]
//
// With run, the last line of the output is the exit code, the time in milliseconds, the CPU time in milliseconds, of the
// program and of the children that it waited for, and the peak memory in MiB. That memory is the program's own, looked up
// while it runs, or with -alone, for one that starts nothing, exactly what the system counted.
//
// With pipe, it stands between a client and a server over stdio, and writes what has gone by into FILE and its process id.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

func main() {
	args := os.Args[1:]
	switch {
	case len(args) > 2 && args[0] == "run" && args[1] == "-alone":
		os.Exit(run(args[2:], true))
	case len(args) > 1 && args[0] == "run":
		os.Exit(run(args[1:], false))
	case len(args) > 2 && args[0] == "pipe":
		os.Exit(pipe(args[1], args[2:]))
	}
	fmt.Fprintln(os.Stderr, "meter: want run or pipe, see the source")
	os.Exit(2)
}

func run(args []string, alone bool) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	ended, peak := make(chan struct{}), make(chan float64, 1)
	begin := time.Now()
	err := cmd.Start()
	if err == nil {
		if !alone {
			go func() { peak <- watch(cmd.Process.Pid, ended) }()
		}
		err = cmd.Wait()
	}
	elapsed := time.Since(begin)
	close(ended)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		fmt.Fprintln(os.Stderr, "meter:", err)
		return 1
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	mib, err := peakMiB(cmd.ProcessState)
	if err != nil {
		fmt.Fprintln(os.Stderr, "meter:", err)
		return 1
	}
	if !alone {
		if own := <-peak; own > 0 {
			mib = own
		}
	}
	fmt.Println()
	fmt.Println(cmd.ProcessState.ExitCode(), milliseconds(elapsed), milliseconds(cpu), mib)
	return 0
}

// watch looks up the peak memory of a process until it has ended, each millisecond at first and then less and less often:
// it costs something, and what runs long grows slowly. It returns 0 where the system does not tell.
func watch(pid int, ended <-chan struct{}) float64 {
	const shortest, share = time.Millisecond, 20
	begin, last := time.Now(), 0.0
	for {
		if mib := ownMiB(pid); mib > 0 {
			last = mib
		}
		select {
		case <-ended:
			return last
		case <-time.After(max(shortest, time.Since(begin)/share)):
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
