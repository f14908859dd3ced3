package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// A shell holds sessions open, and carries out lines. A line is a command of mcpctl's own, made by newRootCmd and run in
// this process: what differs is that the word for the server is put in when the line leaves it out, and that a.with hands
// out the session that is held. So a command needs to know nothing of the shell, and what it can do here follows from its
// form: VERB SERVER is a verb, VERB [SERVER...] is one that takes the server in use unless it is given others.
//
// One line is carried out at a time, and all use one app; what belongs to one line is set anew before each.

type shellOptions struct {
	serverFlags
	interactionFlags
	keepGoing bool
}

func newShellCmd(a *app) *cobra.Command {
	o := shellOptions{serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "shell [SERVER] | shell -- COMMAND [ARG...]",
		Short: "Keep sessions open, and run commands in them",
		Long: `Open a session with a server, keep it open, and run commands on it: the usual
commands, without mcpctl and SERVER. A line is split into words as by a shell,
but nothing in it is expanded; JSON needs no quotes. A lost session is replaced,
and a line says so.

On a terminal there is line editing, completion of commands, tools, arguments,
resources and prompts (Tab), and history (Ctrl-R), which leaves out secrets and
lines that begin with a space. Ctrl-C stops what is running, Ctrl-D leaves the
shell. "use NAME" opens another server or switches back to one, "_ --jq EXPR"
filters the last result again, and "help" lists the commands.

If stdin is not a terminal, it is run as a script, line by line: one command per
line, unless a quote or a backslash continues it, and # begins a comment. With
-o json each command prints one compact document per line, with "line". The
first failure ends the script with its exit code; --keep-going runs all lines,
and exits with the code of the first that failed.

The flags for the server apply to the one that is opened first. All other flags
apply to each line that does not set them itself.`,
		Example: `  mcpctl shell demo
  mcpctl shell notes -o json < commands.txt
  printf 'call add a=1 b=2\nping -c 1\n' | mcpctl shell demo
  mcpctl shell -- npx -y @example/notes ~/notes`,
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.keepGoing, "keep-going", false, "run all lines of a script, even after a failure")
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

func (o *shellOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	terminal := a.io.StdinTTY() && (a.io.StderrTTY() || a.io.StdoutTTY())
	if !terminal && a.global.config == "-" {
		return usagef("standard input cannot be both the configuration and the script")
	}
	if !terminal && a.json() && a.global.jq == "" {
		whole := a.io.Out
		defer func() { a.io.Out = &lineDocument{w: whole} }() // what is wrong with the shell itself is a line, too
	}
	o.held = true
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	var first *config.Server
	if len(args) > 0 || cmd.Flags().Changed("stdio") || cmd.ArgsLenAtDash() >= 0 {
		server, rest, err := a.resolve(cmd, &o.serverFlags, args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0:
			return usagef("%s takes one server, and got %q, too", cmd.CommandPath(), rest[0]).
				hint("%s", usageLine(cmd)).hint("in the shell, use %s opens another", toolargs.Quote(rest[0]))
		}
		first = &server
	}
	sh := newShell(a, cmd.Flags())
	sh.keepGoing, sh.talking = o.keepGoing, terminal
	if terminal {
		sh.edit()
	}
	defer sh.close(ctx)
	if first != nil {
		if _, err := sh.use(ctx, *first); err != nil {
			return err
		}
	}
	if terminal {
		return sh.converse(ctx)
	}
	return sh.script(ctx)
}

// shellState is the state between lines.
type shellState struct {
	a         *app
	pool      *session.Pool
	keepGoing bool
	// talking is set when a person types the lines.
	talking bool
	// base are the global flags, and logger and args what else a line begins with.
	base   globalOptions
	logger *slog.Logger
	args   []string
	// defaults are the flags of the shell that hold for all lines.
	defaults []*pflag.Flag
	// out is standard output as it was before the first line.
	out io.Writer
	// number is that of the line, in a script. over is set when the shell is to end after it.
	number int
	over   bool

	mu sync.Mutex
	// current is the name of the server in use, "" for none.
	current string
	// held are the entries of the servers, before their variables were replaced, in the order in which they were opened.
	held []config.Server
	// told is the generation of each server's session of which the last line could tell.
	told map[string]int
	// levels are the log levels that the servers were asked for.
	levels map[string]string

	// last is the document of the last result, and lost says why there is none.
	last []byte
	lost string

	// verbs are the commands that a line can begin with, and whether they take the server in use.
	verbs map[string]argument
	// offered is what servers offer, for completion.
	offered *offered
	// editing reads the lines of a person, nil in a script.
	editing *prompt.LineEditor
	history prompt.HistoryFile
	// err is standard error as it was before.
	err io.Writer
	// trunk are the commands for completion, grown when they are first needed.
	grow  sync.Once
	trunk *cobra.Command
	// stopEvents ends the goroutine that tells of changes.
	stopEvents func()
}

// newShell makes a shell of the app that the command shell was begun with.
func newShell(a *app, flags *pflag.FlagSet) *shellState {
	sh := &shellState{a: a, base: a.global, logger: a.logger, args: a.args, out: a.io.Out, told: map[string]int{}, levels: map[string]string{}}
	if a.global.json { // so that a line can say -o text
		sh.base.json, sh.base.output = false, formatJSON
	}
	var kinds interactionFlags
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	kinds.register(known)
	registerBrowserOn(known, new(loginFlags))
	known.VisitAll(func(f *pflag.Flag) {
		if mine := flags.Lookup(f.Name); mine != nil && mine.Changed {
			sh.defaults = append(sh.defaults, mine)
		}
	})
	d := a.quickDialer()
	sh.offered = newOffered()
	// A line may want to hear what the shell itself was not begun to hear. It also has sessions over HTTP keep the stream
	// open on which servers say that something changed.
	d.OnNotification = func(server string, n session.Notification) {
		a.notified(server, n)
		sh.offered.hear(server, n.Method)
	}
	sh.pool = session.NewPool(d)
	a.shell = sh
	root := newCommands(a, "")
	sh.extend(root)
	a.global = sh.base
	sh.verbs = verbsOf(root)
	return sh
}

// close ends all sessions.
func (sh *shellState) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, sh.pool.Hasten)
	defer stop()
	if sh.stopEvents != nil {
		sh.stopEvents()
	}
	supervisors := map[string]*session.Supervisor{}
	for _, s := range sh.pool.Status() {
		if held, ok := sh.pool.Server(s.Server); ok {
			supervisors[s.Server] = held
		}
	}
	if err := sh.pool.Close(); err != nil {
		sh.a.logger.InfoContext(ctx, "sessions not closed", "error", err)
	}
	for _, name := range slices.Sorted(maps.Keys(supervisors)) {
		sh.a.tellEnd(name, supervisors[name])
	}
	a := sh.a
	a.shell, a.io.Out, a.args, a.used = nil, sh.out, sh.args, nil
	a.global, a.filter = sh.base, nil
	if sh.err != nil {
		a.io.Err = sh.err
	}
}

