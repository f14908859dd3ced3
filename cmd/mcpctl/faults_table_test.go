//go:build unix

package main

import (
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// The two commands that every case is tried with, as long as they show its fault.
const (
	list = "tools SERVER"
	echo = "call SERVER echo text=hi"
)

// fine is what is right for a fault that a client has to cope with by itself.
func fine() []faultRun { return []faultRun{{do: list}, {do: echo}} }

// alike returns the run with both commands, for a fault that stands in the way of either.
func alike(run faultRun) []faultRun {
	tools, call := run, run
	tools.do, call.do = list+run.do, echo+run.do
	return []faultRun{tools, call}
}

// recovers is what is right when the first session dies under its first request.
func recovers(run faultRun) []faultRun {
	run.handshakes = 2
	run.tells = append(slices.Clone(run.tells), `session was lost .* and replaced in \d`)
	return alike(run)
}

// faultTable is what is right for every case, in the order of the catalogue.
func faultTable() []faultCase {
	return slices.Concat(
		sessionFaults(), httpStatusFaults(), redirectFaults(), sseFaults(), lifecycleFaults(), jsonrpcFaults(),
		listingFaults(), stdioFaults(), networkFaults(),
	)
}

func sessionFaults() []faultCase {
	return []faultCase{
		{name: "session-404-restart", runs: recovers(faultRun{})},
		{name: "session-400-no-valid-id", runs: recovers(faultRun{})},
		{name: "session-200-invalid-params", runs: recovers(faultRun{})},
		{name: "session-fresh-wait", runs: slices.Concat(
			recovers(faultRun{delay: 1500 * time.Millisecond}),
			alike(faultRun{
				do: " --timeout 2s", delay: time.Minute, limit: 2 * time.Second, early: true,
				class: "timeout", says: []string{`session was lost`, `no answer within timeout 2s`, `503`}, undeleted: true,
			}),
		)},
		{name: "session-always-dead", runs: alike(faultRun{
			class: "session", says: []string{`accepted and lost again at once`, `several instances`}, handshakes: 2,
		})},
		{name: "session-replacement-no-id", runs: alike(faultRun{
			handshakes: 2, undeleted: true, why: "The second session has no id, so there is nothing to delete.",
		})},
		{name: "session-needs-initialized", runs: recovers(faultRun{})},
		{name: "session-lb-alternate", runs: alike(faultRun{
			class: "session", says: []string{`session`, `404`, `several instances without shared sessions`}, undeleted: true,
		})},
		{name: "session-delete-405", runs: alike(faultRun{handshakes: 1, undeleted: true})},
		{name: "session-401-stale", runs: recovers(faultRun{})},
		{name: "session-200-not-initialized", runs: recovers(faultRun{})},
		{name: "session-409-conflict", runs: recovers(faultRun{})},
		{name: "session-503-then-404", runs: recovers(faultRun{})},
		{name: "session-404-malformed", runs: recovers(faultRun{})},
		{name: "session-delete-hang", runs: alike(faultRun{handshakes: 1, undeleted: true})},
		{name: "replay-hazard-drop", runs: []faultRun{
			{do: list},
			{do: "call SERVER peek", out: []string{`^0$`}, calls: 2, execs: 1},
			{
				do: "call SERVER increment", class: "unknown-outcome", execs: 1, calls: 1, outcome: "unknown",
				says: []string{`may have been executed`, `not repeated`, `check`},
			},
		}},
		{name: "replay-safe-list", runs: alike(faultRun{tells: []string{`was lost .* and replaced in`}})},
	}
}

func httpStatusFaults() []faultCase {
	return []faultCase{
		{name: "http-401-static-bearer", runs: slices.Concat(
			alike(faultRun{class: "auth", says: []string{`401`, `static token: --header`, `no OAuth metadata`, `no Authorization header was sent`}, never: []string{"s3cret"}}),
			alike(faultRun{
				do: " -H '{AUTHORIZATION}'", class: "auth", says: []string{`401`, `no OAuth metadata`, `an Authorization header was sent`},
			}),
			alike(faultRun{do: " -H 'Authorization: Bearer Bearer s3cret'", class: "auth", says: []string{`401`, `begins with Bearer twice`}, never: []string{"s3cret"}}),
			alike(faultRun{do: " -H 'Authorization: Bearer s3cret'", never: []string{"s3cret"}, handshakes: 1}),
		)},
		{name: "http-403-call", runs: []faultRun{
			{do: list},
			{
				do: echo, class: "auth", calls: 1, outcome: "refused",
				says: []string{`tools/call`, `403`, `your role cannot call this tool`}, never: []string{"OAuth", "login"},
			},
		}},
		{name: "http-406-accept", runs: append(fine(), alike(faultRun{
			do: " -H 'Accept: */*'", class: "connect", says: []string{`406`, `Client must accept both`, `leave out the header Accept`},
			why: "A header that the user gave is sent as it was given.",
		})...)},
		{name: "http-500-call", runs: []faultRun{
			{do: list},
			{
				do: echo, class: "unknown-outcome", calls: 1, outcome: "unknown",
				says: []string{`tools/call`, `500`, `not repeated`},
				why:  "Nobody can know whether a tool that may change something ran before the server failed.",
			},
		}},
		{name: "http-503-retry-after", runs: alike(faultRun{says: []string{`waiting [12]\.\d s, as it asks`}, handshakes: 1})},
		{name: "http-429-burst", runs: alike(faultRun{says: []string{`429 .* waiting [12]\.\d s, as it asks`}, handshakes: 1})},
		{name: "http-421-host", runs: append(fine(),
			faultRun{
				do: "tools {ORIGIN}/mcp", class: "connect",
				says: []string{`421`, `127\.0\.0\.1:{PORT}`, `(?i)host`}, never: []string{"OAuth", "SSE"},
			},
			faultRun{do: "call {ORIGIN}/mcp echo text=hi", class: "connect", says: []string{`421`, `(?i)host`}, never: []string{"OAuth", "SSE"}},
		)},
		{name: "http-html-200", runs: alike(faultRun{
			class: "connect", says: []string{`web page`, `text/html`, `Sign in - Corp SSO`},
		})},
		{name: "http-html-get-post-ok", runs: fine()},
		{name: "http-login-redirect", runs: alike(faultRun{
			class: "connect", says: []string{`redirect`, `302`, `/login`, `login page|sign-in page`},
		})},
		{name: "http-wrong-path", runs: alike(faultRun{
			class: "connect", says: []string{`404`, `{ORIGIN}/`, `MCP endpoint`, `/mcp`},
		})},
		{name: "http-hang", runs: []faultRun{
			{do: list},
			{
				do: echo + " --timeout 2s", class: "timeout", limit: 2 * time.Second, calls: 1, outcome: "unknown",
				says: []string{`tools/call: no answer within timeout 2s \(flag --timeout\); the call may have been executed`},
			},
		}},
		{name: "notif-hang", runs: fine()},
		{name: "ctype-missing", runs: fine()},
		{name: "gzip-header-lie", runs: alike(faultRun{class: "protocol", says: []string{`gzip`, `proxy`}})},
		{name: "http-404-406-get", runs: fine()},
		{name: "http-429-long", runs: slices.Concat(
			alike(faultRun{class: "busy", says: []string{`429`, `wait 2m0s, which is past the limit connect_timeout 30s`, `--wait 2m10s`}}),
			alike(faultRun{
				do: " --timeout 20s", class: "busy", says: []string{`429`, `wait 2m0s, which is past the limit timeout 20s`},
			}),
		)},
		{name: "http-headers-stall", runs: alike(faultRun{
			do: " --timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`within timeout 2s \(flag --timeout\)`, `HTTP 200 came, with 0 of 500 bytes of its body`},
		})},
		{name: "http-conn-reuse-eof", runs: fine()},
		{name: "ctype-text", runs: fine()},
		{name: "ctype-html", runs: fine()},
		{name: "gateway-csrf", runs: alike(faultRun{
			class: "connect", says: []string{`403`, `\(CSRF\)`, `csrf_exempt`}, never: []string{"wants authorization", "Bearer"},
		})},
		{name: "gateway-key", runs: alike(faultRun{
			class: "auth", says: []string{`401`, `Azure API Management`, `Ocp-Apim-Subscription-Key`}, never: []string{"Bearer"},
		})},
		{name: "gateway-bot-check", runs: alike(faultRun{
			class: "connect", says: []string{`403`, `against bots answers, and not the server`, `Server: cloudflare`, `a token does not help`},
		})},
		{name: "gateway-unreachable", runs: alike(faultRun{
			class: "connect", says: []string{`530`, `the tunnel is not up`, `start the tunnel again`}, never: []string{"own log"},
		})},
		{name: "gateway-timeout-call", runs: []faultRun{
			{do: list},
			{
				do: echo, class: "unknown-outcome", calls: 1, outcome: "unknown",
				says: []string{`524`, `a proxy gave up waiting`, `may have been executed`, `proxy_read_timeout`},
			},
		}},
		{name: "body-too-large", runs: []faultRun{
			{do: list},
			{do: echo, class: "protocol", calls: 1, outcome: "refused", says: []string{`413`, `the request is larger`, `client_max_body_size`, `Server: nginx`}},
		}},
		{name: "gateway-route-403", runs: alike(faultRun{class: "connect", says: []string{`403`, `a path, or a method, that it does not have`, `check the URL`}})},
		{name: "auth-400", runs: slices.Concat(
			alike(faultRun{class: "auth", says: []string{`400`, `The access token expired`, `no Authorization header was sent`, `--header`}}),
			alike(faultRun{do: " -H '{AUTHORIZATION}'", class: "auth", says: []string{`400`, `an Authorization header was sent`, `has not expired`}}),
		)},
		{name: "gateway-keeps-session-id", runs: alike(faultRun{
			class: "connect", says: []string{`wants a session id, and its answer to initialize gave none`, `Missing session ID`, `Mcp-Session-Id of answers`},
			handshakes: 1, undeleted: true,
		})},
		{name: "gateway-drops-session-id", runs: alike(faultRun{
			class: "connect", says: []string{`the request carried Mcp-Session-Id, and the server saw none`, `Missing session ID`, `Mcp-Session-Id of requests`},
			handshakes: 1, undeleted: true,
		})},
		{name: "gateway-keeps-session-id-node", runs: alike(faultRun{
			class: "connect", says: []string{`wants a session id, and its answer to initialize gave none`, `Server not initialized`, `Mcp-Session-Id of answers`},
			handshakes: 1, undeleted: true,
		})},
		{name: "gateway-drops-session-id-node", runs: alike(faultRun{
			class: "session", says: []string{`Server not initialized`, `several instances`, `a proxy before it that does not pass on the header Mcp-Session-Id`},
			handshakes: 2, undeleted: true,
		})},
		{name: "app-not-started", runs: alike(faultRun{class: "connect", says: []string{`HTTP 500`, `Server: uvicorn`, `lifespan=mcp_app\.lifespan`}})},
		{name: "answer-on-get-stream", runs: alike(faultRun{
			class: "protocol", says: []string{`tools/list: the answer is HTTP 202 without a body, which is for notifications`, `opened with GET`}, handshakes: 1,
		})},
		{name: "gateway-payment", runs: []faultRun{
			{do: list},
			{do: echo, class: "protocol", calls: 1, outcome: "refused", says: []string{`402`, `wants to be paid`, `X-PAYMENT`}},
		}},
		{name: "gateway-login", runs: alike(faultRun{class: "connect", says: []string{`302`, `Cloudflare Access`, `CF-Access-Client-Id`}})},
	}
}

func redirectFaults() []faultCase {
	const auth = " -H '{AUTHORIZATION}'"
	return []faultCase{
		{name: "redirect-307-slash", runs: alike(faultRun{do: auth})},
		{name: "redirect-loop", runs: alike(faultRun{
			do: auth, class: "connect", says: []string{`circles`, `{ORIGIN}/mcp\b`, `{ORIGIN}/mcp/`},
		})},
		{name: "redirect-cross-origin-auth", runs: alike(faultRun{
			do: auth, class: "connect", says: []string{`307 redirects to {OTHER}/mcp/`, `{ORIGIN}/mcp`},
		})},
		{name: "redirect-301-post", runs: alike(faultRun{do: auth})},
		{name: "redirect-scheme-lost", runs: alike(faultRun{
			do: auth + " --ca-file {DIR}/ca.pem", class: "connect",
			says: []string{`307 redirects to http://127\.0\.0\.1:{PORT}/mcp/`, `the same address without TLS`, `use {URL}/; `, `X-Forwarded-Proto`},
		})},
	}
}

func sseFaults() []faultCase {
	return []faultCase{
		{name: "sse-only-legacy", runs: fine()},
		{name: "sse-crlf", runs: fine()},
		{name: "sse-priming-empty", runs: fine()},
		{name: "sse-eof-no-response", runs: []faultRun{
			{do: list},
			{
				do: echo, class: "unknown-outcome", execs: 1, calls: 1, outcome: "unknown",
				says: []string{`stream ended before the response`, `not repeated`},
			},
		}},
		{name: "sse-get-idle-cut", runs: fine()},
		{name: "sse-endpoint-prefix", runs: fine()},
		{name: "sse-bare-data", runs: fine()},
		{name: "sse-resume", runs: []faultRun{{do: list}, {do: echo, calls: 1}}},
		{name: "sse-server-ping", runs: fine()},
		{name: "sse-answer-in-post", runs: []faultRun{{do: list}, {do: echo, calls: 1}}},
		{name: "sse-no-endpoint", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`the event stream opened, and named no endpoint within connect_timeout 2s`, `the first of the name "ping", and \d comments`, `proxy_buffering off`},
		})},
		{name: "sse-other-worker", runs: alike(faultRun{
			class: "connect", says: []string{`initialize: HTTP 404 Not Found: Could not find session`, `as streamable HTTP: HTTP 405`, `one process has both`},
		})},
		{name: "sse-answer-held", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`the POST was accepted, and no answer came on the event stream within connect_timeout 2s`, `proxy_buffering off`},
		})},
		{name: "sse-data-once", runs: alike(faultRun{class: "protocol", says: []string{`each line of an event has to begin with data:, and the message goes on without it`}})},
		{name: "sse-error-event", runs: []faultRun{
			{do: list},
			{
				do: echo, class: "unknown-outcome", execs: 1, calls: 1, outcome: "unknown",
				says: []string{`an event of the name "error" came in its place`, `upstream is overloaded`, `not repeated`},
			},
		}},
		{name: "sse-buffered", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`the GET for an event stream got no answer within connect_timeout 2s`, `as streamable HTTP: HTTP 405`, `proxy_buffering off`},
		})},
		{name: "sse-endpoint-elsewhere", runs: alike(faultRun{
			do: " -H '{AUTHORIZATION}'", class: "connect",
			says: []string{`names an endpoint at another origin: http://mcp-backend:8000/messages`, `{ORIGIN}/sse`, `address of the URL's own origin`},
		})},
		{name: "sse-event-unended", runs: []faultRun{{do: list, within: 5 * time.Second}, {do: echo, calls: 1, within: 5 * time.Second}}},
	}
}

