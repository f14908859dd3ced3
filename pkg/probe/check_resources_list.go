package probe

import (
	"context"
)

func resourcesList() Check {
	return Check{
		ID: "resources.list", Title: "resources are listed", Needs: usable(), Limit: ownLimits, lists: true,
		Why:     "A server that declares resources must list them, on all pages. Clients let people choose from the list.",
		Remedy:  "Answer resources/list, or do not declare resources.",
		Applies: announcesResources,
		Run:     func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "resources/list", "resources") },
	}
}
