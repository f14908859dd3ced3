package probe

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

func toolsSchemas() Check {
	return Check{
		ID: "tools.schemas", Title: "input schemas are usable", Needs: []string{"tools.list"},
		Why: `Each schema is read separately, so that a bad one does not hide the others. The inputSchema of a tool must be a
JSON Schema with "type": "object". Clients pass it to a model; if it is anything else, they drop the tool or
reject the whole list. The Claude API rejects all tools if one has a keyword in the form of an older draft
(exclusiveMinimum: true, an array as items), or a parameter whose name has characters other than letters,
digits, _, . and -. From protocol version 2026-07-28 on, a parameter with x-mcp-header is also sent as an
HTTP header; clients must not call a tool for which that is impossible.`,
		Remedy:  `Give every tool an input schema of type object. For a tool without parameters it is {"type": "object"}.`,
		Applies: announcesTools,
		Run: func(ctx context.Context, t *Target) Finding {
			tools, err := t.tools(ctx)
			if err != nil {
				return failure(err)
			}
			var unusable, uncallable, troubles []string
			for _, tl := range tools {
				if tl.name == "" {
					continue // tools.names reports it
				}
				if p := SchemaProblem(tl.schema); p != "" {
					if tl.misnamed != "" {
						p += ", and what may be meant for it is called " + strconv.Quote(tl.misnamed)
					}
					if listForObject(tl.schema) {
						p += ": PHP and Lua write [] for an empty object, and {} is wanted"
					}
					unusable = append(unusable, t.named(tl.name)+": "+inLine(p))
				} else if p := headerProblem(t, tl.schema); p != "" {
					uncallable = append(uncallable, t.named(tl.name)+": "+inLine(p))
				} else if p := schemaTrouble(tl.schema); p != "" {
					troubles = append(troubles, t.named(tl.name)+": "+inLine(p))
				}
			}
			problems := slices.Concat(unusable, uncallable, troubles)
			switch {
			case len(unusable) > 0:
				f := warn(firstOf(problems), "give every tool an input schema of type object; without parameters: {\"type\": \"object\"}")
				f.Detail = strings.Join(problems, "\n")
				f.Data = map[string]any{"problems": problems}
				return f
			case len(uncallable) > 0:
				f := warn(firstOf(problems), "correct the x-mcp-header of its parameters: clients must not call the tool")
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

// headerProblem says why clients must not call a tool: only over HTTP, and from protocol 2026-07-28 on, are there parameters
// that are sent as headers, too.
func headerProblem(t *Target, schema json.RawMessage) string {
	if t.opened == nil {
		return ""
	}
	if info := t.opened.Info(); info.Era != session.EraModern || info.Transport == string(config.TransportStdio) {
		return ""
	}
	return toolargs.HeaderProblem(schema)
}

// listForObject reports whether a schema, or its properties, is an empty array, which is what some languages write for an empty
// object.
func listForObject(schema json.RawMessage) bool {
	var list []json.RawMessage
	var whole struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &list) != nil {
		_ = json.Unmarshal(schema, &whole)
		_ = json.Unmarshal(whole.Properties, &list)
	}
	return list != nil && len(list) == 0
}
