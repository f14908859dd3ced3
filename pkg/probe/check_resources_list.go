package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func resourcesList() Check {
	return Check{
		ID: "resources.list", Title: "resources are listed", Needs: usable(),
		Why:    `A server that announced resources must answer the list of them, on all pages; clients show it to people, who choose.`,
		Remedy: `Answer resources/list, or do not announce resources.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Resources != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "resources/list", "resources") },
	}
}
