package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// tool is what the checks need to know of one tool, read tool by tool so that a bad one hides no others.
type tool struct {
	name     string
	schema   json.RawMessage
	problems []string
}

func parseTool(raw json.RawMessage) tool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return tool{problems: []string{"it is not an object"}}
	}
	var t tool
	if json.Unmarshal(fields["name"], &t.name) != nil || t.name == "" {
		t.problems = append(t.problems, "it has no name")
	}
	t.schema = fields["inputSchema"]
	return t
}

// listed makes the finding of a list check.
func listed(ctx context.Context, t *Target, method, noun string) Finding {
	list, err := t.list(ctx, method)
	if err != nil {
		return failure(err)
	}
	if len(list.Items) == 1 {
		noun = strings.TrimSuffix(noun, "s")
	}
	f := pass(fmt.Sprintf("%d %s", len(list.Items), noun))
	f.Data = map[string]any{"count": len(list.Items)}
	if loss := t.repeated[method]; loss != "" {
		f.Status, f.Detail, f.Data["repeated"] = Warn, loss, true
		f.Message += fmt.Sprintf("; the first %s was lost (%s) and had to be repeated on a fresh session", method, loss)
		f.Fix = "see why the server drops it: a client that does not repeat it shows nothing at all"
	}
	if len(list.Problems) > 0 {
		f.Status, f.Detail = Warn, strings.TrimSpace(strings.Join(slices.Concat(list.Problems, []string{f.Detail}), "\n"))
		f.Message += "; " + list.Problems[0]
		f.Fix = "answer " + method + " as the specification says, with an array and a cursor that ends"
	}
	return f
}

// announces reports whether the server announced a capability. It is asked only after the opening.
func announces(t *Target, has func(session.Info) bool) bool {
	return t.opened == nil || has(t.opened.Info())
}

func toolsList() Check {
	return Check{
		ID: "tools.list", Title: "tools are listed", Needs: []string{"session.reuse"},
		Why: `The list of tools is the first thing that a client asks for. A server that announced tools must answer it, on all pages.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "tools/list", "tools") },
	}
}

func toolsNames() Check {
	return Check{
		ID: "tools.names", Title: "tool names are good", Needs: []string{"tools.list"},
		Why: `Names must be unique, and most clients and models accept only A-Z, a-z, 0-9, "_", "-" and "." in them, at most 64
characters: other tools are dropped or make the whole list fail.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			const longest = 64
			var problems []string
			seen := map[string]bool{}
			for i, raw := range list.Items {
				tl := parseTool(raw)
				for _, p := range tl.problems {
					problems = append(problems, fmt.Sprintf("tool %d: %s", i+1, p))
				}
				switch {
				case tl.name == "":
				case seen[tl.name]:
					problems = append(problems, fmt.Sprintf("%s is there twice", tl.name))
				case len(tl.name) > longest:
					problems = append(problems, fmt.Sprintf("%s… is %d characters long", tl.name[:longest], len(tl.name)))
				case strings.ContainsFunc(tl.name, func(r rune) bool { return !plainRune(r) }):
					problems = append(problems, fmt.Sprintf("%q has characters that clients refuse", tl.name))
				}
				seen[tl.name] = true
			}
			if len(problems) > 0 {
				f := warn(problems[0], "rename the tools")
				f.Detail = strings.Join(problems, "\n")
				return f
			}
			return pass("unique and plain")
		},
	}
}

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

func toolsSchemas() Check {
	return Check{
		ID: "tools.schemas", Title: "input schemas are usable", Needs: []string{"tools.list"},
		Why: `The inputSchema of a tool must be a JSON Schema object with "type": "object". Clients hand it to a model; with another
one they drop the tool, or refuse the whole list.`,
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

// SchemaProblem says what is wrong with a tool's input schema, "" if nothing is: "it has no inputSchema". See the MCP
// specification, 2025-11-25, "Tools".
func SchemaProblem(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "it has no inputSchema"
	}
	var schema struct {
		Type       json.RawMessage `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   json.RawMessage `json:"required"`
	}
	if json.Unmarshal(raw, &schema) != nil {
		return "its inputSchema is not an object"
	}
	var kind string
	switch err := json.Unmarshal(schema.Type, &kind); {
	case schema.Type == nil:
		return "its inputSchema has no type, and \"object\" is wanted"
	case err != nil || kind != "object":
		return fmt.Sprintf("its inputSchema has the type %s, and \"object\" is wanted", schema.Type)
	}
	var properties map[string]json.RawMessage
	if string(schema.Properties) == "null" || schema.Properties != nil && json.Unmarshal(schema.Properties, &properties) != nil {
		return "its properties are not an object"
	}
	var required []string
	if schema.Required != nil && json.Unmarshal(schema.Required, &required) != nil {
		return "its required is not an array of names"
	}
	missing := slices.DeleteFunc(required, func(name string) bool { _, ok := properties[name]; return ok })
	if len(missing) > 0 && properties != nil {
		return "it requires " + strings.Join(missing, ", ") + ", which it does not describe"
	}
	return ""
}

func resourcesList() Check {
	return Check{
		ID: "resources.list", Title: "resources are listed", Needs: []string{"session.reuse"},
		Why: `A server that announced resources must answer the list of them, on all pages; clients show it to people, who choose.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Resources != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "resources/list", "resources") },
	}
}

func promptsList() Check {
	return Check{
		ID: "prompts.list", Title: "prompts are listed", Needs: []string{"session.reuse"},
		Why: `A server that announced prompts must answer the list of them, on all pages; clients offer them as commands.`,
		Applies: func(t *Target) bool {
			return announces(t, func(i session.Info) bool { return i.Capabilities.Prompts != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding { return listed(ctx, t, "prompts/list", "prompts") },
	}
}
