package faultlab

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ownSource stands for a public report where there is none: the fault follows from a sentence of the specification.
const ownSource = "the MCP specification"

// findingCases are servers that work, and of which somebody should know something all the same.
func findingCases() []Case {
	return []Case{
		{
			ID: "CASE-201", Name: "host-foreign", Area: "finding", Over: HTTP, Level: 2,
			Title:   "A local server answers a foreign Host",
			Source:  ownSource,
			Symptom: "None, until a web page uses the server through the browser.",
			Cause:   "Neither Host nor Origin is checked, so DNS rebinding works.",
			Repro:   "Any Host and Origin are answered like the server's own.",
			Right:   "Works; doctor warns.",
			Exit:    "ok.",
			http:    httpFault{anyOrigin: true},
			check: check{want: `evil 200 `, drive: func(p *httpProbe) {
				p.open()
				p.send("evil", http.MethodPost, p.server.URL, requestBody(9, "ping", "{}"), "Origin", "http://evil.example")
			}},
		},
		{
			ID: "CASE-202", Name: "session-lb-connections", Area: "finding", Over: HTTP, Level: 3,
			Title:   "Two replicas behind a balancer of connections",
			Source:  ownSource,
			Symptom: "Works in every test, and loses sessions in agents that open several connections.",
			Cause:   "Session state lives in one replica's memory; the balancer spreads TCP connections.",
			Repro: `TCP connections go to replica A and B in turn. Each replica knows only sessions it issued;
			otherwise 404 "Session not found".`,
			Right: "Works on one connection; doctor tries several and names the instances.",
			Exit:  "ok; doctor fails.",
			http:  httpFault{request: replicaOfConnection()},
			check: check{want: `other-connection 404`, drive: func(p *httpProbe) {
				p.open()
				p.client.CloseIdleConnections()
				p.rpc("other-connection", 9, "ping", `{}`)
			}},
		},
		{
			ID: "CASE-203", Name: "session-idle-expires", Area: "finding", Over: HTTP, Level: 2,
			Title:   "Sessions die of silence",
			Source:  ownSource,
			Symptom: "The first call after a break fails.",
			Cause:   "The store of sessions drops those that lie idle.",
			Repro:   "A session that was not used for 400 ms is unknown.",
			Right:   "Recovers; doctor --idle names the silence.",
			Exit:    "ok.",
			http:    httpFault{request: idleSessionsDie},
			check: check{want: `after-silence 404`, delay: 100 * time.Millisecond, drive: func(p *httpProbe) {
				p.open()
				p.pause(500 * time.Millisecond)
				p.rpc("after-silence", 9, "ping", `{}`)
			}},
		},
		{
			ID: "CASE-204", Name: "one-at-a-time", Area: "finding", Over: HTTP, Level: 3,
			Title:   "Only one request at a time is answered",
			Source:  ownSource,
			Symptom: "Works by hand; in an agent some calls fail.",
			Cause:   "The server has one place for an open request.",
			Repro:   "A ping takes 150 ms, and one that comes meanwhile gets 500 with a text.",
			Right:   "doctor makes several requests at once, and names it.",
			Exit:    "ok for one request.",
			http:    httpFault{live: oneAtATime()},
			check:   check{want: `refused_second_ping`, drive: twoPings},
		},
		{
			ID: "CASE-205", Name: "reply-refused", Area: "finding", Over: HTTP, Level: 2,
			Title:   "The server does not accept answers to its own requests",
			Source:  ownSource,
			Symptom: "Lists come late, or roots are never known.",
			Cause:   "A POST that holds a response is taken for a bad request.",
			Repro: `On tools/list the server first sends a ping, and answers the POST of the response with 400;
			it answers the list all the same after 300 ms.`,
			Right: "Works; doctor warns.",
			Exit:  "ok.",
			http:  httpFault{stream: pingAndRefuse, request: refuseReplies},
			check: check{want: `list 200 .*"method":"ping".*reply 400`, drive: func(p *httpProbe) {
				p.open()
				p.list()
				p.send("reply", http.MethodPost, p.server.URL, `{"jsonrpc":"2.0","id":"srv-ping","result":{}}`)
			}},
		},
		{
			ID: "CASE-206", Name: "modern-headers-unchecked", Area: "finding", Over: HTTP, Level: 3,
			Title:   "Headers that contradict the body are accepted",
			Source:  ownSource,
			Symptom: "None, until a proxy routes or filters by them.",
			Cause:   "MCP-Protocol-Version and Mcp-Method are not compared with the body.",
			Repro:   "A server of protocol 2026-07-28 that looks at the body alone.",
			Right:   "Works; doctor warns.",
			Exit:    "ok.",
			server:  serverFault{every: modernOnly},
			http: httpFault{reply: modernReply, request: func(x *exchange) bool {
				if x.r.Method != http.MethodPost {
					x.notAllowed("POST")
					return true
				}
				if x.m == nil || !x.m.isRequest() {
					return false
				}
				x.run(nil)
				return true
			}},
			check: check{want: `wrong 200 .*supportedVersions`, drive: func(p *httpProbe) {
				p.send("wrong", http.MethodPost, p.server.URL, requestBody(1, "server/discover", `{`+modernMeta+`}`), "Mcp-Method", "tools/call")
			}},
		},
		{
			ID: "CASE-207", Name: "tools-contradict", Area: "finding", Over: HTTP | Stdio, Level: 2,
			Title:   "Annotations and output schemas that nobody can use",
			Source:  ownSource,
			Symptom: "Clients ask before harmless tools, or drop the list.",
			Cause:   "Nobody reads the schema of the schema.",
			Repro: `Tool both is read-only and destructive, which is odd and harmless; tool yes has readOnlyHint "yes"; tool rows has an
			outputSchema of type array; tool bare has no description.`,
			Right: "Works; doctor warns of each.",
			Exit:  "ok.",
			server: serverFault{tools: []tool{
				{name: "both", def: `{"name":"both","description":"Delete, or not.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":true}}`},
				{name: "yes", def: `{"name":"yes","description":"Read.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`},
				{name: "rows", def: `{"name":"rows","description":"Rows.","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`},
				{name: "bare", def: `{"name":"bare","inputSchema":{"type":"object"}}`},
			}},
			check: check{want: `list.*destructiveHint.*outputSchema(\\)?":\{(\\)?"type(\\)?":(\\)?"array`},
		},
		{
			ID: "CASE-208", Name: "entries-bad", Area: "finding", Over: HTTP | Stdio, Level: 2,
			Title:   "Resources and prompts that nobody can name",
			Source:  ownSource,
			Symptom: "Lists of resources and prompts are empty in some clients.",
			Cause:   "One entry lacks its uri or its name.",
			Repro: `resources/list has an entry without a uri, one twice, and one whose uri has no scheme;
			prompts/list has one without a name; resources/templates/list has no array.`,
			Right: "Shows the good ones; doctor warns.",
			Exit:  "ok.",
			server: serverFault{
				capabilities: `{"tools":{},"resources":{},"prompts":{}}`,
				on: map[string]requestFunc{
					"resources/list": answerWith(`{"resources":[{"name":"no uri"},{"uri":"test://a","name":"a"},{"uri":"test://a","name":"a"},{"uri":"no-scheme","name":"b"}]}`),
					"prompts/list":   answerWith(`{"prompts":[{"description":"no name"},{"name":"p","arguments":[{"required":true}]}]}`), "resources/templates/list": answerWith(`{"templates":[]}`),
				},
			},
			check: check{want: `resources.*no uri.*prompts.*no name`, more: []step{
				{"resources", "resources/list", "{}"}, {"prompts", "prompts/list", "{}"},
			}},
		},
		{
			ID: "CASE-209", Name: "resources-broken", Area: "finding", Over: HTTP | Stdio, Level: 1,
			Title:   "Tools work, resources do not",
			Source:  ownSource,
			Symptom: "Clients that load everything at once show the server as broken.",
			Cause:   "The store behind the resources is away.",
			Repro:   "resources/list gets -32603; tools are healthy.",
			Right:   "Tools work; doctor fails the list.",
			Exit:    "ok.",
			server: serverFault{
				capabilities: `{"tools":{},"resources":{}}`,
				on:           map[string]requestFunc{"resources/list": failWith(codeInternal, "store is away")},
			},
			check: check{want: `resources.*-32603`, more: []step{{"resources", "resources/list", "{}"}}},
		},
		{
			ID: "CASE-213", Name: "prompts-broken", Area: "finding", Over: HTTP | Stdio, Level: 1,
			Title:   "Tools work, prompts do not",
			Source:  ownSource,
			Symptom: "Clients that load everything at once show the server as broken.",
			Cause:   "The directory with the prompts is away.",
			Repro:   "prompts/list gets -32603; tools are healthy.",
			Right:   "Tools work; doctor fails the list.",
			Exit:    "ok.",
			server: serverFault{
				capabilities: `{"tools":{},"prompts":{}}`,
				on:           map[string]requestFunc{"prompts/list": failWith(codeInternal, "no such directory")},
			},
			check: check{want: `prompts.*-32603`, more: []step{{"prompts", "prompts/list", "{}"}}},
		},
		{
			ID: "CASE-210", Name: "unknown-method-result", Area: "finding", Over: HTTP | Stdio, Level: 1,
			Title:   "Unknown methods succeed",
			Source:  ownSource,
			Symptom: "Newer clients believe in features that are not there.",
			Cause:   "A catch-all answers everything with an empty result.",
			Repro:   "Every method that the server does not know gets an empty result.",
			Right:   "Works; doctor warns.",
			Exit:    "ok.",
			server: serverFault{every: func(p *responder, r *request) bool {
				switch r.Method {
				case "initialize", "ping", "tools/list", "tools/call", "server/discover":
					return false
				}
				r.result("{}")
				return true
			}},
			check: check{want: `nothing.*"result(\\)?":\{\}`, more: []step{{"nothing", "no/such-method", "{}"}}},
		},
		{
			ID: "CASE-211", Name: "oauth-no-registration", Area: "finding", Over: HTTP, Level: 3,
			Title:   "Nobody can register, and no scope fits",
			Source:  ownSource,
			Symptom: "Every client fails before the login.",
			Cause:   "The authorization server knows only clients that somebody made by hand, and other scopes.",
			Repro: `As the full chain, without a registration endpoint; the scopes of the resource are not among
			those of the authorization server.`,
			Right: "Says that a client id is needed; doctor warns of both.",
			Exit:  "auth.",
			http:  httpFault{request: oauth{closed: true}.answer},
			check: check{want: `get .*scopes_supported":\["other"\]`, fetch: []string{authorizationMetadata}},
		},
		{
			ID: "CASE-212", Name: "messages-in-arrays", Area: "finding", Over: HTTP, Level: 2,
			Title:   "Every answer stands in an array",
			Source:  ownSource,
			Symptom: "Messages are dropped by clients of newer versions.",
			Cause:   "The server still writes batches, which were part of 2025-03-26 only.",
			Repro:   "Each JSON answer is an array with one message.",
			Right:   "Works; doctor warns.",
			Exit:    "ok.",
			http:    httpFault{reply: func(x *exchange, frame string) { x.json(http.StatusOK, "["+frame+"]") }},
			check:   check{want: `init 200 .*body=\[\{`},
		},
	}
}

