package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolIDs() Check {
	return Check{
		ID: "protocol.ids", Title: "ids are returned unchanged", Needs: usable(),
		Why: `A response carries the id of its request, with the same value and type (JSON-RPC 2.0, section 5): the answer to
request 7 has the id 7, not "7", and not null. Clients that compare strictly never find the request, and report
a timeout although the answer has arrived. mcpctl accepts the string for the number.`,
		Remedy: `Keep the id of a request as the JSON value that arrived, and send it back unchanged. Do not decode it into a
string.`,
		Run: func(_ context.Context, t *Target) Finding {
			if t.odd(session.OddNullID) != nil {
				return t.oddity(session.OddNullID, "", "send the error with the id of the request that it answers")
			}
			return t.oddity(session.OddID, "each response has the id of its request", "send the id back as the JSON value that came")
		},
	}
}
