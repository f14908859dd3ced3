package oauth

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Standing says in a word how things stand.
type Standing string

// The standings.
const (
	// StandingNone is nothing kept.
	StandingNone Standing = ""
	// StandingOK is a token that is good until State.Expires, or until it is refused if that is zero.
	StandingOK Standing = "ok"
	// StandingRefreshable is a token that has expired and can be had anew without a person.
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

// State is what is known of the authorization for a server, without asking anybody: no server, and no keyring. The failure
// is an [*Error]: the file cannot be used.
func (a *Authorizer) State(ctx context.Context) (State, error) {
	if a.o.Store == nil {
		return State{}, nil
	}
	r, ok, refreshable, where, err := a.o.Store.peek(ctx, a.o.Server.URL)
	if err != nil || !ok || !a.belongs(r) {
		return State{}, err
	}
	st := State{
		Standing: StandingOK, Issuer: r.Issuer, Scopes: slices.Clone(r.Token.Scopes), ClientID: r.Client.ID, Bound: r.Key != "", Where: where,
	}
	if lives(r) {
		st.Expires = r.Token.Expires
	}
	alone := r.Grant != "" && r.Grant != string(config.GrantCode)
	switch {
	case r.Dead:
		st.Standing = StandingNeedsLogin
	case !over(r, time.Now(), 0):
	case refreshable || alone:
		st.Standing = StandingRefreshable
	default:
		st.Standing = StandingExpired
	}
	return st, nil
}

// secret tells of values that must not be shown, tell of an event; logger is never nil.
func (a *Authorizer) secret(values ...string) {
	values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	if a.o.Secret != nil && len(values) > 0 {
		a.o.Secret(values...)
	}
}

func (a *Authorizer) tell(step Step, message string) {
	if a.o.Tell != nil {
		a.o.Tell(Event{Step: step, Message: message})
	}
}

func (a *Authorizer) logger() *slog.Logger {
	if a.o.Logger != nil {
		return a.o.Logger
	}
	return slog.New(slog.DiscardHandler)
}
