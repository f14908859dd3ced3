package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// People bring the words of other tools with them. Some are accepted: the aliases of the commands, and the flags in
// acceptedFlags. The others are refused with the whole line to paste in their place, because a word that works by
// accident today means something else tomorrow.

// habit is a command of another tool.
type habit struct {
	// typed are the first words, and meant those in their place.
	typed, meant []string
}

// habits are the commands that are refused with the line to type.
func habits() []habit {
	var table []habit
	for _, word := range []string{"tools-list", "tools/list", "list-tools"} {
		table = append(table, habit{[]string{word}, []string{"tools"}})
	}
	for _, word := range []string{"tools-call", "tools/call", "call-tool"} {
		table = append(table, habit{[]string{word}, []string{"call"}})
	}
	for _, word := range []string{"tasks-list", "tasks/list", "list-tasks"} {
		table = append(table, habit{[]string{word}, []string{"tasks"}})
	}
	for _, word := range []string{"tasks-result", "tasks/result", "get-task", "wait-task"} {
		table = append(table, habit{[]string{word}, []string{"task"}})
	}
	for _, word := range []string{"tasks-get", "tasks/get"} {
		table = append(table, habit{[]string{word}, []string{"task", "--status"}})
	}
	for _, word := range []string{"tasks-cancel", "tasks/cancel", "cancel"} {
		table = append(table, habit{[]string{word}, []string{"task", "--cancel"}})
	}
	for _, h := range []struct {
		meant string
		typed []string
	}{
		{"resources", []string{
			"resource", "resources-list", "resources/list", "list-resources", "resources/templates/list", "list-resource-templates", "templates",
		}},
		{"read", []string{"resources-read", "resources/read", "read-resource", "get-resource", "cat"}},
		{"prompts", []string{"prompts-list", "prompts/list", "list-prompts"}},
		{"prompt", []string{"prompts-get", "prompts/get", "get-prompt"}},
		{"complete", []string{"completion/complete"}},
	} {
		for _, word := range h.typed {
			table = append(table, habit{[]string{word}, []string{h.meant}})
		}
	}
	for _, word := range []string{"watch", "subscribe", "resources/subscribe"} {
		table = append(table, habit{[]string{word}, []string{"read", "--watch"}})
	}
	for _, word := range []string{"search", "find", "grep"} {
		table = append(table, habit{[]string{word}, []string{"tools", "--all", "--grep"}})
	}
	for _, word := range []string{"repl", "interactive", "console"} {
		table = append(table, habit{[]string{word}, []string{"shell"}})
	}
	table = append(table, habit{[]string{"edit"}, []string{"config", "edit"}})
	for _, word := range []string{"auth", "authenticate", "authorize", "signin", "sign-in"} {
		table = append(table, habit{[]string{word}, []string{"login"}})
	}
	for _, word := range []string{"signout", "sign-out", "deauthorize", "revoke"} {
		table = append(table, habit{[]string{word}, []string{"logout"}})
	}
	for _, word := range []string{"test", "check", "probe", "diagnose", "inspect", "connect"} {
		table = append(table, habit{[]string{word}, []string{"doctor"}})
	}
	return table
}

// acceptedFlags are the flags of other tools that a command takes as its own, by the command: they are hidden, and
// their meaning is the flag on the right.
func acceptedFlags() map[string]map[string]string {
	return map[string]map[string]string{
		"add":  {"force": "replace", "url": "URL", "bearer-token-env-var": "header"},
		"call": {"data": "args"},
	}
}

// wholeObject are the flags in which other tools take all arguments as one object.
func wholeObject() []string {
	return []string{"params", "arguments", "input", "json-args", "tool-args", "args-json"}
}

