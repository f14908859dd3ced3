package faultlab

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// loginCases are the cases about logins: what stands between a challenge and a token, and what becomes of it later. The
// login page sends the browser back at once, so a program that follows redirects is browser enough.
func loginCases() []Case {
	return slices.Concat(discoveryCases(), documentCases(), registrationCases(), browserCases(), tokenCases(), laterCases(), scopeCases())
}

// loginCase fills in what all of them have in common.
func loginCase(c Case, r realm, want string) Case {
	c.Area, c.Over, c.http = "oauth", HTTP, r.fault()
	c.check = check{want: want, drive: (*httpProbe).logIn}
	return c
}

// gone answers as if a path were not there.
func gone(paths ...string) func(x *exchange) bool {
	return func(x *exchange) bool {
		if !slices.Contains(paths, x.r.URL.Path) {
			return false
		}
		x.text(http.StatusNotFound, "text/plain", "Not Found")
		return true
	}
}

// page answers with a web page.
func page(x *exchange) bool {
	x.text(http.StatusOK, "text/html; charset=utf-8", webApp)
	return true
}

// atPath answers at one path.
func atPath(path string, answer func(x *exchange) bool) func(x *exchange) bool {
	return func(x *exchange) bool { return x.r.URL.Path == path && answer(x) }
}

// put sets a value in a document.
func put(key string, value any) func(*exchange, map[string]any) {
	return func(_ *exchange, doc map[string]any) { doc[key] = value }
}

// without removes a value from a document.
func without(key string) func(*exchange, map[string]any) {
	return func(_ *exchange, doc map[string]any) { delete(doc, key) }
}

const loggedIn = `token 200 .*init 200 .*call 200 `

