// Command bench measures mcpctl beside a bare go-sdk program that does the same: one call of a tool, from the start of
// the process to its end, over HTTP and over stdio. The two take turns in one run on one machine, so that the ratios
// mean something even where the times do not.
//
//	go run ./bench [-runs N] [-max RATIO]
//
// With -max the exit code is 1 if a ratio is above it.
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
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *runs, *most); err != nil {
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

func run(ctx context.Context, w io.Writer, runs int, most float64) (err error) {
	dir, err := os.MkdirTemp("", "mcpctl-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	mcpctl, err := build(ctx, dir, "./cmd/mcpctl")
	if err != nil {
		return err
	}
	bare, err := build(ctx, dir, "./bench/bare")
	if err != nil {
		return err
	}
	url, stop, err := serve(ctx, mcpctl)
	if err != nil {
		return err
	}
	defer stop()

	pairs := []pair{
		{"call over HTTP", []string{mcpctl, "call", url, "add", "a=2", "b=3"}, []string{bare, "http", url, "add", `{"a":2,"b":3}`}},
		{"call over stdio", []string{mcpctl, "call", "--stdio", mcpctl + " demo-server", "add", "a=2", "b=3"}, []string{bare, "stdio", "add", `{"a":2,"b":3}`, mcpctl, "demo-server"}},
	}
	_, _ = fmt.Fprintf(w, "%s %s/%s, %d CPUs, %d runs each, medians\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tmcpctl\tbare go-sdk\tratio\tmcpctl\tbare go-sdk\tratio\t")
	_, _ = fmt.Fprintln(table, "\tms\tms\ttime\tMiB\tMiB\tpeak memory\t")
	var above []string
	for _, p := range pairs {
		a, b, err := compare(ctx, dir, p, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		timeRatio, memoryRatio := a.ms/b.ms, a.mib/b.mib
		_, _ = fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t\n", p.name, a.ms, b.ms, timeRatio, a.mib, b.mib, memoryRatio)
		if most > 0 && max(timeRatio, memoryRatio) > most {
			above = append(above, p.name)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(above) > 0 {
		return fmt.Errorf("above the ratio %.2f: %s", most, strings.Join(above, ", "))
	}
	return nil
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

// once runs a program and checks that it did its work. The system counts the memory of the process that starts another
// as the other's, so a process that has just begun does it.
func once(ctx context.Context, home string, args []string) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append([]string{measureWord}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return figures{}, fmt.Errorf("%s: %w, output %q, errors %q", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	var result string
	var f figures
	if _, err := fmt.Sscan(out.String(), &result, &f.ms, &f.mib); err != nil || result != "5" {
		return figures{}, fmt.Errorf("%s: output %q, errors %q", strings.Join(args, " "), out.String(), errOut.String())
	}
	return f, nil
}

// measure runs a program and writes its time and its peak memory behind its output. What the program itself started and
// waited for counts into the peak: over stdio that is the larger of client and server.
func measure(args []string) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	begin := time.Now()
	err := cmd.Run()
	elapsed := time.Since(begin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mib, err := peakMiB(cmd.ProcessState)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println()
	fmt.Println(float64(elapsed.Microseconds())/1000, mib)
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

// serve starts the demonstration server over HTTP and returns its URL.
func serve(ctx context.Context, mcpctl string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, mcpctl, "demo-server", "--http", "127.0.0.1:0")
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