// use opens a server, or goes back to one, and makes it the one in use.
func (sh *shellState) use(ctx context.Context, server config.Server) (*session.Supervisor, error) {
	a := sh.a
	name := server.Name
	if s, ok := sh.pool.Server(name); ok {
		if entry, held := sh.entry(name); held && sameEntry(entry, server) {
			sh.setCurrent(name)
			sh.pool.Attach()
			stop := a.live("opening " + name)
			defer stop()
			_, err := s.Session(ctx)
			return s, err
		}
	}
	expanded, err := a.expand(server)
	if err != nil {
		return nil, err
	}
	a.warnUnverified(expanded)
	a.tellFloor(expanded)
	expanded.Enabled = true // or it would not have been found
	if sh.stopEvents == nil {
		sh.stopEvents = sh.tellEvents()
	}
	s := sh.pool.Add(expanded)
	stop := a.live("opening " + name)
	_, err = sh.pool.Open(ctx, name)
	stop()
	a.used = s
	if err != nil {
		sh.forget(name)
		return nil, a.needsLogin(server, err)
	}
	sh.mu.Lock()
	sh.held = slices.DeleteFunc(sh.held, func(h config.Server) bool { return h.Name == name })
	sh.held = append(sh.held, server.Clone())
	sh.told[name] = 0
	sh.current = name
	sh.mu.Unlock()
	sh.offered.forget(name)
	return s, nil
}

