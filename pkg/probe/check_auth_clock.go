package probe

import (
	"context"
	"fmt"
	"time"
)

// mostSkew is how far clocks may differ: authorization servers allow a minute or so in what they check.
const mostSkew = time.Minute

func authClock() Check {
	return Check{
		ID: "auth.clock", Title: "clocks agree", Applies: chained,
		Why: `Tokens, assertions and proofs of possession contain times, which servers compare with their own clocks. If the
clocks differ, a token is rejected as not yet valid, or as expired, right after it was issued. The server's
clock is taken from the Date header of its answers.`,
		Remedy: "Set the clock of the machine that is wrong, and let it follow a time server.",
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			seen := false
			for _, p := range append(a.ResourcePlaces, a.ServerPlaces...) {
				if p.Skew == nil {
					continue
				}
				seen = true
				if skew := *p.Skew; skew.Abs() > mostSkew {
					direction := "ahead of"
					if skew < 0 {
						direction = "behind"
					}
					f := warn(fmt.Sprintf("the clock of %s is %s %s that of this machine", hostOf(p.URL), skew.Abs().Round(time.Second), direction),
						"set the clock that is wrong; this machine's says "+time.Now().UTC().Format(time.RFC3339))
					f.Data = map[string]any{"skew_ms": skew.Milliseconds()}
					return f
				}
			}
			if !seen {
				return skip("no answer has a date")
			}
			return pass("within a minute")
		},
	}
}
