package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionInitialized() Check {
	return Check{
		ID: "session.initialized", Title: "notifications are accepted", Needs: []string{sessionOpenID}, Applies: remotely,
		Why: `The handshake ends with the notification notifications/initialized. Over HTTP it must be answered with 202 and no body,
at once. A server that waits for something to say leaves its clients waiting before their first request.`,
		Remedy: `Answer a POST that holds only notifications or responses with 202 Accepted, without a body.`,
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
