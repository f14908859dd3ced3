package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// fillWith fills in a form with keys that were pressed before it began to ask, and returns what was on the screen.
func fillWith(t *testing.T, f form, keys string) (object, screen string, err error) {
	t.Helper()
	ios, in, _, errOut := iostreams.Test()
	in.WriteString(keys)
	ios.SetTTY(true, true, true)
	ios.SetWidth(80)
	environment := map[string]string{"TERM": "xterm", "NO_COLOR": "1"}
	lookup := func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}
	ios.SetEnv(lookup)
	a := newApp(process{io: ios, lookup: lookup, home: t.TempDir()})
	raw, err := a.fill(t.Context(), f)
	// What the form itself asks of the terminal is left out.
	screen = regexp.MustCompile(`\x1b\[(\?25[hl]|\?2004[hl]|J|A|C)`).ReplaceAllString(errOut.String(), "")
	screen = strings.NewReplacer("\r\n", "\n", "\r", "").Replace(screen)
	return string(raw), screen, err
}

func TestFormsTakeAndLeaveOut(t *testing.T) {
	t.Parallel()
	const up, down, enter, erase = "\x1b[A", "\x1b[B", "\r", "\x15"
	prop := func(schema, required string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"required":[` + required + `]}`
	}
	for _, c := range []struct{ rule, schema, given, keys, want, screen string }{
		{"enter alone leaves out a text", prop(`{"type":"string"}`, ""), "", enter, `{}`, "a  string, optional"},
		{"enter alone leaves out a number", prop(`{"type":"integer"}`, ""), "", enter, `{}`, "enter alone leaves it out"},
		{"enter alone leaves out a choice", prop(`{"enum":["x","y"]}`, ""), "", enter, `{}`, "leave it out"},
		{"enter alone leaves out a boolean", prop(`{"type":"boolean"}`, ""), "", enter, `{}`, ""},
		{"enter alone leaves out a list", prop(`{"type":"array","items":{"type":"string"}}`, ""), "", enter, `{}`, "array of string, optional"},
		{"none chosen leaves out a list, whatever its least is", prop(`{"type":"array","items":{"enum":["x","y"]},"minItems":2}`, ""), "", enter, `{}`, ""},
		{"none chosen is an empty list where it is required", prop(`{"type":"array","items":{"enum":["x","y"]}}`, `"a"`), "", enter, `{"a":[]}`, "a none"},
		{"the default stands in the field", prop(`{"type":"string","default":"red wine"}`, ""), "", enter, `{"a":"red wine"}`, "red wine"},
		{"a default taken away is left out", prop(`{"type":"string","default":"red"}`, ""), "", erase + enter, `{}`, ""},
		{"a default is changed", prop(`{"type":"integer","default":90071992547409931}`, ""), "", "0" + enter, `{"a":900719925474099310}`, ""},
		{"a default that does not fit is none", prop(`{"type":"integer","default":"x"}`, ""), "", enter, `{}`, ""},
		{"the default of a list", prop(`{"type":"array","items":{"type":"integer"},"default":[1,2]}`, ""), "", enter, `{"a":[1,2]}`, "1, 2"},
		{"the default of a list with commas", prop(`{"type":"array","items":{"type":"string"},"default":["a, b"]}`, ""), "", enter, `{"a":["a, b"]}`, `["a, b"]`},
		{"the cursor is on the default", prop(`{"enum":["x","y","z"],"default":"y"}`, ""), "", enter, `{"a":"y"}`, ""},
		{"the cursor is on a default that is false", prop(`{"type":"boolean","default":false}`, `"a"`), "", enter, `{"a":false}`, "✓ a no"},
		{"a default is left out", prop(`{"enum":["x","y"],"default":"x"}`, ""), "", up + enter, `{}`, ""},
		{"defaults of a list are chosen", prop(`{"type":"array","items":{"enum":["x","y"]},"default":["y"]}`, ""), "", " " + enter, `{"a":["x","y"]}`, "all 2"},
		{"none of a default is an empty list", prop(`{"type":"array","items":{"enum":["x","y"]},"default":["y"]}`, ""), "", down + " " + enter, `{"a":[]}`, ""},
		{"enumNames", prop(`{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]}`, `"a"`), "", down + enter, `{"a":"l"}`, "Large  l"},
		{"titles of a list's items", prop(`{"type":"array","items":{"anyOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}}`, `"a"`), "", down + " " + enter, `{"a":["#0f0"]}`, "[x] Green"},
		{"an enumeration keeps types and digits", prop(`{"enum":["1",1,9007199254740993,null,1.50]}`, `"a"`), "", down + down + enter, `{"a":9007199254740993}`, ""},
		{"null among the choices", prop(`{"type":["boolean","null"]}`, `"a"`), "", down + down + enter, `{"a":null}`, "null  no value"},
		{"null of a number", prop(`{"type":["number","null"]}`, `"a"`), "", enter, `{"a":null}`, "enter alone is null"},
		{"a union of types", prop(`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `"a"`), "", "x" + enter + "\x7ftrue" + enter, `{"a":true}`, `must be an integer or true or false, not "x"`},
		{"no type takes text", prop(`{}`, `"a"`), "", "7" + enter, `{"a":"7"}`, "any"},
		{"no type takes JSON", prop(`{}`, `"a"`), "", `{"x":[1e400]}` + enter, `{"a":{"x":[1e400]}}`, ""},
		{"an object without properties is JSON", prop(`{"type":"object"}`, `"a"`), "", "x" + enter + erase + `{"b": 0.10}` + enter, `{"a":{"b":0.10}}`, "not valid JSON"},
		{"a list of objects is JSON", prop(`{"type":"array","items":{"type":"object","required":["b"]}}`, `"a"`), "", "[{}]" + enter + erase + `[{"b":1}]` + enter, `{"a":[{"b":1}]}`, "missing required argument a[0].b"},
		{"a tuple is JSON", prop(`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`, `"a"`), "", `["x",1]` + enter, `{"a":["x",1]}`, "JSON: [value, value]"},
		{"a name twice in JSON", prop(`{"type":"object"}`, `"a"`), "", `{"b":1,"b":2}` + enter + erase + "{}" + enter, `{"a":{}}`, "the name b appears twice"},
		{"a date", prop(`{"type":"string","format":"date"}`, `"a"`), "", "2026-02-30" + enter + "\x7f\x7f28" + enter, `{"a":"2026-02-28"}`, "must be a date such as 2026-01-31"},
		{"a time", prop(`{"type":"string","format":"date-time"}`, `"a"`), "", "2026-01-31T12:00:00" + enter + "+02:00" + enter, `{"a":"2026-01-31T12:00:00+02:00"}`, "with its zone"},
		{"a URL", prop(`{"type":"string","format":"uri"}`, `"a"`), "", "example.com" + enter + erase + "https://example.com/?a=b" + enter, `{"a":"https://example.com/?a=b"}`, "must be a URL"},
		{"a length and what it is", prop(`{"type":"string","minLength":2,"maxLength":3}`, `"a"`), "", "abcd" + enter + "\x7f" + enter, `{"a":"abc"}`, "string, 2–3 characters"},
		{"a range and what it is", prop(`{"type":"number","minimum":0,"exclusiveMaximum":1e2}`, `"a"`), "", "100" + enter + erase + "-0.0" + enter, `{"a":-0.0}`, "must be less than 1e2, not 100"},
		{"draft-04's exclusive limit", prop(`{"type":"integer","minimum":1,"exclusiveMinimum":true}`, `"a"`), "", "1" + enter + "0" + enter, `{"a":10}`, "integer, more than 1"},
		{"spaces of a text are kept, and of a number not", `{"properties":{"s":{"type":"string"},"n":{"type":"number"}},"required":["s","n"]}`, "", " x " + enter + " 5 " + enter, `{"s":" x ","n":5}`, ""},
		{"an at sign is no file", prop(`{"type":"string"}`, `"a"`), "", "@file" + enter, `{"a":"@file"}`, ""},
		{"the order of the document", `{"properties":{"z":{"type":"string"},"a":{"type":"string"},"m":{"type":"string"}}}`, "", "1\r2\r3\r", `{"z":"1","a":"2","m":"3"}`, ""},
		{"what is there is not asked for", `{"properties":{"z":{"type":"number"},"a":{"type":"string"}}}`, `{"z":1.0}`, "2\r", `{"z":1.0,"a":"2"}`, ""},
		{"an object that may be missing", prop(`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`, ""), "", enter, `{}`, "fill it in"},
		{"an object that may be missing is filled in", prop(`{"type":"object","properties":{"b":{"type":"string"},"c":{"type":"integer"}},"required":["b"]}`, ""), "", down + enter + "x" + enter + enter, `{"a":{"b":"x"}}`, "a.c  integer, optional"},
		{"an object that is required is there", prop(`{"type":"object","properties":{"b":{"type":"string"}}}`, `"a"`), "", enter, `{"a":{}}`, "leave it empty"},
		{"what another needs is asked for again", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`, "", "x" + enter + enter + "y" + enter, `{"a":"x","b":"y"}`, "missing required argument b"},
		{"a reference, and one to itself", `{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"n":{"$ref":"#/$defs/n"}},"required":["v"]}}}`, "", "1" + enter + enter, `{"a":{"v":1}}`, "a.n"},
		{"no schema asks nothing", `null`, "", "", `{}`, ""},
		{"odd schemas", `{"properties":{"a":null,"b":{"type":"file"},"c":true},"required":["b",3,"d"]}`, "", enter + "x" + enter + enter + "y" + enter, `{"b":"x","d":"y"}`, ""},
		{"names that nobody expects", `{"properties":{"":{"type":"integer"},"a b":{"type":"string"},"__proto__":{"type":"string"},"x\u001b[31m":{"type":"string"}}}`, "", "1\r2\r3\r4\r", `{"":1,"a b":"2","__proto__":"3","x\u001b[31m":"4"}`, `"a b"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, screen, err := fillWith(t, form{schema: json.RawMessage(c.schema), given: json.RawMessage(c.given)}, c.keys)
			if err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s\n%s", got, err, c.want, screen)
			}
			if !strings.Contains(screen, c.screen) {
				t.Errorf("no %q on\n%s", c.screen, screen)
			}
		})
	}
}

// TestAFormOfAServerIsHarmless holds that text of servers moves no cursor, and that nothing of a secret is shown.
func TestAFormOfAServerIsHarmless(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"a":{"type":"string","title":"T\u001b]0;x\u0007\n✓ paid","description":"D\u001b[2J\nmore","default":"d\u001b[H"},
		"b":{"enum":["x"],"description":"\u202eturned","title":"\u009b31m"},"c":{"oneOf":[{"const":"y","title":"Y\u001b[1A"}]},"api_key":{"type":"string"},"key":{"type":"string"},
		"pin":{"type":"string","format":"password","default":"0000"},"page_token":{"type":"string"}}}`)
	got, screen, err := fillWith(t, form{title: "Who\u001b[2J\nis it", schema: schema}, "\r\r\rhush-hush\rshown\rs3same\rnext\r")
	if err != nil || got != `{"a":"d","api_key":"hush-hush","key":"shown","pin":"s3same","page_token":"next"}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"\x1b[2J", "\x1b[H", "\x1b]", "\u202e", "\u009b", "\n✓ paid", "hush", "s3same", "0000"} {
		if strings.Contains(screen, bad) {
			t.Errorf("%q on %q", bad, screen)
		}
	}
	for _, good := range []string{"Who is it\n", "(not shown)", "✓ key shown", "✓ page_token next"} {
		if !strings.Contains(screen, good) {
			t.Errorf("no %q on\n%s", good, screen)
		}
	}
}

func TestAFormEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"\x03", "\x1b", "\x04", ""} { // the last is the end of the input
		_, _, err := fillWith(t, form{schema: json.RawMessage(`{"properties":{"a":{"type":"string"}}}`)}, keys)
		if !errors.Is(err, prompt.ErrCancelled) {
			t.Errorf("%q: %v", keys, err)
		}
	}
	ios, _, _, _ := iostreams.Test()
	a := newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }})
	if _, err := a.fill(t.Context(), form{schema: json.RawMessage(`{}`)}); !errors.Is(err, prompt.ErrNobody) {
		t.Errorf("without a terminal: %v", err)
	}
	ios.SetTTY(true, true, true)
	ios.SetEnv(func(string) (string, bool) { return "", false })
	a = newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.fill(ctx, form{schema: json.RawMessage(`{"properties":{"a":{}}}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestAFormThatCannotBeRightSaysWhy holds that a schema which nothing fits does not ask for ever.
func TestAFormThatCannotBeRightSaysWhy(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"a":{"type":"integer"}},"anyOf":[{"required":["b"]},{"required":["c"]}],"maxProperties":0}`)
	_, screen, err := fillWith(t, form{schema: schema, required: true}, "1\r2\r3\r4\r5\r6\r")
	if _, ok := errors.AsType[*toolargs.UsageError](err); !ok {
		t.Errorf("%v\n%s", err, screen)
	}
}

// TestArgumentsOfPromptsAreAskedFor holds the schema that is made of them.
func TestArgumentsOfPromptsAreAskedFor(t *testing.T) {
	t.Parallel()
	schema := textSchema([]promptArgument{
		{Name: "code \"x\"", Description: "What to look at", Required: true},
		{Name: "style", Title: "How"},
	}, nil)
	if err := toolargs.Check(json.RawMessage(`{}`), schema); !toolargs.IsMissing(err) {
		t.Errorf("%v", err)
	}
	got, screen, err := fillWith(t, form{schema: schema, required: true}, "7\r")
	if err != nil || got != `{"code \"x\"":"7"}` || !strings.Contains(screen, "What to look at") || strings.Contains(screen, "How") {
		t.Errorf("%s, %v\n%s", got, err, screen)
	}
}
