package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

type setOptions struct {
	dryRun             bool
	allowLiteralSecret bool
}

func newSetCmd(a *app) *cobra.Command {
	var o setOptions
	cmd := &cobra.Command{
		Use:   "set NAME KEY=VALUE...",
		Short: "Change values of an entry",
		Long: `Change values of an entry: all that are given, or none. Comments, order and
whatever else the file holds stay as they are; nothing is contacted.

  KEY=VALUE   the value, as the key wants it: 30s, true, 5, text
  KEY=        removes the key, so that its default holds
  KEY:=JSON   any value, as JSON

Keys within keys have a dot: env.TOKEN, headers.Authorization, tls.ca_file.
The words of a list are split as a shell would: args='-y @example/notes'.
To make a command of a URL, or the other way round, set one and remove the
other: url= command=npx. mcpctl help config has the keys.`,
		Example: `  mcpctl set notes connect_timeout=60s
  mcpctl set search 'headers.Authorization=Bearer ${SEARCH_TOKEN}'
  mcpctl set notes env.DEBUG=1 cwd= args='-y @example/notes ~/notes'
  mcpctl set search 'tools.include:=["search_*"]'`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return usagef("%s: no server named", cmd.CommandPath()).hint("%s", usageLine(cmd))
			case 1:
				e := usagef("%s: nothing to set", cmd.CommandPath())
				if name, _, assigned := strings.Cut(args[0], "="); assigned {
					e = usagef("%s: the name of the server comes before %s=…", cmd.CommandPath(), name)
				}
				return e.hint("%s", usageLine(cmd))
			}
			return nil
		},
		ValidArgsFunction: a.completeSettings,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would change, and write nothing")
	flags.BoolVar(&o.allowLiteralSecret, "allow-literal-secret", false, "save a secret as it is written")
	return cmd
}

