package main

import "strings"

// authGroups are the flags about authorization, in the order in which people may need them.
func authGroups() []flagGroup {
	return []flagGroup{
		{"When, and with what:", []string{"auth", "browser", "no-browser", "oauth-scope", "grant", "dpop"}},
		{"Who mcpctl is, if the server does not register it by itself:", []string{
			"client-id", "client-secret", "oauth-issuer", "private-key", "client-metadata-url", "redirect-uri", "redirect-port",
		}},
		{"For the grants jwt_bearer and enterprise_managed:", []string{
			"assertion", "idp-issuer", "idp-token-endpoint", "idp-client-id", "idp-client-secret", "idp-id-token",
		}},
	}
}

// topicAuthorization explains logins, and the flags for them.
func topicAuthorization() string {
	var b strings.Builder
	b.WriteString(`Authorization

A server that is reached by URL may want a login (OAuth). mcpctl finds out from
the server where that is done, opens a browser, and keeps what the login brings:

  mcpctl login notes     log in, whatever there is already
  mcpctl logout notes    forget the login, and have it revoked
  mcpctl list            how things stand: ok until 14:32, expired, needs login
  mcpctl doctor notes    each step on the way to a login, when it does not work

A login begins when a server asks for one and a person is at the terminal, in
add, call, tools, resources, read, prompts, prompt, complete, task, tasks and
shell with one server. doctor, list, ping, import and tools --all use what is
kept, and never begin one. Without a terminal, with -o json, --no-input or CI
the command fails with exit code 4 and the line to type. --browser opens one
all the same, but not with --no-input. A refusal with 403 begins no login unless
it names the rights that are missing.

On a machine without a browser: mcpctl login --no-browser NAME. Open the URL
wherever there is one, and paste the address of the page that cannot be shown.

A token that you have already is a header, and there is no login then:

  mcpctl add notes https://notes.example/mcp \
    --header 'Authorization: Bearer ${NOTES_TOKEN}'

The grants, for --grant; a first word is enough:

  authorization_code   a person in a browser; so it is unless something is set
  client_credentials   a program: --client-id, --client-secret or --private-key
  jwt_bearer           the identity of a workload: --assertion, or a signature
                       with --private-key
  enterprise_managed   an organisation's identity provider decides: --idp-…

  mcpctl call https://notes.example/mcp search query=tea --grant client \
    --client-id ci --client-secret '${NOTES_SECRET}'

These flags hold for one run, and go before what the configuration says; with
mcpctl add they become the entry's keys auth and oauth. A secret is '${VAR}', in
single quotes, or @FILE.
`)
	flags := connectingFlags()
	registerBrowserOn(flags, new(loginFlags))
	for _, g := range authGroups() {
		b.WriteString("\n" + g.title + "\n" + explainedFlags(flags, g.flags...))
	}
	b.WriteString(`
Logins are kept by the server's URL, in the system's keyring where there is one,
else in files that only you can read; MCPCTL_CREDENTIALS (file, keyring)
chooses. A token is refreshed before it expires, and goes to the server's
origin alone.
`)
	return b.String()
}
