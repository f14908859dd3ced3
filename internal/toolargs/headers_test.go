package toolargs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

func TestParametersThatCannotBeHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ properties, problem string }{
		{`{}`, ""},
		{`{"a": {"type": "string"}, "b": true}`, ""},
		{`{"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "integer", "x-mcp-header": "Zone"}}`, ""},
		{`{"a": {"type": "boolean", "x-mcp-header": "a.B_c-1"}}`, ""},
		{`{"a": {"type": "string", "x-mcp-header": ""}}`, "of a is not the name of a header"},
		{`{"a": {"type": "string", "x-mcp-header": null}}`, "of a is not the name of a header"},
		{`{"a": {"type": "string", "x-mcp-header": 7}}`, "of a is not the name of a header"},
		{`{"a": {"type": "string", "x-mcp-header": "My Region"}}`, `"My Region", is not the name`},
		{`{"a": {"type": "string", "x-mcp-header": "Region:Primary"}}`, `"Region:Primary", is not the name`},
		{`{"a": {"type": "string", "x-mcp-header": "Région"}}`, "is not the name"},
		{`{"a": {"type": "string", "x-mcp-header": "Region\t1"}}`, `"Region\t1", is not the name`},
		{`{"a": {"type": "number", "x-mcp-header": "A"}}`, "a has an x-mcp-header and is no string"},
		{`{"a": {"type": "object", "x-mcp-header": "A"}}`, "a has an x-mcp-header and is no string"},
		{`{"a": {"type": ["string", "null"], "x-mcp-header": "A"}}`, "a has an x-mcp-header and is no string"},
		{`{"a": {"x-mcp-header": "A"}}`, "a has an x-mcp-header and is no string"},
		{`{"a": {"type": "string", "x-mcp-header": "Field"}, "b": {"type": "string", "x-mcp-header": "fIELD"}}`, "a and b have the same"},
		{`{"a": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": " "}}}}`, "x-mcp-header of a.b"},
	} {
		schema := `{"type": "object", "properties": ` + c.properties + `}`
		got := toolargs.HeaderProblem(json.RawMessage(schema))
		if (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %q, want %q", schema, got, c.problem)
		}
	}
	for _, schema := range []string{"", "null", "true", "7", `[]`, `{"properties": []}`} {
		if got := toolargs.HeaderProblem(json.RawMessage(schema)); got != "" {
			t.Errorf("%s: %q", schema, got)
		}
	}
}
