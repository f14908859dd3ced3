package probe

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func configVariables() Check {
	return Check{
		ID: "config.variables", Title: "variables are set", Needs: []string{"config.entry"},
		Why: `${NAME} in an entry is replaced by an environment variable. If one is not set, nothing is started or sent:
otherwise the server would get the placeholder instead of a token, and reject it with an error that hides the
cause. A variable that is set but empty, often a secret missing in CI, is reported if it is used in the URL, in
a header, or for a secret.`,
		Remedy: "Set the variables where mcpctl runs, or give them a default: ${NAME:-default}.",
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
				case isUnset && outside(unset):
					fix = "give the entry what it refers to: " + names(unset)
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

// outside reports whether a file or a keyring entry is missing.
func outside(e *config.UnsetError) bool {
	return slices.ContainsFunc(e.Vars, func(v config.UnsetVar) bool { return v.Kind != config.KindVariable })
}

// names returns all that is missing, each once.
func names(e *config.UnsetError) string {
	var out []string
	for _, v := range e.Vars {
		name := v.Name
		switch v.Kind {
		case config.KindFile:
			name = "the file " + name
		case config.KindKeyring:
			name = "the keyring entry " + name
		case config.KindVariable:
			name = "the variable " + name
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
