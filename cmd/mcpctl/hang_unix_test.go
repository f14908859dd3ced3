//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// hangMark is the variable by which the processes of one run are found in /proc.
	hangMark = "MCPCTL_TEST_HANG"
	// hangReached is the variable with the pipe into which a child says that it has stopped.
	hangReached = "MCPCTL_TEST_HANG_REACHED"
	// nowhere is no message.
	nowhere = "-"
	// hangLife bounds every child, so that a failing test leaves none for long.
	hangLife = 90 * time.Second
)

// hangScript is a server that stops in the way and at the message that its arguments say. It is a script because there
// are hundreds of them: a shell starts in a millisecond, this test binary under the race detector in a hundred.
const hangScript = `
how=$1 at=$2
arrive() { echo > "$MCPCTL_TEST_HANG_REACHED"; }
stay() { exec sleep 90; }
hold() { exec 3<&0; (trap '' TERM; exec sleep 90) <&3 & exec 3<&-; }
halt() {
	arrive
	case $how in
	'never answers') ;;
	'never reads') stay ;;
	'closes stdout') exec >&-; stay ;;
	'closes stdin') exec <&-; stay ;;
	'stops itself') kill -STOP $$ ;;
	orphan) exit 0 ;;
	esac
}
case $how in
'never reads' | 'closes stdin') early=yes ;; # at the point they have done so already
'ignores end and SIGTERM') trap '' TERM ;;
grandchild | orphan) hold ;;
esac
if [ "$early$at" = yesinitialize ]; then halt; fi
while IFS= read -r line; do
	method=${line#*'"method":"'}
	method=${method%%'"'*}
	id=${line#*'"id":'}
	id=${id%%,*}
	if [ "$method" = "$at" ] && [ -z "$early" ]; then halt; continue; fi
	result=
	case $method in
	initialize) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hang","version":"1"}}' ;;
	ping) result='{}' ;;
	tools/list) result='{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}]}' ;;
	tools/call) result='{"content":[{"type":"text","text":"hello"}]}' ;;
	notifications/*) continue ;;
	*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}'; continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
	if [ "$early$method$at" = yestools/listtools/call ]; then halt; fi
done
case $how in
'ignores end'*) arrive; stay ;;
grandchild) arrive ;;
esac
`

// hangServe is what the test binary does as a child: an MCP server that floods one of its standard streams at a message,
// and then neither reads nor answers.
func hangServe() {
	time.AfterFunc(hangLife, func() { os.Exit(3) })
	how, at := os.Args[1], os.Args[2]
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		switch err := json.Unmarshal(line, &msg); {
		case err == nil && msg.Method == at:
			f, err := os.OpenFile(os.Getenv(hangReached), os.O_WRONLY, 0)
			if err != nil {
				panic(err)
			}
			put(f, "\n")
			hangFlood(how)
			return
		case err == nil:
			if answer := mcpAnswer(msg.Method, msg.ID); answer != "" {
				put(os.Stdout, answer+"\n")
			}
		}
	}
}

// hangFlood writes without end, with pauses that leave the other tests something of the machine.
func hangFlood(how string) {
	const pause = 10 * time.Millisecond
	switch how {
	case "floods stderr":
		flood(os.Stderr, strings.Repeat("something is wrong, but what?\n", 500), pause)
	case "floods stdout":
		flood(os.Stdout, strings.Repeat("listening on port 8080 \x1b[1m{ready}\x1b[0m\n", 100), pause)
	case "begins an object":
		put(os.Stdout, "{\n")
		flood(os.Stdout, strings.Repeat("\"a key of some length\": [1, 2, 3],\n", 100), pause)
	case "a line without end":
		flood(os.Stdout, strings.Repeat("x", 16<<10), pause)
	case "a line without end, fast":
		flood(os.Stdout, strings.Repeat("x", 64<<10), 0)
	}
}

// flood writes text again and again.
func flood(w io.Writer, text string, pause time.Duration) {
	for put(w, text) {
		time.Sleep(pause)
	}
}

// floods are the ways to stop that write without end.
var floods = []string{"floods stderr", "floods stdout", "begins an object", "a line without end", "a line without end, fast"}

// overStdio prepares a child.
func overStdio(how, at string, argument int) func(*testing.T) (hangTarget, <-chan struct{}) {
	return func(t *testing.T) (hangTarget, <-chan struct{}) {
		t.Helper()
		dir := t.TempDir()
		fifo := filepath.Join(dir, "reached")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(fifo, os.O_RDWR, 0) // for both, so that nobody waits for the other side
		if err != nil {
			t.Fatal(err)
		}
		reached := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := f.Read(make([]byte, 1)); err == nil {
				close(reached)
			}
		}()
		t.Cleanup(func() {
			_ = f.Close()
			<-done
		})
		target := hangTarget{env: []string{hangMark + "=" + markOf(t), hangReached + "=" + fifo}}
		if slices.Contains(floods, how) {
			exe, err := exec.LookPath("hangserver")
			if err != nil {
				t.Fatal(err)
			}
			target.command = []string{exe, how, at}
		} else {
			script := filepath.Join(dir, "server.sh")
			if err := os.WriteFile(script, []byte(hangScript), 0o600); err != nil {
				t.Fatal(err)
			}
			target.command = []string{"sh", script, how, at}
		}
		if argument > 0 {
			target.argument = largeArgument(t, argument)
		}
		return target, reached
	}
}

