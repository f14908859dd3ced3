package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// beginTrace opens the file of --trace. Only its owner may read it: it holds what servers and tools were told.
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
		f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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