// discoveryCases find the way to the login in each way that there is.
func discoveryCases() []Case {
	const right = "Logs in. doctor shows each place that was asked."
	const exit = "ok with a browser, auth without."
	return []Case{
		loginCase(Case{
			ID: "CASE-321", Name: "login-whole-way", Level: 1,
			Title:   "The whole way, with a server that looks closely",
			Source:  ownSource,
			Symptom: "None: this is how it should be.",
			Cause:   "Nothing is wrong.",
			Repro: `Challenge, resource metadata, server metadata, registration, PKCE with S256, the resource in every request,
			codes and refresh tokens that are good once.`,
			Right: right, Exit: exit,
		}, realm{}, `bare 401 .*`+loggedIn+`.*again 400 .*invalid_grant.*refreshed 200 .*spent 400 .*invalid_grant`),
		loginCase(Case{
			ID: "CASE-322", Name: "login-issuer-path", Level: 2,
			Title:   "An issuer with a path, by the rule of RFC 8414",
			Source:  "atlassian/atlassian-mcp-server#205",
			Symptom: "No metadata is found.",
			Cause:   "The path is put in the wrong place, or dropped.",
			Repro:   "Issuer http://H/tenant; the metadata is only at /.well-known/oauth-authorization-server/tenant.",
			Right:   right, Exit: exit,
		}, realm{tenant: "/tenant"}, `oauth-authorization-server 404 .*oauth-authorization-server/tenant 200 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-323", Name: "login-oidc-inserted", Level: 3,
			Title:   "An issuer with a path, OpenID Connect with the path at the end",
			Source:  "modelcontextprotocol/typescript-sdk#616",
			Symptom: "No metadata is found.",
			Cause:   "Only one of the well-known forms is tried.",
			Repro:   "Issuer http://H/tenant; the metadata is only at /.well-known/openid-configuration/tenant.",
			Right:   right, Exit: exit,
		}, realm{tenant: "/tenant", serverAt: []string{openIDConfiguration + "/tenant"}}, `openid-configuration/tenant 200 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-324", Name: "login-oidc-appended", Level: 3,
			Title:   "An issuer with a path, OpenID Connect as OpenID has it",
			Source:  "modelcontextprotocol/typescript-sdk#616",
			Symptom: "No metadata is found.",
			Cause:   "Only one of the well-known forms is tried.",
			Repro:   "Issuer http://H/tenant; the metadata is only at /tenant/.well-known/openid-configuration.",
			Right:   right, Exit: exit,
		}, realm{tenant: "/tenant", serverAt: []string{"/tenant" + openIDConfiguration}}, `tenant/.well-known/openid-configuration 200 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-325", Name: "login-resource-root", Level: 2,
			Title:   "Resource metadata at the root, about the origin",
			Source:  "agentconnect-md/agentconnect#2119",
			Symptom: "The resource does not match.",
			Cause:   "The resource is compared for equality, and covers the server.",
			Repro:   `401 with plain "Bearer"; the metadata is only at the root, and its resource is the origin.`,
			Right:   right, Exit: exit,
		}, realm{challenge: "Bearer", resourceAt: resourceMetadata, resource: func(x *exchange, doc map[string]any) {
			doc["resource"] = x.s.Origin
		}}, `oauth-protected-resource/mcp 404 .*oauth-protected-resource 200 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-326", Name: "login-older-metadata", Level: 3,
			Title:   "A server of 2025-03-26: no resource metadata",
			Source:  ownSource,
			Symptom: "Login refused: no resource metadata.",
			Cause:   "The older revision has the authorization server at the server's origin.",
			Repro:   `401 with plain "Bearer"; no resource metadata; server metadata at the origin.`,
			Right:   right, Exit: exit,
		}, realm{challenge: "Bearer", resourceAt: "-"}, `oauth-protected-resource 404 .*oauth-authorization-server 200 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-327", Name: "login-older-defaults", Level: 3,
			Title:   "A server of 2025-03-26: no metadata at all",
			Source:  ownSource,
			Symptom: "Login refused: no metadata.",
			Cause:   "The older revision has default endpoints at the server's origin.",
			Repro:   "401 with plain \"Bearer\"; no metadata; /authorize, /token and /register at the origin.",
			Right:   right, Exit: exit,
		}, realm{challenge: "Bearer", resourceAt: "-", serverAt: []string{"-"}}, `oauth-authorization-server 404 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-328", Name: "login-other-origin", Level: 2,
			Title:   "The authorization server is on another origin",
			Source:  "can1357/oh-my-pi#6755",
			Symptom: "The login is refused, or the server's token is sent to the other origin.",
			Cause:   "Everything is expected at one origin.",
			Repro:   "The resource metadata names an issuer at OTHER; everything of it is there.",
			Right:   "Logs in. The access token and the server's headers never reach the other origin.", Exit: exit,
		}, realm{elsewhere: true}, `bare 401 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-329", Name: "login-no-challenge", Level: 3,
			Title:   "401 without a challenge, and a login all the same",
			Source:  "elgorro/aiquila#389",
			Symptom: "Taken for a static token, or for a defect.",
			Cause:   "No WWW-Authenticate.",
			Repro:   "401 without WWW-Authenticate; the resource metadata is at its well-known place.",
			Right:   "Finds the metadata; doctor warns of the missing challenge.", Exit: exit,
		}, realm{challenge: "-"}, `bare 401 ct="application/json" body.*`+loggedIn),
		loginCase(Case{
			ID: "CASE-330", Name: "login-two-challenges", Level: 3,
			Title:   "Two challenges in one header",
			Source:  ownSource,
			Symptom: "Basic authorization is asked for, or none.",
			Cause:   "Only the first challenge is read.",
			Repro:   `WWW-Authenticate: Basic realm="a, b", Bearer resource_metadata="…".`,
			Right:   "Reads both, and takes Bearer.", Exit: exit,
		}, realm{challenge: `Basic realm="a, b", Bearer resource_metadata="URL"`}, `www-authenticate="Basic realm=.*Bearer.*`+loggedIn),
	}
}

