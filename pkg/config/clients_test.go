package config

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write the golden files anew")

// clientFiles are the files below testdata/clients, each as its client writes it. A leading _ in a name stands for a dot,
// so that neither an editor nor git takes it for one of its own.
func clientFiles(tb testing.TB) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join("testdata", "clients"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(file) != ".golden" {
			files = append(files, filepath.ToSlash(file))
		}
		return err
	})
	if err != nil || len(files) == 0 {
		tb.Fatal(files, err)
	}
	return files
}

// clientPath returns the client that a file is a sample of, and where the file is taken to be.
func clientPath(file string) (client, name string) {
	client, rest, _ := strings.Cut(strings.TrimPrefix(file, "testdata/clients/"), "/")
	elements := strings.Split(rest, "/")
	for i, e := range elements {
		if hidden, ok := strings.CutPrefix(e, "_"); ok {
			elements[i] = "." + hidden
		}
	}
	return client, "/home/u/" + path.Join(elements...)
}

// TestClientFiles shows what is read of the files of all clients, and what becomes of it here.
func TestClientFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the samples have the paths of other systems")
	}
	count := map[string]int{}
	for _, file := range clientFiles(t) {
		client, name := clientPath(file)
		count[client]++
		t.Run(strings.TrimPrefix(file, "testdata/clients/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse(name, data)
			if err == nil && (cfg.Format == nil || cfg.Format.Name != client) {
				t.Fatalf("taken for the file of %+v", cfg.Format)
			}
			got := clientReport(t, cfg, err)
			golden := file + ".golden"
			if *update {
				writeText(t, golden, got)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: to write it anew: go test ./pkg/config -run TestClientFiles -update\ngot:\n%s\nwant:\n%s", golden, got, want)
			}
		})
	}
	for _, f := range Clients() {
		if count[f.Name] < 3 {
			t.Errorf("%s has %d samples, want at least 3", f.Name, count[f.Name])
		}
	}
}

// clientReport says what was read of a file, and what each entry becomes here.
func clientReport(t *testing.T, cfg *Config, err error) string {
	t.Helper()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if err != nil {
		line("error: %v", err)
		return b.String()
	}
	for _, n := range cfg.Notes {
		line("note: %s", n)
	}
	used := map[string]string{}
	for _, s := range cfg.Servers {
		line("\n== %s", s.Name)
		if s.Err != nil {
			line("error: %v", s.Err)
			if strings.Contains(s.Err.Error(), "planted") {
				t.Errorf("%s: shows a secret: %v", s.Name, s.Err)
			}
		}
		line("transport: %s", s.Transport)
		b.WriteString(entryText(t, s))
		if s.Foreign.EnvFile != "" {
			line("env file: %s", s.Foreign.EnvFile)
		}
		if limit := cfg.Format.StartLimitOf(s); limit > 0 {
			line("start limit: %s", limit)
		}
		for _, p := range s.Foreign.Placeholders {
			line("placeholder: %s %s %s %s", p.Place, p.Kind, p.Text, p.About)
		}
		for _, n := range s.Foreign.Notes {
			line("note: %s", n)
		}
		if s.Err != nil {
			continue
		}
		out, told, err := s.Adopt(AdoptOptions{Home: "/home/u", Variables: used})
		if err != nil {
			line("-- not adopted: %v", err)
			continue
		}
		line("-- adopted as %s", out.Name)
		text := entryText(t, out)
		b.WriteString(text)
		for _, v := range told.Variables {
			line("set: %s for %s: %s:%d %s", v.Name, v.Place, v.File, v.Line, v.About)
			if v.File != "" && v.Line == 0 {
				t.Errorf("%s: nobody knows where %s stands", s.Name, v.Name)
			}
		}
		for _, r := range told.Changes {
			line("changed: %s", r)
			text += r.String()
		}
		for _, r := range told.Losses {
			line("lost: %s", r)
			text += r.String()
		}
		if strings.Contains(text, "planted") {
			t.Errorf("%s: a secret was taken over: %s", s.Name, text)
		}
		writtenAsAdopted(t, out)
	}
	return b.String()
}

// writtenAsAdopted checks that what is written is what is read.
func writtenAsAdopted(t *testing.T, s Server) {
	t.Helper()
	ours := filepath.Join(t.TempDir(), "config.yaml")
	if err := Edit(ours, func(d *Document) error { return d.Add(s) }); err != nil {
		t.Error(err)
		return
	}
	cfg, err := Load(ours)
	if err != nil {
		t.Error(err)
		return
	}
	got, _ := cfg.Server(s.Name)
	if keys := s.Differences(got); len(keys) > 0 || got.Err != nil {
		t.Errorf("%s: written, it differs in %q: %v", s.Name, keys, got.Err)
	}
}

