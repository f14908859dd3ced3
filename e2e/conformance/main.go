// Command conformance runs the scenarios for clients of the official conformance suite against mcpctl, and scores them
// strictly. The client under test is the script client beside this file: mcpctl commands, jq, and curl as the browser.
// The script guard runs it, and sees to its end.
//
//	go run ./e2e/conformance [-runs N] [-parallel N] [-v] [-scenario PATTERN] [-mcpctl FILE]
//
// It wants what npm has installed in e2e (make conformance does that), jq and curl. A scenario passes when the suite has at
// least one success to tell of it and neither a failure nor a warning, when the client has ended with 0, and when nothing
// had to be ended by force. One without a success has shown nothing: it is vacuous, and counts for nobody. The exit code is
// 1 when a scenario does not do what expected.go says of it, and also when one passes that is not expected to.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 1, "how often everything is run, one after the other")
	flag.IntVar(&o.parallel, "parallel", 3*runtime.NumCPU(), "how many scenarios run at once")
	flag.StringVar(&o.scenario, "scenario", "", "only the scenarios that match this pattern, as in auth/*; the sets are not scored then")
	flag.StringVar(&o.mcpctl, "mcpctl", "", "the program under test, in place of one that is built")
	flag.StringVar(&o.node, "node", "", "the Node of version 22 or newer, in place of the one from npm")
	flag.BoolVar(&o.verbose, "v", false, "show every scenario, and what the client of a failed one wrote")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	runs, parallel         int
	scenario, mcpctl, node string
	verbose                bool
}

func run(ctx context.Context, w io.Writer, o options) error {
	if o.runs < 1 || o.parallel < 1 {
		return errors.New("-runs and -parallel want a number above 0")
	}
	dir, err := os.MkdirTemp("", "mcpctl-conformance-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := newSuite(ctx, ".", dir, o)
	if err != nil {
		return err
	}
	all, pairs, err := s.sets(ctx)
	if err != nil {
		return err
	}
	if o.scenario != "" {
		if pairs, err = matching(pairs, o.scenario); err != nil {
			return err
		}
	}
	bad := false
	for i := range o.runs {
		start := time.Now()
		if o.runs > 1 {
			_, _ = fmt.Fprintf(w, "run %d of %d\n\n", i+1, o.runs)
		}
		r := newReport(w, all, pairs, o)
		s.runAll(ctx, pairs, o.parallel, r.ended)
		if err := ctx.Err(); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "\n%d scenarios in %s\n\n", len(pairs), time.Since(start).Round(time.Second))
		bad = bad || r.bad
	}
	if bad {
		return errors.New("not everything is as expected")
	}
	return nil
}

// newSuite finds what is needed in the repository and builds the program under test.
func newSuite(ctx context.Context, repository, dir string, o options) (*suite, error) {
	e2e, err := filepath.Abs(filepath.Join(repository, "e2e"))
	if err != nil {
		return nil, err
	}
	s := &suite{
		node:   o.node,
		client: filepath.Join(e2e, "conformance", "client"),
		guard:  filepath.Join(e2e, "conformance", "guard"),
		limit:  clientTime,
		dir:    dir,
		path:   filepath.Join(dir, "bin"),
	}
	modules := filepath.Join(e2e, "node_modules")
	s.programs = map[release]string{
		stable: filepath.Join(modules, "conformance-0.1", "dist", "index.js"),
		alpha:  filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
	if s.node == "" {
		arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
		s.node = filepath.Join(modules, "node-linux-"+arch, "bin", "node")
	}
	for _, file := range []string{s.client, s.guard, s.programs[stable], s.programs[alpha], s.node} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("run it by make conformance, which installs what it needs, in the repository: %w", err)
		}
	}
	for _, program := range []string{"jq", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("the client needs %s: %w", program, err)
		}
	}
	if err := os.Mkdir(s.path, 0o700); err != nil {
		return nil, err
	}
	mcpctl := filepath.Join(s.path, "mcpctl")
	if o.mcpctl != "" {
		file, err := filepath.Abs(o.mcpctl)
		if err != nil {
			return nil, err
		}
		return s, os.Symlink(file, mcpctl)
	}
	// Without the tables for debuggers, which take long to write.
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", mcpctl, "./cmd/mcpctl")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return s, nil
}

// matching returns the pairs whose scenarios match a pattern.
func matching(pairs []pair, pattern string) ([]pair, error) {
	var out []pair
	for _, p := range pairs {
		ok, err := path.Match(pattern, p.scenario)
		if err != nil {
			return nil, fmt.Errorf("-scenario: %w", err)
		}
		if ok {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no scenario matches %q", pattern)
	}
	return out, nil
}

// runAll runs the pairs, so many at once, each in a process of its own, and tells of each when it has ended.
func (s *suite) runAll(ctx context.Context, pairs []pair, parallel int, ended func(pair, verdict)) {
	var mu sync.Mutex
	next := make(chan pair)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for p := range next {
				v := s.run(ctx, p)
				if ctx.Err() != nil {
					continue // its end says nothing of it
				}
				mu.Lock()
				ended(p, v)
				mu.Unlock()
			}
		})
	}
	for _, p := range pairs {
		next <- p
	}
	close(next)
	workers.Wait()
}
