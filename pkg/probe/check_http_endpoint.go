package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpEndpoint() Check {
	return Check{
		ID: "http.endpoint", Title: "URL answers MCP", Needs: []string{"net.proxy", "net.tcp", "net.tls"}, Applies: overHTTP,
		Why: `The opening request is sent to the URL with POST, as every client does. The answer must be JSON-RPC. A web page,
a redirect, 404 or 405 means that the URL is not the MCP endpoint, which often has its own path, such as /mcp.
In that case mcpctl tries the usual paths.`,
		Remedy: `Correct the URL: the fix names what was found. The server's documentation should name the path of its MCP
endpoint.`,
		Limit:  ownLimits,
		Budget: connectBudget,
		Run: func(ctx context.Context, t *Target) Finding {
			_, err := t.open(ctx)
			e, failed := errors.AsType[*session.Error](err)
			switch {
			case err == nil:
				return pass("POST is answered with JSON-RPC")
			case !failed:
				return failure(err)
			case refused(t):
				return pass("it answers, and wants authorization")
			case e.NotMCP() && e.Phase != "notifications/initialized":
				f := failure(err)
				if other := t.otherwise(ctx); other != "" {
					f.Fix = fmt.Sprintf("the server speaks %s, but the transport is set to %s: use --transport %s, or change the key transport", other, t.expanded.Transport, other)
				} else if other := t.elsewhere(ctx); other != "" {
					f.Fix = "use " + other + " instead: an MCP server answers there"
				}
				return f
			case e.RPC != nil || e.Class == session.ClassProtocol || e.Phase == "notifications/initialized":
				return pass("POST is answered with JSON-RPC")
			}
			return skip("nothing answered that could be judged: see " + sessionOpenID)
		},
	}
}
