package session

// What a server that wants authorization says of how to get it, and the way to those who give it. Package oauth knows the
// protocol; this is where it meets sessions.

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Challenge is one way to be authorized that a server names in WWW-Authenticate. See RFC 9110, 11.6.1.
type Challenge = transport.Challenge

// Authorizer gets authorization for the requests to one server.
type Authorizer = transport.Authorizer

// Refusal is an answer with 401 or 403.
type Refusal = transport.Refusal

// Place is a URL at which a document was looked for, and what was found there.
type Place = oauth.Place

// ResourceMetadata is how a protected server describes itself. See RFC 9728, 2.
type ResourceMetadata = oauth.ResourceMetadata

// ServerMetadata is how an authorization server describes itself. See RFC 8414, 2.
type ServerMetadata = oauth.ServerMetadata

// Authorization is what is known of how a server is protected.
type Authorization = oauth.Chain

// authorizationBound bounds the walk along the chain: it only explains a failure.
const authorizationBound = 5 * time.Second

// Authorization walks the chain that a refusal begins: the challenge, the metadata of the protected resource, the metadata
// of its authorization server. err is the failure of the opening, or of a request. Nobody is logged in, and no credential
// is sent. See the MCP specification, 2025-11-25, "Authorization", and RFC 9728 and 8414.
func (d *Dialer) Authorization(ctx context.Context, server config.Server, err error) Authorization {
	var r Refusal
	if f, ok := errors.AsType[*transport.Fault](err); ok {
		r = Refusal{Status: f.Status, Challenges: transport.ParseChallenge(f.Challenge)}
	}
	endpoint, parsed := url.Parse(server.URL)
	if parsed != nil {
		return Authorization{Status: r.Status, Challenges: r.Challenges}
	}
	ctx, cancel := context.WithTimeout(ctx, authorizationBound)
	defer cancel()
	return oauth.Discover(ctx, endpoint, r, func(u *url.URL) (*http.Client, error) { return d.Client(server, u) })
}

// Client returns what requests to a URL that belongs to a server are made with, a metadata document's or one of its
// authorization server's: it goes by the same proxy and trusts the same authorities. At the server's own origin it takes
// the server's whole way, with client certificate and the address that is dialled. None of the server's headers and
// tokens go along. It follows no redirects, sends nothing twice, and leaves no connection open. A failure of the network
// is told in plain words; each request has to have a limit of its own. The failure is an [*Error]: a file or a proxy that
// the entry names cannot be used.
func (d *Dialer) Client(server config.Server, u *url.URL) (*http.Client, error) {
	other := config.Server{Name: server.Name, URL: u.String(), Proxy: server.Proxy, TLS: config.TLS{CAFile: server.TLS.CAFile}, Sources: server.Sources}
	if endpoint, err := url.Parse(server.URL); err == nil && transport.SameOrigin(u, endpoint) {
		other.TLS, other.ConnectTo = server.TLS, server.ConnectTo
	}
	way, failed := d.route(other)
	if failed != nil {
		return nil, failed
	}
	o := &opening{d: d, server: other, route: way}
	return transport.NewWeb(o.wayOptions()), nil
}

// authorizer returns what gets authorization for a server, nil for nothing.
func (d *Dialer) authorizer(server config.Server) Authorizer {
	if d.OAuth == nil {
		return nil
	}
	a := d.OAuth(server)
	if a == nil {
		return nil
	}
	return patient{a, d.lobbies.of(server)}
}

// patient gets authorization without being cut off by the bound of the step that wants it, and with as much time as a
// login needs that others have begun.
type patient struct {
	Authorizer
	lobby *lobby
}

// Authorize implements [Authorizer].
func (p patient) Authorize(req *http.Request) error {
	resume := boundOf(req.Context()).suspend()
	defer resume()
	return p.Authorizer.Authorize(req)
}

// Refused implements [Authorizer].
func (p patient) Refused(req *http.Request, r Refusal) error {
	ctx := context.WithValue(req.Context(), lobbyKey{}, p.lobby)
	b := boundOf(ctx)
	resume := b.suspend()
	defer resume()
	leave := p.lobby.enter(b)
	defer leave()
	return p.Authorizer.Refused(req.WithContext(ctx), r)
}

// Accepted implements [Authorizer]. What keeps a login may ask a person: a keyring that is locked.
func (p patient) Accepted(req *http.Request, header http.Header) {
	resume := boundOf(req.Context()).suspend()
	defer resume()
	p.Authorizer.Accepted(req, header)
}

// SDKAuthorizer returns an authorizer that gets its tokens from a handler of the SDK, one flow at a time. What the SDK does
// for POSTs only then works for all requests. A handler that asks a person calls [LoginBegins] with the context that it was
// given, at that moment. It does not learn of refusals of requests that nobody waits for.
func SDKAuthorizer(h auth.OAuthHandler) Authorizer {
	return &sdkAuthorizer{h: h, turn: make(chan struct{}, 1)}
}

