package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/latency"
)

// soaking reports whether a soak was asked for.
func soaking(t *Target) bool { return t.Soak > 0 }

func recoverySoak() Check {
	return Check{
		ID: "recovery.soak", Title: "no request is lost under load", Needs: append(usable(), "recovery.request"),
		Applies: soaking, Limit: ownLimits,
		Budget: func(t *Target) time.Duration { return t.Soak + 2*requestBudget(t) },
		Why: `One successful recovery says little about the thousandth, or about requests that are in flight when the session
dies. With --soak TIME eight requests at a time go on while the session of this run is killed at random moments.
The request is a list, or the health call of the entry, if that was answered before and its tool declares that
it only reads (readOnlyHint). Every request must be answered, once. The message shows the kills, the recoveries,
what was lost or answered twice, and how long it took to notice a loss and to have a fresh session ready. A
session that had to be replaced although nobody killed it is a warning: a client without recovery would have
stopped there. Requests that are open at the end get a short grace period, and then count as lost.`,
		Remedy: "Look at what was lost, and at what the server logged at that moment.",
		Run: func(ctx context.Context, t *Target) Finding {
			before := t.sup.Stats().Handshakes
			k := newSoak(ctx, t)
			t.soak.Store(k)
			k.run(ctx, t.Soak)
			f := k.finding(ctx.Err() != nil)
			f.Data["handshakes"] = t.sup.Stats().Handshakes - before
			return f
		},
	}
}

// finding judges the soak.
func (k *soak) finding(interrupted bool) Finding {
	c := k.standing()
	k.mu.Lock()
	defer k.mu.Unlock()
	f := pass(fmt.Sprintf("%s: %d calls, %s, %d lost", FormatElapsed(k.elapsed), c.Calls, killsText(c), c.Lost))
	f.Note = k.question.told()
	f.Table, f.Data = k.table(c), k.data(c, interrupted)
	f.partial = true
	switch {
	case c.Lost > 0:
		k.losses(&f, c)
		if k.gaveUp {
			f.Detail = strings.TrimPrefix(f.Detail+fmt.Sprintf("\nthe soak ended after %s, with %d calls lost one after the other", FormatElapsed(k.elapsed), k.lostInARow), "\n")
		}
	case c.Duplicates > 0:
		f.Status, f.Class = Fail, "protocol"
		f.Message = fmt.Sprintf("%d answers came that belong to no request, or to one that was answered before", c.Duplicates)
		f.Fix = "answer each request once, with its id"
	case interrupted:
		f.Status, f.Message = Unknown, "interrupted after "+f.Message
	case c.Recovered < c.Kills:
		f.Status, f.Class = Fail, "session"
		f.Message = fmt.Sprintf("%d sessions were killed, and %d replaced", c.Kills, c.Recovered)
	case c.Kills+c.Drops == 0:
		f.Status, f.Message = Unknown, "no session could be killed"
		if k.failure != "" {
			f.Message += ": " + k.failure
		}
	case c.Vanished > 0:
		f.Status = Warn
		f.Message = k.vanishedText(c)
		f.Fix = vanishedFix
	case k.failures > 0:
		f.Status = Warn
		f.Message += fmt.Sprintf("; %d kills could not be confirmed: %s", k.failures, k.failure)
		f.Fix = "see why the old session neither lives nor dies"
	}
	if c.Vanished > 0 && f.Status != Warn {
		f.Detail = strings.TrimPrefix(f.Detail+"\n"+k.vanishedText(c), "\n")
	}
	if k.held > soakGrace {
		f.Detail = strings.TrimPrefix(f.Detail+fmt.Sprintf("\nno session was killed for %s, as calls were still open", FormatElapsed(k.held)), "\n")
	}
	return f
}

