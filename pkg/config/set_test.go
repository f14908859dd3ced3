package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// edited returns what a file holds after an edit.
func edited(t *testing.T, text string, change func(*config.Document) error) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	changeErr := config.Edit(path, change)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(after), changeErr
}

func TestSetChangesTheLinesOfTheKeyAlone(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		settings      []config.Setting
	}{
		"a value, with the comment behind it": {
			"servers:\n  a:\n    url: http://a.example/  # ours\n    timeout: 5s\n",
			"servers:\n  a:\n    url: http://b.example/  # ours\n    timeout: 5s\n",
			[]config.Setting{{"url", "http://b.example/"}},
		},
		"a new key": {
			"servers:\n    a:\n        url: http://a.example/\n\n    b: {command: x}\n",
			"servers:\n    a:\n        url: http://a.example/\n        timeout: 1m\n\n    b: {command: x}\n",
			[]config.Setting{{"timeout", "60"}},
		},
		"a member beside others": {
			"servers:\n  a:\n    command: x\n    env:\n      # one\n      ONE: '1'\n",
			"servers:\n  a:\n    command: x\n    env:\n      # one\n      ONE: '1'\n      TWO: \"2\"\n",
			[]config.Setting{{"env.TWO", "2"}},
		},
		"an entry in one line": {
			"servers:\n  a: {command: x}  # short\n  b: {command: y}\n",
			"servers:\n  a: {command: x, cwd: /tmp} # short\n  b: {command: y}\n",
			[]config.Setting{{"cwd", "/tmp"}},
		},
		"the last member, with what was around it": {
			"servers:\n  a:\n    command: x\n    retry:\n      initial: 3\n    timeout: 5s\n",
			"servers:\n  a:\n    command: x\n    timeout: 5s\n",
			[]config.Setting{{"retry.initial", nil}},
		},
		"line ends and a byte order mark": {
			"\ufeffservers:\r\n  a:\r\n    command: x\r\n",
			"\ufeffservers:\r\n  a:\r\n    command: x\r\n    cwd: /tmp\r\n",
			[]config.Setting{{"cwd", "/tmp"}},
		},
		"a header with a dot in its name": {
			"servers:\n  a:\n    url: http://a.example/\n",
			"servers:\n  a:\n    url: http://a.example/\n    headers:\n      X.Y: z\n",
			[]config.Setting{{"headers.X.Y", "z"}},
		},
		"JSON": {
			"servers:\n  a:\n    command: x\n",
			"servers:\n  a:\n    command: x\n    args: [a b, \"1\"]\n",
			[]config.Setting{{"args", json.RawMessage(`["a b","1"]`)}},
		},
		"the other kind": {
			"servers:\n  a:\n    command: x\n    args: [y]\n    timeout: 5s\n",
			"servers:\n  a:\n    timeout: 5s\n    url: http://a.example/\n",
			[]config.Setting{{"command", nil}, {"args", nil}, {"url", "http://a.example/"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edited(t, c.before, func(d *config.Document) error { return d.Set("a", c.settings...) })
			if err != nil {
				t.Fatal(err)
			}
			if after != c.after {
				t.Errorf("got:\n%s\nwant:\n%s", after, c.after)
			}
		})
	}
}

func TestSetRefusesWhatWouldNotBeValid(t *testing.T) {
	const text = "servers:\n  a:\n    command: x\n    timeout: 5s\n"
	for name, c := range map[string]struct {
		setting config.Setting
		want    string
	}{
		"kind":     {config.Setting{Key: "url", Value: "http://a.example/"}, "command"},
		"duration": {config.Setting{Key: "timeout", Value: "soon"}, `key "timeout"`},
		"unit":     {config.Setting{Key: "timeout", Value: "30000"}, "30000s"},
		"number":   {config.Setting{Key: "retry.initial", Value: "many"}, "whole number"},
		"least":    {config.Setting{Key: "retry.initial", Value: "0"}, `key "retry.initial"`},
		"key":      {config.Setting{Key: "tiemout", Value: "5s"}, `did you mean "timeout"`},
		"type":     {config.Setting{Key: "timeout", Value: 5}, "int"},
		"JSON":     {config.Setting{Key: "args", Value: json.RawMessage(`[`)}, "JSON"},
		"missing":  {config.Setting{Key: "command"}, "url"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edited(t, text, func(d *config.Document) error { return d.Set("a", c.setting) })
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("error %v, want the server and %q in it", err, c.want)
			}
			if after != text {
				t.Errorf("the file was changed:\n%s", after)
			}
		})
	}
	_, err := edited(t, text, func(d *config.Document) error { return d.Set("b", config.Setting{Key: "timeout", Value: "5s"}) })
	if _, ok := errors.AsType[*config.NotFoundError](err); !ok {
		t.Errorf("error %v, want a NotFoundError", err)
	}
}

