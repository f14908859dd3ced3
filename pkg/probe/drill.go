package probe

import (
	"context"
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/internal/latency"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// drill is what the kills on purpose showed, one round for each.
type drill struct {
	question question
	rounds   []round
	// broke is why there are fewer rounds than were asked for, nil if there are all: the session could not be killed.
	broke *Finding
}

// round is one kill, and the one request after it.
type round struct {
	kill session.Kill
	// confirmedIn is how long it took to see the old session dead.
	confirmedIn time.Duration

	// tries, err and elapsed are those of the request, wrong is what is wrong with its answer.
	tries   tries
	err     error
	wrong   string
	elapsed time.Duration
	// oldGeneration is that of the session that was killed, and recovery its replacement: nil if there was none.
	oldGeneration int
	handshakes    int
	recovery      *session.Recovery
	newSession    string
	// left is set when a process of the killed group outlived it.
	left bool
}

// last returns the latest round. There is one when the check of the kill has passed.
func (d *drill) last() *round { return &d.rounds[len(d.rounds)-1] }

// lost returns the rounds in which there was a session to lose.
func (d *drill) lost() []round {
	return slices.DeleteFunc(slices.Clone(d.rounds), func(r round) bool { return r.kill.NothingToKill })
}

// run kills the session as often as the target wants, each time followed by a request, and stops when one is not
// answered.
func (d *drill) run(ctx context.Context, t *Target) {
	d.question = t.drillQuestion(ctx)
	for range t.Kills {
		r := round{}
		old, err := t.sup.Session(ctx)
		if err != nil {
			d.stop(err)
			return
		}
		begin := time.Now()
		r.kill, err = old.Kill(ctx)
		r.confirmedIn = time.Since(begin)
		if err != nil {
			d.stop(err)
			// Only an answer that says so shows that a session is dead: any other says nothing, also not about the server.
			d.broke.Status, d.broke.Class = Unknown, ""
			d.broke.Message = "the session could not be seen to be dead: " + d.broke.Message
			d.broke.Fix = "see how the server answers a request on a session that was ended"
			return
		}
		r.request(ctx, t, d.question, old)
		if r.err != nil && ctx.Err() != nil {
			d.stop(r.err) // nobody waited for the answer
			return
		}
		d.rounds = append(d.rounds, r)
		if r.err != nil {
			return
		}
	}
}

func (d *drill) stop(err error) {
	f := failure(err)
	d.broke = &f
}

// request makes the request after a kill, on the road that every command takes.
func (r *round) request(ctx context.Context, t *Target, q question, old *session.Session) {
	r.oldGeneration = old.Info().Generation
	before := t.sup.Stats()
	begin := time.Now()
	answer, n, err := t.put(ctx, q, nil)
	r.elapsed, r.tries, r.err = time.Since(begin), n, err
	if err == nil && q.judge != nil {
		r.wrong = q.judge(ctx, answer)
	}
	after := t.sup.Stats()
	r.handshakes = after.Handshakes - before.Handshakes
	if rec := after.Recovery; rec != nil && rec.NewGeneration > r.oldGeneration {
		r.recovery = rec
	}
	if r.handshakes > 0 {
		if s := t.current(ctx); s != nil && s.ID() != "" {
			r.newSession = session.ShortID(s.ID())
		}
	}
	if r.kill.PID != 0 {
		// The supervisor is ending what is left of the old session; its end is the moment when nothing of the group may be
		// left, and waiting for it spares any guess about how long that takes.
		_ = old.Close()
		r.left = old.Ending().LeftRunning
	}
}

// noticed returns how long it took until the loss was known: to the request that met it, or, where a loss is seen
// without one, to us.
func (r *round) noticed() time.Duration {
	if r.recovery != nil && r.recovery.Detect > 0 {
		return r.recovery.Detect
	}
	return r.confirmedIn
}

// timesOf returns what the rounds measured.
func timesOf(rounds []round, measure func(*round) time.Duration) *latency.Times {
	var t latency.Times
	for i := range rounds {
		t.Add(measure(&rounds[i]))
	}
	return &t
}

// median returns the middle of some times.
func median(t *latency.Times) time.Duration { return t.Percentile(50) }

// figuresRow returns the least, the middle and the greatest of some times as a row of a table.
func figuresRow(name string, t *latency.Times) []string {
	return []string{name, FormatElapsed(t.Min()), FormatElapsed(median(t)), FormatElapsed(t.Max())}
}

// putFigures adds them to the data of a finding.
func putFigures(data map[string]any, name string, t *latency.Times) {
	data[name+"_min_ms"], data[name+"_median_ms"], data[name+"_max_ms"] = milliseconds(t.Min()), milliseconds(median(t)), milliseconds(t.Max())
}
