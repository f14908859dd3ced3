package probe

import (
	"context"
	"strings"
)

func configSecrets() Check {
	return Check{
		ID: "config.secrets", Title: "secrets are not literal", Needs: []string{"config.entry"},
		Why: `A token written into the configuration is copied along with the file: into backups, dotfile repositories and bug
reports.`,
		Remedy: "Put the value into an environment variable, and write ${NAME} in its place.",
		Run: func(_ context.Context, t *Target) Finding {
			literal := writtenSecrets(t)
			if len(literal) == 0 {
				return pass("none")
			}
			places := make([]string, len(literal))
			for i, l := range literal {
				places[i] = l.Place
			}
			message, reference := "literal secret in "+strings.Join(places, ", "), "${NAME}"
			if fromClient(t) {
				if reference = format(t).Reference; reference == "" {
					// Nothing that its owner could change.
					return pass(message + "; no other form is known for the files of " + format(t).Title)
				}
			}
			return warn(message, "put the value into a variable and write "+reference+" in its place")
		},
	}
}
