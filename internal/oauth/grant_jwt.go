package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// withAssertion gets a token for a signed statement about who this is: the one that the configuration holds, as the platform
// of a workload gives it, or one that the client's own key signs. It is asked once; what is refused is not tried in another
// way. See RFC 7523, 2.1, and the MCP extension "Workload Identity Federation".
func (g *grant) withAssertion(ctx context.Context) (Record, error) {
	e, err := g.endpoint()
	if err != nil {
		return Record{}, err
	}
	statement := strings.TrimSpace(g.config.Assertion) // a file ends in a line break
	if statement == "" {
		if statement, err = g.ownAssertion(e); err != nil {
			return Record{}, err
		}
	}
	g.a.secret(statement)
	if _, ok := peek(statement); !ok {
		return Record{}, e.config("assertion", "--assertion", "is no JSON Web Token, which has three parts with dots between them",
			"put the token there that the platform gives this program")
	}
	if others := elsewhere(e, statement); others != "" {
		return Record{}, e.config("assertion", "--assertion",
			fmt.Sprintf("is for %s, and the MCP server names %s: it was not shown to that", others, e.name()),
			"get one for the authorization server that the MCP server names, if you trust it")
	}
	r, err := g.finish(ctx, e, url.Values{"grant_type": {grantJWTBearer}, "assertion": {statement}})
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Code == "invalid_grant" {
		refusal.Hint = cmp.Or(refusal.Hint, assertionHint(e, statement, "oauth.assertion (--assertion)"))
	}
	return r, err
}

// elsewhere returns whom a statement is for, if those are all at other origins than the authorization server: whoever is
// named by an MCP server could use it there. It is "" if it may be shown. An audience that is no address of the web tells
// nothing of that.
func elsewhere(e *endpoint, statement string) string {
	s, _ := peek(statement)
	for _, audience := range s.audience {
		there, err := url.Parse(audience)
		if err != nil || there.Host == "" || there.Scheme != "https" && there.Scheme != "http" {
			return ""
		}
		for _, own := range []string{e.audience, e.url} {
			if u, err := url.Parse(own); err == nil && transport.SameOrigin(there, u) {
				return ""
			}
		}
	}
	return transport.Snippet([]byte(strings.Join(s.audience, ", ")))
}

// ownAssertion returns a statement of the client about itself.
func (g *grant) ownAssertion(e *endpoint) (string, error) {
	switch {
	case e.key == "":
		return "", e.config("assertion", "--assertion", "is needed for the grant jwt_bearer, or "+e.keyName("private_key", "--private-key")+" to sign one", "")
	case e.client.ID == "":
		return "", e.config("client_id", "--client-id", "is needed: the key signs an assertion, which says who the client is", "")
	}
	// What the server takes for assertions that authenticate clients says nothing of these.
	signed, secrets, err := e.signed(e.client.ID, nil)
	g.a.secret(secrets...)
	if err == nil && !slices.Contains(e.methods, methodKey) {
		e.key = "" // it has signed the grant; the server knows no such way for clients
	}
	return signed, err
}

// assertionHint says why a statement may have been refused, by what it says of itself, "" if nothing is wrong with it.
func assertionHint(e *endpoint, statement, key string) string {
	s, _ := peek(statement)
	now := time.Now()
	switch {
	case !s.expires.IsZero() && s.expires.Before(now):
		return fmt.Sprintf("%s has expired %s ago: get a new one", key, roughly(now.Sub(s.expires)))
	case s.issued.After(now.Add(skewed)):
		return fmt.Sprintf("%s is of a time that is still %s away: one of the clocks is wrong", key, roughly(s.issued.Sub(now)))
	case len(s.audience) > 0 && !slices.ContainsFunc(s.audience, func(aud string) bool {
		return strings.TrimSuffix(aud, "/") == strings.TrimSuffix(e.audience, "/") || aud == e.url
	}):
		return fmt.Sprintf("%s is for %s, and was shown to %s: get one for that", key,
			transport.Snippet([]byte(strings.Join(s.audience, ", "))), transport.Snippet([]byte(e.audience)))
	}
	return ""
}

// roughly is a time without what nobody wants to know.
func roughly(d time.Duration) string {
	switch {
	case d > 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d > 2*time.Minute:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