// setDocument is the output of set.
type setDocument struct {
	Version int          `json:"version"`
	Config  string       `json:"config"`
	Server  string       `json:"server"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Changed []changeBody `json:"changed"`
}

// changeBody is a value that has changed, as get shows it: what is null was not set.
type changeBody struct {
	Key string `json:"key"`
	Old any    `json:"old"`
	New any    `json:"new"`
	// oldText and newText are for people.
	oldText, newText string
}

// errNotSaved ends an edit that was only to be tried.
var errNotSaved = errors.New("not saved")

func (o *setOptions) run(cmd *cobra.Command, a *app, name string, words []string) error {
	ctx := cmd.Context()
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	if _, ok := c.Server(name); !ok {
		return a.notFound(ctx, c, name)
	}
	settings := make([]config.Setting, 0, len(words))
	for _, word := range words {
		s, err := parseSetting(a, word)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(settings, func(other config.Setting) bool { return other.Key == s.Key }) {
			return usagef("%s is set twice", s.Key).hint("give it one value")
		}
		settings = append(settings, s)
	}
	var before, after config.Server
	err = config.EditContext(ctx, path, func(d *config.Document) error {
		before, _ = d.Server(name)
		if err := d.Set(name, settings...); err != nil {
			return explainKinds(err, settings)
		}
		after, _ = d.Server(name)
		if err := o.checkSecrets(a, before, after); err != nil {
			return err
		}
		if o.dryRun {
			return errNotSaved
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNotSaved) {
		return err
	}
	return o.show(ctx, a, setDocument{
		Version: documentVersion, Config: path, Server: name, DryRun: o.dryRun, Changed: changes(before, after),
	})
}

// parseSetting reads KEY=VALUE, KEY= or KEY:=JSON.
func parseSetting(a *app, word string) (config.Setting, error) {
	key, value, assigned := strings.Cut(word, "=")
	if !assigned {
		if before, after, colon := strings.Cut(word, ":"); colon && before != "" {
			return config.Setting{}, usagef("%q is not KEY=VALUE", word).hint("%s", a.corrected(word, toolargs.Quote(before+"="+strings.TrimSpace(after))))
		}
		return config.Setting{}, usagef("%q is not KEY=VALUE", word).hint("%s", a.corrected(word, toolargs.Quote(word+"=")+"…"))
	}
	key, isJSON := strings.CutSuffix(key, ":")
	setting := config.Setting{Key: key}
	known, ok := config.FindKey(key)
	switch {
	case key == "":
		return setting, usagef("%q: there is no key before the =", word)
	case isJSON:
		if !json.Valid([]byte(value)) {
			return setting, usagef("%s: what comes after := is not JSON", key).hint("text is JSON in double quotes: '%s:=\"…\"'", key)
		}
		setting.Value = json.RawMessage(value)
	case value == "":
	case key == "inherit_env" && (value == "true" || value == "false"):
		setting.Value = value
	case ok && known.Kind == config.KindList:
		list, err := splitCommand(value)
		if err != nil {
			return setting, usagef("%s: not words as a shell would split them", key).hint("as JSON: '%s:=[\"…\"]'", key)
		}
		if key != "args" { // no templates
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], "$$", "$")
			}
		}
		setting.Value = list
	default:
		setting.Value = value
	}
	if strings.HasPrefix(key, "headers.") && !isJSON {
		if scheme := strings.ToLower(strings.TrimSpace(value)); scheme == "bearer" || scheme == "basic" {
			return setting, usagef("%s: nothing after %s: the shell has put an unset variable there", key, strings.TrimSpace(value)).
				hint("in single quotes mcpctl puts the variable in: %s", a.corrected(word, toolargs.Quote(key+"="+strings.TrimSpace(value)+" ${TOKEN}")))
		}
	}
	return setting, nil
}

// explainKinds adds what to type when an entry would have a command and a URL, or neither.
func explainKinds(err error, settings []config.Setting) error {
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		return err
	}
	for _, s := range settings {
		if s.Value == nil || e.Key != "url" && e.Key != "command" && e.Key != "" {
			continue
		}
		switch s.Key {
		case "url":
			e.Hint = "to make it a server that is reached by URL, remove the command: command= args= env="
		case "command":
			e.Hint = "to make it a command, remove the URL: url= headers="
		}
	}
	return err
}

// checkSecrets refuses values that look like secrets written out and were not there before.
func (o *setOptions) checkSecrets(a *app, before, after config.Server) error {
	if o.allowLiteralSecret {
		return nil
	}
	old := before.LiteralSecrets()
	words := slices.Clone(a.args)
	var e *usageError
	for _, secret := range after.LiteralSecrets() {
		if slices.Contains(old, secret) && sameValue(before, after, secret.Place) {
			continue
		}
		if e == nil {
			e = usagef("%s: a secret would be written into the file", secret.Place)
		}
		key, name, _ := strings.Cut(secret.Place, ".")
		variable, reference := variableFor(after.Name, name), ""
		switch key {
		case "headers":
			reference = secretReference(after.Name, name, after.Headers[name])
		case "env":
			variable, reference = name, "${"+name+"}"
		default:
			continue
		}
		e.hint("export %s=…", variable)
		for i, w := range words {
			if strings.HasPrefix(w, secret.Place+"=") || strings.HasPrefix(w, secret.Place+":=") {
				words[i] = secret.Place + "=" + reference
			}
		}
	}
	if e == nil {
		return nil
	}
	if !slices.Equal(words, a.args) {
		e.hint("%s", line(quoted(words)))
	} else {
		e.hint("put the value into a variable and write ${NAME} in its place")
	}
	return e.hint("or, to save it as it is: --allow-literal-secret")
}

// sameValue reports whether a header or a variable is what it was.
func sameValue(before, after config.Server, place string) bool {
	key, name, _ := strings.Cut(place, ".")
	switch key {
	case "headers":
		return before.Headers[name] == after.Headers[name]
	case "env":
		return before.Env[name] == after.Env[name]
	case "args":
		return slices.Equal(before.Args, after.Args)
	}
	return before.URL == after.URL && before.Proxy == after.Proxy
}

// changes returns the values that are not what they were, secrets masked. One that is masked both times has changed, too.
func changes(before, after config.Server) []changeBody {
	out := []changeBody{}
	old, now := valuesOf(before), valuesOf(after)
	find := func(list []entryValue, key string) (any, string) {
		for _, v := range list {
			if v.key == key {
				return v.value, v.text
			}
		}
		return nil, ""
	}
	var keys []string
	for _, v := range append(slices.Clone(old), now...) {
		if !slices.Contains(keys, v.key) {
			keys = append(keys, v.key)
		}
	}
	for _, key := range keys {
		c := changeBody{Key: key}
		c.Old, c.oldText = find(old, key)
		c.New, c.newText = find(now, key)
		masked := !sameValue(before, after, key) && (strings.HasPrefix(key, "headers.") || strings.HasPrefix(key, "env."))
		if c.oldText != c.newText || (c.Old == nil) != (c.New == nil) || masked {
			out = append(out, c)
		}
	}
	return out
}

func (o *setOptions) show(ctx context.Context, a *app, doc setDocument) error {
	if a.json() {
		return a.print(ctx, doc)
	}
	name := toolargs.Quote(doc.Server)
	if len(doc.Changed) == 0 {
		_, err := fmt.Fprintf(a.out(), "%s is like that already\n", name)
		return err
	}
	var b strings.Builder
	verb := "changed"
	if doc.DryRun {
		verb = "would change"
	}
	fmt.Fprintf(&b, "%s %s in %s\n", verb, name, doc.Config)
	shown := func(value any, text string) string {
		if value == nil {
			return "not set"
		}
		return render.OneLine(text)
	}
	for _, c := range doc.Changed {
		b.WriteString(render.Cut(fmt.Sprintf("  %s: %s → %s", c.Key, shown(c.Old, c.oldText), shown(c.New, c.newText)), a.screen().Width) + "\n")
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// completeSettings completes the name of an entry, then keys, and the values of those that have few.
func (a *app) completeSettings(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeEntries(1)(cmd, args, word)
	}
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if key, _, assigned := strings.Cut(word, "="); assigned {
		k, ok := config.FindKey(key)
		if !ok {
			return nil, directive
		}
		var words []cobra.Completion
		for _, w := range k.Words {
			words = append(words, key+"="+w)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	var server config.Server
	if c, err := a.loadConfig(cmd.Context()); err == nil {
		server, _ = c.Server(args[0])
	}
	var words []cobra.Completion
	for _, k := range config.Keys() {
		stem, all := strings.CutSuffix(k.Name, "*")
		if !all {
			words = append(words, cobra.CompletionWithDesc(k.Name+"=", string(k.Kind)))
			continue
		}
		for _, name := range sortedKeys(map[string]map[string]string{"env.": server.Env, "headers.": server.Headers}[stem]) {
			words = append(words, cobra.CompletionWithDesc(stem+name+"=", string(k.Kind)))
		}
		words = append(words, cobra.CompletionWithDesc(stem, "a name and = come after it"))
	}
	return words, directive
}
