package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/crowd"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// filesToList are the open files of a server over HTTP whose tools are listed: a connection for requests, one for the stream of
// notifications, one that takes over.
const filesToList = 3

// listEffort is the effort of opening a session and listing the tools: three milliseconds of a processor, ten with TLS.
// One that does not answer takes 200 KiB of memory, so all that may wait together take two hundred megabytes.
func listEffort() crowd.Effort { return crowd.Effort{Files: filesToList, PerCPU: 32, Most: 1024} }

// crowd returns how many servers are looked at together.
func (a *app) crowd(parallel int, e crowd.Effort) crowd.Crowd {
	if a.widen != nil {
		a.widen()
	}
	return crowd.New(parallel, e)
}

// eachServer calls look with the number of each server, as many at a time as c allows. It returns when all calls have.
func eachServer(c crowd.Crowd, servers []config.Server, look func(i int)) {
	c.Each(len(servers), func(i int) bool { return servers[i].Command != "" }, look)
}

// examined counts the servers of which it is known how they are, for those who wait. It may be used by several goroutines at
// once.
type examined struct {
	// verb is what is being done with so many servers; only is the name of the only one, if there is no more.
	verb    string
	servers int
	only    string

	mu     sync.Mutex
	done   int
	failed int
	// first are the names of those that failed first, as many as are shown.
	first []string
}

// mostShown names of failed servers stand beside the time on 80 columns.
const mostShown = 3

// count notes what came of a server.
func (e *examined) count(name string, failed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
	if failed {
		if e.failed++; len(e.first) < mostShown {
			e.first = append(e.first, name)
		}
	}
}

// line says how far it is.
func (e *examined) line() string {
	if e.servers == 1 && e.only != "" {
		return e.verb + " " + e.only
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == 0 {
		return e.verb + " " + plural(e.servers, "server")
	}
	line := fmt.Sprintf("%s: %d of %d done", e.verb, e.done, e.servers)
	if e.failed > 0 {
		const longest = 12 // of a name
		names := make([]string, len(e.first))
		for i, name := range e.first {
			names[i] = render.Cut(render.OneLine(name), longest)
		}
		line += fmt.Sprintf(", %d failed: %s", e.failed, strings.Join(names, ", "))
		if e.failed > len(names) {
			line += ", …"
		}
	}
	return line
}
