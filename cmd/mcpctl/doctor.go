package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// mostKills bounds the drill: each kill takes up to a server's start.
const mostKills = 1000

// The range of a soak: below it nothing is learnt, and above it a machine does that better that starts it anew each day.
const (
	leastSoak = time.Second
	mostSoak  = 24 * time.Hour
)

type doctorOptions struct {
	kills    int
	soak     durationValue
	parallel int
	only     []string
	skip     []string
	strict   bool
	list     bool
	explain  string
	serverFlags
}

func newDoctorCmd(a *app) *cobra.Command {
	o := doctorOptions{parallel: mostChecks, serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Find out why a server does not work",
		Long: `Walk the road that a request takes to a server, check by check, and tell what
was seen at each step. The first broken step is the cause; what depends on it is
skipped. Without SERVER all enabled servers are examined.

Nothing is changed at a server: sessions are opened, and ended again. With
--kill-session the session of the examination, and no other, is killed on
purpose, and one harmless request must come through all the same: a list, or
the call that the key health of the entry names, if its tool says that it only
reads. --soak goes on with it for a while: eight requests at a time, and a kill
at random moments. No request may be lost, or answered twice.

The exit code is 0 if nothing failed, 1 if anything did or could not be judged,
and 2 if there was nothing to examine.`,
		Example: `  mcpctl doctor notes
  mcpctl doctor --from cursor github
  mcpctl doctor --config .mcp.json
  mcpctl doctor demo --kill-session
  mcpctl doctor prod --soak 10m
  mcpctl doctor https://search.example/mcp -o json
  mcpctl doctor --stdio "npx -y @example/notes ~/notes"
  mcpctl doctor --explain session.open`,
		ValidArgsFunction: a.completeServers(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	flags := cmd.Flags()
	flags.Var((*numberValue)(&o.kills), "kill-session", "kill the session, `N` times, and see it recover")
	flags.Lookup("kill-session").NoOptDefVal = "1"
	flags.Var(&o.soak, "soak", "make requests and kill the session for this `time`, 1s to 24h")
	flags.Var((*numberValue)(&o.parallel), "parallel", "examine at most `N` servers at a time")
	flags.StringArrayVar(&o.only, "only", nil, "make only this `check`, or stage; repeatable")
	flags.StringArrayVar(&o.skip, "skip", nil, "leave this `check`, or stage, out; repeatable")
	flags.BoolVar(&o.strict, "strict", false, "let warnings fail, too")
	flags.BoolVar(&o.list, "list-checks", false, "list the checks")
	flags.StringVar(&o.explain, "explain", "", "explain this `check`")
	o.register(flags)
	return cmd
}

func (o *doctorOptions) run(cmd *cobra.Command, a *app, args []string) error {
	switch {
	case o.list:
		return o.listChecks(cmd, a)
	case cmd.Flags().Changed("explain"):
		return o.explainCheck(cmd, a)
	case o.kills < 0 || o.kills > mostKills || cmd.Flags().Changed("kill-session") && o.kills == 0:
		return usagef("--kill-session: %d: the number of kills is from 1 to %d", o.kills, mostKills)
	case cmd.Flags().Changed("soak") && (o.soak.Duration < leastSoak || o.soak.Duration > mostSoak):
		return usagef("--soak: %s: a soak takes from 1s to 24h", o.soak.Duration)
	case o.parallel < 1:
		return usagef("--parallel: %d is not a number of servers", o.parallel)
	}
	checks, unmatched := probe.Select(probe.Checks(), o.only, o.skip)
	if len(unmatched) > 0 {
		return usagef("no check or stage is called %q", unmatched[0]).hint("mcpctl doctor --list-checks")
	}
	if len(checks) == 0 {
		return usagef("--only and --skip leave no check").hint("mcpctl doctor --list-checks")
	}
	wanted := o.wanted()
	if err := o.recoveryWanted(wanted); err != nil {
		return err
	}
	servers, err := a.resolveAll(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		e := usagef("there is no enabled server to examine")
		for _, offer := range a.offers(cmd.Context()) {
			e.hint("%s", offer)
		}
		return e.hint("mcpctl add NAME URL, or: mcpctl doctor demo")
	}
	ctx := cmd.Context()
	servers, stop, err := o.withDemo(ctx, a, servers)
	if err != nil {
		return err
	}
	defer stop()

	begin := time.Now()
	reports := o.examine(ctx, a, servers, checks)
	elapsed := time.Since(begin)
	if ctx.Err() == nil && !applied(reports, wanted) {
		return usagef("none of the selected checks applies: %s", strings.Join(wanted, ", ")).hint("mcpctl doctor --list-checks")
	}
	failed := false
	for i := range reports {
		if o.strict {
			probe.Strict(&reports[i])
		}
		v := reports[i].Verdict
		failed = failed || v == probe.Fail || v == probe.Unknown || reports[i].Incomplete
	}
	if failed {
		a.unread = codeFailed
	}
	// What is known is shown, also when somebody did not want to wait for the rest.
	err = o.write(context.WithoutCancel(ctx), a, reports, elapsed)
	switch {
	case ctx.Err() != nil:
		a.warn("mcpctl: error: interrupted\n")
		return reportedError(codeInterrupted)
	case err != nil:
		return err
	case failed:
		return reportedError(codeFailed)
	}
	return nil
}

// recoveryWanted compares the selection of checks with the flags that the stage recovery needs.
func (o *doctorOptions) recoveryWanted(wanted []string) error {
	const soak = "recovery.soak"
	drill := func(id string) bool { return strings.HasPrefix(id, "recovery.") && id != soak }
	idle := func(id string) bool { return drill(id) && o.kills == 0 || id == soak && o.soak.Duration == 0 }
	switch {
	case o.kills > 0 && !slices.ContainsFunc(wanted, drill):
		return usagef("--kill-session and the selection of checks contradict each other: the drill is the stage recovery")
	case o.soak.Duration > 0 && !slices.Contains(wanted, soak):
		return usagef("--soak and the selection of checks contradict each other: the soak is %s", soak)
	case len(o.only) > 0 && !slices.ContainsFunc(wanted, func(id string) bool { return !idle(id) }):
		return usagef("the checks of the stage recovery need --kill-session, or --soak")
	}
	return nil
}

// wanted returns the ids of the checks that the flags select, without those that they need.
func (o *doctorOptions) wanted() []string {
	var ids []string
	for _, c := range probe.Checks() {
		named := func(words []string) bool { return slices.Contains(words, c.ID) || slices.Contains(words, c.Stage()) }
		if (len(o.only) == 0 || named(o.only)) && !named(o.skip) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// applied reports whether any of the wanted checks had something to look at, or would have, but for a broken one before.
func applied(reports []probe.Report, wanted []string) bool {
	for _, r := range reports {
		if r.Verdict == probe.Fail {
			return true
		}
		for _, res := range r.Results {
			if res.Status != probe.Skip && slices.Contains(wanted, res.ID) {
				return true
			}
		}
	}
	return false
}

// withDemo replaces the demonstration server by two: one over each transport.
func (o *doctorOptions) withDemo(ctx context.Context, a *app, servers []config.Server) ([]config.Server, func(), error) {
	stop := func() {}
	var out []config.Server
	for _, s := range servers {
		if s.Name != demoName || s.Command != a.executable || len(s.Args) == 0 || s.Args[0] != demoCommand {
			out = append(out, s)
			continue
		}
		server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{Options: demo.Options{Version: a.build.version}})
		if err != nil {
			return nil, stop, err
		}
		stop = func() {
			if err := server.Close(); err != nil {
				a.logger.InfoContext(ctx, "demo server not closed", "error", err)
			}
		}
		overHTTP := s.Clone()
		overHTTP.Command, overHTTP.Args, overHTTP.Env, overHTTP.Cwd = "", nil, nil, ""
		overHTTP.URL, overHTTP.Transport, overHTTP.Name = server.URL(), config.TransportAuto, demoName+" (http)"
		s.Name = demoName + " (stdio)"
		out = append(out, s, overHTTP)
	}
	return out, stop, nil
}

// examine asks all servers at once, bounded, and returns the reports in their order.
func (o *doctorOptions) examine(ctx context.Context, a *app, servers []config.Server, checks []probe.Check) []probe.Report {
	for _, s := range servers {
		a.warnUnverified(s)
	}
	path := ""
	if a.config != nil {
		path = a.config.Path
	}
	const longestName = 24 // of a server beside the counts of a soak, on 80 columns
	examined, soaked := servers[0].Name, render.Cut(render.OneLine(servers[0].Name), longestName)
	if len(servers) > 1 {
		examined = fmt.Sprintf("%d servers", len(servers))
		soaked = examined
	}
	targets := make([]*probe.Target, len(servers))
	for i, s := range servers {
		targets[i] = &probe.Target{
			Server: s, Lookup: a.lookup, Home: a.home, Dialer: a.dialer(), Kills: o.kills, Soak: o.soak.Duration,
			OnSecrets: func(secrets []string) { a.redact.Add(secrets...) },
		}
		if fromFile(s) {
			targets[i].ConfigPath = path
		}
	}
	stop := a.liveOf(func() string {
		if counts := soaking(targets); counts != "" {
			return "soaking " + soaked + ": " + counts
		}
		return "examining " + examined
	})
	defer stop()
	reports := make([]probe.Report, len(servers))
	slots := make(chan struct{}, o.parallel)
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			reports[i] = probe.Run(ctx, t, checks)
		})
	}
	all.Wait()
	return reports
}

