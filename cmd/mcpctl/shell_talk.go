package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/shellwords"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// edit prepares for a person who types the lines. What is written to standard error while a line is being typed goes above
// it from now on, whoever writes it.
func (sh *shellState) edit() {
	a := sh.a
	asker := a.asker()
	if !a.io.StderrTTY() {
		asker.Out = masked{a.redact, a.io.Out}
	}
	sh.history = prompt.HistoryFile{Path: config.HistoryFile(a.lookup)}
	sh.editing = &prompt.LineEditor{
		Asker: asker, Prompt: sh.prompt, More: "… ", Unfinished: unfinished, Complete: sh.candidates, History: sh.history.Load(),
	}
	sh.err = a.io.Err
	a.io.Err = aboveLine{sh.editing, sh.err}
}

// aboveLine writes above the line that is being typed, if one is.
type aboveLine struct {
	editing *prompt.LineEditor
	w       io.Writer
}

func (w aboveLine) Write(p []byte) (int, error) {
	if w.editing.Above(p) {
		return len(p), nil
	}
	return w.w.Write(p)
}

// mostPrompt is how much of a server's name stands before a line: a URL leaves room to type.
const mostPrompt = 30

// prompt is what stands before a line: the server in use, and its state if requests cannot be made at once.
func (sh *shellState) prompt() string {
	s := sh.supervisor()
	if s == nil {
		return "mcpctl> "
	}
	name := render.Cut(render.OneLine(sh.a.redact.String(sh.inUse())), mostPrompt)
	switch state := s.Status().State; state {
	case session.StateReady, session.StateIdle:
		return name + "> "
	default:
		return name + " (" + strings.ReplaceAll(string(state), "_", " ") + ")> "
	}
}

// commands divides what was typed, or pasted, into commands: one a line, unless it goes on.
func commands(text string) []string {
	var list []string
	open := ""
	for l := range strings.SplitSeq(text, "\n") {
		if open += l; shellwords.Open(open, true) {
			open += "\n"
			continue
		}
		list = append(list, open)
		open = ""
	}
	if open != "" {
		list = append(list, strings.TrimSuffix(open, "\n"))
	}
	return list
}

// unfinished reports whether what is typed goes on. An empty line ends a bracket that was not meant as JSON.
func unfinished(text string) bool {
	list := commands(text)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	return shellwords.Open(last, false) || shellwords.Open(last, true) && !strings.HasSuffix(text, "\n")
}

// lineAtWork is the line that is being carried out.
type lineAtWork struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // that of the line, while it runs
	cancel context.CancelFunc
}

func (r *lineAtWork) set(ctx context.Context, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx, r.cancel = ctx, cancel
}

// interrupt ends the line that is being carried out. It returns true when that is being ended already.
func (r *lineAtWork) interrupt() (now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		return false
	}
	now = r.ctx.Err() != nil
	r.cancel()
	return now
}

// converse carries out what a person types, up to the end of the input.
func (sh *shellState) converse(ctx context.Context) error {
	var now lineAtWork
	sh.a.interrupts.give(now.interrupt)
	defer sh.a.interrupts.give(nil)
	sh.say(sh.hello())
	for !sh.over {
		text, err := sh.editing.Read(ctx)
		switch {
		case errors.Is(err, prompt.ErrCancelled):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for _, command := range commands(text) {
			line, cancel := context.WithCancel(ctx)
			now.set(line, cancel)
			sh.one(line, command)
			stopped := line.Err() != nil
			now.set(ctx, nil)
			cancel()
			sh.keepLine(ctx, command)
			if ctx.Err() != nil {
				return reportedError(codeInterrupted)
			}
			if stopped || sh.over {
				break
			}
		}
	}
	return nil
}

// keepLine adds a line to the history, unless it may hold a secret, or begins with a space.
func (sh *shellState) keepLine(ctx context.Context, text string) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || sh.secret(text) {
		return
	}
	sh.editing.Remember(text)
	if err := sh.history.Add(ctx, text); err != nil {
		sh.a.logger.InfoContext(ctx, "line not kept", "error", err)
	}
}

