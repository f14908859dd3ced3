//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// doctorFault is what doctor has to find in a case about sessions, without and with the drill.
type doctorFault struct {
	name        string
	delay       time.Duration // replaces the main delay of the case
	undeleted   bool          // the case does not let its sessions be deleted
	refused     bool          // the case refuses some of the handshakes
	plain, kill doctorWant
}

// doctorWant is what is right for one run.
type doctorWant struct {
	verdict string
	// check and class are those of the cause of a failure.
	check, class string
	handshakes   int
	// says are expressions for "ID STATUS: MESSAGE", of which each must match a check.
	says []string
}

// code is the exit code that belongs to the verdict.
func (w doctorWant) code() int {
	if w.verdict == "fail" {
		return codeFailed
	}
	return codeOK
}

// doctorFaults are all cases of the area. In most of them every other session dies under its first request: doctor loses
// the first one, tells of it, and goes on with the second. The drill then kills the second, and the third dies by itself
// again: a request repeated on it is lost for good, as a call would be.
func doctorFaults() []doctorFault {
	const lost = `^session\.reuse warn: the session was lost and had to be replaced, which took [\d.]+ m?s: `
	forgets := func(name, cause string) doctorFault {
		return doctorFault{
			name:  name,
			plain: doctorWant{verdict: "warn", handshakes: 2, says: []string{lost + cause}},
			kill: doctorWant{
				verdict: "fail", check: "recovery.request", class: "session", handshakes: 3,
				says: []string{
					lost + cause, `^recovery\.kill pass: session sess-2-\S* deleted`, `^recovery\.fresh pass: generation 3, noticed in .* ready in `,
					`^recovery\.request fail: tools/list: a fresh session was accepted and lost again at once: ` + cause,
				},
			},
		}
	}
	waits := forgets("session-fresh-wait", `HTTP 404 .*Session not found`)
	waits.delay, waits.refused = 1500*time.Millisecond, true
	drilled := func(handshakes int, says ...string) doctorWant {
		return doctorWant{verdict: "pass", handshakes: handshakes, says: append([]string{
			`^recovery\.fresh pass: generation 2, noticed in .*, ready in `, `^recovery\.request pass: answered once, after .*; refused once before`,
		}, says...)}
	}
	const slow = `^shutdown\.close warn: the server did not answer DELETE within `
	hangs := drilled(2, `^recovery\.kill pass: DELETE not answered, made-up id sent; HTTP 404`, slow)
	hangs.verdict = "warn"
	dead := doctorWant{
		verdict: "fail", check: "session.reuse", class: "session", handshakes: 3,
		says: []string{`^session\.reuse fail: .*a fresh session was accepted and lost again at once: HTTP 404`},
	}
	replicas := doctorWant{
		// It is opened twice, as the server may have been restarted in the middle of the first handshake, and once by hand.
		verdict: "fail", check: "session.affinity", class: "session", handshakes: 3,
		says: []string{`^session\.affinity fail: 4 of 8 connections reached an instance that does not know this session`},
	}
	repeats := `^tools\.list warn: 3 tools; the first tools/list was lost \(EOF\) and had to be repeated on a fresh session`
	return []doctorFault{
		forgets("session-404-restart", `HTTP 404 .*Session not found`),
		forgets("session-400-no-valid-id", `HTTP 400 .*No valid session ID provided`),
		forgets("session-200-invalid-params", `Invalid params: Invalid or expired session`),
		waits,
		{name: "session-always-dead", plain: dead, kill: dead},
		{
			name: "session-replacement-no-id", undeleted: true,
			plain: doctorWant{verdict: "warn", handshakes: 2, says: []string{lost}},
			kill: doctorWant{verdict: "warn", handshakes: 2, says: []string{
				lost, `^recovery\.kill pass: no session to kill; the connections were dropped`,
				`^recovery\.fresh skip: there was no session to replace`, `^recovery\.request pass: answered once`,
			}},
		},
		forgets("session-needs-initialized", `HTTP 404 .*Session not found`),
		{name: "session-lb-alternate", undeleted: true, plain: replicas, kill: replicas},
		{
			name: "session-delete-405", undeleted: true,
			plain: doctorWant{verdict: "pass", handshakes: 1},
			kill:  drilled(2, `^recovery\.kill pass: DELETE refused with 405, made-up id sent; HTTP 404`),
		},
		forgets("session-401-stale", `HTTP 401 .*Session not found`),
		forgets("session-200-not-initialized", `Server not initialized`),
		forgets("session-409-conflict", `.*Stale session`),
		forgets("session-503-then-404", `HTTP (503|404) .*session is unknown`),
		forgets("session-404-malformed", `HTTP 404 `),
		{
			name: "session-delete-hang", undeleted: true,
			plain: doctorWant{verdict: "warn", handshakes: 1, says: []string{slow}},
			kill:  hangs,
		},
		{
			name:  "replay-hazard-drop",
			plain: doctorWant{verdict: "pass", handshakes: 1},
			kill:  drilled(2, `^recovery\.kill pass: session sess-1-\S* deleted`),
		},
		{
			name:  "replay-safe-list",
			plain: doctorWant{verdict: "warn", handshakes: 2, says: []string{repeats}},
			kill: doctorWant{verdict: "warn", handshakes: 3, says: []string{
				repeats, `^recovery\.fresh pass: generation 3`, `^recovery\.request pass: answered once, after .*; one before may have run, too`,
			}},
		},
	}
}

