package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
)

// example is evidence for one row of the table.
type example struct {
	row   string
	about string
	ev    evidence
	class Class
	// fresh and repeat are what may be done, for a request that may not be repeated; safe is repeat for one that may be.
	fresh, repeat, safe bool
	outcome             Outcome
}

// answer is the state of a request that was answered with a JSON-RPC error.
func answer(status int, carried bool, message string) transport.ExchangeState {
	return transport.ExchangeState{
		Method: "tools/call", Written: true, SessionID: carried, Status: status, Answered: true,
		Error: []byte(`{"code":-32000,"message":"` + message + `"}`),
	}
}

// failed is the state of a request that met a fault.
func failed(f transport.Fault) transport.ExchangeState {
	return transport.ExchangeState{Method: "tools/call", Written: f.Written, SessionID: f.SessionID, Status: f.Status, Fault: &f}
}

// status is the state of a request that met an HTTP status.
func status(code int, carried bool, body string) transport.ExchangeState {
	return failed(transport.Fault{Kind: transport.KindStatus, Status: code, Written: true, SessionID: carried, Body: []byte(body)})
}

func examples() []example {
	withChallenge := failed(transport.Fault{Kind: transport.KindStatus, Status: 401, Written: true, SessionID: true, Body: []byte("session not found"), Challenge: "Bearer"})
	later := failed(transport.Fault{Kind: transport.KindStatus, Status: 503, Written: true, HasRetryAfter: true})
	page := failed(transport.Fault{Kind: transport.KindContent, Status: 200, Written: true, ContentType: "text/html"})
	opening := func(st transport.ExchangeState) evidence { return evidence{method: "initialize", state: st} }
	on := func(st transport.ExchangeState) evidence { return evidence{state: st, opened: true, legacy: true} }
	gone := func(st transport.ExchangeState, why error) evidence {
		return evidence{state: st, opened: true, err: context.Canceled, ctx: why}
	}
	sent := transport.ExchangeState{Method: "tools/call", Written: true}
	return []example{
		{"limit", "a limit", gone(sent, &limitError{Limit{Name: "timeout"}}), ClassTimeout, false, false, false, OutcomeUnknown},
		{"limit", "the caller's deadline", gone(sent, context.DeadlineExceeded), ClassTimeout, false, false, false, OutcomeUnknown},
		{"limit", "before anything was written", gone(transport.ExchangeState{}, &limitError{}), ClassTimeout, false, false, false, OutcomeNotSent},
		{"limit", "a severed stream after the limit is a consequence of it", gone(failed(transport.Fault{Kind: transport.KindSevered, Written: true}), &limitError{}), ClassTimeout, false, false, false, OutcomeUnknown},
		{"interrupted", "Ctrl-C", gone(sent, context.Canceled), ClassInterrupted, false, false, false, OutcomeUnknown},
		{"answer", "an answer that came before the caller's end", evidence{state: answer(200, true, "no such row"), opened: true, err: errors.New("x"), ctx: context.Canceled}, ClassAnswered, false, false, false, OutcomeRefused},

		{"answer-lost", "200 with the words", on(answer(200, true, "Invalid params: Invalid or expired session")), ClassSession, true, true, true, OutcomeRefused},
		{"answer-lost", "404 with the words and advice", on(answer(404, true, "Session not found. Please initialize again.")), ClassSession, true, true, true, OutcomeRefused},
		{"answer-perhaps-lost", "404 with the words in a sentence", on(answer(404, true, "order placed, but the checkout session has expired")), ClassSession, true, false, true, OutcomeUnknown},
		{"answer-lost", "an uninitialised server, without a session id", on(answer(200, false, "Server not initialized")), ClassSession, true, true, true, OutcomeRefused},
		{"answer-lost-500", "500 with the words", on(answer(500, true, "Session not found")), ClassSession, true, false, true, OutcomeUnknown},
		{"answer", "an application's session", on(answer(200, true, "session_id is required")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "the words before something else", on(answer(200, true, "session closed: the order was placed")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "the words without a session", on(answer(200, false, "Session not found")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "404 with the request's id and no session words", on(answer(404, true, "no such tool")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "an uninitialised server during the opening", opening(answer(200, false, "Server not initialized")), ClassAnswered, false, false, false, ""},

		{"unreachable", "no such host", on(failed(transport.Fault{Kind: transport.KindDNS})), ClassConnect, true, true, true, OutcomeNotSent},
		{"unreachable", "refused", on(failed(transport.Fault{Kind: transport.KindRefused})), ClassConnect, true, true, true, OutcomeNotSent},
		{"unreachable", "no route", on(failed(transport.Fault{Kind: transport.KindDial})), ClassConnect, true, true, true, OutcomeNotSent},
		{"unreachable", "TLS", on(failed(transport.Fault{Kind: transport.KindTLS})), ClassConnect, true, true, true, OutcomeNotSent},
		{"unreachable", "the proxy", on(failed(transport.Fault{Kind: transport.KindProxy})), ClassConnect, true, true, true, OutcomeNotSent},
		{"unreachable", "no such command", opening(failed(transport.Fault{Kind: transport.KindStart})), ClassConnect, true, true, true, ""},
		{"login-limit", "the person did not come back", on(refusedToken(401, oauth.TimedOut)), ClassTimeout, false, false, false, OutcomeRefused},
		{"login-cancelled", "the person does not want to", on(refusedToken(401, oauth.Cancelled)), ClassInterrupted, false, false, false, OutcomeRefused},
		{"login-config", "a key that is no key", on(refusedToken(0, oauth.Config)), ClassConfig, false, false, false, OutcomeNotSent},
		{"no-token", "a refresh without a network", on(refusedToken(0, oauth.Unreachable)), ClassConnect, false, false, false, OutcomeNotSent},
		{"no-token", "an authorization server that is down", opening(refusedToken(401, oauth.Unreachable)), ClassConnect, false, false, false, ""},
		{"no-authorization", "a login is needed", on(refusedToken(401, oauth.NeedsLogin)), ClassAuth, false, false, false, OutcomeRefused},
		{"no-authorization", "a login is needed before anything is sent", on(refusedToken(0, oauth.NeedsLogin)), ClassAuth, false, false, false, OutcomeNotSent},
		{"no-authorization", "refused", on(refusedToken(403, oauth.Refused)), ClassAuth, false, false, false, OutcomeRefused},
		{"no-authorization", "another issuer", opening(refusedToken(401, oauth.Invalid)), ClassAuth, false, false, false, ""},
		{"no-authorization", "an authorizer of somebody's own", on(failed(transport.Fault{Kind: transport.KindAuth, Err: errors.New("no")})), ClassAuth, false, false, false, OutcomeNotSent},
		{"proxy-refused", "407 from a proxy", on(failed(transport.Fault{Kind: transport.KindProxy, Written: true, Status: 407})), ClassConnect, false, false, false, OutcomeRefused},
		{"status", "407 without a proxy", on(status(407, true, "")), ClassProtocol, false, false, false, OutcomeRefused},
		{"unreachable-written", "TLS that failed after the request was written", on(failed(transport.Fault{Kind: transport.KindTLS, Written: true})), ClassConnect, true, false, true, OutcomeUnknown},
		{"severed", "reset", on(failed(transport.Fault{Kind: transport.KindSevered, Written: true})), ClassConnect, true, false, true, OutcomeUnknown},
		{"severed", "the child died", on(failed(transport.Fault{Kind: transport.KindExit, Written: true})), ClassConnect, true, false, true, OutcomeUnknown},
		{"dead", "the child was dead before the write", on(failed(transport.Fault{Kind: transport.KindExit})), ClassConnect, true, true, true, OutcomeNotSent},
		{"dead", "the pooled connection was closed", on(failed(transport.Fault{Kind: transport.KindSevered})), ClassConnect, true, true, true, OutcomeNotSent},

		{"unknown-method", "404 to a notification, in the words of JSON-RPC", opening(failed(transport.Fault{
			Kind: transport.KindStatus, Status: 404, Written: true, SessionID: true, RPCError: []byte(`{"code":-32601,"message":"Method not found"}`),
		})), ClassProtocol, false, false, false, ""},
		{"gone", "404 in the words of JSON-RPC that speaks of the session", on(failed(transport.Fault{
			Kind: transport.KindStatus, Status: 404, Written: true, SessionID: true, RPCError: []byte(`{"code":-32601,"message":"Session not found"}`),
		})), ClassSession, true, true, true, OutcomeRefused},
		{"gone", "404", on(status(404, true, "")), ClassSession, true, true, true, OutcomeRefused},
		{"gone", "410", on(status(410, true, "")), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400 with the words", on(status(400, true, "Bad Request: No valid session ID provided")), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400, or no initialize request", on(status(400, true, `{"error":{"message":"Bad Request: No valid session ID or not an initialize request"}}`)), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400 with the name of the header", on(status(400, true, "Unknown Mcp-Session-Id header")), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400 after a silence", on(status(400, true, "Session timed out due to inactivity")), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400 with an id", on(status(400, true, "Session 3f2a-11 does not exist")), ClassSession, true, true, true, OutcomeRefused},
		{"answer-lost", "the words of the Python SDK", on(answer(200, true, "Received request before initialization was complete")), ClassSession, true, true, true, OutcomeRefused},
		{"answer", "an application's session that was lost", on(answer(200, true, "session lost: the order was placed")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "an application's session of another kind", on(answer(200, true, "the shopping session is not available in your country")), ClassAnswered, false, false, false, OutcomeRefused},
		{"answer", "a window of time", on(answer(200, true, "session timeout must be a number")), ClassAnswered, false, false, false, OutcomeRefused},
		{"lost", "409", on(status(409, true, "Stale session")), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "503", on(status(503, true, "session is unknown on this instance")), ClassSession, true, true, true, OutcomeRefused},
		{"lost-unauthorized", "401 without a challenge", on(status(401, true, "Unauthorized: Session not found")), ClassSession, true, true, true, OutcomeRefused},
		{"lost-unauthorized", "403 without a challenge", on(status(403, true, "Session expired")), ClassSession, true, true, true, OutcomeRefused},
		{"stranger", "403 of a bot check", on(status(403, true, "error code: 1010")), ClassProtocol, false, false, false, OutcomeRefused},
		{"stranger", "403 of a gateway without the route, while opening", opening(status(403, false, `{"message":"Missing Authentication Token"}`)), ClassConnect, false, false, false, ""},
		{"auth-words", "400 that speaks of a token", on(status(400, true, "token expired")), ClassAuth, false, false, false, OutcomeRefused},
		{"auth-words", "500 that speaks of one while opening", opening(status(500, false, `{"error":"jwt expired"}`)), ClassAuth, false, false, false, ""},
		{"server-error", "500 of a call that speaks of one", on(status(500, true, `{"error":"jwt expired"}`)), ClassProtocol, false, false, false, OutcomeUnknown},
		{"auth", "401 with a challenge, whatever the words", on(withChallenge), ClassAuth, false, false, false, OutcomeRefused},
		{"auth", "401", on(status(401, true, "token expired")), ClassAuth, false, false, false, OutcomeRefused},
		{"auth", "403", opening(status(403, false, "")), ClassAuth, false, false, false, ""},
		{"lost", "400 with the words in a document", on(status(400, true, `{"error":{"message":"Session expired"}}`)), ClassSession, true, true, true, OutcomeRefused},
		{"lost", "400 with the words on a line", on(status(400, true, "<pre>\nSession not found\n</pre>")), ClassSession, true, true, true, OutcomeRefused},
		{"perhaps-lost", "409 with the words in a sentence", on(status(409, true, "order placed, but the checkout session has expired")), ClassSession, true, false, true, OutcomeUnknown},
		{"lost-500", "500 with the words", on(status(500, true, "session not found")), ClassSession, true, false, true, OutcomeUnknown},
		{"rate-limit", "429", on(status(429, true, "")), ClassBusy, false, false, false, OutcomeRefused},
		{"unavailable", "503 with Retry-After", on(later), ClassBusy, false, false, false, OutcomeRefused},
		{"unavailable", "503 while opening", opening(status(503, false, "")), ClassBusy, false, false, false, ""},
		{"unavailable-now", "503 without Retry-After", on(status(503, true, "")), ClassConnect, true, false, true, OutcomeUnknown},
		{"gateway", "502", on(status(502, true, "")), ClassConnect, true, false, true, OutcomeUnknown},
		{"gateway", "504", on(status(504, true, "")), ClassConnect, true, false, true, OutcomeUnknown},
		{"server-error", "500", on(status(500, true, "Internal Server Error")), ClassProtocol, false, false, false, OutcomeUnknown},
		{"server-error", "520 while opening", opening(status(520, false, "")), ClassConnect, false, false, false, ""},
		{"status", "404 without a session", on(status(404, false, "")), ClassProtocol, false, false, false, OutcomeRefused},
		{"status", "400 with other words", on(status(400, true, "bad header")), ClassProtocol, false, false, false, OutcomeRefused},
		{"status", "404 while opening", opening(status(404, false, "")), ClassConnect, false, false, false, ""},
		{"status", "408 may have been executed", on(status(http.StatusRequestTimeout, true, "")), ClassProtocol, false, false, false, OutcomeUnknown},
		{"elsewhere", "a redirect", on(failed(transport.Fault{Kind: transport.KindRedirect, Status: 302, Written: true})), ClassProtocol, false, false, false, OutcomeRefused},
		{"elsewhere", "303: the POST may have been executed", on(failed(transport.Fault{Kind: transport.KindRedirect, Status: 303, Written: true})), ClassProtocol, false, false, false, OutcomeUnknown},
		{"elsewhere", "304, and others that do not say it was not: the POST may have been executed", on(failed(transport.Fault{Kind: transport.KindRedirect, Status: 304, Written: true})), ClassProtocol, false, false, false, OutcomeUnknown},
		{"elsewhere", "307 to another origin", on(failed(transport.Fault{Kind: transport.KindRedirect, Status: 307, Written: true})), ClassProtocol, false, false, false, OutcomeRefused},
		{"elsewhere", "a page while opening", opening(page), ClassConnect, false, false, false, ""},
		{"content", "not JSON-RPC", on(failed(transport.Fault{Kind: transport.KindContent, Status: 200, Written: true})), ClassProtocol, false, false, false, OutcomeUnknown},
		{"content", "not HTTP", opening(failed(transport.Fault{Kind: transport.KindNotHTTP, Written: true})), ClassProtocol, false, false, false, ""},
		{"content", "too large", on(failed(transport.Fault{Kind: transport.KindTooLarge, Written: true})), ClassProtocol, false, false, false, OutcomeUnknown},
		{"refused-by-sdk", "the connection was closed before", evidence{method: "tools/call", opened: true, err: mcp.ErrConnectionClosed}, ClassConnect, true, true, true, OutcomeNotSent},
		{"refused-by-sdk", "the stream of the older transport had just ended", evidence{method: "tools/call", opened: true, err: fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, io.EOF)}, ClassConnect, true, true, true, OutcomeNotSent},
		{"no-answer", "the SDK gave up", on(sent), ClassConnect, true, false, true, OutcomeUnknown},
		{"undecodable", "an answer that cannot be decoded", evidence{opened: true, err: errors.New(`calling "tools/call": invalid`), state: transport.ExchangeState{Method: "tools/call", Written: true, Answered: true}}, ClassProtocol, false, false, false, OutcomeExecuted},
	}
}

// refusedToken is what the wire shows of a request for which an authorizer got nothing: status is that of the refusal, 0 if
// the request was not sent.
func refusedToken(status int, reason oauth.Reason) transport.ExchangeState {
	f := transport.Fault{Kind: transport.KindAuth, Err: &oauth.Error{Step: oauth.StepToken, Reason: reason, Message: "it did not work"}}
	if status != 0 {
		f.Kind, f.Status, f.Written = transport.KindStatus, status, true
	}
	return transport.ExchangeState{Method: "tools/call", Written: f.Written, Status: status, Fault: &f}
}

func TestEachRowOfTheTable(t *testing.T) {
	shown := map[string]bool{}
	for _, x := range examples() {
		shown[x.row] = true
		t.Run(x.row+"/"+x.about, func(t *testing.T) {
			if got := x.ev.sort().row().id; got != x.row {
				t.Fatalf("the row is %s", got)
			}
			e := classify(x.ev)
			if e.Class != x.class || e.Outcome != x.outcome || e.Message == "" {
				t.Errorf("class %s, outcome %q, message %q; want %s, %q", e.Class, e.Outcome, e.Message, x.class, x.outcome)
			}
			if v := decide(e.kind, false); v.fresh != x.fresh || v.repeat != x.repeat {
				t.Errorf("fresh %v, repeat %v for a request that may not be repeated", v.fresh, v.repeat)
			}
			if v := decide(e.kind, true); v.fresh != x.fresh || v.repeat != x.safe {
				t.Errorf("fresh %v, repeat %v for a request that may be repeated", v.fresh, v.repeat)
			}
		})
	}
	for _, r := range rows() {
		if !shown[r.id] {
			t.Errorf("no example shows the row %s: %s", r.id, r.evidence)
		}
	}
}
