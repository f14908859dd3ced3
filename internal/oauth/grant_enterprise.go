package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	tokenIDJAG    = "urn:ietf:params:oauth:token-type:id-jag" //nolint:gosec // the name of a type
	tokenID       = "urn:ietf:params:oauth:token-type:id_token"
	// typIDJAG is the type in the header of such an assertion.
	typIDJAG = "oauth-id-jag+jwt"
)

// byEnterprise gets a token by the word of a company's identity provider: the person's id token is exchanged there for an
// assertion to the MCP server's authorization server (RFC 8693), which is shown to that (RFC 7523). See the MCP extension
// "Enterprise-Managed Authorization", 4 and 5.
func (g *grant) byEnterprise(ctx context.Context) (Record, error) {
	e, err := g.endpoint()
	if err != nil {
		return Record{}, err
	}
	idp, err := g.provider(ctx)
	if err != nil {
		return Record{}, err
	}
	identity := strings.TrimSpace(g.config.IDP.IDToken)
	g.a.secret(identity)
	if identity == "" {
		return Record{}, idp.config("id_token", "", "is needed: what the identity provider gave at the person's login", "put it there as a reference: ${VAR}")
	}
	if e.audience == "" {
		return Record{}, &Error{
			Step: StepServer, Reason: Invalid,
			Message: "the authorization server says no issuer, and the identity provider must be told whom its assertion is for",
		}
	}
	form := url.Values{
		"grant_type":           {grantExchange},
		"requested_token_type": {tokenIDJAG},
		"audience":             {e.audience},
		"subject_token":        {identity},
		"subject_token_type":   {tokenID},
	}
	g.wish(form)
	given, err := idp.request(ctx, form)
	if err != nil {
		refusal, ok := errors.AsType[*Error](err)
		if ok && (refusal.Code == "invalid_grant" || refusal.Code == "invalid_request") {
			refusal.Hint = cmp.Or(refusal.Hint, identityHint(idp, identity))
		}
		return Record{}, err
	}
	if said, ok := peek(given.Access); !ok || given.issued != tokenIDJAG && (given.issued != "" || said.typ != typIDJAG) {
		return Record{}, idp.invalid(fmt.Sprintf("it gave a token of the type %s, and %s was asked for",
			idp.shown(cmp.Or(given.issued, "of no name")), tokenIDJAG), "have the client allowed to get assertions for other servers (ID-JAG)")
	}
	g.a.say(StepExchange, "%s has vouched for the person", idp.name())

	r, err := g.finish(ctx, e, url.Values{"grant_type": {grantJWTBearer}, "assertion": {given.Access}})
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Code == "invalid_grant" {
		refusal.Hint = cmp.Or(refusal.Hint, cmp.Or(assertionHint(e, given.Access, "the identity provider's assertion"),
			fmt.Sprintf("it does not take the word of %s for the client %q: have it trust that provider", strings.TrimPrefix(idp.name(), "the "), e.client.ID)))
	}
	return r, err
}

// identityHint says why an id token may have been refused.
func identityHint(idp *endpoint, identity string) string {
	if s, ok := peek(identity); ok && !s.expires.IsZero() {
		check := *idp
		check.audience = idp.client.ID // an id token is for the client that asked for it
		if hint := assertionHint(&check, identity, "oauth.idp.id_token"); hint != "" {
			return hint
		}
	}
	return "mend oauth.idp.id_token: it must be the one that this provider gave to the client of oauth.idp.client_id"
}

// provider returns the token endpoint of the identity provider: the one that is configured, else that of its metadata. Only
// the endpoint is used of it, so nothing else need be supported there.
func (g *grant) provider(ctx context.Context) (*endpoint, error) {
	p := g.config.IDP
	e := &endpoint{
		url: p.TokenEndpoint, audience: p.Issuer, client: Client{ID: p.ClientID, Secret: p.ClientSecret},
		secret: g.a.secret, step: StepExchange, provider: true,
	}
	key, named := "token_endpoint", p.TokenEndpoint
	if named == "" {
		key, named = "issuer", p.Issuer
	}
	own, err := url.Parse(named)
	if err != nil || own.Host == "" {
		return nil, e.config(key, "", "is no URL", "write it as https://host/path")
	}
	if e.url == "" {
		metadata, err := g.metadata(ctx, own)
		if err != nil {
			return nil, err
		}
		e.url, e.methods, e.algorithms = metadata.TokenEndpoint, metadata.AuthMethods, metadata.AuthAlgorithms
	}
	if err := g.connect(e, own); err != nil {
		return nil, err
	}
	return e, nil
}

// metadata reads what the identity provider says of itself.
func (g *grant) metadata(ctx context.Context, issuer *url.URL) (*ServerMetadata, error) {
	var found Chain
	walk{endpoint: issuer, client: g.a.o.Client}.issuer(ctx, &found, g.config.IDP.Issuer)
	at := shownURL(g.config.IDP.Issuer)
	var e *Error
	switch {
	case ctx.Err() != nil:
		return nil, cancelled(ctx, StepExchange)
	case found.Server != nil && found.Server.TokenEndpoint != "":
		return found.Server, nil
	case found.Server != nil:
		e = failure(StepExchange, Invalid, nil, "the metadata of the identity provider %s has no token_endpoint", at)
	case slices.ContainsFunc(found.ServerPlaces, func(p Place) bool { return p.trouble }):
		i := slices.IndexFunc(found.ServerPlaces, func(p Place) bool { return p.trouble })
		e = failure(StepExchange, Unreachable, nil, "the metadata of the identity provider %s cannot be had: %s", at, found.ServerPlaces[i].Says)
	default:
		e = failure(StepExchange, Config, nil, "the identity provider %s has no metadata that can be used (%s)", at, asked(found.ServerPlaces))
	}
	e.Hint = "mend oauth.idp.issuer, or set oauth.idp.token_endpoint"
	return nil, e
}
