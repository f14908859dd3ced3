package main

import "strings"

// authGroups are the flags about authorization, in the order in which people may need them.
func authGroups() []flagGroup {
	return []flagGroup{
		{"The login:", []string{"auth", "browser", "no-browser", "oauth-scope", "grant", "dpop"}},
		{"The client, if mcpctl cannot register itself:", []string{
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

A remote server may require a login (OAuth). mcpctl finds out from the server
where to log in, opens a browser, and keeps the login:

  mcpctl login notes     log in, even if there is a login already
  mcpctl logout notes    forget the login, and revoke it
  mcpctl list            the state: ok until 14:32, expired, needs login
  mcpctl doctor notes    check each step of the login, if it fails

add, call, tools, resources, read, prompts, prompt, complete, task, tasks and
shell with one server start a login when the server asks for it and you are at a
terminal. doctor, list, ping, import and tools --all use an earlier login, and
never start one. Without a terminal, and with -o json, --no-input or CI set, a
command fails with exit code 4 and names the command to run. --browser opens a
browser anyway, but not with --no-input. A 403 starts no login unless it names
the scopes that are missing.

On a machine without a browser, use mcpctl login --no-browser NAME. Open the URL
on another machine, and paste the address of the page that cannot be reached.

If you already have a token, send it in a header; then there is no login:

  mcpctl add notes https://notes.example/mcp \
    --header 'Authorization: Bearer ${NOTES_TOKEN}'

Values of --grant; the first word is enough:

  authorization_code   a person in a browser (the default)
  client_credentials   a program: --client-id, --client-secret or --private-key
  jwt_bearer           a workload identity: --assertion, or signed with
                       --private-key
  enterprise_managed   through an organisation's identity provider: --idp-…

  mcpctl call https://notes.example/mcp search query=tea --grant client \
    --client-id ci --client-secret '${NOTES_SECRET}'

These flags apply to one run, and override the configuration; mcpctl add saves
them as the keys auth and oauth. Write a secret as '${VAR}', in single quotes,
or as @FILE.
`)
	flags := connectingFlags()
	registerBrowserOn(flags, new(loginFlags))
	for _, g := range authGroups() {
		b.WriteString("\n" + g.title + "\n" + explainedFlags(flags, g.flags...))
	}
	b.WriteString(`
Logins are stored per server URL, in the system's keyring if there is one,
otherwise in files that only you can read; MCPCTL_CREDENTIALS (keyring, file)
chooses. A token is refreshed before it expires, and is sent only to the
server's own origin.
`)
	return b.String()
}
