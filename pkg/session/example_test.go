package session_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

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

// vault is an authorizer of one's own: it knows where tokens are to be had.
type vault struct{ token string }

// Authorize puts in what there is.
func (v *vault) Authorize(req *http.Request) error {
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	return nil
}

// Refused gets another token, or says why it cannot. With nil, the request is sent again.
func (v *vault) Refused(_ *http.Request, r session.Refusal) error {
	if v.token != "" {
		return fmt.Errorf("the vault's token is refused (HTTP %d)", r.Status)
	}
	v.token = "from-the-vault"
	return nil
}

// Accepted is told of each success.
func (v *vault) Accepted(*http.Request, http.Header) {}

// An authorizer of one's own is asked for every request, over any transport.
func ExampleAuthorizer() {
	ctx := context.Background()
	inner, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inner.Close() }()
	target, _ := url.Parse(inner.URL())
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer from-the-vault" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		r.Host = target.Host
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()

	v := &vault{}
	d := &session.Dialer{OAuth: func(config.Server) session.Authorizer { return v }}
	s := session.NewSupervisor(d, config.Server{Name: "demo", URL: server.URL + target.Path})
	defer func() { _ = s.Close() }()
	tools, err := s.Tools(ctx)
	fmt.Println(len(tools.Items) > 0, err)
	// Output: true <nil>
}
