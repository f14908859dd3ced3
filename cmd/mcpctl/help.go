package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/manpage"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// topic is a page of help that belongs to no command.
type topic struct {
	name string
	// short says in one line what is on the page.
	short string
	// text makes the page.
	text func() string
}

// topics are the pages, by name.
func topics() []topic {
	return []topic{
		{"arguments", "How to write arguments of tools, prompts and templates", written(topicArguments)},
		{"authorization", "Logins, tokens, and the flags for them", topicAuthorization},
		{"checks", "The checks of doctor, in order", topicChecks},
		{"config", "The configuration file and its keys", written(topicConfig)},
		{"connecting", "How to name a server, and the flags for the connection", topicConnecting},
		{"environment", "The environment variables that mcpctl reads", written(topicEnvironment)},
		{"exit-codes", "What the exit codes mean", written(topicExitCodes)},
		{"limits", "Timeouts, and where they are set", topicLimits},
		{"questions", "What a server may ask, and the flags that answer", topicQuestions},
	}
}

// written is a page that is there already.
func written(text string) func() string { return func() string { return text } }

// topicNames are the names of the topics.
func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

func newHelpCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show the help of a command or a topic",
		Long: `Show the help of a command, or a page about a topic:
arguments, authorization, checks, config, connecting, environment, exit-codes,
limits, questions.`,
		Example: `  mcpctl help call
  mcpctl help exit-codes`,
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				return root.Help()
			}
			for _, t := range topics() {
				if t.name == args[0] && len(args) == 1 {
					return a.writeHelp(t.text())
				}
			}
			found, rest, err := root.Find(args)
			if err == nil && found != root && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			e := usagef("no command and no topic %q", strings.Join(args, " "))
			known := topicNames()
			for _, c := range root.Commands() {
				known = append(known, c.Name())
			}
			for _, near := range config.Near(args[0], known) {
				e.hint("mcpctl help %s", near)
			}
			if len(e.hints) == 0 {
				e.hint("mcpctl help")
			}
			return e
		},
	}
}

// completeHelp completes the command that the words before name, if it has commands of its own, and at first also the topics.
func completeHelp(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	parent, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []cobra.Completion
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	if len(args) > 0 {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	for _, t := range topics() {
		if !slices.ContainsFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == t.name }) {
			words = append(words, cobra.CompletionWithDesc(t.name, t.short))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// helpWidth is the width of all help.
const helpWidth = 80

const (
	// sharedKey is the annotation of a flag about the server, which all commands that reach one share: their help only
	// names it, and the topic connecting explains it. With the value ownUsage it means something else for this command,
	// whose help explains it then. With authUsage the topic authorization explains it.
	sharedKey = "shared"
	ownUsage  = "own"
	// askedKey is the annotation of a flag that answers what a server asks. The topic questions explains it.
	askedKey = "asked"
	// orderKey is the annotation of a command with its place among those of its group in the help.
	orderKey = "order"
)

// helpDocument is help where a script of a shell has documents for its lines.
type helpDocument struct {
	Version int    `json:"version"`
	Help    string `json:"help"`
}

func (a *app) writeHelp(text string) error {
	if a.shell != nil && !a.shell.talking && a.json() {
		return a.writeDocument(helpDocument{Version: documentVersion, Help: a.shell.explain(text)})
	}
	text = a.shell.explain(text)
	if width := a.io.Width(); width < helpWidth && a.io.StdoutTTY() {
		text = narrowHelp(text, width)
	}
	_, err := io.WriteString(a.io.Out, text)
	return err
}

// narrowHelp sets help anew for a terminal that is narrower than what it was written for: paragraphs are wrapped, and what
// a term means comes below it. Lines to paste stay whole.
func narrowHelp(text string, width int) string {
	var b strings.Builder
	title := false // what follows belongs to it
	for i, block := range manpage.Blocks(text) {
		if i > 0 && !title {
			b.WriteString("\n")
		}
		title = strings.HasSuffix(block.Text, ":")
		switch {
		case block.Items != nil:
			for _, item := range block.Items {
				b.WriteString("  " + item.Term + "\n" + render.Wrap(item.Text, width, "      ") + "\n")
			}
		case block.Lines != nil && isFlagNames(block.Lines):
			b.WriteString(render.Wrap(strings.Join(block.Lines, " "), width, "  ") + "\n")
		case block.Lines != nil:
			b.WriteString("  " + strings.Join(block.Lines, "\n  ") + "\n")
		default:
			b.WriteString(render.Wrap(block.Text, width, "") + "\n")
		}
	}
	return b.String()
}

// helpText returns the help of a command.
func helpText(cmd *cobra.Command) string {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	return strings.TrimSpace(about) + "\n\n" + usageText(cmd)
}

// usageText returns how a command is used: its form, examples, commands and flags.
func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			b.WriteString("\n" + title + "\n" + text + "\n")
		}
	}
	b.WriteString("Usage:\n")
	if cmd.HasParent() {
		for form := range strings.SplitSeq(cmd.Use, " | ") {
			b.WriteString("  " + cmd.Parent().CommandPath() + " " + form + "\n")
		}
	} else {
		b.WriteString("  " + cmd.Name() + " COMMAND\n")
	}
	section("Examples:", cmd.Example)
	for _, group := range cmd.Groups() {
		var list strings.Builder
		for _, c := range inGroup(cmd, group.ID) {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&list, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
		section(group.Title, list.String())
	}
	own, asked, shared, auth := flagSections(cmd)
	section("Flags:", own)
	section("Flags for what the server asks, explained by mcpctl help questions:", asked)
	section("Flags for the server, explained by mcpctl help connecting:", shared)
	section("Flags for a login, explained by mcpctl help authorization:", auth)
	if cmd.HasParent() {
		section("Global flags, explained by mcpctl help:", flagNames(cmd.Root().PersistentFlags()))
		return b.String()
	}
	var list strings.Builder
	for _, t := range topics() {
		fmt.Fprintf(&list, "  %-14s %s\n", t.name, t.short)
	}
	section("Topics, with mcpctl help TOPIC:", list.String())
	return b.String()
}

