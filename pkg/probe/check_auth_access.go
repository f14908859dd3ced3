package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func authAccess() Check {
	return Check{
		ID: "auth.access", Title: "access is granted", Needs: []string{"http.endpoint"}, Applies: overHTTP,
		Why: `401 means that the server wants authorization, or does not accept the one it got. 403 means that it knows who asks, and
refuses. A token usually goes into a header: Authorization: Bearer ${TOKEN}.`,
		Remedy: `Give the server the credential that it wants: mcpctl add NAME URL --header 'Authorization: Bearer ${TOKEN}'.`,
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
