package demo

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestToolsAskInBothEras shows that what the tools ask arrives at the client, whichever era it speaks, and that they say so
// when the client offers nothing.
func TestToolsAskInBothEras(t *testing.T) {
	offers := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{}, //nolint:staticcheck // clients have it until 2027 at least
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "colour": "red"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // likewise
			return &mcp.CreateMessageResult{Model: "toy", Role: "assistant", Content: &mcp.TextContent{Text: "short"}}, nil //nolint:staticcheck // likewise
		},
	}
	for _, stateless := range []bool{false, true} {
		server := serve(t, HTTPOptions{Stateless: stateless})
		s := connect(t, overHTTP(t, server), offers)
		for _, c := range []struct{ tool, arguments, want string }{
			{"ask", `{}`, "answered with accept: {"},
			{"ask", `{"url":"https://example.com/"}`, "answered with accept"},
			{"summarize", `{"text":"long"}`, "toy: short"},
			{"roots", `{}`, ""},
		} {
			if got := text(t, call(t, s, c.tool, c.arguments)); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s %s, stateless %t: %q", c.tool, c.arguments, stateless, got)
			}
		}
		none := connect(t, overHTTP(t, server), &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		for tool, arguments := range map[string]string{"ask": `{}`, "summarize": `{"text":"x"}`, "roots": `{}`} {
			if r := call(t, none, tool, arguments); !r.IsError || !strings.Contains(text(t, r), "your client does not offer") {
				t.Errorf("%s, stateless %t: %q", tool, stateless, text(t, r))
			}
		}
	}
}
