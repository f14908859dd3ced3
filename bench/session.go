package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// benchSession runs the benchmarks of package session, which compare it with the SDK alone, within one process.
func benchSession(ctx context.Context, w io.Writer, s setting) error {
	args := []string{"test", "-run", "^$", "-bench", ".", "-benchmem"}
	if s.quick {
		args = append(args, "-benchtime", "10x")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, module+"/pkg/session")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, tail(string(out)))
	}
	t, err := benchmarks(string(out))
	if err != nil {
		return err
	}
	return t.write(w)
}

// benchmarks reads what go test -bench says. Figures of a benchmark's own stand in the last column.
func benchmarks(out string) (table, error) {
	t := table{heads: []string{"benchmark", "runs", "us", "B", "allocs", "more"}, wide: true}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(words[0], "Benchmark"), "-")
		cells := map[string]string{}
		var more []string
		for i := 2; i+1 < len(words); i += 2 {
			switch words[i+1] {
			case "ns/op", "B/op", "allocs/op":
				cells[words[i+1]] = words[i]
			default:
				more = append(more, words[i]+" "+words[i+1])
			}
		}
		var ns float64
		if _, err := fmt.Sscan(cells["ns/op"], &ns); err != nil {
			return table{}, fmt.Errorf("%q: %w", line, err)
		}
		t.row(name, words[1], number(ns/1000), cells["B/op"], cells["allocs/op"], strings.Join(more, ", "))
	}
	if len(t.rows) == 0 {
		return table{}, fmt.Errorf("no benchmark in %q", tail(out))
	}
	return t, nil
}
