//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportAsksBeforeItWritesAnothersFile(t *testing.T) {
	t.Parallel()
	const theirs = "{\n  // mine\n  \"mcpServers\": {}\n}\n"
	for _, c := range []struct {
		name, typed string
		code        int
		written     bool
	}{
		{"yes", "y\r", codeOK, true},
		{"no", "n\r", codeFailed, false},
		{"an empty line", "\r", codeFailed, false},
		{"the end of input", "\x04", codeFailed, false},
		{"Ctrl-C", "\x03", codeInterrupted, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			ours, file := filepath.Join(home, "c.yaml"), filepath.Join(home, ".cursor", "mcp.json")
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{ours: "servers:\n  notes: {command: npx}\n", file: theirs} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			term := onTerminalOf(t, 80, home, "export", "--config", ours, "--to", "cursor", "--write")
			term.awaitText("[y/N] ")
			term.answer(c.typed)
			code, out := term.end()
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if code != c.code || c.written == (string(got) == theirs) || !strings.Contains(string(got), "// mine") {
				t.Errorf("exit code %d, want %d; file %q; terminal %q", code, c.code, got, out)
			}
			if strings.Count(out, "[y/N]") != 1 || !strings.Contains(out, "Add notes in Cursor's file ~/.cursor/mcp.json?") {
				t.Errorf("terminal %q", out)
			}
			if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
				t.Errorf("something is left behind: %v, %v", entries, err)
			}
		})
	}
}
