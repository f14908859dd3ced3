package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolMessages() Check {
	return Check{
		ID: "protocol.messages", Title: "each response answers a request", Needs: usable(),
		Why: `Every response answers one open request, and every message is sent by itself: arrays of messages (batches) were
part of protocol version 2025-03-26 only. Over stdio a message is one line. A client that takes the next message for its answer shows the result
of another request; one that does not know arrays drops the message. Over HTTP a response belongs in an event
that ends with a blank line, or is the whole JSON answer; in the older HTTP+SSE transport it comes on the
stream, not in the answer to the POST. mcpctl takes it where it is, and other clients wait until their limit.`,
		Remedy: "Answer each request once, to the client that made it, send each message by itself, and end each event with a blank line.",
		Run: func(_ context.Context, t *Target) Finding {
			for _, odd := range []struct {
				kind session.OddityKind
				fix  string
			}{
				{session.OddStray, "look for answers that are sent twice, too late, or to the wrong client"},
				{session.OddNotified, "answer nothing to a message without an id: some clients end the connection at such an answer"},
				{session.OddPosted, "answer each POST with 202, and send the response on the event stream: clients wait for it there"},
				{session.OddUnended, "end each event with a blank line: most clients wait for it until their limit"},
				{session.OddLines, "answer with one JSON message, or with text/event-stream and an event for each"},
				{session.OddSpanning, "write each message on one line: others take each line for a message"},
				{session.OddText, "write UTF-8 (Python on Windows: PYTHONUTF8=1): clients fail at other text, or show it garbled"},
				{session.OddBatch, "write each message by itself, not inside an array"},
			} {
				if t.odd(odd.kind) != nil {
					return t.oddity(odd.kind, "", odd.fix)
				}
			}
			return pass("none to spare, none in an array")
		},
	}
}
