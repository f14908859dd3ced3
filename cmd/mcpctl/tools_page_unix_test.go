//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// typed runs a line as somebody who pastes it into a shell.
func typed(t *testing.T, line string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_STATE_HOME="+dir, "MCPCTL_CONFIG=",
		"PATH="+unracedFirst(os.Getenv("PATH")))
	data, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed { //nolint:errorlint // from Run itself
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// listedTools returns the tools of a server, nil if it lists none.
func listedTools(t *testing.T, server string) []tool {
	t.Helper()
	out, code := typed(t, "mcpctl tools "+server+" -o json --timeout 2s --wait 1s 2>/dev/null")
	var doc toolsDocument
	if code != codeOK || json.Unmarshal([]byte(out), &doc) != nil {
		return nil
	}
	return parseTools(doc.Tools)
}

// TestExamplesOfTheDemoWork pastes the example of each tool of the demonstration server.
func TestExamplesOfTheDemoWork(t *testing.T) {
	t.Parallel()
	tools := listedTools(t, "demo")
	if len(tools) == 0 {
		t.Fatal("no tools")
	}
	for _, tool := range tools {
		line, guess := tool.example("demo")
		want := codeOK
		switch tool.name {
		case "fail":
			want = codeTool
		case "slow":
			line += " --dry-run" // it would take its three seconds
		case "summarize":
			line += " --sample-with 'echo short'"
		case "roots":
			line += " --root ."
		}
		if out, code := typed(t, line); code != want || guess {
			t.Errorf("%s: exit code %d, guessed %t: %s", line, code, guess, out)
		}
	}
}

// TestExamplesOfTheLaboratoryAreValid does the same with the tools of all cases that are about tools, without calling them:
// many of these never answer.
func TestExamplesOfTheLaboratoryAreValid(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	t.Run("all", func(t *testing.T) {
		for _, c := range faultlab.Cases() {
			if c.Over&faultlab.Stdio == 0 || c.Area != "call" && c.Area != "listing" && c.Name != "tools-contradict" {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				server := "--stdio " + toolargs.Quote("faultlab stdio "+c.Name)
				named := map[string]bool{}
				for _, tool := range listedTools(t, server) {
					key := tool.name + string(tool.schema)
					mu.Lock()
					known := seen[key] || named[tool.name] // of two with one name the first is called
					seen[key], named[tool.name] = true, true
					mu.Unlock()
					if known {
						continue
					}
					line, guess := tool.example(server)
					if out, code := typed(t, line+" --dry-run"); code != codeOK && !guess {
						t.Errorf("%s: exit code %d: %s", line, code, out)
					}
				}
			})
		}
	})
	if len(seen) < 20 {
		t.Errorf("only %d tools", len(seen))
	}
}

// TestListingAllIsInterrupted ends mcpctl tools --all while one server does not answer: what the other said is shown.
func TestListingAllIsInterrupted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "c.yaml")
	const servers = "servers:\n  fast: {command: mcpctl, args: [demo-server]}\n  silent: {command: sleep, args: ['60']}\n"
	if err := os.WriteFile(file, []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	term := onTerminalOf(t, 80, home, "tools", "--all", "--config", file)
	term.awaitText("listing the tools of 2 servers, 1 left")
	if err := term.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, out := term.end()
	for _, want := range []string{"DESCRIPTION", "weather", "mcpctl: error: interrupted: 1 server had not answered\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != codeInterrupted || strings.Contains(out, "silent:") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