// unknownCommand is the error for a first word that is no command.
func (a *app) unknownCommand(root *cobra.Command, args []string) error {
	word, ctx := args[0], root.Context()
	if word == "auth" && len(args) > 1 && slices.Contains([]string{"login", "logout", "status"}, args[1]) {
		e := usagef("there is no command %q", word+" "+args[1])
		if args[1] == "status" {
			return e.hint("mcpctl list shows how each login stands")
		}
		return e.hint("%s", a.corrected(word))
	}
	for _, h := range habits() {
		if word == h.typed[0] {
			return usagef("there is no command %q", word).hint("%s", a.corrected(word, h.meant...))
		}
	}
	if word == "add-json" {
		return addJSON(args[1:])
	}
	e := usagef("there is no command %q", word)
	for _, t := range topics() {
		if t.name == word {
			return e.hint("mcpctl help %s", word)
		}
	}
	if a.isServer(ctx, word) {
		server := toolargs.Quote(word)
		if a.shell != nil {
			return e.hint("%s is a server: use %s", server, server)
		}
		return e.hint("%s is a server; to see its tools: mcpctl tools %s", server, server)
	}
	var known []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	for _, near := range config.Near(word, known) {
		e.hint("%s", a.corrected(word, near))
	}
	if len(e.hints) == 0 {
		e.hint("mcpctl help")
	}
	return e
}

// isServer reports whether word names a server.
func (a *app) isServer(ctx context.Context, word string) bool {
	if pasted.IsURL(word) || word == demoName {
		return true
	}
	c, err := a.loadConfig(ctx)
	if err != nil {
		return false
	}
	_, ok := c.Server(word)
	return ok
}

// line returns a command line to paste. The words are quoted already.
func line(words []string) string { return strings.TrimRight("mcpctl "+strings.Join(words, " "), " ") }

// quoted returns the words as typed, quoted for a shell.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = toolargs.Quote(w)
	}
	return out
}

// corrected returns the whole command line with one word replaced by others, which are quoted already.
func (a *app) corrected(word string, meant ...string) string {
	words := quoted(a.args)
	if i := slices.Index(a.args, word); i >= 0 {
		words = slices.Replace(words, i, i+1, meant...)
	}
	return line(words)
}

// inserted returns the whole command line with more words, quoted already, after the command's own.
func (a *app) inserted(cmd *cobra.Command, more ...string) string {
	words := quoted(a.args)
	i := slices.IndexFunc(a.args, func(w string) bool { return w == cmd.Name() || cmd.HasAlias(w) })
	return line(slices.Insert(words, i+1, more...))
}

// configWords returns --config and its file with a space after it, if the command line names one: what is suggested
// means the same file then.
func (a *app) configWords() string {
	switch {
	case a.global.from != "":
		return "--from " + a.global.from + " "
	case a.global.config == "":
		return ""
	}
	return "--config " + toolargs.Quote(a.global.config) + " "
}

// serverWords returns the words that say on this command line which server is meant and how it is reached, as other
// commands that contact one take them: the flags for servers, --config, and then the server, which is quoted already.
func (a *app) serverWords(cmd *cobra.Command, server string) string {
	var out []string
	for i := 0; i < len(a.args) && a.args[i] != "--"; i++ {
		word := a.args[i]
		var f *pflag.Flag
		value := false // whether it is a word of its own
		switch {
		case strings.HasPrefix(word, "--"):
			name, _, assigned := strings.Cut(word[2:], "=")
			f = cmd.Flags().Lookup(name)
			value = !assigned
		case len(word) > 1 && word[0] == '-':
			f = cmd.Flags().ShorthandLookup(word[1:2])
			value = len(word) == 2
		}
		if f == nil {
			continue
		}
		words := []string{word}
		if value && f.NoOptDefVal == "" && i+1 < len(a.args) {
			i++
			words = append(words, a.args[i])
		}
		if f.Annotations[sharedKey] != nil || f.Name == "config" {
			out = append(out, quoted(words)...)
		}
	}
	if server != "" {
		out = append(out, server)
	}
	return strings.Join(out, " ")
}

// correctedArguments returns the whole command line with the arguments of a tool replaced by others, which are quoted
// already.
func (a *app) correctedArguments(typed, meant []string) string {
	var words []string
	rest := typed
	for _, word := range slices.Backward(a.args) { // from the end, where the arguments are
		if len(rest) > 0 && word == rest[len(rest)-1] {
			rest = rest[:len(rest)-1]
			continue
		}
		words = append(words, toolargs.Quote(word))
	}
	slices.Reverse(words)
	return line(append(words, meant...))
}

