package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// flagGroup are flags that belong together in a topic.
type flagGroup struct {
	title string
	flags []string
}

// connectingGroups are the flags about the server, in the order in which people may need them.
func connectingGroups() []flagGroup {
	return []flagGroup{
		{"Which server:", []string{"stdio", "from", "include-disabled"}},
		{"For a local server (a command):", []string{"env", "inherit-env", "cwd"}},
		{"For a remote server (a URL):", []string{"header", "proxy", "connect-to", "ca-file", "cert-file", "key-file", "insecure"}},
		{"Transport and protocol:", []string{"transport", "protocol", "skip-preflight"}},
		{"Time limits, explained by mcpctl help limits:", []string{"timeout", "max-timeout", "connect-timeout", "wait", "session-wait"}},
	}
}

// connectingFlags are the flags that the topic connecting explains.
func connectingFlags() *pflag.FlagSet {
	flags := newFlags()
	new(serverFlags).register(flags)
	new(app).registerFromOn(flags)
	return flags
}

// topicConnecting explains how a command line says which server is meant, and the flags that all commands share.
func topicConnecting() string {
	var b strings.Builder
	b.WriteString(`Naming a server, and connecting to it

SERVER is the name of a configured server (mcpctl list), a URL, or demo, the
built-in demonstration server. A command that is not configured goes after --,
up to the end of the line, or into --stdio as one word:

  mcpctl tools notes
  mcpctl tools https://search.example/mcp -H 'Authorization: Bearer ${TOKEN}'
  mcpctl tools -- npx -y @example/notes ~/notes
  mcpctl call --stdio 'npx -y @example/notes ~/notes' search query=milk

All commands that connect to a server take these flags. They apply to one run,
and override the configuration; mcpctl set changes the configuration, and
mcpctl add saves them in the new entry. A ${VARIABLE} in single quotes is looked
up when the server is used.
`)
	flags := connectingFlags()
	for _, g := range connectingGroups() {
		b.WriteString("\n" + g.title + "\n" + explainedFlags(flags, g.flags...))
	}
	b.WriteString(`
A local server is stopped when the command is done, and loses the state of its
session; mcpctl shell keeps it running.
`)
	return b.String()
}

// topicQuestions explains what servers ask, and the flags that answer.
func topicQuestions() string {
	flags := newFlags()
	new(answerFlags).register(flags)
	return `What a server may ask

During a request, a server may ask for something. On a terminal mcpctl asks you;
these flags answer in a script, or in advance:

` + explainedFlags(flags, "elicit", "elicit-set", "sample-with", "root") + `
Elicitation: a form to fill in, or a page to open. Without an answer mcpctl
declines, and names the flags that would answer.

  mcpctl call demo ask --elicit-set name=Ada --elicit-set colour=green
  mcpctl call demo ask --elicit decline

mcpctl help arguments explains how to write values. A form that lacks a required
value is declined. No page is opened: --elicit accept prints its URL.

Sampling: the server needs a language model. Without --sample-with there is
none. The command gets the parameters of sampling/createMessage; cat sends them
back.

  mcpctl call demo summarize text='a long one' --sample-with cat

Roots: the directories in which the server may work; by default there are none.

  mcpctl call demo roots --root . --root /tmp=scratch

In mcpctl shell, these flags of the shell itself apply to every line.
`
}
