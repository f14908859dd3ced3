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

// completeKeys completes the words KEY=VALUE of a command that changes a key of an entry. Keys that have a few values are
// followed by these.
func completeKeys(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	keys := settableKeys()
	if key, _, assigned := strings.Cut(word, "="); assigned {
		var words []cobra.Completion
		for _, k := range keys {
			if k.name != key {
				continue
			}
			if k.file {
				return nil, cobra.ShellCompDirectiveDefault
			}
			for _, v := range k.values {
				words = append(words, key+"="+v)
			}
		}
		return words, none
	}
	words := make([]cobra.Completion, 0, len(keys))
	for _, k := range keys {
		assign := k.name + "="
		if strings.HasSuffix(k.name, ".") {
			assign = k.name // a name comes first
		}
		words = append(words, described(assign, k.about))
	}
	return words, none | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
}

// settableKey is a key of an entry that can be set by itself.
type settableKey struct {
	name, about string
	values      []string
	file        bool
}

// settableKeys are the keys of an entry that can be set by themselves, those that are set most first.
func settableKeys() []settableKey {
	truth := []string{"true", "false"}
	return []settableKey{
		{name: "url", about: "where an HTTP server is"},
		{name: "headers.", about: "a header that is sent: headers.NAME=VALUE"},
		{name: "command", about: "the program of a stdio server"},
		{name: "args", about: "its arguments, as a JSON list"},
		{name: "env.", about: "a variable of its environment: env.NAME=VALUE"},
		{name: "inherit_env", about: "what it gets of the environment of mcpctl", values: truth},
		{name: "cwd", about: "the directory that it is started in", file: true},
		{name: "enabled", about: "whether it is used", values: truth},
		{name: "transport", about: "how it is reached", values: transportNames()},
		{name: "protocol", about: "the protocol version", values: []string{"auto"}},
		{name: "auth", about: "how it is authorized", values: []string{"auto", "none", "oauth"}},
		{name: "connect_timeout", about: "the limit for starting and connecting", values: []string{"10s", "30s", "1m"}},
		{name: "timeout", about: "the limit for a request", values: []string{"30s", "1m", "5m"}},
		{name: "max_timeout", about: "the limit for a request that tells of progress"},
		{name: "wait", about: "how long to wait for a server that is coming up"},
		{name: "session_wait", about: "how long to wait for a lost session"},
		{name: "keepalive", about: "how often an idle session is asked for a sign of life", values: []string{"off"}},
		{name: "skip_preflight", about: "whether to leave out the look before the first request", values: truth},
		{name: "tools.include", about: "the tools that are used, as globs"},
		{name: "tools.exclude", about: "the tools that are left out, as globs"},
		{name: "proxy", about: "the proxy: a URL, or none", values: []string{"none"}},
		{name: "tls.ca_file", about: "the certificates that are trusted", file: true},
		{name: "tls.cert_file", about: "the certificate of the client", file: true},
		{name: "tls.key_file", about: "the key of that certificate", file: true},
		{name: "tls.server_name", about: "the name that the certificate must have"},
		{name: "tls.insecure_skip_verify", about: "whether the certificate is left unchecked", values: truth},
	}
}
