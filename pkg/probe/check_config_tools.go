package probe

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
)

func configTools() Check {
	return Check{
		ID: "config.tools", Title: "tool filters match", Needs: []string{"tools.list"},
		Why: `A filter that matches no tool is usually a typo, or the server has renamed the tool. The filter then hides all
tools, or none.`,
		Remedy:  "Correct the filter. mcpctl tools NAME lists the names.",
		Applies: func(t *Target) bool { return len(t.Server.Tools.Include)+len(t.Server.Tools.Exclude) > 0 },
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			var names []string
			for _, item := range list.Items {
				names = append(names, parseTool(item).name)
			}
			var idle []string
			for _, glob := range slices.Concat(t.Server.Tools.Include, t.Server.Tools.Exclude) {
				if !slices.ContainsFunc(names, config.ToolFilter{Include: []string{glob}}.Allows) {
					idle = append(idle, glob)
				}
			}
			if len(idle) > 0 {
				return warn("no tool matches "+strings.Join(idle, ", "), "correct the filter; mcpctl tools lists the names")
			}
			return pass("every filter matches a tool")
		},
	}
}
