package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// newFile is what a configuration that does not exist begins with in the editor.
const newFile = `# The MCP servers of mcpctl. What may be here: mcpctl help config
version: 1
servers: {}
#  notes:
#    command: npx
#    args: [-y, "@example/notes", ~/notes]
#    env: {NOTES_TOKEN: "${NOTES_TOKEN}"}
#  search:
#    url: https://search.example/mcp
#    headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
`

func newConfigEditCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Edit the configuration file, and check it before saving",
		Long: `Edit a copy of the configuration file in VISUAL, EDITOR or the platform's
editor. The copy is checked and then replaces the file; if it has errors, you
are asked whether to edit again. A copy that was not saved is kept, and its name
is printed.`,
		Example: "  mcpctl config edit\n  EDITOR='code --wait' mcpctl config edit",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.editConfig(cmd.Context()) },
	}
}

func (a *app) editConfig(ctx context.Context) error {
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	if !a.canPrompt() {
		return usagef("config edit needs a terminal").hint("the file: %s", toolargs.Quote(path))
	}
	editor, err := a.editor()
	if err != nil {
		return err
	}
	old, err := config.Content(path)
	if err != nil {
		return err
	}
	before, brokenBefore := config.Check(path, old)
	if before != nil {
		if err := before.Editable(); err != nil {
			return err
		}
	}
	d := &draft{path: path, old: old, begun: old}
	if old == nil {
		d.begun = []byte(newFile)
	}
	if err := d.make(); err != nil {
		return err
	}
	saved, err := a.editDraft(ctx, d, editor, brokenBefore)
	return d.end(saved, err)
}

// draft is the private copy of a file that is being edited.
type draft struct {
	path string
	// old is what the file held, begun what the copy began with, now what it holds.
	old, begun, now []byte
	// dir is a directory of its own for the copy, file, which editors put their own files into.
	dir, file string
}

// make writes the copy. It has the name of the file, because editors know the kind of a file by it.
func (d *draft) make() error {
	dir, err := os.MkdirTemp("", "mcpctl-edit-") // of mode 0700
	if err != nil {
		return err
	}
	d.dir, d.file, d.now = dir, filepath.Join(dir, filepath.Base(d.path)), d.begun
	if err := os.WriteFile(d.file, d.begun, 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	return nil
}

// read looks at the copy after the editor has ended. One that was removed is empty.
func (d *draft) read() error {
	data, err := config.Content(d.file)
	if err == nil {
		d.now = data
	}
	return err
}

// end removes the copy if nothing in it can be lost, and says where it is otherwise.
func (d *draft) end(saved bool, err error) error {
	if saved || bytes.Equal(d.now, d.begun) || len(bytes.TrimSpace(d.now)) == 0 {
		if removed := os.RemoveAll(d.dir); err == nil {
			err = removed
		}
		return err
	}
	return &keptError{cause: err, file: d.file}
}

// keptError is a failure after which what was typed is in a file.
type keptError struct {
	cause error
	file  string
}

func (e *keptError) Error() string { return e.cause.Error() }
func (e *keptError) Unwrap() error { return e.cause }

// editDraft lets a person edit the copy until it is good or they stop, and saves it.
func (a *app) editDraft(ctx context.Context, d *draft, editor []string, brokenBefore []*config.Error) (saved bool, err error) {
	for {
		failed := a.runEditor(ctx, editor, d.file)
		if err := d.read(); err != nil {
			return false, err
		}
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case failed != nil:
			return false, fmt.Errorf("nothing was saved: the editor %s: %w", toolargs.Quote(editor[0]), failed)
		case len(bytes.TrimSpace(d.now)) == 0:
			return false, &configError{message: "nothing was saved: the file would be empty", hint: "to remove servers: mcpctl remove NAME"}
		case bytes.Equal(d.now, d.begun):
			a.note("nothing was changed")
			return false, nil
		}
		c, problems := config.Check(d.path, d.now)
		if c != nil {
			if err := c.Editable(); err != nil {
				return false, err
			}
		}
		if fresh := news(problems, brokenBefore); len(fresh) > 0 {
			a.warn(problemLines(fresh))
			again, err := a.asker().Confirm(ctx, "Edit it again?")
			if err != nil {
				return false, err
			}
			if again {
				continue
			}
			return false, &configError{message: d.path + ": nothing was saved: " + plural(len(fresh), "problem") + " in the copy"}
		}
		err := config.Replace(ctx, d.path, d.old, d.now)
		if errors.Is(err, config.ErrChanged) {
			return false, &configError{message: d.path + ": nothing was saved: " + err.Error(), hint: "put your changes into it: mcpctl config edit", cause: err}
		}
		if err != nil {
			return false, err
		}
		if len(problems) > 0 {
			a.warn(problemLines(problems))
		}
		_, err = fmt.Fprintf(a.out(), "saved %s: %s\n", oneLine(d.path), plural(len(c.Servers), "server"))
		return true, err
	}
}

// news returns the problems that hinder saving: those of the file, and those of entries that had not been there before.
func news(problems, before []*config.Error) []*config.Error {
	var fresh []*config.Error
	for _, p := range problems {
		same := func(q *config.Error) bool { return q.Server == p.Server && q.Key == p.Key && q.Message == p.Message }
		if p.Server == "" || !slices.ContainsFunc(before, same) {
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// editorWords splits a command line as a shell does, with its variables and the home directory put in.
func (a *app) editorWords(text string) ([]string, error) {
	words, err := pasted.Split(text)
	for i, word := range words {
		word = os.Expand(word, func(name string) string {
			name, otherwise, _ := strings.Cut(name, ":-")
			if name == "$" { // which was one in quotes, or behind a backslash
				return name
			}
			if value, _ := a.lookup(name); value != "" {
				return value
			}
			return otherwise
		})
		if rest, home := strings.CutPrefix(word, "~/"); home {
			word = filepath.Join(a.home, rest)
		}
		words[i] = word
	}
	return words, err
}

// editor returns the command of the person's editor.
func (a *app) editor() ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		value, _ := a.lookup(name)
		if value == "" {
			continue
		}
		words := []string{value}
		if _, err := exec.LookPath(value); err != nil { // a path may have spaces, or the backslashes of Windows
			if words, err = a.editorWords(value); err != nil || len(words) == 0 {
				return nil, usagef("%s: %q is not a command", name, value).hint("%s=vi mcpctl config edit", name)
			}
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, usagef("%s: the editor %q cannot be found", name, words[0]).hint("%s=vi mcpctl config edit", name)
		}
		return words, nil
	}
	known := []string{"editor", "nano", "vim", "vi"}
	if runtime.GOOS == "windows" {
		known = []string{"notepad"}
	}
	for _, name := range known {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}, nil
		}
	}
	return nil, usagef("no editor found").hint("EDITOR=NAME mcpctl config edit")
}

// runEditor lets the editor have the terminal. It is not ended with ctx: it has the same Ctrl-C, and knows what to do
// with what was typed.
func (a *app) runEditor(ctx context.Context, editor []string, file string) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), editor[0], append(editor[1:len(editor):len(editor)], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.io.In, bare(a.io.Out), a.io.Err
	err := cmd.Run()
	const bySignal, bySigint = -1, 130
	if e, ok := errors.AsType[*exec.ExitError](err); ok && (e.ExitCode() == bySignal || e.ExitCode() == bySigint) {
		// Ctrl-C goes to both, and may have reached the editor first.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return err
}

// bare returns the stream itself, so that a child gets the terminal and no pipe.
func bare(w io.Writer) io.Writer {
	if o, ok := w.(output); ok {
		return o.w
	}
	return w
}
