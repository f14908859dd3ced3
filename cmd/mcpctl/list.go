package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// The states of a server in a list.
const (
	stateReady     = "ready"
	stateNeedsAuth = "needs_auth"
	stateFailed    = "failed"
	stateDisabled  = "disabled"
	// stateUnknown is that of a server that had not answered when somebody did not want to wait any longer.
	stateUnknown = "unknown"
)

type listOptions struct {
	check     bool
	parallel  int
	enabled   bool
	disabled  bool
	transport []string
	serverFlags
}

func newListCmd(a *app) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [NAME...]",
		Short: "List the servers, and check that they work",
		Long: `List the servers of the configuration, or those that are named; quoted globs
match several. --check connects to all of them at once, each within its own
limits, and exits with 1 if any of them fails. How many are checked at a time
depends on the processors and the open files of this machine; --parallel sets it
(see mcpctl help limits).`,
		Example: `  mcpctl list
  mcpctl list --check 'prod-*'
  mcpctl list --from cursor
  mcpctl list --check -o json`,
		Annotations:       listFormats(),
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	cmd.Aliases = []string{"ls"}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.check, "check", false, "connect to the servers, and show their state")
		o.registerList(cmd)
		flags.BoolVar(&o.enabled, "enabled", false, "show only enabled servers")
		flags.BoolVar(&o.disabled, "disabled", false, "show only disabled servers")
		flags.StringSliceVarP(&o.transport, "transport", "t", nil, "show only servers with this `transport`; repeatable")
	})
}

// filter returns the servers that the flags select, and what is wrong with the flags.
func (o *listOptions) filter(a *app, servers []config.Server) ([]config.Server, error) {
	if o.enabled && o.disabled {
		return nil, usagef("--enabled and --disabled: choose one").hint("without either, all are listed")
	}
	var transports []config.Transport
	for _, word := range o.transport {
		transport, err := config.ParseTransport(word)
		if err != nil {
			return nil, usagef("--transport: %s", err)
		}
		transports = append(transports, transport)
	}
	selected := slices.DeleteFunc(servers, func(s config.Server) bool {
		return o.enabled && !s.Enabled || o.disabled && s.Enabled ||
			len(transports) > 0 && !slices.Contains(transports, s.Transport)
	})
	if len(selected) == 0 && len(servers) > 0 && !a.json() {
		a.note("no server is like that")
	}
	return selected, nil
}

// newStatusCmd is the name that others have for list --check.
func newStatusCmd(a *app) *cobra.Command {
	o := listOptions{check: true}
	cmd := &cobra.Command{
		Use:               "status [NAME...]",
		Short:             "Check that the servers work, like list --check",
		Example:           "  mcpctl status",
		Hidden:            true,
		Annotations:       listFormats(),
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(_ *pflag.FlagSet) {
		o.registerList(cmd)
	})
}

func (o *listOptions) registerList(cmd *cobra.Command) {
	share(cmd.Flags(), sharedKey, o.registerLimits)
	cmd.Flags().BoolVar(&o.includeDisabled, "include-disabled", false, "also connect to disabled servers")
	cmd.Flags().Var((*numberValue)(&o.parallel), "parallel", "check at most `N` servers at a time (default: see mcpctl help limits)")
}

// listDocument is the output of list.
type listDocument struct {
	Version int          `json:"version"`
	Config  string       `json:"config"`
	Servers []serverBody `json:"servers"`
}

