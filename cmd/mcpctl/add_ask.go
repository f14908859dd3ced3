package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// What add asks on a terminal. Nothing runs and nothing is locked while it waits for an answer, and the file is written
// when all has been answered: whoever leaves in the middle leaves everything as it was.

// asks reports whether add may ask.
func (o *addOptions) asks(a *app) bool { return !o.yes && a.canPrompt() }

// chooseTools asks which tools are used, unless that is said already, or there is no choice.
func (o *addOptions) chooseTools(ctx context.Context, a *app, server *config.Server, list toolList, doc *addDocument) error {
	if !o.asks(a) || len(server.Tools.Include)+len(server.Tools.Exclude) > 0 {
		return nil
	}
	var options []prompt.Option
	var names []string
	for _, t := range list.tools {
		if !slices.Contains(names, t.name) {
			names = append(names, t.name)
			options = append(options, prompt.Option{Label: t.name, Description: render.FirstSentence(t.description)})
		}
	}
	if len(options) < 2 {
		return nil
	}
	chosen, err := a.asker().MultiSelect(ctx, "Tools to use", options)
	if err != nil || len(chosen) == len(options) {
		return err
	}
	var kept []string
	for _, i := range chosen {
		kept = append(kept, names[i])
		server.Tools.Include = append(server.Tools.Include, pasted.Glob(names[i]))
	}
	doc.Tools, o.helped = kept, true
	return nil
}

// What can be done about a server that does not work.
const (
	thenAgain = iota
	thenTarget
	thenValue
	thenSave
	thenLeave
)

// afterFailure shows the cause and asks what to do: it returns nil when the server is to be tried again, with the changes
// that were made in the entry, and true when it is to be saved as it is.
func (o *addOptions) afterFailure(ctx context.Context, a *app, server *config.Server, f failure) (save bool, err error) {
	if err := o.showCause(ctx, a, *server, f); err != nil {
		return false, err
	}
	target, value := "Change the URL", "Add a header"
	if server.URL == "" {
		target, value = "Change the command", "Set a variable for it"
	}
	then, err := a.asker().Select(ctx, "What now?", []prompt.Option{
		thenAgain:  {Label: "Try again"},
		thenTarget: {Label: target},
		thenValue:  {Label: value},
		thenSave:   {Label: "Save it anyway"},
		thenLeave:  {Label: "Cancel, and save nothing"},
	})
	if err != nil {
		return false, err
	}
	switch then {
	case thenAgain:
		a.forgive(*server)
	case thenTarget:
		err = o.askTarget(ctx, a, server)
	case thenValue:
		err = o.askValue(ctx, a, server)
	case thenSave:
		return true, nil
	case thenLeave:
		a.note("nothing was saved")
		return false, reportedError(f.code)
	}
	if err != nil {
		return false, err
	}
	return false, o.askUnset(ctx, a, *server)
}

// causeLimit bounds the search for a cause: what takes longer is told as it was seen first.
const causeLimit = 10 * time.Second

// showCause shows why the server does not work, as doctor does. No tool is called. A login that somebody began is told of as
// it ended: doctor does not begin one, and would say that one is needed.
func (o *addOptions) showCause(ctx context.Context, a *app, server config.Server, f failure) error {
	if f.code == codeUsage || f.loginEnded {
		f.forgetLogin()
		a.warn(f.text(a.global.verbose > 0, a.errWidth()))
		return nil
	}
	checks, _ := probe.Select(probe.Checks(), []string{"config.variables", "command", "net", "http.endpoint", "auth", "session.open", "tools.list"}, nil)
	t := &probe.Target{
		Server: server, Environment: a.environment(), Dialer: a.dialer(),
		OnSecrets: func(secrets []string) { a.redact.Add(secrets...) },
	}
	bounded, cancel := context.WithTimeoutCause(ctx, causeLimit, fmt.Errorf("no cause found within %s", causeLimit))
	defer cancel()
	stop := a.live("looking for the cause")
	report := probe.Run(bounded, t, checks)
	stop()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case report.Cause == nil:
		a.warn(f.text(a.global.verbose > 0, a.errWidth()))
		return nil
	}
	screen := render.Screen{Terminal: true, Colour: a.io.ColorEnabled(false), Width: a.errWidth()}
	return render.Cause(a.errOut(), screen, report)
}

// askTarget asks for another URL or command line.
func (o *addOptions) askTarget(ctx context.Context, a *app, server *config.Server) error {
	field := prompt.Field{Question: "URL, or command line", Value: server.URL}
	if server.URL == "" {
		field.Value = pasted.CommandLine(append([]string{server.Command}, server.Args...))
	}
	changed := *server
	field.Check = func(text string) error {
		found, err := pasted.Target(text)
		if err != nil {
			return err
		}
		changed = server.Clone()
		changed.URL, changed.Command, changed.Args, changed.Transport = found.URL, found.Command, found.Args, found.Transport
		if changed.URL == "" {
			changed.Headers = nil
			for name, value := range found.Env {
				pasted.SetEnv(&changed, name, value)
			}
		} else {
			changed.Env, changed.Cwd, changed.InheritEnv = nil, "", config.InheritEnv{}
			if server.URL != "" {
				changed.Transport = server.Transport
			}
		}
		return changed.Validate()
	}
	if _, err := a.asker().Input(ctx, field); err != nil {
		return err
	}
	return o.change(a, server, changed)
}

