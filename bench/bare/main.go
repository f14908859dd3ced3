// Command bare is the floor that mcpctl is measured against: the same call, made with go-sdk and nothing around it.
//
//	bare http URL TOOL ARGUMENTS
//	bare stdio TOOL ARGUMENTS COMMAND [ARG…]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("want http URL TOOL ARGUMENTS, or stdio TOOL ARGUMENTS COMMAND")
	}
	var transport mcp.Transport
	var tool, arguments string
	switch args[0] {
	case "http":
		transport = &mcp.StreamableClientTransport{Endpoint: args[1]}
		tool, arguments = args[2], args[3]
	case "stdio":
		tool, arguments = args[1], args[2]
		transport = &mcp.CommandTransport{Command: exec.CommandContext(ctx, args[3], args[4:]...)}
	default:
		return fmt.Errorf("unknown transport %q", args[0])
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err
	}
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
	return session.Close()
}
