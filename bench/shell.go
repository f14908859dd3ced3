package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// benchShell measures calls through one shell beside as many processes, over HTTP, to a server that runs anyway, and over
// stdio, where each process starts a server of its own. Of the processes a tenth is started, in two halves before and behind
// the shell's, so that a machine that becomes slower meanwhile slows both.
func benchShell(ctx context.Context, w io.Writer, s setting) error {
	calls := s.calls
	t := table{heads: []string{fmt.Sprintf("%d calls", calls), "one shell, s", "processes, s", "ratio", "a call in the shell, ms"}}
	for _, way := range []struct {
		name   string
		server []string
	}{
		{"over HTTP", []string{s.url}},
		{"over stdio", []string{"--stdio", s.mcpctl + " demo-server"}},
	} {
		half := max(1, calls/20)
		before, err := processes(ctx, s, way.server, half)
		if err != nil {
			return err
		}
		shell, err := throughShell(ctx, s, way.server, calls)
		if err != nil {
			return err
		}
		behind, err := processes(ctx, s, way.server, half)
		if err != nil {
			return err
		}
		all := (before + behind) / time.Duration(2*half) * time.Duration(calls)
		t.row(way.name, fmt.Sprintf("%.2f", shell.Seconds()), fmt.Sprintf("%.2f", all.Seconds()),
			times(ratio(float64(all), float64(shell))), fmt.Sprintf("%.2f", float64(shell.Microseconds())/1000/float64(calls)))
	}
	return t.write(w)
}

// program is mcpctl with a home of its own.
func program(ctx context.Context, s setting, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.mcpctl, args...)
	cmd.Env = environment(s.dir)
	return cmd
}

// processes makes calls by a process each.
func processes(ctx context.Context, s setting, server []string, calls int) (time.Duration, error) {
	begin := time.Now()
	for range calls {
		out, err := program(ctx, s, append(append([]string{"call"}, server...), "add", "a=2", "b=3")...).Output()
		if err != nil || string(out) != "5" {
			return 0, fmt.Errorf("call: %w, output %q", err, out)
		}
	}
	return time.Since(begin), nil
}

// throughShell makes calls by lines of one shell.
func throughShell(ctx context.Context, s setting, server []string, calls int) (time.Duration, error) {
	cmd := program(ctx, s, append([]string{"shell"}, server...)...)
	cmd.Stdin = strings.NewReader(strings.Repeat("call add a=2 b=3\n", calls))
	begin := time.Now()
	out, err := cmd.Output()
	elapsed := time.Since(begin)
	if err != nil || bytes.Count(out, []byte("5\n")) != calls {
		return 0, fmt.Errorf("shell: %w, %d bytes of output", err, len(out))
	}
	return elapsed, nil
}
