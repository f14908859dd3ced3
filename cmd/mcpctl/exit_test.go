package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

func TestClassify(t *testing.T) {
	fail := func(class session.Class, phase string) error {
		return &session.Error{Server: "s", Phase: phase, Class: class, Message: "m"}
	}
	for _, c := range []struct {
		name        string
		err         error
		interrupted bool
		class       string
		code        int
		said        string
	}{
		{"usage", usagef("no %s", "way"), false, "usage", 2, "no way"},
		{"argument", &toolargs.UsageError{Message: "bad"}, false, "usage", 2, "bad"},
		{"unknown server", &config.NotFoundError{Name: "x", Near: []string{"y"}}, false, "usage", 2, `no server "x"`},
		{"unset", &config.UnsetError{Server: "s", Vars: []config.UnsetVar{{Name: "A", Place: "url"}}}, false, "config", 2, "s: variable not set: A (in url)"},
		{"file", &config.Error{File: "c.yaml", Line: 1, Message: "m", Hint: "h"}, false, "config", 2, "c.yaml:1: m"},
		{"entry", &configError{server: "s", message: "disabled"}, false, "config", 2, "s: disabled"},
		{"wrapped", fmt.Errorf("more: %w", usagef("x")), false, "usage", 2, "x"},
		{"config", fail(session.ClassConfig, "config"), false, "config", 2, "s: config: m"},
		{"connect", fail(session.ClassConnect, "start"), false, "connect", 3, "s: start: m"},
		{"protocol", fail(session.ClassProtocol, "initialize"), false, "protocol", 3, "s: initialize: m"},
		{"session", fail(session.ClassSession, "tools/call"), false, "session", 3, "s: tools/call: m"},
		{"busy", fail(session.ClassBusy, "initialize"), false, "busy", 3, "s: initialize: m"},
		{"auth", fail(session.ClassAuth, "initialize"), false, "auth", 4, "s: initialize: m"},
		{"refused call", fail(session.ClassAnswered, "tools/call"), false, "tool", 5, "s: tools/call: m"},
		{"refused read", fail(session.ClassAnswered, "resources/read"), false, "tool", 5, "s: resources/read: m"},
		{"refused prompt", fail(session.ClassAnswered, "prompts/get"), false, "tool", 5, "s: prompts/get: m"},
		{"refused completion", fail(session.ClassAnswered, "completion/complete"), false, "tool", 5, "s: completion/complete: m"},
		{"refused list", fail(session.ClassAnswered, "tools/list"), false, "protocol", 3, "s: tools/list: m"},
		{"refused opening", fail(session.ClassAnswered, "initialize"), false, "protocol", 3, "s: initialize: m"},
		{"timeout", fail(session.ClassTimeout, "tools/call"), false, "timeout", 6, "s: tools/call: m"},
		{"unknown outcome", fail(session.ClassUnknownOutcome, "tools/call"), false, "unknown-outcome", 7, "s: tools/call: m"},
		{"interrupted request", fail(session.ClassInterrupted, "tools/call"), true, "interrupted", 130, "s: tools/call: m"},
		{"a timeout is none when somebody stops", fail(session.ClassTimeout, "tools/call"), true, "timeout", 6, "s: tools/call: m"},
		{"interrupted", context.Canceled, true, "interrupted", 130, "interrupted"},
		{"cancelled by ourselves", context.Canceled, false, "failed", 1, "context canceled"},
		{"filter", &filterError{cause: errors.New("no")}, false, "failed", 1, "--jq: no"},
		{
			"the pipe to a process broke",
			&session.Error{Server: "s", Phase: "start", Class: session.ClassConnect, Message: "m", Err: syscall.EPIPE},
			false, "connect", 3, "s: start: m",
		},
		{"output", &outputError{syscall.ENOSPC}, false, "failed", 1, "standard output: no space left on device"},
		{"anything", io.ErrUnexpectedEOF, false, "failed", 1, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, failed := classify(c.err, c.interrupted)
			if !failed || f.Class != c.class || f.code != c.code || f.ExitCode != c.code || f.said != c.said {
				t.Errorf("got %v, class %q, code %d, said %q; want class %q, code %d, said %q", failed, f.Class, f.code, f.said, c.class, c.code, c.said)
			}
		})
	}
}

func TestNothingToReport(t *testing.T) {
	for _, err := range []error{nil, fmt.Errorf("write: %w", &outputError{syscall.EPIPE}), reportedError(codeOK)} {
		if f, failed := classify(err, false); failed {
			t.Errorf("classify(%v) = %+v", err, f)
		}
	}
	if f, failed := classify(reportedError(codeTool), false); !failed || !f.reported || f.code != codeTool {
		t.Errorf("got %+v, %v", f, failed)
	}
}

