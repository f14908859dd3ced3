package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// inheritAll is what --inherit-env means without a value.
const inheritAll = "all"

// demoName is the name under which the demonstration server is reached, unless an entry has it.
const demoName = "demo"

// entryFlags describe a server that is not configured, or override an entry for one run. For add they are the entry.
type entryFlags struct {
	headers        []string
	env            []string
	inheritEnv     string
	cwd            string
	transport      transportValue
	protocol       string
	connectTimeout durationValue
	timeout        durationValue
	maxTimeout     durationValue
	wait           durationValue
	sessionWait    durationValue
	skipPreflight  bool
	networkFlags
	authFlags
}

// serverFlags are the flags of a command that contacts servers.
type serverFlags struct {
	entryFlags
	stdio           string
	includeDisabled bool
	// command allows "-- COMMAND ARG…" in place of a server.
	command bool
}

func (f *entryFlags) register(flags *pflag.FlagSet) {
	f.registerEntry(flags)
	f.registerLimits(flags)
}

// share marks the flags that a function registers with an annotation, as those that several commands share.
func share(flags *pflag.FlagSet, key string, register func(*pflag.FlagSet)) {
	mine := pflag.NewFlagSet("", pflag.ContinueOnError)
	register(mine)
	mine.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[key] == nil {
			mark(f, key, "")
		}
		flags.AddFlag(f)
	})
}

// registerEntry registers the flags that say what a server is.
func (f *entryFlags) registerEntry(flags *pflag.FlagSet) {
	listVarP(flags, &f.headers, "header", "H", "send this HTTP `header`, 'Name: value'; repeatable")
	listVarP(flags, &f.env, "env", "e", "set `NAME=value` for the command, or pass on NAME; repeatable")
	flags.StringVar(&f.inheritEnv, "inherit-env", "", "pass on the whole environment, or only these `names`")
	flags.Lookup("inherit-env").NoOptDefVal = inheritAll
	flags.StringVar(&f.cwd, "cwd", "", "start the command in this directory `DIR`")
	flags.VarP(&f.transport, "transport", "t", "one of `auto`, http, sse, stdio")
	flags.StringVar(&f.protocol, "protocol", "", "use this protocol `version` (default auto)")
	f.registerNetwork(flags)
	f.registerAuth(flags)
	flags.BoolVar(&f.skipPreflight, "skip-preflight", false, "do not check the URL before the handshake")
}

// registerLimits registers the flags for the bounds on time.
func (f *entryFlags) registerLimits(flags *pflag.FlagSet) {
	flags.Var(&f.connectTimeout, "connect-timeout", "time limit for connecting (default 30s; 2m for npx, docker …)")
	flags.Var(&f.timeout, "timeout", "time limit for one request (default 5m)")
	flags.Var(&f.maxTimeout, "max-timeout", "time limit for one request even if it reports progress (default 3 times --timeout)")
	flags.Var(&f.wait, "wait", "how long to wait for a server that is starting (default 4s)")
	flags.Var(&f.sessionWait, "session-wait", "how long a request waits for a new session (default 15s)")
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	share(flags, sharedKey, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.stdio, "stdio", "", "start this `command` instead of naming a SERVER")
		f.entryFlags.register(flags)
		flags.BoolVar(&f.includeDisabled, "include-disabled", false, "use a disabled server anyway")
	})
}

// durationValue is a flag with a duration as in the configuration.
type durationValue struct{ time.Duration }

func (v *durationValue) Set(s string) error {
	d, err := config.ParseDuration(s)
	if err != nil {
		return err
	}
	v.Duration = d
	return nil
}

func (v *durationValue) String() string {
	if v.Duration == 0 {
		return ""
	}
	return v.Duration.String()
}

func (v *durationValue) Type() string { return "time" }

// transportValue is the flag --transport. It takes the names other tools have for streamable HTTP, too.
type transportValue string

