package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolMessages() Check {
	return Check{
		ID: "protocol.messages", Title: "each response answers a request", Needs: usable(),
		Why: `Every response answers one open request, and every message is sent by itself: arrays of messages (batches) were
part of protocol version 2025-03-26 only. A client that takes the next message for its answer shows the result
of another request; one that does not know arrays drops the message.`,
		Remedy: "Answer each request once, to the client that made it, and send each message by itself.",
		Run: func(_ context.Context, t *Target) Finding {
			if t.odd(session.OddStray) != nil {
				return t.oddity(session.OddStray, "", "look for answers that are sent twice, too late, or to the wrong client")
			}
			if t.odd(session.OddNotified) != nil {
				return t.oddity(session.OddNotified, "", "answer nothing to a message without an id: some clients end the connection at such an answer")
			}
			return t.oddity(session.OddBatch, "none to spare, none in an array", "write each message by itself, not inside an array")
		},
	}
}
