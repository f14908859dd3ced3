// Command bench measures mcpctl beside a bare go-sdk program that does the same: one call of a tool, from the start of
// the process to its end, over HTTP and over stdio. The two take turns in one run on one machine, so that the ratios
// mean something even where the times do not. Then it measures doctor: on a healthy server beside that call, on one that
// hangs beside its limit, and on 200 servers of mixed health beside 20. In between it takes results of 50 MB and tells the
// peak memory as a multiple of the result, and measures calls through one shell beside a process for each.
//
//	go run ./bench [-doctor] [-shell] [-calls N] [-runs N] [-max RATIO]
//
// With -doctor or -shell that part alone is run. With -max the exit code is 1 if a ratio of a call, or that of doctor's peak
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
	runs := flag.Int("runs", 30, "how often each program is run")
	most := flag.Float64("max", 0, "the highest ratio that is accepted, 0 for any")
	doctor := flag.Bool("doctor", false, "measure doctor alone")
	shell := flag.Bool("shell", false, "measure the shell alone")
	calls := flag.Int("calls", 1000, "how many calls go through the shell, 0 for none")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *runs, *most, *doctor, *calls, *shell); err != nil {
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
	url  string
	runs int
}

// calls are the programs that do the same: over HTTP and over stdio.
func (s setting) calls() []pair {
	return []pair{
		{"call over HTTP", []string{s.mcpctl, "call", s.url, "add", "a=2", "b=3"}, []string{s.bare, "http", s.url, "add", `{"a":2,"b":3}`}},
		{"call over stdio", []string{s.mcpctl, "call", "--stdio", s.mcpctl + " demo-server", "add", "a=2", "b=3"}, []string{s.bare, "stdio", "add", `{"a":2,"b":3}`, s.mcpctl, "demo-server"}},
	}
}

func run(ctx context.Context, w io.Writer, runs int, most float64, doctorAlone bool, shellCalls int, shellAlone bool) (err error) {
	dir, err := os.MkdirTemp("", "mcpctl-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := setting{dir: dir, runs: runs}
	if s.mcpctl, err = build(ctx, dir, "./cmd/mcpctl"); err != nil {
		return err
	}
	if s.bare, err = build(ctx, dir, "./bench/bare"); err != nil {
		return err
	}
	url, stop, err := serve(ctx, s.mcpctl, "demo-server", "--http", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer stop()
	s.url = url

	_, _ = fmt.Fprintf(w, "%s %s/%s, %d CPUs, %d runs each, medians\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs)
	var above []string
	if !doctorAlone && shellCalls > 0 {
		if err := benchShell(ctx, w, s, shellCalls); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(w)
	}
	if shellAlone {
		return nil
	}
	if !doctorAlone {
		if above, err = benchCalls(ctx, w, s, most); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(w)
	}
	if !doctorAlone {
		if err := benchLarge(ctx, w, s); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(w)
	}
	grown, err := benchDoctor(ctx, w, s, most)
	if err != nil {
		return err
	}
	if above = append(above, grown...); len(above) > 0 {
		return fmt.Errorf("above the ratio %.2f: %s", most, strings.Join(above, ", "))
	}
	return nil
}

// benchCalls measures the calls and returns those whose ratios are above the highest, if there is one.
func benchCalls(ctx context.Context, w io.Writer, s setting, most float64) (above []string, err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tmcpctl\tbare go-sdk\tratio\tmcpctl\tbare go-sdk\tratio\t")
	_, _ = fmt.Fprintln(table, "\tms\tms\ttime\tMiB\tMiB\tpeak memory\t")
	for _, p := range s.calls() {
		a, b, err := compare(ctx, s.dir, p, s.runs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		timeRatio, memoryRatio := a.ms/b.ms, a.mib/b.mib
		_, _ = fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t\n", p.name, a.ms, b.ms, timeRatio, a.mib, b.mib, memoryRatio)
		if most > 0 && max(timeRatio, memoryRatio) > most {
			above = append(above, p.name)
		}
	}
	return above, table.Flush()
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
