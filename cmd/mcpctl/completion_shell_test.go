//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// shellOnTerminal is a shell that a person types into.
type shellOnTerminal struct {
	*terminal
	name string
	seen int
}

// startShell starts a shell that has read no file but the completion of mcpctl. Ctrl-X Ctrl-L shows the line that is typed.
func startShell(t *testing.T, name, home string) *shellOnTerminal {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed: .ci/run should have done that", name)
		}
		t.Skipf("%s is not installed", name)
	}
	args := map[string][]string{"bash": {"--norc", "--noprofile", "-i"}, "zsh": {"-f", "-i"}}[name]
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = home
	inputrc := filepath.Join(home, "inputrc")
	writeFile(t, inputrc, "set bell-style none\nset completion-query-items 0\nset page-completions off\nset show-all-if-ambiguous on\nset enable-bracketed-paste off\n")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "TERM=xterm",
		"CI=", "NO_COLOR=1", "PATH="+unracedFirst(os.Getenv("PATH")), "INPUTRC="+inputrc, "HISTFILE=", "LC_ALL=C.UTF-8")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &shellOnTerminal{terminal: &terminal{t: t, pty: f, cmd: cmd, done: make(chan struct{})}, name: name}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.out, f)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = f.Close()
		_ = cmd.Wait()
	})
	setup := `PS1='$ '; show() { printf '\n<%s>\n' "$READLINE_LINE"; }; bind -x '"\C-x\C-l": show'; source <(mcpctl completion bash)`
	if name == "zsh" {
		setup = `PS1='$ '; LISTMAX=0; unsetopt auto_menu beep prompt_sp prompt_cr; autoload -Uz compinit && compinit -D -u; ` +
			`show() { print -r; print -r -- "<$BUFFER>"; zle redisplay; }; zle -N show; bindkey '^X^L' show; source <(mcpctl completion zsh)`
	}
	s.answer(setup + "; echo RE''ADY\n")
	s.waitFor(regexp.MustCompile(`READY`))
	return s
}

// waitFor waits for something new on the terminal, and returns what the expression has found.
func (s *shellOnTerminal) waitFor(e *regexp.Regexp) []string {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		out := strings.ReplaceAll(s.out.String(), "\r", "")
		if m := e.FindStringSubmatchIndex(out[s.seen:]); m != nil {
			var found []string
			for i := 0; i < len(m); i += 2 {
				found = append(found, out[s.seen+m[i]:s.seen+m[i+1]])
			}
			s.seen += m[1]
			return found
		}
		select {
		case <-deadline:
			s.t.Fatalf("%s: waited for %s in\n%q", s.name, e, out[s.seen:])
		case <-tick.C:
		}
	}
}

