package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A schema that is remembered may be out of date: after a mismatch the tools are listed anew.
func TestAMismatchForgetsTheTools(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "rows", Version: "1"}, nil)
	server.AddTool(
		&mcp.Tool{Name: "rows", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object","required":["rows"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"lines": 1}}, nil
		},
	)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}, // the name in the URL is another machine's
	))
	defer web.Close()
	home := t.TempDir()
	for i, wantList := range []bool{true, false, true} {
		trace := filepath.Join(home, "trace.txt")
		cmd := exec.CommandContext(t.Context(), "mcpctl", "call", "http://far.test/mcp", "--connect-to", web.Listener.Addr().String(), "rows", "--trace", trace)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		const warning = "mcpctl: warning: http://far.test/mcp: rows: the result does not fit the tool's outputSchema: structuredContent.rows: is missing, and required\n"
		if err != nil || string(out) != "{\n  \"lines\": 1\n}\n" || stderr.String() != warning {
			t.Fatalf("call %d: %v, stdout %q, stderr %q", i+1, err, out, stderr.String())
		}
		raw, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), `"method":"tools/list"`); got != wantList {
			t.Errorf("call %d: tools/list was asked: %t", i+1, got)
		}
		if err := os.Remove(trace); err != nil {
			t.Fatal(err)
		}
	}
}
