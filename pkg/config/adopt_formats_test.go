package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samples are files as the clients write them, by the name of the format and the end of the path.
func samples() map[string][2]string {
	return map[string][2]string{
		"claude-desktop": {"Claude/claude_desktop_config.json", `{"mcpServers": {
			"files": {"command": "npx", "args": ["-y", "@example/files", "~/Desktop", "${HOME}/x"], "env": {"API_KEY": "planted-0001"}}}}`},
		"claude-code": {".claude.json", `{"numStartups": 3, "mcpServers": {
			"search": {"type": "http", "url": "https://search.example/mcp", "headers": {"Authorization": "Bearer planted-0002", "X": "${X:-a$b}"}},
			"old": {"type": "sse", "url": "https://old.example/sse", "timeout": 90000}},
			"projects": {"/home/u/project": {"mcpServers": {"local": {"command": "./bin/x", "args": ["${HOME}"]}}, "disabledMcpServers": ["local"]}}}`},
		"cursor": {".cursor/mcp.json", `{"mcpServers": {
			"git hub": {"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN=planted-0003", "img"], "disabled": true},
			"remote": {"url": "https://remote.example/mcp?token=planted-0004&a=${env:A}"}}}`},
		"vscode": {".vscode/mcp.json", `{"inputs": [{"id": "tok", "type": "promptString", "description": "a token"}], "servers": {
			"asked": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}/x.js", "$5"], "env": {"T": "Bearer ${input:tok}"}, "envFile": "${workspaceFolder}/.env"},
			"http": {"type": "http", "url": "https://http.example/mcp"}}}`},
		"windsurf": {".codeium/windsurf/mcp_config.json", `{"mcpServers": {
			"remote": {"serverUrl": "https://remote.example/mcp", "headers": {"X-Api-Key": "planted-0005"}, "disabledTools": ["a*b", "c"]}}}`},
		"cline": {"settings/cline_mcp_settings.json", `{"mcpServers": {
			"x": {"command": "npx", "args": ["x"], "timeout": 60, "autoApprove": ["a"], "disabled": false}}}`},
		"gemini": {".gemini/settings.json", `{"theme": "x", "mcpServers": {
			"h": {"httpUrl": "https://h.example/mcp", "headers": {"A": "$A"}, "timeout": 30000, "trust": true},
			"s": {"url": "https://s.example/sse", "includeTools": ["one", "two"]}}}`},
		"zed": {"zed/settings.json", `{"context_servers": {
			"new": {"source": "custom", "command": "npx -y x --token planted-0006", "env": {}},
			"old": {"command": {"path": "/bin/x", "args": ["a b"], "env": {"A": "1"}}}}}`},
		"json": {"servers.json", `{"mcpServers": {"a": {"command": "./x", "args": ["../y"], "type": "stdio"}}}`},
	}
}

// TestTheFilesOfAllClientsAreAdopted shows that what is taken over is written, and is the same when it is read again and
// when the client's file is.
func TestTheFilesOfAllClientsAreAdopted(t *testing.T) {
	for _, f := range Formats() {
		sample, ok := samples()[f.Name]
		if !ok {
			continue // of a client whose samples are elsewhere
		}
		t.Run(f.Name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(sample[0]))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			writeText(t, file, sample[1])
			writeText(t, filepath.Join(dir, ".env"), "ENV_TOKEN=planted-0007\n")
			ours := filepath.Join(dir, "config.yaml")
			var names []string
			for round := range 2 {
				cfg, err := Load(file)
				if err != nil {
					t.Fatal(err)
				}
				if cfg.Format == nil || cfg.Format.Name != f.Name {
					t.Fatalf("taken for the file of %+v", cfg.Format)
				}
				used := map[string]string{}
				for _, s := range cfg.Servers {
					out, told, err := s.Adopt(AdoptOptions{Home: "/home/u", Variables: used})
					if err != nil {
						t.Fatal(err)
					}
					if round == 0 {
						names = append(names, out.Name)
						if err := Edit(ours, func(d *Document) error { return d.Add(out) }); err != nil {
							t.Fatal(err)
						}
					}
					written, err := Load(ours)
					if err != nil {
						t.Fatal(err)
					}
					got, _ := written.Server(out.Name)
					if keys := out.Differences(got); len(keys) > 0 || got.Err != nil {
						t.Errorf("%s: round %d: differs in %q: %v", out.Name, round, keys, got.Err)
					}
					if got.Enabled != s.Enabled || got.Timeout != s.Timeout || !slices.Equal(got.Tools.Include, s.Tools.Include) || !slices.Equal(got.Tools.Exclude, s.Tools.Exclude) {
						t.Errorf("%s: %+v has become %+v", out.Name, s, got)
					}
					for _, v := range told.Variables {
						if v.File != "" && v.Line == 0 {
							t.Errorf("%s: nobody knows where %s stands", out.Name, v.Name)
						}
					}
				}
			}
			text, err := os.ReadFile(ours)
			if err != nil || strings.Contains(string(text), "planted") || len(names) == 0 {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}
