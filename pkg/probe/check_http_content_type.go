package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpContentType() Check {
	return Check{
		ID: "http.content-type", Title: "answers have the right content type", Needs: usable(), Applies: overHTTP,
		Why: `The answer to a request must be application/json or text/event-stream, and Content-Type must say so. If the
header is missing or says something else, mcpctl looks at the first bytes; several SDKs reject such an answer
("unexpected content type").`,
		Remedy: "Send Content-Type: application/json with a JSON answer, and text/event-stream with a stream.",
		Run: func(_ context.Context, t *Target) Finding {
			return t.oddity(session.OddContentType, "each answer has its Content-Type", "send Content-Type: application/json with each JSON answer")
		},
	}
}
