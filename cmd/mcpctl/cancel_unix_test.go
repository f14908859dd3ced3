//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// chatterWays are the ways to reach a server that notes what it hears, with the words that name it.
func chatterWays(t *testing.T) map[string]func(heardFile) []string {
	t.Helper()
	return map[string]func(heardFile) []string{
		"stdio": func(h heardFile) []string { return []string{"--stdio", "chatter -heard " + string(h)} },
		"http":  func(h heardFile) []string { return []string{startChatter(t, "-heard", string(h)) + "/mcp"} },
		"older": func(h heardFile) []string {
			return []string{startChatter(t, "-heard", string(h)) + "/sse", "-t", "sse"}
		},
		"modern http":  func(h heardFile) []string { return []string{startChatter(t, "-modern", "-heard", string(h)) + "/mcp"} },
		"modern stdio": func(h heardFile) []string { return []string{"--stdio", "chatter -modern -heard " + string(h)} },
	}
}

// running is mcpctl at work.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// startMcpctl starts it with a home of its own. Standard output goes to out.
func startMcpctl(t *testing.T, out io.Writer, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.CommandContext(t.Context(), "mcpctl", args...)}
	home := t.TempDir()
	r.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	r.cmd.Stdout, r.cmd.Stderr = out, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// signal interrupts it and returns its exit code, and how long it took to end, without what the machine withheld.
func (r *running) signal(s os.Signal) (code int, elapsed time.Duration) {
	r.t.Helper()
	lap := stopwatch.Start(r.t)
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
	_ = r.cmd.Wait() // the code tells
	return r.cmd.ProcessState.ExitCode(), lap.End()
}

// callID finds the id of a call in what a server heard.
var callID = regexp.MustCompile(`(?m)^.*?"id":(\d+).*?"method":"tools/call"`)

// wantsCancelled fails if the server was not told that the call was given up, or told of another request.
func wantsCancelled(t *testing.T, way string, h heardFile) {
	t.Helper()
	if way == "modern http" { // there the end of the stream says so
		h.await(t, "closed\n")
		return
	}
	h.await(t, "notifications/cancelled")
	m := callID.FindStringSubmatch(h.all())
	if m == nil {
		t.Fatalf("no call in\n%s", h.all())
	}
	for line := range strings.Lines(h.all()) {
		if strings.Contains(line, "notifications/cancelled") && strings.Contains(line, `"requestId":`+m[1]) {
			return
		}
	}
	t.Errorf("the call %s was not cancelled:\n%s", m[1], h.all())
}

// TestCtrlCTellsTheServer gives up a call on every transport: the server hears of it before it is left.
func TestCtrlCTellsTheServer(t *testing.T) {
	t.Parallel()
	for way, name := range chatterWays(t) {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			h := newHeard(t)
			r := startMcpctl(t, nil, append(append([]string{"call"}, name(h)...), "wait")...)
			if !h.heard(`"tools/call"`) {
				t.Fatalf("%s: %s\n%s", way, h.all(), &r.stderr)
			}
			code, elapsed := r.signal(s)
			if code != codeInterrupted || elapsed > hangHurry+raceAllowance+time.Second {
				t.Errorf("%s, %s: exit code %d after %s: %s", way, s, code, elapsed, &r.stderr)
			}
			if !strings.Contains(r.stderr.String(), "interrupted; the call may have been executed\n") {
				t.Errorf("%s: it says %s", way, &r.stderr)
			}
			wantsCancelled(t, way, h)
		}
	}
}

// TestALimitThatRunsOutTellsTheServer does the same for --timeout.
func TestALimitThatRunsOutTellsTheServer(t *testing.T) {
	t.Parallel()
	for way, name := range chatterWays(t) {
		h := newHeard(t)
		r := startMcpctl(t, nil, append(append([]string{"call", "--timeout", "1"}, name(h)...), "wait")...)
		_ = r.cmd.Wait() // the code tells
		if code := r.cmd.ProcessState.ExitCode(); code != codeTimeout || !strings.Contains(r.stderr.String(), "; the call may have been executed\n") {
			t.Errorf("%s: exit code %d: %s", way, code, &r.stderr)
		}
		wantsCancelled(t, way, h)
	}
}

