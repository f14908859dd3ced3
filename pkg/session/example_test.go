package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"golang.org/x/oauth2"

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

// A tool is called, with the care that a call needs: the tool's own hints say whether it may be repeated.
func ExampleSupervisor_CallTool() {
	ctx := context.Background()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	s := session.NewSupervisor(nil, config.Server{Name: "demo", URL: server.URL()})
	defer func() { _ = s.Close() }()

	answer, err := s.CallTool(ctx, session.ToolCall{
		Request:   session.Request{Name: "tools/call"}, // not Repeatable: it may change something
		Tool:      "weather",
		Arguments: json.RawMessage(`{"city": "Paris"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	var result struct {
		IsError           bool `json:"isError"`
		StructuredContent struct {
			Temperature float64 `json:"temperature"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(answer.Result, &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.IsError, result.StructuredContent.Temperature)
	// Output: false -3.6
}

// What a failure means is in its type; its text is for people.
func ExampleError() {
	ctx := context.Background()

	s := session.NewSupervisor(nil, config.Server{Name: "notes", Command: "no-such-server"})
	defer func() { _ = s.Close() }()
	_, err := s.Tools(ctx)

	failure, ok := errors.AsType[*session.Error](err)
	switch {
	case err == nil:
		fmt.Println("done")
	case !ok:
		fmt.Println("not ours:", err)
	case failure.Retryable:
		fmt.Println("try again later:", failure.Message)
	case failure.Class == session.ClassUnknownOutcome:
		fmt.Println("it may have been executed: look before it is done again")
	default:
		fmt.Println(failure.Class, "in", failure.Phase+":", failure.Message)
		fmt.Println("next:", failure.Hint)
	}
	// Output:
	// connect in start: command not found: no-such-server
	// next: install it, or give the full path
}

// static is a handler of the SDK that knows its token.
type static struct{ token string }

func (s static) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.token}), nil
}

func (s static) Authorize(_ context.Context, _ *http.Request, answer *http.Response) error {
	_ = answer.Body.Close()
	return fmt.Errorf("the token is refused (HTTP %d)", answer.StatusCode)
}

// Whoever has a handler for the SDK's own transport has one here, too.
func ExampleSDKAuthorizer() {
	ctx := context.Background()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not this one", http.StatusUnauthorized)
	}))
	defer server.Close()

	a := session.SDKAuthorizer(static{token: "tok-1"})
	d := &session.Dialer{OAuth: func(config.Server) session.Authorizer { return a }}
	s := session.NewSupervisor(d, config.Server{Name: "notes", URL: server.URL + "/mcp"})
	defer func() { _ = s.Close() }()
	_, err := s.Tools(ctx)

	fmt.Println(session.ClassOf(err) == session.ClassAuth)
	// Output: true
}
