package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// environment returns a lookup of NAME=value pairs.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

func TestFormatIsKnownByContent(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"a key of several clients", "x.json", `{"mcpServers": {"a": {"command": "x"}}}`, "json"},
		{"nothing in it", "x.json", `{"mcpServers": {}}`, "json"},
		{"servers without version", "x.json", `{"servers": {"a": {"command": "x"}}}`, "vscode"},
		{"servers with version", "x.json", `{"version": 1, "servers": {"a": {"command": "x"}}}`, ""},
		{"servers in YAML", "x.yaml", "servers:\n  a: {command: x}\n", ""},
		{"flow style YAML", "x.yaml", `{servers: {a: {command: x}}}`, ""},
		{"empty object", "x.json", `{}`, ""},
		{"context servers", "x.json", `{"context_servers": {"a": {"command": "x"}}, "theme": "One"}`, "zed"},
		{"mark in the file", "x.json", `{"mcpServers": {}, "numStartups": 3}`, "claude-code"},
		{"mark in an entry", "x.json", `{"mcpServers": {"a": {"httpUrl": "https://a.example/"}}}`, "gemini"},
		{"Windsurf's mark", "x.json", `{"mcpServers": {"a": {"serverUrl": "https://a.example/"}}}`, "windsurf"},
		{"Cline's mark", "x.json", `{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}`, "cline"},
		{"path before marks", "p/.cursor/mcp.json", `{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}`, "cursor"},
		{"project file", "p/.mcp.json", `{"mcpServers": {}}`, "claude-code"},
		{"desktop", "claude_desktop_config.json", `{"mcpServers": {}}`, "claude-desktop"},
		{"comments and BOM", "x.json", "\ufeff// c\n/* d */ {\n// e\n\"mcpServers\": {\"a\": {\"command\": \"x\",},},}// end", "json"},
		{"settings without servers", ".gemini/settings.json", `{"theme": "x"}`, "gemini"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := Parse(filepath.FromSlash(test.file), []byte(test.text))
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
}

func TestForeignFileErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"two formats", "{\n \"mcpServers\": {},\n \"context_servers\": {}\n}", `c.json:3: has the keys "mcpServers" and "context_servers", in lines 2 and 3, which are those of different formats; keep the servers below one of them`},
		{"one server twice", "{\"mcpServers\": {\n \"a\": {\"command\": \"x\"},\n \"a\": {\"command\": \"y\"}}}", `c.json:3:2: the server "a" is defined twice, in lines 2 and 3; rename or remove one`},
		{"syntax", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\" \"args\": []}}}", `c.json:2:24: invalid character '"' after object value (expecting ',' or '}'); is a comma missing before it?`},
		{"key without quotes", "{\"mcpServers\": {\n  a: {}}}", `c.json:2:3: neither text in double quotes, nor a number, true, false or null; put double quotes around text`},
		{"cut short", "{\"mcpServers\": {\n  \"a\": {", `c.json:2: the file ends too early; look for a bracket, a brace or a quote that is not closed`},
		{"never a secret", `{"mcpServers": {"a": {"env": {"T": ghp_0123456789}}}}`, `c.json:1:36: neither text in double quotes, nor a number, true, false or null; put double quotes around text`},
		{"deep", `{"mcpServers": ` + strings.Repeat("[", 300), `c.json:1:215: is nested deeper than 200 levels`},
		{"list", `{"mcpServers": [1]}`, `c.json:1:16: key "mcpServers": want a mapping, found a list`},
		{"misspelt", `{"mcpServer": {}}`, `c.json:1:2: key "mcpServer": unknown key; did you mean "mcpServers"?`},
		{"not UTF-8", "{\"mcpServers\":\n \"\xff\"}", `c.json:2:3: not UTF-8 text; save the file as UTF-8`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("c.json", []byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %v", err, test.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.Line == 0 {
				t.Errorf("not an *Error with a line: %#v", err)
			}
		})
	}
}

