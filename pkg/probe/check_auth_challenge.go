package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

func authChallenge() Check {
	return Check{
		ID: "auth.challenge", Title: "401 says what is required", Applies: chained,
		Why: `A 401 should carry WWW-Authenticate, which names the scheme (Bearer), where the server describes itself
(resource_metadata), and which scopes are missing. Without it a client cannot tell an OAuth login from a static
token, and some take the 401 for a bug. If a login was accepted, the server is asked once more without the
token.`,
		Remedy: `Send WWW-Authenticate: Bearer resource_metadata="URL" with each 401. For a static token, WWW-Authenticate:
Bearer is enough.`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			switch {
			case a.Status == 0:
				return skip("there is none: without a token the server answers a ping, too")
			case len(a.Challenges) == 0:
				return warn(fmt.Sprintf("HTTP %d comes without WWW-Authenticate", a.Status), "send WWW-Authenticate: Bearer with the refusal, so that clients know what is wanted")
			}
			var schemes, detail []string
			for _, c := range a.Challenges {
				schemes = append(schemes, firstWords(c.Scheme))
				for _, name := range []string{"error", "error_description", "scope", "resource_metadata"} {
					if v := c.Params[name]; v != "" {
						detail = append(detail, name+": "+firstWords(v))
					}
				}
			}
			f := pass(fmt.Sprintf("HTTP %d with %s", a.Status, andMore(slices.Compact(schemes), 3)))
			f.Detail = strings.Join(detail, "\n")
			return f
		},
	}
}
