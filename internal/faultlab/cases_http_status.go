package faultlab

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// httpStatusCases are the cases about statuses, headers and bodies that are odd or wrong.
func httpStatusCases() []Case {
	return []Case{
		{
			ID: "CASE-018", Name: "http-401-static-bearer", Area: "http-status", Over: HTTP, Level: 1,
			Title:  "401 with no challenge: a static token is missing or wrong",
			Source: "mcpjungle/MCPJungle#289; zernio-dev/zernio-python#22",
			Symptom: `The user sees an OAuth registration or JSON parse error although the server only wants an API
			key.`,
			Cause: "Any 401 is taken as OAuth; the discovery 404 text is then shown as the error.",
			Repro: `Without "Authorization: Bearer s3cret": 401 application/json, error -32001 "Unauthorized", no
			WWW-Authenticate. Every other path: 404 text "Not Found". With the right header: healthy.`,
			Right: `No or wrong token: "401 Unauthorized; the server offers no OAuth metadata; it probably wants a
			static token: add a header". Says whether a header was sent, never its value. With the right
			token: works, and no discovery request is made.`,
			Exit:  "auth without token; ok with it.",
			http:  httpFault{request: wantStaticToken},
			check: check{want: `init 401 ct="application/json" body=.*Unauthorized`},
		},
		{
			ID: "CASE-019", Name: "http-403-call", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "403 on one call",
			Source:  "modelcontextprotocol/python-sdk#1835",
			Symptom: "The client hangs for ever on a 403.",
			Cause:   "The HTTP error is raised in a background task and never reaches the waiting request.",
			Repro: `tools/call gets 403 text/plain "Forbidden: your role cannot call this tool". initialize and list
			healthy.`,
			Right: `Fails at once with status, first line of the body, and that connecting and listing work. No
			OAuth claim when there is no challenge.`,
			Exit: "auth, within 2 s.",
			http: httpFault{request: onRPC("tools/call", func(x *exchange) {
				x.text(http.StatusForbidden, "text/plain", "Forbidden: your role cannot call this tool\n")
			})},
			check: check{want: `list 200.*call 403 .*Forbidden`},
		},
		{
			ID: "CASE-020", Name: "http-406-accept", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "Both media types must be accepted",
			Source:  "anomalyco/opencode#15103; XS-MLVP/UCAgent#127",
			Symptom: "406 on initialize, then OAuth probing and a misleading final error.",
			Cause: `Accept header lacks application/json or text/event-stream, sometimes because user headers
			replaced it.`,
			Repro: `POST without both types in Accept: 406, error -32600 "Not Acceptable: ...", id "server-error".
			Else healthy.`,
			Right: `Always sends both, also when the user adds headers. If a user header overrides Accept, doctor
			says so.`,
			Exit:  "ok. With a user header Accept: */* : ok, or http failure naming Accept.",
			http:  httpFault{request: wantBothTypes},
			check: check{header: map[string]string{"Accept": "*/*"}, want: `init 406 .*Not Acceptable`},
		},
		{
			ID: "CASE-021", Name: "http-500-call", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "500 during a tool call",
			Source:  "PrefectHQ/fastmcp#2595; modelcontextprotocol/python-sdk#1010",
			Symptom: "The client waits for ever.",
			Cause:   "Transport error not passed to the caller.",
			Repro:   `tools/call gets 500 text/plain "Internal Server Error". Else healthy.`,
			Right:   `Fails at once with "500 from the server during tools/call". Does not repeat the call.`,
			Exit:    "non-zero, http or protocol class, within 2 s; 1 POST of tools/call.",
			http: httpFault{request: onRPC("tools/call", func(x *exchange) {
				x.text(http.StatusInternalServerError, "text/plain; charset=utf-8", "Internal Server Error\n")
			})},
			check: check{want: `list 200.*call 500`},
		},
		{
			ID: "CASE-022", Name: "http-503-retry-after", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "503 with Retry-After during start-up",
			Source:  "nicobailon/pi-mcp-adapter#424",
			Symptom: "A service that is warming up is reported as misconfigured.",
			Cause:   "503 handled like a permanent error.",
			Repro: `The first initialize gets 503 text/plain with Retry-After: 2 (remaining seconds); so does any
			other within 2 s; then healthy. The cycle restarts at the next run.`,
			Right: `Waits as told (within the connect limit) and connects; says so on stderr when it waits more than
			about a second.`,
			Exit: "ok in 2-5 s.",
			http: httpFault{request: warmingUp},
			check: check{
				want: `init 503 .*retry-after="\d".*init2 200.*list 200`,
				drive: func(p *httpProbe) {
					p.initialize("init")
					p.pause(2100 * time.Millisecond)
					p.initialize("init2")
					p.ready()
					p.list()
					p.finish()
				},
			},
		},
		{
			ID: "CASE-023", Name: "http-429-burst", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Rate limit hits the second handshake request",
			Source:  "awslabs/mcp#2949",
			Symptom: "initialize works, tools/list gets 429 and the server is marked failed.",
			Cause:   "Strict rate limit; the client does not honour Retry-After.",
			Repro: `Each JSON-RPC request after an accepted one gets 429, Retry-After: 2, body with both result null
			and error -32004, until 1.5 s after the first of them. Notifications and server/discover are not counted.`,
			Right: "Waits Retry-After and repeats (429 means not executed). Keeps the number of requests small.",
			Exit:  "ok; a call takes a few seconds.",
			http:  httpFault{request: rateLimit},
			check: check{want: `init 200.*(ping|list) 429 .*retry-after="2".*"result":null`},
		},
		{
			ID: "CASE-024", Name: "http-421-host", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "421 Invalid Host header",
			Source:  "modelcontextprotocol/python-sdk#1798; awslabs/mcp#4507",
			Symptom: "Server works with curl on localhost but not by name or behind a proxy.",
			Cause:   "DNS-rebinding protection allows only listed Host values.",
			Repro: `Host other than localhost:PORT gets 421 text/plain "Invalid Host header". With
			http://localhost:PORT healthy.`,
			Right: `Via 127.0.0.1: "421: the server rejects Host 127.0.0.1:PORT; use a host name it allows or extend
			its allowed hosts". Not treated as OAuth or SSE fallback.`,
			Exit: "connect via 127.0.0.1; ok via localhost.",
			http: httpFault{
				request: func(x *exchange) bool {
					if strings.HasPrefix(x.r.Host, "localhost:") {
						return false
					}
					x.text(http.StatusMisdirectedRequest, "text/plain; charset=utf-8", "Invalid Host header")
					return true
				},
				url: func(origin string) string { return strings.Replace(origin, "127.0.0.1", "localhost", 1) + "/mcp" },
			},
			check: check{
				want: `url=http://localhost.*by-address 421 .*Invalid Host header.*init 200`,
				drive: func(p *httpProbe) {
					p.send("by-address", http.MethodPost, p.server.Origin+"/mcp", initializeBody())
					p.usual()
				},
			},
		},
		{
			ID: "CASE-025", Name: "http-html-200", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "URL is a web page",
			Source:  "NousResearch/hermes-agent#36058",
			Symptom: `The client waits its whole limit, or prints "Unexpected token <".`,
			Cause:   "200 text/html to everything.",
			Repro:   `Every request gets 200 text/html with a sign-in page titled "Sign in - Corp SSO".`,
			Right: `Fails in about a second: "not an MCP endpoint: POST initialize returned text/html (page title
			...)"; suggests checking the path.`,
			Exit: "connect or protocol; well before the connect limit.",
			http: httpFault{request: func(x *exchange) bool {
				x.text(http.StatusOK, "text/html; charset=utf-8", signInPage)
				return true
			}},
			check: check{want: `init 200 ct="text/html.*Sign in - Corp SSO`},
		},
		{
			ID: "CASE-026", Name: "http-html-get-post-ok", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Page on GET, MCP on POST",
			Source:  "NousResearch/hermes-agent#57958; NousResearch/hermes-agent#37598",
			Symptom: "A preflight GET rejects a healthy server.",
			Cause:   "The probe judges by GET or HEAD; streamable HTTP is a POST protocol.",
			Repro:   "GET and HEAD get 200 text/html. POST healthy.",
			Right: `Healthy. Any preflight uses POST initialize as the judge. doctor may note that GET serves a
			page.`,
			Exit:  "ok.",
			http:  httpFault{request: onGet(func(x *exchange) { x.text(http.StatusOK, "text/html; charset=utf-8", webApp) })},
			check: check{want: `call 200.*get 200 ct="text/html`},
		},
		{
			ID: "CASE-027", Name: "http-login-redirect", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "POST redirected to a login page",
			Source:  "NousResearch/hermes-agent#49845",
			Symptom: `"Returned text/html" with no hint that a redirect took place.`,
			Cause:   "Proxy SSO answers 302 to a login form.",
			Repro: `Any request to /mcp gets 302 Location: /login?next=%2Fmcp; GET /login gets 200 text/html sign-in
			page.`,
			Right: `"POST was redirected (302) to /login, which is a web sign-in page: the server is behind a login
			proxy". Does not turn POST into GET and then parse HTML as MCP.`,
			Exit: "auth or connect.",
			http: httpFault{request: func(x *exchange) bool {
				switch x.r.URL.Path {
				case "/login":
					x.text(http.StatusOK, "text/html; charset=utf-8", signInPage)
				case "/mcp":
					x.redirect(http.StatusFound, "/login?next=%2Fmcp")
				default:
					return false
				}
				return true
			}},
			check: check{want: `init 302 .*location="/login`},
		},
		{
			ID: "CASE-028", Name: "http-wrong-path", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "Base URL given without /mcp",
			Source:  "czlonkowski/n8n-mcp#29; wong2/mcp-cli#9",
			Symptom: `404 "Cannot POST /".`,
			Cause:   "Endpoint path missing in the configuration.",
			Repro:   `URL is the server root. / gets 404 text/html "Cannot POST /"; /mcp is healthy.`,
			Right:   `"404 at /: no MCP endpoint here"; doctor tries /mcp and /sse once and reports that /mcp answers.`,
			Exit:    "connect.",
			http:    httpFault{path: "/"},
			check:   check{want: `init 404 ct="text/html.*Cannot POST /<`},
		},
		{
			ID: "CASE-029", Name: "http-hang", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Call accepted, never answered",
			Source:  "anthropics/claude-code#69593",
			Symptom: "The command hangs with no limit.",
			Cause:   "No client-side timeout on calls.",
			Repro:   "tools/call is read and never answered; the connection stays open. Else healthy.",
			Right: `Ends at the call limit with "no response to tools/call within N s"; the outcome is unknown, so
			no repeat. The limit can be set per call.`,
			Exit:  "timeout, within limit + 2 s.",
			http:  httpFault{request: onRPC("tools/call", (*exchange).hold)},
			check: check{want: `list 200.*call ERR .*deadline`},
		},
		{
			ID: "CASE-030", Name: "notif-hang", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Notification POST never completes",
			Source:  "wevm/vocs#484",
			Symptom: "Connects, then freezes before tools/list.",
			Cause:   "Server waits for a response object for notifications.",
			Repro:   "POST of a notification is never answered. The session counts as initialized. Else healthy.",
			Right: `Bounds the wait for notifications (a few seconds), then carries on; doctor warns
			"notifications/initialized POST was not answered".`,
			Exit: "ok for list and call, well under the connect limit.",
			http: httpFault{request: func(x *exchange) bool {
				if x.m == nil || !x.m.isNotification() {
					return false
				}
				x.s.responder.note(x.m)
				x.hold()
				return true
			}},
			check: check{want: `note ERR .*deadline.*list 200`},
		},
		{
			ID: "CASE-031", Name: "ctype-missing", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "JSON without a Content-Type",
			Source:  "modelcontextprotocol/rust-sdk#849",
			Symptom: `"Unexpected content type: none".`,
			Cause:   "Server omits the header.",
			Repro:   "JSON responses have no Content-Type header. Else healthy.",
			Right:   "Sniffs: body starting with { or [ is JSON. Works, doctor warns.",
			Exit:    "ok.",
			http: httpFault{reply: func(x *exchange, frame string) {
				x.w.Header()["Content-Type"] = nil // or net/http would guess one
				_, _ = io.WriteString(x.w, frame)
			}},
			check: check{want: `init 200 ct="".*body=\{"jsonrpc`},
		},
		{
			ID: "CASE-032", Name: "gzip-header-lie", Area: "http-status", Over: HTTP, Level: 3,
			Title:   "Header says gzip, body is plain",
			Source:  "neutree-ai/agent-platform#224",
			Symptom: "Client waits or shows an obscure decompression error; the server looks fine in its own log.",
			Cause:   "A proxy decoded the body but passed the header on.",
			Repro:   "JSON responses carry Content-Encoding: gzip with plain JSON bytes. Else healthy.",
			Right: `Either falls back to plain when the gzip magic is absent, or fails at once: "Content-Encoding
			says gzip but the body is not gzip (starts with {): suspect a proxy".`,
			Exit: "ok or protocol; no hang.",
			http: httpFault{reply: func(x *exchange, frame string) {
				x.set("Content-Encoding", "gzip")
				x.json(http.StatusOK, frame)
			}},
			check: check{want: `init 200 .*content-encoding="gzip".*body=\{"jsonrpc`},
		},
		{
			ID: "CASE-033", Name: "http-404-406-get", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "GET refused with 404 or 406 on a healthy server",
			Source:  "modelcontextprotocol/typescript-sdk#1635",
			Symptom: "POST works, but the client gives up because GET is not 405.",
			Cause:   `Only 405 is treated as "no stream".`,
			Repro:   "GET gets 404 text/plain and 406 JSON in turn. POST and DELETE healthy.",
			Right:   "Healthy.",
			Exit:    "ok; doctor ok.",
			http: httpFault{request: onGet(func(x *exchange) {
				if x.count("get")%2 == 1 {
					x.text(http.StatusNotFound, "text/plain", "Not Found")
					return
				}
				x.json(http.StatusNotAcceptable, errorFrame("null", codeInvalidRequest, "Not Acceptable"))
			})},
			check: check{
				want: `call 200.*get 404.*get2 406`,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.callTool()
					p.get("get", "")
					p.get("get2", "")
				},
			},
		},
		{
			ID: "CASE-034", Name: "http-429-long", Area: "http-status", Over: HTTP, Level: 3,
			Title:   "Retry-After longer than the limit",
			Source:  "basicmachines-co/basic-memory#1378",
			Symptom: "The tool sleeps two minutes, or hammers the server.",
			Cause:   "Retry-After followed blindly or not at all.",
			Repro:   "tools/list and tools/call always get 429, Retry-After: 120, text/plain.",
			Right:   `Fails promptly: "rate limited; server asks to wait 120 s, more than the limit of N s".`,
			Exit:    "non-zero, rate-limit or http class, under 5 s; at most 2 requests of that method.",
			http: httpFault{request: func(x *exchange) bool {
				if x.rpc() != "tools/list" && x.rpc() != "tools/call" {
					return false
				}
				x.set("Retry-After", "120")
				x.text(http.StatusTooManyRequests, "text/plain", "Too Many Requests\n")
				return true
			}},
			check: check{want: `init 200.*list 429 .*retry-after="120"`},
		},
		{
			ID: "CASE-035", Name: "http-headers-stall", Area: "http-status", Over: HTTP, Level: 3,
			Title:   "Headers arrive, the body never does",
			Source:  "neutree-ai/agent-platform#224; NVIDIA-NeMo/labs-OO-Agents#46",
			Symptom: "200 seen in the network log, then nothing.",
			Cause:   "Timeouts cover only the response header.",
			Repro: `Requests after initialize get 200, Content-Type: application/json, Content-Length: 500, then no
			bytes; connection stays open.`,
			Right: `The call limit covers the body: "200 received but no body within N s (0 of 500 bytes)".`,
			Exit:  "timeout.",
			http: httpFault{reply: func(x *exchange, frame string) {
				if x.rpc() == "initialize" {
					x.json(http.StatusOK, frame)
					return
				}
				x.set("Content-Type", "application/json")
				x.set("Content-Length", "500")
				x.w.WriteHeader(http.StatusOK)
				x.flush()
				x.hold()
			}},
			check: check{want: `init 200.*list 200 ct="application/json".*readerr=context deadline`},
		},
		{
			ID: "CASE-036", Name: "http-conn-reuse-eof", Area: "http-status", Over: HTTP, Level: 3,
			Title:   "Server closes reused connections",
			Source:  "mcheemaa/mistri#26",
			Symptom: "Every second request fails with EOF.",
			Cause:   "A proxy drops kept-alive connections; POST is not retried by HTTP libraries.",
			Repro: `The first request on a TCP connection is served with keep-alive; the second on the same
			connection is read and the connection closed without a reply. A new connection works.`,
			Right: `list works (retry on a new connection, or no reuse). A tools/call that hits this is not blindly
			repeated; best is to avoid reuse for tools/call.`,
			Exit: "ok for list; call ok or unknown-outcome, executed at most once.",
			http: httpFault{request: func(x *exchange) bool {
				if x.onConnection == 1 {
					return false
				}
				x.s.log("closed_reused_connection", "rpc", x.rpc())
				x.drop()
				return true
			}},
			check: check{want: `init 200.*(note|ping|list) ERR .*EOF.*closed_reused_connection`},
		},
		{
			ID: "CASE-401", Name: "gateway-bot-check", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "A bot check of a proxy answers with 403",
			Source:  "BingoWon/apple-rag-mcp#3; anthropics/claude-ai-mcp#279; NSHipster/sosumi.ai#22",
			Symptom: "The client asks for a token, or starts a login; the server's log shows no request.",
			Cause:   "The protection before the server takes programs for bots. Any 403 is taken for a matter of authorization.",
			Repro:   `Every request gets 403 text/html, titled "Just a moment...", with cf-mitigated: challenge.`,
			Right:   "Says that a bot check answers and not the server, and that no token helps.",
			Exit:    "connect.",
			http: httpFault{request: instead(http.StatusForbidden, "text/html; charset=UTF-8",
				`<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body></body></html>`,
				"Server", "cloudflare", "Cf-Mitigated", "challenge")},
			check: check{want: `init 403 .*Just a moment`},
		},
		{
			ID: "CASE-402", Name: "gateway-unreachable", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "A proxy that does not get to the server",
			Source:  "anthropics/claude-ai-mcp#63",
			Symptom: "The owner looks into the server's log, which shows nothing.",
			Cause:   "The request never got there: the tunnel has no route, the firewall lets nobody in.",
			Repro:   `Every request gets 530 text/plain "error code: 1033".`,
			Right:   "Says that the tunnel is not up. Does not send anybody to the server's log.",
			Exit:    "connect.",
			http:    httpFault{request: instead(530, "text/plain; charset=UTF-8", "error code: 1033", "Server", "cloudflare")},
			check:   check{want: `init 530 .*error code: 1033`},
		},
		{
			ID: "CASE-403", Name: "gateway-timeout-call", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "A proxy gives up waiting for a tool",
			Source:  "obot-platform/obot#3266; stacklok/toolhive#1576",
			Symptom: "A page of HTML in place of a result; the tool ran on.",
			Cause:   "The proxy waits for a minute or two, and the tool takes longer.",
			Repro:   "tools/call gets 524 text/html. Nobody can know whether the tool ran.",
			Right:   "Says that a proxy gave up, that the tool may have run, and whose limit to raise. Does not repeat the call.",
			Exit:    "unknown-outcome.",
			http: httpFault{request: onRPC("tools/call", func(x *exchange) {
				x.set("Server", "cloudflare")
				x.text(524, "text/html; charset=UTF-8", "<html><head><title>mcp.example | 524: A timeout occurred</title></head></html>")
			})},
			check: check{want: `list 200.*call 524 .*A timeout occurred`},
		},
		{
			ID: "CASE-404", Name: "body-too-large", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "Arguments larger than a proxy takes",
			Source:  "PrefectHQ/fastmcp#854; stdapi-ai/stdapi.ai#140",
			Symptom: "413 for a tool that is given a file, and nobody knows from whom.",
			Cause:   "A limit of the framework or the proxy on the size of requests.",
			Repro:   "tools/call gets 413 text/html in the words of nginx.",
			Right:   "Says that the request is too large, and where such limits are set.",
			Exit:    "protocol.",
			http: httpFault{request: onRPC("tools/call", func(x *exchange) {
				x.set("Server", "nginx/1.25.3")
				x.text(http.StatusRequestEntityTooLarge, "text/html", "<html><head><title>413 Request Entity Too Large</title></head></html>")
			})},
			check: check{want: `list 200.*call 413 `},
		},
		{
			ID: "CASE-405", Name: "gateway-route-403", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "403 in the words of a missing token, for a missing route",
			Source:  "aws/chalice#12",
			Symptom: "People look for the right token, and the path is wrong.",
			Cause:   "AWS API Gateway answers so for every path and method that it does not have.",
			Repro:   `Every request gets 403 {"message":"Missing Authentication Token"} with x-amzn-ErrorType.`,
			Right:   "Says that the gateway has no such route.",
			Exit:    "connect.",
			http: httpFault{request: instead(http.StatusForbidden, "application/json", `{"message":"Missing Authentication Token"}`,
				"X-Amzn-Errortype", "MissingAuthenticationTokenException")},
			check: check{want: `init 403 .*Missing Authentication Token`},
		},
		{
			ID: "CASE-406", Name: "auth-400", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "400 where 401 is meant",
			Source:  "PrefectHQ/fastmcp#2461; byadsco/meta-ads-mcp#61; github/github-mcp-server#525",
			Symptom: "A bad request, says the client; the older transport is tried; nobody thinks of the token.",
			Cause:   "The status says nothing of authorization, only the words do.",
			Repro:   `Without the right token, every request gets 400 {"error":"invalid_token","error_description":"The access token expired"}.`,
			Right:   "Takes it for a matter of authorization, says whether a token was sent, and what to do.",
			Exit:    "auth.",
			http: httpFault{request: instead(http.StatusBadRequest, "application/json",
				`{"error":"invalid_token","error_description":"The access token expired"}`)},
			check: check{want: `init 400 .*invalid_token`},
		},
		{
			ID: "CASE-407", Name: "gateway-login", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "The login of a proxy at another address",
			Source:  "UsefulSoftwareCo/executor#1803; UsefulSoftwareCo/executor#1130",
			Symptom: "The client tells people to use the address of a login page.",
			Cause:   "Cloudflare Access redirects what is not logged in.",
			Repro:   "Every request gets 302 to https://corp.cloudflareaccess.com/cdn-cgi/access/login/mcp.example.",
			Right:   "Says that a login stands before the server, and how a program gets past it.",
			Exit:    "connect.",
			http: httpFault{request: func(x *exchange) bool {
				x.redirect(http.StatusFound, "https://corp.cloudflareaccess.com/cdn-cgi/access/login/mcp.example?kid=1")
				return true
			}},
			check: check{want: `init 302 .*cloudflareaccess`},
		},
		{
			ID: "CASE-408", Name: "ctype-text", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "JSON that is called text/plain",
			Source:  "modelcontextprotocol/java-sdk#748; ThinkInAIXYZ/go-mcp#136",
			Symptom: "Unknown media type; the same server works with other clients.",
			Cause:   "The framework sets its own content type; some clients look for the word json in it, some at the body.",
			Repro:   "Every response is JSON with Content-Type: text/plain; charset=utf-8.",
			Right:   "Takes the message for what it is; doctor warns.",
			Exit:    "ok.",
			http: httpFault{reply: func(x *exchange, frame string) {
				x.text(http.StatusOK, "text/plain; charset=utf-8", frame)
			}},
			check: check{want: `init 200 ct="text/plain.*protocolVersion`},
		},
		{
			ID: "CASE-484", Name: "ctype-html", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "JSON that is called text/html",
			Source:  "kaltura/all-in-one-video-pack.wordpress#55; expressly/woocommerce#13",
			Symptom: "The client speaks of a web page, and there is none.",
			Cause:   "PHP says text/html of everything for which a script says nothing.",
			Repro:   "Every response is JSON with Content-Type: text/html; charset=UTF-8.",
			Right:   "Takes the message for what it is; doctor warns.",
			Exit:    "ok.",
			http: httpFault{reply: func(x *exchange, frame string) {
				x.text(http.StatusOK, "text/html; charset=UTF-8", frame)
			}},
			check: check{want: `init 200 ct="text/html.*protocolVersion`},
		},
		{
			ID: "CASE-485", Name: "gateway-csrf", Area: "http-status", Over: HTTP, Level: 1,
			Title:   "A web framework's check against forged forms",
			Source:  "vitalik/django-ninja#1464",
			Symptom: "403: the client asks for a token, and no token helps.",
			Cause:   "The endpoint is a route among those for browsers, whose POST has to carry a CSRF token.",
			Repro:   `Every POST gets 403 text/html, "CSRF verification failed. Request aborted.".`,
			Right:   "Says that this check refused the POST, and where to switch it off. Speaks of no token of the server's.",
			Exit:    "connect.",
			http: httpFault{request: onMethod(http.MethodPost, func(x *exchange) {
				x.text(http.StatusForbidden, "text/html; charset=utf-8",
					"<html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1><p>CSRF verification failed. Request aborted.</p></body></html>")
			})},
			check: check{want: `init 403 .*CSRF verification failed`},
		},
		{
			ID: "CASE-486", Name: "gateway-key", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "A gateway that wants its own key",
			Source:  "MicrosoftDocs/azure-docs#15130",
			Symptom: "401, and the token of the server does not help.",
			Cause:   "The gateway wants a key in a header of its own.",
			Repro:   `Every request gets 401 in the words of Azure API Management without a subscription key.`,
			Right:   "Names the gateway, and the header.",
			Exit:    "auth.",
			http: httpFault{request: instead(http.StatusUnauthorized, "application/json",
				`{ "statusCode": 401, "message": "Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API." }`)},
			check: check{want: `init 401 .*missing subscription key`},
		},
		{
			ID: "CASE-450", Name: "gateway-keeps-session-id", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Proxy that drops Mcp-Session-Id from the answers",
			Source:  "agentic-community/mcp-gateway-registry#1096",
			Symptom: `initialize succeeds, and the next request gets 400 "Missing session ID".`,
			Cause:   "The proxy passes on status and body only, so the client never gets the id that the server wants from it.",
			Repro: `Healthy, but no answer has the header Mcp-Session-Id. Without it a request gets 400, error -32600
			"Bad Request: Missing session ID".`,
			Right: "Says that the server wants an id that it never gave, and to let the header through a proxy. Exactly one handshake.",
			Exit:  "connect, protocol or session with that sentence.",
			http: httpFault{request: wantsSession, reply: func(x *exchange, frame string) {
				x.w.Header().Del("Mcp-Session-Id")
				x.json(http.StatusOK, frame)
			}},
			check: check{want: `init 200 ct="application/json" body=.*note 400 .*Missing session ID`},
		},
		{
			ID: "CASE-451", Name: "gateway-drops-session-id", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "Proxy that drops Mcp-Session-Id from the requests",
			Source:  "modelcontextprotocol/csharp-sdk#1759; envoyproxy/ai-gateway#1555",
			Symptom: `400 "Missing session ID", although the client sends one.`,
			Cause:   "The proxy passes on headers that it knows only.",
			Repro:   `Healthy, but requests reach the server without Mcp-Session-Id: 400, error -32600 "Bad Request: Missing session ID".`,
			Right: `Says that the id was sent, and did not arrive. Opens no further sessions for it: each would be
			refused in the same way.`,
			Exit: "connect, protocol or session with that sentence.",
			http: httpFault{request: func(x *exchange) bool {
				x.r.Header.Del("Mcp-Session-Id")
				return wantsSession(x)
			}},
			check: check{want: `init 200 .*mcp-session-id="sess-1-.*note 400 .*Missing session ID`},
		},
		{
			ID: "CASE-471", Name: "gateway-keeps-session-id-node", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "The same before a server that takes what has no id for a new session",
			Source:  "modelcontextprotocol/typescript-sdk#412",
			Symptom: `"Bad Request: Server not initialized", right after initialize.`,
			Cause:   `As in "Proxy that drops Mcp-Session-Id from the answers"; the server makes a new transport for each request without an id.`,
			Repro: `Healthy, but no answer has the header Mcp-Session-Id. Without it a request gets 400, error -32000
			"Bad Request: Server not initialized".`,
			Right: "The same: the words are about a missing id, not about the handshake.",
			Exit:  "connect, protocol or session with that sentence.",
			http: httpFault{request: wantsHandshake, reply: func(x *exchange, frame string) {
				x.w.Header().Del("Mcp-Session-Id")
				x.json(http.StatusOK, frame)
			}},
			check: check{want: `init 200 ct="application/json" body=.*note 400 .*Server not initialized`},
		},
		{
			ID: "CASE-472", Name: "gateway-drops-session-id-node", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "The same, with the header dropped from the requests",
			Source:  "modelcontextprotocol/typescript-sdk#412",
			Symptom: `"Bad Request: Server not initialized", although the client sends an id.`,
			Cause:   `As in "Proxy that drops Mcp-Session-Id from the requests".`,
			Repro:   `Healthy, but requests reach the server without Mcp-Session-Id: 400, error -32000 "Bad Request: Server not initialized".`,
			Right: `Names the proxy that drops the header beside several instances; doctor, which sees that no request
			is ever accepted, does not blame several instances.`,
			Exit: "session with that sentence.",
			http: httpFault{request: func(x *exchange) bool {
				x.r.Header.Del("Mcp-Session-Id")
				return wantsHandshake(x)
			}},
			check: check{want: `init 200 .*mcp-session-id="sess-1-.*note 400 .*Server not initialized`},
		},
		{
			ID: "CASE-460", Name: "app-not-started", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "500 from a mounted app whose lifespan never ran",
			Source:  "modelcontextprotocol/python-sdk#1716; PrefectHQ/fastmcp#518; OpenOSINT/OpenOSINT#41",
			Symptom: `"500 Internal Server Error" and nothing else; the reason stands in the server's log only.`,
			Cause:   "The MCP app is mounted in a FastAPI or Starlette app, which does not run the lifespan of what it mounts.",
			Repro:   `Every request gets 500 text/plain "Internal Server Error", Server: uvicorn.`,
			Right:   "Names the usual reason beside the server's log.",
			Exit:    "connect.",
			http:    httpFault{request: instead(http.StatusInternalServerError, "text/plain; charset=utf-8", "Internal Server Error", "Server", "uvicorn")},
			check:   check{want: `init 500 ct="text/plain; charset=utf-8" body=Internal Server Error`},
		},
		{
			ID: "CASE-456", Name: "answer-on-get-stream", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "202 for a request; the response goes to the stream of a GET",
			Source:  "modelcontextprotocol/python-sdk#1661; modelcontextprotocol/ruby-sdk#294",
			Symptom: "initialize works, and tools/list times out.",
			Cause:   "The server mixes the older transport into the newer one: it answers POST with 202 and sends the response on a stream that the client may have opened with GET.",
			Repro:   "initialize is healthy. Every other request gets 202 without a body, and is run; its response is written nowhere.",
			Right:   "Fails at once: 202 is for notifications, and the response went elsewhere. No repeat.",
			Exit:    "protocol with that sentence, under 3 s.",
			http: httpFault{live: func(x *exchange, _ *session) bool {
				x.w.WriteHeader(http.StatusAccepted)
				x.s.responder.handle(x.m, func(string) { x.s.log("answered_elsewhere", "rpc", x.rpc()) })
				return true
			}},
			check: check{want: `init 200 .*list 202 ct="" body= .*call 202 .*"echo":1.*answered_elsewhere`},
		},
		{
			ID: "CASE-504", Name: "gateway-payment", Area: "http-status", Over: HTTP, Level: 2,
			Title:   "A server that wants to be paid",
			Source:  "x402-foundation/x402#376; PrefectHQ/fastmcp#3612; apify/apify-mcp-server#607",
			Symptom: "HTTP 402, and nobody says what to do about it.",
			Cause:   "The server takes payments for calls (x402); the client knows none.",
			Repro:   `tools/call gets 402 {"x402Version":1,"error":"X-PAYMENT header is required","accepts":[…]}.`,
			Right:   "Says that a payment is wanted, shows what for, and pays nothing.",
			Exit:    "protocol.",
			http: httpFault{request: onRPC("tools/call", func(x *exchange) {
				x.json(http.StatusPaymentRequired, `{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000"}]}`)
			})},
			check: check{want: `list 200.*call 402 .*X-PAYMENT`},
		},
	}
}

