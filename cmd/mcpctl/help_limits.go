package main

import (
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/internal/crowd"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// topicLimits is made from the limits in force for an entry that sets none, so that it never lies.
func topicLimits() string {
	url, download := session.LimitsFor(config.Server{URL: "https://x/"}), session.LimitsFor(config.Server{Command: "npx"})
	var b strings.Builder
	b.WriteString(`Time limits

Every operation ends within its limit, whatever the server does. Each limit has
a flag, for one run, and a key of the same name in the configuration. The
defaults are:

`)
	row := func(l session.Limit, meaning ...string) {
		fmt.Fprintf(&b, "  %-22s  %s\n", l.Flag()+" "+shortDuration(l.Value), meaning[0])
		for _, line := range meaning[1:] {
			fmt.Fprintf(&b, "  %-22s  %s\n", "", line)
		}
	}
	row(url.Connect, "from the start to a usable session; "+shortDuration(download.Connect.Value)+" for",
		"commands that may download (npx, uvx, docker run …);", "at least "+shortDuration(session.MinConnect))
	row(url.Wait, "how long mcpctl retries a server that refuses", "connections or is busy; if it is longer than",
		"--connect-timeout, it raises that, too")
	row(url.Request, "one request with its recovery; restarts whenever", "the server reports progress; "+
		shortDuration(session.DefaultPing)+" for the answer", "to a ping")
	row(url.MaxRequest, "one request, even if the server reports progress;", "3 times --timeout")
	row(url.SessionWait, "how long a request waits for a new session; for a", "local server, the connect limit")
	b.WriteString(`
A call that becomes a task is one request until its result is there; each change
of the task counts as progress. If a limit runs out, the task is cancelled.

Closing a session may take 3s, or 1s after Ctrl-C; a second Ctrl-C exits at
once. While a person logs in, every limit is raised to 315s: 300s for the
person, 15s for the rest.

A duration is 30s, 2m, or a number of seconds. The keys connect_timeout and
timeout may also be set under defaults, for all servers. mcpctl get NAME shows
where a value comes from, and so does the message when a limit runs out:

  no answer within connect_timeout 2s (flag --connect-timeout)
`)
	many := crowd.For(0, listEffort(), 2, 1<<20)
	examined := crowd.For(0, (&doctorOptions{}).effort(), 2, 1<<20)
	fmt.Fprintf(&b, `
Many servers

list --check, doctor and tools --all connect to several servers at a time: on
two processors to %d over HTTP (doctor: %d), and to %d local ones, each of which
is a process. A server that has not answered after %s, or over HTTP as soon as
this machine is idle, makes room for the next one while mcpctl waits for it; up
to %d (doctor: %d; local ones: %d) may be waiting, fewer if the limit on open
files (ulimit -n) is low. --parallel N allows at most N servers at a time, of
any kind (list --check, doctor).
`, many.Web.AtWork, examined.Web.AtWork, many.Child.AtWork, shortDuration(crowd.SlowAfter), many.Web.UnderWay, examined.Web.UnderWay, many.Child.UnderWay)
	return b.String()
}