// documentCases have documents that must not be used.
func documentCases() []Case {
	refused := func(c Case) Case {
		c.Exit = "auth; no browser."
		return c
	}
	return []Case{
		loginCase(refused(Case{
			ID: "CASE-331", Name: "login-resource-other", Level: 2,
			Title:   "The resource is another server",
			Source:  "modelcontextprotocol/python-sdk#1265",
			Symptom: "A token for one server is asked for at another.",
			Cause:   "A copied document, or an attack.",
			Repro:   "The resource metadata is about https://other.example/mcp.",
			Right:   "Refuses before any authorization request, with both values.",
		}), realm{resource: put("resource", "https://other.example/mcp")}, `"resource":"https://other.example/mcp"`),
		loginCase(refused(Case{
			ID: "CASE-332", Name: "login-resource-path", Level: 3,
			Title:   "The resource is another path of the same host",
			Source:  "anthropics/claude-code#52871",
			Symptom: "The token is refused by the server.",
			Cause:   "Several resources on one host.",
			Repro:   "The resource metadata is about http://H/mcp-admin.",
			Right:   "Refuses before any authorization request, with both values.",
		}), realm{resource: func(x *exchange, doc map[string]any) { doc["resource"] = x.s.Origin + "/mcp-admin" }}, `"resource":"http://[0-9.:]+/mcp-admin"`),
		loginCase(refused(Case{
			ID: "CASE-333", Name: "login-issuer-other", Level: 2,
			Title:   "The metadata has another issuer",
			Source:  "PagerDuty/pagerduty-mcp-server#169; Swiggy/swiggy-mcp-server-manifest#88",
			Symptom: "Issuer mismatch, without the values.",
			Cause:   "A proxy before the authorization server, or an attack.",
			Repro:   "The server metadata has the issuer https://as.example/real.",
			Right:   "Uses nothing of it, and shows both values.",
		}), realm{server: put("issuer", "https://as.example/real")}, `"issuer":"https://as.example/real"`),
		loginCase(refused(Case{
			ID: "CASE-334", Name: "login-issuers-none", Level: 2,
			Title:   "The list of authorization servers is empty",
			Source:  ownSource,
			Symptom: "Crash, or \"undefined is not a URL\".",
			Cause:   "The first of none is taken.",
			Repro:   "authorization_servers is [].",
			Right:   "Says that the server names no authorization server.",
		}), realm{resource: put("authorization_servers", []string{}), first: gone(authorizationMetadata, "/authorize", "/token", "/register")}, `"authorization_servers":\[\]`),
		loginCase(refused(Case{
			ID: "CASE-335", Name: "login-resource-html", Level: 2,
			Title:   "The challenge names a web page",
			Source:  "Swiggy/swiggy-mcp-server-manifest#88",
			Symptom: `"Unexpected token '<'".`,
			Cause:   "A single-page application answers every path.",
			Repro:   "The resource metadata that the challenge names, and every other well-known place, is 200 text/html.",
			Right:   "Says what is there in place of the document.",
		}), realm{resourceAt: "-", challenge: "Bearer resource_metadata=\"URL/.well-known/oauth-protected-resource/mcp\"", serverAt: []string{"-"}, first: func(x *exchange) bool {
			return x.r.URL.Path != "/mcp" && page(x)
		}}, `oauth-protected-resource/mcp 200 ct="text/html`),
		loginCase(refused(Case{
			ID: "CASE-336", Name: "login-server-html", Level: 2,
			Title:   "The authorization server has web pages at the well-known places",
			Source:  "anthropics/claude-code#14428",
			Symptom: `"Unexpected token '<'".`,
			Cause:   "A single-page application answers every path.",
			Repro:   "Resource metadata is there; the places of the server metadata have 200 text/html, /register, /authorize and /token 404.",
			Right:   "Says what is there in place of the document.",
		}), realm{serverAt: []string{"-"}, first: func(x *exchange) bool {
			p := x.r.URL.Path
			return strings.Contains(p, "oauth-authorization-server") && page(x) || strings.Contains(p, "openid-configuration") && page(x) || gone("/register", "/authorize", "/token")(x)
		}}, `oauth-authorization-server 200 ct="text/html`),
		loginCase(refused(Case{
			ID: "CASE-337", Name: "login-no-pkce", Level: 2,
			Title:   "The metadata does not offer PKCE",
			Source:  ownSource,
			Symptom: "Refused without a reason.",
			Cause:   "code_challenge_methods_supported is missing.",
			Repro:   "The server metadata has no code_challenge_methods_supported.",
			Right:   "Refuses, as the specification demands, and says which value is missing.",
		}), realm{server: without("code_challenge_methods_supported")}, `oauth-authorization-server 200 .*registration_endpoint`),
		loginCase(refused(Case{
			ID: "CASE-338", Name: "login-http-endpoints", Level: 2,
			Title:   "Endpoints without TLS",
			Source:  ownSource,
			Symptom: "The code and the token cross the network in the clear.",
			Cause:   "A proxy that ends TLS, and a server that does not know of it.",
			Repro:   "authorization_endpoint and token_endpoint are http://as.example/….",
			Right:   "Refuses: http is for this machine only.",
		}), realm{server: func(_ *exchange, doc map[string]any) {
			doc["authorization_endpoint"], doc["token_endpoint"] = "http://as.example/authorize", "http://as.example/token"
		}}, `"authorization_endpoint":"http://as.example`),
		loginCase(refused(Case{
			ID: "CASE-339", Name: "login-script-endpoint", Level: 3,
			Title:   "An authorization endpoint that is a script",
			Source:  ownSource,
			Symptom: "Code of the server's runs in the browser, or in the shell that opens it.",
			Cause:   "The URL is handed to the browser as it is.",
			Repro:   "authorization_endpoint is javascript:alert(1).",
			Right:   "Refuses: only https is opened, or http on this machine.",
		}), realm{server: put("authorization_endpoint", "javascript:alert(1)//")}, `javascript:alert`),
		loginCase(refused(Case{
			ID: "CASE-340", Name: "login-file-endpoint", Level: 3,
			Title:   "An authorization endpoint that is a file",
			Source:  ownSource,
			Symptom: "A program on the user's machine is started.",
			Cause:   "The URL is handed to the platform's opener as it is.",
			Repro:   "authorization_endpoint is file:///Applications/Calculator.app.",
			Right:   "Refuses: only https is opened, or http on this machine.",
		}), realm{server: put("authorization_endpoint", "file:///Applications/Calculator.app")}, `file:///Applications`),
		loginCase(refused(Case{
			ID: "CASE-341", Name: "login-internal-address", Level: 3,
			Title:   "The challenge points into the network",
			Source:  ownSource,
			Symptom: "The client asks an address that the server could not reach.",
			Cause:   "Addresses of documents are not looked at.",
			Repro:   "resource_metadata is http://169.254.169.254/latest/meta-data.",
			Right:   "Does not ask: it is not https.",
		}), realm{challenge: `Bearer resource_metadata="http://169.254.169.254/latest/meta-data"`, resourceAt: "-", serverAt: []string{"-"}, first: gone("/register", "/authorize", "/token")}, `169.254.169.254`),
		loginCase(refused(Case{
			ID: "CASE-342", Name: "login-huge-metadata", Level: 3,
			Title:   "A document without an end",
			Source:  ownSource,
			Symptom: "Memory grows until the client is killed.",
			Cause:   "Documents are read whole.",
			Repro:   "The resource metadata is valid JSON of 256 KB; the authorization server is at OTHER.",
			Right:   "Reads 64 KiB and says that it is too large.",
		}), realm{elsewhere: true, resource: put("padding", strings.Repeat("x", 256<<10))}, `oauth-protected-resource/mcp 200 `),
		loginCase(refused(Case{
			ID: "CASE-343", Name: "login-metadata-redirect", Level: 3,
			Title:   "The metadata redirects to another origin",
			Source:  ownSource,
			Symptom: "Another server decides who gives tokens.",
			Cause:   "Redirects are followed.",
			Repro:   "The resource metadata is 302 to OTHER, which has a document for this server.",
			Right:   "Does not follow; says where it leads.",
		}), realm{elsewhere: true, first: func(x *exchange) bool {
			if x.r.URL.Path != resourceMetadataForMCP {
				return false
			}
			if x.r.Host == strings.TrimPrefix(x.s.Other, "http://") {
				x.document(http.StatusOK, map[string]any{"resource": x.s.Origin + "/mcp", "authorization_servers": []string{x.s.Other}})
				return true
			}
			x.redirect(http.StatusFound, x.s.Other+resourceMetadataForMCP)
			return true
		}}, `oauth-protected-resource/mcp 302 `),
		loginCase(refused(Case{
			ID: "CASE-344", Name: "login-metadata-hangs", Level: 2,
			Title:   "The metadata never comes",
			Source:  "tambo-ai/tambo#2339",
			Symptom: "The client hangs in discovery.",
			Cause:   "No limit on documents.",
			Repro:   "The resource metadata is never answered.",
			Right:   "Gives up after 2 s, and says so.",
		}), realm{first: atPath(resourceMetadataForMCP, func(x *exchange) bool {
			x.hold()
			return true
		})}, `oauth-protected-resource/mcp ERR `),
	}
}

