//go:build release && unix

package release

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// needs returns the path of a program that a test needs. On a pipeline it has to be there.
func needs(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: .ci/run should have done that", name)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// shell is one into which a test types.
type shell struct {
	t    *testing.T
	name string
	pty  io.Writer

	mu  sync.Mutex
	out bytes.Buffer
}

// Write takes what the shell shows.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// startShell starts a shell that finds mcpctl and its completions below root alone, as a package has put them there. Bash
// reads the file when the command is completed for the first time, as the package bash-completion does, and zsh when it
// starts. Ctrl-X Ctrl-L shows the line.
func startShell(t *testing.T, name, root string) *shell {
	t.Helper()
	path, home := needs(t, name), t.TempDir()
	args := map[string][]string{"bash": {"--norc", "--noprofile", "-i"}, "zsh": {"-f", "-i"}}[name]
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = home
	inputrc := filepath.Join(home, "inputrc")
	if err := os.WriteFile(inputrc, []byte("set bell-style none\nset show-all-if-ambiguous on\nset enable-bracketed-paste off\nset completion-query-items 0\nset page-completions off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(clean(home), "PATH="+filepath.Join(root, "usr/bin")+":/usr/bin:/bin", "TERM=xterm", "INPUTRC="+inputrc, "HISTFILE=", "NO_COLOR=1")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 100, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, name: name, pty: f}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(s, f)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = f.Close()
		_ = cmd.Wait()
		<-done
	})
	setup := fmt.Sprintf(`PS1='$ '; load() { source %s/usr/share/bash-completion/completions/"${1##*/}" && return 124; }; complete -D -F load; `+
		`show() { printf '\n<%%s>\n' "$READLINE_LINE"; }; bind -x '"\C-x\C-l": show'`, root)
	if name == "zsh" {
		setup = fmt.Sprintf(`PS1='$ '; fpath=(%s/%s $fpath); LISTMAX=0; unsetopt auto_menu beep prompt_sp prompt_cr; autoload -Uz compinit && compinit -D -u; `+
			`show() { print -r; print -r -- "<$BUFFER>"; zle redisplay; }; zle -N show; bindkey '^X^L' show`, root, filepath.Dir(zshOfDebian))
	}
	_, _ = io.WriteString(f, setup+"; echo RE''ADY\n")
	s.waitFor(regexp.MustCompile(`READY`))
	return s
}

// waitFor waits for something new on the terminal, and returns what the expression has found.
func (s *shell) waitFor(e *regexp.Regexp) []string {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		text := strings.ReplaceAll(s.out.String(), "\r", "")
		found := e.FindStringSubmatch(text)
		if found != nil {
			s.out.Reset()
		}
		s.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-deadline:
			s.t.Fatalf("%s: waited for %s in\n%q", s.name, e, text)
		case <-tick.C:
		}
	}
}

// complete types a line and the key for completion, and returns what the line is then, and what was shown below it.
func (s *shell) complete(typed string) (line, shown string) {
	s.t.Helper()
	_, _ = io.WriteString(s.pty, "\x15"+typed+"\t\x18\x0c")
	found := s.waitFor(regexp.MustCompile(`(?s)^(.*?)\n<([^\n]*)>\n`))
	return found[2], found[1]
}
