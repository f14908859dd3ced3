//go:build e2e && linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// initialize is all that the scenario of that name wants of a client.
const initialize = `curl -sS --fail-with-body -o /dev/null -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{
  "jsonrpc": "2.0", "id": 1, "method": "initialize",
  "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}
}' "$1" || exit 9
`

// TestClientsThatAreNone runs scenarios with clients that do nothing, or do what they should and end as they should not: none
// of them passes, each is told of, and nothing is left of it.
func TestClientsThatAreNone(t *testing.T) {
	t.Parallel()
	// One at which a client has nothing to fear of the suite when it stays away, one that misses it, and one that forgives.
	spoken, missed, forgiven := pair{alpha, "initialize", legacy}, pair{alpha, "tools_call", legacy}, pair{alpha, "auth/resource-mismatch", legacy}
	const long, short = time.Minute, 4 * time.Second
	// A child that does not end by itself, in the client's group.
	const child = "sleep 600 & echo $! >\"$CHILD\"\n"
	for _, c := range []struct {
		name   string
		pair   pair
		script string
		limit  time.Duration
		word   string
		// says is in one of the problems.
		says string
	}{
		{"does what it should", spoken, initialize, long, "passed", ""},
		{"does nothing", missed, "", long, "failed", "FAILURE tool-add-numbers"},
		{"does nothing where that is no failure", spoken, "", long, "vacuous", ""},
		{"exits 1", spoken, "exit 1\n", long, "failed", "the client ended with exit code 1"},
		{"exits 1 after all", spoken, initialize + "exit 1\n", long, "failed", "the client ended with exit code 1"},
		{"exits 1 where that is forgiven", forgiven, "exit 1\n", long, "failed", "the client ended with exit code 1"},
		{"crashes after all", spoken, initialize + "kill -SEGV $$\n", long, "failed", "the client ended with exit code 139"},
		{"hangs", spoken, child + initialize + "wait\n", short, "failed", "the client was ended by force after 4s"},
		{"hangs and will not end", spoken, "trap '' TERM\n" + child + initialize + "while :; do wait; done\n", short, "failed", "the client was ended by force after 4s"},
		{"leaves something behind", spoken, initialize + child, long, "passed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTestSuite(t, c.script)
			s.limit = c.limit
			v := s.run(t.Context(), c.pair)
			if v.word() != c.word || c.says != "" && !slices.ContainsFunc(v.problems, func(p string) bool { return strings.Contains(p, c.says) }) {
				t.Errorf("%s %q, want %s with %q\n%s", v.word(), v.problems, c.word, c.says, v.output)
			}
			if bound := s.limit + runnerTime; v.elapsed >= bound {
				t.Errorf("it took %s, which is not less than %s", v.elapsed, bound)
			}
			if strings.Contains(c.script, child) {
				isGone(t, filepath.Join(s.dir, "child"))
			}
		})
	}
}

// newTestSuite is the suite with a script as the client under test.
func newTestSuite(t *testing.T, script string) *suite {
	t.Helper()
	s, err := newSuite(t.Context(), filepath.Join("..", ".."), t.TempDir(), options{mcpctl: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	s.client = filepath.Join(s.dir, "client")
	text := "#!/bin/sh\nCHILD='" + filepath.Join(s.dir, "child") + "'\n" + script
	if err := os.WriteFile(s.client, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// isGone wants that the process whose number is in a file has ended.
func isGone(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(endTime); time.Now().Before(limit); <-tick.C {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		// One whose parent has ended may wait for somebody who takes note of its end.
		if stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("the child of the client still runs: %s", exec.Command("kill", "-KILL", strconv.Itoa(pid)).Run())
}
