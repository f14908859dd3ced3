package session

// What a server that wants authorization says of how to get it, and the way to those who give it. Package oauth knows the
// protocol; this is where it meets sessions.

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

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
// authorization server's: it goes by the same proxy and trusts the same authorities, without the server's headers. It
// follows no redirects and sends nothing twice.
func (d *Dialer) Client(server config.Server, u *url.URL) (*http.Client, error) {
	other := config.Server{Name: server.Name, URL: u.String(), Proxy: server.Proxy, TLS: config.TLS{CAFile: server.TLS.CAFile}}
	if endpoint, err := url.Parse(server.URL); err == nil && strings.EqualFold(u.Host, endpoint.Host) {
		other.TLS, other.ConnectTo = server.TLS, server.ConnectTo
	}
	way, failed := d.route(other)
	if failed != nil {
		return nil, failed
	}
	o := &opening{d: d, server: other, limits: LimitsFor(other), route: way}
	opts := o.httpOptions(false)
	opts.Endpoint = u
	return transport.NewWeb(opts), nil
}

// patient gets authorization without being cut off by the bound of the step that was refused.
type patient struct{ Authorizer }

// Refused implements [Authorizer].
func (p patient) Refused(req *http.Request, r Refusal) error {
	resume := boundOf(req.Context()).suspend()
	defer resume()
	return p.Authorizer.Refused(req, r)
}
