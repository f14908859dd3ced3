package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionNoise() Check {
	return Check{
		ID: "session.noise", Title: "stdout holds only MCP messages", Needs: []string{"session.open"}, Applies: stdio,
		Why: `The stdout of a stdio server is for MCP messages only; everything else belongs on stderr. mcpctl skips such
lines, but several clients close the connection at the first one.`,
		Remedy: "Write logs and banners to stderr.",
		Run: func(_ context.Context, t *Target) Finding {
			n := t.opened.Noise()
			if n.Lines == 0 {
				return pass("only MCP messages")
			}
			f := warn(fmt.Sprintf("line %d is not MCP: %s", n.Number, session.QuoteLine(n.First)), "write logs and banners to stderr")
			if n.Lines > 1 {
				f.Message = fmt.Sprintf("%d lines are not MCP; the first, line %d: %s", n.Lines, n.Number, session.QuoteLine(n.First))
			}
			if strings.HasPrefix(strings.ToLower(n.First), "content-length:") {
				f = warn("the server puts Content-Length headers before its messages, as LSP does",
					"write each message as one line of JSON, with nothing before it: clients of MCP read lines")
			}
			if odd := t.odd(session.OddLine); odd != nil {
				f = warn(odd.First+"; other clients do not find it there, and wait for it in vain",
					"end what is written to standard output before a message with a newline, or write it to standard error")
			}
			f.Data = map[string]any{"lines": n.Lines, "first": strings.Trim(session.QuoteLine(n.First), `"`), "line_number": n.Number}
			return f
		},
	}
}
