package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/crowd"
	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/baseline"
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
	kills     int
	soak      durationValue
	parallel  int
	only      []string
	skip      []string
	strict    bool
	list      bool
	explain   string
	operators operatorFlags
	outputs   doctorOutputs
	pipeline  pipelineOptions
	serverFlags
}

func newDoctorCmd(a *app) *cobra.Command {
	o := doctorOptions{serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Find out why a server does not work",
		Long: `Follow the path of a request to a server, check by check, and report what was
seen at each step. The first check that fails is the cause; the checks that
depend on it are skipped. Without SERVER, all enabled servers are checked.

Nothing is changed at a server, except by calls that you name: doctor opens
sessions and ends them again. --kill-session kills doctor's own session on
purpose, and checks that one harmless request still succeeds: a list, or the
health call of the entry if its tool declares that it only reads. --soak keeps
doing this for a while: eight requests at a time, and kills at random moments.
No request may be lost or answered twice.

For CI: the calls under the key smoke of an entry, and those in --smoke FILE (a
list of {name, server, tool, args, expect}, in YAML or JSON), are made and their
answers checked; expect has the keys equals, contains, matches, jq, is_error and
max_ms. --write-baseline saves the definitions of all tools, prompts and
resources in a file, and --baseline compares with it: a change that breaks calls
fails, and a changed description is a warning (see --fail-on). --deadline ends
the whole run; what is not known by then is reported as unknown. The default
deadline is the sum of the limits of all checks and calls, usually minutes: it
stops what hangs, not what is only slow.

-o writes the report as text, json, junit, markdown (for a pull request), github
(annotations, and the step summary), tap, or prometheus (for a textfile
collector). --report also writes reports to files, each in one step. If the run
itself fails, they are still valid documents that say so.

The exit code is 0 if nothing failed, 1 if something failed or could not be
determined, and 2 if there was nothing to check.`,
		Example: `  mcpctl doctor notes
  mcpctl doctor --from cursor github
  mcpctl doctor --config .mcp.json
  mcpctl doctor demo --kill-session
  mcpctl doctor prod --soak 10m
  mcpctl doctor https://search.example/mcp -o json
  mcpctl doctor --report junit=r.xml --report json=r.json -o github
  mcpctl doctor --stdio "npx -y @example/notes ~/notes"
  mcpctl doctor prod --smoke smoke.yaml --baseline prod.json --deadline 2m
  mcpctl doctor --explain session.open`,
		Annotations:       doctorFormats(),
		ValidArgsFunction: a.completeServers(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.Var((*numberValue)(&o.kills), "kill-session", "kill the session `N` times, and check that it recovers (default 1)")
		flags.Lookup("kill-session").NoOptDefVal = "1"
		flags.Var(&o.soak, "soak", "make requests and kill sessions at random for this `time`, 1s to 24h")
		flags.Var((*numberValue)(&o.parallel), "parallel", "check at most `N` servers at a time (default: see mcpctl help limits)")
		listVar(flags, &o.only, "only", "run only this `check` or stage; repeatable")
		listVar(flags, &o.skip, "skip", "skip this `check` or stage; repeatable")
		flags.BoolVar(&o.strict, "strict", false, "treat warnings as failures")
		o.pipeline.register(flags)
		flags.BoolVar(&o.list, "list-checks", false, "list the checks")
		flags.StringVar(&o.explain, "explain", "", "explain this `check`")
		o.operators.register(flags)
		o.outputs.register(flags)
		o.register(flags)
	})
}

