package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/baseline"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// pipelineOptions are the flags of doctor that pipelines want: calls to make, a baseline, an end.
type pipelineOptions struct {
	smoke         string
	baseline      string
	writeBaseline string
	failOn        gradeValue
	deadline      durationValue

	// known are the baselines of the examined servers, by name, and kept is the file that is going to be overwritten, nil if
	// there is none.
	known map[string]probe.Baseline
	kept  *baseline.File
}

func (o *pipelineOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.smoke, "smoke", "", "also make the calls in this `file`")
	flags.StringVar(&o.baseline, "baseline", "", "compare what the server offers with the baseline in this `file`")
	flags.StringVar(&o.writeBaseline, "write-baseline", "", "save what the server offers as the baseline in this `file`")
	flags.Var(&o.failOn, "fail-on", "lowest `grade` of change that fails: breaking, risky, any (default breaking)")
	flags.Var(&o.deadline, "deadline", "end the whole run after this `time` (default the sum of all limits)")
}

// gradeValue is the flag --fail-on.
type gradeValue struct {
	grade baseline.Grade
	word  string
}

func (v *gradeValue) Set(s string) error {
	grades := map[string]baseline.Grade{"breaking": baseline.Breaking, "risky": baseline.Risky, "any": baseline.Benign}
	grade, ok := grades[s]
	if !ok {
		return fmt.Errorf("%q is not one of breaking, risky, any", s)
	}
	v.grade, v.word = grade, s
	return nil
}

func (v *gradeValue) String() string { return v.word }
func (v *gradeValue) Type() string   { return "grade" }

// check refuses flags that mean nothing, or contradict each other, before a file is read.
func (o *pipelineOptions) check(flags *pflag.FlagSet, soak time.Duration) error {
	for _, name := range []string{"smoke", "baseline", "write-baseline"} {
		switch f := flags.Lookup(name); {
		case f.Changed && f.Value.String() == "":
			return usagef("--%s: the name of the file is empty", name)
		case f.Value.String() == "-":
			return usagef("--%s -: a file is wanted", name)
		}
	}
	switch {
	case flags.Changed("fail-on") && o.baseline == "":
		return usagef("--fail-on %s: there is nothing to compare with", o.failOn.word).hint("--baseline FILE")
	case o.deadline.Duration != 0 && soak >= o.deadline.Duration:
		return usagef("--deadline %s ends a soak of %s before its time", o.deadline.Duration, soak)
	}
	return nil
}

// selectionFits refuses a selection of checks that leaves out what the flags ask for.
func (o *pipelineOptions) selectionFits(wanted []string, servers []config.Server) error {
	for _, f := range []struct{ flag, value, check string }{
		{"--smoke", o.smoke, "call.smoke"},
		{"--baseline", o.baseline, "baseline.unchanged"},
		{"--write-baseline", o.writeBaseline, "baseline.complete"},
	} {
		if f.value != "" && !slices.Contains(wanted, f.check) {
			return usagef("%s and the selection of checks contradict each other: it is the check %s", f.flag, f.check)
		}
	}
	// Nothing that is selected would be checked.
	idle := func(id string) string {
		switch {
		case id == "baseline.unchanged" && o.baseline == "", id == "baseline.complete" && o.writeBaseline == "":
			return "the checks of the stage baseline need --baseline FILE, or --write-baseline FILE"
		case id == "call.health" && !slices.ContainsFunc(servers, func(s config.Server) bool { return s.Health != nil || s.Err != nil }),
			id == "call.smoke" && !slices.ContainsFunc(servers, func(s config.Server) bool { return len(s.Smoke) > 0 || s.Err != nil }):
			return "no entry that is examined names a health or a smoke call, and --smoke names no file"
		}
		return ""
	}
	if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(id string) bool { return idle(id) == "" }) {
		return usagef("%s", idle(wanted[0]))
	}
	return nil
}