// soaking tells how the soaks of all servers stand together, "" if none has begun.
func soaking(targets []*probe.Target) string {
	var sum probe.SoakCounts
	begun := false
	for _, t := range targets {
		c, ok := t.Soaking()
		begun = begun || ok
		sum.Calls += c.Calls
		sum.Kills += c.Kills
		sum.Recovered += c.Recovered
		sum.Drops += c.Drops
		sum.Lost += c.Lost
	}
	switch {
	case !begun:
		return ""
	case sum.Kills == 0 && sum.Drops > 0:
		return fmt.Sprintf("%d calls, connections dropped %d times, %d lost", sum.Calls, sum.Drops, sum.Lost)
	}
	return fmt.Sprintf("%d calls, %d kills, %d recovered, %d lost", sum.Calls, sum.Kills, sum.Recovered, sum.Lost)
}

// fromFile reports whether an entry came from the configuration file.
func fromFile(s config.Server) bool {
	for _, source := range s.Sources {
		if source.Kind == "entry" {
			return true
		}
	}
	return false
}

func (o *doctorOptions) write(ctx context.Context, a *app, reports []probe.Report, elapsed time.Duration) error {
	if a.json() {
		return a.print(ctx, render.DoctorDocument(reports, elapsed))
	}
	options := render.DoctorOptions{Verbose: a.global.verbose > 0}
	if !options.Verbose {
		options.Next = o.next(a, reports)
	}
	return render.Doctor(a.out(), a.screen(), reports, options)
}

