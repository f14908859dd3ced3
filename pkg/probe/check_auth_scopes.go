package probe

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/session"
)

func authScopes() Check {
	return Check{
		ID: "auth.scopes", Title: "scopes are named, and granted", Applies: chained,
		Why: `A login asks for scopes: those of the entry, else those in the challenge, else those in the server's metadata.
The authorization server may grant fewer. A token without the scope that a tool needs can list everything, and
is rejected when the tool is called.`,
		Remedy: `Name the scopes that a request needs in the challenge: scope="files:read files:write". If a token lacks one, log
in again and ask for it: mcpctl login NAME --oauth-scope SCOPE.`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			scopes := t.wantedScopes(a)
			granted := t.login.Scopes
			switch {
			case len(scopes) == 0 && loggedIn(t) && len(granted) > 0:
				return pass("granted: " + firstWords(strings.Join(granted, " ")))
			case a.Resource == nil && len(scopes) == 0:
				return skip("the server names none")
			case len(scopes) == 0:
				return pass("none: the login asks for what the authorization server gives by itself")
			}
			f := pass(firstWords(strings.Join(scopes, " ")))
			if loggedIn(t) {
				f.Message = "granted: " + f.Message
			}
			lacking := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(granted, s) })
			var strange []string
			if a.Server != nil && len(a.Server.ScopesSupported) > 0 {
				strange = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(a.Server.ScopesSupported, s) })
			}
			switch {
			case loggedIn(t) && len(granted) > 0 && len(lacking) > 0: // else what was asked for was granted (RFC 6749, 5.1)
				f = warn("the login lacks "+firstWords(strings.Join(lacking, " "))+"; granted: "+firstWords(strings.Join(granted, " ")),
					t.loginLine()+" --oauth-scope "+toolargsQuoted(lacking))
			case len(strange) > 0:
				f = warn("the authorization server does not know the scope "+firstWords(strings.Join(strange, " ")),
					"name the same scopes in the server's metadata and in that of the authorization server")
			}
			f.Data = map[string]any{"scopes": scopes, "granted": granted}
			return f
		},
	}
}

// wantedScopes are those that a login asks for.
func (t *Target) wantedScopes(a session.Authorization) []string {
	if o := t.expanded.OAuth; o != nil && len(o.Scopes) > 0 {
		return o.Scopes
	}
	return a.Scopes()
}

// toolargsQuoted are scopes as one word of a command line.
func toolargsQuoted(scopes []string) string { return toolargs.Quote(strings.Join(scopes, " ")) }