type sdkAuthorizer struct {
	h auth.OAuthHandler
	// turn is held by the one whose flow is under way.
	turn chan struct{}
}

// Authorize implements [Authorizer].
func (a *sdkAuthorizer) Authorize(req *http.Request) error {
	source, err := a.h.TokenSource(req.Context())
	if err != nil || source == nil {
		return err
	}
	token, err := source.Token()
	if err != nil {
		return err
	}
	token.SetAuthHeader(req)
	return nil
}

// Refused implements [Authorizer].
func (a *sdkAuthorizer) Refused(req *http.Request, r Refusal) error {
	if r.Quiet {
		return errors.New("no flow is begun by what is done in the background")
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-req.Context().Done():
		return context.Cause(req.Context())
	}
	now := req.Clone(req.Context())
	now.Header.Del("Authorization")
	if err := a.Authorize(now); err == nil && now.Header.Get("Authorization") != "" && now.Header.Get("Authorization") != req.Header.Get("Authorization") {
		return nil // somebody else's flow has brought another
	}
	return a.h.Authorize(req.Context(), req, &http.Response{
		StatusCode: r.Status, Status: http.StatusText(r.Status), Header: r.Header, Body: http.NoBody, Request: req,
	})
}

// Accepted implements [Authorizer].
func (a *sdkAuthorizer) Accepted(*http.Request, http.Header) {}

// failureOf returns the failure of an authorizer that an error is due to, nil if it is due to none.
func failureOf(err error) *oauth.Error {
	e, _ := errors.AsType[*oauth.Error](err)
	return e
}

// Unauthorized turns the failure of an authorizer, of a login that was begun outside of a request, say, into an error of
// this package's: its class, and the next step. It returns nil if err is due to no such failure.
func Unauthorized(server string, err error) *Error {
	failure := failureOf(err)
	if failure == nil {
		return nil
	}
	f := &transport.Fault{Kind: transport.KindAuth, Err: failure}
	e := classify(evidence{server: server, state: transport.ExchangeState{Fault: f}, err: err})
	e.Phase = ""
	return e
}

// describeFailure says why no authorization was got.
func describeFailure(e *Error, failure *oauth.Error) {
	e.Message, e.Hint = failure.Error(), failure.Hint
	e.NeedsLogin = failure.Reason == oauth.NeedsLogin
	e.Retryable = failure.Reason == oauth.Unreachable
	switch failure.Reason {
	case oauth.NeedsLogin:
		e.Hint = cmp.Or(e.Hint, "log in: "+loginCommand(e.Server)+ScopeWords(failure))
	case oauth.TimedOut:
		if l := failure.Limit; l.Name != "" {
			e.Limit = &Limit{Name: l.Name, Value: l.Value, Source: l.Source}
		}
		e.Hint = cmp.Or(e.Hint, "to try again: "+loginCommand(e.Server))
	case oauth.Refused:
		if refusedAnew(failure) {
			e.Hint = cmp.Or(e.Hint, hintOperator)
		}
		e.Hint = cmp.Or(e.Hint, "to log in anew: "+loginCommand(e.Server))
	case oauth.Unreachable:
		e.Hint = cmp.Or(e.Hint, hintUnreachable(failure))
	case oauth.Invalid, oauth.Cancelled, oauth.Config:
	}
}

// hintOperator is the next step at a server that refuses what a login has just brought: another would bring the same.
const hintOperator = "tell the operator of the server: it refuses a token that its own authorization server has just given"

// refusedAnew reports whether a failure is that of a server which refuses the token that was got for it.
func refusedAnew(err error) bool {
	failure := failureOf(err)
	return failure != nil && failure.Step == oauth.StepServerAgain
}

// hintUnreachable returns the next step when an authorization server cannot be reached: what is known of the server's own
// way helps with this one, too.
func hintUnreachable(err error) string {
	f, ok := errors.AsType[*transport.Fault](err)
	switch {
	case ok && f.Kind == transport.KindTLS:
		return TLSHint(f)
	case ok && f.Kind == transport.KindProxy:
		return proxyHint(f)
	case ok && f.Kind == transport.KindDNS:
		return "check the name resolution of this machine; what was got by the last login is kept"
	}
	return "try again in a while; what was got by the last login is kept"
}

// wanted reports whether a failure is that of a login which somebody did not complete, and which is not to be begun again
// until somebody asks.
func (e *Error) wanted() bool {
	failure := failureOf(e.Err)
	return failure != nil && (failure.Reason == oauth.TimedOut || failure.Reason == oauth.Cancelled)
}

// ScopeWords returns what belongs behind the command of a login, with a space before it, if err is due to one that lacks
// scopes: without them it would bring the same again. "" for all others.
func ScopeWords(err error) string {
	failure := failureOf(err)
	if failure == nil || len(failure.Scopes) == 0 {
		return ""
	}
	return " --oauth-scope " + config.Quote(strings.Join(failure.Scopes, " "))
}

// loginCommand returns the command with which a person logs in to a server.
func loginCommand(server string) string { return "mcpctl login " + config.Quote(server) }
