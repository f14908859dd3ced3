package probe

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// clientEntry returns the only entry of a client's file of that name.
func clientEntry(t *testing.T, file string, entry map[string]any) config.Server {
	t.Helper()
	key := "mcpServers"
	if strings.HasPrefix(file, ".vscode") {
		key = "servers"
	}
	text, err := json.Marshal(map[string]any{key: map[string]any{"s": entry}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(t.TempDir(), filepath.FromSlash(file)), text)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Servers[0].Err; err != nil {
		t.Fatal(err)
	}
	return c.Servers[0]
}

// clientChild is clientEntry for a server that this test binary plays.
func clientChild(t *testing.T, file string, more map[string]any, words ...string) config.Server {
	t.Helper()
	s := child(t, words...)
	entry := map[string]any{"command": s.Command, "args": s.Args, "env": s.Env}
	maps.Copy(entry, more)
	return clientEntry(t, file, entry)
}

func lookupOf(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := pairs[name]
		return value, ok
	}
}

// script writes an executable file and returns its path.
func script(t *testing.T, text string, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // it is to be executable
		t.Fatal(err)
	}
	return path
}

func TestClientCommand(t *testing.T) {
	home := t.TempDir()
	nvm := filepath.Join(home, ".nvm", "versions", "node", "v20", "bin")
	script(t, "#!/bin/sh\n", nvm, "fakenode")
	npx := script(t, "#!/usr/bin/env fakenode\n", nvm, "fakenpx")
	plain := script(t, "#!/bin/sh\n", nvm, "server")
	shell := script(t, "#!/bin/sh\n", home, "run", "fnm_multishells", "7_1", "bin", "server")
	bin := script(t, "#!/usr/bin/env -S sh -e\n", home, ".local", "bin", "other")
	venv := script(t, "#!/bin/sh\n", home, "p", "env", "bin", "server")
	const desktop, cursor = "claude_desktop_config.json", ".cursor/mcp.json"
	tests := []struct {
		name, file, goos, command, path string
		env                             map[string]string
		want                            Status
		says, fix                       string
	}{
		{"nvm on macOS", desktop, "darwin", "server", plain, nil, Warn, "only through this terminal's PATH, in " + nvm + " (nvm); Claude Desktop has another (/usr/bin:/bin:/usr/sbin:/sbin)", `"command": "` + plain + `"`},
		{"nvm on Linux", desktop, "linux", "server", plain, nil, Warn, "(nvm)", `"command": "` + plain + `"`},
		{"full path", desktop, "darwin", plain, plain, nil, Pass, plain, ""},
		{"full path of a script for node", desktop, "darwin", npx, npx, nil, Warn, "fakenpx is a script for fakenode, which is found only through this terminal's PATH", `file: "env": {"PATH": "` + nvm + `:/usr/bin:/bin"}`},
		{"a script for node", desktop, "darwin", "fakenpx", npx, nil, Warn, "script for fakenode", `"command": "` + npx + `", "env": {"PATH": "` + nvm + `:/usr/bin:/bin"}`},
		{"PATH in the entry", desktop, "darwin", "server", plain, map[string]string{"PATH": nvm}, Pass, "sets PATH itself", ""},
		{"of the system", desktop, "darwin", "sh", "/bin/sh", nil, Pass, "/bin/sh", ""},
		{"another of the system", desktop, "darwin", "sh", filepath.Join(nvm, "sh"), nil, Pass, "Claude Desktop starts /", ""},
		{"~/.local/bin on Linux", desktop, "linux", "other", bin, nil, Pass, bin, ""},
		{"~/.local/bin on macOS", desktop, "darwin", "other", bin, nil, Warn, "only through", ""},
		{"nvm and a login shell", cursor, "darwin", "server", plain, nil, Pass, "takes the PATH of your login shell", ""},
		{"fnm and a login shell", cursor, "darwin", "server", shell, nil, Warn, "of this terminal only", `"command": "` + shell + `"`},
		{"virtual environment and a login shell", cursor, "linux", "server", venv, nil, Warn, "of this terminal only", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := clientEntry(t, tt.file, map[string]any{"command": tt.command})
			target := &Target{
				Server: s, expanded: s.Clone(),
				Environment: config.Environment{Home: home, Lookup: lookupOf(map[string]string{"VIRTUAL_ENV": filepath.Join(home, "p", "env")})},
				Dialer:      &session.Dialer{},
			}
			target.expanded.Env = tt.env
			f := target.clientCommand(tt.path, tt.goos)
			if f.Status != tt.want || !strings.Contains(f.Message, tt.says) || !strings.Contains(f.Fix, tt.fix) {
				t.Errorf("%s: %s; fix: %s", f.Status, f.Message, f.Fix)
			}
		})
	}
}

