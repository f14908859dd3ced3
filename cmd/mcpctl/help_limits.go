package main

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// topicLimits is made from the limits in force for an entry that sets none, so that it never lies.
func topicLimits() string {
	url, download := session.LimitsFor(config.Server{URL: "https://x/"}), session.LimitsFor(config.Server{Command: "npx"})
	var b strings.Builder
	b.WriteString(`Limits on time

Every operation ends within its limit, whatever the server does. Each limit has
a flag, for one run, and a key of the same name in the configuration; without
either, these hold:

`)
	row := func(l session.Limit, meaning ...string) {
		fmt.Fprintf(&b, "  %-22s  %s\n", l.Flag()+" "+shortDuration(l.Value), meaning[0])
		for _, line := range meaning[1:] {
			fmt.Fprintf(&b, "  %-22s  %s\n", "", line)
		}
	}
	row(url.Connect, "everything up to a usable session; "+shortDuration(download.Connect.Value)+" for",
		"commands that may download (npx, uvx, docker run …);", "less than "+shortDuration(session.MinConnect)+" counts as that")
	row(url.Wait, "how long a server that refuses, or is busy, is tried", "again before that is reported; a longer connect",
		"limit does not change it, a longer wait raises both")
	row(url.Request, "one request with its recovery; progress that the", "server reports begins it anew; "+
		shortDuration(session.DefaultPing)+" for the", "answer to a ping")
	row(url.MaxRequest, "one request, however much progress is reported;", "3 times --timeout")
	row(url.SessionWait, "the wait of a request for a fresh session; for a", "command, the connect limit")
	b.WriteString(`
A call that becomes a task is one request until its result is there; each change
of the task is progress. When a limit ends it, the task is cancelled.

Closing has 3s, and a second after Ctrl-C; another Ctrl-C ends at once.
When a person has to log in, every limit around that is raised to 315s at that
moment: 300s for the person, 15s for the rest.

A duration is 30s, 2m, or a number of seconds. The keys connect_timeout and
timeout may stand under defaults, for all servers. Where a value comes from is
shown by mcpctl get NAME, and in the message of a limit that ran out:

  no answer within connect_timeout 2s (flag --connect-timeout)
`)
	many := crowdFor(0, listEffort(), 2, 1<<20)
	examined := crowdFor(0, (&doctorOptions{}).effort(), 2, 1<<20)
	fmt.Fprintf(&b, `
Many servers

list --check, doctor and tools --all look at several servers at a time. On two
processors these are %d over HTTP, %d for doctor, and %d commands, each of which
is a process. One that has not answered after %s, or over HTTP as soon as this
machine rests, gives its place to the next and is waited for beside: up to %d
of them, %d for doctor, and %d commands, and fewer where fewer files may be
open (ulimit -n). With --parallel N at most N servers are looked at at a time,
of any kind (list --check, doctor).
`, many.web.atWork, examined.web.atWork, many.child.atWork, shortDuration(slowAfter), many.web.underWay, examined.web.underWay, many.child.underWay)
	return b.String()
}
