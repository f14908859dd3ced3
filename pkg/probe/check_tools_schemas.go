package probe

import (
	"context"
	"slices"
	"strings"
)

func toolsSchemas() Check {
	return Check{
		ID: "tools.schemas", Title: "input schemas are usable", Needs: []string{"tools.list"},
		Why: `Each schema is read by itself, so that a bad one hides no other. The inputSchema of a tool must be a JSON Schema object with "type": "object". Clients hand it to a model; with another
one they drop the tool, or refuse the whole list.`,
		Remedy:  `Give every tool an input schema of type object; one without parameters is {"type": "object"}.`,
		Applies: announcesTools,
		Run: func(ctx context.Context, t *Target) Finding {
			tools, err := t.tools(ctx)
			if err != nil {
				return failure(err)
			}
			var unusable, troubles []string
			for _, tl := range tools {
				if tl.name == "" {
					continue // tools.names reports it
				}
				if p := SchemaProblem(tl.schema); p != "" {
					unusable = append(unusable, t.named(tl.name)+": "+inLine(p))
				} else if p := schemaTrouble(tl.schema); p != "" {
					troubles = append(troubles, t.named(tl.name)+": "+inLine(p))
				}
			}
			problems := slices.Concat(unusable, troubles)
			switch {
			case len(unusable) > 0:
				f := warn(firstOf(problems), "give every tool an input schema of type object; without parameters: {\"type\": \"object\"}")
				f.Detail = strings.Join(problems, "\n")
				f.Data = map[string]any{"problems": problems}
				return f
			case len(troubles) > 0:
				f := warn(firstOf(problems), "write the schema in the plainer form that all clients take")
				f.Detail = strings.Join(problems, "\n")
				f.Data = map[string]any{"problems": problems}
				return f
			}
			return pass("all of type object")
		},
	}
}
