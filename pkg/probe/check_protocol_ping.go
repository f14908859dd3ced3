package probe

import (
	"context"
	"errors"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolPing() Check {
	return Check{
		ID: "protocol.ping", Title: "ping is answered", Needs: usable(),
		Why: `Up to protocol version 2025-11-25 every server must answer ping. Clients use it to find dead connections, and
drop a server that does not answer.`,
		Remedy: "Answer ping with an empty result.",
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			if s.Info().Era == session.EraModern {
				return skip("protocol " + s.Info().ProtocolVersion + " has no ping")
			}
			if f := t.crowded(); f != nil {
				return *f
			}
			begin := time.Now()
			err = ping(ctx, t)
			t.timed("ping", begin)
			var e *session.Error
			if errors.As(err, &e) && e.Class == session.ClassAnswered {
				return warn("ping is answered with an error: "+e.Message, "answer ping with an empty result")
			}
			if err != nil {
				return failure(err)
			}
			return pass("answered")
		},
	}
}
