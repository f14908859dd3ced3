package probe

import (
	"context"
	"fmt"
	"sync"
)

func sessionStreams() Check {
	return Check{
		ID: "session.streams", Title: "requests are answered side by side", Needs: usable(), Limit: ownLimits,
		Why: `Clients make several requests at a time on one session; each is answered by itself, over HTTP on a stream of its own. A
server that answers only one of them, or mixes them up, works in a test by hand and fails in an agent.`,
		Remedy: `Answer each request when its result is there, with its own id, on the response of its own POST.`,
		Run: func(ctx context.Context, t *Target) Finding {
			const atOnce = 3 // as few as show it
			errs := make([]error, atOnce)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = use(ctx, t) })
			}
			all.Wait()
			for _, err := range errs {
				if err != nil {
					f := failure(err)
					f.Message = fmt.Sprintf("of %d requests at once, one failed: %s", atOnce, f.Message)
					return f
				}
			}
			return pass(fmt.Sprintf("%d at once", atOnce))
		},
	}
}
