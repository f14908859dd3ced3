package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tailscale/hujson"
)

// exported are entries with all that an entry can say.
const exported = `
servers:
  files:
    command: npx
    args: [-y, "@example/files", "${ROOT:-/tmp}", "a b", "5$"]
    env: {API_KEY: "${FILES_KEY}", LEVEL: "3"}
    inherit_env: true
    cwd: /srv/files
    connect_timeout: 5s
    timeout: 90s
    tools: {include: [read_file, list_files], exclude: [write_file]}
  search:
    url: https://search.example/mcp?k=${K}
    headers: {Authorization: "Bearer ${SEARCH_TOKEN}", X-Team: "<a & b>"}
    transport: http
    auth: none
    tls: {ca_file: ca.pem}
    proxy: none
    protocol: "2025-06-18"
    max_timeout: 5m
    wait: 3s
    session_wait: 4s
    keepalive: off
    retry: {initial: 3}
    breaker: {threshold: 4}
    skip_preflight: true
    tools: {exclude: [drop_table, 'delete_*']}
    health: {tool: ping}
  old: {url: "https://old.example/sse", transport: sse}
  any: {url: "https://any.example/mcp"}
  off: {command: off, enabled: false}
`

func exportedServers(tb testing.TB, text string) []Server {
	tb.Helper()
	cfg, err := Parse("config.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range cfg.Servers {
		if s.Err != nil {
			tb.Fatal(s.Err)
		}
	}
	return cfg.Servers
}

func formatOf(tb testing.TB, name string) Format {
	tb.Helper()
	for _, f := range Writable() {
		if f.Name == name {
			return f
		}
	}
	tb.Fatalf("nothing writes %s", name)
	return Format{}
}

// TestExportGolden compares the files of all clients, and what is told of them, with the golden ones.
func TestExportGolden(t *testing.T) {
	for _, f := range Writable() {
		t.Run(f.Name, func(t *testing.T) {
			m, err := f.Merge("", nil, exportedServers(t, exported), MergeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			b.Write(m.Text)
			for _, s := range m.Skipped {
				b.WriteString("skipped " + s.Name + ": " + string(s.Reason) + ": " + s.Message + "\n")
			}
			for _, l := range m.Losses {
				b.WriteString("lost " + l.Server + ": " + l.String() + "\n")
			}
			golden := filepath.Join("testdata", "export", f.Name+".golden")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o750); err != nil {
					t.Fatal(err)
				}
				writeText(t, golden, b.String())
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != b.String() {
				t.Errorf("%v; is\n%s", err, b.String())
			}
		})
	}
}

