package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolUnknownMethod() Check {
	return Check{
		ID: "protocol.unknown-method", Title: "unknown methods are refused", Needs: usable(),
		Why: `Newer clients call methods that older servers do not know. The answer must be the JSON-RPC error -32601 ("method
not found"); silence or a broken connection makes such clients hang or give up.`,
		Remedy: "Answer unknown methods with the JSON-RPC error -32601.",
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			if f := t.crowded(); f != nil {
				return *f
			}
			limit := min(t.sup.Limits().Request.Value, t.patience(1))
			ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
			defer cancel()
			_, err = s.Raw(ctx, unknownMethod, nil)
			var e *session.Error
			switch {
			case err == nil:
				return warn("an unknown method is answered with a result", "answer it with the error -32601")
			case !errors.As(err, &e):
				return failure(err)
			case e.Class == session.ClassInterrupted:
				return Finding{Status: Unknown, Message: "interrupted"}
			case e.RPC != nil:
				return pass(fmt.Sprintf("refused with the error %d", e.RPC.Code))
			case e.Status >= 400 && e.Status < 500:
				return pass(fmt.Sprintf("refused with HTTP %d", e.Status))
			}
			return warn("an unknown method is not refused: "+e.Message, "answer unknown methods with the JSON-RPC error -32601")
		},
	}
}