// listWord refuses "tools list", unless a server is called list, and "resources read" and the like in place of a command of
// its own.
func (a *app) listWord(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || cmd.ArgsLenAtDash() >= 0 {
		return nil
	}
	word, ctx := args[0], cmd.Context()
	own, known := map[[2]string]string{
		{"resources", "read"}: "read", {"resources", "get"}: "read", {"resources", "watch"}: "read --watch",
		{"prompts", "get"}: "prompt", {"tools", "call"}: "call",
	}[[2]string{cmd.Name(), word}]
	switch {
	case a.isServer(ctx, word):
		return nil
	case known:
		words := quoted(a.args)
		if i := slices.Index(a.args, cmd.Name()); i >= 0 && i+1 < len(words) && a.args[i+1] == word {
			return usagef("%s %s is a command of its own", cmd.CommandPath(), word).hint("%s", line(slices.Replace(words, i, i+2, own)))
		}
		return nil
	case word != "list":
		return nil
	}
	e := usagef("%s lists the %s by itself, and there is no server \"list\"", cmd.CommandPath(), cmd.Name())
	if len(args) == 1 {
		return e.hint("%s SERVER", cmd.CommandPath())
	}
	return e.hint("%s", a.corrected("list"))
}

// callWords refuses other ways to write a server, a tool and its arguments in one word.
func (a *app) callWords(ctx context.Context, args []string, stdio bool) error {
	for i, word := range args[:min(len(args), 2)] {
		if i == 1 && stdio {
			break // an argument
		}
		tool, words, ok := toolargs.FromCallSyntax(word)
		if !ok && (i > 0 || stdio || !a.isServerAndTool(ctx, word)) {
			continue
		}
		if !ok {
			tool = word
		}
		var meant []string
		if server, name, found := strings.Cut(tool, "."); found && i == 0 && !stdio {
			meant = append(meant, toolargs.Quote(server), toolargs.Quote(name))
		} else {
			meant = append(meant, toolargs.Quote(tool))
		}
		return usagef("%q: server, tool and arguments are words of their own", word).hint("%s", a.corrected(word, append(meant, words...)...))
	}
	return nil
}

// isServerAndTool reports whether word is server.tool, and not itself a server.
func (a *app) isServerAndTool(ctx context.Context, word string) bool {
	server, tool, found := strings.Cut(word, ".")
	return found && tool != "" && !a.isServer(ctx, word) && !strings.Contains(word, "/") && a.isServer(ctx, server)
}

// unknownFlag is the error for a flag that the command does not have.
func (a *app) unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name := err.GetSpecifiedName()
	typed := "--" + name
	if short := err.GetSpecifiedShortnames(); short != "" {
		typed = "-" + name
	}
	e := usagef("%s has no flag %s", cmd.CommandPath(), typed)
	words := a.scan(cmd)
	switch {
	case cmd.Name() == "add" && a.pastedLine(cmd) != nil:
		return a.pastedLine(cmd)
	case cmd.Name() == "add" && words.bareCommand(addCommandAt) >= 0:
		return usagef("the command of a server comes after --").hint("%s", a.addCommand(words))
	case typed == "--scope":
		return e.hint("there is one file: --config FILE names another; for OAuth: --oauth-scope").hint("%s", words.without("scope"))
	case (cmd.Name() == "call" || cmd.Name() == "prompt") && strings.HasPrefix(typed, "--"):
		near := nearFlags(cmd, name)
		if len(near) > 0 && !a.looksLikeParameter(words) {
			break
		}
		e = usagef("%s is not a flag of %s; the arguments of a %s are written key=value", typed, cmd.Name(),
			map[bool]string{true: "tool", false: "prompt"}[cmd.Name() == "call"])
		for _, flag := range near {
			e.hint("did you mean --%s?", flag)
		}
		return e.hint("%s", words.asCall())
	case cmd.Name() == "call" && err.GetSpecifiedShortnames() != "" && a.looksLikeParameter(words):
		return a.dashedArgument(err.GetSpecifiedShortnames())
	case cmd.Name() != "call" && cmd.Name() != "prompt" && cmd.Flags().Lookup("stdio") != nil && a.startsCommand(cmd.Context(), words):
		return usagef("a command to be started comes after --").hint("%s", words.withDash(1))
	case curlFlag(cmd, typed) != "":
		return e.hint("%s", curlFlag(cmd, typed))
	}
	for _, near := range nearFlags(cmd, name) {
		e.hint("did you mean --%s?", near)
	}
	return e.hint("%s --help", cmd.CommandPath())
}