// TestEachKeyCanBeSetAndRemoved shows that Keys leaves none out, and that what is set is what is read.
func TestEachKeyCanBeSetAndRemoved(t *testing.T) {
	values := map[string]string{
		"transport": "stdio", "protocol": "2025-06-18", "health.tool": "t", "cwd": "/tmp", "command": "y", "smoke": `[{"tool":"t"}]`,
		"health.args": `{"a":1}`, "health.args.*": "1", "health.expect.max_ms": "5", "health.expect.jq": ".", "health.expect.equals": "x",
		"env.*": "v", "headers.*": "v", "url": "http://b.example/", "proxy": "none",
	}
	for _, k := range config.Keys() {
		name := strings.TrimSuffix(k.Name, "*")
		if name != k.Name {
			name += "N"
		}
		text := "servers:\n  a:\n    command: x\n"
		if strings.HasPrefix(name, "headers") || strings.HasPrefix(name, "tls") || name == "url" || name == "proxy" || name == "skip_preflight" || strings.HasPrefix(name, "oauth") || name == "auth" {
			text = "servers:\n  a:\n    url: https://a.example/\n"
		}
		if strings.HasPrefix(name, "health.") && name != "health.tool" {
			text += "    health: {tool: t}\n"
		}
		value, ok := values[k.Name]
		if !ok {
			value = map[config.KeyKind]string{config.KindBool: "true", config.KindDuration: "7s", config.KindNumber: "3", config.KindList: "w"}[k.Kind]
		}
		if value == "" {
			value = "text"
		}
		switch name {
		case "tls.cert_file", "tls.key_file":
			text += "    tls: {cert_file: /c, key_file: /k}\n"
		case "oauth.redirect_uri":
			value = "http://127.0.0.1:8000/callback"
		}
		after, err := edited(t, text, func(d *config.Document) error { return d.Set("a", config.Setting{Key: name, Value: value}) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if after == text && !slices.Contains([]string{"transport"}, name) {
			t.Errorf("%s: nothing was written", name)
		}
	}
}

// FuzzSet sets and removes keys in files: what is not edited means the same, and setting a value back gives the old entry.
func FuzzSet(f *testing.F) {
	f.Add("servers:\n  a:\n    command: x # c\n  b: {url: 'http://b.example/'}\n", "cwd", "/tmp")
	f.Add("# c\nservers:\n  a: &x\n    command: x\n    env: {A: '1'}\n  b:\n    <<: *x\n    command: y\n", "env.A", "2")
	f.Add("servers: {a: {command: x}, b: {command: y}}\n", "timeout", "5")
	f.Add("servers:\n  a:\n    command: |\n      x\n    args:\n    - a\n    # end\n\n  b:\n    command: y\n...\n", "args", "z")
	f.Add("servers:\r\n  a:\r\n    url: http://a.example/\r\n", "headers.X", "${Y}")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if len(text) > 4000 || len(value) > 1000 || len(key) > 100 {
			return
		}
		before, err := config.Parse("config.yaml", []byte(text))
		if err != nil || before.Format != nil {
			return
		}
		after, setErr := edited(t, text, func(d *config.Document) error { return d.Set("a", config.Setting{Key: key, Value: value}) })
		if setErr != nil {
			if after != text {
				t.Fatalf("the file was changed in spite of %v", setErr)
			}
			return
		}
		got, err := config.Parse("config.yaml", []byte(after))
		if err != nil {
			t.Fatalf("the file is broken: %v\n%s", err, after)
		}
		if s, ok := got.Server("a"); !ok || s.Err != nil {
			t.Fatalf("the entry is broken: %v\n%s", s.Err, after)
		}
		if len(got.Servers) != len(before.Servers) {
			t.Fatalf("%d servers, and %d before", len(got.Servers), len(before.Servers))
		}
		for i, s := range before.Servers {
			if s.Name != got.Servers[i].Name {
				t.Fatalf("the order has changed: %s is now %s", s.Name, got.Servers[i].Name)
			}
			if s.Name != "a" && (s.Target() != got.Servers[i].Target() || s.Timeout != got.Servers[i].Timeout || (s.Err == nil) != (got.Servers[i].Err == nil)) {
				t.Fatalf("server %q has changed:\n%s", s.Name, after)
			}
		}
	})
}
