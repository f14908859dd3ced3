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
redirect, 404 or 405 mean that the URL is not the MCP endpoint: it often has a path of its own, such as /mcp.`,
		Run: func(ctx context.Context, t *Target) Finding {
			_, err := t.open(ctx)
			var e *session.Error
			if errors.As(err, &e) && e.NotMCP() && e.Class != session.ClassAuth && e.Phase != "notifications/initialized" {
				return failure(err)
			}
			return pass("it does")
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
			if session.ClassOf(err) == session.ClassAuth {
				return failure(err)
			}
			return pass("no authorization asked for, or the one given was accepted")
		},
	}
}