// complete types a line and presses the key for completion, and returns what the line is then, and what was shown below it.
func (s *shellOnTerminal) complete(typed string) (line, shown string) {
	s.t.Helper()
	s.answer("\x15" + typed + "\t\x18\x0c")
	found := s.waitFor(regexp.MustCompile(`(?s)^(.*?)\n<([^\n]*)>\n`))
	return found[2], found[1]
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// oddTools is a server with tools whose names and descriptions are meant to do harm.
func oddTools(t *testing.T) string {
	t.Helper()
	type tool map[string]any
	schema := map[string]any{
		"type": "object", "required": []string{"query"},
		"properties": map[string]any{
			"limit": map[string]any{"type": "integer"}, "query": map[string]any{"type": "string", "description": "what to look for\x1b[2J\nsecond line"},
			"mode":   map[string]any{"enum": []string{"fast", "slow", "no hurry"}},
			"exact":  map[string]any{"type": "boolean", "default": true},
			"region": map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
			"$(id)":  map[string]any{"type": "string"},
		},
	}
	var tools []tool
	for _, name := range []string{"search", "send_mail", "a b", "$(touch ran-1)", "`touch ran-2`", "q;touch ran-3", "it's", "x:y", "hid\x1b[31mden"} {
		tools = append(tools, tool{"name": name, "description": "Do $(touch ran-4) `touch ran-5` \x1b]0;title\x07 it\nand more", "inputSchema": schema})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&request) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": request.ID}
		switch request.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "odd", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": tools}
		case "ping":
			answer["result"] = map[string]any{}
		default:
			if request.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			answer["error"] = map[string]any{"code": -32601, "message": "not found"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// completionHome returns a home directory in which the server "odd" has been used once; it is gone by then.
func completionHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "mcpctl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "config.yaml"), fmt.Sprintf("servers:\n  odd: {url: %q}\n  other: {command: touch, args: [ran-6]}\n", oddTools(t)))
	writeFile(t, filepath.Join(home, "broken.yaml"), "servers: [\n")
	writeFile(t, filepath.Join(home, "mine.json"), `{"mcpServers": {"from-file": {"command": "touch", "args": ["ran-7"]}}}`)
	cmd := exec.CommandContext(t.Context(), "mcpctl", "tools", "odd", "-o", "json")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return home
}

// TestCompletionInShells types into real shells.
func TestCompletionInShells(t *testing.T) {
	for _, name := range []string{"bash", "zsh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := completionHome(t)
			s := startShell(t, name, home)
			for _, tt := range []struct{ typed, want string }{
				{"mcpctl too", "mcpctl tools "},
				{"mcpctl tools od", "mcpctl tools odd "},
				{"mcpctl tools --config mine.json from", "mcpctl tools --config mine.json from-file "},
				{"mcpctl tools --config mi", "mcpctl tools --config mine.json "},
				{"mcpctl tools --config broken.yaml od", "mcpctl tools --config broken.yaml od"},
				{"mcpctl call odd se", "mcpctl call odd se"},
				{"mcpctl call odd sea", "mcpctl call odd search "},
				{"mcpctl call odd search q", "mcpctl call odd search query="},
				{"mcpctl call odd search query=x mo", "mcpctl call odd search query=x mode="},
				{"mcpctl call odd search mode=f", "mcpctl call odd search mode=fast "},
				{"mcpctl call odd search mode=n", `mcpctl call odd search mode=no\ hurry `},
				{"mcpctl call odd search exact=f", "mcpctl call odd search exact=false "},
				{"mcpctl call odd search reg", "mcpctl call odd search region.city="},
				{"mcpctl call odd search query=@mi", "mcpctl call odd search query=@mine.json "},
				{"mcpctl call odd a", `mcpctl call odd a\ b `},
				{"mcpctl call odd 'a", `mcpctl call odd 'a b' `},
				{"mcpctl call odd it", `mcpctl call odd it\'s `},
				{"mcpctl call odd x:", `mcpctl call odd x:y `},
				{"mcpctl call odd q", `mcpctl call odd q\;touch\ ran-3 `},
				{`mcpctl call odd \$`, `mcpctl call odd \$\(touch\ ran-1\) `},
				{"mcpctl call odd \\`", "mcpctl call odd \\`touch\\ ran-2\\` "},
				{"mcpctl call odd '$", "mcpctl call odd '$(touch ran-1)' "},
				{`mcpctl call odd \$\(touch\ ran-1\) q`, `mcpctl call odd \$\(touch\ ran-1\) query=`},
				{"mcpctl call odd hid", "mcpctl call odd hid"},
				{"mcpctl call odd $(touch ran-8) q", "mcpctl call odd $(touch ran-8) q"},
				{"mcpctl doctor --only config.se", "mcpctl doctor --only config.secrets "},
				{"mcpctl doctor --skip=config.se", "mcpctl doctor --skip=config.secrets "},
				{"mcpctl doctor --explain session.op", "mcpctl doctor --explain session.open "},
				{"mcpctl help exit", "mcpctl help exit-codes "},
				{"mcpctl completion z", "mcpctl completion zsh "},
				{"mcpctl list --from wind", "mcpctl list --from windsurf "},
				{"A=b mcpctl tools od", "A=b mcpctl tools odd "},
			} {
				line, _ := s.complete(tt.typed)
				if line != tt.want {
					t.Errorf("%s: got %s, want %s", tt.typed, line, tt.want)
				}
			}
			_, shown := s.complete("mcpctl call odd search ")
			for _, want := range []string{"query=", "string (required)", "what to look for", "limit=", "integer"} {
				if !strings.Contains(shown, want) {
					t.Errorf("no %q in what is shown:\n%s", want, shown)
				}
			}
			if strings.Index(shown, "query=") > strings.Index(shown, "exact=") {
				t.Errorf("what is required does not come first:\n%s", shown)
			}
			if _, shown = s.complete("mcpctl call odd se"); strings.Contains(shown, "\x1b]0;") || !strings.Contains(shown, "Do $(touch ran-4)") {
				t.Errorf("the description is not shown as one plain line: %q", shown)
			}
			if ran, _ := filepath.Glob(filepath.Join(home, "ran-*")); len(ran) > 0 {
				t.Errorf("completion has run something: %v", ran)
			}
		})
	}
}
