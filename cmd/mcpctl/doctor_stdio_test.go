//go:build unix

package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// stdioFault is what doctor has to find in a case that is served as a child process.
type stdioFault struct {
	flags string
	delay time.Duration // replaces the main delay of the case
	// verdict is "pass" if it is empty; check and class are those of the cause.
	verdict, check, class string
	// warns are the checks that warn.
	warns []string
	// says are expressions for the message of the cause, its fix, and its evidence, in lines.
	says []string
	// never are expressions for what is wrong to say.
	never []string
	// within is the time that it may take, 10 s if it is 0.
	within time.Duration
}

// doctorStdioFaults are all cases of the areas that are about processes and messages. What is not named passes.
func doctorStdioFaults() map[string]stdioFault {
	const bound = " --connect-timeout 2s"
	const noAnswer = `initialize: no answer within connect_timeout 2s \(flag --connect-timeout\)`
	ended := func(says ...string) stdioFault {
		return stdioFault{verdict: "fail", check: "session.open", class: classConnect, says: append(says, `(?m)^stderr: `), within: 10 * time.Second}
	}
	silent := func(says ...string) stdioFault {
		return stdioFault{
			flags: bound, verdict: "fail", check: "session.open", class: classTimeout, says: append(says, noAnswer, `the process \d+ is still running`),
		}
	}
	noFrames := func(f stdioFault) stdioFault {
		f.never = append(f.never, "Content-Length")
		return f
	}
	warns := func(checks ...string) stdioFault { return stdioFault{verdict: "warn", warns: checks} }
	slow := noFrames(silent())
	slow.delay = 20 * time.Second
	quiet := stdioFault{verdict: "fail", check: "session.open", class: classConnect, says: []string{`exit status 0: without an error and without a word`, `--stdio`}, within: 10 * time.Second}
	return map[string]stdioFault{
		// Processes and their streams.
		"stdio-banner":         warns("session.noise"),
		"stdio-shared-line":    warns("session.noise"),
		"stdio-exit-1":         ended(`exit status 1: the Python module "fastmcpp" is not installed`, `ModuleNotFoundError`, `virtual environment`),
		"stdio-line-1m":        warns("tools.size"),
		"stdio-ignore-eof":     warns("shutdown.close"),
		"stdio-grandchild":     warns("shutdown.close"),
		"stdio-ignore-term":    warns("shutdown.close"),
		"stdio-env-required":   ended(`exit status 78: it needs the variable FAULTLAB_TOKEN`),
		"stdio-wants-variable": ended(`exit status 1: it needs the variable FAULTLAB_API_KEY, which is not set`, `--env FAULTLAB_API_KEY`),
		"stdio-http-server":    noFrames(silent(`it says that it serves HTTP at http://127\.0\.0\.1:3939/mcp`, `mcpctl doctor http://127\.0\.0\.1:3939/mcp`)),
		"stdio-exit-0":         quiet,
		"stdio-usage":          ended(`exit status 2: it does not know the argument --stdio`, `--help`),
		"stdio-buffered":       noFrames(silent(`its answer came only when its standard input had ended`, `PYTHONUNBUFFERED`)),
		"stdio-utf16":          noFrames(silent(`its standard output is UTF-16`, `"\{"jsonrpc":"2\.0"`)),
		"stdio-port-taken":     ended(`exit status 1: port 3000 is used by another process`),

		// Starting, versions and capabilities.
		"init-never":            noFrames(silent()),
		"slow-start":            slow,
		"timeout-config-floor":  slow,
		"list-never":            {flags: " --timeout 2s", verdict: "fail", check: "tools.list", class: classTimeout, says: []string{`no answer within timeout 2s`}},
		"proto-future":          {verdict: "fail", check: "session.open", class: classProtocol, says: []string{`2099-01-01`, `update the older side`}},
		"caps-lie-prompts":      warns("protocol.capabilities"),
		"caps-lie-logging":      warns("protocol.capabilities"),
		"caps-no-tools":         warns("protocol.capabilities"),
		"notification-answered": warns("protocol.messages"),
		"init-server-unnamed":   warns("protocol.initialize"),
		"text-not-utf8":         warns("protocol.messages"),
		"init-array":            {verdict: "fail", check: "session.open", class: classProtocol, says: []string{`the member capabilities\.tools is of another type, an array`, `PHP`}},
		"init-unknown":          {verdict: "fail", check: "session.open", class: classProtocol, says: []string{`Unknown method: `, `not the handshake`}},
		"init-no-version":       {verdict: "fail", check: "session.open", class: classProtocol, says: []string{`names no protocolVersion`}},
		"proto-error-new":       warns("session.open"),
		"version-missing":       {verdict: "fail", check: "session.open", class: classProtocol, says: []string{`it has no member "jsonrpc"`}},
		"ping-unsupported":      warns("protocol.ping"),
		"ping-odd-error":        warns("protocol.ping"),

		// Messages.
		"framing-input":  silent(`it answers only to Content-Length framing \(LSP\), not MCP stdio`, `one line of JSON`),
		"framing-output": warns("session.noise"),
		"id-string":      warns("protocol.ids"),
		"stale-frame":    warns("protocol.messages"),
	}
}