// registrationCases refuse to register a client.
func registrationCases() []Case {
	refuse := func(status int, contentType, body string) realm {
		return realm{register: func(x *exchange) bool {
			x.text(status, contentType, body)
			return true
		}}
	}
	const right = "Says what the server said, and that a client id helps: --client-id."
	const exit = "auth; no browser. ok with --client-id lab-client."
	return []Case{
		loginCase(Case{
			ID: "CASE-345", Name: "login-register-400", Level: 2,
			Title:   "Registration is refused",
			Source:  "dozigden/boardoil#11",
			Symptom: `"Client registration failed", without the reason.`,
			Cause:   "The server wants other metadata.",
			Repro:   "/register: 400 invalid_client_metadata with a description.",
			Right:   right, Exit: exit,
		}, refuse(http.StatusBadRequest, "application/json", `{"error":"invalid_client_metadata","error_description":"Only scopes of the house are supported"}`), `register 400 `),
		loginCase(Case{
			ID: "CASE-346", Name: "login-register-403", Level: 2,
			Title:   "Registration is forbidden",
			Source:  "nimbalyst/nimbalyst#1124",
			Symptom: "The helper ended with exit code 1.",
			Cause:   "Only known clients may log in.",
			Repro:   "/register: 403 without a body.",
			Right:   right, Exit: exit,
		}, refuse(http.StatusForbidden, "text/plain", ""), `register 403 `),
		loginCase(Case{
			ID: "CASE-347", Name: "login-register-html", Level: 2,
			Title:   "Registration is a web page",
			Source:  "different-ai/openwork#3599",
			Symptom: `"Unexpected token '<'".`,
			Cause:   "The endpoint in the metadata is not there.",
			Repro:   "/register: 200 text/html.",
			Right:   right, Exit: exit,
		}, realm{register: page}, `register 200 ct="text/html`),
		loginCase(Case{
			ID: "CASE-348", Name: "login-register-none", Level: 2,
			Title:   "There is no registration",
			Source:  "punkpeye/mcp-remote#53",
			Symptom: "Incompatible server, and nothing to do about it.",
			Cause:   "Only clients that somebody registered by hand may log in.",
			Repro:   "The server metadata has no registration_endpoint, and wants no client-id documents.",
			Right:   right, Exit: exit,
		}, realm{server: without("registration_endpoint"), first: gone("/register")}, `register 404 `),
	}
}