// markOf is the mark of a test's processes. It ends with a sign that is in no name, so that no mark begins another.
func markOf(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(t.Name(), " ", "_") + ";"
}

// noProcessLeft fails if a process with the mark of the test is alive, and ends it. Only Linux tells.
func noProcessLeft(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(hangMark+"="+markOf(t))) {
			continue // it has ended, or is another user's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		words, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		t.Errorf("process %d is left: %q", pid, words)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// stdioRuns are the points of child processes.
func stdioRuns() []hangRun {
	var runs []hangRun
	for _, c := range []hangCommand{hangCall, hangTools, hangAdd, hangList, hangDoctor, hangDrill} {
		add := func(how, at string, limits time.Duration, codes ...int) {
			runs = append(runs, hangRun{
				name: fmt.Sprintf("stdio/%s/%s", at, how), command: c, limits: limits, codes: codes,
				prepare: overStdio(how, at, 0), after: noProcessLeft,
			})
		}
		listLimit := hangLimit
		if c == hangDrill {
			listLimit += hangLimit // the request that shows the recovery is a list, too
		}
		deafLimit := hangLimit
		if c == hangDoctor || c == hangDrill {
			deafLimit = 3 * hangLimit // it asks for the resources and the prompts, too
		}
		if c == hangDrill {
			deafLimit += hangLimit
		}
		silences := append([]string{"never answers", "stops itself"}, floods[:4]...)
		if c == hangAdd || c == hangList {
			silences = silences[:3] // they go the way that tools goes
		}
		for _, how := range silences {
			add(how, "initialize", hangLimit, c.timedOut)
			if how == "never answers" {
				add(how, "tools/list", listLimit, c.timedOut)
			} else {
				add(how, "tools/list", deafLimit, c.timedOut)
			}
			if c == hangCall {
				add(how, "tools/call", hangLimit, codeTimeout)
			}
		}
		add("never reads", "initialize", hangLimit, c.timedOut)
		add("closes stdout", "initialize", 0, c.lost)
		add("closes stdin", "initialize", hangLimit, c.lost, c.timedOut) // which, depends on who is faster
		add("orphan", "initialize", 0, c.lost)
		// The session is replaced, and the repeated request meets the same.
		if c != hangDoctor && c != hangDrill {
			add("closes stdout", "tools/list", hangLimit, c.lost)
			add("orphan", "tools/list", hangLimit, c.lost)
		}
		add("ignores end", nowhere, 0, codeOK)
		add("ignores end and SIGTERM", nowhere, 0, codeOK)
		add("grandchild", nowhere, 0, codeOK)
	}
	const large = 300 << 10 // a pipe holds 64 KiB
	for _, e := range []struct {
		how   string
		size  int
		codes []int
	}{
		{"never reads", 0, []int{codeTimeout}},
		{"never reads", large, []int{codeTimeout}},
		{"closes stdout", 0, []int{codeUnknownOutcome}},
		{"orphan", 0, []int{codeUnknownOutcome}},
		// What was not written is written to a fresh process, which is not asked for a list before and so reads it.
		{"closes stdin", 0, []int{codeOK, codeTimeout}},
	} {
		runs = append(runs, hangRun{
			name: fmt.Sprintf("stdio/tools/call/%s/%d bytes", e.how, e.size), command: hangCall, limits: hangLimit, codes: e.codes,
			prepare: overStdio(e.how, "tools/call", e.size), after: noProcessLeft,
		})
	}
	for _, how := range []string{"never answers", "stops itself"} {
		runs = append(runs, hangRun{
			name: "stdio/notifications/initialized/" + how, command: hangCall, limits: hangLimit,
			codes:   []int{map[string]int{"never answers": codeOK, "stops itself": codeTimeout}[how]},
			prepare: overStdio(how, "notifications/initialized", 0), after: noProcessLeft,
		})
	}
	return runs
}

// greedyRuns take all of the machine, so each must be alone: it is over as soon as the line is longer than any message.
func greedyRuns() []hangRun {
	return []hangRun{{
		name: "stdio/tools/call/a line without end, fast", command: hangCall, limits: hangLimit,
		codes:   []int{codeConnect, codeTimeout, codeUnknownOutcome}, // which, depends on how fast the machine is: the line ends it, the limit, or both at once
		prepare: overStdio("a line without end, fast", "tools/call", 0), after: noProcessLeft,
	}}
}
