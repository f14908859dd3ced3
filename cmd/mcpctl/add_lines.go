package main

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Command lines that people paste: those that start a server, and those with which other tools add one.

// addWords returns the words of the line that adds a server, quoted.
func (a *app) addWords(s config.Server, o *addOptions) []string {
	words := []string{"add"}
	flag := func(name, value string) { words = append(words, "--"+name, toolargs.Quote(value)) }
	if a.global.config != "" {
		flag("config", a.global.config)
	}
	if o != nil {
		if o.replace {
			words = append(words, "--replace")
		}
		if o.noCheck {
			words = append(words, "--no-check")
		}
	}
	words = append(words, toolargs.Quote(s.Name))
	for _, name := range sortedKeys(s.Headers) {
		flag("header", name+": "+s.Headers[name])
	}
	for _, name := range sortedKeys(s.Env) {
		value := s.Env[name]
		if value == "${"+name+"}" {
			flag("env", name)
			continue
		}
		flag("env", name+"="+value)
	}
	if s.URL != "" && s.Transport != config.TransportAuto && s.Transport != "" {
		flag("transport", string(s.Transport))
	}
	words = append(words, authWords(s, true)...)
	if s.Cwd != "" {
		flag("cwd", s.Cwd)
	}
	if s.Timeout > 0 && s.Sources["timeout"].Kind != "" {
		flag("timeout", s.Timeout.String())
	}
	for _, glob := range s.Tools.Include {
		flag("include", glob)
	}
	for _, glob := range s.Tools.Exclude {
		flag("exclude", glob)
	}
	if !s.Enabled {
		words = append(words, "--disabled")
	}
	if s.URL != "" {
		return append(words, toolargs.Quote(s.URL))
	}
	return append(append(words, "--", toolargs.Quote(s.Command)), quoted(s.Args)...)
}

// pastedLine returns the error for a line that was pasted behind add as it stood: that of another tool, or a command
// without a name. It is nil for what else there is.
func (a *app) pastedLine(cmd *cobra.Command) *usageError {
	i := slices.IndexFunc(a.args, func(w string) bool { return w == cmd.Name() || cmd.HasAlias(w) })
	if i < 0 || i+1 >= len(a.args) {
		return nil
	}
	words := a.args[i+1:]
	tool, found, err := pasted.Line(words)
	switch {
	case tool != "" && err != nil:
		return usagef("this is a line of %s, and it cannot be read: %s", tool, err).hint("mcpctl add NAME URL").hint("mcpctl add NAME -- COMMAND ARG…")
	case tool != "":
		return usagef("this is a line of %s", tool).hint("%s", a.lineFor(found))
	}
	_, _, assigns := pasted.Assignment(words[0])
	isRunner := slices.Contains(pasted.Runners(), path.Base(words[0])) && len(words) > 1 && !pasted.IsURL(words[1]) && words[1] != "--"
	if !assigns && !isRunner || cmd.ArgsLenAtDash() == 1 {
		return nil
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--" })
	if found, err = pasted.Command(words); err == nil {
		return usagef("the server needs a name, and its command comes after --").hint("%s", a.lineFor(found))
	}
	return nil // what is wrong is told elsewhere
}

// lineFor returns the line that adds a server, with a name and with variables in the places of secrets.
func (a *app) lineFor(s config.Server) string {
	out, _, err := s.Adopt(config.AdoptOptions{Name: pasted.SuggestName(s, nil), Home: a.home})
	if err != nil {
		out = s
		out.Name = pasted.SuggestName(s, nil)
	}
	return line(a.addWords(out, nil))
}

// assignedCommand returns the corrected line for a command with assignments before it, or all in one word, "" if there is
// none.
func (a *app) assignedCommand(words []string) string {
	if len(words) < 2 {
		return ""
	}
	rest := words[1:]
	if len(rest) == 1 && strings.ContainsAny(rest[0], " \t") {
		split, err := pasted.Split(rest[0])
		if err != nil || len(split) < 2 || strings.Contains(split[0], "/") {
			return "" // perhaps a path with spaces in it
		}
		rest = split
	} else if _, _, ok := pasted.Assignment(rest[0]); !ok {
		return ""
	}
	found, err := pasted.Command(rest)
	if err != nil {
		return ""
	}
	found.Name = words[0]
	return a.lineFor(found)
}
