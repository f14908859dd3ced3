package oauth

// The authorization code grant with PKCE: a person allows it in a browser (RFC 6749, 4.1; RFC 7636; RFC 8252).

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// withPerson gets a token by a person who logs in.
func (a *Authorizer) withPerson(ctx context.Context, f *attempt, chain Chain, scopes []string) (Record, error) {
	issuer := chain.Server.Issuer
	person := a.person()
	if person == nil {
		return Record{}, failure("", NeedsLogin, nil, "login required (OAuth) at %s", shownIssuer(issuer))
	}
	who, err := a.identify(ctx, chain, scopes)
	if err != nil {
		return Record{}, err
	}
	defer who.back.close()
	if err := ctx.Err(); err != nil {
		return Record{}, cancelled(ctx, StepBrowser)
	}
	r, err := a.byCode(ctx, f, chain, scopes, who, person)
	if e, ok := errors.AsType[*Error](err); ok && who.reused && (forgotten(e) || e.Code == "invalid_scope" && !subset(scopes, who.client.Scopes)) {
		// The authorization server may have forgotten the client. Then it shows a page of its own, and nobody comes back: a
		// person who sees that page ends the login. Or it gives a client only the scopes that it has registered for.
		bound := keepBound // another mcpctl may be at work on the same client
		if ctx.Err() != nil {
			bound = grace
		}
		forget, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
		defer cancel()
		if err := a.o.Store.DeleteClient(forget, issuer); err == nil && (e.Hint == "" || e.Code == "invalid_scope") {
			e.Hint = "mcpctl registers anew at the next login: try once more"
			if e.Reason == Cancelled {
				e.Hint = "if the page in the browser did not know the client: the next login registers anew"
			}
		}
	}
	return r, err
}

// forgotten reports whether a login may have failed because the authorization server does not know the client any more.
func forgotten(e *Error) bool {
	switch e.Code {
	case "invalid_client", "unauthorized_client", "invalid_redirect_uri":
		return true
	}
	return e.Reason == TimedOut || e.Reason == Cancelled || e.Step == StepCallback && e.Code == "invalid_request"
}

// byCode sends the person to the browser, waits for the answer, and exchanges the code for a token.
func (a *Authorizer) byCode(ctx context.Context, f *attempt, chain Chain, scopes []string, who identity, person *Person) (Record, error) {
	key, must, err := a.proofKeyFor(chain)
	if err != nil {
		return Record{}, err
	}
	resource, verifier, state := a.resource(chain), oauth2.GenerateVerifier(), rand.Text()
	a.secret(verifier)
	where := authorizationURL(chain.Server.AuthorizationEndpoint, who, scopes, map[string]string{
		"state": state, "resource": resource,
		"code_challenge": oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method": "S256",
	})
	if len(where) > mostAddress {
		e := failure(StepBrowser, Invalid, nil, "the address to log in at would have %d bytes, which no browser and no person reads: the server names %d scopes",
			len(where), len(scopes))
		e.Hint = "ask for some of them: oauth.scopes, --oauth-scope"
		return Record{}, e
	}
	code, done, err := a.ask(ctx, f, chain, Asked{
		URL: where, Server: a.o.Server.Name, Resource: resource, Issuer: shownIssuer(chain.Server.Issuer), Scopes: scopes,
		RedirectURI: who.back.uri(), Until: time.Now().Add(person.time()),
	}, who, state, person)
	if err != nil {
		return Record{}, err
	}
	r, err := a.redeem(ctx, chain, who, boundTo{key, must}, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {who.back.uri()},
		"code_verifier": {verifier}, "resource": {resource},
	})
	done(err)
	r.Resource = resource
	return r, err
}

// mostAddress bounds the address that a person is sent to, in bytes: web servers read no longer ones, and what a person is
// told before it would be gone from the screen.
const mostAddress = 8 << 10

// authorizationURL is where the person is sent to. The endpoint may have a query of its own (RFC 6749, 3.1).
func authorizationURL(endpoint string, who identity, scopes []string, more map[string]string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint // it was checked before
	}
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", who.client.ID)
	q.Set("redirect_uri", who.back.uri())
	if len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	for _, s := range scopes {
		if s == scopeOffline {
			q.Set("prompt", "consent") // without it OpenID providers leave that scope out (OpenID Connect Core 1.0, 11)
		}
	}
	for name, value := range more {
		q.Set(name, value)
	}
	u.Host, u.RawQuery, u.Fragment = asciiHost(u), q.Encode(), ""
	return u.String()
}