// TestCtrlCWhileNobodyReads ends a command whose output, of megabytes, nobody takes.
func TestCtrlCWhileNobodyReads(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-o", "json"}, {"--jq", ".result"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		run := startMcpctl(t, w, append([]string{"call", "--stdio", "chatter", "bulk", "size=2000000"}, flags...)...)
		_ = w.Close()
		if _, err := r.Read(make([]byte, 1)); err != nil { // it has begun to write
			t.Fatal(err)
		}
		code, elapsed := run.signal(os.Interrupt)
		if code != codeInterrupted || elapsed > hangHurry+raceAllowance || !strings.Contains(run.stderr.String(), "interrupted") {
			t.Errorf("%q: exit code %d after %s: %s", flags, code, elapsed, &run.stderr)
		}
		_ = r.Close()
	}
}

// TestCtrlCWhileAFilterLoops ends a filter that has no end.
func TestCtrlCWhileAFilterLoops(t *testing.T) {
	t.Parallel()
	h := newHeard(t)
	r := startMcpctl(t, nil, "call", "--stdio", "chatter -heard "+string(h), "say", "--jq", "last(range(1e18))")
	h.await(t, `"tools/call"`)
	if code, elapsed := r.signal(os.Interrupt); code != codeInterrupted || elapsed > hangHurry+raceAllowance+time.Second {
		t.Errorf("exit code %d after %s: %s", code, elapsed, &r.stderr)
	}
}

// TestPipesThatHeadCloses end quietly, with large results, too.
func TestPipesThatHeadCloses(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-o", "json"}, {"--jq", ".result.content[0].text"}, {"--jq", "."}} {
		for _, server := range [][]string{{"--stdio", "chatter"}, {startChatter(t) + "/mcp"}} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			run := startMcpctl(t, w, append(append(append([]string{"call"}, server...), "bulk", "size=2000000"), flags...)...)
			_ = w.Close()
			if _, err := r.Read(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			_ = r.Close()
			if err := run.cmd.Wait(); err != nil || strings.Contains(run.stderr.String(), "error") {
				t.Errorf("%q: %v: %s", flags, err, &run.stderr)
			}
		}
	}
}

// TestProgressOnATerminal is one line that fits, and is gone in the end.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	const progress = `before:=[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$TOKEN","progress":"$N","total":20,"message":"a message of some length \u001b[2J"}},` +
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"in between"}}]`
	for _, columns := range []uint16{40, 80} {
		code, out := onTerminalOf(t, columns, t.TempDir(), "call", "--stdio", "chatter", "say", progress, "times=15", "every=0.1", "--log-level", "error").end()
		if code != codeOK || !strings.Contains(out, "error\x1b[0m: in between\n") || withoutLive(out) != "said it 15 times\n" {
			t.Errorf("%d columns: exit code %d: %q", columns, code, out)
		}
		bars := regexp.MustCompile(`\r\x1b\[K([^\r\n\x1b]*█[^\r\n\x1b]*)`).FindAllStringSubmatch(out, -1)
		if len(bars) < 3 || len(bars) > 30 {
			t.Errorf("%d columns: drawn %d times: %q", columns, len(bars), out)
		}
		for _, bar := range bars {
			if n := utf8.RuneCountInString(bar[1]); n >= int(columns) {
				t.Errorf("%d columns: a line of %d: %q", columns, n, bar[1])
			}
		}
		if !strings.Contains(out, "% ") || strings.Contains(out, "\x1b[2J") {
			t.Errorf("%d columns: %q", columns, out)
		}
	}
}
