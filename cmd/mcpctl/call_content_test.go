package main

import (
	"testing"

	"github.com/mcpctl/mcpctl/internal/render"
)

// TestContentThatIsNoArray shows which results a caller is warned of because of the form of their content.
func TestContentThatIsNoArray(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`{"content":"hi"}`:                           true,
		`{"content":{"type":"text","text":"hi"}}`:    true,
		`{"content":[{"type":"text","text":"hi"}]}`:  false,
		`{"content":[],"structuredContent":{"a":1}}`: false,
	} {
		if got := (toolCall{}).checkOutput(&render.Result{Raw: []byte(raw)}); (len(got) > 0) != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}
