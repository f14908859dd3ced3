package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func authAccess() Check {
	return Check{
		ID: "auth.access", Title: "access is granted", Needs: []string{"http.endpoint"}, Applies: overHTTP, Limit: ownLimits,
		Budget: func(*Target) time.Duration { return defaultLimit }, // the opening is over, and the chain has a bound of its own

		Why: `401 means that the server wants authorization, or does not accept the one it got: an OAuth login, when it describes one, or
a static token. 403 means that it knows who asks, and refuses: a scope is missing, or a right.`,
		Remedy: `Give the server the credential that it wants. A token usually goes into a header: mcpctl add NAME URL --header 'Authorization: Bearer ${TOKEN}'.`,
		Run: func(ctx context.Context, t *Target) Finding {
			_, err := t.open(ctx)
			switch {
			case refused(t):
				return t.refusal(ctx, failure(err))
			case err != nil:
				return skip("no session was opened: see " + sessionOpenID)
			}
			return pass("the server let us in")
		},
	}
}

// refusal says what a server wants that refuses.
func (t *Target) refusal(ctx context.Context, f Finding) Finding {
	a := t.authorization(ctx)
	if f.Status != Fail || a.Status == 0 {
		return f
	}
	said := f.Message
	sent := authorizationOf(t.expanded.Headers)
	expiry, dated := tokenExpiry(lastWord(sent))
	needs := challenged(a, "scope")
	switch {
	case challenged(a, "error") == "insufficient_scope":
		f.Message = fmt.Sprintf("the token lacks a scope (HTTP %d insufficient_scope): %s", a.Status, firstWords(needs))
		f.Fix = "get a token with the scope " + firstWords(needs)
	case a.Status != http.StatusUnauthorized:
		return f
	case dated && time.Now().After(expiry):
		f.Message = fmt.Sprintf("the token expired on %s, and the server refuses it (HTTP 401)", expiry.UTC().Format(time.DateOnly))
		f.Fix = "get a new token, and put it into the variable that the entry names"
	case sent != "":
		f.Message = "the server refuses the token that it got (HTTP 401)"
		if text := challenged(a, "error_description"); text != "" {
			f.Message += ": " + firstWords(text)
		}
	case a.Resource != nil:
		f.Message = "login required (OAuth): HTTP 401, and no token was sent"
	case otherScheme(a) != "":
		f.Message = fmt.Sprintf("the server wants %s authorization: HTTP 401, and none was sent", otherScheme(a))
		f.Fix = fmt.Sprintf("give it what the scheme wants: --header 'Authorization: %s ${CREDENTIAL}'", otherScheme(a))
	default:
		f.Message = "the server wants authorization: HTTP 401, and no token was sent; it offers no OAuth metadata, so it probably wants a static token"
	}
	f.Detail = strings.TrimSpace(said + "\n" + f.Detail)
	return f
}

// otherScheme is the scheme of the challenges if none of them is of OAuth, "" else.
func otherScheme(a session.Authorization) string {
	scheme := ""
	for _, c := range a.Challenges {
		if strings.EqualFold(c.Scheme, "Bearer") || strings.EqualFold(c.Scheme, "DPoP") {
			return ""
		}
		scheme = cmp.Or(scheme, firstWords(c.Scheme))
	}
	return scheme
}

// challenged returns a parameter of the challenges, "" if none has it.
func challenged(a session.Authorization, name string) string {
	for _, c := range a.Challenges {
		if v := c.Params[name]; v != "" {
			return v
		}
	}
	return ""
}

func lastWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
