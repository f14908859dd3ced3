package oauth

// A flow leads from a refusal to a token: along the documents, to the scopes, and by a person or a grant without one.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// demand is what a flow is about.
type demand struct {
	refusal transport.Refusal
	// challenge is the one of the refusal that is about tokens, asks whether there is one, and wider whether it is about
	// scopes that the token lacks.
	challenge   transport.Challenge
	asks, wider bool
	// spent is the token that was refused, "" for none; explicit is set when the user asked for a login.
	spent    string
	explicit bool
}

// flow gets a token.
func (a *Authorizer) flow(ctx context.Context, f *attempt, d demand) (*brought, error) {
	earlier, just := a.earlier(ctx)
	if d.wider {
		if err := a.granted(d.challenge, earlier, just); err != nil {
			return nil, err
		}
	}
	chain, err := a.chain(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := a.sameIssuer(chain, earlier); err != nil {
		return nil, err
	}
	if a.justGot(d.spent, chain.Server.Issuer) && !d.wider {
		return nil, unwelcome(chain.Server.Issuer, d.challenge)
	}
	scopes := a.scopes(chain, d, earlier)
	if d.wider && !d.explicit && subset(scopes, union(earlier.Token.Scopes, just)) && earlier.Issuer == chain.Server.Issuer && len(scopes) > 0 {
		return nil, stubborn(d.challenge, scopes)
	}
	var r Record
	if grant := a.oauth().Grant; grant != "" && grant != config.GrantCode {
		r, err = a.withoutPerson(ctx, chain, scopes)
	} else {
		r, err = a.withPerson(ctx, f, chain, scopes)
	}
	if err != nil {
		return nil, d.lacking(err, scopes)
	}
	if r.Token.Access == "" {
		return nil, failure(StepToken, Invalid, nil, "%s gave no access token", shownIssuer(chain.Server.Issuer))
	}
	a.complete(&r, chain, scopes)
	a.secret(r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key)
	return &brought{record: r, asked: scopes}, nil
}

// lacking adds to the failure of a login that somebody has to come for what it has to ask for, if there is one already that
// is not enough: by itself it would bring the same again.
func (d demand) lacking(err error, scopes []string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !d.wider || e.Reason != NeedsLogin || len(scopes) == 0 || slices.ContainsFunc(scopes, notScope) {
		return err
	}
	wider := *e
	wider.Scopes = scopes
	wider.Message += ", with the scopes " + strings.Join(scopes, " ")
	return &wider
}

// notScope reports whether a word cannot be a scope (RFC 6749, 3.3).
func notScope(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return r < '!' || r > '~' || r == '"' || r == '\\' })
}

// lateness is how soon a token that a person has brought must not be refused: a second browser window would bring the same.
const lateness = time.Minute

// justGot reports whether a token was got from an authorization server a moment ago.
func (a *Authorizer) justGot(token, issuer string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return token != "" && a.last.token == token && a.last.issuer == issuer && time.Since(a.last.at) < lateness
}

// complete puts in what a record is kept by.
func (a *Authorizer) complete(r *Record, chain Chain, scopes []string) {
	r.Server, r.Issuer = a.place(), chain.Server.Issuer
	if r.Resource == "" {
		r.Resource = a.resource(chain)
	}
	if r.Grant == "" {
		r.Grant = string(config.GrantCode)
		if grant := a.oauth().Grant; grant != "" {
			r.Grant = string(grant)
		}
	}
	if r.TokenEndpoint == "" {
		r.TokenEndpoint = chain.Server.TokenEndpoint
	}
	if _, says := endpointURL(chain.Server.RevocationEndpoint, a.endpoint); r.RevocationEndpoint == "" && says == "" {
		r.RevocationEndpoint = chain.Server.RevocationEndpoint
	}
	if r.Token.Scopes == nil {
		r.Token.Scopes = scopes // RFC 6749, 5.1: what is not said was granted as asked
	}
	r.Saved = time.Now()
}

// place is the server's URL as a key of the store.
func (a *Authorizer) place() string {
	u := *a.endpoint
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return u.String()
}

// resource is the server's identifier as it is sent to the authorization server: exactly as it was published, or else the
// URL. See the MCP specification, 2025-11-25, "Resource Parameter Implementation".
func (a *Authorizer) resource(chain Chain) string {
	if chain.Resource != nil {
		return chain.Resource.Resource
	}
	return a.place()
}

// oauth are the values of the configuration.
func (a *Authorizer) oauth() config.OAuth {
	if a.o.Server.OAuth == nil {
		return config.OAuth{}
	}
	return *a.o.Server.OAuth
}