// inGroup returns the commands of a group in the order of the help: cobra sorts them by name.
func inGroup(cmd *cobra.Command, group string) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.GroupID == group {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *cobra.Command) int {
		return strings.Compare(a.Annotations[orderKey], b.Annotations[orderKey])
	})
	return list
}

// flagSections returns the help of a command's own flags, and the names of those that a topic explains: those that answer
// what a server asks, those about the server, and those for a login.
func flagSections(cmd *cobra.Command) (own, asked, shared, auth string) {
	ownSet, askedSet, sharedSet, authSet := sortFlags(cmd)
	return explainedFlags(ownSet), flagNames(askedSet), flagNames(sharedSet), flagNames(authSet)
}

// sortFlags sorts a command's flags by where they are explained: in its own help, or in a topic.
func sortFlags(cmd *cobra.Command) (own, asked, shared, auth *pflag.FlagSet) {
	own, asked, shared, auth = newFlags(), newFlags(), newFlags(), newFlags()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		about := f.Annotations[sharedKey]
		switch {
		case f.Name == "help": // everybody knows
		case f.Annotations[askedKey] != nil:
			asked.AddFlag(f)
		case about != nil && about[0] == authUsage:
			auth.AddFlag(f)
		case about != nil && about[0] != ownUsage:
			shared.AddFlag(f)
		default:
			own.AddFlag(f)
		}
	})
	return own, asked, shared, auth
}

func newFlags() *pflag.FlagSet { return pflag.NewFlagSet("", pflag.ContinueOnError) }

