package main

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

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
	if isURL(word) {
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
		asJSON := strings.HasSuffix(key, ":")
		for _, p := range params {
			if p.Name == strings.TrimSuffix(key, ":") {
				return argumentValues(p, key+"=", asJSON), none
			}
		}
		return nil, none
	}
	var required, others []cobra.Completion
	for _, p := range params {
		if slices.ContainsFunc(given, func(g string) bool { return gives(g, p.Name) }) {
			continue
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

// argumentsOf returns the parameters of a schema that can be written as key=value. An object with properties of its own is
// written by them, one level deep.
func argumentsOf(schema json.RawMessage) []toolargs.Param {
	var params []toolargs.Param
	for _, p := range toolargs.Params(schema) {
		if !typeable(p.Name) || strings.ContainsAny(p.Name, "=.[]") || strings.HasPrefix(p.Name, "-") || strings.HasPrefix(p.Name, "{") {
			continue
		}
		inner := toolargs.Params(p.Schema)
		if len(inner) == 0 {
			params = append(params, p)
			continue
		}
		for _, q := range inner {
			if !typeable(q.Name) || strings.ContainsAny(q.Name, "=.[]") {
				continue
			}
			q.Required = q.Required && p.Required
			q.Name = p.Name + "." + q.Name
			params = append(params, q)
		}
	}
	return params
}

// gives reports whether a word gives a parameter a value. One that takes several may be given more than once.
func gives(word, name string) bool {
	key, _, assigned := strings.Cut(word, "=")
	return assigned && strings.TrimSuffix(key, ":") == name
}

// argumentValues returns the values that a parameter can have, if they are few.
func argumentValues(p toolargs.Param, prefix string, asJSON bool) []cobra.Completion {
	values := p.Enum
	if len(values) == 0 && p.Type == "boolean" {
		values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	}
	var words []cobra.Completion
	for _, v := range values {
		text := string(v)
		var s string
		if !asJSON && json.Unmarshal(v, &s) == nil {
			text = s
		}
		about := ""
		if p.Default != nil && toolargs.Equal(p.Default, v) {
			about = "the default"
		}
		if typeable(text) {
			words = append(words, described(prefix+text, about))
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