func lifecycleFaults() []faultCase {
	const noAnswer = `initialize: no answer within connect_timeout 2s \(flag --connect-timeout\)`
	return []faultCase{
		{name: "init-never", runs: slices.Concat(
			alike(faultRun{
				do: " --connect-timeout 2s", over: faultlab.HTTP, class: "timeout", limit: 2 * time.Second,
				says: []string{noAnswer, `initialize was sent, and nothing came back`}, undeleted: true,
			}),
			alike(faultRun{
				do: " --connect-timeout 2s", over: faultlab.Stdio, class: "timeout", limit: 2 * time.Second,
				says: []string{noAnswer, `the process \d+ is still running`, `nothing to standard error`},
			}),
		)},
		{name: "list-never", runs: alike(faultRun{
			do: " --timeout 2s", class: "timeout", limit: 2 * time.Second, never: []string{"0 tools"},
			says: []string{`tools/list: no answer within timeout 2s \(flag --timeout\)`, `initialize was answered: the session had opened in`},
		})},
		{name: "slow-start", runs: slices.Concat(
			fine(),
			alike(faultRun{do: " --timeout 3s", delay: 4 * time.Second, why: "The limit for requests is none for connecting."}),
			alike(faultRun{
				do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second, undeleted: true,
				says: []string{noAnswer},
			}),
		)},
		{name: "timeout-config-floor", runs: slices.Concat(
			alike(faultRun{do: " --connect-timeout 0", class: "usage", says: []string{`connect-timeout`, `0`}}),
			alike(faultRun{do: " --connect-timeout=-5", class: "usage", says: []string{`connect-timeout`, `-5`}}),
			alike(faultRun{do: " --connect-timeout soon", class: "usage", says: []string{`connect-timeout`, `soon`}}),
			alike(faultRun{
				do: " --connect-timeout 0.05", class: "timeout", limit: time.Second,
				says: []string{`connect-timeout|connect_timeout`, `raised from 50ms: 1s is the least`},
			}),
			alike(faultRun{config: "connect_timeout: 0", class: "config", says: []string{`entry`, `connect_timeout`, `0`}}),
			alike(faultRun{config: "connect_timeout: -5", class: "config", says: []string{`entry`, `connect_timeout`, `-5`}}),
			alike(faultRun{config: "connect_timeout: soon", class: "config", says: []string{`entry`, `connect_timeout`, `soon`}}),
			alike(faultRun{
				config: "connect_timeout: 0.05", class: "timeout", limit: time.Second, says: []string{`connect_timeout`, `raised from 50ms: 1s is the least`},
			}),
		)},
		{name: "proto-future", runs: alike(faultRun{class: "protocol", says: []string{`2099-01-01`, `2024-11-05 to 2026-07-28`}})},
		{name: "modern-only", runs: fine()},
		{name: "discover-32602", runs: fine()},
		{name: "caps-no-tools", runs: []faultRun{
			{do: list, out: []string{`^$`}, tells: []string{`no tools`}},
			{do: echo, class: "usage", says: []string{`no tool "echo"`, `no tools at all`}},
		}},
		{name: "caps-lie-prompts", runs: fine()},
		{name: "ping-unsupported", runs: fine()},
		{name: "ping-during-init", runs: fine()},
		{name: "roots-during-list", runs: fine()},
		{name: "proto-http-400-new", runs: fine()},
		{name: "discover-silent", runs: fine()},
		{name: "caps-lie-logging", runs: fine()},
		{name: "ping-odd-error", runs: fine()},
		{name: "initialized-unknown", runs: alike(faultRun{
			class: "protocol", says: []string{`notifications/initialized: HTTP 404`, `has to accept notifications/initialized`}, never: []string{"instances"},
		})},
		{name: "init-taken", runs: alike(faultRun{
			class: "connect", says: []string{`Server already initialized`, `one transport for all clients`, `restart the server`}, never: []string{"SSE"},
		})},
		{name: "init-body-read", runs: alike(faultRun{class: "connect", says: []string{`Parse error`, `the body of the request was read before`, `req\.body`}})},
		{name: "init-server-unnamed", runs: fine()},
		{name: "init-unknown", runs: alike(faultRun{class: "protocol", says: []string{`Unknown method: (?:initialize|server/discover)`, `not the handshake`}})},
		{name: "init-no-version", runs: alike(faultRun{class: "protocol", says: []string{`names no protocolVersion`, `correct the result in the server`}, never: []string{"older side"}})},
		{name: "proto-error-new", runs: fine()},
		{name: "proto-header-refused", runs: fine()},
		{name: "init-array", runs: alike(faultRun{
			class: "protocol", says: []string{`the member capabilities\.tools is of another type, an array`, `PHP and Lua write \[\]`}, never: []string{"ServerCapabilities"},
		})},
	}
}

