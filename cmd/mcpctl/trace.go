package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// beginTrace opens the file of --trace.
func (a *app) beginTrace(cmd *cobra.Command) error {
	name := a.global.trace
	switch {
	case name == "" && cmd.Flags().Changed("trace"):
		return usagef("--trace: the name of the file is empty")
	case name == "":
		return nil
	case name == "-":
		a.trace = nopWriteCloser{a.errOut()}
	default:
		f, err := openTrace(name)
		if err != nil {
			return usagef("--trace: %s", err)
		}
		a.trace = f
	}
	_, err := fmt.Fprintf(a.trace, "# mcpctl %s, %s: > sent, < received, ! standard error, * what happened; *** hides a secret\n",
		a.build.version, time.Now().UTC().Format(time.RFC3339))
	if err != nil {
		return usagef("--trace: %s", err)
	}
	return nil
}

// openTrace opens a file to write a trace to. A pipe that nobody reads is an error, and one whose reader stops reading
// keeps nobody waiting for long.
func openTrace(name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NONBLOCK, traceMode)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) {
			return nil, fmt.Errorf("open %s: nobody reads the pipe", name)
		}
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := f.Chmod(traceMode); err != nil && runtime.GOOS != "windows" {
			return nil, errors.Join(err, f.Close())
		}
	}
	return &traceFile{f: f}, nil
}

const (
	// traceMode lets only the owner read a trace: it holds what servers and tools were told.
	traceMode = 0o600
	// traceWait is how long a reader of a pipe may keep a line waiting; after that nothing more is written.
	traceWait = time.Second
)

// traceFile is a file, or a pipe, that a trace is written to.
type traceFile struct {
	f      *os.File
	mu     sync.Mutex
	failed bool
}

func (t *traceFile) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed {
		return len(p), nil
	}
	_ = t.f.SetWriteDeadline(time.Now().Add(traceWait)) // only pipes have one
	n, err := t.f.Write(p)
	t.failed = err != nil
	return n, err
}

func (t *traceFile) Close() error { return t.f.Close() }

// endTrace closes the file of --trace.
func (a *app) endTrace() {
	if a.trace == nil {
		return
	}
	if err := a.trace.Close(); err != nil {
		a.warn(fmt.Sprintf("mcpctl: warning: --trace: %s\n", err))
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