// serverBody is a server inside a JSON document.
type serverBody struct {
	Name             string `json:"name"`
	Transport        string `json:"transport"`
	Target           string `json:"target"`
	Enabled          bool   `json:"enabled"`
	ConnectTimeoutMS int64  `json:"connect_timeout_ms"`
	TimeoutMS        int64  `json:"timeout_ms"`
	Auth             string `json:"auth"`
	// Authorization is how it stands, nil if there is nothing to tell.
	Authorization *authorizationBody `json:"authorization,omitempty"`

	State           string     `json:"state,omitempty"`
	Era             string     `json:"era,omitempty"`
	ProtocolVersion string     `json:"protocol_version,omitempty"`
	ServerName      string     `json:"server_name,omitempty"`
	ServerVersion   string     `json:"server_version,omitempty"`
	Tools           *int       `json:"tools,omitempty"`
	LatencyMS       *int64     `json:"latency_ms,omitempty"`
	Problems        []string   `json:"problems,omitempty"`
	Error           *errorBody `json:"error,omitempty"`
}

// newServerBody describes an entry that has not been contacted.
func newServerBody(s config.Server) serverBody {
	limits := session.LimitsFor(s)
	b := serverBody{
		Name:             s.Name,
		Transport:        string(s.Transport),
		Target:           target(s),
		Enabled:          s.Enabled,
		ConnectTimeoutMS: limits.Connect.Value.Milliseconds(),
		TimeoutMS:        limits.Request.Value.Milliseconds(),
		Auth:             authOf(s),
	}
	if s.Err != nil {
		f, _ := classify(s.Err, false)
		body := f.body()
		b.State, b.Error = stateFailed, &body
	}
	return b
}

// target returns what an entry points at, without secrets; an entry that is broken may point at nothing.
func target(s config.Server) string {
	if s.URL == "" && s.Command == "" {
		return ""
	}
	return s.RedactedTarget()
}

// authOf returns how the server is authorized, as the entry has it: a command has no need of it.
func authOf(s config.Server) string {
	switch {
	case s.URL == "":
		return "none"
	case s.Auth == "":
		return "auto"
	}
	return string(s.Auth)
}

func (o *listOptions) run(cmd *cobra.Command, a *app, args []string) error {
	c, err := a.loadConfig(cmd.Context())
	if err != nil {
		return err
	}
	servers, err := named(c, args)
	if missing, ok := errors.AsType[*config.NotFoundError](err); ok {
		return a.notFound(cmd.Context(), c, missing.Name)
	}
	if err != nil {
		return err
	}
	// Most often none is given, and there may be thousands of servers.
	given := false
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
	if given {
		servers = slices.Clone(servers)
	}
	if servers, err = o.filter(a, servers); err != nil {
		return err
	}
	a.tellNotes(c.Path, c.Notes)
	for i := range servers {
		if given && servers[i].Err == nil {
			if err := o.apply(cmd.Flags(), &servers[i]); err != nil {
				return err
			}
		}
	}
	if cmd.Flags().Changed("parallel") {
		if err := checkParallel(o.parallel); err != nil {
			return err
		}
	}
	if o.check {
		return o.runCheck(cmd, a, servers)
	}
	return a.showServers(cmd.Context(), servers)
}

// named returns the entries that names and globs mean, disabled ones too; without any the entries of c themselves, which are
// not to be changed.
func named(c *config.Config, words []string) ([]config.Server, error) {
	if len(words) == 0 {
		return c.Servers, nil
	}
	var servers []config.Server
	seen := map[string]bool{}
	for _, word := range words {
		found := []config.Server{}
		if server, ok := c.Server(word); ok {
			found = append(found, server)
		} else {
			if !strings.ContainsAny(word, "*?[") {
				return nil, c.NotFound(word)
			}
			enabled, disabled, err := match(c, word)
			if err != nil {
				return nil, err
			}
			found = append(enabled, disabled...)
		}
		for _, s := range found {
			if !seen[s.Name] {
				servers, seen[s.Name] = append(servers, s), true
			}
		}
	}
	return servers, nil
}

