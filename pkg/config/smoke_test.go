package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestParseSmoke shows what an entry and a file can say about calls, and that a written entry is read back as it was.
func TestParseSmoke(t *testing.T) {
	s := entryOf(t, "url: https://x/", "smoke: [{tool: a}, {name: two, tool: b, args: {n: 1.50}, expect: {equals: {k: [1.0, null]}, jq: .x}}]")
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	second := Smoke{Name: "two", Health: Health{
		Tool: "b", Args: json.RawMessage(`{"n":1.50}`), Expect: Expect{JQ: ".x", EqualsJSON: json.RawMessage(`{"k":[1.0,null]}`)},
	}, Source: Source{Kind: "entry", Detail: "config.yaml:4"}}
	if len(s.Smoke) != 2 || s.Smoke[0].Tool != "a" || !reflect.DeepEqual(s.Smoke[1], second) || s.Sources["smoke"].Kind != "entry" {
		t.Errorf("%+v", s.Smoke)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := Edit(path, func(d *Document) error { return d.Add(s) }); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := cfg.Server("s")
	for i := range got.Smoke {
		got.Smoke[i].Source = s.Smoke[i].Source
	}
	if got.Err != nil || !reflect.DeepEqual(got.Smoke, s.Smoke) {
		text, _ := os.ReadFile(path)
		t.Errorf("%v\n got %+v\nwant %+v\n%s", got.Err, got.Smoke, s.Smoke, text)
	}
	clone := got.Clone()
	clone.Smoke[1].Args[0], clone.Smoke[1].Expect.EqualsJSON[0] = '[', '['
	if got.Smoke[1].Args[0] != '{' || got.Smoke[1].Expect.EqualsJSON[0] != '{' {
		t.Error("a clone shares its calls")
	}
}

// TestRedactedSmoke shows that arguments which look like secrets are not shown.
func TestRedactedSmoke(t *testing.T) {
	s := Server{Smoke: []Smoke{{Health: Health{Tool: "ping", Args: json.RawMessage(`{"api_key":"hunter2"}`)}}}}
	if got := string(s.Redacted().Smoke[0].Args); got != `{"api_key":"***"}` {
		t.Error(got)
	}
	if string(s.Smoke[0].Args) != `{"api_key":"hunter2"}` {
		t.Error("the original was changed")
	}
}

// TestParseSmokeFile shows that a file of calls is YAML or JSON, a list or a mapping.
func TestParseSmokeFile(t *testing.T) {
	for name, text := range map[string]string{
		"list":         "- {name: n, server: s, tool: t, args: {a: 12345678901234567890}, expect: {max_ms: 5}}\n",
		"mapping":      "smoke:\n  - name: n\n    server: s\n    tool: t\n    args: {a: 12345678901234567890}\n    expect: {max_ms: 5}\n",
		"json":         `[{"name":"n","server":"s","tool":"t","args":{"a":12345678901234567890},"expect":{"max_ms":5}}]`,
		"json, tabs":   "{\n\t\"smoke\":\t[\n\t\t{\"name\": \"n\", \"server\": \"s\",\n\t\t\"tool\": \"t\", \"args\": {\"a\": 12345678901234567890}, \"expect\": {\"max_ms\": 5}}\n\t]\n}\n",
		"json, a mark": byteOrderMark + `[{"name":"n","server":"s","tool":"t","args":{"a":12345678901234567890},"expect":{"max_ms":5}}]`,
	} {
		calls, err := ParseSmoke("calls", []byte(text))
		if err != nil || len(calls) != 1 {
			t.Errorf("%s: %v %+v", name, err, calls)
			continue
		}
		c := calls[0]
		if c.Name != "n" || c.Server != "s" || c.Tool != "t" || string(c.Args) != `{"a":12345678901234567890}` || c.Expect.Within != 5*time.Millisecond || c.Source.Kind != "file" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	calls, err := ParseSmoke("calls", []byte(`[{"tool":"t","args":{"a":"\ud83d\ude00 \u00e9 \\ud83d\\ude00 \/"}}]`))
	if want := "{\"a\":\"\U0001F600 é \\\\ud83d\\\\ude00 /\"}"; err != nil || len(calls) != 1 || string(calls[0].Args) != want {
		t.Errorf("%v %+v", err, calls)
	}
}

// TestParseSmokeIsStrict shows that what cannot be meant is refused, with its place and the way out.
func TestParseSmokeIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "calls.yaml: holds no calls",
		"{}":                         `calls.yaml:1:1: holds no calls; write smoke: [{tool: NAME}]`,
		"[]":                         `calls.yaml:1:1: is empty`,
		"7":                          `calls.yaml:1:1: want a list, found a number`,
		"smoke: []":                  `calls.yaml:1:8: key "smoke": is empty`,
		"smokes: [{tool: t}]":        `calls.yaml:1:1: key "smokes": unknown key; did you mean "smoke"?`,
		"[t]":                        `calls.yaml:1:2: key "[0]": want a mapping, found text`,
		"- {tool: t}\n- {args: {}}":  `calls.yaml:2:3: key "[1]": names no tool`,
		"- tool: t\n  expct: {}":     `calls.yaml:2:3: key "[0].expct": unknown key; did you mean "expect"?`,
		"- tool: t\n  sever: {}":     `calls.yaml:2:3: key "[0].sever": unknown key; did you mean "server"?`,
		"- {tool: t, args: {a: $x}}": "",
		"smoke:\n- {tool: t, expect: {jq: '.['}}":         `calls.yaml:2:22: key "smoke[0].expect.jq": is no jq expression`,
		"- {tool: t, args: {a: '${TOKEN}'}}":              `key "[0].args": variables are not replaced in smoke calls, and ${TOKEN} is one`,
		"- {tool: t, expect: {equals: {a: '${TOKEN}'}}}":  `key "[0].expect.equals": variables are not replaced in smoke calls`,
		"- {tool: t, expect: {matches: '('}}":             `key "[0].expect.matches": is no regular expression`,
		"- {tool: t, expect: {contain: x, max_ms: zero}}": `calls.yaml:1:22: key "[0].expect.contain": unknown key; did you mean "contains"?`,
		"- {tool: t": "calls.yaml:1",
	} {
		_, err := ParseSmoke("calls.yaml", []byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	for line, want := range map[string]string{
		"smoke: []":                             `config.yaml:4:12: server "s": key "smoke": is empty`,
		"smoke: [{tool: t, server: s}]":         `key "smoke[0].server": unknown key`,
		"smoke: [{tool: t}, {tol: t}]":          `key "smoke[1].tol": unknown key; did you mean "tool"?`,
		"smoke: [{tool: t, args: {a: '${A}'}}]": `key "smoke[0].args": variables are not replaced in smoke, and ${A} is one`,
	} {
		if s := entryOf(t, "url: https://x/", line); s.Err == nil || !strings.Contains(s.Err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", line, s.Err, want)
		}
	}
	if _, err := LoadSmoke(filepath.Join(t.TempDir(), "gone.yaml")); err == nil || !strings.Contains(err.Error(), "gone.yaml: cannot be read") {
		t.Error(err)
	}
}
