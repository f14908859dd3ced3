package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// allToolsDocument is the output of tools --all.
type allToolsDocument struct {
	Version int               `json:"version"`
	Servers []serverToolsBody `json:"servers"`
}

// serverToolsBody are the tools of one of several servers.
type serverToolsBody struct {
	Server     string            `json:"server"`
	Tools      []json.RawMessage `json:"tools"`
	Problems   []string          `json:"problems"`
	Incomplete bool              `json:"incomplete,omitempty"`
	// Error is an error like that of list, with the secrets masked.
	Error rawDocument `json:"error,omitempty"`
}

// listed are the tools of one of several servers, or why there are none.
type listed struct {
	server config.Server
	list   toolList
	// total is how many tools there are without --grep.
	total   int
	failure *failure
}

// runAll lists the tools of several servers at the same time, each within its own limits. One that fails hides no other.
func (o *toolsOptions) runAll(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if o.schema {
		return usagef("--schema shows one tool, and --all lists those of all servers: choose one")
	}
	if o.stdio != "" || cmd.ArgsLenAtDash() >= 0 {
		return usagef("--all takes the servers of the configuration, and a command is one by itself: choose one").hint("%s", usageLine(cmd))
	}
	servers, err := a.resolveAll(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		return a.noneToList()
	}
	results := a.listAll(ctx, servers, o.having)
	found, failed, interrupted := 0, 0, 0
	for _, r := range results {
		found += len(r.list.tools)
		switch {
		case r.failure == nil:
		case r.failure.Class == classInterrupted:
			interrupted++
		default:
			failed++
		}
	}
	if failed > 0 || found == 0 && len(o.having) > 0 {
		a.unread = codeFailed
	}
	// What is known is shown, also when somebody did not want to wait for the rest.
	err = o.showListed(context.WithoutCancel(ctx), a, results)
	a.tellListed(results)
	switch {
	case ctx.Err() != nil:
		a.warn(fmt.Sprintf("mcpctl: error: interrupted: %s had not answered\n", plural(interrupted, "server")))
		return reportedError(codeInterrupted)
	case err != nil:
		return err
	case found == 0 && failed < len(results) && len(o.having) > 0:
		total := 0
		for _, r := range results {
			total += r.total
		}
		a.tellNoMatch(total, plural(len(results)-failed, "server"), o.having)
	}
	if a.unread != codeOK {
		return reportedError(a.unread)
	}
	return nil
}

// noneToList is the error of a configuration in which nothing is enabled.
func (a *app) noneToList() error {
	c := a.config
	if c == nil || len(c.Servers) == 0 {
		return usagef("no tools to list: no servers %s", a.configPlace()).hint("mcpctl add %sNAME URL", a.configWords()).hint("mcpctl tools demo")
	}
	return usagef("no tools to list: all servers are disabled: %s", strings.Join(names(c.Servers), ", ")).hint("--include-disabled")
}

// listAll asks the servers for their tools, some at a time, and keeps their order.
func (a *app) listAll(ctx context.Context, servers []config.Server, words []string) []listed {
	results := make([]listed, len(servers))
	var left atomic.Int64
	left.Store(int64(len(servers)))
	stop := a.liveOf(func() string {
		return fmt.Sprintf("listing the tools of %s, %d left", plural(len(servers), "server"), left.Load())
	})
	defer stop()
	eachServer(a.crowd(0, listEffort()), servers, func(i int) {
		results[i] = a.listOne(ctx, servers[i], words)
		left.Add(-1)
	})
	return results
}

func (a *app) listOne(ctx context.Context, server config.Server, words []string) listed {
	l := listed{server: server}
	err := server.Err
	if err == nil {
		l.list, err = a.listBeside(ctx, server)
	}
	if f, failed := classify(err, ctx.Err() != nil); failed {
		l.failure = &f
		return l
	}
	l.total = len(l.list.tools)
	l.list = l.list.matching(words)
	return l
}

// listBeside lists the tools of a server on a session of its own, beside those of others.
func (a *app) listBeside(ctx context.Context, server config.Server) (list toolList, err error) {
	s, err := a.supervise(a.quickDialer(), server)
	if err != nil {
		return toolList{}, err
	}
	defer func() {
		a.release(ctx, server.Name, s, err)
		a.tellEnd(server.Name, s)
		err = a.needsLogin(server, err)
	}()
	return a.tools(ctx, s, server)
}

// showListed writes the tools of several servers.
func (o *toolsOptions) showListed(ctx context.Context, a *app, results []listed) error {
	switch {
	case a.json():
		return a.printListed(ctx, results)
	case a.global.output == formatName:
		var b strings.Builder
		for _, r := range results {
			for _, t := range r.list.tools {
				dash := ""
				if strings.HasPrefix(t.name, "-") {
					dash = "-- "
				}
				b.WriteString(toolargs.Quote(r.server.Name) + " " + dash + toolargs.Quote(t.name) + "\n") // as call takes them
			}
		}
		_, err := io.WriteString(a.out(), b.String())
		return err
	}
	t := render.Table{Columns: []render.Column{{Title: "server", Fixed: true}, {Title: "tool", Fixed: true}, {Title: "description"}}}
	if o.brief {
		t.Columns[1].Fixed = false
	}
	for _, r := range results {
		for _, each := range r.list.tools {
			row := []render.Cell{{Text: r.server.Name}, {Text: each.name, Style: render.Strong}, {Text: each.about()}}
			if o.brief {
				row[1].Text = toolargs.Signature(each.name, each.schema)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t.Write(a.out(), a.screen())
}

func (a *app) printListed(ctx context.Context, results []listed) error {
	doc := allToolsDocument{Version: documentVersion, Servers: []serverToolsBody{}}
	for _, r := range results {
		body := serverToolsBody{
			Server: a.redact.String(r.server.Name), Tools: r.list.raw(), Problems: []string{}, Incomplete: r.list.incomplete,
		}
		for _, p := range r.list.problems {
			body.Problems = append(body.Problems, a.redact.String(p))
		}
		if r.failure != nil {
			var err error
			if body.Error, err = a.document(r.failure.body()); err != nil {
				return err
			}
		}
		doc.Servers = append(doc.Servers, body)
	}
	return a.printData(ctx, doc)
}

// tellListed tells on stderr what is wrong with lists, and which could not be had.
func (a *app) tellListed(results []listed) {
	var failed []string
	for _, r := range results {
		name := render.OneLine(r.server.Name)
		switch {
		case r.failure != nil && r.failure.Class == classInterrupted:
		case r.failure != nil:
			said := render.OneLine(r.failure.said)
			if !strings.HasPrefix(said, name) {
				said = name + ": " + said
			}
			a.warn(render.Cut("mcpctl: error: "+said, a.errWidth()) + "\n")
			failed = append(failed, toolargs.Quote(r.server.Name))
		case r.total == 0 && !a.json():
			a.note(name + " has no tools")
		}
		list := r.list
		list.problems = slices.Clone(list.problems)
		for i, p := range list.problems {
			list.problems[i] = name + ": " + p
		}
		a.tellProblems(list)
	}
	a.hintDoctor(failed)
}
