package transport

import (
	"context"
	"fmt"
)

// AnswersFramed sends one request behind a Content-Length header, as the Language Server Protocol has it, and reports
// whether the child answers it before ctx ends. It is for a child to which nothing else has been sent: one that reads
// lines, as MCP wants it, finds no end of a line after the message, and does not answer. The request's id must be a number.
func (k *Child) AnswersFramed(ctx context.Context, request []byte) bool {
	asked, ok := parseEnvelope(request)
	if !ok {
		return false
	}
	ctx, ex := WithExchange(ctx)
	if k.expect(ctx, asked, ex) != nil {
		return false
	}
	w := write{data: fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(request), request), ex: ex, done: make(chan error, 1)}
	select {
	case k.writes <- w:
	case <-ctx.Done():
		return false
	case <-k.dead:
		return false
	}
	for {
		select {
		case <-k.incoming: // whatever it says: the answer is in the exchange
			if ex.State().Result != nil { // an error may be the one about the header, which is no line of JSON
				return true
			}
		case <-ctx.Done():
			return false
		case <-k.dead:
			return false
		}
	}
}
