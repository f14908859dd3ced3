package probe

import (
	"context"
	"fmt"
	"slices"
	"time"
)

func recoveryRequest() Check {
	return Check{
		ID: "recovery.request", Title: "request succeeds", Needs: []string{"recovery.fresh"}, Applies: killing,
		Why: `The request that met the dead session must still be answered: it was rejected or not sent, so it was not
executed, and is repeated once on the fresh session. It is a list, or the health call of the entry, if that was
answered before and its tool declares that it only reads (readOnlyHint). Attempts are counted by their outcome,
and exactly one may have been answered.`,
		Remedy: "Make a fresh session able to do what the old one did. State that must survive a session belongs outside of it.",
		Run: func(_ context.Context, t *Target) Finding {
			d := &t.drill
			last := d.last()
			if last.err != nil {
				f := failure(last.err)
				f.Message = d.which(f.Message)
				return f
			}
			var sum tries
			worst := 0
			for _, r := range d.rounds {
				sum.sent += r.tries.sent
				sum.refused += r.tries.refused
				sum.unsent += r.tries.unsent
				sum.open += r.tries.open
				worst = max(worst, r.tries.answered)
			}
			f := pass("answered once, after " + FormatElapsed(last.elapsed))
			if said := last.tries.said(); said != "" {
				f.Message += "; " + said
			}
			f.Data = map[string]any{
				"request_ms": milliseconds(last.elapsed), "attempts": last.tries.sent,
				"answers": last.tries.answered, "handshakes": last.handshakes,
				"attempts_refused": sum.refused, "attempts_not_sent": sum.unsent, "attempts_unknown": sum.open,
			}
			if last.tries.open == 0 { // else an attempt without an answer may have been executed, too
				f.Data["executions"] = last.tries.answered
			}
			d.question.put(f.Data)
			if n := len(d.rounds); n > 1 {
				took := timesOf(d.rounds, func(r *round) time.Duration { return r.elapsed })
				f.Message = fmt.Sprintf("%d of %d answered once, after %s (median)", n, t.Kills, FormatElapsed(median(took)))
				putFigures(f.Data, "request", took)
			}
			f.Note = d.question.told()
			i := slices.IndexFunc(d.rounds, func(r round) bool { return r.wrong != "" })
			switch {
			case worst != 1:
				f.Status, f.Class, f.Message = Fail, "session", fmt.Sprintf("the request was answered %d times", worst)
			case i >= 0:
				f.Status, f.Class = Fail, "failed"
				f.Message = "on the fresh session the answer is another: " + d.rounds[i].wrong
				f.Fix = "see what the server keeps in a session and needs for the call"
			}
			return f
		},
	}
}
