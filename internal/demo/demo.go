// Package demo is the demonstration MCP server that comes with mcpctl, so that every command can be tried without
// installing a server first. It has something of everything a server can offer: tools that answer, fail, wait, change
// something and ask something back, resources of text and bytes that may be watched, a resource template, prompts, and
// completion.
//
// [NewServer] makes the server. [RunStdio] serves it over a pair of streams, [ServeHTTP] over streamable HTTP. All it
// says is made up or comes from the caller: it reads no file, asks no network, and forgets everything when it ends.
//
// What never comes in: faults. A server that misbehaves is the business of the tests.
package demo

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is the implementation name that the server gives of itself.
const Name = "mcpctl-demo"

// Options are the circumstances of a server. The zero value works.
type Options struct {
	// Version is the version that the server gives of itself. If "", it says "dev".
	Version string
	// Logger gets what the SDK and the server have to tell. If nil, nobody is told.
	Logger *slog.Logger
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o Options) version() string {
	if o.Version == "" {
		return "dev"
	}
	return o.Version
}

// instructions are shown by clients that show the instructions of a server, and given to models by others.
const instructions = "A server to try an MCP client on. Nothing it says is real, and nothing it does outlives it."

// NewServer returns a server with all tools, resources and prompts, ready to be connected. One server may have many
// sessions; they share the notes.
func NewServer(o Options) *mcp.Server {
	var kept notes
	s := mcp.NewServer(
		&mcp.Implementation{
			Name:        Name,
			Title:       "mcpctl demonstration server",
			Description: "Tools, resources and prompts to try an MCP client on",
			Version:     o.version(),
		},
		&mcp.ServerOptions{
			Instructions:      instructions,
			Logger:            o.logger(),
			CompletionHandler: completer(&kept),
			// The SDK keeps who has subscribed to what, and wants handlers all the same.
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			// Not nil, because nil would advertise logging, and the server sends no log messages.
			Capabilities: &mcp.ServerCapabilities{},
		},
	)
	addTools(s, o.logger(), &kept)
	addAsking(s)
	addResources(s, &kept)
	addPrompts(s)
	s.AddReceivingMiddleware(recoverPanics(o.logger()))
	return s
}

// recoverPanics turns the panic of a handler into an error of that request. The SDK does not recover, so one bad
// request would end the process and all its sessions.
func recoverPanics(logger *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
			defer func() {
				if v := recover(); v != nil {
					logger.ErrorContext(ctx, "handler_panicked", "method", method, "value", v, "stack", string(debug.Stack()))
					result, err = nil, &jsonrpc.Error{
						Code:    jsonrpc.CodeInternalError,
						Message: fmt.Sprintf("%s: internal error: %v", method, v),
					}
				}
			}()
			return next(ctx, method, req)
		}
	}
}