func TestClientStageApplies(t *testing.T) {
	ids := func(s config.Server, more ...func(*Target)) string {
		target := &Target{Server: s, expanded: s}
		var out []string
		for _, c := range Checks() {
			if c.Stage() == "client" && c.Applies(target) {
				out = append(out, strings.TrimPrefix(c.ID, "client."))
			}
		}
		return strings.Join(out, " ")
	}
	unix := func(s string) string {
		if runtime.GOOS == "windows" {
			return strings.TrimPrefix(s, "command environment ")
		}
		return s
	}
	command := map[string]any{"command": "x"}
	for _, tt := range []struct {
		name, want string
		server     config.Server
	}{
		{"our own entry", "", child(t, "demo")},
		{"an unknown client", "difference", clientEntry(t, "x.json", command)},
		{"Claude Desktop", unix("command environment start-limit difference"), clientEntry(t, "claude_desktop_config.json", command)},
		{"Claude Code", "start-limit names difference", clientEntry(t, ".mcp.json", command)},
		{"Cursor", unix("command environment tools names difference"), clientEntry(t, ".cursor/mcp.json", command)},
		{"VS Code", unix("command environment placeholders tools difference"), clientEntry(t, ".vscode/mcp.json", map[string]any{"command": "x", "envFile": "${workspaceFolder}/.env"})},
		{"Gemini CLI", "start-limit names difference", clientEntry(t, ".gemini/settings.json", command)},
	} {
		if got := ids(tt.server); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestClientEnvironment(t *testing.T) {
	proxied := lookupOf(map[string]string{"HTTPS_PROXY": "http://proxy.example:1", "TOKEN": "a", "HOME": "/h"})
	for _, tt := range []struct {
		name, file string
		entry      map[string]any
		want       Status
		says       string
	}{
		{"fetched from the network", "claude_desktop_config.json", map[string]any{"command": "npx"}, Warn, "HTTPS_PROXY is set in this terminal, and Claude Desktop starts without"},
		{"set in the entry", "claude_desktop_config.json", map[string]any{"command": "npx", "env": map[string]string{"HTTPS_PROXY": "x"}}, Pass, "nothing"},
		{"not known to need it", "claude_desktop_config.json", map[string]any{"command": "x"}, Pass, "starts without HTTPS_PROXY, of which the entry uses none"},
		{"login shell", ".cursor/mcp.json", map[string]any{"command": "npx", "env": map[string]string{"T": "${env:TOKEN}"}}, Pass, "of your login shell: TOKEN, HTTPS_PROXY"},
	} {
		s := clientEntry(t, tt.file, tt.entry)
		f := clientEnvironment().Run(t.Context(), &Target{Server: s, expanded: s, Environment: config.Environment{Lookup: proxied}})
		if f.Status != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s: %s", tt.name, f.Status, f.Message)
		}
	}
}

// TestClientAllPasses shows that a healthy server has no warnings for a client, and that the differences are named.
func TestClientAllPasses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the environment of applications is that of the terminal there")
	}
	s := clientChild(t, "claude_desktop_config.json", map[string]any{"x": 1}, "demo")
	r := Run(t.Context(), &Target{Server: s, Environment: config.Environment{Home: t.TempDir(), Lookup: lookupOf(nil)}}, Checks())
	if r.Verdict != Pass {
		t.Errorf("verdict %s: %s", r.Verdict, statuses(r))
	}
	got := byID(r)["client.difference"]
	for _, want := range []string{
		"works from this terminal; if Claude Desktop still fails, the difference is one of: its PATH (", "which it lacks",
		"the directory in which it starts servers", "its limit of 60 s for the start", "what mcpctl does not use of the entry (x)",
	} {
		if !strings.Contains(got.Message, want) || !got.Shown {
			t.Errorf("%q is not in %q", want, got.Message)
		}
	}
	if entry := byID(r)["config.entry"]; !strings.Contains(entry.Detail, `key "x": mcpctl has no place for it`) {
		t.Errorf("the note is not told: %+v", entry)
	}
	if limit := byID(r)["client.start-limit"]; limit.Status != Pass || limit.Data["limit_ms"] == nil {
		t.Errorf("%+v", limit)
	}
}

// TestAnotherProgramIsADifference shows that the closing line says so when the client starts another program of that name.
func TestAnotherProgramIsADifference(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no other desktop has directories below home on its PATH")
	}
	home := t.TempDir()
	here := script(t, "#!/bin/sh\n", home, ".pyenv", "shims", "python9")
	there := script(t, "#!/bin/sh\n", home, ".local", "bin", "python9")
	s := clientEntry(t, "claude_desktop_config.json", map[string]any{"command": "python9"})
	target := &Target{Server: s, expanded: s.Clone(), Environment: config.Environment{Home: home}}
	t.Setenv("PATH", filepath.Dir(here))
	if got := target.differences(); got[0] != "the program: it starts "+there+", not "+here {
		t.Errorf("%q", got)
	}
	target.expanded.Command = here
	if got := target.differences(); strings.HasPrefix(got[0], "the program") {
		t.Errorf("a full path is the same there: %q", got)
	}
}