// dashedArgument refuses a word after a tool that begins with one dash, which is given without it.
func (a *app) dashedArgument(word string) error {
	typed := "-" + word
	e := usagef("%s is not a flag of call; the arguments of a tool are written key=value", typed)
	name, _, assigned := strings.Cut(word, "=")
	switch {
	case strings.Trim(name, "0123456789.eE+-") == "":
		e.hint("a negative number is written behind the name of its argument: name=%s", typed)
	case assigned:
		e.hint("%s", a.corrected(typed, toolargs.Quote(word)))
	default:
		e.hint("write %s=…", word)
	}
	return e.hint("an argument whose name begins with a dash comes after --")
}

// looksLikeParameter reports whether the flags that are not ours come after a server and a tool, where other tools
// have the parameters.
func (a *app) looksLikeParameter(words scanned) bool {
	seen := 0
	for _, t := range words.tokens {
		switch t.kind {
		case tokenPositional:
			seen++
		case tokenUnknown:
			return seen >= 2
		case tokenFlag:
			if flag, _, _ := strings.Cut(t.words[0], "="); flag == "--stdio" { // which takes the place of the server
				seen++
			}
		case tokenRest:
		}
	}
	return false
}

// startsCommand reports whether the first word is a command, as opposed to a server, so that the flags after it are the
// command's own.
func (a *app) startsCommand(ctx context.Context, words scanned) bool {
	for _, t := range words.tokens {
		switch t.kind {
		case tokenUnknown, tokenRest:
			return false
		case tokenPositional:
			return !a.isServer(ctx, t.words[0])
		case tokenFlag:
		}
	}
	return false
}

// nearFlags returns the flags of a command that a name may have meant.
func nearFlags(cmd *cobra.Command, name string) []string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	return config.Near(name, known)
}

// tokenKind says what a word after a command is.
type tokenKind int

const (
	tokenPositional tokenKind = iota
	tokenFlag                 // a flag of the command, with its value
	tokenUnknown              // a flag that the command does not have, perhaps with a value
	tokenRest                 // -- and what follows it
)

// token is one word, or a flag and its value.
type token struct {
	kind  tokenKind
	words []string
	// name and value are those of an unknown flag. The value is another word's, which may be one of its own, unless
	// assigned is set.
	name, value string
	assigned    bool
}

// scanned is a command line taken apart as far as it can be without knowing all flags.
type scanned struct {
	command string
	tokens  []token
}

// scan takes the words after the command apart.
func (a *app) scan(cmd *cobra.Command) scanned {
	s := scanned{command: cmd.Name()}
	words := a.args
	if i := slices.IndexFunc(words, func(w string) bool { return w == cmd.Name() || cmd.HasAlias(w) }); i >= 0 {
		for _, before := range words[:i] { // global flags; their values are words of their own here, which does no harm
			s.tokens = append(s.tokens, token{kind: tokenFlag, words: []string{before}})
		}
		words = words[i+1:]
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		next := ""
		hasNext := i+1 < len(words) && !strings.HasPrefix(words[i+1], "--")
		if hasNext {
			next = words[i+1]
		}
		switch {
		case word == "--":
			s.tokens = append(s.tokens, token{kind: tokenRest, words: words[i:]})
			return s
		case strings.HasPrefix(word, "--"):
			name, value, assigned := strings.Cut(word[2:], "=")
			t := token{kind: tokenUnknown, words: []string{word}, name: name, value: value, assigned: assigned}
			f := cmd.Flags().Lookup(name)
			if f != nil {
				t.kind = tokenFlag
			}
			if !assigned && hasNext && (f == nil || f.NoOptDefVal == "") {
				t.words, t.value = []string{word, next}, next
				i++
			}
			s.tokens = append(s.tokens, t)
		case len(word) > 1 && word[0] == '-':
			t := token{kind: tokenUnknown, words: []string{word}, name: word[1:]}
			if f := cmd.Flags().ShorthandLookup(word[1:2]); f != nil {
				t.kind = tokenFlag
				if len(word) == 2 && f.NoOptDefVal == "" && hasNext {
					t.words = []string{word, next}
					i++
				}
			}
			s.tokens = append(s.tokens, t)
		default:
			s.tokens = append(s.tokens, token{kind: tokenPositional, words: []string{word}})
		}
	}
	return s
}

