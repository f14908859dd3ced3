package probe

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// soonExpired is when the end of a token of the entry's is worth a warning: a working day is enough to get another. One of
// a login is refreshed by itself.
const soonExpired = 24 * time.Hour

func authExpiry() Check {
	return Check{
		ID: "auth.expiry", Title: "token has not expired", Needs: []string{"config.variables"},
		Applies: func(t *Target) bool {
			return overHTTP(t) && (authorizationOf(t.Server.Headers) != "" || loggedIn(t))
		},
		Why: `A token from a login is valid for as long as the authorization server said, often an hour. It is refreshed
before that, if there is a refresh token. A token in the entry's Authorization header shows its own expiry if it
is a JSON Web Token; other tokens do not. An expired token is rejected with a 401 that looks like any other.`,
		Remedy: `Log in again: mcpctl login NAME. If the token is in the entry, get a new one, and put it into the variable that
the entry names.`,
		Run: func(_ context.Context, t *Target) Finding {
			if authorizationOf(t.Server.Headers) == "" {
				return t.loginExpiry()
			}
			expiry, ok := tokenExpiry(lastWord(authorizationOf(t.expanded.Headers)))
			if !ok {
				return skip("the token says nothing of itself")
			}
			until := expiry.UTC().Format(time.RFC3339)
			f := pass("until " + until)
			switch left := time.Until(expiry); {
			case left <= 0: // auth.access fails if the server minds
				f = warn("the token expired at "+until, "get a new token, and put it into the variable that the entry names")
			case left < soonExpired:
				f = warn(fmt.Sprintf("the token ends in %s", left.Round(time.Minute)), "get a new one before that")
			}
			f.Data = map[string]any{"token_expires_at": until}
			return f
		},
	}
}

// loginExpiry is the finding about the token of a login, after it was used.
func (t *Target) loginExpiry() Finding {
	login := t.login
	until := login.Expires.UTC().Format(time.RFC3339)
	f := pass(fmt.Sprintf("until %s, %s", until, inTime(login.Expires)))
	switch {
	case login.Standing == session.StandingNeedsLogin:
		f = warn("the authorization server does not refresh it any more", t.loginLine())
	case login.Expires.IsZero():
		return pass("the authorization server did not say until when")
	case login.Standing == session.StandingExpired:
		f = warn(fmt.Sprintf("it expired at %s, %s, and cannot be refreshed", until, inTime(login.Expires)), t.loginLine())
	case login.Standing == session.StandingRefreshable && refused(t):
		f = skip(fmt.Sprintf("it expired at %s, %s, and was not refreshed: see auth.access", until, inTime(login.Expires)))
	case login.Standing == session.StandingRefreshable:
		f = pass(fmt.Sprintf("it expired at %s, %s, and is refreshed with the next request", until, inTime(login.Expires)))
	case t.earlier.Standing == session.StandingRefreshable:
		f.Message += "; it was refreshed just now"
	}
	f.Data = map[string]any{"token_expires_at": until, "standing": string(login.Standing)}
	return f
}

// tokenExpiry reads when a JSON Web Token ends. Its signature is not looked at: the server does that. See RFC 7519, 4.1.4.
func tokenExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if json.Unmarshal(data, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Expires), 0), true
}