func TestForeignEntryErrorsLeaveTheOthers(t *testing.T) {
	tests := []struct{ name, entry, want string }{
		{"nothing", `{}`, `neither command nor url is set`},
		{"both", `{"command": "x", "url": "https://a.example/"}`, `command and url are both set`},
		{"kind", `{"url": "https://a.example/", "type": "carrier-pigeon"}`, `key "type": "carrier-pigeon" is not a transport; write stdio, http or sse`},
		{"kind of a command", `{"command": "x", "type": "http"}`, `key "type": http needs a url`},
		{"their name for a URL", `{"serverUrl": "nowhere"}`, `key "serverUrl": is not a complete URL`},
		{"arguments as text", `{"command": "x", "args": "a b"}`, `key "args": want a list, found text`},
		{"limit as text", `{"command": "x", "timeout": "soon"}`, `want a number of seconds, found text`},
		{"two URLs", `{"url": "https://a.example/", "httpUrl": "https://b.example/"}`, `a second URL`},
		{"no object", `"x"`, `want an object with command or url, found text`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := Parse("cline_mcp_settings.json", []byte(`{"mcpServers": {"ok": {"command": "x"}, "bad": `+test.entry+`}}`))
			if err != nil {
				t.Fatal(err)
			}
			if ok, _ := cfg.Server("ok"); ok.Err != nil {
				t.Errorf("the other entry: %v", ok.Err)
			}
			bad, _ := cfg.Server("bad")
			if bad.Err == nil || !strings.Contains(bad.Err.Error(), test.want) || !strings.HasPrefix(bad.Err.Error(), `cline_mcp_settings.json:1:`) {
				t.Errorf("got %v, want %s", bad.Err, test.want)
			}
		})
	}
}

