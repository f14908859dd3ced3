package probe

import (
	"context"
	"strings"
)

func configEntry() Check {
	return Check{
		ID: "config.entry", Title: "entry is valid",
		Why: `The entry must have either a command or a URL, and every value must have the right form and be in range. An
invalid entry cannot be used at all.`,
		Remedy: "Correct the value that is named. mcpctl get NAME shows the entry, and mcpctl set NAME KEY=VALUE changes it.",
		Run: func(_ context.Context, t *Target) Finding {
			err := t.Server.Err
			if err == nil {
				entry := t.Server
				entry.Name = "server" // checked where it is given; what is not configured has no name to check
				err = entry.Validate()
			}
			if err != nil {
				where := "the configuration"
				if fromClient(t) {
					where = "its file"
				}
				return Finding{Status: Fail, Message: oneMessage(err), Class: "config", Fix: "correct the entry in " + where}
			}
			f := pass("valid")
			if fromClient(t) && len(t.Server.Foreign.Notes) > 0 {
				var notes []string
				for _, n := range t.Server.Foreign.Notes {
					notes = append(notes, n.String())
				}
				f.Detail = strings.Join(notes, "\n")
				f.Data = map[string]any{"notes": notes}
			}
			return f
		},
	}
}
