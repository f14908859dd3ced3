package probe

import (
	"context"
	"errors"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpEndpoint() Check {
	return Check{
		ID: "http.endpoint", Title: "URL answers MCP", Needs: []string{"net.tcp", "net.tls"}, Applies: overHTTP,
		Why: `The opening request is sent to the URL with POST, as every client does. The answer must be JSON-RPC. A web page, a
redirect, 404 or 405 mean that the URL is not the MCP endpoint: it often has a path of its own, such as /mcp. Then the
usual paths are tried.`,
		Limit: ownLimits,
		Run: func(ctx context.Context, t *Target) Finding {
			_, err := t.open(ctx)
			e, failed := errors.AsType[*session.Error](err)
			switch {
			case err == nil:
				return pass("it does")
			case !failed:
				return failure(err)
			case e.Class == session.ClassAuth:
				return pass("it wants authorization")
			case e.NotMCP() && e.Phase != "notifications/initialized":
				f := failure(err)
				if other := t.elsewhere(ctx); other != "" {
					f.Fix = "use " + other + " instead: an MCP server answers there"
				}
				return f
			case e.RPC != nil || e.Phase == "notifications/initialized":
				return pass("it does")
			}
			return skip("nothing answered that could be judged: see " + sessionOpenID)
		},
	}
}

func authAccess() Check {
	return Check{
		ID: "auth.access", Title: "access is granted", Needs: []string{"http.endpoint"}, Applies: overHTTP,
		Why: `401 means that the server wants authorization, or does not accept the one it got. 403 means that it knows who asks, and
refuses. A token usually goes into a header: Authorization: Bearer ${TOKEN}.`,
		Run: func(ctx context.Context, t *Target) Finding {
			_, err := t.open(ctx)
			switch {
			case session.ClassOf(err) == session.ClassAuth:
				return failure(err)
			case err != nil:
				return skip("no session was opened: see " + sessionOpenID)
			}
			return pass("the session opened")
		},
	}
}
