package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// bulkSize is the size of the results, and bulkRatio how many times that a process may take at its peak. It takes 1.4 to
	// 3.4 times as much, 20 to 30 MiB of it for a test binary that does nothing.
	bulkSize  = 50 << 20
	bulkRatio = 5
)

// peakMemory is what the test binary does as a program that starts another one: it passes everything on, and writes the
// peak memory of the other in KiB behind its standard error. The system counts the memory of the process that starts
// another as the other's at first, so one that has just begun does it.
func peakMemory() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		panic(exit)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		panic("no peak memory")
	}
	fmt.Fprintf(os.Stderr, "peak %d\n", usage.Maxrss)
	os.Exit(cmd.ProcessState.ExitCode())
}

// measured is a run of mcpctl.
type measured struct {
	code int
	// out counts the bytes on standard output, head is the beginning of them.
	out    int64
	head   []byte
	stderr string
	peak   int // bytes
}

// measureCall runs mcpctl and measures it.
func measureCall(t *testing.T, args ...string) measured {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "peak", append([]string{"mcpctl"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := measured{head: make([]byte, 200)}
	n, _ := io.ReadFull(stdout, m.head)
	m.head = m.head[:n]
	rest, err := io.Copy(io.Discard, stdout)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code tells
	m.out, m.code = int64(n)+rest, cmd.ProcessState.ExitCode()
	said, figure, ok := strings.Cut(stderr.String(), "peak ")
	m.stderr = said
	kib, err := strconv.Atoi(strings.TrimSpace(figure))
	if !ok || err != nil {
		t.Fatalf("no peak in %q", stderr.String())
	}
	m.peak = kib << 10
	return m
}

// bulkServers are the ways in which results come: the words that name the server.
func bulkServers(t *testing.T) map[string][]string {
	t.Helper()
	url := startChatter(t)
	return map[string][]string{
		"json":    {url + "/mcp?answer=json"},
		"chunked": {url + "/mcp?answer=chunked"},
		"sse":     {url + "/mcp?answer=sse"},
		"older":   {url + "/sse", "--transport", "sse"},
		"stdio":   {"--stdio", "chatter"},
	}
}

func notUnderRace(t *testing.T) {
	t.Helper()
	if raceAllowance > 0 || testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
}

// TestALargeResultIsNotDoubledInMemory takes 50 MB in every way in which they come and go.
func TestALargeResultIsNotDoubledInMemory(t *testing.T) {
	notUnderRace(t)
	dir := t.TempDir()
	for way, server := range bulkServers(t) {
		for _, c := range []struct {
			kind string
			// text is set when the result is written, else a line about it.
			text  bool
			flags []string
		}{
			{"text", true, nil},
			{"text", true, []string{"-o", "json"}},
			{"text", true, []string{"--jq", ".result.content[0].text"}},
			{"image", false, []string{"--save", filepath.Join(dir, way)}},
			{"image", true, []string{"-o", "json"}},
		} {
			if way != "json" && way != "stdio" && len(c.flags) > 0 {
				continue // what comes after the transport is the same
			}
			name := strings.Join(append([]string{way, c.kind}, c.flags...), " ")
			words := append(append([]string{"call"}, server...), "bulk", "size="+strconv.Itoa(bulkSize), "kind="+c.kind)
			m := measureCall(t, append(words, c.flags...)...)
			if m.code != codeOK {
				t.Errorf("%s: exit code %d: %s", name, m.code, m.stderr)
				continue
			}
			if c.text && m.out < bulkSize*9/10 { // of escapes less is left
				t.Errorf("%s: only %d bytes came: %s", name, m.out, m.head)
			}
			if m.peak > bulkRatio*bulkSize {
				t.Errorf("%s: %d MiB at the peak, %.1f times the result", name, m.peak>>20, float64(m.peak)/bulkSize)
			}
			t.Logf("%s: %.1f times the result", name, float64(m.peak)/bulkSize)
		}
		saved, err := filepath.Glob(filepath.Join(dir, way, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range saved {
			if info, err := os.Stat(file); err != nil || info.Size() != bulkSize/4*3 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
		if (way == "json" || way == "stdio") && len(saved) != 1 {
			t.Errorf("%s: %d files were saved", way, len(saved))
		}
	}
}

// TestAMessageOverTheLimitIsRefused is ST-06: with a length announced it is refused unread, and else when the limit is
// reached, also when it never ends.
func TestAMessageOverTheLimitIsRefused(t *testing.T) {
	notUnderRace(t)
	for way, server := range bulkServers(t) {
		for _, arguments := range [][]string{{"kind=text", "size=80000000"}, {"kind=endless"}} {
			if way == "json" && arguments[0] == "kind=endless" {
				continue
			}
			words := append(append([]string{"call", "--timeout", "60"}, server...), "bulk", "-o", "json")
			start := time.Now()
			m := measureCall(t, append(words, arguments...)...)
			for _, want := range []string{
				"tools/call: the answer was not taken: a message over 64 MiB, the largest that is accepted",
				"; the request may have been executed, so it was not repeated\n",
				"mcpctl: hint: check with a read-only call whether it took effect; ask for less at a time",
			} {
				if !strings.Contains(m.stderr, want) {
					t.Errorf("%s %q: no %q in %s", way, arguments, want, m.stderr)
				}
			}
			if m.code != codeUnknownOutcome || !bytes.Contains(m.head, []byte(`"class": "unknown-outcome"`)) {
				t.Errorf("%s %q: exit code %d, %s", way, arguments, m.code, m.head)
			}
			if m.peak > bulkRatio*bulkSize {
				t.Errorf("%s %q: %d MiB at the peak", way, arguments, m.peak>>20)
			}
			t.Logf("%s %q: %d MiB, %s", way, arguments, m.peak>>20, time.Since(start))
		}
	}
}