// addCalls gives the servers the calls of the file of --smoke.
func (o *pipelineOptions) addCalls(ctx context.Context, a *app, servers []config.Server) error {
	if o.smoke == "" {
		return nil
	}
	calls, err := await(ctx, func() ([]config.Smoke, error) { return config.LoadSmoke(o.smoke) })
	if err != nil {
		return err
	}
	examined := names(servers)
	all := slices.Clone(examined)
	if a.config != nil {
		all = append(all, names(a.config.Servers)...)
	}
	added := 0
	for _, c := range calls {
		if c.Server != "" && !slices.Contains(all, c.Server) {
			err := usagef("%s: a call is for the server %q, and there is none", c.Source.Detail, c.Server)
			if near := config.Near(c.Server, all); len(near) > 0 {
				err = err.hint("did you mean %s?", orList(near))
			}
			return err
		}
		for i := range servers {
			if c.Server == "" || c.Server == servers[i].Name {
				servers[i].Smoke = append(servers[i].Smoke, c)
				added++
			}
		}
	}
	if added == 0 {
		return usagef("%s: no call is for %s", o.smoke, strings.Join(examined, ", "))
	}
	return nil
}

// loadBaselines reads the files of --baseline and --write-baseline, as far as they must be there, or be good.
func (o *pipelineOptions) loadBaselines(ctx context.Context, servers []config.Server) error {
	if o.writeBaseline != "" {
		if err := o.loadKept(ctx); err != nil {
			return err
		}
	}
	if o.baseline == "" {
		return nil
	}
	file, err := await(ctx, func() (*baseline.File, error) { return baseline.Load(o.baseline) })
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--baseline: %s: there is no such file", o.baseline).hint("to write it: --write-baseline %s", toolargs.Quote(o.baseline))
	case err != nil:
		return usagef("--baseline: %s", err)
	case file.Servers == nil && len(servers) > 1:
		return usagef("--baseline: %s is that of one server, and %d are examined", o.baseline, len(servers)).
			hint("for all of them: --write-baseline %s", toolargs.Quote(o.baseline))
	}
	o.known = map[string]probe.Baseline{}
	for _, s := range servers {
		offer, ok := file.One, true
		if file.Servers != nil {
			offer, ok = file.Servers[s.Name]
		}
		if !ok {
			held := slices.Sorted(maps.Keys(file.Servers))
			return usagef("--baseline: %s has nothing about %s; it has %s", o.baseline, s.Name, strings.Join(held, ", ")).
				hint("to add it: --write-baseline %s", toolargs.Quote(o.baseline))
		}
		grade := o.failOn.grade
		if o.failOn.word == "" {
			grade = baseline.Breaking
		}
		o.known[s.Name] = probe.Baseline{Offer: offer, FailOn: grade, Name: o.baseline}
	}
	return nil
}

// loadKept reads the file that is going to be written. One that is there and no baseline is somebody's mistake.
func (o *pipelineOptions) loadKept(ctx context.Context) error {
	if info, err := os.Stat(filepath.Dir(o.writeBaseline)); err != nil || !info.IsDir() {
		return usagef("--write-baseline: %s: there is no such directory", filepath.Dir(o.writeBaseline))
	}
	kept, err := await(ctx, func() (*baseline.File, error) { return baseline.Load(o.writeBaseline) })
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usagef("--write-baseline: %s; it is not overwritten", err).hint("remove it, or name another file")
	}
	o.kept = kept
	return nil
}

// aim tells a target what the flags want of it.
func (o *pipelineOptions) aim(a *app, t *probe.Target) {
	t.Mask = a.redact.String
	t.Capture = o.writeBaseline != ""
	if b, ok := o.known[t.Server.Name]; ok {
		t.Baseline = &b
	}
}