// forget holds a server no longer.
func (sh *shellState) forget(name string) {
	sh.pool.Remove(name)
	sh.offered.forget(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.held = slices.DeleteFunc(sh.held, func(h config.Server) bool { return h.Name == name })
	delete(sh.told, name)
	delete(sh.levels, name)
	if sh.current == name {
		sh.current = ""
		if n := len(sh.held); n > 0 {
			sh.current = sh.held[n-1].Name
		}
	}
}

func (sh *shellState) setCurrent(name string) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.current = name
}

// inUse returns the name of the server in use, "" for none.
func (sh *shellState) inUse() string {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.current
}

// supervisor returns that of the server in use, nil for none.
func (sh *shellState) supervisor() *session.Supervisor {
	s, _ := sh.pool.Server(sh.inUse())
	return s
}

// entry returns the entry of a server that is held.
func (sh *shellState) entry(name string) (config.Server, bool) {
	if sh == nil {
		return config.Server{}, false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, h := range sh.held {
		if h.Name == name {
			return h.Clone(), true
		}
	}
	return config.Server{}, false
}

// names returns the names of the servers that are held.
func (sh *shellState) names() []string {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return names(sh.held)
}

// sameEntry reports whether two entries are of one server, reached in one way. Their limits may differ.
func sameEntry(a, b config.Server) bool {
	bare := func(s config.Server) config.Server {
		s = s.Clone()
		s.ConnectTimeout, s.Timeout, s.MaxTimeout, s.Wait, s.SessionWait = 0, 0, 0, 0, 0
		s.Sources, s.Err = nil, nil
		return s
	}
	return reflect.DeepEqual(bare(a), bare(b)) //nolint:govet // the errors have been left out
}

// with runs fn on the session of a server that is held, within the limits that the line has for it. It reports whether
// there is one. A nil shell holds none.
func (sh *shellState) with(ctx context.Context, server config.Server, fn func(*session.Supervisor) error) (held bool, err error) {
	entry, held := sh.entry(server.Name)
	if !held {
		return false, nil
	}
	s, held := sh.pool.Server(server.Name)
	if !held {
		return false, nil
	}
	if !sameEntry(entry, server) {
		return true, usagef("the session with %s is open already, and the flags for a server are for its opening", server.Name).
			hint("use %s FLAGS opens it anew", toolargs.Quote(server.Name))
	}
	limited := s.Server()
	limited.ConnectTimeout, limited.Timeout, limited.MaxTimeout = server.ConnectTimeout, server.Timeout, server.MaxTimeout
	limited.Wait, limited.SessionWait, limited.Sources = server.Wait, server.SessionWait, server.Sources
	before := s.Limits()
	s.SetLimits(session.LimitsFor(limited))
	defer s.SetLimits(before)
	sh.a.used = s
	if err := sh.askForLogs(ctx, s); err != nil {
		return true, err
	}
	return true, sh.a.needsLogin(server, fn(s))
}

// askForLogs asks a server for the log messages that the line wants, if others were wanted before.
func (sh *shellState) askForLogs(ctx context.Context, s *session.Supervisor) error {
	name, level := s.Server().Name, sh.a.logsFrom()
	if sh.levels[name] == level {
		return nil
	}
	sh.levels[name] = level
	return sh.a.askForLogs(ctx, s)
}

// news leaves out of what there is to tell of a session the recoveries of which a line before has told.
func (sh *shellState) news(stats session.Stats, s *session.Supervisor) session.Stats {
	if sh == nil || stats.Recovery == nil {
		return stats
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if told, held := sh.told[s.Server().Name]; held && stats.Recovery.NewGeneration <= told {
		stats.Recovered, stats.Recovery = false, nil
	}
	return stats
}

// mostKept is how large a result can be that is kept for _, in bytes: those for people are smaller.
const mostKept = 16 << 20

// keep keeps the document of a result, for _. A nil shell keeps nothing.
func (sh *shellState) keep(doc any) {
	if sh == nil {
		return
	}
	sh.last, sh.lost = nil, ""
	raw, err := render.Marshal(doc)
	switch {
	case err != nil:
		sh.lost = err.Error()
	case len(raw) > mostKept:
		sh.lost = fmt.Sprintf("the last result has %d MB, and at most %d MB are kept", len(raw)>>20, mostKept>>20)
	default:
		sh.last = bytes.Clone(raw)
	}
}

// tellEvents tells of changes of the sessions, a line each, until stop is called.
func (sh *shellState) tellEvents() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	events := sh.pool.Events(ctx)
	var told sync.WaitGroup
	told.Go(func() {
		known := map[string]knownTools{}
		for e := range events {
			sh.tellEvent(ctx, e, known)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		told.Wait()
	})
}

// toolsLimit bounds the question what became of the tools: nobody waits for the answer.
const toolsLimit = 10 * time.Second

// knownTools are the tools of a server that were told of last: their names, nil for none yet, and all of them.
type knownTools struct {
	names []string
	items []byte
}

func (sh *shellState) tellEvent(ctx context.Context, e session.Event, known map[string]knownTools) {
	defer sh.redraw()
	name := render.OneLine(e.Server)
	switch r := e.Recovery; {
	case r != nil && r.OldGeneration > 0 && r.Cause == session.CauseAskedFor:
		sh.tell(fmt.Sprintf("%s: a fresh session, opened in %s", name, shortLatency(r.Elapsed)))
	case r != nil && r.OldGeneration > 0:
		sh.tell(fmt.Sprintf("%s: the session was lost (%s) and replaced in %s", name, render.OneLine(r.Cause), shortLatency(r.Elapsed)))
	case e.State == session.StateParked && e.From != e.State && e.Generation > 0:
		sh.tell(fmt.Sprintf("%s: not reached: %s; it is tried again now and then, and by reconnect", name, render.OneLine(e.Reason)))
	case e.State == session.StateNeedsAuth && e.From != e.State && e.Generation > 0:
		sh.tell(fmt.Sprintf("%s: wants authorization: %s", name, render.OneLine(e.Reason)))
	}
	if !sh.talking || !e.ToolsChanged && (e.State != session.StateReady || known[e.Server].names != nil) {
		return
	}
	s, ok := sh.pool.Server(e.Server)
	if !ok {
		return
	}
	limited, cancel := context.WithTimeout(ctx, toolsLimit)
	defer cancel()
	list, err := s.Tools(limited)
	if err != nil {
		return // whoever uses it is told
	}
	now := knownTools{names: []string{}}
	for _, t := range parseTools(list.Items) {
		now.names = append(now.names, t.name)
	}
	for _, item := range list.Items {
		now.items = append(append(now.items, item...), '\n')
	}
	if before := known[e.Server]; before.names != nil {
		if changes := difference(before.names, now.names); changes != "" {
			sh.tell(name + ": its tools changed: " + changes)
		} else if e.ToolsChanged && !bytes.Equal(before.items, now.items) { // some servers say so for each tool that they add
			sh.tell(name + ": its tools changed, and have the same names")
		}
	}
	known[e.Server] = now
}

// mostNamed is how many tools a line names.
const mostNamed = 6

// difference names what came and went, "" if nothing did.
func difference(before, now []string) string {
	var changes []string
	for _, name := range now {
		if !slices.Contains(before, name) {
			changes = append(changes, "+ "+render.OneLine(name))
		}
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			changes = append(changes, "- "+render.OneLine(name))
		}
	}
	if more := len(changes) - mostNamed; more > 1 {
		changes = append(changes[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(changes, ", ")
}

// tell writes a line beside what is going on.
func (sh *shellState) tell(text string) {
	_, _ = io.WriteString(sh.a.errOut(), "mcpctl: note: "+text+"\n")
}

// redraw brings the prompt up to date.
func (sh *shellState) redraw() {
	if sh.editing != nil {
		sh.editing.Redraw()
	}
}