// showServers writes a list of entries that have not been contacted.
func (a *app) showServers(ctx context.Context, servers []config.Server) error {
	if a.json() {
		doc := listDocument{Version: documentVersion, Config: a.config.Path, Servers: []serverBody{}}
		for _, s := range servers {
			b := newServerBody(s)
			b.Authorization = a.standing(ctx, s)
			doc.Servers = append(doc.Servers, b)
		}
		return a.print(ctx, doc)
	}
	if a.global.output == formatName {
		return a.printNames(names(servers))
	}
	if len(servers) == 0 {
		a.note("no servers " + a.configPlace())
		return nil
	}
	t := render.Table{Columns: []render.Column{
		{Title: "name", Fixed: true},
		{Title: "transport", Fixed: true},
		{Title: "target"},
		{Title: "connect", Fixed: true},
		{Title: "request", Fixed: true},
		{Title: "state", Fixed: true},
	}}
	// The column is the last, and there only if it tells anything: it has to leave room for the others.
	standings, tells, now := make([]*authorizationBody, len(servers)), false, time.Now()
	for i, s := range servers {
		standings[i] = a.standing(ctx, s)
		tells = tells || standings[i] != nil
	}
	if tells {
		t.Columns = append(t.Columns, render.Column{Title: "auth", Fixed: true})
	}
	for i, s := range servers {
		limits := session.LimitsFor(s)
		state, style := "enabled", render.Plain
		switch {
		case s.Err != nil:
			state, style = "invalid", render.Bad
		case !s.Enabled:
			state, style = stateDisabled, render.Faint
		}
		t.Rows = append(t.Rows, []render.Cell{
			{Text: s.Name, Style: render.Strong},
			{Text: string(s.Transport)},
			{Text: target(s)},
			{Text: shortDuration(limits.Connect.Value), Style: render.Faint},
			{Text: shortDuration(limits.Request.Value), Style: render.Faint},
			{Text: state, Style: style},
		})
		if tells {
			t.Rows[i] = append(t.Rows[i], render.Cell{Text: standings[i].words(now), Style: standings[i].style()})
		}
	}
	if err := t.Write(a.out(), a.screen()); err != nil {
		return err
	}
	for _, s := range servers {
		if s.Err != nil {
			f, _ := classify(s.Err, false)
			a.warn("mcpctl: warning: " + render.OneLine(f.said) + "\n")
		}
	}
	a.tellUnreadable(standings...)
	return nil
}

