package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func authToken() Check {
	return Check{
		ID: "auth.token", Title: "a token is available", Needs: []string{"config.variables"},
		Applies: func(t *Target) bool { return overHTTP(t) && (authorizationOf(t.Server.Headers) != "" || chained(t)) },
		Why: `A token comes from the Authorization header of the entry, or from a login that is stored between runs. The entry
takes precedence. A token that cannot be read, because the keyring is locked, counts as missing.`,
		Remedy: `Log in: mcpctl login NAME. If the keyring is locked, unlock it, or keep credentials in files:
MCPCTL_CREDENTIALS=file.`,
		Run: func(_ context.Context, t *Target) Finding {
			login := t.login
			switch {
			case t.loginErr != nil:
				return warn("what is kept of a login cannot be read: "+firstWords(t.loginErr.Error()),
					"unlock the keyring, or keep credentials in files: MCPCTL_CREDENTIALS=file")
			case authorizationOf(t.Server.Headers) != "" && refused(t):
				return skip("it is the entry's own, in the header Authorization, and was refused: see auth.access")
			case authorizationOf(t.Server.Headers) != "":
				return pass("the entry's own, in the header Authorization")
			case !loggedIn(t):
				return skip("none is kept of a login, and the entry has none")
			}
			of := fmt.Sprintf("of a login at %s, kept in %s", firstWords(login.Issuer), firstWords(login.Where))
			if refused(t) {
				return skip("it is " + of + ", and no request was let in with it: see auth.access")
			}
			f := pass(of)
			if login.Bound {
				f.Detail = "it is bound to a key of this machine (DPoP)"
			}
			f.Data = loginData(login)
			return f
		},
	}
}

// loginData is what is kept of a login, for programs.
func loginData(login session.Login) map[string]any {
	return map[string]any{
		"standing": string(login.Standing), "issuer": login.Issuer, "client_id": login.ClientID, "kept_in": login.Where,
		"bound": login.Bound, "scopes": strings.Join(login.Scopes, " "),
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
