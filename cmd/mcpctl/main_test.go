package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpctl/mcpctl/internal/chatter"
	"github.com/mcpctl/mcpctl/internal/faultlab"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts and golden files")

const raceOptions = "atexit_sleep_ms=0"

// TestMain lets the test binary be mcpctl itself, for the scripts and for the demonstration server that they start, and
// faultlab, for servers that misbehave.
func TestMain(m *testing.M) {
	// Under the race detector a process waits a second before it ends. There are hundreds of them here.
	if err := os.Setenv("GORACE", raceOptions); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"mcpctl":       main,
		"faultlab":     func() { os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"hangserver":   hangServe,
		"chatter":      func() { os.Exit(chatter.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"peak":         peakMemory,
		"limited":      limited,
		"resultserver": resultServe,
		"argsserver":   argsServe,
		"visit":        visit,
	})
}
