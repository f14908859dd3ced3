package probe

import (
	"context"
)

func promptsList() Check {
	return Check{
		ID: "prompts.list", Title: "prompts are listed", Needs: usable(), Limit: ownLimits, lists: true,
		Why:     "A server that declares prompts must list them, on all pages. Clients offer them as commands.",
		Remedy:  "Answer prompts/list, or do not declare prompts.",
		Applies: announcesPrompts,
		Run:     func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "prompts/list", "prompts") },
	}
}
