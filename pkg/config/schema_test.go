package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// readSchema returns the schema of the file, as it is shipped.
func readSchema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &schema, resolved
}

// asJSON returns a YAML file as the values that a schema judges, dates as text.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	root, err := parseTree("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if root == nil {
		return nil
	}
	p := &parser{file: "c.yaml", left: aliasBudget}
	e := &entry{scope: p.scope("")}
	var b bytes.Buffer
	e.writeJSON(&b, root, "")
	var value any
	if err := json.Unmarshal(b.Bytes(), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestSchemaAndParserKnowTheSameKeys holds the tables of the parser against the schema.
func TestSchemaAndParserKnowTheSameKeys(t *testing.T) {
	schema, _ := readSchema(t)
	server := schema.Defs["server"].Properties
	for _, c := range []struct {
		place  string
		parser []string
		schema map[string]*jsonschema.Schema
	}{
		{"", []string{"version", "defaults", "servers"}, schema.Properties},
		{"defaults", []string{"connect_timeout", "timeout"}, schema.Properties["defaults"].Properties},
		{"server", entryKeys(), server},
		{"tls", tlsKeys(), server["tls"].Properties},
		{"retry", retryKeys(), server["retry"].Properties},
		{"breaker", breakerKeys(), server["breaker"].Properties},
		{"oauth", oauthKeys(), server["oauth"].Properties},
		{"idp", idpKeys(), server["oauth"].Properties["idp"].Properties},
		{"tools", []string{"include", "exclude"}, server["tools"].Properties},
		{"health", healthKeys(), server["health"].Properties},
		{"smoke", smokeKeys(), schema.Defs["calls"].Items.Properties},
		{"expect", expectKeys(), schema.Defs["expect"].Properties},
	} {
		for _, key := range c.parser {
			if c.schema[key] == nil {
				t.Errorf("%s: the schema lacks %q", c.place, key)
			}
		}
		for key, s := range c.schema {
			if s.Description == "" {
				t.Errorf("%s: the schema does not say what %q is", c.place, key)
			}
			if !slices.Contains(c.parser, key) {
				t.Errorf("%s: the parser does not know %q", c.place, key)
			}
		}
	}
}

// TestSchemaAndParserAgree has both judge the same files.
func TestSchemaAndParserAgree(t *testing.T) {
	_, schema := readSchema(t)
	for _, c := range []struct {
		good  bool
		entry string // of a server x, or a whole file if it begins with a top-level key
	}{
		{true, "version: 1"},
		{true, "servers:"},
		{true, "defaults: {connect_timeout: 30s, timeout: 5}\nservers: {}"},
		{false, "version: 2"},
		{false, "server: {}"},
		{false, "defaults: {wait: 3s}"},
		{false, "defaults: {timeout: 30000}"},
		{false, "servers: []"},
		{false, "servers: {'a/b': {command: x}}"},
		{false, "servers: {-a: {command: x}}"},
		{true, "{command: npx, args: [-y, 1, true], env: {A: 1, B: ''}, cwd: ~/x, inherit_env: [HOME]}"},
		{true, "{command: x, inherit_env: true, transport: stdio, enabled: false}"},
		{true, "{url: 'https://a.example/mcp', headers: {Authorization: 'Bearer ${T}'}, transport: sse, protocol: 2025-11-25}"},
		{true, "{url: '${URL}', protocol: auto, proxy: none, skip_preflight: true}"},
		{true, "{url: 'http://a.example', proxy: 'socks5://p:1', tls: {ca_file: a, cert_file: b, key_file: c, server_name: d, insecure_skip_verify: true}}"},
		{true, "{command: x, connect_timeout: 10s, timeout: 1m30s, max_timeout: 1h, wait: 4, session_wait: 0.5, keepalive: off}"},
		{true, "{command: x, keepalive: false, retry: {initial: 3, reconnect: 5, park_interval: 5m, max_backoff: 1m}, breaker: {threshold: 0, cooldown: 60s}}"},
		{true, "{command: x, tools: {include: ['search_*'], exclude: [search_admin]}}"},
		{true, "{command: x, health: {tool: ping, args: {a: [1, null]}, expect: {is_error: true, contains: a, matches: b, jq: .a, equals: {a: 1}, max_ms: 10}}}"},
		{true, "{command: x, smoke: [{name: n, tool: t}, {tool: u, expect: {equals: 1}}]}"},
		{false, "{}"},
		{false, "x"},
		{false, "{command: x, url: 'http://a.example'}"},
		{false, "{command: [x]}"},
		{false, "{command: ''}"},
		{false, "{command: x, args: -y}"},
		{false, "{command: x, args: [~]}"},
		{false, "{command: x, env: {A: }}"},
		{false, "{command: x, env: {'A=': b}}"},
		{false, "{command: x, headers: {A: b}}"},
		{false, "{command: x, tls: {ca_file: a}}"},
		{false, "{command: x, proxy: none}"},
		{false, "{command: x, transport: http}"},
		{false, "{command: x, cmd: y}"},
		{false, "{command: x, enabled: 'yes'}"},
		{false, "{command: x, timeout: 0}"},
		{false, "{command: x, timeout: 10 seconds}"},
		{false, "{command: x, timeout: -1s}"},
		{false, "{command: x, wait: 5000}"},
		{false, "{command: x, protocol: new}"},
		{false, "{command: x, keepalive: true}"},
		{false, "{command: x, retry: {initial: 0}}"},
		{false, "{command: x, retry: {tries: 1}}"},
		{false, "{command: x, breaker: {threshold: 1001}}"},
		{false, "{command: x, tools: {include: []}}"},
		{false, "{command: x, tools: {only: [a]}}"},
		{false, "{command: x, health: {}}"},
		{false, "{command: x, health: {tool: a, arguments: {}}}"},
		{false, "{command: x, health: {tool: a, expect: {max_ms: 0}}}"},
		{false, "{command: x, smoke: []}"},
		{false, "{command: x, smoke: [{name: a}]}"},
		{false, "{url: 'ftp://a.example'}"},
		{false, "{url: a.example}"},
		{false, "{url: 'http://a.example', args: [a]}"},
		{false, "{url: 'http://a.example', env: {A: b}}"},
		{false, "{url: 'http://a.example', cwd: a}"},
		{false, "{url: 'http://a.example', inherit_env: true}"},
		{false, "{url: 'http://a.example', transport: stdio}"},
		{false, "{url: 'http://a.example', transport: websocket}"},
		{false, "{url: 'http://a.example', headers: {'A b': c}}"},
		{false, "{url: 'http://a.example', tls: {cert_file: a}}"},
		{false, "{url: 'http://a.example', tls: {ca: a}}"},
		{false, "{url: 'http://a.example', proxy: 'ftp://a'}"},
	} {
		text := c.entry
		if !regexp.MustCompile(`^[a-z]+:`).MatchString(text) {
			text = "servers: {x: " + text + "}"
		}
		_, problems := Check("c.yaml", []byte(text))
		if (len(problems) == 0) != c.good {
			t.Errorf("%s: the parser says %v, want good %v", text, problems, c.good)
		}
		if err := schema.Validate(asJSON(t, text)); (err == nil) != c.good {
			t.Errorf("%s: the schema says %v, want good %v", text, err, c.good)
		}
	}
}

// TestReferenceHasAllKeys reads the page for people: each key must be on it, and its examples must be good.
func TestReferenceHasAllKeys(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	keys := slices.Concat(entryKeys(), []string{"version", "defaults", "servers", "include", "exclude"}, tlsKeys(), retryKeys(), breakerKeys(), smokeKeys(), expectKeys())
	schema, _ := readSchema(t)
	keys = append(keys, slices.Collect(maps.Keys(schema.Defs["server"].Properties["oauth"].Properties))...)
	for _, key := range append(keys, "auth", "oauth") {
		if !regexp.MustCompile("`([a-z_]+\\.)?" + key + "`").MatchString(page) {
			t.Errorf("the page lacks `%s`", key)
		}
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 3 {
		t.Errorf("%d examples", len(blocks))
	}
	for _, b := range blocks {
		_, problems := Check("example.yaml", []byte(b[1]))
		for _, p := range problems {
			t.Errorf("%v in\n%s", p, b[1])
		}
	}
}

func TestCheckTellsAllThatIsWrong(t *testing.T) {
	const text = "version: 0\nservers:\n  a: {comand: x}\n  b: {url: a.example, wait: 0}\n  c: {command: x}\n"
	c, problems := Check("c.yaml", []byte(text))
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if want := []int{1, 3, 4, 4}; !slices.Equal(lines, want) || c == nil || len(c.Servers) != 3 {
		t.Errorf("lines %v, want %v: %v", lines, want, problems)
	}
	if c, problems := Check("c.yaml", []byte("a: [")); c != nil || len(problems) != 1 {
		t.Errorf("broken syntax: %v, %v", c, problems)
	}
}

func TestReplaceGuardsWhatItReplaces(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "real.yaml")
	const old, data = "servers: [", "servers: {a: {command: x}}\n"
	if err := os.WriteFile(target, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	holds := func(want string) {
		t.Helper()
		if got, err := Content(path); err != nil || string(got) != want {
			t.Errorf("the file holds %q, %v, want %q", got, err, want)
		}
	}
	if err := Replace(t.Context(), path, []byte("other"), []byte(data)); err != ErrChanged { //nolint:errorlint // as it is
		t.Errorf("a changed file: %v", err)
	}
	holds(old)
	if err := Replace(t.Context(), path, []byte(old), []byte("servers: 1")); err == nil {
		t.Error("a broken file was written")
	}
	holds(old)
	if err := Replace(t.Context(), path, []byte(old), []byte(data)); err != nil {
		t.Errorf("a file that was broken before: %v", err)
	}
	holds(data)
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
