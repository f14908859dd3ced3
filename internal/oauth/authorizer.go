package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Options say whom to authorize, and with what.
type Options struct {
	// Server is the MCP server. Its references are expanded.
	Server config.Server
	// Client returns what requests to a URL of an authorization server, or a metadata document, are made with: it goes by
	// the server's proxy, trusts the server's authorities, follows no redirects, and bounds what it reads.
	Client func(u *url.URL) (*http.Client, error)
	// Store keeps credentials between runs. If nil, they live as long as the Authorizer.
	Store *Store
	// Person can be asked to log in. If nil, nobody can, and what needs a person fails with [NeedsLogin].
	Person *Person
	// Secret is told of every secret value at the moment it is known. If nil, nobody is.
	Secret func(secrets ...string)
	// Begins is called when a person is about to be asked: limits on time are raised. If nil, nothing is.
	Begins func(ctx context.Context)
	// Tell is told of what happens: [Event]. It must not block. If nil, nobody is.
	Tell func(Event)
	// Logger tells of steps. If nil, nothing is logged.
	Logger *slog.Logger
}

// Event is something that happened on the way to authorization.
type Event struct {
	Step Step
	// Message says what, for people: "registered as a client", "the token was refreshed".
	Message string
}

// Authorizer gets, keeps and uses the authorization for one server. It may be used by several goroutines at once. It is
// a [transport.Authorizer].
type Authorizer struct {
	o Options
}

var _ transport.Authorizer = (*Authorizer)(nil)

// New returns the authorizer of a server. Nothing is contacted or read yet.
func New(o Options) *Authorizer { return &Authorizer{o: o} }

// Authorize puts what authorization there is into a request: the token, refreshed if it is about to expire, and a proof of
// possession if the token is bound to a key. Without a token it does nothing. The failure is an [*Error].
func (a *Authorizer) Authorize(req *http.Request) error { return nil }

// Refused is told that a request was refused with 401 or 403. It returns nil if the request may be sent again, with what
// Authorize puts in then; else an [*Error]. A login begins only on a challenge.
func (a *Authorizer) Refused(req *http.Request, r transport.Refusal) error { return nil }

// Accepted is told that a request with what Authorize put in was accepted: what a login brought is kept from then on.
func (a *Authorizer) Accepted(req *http.Request, header http.Header) {}

// Login asks for authorization whatever there is already, as the command login does: it finds the challenge by itself if
// refusal is nil. What it brings is kept when a request has been accepted. The failure is an [*Error].
func (a *Authorizer) Login(ctx context.Context, refusal *transport.Refusal) error { return nil }

// Forgive forgets a login that failed: the next refusal may ask the person again.
func (a *Authorizer) Forgive() {}