// earlier returns the record that there was before, and the scopes that a flow of this run has asked for in vain.
func (a *Authorizer) earlier(ctx context.Context) (Record, []string) {
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held != nil {
		return held.record, held.asked
	}
	if a.o.Store == nil {
		return Record{}, nil
	}
	r, ok, err := a.o.Store.Load(ctx, a.place())
	if err != nil || !ok {
		return Record{}, nil // a store that cannot be read is told of when it is written to
	}
	return r, nil
}

// granted reports that a wider scope is asked for that was granted already: another login would bring the same again.
func (a *Authorizer) granted(c transport.Challenge, earlier Record, just []string) error {
	wanted := strings.Fields(c.Params["scope"])
	if len(wanted) == 0 || earlier.Token.Access == "" || !subset(wanted, union(earlier.Token.Scopes, just)) {
		return nil
	}
	return stubborn(c, wanted)
}

// stubborn is the failure of a server that asks for scopes that the token has.
func stubborn(c transport.Challenge, scopes []string) *Error {
	return failure(StepServerAgain, Refused, nil, "the server asks for the scope %s again, which was asked for already%s",
		transport.Snippet([]byte(strings.Join(scopes, " "))), described(c))
}

// sameIssuer refuses to show what is configured, a client's id or an assertion, to another authorization server than the one
// that the configuration names, or else the one that it has been used at: it belongs to one. See the MCP specification,
// 2026-07-28, "Authorization Server Binding".
func (a *Authorizer) sameIssuer(chain Chain, earlier Record) error {
	o := a.oauth()
	var what string
	switch {
	case o.Issuer != "" && sameBySlash(o.Issuer, chain.Server.Issuer):
		return nil
	case o.Issuer != "":
		e := failure(StepServer, Invalid, nil, "the server names the authorization server %s, and the one to use is %s (oauth.issuer, --oauth-issuer)",
			shownIssuer(chain.Server.Issuer), shownIssuer(o.Issuer))
		e.Hint = "ask the operator of the server which one is right; nothing was sent to the other"
		return e
	case earlier.Issuer == "" || sameBySlash(earlier.Issuer, chain.Server.Issuer):
		return nil
	case o.ClientID != "" && earlier.Client.ID == o.ClientID:
		what = "client id"
	case o.Assertion != "" && o.Grant == config.GrantJWTBearer && earlier.Grant == string(o.Grant):
		what = "assertion"
	default:
		return nil
	}
	e := failure(StepServer, Invalid, nil, "the server names the authorization server %s now, and the %s belongs to %s",
		shownIssuer(chain.Server.Issuer), what, shownIssuer(earlier.Issuer))
	e.Hint = fmt.Sprintf("if that is right, log out, set the %s for the new one, and log in again", what)
	return e
}

// moved reports whether the server names other authorization servers now than the one that gave what is kept. That one may
// be gone for good: that it does not answer then is no reason to wait for it. challenges are those of a refusal, nil if
// there was none. See the MCP specification, 2026-07-28, "Authorization Server Binding".
func (a *Authorizer) moved(ctx context.Context, challenges []transport.Challenge) bool {
	r, ok, err := a.kept(ctx)
	if err != nil || !ok || r.Issuer == "" {
		return false
	}
	c := Chain{Challenges: challenges}
	walk{endpoint: a.endpoint, client: a.o.Client}.resource(ctx, &c)
	return c.Resource != nil && len(c.Resource.AuthorizationServers) > 0 &&
		!slices.ContainsFunc(c.Resource.AuthorizationServers, func(issuer string) bool { return sameBySlash(issuer, r.Issuer) })
}

func sameBySlash(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// scopes are those to ask for: those of the configuration, else of the challenge, else of the resource; what was granted
// before stays. See the MCP specification, 2025-11-25, "Scope Selection Strategy", and 2026-07-28, "Step-Up Authorization
// Flow".
func (a *Authorizer) scopes(chain Chain, d demand, earlier Record) []string {
	configured := a.oauth().Scopes
	wanted := configured
	if len(wanted) == 0 {
		wanted = chain.Scopes()
	} else if d.wider {
		wanted = union(wanted, strings.Fields(d.challenge.Params["scope"]))
	}
	if (d.wider || len(configured) == 0) && earlier.Issuer == chain.Server.Issuer {
		wanted = union(earlier.Token.Scopes, wanted)
	}
	if len(configured) > 0 {
		return wanted // the user knows best
	}
	// A token that can be refreshed is worth asking for, where the authorization server knows of such a scope, and nowhere
	// else. Alone it would take the place of the scopes that are given without asking.
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(s string) bool { return s == scopeOffline })
	grant := a.oauth().Grant
	if len(wanted) > 0 && slices.Contains(chain.Server.ScopesSupported, scopeOffline) && (grant == "" || grant == config.GrantCode) {
		wanted = append(wanted, scopeOffline)
	}
	return wanted
}

