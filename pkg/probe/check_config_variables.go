package probe

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func configVariables() Check {
	return Check{
		ID: "config.variables", Title: "variables are set", Needs: []string{"config.entry"},
		Why: `${NAME} in an entry stands for a variable of the environment. Nothing is started or sent with one that is not set: a
server would get the placeholder for a token, and refuse it with an error that hides the cause.`,
		Remedy: `Set the variables where mcpctl runs, or give them defaults: ${NAME:-default}.`,
		Run: func(_ context.Context, t *Target) Finding {
			lookup := t.Lookup
			if lookup == nil {
				lookup = func(string) (string, bool) { return "", false }
			}
			expanded, secrets, err := t.Server.Expand(lookup, t.Home)
			if t.OnSecrets != nil {
				t.OnSecrets(secrets)
			}
			if err != nil {
				fix := "set the variables, or give defaults: ${NAME:-default}"
				var unset *config.UnsetError
				isUnset := errors.As(err, &unset)
				switch {
				case isUnset && unset.Vars[0].Hint() != "":
					fix = unset.Vars[0].Hint()
				case isUnset && fromClient(t):
					fix = "set the variables where mcpctl runs, and where " + format(t).Title + " is started"
				case fromClient(t):
					fix = "correct the entry in its file"
				}
				message := err.Error()
				if isUnset && unset.Vars[0].Hint() != "" {
					message = strings.TrimSuffix(message, "; "+fix)
				}
				return Finding{Status: Fail, Message: message, Class: "config", Fix: fix}
			}
			t.expanded = expanded
			return pass("all set")
		},
	}
}
