package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioGrace is how long RunStdio waits for calls being answered once its context has ended. They are cancelled and
// stop at once, so this is only for an answer that nobody reads.
const stdioGrace = 500 * time.Millisecond

// RunStdio serves one session over in and out, one JSON-RPC message a line (MCP 2025-11-25, basic/transports, stdio).
// It returns nil when in ends, the cause of ctx when that ends first, and an error when in holds something else than
// JSON-RPC. It closes both streams.
func RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o Options) error {
	server := NewServer(o)
	var running requests
	server.AddReceivingMiddleware(running.middleware)
	session, err := server.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out}, nil)
	if err != nil {
		return fmt.Errorf("%s: stdio: %w", Name, err)
	}
	var ending error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ending = session.Wait()
	}()
	select {
	case <-ended:
		if ending != nil {
			return fmt.Errorf("%s: stdio: %w", Name, ending)
		}
		return nil
	case <-ctx.Done():
	}
	running.end(context.Cause(ctx))
	go func() { _ = session.Close() }() // how it ended matters less than ctx
	select {
	case <-ended:
	case <-time.After(stdioGrace):
	}
	return context.Cause(ctx)
}
