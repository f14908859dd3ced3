package faultlab

import (
	"fmt"
	"net/http"
	"time"
)

// sseCases are the cases about server-sent events and the older HTTP+SSE transport.
func sseCases() []Case {
	return []Case{
		{
			ID: "CASE-041", Name: "sse-only-legacy", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Old HTTP+SSE server at /sse",
			Source:  "koala73/worldmonitor#1848",
			Symptom: `POST to /sse gets 405 and the tool says "not an MCP server".`,
			Cause:   "Server speaks the 2024-11-05 transport.",
			Repro: `POST /sse: 405, Allow: GET. GET /sse: SSE, first event "endpoint" with data
			/messages?sessionId=l1. POST there: 202, replies come on the stream. /mcp: 404.`,
			Right: `After 400, 404 or 405 on POST, tries GET and uses the endpoint event; or, if unsupported, says
			"this is a legacy HTTP+SSE server" from the evidence.`,
			Exit: "ok, or connect with that sentence.",
			http: httpFault{path: "/sse", request: legacyServer{}.answer},
			check: check{
				want:  `post 405.*get 200 ct="text/event-stream" .*event: endpoint<LF>data: /messages\?sessionId=l1`,
				drive: (*httpProbe).legacy,
			},
		},
		{
			ID: "CASE-042", Name: "sse-crlf", Area: "sse", Over: HTTP, Level: 1,
			Title:   "CRLF line ends",
			Source:  "modelcontextprotocol/php-sdk#401; envoyproxy/ai-gateway#1398",
			Symptom: "initialize times out although the bytes arrived.",
			Cause:   `Parser looks for "\n\n".`,
			Repro:   `POST replies are SSE with \r\n line ends.`,
			Right:   "Accepts LF, CRLF and CR.",
			Exit:    "ok.",
			http: httpFault{stream: func(st *stream, _ *session) {
				st.answer(func(frame string) { st.write("event: message\r\ndata: " + frame + "\r\n\r\n") })
			}},
			check: check{want: `init 200 .*event: message<CR><LF>data: .*<CR><LF><CR><LF>`},
		},
		{
			ID: "CASE-043", Name: "sse-priming-empty", Area: "sse", Over: HTTP, Level: 2,
			Title:   "First event has an id and empty data",
			Source:  "modelcontextprotocol/modelcontextprotocol#1699",
			Symptom: `"Unexpected end of JSON input".`,
			Cause:   "Client parses empty data as JSON. The spec of 2025-11-25 sends such a priming event.",
			Repro:   "POST replies start with id: prime-N, retry: 500, an empty data line; then the message event.",
			Right:   "Ignores events with empty data, keeps the id and retry.",
			Exit:    "ok.",
			http: httpFault{stream: func(st *stream, _ *session) {
				st.write(fmt.Sprintf("id: prime-%d\nretry: 500\ndata:\n\n", st.count("prime")))
				st.answer(func(frame string) {
					st.s.responder.pause(100 * time.Millisecond) // so that the two events do not arrive together
					st.write("id: e2\nevent: message\ndata: " + frame + "\n\n")
				})
			}},
			check: check{want: `init 200 .*id: prime-1<LF>retry: 500<LF>data:<LF><LF>id: e2`},
		},
		{
			ID: "CASE-044", Name: "sse-eof-no-response", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Stream ends without a response",
			Source:  "modelcontextprotocol/php-sdk#327; vercel/ai#16865",
			Symptom: "Request hangs until a distant timeout.",
			Cause:   "End of stream is not taken as failure of the pending request.",
			Repro: `tools/call replies with 200 SSE, one comment, then EOF (the tool has run). No event id. Else SSE
			healthy.`,
			Right: `Fails at once: "stream ended before the response"; unknown outcome; no repeat.`,
			Exit:  "unknown-outcome or protocol, under 3 s; 1 execution.",
			http: httpFault{stream: func(st *stream, _ *session) {
				if st.rpc() != "tools/call" {
					st.answer(st.event)
					return
				}
				st.write(": working\n\n")
				st.answer(func(string) {})
				st.s.log("stream_closed_without_response")
			}},
			check: check{want: `list 200.*call 200 .*body=: working<LF><LF> readerr=<nil>.*"echo":1.*stream_closed_without_response`},
		},
		{
			ID: "CASE-045", Name: "sse-get-idle-cut", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Proxy cuts the idle GET stream",
			Source:  "robhunter/agentdeals#1098; TryGhost/ghst#118",
			Symptom: "Endless reconnects in the log; server shown as unhealthy.",
			Cause:   "Idle limit in a proxy; the optional stream is taken as the health signal.",
			Repro:   "GET stream ends after 1 s without traffic, every time. POST healthy.",
			Right: `Commands are not affected. doctor may report "GET stream closed after ~1 s idle: proxy idle
			limit?" as a warning.`,
			Exit: "ok; doctor ok or WARN.",
			http: httpFault{request: func(x *exchange) bool {
				if x.r.Method != http.MethodGet || x.r.URL.Path != "/mcp" {
					return false
				}
				if ses := x.known(); ses != nil {
					x.idleStream(ses, time.Second)
				}
				return true
			}},
			check: check{
				want: `call 200.*get 200 ct="text/event-stream" body= readerr=<nil> SLOW.*get_stream_cut`,
				wait: 3 * time.Second,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.callTool()
					p.get("get", "")
					p.journal()
				},
			},
		},
		{
			ID: "CASE-046", Name: "sse-endpoint-prefix", Area: "sse", Over: HTTP, Level: 3,
			Title:   "Proxy prefix missing in the endpoint event",
			Source:  "modelcontextprotocol/go-sdk#687; modelcontextprotocol/typescript-sdk#583",
			Symptom: "Stream opens, then POST gets 404.",
			Cause:   "Server behind a path prefix announces a path without it.",
			Repro: `URL /gateway/sse (POST there: 405). GET: endpoint event /messages?sessionId=lN. POST /messages:
			404; /gateway/messages works.`,
			Right: `Names the resolved POST URL and the 404, and the likely missing prefix. May try the prefixed
			path (same origin).`,
			Exit:  "connect with that explanation, or ok.",
			http:  httpFault{path: "/gateway/sse", request: legacyServer{prefix: "/gateway"}.answer},
			check: check{want: `post 405.*get 200 .*data: /messages\?sessionId`, drive: (*httpProbe).legacy},
		},
		{
			ID: "CASE-047", Name: "sse-bare-data", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Minimal and odd but legal SSE",
			Source:  "rmusser01/tldw_server#907",
			Symptom: "Message dropped because there is no event name or no space after the colon.",
			Cause:   "Parser stricter than the standard.",
			Repro: `Before the reply: a comment, "retry:10", an event named custom with non-MCP JSON. Reply: "id:7",
			an unknown field, "data:{...}" with no space, no event name.`,
			Right: "Takes unnamed events as message, ignores other names and unknown fields.",
			Exit:  "ok.",
			http: httpFault{stream: func(st *stream, _ *session) {
				st.answer(func(frame string) {
					st.write(":ok\n\nretry:10\nevent:custom\ndata:{\"not\":\"mcp\"}\n\nid:7\nunknown: x\ndata:" + frame + "\n\n")
				})
			}},
			check: check{want: `init 200 .*:ok<LF><LF>retry:10<LF>event:custom.*<LF>data:\{"jsonrpc`},
		},
		{
			ID: "CASE-048", Name: "sse-resume", Area: "sse", Over: HTTP, Level: 3,
			Title:   "Response must be fetched by GET with Last-Event-ID",
			Source:  "UsefulSoftwareCo/executor#1351; simonx1/ruby-mcp-client#168",
			Symptom: "Long calls fail whenever the server closes the POST stream on purpose.",
			Cause:   "Client has no resumption (2025-11-25 rules).",
			Repro: `tools/list and tools/call: SSE with id stream-N-1, retry: 300, empty data, then EOF. GET with
			Last-Event-ID: stream-N-1 returns the response event. A new POST would run the tool again.`,
			Right: `Waits retry, resumes by GET with the session and Last-Event-ID; never repeats the POST. If
			unsupported: says so, unknown outcome.`,
			Exit: "ok; or unknown-outcome. Tool ran once.",
			http: httpFault{request: resumeStream, stream: endForResume},
			check: check{
				want: `list 200 .*body=id: stream-1-1<LF>retry: 300<LF>data:<LF><LF> .*resume 200 .*id: resumed-2.*"id":7.*"echo":1`,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.callTool()
					p.get("resume", "stream-2-1")
					p.journal()
				},
			},
		},
		{
			ID: "CASE-049", Name: "sse-server-ping", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Server pings before it answers",
			Source:  "vercel/ai#15701; modelcontextprotocol/csharp-sdk#1390",
			Symptom: "Session dropped by the server for no visible reason.",
			Cause:   `Client answers ping with "method not found" or not at all.`,
			Repro: `On the SSE reply to tools/list and tools/call the server first sends a ping request and waits 3
			s for a result by POST; an error or silence ends the session and the stream.`,
			Right: "Answers ping with an empty result while its own request is open.",
			Exit:  "ok.",
			http: httpFault{stream: func(st *stream, s *session) {
				if st.rpc() == "tools/list" || st.rpc() == "tools/call" {
					id := fmt.Sprintf("srv-ping-%d", st.count("ping"))
					answer, ok := st.s.responder.ask(id, "ping", 3*time.Second, st.event)
					if !ok || len(answer.Error) > 0 {
						st.s.log("server_dropped_session", "why", "ping not answered with a result")
						st.s.endSession(s)
						return
					}
				}
				st.answer(st.event)
			}},
			check: check{
				want: `list 200 .*"method":"ping".*relist 200 .*"method":"ping".*"id":6,"result".*server_dropped_session`,
				drive: func(p *httpProbe) {
					p.open()
					p.list()
					p.pause(2 * time.Second) // the server gives up 3 s after its ping
					p.initialize("reinit")
					p.notifyInitialized("renote")
					answer := time.AfterFunc(300*time.Millisecond, func() {
						p.post(`{"jsonrpc":"2.0","id":"srv-ping-2","result":{}}`)
					})
					defer answer.Stop()
					p.rpc("relist", 6, "tools/list", `{}`)
					p.journal()
				},
			},
		},
		{
			ID: "CASE-441", Name: "sse-answer-in-post", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Old HTTP+SSE server that answers in the POST",
			Source:  "modelcontextprotocol/csharp-sdk#439; modelcontextprotocol/csharp-sdk#445",
			Symptom: "initialize times out although the server has answered.",
			Cause:   "The response stands in the body of the POST, with 200; the transport of 2024-11-05 wants it on the stream.",
			Repro: `As "Old HTTP+SSE server at /sse", but a POST of a request gets 200 application/json with the
			response, and nothing comes on the stream.`,
			Right: "Takes the response from the POST, with a warning, since other clients wait for the stream for ever.",
			Exit:  "ok; doctor WARN.",
			http:  httpFault{path: "/sse", request: legacyServer{answerInPost: true}.answer},
			check: check{
				want:  `post 405.*get 200 .*event: endpoint<LF>data: /messages\?sessionId=l1.*message 404`,
				drive: (*httpProbe).legacyMessage,
			},
		},
		{
			ID: "CASE-442", Name: "sse-no-endpoint", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Event stream that never names an endpoint",
			Source:  "datagouv/datagouv-mcp#68; QwenLM/qwen-code#8550",
			Symptom: "The client hangs after the stream has opened; comments and pings go on coming.",
			Cause:   "The address is one for notifications, or of another kind of stream: nothing says where to POST.",
			Repro: `POST /sse: 405. GET /sse: 200 SSE, a comment every 300 ms and once an event "ping", never an
			endpoint event.`,
			Right: `Gives up in time, says that the stream opened and that no endpoint event came, and what came in its
			place.`,
			Exit: "connect or timeout, with that sentence.",
			http: httpFault{path: "/sse", request: legacyServer{begin: pingsOnly}.answer},
			check: check{
				want:  `post 405.*get 200 ct="text/event-stream" .*: ping<LF><LF>`,
				drive: (*httpProbe).legacy,
			},
		},
		{
			ID: "CASE-470", Name: "sse-buffered", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Old HTTP+SSE server behind a proxy that holds back what it gets",
			Source:  "antvis/mcp-server-chart#60",
			Symptom: "The client hangs until its limit; without the proxy all is well.",
			Cause:   "The proxy collects the answer until its buffer is full, or the server has ended it: event streams do neither.",
			Repro:   "POST /sse: 405. GET /sse is never answered, not even with headers.",
			Right:   "Gives up in time, says that the stream got no answer, that the server is one of the older transport, and names the buffer of the proxy.",
			Exit:    "timeout, with that sentence.",
			http: httpFault{path: "/sse", request: func(x *exchange) bool {
				if x.r.Method == http.MethodGet && x.r.URL.Path == "/sse" {
					x.hold()
					return true
				}
				return legacyServer{}.answer(x)
			}},
			check: check{
				want:  `post 405.*get ERR .*deadline`,
				drive: (*httpProbe).legacy,
			},
		},
		{
			ID: "CASE-443", Name: "sse-endpoint-elsewhere", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Endpoint event that names an internal address",
			Source:  "modelcontextprotocol/python-sdk#965; heymrun/heym#78",
			Symptom: `"Endpoint origin does not match connection origin".`,
			Cause:   "A server behind a proxy announces the address that it listens on itself.",
			Repro:   `As "Old HTTP+SSE server at /sse", but the endpoint event is http://mcp-backend:8000/messages?sessionId=l1.`,
			Right:   "Does not go there with its credentials; says both addresses.",
			Exit:    "connect with that explanation.",
			http: httpFault{path: "/sse", request: legacyServer{begin: func(st *stream, endpoint string) bool {
				st.write("event: endpoint\ndata: http://mcp-backend:8000" + endpoint + "\n\n")
				return true
			}}.answer},
			check: check{
				want:  `get 200 .*event: endpoint<LF>data: http://mcp-backend:8000/messages`,
				drive: (*httpProbe).legacy,
			},
		},
		{
			ID: "CASE-444", Name: "sse-event-unended", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Event without the blank line, on a stream that stays open",
			Source:  "vercel/ai#16865",
			Symptom: "The answer is seen with curl, and every client waits until its limit.",
			Cause:   "An event ends with a blank line; the server, or a proxy that strips lines, sends one line end only.",
			Repro:   `Requests are answered with 200 SSE: "event: message", "data: …", one line end, and then nothing.`,
			Right: `Takes the response, which is there whole, and says that the event was not ended; or names that after the
			limit. The tool has run, so no repeat.`,
			Exit: "ok, doctor WARN; or timeout with that sentence. 1 execution.",
			http: httpFault{stream: func(st *stream, _ *session) {
				st.answer(func(frame string) { st.write("event: message\ndata: " + frame + "\n") })
				st.hold()
			}},
			check: check{want: `call 200 ct="text/event-stream" body=event: message<LF>data: \{.*\}<LF> readerr=context deadline`},
		},
		{
			ID: "CASE-487", Name: "sse-other-worker", Area: "sse", Over: HTTP, Level: 1,
			Title:   "Old HTTP+SSE server with several workers",
			Source:  "tadata-org/fastapi_mcp#56; modelcontextprotocol/python-sdk#520; PrefectHQ/fastmcp#658",
			Symptom: "404 now and then, or always; the client speaks of the wrong path, or of a 405.",
			Cause:   "The stream is one worker's, and the POST reaches another, which does not know it.",
			Repro:   `As "Old HTTP+SSE server at /sse", but the POST gets 404 "Could not find session".`,
			Right:   "Reports the 404 of the POST, not the 405 of the newer transport, and that stream and POST belong together.",
			Exit:    "connect or session with that sentence.",
			http: httpFault{path: "/sse", request: legacyServer{begin: func(st *stream, _ string) bool {
				st.write("event: endpoint\ndata: /messages?sessionId=another\n\n")
				return true
			}}.answer},
			check: check{want: `post 405.*event: endpoint<LF>data: /messages\?sessionId=another`, drive: (*httpProbe).legacy},
		},
		{
			ID: "CASE-488", Name: "sse-answer-held", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Old HTTP+SSE server whose answers do not come through",
			Source:  "n8n-io/n8n#14546; modelcontextprotocol/java-sdk#848",
			Symptom: "Connected, and then nothing until the limit.",
			Cause:   "A proxy keeps small events back, or the POST reached another instance.",
			Repro:   `As "Old HTTP+SSE server at /sse", but nothing comes on the stream after the endpoint event. POST: 202.`,
			Right:   "At the limit: the POST was accepted, and no answer came on the stream; what holds events back.",
			Exit:    "timeout with that sentence.",
			http: httpFault{path: "/sse", request: legacyServer{begin: func(st *stream, endpoint string) bool {
				st.write("event: endpoint\ndata: " + endpoint + "\n\n")
				st.hold()
				return false
			}}.answer},
			check: check{want: `post 405.*event: endpoint<LF>data: /messages\?sessionId=l1`, drive: (*httpProbe).legacy},
		},
		{
			ID: "CASE-489", Name: "sse-data-once", Area: "sse", Over: HTTP, Level: 2,
			Title:   "Event over several lines, with data: before the first one only",
			Source:  "micronaut-projects/micronaut-core#2586",
			Symptom: "A JSON parse error, or a stream that ended before the answer.",
			Cause:   "The server indents its JSON, and a line without a field is no part of an event.",
			Repro:   `Requests are answered with 200 SSE: "data: {", and the rest of the message in lines of its own.`,
			Right:   "Says what is wrong with the event, and does not ask again and again.",
			Exit:    "protocol.",
			http: httpFault{stream: func(st *stream, _ *session) {
				st.answer(func(frame string) { st.write("event: message\ndata: {\n  " + frame[1:] + "\n\n") })
			}},
			check: check{want: `init 200 ct="text/event-stream" .*body=event: message<LF>data: \{<LF>`},
		},
		{
			ID: "CASE-490", Name: "sse-error-event", Area: "sse", Over: HTTP, Level: 2,
			Title:   "An event of the name error in place of the answer",
			Source:  "vercel/ai#16865",
			Symptom: "The stream ended, says the client; the reason stood in it.",
			Cause:   "A framework reports what went wrong in an event of its own.",
			Repro:   `tools/call is answered with 200 SSE: "event: error", data {"message":"upstream is overloaded"}, EOF. It has run.`,
			Right:   "Shows the event. Does not repeat the call.",
			Exit:    "unknown-outcome.",
			http: httpFault{live: func(x *exchange, _ *session) bool {
				if x.rpc() != "tools/call" {
					return false
				}
				x.s.responder.handle(x.m, func(string) {})
				x.text(http.StatusOK, "text/event-stream", "event: error\ndata: {\"message\":\"upstream is overloaded\"}\n\n")
				return true
			}},
			check: check{want: `call 200 ct="text/event-stream" body=event: error`},
		},
	}
}