func (v *transportValue) Set(s string) error {
	t, err := config.ParseTransport(s)
	if err != nil {
		return err
	}
	*v = transportValue(t)
	return nil
}

func (v *transportValue) String() string { return string(*v) }
func (v *transportValue) Type() string   { return "transport" }

// apply overrides what the flags that were given say, and notes that they said it.
func (f *entryFlags) apply(flags *pflag.FlagSet, server *config.Server) error {
	set := func(flag, key string, change func()) {
		if flags.Changed(flag) {
			change()
			server.Set(key, config.Source{Kind: "flag", Detail: "--" + flag})
		}
	}
	set("inherit-env", "inherit_env", func() { server.InheritEnv = inheritEnv(f.inheritEnv) })
	set("cwd", "cwd", func() { server.Cwd = f.cwd })
	set("transport", "transport", func() { server.Transport = config.Transport(f.transport) })
	set("protocol", "protocol", func() { server.Protocol = f.protocol })
	set("connect-timeout", "connect_timeout", func() { server.ConnectTimeout = f.connectTimeout.Duration })
	set("timeout", "timeout", func() { server.Timeout = f.timeout.Duration })
	set("max-timeout", "max_timeout", func() { server.MaxTimeout = f.maxTimeout.Duration })
	f.applyNetwork(set, server)
	if err := f.applyAuth(flags, set, server); err != nil {
		return err
	}
	set("wait", "wait", func() { server.Wait = f.wait.Duration })
	set("session-wait", "session_wait", func() { server.SessionWait = f.sessionWait.Duration })
	set("skip-preflight", "skip_preflight", func() { server.SkipPreflight = f.skipPreflight })
	for _, h := range f.headers {
		name, value, err := pasted.Header(h)
		if err != nil {
			return ofFlag("header", err)
		}
		pasted.SetHeader(server, name, value)
		server.Set("headers."+name, config.Source{Kind: "flag", Detail: "--header"})
	}
	for _, e := range f.env {
		name, value, err := pasted.Env(e)
		if err != nil {
			return ofFlag("env", err)
		}
		pasted.SetEnv(server, name, value)
		server.Set("env."+name, config.Source{Kind: "flag", Detail: "--env"})
	}
	return nil
}

// misfit returns an error if a flag was given that means nothing for this kind of server.
func (f *entryFlags) misfit(flags *pflag.FlagSet, server config.Server) error {
	if server.URL != "" {
		for _, flag := range []string{"env", "inherit-env", "cwd"} {
			if flags.Changed(flag) {
				return usagef("--%s: %s is a URL, and only a command has an environment and a working directory", flag, server.Name)
			}
		}
		if server.Transport == config.TransportStdio {
			return usagef("--transport stdio: %s is reached by URL", server.Name).hint("to start a command: --stdio \"COMMAND LINE\"")
		}
		return cmp.Or(f.networkFit(flags, server), f.authFit(flags, server))
	}
	if err := f.networkMisfit(flags, server); err != nil {
		return err
	}
	if err := f.authMisfit(flags, server); err != nil {
		return err
	}
	if flags.Changed("header") {
		return usagef("--header: %s is a command, and only a URL has headers", server.Name).hint("for a variable of its environment: --env NAME=value")
	}
	if t := server.Transport; flags.Changed("transport") && t != config.TransportStdio {
		return usagef("--transport %s: %s is a command, whose transport is stdio", t, server.Name)
	}
	return nil
}

func inheritEnv(value string) config.InheritEnv {
	switch strings.ToLower(value) {
	case inheritAll, "true":
		return config.InheritEnv{All: true}
	case "false", "":
		return config.InheritEnv{}
	}
	return config.InheritEnv{Names: strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })}
}

// loadConfig returns the configuration, read once.
func (a *app) loadConfig(ctx context.Context) (*config.Config, error) {
	if a.config != nil {
		return a.config, nil
	}
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	c, err := await(ctx, func() (*config.Config, error) {
		switch {
		case a.global.from != "":
			format, path, err := a.client()
			if err != nil {
				return nil, err
			}
			return config.LoadClient(path, format)
		case path == "-":
			return config.LoadReader(path, a.io.In)
		}
		defer spareCollector(path)()
		return config.Load(path)
	})
	if err != nil {
		return nil, err
	}
	a.config = c
	return c, nil
}