// TestDoctorOnStdioFaults runs doctor on every case of these areas that is served as a child process: one cause, with its
// class, its words and a fix; one failing row; and nothing that is left running.
func TestDoctorOnStdioFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	wants := doctorStdioFaults()
	places := make(chan struct{}, doctorsAtOnce)
	var all sync.WaitGroup
	for _, c := range append(faultlab.Cases(), faultlab.Healthy()) {
		if c.Over&faultlab.Stdio == 0 || !slices.Contains([]string{"stdio", "lifecycle", "jsonrpc", "baseline"}, c.Area) {
			continue
		}
		want := wants[c.Name]
		delete(wants, c.Name)
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(c.Name, func(t *testing.T) { want.run(t, c) })
		})
	}
	all.Wait()
	for name := range wants {
		t.Errorf("the laboratory has no case %s", name)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func (want stdioFault) run(t *testing.T, c faultlab.Case) {
	t.Helper()
	dir := t.TempDir()
	j := faultJob{c: faultCase{name: c.Name}, fault: c, run: faultRun{do: "doctor SERVER" + want.flags, delay: want.delay}, over: faultlab.Stdio}
	s := j.serve(t, dir)
	o := j.mcpctl(t, dir, j.commandLine(t, s), "")
	var doc struct {
		Servers []struct {
			Verdict string
			Cause   *struct{ Check, Class, Message, Fix string }
			Checks  []struct{ ID, Status, Message, Detail string }
		}
	}
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil || len(doc.Servers) != 1 {
		t.Fatalf("%v, code %d\n%s\n%s", err, o.code, cut(o.out), cut(o.err))
	}
	report := doc.Servers[0]
	verdict, code := want.verdict, codeOK
	if verdict == "" {
		verdict = "pass"
	}
	if verdict == "fail" {
		code = codeFailed
	}
	if report.Verdict != verdict || o.code != code {
		t.Errorf("exit code %d with the verdict %s, want %d with %s", o.code, report.Verdict, code, verdict)
	}
	within := want.within
	if within == 0 {
		within = soon
	}
	if o.took > within {
		t.Errorf("it took %s, and may take %s", o.took, within)
	}
	if strings.Contains(o.out+o.err, planted) {
		t.Error("a secret in the output")
	}
	said := ""
	var failed, warned []string
	for _, check := range report.Checks {
		switch check.Status {
		case "fail":
			failed = append(failed, check.ID)
			said = check.Detail
		case "warn":
			warned = append(warned, check.ID)
		case "unknown":
			t.Errorf("%s is unknown: %s", check.ID, check.Message)
		}
	}
	if len(failed) > 1 || !slices.Equal(warned, want.warns) {
		t.Errorf("%q failed and %q warned, want %q to warn", failed, warned, want.warns)
	}
	if cause := report.Cause; cause != nil {
		said = cause.Message + "\n" + cause.Fix + "\n" + said
		if cause.Check != want.check || cause.Class != want.class || cause.Fix == "" {
			t.Errorf("cause %+v, want %s of the class %s, with a fix", cause, want.check, want.class)
		}
	}
	for _, e := range want.says {
		if !regexp.MustCompile(e).MatchString(said) {
			t.Errorf("nothing says %q", e)
		}
	}
	for _, e := range want.never {
		if regexp.MustCompile(e).MatchString(said) {
			t.Errorf("something says %q", e)
		}
	}
	if left := s.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if t.Failed() {
		t.Log(said)
	}
}
