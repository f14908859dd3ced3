package oauth

import (
	"context"
	"time"
)

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