// TestDoctorOnSessionFaults runs doctor on every case about sessions, without and with the drill: what it finds, what the
// servers saw of it, and that nothing is left behind.
func TestDoctorOnSessionFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	wants := map[string]doctorFault{}
	for _, f := range doctorFaults() {
		wants[f.name] = f
	}
	var all sync.WaitGroup
	for _, c := range faultlab.Cases() {
		if c.Area != "session" {
			continue
		}
		f, ok := wants[c.Name]
		if !ok {
			t.Errorf("%s is not in the table", c.Name)
			continue
		}
		delete(wants, c.Name)
		for _, over := range []faultlab.Transport{faultlab.HTTP, faultlab.Stdio} {
			if c.Over&over == 0 {
				continue
			}
			for do, want := range map[string]doctorWant{"doctor SERVER": f.plain, "doctor SERVER --kill-session": f.kill} {
				all.Go(func() {
					t.Run(fmt.Sprintf("%s/%s/%s", c.Name, over, do), func(t *testing.T) {
						f.run(t, faultJob{c: faultCase{name: c.Name}, fault: c, run: faultRun{do: do, delay: f.delay}, over: over}, want)
					})
				})
			}
		}
	}
	all.Wait()
	for name := range wants {
		t.Errorf("the laboratory has no case %s", name)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// doctorReport is what is looked at of the document of doctor.
type doctorReport struct {
	Servers []struct {
		Verdict string
		Cause   *struct{ Check, Class, Fix string }
		Checks  []struct {
			ID, Status, Message string
			Data                map[string]any
		}
	}
}

func (f doctorFault) run(t *testing.T, j faultJob, want doctorWant) {
	t.Helper()
	dir := t.TempDir()
	s := j.serve(t, dir)
	o := j.mcpctl(t, dir, j.commandLine(t, s), "")
	var doc doctorReport
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil || len(doc.Servers) != 1 {
		t.Fatalf("%v, code %d\n%s\n%s", err, o.code, cut(o.out), cut(o.err))
	}
	report := doc.Servers[0]
	if o.code != want.code() || report.Verdict != want.verdict {
		t.Errorf("exit code %d with the verdict %s, want %d with %s", o.code, report.Verdict, want.code(), want.verdict)
	}
	if rest := onTheWay().ReplaceAllString(o.err, ""); rest != "" {
		t.Errorf("stderr is not empty: %q", rest)
	}
	if strings.Contains(o.out+o.err, planted) {
		t.Error("a secret in the output")
	}
	switch c := report.Cause; {
	case c == nil && want.check != "":
		t.Errorf("no cause, want %s", want.check)
	case c != nil && (c.Check != want.check || c.Class != want.class || c.Fix == ""):
		t.Errorf("cause %+v, want %s of the class %s, with a fix", c, want.check, want.class)
	}
	var lines []string
	failed := 0
	for _, c := range report.Checks {
		lines = append(lines, fmt.Sprintf("%s %s: %s", c.ID, c.Status, c.Message))
		if c.Status == "fail" {
			failed++
		}
		if c.Status == "unknown" {
			t.Errorf("unknown: %s", c.Message)
		}
	}
	if failed > 1 {
		t.Errorf("%d checks failed for one fault", failed)
	}
	for _, e := range want.says {
		if re := regexp.MustCompile(e); !slices.ContainsFunc(lines, re.MatchString) {
			t.Errorf("no check matches %q", e)
		}
	}
	f.checkServer(t, s, want)
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
}

// checkServer checks what the server saw.
func (f doctorFault) checkServer(t *testing.T, s *faultServer, want doctorWant) {
	t.Helper()
	initializes := 0
	for _, e := range s.events(t) {
		switch {
		case e["kind"] == "tool_exec", e["rpc"] == "tools/call":
			t.Errorf("a tool was called: %v", e)
		case e["rpc"] == "initialize":
			initializes++
		}
	}
	if s.http == nil {
		t.Error("over stdio nobody counts handshakes yet")
		return
	}
	stats := s.http.Stats()
	if stats.SessionsIssued != want.handshakes || initializes != want.handshakes && !f.refused {
		t.Errorf("%d handshakes and %d sessions issued, want %d", initializes, stats.SessionsIssued, want.handshakes)
	}
	if stats.SessionsLive != 0 && !f.undeleted {
		t.Errorf("%d of %d sessions left at the server", stats.SessionsLive, stats.SessionsIssued)
	}
}
