package probe

import "context"

func authRegistration() Check {
	return Check{
		ID: "auth.registration", Title: "clients can introduce themselves",
		Applies: func(t *Target) bool { return refused(t) && (t.chain == nil || t.chain.Server != nil) },
		Why: `Before a login, a client needs an id at the authorization server: one that somebody got there beforehand, the URL of a
document about itself, or one that it registers for. Where the server offers neither of the last two, every client has to be
registered by hand, and most just fail.`,
		Remedy: `Offer client-id metadata documents or dynamic registration; else get a client id from the server's operator.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s := t.authorization(ctx).Server
			switch {
			case s == nil:
				return skip("the authorization server is not known")
			case s.ClientIDMetadataDocument:
				return pass("by the URL of a document")
			case s.RegistrationEndpoint != "":
				return pass("by registration")
			}
			return warn("the authorization server registers no clients: a client id has to be got from its operator",
				"ask the operator for a client id, or let the server offer client-id metadata documents")
		},
	}
}