func TestClientLimits(t *testing.T) {
	many := func(change func(*config.Format)) Report {
		s := clientChild(t, ".cursor/mcp.json", nil, "demo")
		change(&s.Foreign.Format)
		return Run(t.Context(), &Target{Server: s, Environment: config.Environment{Lookup: lookupOf(nil)}}, Checks())
	}
	for _, tt := range []struct {
		id     string
		change func(*config.Format)
		says   string
	}{
		{"client.tools", func(f *config.Format) { f.MostTools = 2 }, "10 tools, but Cursor accepts only 2, from all servers together"},
		{"client.names", func(f *config.Format) { f.LongestName = 6 }, "names of more than 6 characters, with s in front are left out: "},
		{"client.start-limit", func(f *config.Format) { f.StartLimit, f.StartRemedy = time.Nanosecond, "wait" }, "and Cursor waits 0.00 ms"},
	} {
		r := many(tt.change)
		got := byID(r)[tt.id]
		if r.Verdict != Warn || got.Status != Warn || !strings.Contains(got.Message, tt.says) || got.Fix == "" {
			t.Errorf("%s: %s: %s (%s)", tt.id, got.Status, got.Message, statuses(r))
		}
	}
	r := many(func(*config.Format) {})
	for _, id := range []string{"client.tools", "client.names"} {
		if got := byID(r)[id]; got.Status != Pass {
			t.Errorf("%s: %s: %s", id, got.Status, got.Message)
		}
	}
}

func TestClientPlaceholders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are others there")
	}
	for _, tt := range []struct {
		name, file string
		more       map[string]any
		want       Status
		says, fix  string
	}{
		{"a client without variables", "claude_desktop_config.json", map[string]any{"env": map[string]string{"X": "${HOME}/x"}}, Warn, "Claude Desktop passes ${HOME} (in env.X) on as it is written", "write the value itself"},
		{"another client's form", ".cursor/mcp.json", map[string]any{"env": map[string]string{"X": "${TOKEN}"}}, Warn, "Cursor passes ${TOKEN} (in env.X) on", "write ${env:TOKEN}, or"},
		{"tilde", ".mcp.json", map[string]any{"env": map[string]string{"X": "~/x"}}, Warn, "Claude Code passes ~ (in env.X) on", ""},
		{"folder of the project", ".vscode/mcp.json", map[string]any{"env": map[string]string{"X": "${workspaceFolder}"}}, Pass, "${workspaceFolder} is /", ""},
	} {
		s := clientChild(t, tt.file, nil, "demo")
		with := clientEntry(t, tt.file, map[string]any{"command": s.Command, "args": s.Args, "env": tt.more["env"]})
		r := Run(t.Context(), &Target{Server: with, Environment: config.Environment{Home: "/h", Lookup: lookupOf(nil)}}, Checks())
		got := byID(r)["client.placeholders"]
		if got.Status != tt.want || !strings.Contains(got.Message, tt.says) || !strings.Contains(got.Fix, tt.fix) {
			t.Errorf("%s: %s: %s; fix: %s", tt.name, got.Status, got.Message, got.Fix)
		}
	}
}

// TestClientSecrets shows that nobody is told to write what the client does not read.
func TestClientSecrets(t *testing.T) {
	for file, want := range map[string]string{
		".cursor/mcp.json":           "warn ${env:NAME}",
		".mcp.json":                  "warn ${NAME}",
		"claude_desktop_config.json": "pass ",
	} {
		s := clientEntry(t, file, map[string]any{"command": "x", "env": map[string]string{"API_TOKEN": "hunter2hunter2"}})
		f := configSecrets().Run(t.Context(), &Target{Server: s})
		status, form, _ := strings.Cut(want, " ")
		if string(f.Status) != status || !strings.Contains(f.Fix, form) || strings.Contains(f.Message+f.Fix, "hunter2") {
			t.Errorf("%s: %s: %s; fix: %s", file, f.Status, f.Message, f.Fix)
		}
	}
}

func TestDesktopPath(t *testing.T) {
	if desktopPath("windows", "/h") != nil {
		t.Error("there is no other PATH on Windows")
	}
	if slices.Contains(desktopPath("darwin", "/h"), "/usr/local/bin") || !slices.Contains(desktopPath("linux", "/h"), "/usr/local/bin") {
		t.Error("/usr/local/bin is on the PATH of Linux only")
	}
}
