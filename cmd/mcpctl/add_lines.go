package main

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Command lines that people paste: those that start a server, and those with which other tools add one.

// targetOf returns the server that a text points at: a URL, or a command line with assignments before it.
func targetOf(text string) (config.Server, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return config.Server{}, errors.New("a URL, or a command line, is wanted")
	case isURL(text) && !strings.ContainsAny(text, " \t\n"):
		return config.Server{URL: text, Transport: config.TransportAuto, Enabled: true}, nil
	case hasOtherScheme(text):
		return config.Server{}, errors.New("the URL of a server begins with http:// or https://")
	}
	words, err := splitCommand(strings.TrimPrefix(text, "$ "))
	if err != nil {
		return config.Server{}, plainMessage(err)
	}
	return commandOf(words)
}

// assignment is NAME=value in front of a command.
func assignment(word string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(word, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", "", false
	}
	for _, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return "", "", false
		}
	}
	return name, value, true
}

// commandOf returns the server that a command starts. Assignments in front of it are its environment.
func commandOf(words []string) (config.Server, error) {
	s := config.Server{Transport: config.TransportStdio, Enabled: true}
	if len(words) > 1 && words[0] == "env" {
		words = words[1:]
	}
	for len(words) > 0 {
		name, value, ok := assignment(words[0])
		if !ok {
			break
		}
		setEnv(&s, name, value)
		words = words[1:]
	}
	if len(words) == 0 {
		return s, errors.New("no command")
	}
	if len(words) == 1 && looksLikeHost(words[0]) && !strings.HasPrefix(words[0], ".") && !strings.HasPrefix(words[0], "/") {
		return s, errors.New("for a URL, write https:// before it")
	}
	s.Command, s.Args = words[0], words[1:]
	return s, nil
}

// templateLine returns a command line that targetOf reads back as these words. A reference to a variable stays one.
func templateLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if !strings.Contains(w, "$") {
			out[i] = toolargs.Quote(w)
			continue
		}
		w = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$$", `\$`).Replace(w)
		out[i] = `"` + w + `"`
	}
	return strings.Join(out, " ")
}

// runners are programs that start others: their own names say nothing of the server.
func runners() []string {
	return []string{
		"npx", "uvx", "bunx", "pnpx", "node", "bun", "deno", "python", "python3", "py", "uv", "pipx", "docker", "podman", "npm", "pnpm", "yarn",
		"go", "java", "dotnet", "ruby", "php", "sh", "bash", "cmd", "cmd.exe", "env", "wsl",
	}
}