// browserCases go wrong in the browser, or when it comes back.
func browserCases() []Case {
	back := func(change func(x *exchange, values url.Values)) realm {
		return realm{authorize: func(x *exchange, values url.Values) bool {
			change(x, values)
			return false
		}}
	}
	advertised := put("authorization_response_iss_parameter_supported", true)
	wrong := func(c Case) Case {
		c.Exit = "auth; nothing is kept."
		return c
	}
	issued := back(func(_ *exchange, values url.Values) { values.Set("iss", "https://evil.example") })
	issued.server = advertised
	return []Case{
		loginCase(wrong(Case{
			ID: "CASE-349", Name: "login-iss-wrong", Level: 3,
			Title:   "The answer comes from another issuer",
			Source:  "different-ai/openwork#2641",
			Symptom: "The code of one server is sent to another.",
			Cause:   "A mix-up attack, or an issuer that differs from its metadata.",
			Repro:   "The callback has iss=https://evil.example.",
			Right:   "Refuses the answer, with both values; asks for no token.",
		}), issued, `authorize 302 .*iss=https%3A%2F%2Fevil`),
		loginCase(wrong(Case{
			ID: "CASE-350", Name: "login-iss-missing", Level: 3,
			Title:   "The answer lacks the issuer that was promised",
			Source:  ownSource,
			Symptom: "A mix-up attack is not noticed.",
			Cause:   "The parameter is stripped, or the metadata lies.",
			Repro:   "The server metadata has authorization_response_iss_parameter_supported true; the callback has no iss.",
			Right:   "Refuses the answer; asks for no token.",
		}), realm{server: advertised}, `authorization_response_iss_parameter_supported":true.*authorize 302 `),
		loginCase(wrong(Case{
			ID: "CASE-351", Name: "login-state-wrong", Level: 3,
			Title:   "The answer belongs to another login",
			Source:  ownSource,
			Symptom: "Somebody else's login is taken over.",
			Cause:   "state is not compared.",
			Repro:   "The callback has state=forged.",
			Right:   "Does not take it for its own, and goes on waiting for the one that is.",
		}), back(func(_ *exchange, values url.Values) { values.Set("state", "forged") }), `authorize 302 .*state=forged`),
		loginCase(wrong(Case{
			ID: "CASE-352", Name: "login-denied", Level: 1,
			Title:   "The person says no",
			Source:  "atlassian/atlassian-mcp-server#21",
			Symptom: `"Missing code".`,
			Cause:   "error is not read.",
			Repro:   "The callback has error=access_denied and a description, and no code.",
			Right:   "Says that the login was refused, and the description.",
		}), back(func(_ *exchange, values url.Values) {
			values.Del("code")
			values.Set("error", "access_denied")
			values.Set("error_description", "The user said no")
		}), `authorize 302 .*error=access_denied`),
		loginCase(wrong(Case{
			ID: "CASE-353", Name: "login-closed-tab", Level: 2,
			Title:   "The person closes the tab",
			Source:  "NousResearch/hermes-agent#103633",
			Symptom: "The client waits for ever, or ends with an empty error.",
			Cause:   "Nobody comes back.",
			Repro:   "The login page is a page, and never redirects.",
			Right:   "Waits as long as a person may take, shows how long that is, and ends with Ctrl-C at once.",
		}), realm{authorize: func(x *exchange, _ url.Values) bool { return page(x) }}, `authorize 200 ct="text/html`),
	}
}