// explainedFlags returns the help of these flags of a set, or of all.
func explainedFlags(set *pflag.FlagSet, names ...string) string {
	list := newFlags()
	list.SortFlags = false
	if len(names) == 0 {
		set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	for _, name := range names {
		list.AddFlag(explained(set.Lookup(name)))
	}
	return list.FlagUsagesWrapped(helpWidth)
}

// placeholderKey is the annotation of a flag that holds what stands for its value in the help.
const placeholderKey = "placeholder"

// placeholder returns what stands for the value of a flag in the help, "" for a flag that has none, and the flag's line
// of help. Both come from the usage, where backquotes mark the word: it is written in capitals, as in the forms of the
// commands, so that nobody takes it for a value.
func placeholder(f *pflag.Flag) (value, usage string) {
	switch kind := f.Value.Type(); {
	case f.Annotations[placeholderKey] != nil:
		return f.Annotations[placeholderKey][0], f.Usage
	case kind == "bool" || kind == "count":
		return "", strings.ReplaceAll(f.Usage, "`", "")
	}
	value, usage = pflag.UnquoteUsage(f)
	switch {
	case f.Name == "transport" && strings.HasPrefix(f.Usage, "one of"):
		return "KIND", "how to reach the server (" + strings.Join(transportNames(), ", ") + ")"
	case f.Name == "color":
		return "WHEN", "when to use colours (" + strings.Join(colorNames(), ", ") + ")"
	}
	if value == strings.ToLower(value) {
		value = strings.ToUpper(value)
	}
	return value, usage
}

// explained returns a copy of a flag for its line of help.
func explained(f *pflag.Flag) *pflag.Flag {
	value, usage := placeholder(f)
	e := *f
	e.Usage, e.Value = usage, helpValue{f.Value, value}
	if e.NoOptDefVal != "" {
		e.NoOptDefVal, e.Value = value, helpValue{f.Value, ""} // --flag[=VALUE]
	}
	if e.DefValue == "[]" {
		e.DefValue = ""
	}
	return &e
}

// helpValue is a value whose type is what stands for it in the help.
type helpValue struct {
	pflag.Value
	placeholder string
}

func (v helpValue) Type() string { return v.placeholder }

// finishFlags takes the marks of the placeholders out of the usage of all flags, so that completions and manual pages
// have plain text, and completes the values of flags that have a few. It is called when all commands are there.
func finishFlags(root *cobra.Command) {
	visit := func(cmd *cobra.Command, f *pflag.Flag) {
		value, usage := placeholder(f)
		f.Usage = usage
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[placeholderKey] = []string{value}
		if f.Value.Type() != "bool" && f.Value.Type() != "count" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeFlag(f.Name)) // the flag is there, and has none yet
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { visit(cmd, f) })
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { visit(cmd, f) })
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