// largeFile is from what size on a configuration is read with few collections of garbage: it has more than a thousand entries,
// and what becomes of it grows to many times what the collector lets grow unasked.
const largeFile = 256 << 10

// spareCollector has garbage be collected once while a large file is read, if at all, until the function that it returns is
// called: nearly all that is made then stays, so the memory is the same, and looking for what does not takes a third of the time.
func spareCollector(path string) (restore func()) {
	if info, err := os.Stat(path); err != nil || info.Size() < largeFile {
		return func() {}
	}
	const seldom = 3000 // percent of what is there: at the earliest at 120 MB
	before := debug.SetGCPercent(seldom)
	return func() { debug.SetGCPercent(before) }
}

// await returns what fn does, or the cause of ctx when that ends first: a read of a terminal or a pipe cannot be
// stopped, so it is left behind.
func await[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := fn()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// configPath returns the configuration file's place.
func (a *app) configPath() (string, error) {
	if a.global.from != "" {
		_, path, err := a.client()
		return path, err
	}
	if a.global.config != "" {
		return a.global.config, nil
	}
	path, err := config.DefaultPath(a.lookup)
	if err != nil {
		return "", &configError{message: err.Error(), cause: err}
	}
	return path, nil
}

// editablePath is configPath for a command that writes.
func (a *app) editablePath() (string, error) {
	path, err := a.configPath()
	if err == nil && path == "-" {
		return "", usagef("--config -: standard input cannot be edited").hint("--config FILE")
	}
	return path, err
}

// resolve returns the one server that the words name, and the words after it. Nothing is contacted and no variable is
// expanded; the flags override what they say.
func (a *app) resolve(cmd *cobra.Command, f *serverFlags, args []string) (config.Server, []string, error) {
	server, rest, err := a.find(cmd, f, args)
	if err != nil {
		return config.Server{}, nil, err
	}
	server, err = a.override(cmd, f, server)
	if err != nil {
		return config.Server{}, nil, err
	}
	if server.Err != nil {
		return config.Server{}, nil, server.Err
	}
	return server, rest, nil
}

// resolveAll returns all servers that the words name; without words, those of the configuration. A disabled one is
// left out unless it is named or wanted. What is wrong with one entry is left in its Err.
func (a *app) resolveAll(cmd *cobra.Command, f *serverFlags, args []string) ([]config.Server, error) {
	if cmd.Flags().Changed("stdio") || cmd.ArgsLenAtDash() >= 0 {
		server, rest, err := a.find(cmd, f, args)
		if err != nil {
			return nil, err
		}
		if len(rest) > 0 {
			return nil, usagef("--stdio stands in place of SERVER, and %q is one too many", rest[0])
		}
		server, err = a.override(cmd, f, server)
		return []config.Server{server}, err
	}
	var servers []config.Server
	if len(args) == 0 {
		c, err := a.loadConfig(cmd.Context())
		if err != nil {
			return nil, err
		}
		for _, s := range c.Servers {
			if s.Enabled || f.includeDisabled {
				servers = append(servers, s.Clone())
			}
		}
	}
	seen := map[string]bool{}
	for _, word := range args {
		found, err := a.findSome(cmd.Context(), f, word)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if !seen[s.Name] {
				servers, seen[s.Name] = append(servers, s), true
			}
		}
	}
	for i, s := range servers {
		changed, err := a.override(cmd, f, s)
		if err != nil {
			return nil, err
		}
		servers[i] = changed
	}
	return servers, nil
}

