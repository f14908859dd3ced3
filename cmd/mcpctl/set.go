package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// dryRunError ends an edit before anything is written.
type dryRunError struct{}

func (dryRunError) Error() string { return "nothing was written" }

type setOptions struct {
	defaults           bool
	dryRun             bool
	allowLiteralSecret bool
}

func newSetCmd(a *app) *cobra.Command {
	var o setOptions
	cmd := &cobra.Command{
		Use:   "set NAME KEY=VALUE... | set --defaults KEY=VALUE...",
		Short: "Change values of a server, or the defaults",
		Long: `Change values of a server: all that are named, or none. The rest of the file
stays as written. Keys are those of the file, joined with dots: env.TOKEN,
tools.include.

  KEY=VALUE    a value of the key's type; commas separate the items of a list,
               and args is split as by a shell
  KEY:=JSON    the value as JSON
  KEY=         removes the key
  KEY+=ITEM    adds an item to a list
  KEY-=ITEM    removes an item from a list`,
		Example: `  mcpctl set notes timeout=2m tools.include+='read_*'
  mcpctl set search headers.Authorization='Bearer ${SEARCH_TOKEN}'
  mcpctl set notes url=https://notes.example/mcp command= args=
  mcpctl set --defaults connect_timeout=10s`,
		Args:              o.args,
		ValidArgsFunction: o.complete(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.defaults, "defaults", false, "change the defaults of all servers")
		flags.BoolVar(&o.dryRun, "dry-run", false, "show what would change, and write nothing")
		flags.BoolVar(&o.allowLiteralSecret, "allow-literal-secret", false, "save a secret in plain text")
	})
}

// args wants a name, unless with --defaults, and something to change.
func (o *setOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case o.defaults && len(args) == 0, !o.defaults && len(args) == 1 && !strings.Contains(args[0], "="):
		return usagef("%s: nothing to change", cmd.CommandPath()).hint("%s", usageLine(cmd))
	case !o.defaults && (len(args) == 0 || strings.Contains(args[0], "=")):
		return usagef("%s: no server named", cmd.CommandPath()).hint("%s", usageLine(cmd))
	}
	return nil
}

// setDocument is the output of set.
type setDocument struct {
	Version int    `json:"version"`
	Config  string `json:"config"`
	// Server is the entry, "" for the defaults.
	Server string `json:"server,omitempty"`
	// Changed are the keys that say something else now.
	Changed map[string]changedBody `json:"changed"`
	DryRun  bool                   `json:"dry_run,omitempty"`
}

// changedBody is one value before and after; null where it is not set.
type changedBody struct {
	Old any `json:"old"`
	New any `json:"new"`
}

