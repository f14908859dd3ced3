package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
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

// benchmarks reads what go test -bench says of work that is done in two ways in turn. Other figures stand in the last column.
func benchmarks(out string) (table, error) {
	t := table{heads: []string{"benchmark", "runs", "mcpctl us", "SDK us", "ratio", "B", "allocs", "more"}, wide: true}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 { // the number of CPUs
			name = name[:i]
		}
		cells := map[string]string{}
		var more []string
		for i := 2; i+1 < len(words); i += 2 {
			switch unit := words[i+1]; unit {
			case "ratio", "B/op", "allocs/op":
				cells[unit] = words[i]
			case "ns/op", "mcpctl-ns/op", "sdk-ns/op":
				ns, err := strconv.ParseFloat(words[i], 64)
				if err != nil {
					return table{}, fmt.Errorf("%q: %w", line, err)
				}
				cells[strings.TrimPrefix(unit, "mcpctl-")] = number(ns / 1000)
			default:
				more = append(more, words[i]+" "+unit)
			}
		}
		t.row(name, words[1], cells["ns/op"], cells["sdk-ns/op"], cells["ratio"], cells["B/op"], cells["allocs/op"], strings.Join(more, ", "))
	}
	if len(t.rows) == 0 {
		return table{}, fmt.Errorf("no benchmark in %q", tail(out))
	}
	return t, nil
}