func TestErrorDocument(t *testing.T) {
	status := 3
	f, _ := classify(&session.Error{
		Server: "s", Phase: "tools/call", Class: session.ClassTimeout, Message: "no answer", Hint: "wait",
		Status: 503, Evidence: []string{"text/html"}, RetryAfter: 1500 * time.Millisecond, ExitStatus: &status, Signal: "killed",
		StderrTail: []string{"oops"}, Limit: &session.Limit{Name: "timeout", Value: time.Second, Source: "built-in"},
		Outcome: session.OutcomeUnknown, Retryable: true,
		RPC: &session.RPCError{Code: -1, Message: "no"},
	}, false)
	got, err := json.Marshal(errorDocument{Version: documentVersion, Error: f.body()})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"error":{"class":"timeout","message":"no answer","hint":"wait","server":"s","phase":"tools/call",` +
		`"http_status":503,"retry_after_ms":1500,"exit_status":3,"signal":"killed","evidence":["text/html"],"stderr_tail":["oops"],` +
		`"limit":{"name":"timeout","value_ms":1000,"source":"built-in"},"outcome":"unknown","rpc":{"code":-1,"message":"no"},` +
		`"retryable":true,"exit_code":6}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f, _ = classify(usagef("no"), false)
	got, err = json.Marshal(errorDocument{Version: documentVersion, Error: f.body()})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"version":1,"error":{"class":"usage","message":"no","retryable":false,"exit_code":2}}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFailuresAreLinesForPeople(t *testing.T) {
	e := &session.Error{
		Server: "s", Phase: "start", Class: session.ClassConnect, Message: "it\nexited\x1b[2J", Hint: "one\ntwo  words",
		StderrTail: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
	}
	f, _ := classify(e, false)
	want := "mcpctl: error: s: start: it exited\n" +
		"  … 2 more lines with -v\n  stderr: 3\n  stderr: 4\n  stderr: 5\n  stderr: 6\n  stderr: 7\n  stderr: 8\n" +
		"mcpctl: hint: one\nmcpctl: hint: two  words\n"
	if got := f.text(false, 0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := f.text(true, 0); !strings.Contains(got, "  stderr: 1\n") {
		t.Errorf("with -v there is less than everything:\n%s", got)
	}
	e.StderrTail = []string{"/srv/a.js:3", "  throw new Error('no key')", "  ^", "Error: no key", "  at a (/srv/a.js:3:9)", "  at b (/srv/a.js:5:1)", "  at c", "  at d", "  at e", "  at f", "  at g", "}"}
	f, _ = classify(e, false)
	if got, want := f.text(false, 0), "  … 6 more lines with -v\n  stderr: /srv/a.js:3\n"; !strings.Contains(got, want) || !strings.Contains(got, "\n  stderr: Error: no key\n") {
		t.Errorf("the stack of calls hides the error:\n%s", got)
	}
	wordy := f
	wordy.evidence = []string{"stderr: read: " + strings.Repeat("x", 2000)}
	if got := wordy.text(false, 0); strings.Contains(got, strings.Repeat("x", mostEvidence)) || !strings.Contains(got, "x…\n") {
		t.Errorf("a line that nobody reads to its end:\n%s", got)
	}
	if got := wordy.text(true, 0); !strings.Contains(got, strings.Repeat("x", 2000)) {
		t.Errorf("with -v there is less than everything:\n%s", got)
	}
	long := newFailure(classFailed, strings.Repeat("four ", 9)+strings.Repeat("x", 50))
	for l := range strings.Lines(long.text(false, 40)) {
		if len(l) > 40+len("\n") {
			t.Errorf("a line of %d characters on 40 columns: %q", len(l)-1, l)
		}
	}
	huge := newFailure(classFailed, "s: "+strings.Repeat("é", 500_000))
	if got, want := huge.text(false, 0), "bytes more with -v)\n"; len(got) > 3000 || !strings.HasSuffix(got, want) {
		t.Errorf("a message of a megabyte is written in %d bytes, and ends with %q", len(got), got[len(got)-40:])
	}
	if got := huge.text(true, 0); len(got) < 1_000_000 {
		t.Errorf("with -v a message of a megabyte has %d bytes", len(got))
	}
	if got, want := f.text(false, 26), "mcpctl: error: s: start:\n  it exited\n  …"; !strings.HasPrefix(got, want) {
		t.Errorf("on a terminal of 26 columns: %q, want it to begin with %q", got, want)
	}
}

func TestSeveralMistakesInAFile(t *testing.T) {
	err := errors.Join(
		&config.Error{File: "c.yaml", Line: 1, Message: "first", Hint: "mend it"},
		&config.Error{File: "c.yaml", Line: 2, Message: "second"},
	)
	f, _ := classify(err, false)
	if f.said != "c.yaml:1: first" || len(f.evidence) != 1 || f.evidence[0] != "c.yaml:2: second" || f.hints[0] != "mend it" {
		t.Errorf("got %+v", f)
	}
}
