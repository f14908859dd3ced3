package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

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

// Logout forgets what is kept for the server, and asks the authorization server to revoke it where that can be done (RFC
// 7009). It reports whether there was anything; a failure of the revocation is told by err, and nothing is kept all the same.
func (a *Authorizer) Logout(ctx context.Context) (had bool, err error) { return false, nil }

// Forgive forgets a login that failed: the next refusal may ask the person again.
func (a *Authorizer) Forgive() {}

// State is what is known of the authorization for a server, without asking anybody.
func (a *Authorizer) State(ctx context.Context) (State, error) { return State{}, nil }

// Standing says in a word how things stand.
type Standing string

// The standings.
const (
	// StandingNone is nothing kept.
	StandingNone Standing = ""
	// StandingOK is a token that is good until State.Expires, or until it is refused if that is zero.
	StandingOK Standing = "ok"
	// StandingRefreshable is a token that has expired and can be refreshed.
	StandingRefreshable Standing = "refreshable"
	// StandingExpired is a token that has expired and cannot be refreshed.
	StandingExpired Standing = "expired"
	// StandingNeedsLogin is a token that the authorization server will not refresh any more.
	StandingNeedsLogin Standing = "needs login"
)

// State is how the authorization for a server stands.
type State struct {
	Standing Standing
	// Issuer is the authorization server, Scopes what was granted, Expires when the token does (zero: not said), ClientID
	// the client's, Bound whether the token is bound to a key (DPoP), Where the store: "keyring" or a file's path.
	Issuer   string
	Scopes   []string
	Expires  time.Time
	ClientID string
	Bound    bool
	Where    string
}
