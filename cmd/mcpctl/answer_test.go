package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// TestElicitationsThatAreNone shows which questions are refused as ones that cannot be answered.
func TestElicitationsThatAreNone(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"message":"x","requestedSchema":{"type":"object","properties":{}}}`: "",
		`{"message":"x"}`: "",
		`{"message":"x","mode":"form","requestedSchema":null}`:                "",
		`{"message":"x","requestedSchema":"form"}`:                            "not the schema",
		`{"message":"x","requestedSchema":{"type":"string"}}`:                 "not the schema",
		`{"message":"x","requestedSchema":{"type":"object","properties":[]}}`: "not the schema",
		`{"message":7}`:    "elicitation:",
		`{"mode":"voice"}`: `"voice" is not known`,
		`{"mode":"url","url":"https://example.com/x?y=z"}`: "",
		`{"mode":"url","url":"http://127.0.0.1:8080/"}`:    "",
		`{"mode":"url"}`: "cannot be read",
		`{"mode":"url","url":"javascript:alert(1)"}`:               "cannot be read",
		`{"mode":"url","url":"file://host/etc/passwd"}`:            "no web page",
		`{"mode":"url","url":"https://example.com@evil.example/"}`: "hides where it leads",
		`{"mode":"url","url":"https://example.com/\u202egpj.exe"}`: "control characters",
	} {
		_, err := parseElicitation(json.RawMessage(params))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
}

// FuzzParseElicitation shows that no question makes the program panic, and that what is answered by flags is an object.
func FuzzParseElicitation(f *testing.F) {
	for _, seed := range []string{
		`{"message":"x","requestedSchema":{"type":"object","properties":{"a":{"type":"integer","default":2}},"required":["a"]}}`,
		`{"mode":"url","url":"https://x"}`, `[]`, `null`, `{"requestedSchema":{"properties":{"a":true}}}`,
		`{"requestedSchema":{"properties":{"":{"default":null}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		e, err := parseElicitation(json.RawMessage(params))
		if err != nil {
			return
		}
		if e.Mode == "url" {
			_ = hostOf(e.URL)
			return
		}
		flagsFor(e)
		content := withDefaults(json.RawMessage("{}"), toolargs.Params(e.Schema))
		var object map[string]json.RawMessage
		if err := json.Unmarshal(content, &object); err != nil {
			t.Errorf("%s: %s: %v", params, content, err)
		}
		if changed := withValues(e.Schema, content); !json.Valid(changed) {
			t.Errorf("%s became %s", e.Schema, changed)
		}
	})
}

