package probe

import (
	"context"
)

func promptsList() Check {
	return Check{
		ID: "prompts.list", Title: "prompts are listed", Needs: usable(), Limit: ownLimits, lists: true,
		Why:     `A server that announced prompts must answer the list of them, on all pages; clients offer them as commands.`,
		Remedy:  `Answer prompts/list, or do not announce prompts.`,
		Applies: announcesPrompts,
		Run:     func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "prompts/list", "prompts") },
	}
}