// tokenCases go wrong at the token endpoint.
func tokenCases() []Case {
	answer := func(status int, contentType, body string) realm {
		return realm{token: func(x *exchange) bool {
			x.text(status, contentType, body)
			return true
		}}
	}
	wrong := func(c Case) Case {
		c.Exit = "auth; nothing is kept."
		return c
	}
	return []Case{
		loginCase(wrong(Case{
			ID: "CASE-354", Name: "login-token-500", Level: 2,
			Title:   "The token endpoint fails",
			Source:  "CopilotKit/OpenBot#344",
			Symptom: "A bare 500.",
			Cause:   "The authorization server is broken behind its login page.",
			Repro:   "/token: 500 text/plain \"upstream is down\".",
			Right:   "Names the step, the status and what the server said.",
		}), answer(http.StatusInternalServerError, "text/plain", "upstream is down\n"), `token 500 `),
		loginCase(wrong(Case{
			ID: "CASE-355", Name: "login-token-html", Level: 2,
			Title:   "The token endpoint is a web page",
			Source:  "CopilotKit/OpenBot#344",
			Symptom: `"Unexpected token '<'".`,
			Cause:   "The endpoint in the metadata is not there.",
			Repro:   "/token: 200 text/html.",
			Right:   "Names the step and what came.",
		}), realm{token: page}, `token 200 ct="text/html`),
		loginCase(wrong(Case{
			ID: "CASE-356", Name: "login-token-refused", Level: 2,
			Title:   "The code is refused",
			Source:  "openai/codex#5045",
			Symptom: `"Required argument is missing".`,
			Cause:   "The token endpoint wants something else.",
			Repro:   "/token: 400 invalid_grant with a description.",
			Right:   "Names the step, the code and the description.",
		}), realm{token: func(x *exchange) bool {
			x.tokenError("invalid_grant", "The code was issued to somebody else")
			return true
		}}, `token 400 .*invalid_grant`),
		loginCase(wrong(Case{
			ID: "CASE-357", Name: "login-token-hangs", Level: 2,
			Title:   "The token endpoint never answers",
			Source:  "CopilotKit/OpenBot#344",
			Symptom: "The browser says that all is well, and the client hangs.",
			Cause:   "No limit on the request.",
			Repro:   "/token is never answered.",
			Right:   "Gives up after 10 s, and names the step.",
		}), realm{token: func(x *exchange) bool {
			x.hold()
			return true
		}}, `token ERR `),
		loginCase(Case{
			ID: "CASE-358", Name: "login-token-slow", Level: 2,
			Title:   "The token endpoint is slow",
			Source:  ownSource,
			Symptom: "The login fails at the last step.",
			Cause:   "A limit that is too tight.",
			Repro:   "/token answers after 3 s.",
			Right:   "Waits.",
			Exit:    "ok with a browser, auth without.",
		}, realm{token: func(x *exchange) bool { return !x.s.responder.pause(x.s.responder.mainDelay(3 * time.Second)) }}, `token 200 .* SLOW`),
		loginCase(Case{
			ID: "CASE-359", Name: "login-token-text", Level: 3,
			Title:   "A token with the wrong content type",
			Source:  ownSource,
			Symptom: "Login refused: no JSON.",
			Cause:   "The answer is JSON, and says that it is text.",
			Repro:   "/token: 200 text/plain with the JSON of a token.",
			Right:   "Reads it all the same: it is what it is.",
			Exit:    "ok with a browser, auth without.",
		}, realm{plainTokens: true}, `token 200 ct="text/plain`),
		loginCase(Case{
			ID: "CASE-360", Name: "login-dpop", Level: 3,
			Title:   "Tokens are bound to a key",
			Source:  ownSource,
			Symptom: "use_dpop_nonce, or 401 with a token that is good.",
			Cause:   "The server wants proof of possession (DPoP), with a nonce.",
			Repro:   "The challenge is DPoP; /token wants a proof with its nonce, the server one for each request.",
			Right:   "Makes a key, and a proof for each request; repeats once with the nonce.",
			Exit:    "ok with a browser, auth without.",
		}, realm{proof: true}, `www-authenticate="DPoP .*token 400 .*use_dpop_nonce`),
	}
}