// entryText returns the entry as it would be written.
func entryText(t *testing.T, s Server) string {
	t.Helper()
	node := entryNode(s)
	if len(node.Content) == 0 {
		return ""
	}
	text, err := encode(node, 2)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecogniseByLanguage(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"TOML on standard input", "-", "# c\n[mcp_servers.a]\ncommand = \"x\"\n", "codex"},
		{"TOML without tables", "x.conf", "mcp_servers.a.command = \"x\"\n", "codex"},
		{"Codex has no servers yet", "h/.codex/config.toml", "model = \"x\"\n", "codex"},
		{"Hermes", "x.yaml", "mcp_servers: {a: {command: x}}\n", "hermes"},
		{"Hermes has none yet", "h/.hermes/config.yaml", "model: x\n", "hermes"},
		{"Goose", "x.yaml", "extensions: {a: {type: stdio, cmd: x}}\n", "goose"},
		{"Goose has none yet", "h/goose/config.yaml", "GOOSE_MODEL: x\nextensions: {}\n", "goose"},
		{"Continue", "x.yaml", "version: 1.0.0\nmcpServers: [{name: a, command: x}]\n", "continue"},
		{"a mapping in YAML", "x.yaml", "mcpServers: {a: {command: x}}\n", "json"},
		{"opencode", "x.json", `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`, "opencode"},
		{"opencode's second version", "x.json", `{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}}}`, "opencode"},
		{"opencode has none yet", "h/opencode.json", `{"theme": "x"}`, "opencode"},
		{"mcporter's mark", "x.json", `{"mcpServers": {"a": {"baseUrl": "https://a.example/"}}}`, "mcporter"},
		{"Gemini's other key", "x.json", `{"mcp": {"allowed": []}, "mcpServers": {"a": {"command": "x", "trust": true}}}`, "gemini"},
		{"ours", "h/goose/config.yaml", "servers: {a: {command: x}}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := Parse(test.file, []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if cfg.Format != nil {
				got = cfg.Format.Name
			}
			if got != test.want {
				t.Errorf("format %q, want %q", got, test.want)
			}
		})
	}
	for _, test := range []struct{ name, file, text, want string }{
		{"misspelt", "config.yaml", "server: {a: {command: x}}\n", `config.yaml:1:1: key "server": unknown key; did you mean "servers"?`},
		{"extensions of another program", "config.yaml", "extensions: [a, b]\n", `config.yaml:1:1: key "extensions": unknown key`},
		{"two formats", "config.yaml", "servers: {}\nmcp_servers: {}\n", `config.yaml:2: has the keys "servers" and "mcp_servers", in lines 1 and 2`},
		{"two formats in JSON", "c.json", "{\"mcpServers\": {},\n\"mcp\": {\"a\": {\"type\": \"remote\"}}}", `c.json:2: has the keys "mcpServers" and "mcp", in lines 1 and 2`},
		{"TOML of another program", "pyproject.toml", "[project]\nname = \"x\"\n", `pyproject.toml:1: is TOML, and has no "mcp_servers"; mcpctl's own files are YAML`},
		{"misspelt in TOML", "c.toml", "\n[mcp_server.a]\n", `c.toml:2:2: key "mcp_server": unknown key; did you mean "mcp_servers"?`},
		{"a secret without quotes", "c.toml", "[mcp_servers.a.env]\nTOKEN = ghp_0123456789\n", `c.toml:2:9: neither text in quotes, nor a number, true or false; put double quotes around text`},
		{"cut short", "c.toml", "[mcp_servers.a]\nargs = [\"x\",", `c.toml:2`},
		{"deep", "c.toml", "a = " + strings.Repeat("[", 300) + strings.Repeat("]", 300), `c.toml:1:1: is nested deeper than 200 levels`},
		{"a deep key", "c.toml", strings.Repeat("a.", 300) + "a = 1", `c.toml:1:1: is nested deeper than 200 levels`},
		{"UTF-16", "c.toml", "\xff\xfea\x00", `c.toml:1: the file is UTF-16; save it as UTF-8`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.file, []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "ghp_") {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestTOMLTree compares the tree of TOML with that of YAML which says the same.
func TestTOMLTree(t *testing.T) {
	text := "a = 1_000\nb = 0x10\nc = 1.5\nd = true\ne = 'x\\y'\nf = \"\"\"\none\ntwo\"\"\"\n" +
		"g.h.i = \"dotted\"\ng.h.j = [1, [\"two\"], {k = 3}]\n[l.m]\nn = 1\n[l]\no = 2\n[[p]]\nq = 1\n[[p]]\nq = 2\n[p.r]\ns = 3\n"
	want := "{a: 1000, b: 16, c: 1.5, d: true, e: 'x\\y', f: \"one\\ntwo\", g: {h: {i: dotted, j: [1, [two], {k: 3}]}}, l: {m: {n: 1}, o: 2}, p: [{q: 1}, {q: 2, r: {s: 3}}]}"
	got, err := parseTOML("c.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var other yaml.Node
	if err := yaml.Unmarshal([]byte(want), &other); err != nil {
		t.Fatal(err)
	}
	if !sameTree(got, other.Content[0]) {
		text, err := encode(got, 2)
		t.Errorf("%v\n%s", err, text)
	}
	key, value := got.Content[12], got.Content[13]
	if key.Value != "g" || key.Line != 9 || key.Column != 1 || value.Content[0].Column != 3 {
		t.Errorf("%q is in line %d, column %d, and below it %d", key.Value, key.Line, key.Column, value.Content[0].Column)
	}
}

func TestReferencesWithoutADollar(t *testing.T) {
	x := syntax{curly: true}
	for text, want := range map[string]string{
		"Bearer {env:TOKEN}": "Bearer ${TOKEN}", "{env:A}{env:B}": "${A}${B}", "{file:~/.key}": "${file:~/.key}",
		"{file:keys/a}": "${file:/d/keys/a}", "{file:/k}": "${file:/k}", "{ env }": "{ env }", "{": "{", "{env:}": "{env:}", "{a{env:B}": "{a${B}",
		"$HOME ${HOME}": "$HOME $${HOME}", "{env:A B}": "{env:A B}", "": "",
	} {
		if runtime.GOOS == "windows" && strings.Contains(text, "file:") {
			continue
		}
		if got, _ := x.template(text, "/d"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestUserFilesOfFurtherClients(t *testing.T) {
	home := filepath.FromSlash("/h")
	for _, test := range []struct{ client, goos, variable, want string }{
		{"codex", "linux", "", "/h/.codex/config.toml"},
		{"codex", "linux", "CODEX_HOME=/c", "/c/config.toml"},
		{"goose", "darwin", "", "/h/.config/goose/config.yaml"},
		{"goose", "linux", "XDG_CONFIG_HOME=/x", "/x/goose/config.yaml"},
		{"goose", "windows", "AppData=/a", "/a/Block/goose/config/config.yaml"},
		{"hermes", "linux", "", "/h/.hermes/config.yaml"},
		{"hermes", "linux", "HERMES_HOME=/e", "/e/config.yaml"},
		{"hermes", "windows", "LOCALAPPDATA=/l", "/l/hermes/config.yaml"},
		{"opencode", "linux", "", "/h/.config/opencode/opencode.json"},
		{"continue", "windows", "", "/h/.continue/config.yaml"},
		{"lmstudio", "darwin", "", "/h/.lmstudio/mcp.json"},
		{"mcporter", "linux", "", "/h/.mcporter/mcporter.json"},
	} {
		if runtime.GOOS == "windows" && strings.HasPrefix(test.variable, "XDG") {
			continue // the path is not absolute there
		}
		if got := FindClients(test.client)[0].UserFile(test.goos, home, environment(test.variable)); got != filepath.FromSlash(test.want) {
			t.Errorf("%s on %s with %s: %s, want %s", test.client, test.goos, test.variable, got, test.want)
		}
	}
}

func TestLoadClientTakesTheOtherName(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "opencode.jsonc"), `{"mcp": {"a": {"type": "local", "command": ["x"]}}} // c`)
	format := FindClients("opencode")[0]
	cfg, err := LoadClient(filepath.Join(dir, "opencode.json"), format)
	if err != nil || len(cfg.Servers) != 1 || filepath.Base(cfg.Path) != "opencode.jsonc" {
		t.Fatalf("%+v, %v", cfg, err)
	}
	if _, err := LoadClient(filepath.Join(dir, "none", "opencode.json"), format); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "opencode.json: ") {
		t.Error(err)
	}
	for _, f := range Clients() {
		empty := filepath.Join(dir, "empty-"+f.Name)
		writeText(t, empty, "\n")
		if cfg, err := LoadClient(empty, f); err != nil || len(cfg.Servers) != 0 {
			t.Errorf("%s: an empty file: %v", f.Name, err)
		}
	}
}

// FuzzClients shows that no reader panics, and that what one takes for valid can be used.
func FuzzClients(f *testing.F) {
	for _, file := range clientFiles(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		client, name := clientPath(file)
		f.Add(slices.IndexFunc(Formats(), func(f Format) bool { return f.Name == client }), name, data)
	}
	f.Add(0, "-", []byte("[[a]]\n[a.b]\n[a]\nb.c = {d.e = [[{}]]}\n"))
	f.Add(0, "x.toml", []byte("mcp_servers = [[1]]\n[mcp_servers.a]\nenv = {a.b = 1979-05-27}\n"))
	f.Fuzz(func(t *testing.T, index int, name string, data []byte) {
		formats := Formats()
		byFormat, err := parseClient(name, data, formats[(index%len(formats)+len(formats))%len(formats)])
		if err != nil && err.Error() == "" {
			t.Error("an error without a message")
		}
		byContent, err := Parse(name, data)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("not an *Error: %v", err)
		}
		for _, cfg := range []*Config{byFormat, byContent} {
			if cfg == nil {
				continue
			}
			for _, s := range cfg.Servers {
				s.Redacted().Target()
				if s.Err != nil || s.Foreign == nil {
					continue
				}
				if err := s.Validate(); err != nil {
					t.Errorf("valid in the file, not by itself: %v", err)
				}
				if s.Foreign.EnvFile != "" {
					continue // nothing is read here
				}
				_, _, _ = s.Expand(Environment{Lookup: environment("A=1"), Home: "/home/u"})
				if out, _, err := s.Adopt(AdoptOptions{Home: "/home/u"}); err == nil && out.Validate() != nil {
					t.Errorf("adopted, it is not valid: %v", out.Validate())
				}
			}
		}
	})
}
