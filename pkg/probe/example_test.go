package probe_test

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
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
