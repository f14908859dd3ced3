package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolHeaders() Check {
	return Check{
		ID: "protocol.headers", Title: "headers are checked", Needs: usable(), Applies: remotely, Limit: ownLimits, Budget: func(*Target) time.Duration { return visitTime },
		Why: `From protocol version 2026-07-28 on, MCP-Protocol-Version and Mcp-Method repeat what the body says, so that
proxies can route by them. If they differ from the body, or name a version that the server does not know, the
server must answer 400: otherwise a proxy lets requests pass that it should have stopped.`,
		Remedy: `Compare MCP-Protocol-Version with the supported versions, and Mcp-Method with the body. Answer 400 if they do
not match.`,
		Run: func(ctx context.Context, t *Target) Finding {
			ctx, cancel := context.WithTimeout(ctx, t.patience(2))
			defer cancel()
			s, method, f := t.visitor(ctx)
			if f != nil {
				return *f
			}
			if s.Info().Era == session.EraLegacy { // few servers look at its one header, and no client sends a wrong one
				return skip("protocol " + s.Info().ProtocolVersion + " has none that matter")
			}
			wrong := []struct{ name, value string }{{"Mcp-Protocol-Version", "1900-01-01"}, {"Mcp-Method", "tools/call"}}
			var accepted []string
			for _, h := range wrong {
				reply, err := s.Visit(ctx, session.Visit{Method: method, Header: map[string]string{h.name: h.value}})
				if err != nil {
					return skip("not answered: " + failure(err).Message)
				}
				if !reply.Refused() {
					accepted = append(accepted, fmt.Sprintf("%s: %s", h.name, h.value))
				}
			}
			if len(accepted) > 0 {
				return warn(method+" is answered in spite of "+strings.Join(accepted, " and "), "refuse such requests with HTTP 400")
			}
			return pass("wrong ones are refused")
		},
	}
}
