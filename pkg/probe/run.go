package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Run asks the checks about a target, in order, and returns what was found. A check whose needs were not met is skipped,
// with the reason; one that breaks is unknown. Run ends everything that it opened.
func Run(ctx context.Context, t *Target, checks []Check) Report {
	begin := time.Now()
	defer t.close()
	report := Report{Name: t.Server.Name, Transport: string(t.Server.Transport), Target: t.Server.RedactedTarget(), Results: make([]Result, 0, len(checks))}
	blocked := map[string]string{} // a check that others cannot build on → the first broken one in its way
	broken := ""                   // the check in which the examination ended
	for _, c := range checks {
		if c.Applies != nil && !c.Applies(t) {
			continue
		}
		if root := unmet(c.Needs, blocked); root != "" && root != c.ID {
			blocked[c.ID] = root
			report.Results = append(report.Results, Result{
				ID: c.ID, Check: c.ID, Title: c.Title, Blocked: root, Finding: Finding{Status: Skip, Message: "needs " + root},
			})
			continue
		}
		if ctx.Err() != nil && broken != "" { // one row says that the examination ended, and in what
			blocked[c.ID] = broken
			report.Results = append(report.Results, Result{
				ID: c.ID, Check: c.ID, Title: c.Title, Blocked: broken, Finding: Finding{Status: Skip, Message: "not checked: " + context.Cause(ctx).Error()},
			})
			continue
		}
		late := ctx.Err() != nil
		started := time.Now()
		for _, r := range rows(ctx, c, t) {
			r = t.masked(r)
			r.Check = c.ID
			if ctx.Err() != nil && r.Status != Pass && !r.partial {
				// What was seen after the end of the examination is the end of the examination.
				seen := r.Message
				r.Finding = Finding{Status: Unknown, Message: "not checked: " + context.Cause(ctx).Error()}
				if !late && seen != "" {
					r.Message = fmt.Sprintf("not known after %s: %s", FormatElapsed(time.Since(started)), context.Cause(ctx))
					r.Detail = seen
				}
				broken = cmp.Or(broken, r.ID)
			}
			if cause := context.Cause(ctx); r.partial && errors.Is(ctx.Err(), context.DeadlineExceeded) && !strings.Contains(r.Message, cause.Error()) {
				r.Message += "; " + cause.Error()
			}
			if (r.Status == Fail && !r.Alone || r.Status == Unknown) && blocked[c.ID] == "" {
				blocked[c.ID] = r.ID
			}
			if r.Instead != "" {
				blocked[c.ID] = r.Instead
			}
			report.Results = append(report.Results, r)
		}
	}
	if t.opened != nil {
		report.Transport = t.opened.Info().Transport
	}
	report.Timing = t.spans
	report.Elapsed = time.Since(begin)
	judge(&report)
	byStage(report.Results, checks)
	// Whoever examines hundreds of servers keeps all reports to the end: the room in which the results grew is let go.
	report.Results = append(make([]Result, 0, len(report.Results)), report.Results...)
	return report
}

// byStage brings the results of each stage together, in the order in which the stages began: some checks look back at what
// the others have seen, and are made at the end.
func byStage(results []Result, checks []Check) {
	place := map[string]int{}
	for i, c := range slices.Backward(checks) {
		place[c.Stage()] = i
	}
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(place[a.Stage()], place[b.Stage()]) })
}

// unmet returns the first broken check in the way of one with these needs, "" if there is none. A need that does not
// apply to the target, or had nothing to look at, does not stand in the way.
func unmet(needs []string, blocked map[string]string) string {
	for _, n := range needs {
		if root := blocked[n]; root != "" {
			return root
		}
	}
	return ""
}