const scopeOffline = "offline_access"

// union returns the words of a, and those of b that are not in a.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// chain walks along the documents up to an authorization server that may be used.
func (a *Authorizer) chain(ctx context.Context, d demand) (Chain, error) {
	w := walk{endpoint: a.endpoint, client: a.o.Client}
	c := Chain{Status: d.refusal.Status, Challenges: d.refusal.Challenges}
	w.resource(ctx, &c)
	// A token that was refused came from somewhere.
	wanted := d.asks || d.spent != "" || a.o.Server.Auth == config.AuthOAuth
	switch {
	case ctx.Err() != nil:
		return c, cancelled(ctx, StepResource)
	case c.Resource == nil && c.Mismatch != "":
		e := failure(StepResource, Invalid, nil, "it is about %s, and the server is %s: its tokens would be for another server",
			transport.Snippet([]byte(c.Mismatch)), shownURL(a.o.Server.URL))
		e.Hint = "the server's metadata has to have the resource " + shownURL(a.o.Server.URL)
		if other, err := url.Parse(c.Mismatch); err == nil && other.User == nil && loopback(other.Hostname()) && loopback(a.endpoint.Hostname()) {
			e.Hint += "; or use the URL that it is about" // this machine, by another of its names
		}
		return c, e
	case c.Resource == nil && slices.ContainsFunc(c.ResourcePlaces, func(p Place) bool { return p.trouble }):
		return c, failure(StepResource, Unreachable, nil, "%s", asked(c.ResourcePlaces))
	case c.Resource == nil && !wanted && !d.explicit:
		e := failure("", Refused, nil, "the server publishes no OAuth metadata (%s)", asked(c.ResourcePlaces))
		e.Hint = hintStatic
		return c, e
	}
	w.server(ctx, &c, wanted)
	switch {
	case ctx.Err() != nil:
		return c, cancelled(ctx, StepServer)
	case c.Server == nil:
		return c, a.noServer(c)
	}
	if c.Defaults && a.person() == nil && a.oauth().Grant == "" {
		return c, unpublished(c) // nobody knows whether it has logins at all
	}
	return c, a.usable(c)
}

// noServer says why there is no authorization server to go to.
func (a *Authorizer) noServer(c Chain) *Error {
	var trouble, other bool
	for _, p := range c.ServerPlaces {
		trouble, other = trouble || p.trouble, other || p.other
	}
	switch {
	case c.Resource == nil && !other && !trouble:
		return unpublished(c)
	case other:
		i := slices.IndexFunc(c.ServerPlaces, func(p Place) bool { return p.other })
		return failure(StepServer, Invalid, nil, "%s: %s", c.ServerPlaces[i].URL, c.ServerPlaces[i].Says)
	case trouble:
		return failure(StepServer, Unreachable, nil, "%s", asked(c.ServerPlaces))
	}
	return failure(StepServer, Invalid, nil, "%s publishes none that can be used (%s)", shownIssuer(c.Issuer), asked(c.ServerPlaces))
}

// hintStatic is the next step at a server that says nothing of logins.
const hintStatic = "the server offers no OAuth login, so it probably wants a static token: --header 'Authorization: Bearer ${TOKEN}'"

// unpublished is the failure of a server that says nothing of how tokens are to be had.
func unpublished(c Chain) *Error {
	places := asked(append(slices.Clone(c.ResourcePlaces), c.ServerPlaces...))
	if named(c.Challenges) != "" {
		return failure(StepResource, Invalid, nil, "the server wants a login, and where it says how, nothing can be used (%s)", places)
	}
	e := failure(StepResource, Refused, nil, "the server publishes nothing about a login (%s)", places)
	e.Hint = hintStatic
	return e
}

