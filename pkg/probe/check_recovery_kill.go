package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

func recoveryKill() Check {
	return Check{
		ID: "recovery.kill", Title: "session is killed", Needs: usable(), Applies: killing, Limit: ownLimits,
		Budget: func(t *Target) time.Duration { return time.Duration(t.Kills) * (requestBudget(t) + defaultLimit) },
		Why: `To prove recovery, the session of this run, and no other, is ended on purpose: an HTTP session is deleted at the
server, a child's process group gets SIGKILL, the stream of the older HTTP with SSE is closed. If a server
refuses or ignores the deletion, the next request carries a made-up session id instead. The old session must be
seen to be dead; if the server does not answer that properly, the result is unknown. If there is no session to
lose, the TCP connections are dropped, and the result covers only that.`,
		Remedy: "End the session on DELETE, and answer requests with an ended session with 404.",
		Run: func(ctx context.Context, t *Target) Finding {
			d := &t.drill
			d.run(ctx, t)
			if done := len(d.rounds); done > 0 && ctx.Err() != nil {
				return d.interrupted(t.Kills)
			}
			if d.broke != nil {
				f := *d.broke
				if done := len(d.rounds); done > 0 {
					f.Message = fmt.Sprintf("kill %d of %d: %s", done+1, t.Kills, f.Message)
				}
				return f
			}
			k := d.last().kill
			f := pass(killText(k))
			if len(d.rounds) > 1 {
				f.Message = fmt.Sprintf("%d times; at last: %s", len(d.rounds), f.Message)
			}
			confirmed := 0
			var notes []string
			for _, r := range d.rounds {
				if r.kill.Confirmed {
					confirmed++
				}
				for _, n := range r.kill.Notes {
					if !slices.Contains(notes, n) {
						notes = append(notes, n)
					}
				}
			}
			f.Detail = strings.Join(notes, "\n")
			f.Data = map[string]any{
				"killed_by": k.How, "announced_as": k.Announced, "confirmed": k.Confirmed,
				"kills": len(d.rounds), "kills_confirmed": confirmed,
			}
			if k.Session != "" {
				f.Data["old_session"] = k.Session
			}
			if k.PID != 0 {
				f.Data["pid"] = k.PID
			}
			return f
		},
	}
}
