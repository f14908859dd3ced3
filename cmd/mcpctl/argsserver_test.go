package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// argsServer is the program of a server, made with the SDK, whose tools return what they received, as it was on the wire:
// as text, and as structured content in "received".
//
//	argsserver TOOLS [LOG]          over stdio; TOOLS is a file with an object, of input schemas by the names of tools
//	argsserver TOOLS --http         over HTTP, on an address that it writes to stderr
//
// Each call adds a line to LOG, with what it received.
func argsServe() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := argsServeWith(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "argsserver:", err)
		os.Exit(1)
	}
}

func argsServeWith(ctx context.Context, args []string) error {
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	log := ""
	if len(args) > 1 {
		log = args[1]
	}
	server, err := newArgsServer(raw, log)
	if err != nil {
		return err
	}
	if log != "--http" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	s := &http.Server{Handler: argsHandler(server), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s.Serve(l)
}

func argsHandler(server *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}) // tests give it other names
}

// newArgsServer makes the server of an object of input schemas. It adds what it receives to a file, "" for none.
func newArgsServer(tools []byte, log string) (*mcp.Server, error) {
	var schemas map[string]json.RawMessage
	if err := json.Unmarshal(tools, &schemas); err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "args", Version: "1"}, nil)
	for name, schema := range schemas {
		server.AddTool(&mcp.Tool{Name: name, Description: "returns its arguments", InputSchema: schema},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				received := bytes.Clone(req.Params.Arguments)
				if log != "" && log != "--http" {
					f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
					if err != nil {
						return nil, err
					}
					_, err = fmt.Fprintf(f, "%s\n", received)
					if err := f.Close(); err != nil {
						return nil, err
					}
					if err != nil {
						return nil, err
					}
				}
				structured := json.RawMessage(`{"received":` + string(received) + `}`)
				return &mcp.CallToolResult{
					Content:           []mcp.Content{&mcp.TextContent{Text: string(received)}},
					StructuredContent: structured,
				}, nil
			})
	}
	return server, nil
}

// scriptArgs is the command args: it serves an argsServer over HTTP, without sessions, in all versions of the protocol. The
// variable gets its URL. Its list has x-mcp-header where the file has x-header: the SDK wants no wrong ones in a server.
func scriptArgs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: args VAR TOOLS")
	}
	server, err := newArgsServer([]byte(ts.ReadFile(args[1])), "")
	ts.Check(err)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok {
				for i, each := range list.Tools {
					schema, err := json.Marshal(each.InputSchema)
					if err != nil {
						return nil, err
					}
					renamed := *each
					renamed.InputSchema = json.RawMessage(bytes.ReplaceAll(schema, []byte(`"x-header"`), []byte(`"x-mcp-header"`)))
					list.Tools[i] = &renamed
				}
			}
			return result, err
		}
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