// usable says why the metadata of an authorization server cannot be used.
func (a *Authorizer) usable(c Chain) error {
	s, issuer := c.Server, shownIssuer(c.Server.Issuer)
	endpoints := []struct{ name, url string }{{"token_endpoint", s.TokenEndpoint}}
	code := a.oauth().Grant == "" || a.oauth().Grant == config.GrantCode
	if code {
		endpoints = append(endpoints, struct{ name, url string }{"authorization_endpoint", s.AuthorizationEndpoint})
	}
	for _, e := range endpoints {
		if e.url == "" {
			return failure(StepServer, Invalid, nil, "that of %s has no %s", issuer, e.name)
		}
		if _, says := endpointURL(e.url, a.endpoint); says != "" {
			return failure(StepServer, Invalid, nil, "the %s of %s is %s: %s", e.name, issuer, shownURL(e.url), says)
		}
	}
	switch {
	case !code || slices.Contains(s.CodeChallengeMethods, "S256"):
		return nil
	case len(s.CodeChallengeMethods) == 0:
		return failure(StepServer, Invalid, nil,
			"that of %s does not say that it knows PKCE (code_challenge_methods_supported), without which no login is safe", issuer)
	}
	return failure(StepServer, Invalid, nil, "%s knows PKCE only with %s, and S256 is needed", issuer,
		transport.Snippet([]byte(strings.Join(s.CodeChallengeMethods, ", "))))
}

// asked says in a few words where a document was looked for, and what was there. Places that say the same are told of once.
func asked(places []Place) string {
	var words []string
	for i := 0; i < len(places); {
		n := i + 1
		for n < len(places) && places[n].Says == places[i].Says && places[n].Found == places[i].Found {
			n++
		}
		word := places[i].URL
		if n > i+2 {
			word += fmt.Sprintf(" and %d others", n-i-1)
		} else if n > i+1 {
			word += " and " + places[i+1].URL
		}
		if places[i].Found {
			word += ": found"
		} else {
			word += ": " + places[i].Says
		}
		words = append(words, word)
		i = n
	}
	return strings.Join(words, "; ")
}

// bearer returns the first challenge that is about tokens of OAuth.
func bearer(challenges []transport.Challenge) (transport.Challenge, bool) {
	for _, c := range challenges {
		if strings.EqualFold(c.Scheme, "Bearer") || strings.EqualFold(c.Scheme, "DPoP") || c.Params["resource_metadata"] != "" {
			return c, true
		}
	}
	return transport.Challenge{}, false
}

// described is what a challenge says of itself, in parentheses.
func described(c transport.Challenge) string {
	var words []string
	for _, name := range []string{"error", "error_description"} {
		if word := transport.Snippet([]byte(c.Params[name])); word != "" {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ": ") + ")"
}

// tokenIn returns the access token of a request, "" if it has none.
func tokenIn(req *http.Request) string {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "DPoP") {
		return token
	}
	return ""
}

// way returns the URL of what a server names, and how it is asked. own is the host that the user named: plain http is right
// there if the user wrote it.
func (a *Authorizer) way(step Step, name, raw string, own *url.URL) (*url.URL, *http.Client, *Error) {
	u, says := endpointURL(raw, own)
	if says != "" {
		return nil, nil, failure(step, Invalid, nil, "the %s is %s, and nothing is sent there: %s", name, shownURL(raw), says)
	}
	client, err := a.o.Client(u)
	if err != nil {
		return nil, nil, failure(step, Config, err, "the way to %s: %v", shownURL(raw), because(err))
	}
	return u, client, nil
}

// because is the part of a failed request that is worth reading.
func because(err error) error {
	if f, ok := errors.AsType[*transport.Fault](err); ok {
		return f
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// failure makes an [*Error].
func failure(step Step, reason Reason, cause error, format string, args ...any) *Error {
	return &Error{Step: step, Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause}
}

// cancelled is the failure of a caller who does not want it any more.
func cancelled(ctx context.Context, step Step) *Error {
	return failure(step, Cancelled, context.Cause(ctx), "%v", context.Cause(ctx))
}

// reasonOf returns the reason of a failure, -1 if it has none.
func reasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return -1
}

// shownIssuer is an authorization server's name as it is shown.
func shownIssuer(issuer string) string { return shownURL(issuer) }

// begins tells the caller that a person is about to be asked.
func (a *Authorizer) begins(ctx context.Context) {
	if a.o.Begins != nil {
		a.o.Begins(ctx)
	}
}

// say tells of a step.
func (a *Authorizer) say(step Step, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	a.tell(step, message)
	a.logger().Debug("authorization", "server", a.o.Server.Name, "step", string(step), "what", message)
}

// lose tells of something that went wrong, and ends nothing.
func (a *Authorizer) lose(step Step, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	a.logger().Info("authorization", "step", string(step), "lost", message)
	if a.o.Tell != nil {
		a.o.Tell(Event{Step: step, Message: message, Lost: true})
	}
}
