package probe

import (
	"context"
)

func toolsList() Check {
	return Check{
		ID: "tools.list", Title: "tools are listed", Needs: usable(), Limit: ownLimits, lists: true,
		Why: `The list of tools is the first thing that a client asks for. A server that declares tools must answer it, on all
pages.`,
		Remedy:  "Answer tools/list with an array named tools and, while there are more pages, a nextCursor.",
		Applies: announcesTools,
		Run:     func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "tools/list", "tools") },
	}
}
