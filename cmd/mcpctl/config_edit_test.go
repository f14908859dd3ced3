//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// editorScript makes an editor of a shell script, whose $1 is the file, and $N how often it has been called.
func editorScript(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "an editor")
	text := "#!/bin/sh\necho x >>'" + dir + "/calls'\nN=$(wc -l <'" + dir + "/calls')\n" + body + "\n"
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return file
}

// waitFor waits until a text is on the terminal.
func (term *terminal) waitFor(text string) {
	term.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(term.out.String(), text) {
		if time.Now().After(deadline) {
			term.t.Fatalf("no %q in\n%s", text, term.out.String())
		}
		<-time.After(10 * time.Millisecond)
	}
}

const goodEntry = `servers: {a: {command: x}}`

func TestConfigEdit(t *testing.T) {
	for _, c := range []struct {
		name           string
		before         string // "" for no file
		editor, answer string // the script, and what is typed at the question
		code           int
		says, after    string // after: "" for no file
		kept           string // in the file that is named
	}{
		{name: "saved", before: "# ours\n", editor: `echo '` + goodEntry + `' >>"$1"`, says: "saved ", after: "# ours\n" + goodEntry + "\n"},
		{name: "new", editor: `grep -q '^version: 1' "$1" && echo '` + goodEntry + `' >"$1"`, says: "1 server", after: goodEntry + "\n"},
		{name: "unchanged", before: "# ours\n", editor: `:`, says: "nothing was changed", after: "# ours\n"},
		{name: "new and unchanged", editor: `:`, says: "nothing was changed"},
		{name: "same extension", before: "# ours\n", editor: `case "$1" in *.yaml) :;; *) exit 9;; esac`, after: "# ours\n"},
		{name: "broken before", before: "servers: [", editor: `echo '` + goodEntry + `' >"$1"`, says: "saved ", after: goodEntry + "\n"},
		{name: "stop", before: "# ours\n", editor: `echo 'servers: {a: {comand: x}}' >"$1"`, answer: "n\r", code: codeUsage, says: `did you mean "command"?`, after: "# ours\n", kept: "servers: {a: {comand: x}}\n"},
		{name: "again", before: "# ours\n", editor: `if [ $N = 1 ]; then echo 'servers: [' >"$1"; else grep -q '\[' "$1" && echo '` + goodEntry + `' >"$1"; fi`, answer: "y\r", says: "saved ", after: goodEntry + "\n"},
		{name: "fails", before: "# ours\n", editor: `echo '` + goodEntry + `' >"$1"; exit 3`, code: codeFailed, says: "exit status 3", after: "# ours\n", kept: goodEntry + "\n"},
		{name: "empty", before: "# ours\n", editor: `: >"$1"`, code: codeUsage, says: "would be empty", after: "# ours\n"},
		{name: "removed", before: "# ours\n", editor: `rm "$1"`, code: codeUsage, says: "would be empty", after: "# ours\n"},
		{name: "changed meanwhile", before: "# ours\n", editor: `echo '# theirs' >"$CONFIG_FILE"; echo '` + goodEntry + `' >"$1"`, code: codeUsage, says: "has changed in the meantime", after: "# theirs\n", kept: goodEntry + "\n"},
		{name: "an entry that was broken", before: "servers: {b: {}}\n", editor: `echo 'servers: {b: {}, a: {command: x}}' >"$1"`, says: "saved ", after: "servers: {b: {}, a: {command: x}}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("TMPDIR", t.TempDir())
			file := filepath.Join(home, "c.yaml")
			if c.before != "" {
				if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("CONFIG_FILE", file)
			t.Setenv("VISUAL", "")
			t.Setenv("EDITOR", "'"+editorScript(t, c.editor)+"'") // split like a shell's words
			term := onTerminalOf(t, 200, home, "config", "edit", "--config", file)
			if c.answer != "" {
				term.waitFor("Edit it again? [y/N]")
				term.answer(c.answer)
			}
			code, out := term.end()
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit code %d, want %d with %q: %s", code, c.code, c.says, out)
			}
			if after, _ := os.ReadFile(file); string(after) != c.after {
				t.Errorf("the file holds %q, want %q", after, c.after)
			}
			kept := regexp.MustCompile(`what was typed is kept: (\S+)`).FindStringSubmatch(out)
			switch {
			case c.kept == "" && kept != nil:
				t.Errorf("kept: %s", out)
			case c.kept != "" && kept == nil:
				t.Errorf("not kept: %s", out)
			case kept != nil:
				if got, err := os.ReadFile(kept[1]); err != nil || string(got) != c.kept {
					t.Errorf("kept %q, %v, want %q", got, err, c.kept)
				}
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != min(1, len(c.kept)) {
				t.Errorf("%d copies left, %v", len(left), err)
			}
		})
	}
}

func TestConfigEditIsInterrupted(t *testing.T) {
	home := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("VISUAL", editorScript(t, `echo '`+goodEntry+`' >"$1"; echo ready; read line`))
	file := filepath.Join(home, "c.yaml")
	term := onTerminalOf(t, 200, home, "config", "edit", "--config", file)
	term.waitFor("ready")
	term.answer("\x03")
	code, out := term.end()
	if _, err := os.Stat(file); code != codeInterrupted || err == nil || !strings.Contains(out, "what was typed is kept: ") {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

func TestConfigEditWithoutAnEditor(t *testing.T) {
	home := t.TempDir()
	t.Setenv("VISUAL", "no-such-editor --wait")
	code, out := onTerminalOf(t, 200, home, "config", "edit").end()
	if code != codeUsage || !strings.Contains(out, `VISUAL: the editor "no-such-editor" cannot be found`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
