// Command bare is the floor that mcpctl is measured against: the same work, done with go-sdk and nothing around it.
// It connects, lists the tools or calls one, prints, and closes.
//
//	bare tools http URL
//	bare tools stdio COMMAND [ARG…]
//	bare call TOOL ARGUMENTS http URL
//	bare call TOOL ARGUMENTS stdio COMMAND [ARG…]
package main

import (
	"context"
	"encoding/json"
	"errors"
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
	switch {
	case len(args) > 2 && args[0] == "tools":
		return tools(ctx, args[1], args[2:])
	case len(args) > 4 && args[0] == "call":
		return call(ctx, args[1], args[2], args[3], args[4:])
	}
	return errors.New("want tools or call, see the source")
}

// connect opens a session by way of http or stdio.
func connect(ctx context.Context, way string, server []string) (*mcp.ClientSession, error) {
	var transport mcp.Transport
	switch way {
	case "http":
		transport = &mcp.StreamableClientTransport{Endpoint: server[0]}
	case "stdio":
		transport = &mcp.CommandTransport{Command: exec.CommandContext(ctx, server[0], server[1:]...)}
	default:
		return nil, fmt.Errorf("unknown transport %q", way)
	}
	return mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil).Connect(ctx, transport, nil)
}

func tools(ctx context.Context, way string, server []string) error {
	session, err := connect(ctx, way, server)
	if err != nil {
		return err
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Printf("%s\t%s\n", tool.Name, tool.Description)
	}
	return shut(session)
}

func call(ctx context.Context, tool, arguments, way string, server []string) error {
	session, err := connect(ctx, way, server)
	if err != nil {
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
	return shut(session)
}

// shut ends a session. A server that has to be killed, because it does not end with its input, is none of our mistakes.
func shut(session *mcp.ClientSession) error {
	err := session.Close()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}
