package probe

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNamesAndDescriptions shows how names and descriptions that clients choke on are told.
func TestNamesAndDescriptions(t *testing.T) {
	for _, tt := range []struct{ name, description, id, words string }{
		{strings.Repeat("日", 36), "d", "tools.names", `"` + strings.Repeat("日", 36) + `" has characters that clients refuse`},
		{strings.Repeat("日", 70), "d", "tools.names", `"` + strings.Repeat("日", 64) + `…" has characters that clients refuse, and is 70 characters long`},
		{strings.Repeat("n", 65), "d", "tools.names", strings.Repeat("n", 64) + "… is 65 characters long"},
		{strings.Repeat("n", 64), "d", "tools.names", "unique and plain"},
		{"t", "a\u200bb\U000e0041\u200b", "tools.descriptions", "t has U+200B, U+E0041 in its description, which cannot be seen"},
	} {
		s := everything()
		list, err := json.Marshal(map[string]any{"tools": []any{map[string]any{"name": tt.name, "description": tt.description, "inputSchema": map[string]any{"type": "object"}}}})
		if err != nil {
			t.Fatal(err)
		}
		s.results["tools/list"] = string(list)
		if got := byID(Run(t.Context(), &Target{Server: s.serve(t)}, Checks()))[tt.id]; got.Message != tt.words {
			t.Errorf("got  %s\nwant %s", got.Message, tt.words)
		}
	}
}
