package probe

import (
	"context"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolRequests() Check {
	return Check{
		ID: "protocol.requests", Title: "responses of the client are accepted", Needs: usable(),
		Why: `Servers send requests too: ping, the client's roots, a model or a person. The client answers with a POST of its
own, which the server must accept with 202. A server that rejects it waits for ever, or drops the session.`,
		Remedy: "Accept a POST that contains a response, and match it to the request by its id.",
		Run: func(_ context.Context, t *Target) Finding {
			if t.odd(session.OddReply) != nil {
				return t.oddity(session.OddReply, "", "answer a POST that holds a response with 202, in the session that it names")
			}
			var asked []string
			for _, s := range t.sessions() {
				asked = append(asked, s.Asked()...)
			}
			if len(asked) == 0 {
				return skip("the server asked for nothing")
			}
			f := pass("to " + firstWords(strings.Join(asked, ", ")))
			f.Data = map[string]any{"methods": asked}
			return f
		},
	}
}
