package probe

import (
	"context"
	"strings"
)

func clientDifference() Check {
	return Check{
		ID: "client.difference", Title: "it works from this terminal", Needs: append(usable(), "tools.list"), Applies: fromClient,
		Why: `A server that works here and fails in its client is not broken: something in its environment differs. This lists
what can differ, as far as it is known for the client.`,
		Remedy: "Change one of the differences at a time. Begin with a full path for the command, and the variables in env.",
		Run: func(_ context.Context, t *Target) Finding {
			if t.health == healthUnanswered || t.health == healthWrong {
				return skip("call.health was not answered as expected")
			}
			found := t.differences()
			f := pass("works from this terminal; if " + format(t).Title + " still fails, the difference is one of: " + strings.Join(found, "; "))
			f.Shown = true
			f.Data = map[string]any{"differences": found}
			return f
		},
	}
}
