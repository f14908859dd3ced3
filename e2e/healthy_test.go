//go:build e2e && linux

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// findings are the checks that find something at a server, each with a sentence that says why the finding is a real one,
// which the server's author can act on.
type findings map[string]string

// What is the same at several servers.
const (
	foreignHost = "it answers a request with a Host and an Origin that are not its own, so that any page in a browser can reach it"
	endedAnswer = "it answers a session that was ended by DELETE with something other than the 404 by which clients know to open another"
)

// realServers are the healthy servers, and how each may be reached. Nothing fails there, and nothing warns but what is
// listed, so that a false alarm shows, and a new finding, too.
func realServers() []realServer {
	return []realServer{
		{server: demoStdio, protocol: legacy},
		{server: demoStdio, protocol: modern},
		{server: demoHTTP, protocol: legacy},
		{server: demoStateless, protocol: legacy},
		{server: demoStateless, protocol: modern},
		{server: everythingStdio},
		{server: everythingHTTP, findings: findings{"http.host": foreignHost, "session.ended": endedAnswer}},
		{server: everythingSSE},
		{server: filesystem},
		{server: memory},
		{server: sequentialThinking},
		{server: playwright},
		{server: mcpGoStdio, protocol: legacy},
		{server: mcpGoStdio, protocol: modern},
		// It makes up ids and keeps none, unless it is told to: DELETE is accepted, and the session lives on.
		{server: mcpGoHTTP, protocol: legacy, findings: findings{"session.ended": endedAnswer}},
		{server: mcpGoHTTP, protocol: modern},
		{server: typescriptStdio, protocol: legacy},
		{server: typescriptStdio, protocol: modern},
		{server: typescriptHTTP, protocol: legacy},
		{server: typescriptHTTP, protocol: modern},
		{server: typescriptSessions},
	}
}

// The newest version of each era.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// realServer is a healthy server and what is found there.
type realServer struct {
	server string
	// protocol is the version that is asked for. Without one the server has the legacy era alone.
	protocol string
	findings findings
}

// wanted returns the ids of the findings that these checks can make, sorted, and those that they cannot.
func (r realServer) wanted(known []string) (ids, missing []string) {
	for id := range r.findings {
		if slices.Contains(known, id) {
			ids = append(ids, id)
		} else {
			missing = append(missing, id)
		}
	}
	slices.Sort(ids)
	slices.Sort(missing)
	return ids, missing
}

// TestHealthyServersAreHealthy examines servers that others wrote with every check, without and with the drill.
func TestHealthyServersAreHealthy(t *testing.T) {
	t.Parallel()
	known := knownChecks(newUser(t))
	for _, c := range realServers() {
		name := c.server
		if c.protocol != "" {
			name += ", " + c.protocol
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, missing := c.wanted(known)
			for _, id := range missing {
				t.Logf("there is no check %s, and there is something to find: %s", id, c.findings[id])
			}
			verdict := "pass"
			if len(want) > 0 {
				verdict = "warn"
			}
			u := newUser(t)
			flags := []string{"add", "it", "--no-check"}
			if c.protocol != "" {
				flags = append(flags, "--protocol", c.protocol)
			}
			u.run(slices.Concat(flags, words(t, c.server))...).exits(0)
			for _, drill := range [][]string{nil, {"--kill-session"}} {
				o := u.run(slices.Concat([]string{"doctor", "it", "-o", "json"}, drill)...).exits(0).complains()
				s := o.examined()
				found := map[string][]string{}
				for _, ch := range s.Checks {
					found[ch.Status] = append(found[ch.Status], ch.ID)
					if ch.Status != "pass" && ch.Status != "skip" && ch.Fix == "" {
						o.fatalf("%s tells of no fix", ch.ID)
					}
					if ch.Status == "skip" && strings.HasPrefix(ch.Message, "needs ") {
						o.fatalf("%s is skipped: %s", ch.ID, ch.Message)
					}
				}
				if len(found["fail"])+len(found["unknown"]) > 0 || s.Incomplete || s.Verdict != verdict {
					o.fatalf("the verdict is %q, want %q and a complete report without failures", s.Verdict, verdict)
				}
				slices.Sort(found["warn"])
				if !slices.Equal(found["warn"], want) {
					o.fatalf("warnings are %v, want %v", found["warn"], want)
				}
				for _, id := range []string{"session.open", "session.reuse", "protocol.capabilities", "tools.list", "shutdown.close"} {
					if !slices.Contains(found["pass"], id) {
						o.fatalf("%s has not passed", id)
					}
				}
				o.json(
					fmt.Sprintf(`check("session.open").data.protocol_version == %q`, cmp.Or(c.protocol, legacy)),
					`check("tools.list").data.count > 0`,
				)
				if drill != nil {
					// Where there is no session there is none to replace, and a request is answered all the same.
					o.json(
						`check("recovery.kill").status == "pass" and check("recovery.request").status == "pass"`,
						`check("recovery.request").data.executions == 1`,
						`check("recovery.fresh") | .status == "skip" or .data.handshakes == 1`,
					)
				}
			}
		})
	}
}

// report is what doctor says of one server.
type report struct {
	Verdict    string
	Incomplete bool
	Checks     []struct {
		ID, Status, Message, Fix string
	}
}

// examined returns doctor's report of the one server that it was asked about.
func (o *outcome) examined() report {
	o.t.Helper()
	var doc struct{ Servers []report }
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || len(doc.Servers) != 1 {
		o.fatalf("not the report of one server: %v", err)
	}
	return doc.Servers[0]
}

// knownChecks returns the ids of all checks.
func knownChecks(u *user) []string {
	u.t.Helper()
	o := u.run("doctor", "--list-checks", "-o", "json").exits(0)
	var doc struct {
		Checks []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || len(doc.Checks) == 0 {
		o.fatalf("not a list of checks: %v", err)
	}
	var ids []string
	for _, c := range doc.Checks {
		ids = append(ids, c.ID)
	}
	return ids
}