// laterCases are good logins that do not stay so.
func laterCases() []Case {
	down := func(x *exchange) bool {
		x.drop()
		return true
	}
	return []Case{
		loginCase(Case{
			ID: "CASE-361", Name: "login-expires", Level: 2,
			Title:   "A token that lasts a second",
			Source:  "anomalyco/opencode#34074",
			Symptom: "A login every hour.",
			Cause:   "The token is not refreshed, or the rotated refresh token is lost.",
			Repro:   "expires_in is 1; refresh tokens are good once.",
			Right:   "Refreshes before the request, once, however many ask; keeps the new refresh token.",
			Exit:    "ok after a login.",
		}, realm{lifetime: 1}, `"expires_in":1.*refreshed 200 `),
		loginCase(Case{
			ID: "CASE-362", Name: "login-refresh-revoked", Level: 2,
			Title:   "The refresh token was revoked",
			Source:  "anthropics/claude-code#85236",
			Symptom: "Unauthorized, again and again.",
			Cause:   "The operator ended the login, or somebody used the token twice.",
			Repro:   "expires_in is 1; /token refuses each refresh with invalid_grant.",
			Right:   "Says that a login is needed, and asks no more.",
			Exit:    "auth after a login.",
		}, realm{lifetime: 1, refresh: func(x *exchange) bool {
			x.tokenError("invalid_grant", "The login was ended")
			return true
		}}, `refreshed 400 .*invalid_grant`),
		loginCase(Case{
			ID: "CASE-363", Name: "login-refresh-down", Level: 2,
			Title:   "The authorization server is down when the token is refreshed",
			Source:  ownSource,
			Symptom: "The login is thrown away because of a break in the network.",
			Cause:   "Every failure of a refresh is taken for a refusal.",
			Repro:   "expires_in is 1; a refresh is dropped without an answer.",
			Right:   "Says that the authorization server did not answer, and keeps the login.",
			Exit:    "auth after a login; the login is kept.",
		}, realm{lifetime: 1, refresh: down}, `refreshed ERR `),
		loginCase(Case{
			ID: "CASE-364", Name: "login-clock-skew", Level: 3,
			Title:   "The clocks differ by an hour",
			Source:  ownSource,
			Symptom: "Tokens that expire at once, or are refused as not yet valid.",
			Cause:   "A clock is wrong.",
			Repro:   "Every answer has a Date an hour ago; the token lasts an hour.",
			Right:   "Works: lifetimes are counted from here. doctor names the difference.",
			Exit:    "ok with a browser, auth without.",
		}, realm{first: func(x *exchange) bool {
			x.set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			return false
		}}, loggedIn),
		loginCase(Case{
			ID: "CASE-365", Name: "login-issuer-moves", Level: 3,
			Title:   "The server moves to another authorization server",
			Source:  ownSource,
			Symptom: "The tokens and the client of the old one are used at the new one.",
			Cause:   "Credentials are not kept by issuer.",
			Repro: `The first token comes from http://H. When it has been used for a call, the server knows it no more, and names
			http://OTHER.`,
			Right: "Registers and logs in at the new one; sends it nothing of the old one.",
			Exit:  "ok with a browser, auth without.",
		}, realm{moves: true}, `call 200 .*after 401 .*later 200 .*"authorization_servers":\["http`),
		loginCase(Case{
			ID: "CASE-366", Name: "login-token-revoked", Level: 2,
			Title:   "A token is revoked before its time",
			Source:  "anthropics/claude-code#85236",
			Symptom: "401 until the token expires.",
			Cause:   "The client looks at the clock only.",
			Repro:   "Each access token is good for one tool call; refresh tokens go on.",
			Right:   "Refreshes on the 401, and repeats the request that was refused.",
			Exit:    "ok after a login.",
		}, realm{granted: func(x *exchange) bool {
			if x.rpc() != "tools/call" {
				return false
			}
			_, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
			x.s.grants.take(x.s.grants.access, token, true)
			return false
		}}, `call 200 .*after 401 .*refreshed 200 `),
		loginCase(Case{
			ID: "CASE-367", Name: "login-token-useless", Level: 3,
			Title:   "The server refuses the token that it sent us for",
			Source:  "sigbit/mcp-auth-proxy#123",
			Symptom: "An endless loop of logins.",
			Cause:   "The server checks another audience than the authorization server writes.",
			Repro:   "Every token gets 401 invalid_token.",
			Right:   "One login; then says that the server refuses a token that is new. What was there before is kept.",
			Exit:    "auth.",
		}, realm{granted: func(x *exchange) bool {
			realm{}.refuse(x, true)
			return true
		}}, `token 200 .*init 401 .*invalid_token`),
		loginCase(Case{
			ID: "CASE-368", Name: "login-token-echoed", Level: 3,
			Title:   "The server prints the token that a login brought",
			Source:  "sooperset/mcp-atlassian#1134",
			Symptom: "The token in the terminal and in logs.",
			Cause:   "Texts of the server are printed as they are.",
			Repro:   "tools/call: 500 text with the value of Authorization.",
			Right:   "The token is masked wherever it appears.",
			Exit:    "unknown-outcome; the token appears nowhere.",
		}, realm{granted: func(x *exchange) bool {
			if x.rpc() != "tools/call" {
				return false
			}
			x.text(http.StatusInternalServerError, "text/plain", "cannot read "+x.r.Header.Get("Authorization")+"\n")
			return true
		}}, `call 500 .*cannot read Bearer `+accessSecret),
	}
}

