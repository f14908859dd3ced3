package oauth

import (
	"context"
	"net/url"
)

// asClient gets a token for the program itself. See RFC 6749, 4.4, and the MCP extension "OAuth Client Credentials".
func (g *grant) asClient(ctx context.Context) (Record, error) {
	e, err := g.endpoint()
	if err != nil {
		return Record{}, err
	}
	switch {
	case e.client.ID == "":
		return Record{}, e.config("client_id", "--client-id", "is needed for the grant client_credentials", "have a client registered at "+e.name())
	case e.client.Secret == "" && e.key == "":
		return Record{}, e.config("client_secret", "--client-secret",
			"is needed for the grant client_credentials, or "+e.keyName("private_key", "--private-key"), "")
	}
	return g.finish(ctx, e, url.Values{"grant_type": {"client_credentials"}})
}