// rows runs one check and returns its rows: one, but for a check that looks at each of many things.
func rows(ctx context.Context, c Check, t *Target) []Result {
	if ctx.Err() != nil {
		return []Result{{ID: c.ID, Title: c.Title, Finding: Finding{Status: Unknown}}}
	}
	begin := time.Now()
	ctx, cancel := bounded(ctx, c.Limit)
	defer cancel()
	if c.Each != nil {
		var many []Result
		if broken := guarded(func() { many = c.Each(ctx, t) }); broken != nil {
			many = []Result{{ID: c.ID, Title: c.Title, Elapsed: time.Since(begin), Finding: *broken}}
		}
		return many
	}
	var f Finding
	if broken := guarded(func() { f = c.Run(ctx, t) }); broken != nil {
		f = *broken
	}
	return []Result{{ID: c.ID, Title: c.Title, Elapsed: time.Since(begin), Finding: f}}
}

// guarded runs a check. One that panics is broken, not the server: the finding says so.
func guarded(run func()) (broken *Finding) {
	defer func() {
		if p := recover(); p != nil {
			stack := strings.Split(string(debug.Stack()), "\n")
			broken = &Finding{
				Status: Unknown, Message: fmt.Sprintf("the check itself broke: %v", p),
				Detail: strings.Join(stack[:min(len(stack), 12)], "\n"),
				Fix:    "this is a defect of mcpctl: please report it",
			}
		}
	}()
	run()
	return nil
}

// bounded sets the limit of a check.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		limit = defaultLimit
	}
	if limit < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within the %s that a check has", limit))
}

// defaultLimit bounds a check. It is what a person waits for the answer to a simple question.
const defaultLimit = 10 * time.Second

// ownLimits is the limit of checks whose operations have limits of their own.
const ownLimits = -1

// judge draws the verdict and the cause from the results.
func judge(r *Report) {
	r.Verdict = Pass
	known, opened, asked := false, false, false
	for _, res := range r.Results {
		if res.ID == sessionOpenID {
			asked, opened = true, res.Status == Pass || res.Status == Warn
		}
		switch res.Status {
		case Fail:
			if r.Cause == nil {
				r.Cause = &Cause{Check: res.ID, Class: res.Class, Message: res.Message, Detail: res.Detail, Fix: res.Fix}
			}
			known = true
		case Unknown:
			r.Incomplete = true
		case Warn:
			r.Verdict = Warn
			known = true
		case Pass:
			known = true
		case Skip:
		}
	}
	switch {
	case r.Cause != nil:
		r.Verdict = Fail
	case !known, r.Incomplete && asked && !opened:
		r.Verdict = Unknown
	case r.Incomplete:
		r.Verdict = Warn
	}
}

// Strict makes a report with warnings, or with anything unknown, one that failed.
func Strict(r *Report) {
	if r.Verdict != Warn && !r.Incomplete {
		return
	}
	r.Verdict = Fail
	for _, res := range r.Results {
		if r.Cause == nil && (res.Status == Warn || res.Status == Unknown) {
			why := " (a warning, and --strict lets none pass)"
			if res.Status == Unknown {
				why = " (it is not known, and --strict lets that not pass)"
			}
			r.Cause = &Cause{
				Check: res.ID, Class: "failed", Message: res.Message + why,
				Detail: res.Detail, Fix: res.Fix,
			}
		}
	}
}

// Select returns the checks that are wanted: those whose ID, or stage, or the ID of a row of theirs, is in only (all, if it
// is empty), and of which skip leaves something, together with what they need. It reports the words that match no check.
func Select(checks []Check, only, skip []string) (selected []Check, unmatched []string) {
	for _, w := range slices.Concat(only, skip) {
		word := []string{w}
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.named(word) || c.hasRow(word) }) {
			unmatched = append(unmatched, w)
		}
	}
	wanted := map[string]bool{}
	for _, c := range slices.Backward(checks) {
		if wanted[c.ID] || c.selected(only, skip) {
			wanted[c.ID] = true
			for _, n := range c.Needs {
				wanted[n] = true
			}
		}
	}
	for _, c := range checks {
		if wanted[c.ID] && (c.basic() || !c.named(skip)) {
			selected = append(selected, c)
		}
	}
	return selected, unmatched
}

// basic reports whether a check makes what others work with: it cannot be left out, only passed over in silence.
func (c Check) basic() bool {
	return slices.Contains([]string{"config.entry", "config.variables", sessionOpenID, "tools.list"}, c.ID)
}