// find returns the server of a command that takes one.
func (a *app) find(cmd *cobra.Command, f *serverFlags, args []string) (config.Server, []string, error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case a.global.from != "" && (f.stdio != "" || f.command && dash >= 0):
		return config.Server{}, nil, usagef("--from takes a server from a client, and a command is one by itself: choose one")
	case f.command && dash >= 0 && f.stdio != "":
		return config.Server{}, nil, usagef("--stdio and -- both start a command: choose one")
	case f.command && dash > 0:
		return config.Server{}, nil, usagef("-- COMMAND stands in place of SERVER, and %q is one too many", args[0])
	case f.command && dash == 0:
		if len(args) == 0 {
			return config.Server{}, nil, usagef("no command after --").hint("%s", usageLine(cmd))
		}
		return commandServer(args), nil, nil
	case !f.command && dash == 0 && f.stdio == "":
		return config.Server{}, nil, usagef("%s takes a command as --stdio \"COMMAND LINE\"", cmd.CommandPath()).hint("%s", usageLine(cmd))
	case f.stdio != "":
		server, err := stdioServer(f.stdio)
		return server, args, err
	case cmd.Flags().Changed("stdio"):
		return config.Server{}, nil, usagef("--stdio: the command line is empty")
	case len(args) == 0:
		return config.Server{}, nil, usagef("no server named").hint("%s", usageLine(cmd)).hint("mcpctl list shows the servers there are; demo is built in")
	}
	server, err := a.findOne(cmd.Context(), f, args[0])
	var e *usageError
	if errors.As(err, &e) && strings.ContainsAny(args[0], " \t") {
		e.hint("%s", a.corrected(args[0], "--stdio", toolargs.Quote(args[0])))
	}
	return server, args[1:], err
}

// findOne returns the server that one word names.
func (a *app) findOne(ctx context.Context, f *serverFlags, word string) (config.Server, error) {
	if server, held := a.shell.entry(word); held {
		return server, nil
	}
	if pasted.IsURL(word) {
		return urlServer(word), nil
	}
	if _, err := a.configPath(); err != nil && word == demoName {
		return a.demoServer(), nil // without a configuration no entry has that name
	}
	c, err := a.loadConfig(ctx)
	if err != nil {
		return config.Server{}, err
	}
	server, ok := c.Server(word)
	switch {
	case ok && !server.Enabled && !f.includeDisabled:
		return config.Server{}, &configError{
			server: word, message: "the server is disabled", hint: a.disabledHint(c, word),
		}
	case ok:
		return server, nil
	case word == demoName:
		return a.demoServer(), nil
	case strings.Contains(word, "://"):
		scheme, _, _ := strings.Cut(word, "://")
		return config.Server{}, usagef("%s: a server's URL begins with http:// or https://, not %s://", word, scheme)
	case strings.ContainsAny(word, " \t"):
		return config.Server{}, usagef("no server %q, and no name has spaces in it; a command goes into --stdio", word)
	case pasted.LooksLikeHost(word):
		return config.Server{}, usagef("no server %q", word).hint("for a URL: http://%s", word)
	case len(c.Servers) == 0 && len(a.elsewhere(ctx, word)) == 0:
		e := usagef("no server %q: there are none %s", word, a.configPlace())
		if c.Format == nil && config.ValidateName(word) == nil {
			e.hint("mcpctl %sadd %s URL", a.configWords(), toolargs.Quote(word)).
				hint("mcpctl %sadd %s -- COMMAND ARG…", a.configWords(), toolargs.Quote(word))
		}
		return config.Server{}, e
	}
	return config.Server{}, a.notFound(ctx, c, word)
}

// disabledHint says how to use a server that is disabled.
func (a *app) disabledHint(c *config.Config, word string) string {
	if c.Format != nil {
		return "for once: --include-disabled"
	}
	return "mcpctl " + a.configWords() + "enable " + toolargs.Quote(word) + ", or for once: --include-disabled"
}