// pingsOnly keeps a stream open with comments and one event that clients pass over.
func pingsOnly(st *stream, _ string) bool {
	st.write("event: ping\ndata: {}\n\n")
	for st.s.responder.pause(300 * time.Millisecond) {
		if st.r.Context().Err() != nil {
			break
		}
		st.write(": ping\n\n")
	}
	return false
}

// lateFrame is an answer that a client fetches after its stream has ended.
type lateFrame struct {
	ready chan struct{} // closed when frame is set
	frame string
}

// endForResume ends the stream of a list or call at once, and keeps the answer for whoever comes with the event's id.
func endForResume(st *stream, _ *session) {
	if st.rpc() != "tools/list" && st.rpc() != "tools/call" {
		st.answer(st.event)
		return
	}
	s, m := st.s, st.m
	id := fmt.Sprintf("stream-%d-1", st.count("resume"))
	late := &lateFrame{ready: make(chan struct{})}
	s.mu.Lock()
	s.resume[id] = late
	s.mu.Unlock()
	s.background.Go(func() {
		s.responder.handle(m, func(frame string) { // called once
			late.frame = frame
			close(late.ready)
		})
	})
	st.write("id: " + id + "\nretry: 300\ndata:\n\n")
	s.log("stream_closed_for_resume", "event_id", id)
}

// resumeStream answers a GET that names the last event the client has seen.
func resumeStream(x *exchange) bool {
	id := x.r.Header.Get("Last-Event-ID")
	if x.r.Method != http.MethodGet || id == "" {
		return false
	}
	if x.known() == nil {
		return true
	}
	x.s.mu.Lock()
	late := x.s.resume[id]
	x.s.mu.Unlock()
	x.s.log("resume_attempt", "event_id", id, "found", late != nil)
	st := x.openStream()
	if late == nil {
		return true
	}
	select {
	case <-late.ready:
		st.write("id: resumed-2\nevent: message\ndata: " + late.frame + "\n\n")
	case <-x.r.Context().Done():
	}
	return true
}
