package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// killing reports whether the drill was asked for.
func killing(t *Target) bool { return t.Kills > 0 }

func recoveryKill() Check {
	return Check{
		ID: "recovery.kill", Title: "session is killed", Needs: []string{"session.reuse"}, Applies: killing, Limit: ownLimits,
		Why: `To show that recovery works, the session of this examination, and no other, is ended on purpose: an HTTP session is
deleted at the server, a child's process group gets SIGKILL, the stream of the older HTTP with SSE is closed. A server that refuses
or ignores the deletion gets a made-up session id with the next request instead. The old session must be seen to be dead: where the
question is not answered properly, nothing is known, and nothing is claimed. Where there is no session to lose, the TCP connections are dropped, and that is all that is claimed.`,
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

// interrupted tells what the kills showed of which there were to be more.
func (d *drill) interrupted(wanted int) Finding {
	f := Finding{Status: Unknown, partial: true}
	f.Message = fmt.Sprintf("interrupted after %d of %d kills", len(d.rounds), wanted)
	took := timesOf(d.rounds, func(r *round) time.Duration { return r.elapsed })
	f.Message += ", each followed by an answer after " + FormatElapsed(median(took)) + " (median)"
	f.Data = map[string]any{"kills": len(d.rounds), "interrupted": true}
	d.question.put(f.Data)
	putFigures(f.Data, "request", took)
	return f
}

// killText says how a session was killed, and how that was seen.
func killText(k session.Kill) string {
	switch {
	case k.NothingToKill && k.How == "made-up id":
		return "nothing to kill: the server answers any session id"
	case k.NothingToKill:
		return "no session to kill; the connections were dropped"
	case k.PID != 0:
		return fmt.Sprintf("SIGKILL to process group %d", k.PID)
	case k.How == "delete":
		return fmt.Sprintf("session %s deleted; %s", k.Session, k.Announced)
	case k.How == "made-up id":
		return fmt.Sprintf("DELETE %s, made-up id sent; %s", k.Deletion, k.Announced)
	}
	return k.How + "; " + k.Announced
}

func recoveryFresh() Check {
	return Check{
		ID: "recovery.fresh", Title: "fresh session comes", Needs: []string{"recovery.kill"}, Applies: killing, Limit: ownLimits,
		Why: `A lost session must be replaced by a fresh one: a new connection with a handshake of its own. A client that goes on with
the dead one fails until somebody restarts it. Told are the time until the loss was noticed and that until a fresh session stood
ready, and with --kill-session=N the least, the median and the greatest of N kills. No process of a killed group may be left.`,
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

// which says of which of several kills a message is.
func (d *drill) which(message string) string {
	if len(d.rounds) > 1 {
		return fmt.Sprintf("after kill %d: %s", len(d.rounds), message)
	}
	return message
}

// judgeRounds completes the finding about fresh sessions with what was odd in any round.
func judgeRounds(f Finding, rounds []round) Finding {
	most := 0
	for _, r := range rounds {
		if r.left {
			return Finding{
				Status: Fail, Class: "failed", Message: fmt.Sprintf("a process of the killed group %d is still alive", r.kill.PID),
				Fix: "see what the server starts, and why SIGKILL does not end it", Data: f.Data, Table: f.Table,
			}
		}
		most = max(most, r.handshakes)
	}
	if most > 1 {
		f.Status, f.Message = Warn, fmt.Sprintf("it took %d handshakes to get a session that lasted", most)
		f.Fix = "see why the first fresh session did not last"
	}
	return f
}

func recoveryRequest() Check {
	return Check{
		ID: "recovery.request", Title: "request succeeds", Needs: []string{"recovery.fresh"}, Applies: killing,
		Why: `The request that met the dead session must be answered all the same: it was refused or not sent, and not executed, so it is
repeated once, on the fresh session. It is a list, or the call that the key health of the entry names if it was answered before and
its tool says of itself that it only reads (readOnlyHint). Attempts are counted by
what became of them, and exactly one may have been answered.`,
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