// secret reports whether a line may hold a secret: one that is known, a value whose name says so, or that of a parameter
// whose format is password.
func (sh *shellState) secret(text string) bool {
	if sh.a.redact.String(text) != text {
		return true
	}
	split, err := shellwords.Split(text)
	if err != nil {
		return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return !letterOf(r) }), secretName)
	}
	words := shellwords.Texts(split)
	hidden := sh.passwords(words)
	for i, word := range words {
		if strings.HasPrefix(word, "-H") || strings.HasPrefix(word, "--header") || i > 0 && slices.Contains([]string{"-H", "--header"}, words[i-1]) {
			if _, value, _ := strings.Cut(word, ":"); strings.TrimSpace(value) != "" && !strings.Contains(value, "${") {
				return true
			}
		}
		if i > 0 && slices.Contains(secretFlags(), strings.TrimPrefix(words[i-1], "--")) && !strings.HasPrefix(word, "@") && !strings.Contains(word, "${") {
			return true
		}
		if isCallback(word) {
			return true
		}
		key, value, assigned := strings.Cut(word, "=")
		if config.LooksSecretValue(word) || assigned && config.LooksSecretValue(value) {
			return true
		}
		if assigned && value != "" && (secretName(key) || slices.ContainsFunc(hidden, func(name string) bool { return namesParameter(key, name) })) {
			return true
		}
		if strings.ContainsAny(word, `{[`) && slices.ContainsFunc(jsonKeys(word), func(key string) bool {
			return secretName(key) || slices.Contains(hidden, key)
		}) {
			return true
		}
	}
	return false
}

// isCallback reports whether a word is the address that a browser comes back to after a login, which holds its code: people
// paste it where they should not.
func isCallback(word string) bool {
	u, err := url.Parse(word)
	return err == nil && u.Query().Has("code") && u.Query().Has("state")
}

// letterOf reports whether a character can be part of a name.
func letterOf(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// namesParameter reports whether a key, as it is typed, is of a parameter or a part of it.
func namesParameter(key, name string) bool {
	key = strings.TrimSuffix(strings.TrimSuffix(key, ":"), "[]")
	return key == name || strings.HasSuffix(key, "."+name)
}

// secretName reports whether what has this name is likely to be a secret.
func secretName(name string) bool {
	name = strings.TrimLeft(strings.TrimSuffix(name, ":"), "-")
	return config.LooksSecretName(name) || slices.Contains([]string{"pin", "otp"}, strings.ToLower(name))
}

// jsonKeys returns the keys in the JSON that a word holds, at any depth. Of one that is no JSON it returns the whole word.
func jsonKeys(word string) []string {
	at := strings.IndexAny(word, "{[")
	dec := json.NewDecoder(strings.NewReader(word[at:]))
	var value any
	if dec.Decode(&value) != nil {
		return []string{word}
	}
	var keys []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				keys = append(keys, key)
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(value)
	return keys
}

// passwords returns the names of the parameters of the tool that a line calls whose schema says that they are secret.
func (sh *shellState) passwords(words []string) []string {
	s := sh.supervisor()
	if s == nil {
		return nil
	}
	list, _ := s.ListedTools()
	var names []string
	var walk func(json.RawMessage, int)
	walk = func(schema json.RawMessage, depth int) {
		const deep = 4 // schemas may refer to themselves
		for _, p := range toolargs.Params(schema) {
			var says struct {
				Format    string `json:"format"`
				WriteOnly bool   `json:"writeOnly"` //nolint:tagliatelle // as JSON Schema has it
			}
			if json.Unmarshal(p.Schema, &says) == nil && (says.Format == "password" || says.WriteOnly) {
				names = append(names, p.Name)
			}
			if depth < deep {
				walk(p.Schema, depth+1)
			}
		}
	}
	for _, t := range parseTools(list.Items) {
		if slices.Contains(words, t.name) {
			walk(t.schema, 0)
		}
	}
	return names
}
