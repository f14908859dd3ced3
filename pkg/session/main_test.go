package session

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestMain lets the test binary play the servers: real child processes that misbehave on request.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "stdio":
			os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		case "demo":
			if err := demo.RunStdio(context.Background(), os.Stdin, os.Stdout, demo.Options{}); err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "chaos":
			os.Exit(chaosChild(os.Args[2:], os.Stdin, os.Stdout))
		}
	}
	goleak.VerifyTestMain(m)
}

// fault opens a case of the laboratory over HTTP.
func fault(t *testing.T, name string) (*faultlab.Server, config.Server) {
	t.Helper()
	c, ok := faultlab.Find(name)
	if !ok {
		t.Fatalf("no case %q", name)
	}
	s, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, config.Server{Name: name, URL: s.URL, Transport: config.TransportAuto, ConnectTimeout: 10 * time.Second}
}

// faultChild returns an entry that starts a case of the laboratory as a child process.
func faultChild(t *testing.T, name string) config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{
		Name: name, Command: exe, Args: []string{"stdio", name}, Transport: config.TransportStdio,
		ConnectTimeout: 10 * time.Second,
		// Under the race detector a process takes another second to exit, unless told otherwise.
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// supervise returns a supervisor that is closed at the end of the test.
func supervise(t *testing.T, server config.Server) *Supervisor {
	t.Helper()
	s := NewSupervisor(nil, server)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// call calls a tool.
func call(ctx context.Context, s *Supervisor, tool string, args map[string]any, repeatable bool) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.Do(ctx, Request{Name: "tools/call", Repeatable: repeatable}, func(ctx context.Context, sess *Session) (err error) {
		result, err = sess.Raw(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
		return err
	})
	return result, err
}

// list lists the tools.
func list(ctx context.Context, s *Supervisor) (List, error) {
	var l List
	err := s.Do(ctx, Request{Name: "tools/list", Repeatable: true}, func(ctx context.Context, sess *Session) (err error) {
		l, err = sess.List(ctx, "tools/list")
		return err
	})
	return l, err
}