func jsonrpcFaults() []faultCase {
	return []faultCase{
		{name: "id-string", runs: fine()},
		{name: "text-not-utf8", runs: fine()},
		{name: "error-id-null", runs: []faultRun{
			{do: list},
			{do: echo, class: "tool", execs: 1, calls: 1, says: []string{`tool backend failed: disk quota exceeded`}},
		}},
		{name: "stale-frame", runs: alike(faultRun{never: []string{"STALE"}, tells: []string{`answers that belonged to no request, and were ignored: \d`}})},
		{name: "framing-input", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`initialize: no answer within connect_timeout 2s`, `still running`},
		})},
		{name: "out-of-order", runs: fine()},
		{name: "framing-output", runs: fine()},
		{name: "params-null", runs: fine()},
		{name: "notification-answered", runs: fine()},
		{name: "json-lines", runs: []faultRun{{do: list}, {do: echo, calls: 1}}},
		{name: "number-nan", runs: []faultRun{
			{do: list},
			{do: echo, class: "unknown-outcome", execs: 1, calls: 1, outcome: "unknown", says: []string{`it is no JSON: invalid character 'N'`, `not repeated`}},
		}},
		{name: "version-missing", runs: alike(faultRun{class: "protocol", says: []string{`initialize: the answer is not JSON-RPC`, `it has no member "jsonrpc"`}})},
	}
}

