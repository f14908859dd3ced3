package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAFindingIsFinalOnlyAfterAFreshList changes a tool behind the back of what is remembered of it.
func TestAFindingIsFinalOnlyAfterAFreshList(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server, err := newArgsServer([]byte(`{"t":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(argsHandler(server))
	defer s.Close()
	lists := 0
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				lists++
			}
			return next(ctx, method, req)
		}
	})
	line := []string{"call", s.URL, "t"}
	call := func(wantCode, wantLists int, want string, words ...string) {
		t.Helper()
		lists = 0
		code, out, errOut := runHere(t.Context(), t, "", append(line, words...)...)
		if code != wantCode || lists != wantLists || !strings.Contains(out+errOut, want) {
			t.Errorf("%q: exit code %d, %d lists, want %d, %d, and %s\n%s%s", words, code, lists, wantCode, wantLists, want, out, errOut)
		}
	}
	call(codeOK, 1, `{"a":1}`, "a=1")
	call(codeOK, 0, `{"a":2}`, "a=2")
	// What is remembered refuses all of these. It is asked again, and has the last word.
	call(codeUsage, 1, `a: must be an integer, not "x"`, "a=x")
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "new " + string(req.Params.Arguments)}}}, nil
		})
	call(codeOK, 1, `new {"a":"x","b":1}`, "a=x", "b=1")
	call(codeOK, 0, `new {"a":"7"}`, "a=7")
	call(codeOK, 0, `new {}`)
	// What the arguments were made for has changed, and the tool says that they are wrong. It is not called again, as it may
	// have done something.
	calls := 0
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls++
			result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "newer " + string(req.Params.Arguments)}}}
			result.IsError = string(req.Params.Arguments) != `{"a":7}`
			return result, nil
		})
	call(codeTool, 1, "the arguments were made for the tool t as it was listed before, and it has changed: call it again", "a=7")
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
	call(codeOK, 0, `newer {"a":7}`, "a=7")
}
