package probe

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// soonExpired is when the end of a token is worth a warning: a working day is enough to get another.
const soonExpired = 24 * time.Hour

func authToken() Check {
	return Check{
		ID: "auth.token", Title: "token has not expired", Needs: []string{"config.variables"},
		Applies: func(t *Target) bool { return overHTTP(t) && authorizationOf(t.Server.Headers) != "" },
		Why: `A token that the entry sends in the Authorization header may say itself until when it is good, if it is a JSON Web Token.
One that has expired is refused by every server, with a 401 that looks like any other. Other tokens say nothing of themselves.`,
		Remedy: `Get a new token, and put it into the variable that the entry names.`,
		Run: func(_ context.Context, t *Target) Finding {
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

// authorizationOf returns the Authorization header of an entry, "" if it has none.
func authorizationOf(headers map[string]string) string {
	for name, value := range headers {
		if strings.EqualFold(name, "Authorization") {
			return value
		}
	}
	return ""
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
