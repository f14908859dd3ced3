package probe

import (
	"slices"
	"strings"
	"testing"
)

// TestOtherPaths: the endpoint is looked for at the usual places, and never twice at one, or where it was not found.
func TestOtherPaths(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://h":              "/mcp / /sse /mcp/",
		"http://h/mcp":          "/mcp/mcp / /sse /mcp/sse /mcp/",
		"http://h/sse":          "/mcp /sse/mcp / /sse/sse /mcp/",
		"http://h/api/v1/tools": "/mcp /api/v1/tools/mcp /api/v1/mcp /api/v1 /sse /api/v1/tools/sse /api/v1/sse /mcp/ /",
	} {
		var got []string
		for _, other := range otherPaths(raw) {
			got = append(got, strings.TrimPrefix(other, "http://h"))
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %q", raw, got, strings.Fields(want))
		}
	}
}
