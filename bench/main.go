// Command bench measures mcpctl beside other programs that do the same: a bare go-sdk program, which is the floor, and the
// tools of others, from npm. They take turns in one run on one machine, so that the ratios mean something even where the
// times do not. What comes out is text that is read on a terminal and kept as Markdown.
//
//	go run ./bench [-only PART,…] [-quick] [-runs N] [-calls N] [-results FILE] [-strict]
//
// The parts are in [parts]. A whole run is kept in bench/RESULTS.md; with -only or -quick, or after Ctrl-C, nothing is kept,
// unless -results says where. With -strict the exit code is 1 if an aim was missed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	runs, calls  int
	quick        bool
	only         string
	results      string
	strict       bool
	modules      string
	resultsGiven bool
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 30, "how often each program is run that takes milliseconds")
	flag.IntVar(&o.calls, "calls", 1000, "how many calls go through the shell")
	flag.BoolVar(&o.quick, "quick", false, "few runs of each: to see that all works")
	flag.StringVar(&o.only, "only", "", "measure these `parts` alone, with commas between: "+strings.Join(names(), ", "))
	flag.StringVar(&o.results, "results", "bench/RESULTS.md", "the `file` in which a whole run is kept")
	flag.BoolVar(&o.strict, "strict", false, "exit with 1 if an aim was missed")
	flag.StringVar(&o.modules, "modules", "bench/node_modules", "the `directory` in which npm has installed the other tools")
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { o.resultsGiven = o.resultsGiven || f.Name == "results" })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one of the things that are measured: it writes its tables.
type part struct {
	name, title string
	run         func(context.Context, io.Writer, setting) error
}

// parts are all of them, in the order in which they are run.
func parts() []part {
	return []part{
		{"start", "Start-up", benchStart},
		{"calls", "One call, one list", benchCalls},
		{"shell", "Many calls through one shell", benchShell},
		{"large", "Large results", benchLarge},
		{"doctor", "doctor", benchDoctor},
		{"scale", "Many servers, entries and tools", benchScale},
		{"session", "Package session beside the SDK, in one process", benchSession},
	}
}

// names are those of the parts.
func names() []string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.name)
	}
	return all
}

// chosen are the parts of these names, or all.
func chosen(only string) ([]part, error) {
	all := parts()
	if only == "" {
		return all, nil
	}
	var some []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no part %q: there are %s", name, strings.Join(names(), ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// setting is what all parts measure with.
type setting struct {
	// dir holds the programs, and all that is written; home in it is the home directory of what is measured.
	dir                 string
	mcpctl, bare, meter string
	others              others
	// url is where the demonstration server listens.
	url string
	// runs is how often a program is run that takes milliseconds, slowRuns how often one that takes seconds.
	runs, slowRuns int
	// budget is when no further run of a program begins, if there have been some.
	budget time.Duration
	// hurry is when that becomes less, for a whole run to end in time on a slow machine; never if zero.
	hurry time.Time
	// calls is how many go through one shell.
	calls int
	// quick asks for little: the figures matter less than that all is tried.
	quick bool
	// found is what is said about all figures at the end.
	found *findings
}

// The budgets: with the number of runs they keep a whole run below ten minutes on an idle machine of two cores.
const (
	slowRuns    = 3
	budget      = 4 * time.Second
	untilHurry  = 3 * time.Minute
	quickRuns   = 3
	quickCalls  = 100
	quickBudget = time.Second
)

// newSetting builds the programs in a directory.
func newSetting(ctx context.Context, dir string, o options) (setting, error) {
	s := setting{dir: dir, runs: o.runs, slowRuns: min(slowRuns, o.runs), budget: budget, calls: o.calls, quick: o.quick, found: new(findings)}
	if o.quick {
		s.runs, s.slowRuns, s.calls, s.budget = quickRuns, 1, quickCalls, quickBudget
	}
	if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
		return setting{}, err
	}
	var err error
	for pkg, program := range map[string]*string{"./cmd/mcpctl": &s.mcpctl, "./bench/bare": &s.bare, "./bench/meter": &s.meter} {
		if *program, err = build(ctx, dir, pkg); err != nil {
			return setting{}, err
		}
	}
	modules, err := filepath.Abs(o.modules)
	if err != nil {
		return setting{}, err
	}
	s.others, err = findOthers(ctx, modules)
	return s, err
}

// nowhere takes the places out of a text that what was measured may have named in what it said: they are nobody's business.
func (s setting) nowhere(text string) string {
	places := []string{s.dir, "$DIR"}
	if s.others.modules != "" {
		places = append(places, s.others.modules, "node_modules")
	}
	return strings.NewReplacer(places...).Replace(text)
}

func run(ctx context.Context, w io.Writer, o options) (err error) {
	some, err := chosen(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcpctl-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	end, err := adopt()
	if err != nil {
		return err
	}
	defer end()
	s, err := newSetting(ctx, dir, o)
	if err != nil {
		return err
	}
	url, stop, err := serve(ctx, s.mcpctl, "demo-server", "--http", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer stop()
	s.url = url

	var text bytes.Buffer
	both := io.MultiWriter(w, &text)
	head, err := s.head(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(both, head); err != nil {
		return err
	}
	begin := time.Now()
	s.hurry = begin.Add(untilHurry)
	var failed []error
	for _, p := range some {
		if _, err := fmt.Fprintf(both, "## %s\n\n", p.title); err != nil {
			return err
		}
		err := p.run(ctx, both, s)
		if ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, context.Cause(ctx)))
			break
		}
		if err != nil { // the others are worth their time all the same
			err = fmt.Errorf("%s: %w", p.name, err)
			failed = append(failed, err)
			if _, err := io.WriteString(both, wrapped("", "", "Not measured to its end: "+firstLine(err.Error()))+"\n"); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		if _, err := io.WriteString(both, "It was ended before all was measured.\n\n"); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(both, s.found.reading(load(), time.Since(begin))); err != nil {
		return err
	}
	if o.results != "" && (o.resultsGiven || o.only == "" && !o.quick && ctx.Err() == nil) {
		if err := os.WriteFile(o.results, []byte(s.nowhere(text.String())), 0o644); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	if missed := s.found.missed(); o.strict && len(missed) > 0 {
		return fmt.Errorf("%d aims were missed", len(missed))
	}
	return nil
}
