package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionIdle() Check {
	return Check{
		ID: "session.idle", Title: "session survives silence", Needs: usable(), Limit: ownLimits,
		Budget:  func(t *Target) time.Duration { return t.Idle + requestBudget(t) },
		Applies: func(t *Target) bool { return t.Idle > 0 },
		Why: `Sessions are often idle while people and models think. With --idle TIME nothing is sent for that long; then the
session must still answer, and its stream of notifications must still be open. This shows the idle timeout of a
load balancer (often 60 s) or of the server's session store.`,
		Remedy: `Raise the idle timeout of the load balancer above that of the sessions, or send comments on the stream. Let
sessions live for hours.`,
		Run: func(ctx context.Context, t *Target) Finding {
			before := t.sup.Stats().Handshakes
			if !pause(ctx, t.Idle) {
				return Finding{Status: Unknown, Message: "interrupted before " + t.Idle.String() + " were over"}
			}
			if err := use(ctx, t); err != nil {
				f := failure(err)
				f.Message = fmt.Sprintf("after %s of silence: %s", t.Idle, f.Message)
				return f
			}
			f := pass(fmt.Sprintf("it answered after %s of silence", t.Idle))
			f.Data = map[string]any{"idle_ms": t.Idle.Milliseconds()}
			if st := t.sup.Stats(); st.Handshakes > before {
				f.Status, f.Class = Fail, string(session.ClassSession)
				f.Message = fmt.Sprintf("the session was lost within %s of silence", t.Idle)
				if st.Recovery != nil {
					f.Message += ": " + st.Recovery.Cause
					f.Data["lost_by"] = st.Recovery.Cause
				}
				f.Fix = "let sessions live longer: look at the store of sessions, and at the idle limit of the load balancer"
				return f
			}
			if t.stream != nil && t.stream.lasted() > 0 {
				f.Message += "; its stream did not stand so long: see session.stream"
			}
			return f
		},
	}
}
