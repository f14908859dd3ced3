package probe

import (
	"context"
)

func resourcesList() Check {
	return Check{
		ID: "resources.list", Title: "resources are listed", Needs: usable(), Limit: ownLimits, lists: true,
		Why:     `A server that announced resources must answer the list of them, on all pages; clients show it to people, who choose.`,
		Remedy:  `Answer resources/list, or do not announce resources.`,
		Applies: announcesResources,
		Run:     func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "resources/list", "resources") },
	}
}