func listingFaults() []faultCase {
	return []faultCase{
		{name: "page-two", runs: []faultRun{{do: list, tools: 6}, {do: "call SERVER p2_a", out: []string{`^ok$`}}}},
		{name: "page-cursor-refused", runs: alike(faultRun{
			class: "protocol", says: []string{`tools/list: page 2, with the cursor "p2" that the server had named: Invalid cursor`},
		})},
		{name: "page-endless", runs: alike(faultRun{
			do: " --timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`the whole list did not come within timeout 2s \(flag --timeout\): \d+ entries had come`, `nextCursor`}, never: []string{"no answer"},
		})},
		{name: "page-empty-cursor-loop", runs: []faultRun{{do: list, tools: 4}, {do: echo}}},
		{name: "tools-bad-entry", runs: []faultRun{
			{do: list, says: []string{`tool 1 `, `tool 2 `, `"no_schema"`, `"ref_root"`, `"null_props"`, `"str_schema"`}},
			{do: echo},
		}},
		{name: "schema-boolean", runs: []faultRun{
			{do: list, out: []string{`any_payload`}},
			{do: "call SERVER any_payload payload:=[1]", out: []string{`^\{"payload":\[1\]\}$`}},
			{do: "call SERVER any_payload payload=word", out: []string{`^\{"payload":"word"\}$`}},
		}},
		{name: "page-empty-cursor-legit", runs: []faultRun{{do: list, tools: 5}, {do: "call SERVER p2_a", out: []string{`^ok$`}}}},
		{name: "schema-anyof-root", runs: []faultRun{
			{do: list, out: []string{`tagged`}, says: []string{`"tagged": its inputSchema has anyOf and no type`}},
			{do: "call SERVER tagged kind=a n:=1", out: []string{`"kind":"a"`, `"n":1\b`}},
			{do: `call SERVER tagged '{"kind":"a","n":1}'`, out: []string{`"kind":"a"`, `"n":1\b`}},
		}},
		{name: "tools-null", runs: []faultRun{
			{do: list, out: []string{`^$`}, says: []string{`"tools" is null`}},
			{do: echo, class: "usage", says: []string{`no tools at all`}},
		}},
		{name: "schema-dangling", runs: []faultRun{
			{do: list, out: []string{`dangling`, `draft`, `any_type`}},
			{do: "call SERVER any_type x=1", out: []string{`^ok$`}},
			{do: "call SERVER dangling", out: []string{`^ok$`}, says: []string{`no structuredContent`}},
		}},
		{name: "schema-older-forms", runs: []faultRun{
			{do: list, out: []string{`ttl`, `between`, `flagged`, `find`}},
			{do: "call SERVER ttl ttl=1", out: []string{`^ok$`}},
			{do: "call SERVER between range:=[1,2]", out: []string{`^ok$`}},
			{do: "call SERVER find '{\"filter[name]\":\"x\"}'", out: []string{`^ok$`}},
		}},
		{name: "tools-zod", runs: alike(faultRun{
			class: "protocol", says: []string{`reading '_zod'`, `versions of zod that do not go together`, `update the server`}, execs: -1,
		})},
		{name: "dup-tool-names", runs: []faultRun{{do: list, tools: 4, says: []string{`name of an earlier one, "echo"`}}, {do: echo}}},
	}
}

