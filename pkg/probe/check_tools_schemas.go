package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func toolsSchemas() Check {
	return Check{
		ID: "tools.schemas", Title: "input schemas are usable", Needs: []string{"tools.list"},
		Why: `The inputSchema of a tool must be a JSON Schema object with "type": "object". Clients hand it to a model; with another
one they drop the tool, or refuse the whole list.`,
		Remedy: `Give every tool an input schema of type object; one without parameters is {"type": "object"}.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			var problems []string
			for _, raw := range list.Items {
				tl := parseTool(raw)
				if tl.name == "" {
					continue // tools.names reports it
				}
				if p := SchemaProblem(tl.schema); p != "" {
					problems = append(problems, fmt.Sprintf("%s: %s", tl.name, p))
				}
			}
			if len(problems) > 0 {
				f := warn(problems[0], "give every tool an input schema of type object; without parameters: {\"type\": \"object\"}")
				f.Detail = strings.Join(problems, "\n")
				return f
			}
			return pass("all of type object")
		},
	}
}