// askValue asks for a header, or for a variable of the command.
func (o *addOptions) askValue(ctx context.Context, a *app, server *config.Server) error {
	changed := *server
	field := prompt.Field{Question: "Header", Help: "Name: value; for a token: Authorization: Bearer ${" + variableFor(server.Name, "token") + "}"}
	field.Check = func(text string) error {
		name, value, err := pasted.Header(text)
		switch {
		case err != nil:
			return err
		case value == "":
			return errors.New("nothing after the colon")
		}
		changed = server.Clone()
		pasted.SetHeader(&changed, name, value)
		return changed.Validate()
	}
	if server.URL == "" {
		field = prompt.Field{Question: "Variable", Help: "NAME=value, or NAME to pass on what it is here"}
		field.Check = func(text string) error {
			name, value, err := pasted.Env(text)
			if err != nil {
				return err
			}
			changed = server.Clone()
			pasted.SetEnv(&changed, name, value)
			return changed.Validate()
		}
	}
	if _, err := a.asker().Input(ctx, field); err != nil {
		return err
	}
	return o.change(a, server, changed)
}

// change puts a changed entry in the place of another. Secrets that were typed do not come into the file: variables take
// their places, which have those values for the check.
func (o *addOptions) change(a *app, server *config.Server, changed config.Server) error {
	o.helped = true
	if o.allowLiteralSecret {
		*server = changed
		return nil
	}
	out, _, err := changed.Adopt(config.AdoptOptions{Name: changed.Name, Home: a.home})
	if err != nil {
		return err
	}
	o.lend(a, valuesBehind(changed, out))
	*server = out
	return nil
}

// lend gives variables values that hold for this run alone. They are secrets, and masked.
func (o *addOptions) lend(a *app, values map[string]string) {
	if o.lent == nil {
		o.lent = map[string]string{}
		before := a.lookup
		a.lookup = func(name string) (string, bool) {
			if value, ok := o.lent[name]; ok {
				return value, true
			}
			return before(name)
		}
	}
	for name, value := range values {
		o.lent[name] = value
		a.redact.Add(value)
	}
}

// valuesBehind returns what stood where an entry now has variables.
func valuesBehind(before, after config.Server) map[string]string {
	values := map[string]string{}
	compare := func(old, now string) {
		if old == now {
			return
		}
		pattern, names := `(?s)^`, []string{}
		rest := now
		for _, at := range regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`).FindAllStringSubmatchIndex(now, -1) {
			done := len(now) - len(rest)
			pattern += regexp.QuoteMeta(now[done:at[0]]) + `(.+?)`
			names = append(names, now[at[2]:at[3]])
			rest = now[at[1]:]
		}
		found := regexp.MustCompile(pattern + regexp.QuoteMeta(rest) + `$`).FindStringSubmatch(old)
		for i := range names {
			if found != nil && !strings.Contains(found[i+1], "${") {
				values[names[i]] = strings.ReplaceAll(found[i+1], "$$", "$")
			}
		}
	}
	for i := range min(len(before.Args), len(after.Args)) {
		compare(before.Args[i], after.Args[i])
	}
	for name := range after.Env {
		compare(before.Env[name], after.Env[name])
	}
	for name := range after.Headers {
		compare(before.Headers[name], after.Headers[name])
	}
	compare(before.URL, after.URL)
	return values
}

// unset returns the variables of an entry that have no value.
func unset(server config.Server, env config.Environment) []string {
	_, _, err := server.Expand(env)
	var missing *config.UnsetError
	if !errors.As(err, &missing) {
		return nil
	}
	var names []string
	for _, v := range missing.Vars {
		if v.Hint() == "" {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// askUnset asks for values of variables that have none, for the check.
func (o *addOptions) askUnset(ctx context.Context, a *app, server config.Server) error {
	for _, name := range unset(server, a.environment()) {
		value, err := a.asker().Input(ctx, prompt.Field{
			Question: "Value of " + name + " for the check", Hidden: true, Help: "it is not saved, and not shown; enter alone leaves it unset",
		})
		if err != nil {
			return err
		}
		if value != "" {
			o.lend(a, map[string]string{name: value})
		}
	}
	return nil
}

// tellRest says what is left to be done when an entry was saved, and how it would be written in one line.
func (o *addOptions) tellRest(a *app, server config.Server) error {
	var b strings.Builder
	without := func(name string) (string, bool) {
		if _, lent := o.lent[name]; lent {
			return "", false
		}
		return a.lookup(name)
	}
	if o.helped {
		b.WriteString("In one line:\n  " + line(a.addWords(server, o)) + "\n")
		env := a.environment()
		env.Lookup = without
		for _, name := range unset(server, env) {
			b.WriteString("Before it is used: export " + name + "=…\n")
		}
	}
	if a.io.StdoutTTY() {
		b.WriteString("Next: mcpctl tools " + a.configWords() + toolargs.Quote(server.Name) + "\n")
	}
	_, err := fmt.Fprint(a.out(), b.String())
	return err
}
