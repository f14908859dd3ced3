package probe

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func clientTools() Check {
	return Check{
		ID: "client.tools", Title: "the client accepts that many tools", Needs: []string{"tools.list"},
		Why: `Some clients offer their model only a limited number of tools, from all servers together: the rest is left out
silently, or requests fail.`,
		Remedy: "Turn off tools that are not needed, in the client or with an option of the server.",
		Applies: func(t *Target) bool {
			return fromClient(t) && format(t).MostTools > 0 && announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding {
			names, err := t.allowedTools(ctx)
			if err != nil {
				return failure(err)
			}
			client := format(t)
			f := pass(fmt.Sprintf("%d of the %d that %s takes in all", len(names), client.MostTools, client.Title))
			if len(names) > client.MostTools {
				f = warn(fmt.Sprintf("%d tools, but %s accepts only %d, from all servers together", len(names), client.Title, client.MostTools),
					"turn off tools that are not needed, in "+client.Title+" or with an option of the server")
			}
			f.Data = map[string]any{"tools": len(names), "limit": client.MostTools}
			return f
		},
	}
}

// allowedTools returns the names of the tools that the entry's filters let through.
func (t *Target) allowedTools(ctx context.Context) ([]string, error) {
	list, err := t.list(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range list.Items {
		if name := parseTool(item).name; name != "" && t.Server.Tools.Allows(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