// without returns the command line without an unknown flag.
func (s scanned) without(name string) string {
	words := []string{s.command}
	for _, t := range s.tokens {
		if t.kind != tokenUnknown || t.name != name {
			words = append(words, quoted(t.words)...)
		}
	}
	return line(words)
}

// addCommandAt is which of the words of add begins a command: the first is the server's name.
const addCommandAt = 2

// bareCommand returns the token with which a command to be started begins without the -- it needs, if it is the word
// of that number; -1 if there is none.
func (s scanned) bareCommand(number int) int {
	seen := 0
	for i, t := range s.tokens {
		switch t.kind {
		case tokenRest:
			return -1
		case tokenPositional:
			if seen++; seen == number {
				if strings.Contains(t.words[0], "://") {
					return -1
				}
				return i
			}
		case tokenFlag, tokenUnknown:
		}
	}
	return -1
}

// withDash returns the command line with the -- that a command needs.
func (s scanned) withDash(number int) string {
	words := []string{s.command}
	at := s.bareCommand(number)
	for i, t := range s.tokens {
		if i == at {
			words = append(words, "--")
		}
		words = append(words, quoted(t.words)...)
	}
	return line(words)
}

// addCommand returns the line that adds a command written without the -- it needs.
func (a *app) addCommand(s scanned) string {
	var all, before []string
	for _, t := range s.tokens {
		if t.kind == tokenFlag && len(all) < addCommandAt {
			before = append(before, quoted(t.words)...) // behind it they are the command's own
			continue
		}
		all = append(all, t.words...)
	}
	if corrected := a.assignedCommand(all); corrected != "" {
		return strings.Replace(corrected, "mcpctl add", line(append([]string{"add"}, before...)), 1)
	}
	return s.withDash(addCommandAt)
}

// asCall returns the command line of a call with the flags of other tools turned into words.
func (s scanned) asCall() string {
	var positional, pairs, flags []string
	tool := ""
	for _, t := range s.tokens {
		switch t.kind {
		case tokenPositional:
			positional = append(positional, toolargs.Quote(t.words[0]))
		case tokenFlag, tokenRest:
			flags = append(flags, quoted(t.words)...)
		case tokenUnknown:
			switch {
			case t.name == "method":
			case t.name == "tool-name" || t.name == "tool":
				tool = toolargs.Quote(t.value)
			case t.name == "tool-arg" || t.name == "arg":
				pairs = append(pairs, toolargs.Quote(t.value))
			case slices.Contains(wholeObject(), t.name):
				flags = append(flags, "--args", toolargs.Quote(t.value))
			default:
				value := t.value
				if !t.assigned && len(t.words) == 1 {
					value = "true"
				}
				pairs = append(pairs, toolargs.Quote(t.name+"="+value))
			}
		}
	}
	if tool != "" {
		positional = slices.Insert(positional, min(1, len(positional)), tool)
	}
	return line(slices.Concat([]string{s.command}, positional, pairs, flags))
}

// addJSON is the error for add-json NAME JSON, with the line that adds the same.
func addJSON(args []string) error {
	e := usagef("there is no command \"add-json\"")
	if len(args) < 2 {
		return e.hint("mcpctl add NAME URL").hint("mcpctl add NAME -- COMMAND ARG…")
	}
	var entry struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal([]byte(args[1]), &entry); err != nil || entry.URL == "" && entry.Command == "" {
		return e.hint("mcpctl add %s URL", toolargs.Quote(args[0])).hint("mcpctl add %s -- COMMAND ARG…", toolargs.Quote(args[0]))
	}
	words := []string{"add", toolargs.Quote(args[0])}
	// A value that was written out may be a secret, so the line has a variable in its place.
	for _, name := range sortedKeys(entry.Env) {
		words = append(words, "--env", toolargs.Quote(name))
	}
	for _, name := range sortedKeys(entry.Headers) {
		value := entry.Headers[name]
		if !strings.Contains(value, "${") {
			value = secretReference(args[0], name, value)
		}
		words = append(words, "--header", toolargs.Quote(name+": "+value))
	}
	if entry.URL != "" {
		words = append(words, toolargs.Quote(entry.URL))
	} else {
		words = append(words, "--", toolargs.Quote(entry.Command))
		words = append(words, quoted(entry.Args)...)
	}
	return e.hint("%s", line(words))
}

