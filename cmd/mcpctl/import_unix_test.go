//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// importHome is a home directory in which Cursor has two servers.
func importHome(t *testing.T) (home, file string) {
	t.Helper()
	home = t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	const theirs = `{"mcpServers": {
  "github": {"command": "npx", "args": ["-y", "@example/a-package-with-a-very-long-name-that-fits-nowhere"], "env": {"GITHUB_TOKEN": "planted-0001-github"}},
  "search": {"url": "https://search.example/mcp"}}}`
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, filepath.Join(home, "c.yaml")
}

func TestImportAsksOnce(t *testing.T) {
	t.Parallel()
	const before = "# mine\nservers:\n  notes: {command: npx}\n"
	for _, c := range []struct {
		name, typed string
		code        int
		added       bool
	}{
		{"yes", "y\r", codeOK, true},
		{"no", "n\r", codeFailed, false},
		{"an empty line", "\r", codeFailed, false},
		{"escape", "\x1b", codeInterrupted, false},
		{"the end of input", "\x04", codeFailed, false},
		{"Ctrl-C", "\x03", codeInterrupted, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, file := importHome(t)
			if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			term := onTerminalOf(t, 80, home, "import", "--config", file)
			term.awaitText("[y/N] ")
			term.answer(c.typed)
			code, out := term.end()
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if code != c.code || c.added == (string(got) == before) {
				t.Errorf("exit code %d, want %d; file %q; terminal %q", code, c.code, got, out)
			}
			if strings.Count(out, "[y/N]") != 1 || !strings.Contains(out, "Add 2 servers to "+file+"?") {
				t.Errorf("terminal %q", out)
			}
			if strings.Contains(out+string(got), "planted") {
				t.Errorf("a secret in %q or %q", out, got)
			}
			if c.added && !strings.Contains(out, "Next: mcpctl list --config "+file+" --check\n") {
				t.Errorf("no next line: %q", out)
			}
			if entries, err := os.ReadDir(home); err != nil || len(entries) > 3 {
				t.Errorf("something is left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestImportOfAFileAsksOnATerminalToo(t *testing.T) {
	t.Parallel()
	home, file := importHome(t)
	term := onTerminalOf(t, 80, home, "import", filepath.Join(home, ".cursor", "mcp.json"), "--config", file)
	term.awaitText("[y/N] ")
	term.answer("n\r")
	if code, out := term.end(); code != codeFailed || !strings.Contains(out, "nothing was imported") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written")
	}
}

func TestImportAsksNothingWhenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	home, file := importHome(t)
	for n, want := range []string{"added github, search in ", "nothing to import: all of it is there already\n"} {
		args := []string{"import", "--config", file}
		if n == 0 {
			args = append(args, "--yes")
		}
		code, out := onTerminalOf(t, 80, home, args...).end()
		if code != codeOK || strings.Contains(out, "[y/N]") || !strings.Contains(out, want) {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
}

func TestTheTableOfImportFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	home, file := importHome(t)
	_, out := onTerminalOf(t, 40, home, "import", "--config", file, "--dry-run").end()
	for _, want := range []string{"CLIENT  NAME    TARGET             STATE\n", "cursor  github  npx -y @example", "new\n"} {
		plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(out, "")
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
		for line := range strings.Lines(plain) {
			if strings.HasPrefix(line, "cursor") && len([]rune(line)) > 41 {
				t.Errorf("too wide: %q", line)
			}
		}
	}
}

func TestASignalDuringTheQuestionOfImport(t *testing.T) {
	t.Parallel()
	home, file := importHome(t)
	term := onTerminalOf(t, 80, home, "import", "--config", file)
	term.awaitText("[y/N] ")
	if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, out := term.end(); code != codeInterrupted {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written")
	}
}