func stdioFaults() []faultCase {
	return []faultCase{
		{name: "stdio-banner", runs: fine()},
		{name: "stdio-shared-line", runs: fine()},
		{name: "stdio-stderr-flood", runs: fine()},
		{name: "stdio-line-1m", runs: []faultRun{
			{do: list, tools: 263, within: time.Minute}, // a megabyte is much for the race detector
			{do: echo, within: time.Minute},
		}},
		{name: "stdio-exit-1", runs: alike(faultRun{
			class: "connect", says: []string{`exit status 1: the Python module "fastmcpp" is not installed`, `ModuleNotFoundError: No module named 'fastmcpp'`},
		})},
		{name: "stdio-crash-mid-call", runs: []faultRun{
			{do: list},
			{do: echo},
			{
				do: "call SERVER crash", class: "unknown-outcome", execs: 1, calls: 1, outcome: "unknown",
				says: []string{`signal: killed`, `tools/call`, `panic: runtime error`, `not repeated`},
				why:  "The tool that kills its server ran, so it is not run again.",
			},
		}},
		{name: "stdio-ignore-eof", runs: fine()},
		{name: "stdio-grandchild", runs: fine()},
		{name: "stdio-env-required", runs: slices.Concat(
			alike(faultRun{class: "connect", says: []string{`exit status 78`, `FAULTLAB_TOKEN is missing or wrong`}}),
			alike(faultRun{do: " --env FAULTLAB_TOKEN=s3cret"}),
			alike(faultRun{config: "env: {FAULTLAB_TOKEN: s3cret}"}),
		)},
		{name: "stdio-argv", args: "~/data '${HOME}/x' '$HOME/y' a~b", runs: []faultRun{
			{do: list, out: []string{`argv`}},
			{do: "call SERVER argv", out: []string{`"argv":\["{DIR}/data","\$\{HOME\}/x","\$HOME/y","a~b"\]`}},
			{
				do: "call SERVER argv", config: "cwd: /", out: []string{`"argv":\["{DIR}/data","{DIR}/x","\$HOME/y","a~b"\]`},
				why: "In a file ${VAR} and a leading ~/ are expanded, $VAR is not.",
			},
		}},
		{name: "stdio-stderr-no-newline", runs: fine()},
		{name: "stdio-ignore-term", runs: alike(faultRun{tells: []string{`ended with SIGKILL after`}})},
		{name: "stdio-slow-exit", runs: alike(faultRun{logged: "clean_exit"})},
		{name: "stdio-wants-variable", runs: slices.Concat(
			alike(faultRun{class: "connect", says: []string{`exit status 1\b`, `it needs the variable FAULTLAB_API_KEY, which is not set`}}),
			alike(faultRun{do: " --env FAULTLAB_API_KEY=s3cret"}),
		)},
		{name: "stdio-http-server", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`it says that it serves HTTP at http://127\.0\.0\.1:3939/mcp`, `mcpctl doctor http://127\.0\.0\.1:3939/mcp`},
		})},
		{name: "stdio-exit-0", runs: alike(faultRun{class: "connect", says: []string{`exit status 0: without an error and without a word`, `--stdio`}})},
		{name: "stdio-usage", runs: alike(faultRun{class: "connect", says: []string{`exit status 2: it does not know the argument --stdio`}})},
		{name: "stdio-buffered", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second,
			says: []string{`its answer came only when its standard input had ended`, `PYTHONUNBUFFERED`},
		})},
		{name: "stdio-utf16", runs: alike(faultRun{
			do: " --connect-timeout 2s", class: "timeout", limit: 2 * time.Second, says: []string{`UTF-16`},
		})},
		{name: "stdio-port-taken", runs: alike(faultRun{class: "connect", says: []string{`port 3000 is used by another process`}})},
	}
}

