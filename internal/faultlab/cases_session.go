package faultlab

import (
	"net/http"
	"strconv"
	"time"
)

// sessionCases are the cases about servers that lose sessions, and connections lost at a bad moment.
func sessionCases() []Case {
	return []Case{
		{
			ID: "CASE-001", Name: "session-404-restart", Area: "session", Over: HTTP, Level: 1,
			Title:  "404 for a stale session, client never starts a new one",
			Source: "modelcontextprotocol/python-sdk#1676; also anthropics/claude-code#55970",
			Symptom: `After the server restarts or evicts the session, every call fails with "session not found" until
			the user reconnects by hand.`,
			Cause: `The client keeps the dead Mcp-Session-Id. The spec (to 2025-11-25) says a 404 to a request
			carrying a session id means: start again with initialize and no session header.`,
			Repro: `Dead first session. Stale answer: 404, application/json,
			{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}.`,
			Right: `Drops the session id, sends initialize without it, sends notifications/initialized, repeats the
			request once on the new session, and succeeds. Verbose mode or doctor says the session was
			replaced.`,
			Exit: "ok. Server saw 2 initialize, 1 tool execution.",
			http: httpFault{
				firstSessionDies: true,
				stale:            func(x *exchange) { x.json(http.StatusNotFound, sessionNotFound) },
			},
			check: check{want: `list 404 .*Session not found.*reinit 200.*relist 200.*echo`},
		},
		{
			ID: "CASE-002", Name: "session-400-no-valid-id", Area: "session", Over: HTTP, Level: 1,
			Title:  "Stale session reported as 400",
			Source: "anomalyco/opencode#32809; modelcontextprotocol/python-sdk#1004",
			Symptom: `Recovery exists for 404 but the server says 400, so calls fail for ever after 15-30 idle
			minutes.`,
			Cause: "Several servers answer 400 for both a missing and an unknown session id.",
			Repro: `Dead first session. Stale answer: 400, application/json, error -32000 "Bad Request: No valid
			session ID provided", id null.`,
			Right: `Treats a 400 whose body speaks of the session, on a request that carried a session id, as
			session loss: one re-initialize, one repeat. Does not do so for other 400s.`,
			Exit: "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale: func(x *exchange) {
					x.json(http.StatusBadRequest, errorFrame("null", -32000, "Bad Request: No valid session ID provided"))
				},
			},
			check: check{want: `list 400 .*No valid session ID.*relist 200`},
		},
		{
			ID: "CASE-003", Name: "session-200-invalid-params", Area: "session", Over: HTTP, Level: 2,
			Title:  "Stale session reported with HTTP 200 and -32602",
			Source: "NousResearch/hermes-agent#13383",
			Symptom: `A long-lived gateway gets "invalid or expired session" on every tool call; the token is still
			good.`,
			Cause: `The server reports session loss inside a 200 JSON-RPC error, so transport-level checks see
			success.`,
			Repro: `Dead first session. Stale answer: 200 application/json, error -32602 "Invalid params: Invalid or
			expired session" with the request's id.`,
			Right: `Recognises session-loss wording in a JSON-RPC error (not in a tool result), re-initializes once
			and repeats. Says session, not auth.`,
			Exit: "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale: func(x *exchange) {
					x.json(http.StatusOK, errorFrame(x.id(), codeInvalidParams, "Invalid params: Invalid or expired session"))
				},
			},
			check: check{want: `list 200 .*-32602.*expired session.*relist 200`},
		},
		{
			ID: "CASE-004", Name: "session-fresh-wait", Area: "session", Over: HTTP, Level: 3,
			Title:  "Server still restarting while the client tries to recover",
			Source: "NousResearch/hermes-agent#27052; NousResearch/hermes-agent#19559",
			Symptom: `Recovery fires, initialize fails because the service is coming up, the client retries on the old
			session or gives up and marks the server dead.`,
			Cause: `Recovery does not wait for a session that is really new; short restart windows are counted as
			hard failures.`,
			Repro: `Dead first session (404, -32001). From the moment it dies, initialize gets 503 text/plain with
			Retry-After: 1 for 3 s, then works.`,
			Right: `Retries initialize with backoff (honouring Retry-After) inside the connect limit, never re-sends
			on the dead session, runs the request once on the fresh session. Prints how long it waited.`,
			Exit: `ok in about 3-6 s. With a total limit below 3 s: timeout or connect, naming the last status
			(503).`,
			http: httpFault{firstSessionDies: true, request: restarting},
			check: check{
				want: `list 404.*early 503 .*retry-after="1".*reinit 200.*relist 200`,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.initialize("early")
					p.pause(700 * time.Millisecond)
					p.recover()
					p.finish()
				},
			},
		},
		{
			ID: "CASE-005", Name: "session-always-dead", Area: "session", Over: HTTP, Level: 2,
			Title:   "Every new session dies too",
			Source:  "simonx1/ruby-mcp-client#162",
			Symptom: "Recovery loops for ever: initialize, 404, initialize, 404.",
			Cause:   "No limit on recovery attempts.",
			Repro:   `Every session gets 404 -32001 "Session not found" on its first request after initialize.`,
			Right: `At most one recovery (two if documented), then a clear failure: new sessions are accepted but
			lost at once; suspect several replicas without shared sessions, or a server that drops sessions.`,
			Exit: "non-zero, session or protocol class. Server saw at most 3 initialize.",
			http: httpFault{live: func(x *exchange, s *session) bool {
				x.s.endSession(s)
				x.stale()
				return true
			}},
			check: check{want: `ping 404.*reinit 200.*relist 404`},
		},
		{
			ID: "CASE-006", Name: "session-replacement-no-id", Area: "session", Over: HTTP, Level: 2,
			Title:   "The new session comes without an id",
			Source:  "anomalyco/opencode#32088",
			Symptom: "After recovery the client keeps sending the old session id and fails again.",
			Cause: `The replacement server is stateless: its initialize response has no Mcp-Session-Id. The id is
			optional.`,
			Repro: `Dead first session (404). The next initialize has no session header; then requests with no
			session header work and requests with any session header get 404.`,
			Right: "Clears the stored id before re-initializing and sends no session header afterwards.",
			Exit:  "ok.",
			http:  httpFault{firstSessionDies: true, request: statelessReplacement},
			check: check{want: `list 404.*reinit 200 ct="application/json" body=.*renote 202.*relist 200`},
		},
		{
			ID: "CASE-007", Name: "session-needs-initialized", Area: "session", Over: HTTP, Level: 2,
			Title:   "Server rejects requests before notifications/initialized",
			Source:  "punkpeye/mcp-remote#310; mcp-use/mcp-use#1133",
			Symptom: `tools/list fails now and then with "session not initialized"; after recovery it always fails.`,
			Cause: `The initialized notification is sent late, in parallel, or not repeated for the replacement
			session.`,
			Repro: `Dead first session (404 -32001), and every session answers requests sent before
			notifications/initialized with 400 and -32600 "Session not initialized".`,
			Right: "Waits for the initialized POST to be accepted before the first request, also after recovery.",
			Exit:  "ok.",
			http: httpFault{firstSessionDies: true, live: func(x *exchange, s *session) bool {
				x.s.mu.Lock()
				initialized := s.initialized
				x.s.mu.Unlock()
				if initialized {
					return false
				}
				x.json(http.StatusBadRequest, errorFrame(x.id(), codeInvalidRequest, "Session not initialized"))
				return true
			}},
			check: check{
				want: `list 404.*reinit 200.*early 400 .*Session not initialized.*renote 202.*relist 200`,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.initialize("reinit")
					p.rpc("early", 5, "tools/list", `{}`)
					p.notifyInitialized("renote")
					p.rpc("relist", 6, "tools/list", `{}`)
					p.finish()
				},
			},
		},
		{
			ID: "CASE-008", Name: "session-lb-alternate", Area: "session", Over: HTTP, Level: 2,
			Title:   "Two replicas without sticky sessions",
			Source:  "agentic-community/mcp-gateway-registry#960; PrefectHQ/fastmcp#1003",
			Symptom: `"Session not found" about half the time; scaling to one replica cures it.`,
			Cause:   "Session state lives in one replica's memory; the balancer spreads requests.",
			Repro: `Requests from initialize on alternate between replica A and B (A first). Each replica knows only
			sessions it issued; otherwise 404 -32600 "Session not found". Responses carry X-Replica: A or B.`,
			Right: `call or list may succeed through one recovery. doctor reports the pattern: the same session was
			accepted by one request and rejected by the next; likely several instances without sticky
			sessions.`,
			Exit:  "list: ok or a clear session failure, never a loop. doctor: non-zero or WARN with that finding.",
			http:  httpFault{request: twoReplicas},
			check: check{want: `init 200.*x-replica="A".*(404).*wrong_replica`},
		},
		{
			ID: "CASE-009", Name: "session-delete-405", Area: "session", Over: HTTP, Level: 1,
			Title:  "Session is never ended, or ending it is treated as an error",
			Source: "danny-avila/LibreChat#14248; quazardous/nelson-mcp#38",
			Symptom: `Servers leak memory because clients never send DELETE; other clients print an error when DELETE
			is refused.`,
			Cause: "Clean-up step missing, or 405 not accepted as a valid answer.",
			Repro: "DELETE /mcp gets 405 with Allow: GET, POST. All else healthy.",
			Right: "A one-shot command sends DELETE with the session id when it is done and ignores 405 silently.",
			Exit:  "ok, nothing about DELETE on stdout or stderr in normal mode.",
			http:  httpFault{request: onMethod(http.MethodDelete, func(x *exchange) { x.notAllowed("GET, POST") })},
			check: check{want: `call 200.*delete 405 .*allow="GET, POST".*after-delete 200`},
		},
		{
			ID: "CASE-010", Name: "session-401-stale", Area: "session", Over: HTTP, Level: 3,
			Title:   "Stale session reported as 401",
			Source:  "modelcontextprotocol/rust-sdk#559",
			Symptom: "After a restart the client starts an OAuth login although no login is needed.",
			Cause:   "The server answers 401 for an unknown session.",
			Repro: `Dead first session. Stale answer: 401 text/plain "Unauthorized: Session not found", no
			WWW-Authenticate.`,
			Right: `A 401 on a session that had just worked without credentials, with no challenge and session
			wording, is tried once as session loss before any auth conclusion.`,
			Exit: "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale: func(x *exchange) {
					x.text(http.StatusUnauthorized, "text/plain", "Unauthorized: Session not found")
				},
			},
			check: check{want: `list 401 ct="text/plain" body=Unauthorized: Session not found.*relist 200`},
		},
		{
			ID: "CASE-011", Name: "session-200-not-initialized", Area: "session", Over: HTTP, Level: 3,
			Title:   "Stale session silently turned into an uninitialized one",
			Source:  "zoedsoupe/anubis-mcp#89",
			Symptom: `Calls fail with "server not initialized" at HTTP 200 after idle time.`,
			Cause:   "The server makes a new empty session for the unknown id.",
			Repro: `Dead first session. Stale answer: 200 application/json, error -32002 "Server not initialized"
			with the request's id.`,
			Right: "Re-initializes once and repeats.",
			Exit:  "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale:            func(x *exchange) { x.json(http.StatusOK, errorFrame(x.id(), -32002, "Server not initialized")) },
			},
			check: check{want: `list 200 .*-32002.*Server not initialized.*relist 200`},
		},
		{
			ID: "CASE-012", Name: "session-409-conflict", Area: "session", Over: HTTP, Level: 3,
			Title:   "Stale session reported as 409",
			Source:  "quazardous/nelson-mcp#38",
			Symptom: "After the host application restarts, the client reports a conflict and stays broken.",
			Cause:   "Server uses 409 (others use 410) instead of 404.",
			Repro:   `Dead first session. Stale answer: 409 application/json, error -32600 "Stale session".`,
			Right: `Recovers once (409, 410 and 404 on a request with a session id), or fails at once with "the
			server rejected the session (409 Stale session); a fresh session works", proved by a fresh
			initialize.`,
			Exit: "ok preferred; otherwise non-zero with the session named.",
			http: httpFault{
				firstSessionDies: true,
				stale: func(x *exchange) {
					x.json(http.StatusConflict, errorFrame(x.id(), codeInvalidRequest, "Stale session"))
				},
			},
			check: check{want: `list 409 .*Stale session.*relist 200`},
		},
		{
			ID: "CASE-013", Name: "session-503-then-404", Area: "session", Over: HTTP, Level: 3,
			Title:   "Same loss, two statuses",
			Source:  "markmhendrickson/neotoma#2312; markmhendrickson/neotoma#1472",
			Symptom: "Recovery is wired to one status only, so it works some days.",
			Cause:   "Server answers 503 for an unknown session on this instance, and 404 on other paths.",
			Repro: `Dead first session. First stale answer: 503 -32001 "MCP session is unknown on this API
			instance"; later ones: 404 with similar text.`,
			Right: "Recovers; does not spend the whole limit retrying the dead session because it saw 503.",
			Exit:  "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale: func(x *exchange) {
					if x.count("stale")%2 == 1 {
						x.json(http.StatusServiceUnavailable, errorFrame("null", -32001,
							"Service Unavailable: MCP session is unknown on this API instance"))
						return
					}
					x.json(http.StatusNotFound, errorFrame("null", -32001,
						"Not Found: MCP session is unknown or expired on this API instance"))
				},
			},
			check: check{want: `ping 503 .*session is unknown.*list 404 .*session is unknown.*relist 200`},
		},
		{
			ID: "CASE-014", Name: "session-404-malformed", Area: "session", Over: HTTP, Level: 2,
			Title:   "404 with neither result nor error",
			Source:  "helidon-io/helidon-mcp#152",
			Symptom: "Client reports a JSON-RPC parse or schema error instead of recovering.",
			Cause:   `Server sends {"jsonrpc":"2.0","id":1} with the 404.`,
			Repro:   `Dead first session. Stale answer: 404 application/json {"jsonrpc":"2.0","id":<id>}.`,
			Right:   "Looks at the status first; recovers.",
			Exit:    "ok.",
			http: httpFault{
				firstSessionDies: true,
				stale:            func(x *exchange) { x.json(http.StatusNotFound, `{"jsonrpc":"2.0","id":`+x.id()+`}`) },
			},
			check: check{want: `list 404 .*body=\{"jsonrpc":"2.0","id":2\} .*relist 200`},
		},
		{
			ID: "CASE-015", Name: "session-delete-hang", Area: "session", Over: HTTP, Level: 2,
			Title:   "DELETE never answers",
			Source:  "hangwin/mcp-chrome#85",
			Symptom: "The result is printed but the command does not return.",
			Cause:   "Clean-up waits without a limit.",
			Repro:   "DELETE /mcp is accepted and never answered. All else healthy.",
			Right:   "Waits a short time (1-3 s) for DELETE, then exits quietly with the command's own status.",
			Exit:    "ok within 5 s of the result.",
			http:    httpFault{request: onMethod(http.MethodDelete, (*exchange).hold)},
			check:   check{want: `call 200.*delete ERR`},
		},
		{
			ID: "CASE-016", Name: "replay-hazard-drop", Area: "session", Over: HTTP, Level: 3,
			Title:   "Connection lost after the tool ran",
			Source:  "smg-project/smg#2441; zavora-ai/adk-rust#504",
			Symptom: "A payment or a message is sent twice after a reconnect.",
			Cause: `The client repeats tools/call after a transport failure although the server may have executed
			it.`,
			Repro: `Extra tools: increment (no annotations) and peek (readOnlyHint and idempotentHint true).
			tools/call increment executes, then the TCP connection closes with no response bytes. peek loses
			its first call the same way (not executed) and works on the second.`,
			Right: `increment: not repeated; says the outcome is unknown and to check before retrying. peek: may be
			repeated once. A session-loss status (404 and the like) is different: the request was refused,
			so one repeat is safe.`,
			Exit: "increment: non-zero, unknown-outcome class, stored counter is 1. peek: ok.",
			server: serverFault{tools: []tool{
				{
					name: "increment",
					def:  describe("increment", "Add one to a stored counter (not idempotent).", noArguments),
					call: func(_ *responder, c *toolCall) { c.text(strconv.Itoa(c.run)) },
				},
				{
					name: "peek",
					def: `{"name":"peek","description":"Read the counter.","inputSchema":` + noArguments +
						`,"annotations":{"readOnlyHint":true,"idempotentHint":true}}`,
					call: func(p *responder, c *toolCall) { c.text(strconv.Itoa(p.timesRun("increment"))) },
				},
			}},
			http: httpFault{request: loseConnection},
			check: check{
				call: `{"name":"increment","arguments":{}}`,
				want: `list 200.*call ERR .*"increment":1.*connection_dropped_after_execution`,
			},
		},
		{
			ID: "CASE-017", Name: "replay-safe-list", Area: "session", Over: HTTP, Level: 2,
			Title:   "Connection lost during tools/list",
			Source:  "zavora-ai/adk-rust#504; mcheemaa/mistri#26",
			Symptom: "One dropped connection makes the whole command fail although listing is harmless.",
			Cause:   "All transport failures are treated alike.",
			Repro: `The first tools/list (and every odd one) gets its connection closed with no bytes; the next
			works.`,
			Right: "Retries the list once on a fresh connection; notes it in verbose mode and as a doctor warning.",
			Exit:  "ok.",
			http: httpFault{request: func(x *exchange) bool {
				if x.rpc() != "tools/list" || x.count("list")%2 == 0 {
					return false
				}
				x.s.log("connection_dropped")
				x.drop()
				return true
			}},
			check: check{want: `list ERR.*call 200.*connection_dropped`},
		},
	}
}

