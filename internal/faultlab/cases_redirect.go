package faultlab

import "net/http"

// redirectCases are the cases about redirects.
func redirectCases() []Case {
	return []Case{
		{
			ID: "CASE-037", Name: "redirect-307-slash", Area: "redirect", Over: HTTP, Level: 1,
			Title:   "307 to the slash form",
			Source:  "BerriAI/litellm#23688; opensearch-project/opensearch-mcp-server-py#271",
			Symptom: "initialize fails or loses its body or token.",
			Cause:   "Framework adds a trailing slash by redirect; client does not follow 307 for POST.",
			Repro:   "/mcp gets 307 Location: /mcp/; /mcp/ healthy.",
			Right: `Follows 307 and 308 on the same origin with method, body and headers; doctor suggests the final
			URL.`,
			Exit: "ok.",
			http: httpFault{request: redirectToSlash(http.StatusTemporaryRedirect, (*exchange).endpoint)},
			check: check{
				want: `init 307 .*location="/mcp/".*followed 200`,
				drive: func(p *httpProbe) {
					p.initialize("init")
					p.send("followed", http.MethodPost, p.server.Origin+"/mcp/", initializeBody())
				},
			},
		},
		{
			ID: "CASE-038", Name: "redirect-loop", Area: "redirect", Over: HTTP, Level: 2,
			Title:   "Redirect loop between slash forms",
			Source:  "PrefectHQ/fastmcp#991",
			Symptom: "Hang or stack of redirects.",
			Cause:   "Proxy and application disagree about the slash.",
			Repro:   "/mcp gets 307 to /mcp/ and /mcp/ gets 307 to /mcp.",
			Right:   "Stops after at most 10 hops, names both URLs.",
			Exit:    "connect, under 3 s.",
			http: httpFault{request: redirectToSlash(http.StatusTemporaryRedirect, func(x *exchange) {
				x.redirect(http.StatusTemporaryRedirect, "/mcp")
			})},
			check: check{want: `get /mcp/ 307 .*location="/mcp".*init 307 .*location="/mcp/"`, fetch: []string{"/mcp/"}},
		},
		{
			ID: "CASE-039", Name: "redirect-cross-origin-auth", Area: "redirect", Over: HTTP, Level: 3,
			Title:   "Token must not follow a redirect to another origin",
			Source:  "NousResearch/hermes-agent#10031",
			Symptom: "A redirect hands the bearer token to another host.",
			Cause: `Redirects followed with credentials. Same host and another port is another origin; Go's client
			forwards Authorization there.`,
			Repro: `With Authorization configured, /mcp gets 307 to http://127.0.0.1:OTHERPORT/mcp/, which logs
			headers and serves MCP.`,
			Right: `Refuses, or follows without Authorization, Cookie and session id; says so. Preferred: refuse
			with both origins named.`,
			Exit: "connect or auth if refused. The other port never sees the token.",
			http: httpFault{
				otherOrigin: true,
				request: func(x *exchange) bool {
					if x.r.URL.Path != "/mcp" {
						return false
					}
					x.redirect(http.StatusTemporaryRedirect, x.s.Other+"/mcp/")
					return true
				},
			},
			check: check{
				want:   `init 307 .*location="http://127.0.0.1:\d+/mcp/".*followed 200.*"kind":"other_origin","leaked_authorization":true`,
				header: map[string]string{"Authorization": "Bearer " + staticToken},
				drive: func(p *httpProbe) {
					p.initialize("init")
					p.send("followed", http.MethodPost, p.server.Other+"/mcp/", initializeBody())
					p.journal()
				},
			},
		},
		{
			ID: "CASE-040", Name: "redirect-301-post", Area: "redirect", Over: HTTP, Level: 2,
			Title:   "301 turns POST into GET",
			Source:  "PostHog/posthog#49807",
			Symptom: "405 from the final URL, with no mention of the redirect.",
			Cause:   "HTTP libraries change POST to GET on 301 and 302.",
			Repro:   "/mcp gets 301 Location: /mcp/; GET /mcp/ gets 405; POST /mcp/ healthy.",
			Right: `Either repeats as POST (same origin) or stops: "301 to /mcp/: update the URL". Never blames a
			405 alone.`,
			Exit: "ok or connect with the new URL in the message.",
			http: httpFault{request: redirectToSlash(http.StatusMovedPermanently, func(x *exchange) {
				if x.r.Method == http.MethodGet && x.sessionID() == "" {
					x.s.log("post_became_get")
					x.notAllowed("POST")
					return
				}
				x.endpoint()
			})},
			check: check{want: `get /mcp/ 405.*init 301 .*location="/mcp/"`, fetch: []string{"/mcp/"}},
		},
		{
			ID: "CASE-455", Name: "redirect-scheme-lost", Area: "redirect", Over: HTTP, Level: 1,
			Title:   "Redirect from https to http, behind a proxy that ends TLS",
			Source:  "chainguard-dev/edu#3704; dbcls/togomcp#175; cBioPortal/cbioportal-mcp#78; Yeraze/eeroVista#121",
			Symptom: `"Couldn't connect", or a token in clear text on port 80.`,
			Cause: `The server adds a slash by redirect and writes the address with the scheme that it sees itself; it does not
			know, or trust, X-Forwarded-Proto.`,
			Repro: "HTTPS; /mcp gets 307 Location: http://HOST/mcp/, with the same host and port; https /mcp/ healthy.",
			Right: "Does not go there; says that only the scheme differs, and names the https address to use.",
			Exit:  "connect with that sentence.",
			http: httpFault{
				tls: &tlsFault{},
				request: func(x *exchange) bool {
					switch x.r.URL.Path {
					case "/mcp":
						x.redirect(http.StatusTemporaryRedirect, "http://"+x.r.Host+"/mcp/")
					case "/mcp/":
						x.endpoint()
					default:
						return false
					}
					return true
				},
			},
			check: check{want: `init 307 .*location="http://127.0.0.1:\d+/mcp/"`},
		},
	}
}

// redirectToSlash redirects /mcp to /mcp/, where final answers.
func redirectToSlash(status int, final func(x *exchange)) func(*exchange) bool {
	return func(x *exchange) bool {
		switch x.r.URL.Path {
		case "/mcp":
			x.redirect(status, "/mcp/")
		case "/mcp/":
			final(x)
		default:
			return false
		}
		return true
	}
}
