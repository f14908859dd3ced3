package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionInitialized() Check {
	return Check{
		ID: "session.initialized", Title: "notifications are accepted", Needs: []string{sessionOpenID}, Applies: remotely,
		Why: `The handshake ends with notifications/initialized. Over HTTP the server must answer it at once, with 202 and no
body. If it waits until it has something to say, its clients hang before their first request.`,
		Remedy: "Answer a POST that contains only notifications or responses with 202 Accepted and no body.",
		Run: func(_ context.Context, t *Target) Finding {
			if text := t.warned(session.WarnUnaccepted); text != "" {
				return warn(text, "answer notifications with 202 at once: other clients wait for it before their first request")
			}
			if t.opened.Info().Era == session.EraModern {
				return skip("protocol " + t.opened.Info().ProtocolVersion + " has no handshake")
			}
			return pass("notifications/initialized was accepted")
		},
	}
}
