package main

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Completion of what a server offers is made of what was remembered when the server was used last. It must be there before a
// person notices, so nothing is contacted or started, and nobody is asked for a key.

// knownTool is a tool as it is remembered.
type knownTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// knownTools returns the tools of a server that its entry lets through, nil if none are remembered.
func (a *app) knownTools(cmd *cobra.Command, word string) []knownTool {
	server, ok := a.completedServer(cmd, word)
	if !ok {
		return nil
	}
	return a.knownToolsOf(cmd, server)
}

// knownToolsOf is knownTools for a server that has been found.
func (a *app) knownToolsOf(cmd *cobra.Command, server config.Server) []knownTool {
	expanded, err := a.expand(server)
	if err != nil {
		a.logger.DebugContext(cmd.Context(), "nothing to complete", "error", err)
		return nil
	}
	var tools []knownTool
	for _, raw := range a.quickDialer().RememberedTools(expanded) {
		var t knownTool
		if json.Unmarshal(raw, &t) == nil && typeable(t.Name) && server.Tools.Allows(t.Name) {
			tools = append(tools, t)
		}
	}
	return tools
}

// completedServer returns the server that a word names. One that has a value in a keyring is none: the keyring may ask.
func (a *app) completedServer(cmd *cobra.Command, word string) (config.Server, bool) {
	if pasted.IsURL(word) {
		return urlServer(word), true
	}
	c, err := a.loadConfig(cmd.Context())
	if err != nil {
		a.logger.DebugContext(cmd.Context(), "nothing to complete", "error", err)
		return config.Server{}, false
	}
	server, ok := c.Server(word)
	if !ok && word == demoName {
		return a.demoServer(), true
	}
	text, err := json.Marshal(server)
	return server, ok && err == nil && server.Err == nil && !strings.Contains(string(text), "${keyring:")
}

// completeCall completes the words of a command that takes a server, a tool and, if it calls, the tool's arguments.
func (a *app) completeCall(calls bool) cobra.CompletionFunc {
	servers := a.completeServers(1)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if f := cmd.Flags().Lookup("stdio"); f != nil && f.Changed {
			server, err := stdioServer(f.Value.String())
			if err != nil {
				return nil, none
			}
			return a.completeTool(a.knownToolsOf(cmd, server), args, word, calls)
		}
		if len(args) == 0 {
			return servers(cmd, args, word)
		}
		return a.completeTool(a.knownTools(cmd, args[0]), args[1:], word, calls)
	}
}

// completeTool completes the name of a tool, and its arguments.
func (a *app) completeTool(tools []knownTool, args []string, word string, calls bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	switch {
	case len(args) == 0:
		words := make([]cobra.Completion, 0, len(tools))
		for _, t := range tools {
			words = append(words, described(t.Name, firstNonEmpty(t.Description, t.Title)))
		}
		return words, none
	case !calls:
		return nil, none
	}
	i := slices.IndexFunc(tools, func(t knownTool) bool { return t.Name == args[0] })
	if key, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(value, "@") && typeable(key) {
		return nil, cobra.ShellCompDirectiveDefault // key=@FILE
	}
	if i < 0 {
		return nil, none
	}
	return completeArgument(tools[i].InputSchema, args[1:], word)
}

// completeArgument completes key=value, with what a schema says of it.
func completeArgument(schema json.RawMessage, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	params := argumentsOf(schema)
	if key, _, assigned := strings.Cut(word, "="); assigned {
		name, asJSON := strings.CutSuffix(key, ":")
		name, asItem := strings.CutSuffix(name, "[]")
		for _, p := range params {
			if p.Name == name {
				return argumentValues(p.field, key+"=", asJSON, asItem), none
			}
		}
		return nil, none
	}
	var required, others []cobra.Completion
	for _, p := range params {
		if p.field.Kind != toolargs.FieldSeveral && slices.ContainsFunc(given, func(g string) bool { return gives(g, p.Name) }) {
			continue // one that takes several may be given more than once
		}
		_, about, _ := strings.Cut(p.Help(), "  ")
		if p.Required {
			required = append(required, described(p.Name+"=", about))
		} else {
			others = append(others, described(p.Name+"=", about))
		}
	}
	return append(required, others...), none | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
}

// typedParam is a parameter as it is typed on a command line.
type typedParam struct {
	toolargs.Param
	field toolargs.Field
}

// argumentsOf returns the parameters of a schema that can be written as key=value. An object with properties of its own is
// written by them, one level deep.
func argumentsOf(schema json.RawMessage) []typedParam {
	form, err := toolargs.NewForm(schema, nil)
	if err != nil {
		return nil
	}
	plain := func(name string) bool {
		return typeable(name) && !strings.ContainsAny(name, "=.[]") && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "{")
	}
	var params []typedParam
	for _, f := range form.Fields() {
		if !plain(f.Path[0]) {
			continue
		}
		if f.Kind != toolargs.FieldObject {
			params = append(params, typedParam{f.Param, f})
			continue
		}
		for _, inner := range form.Fields(f.Path...) {
			if !plain(inner.Path[1]) {
				continue
			}
			p := inner.Param
			p.Required = p.Required && f.Required
			params = append(params, typedParam{p, inner})
		}
	}
	for i := range params { // names are what is typed, and not what is shown
		params[i].Name = strings.Join(params[i].field.Path, ".")
	}
	return params
}

// gives reports whether a word gives a parameter a value.
func gives(word, name string) bool {
	key, _, assigned := strings.Cut(word, "=")
	return assigned && strings.TrimSuffix(key, ":") == name
}

// argumentValues returns the values that a parameter can have, if they are few: for a list those of its items, where the
// word gives an item.
func argumentValues(f toolargs.Field, prefix string, asJSON, asItem bool) []cobra.Completion {
	if several := f.Kind == toolargs.FieldSeveral; asItem != several && (asItem || asJSON) {
		return nil
	}
	var words []cobra.Completion
	for i, c := range f.Choices {
		text, value := string(c.Value), c.Title
		var s string
		if json.Unmarshal(c.Value, &s) == nil && text != "null" && !asJSON {
			if text = s; strings.HasPrefix(s, "@") {
				text = "@" + s // which would be a file
			}
		}
		var about []string
		if value != text && value != s && value != "yes" && value != "no" { // which stand for booleans
			about = append(about, value)
		}
		if slices.Contains(f.Chosen, i) && f.Kind == toolargs.FieldOne {
			about = append(about, "the default")
		}
		if typeable(text) {
			words = append(words, described(prefix+text, strings.Join(about, ", ")))
		}
	}
	return words
}

// mostDescription is how many characters of a description are shown beside a word.
const mostDescription = 100

// described is a word with its description. Text of servers is made one line, and is cut.
func described(word, about string) cobra.Completion {
	if about = strings.TrimSpace(render.Cut(render.OneLine(about), mostDescription)); about == "" {
		return word
	}
	return cobra.CompletionWithDesc(word, about)
}

// typeable reports whether a name of a server's can be offered: a line of a shell can hold it, and it looks like what it is.
func typeable(name string) bool {
	return name != "" && !strings.HasPrefix(name, " ") && !strings.HasSuffix(name, " ") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
