package probe

import (
	"context"
	"fmt"
)

func authResource() Check {
	return Check{
		ID: authResourceID, Title: "server publishes resource metadata", Applies: chained,
		Why: `A server with an OAuth login publishes a document about itself (RFC 9728) that names its authorization server.
Its address is in the challenge; otherwise it is /.well-known/oauth-protected-resource, with and without the
path of the server. A web page at that address is not metadata, and metadata about another server must not be
used: tokens would be issued for that one.`,
		Remedy: `Publish protected-resource metadata with the URL of the server as resource, and name its address in the
challenge. A server that only accepts static tokens needs none.`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			data := map[string]any{"asked": askedData(a.ResourcePlaces)}
			if a.Resource == nil {
				f := missing("protected-resource metadata", a.ResourcePlaces,
					"if the server has an OAuth login, publish the metadata; if it takes a static token, nothing is wrong here: give it with a header")
				switch {
				case a.Mismatch != "":
					f.Message = fmt.Sprintf("the metadata is about %s, but this server is %s: a token for one is not valid for the other", firstWords(a.Mismatch), t.place())
					f.Fix = "set resource in the metadata to " + t.place() + ", or use the URL that it is about"
				case a.Server != nil && !a.Defaults && challenged(a, "resource_metadata") == "":
					f = pass("there is none, as with servers of 2025-03-26: the authorization server is looked for at the server's origin")
					f.Detail = asked(a.ResourcePlaces)
				case challenged(a, "resource_metadata") != "":
					p := a.ResourcePlaces[0]
					f.Message = fmt.Sprintf("the challenge names %s, and no metadata is there: %s", p.URL, firstWords(p.Says))
					f.Fix = "publish the metadata where the challenge says, over https, as JSON of some hundred bytes"
				case len(a.Challenges) == 0 || otherScheme(a) != "":
					f = skip("there is none: the server probably wants a static token")
					f.Detail = asked(a.ResourcePlaces)
				}
				f.Data = data
				return t.stopped(ctx, authResourceID, f)
			}
			found := a.ResourcePlaces[len(a.ResourcePlaces)-1]
			f := pass(found.URL)
			f.Detail = asked(a.ResourcePlaces)
			data["resource"], data["authorization_servers"] = a.Resource.Resource, a.Resource.AuthorizationServers
			if len(a.Resource.AuthorizationServers) == 0 {
				f = warn(found.URL+" names no authorization server", "list the issuer in authorization_servers")
				f = t.stopped(ctx, authResourceID, f)
			}
			f.Data = data
			return f
		},
	}
}