// scopeCases want more than a token has.
func scopeCases() []Case {
	call := func(scope string) func(*exchange, string) bool {
		return func(x *exchange, granted string) bool {
			return x.rpc() != "tools/call" || slices.Contains(strings.Fields(granted), scope)
		}
	}
	const admin = "mcp:admin"
	return []Case{
		loginCase(Case{
			ID: "CASE-369", Name: "login-step-up", Level: 2,
			Title:   "A call wants a wider scope",
			Source:  "anthropics/claude-code#68720",
			Symptom: `"Token expired".`,
			Cause:   "The challenge of the 403 is not read.",
			Repro:   "A call with mcp:read mcp:call gets 403 insufficient_scope, scope=\"mcp:admin\"; a token with it works.",
			Right:   "Asks once more, for the scopes it has and the new one, and repeats the call.",
			Exit:    "ok with a browser, auth without.",
		}, realm{enough: call(admin), wants: func(*exchange) string { return admin }}, `call 403 .*insufficient_scope.*mcp:admin`),
		loginCase(Case{
			ID: "CASE-370", Name: "login-step-up-endless", Level: 3,
			Title:   "A scope that is never enough",
			Source:  "modelcontextprotocol/typescript-sdk#1582",
			Symptom: "A browser window, and another, and another.",
			Cause:   "No bound on attempts.",
			Repro:   "Every call gets 403 insufficient_scope, each time with another scope.",
			Right:   "Asks three times at most, and names the scope.",
			Exit:    "auth.",
		}, realm{
			enough: func(x *exchange, _ string) bool { return x.rpc() != "tools/call" },
			wants:  func(x *exchange) string { return "mcp:level-" + strings.Repeat("i", x.count("levels")) },
		}, `call 403 .*mcp:level-`),
		loginCase(Case{
			ID: "CASE-371", Name: "login-call-only", Level: 2,
			Title:   "Lists are open, and calls want a login",
			Source:  "modelcontextprotocol/csharp-sdk#1866; upstash/context7#2958",
			Symptom: "Everything looks well, and the first call fails.",
			Cause:   "Only opening is watched for a challenge.",
			Repro:   "Without a token everything works but tools/call, which gets 401 with a challenge.",
			Right:   "Logs in when the call is refused, and makes it then. doctor says that calls want a login.",
			Exit:    "ok with a browser, auth for a call without.",
		}, realm{anonymous: true}, `bare 200 .*bare-call 401 .*`+loggedIn),
		loginCase(Case{
			ID: "CASE-372", Name: "login-forbidden", Level: 2,
			Title:   "403 for somebody who is logged in",
			Source:  "modelcontextprotocol/typescript-sdk#1582",
			Symptom: "A login that changes nothing.",
			Cause:   "403 is taken for 401.",
			Repro:   "With a token, tools/call gets 403 text \"your role cannot call this tool\", without a challenge.",
			Right:   "Says what the server says. No login.",
			Exit:    "auth.",
		}, realm{granted: func(x *exchange) bool {
			if x.rpc() != "tools/call" {
				return false
			}
			x.text(http.StatusForbidden, "text/plain", "your role cannot call this tool\n")
			return true
		}}, `call 403 .*your role`),
	}
}
