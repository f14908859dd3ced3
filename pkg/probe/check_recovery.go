package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// drill is what a kill and the recovery from it showed.
type drill struct {
	kills   []session.Kill
	last    session.Kill
	old     *session.Session
	request struct {
		err      error
		tries    tries
		elapsed  time.Duration
		before   session.Stats
		after    session.Stats
		detected time.Duration
	}
}

// killing reports whether the drill was asked for.
func killing(t *Target) bool { return t.Kills > 0 }

func recoveryKill() Check {
	return Check{
		ID: "recovery.kill", Title: "session is killed", Needs: []string{"session.reuse"}, Applies: killing, Limit: ownLimits,
		Why: `To show that recovery works, the session of this examination, and no other, is ended on purpose: an HTTP session is
deleted at the server, a child's process group gets SIGKILL. The old session must be seen to be dead.`,
		Run: func(ctx context.Context, t *Target) Finding {
			for round := range t.Kills {
				if round > 0 {
					if t.drill.recover(ctx, t); t.drill.request.err != nil {
						f := failure(t.drill.request.err)
						f.Message = fmt.Sprintf("recovery %d of %d: %s", round, t.Kills, f.Message)
						return f
					}
				}
				old, err := t.sup.Session(ctx)
				if err != nil {
					return failure(err)
				}
				begin := time.Now()
				k, err := old.Kill(ctx)
				if err != nil {
					f := failure(err)
					f.Message = "the session could not be killed: " + f.Message
					return f
				}
				t.drill.old, t.drill.last = old, k
				t.drill.kills = append(t.drill.kills, k)
				t.drill.request.detected = time.Since(begin)
				if !k.Confirmed && !k.NothingToKill {
					break
				}
			}
			k := t.drill.last
			f := pass(killText(k))
			f.Detail = strings.Join(k.Notes, "\n")
			f.Data = map[string]any{"killed_by": k.How, "announced_as": k.Announced, "confirmed": k.Confirmed, "kills": len(t.drill.kills)}
			if k.Session != "" {
				f.Data["old_session"] = k.Session
			}
			if k.PID != 0 {
				f.Data["pid"] = k.PID
			}
			if !k.Confirmed && !k.NothingToKill {
				f.Status, f.Message = Fail, "the old session still answers: "+f.Message
				f.Class = "session"
			}
			return f
		},
	}
}

func killText(k session.Kill) string {
	switch {
	case k.NothingToKill:
		return "no session to kill; the connections were dropped"
	case k.PID != 0:
		return fmt.Sprintf("SIGKILL to process group %d", k.PID)
	case k.How == "delete":
		return fmt.Sprintf("session %s deleted; %s", k.Session, k.Announced)
	case k.How == "made-up id":
		return "a made-up session id was sent; " + k.Announced
	}
	return k.How + "; " + k.Announced
}

// recover makes one request after a kill, on the road that every command takes.
func (d *drill) recover(ctx context.Context, t *Target) {
	d.request.before = t.sup.Stats()
	begin := time.Now()
	d.request.tries, d.request.err = harmless(ctx, t)
	d.request.elapsed = time.Since(begin)
	d.request.after = t.sup.Stats()
}

func recoveryFresh() Check {
	return Check{
		ID: "recovery.fresh", Title: "fresh session comes", Needs: []string{"recovery.kill"}, Applies: killing, Limit: ownLimits,
		Why: `A lost session must be replaced by a fresh one: a new connection with a handshake of its own. A client that goes on with
the dead one fails until somebody restarts it.`,
		Run: func(ctx context.Context, t *Target) Finding {
			d := &t.drill
			d.recover(ctx, t)
			if d.last.NothingToKill {
				return skip("there was no session to replace")
			}
			before, after := d.request.before, d.request.after
			if after.Handshakes == before.Handshakes {
				if d.request.err != nil {
					return failure(d.request.err)
				}
				return Finding{Status: Fail, Class: "session", Message: "the request was answered and no new session was opened"}
			}
			rec := after.Recovery
			if rec == nil {
				return Finding{Status: Unknown, Message: "the recovery was not recorded"}
			}
			detect := rec.Detect
			if detect == 0 {
				detect = d.request.detected // the loss was known before the request began
			}
			f := pass(fmt.Sprintf("generation %d, noticed in %s, ready in %s", rec.NewGeneration, FormatElapsed(detect),
				FormatElapsed(rec.Elapsed)))
			f.Data = map[string]any{
				"generation": rec.NewGeneration, "old_generation": rec.OldGeneration,
				"handshakes": after.Handshakes - before.Handshakes, "detect_ms": milliseconds(detect),
				"fresh_ms": milliseconds(rec.Elapsed), "killed_by": d.last.How, "announced_as": rec.Cause,
			}
			if s, err := t.sup.Session(ctx); err == nil && s.ID() != "" {
				f.Data["old_session"], f.Data["new_session"] = d.last.Session, session.ShortID(s.ID())
			}
			if d.old.LeftRunning() {
				return Finding{Status: Fail, Class: "failed", Message: fmt.Sprintf("a process of the killed group %d is still alive", d.last.PID), Data: f.Data}
			}
			if n := after.Handshakes - before.Handshakes; n > 1 {
				f.Status, f.Message = Warn, fmt.Sprintf("it took %d handshakes", n)
				f.Fix = "see why the first fresh session did not last"
			}
			return f
		},
	}
}

func recoveryRequest() Check {
	return Check{
		ID: "recovery.request", Title: "request succeeds", Needs: []string{"recovery.fresh"}, Applies: killing,
		Why: `The request that met the dead session must be answered all the same: it was refused, not executed, so it is repeated
once, on the fresh session.`,
		Run: func(_ context.Context, t *Target) Finding {
			d := &t.drill
			if d.request.err != nil {
				return failure(d.request.err)
			}
			n := d.request.tries
			f := pass(fmt.Sprintf("answered once, after %s", FormatElapsed(d.request.elapsed)))
			f.Data = map[string]any{
				"request_ms": milliseconds(d.request.elapsed), "attempts": n.sent, "executions": n.answered,
				"handshakes": d.request.after.Handshakes - d.request.before.Handshakes,
			}
			if n.answered != 1 {
				f.Status, f.Class, f.Message = Fail, "session", fmt.Sprintf("the request was answered %d times", n.answered)
			}
			return f
		},
	}
}
