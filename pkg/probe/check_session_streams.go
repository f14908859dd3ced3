package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionStreams() Check {
	return Check{
		ID: "session.streams", Title: "concurrent requests are answered", Needs: []string{"session.reuse", affinityID}, Limit: ownLimits,
		Budget: func(*Target) time.Duration { return time.Minute }, // of a slow server
		Why: `Clients make several requests at a time on one session; each must be answered by itself, over HTTP on its own
stream. A server that answers only one of them, or mixes them up, works when tested by hand and fails with an
agent.`,
		Remedy: "Answer each request as soon as its result is ready, with its own id, on the response to its own POST.",
		Run: func(ctx context.Context, t *Target) Finding {
			if f := t.crowded(); f != nil {
				return *f
			}
			const atOnce = 3 // as few as show it
			s := t.current(ctx)
			if s == nil {
				return skip("no session is open")
			}
			method := t.lightMethod(s)
			if s.Info().Era == session.EraModern {
				method = harmlessMethod(s) // which a person would ask for
			}
			within, cancel := context.WithTimeout(ctx, t.patience(atOnce))
			defer cancel()
			errs := make([]error, atOnce)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { _, errs[i] = s.Raw(within, method, nil) })
			}
			all.Wait()
			failed := 0
			var f Finding
			for _, err := range errs {
				switch session.ClassOf(err) {
				case "", session.ClassAnswered: // an error is an answer, too
				case session.ClassTimeout, session.ClassInterrupted, session.ClassBusy:
					return skip(fmt.Sprintf("%s is not answered soon enough", method))
				default:
					failed++
					f = failure(err)
				}
			}
			if failed == 0 {
				return pass(fmt.Sprintf("%d at once", atOnce))
			}
			// Was it too much at once, or is it all over?
			if err := use(ctx, t); err != nil {
				return failure(err)
			}
			if f.Class != string(session.ClassProtocol) { // it has died of them, or was dying anyway: its own words say more
				f.Message = fmt.Sprintf("with %d requests at once: %s", atOnce, f.Message)
				return f
			}
			f.Alone = true
			f.Message = fmt.Sprintf("%d of %d requests at once failed, and one alone is answered: %s", failed, atOnce, f.Message)
			f.Fix = "answer each request by itself: look for one place where the server keeps the request that it is working on"
			return f
		},
	}
}
