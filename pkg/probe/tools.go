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

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
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