// TestExportReadsBack shows that what is written, read as the client's file and taken over, is the entry, apart from what
// is told.
func TestExportReadsBack(t *testing.T) {
	for _, f := range Writable() {
		t.Run(f.Name, func(t *testing.T) {
			servers := exportedServers(t, exported)
			m, err := f.Merge("", nil, servers, MergeOptions{Disabled: []string{"off"}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "servers")
			writeText(t, file, string(m.Text))
			cfg, err := LoadClient(file, f)
			if err != nil {
				t.Fatal(err)
			}
			if len(cfg.Servers) != len(m.Added) || len(m.Added)+len(m.Skipped) != len(servers) {
				t.Errorf("%d servers are there of %d; skipped %v", len(cfg.Servers), len(servers), m.Skipped)
			}
			for _, s := range cfg.Servers {
				got, _, err := s.Adopt(AdoptOptions{Home: filepath.Dir(file)}) // no project
				if err != nil {
					t.Fatal(err)
				}
				// ${env:NAME} is ${NAME} to us, too.
				each(&got, func(_, value string) string { return strings.ReplaceAll(value, "${env:", "${") })
				i := slices.IndexFunc(servers, func(o Server) bool { return o.Name == s.Name })
				want := servers[i]
				told := map[string]bool{}
				for _, l := range m.Losses {
					if l.Server == s.Name {
						told[before(l.Key, ".[?")] = true
					}
				}
				// VS Code does with http what we do with auto, and Codex has nothing else than http.
				told["transport"] = told["transport"] || want.Transport == TransportAuto && f.Name == "vscode" || want.Transport == TransportHTTP && f.Name == "codex"
				for _, key := range got.Differences(want) {
					if !told[key] {
						t.Errorf("%s: %s differs, and nobody is told:\n%s", s.Name, key, m.Text)
					}
				}
				again, err := f.Merge(file, m.Text, []Server{want}, MergeOptions{Disabled: []string{"off"}})
				if err != nil || again.Changed() || !bytes.Equal(again.Text, m.Text) || len(again.Skipped) != 1 || again.Skipped[0].Reason != SkipSame {
					t.Errorf("%s: a second time: %v: %+v", s.Name, err, again)
				}
			}
		})
	}
}

func TestMergeKeepsWhatIsThere(t *testing.T) {
	one := exportedServers(t, "servers:\n  new: {command: x, args: [a]}\n")
	const added = `"new": {
      "command": "x",
      "args": ["a"]
    }`
	for name, c := range map[string]struct{ before, after string }{
		"nothing":         {"", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"an empty one":    {"{}", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}"},
		"no servers":      {"{\n  // mine\n  \"a\": 1 // one\n}\n", "{\n  // mine\n  \"a\": 1, // one\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"null":            {"{\n  \"mcpServers\": null\n}\n", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"an empty list":   {"{\n  \"mcpServers\": {}, \"z\": [ 1,2 ]\n}\n", "{\n  \"mcpServers\": {\n    " + added + "\n  }, \"z\": [ 1,2 ]\n}\n"},
		"only a comment":  {"{\n  \"mcpServers\": { /* none */ }\n}\n", "{\n  \"mcpServers\": { /* none */\n    " + added + "\n  }\n}\n"},
		"a comma":         {"{\n  \"mcpServers\": {\n    \"a\": {\"url\":\"https://a/\"}, // last, too\n    // end\n  },\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"url\":\"https://a/\"}, // last, too\n    // end\n    " + added + ",\n  },\n}\n"},
		"no comma":        {"{\n  \"mcpServers\": {\n    \"a\": {\"url\":\"https://a/\"} /* , */\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"url\":\"https://a/\"}, /* , */\n    " + added + "\n  }\n}\n"},
		"one line":        {`{"mcpServers": {"a": {"url":"https://a/"}}, "b": 1}`, `{"mcpServers": {"a": {"url":"https://a/"}, "new": {"command": "x", "args": ["a"]}}, "b": 1}`},
		"tabs":            {"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"url\":\"https://a/\"}\n\t}\n}", "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"url\":\"https://a/\"},\n\t\t\"new\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\"a\"]\n\t\t}\n\t}\n}"},
		"CRLF and a mark": {"\ufeff{\r\n  \"mcpServers\": {}\r\n}\r\n", "\ufeff{\r\n  \"mcpServers\": {\r\n    " + strings.ReplaceAll(added, "\n", "\r\n") + "\r\n  }\r\n}\r\n"},
		"a different one": {"{\n  \"mcpServers\": {\n    // of new\n    \"new\": {\"command\": \"y\"}, // behind\n    \"z\": {\"command\":   \"z\"}\n  }\n}\n", "{\n  \"mcpServers\": {\n    // of new\n    " + added + ", // behind\n    \"z\": {\"command\":   \"z\"}\n  }\n}\n"},
		"the same":        {"{\"mcpServers\": {\"new\":{\"args\":[ \"a\" ],\"command\":\"x\",\"type\":\"stdio\",\"autoApprove\":[]}}}", "{\"mcpServers\": {\"new\":{\"args\":[ \"a\" ],\"command\":\"x\",\"type\":\"stdio\",\"autoApprove\":[]}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := formatOf(t, "cursor").Merge("mcp.json", []byte(c.before), one, MergeOptions{Replace: true})
			if err != nil || string(m.Text) != c.after {
				t.Errorf("%v; is\n%s\nwant\n%s", err, m.Text, c.after)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	one := exportedServers(t, "servers:\n  new: {command: x}\n")
	for before, want := range map[string]string{
		`{"mcpServers": {`:                    "ends too early",
		`[]`:                                  "want an object with mcpServers",
		`{"mcpServers": []}`:                  "want the servers, found a list",
		`{"mcpServers": {"a": {}, "a": {}}}`:  `"a"`,
		`{"mcpServers": {}, "mcpServers": 1}`: `"mcpServers"`,
		`{"servers": {}}`:                     "is not a file of Cursor",
		"servers: {}":                         "mcp.json:1:1",
	} {
		m, err := formatOf(t, "cursor").Merge("mcp.json", []byte(before), one, MergeOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || m.Text != nil {
			t.Errorf("%s: %v", before, err)
		}
	}
	for text, want := range map[string]string{
		"servers:\n  a: {command: x, env: {API_KEY: planted-0001-x}}\n":                         `key "env.API_KEY"`,
		"servers:\n  a: {url: 'https://a.example/?token=planted-0002-x'}\n":                     "url?token",
		"servers:\n  a: {command: x, args: [--token, ghp_planted0003planted0003planted0003]}\n": "args[1]",
	} {
		servers := exportedServers(t, text)
		if _, err := formatOf(t, "cursor").Merge("", nil, servers, MergeOptions{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", text, err)
		}
		if m, err := formatOf(t, "cursor").Merge("", nil, servers, MergeOptions{LiteralSecrets: true}); err != nil || !bytes.Contains(m.Text, []byte("planted")) {
			t.Errorf("%s: %v: %s", text, err, m.Text)
		}
	}
}

func TestMergeTranslates(t *testing.T) {
	for _, c := range []struct{ format, entry, want, told string }{
		{"cursor", `{command: x, args: ["${A:-b}"]}`, `"${env:A}"`, "no default"},
		{"cursor", `{command: ~/x}`, `"${userHome}/x"`, ""},
		{"claude-code", `{command: ~/x, args: ["~", a~]}`, `["/home/u", "a~"]`, ""},
		{"claude-code", `{command: x, args: ["$${A}"]}`, `"${A}"`, "takes it for a variable"},
		{"claude-desktop", `{command: x, args: ["$${A}"]}`, `"${A}"`, ""},
		{"claude-desktop", `{command: x, env: {A: "${A}"}}`, `"${A}"`, "replaces no variables"},
		{"windsurf", `{url: "https://x/", headers: {A: "${file:/run/secrets/a}"}}`, `"${file:/run/secrets/a}"`, ""},
		{"cursor", `{url: "https://x/", headers: {A: "${file:/run/secrets/a}"}}`, `"${file:/run/secrets/a}"`, "does not replace ${file:"},
		{"cursor", `{url: "https://x/", headers: {A: "${keyring:a/b}"}}`, `"${keyring:a/b}"`, "does not replace ${keyring:"},
		{"cline", `{command: x, timeout: 1500ms}`, `"timeout": 2`, "rounded up to 2s"},
		{"gemini", `{command: x, tools: {include: ['a*', b]}}`, `["b"]`, "globs are left out"},
	} {
		m, err := formatOf(t, c.format).Merge("", nil, exportedServers(t, "servers:\n  a: "+c.entry+"\n"), MergeOptions{Home: "/home/u"})
		var told strings.Builder
		for _, l := range m.Losses {
			told.WriteString(l.Message + "\n")
		}
		if err != nil || !bytes.Contains(m.Text, []byte(c.want)) || c.told == "" && told.Len() > 0 || !strings.Contains(told.String(), c.told) {
			t.Errorf("%s: %s: %v: told %q:\n%s", c.format, c.entry, err, told.String(), m.Text)
		}
	}
}

// TestAnApprovalStaysWithItsServer shows what becomes of keys that only the client knows.
func TestAnApprovalStaysWithItsServer(t *testing.T) {
	before := []byte(`{"mcpServers": {"a": {"command": "x", "autoApprove": ["b"], "timeout": 5}}}`)
	m, err := formatOf(t, "cline").Merge("f", before, exportedServers(t, "servers:\n  a: {command: x}\n"), MergeOptions{Replace: true})
	if err != nil || !bytes.Contains(m.Text, []byte(`"autoApprove": ["b"]`)) || bytes.Contains(m.Text, []byte("timeout")) {
		t.Errorf("%v: %s", err, m.Text)
	}
	m, err = formatOf(t, "cline").Merge("f", before, exportedServers(t, "servers:\n  a: {command: y}\n"), MergeOptions{Replace: true})
	if err != nil || bytes.Contains(m.Text, []byte("autoApprove")) || len(m.Losses) != 1 {
		t.Errorf("%v: %s: %v", err, m.Text, m.Losses)
	}
}

func TestMergeFile(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	writeText(t, target, "{}\n")
	if err := os.Chmod(target, 0o640); err != nil { //nolint:gosec // its mode is the matter
		t.Fatal(err)
	}
	if err := os.Symlink("real.json", link); err != nil {
		t.Skip(err)
	}
	f, one := formatOf(t, "cursor"), exportedServers(t, "servers:\n  new: {command: x}\n")
	no := errors.New("no")
	if _, err := f.MergeFile(t.Context(), link, one, MergeOptions{}, func(Merged) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "{}\n" {
		t.Errorf("%v: %s", err, text)
	}
	yes := func(Merged) error { return nil }
	if _, err := f.MergeFile(t.Context(), link, one, MergeOptions{}, yes); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v: the link is gone", err)
	}
	if info, err = os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v: %v", err, info.Mode())
	}
	if cfg, err := LoadClient(target, f); err != nil || len(cfg.Servers) != 1 {
		t.Errorf("%v: %v", err, cfg)
	}
	// What was made for nothing goes away again.
	deep := filepath.Join(dir, "none", "deep", "f.json")
	if _, err := f.MergeFile(t.Context(), deep, one, MergeOptions{}, func(Merged) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v: %v", err, entries)
	}
	if _, err := f.MergeFile(t.Context(), deep, one, MergeOptions{}, yes); err != nil {
		t.Error(err)
	}
}

// FuzzMerge looks for a file in which a merge changes something else than its entry.
func FuzzMerge(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"a":1,}`, `{"mcpServers":{"x":{"command":"y",},},}`, "{\n\t\"mcpServers\": { // c\n\t\t\"new\": {} /* d */\n\t}\n}", "\ufeff{\r\n}\r\n",
		"mcpServers:\n- name: a # a\n  command: b\n# end\n", "mcp_servers:\n  a: {command: b}\nz: |\n  # x\n", "[mcp_servers.new]\ncommand = 'y'\n[z]\na = \"\"\"\n[b]\n\"\"\"\n",
		`{"mcpServers":null}`, `{"mcpServers":{"a":{"env":{"A":"${B}"}} /* , */ , // x` + "\n}}",
	} {
		f.Add(text)
	}
	servers := exportedServers(f, "servers:\n  new: {command: x, args: [a]}\n")
	values := func(data []byte) map[string]string {
		found := map[string]string{}
		root, err := hujson.Parse(append(bytes.Clone(bytes.TrimPrefix(data, []byte(byteOrderMark))), '\n'))
		if err != nil {
			return found
		}
		top, _ := root.Value.(*hujson.Object)
		add := func(prefix string, o *hujson.Object) {
			for _, m := range o.Members {
				m.Value.BeforeExtra, m.Value.AfterExtra = nil, nil
				found[prefix+m.Name.String()] = m.Value.String()
			}
		}
		add("", top)
		for _, m := range top.Members {
			if object, ok := m.Value.Value.(*hujson.Object); ok && strings.Contains(m.Name.String(), "mcpServers") {
				add("servers ", object)
			}
		}
		return found
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"codex", "hermes", "continue", "opencode"} {
			format := formatOf(t, name)
			m, err := format.Merge("f", []byte(text), servers, MergeOptions{Replace: true})
			if err != nil {
				continue
			}
			if again, err := format.Merge("f", m.Text, servers, MergeOptions{}); err != nil || again.Changed() {
				t.Errorf("%s: a second time: %v: %+v of %q", name, err, again, m.Text)
			}
		}
		m, err := formatOf(t, "cursor").Merge("mcp.json", []byte(text), servers, MergeOptions{Replace: true})
		if err != nil {
			return
		}
		if strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark)) == "" {
			return
		}
		after := values(m.Text)
		for key, value := range values([]byte(text)) {
			if strings.Contains(key, "mcpServers") || strings.Contains(key, "new") || strings.Contains(key, `\`) {
				continue
			}
			if after[key] != value {
				t.Errorf("%s was %q and is %q in %q", key, value, after[key], m.Text)
			}
		}
		again, err := formatOf(t, "cursor").Merge("mcp.json", m.Text, servers, MergeOptions{})
		if err != nil || again.Changed() {
			t.Errorf("a second time: %v: %+v of %q", err, again, m.Text)
		}
	})
}

func TestMergeIntoTOMLAndYAML(t *testing.T) {
	for name, c := range map[string]struct{ format, before, after string }{
		"a new table":       {"codex", "# mine\nmodel = \"m\" # m\n\n[mcp_servers.a]\ncommand = 'a'\n", "# mine\nmodel = \"m\" # m\n\n[mcp_servers.a]\ncommand = 'a'\n\n[mcp_servers.new]\ncommand = \"x\"\nargs = [\"a\"]\n"},
		"another table":     {"codex", "[mcp_servers.new] # n\ncommand = 'y'\n[mcp_servers.new.env]\nA = 'b'\n\n# of z\n[z]\na = 1\n", "[mcp_servers.new]\ncommand = \"x\"\nargs = [\"a\"]\n\n# of z\n[z]\na = 1\n"},
		"the same table":    {"codex", "[mcp_servers]\nnew = {command='x', args=['a']}\n", "[mcp_servers]\nnew = {command='x', args=['a']}\n"},
		"a new key":         {"hermes", "# mine\nmodel: m # m\nmcp_servers:\n  a: {command: a} # a\n\nz: 1\n", "# mine\nmodel: m # m\nmcp_servers:\n  a: {command: a} # a\n  new:\n    command: x\n    args: [a]\n\nz: 1\n"},
		"no servers":        {"hermes", "model: m # m\n", "model: m # m\nmcp_servers:\n  new:\n    command: x\n    args: [a]\n"},
		"another key":       {"hermes", "mcp_servers:\n  new:\n    command: y # y\n  # of a\n  a: {command: a}\n", "mcp_servers:\n  new:\n    command: x\n    args: [a]\n  # of a\n  a: {command: a}\n"},
		"a new item":        {"continue", "name: n\nmcpServers:\n  - name: a # a\n    command: a\n# end\nz: 1\n", "name: n\nmcpServers:\n  - name: a # a\n    command: a\n  - name: new\n    command: x\n    args: [a]\n# end\nz: 1\n"},
		"another item":      {"continue", "mcpServers:\n- name: new\n  command: y\n\n- name: a # a\n  command: a\n", "mcpServers:\n- name: new\n  command: x\n  args: [a]\n\n- name: a # a\n  command: a\n"},
		"nothing, and CRLF": {"continue", "name: n\r\n", "name: n\r\nmcpServers:\r\n  - name: new\r\n    command: x\r\n    args: [a]\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := formatOf(t, c.format).Merge("f", []byte(c.before), exportedServers(t, "servers:\n  new: {command: x, args: [a]}\n"), MergeOptions{Replace: true})
			if err != nil || string(m.Text) != c.after {
				t.Errorf("%v; is\n%s\nwant\n%s", err, m.Text, c.after)
			}
		})
	}
	for format, before := range map[string]string{
		"codex": "[mcp_servers]\nnew = {command='y'}\n", "hermes": "{mcp_servers: {a: {command: x}}}\n", "continue": "mcpServers: [{name: a, command: b}]\n",
		"opencode": `{"mcp": {"servers": {"a": {"command": ["x"]}}}}`,
	} {
		if m, err := formatOf(t, format).Merge("f", []byte(before), exportedServers(t, "servers:\n  new: {command: x}\n"), MergeOptions{Replace: true}); err == nil {
			t.Errorf("%s: %s", format, m.Text)
		}
	}
}

// TestMergeKeepsTheOnlyCopyOfASecret holds that a variable does not take the place of a value that stands nowhere else.
func TestMergeKeepsTheOnlyCopyOfASecret(t *testing.T) {
	for client, existing := range map[string]string{
		"cursor": `{"mcpServers": {"gh": {"command": "npx", "args": ["gh"], "env": {"GH_TOKEN": "sesame$$1", "X": "${env:X}"}}}}`,
		"codex":  "[mcp_servers.gh]\ncommand = \"npx\"\nargs = [\"gh\"]\nenv = { GH_TOKEN = \"sesame$$1\" }\n",
	} {
		for _, command := range []string{"npx", "other"} {
			f := FindClients(client)[0]
			s := Server{
				Name: "gh", Command: command, Args: []string{"gh"}, Enabled: true, Cwd: "/tmp", Timeout: 7 * time.Second,
				Transport: TransportStdio, Env: map[string]string{"GH_TOKEN": "${GH_GH_TOKEN}", "X": "${Y}"},
			}
			m, err := f.Merge("x", []byte(existing), []Server{s}, MergeOptions{Replace: true})
			if err != nil {
				t.Fatal(err)
			}
			text := string(m.Text)
			if kept := strings.Contains(text, "sesame$$1"); kept != (command == "npx") {
				t.Errorf("%s, command %s: kept %t:\n%s", client, command, kept, text)
			}
			if strings.Contains(text, "GH_GH_TOKEN") == (command == "npx") {
				t.Errorf("%s, command %s:\n%s", client, command, text)
			}
		}
	}
}