// findSome returns the servers that a name or a glob means.
func (a *app) findSome(ctx context.Context, f *serverFlags, word string) ([]config.Server, error) {
	if pasted.IsURL(word) || !strings.ContainsAny(word, "*?[") {
		server, err := a.findOne(ctx, f, word)
		return []config.Server{server}, err
	}
	c, err := a.loadConfig(ctx)
	if err != nil {
		return nil, err
	}
	found, disabled, err := match(c, word)
	if err != nil {
		return nil, err
	}
	if f.includeDisabled {
		return append(found, disabled...), nil
	}
	if len(found) == 0 {
		return nil, usagef("%q matches only disabled servers: %s", word, strings.Join(names(disabled), ", ")).hint("--include-disabled")
	}
	return found, nil
}

// match returns the entries whose name a glob matches, in the order of the file. It is an error if there are none.
func match(c *config.Config, glob string) (enabled, disabled []config.Server, err error) {
	for _, s := range c.Servers {
		ok, err := path.Match(glob, s.Name)
		switch {
		case err != nil:
			return nil, nil, usagef("%q is not a glob: %s", glob, err)
		case ok && s.Enabled:
			enabled = append(enabled, s.Clone())
		case ok:
			disabled = append(disabled, s.Clone())
		}
	}
	if len(enabled)+len(disabled) == 0 {
		return nil, nil, usagef("no server matches %q", glob).hint("mcpctl list shows the servers there are")
	}
	return enabled, disabled, nil
}

// override applies the flags to a server. Whether the values are good is seen when they are expanded.
func (a *app) override(cmd *cobra.Command, f *serverFlags, server config.Server) (config.Server, error) {
	if server.Err != nil {
		return server, nil //nolint:nilerr // what is wrong with an entry is told by whoever uses it
	}
	if err := a.literalSecret(cmd.Flags(), server.Name); err != nil {
		return server, err
	}
	if err := f.apply(cmd.Flags(), &server); err != nil {
		return server, err
	}
	if err := f.misfit(cmd.Flags(), server); err != nil {
		return server, err
	}
	return server, nil
}

// urlServer is a server that is not configured. Its target is its name.
func urlServer(address string) config.Server {
	address = strings.TrimSpace(address) // what was copied from a page often has some around it
	scheme, _, _ := strings.Cut(address, "://")
	s := config.Server{Name: scheme + "://…", URL: address, Transport: config.TransportAuto, Enabled: true}
	if u, err := url.Parse(address); err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", "" // they may hold secrets, and a name is shown everywhere
		s.Name = u.String()
	}
	return s
}

// commandServer is a command that is not configured.
func commandServer(words []string) config.Server {
	s := config.Server{Command: words[0], Args: words[1:], Transport: config.TransportStdio, Enabled: true}
	s.Name = s.Target()
	return s
}

// stdioServer is a command line that is not configured. It is split as a shell would, and never given to one.
func stdioServer(text string) (config.Server, error) {
	words, err := pasted.Split(text)
	if err != nil {
		return config.Server{}, ofFlag("stdio", err)
	}
	if len(words) == 0 {
		return config.Server{}, usagef("--stdio: the command line is empty")
	}
	return commandServer(words), nil
}

// demoServer is the demonstration server: this program, as a child.
func (a *app) demoServer() config.Server {
	return config.Server{
		Name:      demoName,
		Command:   a.executable,
		Args:      []string{demoCommand},
		Transport: config.TransportStdio,
		Enabled:   true,
	}
}

// expand returns the server with its variables replaced. The secrets among the values are masked from now on.
func (a *app) expand(server config.Server) (config.Server, error) {
	expanded, secrets, err := server.Expand(a.environment())
	a.redact.Add(secrets...)
	if err != nil {
		if a.keyring.left() {
			return config.Server{}, context.Canceled // what could not be asked for is not missing
		}
		return config.Server{}, err
	}
	return expanded, nil
}

// dialer opens sessions for questions about a server's health.
func (a *app) dialer() *session.Dialer {
	a.dialers.Do(func() {
		a.fresh, a.quick = a.newDialer(a.unaskedAuthorizer), a.newDialer(a.authorizer)
		a.quick.CacheDir = config.CacheDir(a.lookup)
	})
	return a.fresh
}

