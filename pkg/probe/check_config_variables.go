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
server would get the placeholder for a token, and refuse it with an error that hides the cause. One that is set and empty is most
often a secret that a pipeline does not have, so it is told where it stands in the URL, in a header, or for a secret.`,
		Remedy: `Set the variables where mcpctl runs, or give them defaults: ${NAME:-default}.`,
		Run: func(_ context.Context, t *Target) Finding {
			expanded, secrets, err := t.Server.Expand(t.Environment)
			if t.OnSecrets != nil {
				t.OnSecrets(secrets)
			}
			if err != nil {
				fix := "set the variables, or give defaults: ${NAME:-default}"
				var unset *config.UnsetError
				isUnset := errors.As(err, &unset)
				empty := t.Server.EmptyVariables(t.lookup)
				switch {
				case !isUnset && len(empty) > 0:
					fix = "give a value to " + namesOf(empty) + ", where mcpctl runs"
				case isUnset && unset.Hint() != "":
					fix = unset.Hint()
				case isUnset && fromClient(t):
					fix = "set the variables where mcpctl runs, and where " + format(t).Title + " is started"
				case fromClient(t):
					fix = "correct the entry in its file"
				}
				message := oneMessage(err)
				if isUnset && unset.Hint() != "" {
					message = strings.TrimSuffix(message, "; "+fix)
				}
				return Finding{Status: Fail, Message: message, Class: "config", Fix: fix}
			}
			t.expanded = expanded
			if empty := emptied(t); len(empty) > 0 {
				are := " is set, and empty"
				if len(empty) > 1 {
					are = " are set, and empty"
				}
				return warn(placed(empty)+are, "give a value to "+namesOf(empty)+", where mcpctl runs, or take it out of the entry")
			}
			return pass("all set")
		},
	}
}
