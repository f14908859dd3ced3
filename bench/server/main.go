// Command server is the server that benchmarks talk to: it answers at once and keeps nothing, so that what is measured is
// the client. It has ten tools.
//
//	server legacy|modern [ADDRESS]
//
// It speaks over stdin and stdout, or with an address over streamable HTTP, and then tells its URL on stderr. It has no
// flags, because there are clients that take those of a server for their own.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// versions are those of the protocol that a server of an era speaks.
func versions(era string) ([]string, error) {
	switch era {
	case "legacy":
		return []string{"2025-11-25", "2025-06-18"}, nil
	case "modern":
		return []string{"2026-07-28"}, nil
	}
	return nil, fmt.Errorf("no era %q", era)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want legacy or modern")
	}
	era := args[0]
	spoken, err := versions(era)
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: spoken})
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers"}, add)
	for i := range 9 {
		mcp.AddTool(server, &mcp.Tool{
			Name:        fmt.Sprintf("find_%d", i+1),
			Description: "Finds what is like a text, the newest first, and is there to be listed",
		}, find)
	}
	if len(args) == 1 {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		// The SDK serves the modern era without sessions alone.
		Stateless: era == "modern",
		// It is also asked for under a name that no machine has.
		DisableLocalhostProtection: true,
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", args[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", listener.Addr())
	err = (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// numbers are the parameters of the tool that is called.
type numbers struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, n numbers) (*mcp.CallToolResult, any, error) {
	text := fmt.Sprintf("the sum is %v", n.A+n.B)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// question is what the tools take that are listed only.
type question struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int      `json:"limit,omitempty" jsonschema:"how many are returned at most"`
	Tags  []string `json:"tags,omitempty" jsonschema:"only what has all of these tags"`
}

func find(_ context.Context, _ *mcp.CallToolRequest, q question) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "nothing is like " + q.Query}}}, nil, nil
}
