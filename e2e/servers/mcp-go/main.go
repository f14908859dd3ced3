// Command mcp-go is a small MCP server on github.com/mark3labs/mcp-go, as its documentation says to write one: over
// standard input and output, or, with the word http, over streamable HTTP on the port in PORT. It serves both eras. It
// is a module of its own, so that mcpctl does not depend on what it depends on.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-go:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	s := newServer()
	if len(args) == 1 && args[0] == "http" {
		return server.NewStreamableHTTPServer(s).Start("127.0.0.1:" + os.Getenv("PORT"))
	}
	return server.ServeStdio(s)
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1.0.0",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true), server.WithPromptCapabilities(true))
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Add two numbers"),
		mcp.WithNumber("a", mcp.Required(), mcp.Description("The first")),
		mcp.WithNumber("b", mcp.Required(), mcp.Description("The second")),
		mcp.WithReadOnlyHintAnnotation(true)), add)
	s.AddResource(mcp.NewResource("text://greeting", "greeting", mcp.WithMIMEType("text/plain")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "hello"}}, nil
		})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("Greet somebody")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("a greeting", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Say hello.")),
			}), nil
		})
	return s
}

func add(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, err := r.RequireFloat("a")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	b, err := r.RequireFloat("b")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(fmt.Sprint(a + b)), nil
}
