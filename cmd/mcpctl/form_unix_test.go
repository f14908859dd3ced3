//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// formTools are tools whose arguments have something of everything.
const formTools = `{
"order": {"type": "object", "required": ["count", "size", "express", "tags", "email", "ship", "pin_password", "note"], "properties": {
	"count": {"type": "integer", "minimum": 1, "maximum": 100000000000000000000, "description": "How many are wanted"},
	"size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "m", "title": "Medium"}, {"const": "l", "title": "Large"}]},
	"express": {"type": "boolean"},
	"tags": {"type": "array", "items": {"type": "string", "enum": ["new", "gift", "late"]}, "maxItems": 2},
	"email": {"type": "string", "format": "email", "title": "Where to write to"},
	"ship": {"type": "object", "required": ["to", "lines"], "properties": {
		"to": {"type": "string", "pattern": "^[A-Z]{2}$"},
		"lines": {"type": "array", "items": {"type": "integer"}},
		"floor": {"type": "integer"}}},
	"pin_password": {"type": "string", "minLength": 3},
	"note": {"type": ["string", "null"]},
	"colour": {"type": "string", "default": "red"}}},
"one": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
"text": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string",
	"description": "A long text about what this is, so long that it has to be broken into several lines on any terminal, and then goes on for so long that nobody would want to see all of it before the field in which the answer is to be typed, which is why it is cut in the end by the form and not by the terminal, whose user has better things to do"}}}}`

// asking is a call on a terminal whose server keeps what it received.
type asking struct {
	*terminal
	log string
}

func callOn(t *testing.T, env []string, tool string, args ...string) *asking {
	t.Helper()
	dir := t.TempDir()
	tools, log := filepath.Join(dir, "tools.json"), filepath.Join(dir, "log")
	if err := os.WriteFile(tools, []byte(formTools), 0o600); err != nil {
		t.Fatal(err)
	}
	words := append([]string{"call", "--stdio", "argsserver " + tools + " " + log, tool}, args...)
	return &asking{onTerminalWith(t, 80, dir, env, words...), log}
}

// received are the arguments that the server got.
func (a *asking) received() string {
	a.t.Helper()
	raw, err := os.ReadFile(a.log)
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// finish waits for the end, and compares what the server received, "" for nothing.
func (a *asking) finish(code int, received string) string {
	a.t.Helper()
	got, out := a.end()
	if got != code {
		a.t.Errorf("exit code %d, want %d:\n%s", got, code, out)
	}
	if got := a.received(); got != received {
		a.t.Errorf("received %s\nwant     %s\n%s", got, received, out)
	}
	if strings.LastIndex(out, show) < strings.LastIndex(out, hide) || strings.LastIndex(out, "?2004l") < strings.LastIndex(out, "?2004h") {
		a.t.Errorf("a mode of the terminal is left:\n%q", out)
	}
	return withoutSequences(out)
}

func TestAFormAsksForEverythingThatIsRequired(t *testing.T) {
	t.Parallel()
	a := callOn(t, nil, "order")
	a.awaitText("How many are wanted")
	a.answer("0")
	a.awaitText("must be at least 1")
	a.answer("\x7f90071992547409931\r")
	a.awaitText("Small")
	a.answer("2\r")
	a.awaitText("express")
	a.answer("\r")
	a.awaitText("any of these")
	a.answer("a\r")
	a.awaitText("3 are chosen: choose at most 2")
	a.answer(" \r")
	a.awaitText("Where to write to (email)")
	a.answer("me\r")
	a.awaitText("must be an address such as")
	a.answer("@example.com\r")
	a.awaitText("ship.to")
	a.answer("de\r")
	a.awaitText("must match the pattern")
	a.answer("\x15DE\r")
	a.awaitText("separated by commas")
	a.answer("1, x\r")
	a.awaitText(`lines[1]: must be an integer, not "x"`)
	a.answer("\x7f00200000000000000003\r")
	a.awaitText("ship.lines[1]: must be an integer, not \"00200000000000000003\"")
	a.answer("\x15[1,200000000000000000003]\r")
	a.awaitText("pin_password")
	a.answer("s3cret-word\r")
	a.awaitText("enter alone is null")
	a.answer("\r")
	out := a.finish(codeOK, `{"count":90071992547409931,"size":"m","express":true,"tags":["gift","late"],"email":"me@example.com",`+
		`"ship":{"to":"DE","lines":[1,200000000000000000003]},"pin_password":"s3cret-word","note":null}`)
	again := "order count=90071992547409931 size=m express=true tags=gift tags=late email=me@example.com ship.to=DE " +
		"ship.lines=1 ship.lines=200000000000000000003 note:=null (it asks for the secret)"
	before, _, _ := strings.Cut(out, "the same again")
	if !strings.Contains(out, again) || strings.Contains(before, "s3cret-word") {
		t.Errorf("got %s", out)
	}
	if strings.Contains(out, "colour") || strings.Contains(out, "floor") {
		t.Errorf("asked for what may be missing: %s", out)
	}
}

// TestAPromptAsksAsACallDoes holds that the line which would have done without comes with it.
func TestAPromptAsksAsACallDoes(t *testing.T) {
	t.Parallel()
	s := onTerminalWith(t, 80, t.TempDir(), nil, "prompt", "demo", "greet")
	s.awaitText("greet of demo needs more arguments")
	s.answer("Ada\r")
	if code, out := s.end(); code != codeOK || !strings.Contains(out, "the same again: mcpctl prompt demo greet name=Ada\n") {
		t.Errorf("exit code %d, terminal %q", code, out)
	}
}

func TestAFormAsksOnlyForWhatIsMissing(t *testing.T) {
	t.Parallel()
	a := callOn(t, nil, "order", "count=1", "size=s", "express=no:no", "express:=false", "tags[]=new", "email=a@b.c", "ship.lines:=[]",
		"pin_password=abc", "note=")
	if out := a.finish(codeUsage, ""); !strings.Contains(out, "express is given twice") {
		t.Errorf("wrong words are asked about: %s", out)
	}
	a = callOn(t, nil, "order", "count=1", "size=s", "express:=false", "tags[]=new", "email=a@b.c", "ship.lines:=[]",
		"pin_password=abc", "note=")
	a.awaitText("ship.to")
	a.answer("DE\r")
	out := a.finish(codeOK, `{"count":1,"size":"s","express":false,"tags":["new"],"email":"a@b.c","ship":{"lines":[],"to":"DE"},"pin_password":"abc","note":""}`)
	if !strings.Contains(out, "✓ ship.to DE\n") || strings.Count(out, "✓") != 1 || !strings.Contains(out, "note= ship.to=DE") {
		t.Errorf("got %s", out)
	}
}

func TestACancelledFormCallsNothing(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"\x03", "\x1b", "\x04"} {
		a := callOn(t, nil, "order")
		a.awaitText("count")
		a.answer("7\r")
		a.awaitText("Small")
		a.answer(keys)
		if out := a.finish(codeInterrupted, ""); !strings.Contains(out, "✗ size") || !strings.Contains(out, "mcpctl: error: cancelled") {
			t.Errorf("%q: %s", keys, out)
		}
	}
}

