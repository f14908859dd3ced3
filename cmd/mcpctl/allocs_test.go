//go:build !race

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// allocations is a path that most runs take, and how often it may allocate.
type allocations struct {
	name string
	// most is a little above what was measured. Per divides it, for paths whose costs grow with what they are given.
	most, per float64
	run       func()
}

// TestAllocationsOfHotPaths holds how often the paths allocate that every run, or every call, takes. Time says nothing on a
// busy machine; these numbers are the same on every one. A path that has become more expensive for a good reason gets a
// higher bound here, with the reason. It is not made under the race detector, which allocates by itself.
func TestAllocationsOfHotPaths(t *testing.T) { //nolint:paralleltest // what runs beside it would be counted
	streams := func() *iostreams.IOStreams {
		ios, _, _, _ := iostreams.Test()
		ios.Out, ios.Err = io.Discard, io.Discard
		return ios
	}
	home := t.TempDir()
	lookup := func(name string) (string, bool) {
		if name == "HOME" || strings.HasPrefix(name, "XDG_") {
			return home, true
		}
		return "", false
	}
	here := func(args ...string) func() {
		return func() {
			if code := run(t.Context(), process{args: args, io: streams(), home: home, lookup: lookup, build: build{version: "1"}}); code != codeOK {
				t.Fatalf("%q: exit code %d", args, code)
			}
		}
	}
	commands := func(args ...string) func() {
		return func() { newRootCmd(newApp(process{args: args, io: streams(), lookup: lookup})) }
	}

	var secrets redact.Redactor
	secrets.Add("sesame-sesame", "open-sesame-open")
	line := strings.Repeat("nothing to see here, ", 40)

	const tools = 100
	var list strings.Builder
	for i := range tools {
		fmt.Fprintf(&list, `{"name":"tool_%d","description":"does %s","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}},`, i, line)
	}
	message := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.TrimSuffix(list.String(), ",") + `]}}`)

	const rows = 100
	table := render.Table{Columns: []render.Column{{Title: "TOOL", Fixed: true}, {Title: "DESCRIPTION"}}}
	for i := range rows {
		table.Rows = append(table.Rows, []render.Cell{{Text: fmt.Sprintf("tool_%d", i), Style: render.Strong}, {Text: line}})
	}

	const entries = 100
	var file strings.Builder
	file.WriteString("version: 1\nservers:\n")
	for i := range entries {
		fmt.Fprintf(&file, "  server-%d:\n    url: https://server-%d.example/mcp\n    headers: {Authorization: \"Bearer ${TOKEN}\"}\n", i, i)
	}

	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)

	server, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	held := session.NewSupervisor(nil, config.Server{Name: "held", URL: server.URL(), Transport: config.TransportHTTP})
	t.Cleanup(func() { _ = held.Close() })
	if _, err := held.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := session.Request{Name: "tools/call"}
	nothing := func(context.Context, *session.Session) error { return nil }

	for _, c := range []allocations{
		// The command that is named, with its flags: a flag, its value and its place in two maps each. Call has 45.
		{"the commands, for version", 90, 1, commands("version")},
		{"the commands, for call", 430, 1, commands("call", "demo", "add")},
		{"version", 200, 1, here("version")},
		{"--help", 960, 1, here("--help")},
		// A handshake, a list of ten tools and a call, and the server's side of it all.
		{"call over HTTP, and its server", 3600, 1, here("call", server.URL(), "add", "a=1", "b=2")},
		// A request on a session that is there is asked for and let go; nothing is sent.
		{"a request that sends nothing", 8, 1, func() {
			if err := held.Do(t.Context(), request, nothing); err != nil {
				t.Fatal(err)
			}
		}},
		// The SDK's requests on both sides, net/http's, ours around them.
		{"a call on a session that is held, and its server", 800, 1, func() {
			if _, err := held.CallTool(t.Context(), session.ToolCall{Request: request, Tool: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}); err != nil {
				t.Fatal(err)
			}
		}},
		{"finding the tools in a message, each", 0.1, tools, func() {
			n := 0
			for range rawjson.Elements(rawjson.Get(rawjson.Get(message, "result"), "tools")) {
				n++
			}
			if n != tools {
				t.Fatal(n)
			}
		}},
		{"a text without secrets", 0, 1, func() { _ = secrets.String(line) }},
		{"a text with a secret", 4, 1, func() { _ = secrets.String(line + "sesame-sesame") }},
		{"a table in a pipe, each row", 8, rows, func() { _ = table.Write(io.Discard, render.Screen{}) }},
		{"a table on a terminal, each row", 28, rows, func() { _ = table.Write(io.Discard, render.Screen{Terminal: true, Colour: true, Width: 80}) }},
		{"a configuration, each entry", 200, entries, func() {
			if _, err := config.LoadReader("-", strings.NewReader(file.String())); err != nil {
				t.Fatal(err)
			}
		}},
		{"the arguments of a call", 250, 1, func() {
			arguments, err := toolargs.Build(toolargs.Input{Words: []string{"a=1", "b=2"}, Schema: schema})
			if err != nil || toolargs.Check(arguments, schema) != nil {
				t.Fatal(err)
			}
		}},
	} {
		c.run() // what is set up once
		got := testing.AllocsPerRun(20, c.run) / c.per
		t.Logf("%-50s %.2f", c.name, got)
		if got > c.most {
			t.Errorf("%s: %.2f allocations, and it should be %.2f at most: see docs/performance.md, \"How to profile\"", c.name, got, c.most)
		}
	}
}
