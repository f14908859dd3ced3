package session_test

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// A session that is lost is replaced by itself, and the request is repeated once.
func ExampleSupervisor_Do() {
	ctx := context.Background()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	s := session.NewSupervisor(nil, config.Server{Name: "demo", URL: server.URL(), Transport: config.TransportAuto})
	defer func() { _ = s.Close() }()

	// Somebody deletes the session at the server.
	lost, err := s.Session(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := lost.Kill(ctx); err != nil {
		fmt.Println(err)
		return
	}

	err = s.Do(ctx, session.Request{Name: "tools/call", Repeatable: true}, func(ctx context.Context, c *session.Session) error {
		result, err := c.Raw(ctx, "tools/call", map[string]any{"name": "add", "arguments": map[string]int{"a": 2, "b": 3}})
		if err != nil {
			return err
		}
		fmt.Println(string(result))
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("handshakes:", s.Stats().Handshakes)
	// Output:
	// {"content":[{"type":"text","text":"5"}]}
	// handshakes: 2
}