func TestWithNobodyToAskAMissingArgumentIsAnError(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--no-input"}, {"-o", "json"}} {
		a := callOn(t, nil, "one", flags...)
		if out := a.finish(codeUsage, ""); !strings.Contains(out, "one: missing required argument a") {
			t.Errorf("%q: %s", flags, out)
		}
	}
	a := callOn(t, []string{"CI=1"}, "one")
	a.finish(codeUsage, "")
	a = callOn(t, nil, "one", "--no-validate")
	a.finish(codeOK, "{}")
	a = callOn(t, nil, "one", "b=x")
	if out := a.finish(codeUsage, ""); !strings.Contains(out, "missing required argument a") || !strings.Contains(out, "b: must be an integer") {
		t.Errorf("wrong words beside missing ones: %s", out)
	}
}

func TestAFormOfADumbTerminalIsLines(t *testing.T) {
	t.Parallel()
	a := callOn(t, []string{"TERM=dumb"}, "order", "ship:={\"to\":\"DE\",\"lines\":[]}", "note=")
	a.awaitText("count, integer")
	a.answer("x\r")
	a.awaitText(`must be an integer, not "x"`)
	a.answer("7\r")
	a.awaitText("Which one [1]: ")
	a.answer("Medium\r")
	a.awaitText("express")
	a.answer("no\r")
	a.awaitText("Which ones, as 1,3-5 [none]: ")
	a.answer("\r")
	a.awaitText("Where to write to")
	a.answer("me@example.com\r")
	a.awaitText("pin_password")
	a.answer("s3cret-word\r")
	code, out := a.end()
	want := `{"ship":{"to":"DE","lines":[]},"note":"","count":7,"size":"m","express":false,"tags":[],"email":"me@example.com","pin_password":"s3cret-word"}`
	if got := a.received(); code != codeOK || got != want {
		t.Errorf("exit code %d, received %s\nwant %s\n%s", code, got, want, out)
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("sequences on a dumb terminal: %q", out)
	}
}

func TestAPasteKeepsItsLinesAndSpaces(t *testing.T) {
	t.Parallel()
	a := callOn(t, nil, "text")
	a.awaitText("A long text")
	a.answer("\x1b[200~ one\ttab\r\n  \"two\" = @three \x1b[31m\x1b[201~")
	a.awaitText("↵")
	if err := pty.Setsize(a.pty, &pty.Winsize{Rows: 24, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	a.answer("é ")
	a.awaitText("é")
	a.answer("\r")
	out := a.finish(codeOK, `{"text":" one\ttab\n  \"two\" = @three é "}`)
	if !strings.Contains(out, `text=$' one\ttab\n  "two" = @three é '`) {
		t.Errorf("no line that does the same: %s", out)
	}
}

func TestARequiredTextIsNotEmptyByAccident(t *testing.T) {
	t.Parallel()
	a := callOn(t, nil, "text")
	a.awaitText("A long text")
	a.answer("\r")
	a.awaitText(`a value is wanted; "" is the empty text`)
	a.answer("\"\"\r")
	a.finish(codeOK, `{"text":""}`)
}

func TestADryRunAsksToo(t *testing.T) {
	t.Parallel()
	a := callOn(t, nil, "one", "--dry-run", "b=2")
	a.awaitText("integer")
	a.answer("-1e2\r")
	if out := a.finish(codeOK, ""); !strings.Contains(out, "--dry-run b=2 a=-1e2") {
		t.Errorf("got %s", out)
	}
}