// keep writes what the servers offer, if all of it is known and nothing failed. It returns false if it does not.
func (o *pipelineOptions) keep(a *app, servers []config.Server, found *findings) (bool, error) {
	if o.writeBaseline == "" {
		return true, nil
	}
	offers := map[string]baseline.Offer{}
	for i, s := range servers {
		if reason := spoilt(found.reports.At(i)); reason != "" || found.offers[i] == nil {
			a.warn(fmt.Sprintf("mcpctl: error: %s: not written: %s: %s\n", o.writeBaseline, s.Name, reason))
			return false, nil
		}
		offers[s.Name] = found.offers[i]
	}
	file, was := &baseline.File{Servers: map[string]baseline.Offer{}}, map[string]baseline.Offer{}
	switch {
	case o.kept != nil && o.kept.Servers != nil: // what it holds of others stays
		maps.Copy(file.Servers, o.kept.Servers)
		maps.Copy(was, o.kept.Servers)
	case len(servers) == 1:
		file.Servers, file.One = nil, offers[servers[0].Name]
		if o.kept != nil {
			was[servers[0].Name] = o.kept.One
		}
	}
	if file.Servers != nil {
		maps.Copy(file.Servers, offers)
	}
	if err := file.Save(o.writeBaseline); err != nil {
		return false, fmt.Errorf("--write-baseline: %w", err)
	}
	a.note(o.written(offers, was, file.Servers != nil))
	return true, nil
}

// spoilt says what of a report keeps its server's offer from being written, "" for nothing. A change is no reason: it is what
// writing accepts.
func spoilt(r probe.Report) string {
	for _, res := range r.Results {
		of := res.Check == "baseline.unchanged"
		if (res.Status == probe.Fail || res.Status == probe.Unknown) && !of || res.Check == "baseline.complete" && res.Status != probe.Pass {
			return res.ID + ": " + res.Message
		}
	}
	return ""
}

// written tells what was written in place of what.
func (o *pipelineOptions) written(offers, was map[string]baseline.Offer, named bool) string {
	grades := map[baseline.Grade]int{}
	total, fresh := 0, []string{}
	for _, name := range slices.Sorted(maps.Keys(offers)) {
		old, ok := was[name]
		if !ok {
			fresh = append(fresh, offers[name].Counts())
			if named {
				fresh[len(fresh)-1] = name + ": " + fresh[len(fresh)-1]
			}
			continue
		}
		for _, c := range baseline.Compare(old, offers[name]) {
			grades[c.Grade()]++
			total++
		}
	}
	var parts []string
	for _, g := range []baseline.Grade{baseline.Breaking, baseline.Risky, baseline.Benign} {
		if grades[g] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", grades[g], g))
		}
	}
	text := o.writeBaseline + ": "
	switch {
	case len(was) == 0 && o.kept == nil:
		return text + "written: " + strings.Join(fresh, "; ")
	case total > 0:
		text += fmt.Sprintf("overwritten, with %s accepted: %s", plural(total, "change"), strings.Join(parts, ", "))
	case len(fresh) == len(offers):
		text += "overwritten"
	default:
		text += "overwritten, nothing had changed"
	}
	if len(fresh) > 0 {
		text += "; new: " + strings.Join(fresh, "; ")
	}
	return text
}

// bound ends a run at its deadline.
func (o *pipelineOptions) bound(ctx context.Context, servers []config.Server, budget func(config.Server) time.Duration, atOnce bool) (context.Context, context.CancelFunc) {
	d, source := o.deadline.Duration, "--deadline"
	if d == 0 {
		d, source = allLimits(servers, budget, atOnce), "the sum of all limits"
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("the deadline of %s ran out (%s)", d, source))
}

// allLimits is how long a run takes in which everything takes as long as it may, all at once or one after the other.
func allLimits(servers []config.Server, budget func(config.Server) time.Duration, atOnce bool) time.Duration {
	var most, sum time.Duration
	for _, s := range servers {
		limit := budget(s)
		most, sum = max(most, limit), sum+limit
	}
	if atOnce {
		return most
	}
	return sum
}
