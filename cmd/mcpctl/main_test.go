package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpctl/mcpctl/internal/chatter"
	"github.com/mcpctl/mcpctl/internal/faultlab"
)

var (
	update   = flag.Bool("update", false, "write what the commands print into the scripts and golden files")
	allRaced = flag.Bool("all-raced", false, "under the race detector: have it watch the servers and the scripts' commands, too, which takes twice as long")
)

const raceOptions = "atexit_sleep_ms=0"

// unracedVar is the variable with the directory of the programs that the race detector does not watch. It is empty without
// the detector: then all programs are those of the test binary.
const unracedVar = "MCPCTL_TEST_UNRACED"

// programs are what the test binary can be beside itself: mcpctl, for the scripts and for the demonstration server that
// they start, and servers that misbehave.
func programs() map[string]func() {
	return map[string]func(){
		"mcpctl":       main,
		"faultlab":     func() { os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"hangserver":   hangServe,
		"chatter":      func() { os.Exit(chatter.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"peak":         peakMemory,
		"limited":      limited,
		"resultserver": resultServe,
		"argsserver":   argsServe,
		"visit":        visit,
	}
}

func TestMain(m *testing.M) {
	// Under the race detector a process waits a second before it ends. There are hundreds of them here.
	if err := os.Setenv("GORACE", raceOptions); err != nil {
		panic(err)
	}
	testscript.Main(withUnraced{m}, programs())
}

// withUnraced runs the tests with programs that the race detector does not watch.
//
// A process under the detector takes a tenth of a second of the processor before its first line, and three times as long as
// another one altogether. The tests start some three thousand, which made two thirds of their time. The servers among
// them are not what is tested here: their own packages are, under the detector. The scripts look at words and exit codes,
// and the commands that they run are run under the detector, too: in this process by TestFaults, TestFindings,
// TestLoginFaults, TestTL07NoCommandOutlivesItsLimit and others, and as processes by the tests of terminals, shells, signals,
// series of pings, tasks and logs. With -all-raced the detector watches everything.
type withUnraced struct{ m *testing.M }

func (w withUnraced) Run() int {
	flag.Parse()
	if !raced || *allRaced || flag.Lookup("test.list").Value.String() != "" {
		return w.m.Run()
	}
	dir, err := os.MkdirTemp("", "mcpctl-unraced")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := buildUnraced(dir); err != nil {
		fmt.Fprintf(os.Stderr, "all programs are watched by the race detector, as no others could be built: %v\n", err)
		return w.m.Run()
	}
	if err := errors.Join(os.Setenv(unracedVar, filepath.Join(dir, "all")),
		os.Setenv("PATH", filepath.Join(dir, "servers")+string(os.PathListSeparator)+os.Getenv("PATH"))); err != nil {
		panic(err)
	}
	return w.m.Run()
}

// buildUnraced builds this test binary without the race detector, as all programs in the directory "all", and as all but
// mcpctl in "servers".
func buildUnraced(dir string) error {
	binary := filepath.Join(dir, "binary")
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-ldflags", "-s -w", "-o", binary, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for name := range programs() {
		for _, set := range []string{"all", "servers"} {
			if set == "servers" && name == "mcpctl" {
				continue
			}
			if err := os.MkdirAll(filepath.Join(dir, set), 0o700); err != nil {
				return err
			}
			if err := linkOrCopy(binary, filepath.Join(dir, set, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkOrCopy makes the program known by another name. It is no symbolic link, because programs look up their own path.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// unraced returns the path of a program that the race detector does not watch: what a test only needs as a server, or
// starts very often.
func unraced(name string) string {
	if dir := os.Getenv(unracedVar); dir != "" {
		return filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		panic(err) // TestMain has put it there
	}
	return path
}

// unracedFirst returns the PATH for programs of which many are started.
func unracedFirst(path string) string {
	if dir := os.Getenv(unracedVar); dir != "" {
		return dir + string(os.PathListSeparator) + path
	}
	return path
}
