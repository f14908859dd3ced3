package probe

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestRowsAreMasked shows that no text of a report holds a secret when the report is made: whoever writes it may cut and wrap
// its texts.
func TestRowsAreMasked(t *testing.T) {
	s := everything()
	s.results["tools/list"] = `{"tools":[{"name":"hunter2","description":"\u200b","inputSchema":{"type":"hunter2"}},{"name":"read","inputSchema":{"type":"object"}}]}`
	s.results["tools/call"] = `{"isError":true,"content":[{"type":"text","text":"denied: hunter2"}]}`
	server := s.serve(t)
	server.Smoke = []config.Smoke{{Name: "hunter2", Health: config.Health{Tool: "read"}}, {Name: "x", Health: config.Health{Tool: "reader"}}}
	b := Baseline{Name: "hunter2.json"}
	target := &Target{Server: server, Baseline: &b, Mask: func(text string) string {
		return strings.ReplaceAll(text, "hunter2", "***")
	}}
	r := Run(t.Context(), target, Checks())
	results := byID(r)
	for id, words := range map[string]string{
		"call.hunter2": "read: it reported an error: denied: ***", "call.x": `the server has no tool "reader"`,
		"tools.schemas": `***: its inputSchema has the type "***", and "object" is wanted`, "tools.descriptions": "*** has U+200B in its description, which cannot be seen",
	} {
		if results[id].Message != words {
			t.Errorf("%s: %+v", id, results[id])
		}
	}
	if got := results["call.hunter2"]; got.Title != "*** is answered as expected" || got.Detail != "text: denied: ***" {
		t.Errorf("%+v", got)
	}
	for _, res := range r.Results {
		if text := fmt.Sprint(res.Finding, res.Title); strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", res.ID, text)
		}
	}
	if r.Cause == nil || strings.Contains(fmt.Sprint(*r.Cause), "hunter2") {
		t.Errorf("%+v", r.Cause)
	}
}

// TestMaskedData shows that the texts of data are masked wherever they are, and that nothing else is touched.
func TestMaskedData(t *testing.T) {
	type named string
	type place struct {
		Path named
		n    int
	}
	text, list := "hunter2", []string{"a hunter2"}
	in := Result{ID: "x.hunter2", Finding: Finding{
		Message: "hunter2", Note: "hunter2", Fix: "hunter2", Table: [][]string{{"hunter2"}, nil},
		Data: map[string]any{
			"text": text, "list": list, "any": []any{"hunter2", 7, nil}, "objects": []map[string]any{{"hunter2": "hunter2"}},
			"named": named("hunter2"), "pointer": &text, "struct": place{"hunter2", 1}, "nil": (*string)(nil), "number": 1.5,
			"json": json.RawMessage(`{"n":12345678901234567890}`),
		},
	}}
	target := &Target{Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }}
	got := target.masked(in)
	masked := "***"
	want := Result{ID: "x.hunter2", Finding: Finding{
		Message: "***", Note: "***", Fix: "***", Table: [][]string{{"***"}, nil},
		Data: map[string]any{
			"text": "***", "list": []string{"a ***"}, "any": []any{"***", 7, nil}, "objects": []map[string]any{{"hunter2": "***"}},
			"named": named("***"), "pointer": &masked, "struct": place{"***", 1}, "nil": (*string)(nil), "number": 1.5,
			"json": json.RawMessage(`{"n":12345678901234567890}`),
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if text != "hunter2" || list[0] != "a hunter2" {
		t.Error("what was given was changed")
	}
	if got := target.masked(Result{}); !reflect.DeepEqual(got, Result{}) {
		t.Errorf("%+v", got)
	}
}
