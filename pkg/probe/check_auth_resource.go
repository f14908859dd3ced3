package probe

import "context"

func authResource() Check {
	return Check{
		ID: "auth.resource", Title: "server describes its protection", Applies: refused,
		Why: `A server with an OAuth login publishes a document about itself (RFC 9728) that names its authorization server. It is where
the challenge says, else at /.well-known/oauth-protected-resource, with the path of the server and without. A web page at such an
address is no document.`,
		Remedy: `Publish the protected-resource metadata and name its URL in the challenge; a server that only takes static tokens needs none.`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			if a.Resource == nil {
				if len(a.Challenges) == 0 || otherScheme(a) != "" {
					f := skip("there is none: the server probably wants a static token")
					f.Detail = asked(a.ResourcePlaces)
					return f
				}
				return missing("protected-resource metadata", a.ResourcePlaces,
					"if the server has an OAuth login, publish the metadata; if it takes a static token, nothing is wrong here: give it with a header")
			}
			found := a.ResourcePlaces[len(a.ResourcePlaces)-1]
			f := pass(found.URL)
			f.Detail = asked(a.ResourcePlaces)
			f.Data = map[string]any{"resource": a.Resource.Resource, "authorization_servers": a.Resource.AuthorizationServers}
			if len(a.Resource.AuthorizationServers) == 0 {
				f = warn(found.URL+" names no authorization server", "list the issuer in authorization_servers")
			}
			return f
		},
	}
}
