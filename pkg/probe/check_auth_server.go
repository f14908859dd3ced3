package probe

import (
	"context"
	"fmt"
	"slices"
)

func authServer() Check {
	return Check{
		ID: "auth.server", Title: "authorization server describes itself",
		Applies: func(t *Target) bool { return refused(t) && (t.chain == nil || t.chain.Issuer != "") },
		Why: `The authorization server publishes where people log in and where tokens are given (RFC 8414, or OpenID Connect Discovery).
Its issuer must be the one that the server named, letter by letter: else somebody could put another login in its place. It must offer
PKCE with S256.`,
		Remedy: `Publish the metadata at /.well-known/oauth-authorization-server, with the same issuer as in the server's metadata and code_challenge_methods_supported: ["S256"].`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			if a.Server == nil {
				return missing("usable metadata of "+firstWords(a.Issuer), a.ServerPlaces, "publish the authorization server's metadata, with the issuer "+firstWords(a.Issuer))
			}
			found := a.ServerPlaces[len(a.ServerPlaces)-1]
			f := pass(found.URL)
			switch {
			case a.SlashOnly:
				f = warn(fmt.Sprintf("the issuer is %s here and %s in the server's metadata", firstWords(a.Server.Issuer), firstWords(a.Issuer)),
					"write the issuer the same way in both: some clients refuse the login because of the slash")
			case a.Server.AuthorizationEndpoint == "" || a.Server.TokenEndpoint == "":
				f = warn(found.URL+" lacks the authorization or the token endpoint", "add authorization_endpoint and token_endpoint")
			case !slices.Contains(a.Server.CodeChallengeMethods, "S256"):
				f = warn(found.URL+" does not offer PKCE with S256, which clients must use", `add "code_challenge_methods_supported": ["S256"]`)
			}
			f.Detail = asked(a.ServerPlaces)
			f.Data = map[string]any{"issuer": a.Server.Issuer}
			return f
		},
	}
}
