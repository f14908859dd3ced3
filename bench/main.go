// Command bench measures mcpctl beside a bare go-sdk program that does the same: one call of a tool, from the start of
// the process to its end, over HTTP and over stdio. The two take turns in one run on one machine, so that the ratios
// mean something even where the times do not. Then it measures doctor: on a healthy server beside that call, on one that
// hangs beside its limit, and on 200 servers of mixed health beside 20. In between it takes results of 50 MB and tells the
// peak memory as a multiple of the result, and measures calls through one shell beside a process for each.
//
//	go run ./bench [-only PART,…] [-quick] [-calls N] [-runs N] [-max RATIO]
//
// With -only these parts alone are run. With -max the exit code is 1 if a ratio of a call, or that of doctor's peak
// memory, is above it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == measureWord {
		os.Exit(measure(os.Args[2:]))
	}
	var s setting
	flag.IntVar(&s.runs, "runs", 30, "how often each program is run")
	flag.Float64Var(&s.most, "max", 0, "the highest ratio that is accepted, 0 for any")
	flag.IntVar(&s.calls, "calls", 1000, "how many calls go through the shell")
	flag.BoolVar(&s.quick, "quick", false, "few runs of each")
	only := flag.String("only", "", "measure these parts alone, with commas between")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, s, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// warmups are runs that do not count: they fill the caches of the file system.
const warmups = 3

// pair is one thing to do, done by both programs.
type pair struct {
	name         string
	mcpctl, bare []string
}

// setting is what all parts measure with.
type setting struct {
	// dir is the home directory of what is measured, and holds the programs.
	dir          string
	mcpctl, bare string
	// url is where the demonstration server listens.
	url string
	// runs is how often a program is run that takes milliseconds.
	runs int
	// calls is how many go through one shell.
	calls int
	// quick asks for little: the figures matter less than that all is tried.
	quick bool
	// most is the highest ratio that is accepted, 0 for any.
	most float64
	// above are the names of what was above that.
	above *[]string
}

// judge takes down what is above the highest ratio that is accepted.
func (s setting) judge(name string, ratio float64) {
	if s.most > 0 && ratio > s.most {
		*s.above = append(*s.above, fmt.Sprintf("%s: %.2f", name, ratio))
	}
}

