// Command mcpctl adds, lists, calls and diagnoses MCP servers.
//
// This package is the process: it reads the words of a command line, passes values between the packages that do the
// work, and turns what they return into output and an exit code. main.go holds all that belongs to the process alone:
// its signals, its environment and its end. Nothing else here knows them, so every command can be run in a test.
package main

import (
	"context"
	"io"
	"log" //nolint:depguard // nothing is logged with it: net/http writes to it, and is silenced
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Set by the linker in a release: -X main.version=1.2.3 and so on.
var (
	version string
	commit  string
	date    string
)

// killTime is how long the second Ctrl-C waits for the children to be killed. Sending the signal takes microseconds.
const killTime = 100 * time.Millisecond

// echoTime is how soon after a SIGTERM or a SIGHUP another one belongs to it: timeout(1) sends it to the process and then to its
// group, and of the end of a terminal the kernel tells, and the shell. A person who means it presses Ctrl-C again.
const echoTime = time.Second

// systemKeyring is the system's keyring.
type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (systemKeyring) Set(service, user, secret string) error {
	return keyring.Set(service, user, secret)
}

func (systemKeyring) Delete(service, user string) error { return keyring.Delete(service, user) }

// aloneFor is how long a run has one processor.
const aloneFor = 30 * time.Millisecond

// startAlone leaves the process one processor until aloneFor is over, or widen is called: a short run does one thing after the other,
// and with more processors each goroutine that can go on wakes a thread, which costs more than what it does there.
func startAlone() (widen func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	runtime.GOMAXPROCS(1)
	widen = sync.OnceFunc(runtime.SetDefaultGOMAXPROCS)
	time.AfterFunc(aloneFor, widen)
	return widen
}

func main() {
	widen := startAlone()
	// net/http tells odd answers to the standard logger, in the server's own words: they are kept as evidence elsewhere.
	log.SetOutput(io.Discard)

	// SIGHUP comes when the terminal is closed: the children have to be ended then, too.
	// The first signal ends ctx, the second everything, unless somebody has taken the interrupts.
	ctx, end := context.WithCancel(context.Background())
	kill := make(chan struct{})
	done := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	taken := new(interrupts)
	go func() {
		untilTheSecond(signals, taken, end)
		end()
		close(kill)
		select {
		case <-done:
		case <-time.After(killTime):
		}
		os.Exit(codeInterrupted)
	}()
	// Without this a closed pipe would end the process before its children. Now it is an error of the write, EPIPE.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	code := run(ctx, process{
		args:        os.Args[1:],
		io:          iostreams.System(),
		lookup:      os.LookupEnv,
		home:        home,
		executable:  executable,
		readKeyring: keyring.Get,
		secrets:     systemKeyring{},
		kill:        kill,
		interrupt: func() {
			mine, now := taken.take()
			if mine {
				return
			}
			if !now {
				end() // at once: what was asked for must not come to a good end
			}
			select {
			case signals <- os.Interrupt:
			default:
			}
		},
		interrupts: taken,
		widen:      widen,
		build:      readBuild(version, commit, date),
	})
	close(done)
	end()
	os.Exit(code)
}

// untilTheSecond calls end at the first signal, and returns at the second, unless somebody has taken the interrupts.
func untilTheSecond(signals <-chan os.Signal, taken *interrupts, end func()) {
	var first os.Signal
	var since time.Time
	for s := range signals {
		now := false
		if s == os.Interrupt {
			var mine bool
			if mine, now = taken.take(); mine {
				continue
			}
		} else if s == first && time.Since(since) < echoTime {
			continue
		}
		if first != nil || now {
			return
		}
		first, since = s, time.Now()
		end()
	}
}