// next returns the line to type for the whole story of what failed, "" if nothing did.
func (o *doctorOptions) next(a *app, reports []probe.Report) string {
	i := slices.IndexFunc(reports, func(r probe.Report) bool { return r.Verdict == probe.Fail })
	if i < 0 {
		return ""
	}
	words := []string{"mcpctl"}
	if len(reports) == 1 { // the same line
		for _, w := range a.args {
			words = append(words, toolargs.Quote(w))
		}
		if at := slices.Index(words, "--"); at >= 0 {
			return strings.Join(slices.Insert(words, at, "-v"), " ")
		}
		return strings.Join(append(words, "-v"), " ")
	}
	if a.global.config != "" {
		words = append(words, "--config", toolargs.Quote(a.global.config))
	}
	if a.global.from != "" {
		return strings.Join(append(words, "doctor", "-v", "--from", a.global.from, toolargs.Quote(reports[i].Name)), " ")
	}
	return strings.Join(append(words, "doctor", "-v", toolargs.Quote(reports[i].Name)), " ")
}

// checkBody is a check inside a JSON document.
type checkBody struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Why    string   `json:"why"`
	Remedy string   `json:"remedy"`
	Needs  []string `json:"needs"`
}

func (o *doctorOptions) listChecks(cmd *cobra.Command, a *app) error {
	if a.json() {
		doc := struct {
			Version int         `json:"version"`
			Checks  []checkBody `json:"checks"`
		}{Version: documentVersion}
		for _, c := range probe.Checks() {
			doc.Checks = append(doc.Checks, newCheckBody(c))
		}
		return a.print(cmd.Context(), doc)
	}
	table := render.Table{Columns: []render.Column{{Title: "check", Fixed: true}, {Title: "passes when"}}}
	for _, c := range probe.Checks() {
		table.Rows = append(table.Rows, []render.Cell{{Text: c.ID, Style: render.Strong}, {Text: c.Title}})
	}
	return table.Write(a.out(), a.screen())
}

func newCheckBody(c probe.Check) checkBody {
	return checkBody{ID: c.ID, Title: c.Title, Why: oneParagraph(c.Why), Remedy: oneParagraph(c.Remedy), Needs: append([]string{}, c.Needs...)}
}

func oneParagraph(text string) string { return strings.Join(strings.Fields(text), " ") }

func (o *doctorOptions) explainCheck(cmd *cobra.Command, a *app) error {
	var ids []string
	for _, c := range probe.Checks() {
		ids = append(ids, c.ID)
		if c.ID != o.explain {
			continue
		}
		if a.json() {
			return a.print(cmd.Context(), struct {
				Version int       `json:"version"`
				Check   checkBody `json:"check"`
			}{documentVersion, newCheckBody(c)})
		}
		width := a.screen().Width
		if width == 0 {
			width = 80
		}
		text := fmt.Sprintf("%s: %s\n\n%s\n\nTo mend it: %s\n", c.ID, c.Title, render.Wrap(oneParagraph(c.Why), width, ""),
			strings.TrimPrefix(render.Wrap("To mend it: "+oneParagraph(c.Remedy), width, ""), "To mend it: "))
		if len(c.Needs) > 0 {
			text += "\nIt needs: " + strings.Join(c.Needs, ", ") + "\n"
		}
		_, err := io.WriteString(a.out(), text)
		return err
	}
	err := usagef("no check is called %q", o.explain)
	for _, near := range config.Near(o.explain, ids) {
		err = err.hint("mcpctl doctor --explain %s", near)
	}
	if len(err.hints) == 0 {
		err = err.hint("mcpctl doctor --list-checks")
	}
	return err
}
