package probe_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// A server is examined, and the session of the examination is killed once on purpose.
func ExampleRun() {
	ctx := context.Background()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	target := &probe.Target{
		Server: config.Server{Name: "demo", URL: server.URL(), Transport: config.TransportAuto, Enabled: true},
		Kills:  1,
	}
	report := probe.Run(ctx, target, probe.Checks())
	fmt.Println(report.Name, report.Verdict)
	for _, r := range report.Results {
		if r.Stage() == "recovery" {
			fmt.Println(r.ID, r.Status)
		}
	}
	// Output:
	// demo pass
	// recovery.kill pass
	// recovery.fresh pass
	// recovery.request pass
}

// A report has the first broken step, and what to do about it.
func ExampleReport() {
	ctx := context.Background()

	report := probe.Run(ctx, &probe.Target{
		Server: config.Server{Name: "notes", Command: "no-such-server", Enabled: true},
	}, probe.Checks())
	fmt.Println(report.Name, report.Verdict)
	if report.Cause != nil {
		fmt.Println(report.Cause.Check, report.Cause.Class)
		fmt.Println(report.Cause.Message)
	}
	// Output:
	// notes fail
	// command.found connect
	// start: command not found: no-such-server
}

// readOnly is a check of one's own: each tool says whether it changes anything.
func readOnly() probe.Check {
	return probe.Check{
		ID: "house.hints", Title: "tools say whether they only read", Needs: []string{"session.open"},
		Why:    "Without readOnlyHint people are asked before each call, and a call that was lost is not repeated.",
		Remedy: "Add annotations to the tool.",
		Run: func(ctx context.Context, t *probe.Target) probe.Finding {
			list, err := t.List(ctx, "tools/list")
			if err != nil {
				return probe.Finding{Status: probe.Unknown, Message: err.Error()}
			}
			for _, raw := range list.Items {
				var tool struct {
					Name        string `json:"name"`
					Annotations struct {
						ReadOnlyHint *bool `json:"readOnlyHint"`
					} `json:"annotations"`
				}
				if err := json.Unmarshal(raw, &tool); err != nil || tool.Annotations.ReadOnlyHint == nil {
					return probe.Finding{Status: probe.Warn, Message: tool.Name + " does not say it", Fix: "add readOnlyHint"}
				}
			}
			return probe.Finding{Status: probe.Pass, Message: fmt.Sprint(len(list.Items) > 0)}
		},
	}
}

// Another check of one's own makes a request by itself.
func ExampleWith() {
	ctx := context.Background()
	server, err := demo.ServeHTTP(ctx, "", demo.HTTPOptions{}) // stands for any MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	adds := probe.Check{
		ID: "house.adds", Title: "it can add", Needs: []string{"session.open"},
		Run: func(ctx context.Context, t *probe.Target) (f probe.Finding) {
			call := map[string]any{"name": "add", "arguments": map[string]int{"a": 2, "b": 3}}
			err := t.Do(ctx, session.Request{Name: "tools/call", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
				result, err := s.Raw(ctx, "tools/call", call)
				f.Message = string(result)
				return err
			})
			if f.Status = probe.Pass; err != nil {
				f.Status, f.Message, f.Class = probe.Fail, err.Error(), string(session.ClassOf(err))
			}
			return f
		},
	}

	checks := probe.With(probe.Checks(), readOnly(), adds)
	report := probe.Run(ctx, &probe.Target{Server: config.Server{Name: "demo", URL: server.URL(), Enabled: true}}, checks)
	for _, r := range report.Results {
		if r.Stage() == "house" {
			fmt.Println(r.ID, r.Status, r.Message)
		}
	}
	// Output:
	// house.hints pass true
	// house.adds pass {"content":[{"type":"text","text":"5"}]}
}
