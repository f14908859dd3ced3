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

// Five lines hold a session that comes back by itself.
func ExampleSupervisor_Keep() {
	ctx := context.Background()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	s := session.NewSupervisor(nil, config.Server{Name: "demo", URL: server.URL()})
	defer func() { _ = s.Close() }()
	s.Keep()
	tools, err := s.Tools(ctx)

	fmt.Println(len(tools.Items) > 0, err, s.Status().State)
	// Output: true <nil> ready
}

// A pool holds many servers, and tells what becomes of them.
func ExamplePool() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	p := session.NewPool(nil,
		config.Server{Name: "demo", URL: server.URL(), Enabled: true},
		config.Server{Name: "old", URL: "https://old.example/mcp"}, // not enabled
	)
	defer func() { _ = p.Close() }()
	events := p.Events(ctx)
	if _, err := p.Open(ctx, "demo"); err != nil {
		fmt.Println(err)
		return
	}
	for _, st := range p.Status() {
		fmt.Println(st.Server, st.State)
	}

	s, _ := p.Server("demo")
	if _, err := s.Reconnect(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for e := range events {
		if e.Recovery != nil {
			fmt.Printf("%s: generation %d replaced %d\n", e.Server, e.Generation, e.Recovery.OldGeneration)
			break
		}
	}
	// Output:
	// demo ready
	// old disabled
	// demo: generation 2 replaced 1
}
