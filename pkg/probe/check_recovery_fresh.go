package probe

import (
	"context"
	"fmt"
	"strings"
	"time"
)

func recoveryFresh() Check {
	return Check{
		ID: "recovery.fresh", Title: "a fresh session opens", Needs: []string{"recovery.kill"}, Applies: killing, Limit: ownLimits,
		Budget: func(*Target) time.Duration { return defaultLimit },
		Why: `A lost session must be replaced by a fresh one: a new connection with its own handshake. A client that goes on
with the dead session fails until somebody restarts it. The message shows the time until the loss was noticed
and until the fresh session was ready; with --kill-session=N, the minimum, median and maximum of N kills. No
process of a killed group may be left.`,
		Remedy: "Let the server accept a new session at any time, also right after another one has ended.",
		Run: func(_ context.Context, t *Target) Finding {
			d := &t.drill
			lost := d.lost()
			if len(lost) == 0 {
				return skip("there was no session to replace")
			}
			for _, r := range lost {
				switch {
				case r.handshakes == 0 && r.err != nil:
					f := failure(r.err)
					f.Message = d.which("no fresh session came: " + f.Message)
					if r.kill.Deletion != "" {
						f.Detail = strings.TrimPrefix(f.Detail+"\nDELETE was "+r.kill.Deletion+
							": the old session may still be alive at the server, which matters if it has one at a time", "\n")
					}
					return f
				case r.handshakes == 0:
					return Finding{
						Status: Unknown, Message: d.which("the old session still answers: the kill was not one"),
						Fix: "see why the server refuses a request on a session that was ended (" + r.kill.Announced + "), and answers the next",
					}
				case r.recovery == nil:
					return Finding{Status: Unknown, Message: "the recovery was not recorded"}
				}
			}
			last := &lost[len(lost)-1]
			noticed := timesOf(lost, (*round).noticed)
			fresh := timesOf(lost, func(r *round) time.Duration { return r.recovery.Elapsed })
			f := pass(fmt.Sprintf("generation %d, noticed in %s, ready in %s", last.recovery.NewGeneration,
				FormatElapsed(last.noticed()), FormatElapsed(last.recovery.Elapsed)))
			f.Data = map[string]any{
				"killed_by": last.kill.How, "announced_as": last.recovery.Cause,
				"detect_ms": milliseconds(last.noticed()), "fresh_ms": milliseconds(last.recovery.Elapsed),
				"handshakes": last.handshakes, "generation": last.recovery.NewGeneration, "old_generation": last.oldGeneration,
				"recovered": len(lost),
			}
			if last.kill.Session != "" || last.newSession != "" {
				f.Data["old_session"], f.Data["new_session"] = last.kill.Session, last.newSession
			}
			if len(lost) > 1 {
				f.Message = fmt.Sprintf("%d of %d, noticed in %s, ready in %s (medians)", len(lost), t.Kills,
					FormatElapsed(median(noticed)), FormatElapsed(median(fresh)))
				answered := timesOf(lost, func(r *round) time.Duration { return r.elapsed })
				f.Table = [][]string{
					{"", "min", "median", "max"},
					figuresRow("loss noticed", noticed), figuresRow("fresh session", fresh), figuresRow("request answered", answered),
				}
			}
			putFigures(f.Data, "detect", noticed)
			putFigures(f.Data, "fresh", fresh)
			return judgeRounds(f, lost)
		},
	}
}
