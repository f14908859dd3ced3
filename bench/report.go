package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// aim is something that was asked of a figure.
type aim struct {
	what      string
	got, most float64
	unit      string
}

func (a aim) met() bool { return a.got <= a.most }

func (a aim) String() string {
	unit := a.unit
	if unit != "" {
		unit = " " + unit
	}
	if a.unit == "" {
		return fmt.Sprintf("%s: %.0f, at most %.0f", a.what, a.got, a.most)
	}
	return fmt.Sprintf("%s: %s%s, at most %s", a.what, times(a.got), unit, strconv.FormatFloat(a.most, 'g', -1, 64))
}

// beside is how many times as long another tool took for one piece of work.
type beside struct {
	name  string
	times float64
}

// findings is what is said about the figures at the end.
type findings struct {
	aims   []aim
	beside []beside
}

// judge takes down what was asked of a figure: to be at most so much.
func (s setting) judge(what string, got, most float64, unit string) {
	s.found.aims = append(s.found.aims, aim{what, got, most, unit})
}

// compare takes down how the tools of others did beside mcpctl.
func (s setting) compare(results []result) {
	one := gauge(results)
	for _, r := range results {
		if r.slow && len(r.all) > 0 {
			s.found.beside = append(s.found.beside, beside{r.name, ratio(r.median().ms, one.ms)})
		}
	}
}

func (f *findings) missed() []aim {
	return slices.DeleteFunc(slices.Clone(f.aims), aim.met)
}

// reading says in sentences what the figures say: nothing here is written by hand.
func (f *findings) reading(load string, took time.Duration) string {
	var b strings.Builder
	b.WriteString("## What the figures say\n\n")
	missed := f.missed()
	switch {
	case len(f.aims) == 0:
		b.WriteString("Nothing was asked of what was measured.\n\n")
	case len(missed) == 0:
		fmt.Fprintf(&b, "All %d aims were met.\n\n", len(f.aims))
	default:
		fmt.Fprintf(&b, "%d of %d aims were missed:\n\n", len(missed), len(f.aims))
		for _, a := range missed {
			b.WriteString(wrapped("- ", "  ", a.String()))
		}
		b.WriteByte('\n')
	}
	if len(missed) < len(f.aims) {
		b.WriteString("Met:\n\n")
		for _, a := range f.aims {
			if a.met() {
				b.WriteString(wrapped("- ", "  ", a.String()))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(f.others())
	fmt.Fprintf(&b, "It took %s. The load of the machine at the end: %s.\n", took.Round(time.Second), load)
	return b.String()
}

// others says how many times as long the tools of others take.
func (f *findings) others() string {
	var order []string
	low, high := map[string]float64{}, map[string]float64{}
	for _, b := range f.beside {
		if math.IsNaN(b.times) {
			continue
		}
		if _, ok := low[b.name]; !ok {
			order = append(order, b.name)
			low[b.name], high[b.name] = b.times, b.times
		}
		low[b.name], high[b.name] = min(low[b.name], b.times), max(high[b.name], b.times)
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "How many times as long as mcpctl the tools of others took; %d is hoped for:\n\n", aimTimes)
	for _, name := range order {
		line := name + ": " + times(low[name])
		if low[name] != high[name] {
			line += " to " + times(high[name])
		}
		if low[name] < aimTimes {
			line += ", less than hoped for"
		}
		b.WriteString(wrapped("- ", "  ", line))
	}
	b.WriteByte('\n')
	return b.String()
}

// head says when and with what all was measured, and how.
func (s setting) head(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, s.mcpctl, "version").Output()
	if err != nil {
		return "", fmt.Errorf("mcpctl version: %w", err)
	}
	var b strings.Builder
	b.WriteString("# Measured side by side\n\n")
	b.WriteString(wrapped("", "", "Made by `make bench`; do not edit. Figures from one machine on one day: the ratios travel, the milliseconds do not."))
	b.WriteByte('\n')
	t := table{heads: []string{"with", ""}, wide: true}
	t.row("date", time.Now().UTC().Format(time.DateOnly))
	t.row("system", fmt.Sprintf("%s/%s, %d CPUs%s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor()))
	t.row("load at the start", load())
	t.row("mcpctl", firstLine(strings.TrimPrefix(string(out), "mcpctl "))+commit(ctx))
	t.row("Go", strings.TrimPrefix(runtime.Version(), "go"))
	if s.others.missing == "" {
		t.row("Node", s.others.version)
		for _, name := range []string{mcporter, mcpc, inspector, everything} {
			t.row(name, s.others.versions[name])
		}
	}
	if s.others.missing != "" {
		t.note("The tools of others took no part: %s.", s.others.missing)
	}
	if err := t.write(&b); err != nil {
		return "", err
	}
	for _, line := range []string{
		fmt.Sprintf("The programs of one table take turns. After one run of each that does not count, each is run %d times, those of Node %d times, but fewer once all its runs have taken %s, or less than that when %s are over. Shown are medians, the quartiles of the time, and the ratio to the first line, which is mcpctl.", s.runs, s.slowRuns, s.budget, untilHurry),
		"ms is from the start of the process to its end. CPU ms is its time in user and system mode, with that of the children it waited for: over stdio, the server's. MiB is the peak resident memory of the process alone, over HTTP and at start-up exactly, over stdio as looked up while it ran (on Linux; elsewhere that of the largest child if that is larger).",
		"mcpctl is used as it is day by day: an entry of the configuration, with what it remembers of the server from earlier runs. \"Nothing cached\" is a URL or a command that it has never seen, and an empty cache.",
		"bare go-sdk connects, lists or calls, prints and closes, in 70 lines. It is the floor.",
		"mcpc does its work in a session that a process of its own holds. \"Session open\" is one command in such a session, whose opening and whose process are not in the figures; \"connect to close\" is all three commands, and closing waits a second. Over stdio it takes a server from a file only; the others take all on the command line. The whole is measured for calls only.",
		"What is on the wire was counted in runs of their own: over HTTP by a proxy, headers included; over stdio by a program between client and server.",
	} {
		b.WriteString(wrapped("", "", line) + "\n")
	}
	return b.String(), nil
}

// commit is that of the source, as far as git tells it.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return ", commit " + strings.TrimSpace(string(out))
}

// processor is the model of the CPUs, where the system tells it in a file.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// load is how many processes have wanted to run in the last minute, where the system tells it.
func load() string {
	data, err := os.ReadFile(filepath.FromSlash("/proc/loadavg"))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}