// losses completes the finding with the calls that were lost. k.mu is held.
func (k *soak) losses(f *Finding, c SoakCounts) {
	f.Status = Fail
	open := fmt.Sprintf("%d of %d calls had no answer when the soak ended, the oldest after %s", k.unanswered, c.Calls, FormatElapsed(k.oldest))
	if k.firstLoss == nil {
		f.Class, f.Message, f.Fix = "timeout", open, "see what the server does with a request that it does not answer"
	} else {
		f.Class, f.Detail, f.Fix = k.firstLoss.Class, k.firstLoss.Detail, k.firstLoss.Fix
		f.Message = fmt.Sprintf("%d of %d calls were lost; the first: %s", c.Lost, c.Calls, k.firstLoss.Message)
		if k.unanswered > 0 {
			f.Detail = strings.TrimPrefix(f.Detail+"\n"+open, "\n")
		}
	}
	if c.Recovered < c.Kills {
		f.Detail = strings.TrimPrefix(f.Detail+fmt.Sprintf("\n%d sessions were killed, and %d replaced", c.Kills, c.Recovered), "\n")
	}
	switch {
	case f.Fix != "":
	case c.Vanished > 0:
		f.Fix = vanishedFix
	default:
		f.Fix = "see what the server says when its session ends"
	}
}

// vanishedFix is the next step where sessions are lost by themselves.
const vanishedFix = "see why the server, or what stands before it, does not keep a session or a connection in use"

// vanishedText tells of the sessions that nobody had killed. k.mu is held.
func (k *soak) vanishedText(c SoakCounts) string {
	what := "sessions were"
	switch {
	case c.Vanished == 1:
		what = "session was"
	case c.Kills == 0 && c.Drops > 0: // there are no sessions
		what = "connections were"
	}
	return fmt.Sprintf("%d %s lost by themselves; the first: %s", c.Vanished, what, k.firstVanished)
}

// killsText tells of the kills.
func killsText(c SoakCounts) string {
	switch {
	case c.Drops > 0 && c.Kills == 0:
		return fmt.Sprintf("connections dropped %s", times(c.Drops))
	case c.Drops > 0:
		return fmt.Sprintf("%d kills, %d recovered, connections dropped %s", c.Kills, c.Recovered, times(c.Drops))
	}
	return fmt.Sprintf("%d kills, %d recovered", c.Kills, c.Recovered)
}

// table shows the sums of the soak to people. k.mu is held.
func (k *soak) table(c SoakCounts) [][]string {
	row := func(name string, count int, q *latency.Times) []string {
		cells := []string{name, strconv.Itoa(count), "", "", ""}
		if q != nil && q.Count() > 0 {
			cells[2], cells[3], cells[4] = FormatElapsed(q.Percentile(50)), FormatElapsed(q.Percentile(95)), FormatElapsed(q.Max())
		}
		return cells
	}
	rows := [][]string{{"", "count", "p50", "p95", "max"}, row("calls, until answered", c.Calls, &k.calls)}
	if c.Kills > 0 || c.Drops == 0 {
		rows = append(rows, row("kills, until noticed", c.Kills, &k.noticed), row("fresh sessions, until ready", c.Recovered, &k.fresh))
	}
	if c.Drops > 0 {
		rows = append(rows, row("connections dropped", c.Drops, nil))
	}
	rows = append(rows, row("lost by themselves", c.Vanished, nil))
	return append(rows, row("calls lost", c.Lost, nil), row("answered twice, or unasked", c.Duplicates, nil))
}

// data has everything for programs. k.mu is held.
func (k *soak) data(c SoakCounts, interrupted bool) map[string]any {
	data := map[string]any{
		"workers": soakWorkers, "soaked_ms": k.elapsed.Milliseconds(), "interrupted": interrupted,
		"calls": c.Calls, "kills": c.Kills, "recovered": c.Recovered, "connections_dropped": c.Drops,
		"lost": c.Lost, "duplicates": c.Duplicates, "kills_unconfirmed": k.failures,
		"lost_by_themselves": c.Vanished, "unanswered": k.unanswered, "kills_held_up_ms": milliseconds(k.held),
		"killed_by": strings.Join(slices.Sorted(maps.Keys(k.killedBy)), ", "), "announced_as": k.announced,
	}
	k.question.put(data)
	for name, q := range map[string]*latency.Times{"call": &k.calls, "detect": &k.noticed, "fresh": &k.fresh} {
		if q.Count() > 0 {
			data[name+"_p50_ms"], data[name+"_p95_ms"], data[name+"_max_ms"] = milliseconds(q.Percentile(50)), milliseconds(q.Percentile(95)), milliseconds(q.Max())
		}
	}
	if k.firstVanished != "" {
		data["first_lost_by_itself"] = k.firstVanished
	}
	if k.unanswered > 0 {
		data["oldest_unanswered_ms"] = milliseconds(k.oldest)
	}
	if k.firstLoss != nil {
		data["first_loss"] = k.firstLoss.Message
	}
	return data
}