// sessionNotFound is a common answer to a request on an unknown session. Its id is no request's.
const sessionNotFound = `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`

// restarting refuses initialize for a while after a session died.
func restarting(x *exchange) bool {
	x.s.mu.Lock()
	died := x.s.lastDoom
	x.s.mu.Unlock()
	if x.rpc() != "initialize" || time.Since(died) >= x.s.responder.mainDelay(3*time.Second) {
		return false
	}
	x.s.log("init_refused_restarting")
	x.set("Retry-After", "1")
	x.text(http.StatusServiceUnavailable, "text/plain", "Service restarting\n")
	return true
}

// statelessReplacement answers every even initialize without a session id, and from then on wants none.
func statelessReplacement(x *exchange) bool {
	x.s.mu.Lock()
	issued := x.s.issued
	x.s.mu.Unlock()
	if x.rpc() == "initialize" {
		if issued%2 == 0 {
			return false
		}
		x.s.newSession() // counted, but its id is not told
		x.run(nil)
		return true
	}
	if x.m == nil || x.sessionID() != "" || issued == 0 || issued%2 == 1 {
		return false
	}
	switch {
	case x.m.isRequest():
		x.run(nil)
	case x.m.isNotification():
		x.s.responder.note(x.m)
		x.w.WriteHeader(http.StatusAccepted)
	default:
		return false
	}
	return true
}

