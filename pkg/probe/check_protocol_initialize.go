package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolInitialize() Check {
	return Check{
		ID: "protocol.initialize", Title: "the result of initialize is complete", Needs: usable(),
		Why: `The result of initialize must have protocolVersion, capabilities, and serverInfo with a name and a version. Clients
made with the TypeScript or Python SDK refuse the session if one of them is missing.`,
		Remedy: "Send all of them; what there is nothing to say about is an empty object, or an empty text.",
		Run: func(_ context.Context, t *Target) Finding {
			if text := t.warned(session.WarnIncomplete); text != "" {
				return warn(text, "send capabilities, and serverInfo with name and version: other clients refuse the session without them")
			}
			if info := t.opened.Info(); info.Era == session.EraModern {
				return skip("protocol " + info.ProtocolVersion + " has no initialize")
			}
			return pass("protocolVersion, capabilities and serverInfo are there")
		},
	}
}