func (o *doctorOptions) run(cmd *cobra.Command, a *app, args []string) error {
	if err := o.outputs.open(a, cmd.Flags(), o.list || cmd.Flags().Changed("explain")); err != nil {
		return err
	}
	switch {
	case o.list:
		return o.listChecks(cmd, a)
	case cmd.Flags().Changed("explain"):
		return o.explainCheck(cmd, a)
	case o.kills < 0 || o.kills > mostKills || cmd.Flags().Changed("kill-session") && o.kills == 0:
		return usagef("--kill-session: %d: the number of kills is from 1 to %d", o.kills, mostKills)
	case cmd.Flags().Changed("soak") && (o.soak.Duration < leastSoak || o.soak.Duration > mostSoak):
		return usagef("--soak: %s: a soak takes from 1s to 24h", o.soak.Duration)
	case cmd.Flags().Changed("parallel"):
		if err := checkParallel(o.parallel); err != nil {
			return err
		}
	}
	if err := o.operators.check(cmd.Flags()); err != nil {
		return err
	}
	if err := o.pipeline.check(cmd.Flags(), o.soak.Duration); err != nil {
		return err
	}
	servers, err := a.resolveAll(cmd, &o.serverFlags, args)
	if a.config != nil && (len(args) == 0 || err != nil) {
		a.tellNotes(a.config.Path, a.config.Notes)
	}
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		return a.nothingToExamine(cmd.Context())
	}
	ctx := cmd.Context()
	if err := o.pipeline.addCalls(ctx, a, servers); err != nil {
		return err
	}
	servers, stop, err := o.withDemo(ctx, a, servers)
	if err != nil {
		return err
	}
	defer stop()
	if servers, err = o.operators.addresses(ctx, a, servers); err != nil {
		return err
	}
	if err := o.pipeline.loadBaselines(ctx, servers); err != nil {
		return err
	}
	checks, wanted, err := o.selected(servers)
	if err != nil {
		return err
	}

	begin := time.Now()
	together := a.crowd(o.parallel, o.effort())
	budget := func(s config.Server) time.Duration { return probe.Budget(o.target(a, s), checks) }
	bounded, cancel := o.pipeline.bound(ctx, servers, budget, together.Fits(len(servers)))
	defer cancel()
	found := o.examine(bounded, a, together, servers, checks, wanted)
	elapsed := time.Since(begin)
	if bounded.Err() == nil && !found.applied {
		return usagef("none of the selected checks applies: %s", strings.Join(wanted, ", ")).hint("mcpctl doctor --list-checks")
	}
	if found.failed {
		a.unread = codeFailed
	}
	// What is known is shown, also when somebody did not want to wait for the rest.
	doc := render.DoctorRun{Reports: found.reports, Begin: begin, Elapsed: elapsed, Strict: o.strict}
	if ctx.Err() != nil {
		doc.Failure = doctorFailure(newFailure(classInterrupted, "interrupted"))
	}
	err = o.write(context.WithoutCancel(ctx), cmd, a, doc)
	switch {
	case ctx.Err() != nil:
		a.warn("mcpctl: error: interrupted\n")
		return reportedError(codeInterrupted)
	case err != nil:
		return err
	case bounded.Err() != nil:
		a.warn("mcpctl: error: " + context.Cause(bounded).Error() + "\n")
	}
	kept, err := o.pipeline.keep(a, servers, found)
	switch {
	case err != nil:
		return err
	case found.failed, !kept:
		return reportedError(codeFailed)
	}
	return nil
}

