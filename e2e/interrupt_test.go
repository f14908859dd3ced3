//go:build e2e && linux

package e2e

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

const (
	// interruptTime is how long mcpctl may take to end after Ctrl-C: the server is given 0.8 s, and the machine is busy.
	interruptTime = 3 * time.Second
	// hastyTime tells the 0.8 s that a server is given when nobody waits any more from the 2.7 s of an orderly end.
	hastyTime = 1800 * time.Millisecond
)

// slowCall is a call that takes a minute.
func slowCall(server string) []string {
	return []string{"call", server, "trigger-long-running-operation", "duration=60", "steps=60", "-o", "json"}
}

// TestCtrlCDuringACall ends the call, and the server with all its wrappers.
func TestCtrlCDuringACall(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"node": {"node", script("everything")},
		"npx":  {"npx", "-y", "@modelcontextprotocol/server-everything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, p := newUser(t), newTap(t)
			u.run(append([]string{"add", "every", "--no-check", "--cwd", directory, "--"}, p.on(command...)...)...).exits(0)
			r := u.start(slowCall("every")...)
			p.await("tools/call", 1)
			o, elapsed := r.interrupt()
			o.exits(130).json(`.error | .class == "interrupted" and .exit_code == 130`)
			if elapsed > interruptTime {
				o.fatalf("it took %s to end", elapsed)
			}
			p.wants("tools/call", 1)
			p.wants("initialize", 1)
		})
	}
}

// TestCtrlCDuringACallOverHTTP ends the call and deletes the session; the server is somebody else's and goes on.
func TestCtrlCDuringACallOverHTTP(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"http": modeHTTP, "sse": modeSSE} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, r := newUser(t), startRemote(t, mode)
			u.run("add", "every", "--no-check", r.url).exits(0)
			u.run("call", "every", "echo", "message=hi").exits(0) // from now on the server is known
			usual := func() int {
				before := r.posts()
				u.run("call", "every", "echo", "message=hi").exits(0)
				return r.posts() - before
			}()
			before := r.posts()
			call := u.start(slowCall("every")...)
			// The call is the last message, and ending an HTTP session is none.
			eventually(t, startTime, func() string { return "the call did not come to the server: " + r.log() },
				func() bool { return r.posts()-before >= usual })
			o, elapsed := call.interrupt()
			o.exits(130).json(`.error | .class == "interrupted" and .exit_code == 130`)
			if elapsed > interruptTime {
				o.fatalf("it took %s to end", elapsed)
			}
			r.wantsSessions(3)
			u.run("call", "every", "echo", "message=hi").exits(0).prints("Echo: hi")
		})
	}
}

// TestCtrlCWhileTheServerStarts ends the opening: nothing is saved, and npx is gone before it has become a server.
func TestCtrlCWhileTheServerStarts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.cwd = directory
	r := u.start("add", "every", "--", "npx", "-y", "@modelcontextprotocol/server-everything")
	eventually(t, startTime, func() string { return "npx was not started" },
		func() bool { return len(processes(t, u.home)) > 1 })
	o, elapsed := r.interrupt()
	o.exits(130).prints("").complains("interrupted")
	if elapsed > interruptTime {
		o.fatalf("it took %s to end", elapsed)
	}
	u.run("list", "-o", "json").exits(0).json(`.servers == []`)
}

// TestCtrlCOnATerminal presses the key: the terminal sends the signal to mcpctl, and mcpctl ends the server.
func TestCtrlCOnATerminal(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	command := []string{"npx", "-y", "@modelcontextprotocol/server-everything"}
	u.run(append([]string{"add", "every", "--no-check", "--cwd", directory, "--"}, p.on(command...)...)...).exits(0)

	cmd := exec.CommandContext(t.Context(), mcpctl, "call", "every", "trigger-long-running-operation", "duration=60")
	cmd.Env = append(u.environ(), "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	var screen writing
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(&screen, terminal) // ends with an error when the program has gone
	}()
	t.Cleanup(func() { _ = terminal.Close() })

	p.await("tools/call", 1)
	begin := time.Now()
	const ctrlC = "\x03"
	if _, err := io.WriteString(terminal, ctrlC); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(commandTime):
		_ = cmd.Process.Signal(os.Interrupt)
		t.Fatalf("it does not end; on the terminal:\n%s", screen.String())
	}
	elapsed := time.Since(begin)
	<-closed
	if code := cmd.ProcessState.ExitCode(); code != 130 || elapsed > interruptTime {
		t.Errorf("%v after %s, want code 130 within %s; on the terminal:\n%s", err, elapsed, interruptTime, screen.String())
	}
	if !strings.Contains(screen.String(), "interrupted") {
		t.Errorf("it does not say that it was interrupted; on the terminal:\n%s", screen.String())
	}
	nothingRuns(t, u.home)
}

// TestALimitThatRunsOut ends the call at its limit, and the server as hastily as after Ctrl-C: nobody waits any more.
func TestALimitThatRunsOut(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	u, p := newUser(t), newTap(t)
	u.run(append([]string{"add", "every", "--no-check", "--"}, p.on("node", script("everything"))...)...).exits(0)
	silent := []string{"call", "every", "trigger-long-running-operation", "duration=60", "steps=1", "-o", "json"}
	r := u.start(append(silent, "--timeout", limit.String())...)
	p.await("tools/call", 1)
	begin := time.Now()
	o := r.wait().exits(6).complains("every", "timeout 2s", "--timeout").json(
		`.error | .class == "timeout" and .exit_code == 6 and .phase == "tools/call" and .server == "every"`,
		`.error.limit == {name: "timeout", value_ms: 2000, source: "flag --timeout"}`,
		`.error.outcome == "unknown"`,
	)
	if elapsed := time.Since(begin) - limit; elapsed > hastyTime {
		o.fatalf("it took %s to end after the limit, want at most %s", elapsed, hastyTime)
	}
	p.wants("tools/call", 1)
	p.wants("initialize", 1)
}

// TestTheServerIsToldThatNobodyWaits wants the notification that lets a server stop its work. See the MCP specification,
// 2025-11-25, "Cancellation" and "Timeouts".
func TestTheServerIsToldThatNobodyWaits(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	u.run(append([]string{"add", "every", "--no-check", "--"}, p.on("node", script("everything"))...)...).exits(0)
	r := u.start(slowCall("every")...)
	p.await("tools/call", 1)
	o, _ := r.interrupt()
	o.exits(130)
	p.wants("notifications/cancelled", 1)
	u.run(append(slowCall("every"), "--timeout", "1s")...).exits(6)
	p.wants("notifications/cancelled", 2)
}

// TestProgressBeginsTheLimitAnew lets a call that reports progress go on, up to the limit over all.
func TestProgressBeginsTheLimitAnew(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.run("add", "every", "--no-check", "--", "node", script("everything")).exits(0)
	u.run("call", "every", "trigger-long-running-operation", "duration=6", "steps=12", "--timeout", "3s").exits(0)
	u.run(append(slowCall("every"), "--timeout", "2s", "--max-timeout", "4s")...).exits(6).json(
		`.error.limit == {name: "max_timeout", value_ms: 4000, source: "flag --max-timeout"}`,
	)
	nothingRuns(t, u.home)
}
