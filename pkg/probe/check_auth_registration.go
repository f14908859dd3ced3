package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func authRegistration() Check {
	return Check{
		ID: authRegistrationID, Title: "clients can register",
		Applies: func(t *Target) bool { return chained(t) && (t.chain == nil || t.chain.Server != nil) },
		Why: `Before a login, a client needs a client ID at the authorization server: one obtained in advance, the URL of a
document about itself, or one that it registers for. If the authorization server offers neither of the last two,
every client has to be registered by hand, and most just fail.`,
		Remedy: `Get a client ID from the operator of the authorization server, and add it to the entry: --client-id ID, or the
key oauth.client_id. Operators: offer client ID metadata documents or dynamic registration.`,
		Run: func(ctx context.Context, t *Target) Finding {
			a := t.authorization(ctx)
			s, o := a.Server, t.expanded.OAuth
			switch {
			case o != nil && o.ClientID != "":
				return pass("not needed: the entry has the client id " + firstWords(o.ClientID))
			case s == nil:
				return skip("the authorization server is not known")
			case o != nil && o.ClientMetadataURL != "" && s.ClientIDMetadataDocument:
				return pass("by the document " + firstWords(o.ClientMetadataURL))
			case loggedIn(t) && t.login.ClientID != "" && t.login.Issuer == s.Issuer:
				return pass("registered as " + firstWords(t.login.ClientID))
			case a.Defaults:
				return pass("by registration, if /register is there")
			case s.RegistrationEndpoint != "":
				if wrong := session.Unsafe(s.RegistrationEndpoint, t.expanded); wrong != "" {
					return t.stopped(ctx, authRegistrationID, warn("the registration endpoint "+firstWords(s.RegistrationEndpoint)+": "+wrong, registerByHand))
				}
				return pass("by registration at " + firstWords(s.RegistrationEndpoint))
			case s.ClientIDMetadataDocument:
				return t.stopped(ctx, authRegistrationID, warn("the authorization server wants the URL of a document about the client, and the entry has none",
					"publish such a document and name it: --client-metadata-url URL; or ask the operator for a client ID: --client-id ID"))
			}
			return t.stopped(ctx, authRegistrationID, warn("the authorization server does not register clients: get a client ID from its operator", registerByHand))
		},
	}
}

// registerByHand is what helps where clients cannot register.
const registerByHand = "ask the operator for a client ID, and set it: --client-id ID, or the key oauth.client_id"

// registrable reports whether a client id can be had, as far as the metadata says.
func (t *Target) registrable(a session.Authorization) bool {
	o := t.expanded.OAuth
	switch {
	case o != nil && o.ClientID != "", !t.needsPerson(), a.Defaults:
		return true
	case a.Server.ClientIDMetadataDocument && o != nil && o.ClientMetadataURL != "":
		return true
	}
	return a.Server.RegistrationEndpoint != "" && session.Unsafe(a.Server.RegistrationEndpoint, t.expanded) == ""
}