// selected returns the checks that are made, and the IDs of those that the flags ask for. A selection that leaves nothing to
// check, or leaves out what another flag asks for, is an error.
func (o *doctorOptions) selected(servers []config.Server) (checks []probe.Check, wanted []string, err error) {
	all := probe.WithRows(probe.Checks(), servers, slices.Collect(maps.Values(o.pipeline.known)))
	checks, unmatched := probe.Select(all, o.only, o.skip)
	if len(unmatched) > 0 {
		err := usagef("no check or stage is called %q", unmatched[0])
		if strings.Contains(unmatched[0], ",") {
			return nil, nil, err.hint("give the flag once for each of them")
		}
		if near := probe.Near(all, unmatched[0]); len(near) > 0 {
			err = err.hint("did you mean %s?", orList(near))
		}
		return nil, nil, err.hint("mcpctl doctor --list-checks")
	}
	if len(checks) == 0 {
		return nil, nil, usagef("--only and --skip leave no check").hint("mcpctl doctor --list-checks")
	}
	wanted = probe.Wanted(all, o.only, o.skip)
	if err := o.recoveryWanted(wanted); err != nil {
		return nil, nil, err
	}
	return checks, wanted, o.pipeline.selectionFits(wanted, servers)
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

// applies reports whether any of the wanted checks had something to look at, or would have, but for a broken one before.
func applies(r probe.Report, wanted []string) bool {
	return r.Verdict == probe.Fail || slices.ContainsFunc(r.Results, func(res probe.Result) bool {
		return res.Status != probe.Skip && slices.Contains(wanted, res.Check)
	})
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
		server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{
			Options:   demo.Options{Version: a.build.version},
			Stateless: s.Protocol == "2026-07-28", // without it the SDK speaks only the versions before over HTTP
		})
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

// target returns a server as what is examined.
func (o *doctorOptions) target(a *app, s config.Server) *probe.Target {
	t := &probe.Target{
		Server: s, Environment: a.environment(), Dialer: a.dialer(), Kills: o.kills, Soak: o.soak.Duration,
		Connections: o.operators.connections, Idle: o.operators.idle.Duration,
		OnSecrets: func(secrets []string) { a.redact.Add(secrets...) },
		Rows:      probe.Selection{Only: o.only, Skip: o.skip},
	}
	if s.URL != "" {
		t.LoginLine = a.serverLine("login", s)
	}
	o.pipeline.aim(a, t)
	if fromFile(s) && a.config != nil {
		t.ConfigPath = a.config.Path
	}
	return t
}

// checkParallel refuses what is not a number of servers.
func checkParallel(n int) error {
	if n < 1 {
		return usagef("--parallel: %d is not a number of servers", n)
	}
	return nil
}

// effort is that of an examination: twenty milliseconds of a processor, and the connections on which the session is tried, which
// take 60 KiB each.
func (o *doctorOptions) effort() crowd.Effort {
	const usual = 8 // connections; see session.affinity
	tried := o.operators.connections
	if tried == 0 {
		tried = usual
	}
	return crowd.Effort{Files: filesToList + tried + 1, PerCPU: 8, Most: 192}
}

// findings are what was found about all servers, in their order.
type findings struct {
	reports *render.Reports
	// offers are what the servers offer, as far as that is known and wanted.
	offers []baseline.Offer

	mu sync.Mutex
	// targets are the servers under examination, nil for the others: a target takes some kilobytes.
	targets []*probe.Target
	// applied is set when a check that is wanted had something to look at, and failed when the run does.
	applied, failed bool
}

// examine asks all servers at once, bounded.
func (o *doctorOptions) examine(ctx context.Context, a *app, together crowd.Crowd, servers []config.Server, checks []probe.Check, wanted []string) *findings {
	for _, s := range servers {
		a.warnUnverified(s)
	}
	const longestName = 24 // of a server beside the counts of a soak, on 80 columns
	soaked := render.Cut(render.OneLine(servers[0].Name), longestName)
	if len(servers) > 1 {
		soaked = fmt.Sprintf("%d servers", len(servers))
	}
	n := len(servers)
	found := &findings{reports: render.NewReports(n), offers: make([]baseline.Offer, n), targets: make([]*probe.Target, n)}
	done := examined{verb: "examining", servers: n, only: servers[0].Name}
	stop := a.liveOf(func() string {
		if counts := found.soaking(); counts != "" {
			return "soaking " + soaked + ": " + counts
		}
		return done.line()
	})
	defer stop()
	eachServer(together, servers, func(i int) {
		t := o.target(a, servers[i])
		found.begin(i, t)
		report := probe.Run(ctx, t, checks)
		applied := applies(report, wanted)
		if o.strict {
			probe.Strict(&report)
		}
		failed := report.Verdict == probe.Fail || report.Verdict == probe.Unknown || report.Incomplete
		found.offers[i], _ = t.Captured()
		found.reports.Put(i, report)
		found.end(i, applied, failed)
		done.count(servers[i].Name, failed)
		a.forgetUnasked(servers[i])
	})
	return found
}

// begin notes that the server of a number is being examined.
func (f *findings) begin(i int, t *probe.Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets[i] = t
}

// end notes what came of it. The target of a soak stays: its counts do.
func (f *findings) end(i int, applied, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied, f.failed = f.applied || applied, f.failed || failed
	if _, soaked := f.targets[i].Soaking(); !soaked {
		f.targets[i] = nil
	}
}

// soaking tells how the soaks of all servers stand together, "" if none has begun.
func (f *findings) soaking() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum probe.SoakCounts
	begun := false
	for _, t := range f.targets {
		if t == nil {
			continue
		}
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

// write writes the run in all formats that are wanted.
func (o *doctorOptions) write(ctx context.Context, cmd *cobra.Command, a *app, run render.DoctorRun) error {
	run.Options = render.DoctorOptions{Verbose: a.global.verbose > 0, Next: o.next(cmd.Flags(), a, run.Reports)}
	return o.outputs.write(ctx, a, run)
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
	wanted := probe.CheckOf(o.explain)
	for _, c := range probe.Checks() {
		ids = append(ids, c.ID)
		if c.ID != wanted {
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
		text := fmt.Sprintf("%s: %s\n\n%s\n\nFix: %s\n", c.ID, c.Title, render.Wrap(oneParagraph(c.Why), width, ""),
			strings.TrimPrefix(render.Wrap("Fix: "+oneParagraph(c.Remedy), width, ""), "Fix: "))
		if len(c.Needs) > 0 {
			text += "\nIt needs: " + strings.Join(c.Needs, ", ") + "\n"
		}
		_, err := io.WriteString(a.out(), text)
		return err
	}
	err := usagef("no check is called %q", o.explain)
	if stage := ofStage(ids, o.explain); len(stage) > 0 {
		return usagef("%s is a stage; its checks are %s", o.explain, strings.Join(stage, ", ")).hint("mcpctl doctor --explain %s", stage[0])
	}
	for _, near := range config.Near(o.explain, ids) {
		err = err.hint("mcpctl doctor --explain %s", near)
	}
	if len(err.hints) == 0 {
		err = err.hint("mcpctl doctor --list-checks")
	}
	return err
}

// ofStage returns the checks of a stage.
func ofStage(ids []string, stage string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, stage+".") })
}