func (o *setOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	name := ""
	if !o.defaults {
		name, args = args[0], args[1:]
	}
	assignments := make([]config.Assignment, len(args))
	for i, word := range args {
		if assignments[i], err = o.assignment(a, word); err != nil {
			return err
		}
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	if _, ok := c.Server(name); !o.defaults && !ok {
		if name == config.DefaultsName {
			return usagef("no server %q", name).hint("for what holds for every server: %s", a.corrected(name, "--defaults"))
		}
		return c.NotFound(name)
	}
	doc := setDocument{Version: documentVersion, Config: path, Server: name, Changed: map[string]changedBody{}, DryRun: o.dryRun}
	var lines []string
	err = config.EditContext(ctx, path, func(d *config.Document) error {
		before, _ := d.Server(name)
		values := func() []entryValue {
			if o.defaults {
				return defaultValues(d.Defaults())
			}
			s, _ := d.Server(name)
			return valuesOf(s)
		}
		old := values()
		assign := func() ([]string, error) { return d.Assign(name, assignments) }
		if o.defaults {
			assign = func() ([]string, error) { return d.AssignDefaults(assignments) }
		}
		changed, err := assign()
		if err != nil {
			return kindHint(a, before, assignments, err)
		}
		if !o.defaults {
			after, _ := d.Server(name)
			if err := o.checkSecrets(a, after, changed); err != nil {
				return err
			}
		}
		lines = differences(changed, old, values(), doc.Changed)
		if o.dryRun {
			return dryRunError{}
		}
		return nil
	})
	if err != nil && !errors.Is(err, dryRunError{}) {
		return err
	}
	if a.json() {
		return a.print(ctx, doc)
	}
	if len(lines) == 0 {
		a.note("nothing changed: the values are there already")
		return nil
	}
	for _, text := range lines {
		if _, err := io.WriteString(a.out(), render.Cut(text, a.screen().Width)+"\n"); err != nil {
			return err
		}
	}
	if o.dryRun {
		a.note("nothing was written")
	}
	return nil
}

// assignment returns what one word means.
func (o *setOptions) assignment(a *app, word string) (config.Assignment, error) {
	key, value, found := strings.Cut(word, "=")
	if !found {
		e := usagef("%q is not KEY=VALUE", word)
		if k, v, ok := strings.Cut(word, ":"); ok && v != "" {
			return config.Assignment{}, e.hint("%s", a.corrected(word, toolargs.Quote(k+"="+strings.TrimSpace(v))))
		}
		return config.Assignment{}, e.hint("to unset the key: %s", a.corrected(word, toolargs.Quote(word+"=")))
	}
	assign := config.Assignment{Key: key, Value: value}
	switch {
	case strings.HasSuffix(key, ":"):
		assign.Key, assign.Op = strings.TrimSuffix(key, ":"), config.SetJSON
	case strings.HasSuffix(key, "+"):
		assign.Key, assign.Op = strings.TrimSuffix(key, "+"), config.Append
	case strings.HasSuffix(key, "-"):
		assign.Key, assign.Op = strings.TrimSuffix(key, "-"), config.RemoveItem
	case value == "":
		assign.Op = config.Unset
	}
	if assign.Key == "" {
		return assign, usagef("%q: no key before the equals sign", word)
	}
	if value == "" && assign.Op != config.Unset {
		return assign, usagef("%s: no value after the equals sign", assign.Key)
	}
	if assign.Op == config.SetText {
		return assign, o.local(a, &assign)
	}
	return assign, nil
}

// local gives an assignment the value that holds in every working directory, and args as words.
func (o *setOptions) local(a *app, assign *config.Assignment) error {
	switch assign.Key {
	case "args":
		if json.Valid([]byte(assign.Value)) && strings.HasPrefix(assign.Value, "[") {
			return nil
		}
		words, err := pasted.Split(assign.Value)
		if err != nil {
			return usagef("args: %s", err).hint(`as JSON: args:='["first", "second"]'`)
		}
		for i := range words {
			// pasted.Split doubles dollars that single quotes hold; here the shell has been over them already.
			words[i] = strings.ReplaceAll(words[i], "$$", "$")
		}
		data, err := json.Marshal(words)
		if err != nil {
			return err
		}
		assign.Op, assign.Value = config.SetJSON, string(data)
	case "cwd", "tls.ca_file", "tls.cert_file", "tls.key_file":
		v := assign.Value
		if filepath.IsAbs(v) || strings.HasPrefix(v, "~") || strings.HasPrefix(v, "$") {
			return nil
		}
		here, err := filepath.Abs(".")
		if err != nil {
			return err
		}
		assign.Value = filepath.Join(pasted.Literal(here), v)
		a.note(fmt.Sprintf("%s %s is saved as %s", assign.Key, toolargs.Quote(v), toolargs.Quote(assign.Value)))
	}
	return nil
}

// kindHint adds to an error how an entry becomes one of the other kind: what belonged to the old one goes in the same
// line.
func kindHint(a *app, s config.Server, assignments []config.Assignment, err error) error {
	sets := func(key string) bool {
		return slices.ContainsFunc(assignments, func(as config.Assignment) bool { return as.Key == key && as.Op != config.Unset })
	}
	unsets := func(key string) bool {
		return slices.ContainsFunc(assignments, func(as config.Assignment) bool { return as.Key == key && as.Op == config.Unset })
	}
	other, leave := "", []string{}
	switch {
	case s.Command != "" && sets("url"):
		other = "a URL"
		for _, key := range []string{"command", "args", "env", "inherit_env", "cwd"} {
			set := key == "command" || key == "args" && len(s.Args) > 0 || key == "env" && len(s.Env) > 0 ||
				key == "inherit_env" && (s.InheritEnv.All || len(s.InheritEnv.Names) > 0) || key == "cwd" && s.Cwd != ""
			if set && !unsets(key) {
				leave = append(leave, key+"=")
			}
		}
	case s.URL != "" && sets("command"):
		other = "a command"
		_, proxied := s.Sources["proxy"]
		_, secured := s.Sources["tls"]
		for _, key := range []string{"url", "headers", "tls", "proxy"} {
			set := key == "url" || key == "headers" && len(s.Headers) > 0 || key == "tls" && secured || key == "proxy" && proxied
			if set && !unsets(key) {
				leave = append(leave, key+"=")
			}
		}
	}
	if _, ok := s.Sources["transport"]; ok && other != "" && !sets("transport") && !unsets("transport") {
		leave = append(leave, "transport=")
	}
	if len(leave) == 0 {
		return err
	}
	words := append(quoted(a.args), leave...)
	return usagef("server %q: to make it %s, unset what belongs to what it is now", s.Name, other).hint("%s", line(words))
}

// checkSecrets refuses values that look like secrets written out, with the line that keeps them out of the file.
func (o *setOptions) checkSecrets(a *app, s config.Server, changed []string) error {
	if o.allowLiteralSecret {
		return nil
	}
	words := slices.Clone(a.args)
	var e *usageError
	for _, secret := range s.LiteralSecrets() {
		key, _, _ := strings.Cut(secret.Place, "?")
		top, name, _ := strings.Cut(key, ".")
		if top == "args" || !slices.Contains(changed, key) && !slices.Contains(changed, top) {
			continue
		}
		if e == nil {
			e = usagef("%s: a secret would be written into the file", secret.Place)
		}
		variable := variableFor(s.Name, secret.Name)
		value := "${" + variable + "}"
		switch top {
		case "headers":
			value = secretReference(s.Name, name, s.Headers[name])
		case "env":
			variable, value = name, "${"+name+"}"
		case "proxy":
			value = config.WithProxyPassword(s.Proxy, value)
		case "url":
			value = withQuery(s.URL, secret.Name, value)
			s.URL = value // there may be another in it
		}
		e.hint("export %s=…", variable)
		for i, word := range words {
			k, _, found := strings.Cut(word, "=")
			switch {
			case found && strings.EqualFold(k, key):
				words[i] = k + "=" + value
			case found && k == top+":":
				words[i] = key + "=" + value
			}
		}
	}
	if e == nil {
		return nil
	}
	return e.hint("%s", line(quoted(words))).hint("or, to save it as it is: --allow-literal-secret")
}

// defaultValues returns the defaults of a file as far as it sets them.
func defaultValues(d config.Defaults) []entryValue {
	var values []entryValue
	if d.ConnectTimeout != 0 {
		values = append(values, entryValue{key: "connect_timeout", value: shortDuration(d.ConnectTimeout), text: shortDuration(d.ConnectTimeout)})
	}
	if d.Timeout != 0 {
		values = append(values, entryValue{key: "timeout", value: shortDuration(d.Timeout), text: shortDuration(d.Timeout)})
	}
	return values
}

// differences returns a line for each value of the changed keys, and puts them into changes. Secrets are masked, so
// that one in the place of another looks the same.
func differences(keys []string, old, now []entryValue, changes map[string]changedBody) []string {
	const unset = "(unset)"
	var lines []string
	for _, key := range keys {
		belongs := func(v entryValue) bool {
			return v.key == key || strings.HasPrefix(v.key, key+".") || strings.HasPrefix(v.key, key+"[")
		}
		var names []string
		was, is := map[string]entryValue{}, map[string]entryValue{}
		for _, v := range old {
			if belongs(v) {
				was[v.key], names = v, append(names, v.key)
			}
		}
		for _, v := range now {
			if belongs(v) {
				is[v.key], names = v, append(names, v.key)
			}
		}
		names = unique(names)
		for _, name := range names {
			before, wasSet := was[name]
			after, isSet := is[name]
			if wasSet && isSet && before.text == after.text && len(names) > 1 {
				continue
			}
			changes[name] = changedBody{Old: before.value, New: after.value}
			if !wasSet {
				before.text = unset
			}
			if !isSet {
				after.text = unset
			}
			lines = append(lines, render.OneLine(fmt.Sprintf("%s: %s → %s", name, before.text, after.text)))
		}
		if len(names) == 0 {
			// It is there, and no value in force shows it.
			changes[key] = changedBody{}
			lines = append(lines, key+": changed")
		}
	}
	return lines
}

// complete completes the name, then keys, then the values of a key that has few.
func (o *setOptions) complete(a *app) cobra.CompletionFunc {
	names := a.completeEntries(1)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 && !o.defaults {
			return names(cmd, args, word)
		}
		none, open := cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace
		if key, _, found := strings.Cut(word, "="); found {
			var words []cobra.Completion
			for _, value := range config.KeyWords(key) {
				words = append(words, key+"="+value)
			}
			return words, none
		}
		keys := config.AssignableKeys()
		if o.defaults {
			keys = []string{"connect_timeout", "timeout"}
		}
		var words []cobra.Completion
		for _, key := range keys {
			if !strings.HasSuffix(key, ".") {
				key += "="
			}
			words = append(words, key)
		}
		return words, open
	}
}
