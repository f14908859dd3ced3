package probe

import (
	"fmt"
	"runtime"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// killing reports whether the drill was asked for.
func killing(t *Target) bool { return t.Kills > 0 }

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
	case k.PID != 0 && runtime.GOOS == "windows":
		return fmt.Sprintf("process %d terminated, with what it had started", k.PID)
	case k.PID != 0:
		return fmt.Sprintf("SIGKILL to process group %d", k.PID)
	case k.How == "delete":
		return fmt.Sprintf("session %s deleted; %s", k.Session, k.Announced)
	case k.How == "made-up id":
		return fmt.Sprintf("DELETE %s, made-up id sent; %s", k.Deletion, k.Announced)
	}
	return k.How + "; " + k.Announced
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
				Fix: "see what the server starts, and why it cannot be killed", Data: f.Data, Table: f.Table,
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
