package probe

import (
	"context"
	"slices"
	"strings"
)

func authScopes() Check {
	return Check{
		ID: "auth.scopes", Title: "scopes are named", Applies: refused,
		Why: `A login asks for scopes: those that the challenge names, else those that the server's metadata lists. A token without the
one that a tool needs lists everything and is refused when the tool is called.`,
		Remedy: `Name the scopes that a request needs in the challenge: scope="files:read files:write".`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			scopes := a.Scopes()
			switch {
			case a.Resource == nil && len(scopes) == 0:
				return skip("the server names none")
			case len(scopes) == 0:
				return pass("none: the login asks for what the authorization server gives by itself")
			}
			f := pass(firstWords(strings.Join(scopes, " ")))
			if a.Server != nil && len(a.Server.ScopesSupported) > 0 {
				strange := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(a.Server.ScopesSupported, s) })
				if len(strange) > 0 {
					f = warn("the authorization server does not know the scope "+firstWords(strings.Join(strange, " ")),
						"name the same scopes in the server's metadata and in that of the authorization server")
				}
			}
			f.Data = map[string]any{"scopes": scopes}
			return f
		},
	}
}