// flagNames names flags, on as many lines as that takes.
func flagNames(flags *pflag.FlagSet) string {
	var b strings.Builder
	column := 0
	flags.VisitAll(func(f *pflag.Flag) {
		word := "--" + f.Name
		switch {
		case f.Hidden:
			return
		case column == 0:
			b.WriteString(" ")
			column = 1
		case column+len(", ")+len(word) >= helpWidth:
			b.WriteString(",\n ")
			column = 1
		default:
			b.WriteString(",")
			column++
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	})
	return b.String()
}

// isFlagNames reports whether lines are what flagNames writes.
func isFlagNames(lines []string) bool {
	for word := range strings.FieldsSeq(strings.Join(lines, " ")) {
		if !strings.HasPrefix(word, "--") {
			return false
		}
	}
	return true
}

const topicExitCodes = `Exit codes

  code  class            meaning
  0     -                success
  1     failed           a check failed, --grep found nothing, or another
                         failure without an exit code of its own
  2     usage, config    wrong usage, unknown server or tool, unreadable or
                         invalid configuration, unset variable
  3     connect          the server could not be started or reached
        protocol         it was reached, but does not speak MCP as specified
        session          the session was lost and could not be replaced
        busy             the server stayed busy (HTTP 429 or 503)
  4     auth             the server wants authorization, or rejects the token
  5     tool             the tool reported an error, its task failed or was
                         cancelled, or the server rejected the call
  6     timeout          a time limit ran out; the message says which one
  7     unknown-outcome  the connection failed when the call may already have
                         been executed; it was not repeated
  130   interrupted      Ctrl-C or SIGTERM

With -o json a failure is a document on stdout with its class:

  {"version":1,"error":{"class":"connect","message":"…","exit_code":3,…}}

"retryable" in it is true if the same command can be run again without the risk
of a second execution, and may then succeed.

A script run by mcpctl shell has the exit code of the first line that failed.
`

const topicEnvironment = `Environment

  MCPCTL_CONFIG    the configuration file, unless --config names one
  XDG_CONFIG_HOME  the directory that holds mcpctl/config.yaml
  XDG_CACHE_HOME   mcpctl/ in it caches how servers were reached, and for an
                   hour the tools of remote ones; doctor does not use it
  XDG_STATE_HOME   mcpctl/logs in it holds what local servers write to stderr,
                   for mcpctl logs; mcpctl/history holds the lines typed in
                   mcpctl shell
  XDG_DATA_HOME    mcpctl/ in it holds logins, if they are kept in files
  MCPCTL_CREDENTIALS
                   where logins are kept: keyring (the system's) or file; by
                   default the keyring if there is one, otherwise files
  BROWSER          the only command tried to open a page for a login; by
                   default the platform's own
  NO_COLOR         if set and not empty: no colours
  CLICOLOR, CLICOLOR_FORCE
                   CLICOLOR=0: no colours; CLICOLOR_FORCE other than 0: always
  MCPCTL_IMAGES    how a terminal shows images, like --images: auto, kitty,
                   iterm, sixel or never
  COLUMNS          the output width, instead of the terminal's
  VISUAL, EDITOR   the editor for mcpctl config edit; the first one that is set
  CI               if set and not empty: never prompt
  GITHUB_STEP_SUMMARY
                   the file to which doctor -o github appends its report
  HTTP_PROXY, HTTPS_PROXY, NO_PROXY
                   the proxy for URLs of that scheme, and the hosts that need
                   none; also in lower case; never used for this machine.
                   --proxy and the key proxy take precedence
  SSL_CERT_FILE, SSL_CERT_DIR
                   certificate authorities to trust instead of the system's
                   (not on macOS and Windows)

A command that mcpctl starts gets PATH, HOME, USER, LOGNAME, LANG, LC_*, TERM,
SHELL, TMPDIR, TZ, XDG_*, the variables for proxies and certificates, and what
its entry or --env sets. Anything else needs inherit_env or --inherit-env.

  mcpctl add notes --env NOTES_TOKEN -- notes-server

saves NOTES_TOKEN as ${NOTES_TOKEN}: the value stays out of the file, and is
looked up each time the server is used.
`

const topicConfig = `Configuration

One YAML file: --config FILE, else MCPCTL_CONFIG, else mcpctl/config.yaml in
XDG_CONFIG_HOME or the platform's configuration directory. Nothing is read from
the working directory.

  version: 1
  defaults:
    connect_timeout: 30s
    timeout: 5m
  servers:
    notes:
      command: npx
      args: [-y, "@example/notes", ~/notes]
      env: {NOTES_TOKEN: "${NOTES_TOKEN}"}
    search:
      url: https://search.example/mcp
      headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
      connect_timeout: 10s
      tools: {include: ["search_*"]}
      health: {tool: search_ping, args: {}, expect: {contains: pong}}

  key              meaning
  command, args    the program of a local server, and its arguments
  env, cwd         its environment variables and working directory
  inherit_env      true, or a list of names: what else it gets of mcpctl's
                   environment
  url, headers     the URL of a remote server, and HTTP headers to send; an
                   entry has either command or url
  auth             auto: log in when the server asks; none: never log in;
                   oauth: the server needs a login
  oauth            settings for a login: client_id, client_secret, scopes,
                   client_metadata_url, issuer, grant, private_key,
                   assertion, redirect_uri or redirect_port, dpop, idp: see
                   mcpctl help authorization
  tls              ca_file: authorities to trust beside the system's;
                   cert_file and key_file: the client certificate (all PEM);
                   server_name: the name in the server's certificate, if it
                   is not the URL's; insecure_skip_verify: true: verify
                   nothing
  proxy            http://, https:// or socks5://HOST:PORT, or none
  transport        auto, http, sse or stdio
  protocol         auto, or a protocol version
  enabled          false: used only with --include-disabled
  connect_timeout  limit until the session is usable: 30s; 120s for npx, uvx,
                   docker …
  timeout          limit for one request with its recovery: 5m
  max_timeout      limit for one request even if it reports progress
  wait             how long to wait for a server that is not up yet: 4s
  session_wait     how long a request waits for a new session: 15s
  keepalive        how often an idle session is pinged: 3m; off
  retry            initial, reconnect: failures in a row before mcpctl stops
                   trying to keep a server connected; park_interval,
                   max_backoff
  breaker          threshold, cooldown: after how many lost requests in a row
                   further ones are refused, and for how long
  skip_preflight   true: do not check the URL before the handshake
  tools            include and exclude: globs on the names of tools
  health           tool and args: a call that doctor makes to see whether the
                   server works, so it should change nothing; expect:
                   is_error, contains, matches (a regular expression), equals
                   (the whole text, or an object or a list: the structured
                   content), max_ms, jq (an expression on the result that
                   must be true); variables are not replaced
  smoke            a list of such calls, each with an optional name

A duration is 30s, 2m, or a number of seconds. A variable is ${NAME},
${NAME:-default} or ${env:NAME}; ${file:PATH} is the contents of a file without
its last newline, ${keyring:SERVICE/USER} is a secret in the system's keyring,
and $$ is a dollar sign. They are replaced when the server is used; a missing
one is an error then. A relative path in ${file:PATH} is relative to the
configuration file, one in tls or oauth to the working directory; ~/ is the home
directory.

mcpctl also reads the files of other clients (Claude Desktop, Claude Code,
Cursor, VS Code, Windsurf, Cline, Gemini CLI, Zed, Codex, Goose, Hermes Agent,
opencode, Continue, LM Studio, mcporter), each with its own keys and variables:
--config FILE reads one, for example from a repository in CI, and --from CLIENT
finds your own. mcpctl import copies their servers into this file. Only
mcpctl export --write changes another client's file.

mcpctl get NAME shows each value and where it comes from. For the file itself:

  mcpctl config path      print which file is used
  mcpctl config validate  show all errors, with line and column
  mcpctl config edit      edit a copy, which is checked and then saved
  mcpctl config schema    print its JSON Schema, for editors
`

const topicArguments = `Arguments of tools, prompts and templates

  key=value         typed by the tool's schema: 7 becomes the number 7 or the
                    string "7"; arrays and objects accept JSON
  key:=JSON         this JSON, whatever the schema says
  key=@FILE         the text of a file; @@ for a value that begins with @
  key:=@FILE        the JSON in a file; @- is stdin
  a.b=1             a value inside an object
  list[]=x          one more element of an array, like key= repeated
  '{"a":1}'         the whole object
  --args JSON       the whole object; --args @FILE reads a file, --args - reads
                    stdin; key=value overrides parts of it

  mcpctl call demo add a=1 b=2
  mcpctl call demo echo message='two words'
  mcpctl call demo add a=-1 b:=2.5e3
  mcpctl call demo echo --args '{"message":"hi"}'
  echo 'from a pipe' | mcpctl call demo echo message=@-
  mcpctl prompt demo greet name=Ada style=brief

The arguments are checked against the schema before the tool is called. An
unknown or missing argument or a wrong type is an error with exit code 2.
--no-validate sends the arguments anyway; --dry-run only prints them.

On a terminal, missing required arguments are asked for, and the complete
command line is shown at the end. An argument whose name begins with a dash
goes after --.

The arguments of a prompt (mcpctl prompt), and the variables of a template
(mcpctl read), are written the same way, but are always text: n=1 is the text 1.
--args works for prompts, not for templates. mcpctl complete asks a server for
possible values.

mcpctl tools SERVER TOOL, mcpctl prompts SERVER PROMPT and mcpctl resources
SERVER TEMPLATE show the arguments, and an example to paste.
`

// topicChecks is made from the list of checks, so that it never lies.
func topicChecks() string {
	var b strings.Builder
	b.WriteString("mcpctl doctor runs these checks, in the order of a request on its way to the\nserver. Each passes when:\n\n")
	for _, c := range probe.Checks() {
		fmt.Fprintf(&b, "  %-24s %s\n", c.ID, c.Title)
	}
	b.WriteString(`
The part before the dot is the stage; --only and --skip take a check or a stage.
If a check fails, those that depend on it are skipped, so one fault fails one
check. Each call of call.smoke and each change of baseline.unchanged is a result
of its own, so one fault can fail several of them.
mcpctl doctor --explain CHECK says why a check matters and how to fix it.
`)
	return b.String()
}