// wantsSession refuses a POST without a session id, in the words of the Python SDK.
func wantsSession(x *exchange) bool {
	return x.wants(errorFrame(`"server-error"`, codeInvalidRequest, "Bad Request: Missing session ID"))
}

// wantsHandshake does so in the words of the TypeScript SDK for a transport that has seen no handshake.
func wantsHandshake(x *exchange) bool {
	return x.wants(errorFrame("null", -32000, "Bad Request: Server not initialized"))
}

// wants refuses a POST without a session id.
func (x *exchange) wants(refusal string) bool {
	if x.r.Method != http.MethodPost || x.rpc() == "initialize" || x.sessionID() != "" {
		return false
	}
	x.json(http.StatusBadRequest, refusal)
	return true
}

const (
	signInPage = "<!DOCTYPE html>\n<html><head><title>Sign in - Corp SSO</title></head><body><form action=\"/login\" method=\"post\">" +
		"<input name=\"user\"><input name=\"password\" type=\"password\"></form></body></html>\n"
	webApp = "<!doctype html><html><head><title>Dashboard</title></head><body><div id=\"root\"></div></body></html>\n"
)

// wantBothTypes refuses a POST that does not accept JSON and event streams.
func wantBothTypes(x *exchange) bool {
	accept := x.r.Header.Get("Accept")
	if x.r.Method != http.MethodPost ||
		(strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")) {
		return false
	}
	x.json(http.StatusNotAcceptable, errorFrame(`"server-error"`, codeInvalidRequest,
		"Not Acceptable: Client must accept both application/json and text/event-stream"))
	return true
}

