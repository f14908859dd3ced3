//go:build e2e && linux

package e2e

import (
	"fmt"
	"syscall"
	"testing"
)

const (
	// pingRestarts is how often a server goes during one ping.
	pingRestarts = 5
	// pingLoad is how many pings come to the server between two restarts.
	pingLoad = 20
)

// endless is a ping that goes on until it is interrupted, as often as it may.
func endless(words ...string) []string {
	return append([]string{"ping", "-i", "10ms", "-c", "1000000", "-o", "json"}, words...)
}

// TestPingThroughRestarts kills a remote server under load, and starts it again on the same port, several times. No ping
// is lost, each restart is told of, and the server sees one session for each of its lives.
func TestPingThroughRestarts(t *testing.T) {
	t.Parallel()
	for _, c := range remotes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, r := newUser(t), startRemote(t, c.mode)
			ping := u.start(endless(r.url)...)
			loaded := func(before int) {
				t.Helper()
				eventually(t, startTime, func() string { return "no pings come to the server: " + r.log() },
					func() bool { return r.posts() >= before+pingLoad })
			}
			loaded(0)
			for range pingRestarts {
				r.kill()
				before := r.posts()
				r.start()
				loaded(before)
			}
			o, _ := ping.interrupt()
			o.exits(0).json(
				`.version == 1 and .sent == .received and .lost == 0 and .losses == []`,
				fmt.Sprintf(`.recovered == %d`, pingRestarts),
				fmt.Sprintf(`(.recoveries | length) == %d and .session.handshakes == %d`, pingRestarts, pingRestarts+1),
				`all(.recoveries[]; .new_generation == .old_generation + 1 and .elapsed_ms > 0 and .at_seq > 1 and .cause != "")`,
				`[.recoveries[].at_seq] == ([.recoveries[].at_seq] | sort)`,
				// The longest gap is that of a restart, and no answer took longer.
				`.longest_gap_ms > ([.recoveries[].elapsed_ms] | max) and .longest_gap_ms >= .max_ms`,
				`([.histogram[].count] | add) == .received and .median_ms < .max_ms`,
			)
			if got := r.opened(); got != pingRestarts+1 {
				o.fatalf("%d sessions were opened, want %d; the server says\n%s", got, pingRestarts+1, r.log())
			}
		})
	}
}

// TestPingTellsOfARestart reads what a person reads.
func TestPingTellsOfARestart(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), startRemote(t, modeHTTP)
	ping := u.start("ping", "-i", "10ms", "-c", "1000000", r.url)
	for range 2 {
		before := r.posts()
		eventually(t, startTime, func() string { return "no pings come to the server: " + r.log() },
			func() bool { return r.posts() >= before+pingLoad })
		if r.opened() == 1 {
			r.kill()
			r.start()
		}
	}
	o, _ := ping.interrupt()
	o.exits(0).shows("PING "+r.url+" (http, legacy 2025-11-25): mcp-servers/everything ", "\nsession lost (", "); generation 1 → 2, in ",
		" 0 lost (0%), 1 session replaced, in ", "\nlongest time without an answer ")
}

// TestPingThroughDeathsOfTheChild kills the process group of a stdio server under load, several times.
func TestPingThroughDeathsOfTheChild(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	ping := u.start(endless(append([]string{"--"}, p.on("node", script("everything"), "stdio")...)...)...)
	loaded := func() {
		t.Helper()
		before := p.count("ping")
		eventually(t, startTime, func() string { return "no pings come to the server" },
			func() bool { return p.count("ping") >= before+pingLoad })
	}
	for range pingRestarts {
		loaded()
		send(t, -groupOf(t, runningWith(t, u.home, node22(), script("everything")).pid), syscall.SIGKILL)
	}
	loaded()
	o, _ := ping.interrupt()
	o.exits(0).json(
		`.sent == .received and .lost == 0`,
		fmt.Sprintf(`.recovered == %d and .session.handshakes == %d`, pingRestarts, pingRestarts+1),
		`all(.recoveries[]; .cause | contains("killed"))`,
	)
	p.wants("initialize", pingRestarts+1)
}

// TestPingLosesWhatNobodyAnswers stops the server, which then is alive and silent: the ping under way is lost at its own
// limit, and those after it are answered again.
func TestPingLosesWhatNobodyAnswers(t *testing.T) {
	t.Parallel()
	u, p := newUser(t), newTap(t)
	ping := u.start(endless(append([]string{"--timeout", "1s", "--"}, p.on("node", script("everything"), "stdio")...)...)...)
	eventually(t, startTime, func() string { return "no pings come to the server" }, func() bool { return p.count("ping") >= pingLoad })
	server := runningWith(t, u.home, node22(), script("everything")).pid
	send(t, server, syscall.SIGSTOP)
	eventually(t, startTime, func() string { return "the server was not told" }, func() bool { return p.count("notifications/cancelled") > 0 })
	send(t, server, syscall.SIGCONT)
	before := p.count("ping")
	eventually(t, startTime, func() string { return "no more pings come" }, func() bool { return p.count("ping") >= before+pingLoad })
	o, _ := ping.interrupt()
	o.exits(1).json(
		`.lost > 0 and .received == .sent - .lost and .recovered == 0`,
		`all(.losses[]; .class == "timeout" and .message == "no answer within timeout 1s (flag --timeout)")`,
		`.session.handshakes == 1`,
	)
}