// quickDialer opens sessions for those who want to use a server: what is remembered of it spares round trips.
func (a *app) quickDialer() *session.Dialer {
	a.dialer()
	return a.quick
}

func (a *app) newDialer(authorizer func(config.Server) session.Authorizer) *session.Dialer {
	d := &session.Dialer{
		ClientName:    "mcpctl",
		ClientVersion: a.build.version,
		Logger:        a.logger,
		Kill:          a.kill,
		Mask:          a.redact.String,
		LogDir:        config.LogDir(a.lookup),
		OAuth:         authorizer,
		OnWait: func(server string, wait time.Duration, why *session.Error) {
			asked := ""
			if why.RetryAfter > 0 {
				asked = ", as it asks"
			}
			a.note(fmt.Sprintf("%s: %s; waiting %s%s", render.OneLine(server), render.OneLine(why.Message), shortLatency(wait), asked))
		},
	}
	if a.trace != nil {
		d.Trace = a.trace
	}
	if a.hears() {
		a.logVerbose.Store(int32(a.global.verbose)) //nolint:gosec // nobody types so many
		d.OnNotification = a.notified
		if !a.listens {
			d.Listen = session.ListenNever
		}
	}
	return d
}

// supervise returns the supervisor of a server, which the caller closes with release. Nothing is contacted yet.
func (a *app) supervise(d *session.Dialer, server config.Server) (*session.Supervisor, error) {
	expanded, err := a.expand(server)
	if err != nil {
		return nil, err
	}
	a.warnUnverified(expanded)
	a.tellFloor(expanded)
	return session.NewSupervisor(d, expanded), nil
}

// release ends a server's session, in haste when nobody waits any more: after Ctrl-C, also one that comes only now, or when
// err is a limit that ran out.
func (a *app) release(ctx context.Context, server string, s *session.Supervisor, err error) {
	stop := context.AfterFunc(ctx, s.Hasten)
	defer stop()
	if session.ClassOf(err) == session.ClassTimeout {
		s.Hasten()
	}
	if err := s.Close(); err != nil {
		a.logger.InfoContext(ctx, "session not closed", "server", server, "error", err)
	}
}

// tellEnd tells, if somebody wants to know it all, what was odd about a session that is over.
func (a *app) tellEnd(server string, s *session.Supervisor) {
	if a.global.verbose == 0 {
		return
	}
	st := s.Stats()
	if n := st.Strays; n > 0 {
		a.note(fmt.Sprintf("%s: answers that belonged to no request, and were ignored: %d", render.OneLine(server), n))
	}
	if by := st.Ending.By; by == "sigterm" || by == "sigkill" {
		a.note(fmt.Sprintf("%s: the server did not end when its input did, and was ended with %s after %s",
			render.OneLine(server), strings.ToUpper(by), shortLatency(st.Ending.Elapsed)))
	}
}

// tellFloor tells of a connect limit that is not the one that was asked for.
func (a *app) tellFloor(server config.Server) {
	if limit := session.LimitsFor(server).Connect; limit.Note != "" && server.ConnectTimeout > 0 {
		a.note(fmt.Sprintf("%s: %s: %s", render.OneLine(server.Name), limit.Name, limit.Note))
	}
}

// with opens a server for one command and runs fn. The output tells of its session.
func (a *app) with(ctx context.Context, server config.Server, fn func(*session.Supervisor) error) (err error) {
	if held, err := a.shell.with(ctx, server, fn); held {
		return err
	}
	s, err := a.supervise(a.quickDialer(), server)
	if err != nil {
		return err
	}
	defer func() {
		a.release(ctx, server.Name, s, err)
		a.tellEnd(server.Name, s)
		err = a.needsLogin(server, err)
	}()
	a.used = s
	if err := a.askForLogs(ctx, s); err != nil {
		return err
	}
	return fn(s)
}