// ask sends the person to the browser and returns the code that the answer brings. done tells the browser how it went.
func (a *Authorizer) ask(ctx context.Context, f *attempt, chain Chain, what Asked, who identity, state string, person *Person) (code string, done func(error), err error) {
	f.begin()
	a.begins(ctx)
	a.say(StepBrowser, "waiting for the login at %s", what.Issuer)
	if person.Show != nil {
		person.Show(what)
	}
	if person.Open != nil {
		// The opener may last as long as the browser, and nobody waits for it: the URL is shown too.
		go func() {
			if err := person.Open(ctx, what.URL); err != nil && ctx.Err() == nil {
				a.say(StepBrowser, "no browser could be opened (%v): open the URL yourself", err)
			}
		}()
	}
	waiting, cancel := context.WithDeadline(ctx, what.Until)
	defer cancel()
	values, done, err := who.back.answer(waiting, person, state)
	switch _, known := errors.AsType[*Error](err); {
	case err == nil:
	case ctx.Err() != nil:
		return "", nil, cancelled(ctx, StepBrowser)
	case !known && waiting.Err() != nil:
		e := failure(StepBrowser, TimedOut, err, "nobody came back from the browser within %s", person.time())
		e.Limit = loginLimit(person.time())
		return "", nil, e
	case !known:
		return "", nil, failure(StepCallback, Invalid, err, "%v", err)
	default:
		return "", nil, err
	}
	if done == nil {
		done = func(error) {}
	}
	if code, err = codeIn(values, chain); err != nil {
		done(err)
		return "", nil, err
	}
	a.secret(code)
	return code, done, nil
}

// codeIn returns the code of an answer that comes from the authorization server that was asked. What another one says is
// neither used nor shown. See RFC 9207, 2.4, and the MCP specification, 2026-07-28, "Authorization Response Validation".
func codeIn(values url.Values, chain Chain) (string, error) {
	issuer := chain.Server.Issuer
	said, is := values["iss"]
	switch {
	case !is && chain.Server.AnswersIssuer:
		return "", failure(StepCallback, Invalid, nil, "the answer does not say that it is from %s, as that server promises (iss)", shownIssuer(issuer))
	case chain.Defaults && is && len(said) == 1 && sameBySlash(said[0], issuer): // how it writes itself was published nowhere
	case is && (len(said) != 1 || said[0] != issuer):
		return "", failure(StepCallback, Invalid, nil, "the answer is from %s, and %s was asked (iss)",
			transport.Snippet([]byte(strings.Join(said, " "))), transport.Snippet([]byte(issuer)))
	}
	if code := values.Get("error"); code != "" {
		return "", declined(code, values.Get("error_description"), issuer)
	}
	code := values.Get("code")
	if code == "" {
		return "", failure(StepCallback, Invalid, nil, "the answer of %s has no code in it", shownIssuer(issuer))
	}
	return code, nil
}

// declined is the failure of an authorization server that says no. See RFC 6749, 4.1.2.1.
func declined(code, description, issuer string) *Error {
	code = bareCode(code)
	words := code
	if description = transport.Snippet([]byte(description)); description != "" {
		words += ": " + description
	}
	e := failure(StepCallback, Refused, nil, "%s said no (%s)", shownIssuer(issuer), words)
	e.Code = code
	switch code {
	case "invalid_scope":
		e.Hint = "ask for other scopes (oauth.scopes, --oauth-scope), or log out, which forgets those that were granted before"
	case "server_error", "temporarily_unavailable":
		e.Reason = Unreachable
	}
	return e
}

// boundTo is the key that a token is to be bound to, nil for none, and whether it must be.
type boundTo struct {
	key  *proofKey
	must bool
}

// redeem asks for the token.
func (a *Authorizer) redeem(ctx context.Context, chain Chain, who identity, to boundTo, form url.Values) (Record, error) {
	u, client, failed := a.way(StepToken, "token endpoint", chain.Server.TokenEndpoint, a.endpoint)
	if failed != nil {
		return Record{}, failed
	}
	e := endpoint{
		url: u.String(), client: who.client, methods: chain.Server.AuthMethods, algorithms: chain.Server.AuthAlgorithms, audience: chain.Server.Issuer,
		key: a.oauth().PrivateKey, proof: to.key, bound: to.must, http: client, secret: a.secret, step: StepToken,
	}
	token, err := e.ask(ctx, form)
	if err != nil {
		if ctx.Err() != nil {
			return Record{}, cancelled(ctx, StepToken)
		}
		return Record{}, err
	}
	r := Record{Token: token, Client: who.client, TokenEndpoint: u.String()}
	r.Client.Method = e.method() // a refresh does without the server's metadata
	if r.Key, err = e.keyText(token); err != nil {
		return Record{}, failure(StepToken, Invalid, err, "the key cannot be kept: %v", err)
	}
	return r, nil
}
