package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAMismatchIsFinalOnlyAfterAFreshList changes what a tool returns, and what it says of that, behind the back of what is
// remembered.
func TestAMismatchIsFinalOnlyAfterAFreshList(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server := mcp.NewServer(&mcp.Implementation{Name: "rows", Version: "1"}, nil)
	returns := func(name, schema string) {
		server.AddTool(&mcp.Tool{Name: "rows", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{name: 1}}, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()
	call := func(name, warning string) {
		t.Helper()
		code, out, errOut := runHere(t.Context(), t, "", "call", web.URL, "rows")
		if code != codeOK || out != "{\n  \""+name+"\": 1\n}\n" || errOut != warning {
			t.Errorf("exit code %d, stdout %q, stderr %q, want the %s and %q", code, out, errOut, name, warning)
		}
	}
	returns("rows", `{"type":"object","required":["rows"]}`)
	call("rows", "")
	returns("lines", `{"type":"object","required":["lines"]}`)
	call("lines", "")
	returns("rows", `{"type":"object","required":["lines"]}`)
	call("rows", "mcpctl: warning: "+web.URL+": rows: the result does not fit the tool's outputSchema: structuredContent.lines: is missing, and required\n")
}