// twoReplicas sends requests to replica A and B in turn. Each knows only the sessions that it issued.
func twoReplicas(x *exchange) bool {
	if x.r.URL.Path != "/mcp" || x.rpc() == "server/discover" {
		return false
	}
	replica := "A"
	if x.count("request")%2 == 0 {
		replica = "B"
	}
	return x.atReplica(replica)
}

// atReplica answers as a replica that knows only the sessions it issued.
func (x *exchange) atReplica(replica string) bool {
	x.set("X-Replica", replica)
	if x.rpc() == "initialize" {
		ses := x.s.newSession()
		x.s.mu.Lock()
		ses.replica = replica
		x.s.mu.Unlock()
		x.set("Mcp-Session-Id", ses.id)
		x.run(ses)
		return true
	}
	ses := x.s.liveSession(x.sessionID())
	if ses == nil || ses.replica == replica {
		return false
	}
	x.s.log("wrong_replica", "want", ses.replica, "got", replica)
	x.json(http.StatusNotFound, sessionNotFound)
	return true
}

// loseConnection drops the connection of every call of increment after running it, and that of every other call of
// peek without running it.
func loseConnection(x *exchange) bool {
	if x.rpc() != "tools/call" || x.s.liveSession(x.sessionID()) == nil {
		return false
	}
	switch x.m.toolName() {
	case "increment":
		x.s.responder.handle(x.m, func(string) {})
		x.s.log("connection_dropped_after_execution")
	case "peek":
		if x.count("peek")%2 == 0 {
			return false
		}
		x.s.log("connection_dropped")
	default:
		return false
	}
	x.drop()
	return true
}