// secretReference returns a header's value with a variable in place of the credential.
func secretReference(server, header, value string) string {
	scheme, _, found := strings.Cut(value, " ")
	variable := "${" + variableFor(server, header) + "}"
	switch strings.ToLower(scheme) {
	case "bearer", "basic", "token":
		if found {
			return scheme + " " + variable
		}
	}
	return variable
}

// variableFor makes a name for the variable that holds a secret of a server.
func variableFor(server, name string) string { return config.VariableFor(server, name) }

// hideSecret makes a value of a secret flag masked, unless it only says where the secret is.
func (a *app) hideSecret(value string) {
	if value != "" && !strings.HasPrefix(value, "@") && !strings.Contains(value, "${") {
		a.redact.Add(value)
	}
}

// hideSecretWords makes the secrets among the words of the command line, and those of the environment's proxies, masked in whatever is said about them.
func (a *app) hideSecretWords() {
	add := func(s config.Server) {
		_, secrets, _ := s.Expand(nothing()) // what is wrong with it is told where it is used
		a.redact.Add(secrets...)
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if value, ok := a.lookup(name); ok {
			a.redact.Add(config.ProxySecrets(value)...)
		}
	}
	for i, word := range a.args {
		var value string
		switch {
		case (word == "-H" || word == "--header" || word == "-e" || word == "--env") && i+1 < len(a.args):
			value = a.args[i+1]
		case strings.HasPrefix(word, "--header="), strings.HasPrefix(word, "--env="):
			_, value, _ = strings.Cut(word, "=")
		case strings.HasPrefix(word, "-H") && len(word) > 2, strings.HasPrefix(word, "-e") && len(word) > 2:
			value = word[2:]
		case strings.HasPrefix(word, "--") && slices.Contains(secretFlags(), word[2:]) && i+1 < len(a.args):
			a.hideSecret(a.args[i+1])
			continue
		case strings.HasPrefix(word, "--") && strings.Contains(word, "=") && slices.Contains(secretFlags(), word[2:strings.Index(word, "=")]):
			a.hideSecret(word[strings.Index(word, "=")+1:])
			continue
		case strings.HasPrefix(word, "oauth.") && strings.Contains(word, "="):
			key, value, _ := strings.Cut(word, "=")
			if slices.ContainsFunc(authKeys(), func(k authKey) bool { return k.secret && k.key == strings.TrimSuffix(key, ":") }) {
				a.hideSecret(value)
			}
			continue
		case word == "--proxy" && i+1 < len(a.args):
			a.redact.Add(config.ProxySecrets(a.args[i+1])...)
			continue
		case strings.HasPrefix(word, "--proxy="):
			a.redact.Add(config.ProxySecrets(strings.TrimPrefix(word, "--proxy="))...)
			continue
		case pasted.IsURL(word):
			add(config.Server{URL: word})
			continue
		case pasted.IsSnippet(word) && len(word) < mostJSON:
			if servers, err := pasted.Snippet("-", word, ""); err == nil {
				for _, s := range servers {
					add(s)
				}
			}
			continue
		case startsAssigned(word) && slices.Contains(a.args[:i], "add"): // before a command
			name, v, _ := pasted.Assignment(word)
			add(config.Server{Command: "x", Env: map[string]string{name: v}})
			continue
		case strings.HasPrefix(word, "headers."):
			value = strings.Replace(strings.TrimPrefix(word, "headers."), "=", ":", 1)
		case strings.HasPrefix(word, "env."):
			value = strings.TrimPrefix(word, "env.")
		case strings.HasPrefix(word, "url="):
			add(config.Server{URL: strings.TrimPrefix(word, "url=")})
			continue
		case strings.HasPrefix(word, "proxy="):
			a.redact.Add(config.ProxySecrets(strings.TrimPrefix(word, "proxy="))...)
			continue
		default:
			continue
		}
		if name, v, ok := strings.Cut(value, ":"); ok {
			add(config.Server{URL: "http://localhost", Headers: map[string]string{strings.TrimSpace(name): strings.TrimSpace(v)}})
		}
		if name, v, ok := strings.Cut(value, "="); ok {
			add(config.Server{Command: "x", Env: map[string]string{name: v}})
		}
	}
}