func (a *app) printNames(list []string) error {
	var b strings.Builder
	for _, name := range list {
		b.WriteString(render.OneLine(name) + "\n")
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// overview is what mcpctl shows when it is called without a command.
func (a *app) overview(cmd *cobra.Command) error {
	c, err := a.loadConfig(cmd.Context())
	if err != nil {
		return err
	}
	if a.json() || len(c.Servers) > 0 {
		if err := a.showServers(cmd.Context(), c.Servers); err != nil || a.json() || !a.io.StdoutTTY() {
			return err
		}
		_, err := fmt.Fprintf(a.out(), "\nNext: mcpctl list --check, mcpctl tools %s%s, or mcpctl help\n", a.configWords(), toolargs.Quote(c.Servers[0].Name))
		return err
	}
	lines := []string{"No servers yet. Add one: mcpctl add NAME URL, or try: mcpctl tools demo"}
	if offers := a.offers(cmd.Context()); len(offers) > 0 {
		lines = append(append(lines, offers...), "To keep them here: mcpctl import")
	}
	_, err = io.WriteString(a.out(), strings.Join(lines, "\n")+"\n")
	return err
}

// checked is what contacting a server has shown.
type checked struct {
	server config.Server
	state  string
	info   session.Info
	tools  int
	// problems are what is wrong with the list of tools.
	problems []string
	latency  time.Duration
	failure  *failure
}

func (o *listOptions) runCheck(cmd *cobra.Command, a *app, servers []config.Server) error {
	ctx := cmd.Context()
	want := func(s config.Server) bool { return s.Enabled || o.includeDisabled }
	if !slices.ContainsFunc(servers, want) {
		if len(servers) == 0 {
			return usagef("nothing to check: no servers %s", a.configPlace()).hint("mcpctl add %sNAME URL", a.configWords())
		}
		return usagef("nothing to check: %s is disabled", strings.Join(names(servers), ", ")).hint("--include-disabled")
	}
	results := make([]checked, len(servers))
	var contacted []int
	for i, s := range servers {
		if want(s) {
			contacted = append(contacted, i)
		} else {
			results[i] = checked{server: s, state: stateDisabled}
		}
	}
	progress := examined{verb: "checking", servers: len(contacted)}
	stop := a.liveOf(progress.line)
	chosen := make([]config.Server, len(contacted))
	for n, i := range contacted {
		chosen[n] = servers[i]
	}
	eachServer(a.crowd(o.parallel, listEffort()), chosen, func(n int) {
		c := a.check(ctx, chosen[n])
		results[contacted[n]] = c
		progress.count(chosen[n].Name, c.failed())
	})
	stop()
	if slices.ContainsFunc(results, func(c checked) bool { return c.failure != nil }) {
		a.unread = codeFailed
	}
	// What is known is shown, also when somebody did not want to wait for the rest.
	err := a.showChecked(context.WithoutCancel(ctx), results)
	switch {
	case ctx.Err() != nil:
		unknown := 0
		for _, r := range results {
			if r.state == stateUnknown {
				unknown++
			}
		}
		a.warn(fmt.Sprintf("mcpctl: error: interrupted: %s had not answered\n", plural(unknown, "server")))
		return reportedError(codeInterrupted)
	case err != nil:
		return err
	case a.unread != codeOK:
		return reportedError(a.unread)
	}
	return nil
}

// check opens a session as call does, and lists the tools.
func (a *app) check(ctx context.Context, server config.Server) checked {
	c := checked{server: server, state: stateReady}
	start := time.Now()
	err := server.Err
	if err == nil {
		err = a.look(ctx, &c)
	}
	c.latency = time.Since(start)
	if f, failed := classify(err, ctx.Err() != nil); failed {
		c.failure, c.state = &f, stateFailed
		switch f.Class {
		case classAuth:
			c.state = stateNeedsAuth
		case classInterrupted:
			c.state = stateUnknown
		}
	}
	return c
}

func (a *app) look(ctx context.Context, c *checked) (err error) {
	s, err := a.supervise(a.dialer(), c.server)
	if err != nil {
		return err
	}
	defer func() {
		a.release(ctx, c.server.Name, s, err)
		err = a.needsLogin(c.server, err)
	}()
	list, err := listTools(ctx, s, c.server.Name)
	if err != nil {
		return err
	}
	c.info, c.problems = s.Stats().Info, list.Problems
	for _, t := range parseTools(list.Items) {
		if c.server.Tools.Allows(t.name) {
			c.tools++
		}
	}
	return nil
}

func (a *app) showChecked(ctx context.Context, results []checked) error {
	switch {
	case a.json():
		doc := listDocument{Version: documentVersion, Config: a.config.Path, Servers: []serverBody{}}
		for _, r := range results {
			b := r.body()
			b.Authorization = a.standing(ctx, r.server)
			doc.Servers = append(doc.Servers, b)
		}
		return a.print(ctx, doc)
	case a.global.output == formatName:
		var ready []string
		for _, r := range results {
			if r.state == stateReady {
				ready = append(ready, r.server.Name)
			}
		}
		return a.printNames(ready)
	}
	t := render.Table{Columns: []render.Column{
		{Title: "name", Fixed: true},
		{Title: "state", Fixed: true},
		{Title: "era", Fixed: true},
		{Title: "tools", Fixed: true, Right: true},
		{Title: "latency", Fixed: true, Right: true},
		{Title: "detail"},
	}}
	var failed []string
	for _, r := range results {
		t.Rows = append(t.Rows, r.row())
		if r.failed() {
			failed = append(failed, toolargs.Quote(r.server.Name))
		}
	}
	if err := t.Write(a.out(), a.screen()); err != nil {
		return err
	}
	if a.screen().Terminal {
		a.tellFailures(results)
	}
	for _, r := range results {
		if r.failure != nil && r.failure.login != "" {
			a.warn("mcpctl: hint: " + r.failure.login + "\n")
			failed = slices.DeleteFunc(failed, func(name string) bool { return name == toolargs.Quote(r.server.Name) })
		}
	}
	a.hintDoctor(failed)
	return nil
}

// mostHinted servers stand in a hint: more are no line that anybody copies.
const mostHinted = 10

// hintDoctor names the command that finds out why servers fail. Their names are quoted.
func (a *app) hintDoctor(failed []string) {
	if len(failed) == 0 {
		return
	}
	first := failed[:min(len(failed), mostHinted)]
	a.warn("mcpctl: hint: mcpctl doctor " + a.configWords() + strings.Join(first, " ") + "\n")
	if more := len(failed) - len(first); more > 0 {
		a.note(fmt.Sprintf("these are the first of %d that failed", len(failed)))
	}
}

// mostFailures is how many failures have a line of their own below the table: as many as leave the table in sight.
const mostFailures = 5

// tellFailures tells what a terminal's table had no room for, a line each: the evidence is what doctor is for.
func (a *app) tellFailures(results []checked) {
	told := 0
	for _, r := range results {
		if !r.failed() {
			continue
		}
		if told++; told <= mostFailures {
			a.warn(render.Cut("mcpctl: error: "+render.OneLine(r.failure.said), a.errWidth()) + "\n")
		}
	}
	if more := told - mostFailures; more > 0 {
		a.note(plural(more, "more failure") + "; -o json tells of all in full")
	}
}

// failed reports whether it is known that something is wrong with the server.
func (c checked) failed() bool { return c.failure != nil && c.state != stateUnknown }

func (c checked) body() serverBody {
	b := newServerBody(c.server)
	b.State = c.state
	switch {
	case c.failure != nil:
		body := c.failure.body()
		b.Error = &body
	case c.state == stateReady:
		ms := c.latency.Milliseconds()
		b.Tools, b.LatencyMS = &c.tools, &ms
		b.Era, b.ProtocolVersion = string(c.info.Era), c.info.ProtocolVersion
		b.ServerName, b.ServerVersion = c.info.ServerName, c.info.ServerVersion
		b.Problems = c.problems
	}
	return b
}

func (c checked) row() []render.Cell {
	name := render.Cell{Text: c.server.Name, Style: render.Strong}
	switch {
	case c.state == stateUnknown:
		return []render.Cell{name, {Text: c.state, Style: render.Faint}}
	case c.failure != nil:
		return []render.Cell{
			name,
			{Text: c.state, Style: render.Bad},
			{},
			{},
			{Text: shortLatency(c.latency), Style: render.Faint},
			{Text: c.failure.Class + ": " + c.failure.Message},
		}
	case c.state == stateDisabled:
		return []render.Cell{name, {Text: c.state, Style: render.Faint}}
	}
	detail := strings.TrimSpace(c.info.ServerName + " " + c.info.ServerVersion)
	if len(c.problems) > 0 {
		detail += "; " + plural(len(c.problems), "problem") + " in the list of tools"
	}
	return []render.Cell{
		name,
		{Text: c.state, Style: render.Good},
		{Text: string(c.info.Era)},
		{Text: strconv.Itoa(c.tools)},
		{Text: shortLatency(c.latency)},
		{Text: detail, Style: render.Faint},
	}
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// configPlace says where the configuration is.
func (a *app) configPlace() string {
	if a.config.Path == "-" {
		return "on standard input"
	}
	return "in " + a.config.Path
}

// shortDuration writes a limit as people do: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// shortLatency writes a measured time with the digits that matter.
func shortLatency(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
