//go:build e2e && linux

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// recovered are the expressions that are true of a doctor's report after one kill: one more handshake, and a request
// that was executed once.
func recovered(killedBy string) []string {
	return []string{
		`[.servers[0].checks[] | select(.status == "fail" or .status == "unknown")] == []`,
		`[.servers[0].checks[] | select(.id | startswith("recovery.")) | .id + " " + .status] ==
			["recovery.kill pass", "recovery.fresh pass", "recovery.request pass"]`,
		fmt.Sprintf(`check("recovery.kill").data | .killed_by == %q and .confirmed and .kills == 1 and (.announced_as | length) > 0`, killedBy),
		fmt.Sprintf(`check("recovery.fresh").data | .killed_by == %q and (.announced_as | length) > 0`, killedBy),
		`check("recovery.fresh").data | .handshakes == 1 and .generation == 2 and .old_generation == 1`,
		`check("recovery.fresh").data | .detect_ms > 0 and .fresh_ms > 0`,
		`check("recovery.fresh").data.announced_as == check("recovery.kill").data.announced_as`,
		`check("recovery.request").data | .executions == 1 and .handshakes == 1 and .request_ms > 0`,
	}
}

// TestRecoveryOverStdio kills the process group of the server, a wrapper included.
func TestRecoveryOverStdio(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"node": {"node", script("everything"), "stdio"},
		"npx":  {"npx", "-y", "@modelcontextprotocol/server-everything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, p := newUser(t), newTap(t)
			u.run(append([]string{"add", "every", "--no-check", "--cwd", directory, "--"}, p.on(command...)...)...).exits(0)
			u.run("doctor", "every", "--kill-session", "-o", "json").exits(0).complains().json(append(recovered("sigkill"),
				`check("recovery.kill").data | .pid > 0 and (.announced_as | contains("killed"))`,
				`check("recovery.request").data.attempts == 1`, // the death was known before, so nothing was sent to the dead
				`check("shutdown.close") | .status == "pass" and .data.ended_by == "eof"`,
			)...)
			p.wants("initialize", 2)
			p.wants("notifications/initialized", 2)
		})
	}
}

// TestRecoveryOverHTTP deletes the session. This server answers a session that it does not know with 400, where the
// specification asks for 404.
func TestRecoveryOverHTTP(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), startRemote(t, modeHTTP)
	o := u.run("doctor", r.url, "--kill-session", "-o", "json").exits(0).complains().json(append(recovered("delete"),
		`check("recovery.kill").data.announced_as | contains("HTTP 400") and contains("No valid session ID provided")`,
		`check("recovery.fresh").data | (.old_session | length) > 0 and (.new_session | length) > 0 and .old_session != .new_session`,
		`check("recovery.fresh").data.old_session == check("recovery.kill").data.old_session`,
		`check("recovery.request").data.attempts == 2`, // refused on the dead session, answered on the fresh one
	)...)
	if o.number(`check("recovery.fresh").data.new_session | length`) > 12 {
		o.fatalf("the session's id is not shortened")
	}
	r.wantsSessions(2)

	u.run("doctor", r.url, "--kill-session=3", "-o", "json").exits(0).complains().json(
		`check("recovery.kill") | .status == "pass" and .data.kills == 3`,
		`check("recovery.fresh").data | .generation == 4 and .handshakes == 1`,
	)
	r.wantsSessions(2 + 4)
}

// TestRecoveryOverSSE closes the stream, which is the session.
func TestRecoveryOverSSE(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), startRemote(t, modeSSE)
	u.run("doctor", r.url, "--kill-session", "-o", "json").exits(0).complains().json(append(recovered("stream closed"),
		`check("recovery.kill").data.announced_as | contains("stream")`,
		`check("recovery.request").data.attempts == 1`,
	)...)
	r.wantsSessions(2)
}

// The bounds on the end of a server that ignores the end of its standard input: 2 s of patience, then SIGTERM. The
// upper one leaves room for a busy machine and still tells 2 s from the 5 s that other clients wait.
const (
	leastClose = 1900
	mostClose  = 4500
)

// TestAServerThatIgnoresTheEndOfItsInput is ended after 2 s, and doctor says so. The server's input is kept open by
// a process of its group, as wrappers do that start the server in the background.
func TestAServerThatIgnoresTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.run("add", "stubborn", "--no-check", "--", "sh", "-c", `{ cat; exec sleep 600; } | exec node "$0"`, script("everything")).exits(0)
	o := u.run("doctor", "stubborn", "-o", "json").exits(0).complains().json(
		`.servers[0].verdict == "warn"`,
		`[.servers[0].checks[] | select(.status != "pass" and .status != "skip") | .id] == ["shutdown.close"]`,
		`check("shutdown.close") | .status == "warn" and .data.ended_by == "sigterm" and (.fix | length) > 0`,
	)
	if ms := o.number(`check("shutdown.close").data.close_ms`); ms < leastClose || ms > mostClose {
		o.fatalf("the end took %.0f ms", ms)
	}
}

// TestAServerThatIsBusyWhenItsInputEnds is the server "everything" itself after a tool has started its timer: it goes
// on for ever, and the call ends all the same.
func TestAServerThatIsBusyWhenItsInputEnds(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	command := p.on("npx", "-y", "@modelcontextprotocol/server-everything")
	u.run(append([]string{"add", "every", "--no-check", "--cwd", directory, "--"}, command...)...).exits(0)
	r := u.start("call", "every", "toggle-simulated-logging")
	p.await("tools/call", 1)
	begin := time.Now()
	o := r.wait().exits(0).complains().shows("Started simulated")
	// The tool itself takes milliseconds.
	if ms := time.Since(begin).Milliseconds(); ms < leastClose || ms > mostClose {
		o.fatalf("the end took %d ms", ms)
	}
}
