package session

// What is kept of a login, and how a server is protected that refuses nothing: for those who explain, and change nothing.

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Login is how the authorization for a server stands: what is kept of a login.
type Login = oauth.State

// Standing says in a word how things stand.
type Standing = oauth.Standing

// The standings.
const (
	// StandingNone is nothing kept.
	StandingNone = oauth.StandingNone
	// StandingOK is a token that is good until it expires, or until it is refused.
	StandingOK = oauth.StandingOK
	// StandingRefreshable is a token that has expired and can be refreshed.
	StandingRefreshable = oauth.StandingRefreshable
	// StandingExpired is a token that has expired and cannot be refreshed.
	StandingExpired = oauth.StandingExpired
	// StandingNeedsLogin is a token that the authorization server will not refresh any more.
	StandingNeedsLogin = oauth.StandingNeedsLogin
)

// LoginError is why there is no authorization for a request: the step, what happened there, and what to do. It is in the
// chain of an [Error] whose cause it is.
type LoginError = oauth.Error

// The reasons of a [LoginError] that differ in what to do about them.
const (
	// LoginNeeded is a person who has to log in, and nobody may be asked here.
	LoginNeeded = oauth.NeedsLogin
	// LoginUnreachable is an authorization server that could not be reached, or did not work; it may later.
	LoginUnreachable = oauth.Unreachable
)

// Login returns what is kept of a login for a server whose references are expanded, without asking anybody: the zero value
// if nothing is, or no authorization is got for it. It may take as long as the system's store of secrets does.
func (d *Dialer) Login(ctx context.Context, server config.Server) (Login, error) {
	if d.OAuth == nil {
		return Login{}, nil
	}
	kept, ok := d.OAuth(server).(interface {
		State(ctx context.Context) (Login, error)
	})
	if !ok {
		return Login{}, nil
	}
	return kept.State(ctx)
}

// Unsafe says why nothing is sent to a URL that a server or its authorization server names, "" if it may be: it must be
// https, or http on this machine. See OAuth 2.1, 1.5.
func Unsafe(raw string, server config.Server) string {
	u, err := url.Parse(server.URL)
	if err != nil {
		return "the server's own URL is none"
	}
	return oauth.Unsafe(raw, u)
}

// challengeBound bounds the question for a challenge.
const challengeBound = 2 * time.Second

// Protection is [Dialer.Authorization] for a server that has refused nothing, because it got a token or wants none: it is
// asked for its challenge by a ping that carries no credential. That opens no session. Status is 0 if it answers all the
// same.
func (d *Dialer) Protection(ctx context.Context, server config.Server) Authorization {
	f := &transport.Fault{}
	if status, header := d.challenge(ctx, server); status == http.StatusUnauthorized || status == http.StatusForbidden {
		f.Status, f.Challenge = status, strings.Join(header.Values("WWW-Authenticate"), ", ")
	}
	return d.Authorization(ctx, server, f)
}

// challenge sends a ping without any credential. The status is 0 if nothing answered.
func (d *Dialer) challenge(ctx context.Context, server config.Server) (int, http.Header) {
	u, err := url.Parse(server.URL)
	if err != nil {
		return 0, nil
	}
	client, err := d.Client(server, u)
	if err != nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, challengeBound)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}
