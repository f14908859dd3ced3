package oauth

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// withoutPerson gets a token by one of the grants that need no person: client_credentials, jwt_bearer, enterprise_managed.
// chain is what is known of the server's protection, scopes are those to ask for.
func (a *Authorizer) withoutPerson(ctx context.Context, chain Chain, scopes []string) (Record, error) {
	g := &grant{a: a, chain: chain, scopes: scopes}
	if a.o.Server.OAuth != nil {
		g.config = *a.o.Server.OAuth
	}
	a.secret(g.config.ClientSecret, g.config.Assertion, g.config.IDP.ClientSecret, g.config.IDP.IDToken)
	switch g.config.Grant {
	case config.GrantClient:
		return g.asClient(ctx)
	case config.GrantJWTBearer:
		return g.withAssertion(ctx)
	case config.GrantEnterprise:
		return g.byEnterprise(ctx)
	case config.GrantCode, "":
	}
	return Record{}, &Error{
		Step: StepToken, Reason: Config, Message: fmt.Sprintf("oauth.grant (--grant): %q needs a person, or is not known", string(g.config.Grant)),
		Hint: "write client_credentials, jwt_bearer or enterprise_managed",
	}
}

// grant is one run of a grant without a person.
type grant struct {
	a      *Authorizer
	config config.OAuth
	chain  Chain
	scopes []string
}

// endpoint returns the token endpoint of the MCP server's authorization server, whose metadata can be used, with the client that the configuration
// names, and a key for the token where one is wanted.
func (g *grant) endpoint() (*endpoint, error) {
	s := g.chain.Server
	e := &endpoint{
		url: s.TokenEndpoint, client: Client{ID: g.config.ClientID, Secret: g.config.ClientSecret},
		methods: s.AuthMethods, algorithms: s.AuthAlgorithms, audience: s.Issuer, key: g.config.PrivateKey,
		secret: g.a.secret, step: StepToken,
	}
	if e.client.ID == "" && s.ClientIDMetadataDocument {
		e.client.ID = g.config.ClientMetadataURL
	}
	if err := g.connect(e, g.a.endpoint); err != nil {
		return nil, err
	}
	if err := g.key(e); err != nil {
		return nil, err
	}
	var err error
	e.proof, e.bound, err = g.a.proofKeyFor(g.chain)
	return e, err
}

// key reads the client's private key, before anybody is asked.
func (g *grant) key(e *endpoint) error {
	if e.key == "" {
		return nil
	}
	text, warning, err := readKey(e.key)
	if err != nil {
		return e.keyFailed(err)
	}
	g.a.secret(text)
	if _, err := parseKey(text); err != nil {
		return e.keyFailed(err)
	}
	if warning != "" {
		g.a.lose(e.step, "%s", warning)
	}
	e.key = text
	return nil
}

// connect checks where an endpoint is, and gets the way to it. own is the host that the user named.
func (g *grant) connect(e *endpoint, own *url.URL) error {
	_, client, failed := g.a.way(e.step, "token endpoint", e.url, own)
	if failed != nil {
		return failed
	}
	e.http = client
	return nil
}

// wish adds what the token is for (RFC 8707, 2) and the scopes to a request.
func (g *grant) wish(form url.Values) {
	form.Set("resource", g.a.resource(g.chain))
	if len(g.scopes) > 0 {
		form.Set("scope", strings.Join(g.scopes, " "))
	}
}

// finish asks for the token, and makes the record of it.
func (g *grant) finish(ctx context.Context, e *endpoint, form url.Values) (Record, error) {
	g.wish(form)
	token, err := e.ask(ctx, form)
	if err != nil {
		return Record{}, err
	}
	key, err := e.keyText(token)
	if err != nil {
		return Record{}, &Error{Step: e.step, Reason: Invalid, Message: "the key of the token: " + err.Error(), Err: err}
	}
	client := e.client
	client.Method = e.method() // a refresh does without the server's metadata
	return Record{
		Server: g.a.place(), Issuer: g.chain.Server.Issuer, Resource: g.a.resource(g.chain),
		Grant: string(g.config.Grant), Token: token, Client: client, TokenEndpoint: e.url, RevocationEndpoint: g.chain.Server.RevocationEndpoint, Key: key,
	}, nil
}

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
