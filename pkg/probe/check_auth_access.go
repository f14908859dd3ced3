package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func authAccess() Check {
	return Check{
		ID: "auth.access", Title: "access is granted", Needs: []string{"http.endpoint"}, Applies: overHTTP, Limit: ownLimits,
		Budget: func(*Target) time.Duration { return defaultLimit }, // the opening is over, and the chain has a bound of its own

		Why: `401 means that the server wants authorization, or does not accept what it got: an OAuth login if it describes
one, otherwise a static token. 403 means that the server knows who is asking and refuses: a scope or a
permission is missing. doctor never starts a login and never opens a browser; it uses, and if possible
refreshes, an earlier login.`,
		Remedy: `Log in with mcpctl login NAME, or give the server the credential that it wants. A token usually goes into a
header: mcpctl add NAME URL --header 'Authorization: Bearer ${TOKEN}'.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.open(ctx)
			switch {
			case refused(t):
				return t.refusal(ctx, failure(err))
			case err != nil:
				return skip("no session was opened: see " + sessionOpenID)
			case loggedIn(t):
				return pass("the server let the login in")
			case authorizationOf(t.expanded.Headers) != "", s.Info().Transport == "sse":
				// The older transport is older than logins, and some servers take each GET for the one stream that they serve.
				return pass("the server let us in")
			}
			return t.anonymous(ctx)
		},
	}
}

// anonymousBound bounds the look at how a server is protected that lets everybody in.
const anonymousBound = 2 * time.Second

// anonymous is the finding about a server that let us in without a credential. One that describes a login may want it for
// calls.
func (t *Target) anonymous(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, anonymousBound)
	defer cancel()
	a := t.dialer().Authorization(ctx, t.expanded, nil)
	if a.Resource == nil || len(a.Resource.AuthorizationServers) == 0 {
		return pass("the server let us in")
	}
	f := pass(fmt.Sprintf("the server lets everybody in, and describes a login at %s: calls may want it: %s",
		firstWords(a.Resource.AuthorizationServers[0]), t.loginLine()))
	f.Shown = true
	f.Data = map[string]any{"authorization_servers": a.Resource.AuthorizationServers}
	return f
}

// refusal says what a server wants that refuses.
func (t *Target) refusal(ctx context.Context, f Finding) Finding {
	if f.Status != Fail {
		return f
	}
	said := f.Message
	why, _ := errors.AsType[*session.LoginError](t.openErr)
	if e, ok := errors.AsType[*session.Error](t.openErr); ok && e.Status == 0 {
		return t.notSent(f, why)
	} else if ok && e.Symptom != "" {
		return f // it is not the server that refuses
	}
	a := t.authorization(ctx)
	sent := authorizationOf(t.expanded.Headers)
	expiry, dated := tokenExpiry(lastWord(sent))
	switch {
	case challenged(a, "error") == "insufficient_scope":
		f = t.scopeMissing(f, a)
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
		f.Fix = cmp.Or(session.MalformedAuthorization(t.expanded.Headers), session.KeyHint(t.expanded.Headers, t.openErr), f.Fix)
	case session.MalformedAuthorization(t.expanded.Headers) != "":
		f.Message = "the server wants authorization: HTTP 401, and no Authorization header was sent"
		f.Fix = session.MalformedAuthorization(t.expanded.Headers)
	case loggedIn(t):
		f = t.loginRefused(f, a, why)
	case t.obstacle(ctx) != "":
		id := t.obstacle(ctx)
		return Finding{Status: Skip, Message: "the server wants a login, and none can come about: see " + id, Instead: id}
	case why != nil && why.Step != "" && why.Reason != session.LoginNeeded && !t.needsPerson():
		f.Message = "HTTP 401, and no token was got: " + firstWords(why.Error())
		f.Fix = cmp.Or(why.Hint, "see what the authorization server says, then: "+t.loginLine())
	case a.Resource != nil || a.Server != nil && !a.Defaults:
		f.Message = "login required (OAuth): HTTP 401, and no token was sent"
		f.Fix = t.loginLine()
	case otherScheme(a) != "":
		f.Message = fmt.Sprintf("the server wants %s authorization: HTTP 401, and none was sent", otherScheme(a))
		f.Fix = fmt.Sprintf("give it what the scheme wants: --header 'Authorization: %s ${CREDENTIAL}'", otherScheme(a))
		if strings.EqualFold(otherScheme(a), "Basic") {
			f.Fix += ", where CREDENTIAL is user:password in base64 (printf %s 'USER:PASSWORD' | base64)"
		}
	default:
		sent := "no token was sent"
		f.Fix = "send it in a header: --header 'Authorization: Bearer ${TOKEN}'"
		if name := session.OtherCredential(t.expanded.Headers); name != "" {
			sent = "the header " + name + " was not enough"
			f.Fix = "check the value of that header, or send a token in another: --header 'Authorization: Bearer ${TOKEN}'"
		}
		f.Fix = cmp.Or(session.KeyHint(t.expanded.Headers, t.openErr), f.Fix)
		f.Message = "the server wants authorization: HTTP 401, and " + sent + "; it offers no OAuth metadata, so it probably wants a static token"
		if a.Defaults { // nobody knows whether the endpoints are there
			f.Fix += "; if it has a login all the same: " + t.loginLine()
		}
	}
	f.Detail = strings.TrimSpace(said + "\n" + f.Detail)
	return f
}

// loginRefused says that a server refuses the token of a login, and why no other came of it.
func (t *Target) loginRefused(f Finding, a session.Authorization, why *session.LoginError) Finding {
	f.Message = "the server refuses the token of the login (HTTP 401)"
	if text := challenged(a, "error_description"); text != "" {
		f.Message += ": " + firstWords(text)
	}
	f.Fix = t.loginLine()
	if a.Server != nil && t.login.Issuer != "" && strings.TrimSuffix(a.Server.Issuer, "/") != strings.TrimSuffix(t.login.Issuer, "/") {
		f.Message = fmt.Sprintf("the login is one at %s, and the server names %s now", firstWords(t.login.Issuer), firstWords(a.Server.Issuer))
		return f
	}
	switch {
	case why == nil || why.Step == "":
	case why.Reason == session.LoginUnreachable:
		f.Message += "; the login is kept, and no other token came of it: " + firstWords(why.Error())
		f.Fix = cmp.Or(why.Hint, "see that the authorization server can be reached")
	default:
		f.Message += "; " + firstWords(why.Error())
	}
	return f
}

// notSent says why a request was not sent: there is something kept of a login, and no token came of it.
func (t *Target) notSent(f Finding, why *session.LoginError) Finding {
	if why == nil {
		return f
	}
	said := firstWords(why.Error())
	switch why.Reason {
	case session.LoginNeeded:
		f.Message = "a login is needed: " + said
		f.Fix = t.loginLine()
	case session.LoginUnreachable:
		f.Message = "the login is kept, and no token came of it: " + said
		f.Fix = cmp.Or(why.Hint, "see that the authorization server can be reached; the login is kept, and tried again with the next command")
	default:
		f.Message = said
		f.Fix = cmp.Or(why.Hint, t.loginLine())
	}
	return f
}

// scopeMissing says which scopes a token lacks.
func (t *Target) scopeMissing(f Finding, a session.Authorization) Finding {
	needs := strings.Fields(challenged(a, "scope"))
	lacking := slices.DeleteFunc(slices.Clone(needs), func(s string) bool { return slices.Contains(t.login.Scopes, s) })
	if len(lacking) == 0 {
		lacking = needs
	}
	wanted := firstWords(strings.Join(lacking, " "))
	f.Message = fmt.Sprintf("the token lacks a scope (HTTP %d insufficient_scope): %s", a.Status, wanted)
	f.Fix = "get a token with the scope " + wanted
	if loggedIn(t) {
		f.Fix = t.loginLine() + " --oauth-scope " + toolargsQuoted(lacking)
	}
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
