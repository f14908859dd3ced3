package probe

import (
	"context"
	"fmt"
	"time"
)

func sessionReuse() Check {
	return Check{
		ID: "session.reuse", Title: "session can be reused", Needs: []string{"session.open"}, Limit: ownLimits,
		Why: `A session must serve more than one request. If it is lost on the second one, several instances behind one
address do not share their sessions, or the server drops them.`,
		Remedy: `Let the instances behind one address share their sessions, or route each session to one of them. If there is
only one, find out what ends sessions early.`,
		Run: func(ctx context.Context, t *Target) Finding {
			for i := range 2 {
				begin := time.Now()
				if i > 0 && !pause(ctx, idleGap) {
					return Finding{Status: Unknown, Message: "interrupted"}
				}
				if i > 0 {
					t.timed("pause", begin)
				}
				if err := use(ctx, t); err != nil {
					return failure(err)
				}
			}
			if s := t.current(ctx); s != nil {
				t.listen(s)
			}
			if st := t.sup.Stats(); st.Handshakes > t.opened.Info().Generation && st.Recovery != nil {
				f := warn(fmt.Sprintf("the session was lost and had to be replaced, which took %s: %s", FormatElapsed(st.Recovery.Elapsed), st.Recovery.Cause),
					"see whether the server restarted, or drops sessions; if several instances share the address, let them share sessions too, or route each session to one instance")
				f.Data = map[string]any{"fresh_ms": milliseconds(st.Recovery.Elapsed), "lost_by": st.Recovery.Cause, "handshakes": st.Handshakes}
				return f
			}
			return pass("used twice with a pause between")
		},
	}
}
