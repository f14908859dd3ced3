package probe

import (
	"context"
	"fmt"
)

func authServer() Check {
	return Check{
		ID: authServerID, Title: "authorization server publishes metadata",
		Applies: func(t *Target) bool {
			return chained(t) && (t.chain == nil || t.chain.Issuer != "" || len(t.chain.ServerPlaces) > 0)
		},
		Why: `The authorization server publishes where people log in and where tokens are issued (RFC 8414, or OpenID Connect
Discovery). Its issuer must be exactly the one that the MCP server named: otherwise somebody could substitute
another login. It must offer PKCE with S256, and its endpoints must use https, or http on this machine.`,
		Remedy: `Publish the metadata at /.well-known/oauth-authorization-server, with the same issuer as in the server's
metadata and code_challenge_methods_supported: ["S256"].`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			data := map[string]any{"asked": askedData(a.ServerPlaces)}
			if a.Server == nil {
				f := missing("usable metadata of "+firstWords(a.Issuer), a.ServerPlaces, "publish the authorization server's metadata, with the issuer "+firstWords(a.Issuer))
				for _, p := range a.ServerPlaces {
					if p.Issuer != "" {
						f.Message = fmt.Sprintf("the issuer is %s in the metadata of the authorization server, and %s in the server's: nothing of it is used", firstWords(p.Issuer), firstWords(a.Issuer))
						f.Fix = "write the same issuer in both"
						data["issuer"], data["wanted_issuer"] = p.Issuer, a.Issuer
						break
					}
				}
				if a.Issuer == "" || a.Resource == nil { // it was looked for at the server's origin, where older ones have it
					f = skip("no authorization server is known")
					f.Detail = asked(a.ServerPlaces)
				}
				f.Data = data
				return t.stopped(ctx, authServerID, f)
			}
			data["issuer"] = a.Server.Issuer
			if a.Defaults {
				f := pass("no metadata: a login tries the endpoints that servers of 2025-03-26 have")
				f.Detail, f.Data = asked(a.ServerPlaces), data
				return f
			}
			found := a.ServerPlaces[len(a.ServerPlaces)-1]
			f := pass(found.URL)
			switch wrong := t.unfit(a); {
			case wrong != "":
				f = t.stopped(ctx, authServerID, warn(found.URL+" "+wrong, "correct the metadata of the authorization server: a login is refused because of it"))
			case a.SlashOnly:
				f = warn(fmt.Sprintf("the issuer is %s here and %s in the server's metadata", firstWords(a.Server.Issuer), firstWords(a.Issuer)),
					"write the issuer the same way in both: some clients refuse the login because of the slash")
			}
			f.Detail, f.Data = asked(a.ServerPlaces), data
			return f
		},
	}
}