// warmingUp refuses initialize for two seconds, counted from the first one. After a success it starts again.
func warmingUp(x *exchange) bool {
	if x.rpc() != "initialize" {
		return false
	}
	now := time.Now()
	x.s.mu.Lock()
	ready, ok := x.s.marks["ready"]
	if !ok {
		ready = now.Add(2 * time.Second)
		x.s.marks["ready"] = ready
	}
	wait := ready.Sub(now)
	if wait <= 0 {
		delete(x.s.marks, "ready")
	}
	x.s.mu.Unlock()
	if wait <= 0 {
		return false
	}
	x.set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	x.text(http.StatusServiceUnavailable, "text/plain", "Service Unavailable: warming up\n")
	return true
}

// rateLimit refuses each request that follows one it accepted, until a moment after it has refused the first: however slow the
// client is.
func rateLimit(x *exchange) bool {
	if x.m == nil || !x.m.isRequest() || x.rpc() == "server/discover" {
		return false
	}
	x.s.mu.Lock()
	_, later := x.s.marks["accepted"]
	refused, waited := x.s.marks["refused"]
	accept := !later || waited && time.Since(refused) > 1500*time.Millisecond
	switch {
	case accept:
		x.s.marks["accepted"] = time.Now()
		delete(x.s.marks, "refused")
	case !waited:
		x.s.marks["refused"] = time.Now()
	}
	x.s.mu.Unlock()
	if accept {
		return false
	}
	x.set("Retry-After", "2")
	x.json(http.StatusTooManyRequests, `{"jsonrpc":"2.0","id":`+x.id()+
		`,"result":null,"error":{"code":-32004,"message":"Too many requests. Please try again later."}}`)
	return true
}

// instead answers every request in place of the server. What follows the body are names and values of headers.
func instead(status int, contentType, body string, headers ...string) func(*exchange) bool {
	return func(x *exchange) bool {
		for i := 0; i+1 < len(headers); i += 2 {
			x.set(headers[i], headers[i+1])
		}
		x.text(status, contentType, body)
		return true
	}
}