// nameForCommand makes a name for a server of the command that starts it: of the package, the image or the script.
func nameForCommand(s config.Server) string {
	base := func(word string) string {
		word = path.Base(strings.ReplaceAll(word, `\`, "/"))
		if before, _, ok := strings.Cut(word, "@"); ok && before != "" {
			word = before // a version
		}
		word, _, _ = strings.Cut(word, ":") // a tag
		word = strings.TrimSuffix(word, "/")
		return strings.TrimSuffix(word, path.Ext(word))
	}
	name := base(s.Command)
	if slices.Contains(runners(), name) {
		for i, arg := range s.Args {
			valued := i > 0 && slices.Contains([]string{"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--network", "--from", "--directory"}, s.Args[i-1])
			switch {
			case strings.HasPrefix(arg, "-"), valued, slices.Contains([]string{"run", "exec", "x", "tool", "dlx", "/c"}, arg), strings.Contains(arg, "$"):
				continue
			}
			name = base(arg)
			break
		}
	}
	for _, affix := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"-mcp-server", "-server", "-mcp"} {
		name = strings.TrimSuffix(name, affix)
	}
	if name == "" || name == "." || name == "/" {
		return "server"
	}
	return name
}

// suggestedName returns a name for a server that is not taken.
func suggestedName(s config.Server, taken func(string) bool) string {
	name := s.Name
	switch {
	case name != "":
	case s.URL != "":
		if name = nameFor(s.URL); name == "NAME" {
			name = "server"
		}
	default:
		name = nameForCommand(s)
	}
	return config.AdoptedName(name, taken)
}

// otherLine reads a line with which another tool adds a server: claude, gemini or codex mcp add, or code --add-mcp. It
// returns the name of the tool, "" if it is no such line.
//
// Facts: code.claude.com/docs/en/mcp and github.com/google-gemini/gemini-cli docs/tools/mcp-server.md, as of 2026-11-30:
// options before or after the name, then a URL or a command; openai/codex discussions/30870, 2026-07: --url and
// --bearer-token-env-var; code.visualstudio.com/docs/copilot/customization/mcp-servers, as of 2026-11: an entry with its name.
func otherLine(words []string) (tool string, found config.Server, err error) {
	if len(words) < 2 {
		return "", found, nil
	}
	tool = strings.TrimSuffix(path.Base(words[0]), ".exe")
	switch {
	case slices.Contains([]string{"claude", "gemini", "codex", "qwen"}, tool) && len(words) > 2 && words[1] == "mcp":
		switch words[2] {
		case "add":
			found, err = otherAdd(words[3:])
			return tool, found, err
		case "add-json":
			rest := slices.DeleteFunc(withoutScope(words[3:]), func(w string) bool { return strings.HasPrefix(w, "-") })
			if len(rest) != 2 {
				return tool, found, errors.New("a name and JSON are wanted")
			}
			found, err = oneOf(rest[1], rest[0])
			return tool, found, err
		}
	case strings.HasPrefix(tool, "code") || tool == "cursor":
		for i, w := range words {
			text, assigned := strings.CutPrefix(w, "--add-mcp=")
			if w == "--add-mcp" && i+1 < len(words) {
				text, assigned = words[i+1], true
			}
			if assigned {
				found, err = oneOf(text, "")
				return tool, found, err
			}
		}
	}
	return "", found, nil
}

// withoutScope leaves out where another tool would write to.
func withoutScope(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if words[i] == "-s" || words[i] == "--scope" {
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// otherAdd reads what comes after "mcp add".
func otherAdd(words []string) (config.Server, error) {
	s := config.Server{Transport: config.TransportAuto, Enabled: true}
	var own []string // the name, and then the command or URL
	transport, address := "", ""
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			own = append(own, words[i+1:]...)
			break
		}
		flag, value, assigned := strings.Cut(word, "=")
		if !strings.HasPrefix(word, "-") || len(own) > 1 && !otherFlag(flag) {
			own = append(own, word) // or an argument of the command
			continue
		}
		if flag == "--trust" {
			continue
		}
		if !assigned {
			if i++; i == len(words) {
				return s, errors.New(flag + ": nothing after it")
			}
			value = words[i]
		}
		switch flag {
		case "-e", "--env":
			name, v, err := parseEnv(value)
			if err != nil {
				return s, plainMessage(err)
			}
			setEnv(&s, name, v)
		case "-H", "--header":
			name, v, err := parseHeader(value)
			if err != nil {
				return s, plainMessage(err)
			}
			setHeader(&s, name, v)
		case "-t", "--transport", "--type":
			transport = value
		case "--url":
			address = value
		case "--bearer-token-env-var":
			setHeader(&s, "Authorization", "Bearer ${"+value+"}")
		case "--include-tools":
			s.Tools.Include = globsFor(value)
		case "--exclude-tools":
			s.Tools.Exclude = globsFor(value)
		case "-s", "--scope", "--timeout", "--description", "--callback-port", "--client-id":
			// where it is written, and what has no place here, or another unit
		default:
			return s, errors.New(flag + ": not known")
		}
	}
	if address != "" && len(own) > 0 {
		own = slices.Insert(own, 1, address)
	}
	if len(own) < 2 {
		return s, errors.New("a name, and a URL or a command, are wanted")
	}
	s.Name = own[0]
	if isURL(own[1]) && len(own) == 2 {
		s.URL = own[1]
		if t, err := config.ParseTransport(transport); err == nil && transport == "sse" {
			s.Transport = t
		}
		return s, nil
	}
	env := s.Env
	c, err := commandOf(own[1:])
	if err != nil {
		return s, err
	}
	s.Command, s.Args, s.Transport = c.Command, c.Args, c.Transport
	for name, value := range c.Env {
		setEnv(&s, name, value)
	}
	for name, value := range env {
		setEnv(&s, name, value)
	}
	return s, nil
}

func otherFlag(flag string) bool {
	return slices.Contains([]string{
		"-e", "--env", "-H", "--header", "-t", "--transport", "-s", "--scope", "--url", "--bearer-token-env-var", "--include-tools", "--exclude-tools", "--trust",
	}, flag)
}

func globsFor(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, globFor(name))
		}
	}
	return out
}

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
	tool, found, err := otherLine(words)
	switch {
	case tool != "" && err != nil:
		return usagef("this is a line of %s, and it cannot be read: %s", tool, err).hint("mcpctl add NAME URL").hint("mcpctl add NAME -- COMMAND ARG…")
	case tool != "":
		return usagef("this is a line of %s", tool).hint("%s", a.lineFor(found))
	}
	_, _, assigns := assignment(words[0])
	isRunner := slices.Contains(runners(), path.Base(words[0])) && len(words) > 1 && !isURL(words[1]) && words[1] != "--"
	if !assigns && !isRunner || cmd.ArgsLenAtDash() == 1 {
		return nil
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--" })
	if found, err = commandOf(words); err == nil {
		return usagef("the server needs a name, and its command comes after --").hint("%s", a.lineFor(found))
	}
	return nil // what is wrong is told elsewhere
}

// lineFor returns the line that adds a server, with a name and with variables in the places of secrets.
func (a *app) lineFor(s config.Server) string {
	out, _, err := s.Adopt(config.AdoptOptions{Name: suggestedName(s, nil), Home: a.home})
	if err != nil {
		out = s
		out.Name = suggestedName(s, nil)
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
		split, err := splitCommand(rest[0])
		if err != nil || len(split) < 2 || strings.Contains(split[0], "/") {
			return "" // perhaps a path with spaces in it
		}
		rest = split
	} else if _, _, ok := assignment(rest[0]); !ok {
		return ""
	}
	found, err := commandOf(rest)
	if err != nil {
		return ""
	}
	found.Name = words[0]
	return a.lineFor(found)
}