func answerWith(result string) requestFunc {
	return func(_ *responder, r *request) bool {
		r.result(result)
		return true
	}
}

// replicaOfConnection sends TCP connections to two replicas in turn.
func replicaOfConnection() func(x *exchange) bool {
	var mu sync.Mutex
	replicas := map[string]string{}
	return func(x *exchange) bool {
		if x.r.URL.Path != "/mcp" {
			return false
		}
		mu.Lock()
		replica := replicas[x.r.RemoteAddr]
		if replica == "" {
			replica = string("AB"[len(replicas)%2])
			replicas[x.r.RemoteAddr] = replica
		}
		mu.Unlock()
		return x.atReplica(replica)
	}
}

// idleSessionsDie forgets the session of a request when it was not used for a while.
func idleSessionsDie(x *exchange) bool {
	const longest = 400 * time.Millisecond
	if ses := x.s.liveSession(x.sessionID()); ses != nil && x.r.Method == http.MethodPost {
		x.s.mu.Lock()
		idle := time.Since(ses.lastUsed)
		x.s.mu.Unlock()
		if idle > longest {
			x.s.endSession(ses)
		}
	}
	return false
}

// oneAtATime refuses a ping that comes while another is being answered.
func oneAtATime() func(x *exchange, s *session) bool {
	const busy = 150 * time.Millisecond
	var open atomic.Bool
	return func(x *exchange, _ *session) bool {
		if x.rpc() != "ping" {
			return false
		}
		if !open.CompareAndSwap(false, true) {
			x.s.log("refused_second_ping")
			x.text(http.StatusInternalServerError, "text/plain", "another request is open")
			return true
		}
		defer open.Store(false)
		x.s.responder.pause(busy)
		x.run(nil)
		return true
	}
}

// twoPings sends a second ping while the first is open.
func twoPings(p *httpProbe) {
	p.open()
	var all sync.WaitGroup
	all.Go(func() {
		p.pause(50 * time.Millisecond)
		req, err := p.newRequest(context.Background(), http.MethodPost, p.server.URL, requestBody(10, "ping", "{}"))
		if err != nil {
			return
		}
		if resp, err := p.client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	})
	p.rpc("ping", 9, "ping", `{}`)
	all.Wait()
	p.journal()
}

// pingAndRefuse sends a ping before the answer to tools/list.
func pingAndRefuse(st *stream, _ *session) {
	if st.rpc() == "tools/list" {
		st.event(`{"jsonrpc":"2.0","id":"srv-ping","method":"ping"}`)
		st.s.responder.pause(300 * time.Millisecond)
	}
	st.answer(st.event)
}

// refuseReplies answers POSTs that hold a response with 400.
func refuseReplies(x *exchange) bool {
	if x.m == nil || !x.m.isResponse() {
		return false
	}
	x.text(http.StatusBadRequest, "text/plain", "Bad Request")
	return true
}
