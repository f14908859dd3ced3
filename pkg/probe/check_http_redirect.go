package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpRedirect() Check {
	return Check{
		ID: "http.redirect", Title: "URL is the final one", Needs: []string{sessionOpenID}, Applies: overHTTP,
		Why: `A redirect costs a round trip with every request, and not all clients handle it: many turn the POST into a GET
(301, 302), or drop the body or the token. mcpctl follows redirects within the server's origin only, and repeats
the POST unchanged.`,
		Remedy: `Put the address that the server redirects to into the configuration. Often only a trailing slash is missing, or
one too many.`,
		Run: func(_ context.Context, t *Target) Finding {
			if t.warned(session.WarnRedirect) == "" {
				return pass("no redirect")
			}
			target := t.opened.Redirected()
			f := warn("the server redirects to "+target, "use that address: "+target)
			f.Data = map[string]any{"location": target}
			return f
		},
	}
}
