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
		{"For a command:", []string{"env", "inherit-env", "cwd"}},
		{"For a URL:", []string{"header", "proxy", "connect-to", "ca-file", "cert-file", "key-file", "insecure"}},
		{"How it is spoken to:", []string{"transport", "protocol", "skip-preflight"}},
		{"Limits, explained by mcpctl help limits:", []string{"timeout", "max-timeout", "connect-timeout", "wait", "session-wait"}},
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
	b.WriteString(`Which server, and how it is reached

SERVER is a name of the configuration (mcpctl list shows them), a URL, or demo,
the server that is built in. A command that is not configured comes after --, to
the end of the line, or into --stdio, as one word:

  mcpctl tools notes
  mcpctl tools https://search.example/mcp -H 'Authorization: Bearer ${TOKEN}'
  mcpctl tools -- npx -y @example/notes ~/notes
  mcpctl call --stdio 'npx -y @example/notes ~/notes' search query=milk

These flags go with each command that reaches a server. They hold for one run,
and go before what the configuration says of the server; mcpctl set changes that
for good. With mcpctl add they become the entry. A ${VARIABLE} in single quotes
is looked up when the server is used.
`)
	flags := connectingFlags()
	for _, g := range connectingGroups() {
		b.WriteString("\n" + g.title + "\n" + explainedFlags(flags, g.flags...))
	}
	b.WriteString(`
A command that was started ends with the command line that started it, and with
it all that it holds for its session; mcpctl shell keeps it.
`)
	return b.String()
}

// topicQuestions explains what servers ask, and the flags that answer.
func topicQuestions() string {
	flags := newFlags()
	new(answerFlags).register(flags)
	return `What a server may ask

While a request is on its way, a server may ask for something. A person at a
terminal is asked; these flags answer in a script, or beforehand:

` + explainedFlags(flags, "elicit", "elicit-set", "sample-with", "root") + `
Elicitation: a form to fill in, or a page to open. Without an answer it is
declined, and a note names the flags that would answer.

  mcpctl call demo ask --elicit-set name=Ada --elicit-set colour=green
  mcpctl call demo ask --elicit decline

Values are written as mcpctl help arguments tells. A form that lacks a required
value is declined. No page is opened: with --elicit accept its URL is shown.

Sampling: the server wants a language model to go on. There is none without
--sample-with. The command gets the parameters of sampling/createMessage; cat
sends them back.

  mcpctl call demo summarize text='a long one' --sample-with cat

Roots: the directories in which the server may work. None without --root.

  mcpctl call demo roots --root . --root /tmp=scratch

In mcpctl shell, flags of the shell itself hold for each line.
`
}