func networkFaults() []faultCase {
	const trusted = "SSL_CERT_FILE={DIR}/ca.pem"
	const ca = " --ca-file {DIR}/ca.pem"
	return []faultCase{
		{name: "tls-self-signed", runs: slices.Concat(
			alike(faultRun{
				class: "connect", says: []string{`certificate signed by unknown authority`, `(?i)issuer`, `SSL_CERT_FILE`, `--ca-file|ca_file`},
			}),
			alike(faultRun{env: trusted}),
			alike(faultRun{do: ca}),
			alike(faultRun{do: " --insecure", says: []string{`(?i)insecure|not verified`}}),
		)},
		{name: "net-proxy-required", runs: slices.Concat(
			alike(faultRun{class: "connect", says: []string{`no such host: mcp\.corp\.test`}}),
			alike(faultRun{env: "HTTP_PROXY={ORIGIN}", logged: "via_proxy"}),
			alike(faultRun{do: " --proxy {ORIGIN}", logged: "via_proxy"}),
		)},
		{name: "tls-expired", runs: slices.Concat(
			alike(faultRun{class: "connect", says: []string{`certificate expired on`, `\d{4}-\d\d-\d\d`}}),
			alike(faultRun{env: trusted, class: "connect", says: []string{`certificate expired on`, `\d{4}-\d\d-\d\d`}}),
			alike(faultRun{do: ca, class: "connect", says: []string{`certificate expired on`, `\d{4}-\d\d-\d\d`}}),
		)},
		{name: "tls-mtls", runs: slices.Concat(
			alike(faultRun{env: trusted, class: "connect", says: []string{`requires a client certificate`}}),
			alike(faultRun{do: ca, class: "connect", says: []string{`requires a client certificate`}}),
			alike(faultRun{do: ca + " --cert-file {DIR}/client.pem --key-file {DIR}/client.key"}),
			alike(faultRun{
				do: ca + " --cert-file {DIR}/none.pem --key-file {DIR}/client.key", class: "config", says: []string{`{DIR}/none\.pem`},
			}),
		)},
		{name: "net-late-listen", runs: slices.Concat(
			alike(faultRun{delay: 2 * time.Second}),
			alike(faultRun{do: " --wait 2s", delay: time.Minute, class: "connect", says: []string{`refused`, `--wait`}}),
			alike(faultRun{do: " --wait 10s", delay: 5 * time.Second}),
		)},
		{name: "net-http2-only", runs: alike(faultRun{class: "protocol", says: []string{`HTTP/2 without TLS`, `gRPC`, `HTTP/1\.1`}, never: []string{"malformed"}})},
		{name: "net-tls-alert", runs: alike(faultRun{class: "protocol", says: []string{`speaks HTTPS on this port`, `https://`}, never: []string{"malformed"}})},
		{name: "net-tls-closes", runs: alike(faultRun{class: "protocol", says: []string{`speaks HTTPS on this port`, `https://`}, never: []string{"reset", "EOF"}})},
		{name: "net-https-to-http", runs: alike(faultRun{class: "connect", says: []string{`speaks plain HTTP on this port`, `http://`}})},
		{name: "net-port-unmapped", runs: alike(faultRun{
			do: " --wait 1s", class: "connect", says: []string{`the connection was closed without an answer`, `0\.0\.0\.0`}, never: []string{"EOF", "read tcp"},
		})},
	}
}