// calls are the programs that do the same: over HTTP and over stdio.
func (s setting) pairs() []pair {
	return []pair{
		{"call over HTTP", []string{s.mcpctl, "call", s.url, "add", "a=2", "b=3"}, []string{s.bare, "http", s.url, "add", `{"a":2,"b":3}`}},
		{"call over stdio", []string{s.mcpctl, "call", "--stdio", s.mcpctl + " demo-server", "add", "a=2", "b=3"}, []string{s.bare, "stdio", "add", `{"a":2,"b":3}`, s.mcpctl, "demo-server"}},
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
		{"calls", "One call", benchCalls},
		{"shell", "Calls through one shell", benchShell},
		{"large", "Large results", benchLarge},
		{"doctor", "doctor", benchDoctor},
	}
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
			return nil, fmt.Errorf("no part %q", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

func run(ctx context.Context, w io.Writer, s setting, only string) (err error) {
	some, err := chosen(only)
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "mcpctl-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if s.mcpctl, err = build(ctx, s.dir, "./cmd/mcpctl"); err != nil {
		return err
	}
	if s.bare, err = build(ctx, s.dir, "./bench/bare"); err != nil {
		return err
	}
	url, stop, err := serve(ctx, s.mcpctl, "demo-server", "--http", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer stop()
	s.url, s.above = url, new([]string)
	if s.quick {
		s.runs, s.calls = 3, 100
	}
	_, _ = fmt.Fprintf(w, "%s %s/%s, %d CPUs, %d runs each, medians\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.runs)
	for _, p := range some {
		_, _ = fmt.Fprintf(w, "\n%s\n\n", p.title)
		if err := p.run(ctx, w, s); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if len(*s.above) > 0 {
		return fmt.Errorf("above the ratio %.2f: %s", s.most, strings.Join(*s.above, ", "))
	}
	return nil
}

// benchCalls measures the calls.
func benchCalls(ctx context.Context, w io.Writer, s setting) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tmcpctl\tbare go-sdk\tratio\tmcpctl\tbare go-sdk\tratio\t")
	_, _ = fmt.Fprintln(table, "\tms\tms\ttime\tMiB\tMiB\tpeak memory\t")
	for _, p := range s.pairs() {
		a, b, err := compare(ctx, s.dir, p, s.runs)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		timeRatio, memoryRatio := a.ms/b.ms, a.mib/b.mib
		_, _ = fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t\n", p.name, a.ms, b.ms, timeRatio, a.mib, b.mib, memoryRatio)
		s.judge(p.name, max(timeRatio, memoryRatio))
	}
	return table.Flush()
}

// figures are the medians of one program.
type figures struct{ ms, mib float64 }

// compare lets the two programs take turns.
func compare(ctx context.Context, home string, p pair, runs int) (a, b figures, err error) {
	var all [2][]figures
	for i := range warmups + runs {
		for j, args := range [][]string{p.mcpctl, p.bare} {
			f, err := once(ctx, home, args)
			if err != nil {
				return figures{}, figures{}, err
			}
			if i >= warmups {
				all[j] = append(all[j], f)
			}
		}
	}
	return medians(all[0]), medians(all[1]), nil
}

// measureWord makes this program a small one that starts another and writes down what that took.
const measureWord = "measure"

// once makes a call and checks that it did its work.
func once(ctx context.Context, home string, args []string) (figures, error) {
	out, code, f, err := measured(ctx, home, args)
	if err == nil && (code != 0 || strings.TrimSpace(out) != "5") {
		err = fmt.Errorf("%s: exit code %d, output %q", strings.Join(args, " "), code, out)
	}
	return f, err
}

// measured runs a program and returns its output, its exit code and its figures. The system counts the memory of the
// process that starts another as the other's, so a process that has just begun does it.
func measured(ctx context.Context, home string, args []string) (out string, code int, f figures, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, figures{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append([]string{measureWord}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", 0, figures{}, fmt.Errorf("%s: %w, output %q, errors %q", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	out = strings.TrimSuffix(stdout.String(), "\n")
	end := strings.LastIndex(out, "\n") + 1
	if _, err := fmt.Sscan(out[end:], &code, &f.ms, &f.mib); err != nil {
		return "", 0, figures{}, fmt.Errorf("%s: output %q, errors %q: %w", strings.Join(args, " "), stdout.String(), stderr.String(), err)
	}
	return out[:end], code, f, nil
}

// measure runs a program and writes its exit code, its time and its peak memory behind its output. What the program
// itself started and waited for counts into the peak: over stdio that is the larger of client and server.
func measure(args []string) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	begin := time.Now()
	err := cmd.Run()
	elapsed := time.Since(begin)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mib, err := peakMiB(cmd.ProcessState)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println()
	fmt.Println(cmd.ProcessState.ExitCode(), float64(elapsed.Microseconds())/1000, mib)
	return 0
}

func medians(all []figures) figures {
	middle := func(get func(figures) float64) float64 {
		values := make([]float64, len(all))
		for i, f := range all {
			values[i] = get(f)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return figures{ms: middle(func(f figures) float64 { return f.ms }), mib: middle(func(f figures) float64 { return f.mib })}
}

// build builds a program the way it is shipped.
func build(ctx context.Context, dir, pkg string) (string, error) {
	out := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

// serve starts a server over HTTP that tells its URL on standard error, and returns that.
func serve(ctx context.Context, program string, args ...string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, pipe) }()
			return "http://" + strings.TrimSpace(address), stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("the demonstration server told no URL: %w", lines.Err())
}
