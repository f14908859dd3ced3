package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// framedBound is how long a server has to start and to answer a message in a frame. It has shown before that it starts.
const framedBound = 2 * time.Second

// AnswersFramed starts a stdio server once more and reports whether it answers a message behind a Content-Length header, as
// the Language Server Protocol has it. MCP wants one message a line. It is for a server that was silent: of one that
// answers lines it means nothing.
func (d *Dialer) AnswersFramed(ctx context.Context, server config.Server) bool {
	c, err := childCommand(server, d.environ())
	if err != nil {
		return false
	}
	impl := d.implementation()
	request, jsonErr := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": map[string]any{"protocolVersion": legacyVersion, "capabilities": struct{}{}, "clientInfo": impl},
	})
	if jsonErr != nil {
		return false
	}
	ctx, cancel := context.WithTimeoutCause(ctx, framedBound, fmt.Errorf("no answer to a framed message within %s", framedBound))
	defer cancel()
	c.Mask, c.Trace = d.Mask, d.connTrace(server.Name)
	child, startErr := transport.StartChild(c)
	if startErr != nil {
		return false
	}
	if d.Kill != nil {
		go func() {
			select {
			case <-d.Kill:
				child.Kill()
			case <-child.Gone():
			}
		}()
	}
	answers := child.AnswersFramed(ctx, request)
	hurry, stop := context.WithCancel(context.Background())
	stop()
	child.Stop(hurry, transport.HastyGrace)
	return answers
}
