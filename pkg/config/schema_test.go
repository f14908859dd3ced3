package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"
)

// configSchema reads the schema that the program ships.
func configSchema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
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

func TestSchemaHasTheKeysOfTheParser(t *testing.T) {
	schema, _ := configSchema(t)
	entry := schema.Defs["entry"].Properties
	for _, test := range []struct {
		name string
		got  map[string]*jsonschema.Schema
		want []string
	}{
		{"entry", entry, entryKeys()},
		{"tls", entry["tls"].Properties, tlsKeys()},
		{"oauth", entry["oauth"].Properties, oauthKeys()},
		{"idp", entry["oauth"].Properties["idp"].Properties, idpKeys()},
		{"retry", entry["retry"].Properties, retryKeys()},
		{"breaker", entry["breaker"].Properties, breakerKeys()},
		{"health", entry["health"].Properties, healthKeys()},
		{"smoke", entry["smoke"].Items.Properties, smokeKeys()},
		{"expect", schema.Defs["expect"].Properties, expectKeys()},
		{"tools", entry["tools"].Properties, []string{"include", "exclude"}},
		{"defaults", schema.Properties["defaults"].Properties, []string{"connect_timeout", "timeout"}},
		{"top", schema.Properties, []string{"version", "defaults", "servers"}},
	} {
		got, want := slices.Sorted(maps.Keys(test.got)), slices.Sorted(slices.Values(test.want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the parser %q", test.name, got, want)
		}
		for key, s := range test.got {
			if s.Ref == "" && s.Description == "" {
				t.Errorf("%s: %s has no description", test.name, key)
			}
		}
	}
}

// TestSchemaAndParserAgree judges files by both.
func TestSchemaAndParserAgree(t *testing.T) {
	_, schema := configSchema(t)
	entry := func(lines ...string) string { return "servers:\n  s:\n    " + strings.Join(lines, "\n    ") + "\n" }
	web := func(line string) string { return entry("url: https://x", line) }
	child := func(line string) string { return entry("command: x", line) }
	good := []string{
		"", "version: 1", "servers:", "defaults: {connect_timeout: 5, timeout: 2m}\n", "defaults:\nservers: {}",
		entry("command: npx", "args: [-y, 8080, true]", "env: {A: 1, B: text}", "inherit_env: [HOME]", "cwd: ~/x"),
		child("inherit_env: true"), child("transport: stdio"), web("headers: {A: '${file:x}'}"), web("transport: streamable-http"),
		web("protocol: 2025-11-25"), web("protocol: auto"), web("enabled: false"), web("connect_timeout: 1.5"), web("timeout: 1m30s"),
		web("max_timeout: '20'"), web("wait: 999"), web("session_wait: 100ms"), web("keepalive: off"), web("keepalive: 3m"),
		web("keepalive: false"), web("retry: {initial: 1, reconnect: 2, park_interval: 1m, max_backoff: 5s}"),
		web("breaker: {threshold: 0, cooldown: 60}"), web("skip_preflight: true"), web("tools: {include: [a], exclude: []}"),
		web("tls: {ca_file: a, cert_file: b, key_file: c, server_name: d, insecure_skip_verify: true}"), web("proxy: none"),
		web("auth: oauth"), web("auth: none"), web("oauth: {}"), web("oauth: {client_id: 7, client_secret: abc, scopes: [a], redirect_port: 80, dpop: true}"),
		web("oauth: {grant: enterprise_managed, idp: {issuer: 'https://i', client_id: a, client_secret: b, id_token: c}}"),
		web("oauth: {grant: jwt_bearer, assertion: a, redirect_uri: 'http://localhost/'}"),
		web("health: {tool: a, args: {b: 1}, expect: {is_error: true, contains: c, matches: d, jq: '.', max_ms: 5}}"),
		web("smoke: [{tool: a, name: b, expect: {equals: {a: 1}}}]"),
	}
	bad := []string{
		"version: 2", "version: one", "colour: red", "defaults: {wait: 1}", "defaults: 7", "servers: []", "servers: {s: }", "servers: {'a b': {command: x}}",
		"servers: {-a: {command: x}}", entry("timeout: 1"), entry("command: x", "url: https://x"), entry("command: [x]"), entry("command: ''"),
		child("args: -y"), child("args: [~]"), child("args: [[a]]"), child("env: [A]"), child("env: {A: }"), child("inherit_env: HOME"), child("cwd: 7"),
		entry("url: 7"), web("headers: [A]"), web("headers: {A: {}}"), web("transport: htp"), web("protocol: latest"), web("protocol: 7"),
		web("enabled: yes please"), web("enabled: 1"), web("connect_timeout: 30000"), web("timeout: soon"), web("max_timeout: true"), web("wait: 0"),
		web("session_wait: -1"), web("session_wait: []"), web("keepalive: true"), web("retry: 5"), web("retry: {initial: 0}"), web("retry: {tries: 1}"),
		web("retry: {reconnect: 1001}"), web("retry: {park_interval: x}"), web("retry: {max_backoff: {}}"), web("breaker: {threshold: -1}"),
		web("breaker: {cooldown: x}"), web("breaker: {limit: 1}"), web("skip_preflight: 1"), web("tools: [a]"), web("tools: {include: []}"),
		web("tools: {include: a}"), web("tools: {exclude: {}}"), web("tools: {only: [a]}"), web("tls: {ca: x}"), web("tls: x"), web("tls: {cert_file: x}"),
		web("tls: {insecure_skip_verify: 1}"), web("tls: {ca_file: 7}"), web("tls: {server_name: []}"), web("proxy: 7"), web("auth: basic"), web("auth: true"), web("oauth: x"),
		web("oauth: {id: x}"), web("oauth: {client_id: []}"), web("oauth: {client_secret: 7}"), web("oauth: {client_metadata_url: 7}"),
		web("oauth: {scopes: a b}"), web("oauth: {scopes: []}"), web("oauth: {grant: password}"), web("oauth: {private_key: 7}"),
		web("oauth: {assertion: []}"), web("oauth: {redirect_uri: 7}"), web("oauth: {redirect_port: x}"), web("oauth: {redirect_port: 0}"),
		web("oauth: {redirect_port: 1, redirect_uri: 'http://localhost/'}"), web("oauth: {dpop: 1}"), web("oauth: {idp: x}"), web("oauth: {idp: {url: x}}"),
		web("oauth: {idp: {issuer: 7}}"), web("health: x"), web("health: {args: {}}"), web("health: {tool: 7}"), web("health: {tool: a, args: []}"),
		web("health: {tool: a, expect: x}"), web("health: {tool: a, expect: {is: 1}}"), web("health: {tool: a, expect: {is_error: 1}}"),
		web("health: {tool: a, expect: {max_ms: 0}}"), web("health: {tool: a, expect: {max_ms: 1s}}"), web("smoke: []"), web("smoke: {tool: a}"), web("smoke: [{name: a}]"), web("colour: red"),
	}
	judge := func(text string, want bool) {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		// What an editor sees is JSON: YAML's dates are text there.
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		raw = []byte(strings.ReplaceAll(string(raw), "T00:00:00Z", ""))
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != want {
			t.Errorf("the schema says %v of\n%s", err, text)
		}
		cfg, err := Parse("c.yaml", []byte(text))
		if err == nil {
			for _, s := range cfg.Servers {
				if s.Err != nil {
					err = s.Err
				}
			}
		}
		if (err == nil) != want {
			t.Errorf("the parser says %v of\n%s", err, text)
		}
	}
	for _, text := range good {
		judge(text, true)
	}
	for _, text := range bad {
		judge(text, false)
	}
}

// TestParseRefusesEachKeyTwice shows that no key of the file is read twice.
func TestParseRefusesEachKeyTwice(t *testing.T) {
	for _, key := range entryKeys() {
		s := entryOf(t, key+": 1", key+": 1")
		if s.Err == nil || !strings.Contains(s.Err.Error(), "key \""+key+"\": is there twice, in lines 3 and 4; keep one") {
			t.Errorf("%s: %v", key, s.Err)
		}
	}
	for path, keys := range map[string][]string{
		"tls": tlsKeys(), "oauth": oauthKeys(), "retry": retryKeys(), "breaker": breakerKeys(), "tools": {"include", "exclude"}, "health": healthKeys(),
	} {
		for _, key := range keys {
			s := entryOf(t, path+": {"+key+": 1, "+key+": 1}")
			if s.Err == nil || !strings.Contains(s.Err.Error(), "key \""+path+"."+key+"\": is there twice, in lines 3 and 3; keep one") {
				t.Errorf("%s.%s: %v", path, key, s.Err)
			}
		}
	}
}