// TestDefaultsAreFilledIn shows that they come in the order of the form, digit for digit, and never over what was given.
func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"number","default":12345678901234567890},` +
		`"a":{"type":"string","default":"<x>"},"m":{"type":"array","items":{"enum":["p","q"]},"default":["p"]},"n":{"type":"string"}}}`)
	params := toolargs.Params(schema)
	for given, want := range map[string]string{
		`{}`:                `{"z":12345678901234567890,"a":"<x>","m":["p"]}`,
		`{"a":"","n":"hi"}`: `{"a":"","n":"hi","z":12345678901234567890,"m":["p"]}`,
	} {
		if got := string(withDefaults(json.RawMessage(given), params)); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
	changed := string(withValues(schema, json.RawMessage(`{"z":1e3,"n":"v"}`)))
	if !strings.Contains(changed, `"default":1e3`) || !strings.Contains(changed, `"default":"v"`) || strings.Index(changed, `"z":`) > strings.Index(changed, `"a":`) {
		t.Errorf("the form became %s", changed)
	}
}

// TestTheHostIsToldInASCII shows that letters of other scripts cannot pretend to be another host.
func TestTheHostIsToldInASCII(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com/x":      "example.com",
		"https://EXAMPLE.com:8443/x": "example.com:8443",
		"https://аpple.com/":         "xn--pple-43d.com",
		"https://xn--pple-43d.com/":  "xn--pple-43d.com",
		"http://[::1]:80/":           "::1:80",
	} {
		if got := hostOf(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestWhatASamplerMaySay shows what becomes of the output of --sample-with.
func TestWhatASamplerMaySay(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"hello\nworld\n": `{"content":{"text":"hello\nworld","type":"text"},"model":"m","role":"assistant","stopReason":"endTurn"}`,
		`{"content":{"type":"text","text":"x"},"n":12345678901234567890}`: `{"content":{"type":"text","text":"x"},"n":12345678901234567890,"role":"assistant","model":"m"}`,
		`{"role":"assistant","model":"big","content":[]}` + "\n":          `{"role":"assistant","model":"big","content":[]}`,
		`{"no":"content"}`: `{"content":{"text":"{\"no\":\"content\"}","type":"text"},"model":"m","role":"assistant","stopReason":"endTurn"}`,
		" \n":              "",
	} {
		got, err := sampled([]byte(out), "m")
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%q became %s, %v; want %s", out, got, err, want)
		}
	}
}

// TestASamplerThatSaysTooMuchIsEnded shows that its output is not kept past the bound.
func TestASamplerThatSaysTooMuchIsEnded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	n := &answers{sampler: []string{"sh", "-c", "yes"}}
	_, err := n.runSampler(t.Context(), json.RawMessage("{}"))
	if err == nil || !strings.Contains(err.Error(), "it says too much") {
		t.Errorf("%v", err)
	}
}

// TestAListIsSetByOneFlagAnItem shows that --elicit-set appends to a list of the form, and that what takes one value takes no
// second.
func TestAListIsSetByOneFlagAnItem(t *testing.T) {
	t.Parallel()
	ios, _, _, _ := iostreams.Test()
	a := newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }})
	if err := a.answer(t.Context(), &answerFlags{elicitSet: []string{"m=p", "m=q"}}); err != nil {
		t.Fatal(err)
	}
	for property, want := range map[string]string{
		`{"type":"array","items":{"type":"string","enum":["p","q"]}}`: `{"action":"accept","content":{"m":["p","q"]}}`,
		`{"type":"string"}`: `{"action":"decline"}`,
	} {
		q := session.Question{Method: session.MethodElicit, Params: json.RawMessage(`{"requestedSchema":{"type":"object","properties":{"m":` + property + `}}}`)}
		if raw, err := a.answers.Load().elicit(t.Context(), q); err != nil || string(raw) != want {
			t.Errorf("%s: %s, %v", property, raw, err)
		}
	}
}

// TestRootsAreURIs shows how directories and URIs become roots.
func TestRootsAreURIs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b=c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]root{
		dir:                      {URI: "file://" + strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20")},
		dir + "=Mine":            {URI: "file://" + strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20"), Name: "Mine"},
		"file:///srv/x=The data": {URI: "file:///srv/x", Name: "The data"},
		"file:///srv/x":          {URI: "file:///srv/x"},
	} {
		if got, err := rootOf(word); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", word, got, err, want)
		}
	}
}

// TestNobodyIsAskedWhenNobodyWaits shows that a question which comes when no call is on its way is answered by flags, and
// declined otherwise, terminal or not.
func TestNobodyIsAskedWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	ios, _, _, _ := iostreams.Test()
	a := newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }})
	if err := a.answer(t.Context(), &answerFlags{}); err != nil {
		t.Fatal(err)
	}
	q := session.Question{Server: "s", Method: session.MethodElicit, Params: json.RawMessage(`{"message":"late"}`), Idle: true}
	raw, err := a.answers.Load().elicit(t.Context(), q)
	if err != nil || string(raw) != `{"action":"decline"}` {
		t.Errorf("%s, %v", raw, err)
	}
	if err := a.answer(t.Context(), &answerFlags{elicit: actionAccept}); err != nil {
		t.Fatal(err)
	}
	if raw, err = a.answers.Load().elicit(t.Context(), q); err != nil || string(raw) != `{"action":"accept","content":{}}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestCtrlCIsNoAnswer shows that a Ctrl-C at a question gives the server no answer with which the call could end well before
// it is interrupted.
func TestCtrlCIsNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := &answers{a: &app{process: process{interrupt: cancel}}}
	var r elicitResult
	if err := n.ended(ctx, "demo", prompt.ErrInterrupted, &r); !errors.Is(err, context.Canceled) || r.Action != "" {
		t.Errorf("%v, answered with %q", err, r.Action)
	}
}