func TestForeignKeysAreTranslated(t *testing.T) {
	tests := []struct {
		file, entry string
		want        Server
		notes       []string
	}{
		{
			".cursor/mcp.json", `{"url": "https://a.example/", "headers": {"A": "b"}, "autoRun": true}`,
			Server{URL: "https://a.example/", Headers: map[string]string{"A": "b"}, Transport: TransportAuto, Enabled: true},
			[]string{`line 1: key "autoRun": mcpctl has no place for it, and does not use it`},
		},
		{
			".mcp.json", `{"type": "streamable-http", "url": "https://a.example/", "timeout": 1500}`,
			Server{URL: "https://a.example/", Transport: TransportHTTP, Enabled: true, Timeout: 1500 * time.Millisecond},
			nil,
		},
		{
			"cline_mcp_settings.json", `{"command": "x", "disabled": true, "timeout": 90, "args": null}`,
			Server{Command: "x", Transport: TransportStdio, Timeout: 90 * time.Second},
			nil,
		},
		{
			".cursor/mcp.json", `{"command": "x", "timeout": 90}`,
			Server{Command: "x", Transport: TransportStdio, Enabled: true},
			[]string{`line 1: key "timeout": it is not known whether it is seconds or milliseconds, so it is not used; to set one: --timeout`},
		},
		{
			".gemini/settings.json", `{"httpUrl": "https://a.example/", "includeTools": ["a*", "b"], "excludeTools": ["b"], "trust": true}`,
			Server{URL: "https://a.example/", Transport: TransportHTTP, Enabled: true, Tools: ToolFilter{Include: []string{`a\*`}, Exclude: []string{"b"}}},
			[]string{`line 1: key "trust": mcpctl has no place for it, and does not use it`},
		},
		{".gemini/settings.json", `{"url": "https://a.example/"}`, Server{URL: "https://a.example/", Transport: TransportSSE, Enabled: true}, nil},
		{
			".windsurf/mcp_config.json", `{"serverUrl": "https://a.example/", "disabledTools": ["x"]}`,
			Server{URL: "https://a.example/", Transport: TransportAuto, Enabled: true, Tools: ToolFilter{Exclude: []string{"x"}}},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.entry, func(t *testing.T) {
			cfg, err := Parse(test.file, []byte(`{"mcpServers": {"s": `+test.entry+`}}`))
			if err != nil {
				t.Fatal(err)
			}
			got := cfg.Servers[0]
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			var notes []string
			for _, n := range got.Foreign.Notes {
				notes = append(notes, n.String())
			}
			if !reflect.DeepEqual(notes, test.notes) {
				t.Errorf("notes %q, want %q", notes, test.notes)
			}
			got.Name, got.Foreign, got.Sources = "", nil, nil
			if got, want := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", test.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestZedCommands(t *testing.T) {
	cfg, err := Parse("settings.json", []byte(`{"context_servers": {
		"old": {"source": "custom", "command": {"path": "x", "args": ["a"], "env": {"B": "c"}}},
		"new": {"command": "y", "args": ["b"]},
		"extension": {"source": "extension", "settings": {}},
		"older-extension": {"settings": {"token": "x"}},
		"both": {"command": "z", "settings": {}}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := cfg.Servers[0]; s.Command != "x" || len(s.Args) != 1 || s.Env["B"] != "c" || s.Err != nil {
		t.Errorf("old: %+v", s)
	}
	if s := cfg.Servers[1]; s.Command != "y" || s.Err != nil {
		t.Errorf("new: %+v", s)
	}
	if s := cfg.Servers[2]; len(cfg.Servers) != 3 || s.Name != "both" || s.Err != nil {
		t.Errorf("%d servers, %+v", len(cfg.Servers), s)
	}
	if len(cfg.Notes) != 2 || cfg.Notes[0].Line != 4 || !strings.Contains(cfg.Notes[1].Message, `"older-extension" is left out: an extension of Zed starts it`) {
		t.Errorf("notes %v", cfg.Notes)
	}
}

func TestEachClientsVariables(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ file, value, want string }{
		{".mcp.json", "a ${X} ${Y:-z} b", "a 1 z b"},
		{".mcp.json", "${env:X} $X $$ ${ ${X", "${env:X} $X $$ ${ ${X"},
		{".cursor/mcp.json", "${env:X} ${X} ${userHome}${/}a", "1 ${X} /home/u" + string(filepath.Separator) + "a"},
		{".cursor/mcp.json", "${workspaceFolder}/${workspaceFolderBasename}", dir + "/" + filepath.Base(dir)},
		{"claude_desktop_config.json", "${X} $$ ~", "${X} $$ ~"},
		{"claude_desktop_config.json", "~/a", "~/a"},
		{"x.json", "~/a", "/home/u/a"},
		{".gemini/settings.json", "$X-${X} $9 ${Y:-d$$e}", "1-1 $9 d$$e"},
		{".windsurf/mcp_config.json", "${env:X} ${X}", "1 ${X}"},
		{"x.json", "${X} ${env:X} ${Y:-z}", "1 1 z"},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.value, func(t *testing.T) {
			file := filepath.Join(dir, filepath.FromSlash(test.file))
			cfg, err := Parse(file, fmt.Appendf(nil, `{"mcpServers": {"s": {"command": "x", "args": [%q]}}}`, test.value))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := cfg.Servers[0].Expand(Environment{Lookup: environment("X=1", "workspaceFolder=wrong"), Home: "/home/u"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Args[0] != test.want {
				t.Errorf("got %q, want %q", got.Args[0], test.want)
			}
		})
	}
}

func TestWhatOnlyTheClientKnows(t *testing.T) {
	text := `{"inputs": [{"id": "tok", "type": "promptString", "description": "the token", "password": true}],
		"servers": {
			"env": {"command": "x", "env": {"TOKEN": "${input:tok}"}},
			"header": {"url": "https://a.example/", "headers": {"Authorization": "Bearer ${input:tok}"}},
			"folder": {"command": "x", "args": ["${workspaceFolder}"]},
			"both": {"command": "x", "args": ["${env:NOPE}"], "env": {"TOKEN": "${input:tok}"}}
		}}`
	cfg, err := Parse("mcp.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"env":    `server "env": not known here: input:tok (in env.TOKEN); ${input:tok} is a value that VS Code has, or asks for ("the token"); for this run: --env TOKEN=…`,
		"header": `server "header": not known here: input:tok (in headers.Authorization); ${input:tok} is a value that VS Code has, or asks for ("the token"); for this run: --header 'Authorization: …'`,
		"folder": `server "folder": not known here: workspaceFolder (in args[0]); ${workspaceFolder} is the folder that is open in VS Code; examine the entry as it is then, with --stdio or by its URL`,
	} {
		s, _ := cfg.Server(name)
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		_, _, err := s.Expand(Environment{Lookup: environment(), Home: "/home/u"})
		var unset *UnsetError
		if !errors.As(err, &unset) || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", name, err, want)
		}
		if found := s.LiteralSecrets(); len(found) > 0 {
			t.Errorf("%s: taken for a literal secret: %v", name, found)
		}
	}
	if _, _, err := (Server{Name: "s", Command: "${A}", Foreign: &Foreign{}}).Expand(Environment{Lookup: environment()}); err == nil || err.Error() != `server "s": variable not set: A (in command); set it` {
		t.Errorf("a default is offered where there is none: %v", err)
	}
	both, _ := cfg.Server("both")
	_, _, err = both.Expand(Environment{Lookup: environment()})
	var unset *UnsetError
	if !errors.As(err, &unset) || len(unset.Vars) != 2 {
		t.Errorf("not both at once: %v", err)
	}
	if s := (Server{Name: "own", Command: "x", Args: []string{"${input:tok}"}}); s.Validate() == nil {
		t.Error("an entry of our own may have ${input:…}")
	}
}

func TestEnvFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".env")
	text := "\ufeff# comment\nA=1\nexport B = two words # rest\nC=\"quo ted\\nx\"\nD='si\"ngle'\nTOKEN=hidden-value\n\nE=\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(filepath.Join(dir, ".vscode", "mcp.json"), []byte(`{"servers": {
		"s": {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"A": "own"}},
		"none": {"command": "x", "envFile": "`+filepath.ToSlash(dir)+`/missing"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, secrets, err := cfg.Servers[0].Expand(Environment{Lookup: environment()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "own", "B": "two words", "C": "quo ted\nx", "D": `si"ngle`, "TOKEN": "hidden-value", "E": ""}
	if !reflect.DeepEqual(got.Env, want) {
		t.Errorf("got %q, want %q", got.Env, want)
	}
	if !strings.Contains(strings.Join(secrets, " "), "hidden-value") {
		t.Errorf("its values are no secrets: %q", secrets)
	}
	if _, _, err := cfg.Servers[1].Expand(Environment{Lookup: environment()}); err == nil || !strings.Contains(err.Error(), `key "envFile": `) {
		t.Error(err)
	}
}

func TestUserFiles(t *testing.T) {
	none := environment()
	for _, test := range []struct{ client, goos, want string }{
		{"claude-desktop", "darwin", "h/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", "h/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", "h/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-code", "linux", "h/.claude.json"},
		{"cursor", "windows", "h/.cursor/mcp.json"},
		{"vscode", "linux", "h/.config/Code/User/mcp.json"},
		{"vscode", "darwin", "h/Library/Application Support/Code/User/mcp.json"},
		{"windsurf", "linux", "h/.codeium/windsurf/mcp_config.json"},
		{"gemini", "linux", "h/.gemini/settings.json"},
		{"zed", "darwin", "h/.config/zed/settings.json"},
		{"cline", "linux", "h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
	} {
		found := FindClients(test.client)
		if len(found) != 1 {
			t.Fatalf("%s: %d clients", test.client, len(found))
		}
		if got := found[0].UserFile(test.goos, "h", none); got != filepath.FromSlash(test.want) {
			t.Errorf("%s on %s: %s, want %s", test.client, test.goos, got, test.want)
		}
		// Its own file is known by its path.
		if cfg, err := Parse(filepath.FromSlash(test.want), []byte("{}")); err != nil || cfg.Format == nil || cfg.Format.Name != test.client {
			t.Errorf("%s: its own file is not known by the path", test.client)
		}
	}
	if len(FindClients("claude")) != 2 || len(FindClients("emacs")) != 0 {
		t.Error("claude must be two clients, and emacs none")
	}
}

func TestClaudeCodeProjects(t *testing.T) {
	cfg, err := Parse(".claude.json", []byte(`{
		"mcpServers": {"a": {"command": "user"}},
		"projects": {
			"/p": {"mcpServers": {"a": {"command": "p"}, "b": {"command": "p"}}, "history": [{"mcpServers": 1}]},
			"/q": {"mcpServers": {"off": {"command": "q"}}, "disabledMcpServers": ["off", "a"]}, "/r": {"disabledMcpServers": 1}
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Servers) != 3 || cfg.Servers[0].Command != "user" || !cfg.Servers[0].Enabled || cfg.Servers[1].Foreign.Project != "/p" || !cfg.Servers[1].Enabled ||
		cfg.Servers[2].Name != "off" || cfg.Servers[2].Enabled {
		t.Errorf("servers: %+v", cfg.Servers)
	}
	if len(cfg.Notes) != 1 || cfg.Notes[0].String() != `line 4: the server "a" of the project /p is left out: another one has that name` {
		t.Errorf("notes: %v", cfg.Notes)
	}
}

func TestLoadClient(t *testing.T) {
	cursor := FindClients("cursor")[0]
	file := filepath.Join(t.TempDir(), "mcp.json")
	if _, err := LoadClient(file, cursor); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), file+": Cursor has no such file here") {
		t.Error(err)
	}
	writeText(t, file, "")
	if cfg, err := LoadClient(file, cursor); err != nil || len(cfg.Servers) != 0 {
		t.Errorf("an empty file: %v", err)
	}
	writeText(t, file, `{"mcpServers": {"a": {"command": "x"}}}`)
	cfg, err := LoadClient(file, cursor)
	if err != nil || len(cfg.Servers) != 1 || cfg.Format.Name != "cursor" {
		t.Fatalf("%+v, %v", cfg, err)
	}
	if err := cfg.Editable(); err == nil || !strings.Contains(err.Error(), "is Cursor's file, which is read but not edited") {
		t.Error(err)
	}
}

func TestAnotherClientsFileIsNeverEdited(t *testing.T) {
	for _, text := range []string{`{"mcpServers": {}}`, "// c\n{\"servers\": {\"a\": {\"command\": \"x\"}}}", "mcpServers: {}\n"} {
		file := filepath.Join(t.TempDir(), "mcp.json")
		writeText(t, file, text)
		err := Edit(file, addServer("b"))
		if err == nil || !strings.Contains(err.Error(), "read but not edited") {
			t.Errorf("%s: %v", text, err)
		}
		if got := readText(t, file); got != text {
			t.Errorf("the file was changed to %q", got)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("x.json", `{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}", "$$"], "env": {"T": "${env:T}"}}}} // c`)
	f.Add(".cursor/mcp.json", `{"mcpServers": {"a b": {"url": "https://a.example/${workspaceFolder}", "headers": {"A": "${input:x}"}}}}`)
	f.Add(".vscode/mcp.json", `{"inputs": [{"id": "x", "description": 1}], "servers": {"a": {"type": "stdio", "command": "${userHome}/x", "envFile": "~"}}}`)
	f.Add(".gemini/settings.json", `{"mcpServers": {"a": {"httpUrl": "https://a.example", "timeout": 1e400, "includeTools": ["["]}}}`)
	f.Add("settings.json", "\ufeff/* */{\"context_servers\": {\"a\": {\"command\": {\"path\": \"x\", \"args\": [1, null]}},},}")
	f.Add(".claude.json", `{"projects": {"/p": {"mcpServers": {"": null, "a": 1}}}, "mcpServers": null}`)
	f.Fuzz(func(t *testing.T, file, text string) {
		cfg, err := Parse(file, []byte(text))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Error() == "" {
				t.Fatalf("not an *Error: %v", err)
			}
			return
		}
		if cfg.Format == nil {
			return // see FuzzParse
		}
		for _, s := range cfg.Servers {
			if s.Transport == "" || s.Foreign == nil {
				t.Errorf("%q has no transport, or is not known to be another client's", s.Name)
			}
			if shown, want := s.RedactedTarget(), s.Redacted().Target(); shown != want {
				t.Errorf("%q is shown as %q, want %q", s.Name, shown, want)
			}
			s.LiteralSecrets()
			if s.Err != nil {
				continue
			}
			if err := s.Validate(); err != nil {
				t.Errorf("valid in the file, not by itself: %v", err)
			}
			if s.Foreign.EnvFile == "" { // nothing is read here
				_, _, _ = s.Expand(Environment{Lookup: environment("A=1"), Home: "/home/u"})
			}
		}
	})
}

// TestAnEnvFileWhosePathIsNotKnown shows that no other file is read in its place, and that each value that is not known has
// its hint.
func TestAnEnvFileWhosePathIsNotKnown(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, ".env"), "A=1\n")
	home := filepath.ToSlash(dir)
	cfg, err := Parse("vsc.json", []byte(`{"inputs": [{"id": "tok", "description": "a token"}], "servers": {"a": {
		"command": "x", "env": {"T": "${input:tok}"}, "envFile": "`+home+`${workspaceFolder}/.env"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, secrets, err := cfg.Servers[0].Expand(Environment{Lookup: lookupIn(nil)})
	unset, ok := errors.AsType[*UnsetError](err)
	if !ok || len(secrets) > 0 {
		t.Fatalf("%v, %q", err, secrets)
	}
	for _, want := range []string{`${input:tok} is a value that VS Code has, or asks for ("a token"); for this run: --env T=…`, "; ${workspaceFolder} is the folder that is open in VS Code"} {
		if !strings.Contains(unset.Hint(), want) || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestTheTargetOfAnEmptyEntry(t *testing.T) {
	if got := (Server{}).Target(); got != "" {
		t.Errorf("%q", got)
	}
	if got := (Server{Args: []string{"a b"}}).Target(); strings.HasPrefix(got, "''") || !strings.Contains(got, "a b") {
		t.Errorf("%q", got)
	}
}
