package probe

import (
	"context"
)

func configEntry() Check {
	return Check{
		ID: "config.entry", Title: "entry is valid",
		Why: `The entry names exactly one of a command and a URL, and every value has the form and the range that it must have.
Nothing can be started or reached with an entry that is not valid.`,
		Remedy: `Correct the value that is named; mcpctl get NAME shows the entry, and mcpctl set NAME KEY=VALUE changes it.`,
		Run: func(_ context.Context, t *Target) Finding {
			err := t.Server.Err
			if err == nil {
				entry := t.Server
				entry.Name = "server" // checked where it is given; what is not configured has no name to check
				err = entry.Validate()
			}
			if err != nil {
				return Finding{Status: Fail, Message: err.Error(), Class: "config", Fix: "correct the entry in the configuration"}
			}
			return pass("valid")
		},
	}
}
