package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type addOptions struct {
	entryFlags
	include            []string
	exclude            []string
	disabled           bool
	noCheck            bool
	replace            bool
	yes                bool
	allowLiteralSecret bool

	fromJSON string

	// The words of other tools.
	url         string
	bearerToken string

	// helped is set when the entry was written with the form, or changed after a failure, and no longer is what the words
	// of the command line say.
	helped bool
	// lent are values of variables that hold for the check alone.
	lent map[string]string
}

func newAddCmd(a *app) *cobra.Command {
	var o addOptions
	cmd := &cobra.Command{
		Use:   "add NAME URL | add NAME -- COMMAND [ARG...]",
		Short: "Add a server to the configuration",
		Long: `Add a server to the configuration: a URL, or a command that mcpctl starts.
mcpctl connects to it first and shows what it found. What does not work is not
saved, unless you use --no-check.

On a terminal it asks which tools to use (--include answers in advance), and
what to do if the server does not work. Without arguments it asks for
everything: paste a URL, a command line, or the JSON from a README
(--from-json); give a token with --header. Ctrl-C and Escape cancel with exit
code 130 and change nothing. With --yes, --no-input, -o json or CI set, nothing
is asked.

--from-json accepts the JSON that READMEs give for other clients. If it holds
several servers, all are checked at once, and each is saved only if it works.

Values of --header and --env may contain ${VARIABLE}, in single quotes: it is
replaced when the server is used, so the value stays out of the file. If the
server wants a login, add starts it: mcpctl help authorization. --connect-to is
used for the check only, and is not saved.`,
		Example: `  mcpctl add search https://search.example/mcp
  mcpctl add search https://search.example/mcp \
    --header 'Authorization: Bearer ${SEARCH_TOKEN}'
  mcpctl add notes --env NOTES_TOKEN -- npx -y @example/notes ~/notes
  mcpctl add --from-json '{"mcpServers": {"web": {"url": "https://…"}}}'
  mcpctl add notes --from-json @snippet.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		listVar(flags, &o.include, "include", "use only tools whose name matches this `glob`; repeatable")
		listVar(flags, &o.exclude, "exclude", "leave out tools whose name matches this `glob`; repeatable")
		flags.BoolVar(&o.disabled, "disabled", false, "save the server as disabled")
		flags.BoolVar(&o.noCheck, "no-check", false, "save the server without connecting to it")
		flags.BoolVar(&o.replace, "replace", false, "replace an existing server of that name")
		flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask; save only what works")
		flags.StringVar(&o.fromJSON, "from-json", "", "add the servers in this `JSON`; @FILE reads a file, - reads stdin")
		flags.BoolVar(&o.allowLiteralSecret, "allow-literal-secret", false, "save a secret in plain text")
		share(flags, sharedKey, o.register)
		for _, name := range []string{"header", "env", "cwd", "transport"} { // what an entry is made of
			flags.Lookup(name).Annotations[sharedKey] = []string{ownUsage}
		}
		flags.BoolVar(&o.replace, "force", false, "the same as --replace")
		flags.StringVar(&o.url, "url", "", "the `URL`")
		flags.StringVar(&o.bearerToken, "bearer-token-env-var", "", "send the token in this `variable`")
		for _, accepted := range sortedKeys(acceptedFlags()["add"]) {
			_ = flags.MarkHidden(accepted) // they are defined above
		}
	})
}

// addDocument is the output of add.
type addDocument struct {
	Version  int    `json:"version"`
	Config   string `json:"config"`
	Added    string `json:"added,omitempty"`
	Replaced string `json:"replaced,omitempty"`
	// Kept are the keys of the replaced entry that no flag of add sets.
	Kept    []string     `json:"kept,omitempty"`
	Server  serverBody   `json:"server"`
	Tools   []string     `json:"tools,omitempty"`
	Session *sessionBody `json:"session,omitempty"`
}

func (o *addOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	if !o.allowLiteralSecret {
		if err := a.literalSecret(cmd.Flags(), strings.Join(args[:min(len(args), 1)], "")); err != nil {
			return err
		}
	}
	switch {
	case cmd.Flags().Changed("from-json"):
		return o.runJSON(cmd, a, args, path)
	case len(args) == 0 && o.url == "" && cmd.ArgsLenAtDash() < 0 && o.asks(a):
		return o.runForm(cmd, a, path)
	}
	server, err := o.server(cmd, a, args)
	if err != nil {
		return err
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	if err := o.free(cmd, a, c, server.Name); err != nil {
		return err
	}
	if err := o.checkSecrets(a, server); err != nil {
		return err
	}
	return o.checkAndSave(ctx, a, path, server)
}

// has reports whether there is an entry of that name.
func has(c *config.Config, name string) bool {
	_, there := c.Server(name)
	return there
}

// free returns an error if there is an entry of that name already, and it is not to be replaced.
func (o *addOptions) free(cmd *cobra.Command, a *app, c *config.Config, name string) error {
	if has(c, name) && !o.replace {
		return usagef("there is a server %q already", name).hint("%s", a.inserted(cmd, "--replace"))
	}
	return nil
}

// checkAndSave contacts the server, unless that is not wanted, saves the entry, and says so.
func (o *addOptions) checkAndSave(ctx context.Context, a *app, path string, server config.Server) error {
	if err := a.allowDangers(ctx, server, o.yes || o.noCheck); err != nil {
		return err
	}
	if o.asks(a) {
		o.lend(a, nil)
	}
	doc := addDocument{Version: documentVersion, Config: path, Server: newServerBody(server)}
	if !o.noCheck {
		if err := o.check(ctx, a, &server, &doc); err != nil {
			a.tellLoginKept(context.WithoutCancel(ctx), server)
			return err
		}
	}
	var kept []string
	err := config.EditContext(ctx, path, func(d *config.Document) error {
		switch has := d.Has(server.Name); {
		case has && o.replace:
			doc.Replaced = server.Name
			if old, _ := d.Server(server.Name); old.Err == nil {
				kept = keepUpkeep(&server, old)
			}
			return d.Replace(server)
		default:
			doc.Added = server.Name
			return d.Add(server)
		}
	})
	if err != nil {
		return err
	}
	doc.Kept = kept
	if a.json() {
		return a.print(ctx, doc)
	}
	if len(kept) > 0 {
		a.note("kept from the old entry: " + strings.Join(kept, ", "))
	}
	verb := "added"
	if doc.Replaced != "" {
		verb = "replaced"
	}
	name := toolargs.Quote(server.Name)
	if _, err := fmt.Fprintf(a.out(), "%s %s in %s\n", verb, name, path); err != nil {
		return err
	}
	return o.tellRest(a, server)
}

// keepUpkeep gives the server those values of the old entry that no flag of add sets, so that replacing the target does
// not lose them, and returns their keys. A health check of a tool that is now left out is not kept.
func keepUpkeep(server *config.Server, old config.Server) (kept []string) {
	keep := func(key string, set bool, take func()) {
		if _, own := server.Sources[key]; set && !own {
			take()
			kept = append(kept, key)
		}
	}
	keep("max_timeout", old.MaxTimeout != 0 && server.MaxTimeout == 0, func() { server.MaxTimeout = old.MaxTimeout })
	keep("session_wait", old.SessionWait != 0 && server.SessionWait == 0, func() { server.SessionWait = old.SessionWait })
	keep("keepalive", old.Keepalive != 0, func() { server.Keepalive = old.Keepalive })
	keep("retry", old.Retry != config.Retry{}, func() { server.Retry = old.Retry })
	keep("breaker", old.Breaker != config.Breaker{}, func() { server.Breaker = old.Breaker })
	keep("health", old.Health != nil && server.Tools.Allows(old.Health.Tool), func() { server.Health = old.Health })
	smoke := !slices.ContainsFunc(old.Smoke, func(c config.Smoke) bool { return !server.Tools.Allows(c.Tool) })
	keep("smoke", len(old.Smoke) > 0 && smoke, func() { server.Smoke = old.Smoke })
	return kept
}

// server returns the entry that the words and flags describe.
func (o *addOptions) server(cmd *cobra.Command, a *app, args []string) (config.Server, error) {
	server, err := o.named(cmd, a, args)
	if err != nil {
		return server, err
	}
	if err := config.ValidateName(server.Name); err != nil {
		return server, err
	}
	if o.connectTo != "" {
		a.note("--connect-to holds for the check, and is not saved")
	}
	server.Enabled = !o.disabled
	server.Tools = config.ToolFilter{Include: o.include, Exclude: o.exclude}
	if err := o.apply(cmd.Flags(), &server); err != nil {
		return server, err
	}
	if v := o.bearerToken; v != "" {
		pasted.SetHeader(&server, "Authorization", "Bearer ${"+v+"}")
	}
	if err := o.misfit(cmd.Flags(), server); err != nil {
		return server, err
	}
	if err := o.checkHeaders(); err != nil {
		return server, err
	}
	for _, e := range o.env {
		if name, _, assigned := strings.Cut(e, "="); !assigned {
			if _, set := a.lookup(name); !set {
				return server, &config.UnsetError{Server: server.Name, Vars: []config.UnsetVar{{Name: name, Place: "--env"}}}
			}
		}
	}
	if err := server.Validate(); err != nil {
		return server, err
	}
	if path, err := a.configPath(); err == nil { // where ${file:PATH} starts when the entry is in the file
		server.Dir = filepath.Dir(path)
	}
	return server, makeAbsolute(a, &server)
}

// checkHeaders refuses a header without a value: an entry would keep for good what the shell has made of an unset
// variable.
func (o *addOptions) checkHeaders() error {
	for _, h := range o.headers {
		if _, _, err := pasted.Valued(h); err != nil {
			return ofFlag("header", err)
		}
	}
	return nil
}

// makeAbsolute replaces the paths of an entry that depend on the working directory: the entry is used from others, too.
func makeAbsolute(a *app, server *config.Server) error {
	relative := func(path string) bool {
		return path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") && !strings.HasPrefix(path, "$")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return &configError{server: server.Name, message: "the working directory: " + err.Error(), cause: err}
	}
	here = pasted.Literal(here)
	replace := func(what, path, dir string) string {
		absolute := filepath.Join(dir, path)
		a.note(fmt.Sprintf("%s %s is saved as %s", what, toolargs.Quote(path), toolargs.Quote(absolute)))
		return absolute
	}
	for _, file := range []struct {
		flag string
		name *string
	}{
		{"--ca-file", &server.TLS.CAFile}, {"--cert-file", &server.TLS.CertFile}, {"--key-file", &server.TLS.KeyFile},
	} {
		if relative(*file.name) {
			*file.name = replace(file.flag, *file.name, here)
		}
	}
	if server.OAuth != nil && relative(server.OAuth.PrivateKey) && !strings.Contains(server.OAuth.PrivateKey, "\n") {
		server.OAuth.PrivateKey = replace("--private-key", server.OAuth.PrivateKey, here)
	}
	if relative(server.Cwd) {
		server.Cwd = replace("--cwd", server.Cwd, here)
	}
	dir := server.Cwd
	if dir == "" {
		dir = here
	}
	isPath := strings.ContainsRune(server.Command, '/') || strings.ContainsRune(server.Command, filepath.Separator)
	// Below a directory that is known only when the entry is used, the command stays relative to it.
	if isPath && relative(server.Command) && filepath.IsAbs(dir) {
		server.Command = replace("the command", server.Command, dir)
	}
	return nil
}

// named returns the entry with its name and what it points at.
func (o *addOptions) named(cmd *cobra.Command, a *app, args []string) (config.Server, error) {
	server := config.Server{Transport: config.TransportAuto}
	fail := func(e *usageError) (config.Server, error) { return server, e }
	dash := cmd.ArgsLenAtDash()
	words := a.scan(cmd)
	if e := a.pastedLine(cmd); e != nil {
		return fail(e)
	}
	if o.url != "" {
		if len(args) != 1 || dash >= 0 {
			return fail(usagef("--url wants a name and nothing else").hint("mcpctl add NAME %s", toolargs.Quote(o.url)))
		}
		args = append(args, o.url)
	}
	switch {
	case dash < 0 && slices.ContainsFunc(args[:min(len(args), 2)], pasted.HasOtherScheme):
		i := slices.IndexFunc(args, pasted.HasOtherScheme)
		return fail(usagef("%q: the URL of a server begins with http:// or https://", args[i]))
	case dash == 0:
		return fail(usagef("the name of the server comes before --").hint("%s", a.corrected("--", "NAME", "--")))
	case dash > 1:
		return fail(usagef("only the name of the server stands before --, and %q is one too many", args[1]).hint("%s", usageLine(cmd)))
	case dash == 1 && len(args) == 1:
		return fail(usagef("no command after --").hint("mcpctl add %s -- COMMAND ARG…", toolargs.Quote(args[0])))
	case dash == 1 && startsAssigned(args[1]):
		e := usagef("%s is set with --env, before the --", strings.SplitN(args[1], "=", 2)[0])
		if corrected := a.assignedCommand(args); corrected != "" {
			e.hint("%s", corrected)
		}
		return fail(e)
	case dash == 1:
		server.Name, server.Command, server.Args, server.Transport = args[0], args[1], args[2:], config.TransportStdio
		return server, nil
	case len(args) == 0:
		return fail(usagef("no server named").hint("mcpctl add NAME URL").hint("mcpctl add NAME -- COMMAND ARG…"))
	case len(args) == 1 && pasted.IsURL(args[0]):
		return fail(usagef("the server needs a name").hint("%s", a.corrected(args[0], pasted.NameForURL(args[0]), toolargs.Quote(args[0]))))
	case len(args) == 1:
		name := toolargs.Quote(args[0])
		return fail(usagef("%s: no URL and no command given", name).
			hint("mcpctl add %s URL", name).hint("mcpctl add %s -- COMMAND ARG…", name))
	case len(args) == 2 && pasted.IsURL(args[1]):
		server.Name, server.URL = args[0], args[1]
		return server, nil
	case len(args) == 2 && pasted.IsURL(args[0]):
		swapped := []string{toolargs.Quote(args[1]), toolargs.Quote(args[0])}
		return fail(usagef("the name comes before the URL").hint("%s", a.correctedArguments(args, swapped)))
	case pasted.IsURL(args[1]):
		return fail(usagef("%q is one too many after the URL", args[2]).hint("%s", usageLine(cmd)))
	case len(args) == 2 && pasted.LooksLikeHost(args[1]):
		return fail(usagef("%q is not a URL: http:// or https:// is missing", args[1]).
			hint("%s", a.corrected(args[1], toolargs.Quote("https://"+args[1]))))
	default:
		return fail(usagef("the command of a server comes after --").hint("%s", a.addCommand(words)))
	}
}

// startsAssigned reports whether the first word of a command is an assignment, which only a shell understands.
func startsAssigned(word string) bool {
	_, _, ok := pasted.Assignment(word)
	return ok
}

// checkSecrets refuses values that look like secrets written out, with the line that keeps them out of the file.
func (o *addOptions) checkSecrets(a *app, server config.Server) error {
	found := slices.DeleteFunc(server.LiteralSecrets(), func(s config.LiteralSecret) bool { return strings.HasPrefix(s.Place, "args[") })
	if len(found) == 0 || o.allowLiteralSecret {
		return nil
	}
	words := slices.Clone(a.args)
	e := usagef("%s: a secret would be written into the file", found[0].Place)
	for _, secret := range found {
		key, name, _ := strings.Cut(secret.Place, ".")
		switch key {
		case "headers":
			value := secretReference(server.Name, name, server.Headers[name])
			e.hint("export %s=…", variableFor(server.Name, name))
			replaceValue(words, func(v string) (string, bool) {
				n, _, found := strings.Cut(v, ":")
				return name + ": " + value, found && strings.EqualFold(strings.TrimSpace(n), name)
			})
		case "env":
			e.hint("export %s=…", name)
			replaceValue(words, func(v string) (string, bool) {
				n, _, found := strings.Cut(v, "=")
				return name, found && n == name
			})
		case "oauth":
			variable := variableFor(server.Name, secret.Name)
			e.hint("export %s=…", variable)
			for _, k := range authKeys() {
				value := *k.value(server.OAuth)
				replaceValue(words, func(v string) (string, bool) { return "${" + variable + "}", k.key == secret.Place && v == value })
			}
		case "proxy":
			variable := variableFor(server.Name, secret.Name)
			e.hint("export %s=…", variable)
			replaceValue(words, func(v string) (string, bool) {
				return config.WithProxyPassword(v, "${"+variable+"}"), v == server.Proxy
			})
		default:
			variable := variableFor(server.Name, secret.Name)
			e.hint("export %s=…", variable)
			replaceValue(words, func(v string) (string, bool) { return withQuery(v, secret.Name, "${"+variable+"}"), pasted.IsURL(v) })
		}
	}
	return e.hint("%s", line(quoted(words))).hint("or, to save it as it is: --allow-literal-secret")
}

// replaceValue replaces the words for which change returns another, those behind an equals sign of a flag included.
func replaceValue(words []string, change func(string) (string, bool)) {
	for i, word := range words {
		flag, value, assigned := strings.Cut(word, "=")
		if !assigned || !strings.HasPrefix(flag, "--") {
			flag, value = "", word
		}
		if changed, ok := change(value); ok {
			words[i] = changed
			if flag != "" {
				words[i] = flag + "=" + changed
			}
		}
	}
}

// withQuery returns a URL with another value for a parameter of its query.
func withQuery(address, name, value string) string {
	base, query, _ := strings.Cut(address, "?")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(key); err == nil && decoded == name {
			pairs[i] = key + "=" + value
		}
	}
	return base + "?" + strings.Join(pairs, "&")
}

// check contacts the server and shows what was found; on a terminal the tools to use are chosen then. When it fails it
// returns the failure, unless a person at the terminal mends the entry, or wants it all the same. With --yes nobody is
// asked, and yes is not the answer: only --no-check saves what did not connect.
func (o *addOptions) check(ctx context.Context, a *app, server *config.Server, doc *addDocument) error {
	for {
		list, err := o.contact(ctx, a, *server, doc)
		if err == nil {
			a.pinIssuer(ctx, server)
			return o.chooseTools(ctx, a, server, list, doc)
		}
		if ctx.Err() != nil {
			return err
		}
		f, _ := classify(err, false)
		if !o.asks(a) || f.code == codeUsage && !o.helped {
			return &notSavedError{cause: err}
		}
		save, err := o.afterFailure(ctx, a, server, f)
		if err != nil || save {
			return err
		}
	}
}

// notSavedError is the failure of a check before an entry is saved.
type notSavedError struct{ cause error }

func (e *notSavedError) Error() string { return e.cause.Error() }
func (e *notSavedError) Unwrap() error { return e.cause }

// contact opens a session, shows what was found, and ends it again, so that nothing runs while somebody thinks.
func (o *addOptions) contact(ctx context.Context, a *app, server config.Server, doc *addDocument) (found toolList, err error) {
	stop := a.live("contacting " + server.Name)
	defer stop()
	a.quickDialer().ForLogin = a.beginsWithLogin(server)
	err = a.with(ctx, server, func(s *session.Supervisor) error {
		list, err := a.tools(ctx, s, server)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		count := len(list.tools)
		info := s.Stats().Info
		o.tellFilters(a, list)
		b := &doc.Server
		b.State, b.Tools, b.Problems = stateReady, &count, list.problems
		b.Era, b.ProtocolVersion = string(info.Era), info.ProtocolVersion
		b.ServerName, b.ServerVersion = info.ServerName, info.ServerVersion
		ms := info.Elapsed.Milliseconds()
		b.LatencyMS = &ms
		doc.Tools, doc.Session = list.names(), a.sessionBody()
		found = list
		if a.json() {
			return nil
		}
		if err := o.showFound(a, info, list); err != nil {
			return err
		}
		a.tellProblems(list)
		return nil
	})
	return found, err
}

// tellFilters says what --include and --exclude do that their writer may not have meant.
func (o *addOptions) tellFilters(a *app, list toolList) {
	if len(list.tools) == 0 && len(list.hidden) > 0 {
		a.warn(fmt.Sprintf("mcpctl: warning: --include and --exclude leave none of its %s\n", plural(len(list.hidden), "tool")))
	}
	var kept []string
	for _, name := range list.names() {
		if !(config.ToolFilter{Exclude: o.exclude}).Allows(name) && !slices.Contains(kept, toolargs.Quote(name)) {
			kept = append(kept, toolargs.Quote(name))
		}
	}
	if len(kept) > 0 {
		a.note("--exclude does not hold for what --include matches, so these stay: " + strings.Join(kept, ", "))
	}
}

func (o *addOptions) showFound(a *app, info session.Info, list toolList) error {
	screen := a.screen()
	who := strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
	if who == "" {
		who = "a server without a name"
	}
	first := fmt.Sprintf("found %s by %s, protocol %s (%s), in %s",
		render.OneLine(who), info.Transport, info.ProtocolVersion, info.Era, shortLatency(info.Elapsed))
	tools := "no tools"
	if n := len(list.tools); n > 0 {
		tools = plural(n, "tool") + ": " + strings.Join(list.names(), ", ")
	}
	if n := len(list.hidden); n > 0 {
		tools += fmt.Sprintf("; %d left out", n)
	}
	_, err := io.WriteString(a.out(), render.Cut(first, screen.Width)+"\n"+render.Cut(render.OneLine(tools), screen.Width)+"\n")
	return err
}
