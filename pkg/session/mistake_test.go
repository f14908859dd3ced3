package session

import (
	"testing"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// TestMistakes shows which words of a server are recognised as a mistake of its author, and when they are not.
func TestMistakes(t *testing.T) {
	t.Parallel()
	answered := func(e string) transport.ExchangeState {
		return transport.ExchangeState{Answered: true, Error: []byte(e)}
	}
	status := func(code int, body string, signs ...string) transport.ExchangeState {
		return transport.ExchangeState{Fault: &transport.Fault{Kind: transport.KindStatus, Status: code, Body: []byte(body), Signs: signs}}
	}
	for name, c := range map[string]struct {
		state  transport.ExchangeState
		opened bool
		want   string
	}{
		"another client":          {answered(`{"code":-32600,"message":"Invalid Request: Server already initialized"}`), false, "one-transport"},
		"another client, 500":     {status(500, "Error: Already connected to a transport. Call close() before"), false, "one-transport"},
		"another request":         {status(500, "Error: Already connected to a transport. Call close() before"), true, "one-transport"},
		"zod":                     {answered(`{"code":-32603,"message":"Cannot read properties of undefined (reading '_zod')"}`), true, "zod"},
		"another property":        {answered(`{"code":-32603,"message":"Cannot read properties of undefined (reading 'name')"}`), true, ""},
		"a body, in the data":     {answered(`{"code":-32700,"message":"Parse error","data":"InternalServerError: stream is not readable"}`), false, "body-read"},
		"a stream of a tool":      {answered(`{"code":-32603,"message":"stream is not readable"}`), true, ""},
		"a trace":                 {status(500, "RuntimeError: Task group is not initialized. Make sure to use run()."), false, "lifespan"},
		"a server behind its log": {status(500, "Internal Server Error", "Server: uvicorn"), false, "uvicorn"},
		"the same later":          {status(500, "Internal Server Error", "Server: uvicorn"), true, ""},
		"a post without a stream": {status(422, `{"detail":[{"type":"missing","loc":["query","session_id"],"msg":"Field required"}]}`), false, "legacy-post"},
		"the same, in words":      {status(400, "session_id is required"), false, "legacy-post"},
		"a tool's own query":      {status(422, `{"detail":[{"loc":["query","session_id"]}]}`), true, ""},
		"another server":          {status(500, "Internal Server Error", "Server: nginx"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := classify(evidence{server: "s", method: "m", state: c.state, opened: c.opened})
			if e.Symptom != c.want || (c.want != "") != (e.Hint != "") {
				t.Errorf("%q, %q, want %q", e.Symptom, e.Hint, c.want)
			}
		})
	}
}

// TestALoginPageIsNoLostSession shows that a 404 of a page to which those are sent who have to log in says nothing of the session.
func TestALoginPageIsNoLostSession(t *testing.T) {
	t.Parallel()
	gone := func(redirect string) *Error {
		f := transport.Fault{Kind: transport.KindStatus, Status: 404, SessionID: true, Written: true, Redirect: redirect}
		return classify(evidence{server: "s", method: "tools/call", opened: true, state: transport.ExchangeState{Fault: &f, SessionID: true}})
	}
	if e := gone("redirected (302) to https://a.example/login"); e.Class == ClassSession || e.Hint != hintLogin {
		t.Errorf("class %s, hint %q", e.Class, e.Hint)
	}
	if e := gone("redirected (307) to https://a.example/mcp/"); e.Class != ClassSession {
		t.Errorf("class %s, want that of a lost session", e.Class)
	}
}
