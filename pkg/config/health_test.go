package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestParseHealth shows what an entry can say about the call that shows its health: numbers keep their digits.
func TestParseHealth(t *testing.T) {
	s := entryOf(t, "url: https://x/", `health: {tool: ping, args: {a: 1.50, n: 12345678901234567890, hex: 0x1F, t: "7", d: 2024-01-02, l: [yes, null, true], o: {"<": x}}, `+
		`expect: {is_error: false, contains: pong, matches: "^p", jq: .isError | not, equals: 7, max_ms: 250}}`)
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	want := `{"a":1.50,"n":12345678901234567890,"hex":31,"t":"7","d":"2024-01-02","l":["yes",null,true],"o":{"<":"x"}}`
	if got := string(s.Health.Args); got != want {
		t.Errorf("args\n got %s\nwant %s", got, want)
	}
	x := s.Health.Expect
	if s.Health.Tool != "ping" || x.IsError || x.Contains != "pong" || x.Matches != "^p" || x.JQ != ".isError | not" || x.Equals == nil || *x.Equals != "7" || x.Within != 250*time.Millisecond {
		t.Errorf("%+v", s.Health)
	}
	if s.Sources["health"].Kind != "entry" || s.Sources["health.tool"].Kind != "entry" {
		t.Errorf("sources %v", s.Sources)
	}
	if small := entryOf(t, "url: https://x/", "health: {tool: ping}"); small.Err != nil || small.Health.Args != nil {
		t.Errorf("%v, %+v", small.Err, small.Health)
	}
}

// TestParseHealthIsStrict shows that what cannot be meant is refused, with its key and the way out.
func TestParseHealthIsStrict(t *testing.T) {
	for line, want := range map[string]string{
		"health: ping":                                   `key "health": want a mapping, found text`,
		"health: {args: {}}":                             `key "health": names no tool`,
		"health: {tool: ping, arg: {}}":                  `key "health.arg": unknown key; did you mean "args"?`,
		"health: {tool: 7}":                              `key "health.tool": want text, found a number`,
		"health: {tool: ping, args: [1]}":                `key "health.args": want a mapping, found a list`,
		"health: {tool: ping, args: {a: .nan}}":          `key "health.args.a": .nan is no number that JSON has`,
		"health: {tool: ping, args: {a: 1, a: 2}}":       `key "health.args.a": is defined twice`,
		"health: {tool: ping, expect: pong}":             `key "health.expect": want a mapping, found text`,
		"health: {tool: ping, expect: {contain: x}}":     `key "health.expect.contain": unknown key; did you mean "contains"?`,
		"health: {tool: ping, expect: {is_error: 1}}":    `key "health.expect.is_error": want true or false`,
		"health: {tool: ping, expect: {matches: \"(\"}}": `key "health.expect.matches": is no regular expression: missing closing )`,
		"health: {tool: ping, expect: {max_ms: 0}}":      `key "health.expect.max_ms": want a number of milliseconds`,
		"health: {tool: ping, expect: {max_ms: 1s}}":     `key "health.expect.max_ms": want a number of milliseconds`,
		"health: {tool: ping, expect: {jq: .a |}}":       `:4:35: server "s": key "health.expect.jq": is no jq expression: `,
		"health: {tool: ping, expect: {jq: nope}}":       `key "health.expect.jq": is no jq expression: function not defined: nope/0`,
		"{health: {tool: ping}, tools: {exclude: [p*]}}": "",
	} {
		if strings.HasPrefix(line, "{") { // a mapping on one line cannot follow other lines
			s := entryOf(t, `{url: "https://x/", `+line[1:])
			if s.Err == nil || !strings.Contains(s.Err.Error(), `key "health.tool": "ping" is left out by the entry's filter`) {
				t.Errorf("%s: %v", line, s.Err)
			}
			continue
		}
		s := entryOf(t, "url: https://x/", line)
		if s.Err == nil || !strings.Contains(s.Err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", line, s.Err, want)
		}
	}
}

// TestWriteHealth shows that an entry which is written is read back as it was.
func TestWriteHealth(t *testing.T) {
	equals := "a: 'b'"
	want := Server{
		Name: "s", URL: "https://x/", Enabled: true, Transport: TransportAuto,
		Health: &Health{
			Tool: "no", Args: json.RawMessage(`{"big":12345678901234567890,"half":0.50,"list":[null,true,"true"],"o":{"k":"it's \"x\""}}`),
			Expect: Expect{IsError: true, Contains: "#1", Matches: `^\d+$`, JQ: `.a["b"] > 1`, Equals: &equals, Within: 1500 * time.Millisecond},
		},
	}
	path := t.TempDir() + "/config.yaml"
	if err := Edit(path, func(d *Document) error { return d.Add(want) }); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := cfg.Server("s")
	if got.Err != nil || !reflect.DeepEqual(got.Health, want.Health) {
		t.Errorf("%v\n got %+v %s\nwant %+v", got.Err, got.Health, got.Health.Args, want.Health)
	}
	clone := got.Clone()
	clone.Health.Args[0], *clone.Health.Expect.Equals = '[', "other"
	if got.Health.Args[0] != '{' || *got.Health.Expect.Equals != equals {
		t.Error("a clone shares its health")
	}
}

// TestRedactedHealth shows that arguments which look like secrets are not shown.
func TestRedactedHealth(t *testing.T) {
	s := Server{Health: &Health{Tool: "ping", Args: json.RawMessage(`{"list":[{"api_key":"hunter2"}],"n":1.50}`)}}
	if got := string(s.Redacted().Health.Args); got != `{"list":[{"api_key":"***"}],"n":1.50}` {
		t.Error(got)
	}
	if string(s.Health.Args) != `{"list":[{"api_key":"hunter2"}],"n":1.50}` {
		t.Error("the original was changed")
	}
}
