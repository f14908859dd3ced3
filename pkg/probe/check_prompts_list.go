package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func promptsList() Check {
	return Check{
		ID: "prompts.list", Title: "prompts are listed", Needs: usable(),
		Why:    `A server that announced prompts must answer the list of them, on all pages; clients offer them as commands.`,
		Remedy: `Answer prompts/list, or do not announce prompts.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Prompts != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "prompts/list", "prompts") },
	}
}
