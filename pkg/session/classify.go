package session

// What a failed request means is decided here, in one place, from evidence below the SDK: type, status and phase, and
// words only where servers say it in words alone. The table is rows; decide says what may be done about each kind. A
// tool's result is never looked at: an error result that says "session not found" is an application's matter.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/transport"
)

// kind is what the evidence says happened.
type kind int

const (
	// kindProtocol is an answer that is no MCP, or not the one that was asked for.
	kindProtocol kind = iota
	// kindExpired is a session that the server does not know any more: it refused the request.
	kindExpired
	// kindUncertain is a lost session of a request that may have been executed before.
	kindUncertain
	// kindNotSent is a request of which no byte was written.
	kindNotSent
	// kindSevered is a request whose answer was lost with the connection.
	kindSevered
	// kindBusy is a server that asks to come back later.
	kindBusy
	// kindAuth is a server that wants authorization, or refuses the one it got.
	kindAuth
	// kindNoToken is authorization that could not be got now, and may be in a while: nothing is wrong with the session.
	kindNoToken
	// kindBroken is a server that failed, perhaps after it had executed the request.
	kindBroken
	// kindAnswered is any other JSON-RPC error.
	kindAnswered
	// kindTimeout and kindInterrupted are the caller's: a limit, a wish to stop.
	kindTimeout
	kindInterrupted
	// kindConfig is an entry that cannot be used.
	kindConfig
)

// verdict says what may be done about a failed request, and why.
type verdict struct {
	// fresh asks for a replacement of the session, repeat for one repetition of the request.
	fresh, repeat bool
	// why is the reason for repeating the request, or for not doing so; "" where there is no question of it.
	why string
}

// decide is the at-most-once rule: a request that may have been executed is repeated only if that does no harm.
func decide(k kind, repeatable bool) verdict {
	switch k {
	case kindExpired:
		return verdict{fresh: true, repeat: true, why: "the server refused it with the session"}
	case kindNotSent:
		return verdict{fresh: true, repeat: true, why: "nothing of it had been sent"}
	case kindSevered, kindUncertain:
		if repeatable {
			return verdict{fresh: true, repeat: true, why: "it may have been executed, and repeating it does no harm"}
		}
		return verdict{fresh: true, why: "it may have been executed, and is not known to be safe to repeat"}
	case kindBroken:
		return verdict{why: "it may have been executed, and is not known to be safe to repeat"}
	case kindProtocol, kindBusy, kindAuth, kindNoToken, kindAnswered, kindTimeout, kindInterrupted, kindConfig:
	}
	return verdict{}
}

// The phrases with which servers say that the transport's session is gone. The list is closed, and each phrase is whole,
// so that an application's own "session_id is required" is not taken for one. sessionPhrases finds them anywhere, which
// is right for the body of an HTTP error to a request with a session id; the other two want them to be the message.
var (
	sessionPhrases     = lazily(`(?i)\b(` + lostPhrases + `)\b`)
	wholeSessionPhrase = lazily(`(?i)^\s*` + leadIn + `(` + lostPhrases + `)` + leadOut + `$`)
	wholeInitPhrase    = lazily(`(?i)^\s*` + leadIn + `(` + uninitialised + `)` + leadOut + `$`)
)

const (
	lostPhrases = `session( |-)?(id )?(was |is )?not found|` +
		`session ` + someID + ` (was |is )?not found|` +
		`session ` + someID + ` (has (expired|been terminated)|(is |was )?(not active|inactive|unknown|gone)|(does not|doesn't|no longer) exists?)|` +
		`(invalid|unknown) or (missing|expired) session( |-)?(id)?|` +
		`no (transport|session) found for (this |the )?session(( |-)?id)?|no session found|transport not found for (this |the )?session(( |-)?id)?|` +
		`no session with id|` +
		`session (id )?(has |is |was |already )?(been )?(expired|terminated|closed|invalidated|evicted|lost|destroyed|removed|timed out|gone)|session timeout|` +
		`session (id )?(does not|doesn't|no longer) exists?|` +
		`session (id )?is (unknown|invalid|stale|no longer valid|no longer active|unavailable)|session (id )?(invalid|unavailable)|` +
		`(unknown|stale|expired|invalid|terminated) (mcp[ -])?session(( |-)?id)?( header)?|` +
		`no (valid|active|such) session( id)?( provided)?|` +
		`no session (found )?(with|for) (this |that |the )?(session )?id|` +
		`session (id )?(is |was )?not (recognized|recognised|known|active|valid|available)|` +
		`could not find session`
	// someID is an id inside a phrase: named as one, in quotes, or with a digit. "Session cookie not found" has none.
	someID = `(with id ['"]?[\w.-]{1,80}['"]?|['"][\w.-]{1,80}['"]|[\w.-]{0,80}\d[\w.-]{0,80})`
	// uninitialised is what a server says that has made a new, empty session of an unknown id.
	uninitialised = `(server|session) (is |was |has )?not (been )?(yet )?initiali[sz]ed( yet)?|received request before initiali[sz]ation was complete`
	// leadIn is what stands before a phrase that is the whole message: the name of the error, an article.
	leadIn = `((bad request|invalid params|invalid request|not found|unauthorized|forbidden|conflict|gone|service unavailable|internal (server )?error|server error|error|(mcp error )?-?\d+)\s*[:,.-]\s*)*` +
		`(the |your |this )?(mcp[ -])?`
	// leadOut is what may follow it: an id, or advice. Whatever else follows, the message is about something else.
	leadOut = `\s*(` + someName + `|(on|for|with|at|due to|because of|after) (this |that |the )?[\w -]{1,60}|` +
		`or (is |has |was |session )?(expired|invalid|unknown|terminated|not found|missing)|` +
		`(or|and) (this is |it is )?not an? (initiali[sz]e|initiali[sz]ation) request)?` +
		`\s*([:;,.!(-]+\s*(` + someName + `|` + advice + `.{0,120}))?[.!)]*\s*`
	// someName is an id, bare or named.
	someName = `((session )?id( is)?:?\s*)?['"]?[\w-]{1,80}['"]?`
	// advice is how a sentence begins that tells the client what to do, or why the session is gone.
	advice = `(please|you (must|need|should|have)|(client|request)s? (must|should|needs?)|must|call|send|try|use|(re-?)?initiali[sz]e|reconnect|` +
		`(re-?)?start|create|open|establish|begin|(a )?new (session|connection)|(the )?(server|service|process|instance|session) (was|has|is|may|might|timed|expired|restarted)|` +
		`it (was|has|is|may|might)|(due to|because of|after) (inactivity|idle|timeout|a restart|restart))\b`
)

// lazily returns an expression that is compiled when it is first needed: most commands never need it.
func lazily(expr string) func() *regexp.Regexp { return (&lazyExpression{text: expr}).compiled }

// lazyExpression takes a third of what a [sync.OnceValue] takes before main, and there are many.
type lazyExpression struct {
	once sync.Once
	text string
	expr *regexp.Regexp
}

func (l *lazyExpression) compiled() *regexp.Regexp {
	l.once.Do(func() { l.expr = regexp.MustCompile(l.text) })
	return l.expr
}

// evidence is everything that is known about a failed request.
type evidence struct {
	server string
	method string
	state  transport.ExchangeState
	err    error // what the SDK returned
	ctx    error // why the caller's context ended, nil if it did not
	// opened is set once the handshake is over.
	opened bool
	// legacy is set on sessions of the era with handshakes.
	legacy bool
	// reports counts the reports of progress.
	reports int
}

// seen is what the rows look at: the evidence, sorted.
type seen struct {
	evidence
	// fault is what went wrong on the wire, nil if nothing did, or an answer came all the same.
	fault *transport.Fault
	// rpc is the JSON-RPC error of the answer, or in the body of an error status; nil if there is none.
	rpc *RPCError
	// status is that of the HTTP answer, 0 if there was none.
	status int
	// lost is set when the words are those of a server that does not know the transport's session, perhaps when such words
	// stand in a longer text, which may be about something else.
	lost, perhaps bool
	// wantsID is set when the words are those of a server that has found no session id in the request.
	wantsID bool
	// missesID is set when the words are those of a server that does not know the session of a request without an id.
	missesID bool
	// stranger is who answered in place of the server, nil if nobody was recognised.
	stranger *stranger
}

// row is one line of the table.
type row struct {
	// id names the row in tests.
	id string
	// evidence says in words what fits looks for.
	evidence string
	fits     func(seen) bool
	kind     kind
	// class is the failure's, and opening the one it has while the session is being opened, if that differs.
	class, opening Class
}

// rows returns the table, which is made once. The first row that fits decides; the last one always fits.
var rows = sync.OnceValue(func() []row {
	status := func(codes ...int) func(seen) bool {
		return func(s seen) bool { return s.isStatus() && slices.Contains(codes, s.status) }
	}
	and := func(fits ...func(seen) bool) func(seen) bool {
		return func(s seen) bool {
			for _, fit := range fits {
				if !fit(s) {
					return false
				}
			}
			return true
		}
	}
	answered := func(s seen) bool { return s.state.Answered && s.rpc != nil }
	carried := func(s seen) bool { return s.fault.SessionID }
	lost := func(s seen) bool { return s.lost }
	written := func(s seen) bool { return s.fault.Written }
	fails := func(reason oauth.Reason) func(seen) bool {
		return func(s seen) bool { e := s.failure(); return e != nil && e.Reason == reason }
	}
	faults := func(kinds ...transport.Kind) func(seen) bool {
		return func(s seen) bool { return s.fault != nil && slices.Contains(kinds, s.fault.Kind) }
	}
	broken := faults(transport.KindSevered, transport.KindExit, transport.KindOther)
	return []row{
		// The caller's own end comes first: whatever the wire showed after it is a consequence.
		{"limit", "a limit of the caller ran out", func(s seen) bool { return s.abandoned() && !s.interrupted() }, kindTimeout, ClassTimeout, ""},
		{"interrupted", "the caller wants to stop", seen.abandoned, kindInterrupted, ClassInterrupted, ""},

		{"answer-lost-500", "a JSON-RPC error under 500 that says the session is gone", func(s seen) bool {
			return answered(s) && s.lost && s.status == http.StatusInternalServerError
		}, kindUncertain, ClassSession, ""},
		{"answer-lost", "a JSON-RPC error that says the session is gone", and(answered, lost), kindExpired, ClassSession, ""},
		{"answer-perhaps-lost", "404 or 410 whose JSON-RPC error has such words in a longer sentence", and(answered, func(s seen) bool { return s.perhaps }), kindUncertain, ClassSession, ""},
		{"answer", "any other JSON-RPC error", answered, kindAnswered, ClassAnswered, ""},

		// What an authorizer says of its failure is more than the status that it was asked for.
		{"login-limit", "a person did not log in within the time for that", fails(oauth.TimedOut), kindTimeout, ClassTimeout, ""},
		{"login-cancelled", "whoever was to log in does not want to", fails(oauth.Cancelled), kindInterrupted, ClassInterrupted, ""},
		{"login-config", "a value of the entry's with which authorization cannot be got", fails(oauth.Config), kindConfig, ClassConfig, ""},
		{"no-token", "the authorization server could not be reached, or did not work", fails(oauth.Unreachable), kindNoToken, ClassConnect, ""},
		{"no-authorization", "no authorization was got: a login is needed, or it was refused, or what came must not be used", func(s seen) bool {
			return s.failure() != nil || s.fault != nil && s.fault.Kind == transport.KindAuth
		}, kindAuth, ClassAuth, ""},

		{"proxy-refused", "a proxy that refuses a request which was written to it", func(s seen) bool {
			return s.fault != nil && s.fault.Kind == transport.KindProxy && s.fault.Written && s.fault.Status != 0
		}, kindProtocol, ClassConnect, ""},
		{"unreachable-written", "DNS, dial, TLS, proxy or start failed for a request that had been written", and(seen.unreachable, written), kindSevered, ClassConnect, ""},
		{"unreachable", "DNS, dial, TLS, proxy or start failed", seen.unreachable, kindNotSent, ClassConnect, ""},
		{"severed", "EOF, reset, stream end without response, child died during the request", and(broken, written), kindSevered, ClassConnect, ""},
		{"dead", "the connection was gone before a byte was written", broken, kindNotSent, ClassConnect, ""},

		{"unknown-method", "404 to a message whose method the server does not know, as it says", and(status(http.StatusNotFound), func(s seen) bool {
			return s.rpc != nil && s.rpc.Code == codeMethodNotFound && !s.lost && !s.perhaps
		}), kindProtocol, ClassProtocol, ""},
		{"gone", "404 or 410 to a request that carried a session id", and(status(http.StatusNotFound, http.StatusGone), carried, func(s seen) bool {
			return !loginPlaces().MatchString(s.fault.Redirect) // a page that does not exist, to which those are sent who have to log in
		}), kindExpired, ClassSession, ""},
		{"lost", "400, 409 or 503 with a phrase about the session", and(status(http.StatusBadRequest, http.StatusConflict, http.StatusServiceUnavailable), lost), kindExpired, ClassSession, ""},
		{"lost-unauthorized", "401 or 403 with such a phrase and without a challenge", and(status(http.StatusUnauthorized, http.StatusForbidden), lost, func(s seen) bool {
			return s.fault.Challenge == ""
		}), kindExpired, ClassSession, ""},
		{"perhaps-lost", "400, 401, 403, 409, 500 or 503 with such words in a longer text, and no challenge", and(status(http.StatusBadRequest, http.StatusUnauthorized,
			http.StatusForbidden, http.StatusConflict, http.StatusInternalServerError, http.StatusServiceUnavailable), func(s seen) bool {
			return s.perhaps && !s.lost && s.fault.Challenge == ""
		}), kindUncertain, ClassSession, ""},
		{"lost-500", "500 with such a phrase: lost, but perhaps after execution", and(status(http.StatusInternalServerError), lost), kindUncertain, ClassSession, ""},
		{"stranger", "somebody before the server, whose refusal no token changes", func(s seen) bool {
			return s.isStatus() && s.stranger != nil && s.stranger.refusal
		}, kindProtocol, ClassProtocol, ClassConnect},
		{"auth", "401 or 403 otherwise", status(http.StatusUnauthorized, http.StatusForbidden), kindAuth, ClassAuth, ""},
		{"auth-words", "400, or while opening 500 or JSON that is not JSON-RPC, that speaks of authorization", seen.wantsAuth, kindAuth, ClassAuth, ""},
		{"rate-limit", "429", status(http.StatusTooManyRequests), kindBusy, ClassBusy, ""},
		{"unavailable", "503 with Retry-After, and any 503 while opening", and(status(http.StatusServiceUnavailable), func(s seen) bool {
			return s.fault.HasRetryAfter || !s.opened
		}), kindBusy, ClassBusy, ""},
		// The supervisor weighs it, knowing whether the request may be repeated.
		{"unavailable-now", "503 without Retry-After", status(http.StatusServiceUnavailable), kindSevered, ClassConnect, ""},
		{"gateway", "502 or 504", status(http.StatusBadGateway, http.StatusGatewayTimeout), kindSevered, ClassConnect, ""},
		{"server-error", "any other 5xx: it may have been executed", func(s seen) bool {
			return s.isStatus() && s.status >= http.StatusInternalServerError
		}, kindBroken, ClassProtocol, ClassConnect},
		{"status", "any other status that is no success", seen.isStatus, kindProtocol, ClassProtocol, ClassConnect},

		{"elsewhere", "a redirect that is not followed, a web page", func(s seen) bool {
			return s.fault != nil && (s.fault.Kind == transport.KindRedirect || s.fault.Kind == transport.KindContent && s.fault.IsPage())
		}, kindProtocol, ClassProtocol, ClassConnect},
		{"content", "an answer that is not JSON-RPC, not HTTP, too large", func(s seen) bool { return s.fault != nil }, kindProtocol, ClassProtocol, ""},

		// Without a fault on the wire there is only what the SDK says.
		{"refused-by-sdk", "the SDK had given the connection up before the transport saw anything", func(s seen) bool {
			return s.opened && s.state.Method == "" && errors.Is(s.err, mcp.ErrConnectionClosed)
		}, kindNotSent, ClassConnect, ""},
		{"no-answer", "written, and the SDK gave up before the answer", func(s seen) bool {
			return s.state.Written && !s.state.Answered
		}, kindSevered, ClassConnect, ""},
		{"undecodable", "an answer that the SDK cannot use", func(seen) bool { return true }, kindProtocol, ClassProtocol, ""},
	}
})

// isStatus reports whether the answer was an HTTP status without a JSON-RPC response of the request's own.
func (s seen) isStatus() bool { return s.fault != nil && s.fault.Kind == transport.KindStatus }

// statusMessage returns what an answer that is no success says, or any other fault.
func (s seen) statusMessage(f *transport.Fault) string {
	if s.isStatus() && s.rpc != nil {
		return fmt.Sprintf("HTTP %d %s: %s", s.status, http.StatusText(s.status), s.rpc.Error())
	}
	return f.Error()
}

// failure returns why no authorization was got for a request that wanted some, nil if that is not what is wrong.
func (s seen) failure() *oauth.Error {
	if s.fault == nil || s.fault.Kind != transport.KindAuth && s.fault.Kind != transport.KindStatus {
		return nil
	}
	return failureOf(s.fault.Err)
}

// unreachable reports whether there was no connection to write to.
func (s seen) unreachable() bool {
	if s.fault == nil {
		return false
	}
	switch s.fault.Kind {
	case transport.KindDNS, transport.KindRefused, transport.KindDial, transport.KindTLS, transport.KindProxy, transport.KindStart:
		return true
	case transport.KindOther, transport.KindSevered, transport.KindStatus, transport.KindRedirect, transport.KindContent,
		transport.KindNotHTTP, transport.KindExit, transport.KindTooLarge, transport.KindAuth:
	}
	return false
}

// abandoned reports whether the caller gave the request up before its answer.
func (s seen) abandoned() bool {
	return s.ctx != nil && (!s.state.Answered || errors.Is(s.err, context.DeadlineExceeded) || errors.Is(s.err, context.Canceled))
}

// interrupted reports whether the caller's context was cancelled, for no reason that it gave.
func (s seen) interrupted() bool {
	return errors.Is(s.ctx, context.Canceled)
}

// sort looks the evidence through.
func (ev evidence) sort() seen {
	st := ev.state
	s := seen{evidence: ev, status: st.Status}
	if st.Answered && st.Error != nil {
		s.rpc = rpcError(st.Error)
		s.lost = ev.saysLost(s.rpc.Message, st.SessionID)
		if st.SessionID && (st.Status == http.StatusNotFound || st.Status == http.StatusGone) {
			s.perhaps = sessionPhrases().MatchString(s.rpc.Message)
		}
		return s
	}
	if st.Fault == nil || st.Answered {
		return s
	}
	s.fault, s.status, s.stranger = st.Fault, st.Fault.Status, strangerOf(st.Fault)
	texts := textsOf(s.fault.Body)
	if s.fault.RPCError != nil {
		s.rpc = rpcError(s.fault.RPCError)
		texts = []string{s.rpc.Message}
	}
	for _, text := range texts {
		s.lost = s.lost || ev.saysLost(text, s.fault.SessionID)
		s.perhaps = s.perhaps || s.fault.SessionID && sessionPhrases().MatchString(text)
		s.wantsID = s.wantsID || s.status == http.StatusBadRequest && (noSessionID().MatchString(text) ||
			s.method == initializedMethod && wholeInitPhrase().MatchString(text)) // it takes what has no id for a new session
		s.missesID = s.missesID || s.status == http.StatusNotFound && !s.fault.SessionID && sessionPhrases().MatchString(text)
	}
	return s
}

// noSessionID is how servers say that a request has no session id. See the MCP specification, 2025-11-25, "Session Management".
var noSessionID = lazily(`(?i)\b(missing|no|without( an?)?|requires?( an?)?|must (have|include|provide)( an?)?) (valid )?(mcp[ -])?session[ -]?id\b|` +
	`\b(mcp[ -])?session[ -]?id( header)? (is |was )?(required|missing|not (provided|present|set)|must be (provided|present|set|included))\b`)

// describeMissingID says of a request that was refused because it has no session id why it has none: somebody before the server
// passes the header on in one direction only, or in none.
func describeMissingID(e *Error, carried bool) {
	if carried {
		e.Message = "the request carried Mcp-Session-Id, and the server saw none: " + e.Message
		e.Hint = "let the proxy before the server pass the header Mcp-Session-Id of requests on"
		return
	}
	e.Message = "the server wants a session id, and its answer to initialize gave none: " + e.Message
	e.Hint = "let the proxy before the server pass the header Mcp-Session-Id of answers on; without one, the server has to send it"
}

// saysLostSession reports whether the body of an HTTP error to a request with a session id says, or may say, that the
// session is gone.
func saysLostSession(body []byte) bool {
	f := &transport.Fault{Kind: transport.KindStatus, Body: body, SessionID: true}
	s := evidence{state: transport.ExchangeState{Fault: f}}.sort()
	return s.lost || s.perhaps
}

// textsOf returns the texts in the body of an HTTP error: the strings of a JSON document, else the lines.
func textsOf(body []byte) []string {
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		return strings.Split(string(body), "\n")
	}
	var texts []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, each := range v {
				walk(each)
			}
		case map[string]any:
			for _, each := range v {
				walk(each)
			}
		}
	}
	walk(doc)
	return texts
}

// rpcError reads a JSON-RPC error object. Some servers send the code as text or with a point, or a text in place of the
// object; what cannot be read at all is its own message.
func rpcError(raw json.RawMessage) *RPCError {
	e := &RPCError{}
	if json.Unmarshal(raw, e) == nil {
		return e
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &RPCError{Message: text}
	}
	var loose struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &loose) != nil || loose.Message == "" {
		return &RPCError{Code: e.Code, Message: string(raw)}
	}
	e = &RPCError{Message: loose.Message, Data: loose.Data}
	code := strings.Trim(string(loose.Code), `"`)
	if n, err := strconv.ParseFloat(code, 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<31 {
		e.Code = int(n)
	} else if code != "" && code != "null" {
		e.Message = code + ": " + e.Message
	}
	return e
}

// saysLost reports whether the whole of a text says that the transport's session is gone, as the message of a JSON-RPC
// error does. A phrase inside a longer sentence is an application's matter: "order placed, but the checkout session has
// expired". Without a session there is none to lose; only a server that has forgotten the handshake can say so of an HTTP
// session without an id.
func (ev evidence) saysLost(text string, carried bool) bool {
	return carried && wholeSessionPhrase().MatchString(text) ||
		(carried || ev.opened && ev.legacy) && wholeInitPhrase().MatchString(text)
}

// row returns the first row of the table that fits.
func (s seen) row() row {
	for _, r := range rows() {
		if r.fits(s) {
			return r
		}
	}
	panic("the last row fits always")
}

// classify turns evidence into an error.
func classify(ev evidence) *Error {
	s := ev.sort()
	r := s.row()
	e := &Error{Server: ev.server, Phase: ev.method, Err: ev.err, kind: r.kind, Class: r.class}
	if r.opening != "" && !ev.opened {
		e.Class = r.opening // no MCP server was reached
	}
	if e.Phase == "" {
		e.Phase = ev.state.Method
	}
	s.describe(e, r)
	s.meet(e)
	s.mend(e)
	if ev.opened {
		e.Outcome = outcomeOf(e.kind, ev.state)
	}
	return e
}

// describe says what happened.
func (s seen) describe(e *Error, r row) {
	switch failure := s.failure(); {
	case failure != nil && !s.abandoned():
		e.Err = s.fault
		describeFault(e, s.fault)
		describeFailure(e, failure)
		begun := failure.Step != "" && failure.Step != oauth.StepResource
		if failure.Reason == oauth.Refused && s.isStatus() && !begun { // nothing was begun: what the server says comes first
			f := *s.fault
			f.Err = nil
			e.RPC, e.Message = s.rpc, s.statusMessage(&f)
			describeChallenge(e, &f)
			e.Evidence = append(e.Evidence, failure.Message)
		}
	case r.kind == kindTimeout:
		s.describeLimit(e)
	case r.kind == kindInterrupted:
		e.Message = "interrupted"
	case s.state.Answered && s.rpc != nil:
		e.Status, e.RPC, e.Message = s.status, s.rpc, s.rpc.Error()
		if s.lost {
			e.Message = s.rpc.Message
		} else if reachesNothing(s.rpc.Message) {
			e.Hint = "the server works, and does not reach what stands behind it: see to its network, and to where it looks"
		}
	case s.fault != nil:
		e.Err, e.RPC, e.Message = s.fault, s.rpc, s.statusMessage(s.fault)
		describeFault(e, s.fault)
		if s.wantsID && !s.lost || s.missesID && e.Phase != "initialize" {
			describeMissingID(e, s.fault.SessionID)
		}
		switch {
		case s.fault.Kind == transport.KindTooLarge:
			e.Hint = tooLargeHint
		case s.isStatus() && loginPlaces().MatchString(s.fault.Redirect):
			e.Hint = hintLogin
		case s.fault.Kind == transport.KindContent && s.status == http.StatusAccepted:
			e.Hint = "the response to a request belongs into the answer to its POST, as JSON or as a stream of events, and not on a stream that was opened with GET"
		}
		if s.unreachable() && !s.opened && s.fault.Kind != transport.KindStart {
			e.Phase = "connect"
		}
	case r.kind == kindNotSent:
		e.Message = "the connection is closed"
	case r.kind == kindSevered:
		e.Message = "the connection broke before the answer"
	case s.state.Answered && s.state.Result != nil && strings.HasSuffix(plain(s.err), `unsupported protocol version: ""`):
		e.Message = fmt.Sprintf("the result of %s names no protocolVersion", e.Phase)
		e.Evidence = append(e.Evidence, "result: "+firstWords(string(s.state.Result)))
		e.Hint = "correct the result in the server: it has to hold protocolVersion, capabilities and serverInfo; if it has other members, this may be no MCP server"
	case s.state.Answered && s.state.Result != nil && strings.Contains(plain(s.err), "unmarshal"):
		// The SDK's words are about its own types.
		e.Message = fmt.Sprintf("the result of %s is not of the form that MCP specifies", e.Phase)
		e.Evidence = append(e.Evidence, "result: "+firstWords(string(s.state.Result)))
		e.Hint = "correct the result in the server"
		if member, begins := memberOf(plain(s.err)); member != "" {
			e.Message += ": the member " + member + " is of another type"
			if begins == "[" { // the usual reason
				e.Message += ", an array"
				e.Hint += ": an empty object is {} in JSON, and PHP and Lua write [] for it"
			}
		}
	default:
		e.Message = plain(s.err)
	}
}

// tooLargeHint is what can be done about a message over the limit.
const tooLargeHint = "ask for less at a time, if the server can do that, or for a link to the data"

// memberName finds the member of a result in what a JSON decoder says, and what stands there.
var memberName = lazily(`(?s)cannot unmarshal "(.).*Go struct field ([\w.]+) of type`)

// memberOf names the member of a result that a JSON decoder complains of, "" if it does not say, and the character with which
// the value begins. The decoder puts types of Go before the member, which begin with a capital letter or name their package.
func memberOf(text string) (member, begins string) {
	m := memberName().FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	parts := strings.Split(m[2], ".")
	i := slices.IndexFunc(parts, func(part string) bool {
		return part != "" && part != "mcp" && !strings.HasSuffix(part, "mcp") && unicode.IsLower(rune(part[0]))
	})
	if i < 0 {
		return "", m[1]
	}
	return strings.Join(parts[i:], "."), m[1]
}

// describeLimit says which limit ran out.
func (s seen) describeLimit(e *Error) {
	if limit, ok := errors.AsType[*limitError](s.ctx); ok {
		e.Limit = &limit.limit
		e.Message = fmt.Sprintf("no answer within %s", limit.limit)
		e.Hint = fmt.Sprintf("raise it with %s, or see what the server is doing", limit.limit.Flag())
		e.Evidence = append(e.Evidence, s.progress()...)
		return
	}
	e.Message = s.ctx.Error() // a cause that the caller gave
	if errors.Is(s.ctx, context.DeadlineExceeded) {
		e.Message = "no answer within the caller's deadline"
	}
}

// progress says how far an HTTP request had come when its limit ran out.
func (s seen) progress() []string {
	st := s.state
	switch {
	case s.rpc != nil || s.fault != nil || st.Answered || !st.Written:
		return nil
	case st.Status == 0:
		if s.reports > 0 {
			return []string{fmt.Sprintf("%s was sent, and only progress came back, %d times", st.Method, s.reports)}
		}
		return []string{st.Method + " was sent, and nothing came back"}
	case st.Length >= 0:
		return []string{fmt.Sprintf("HTTP %d came, with %d of %d bytes of its body", st.Status, st.Read, st.Length)}
	case st.Read == 0:
		return []string{fmt.Sprintf("HTTP %d came, and no body", st.Status)}
	}
	return []string{fmt.Sprintf("HTTP %d came, with %d bytes of its body, and no answer in them", st.Status, st.Read)}
}

// describeChild says that a child which does not answer is alive, and what it has said besides.
func describeChild(e *Error, child *transport.Child) {
	if child.Fault() != nil && !child.Left.Load() { // by now it may have gone because nobody waits for it
		return
	}
	e.Evidence = append(e.Evidence, fmt.Sprintf("the process %d is still running", child.PID()))
	if len(e.StderrTail) == 0 {
		e.StderrTail = child.Stderr()
	}
	for _, odd := range child.Odd.List() {
		if odd.Kind == transport.OddStray {
			e.Evidence = append(e.Evidence, "there was "+odd.First) // it may be meant as the answer
		}
	}
	if len(e.StderrTail) == 0 && child.Noise().Lines == 0 {
		e.Evidence = append(e.Evidence, "it has written nothing to standard error")
	}
}

// outcomeOf says what is known about the execution of a failed request.
func outcomeOf(k kind, st transport.ExchangeState) Outcome {
	switch k {
	case kindNotSent:
		return OutcomeNotSent
	case kindAuth, kindNoToken, kindConfig:
		if !st.Written {
			return OutcomeNotSent
		}
		return OutcomeRefused
	case kindExpired, kindBusy, kindAnswered:
		return OutcomeRefused
	case kindUncertain:
		return OutcomeUnknown
	case kindSevered, kindBroken, kindTimeout, kindInterrupted, kindProtocol:
	}
	switch {
	case st.Answered && st.Error != nil:
		return OutcomeUnknown // an error, and it came when the limit had run out: nobody weighed it
	case st.Answered:
		return OutcomeExecuted
	case !st.Written:
		return OutcomeNotSent
	case st.Fault == nil:
		return OutcomeUnknown
	}
	switch status := st.Fault.Status; {
	case status >= 300 && status < 400 && !transport.Moves(status), status == http.StatusRequestTimeout:
		return OutcomeUnknown // it may have been executed
	case status >= 300 && status < 500:
		return OutcomeRefused
	}
	return OutcomeUnknown
}

// describeFault copies a fault's evidence into the error.
func describeFault(e *Error, f *transport.Fault) {
	describeWay(e, f)
	e.Status = f.Status
	if f.HasRetryAfter {
		e.RetryAfter = f.RetryAfter
	}
	e.StderrTail = f.Stderr
	if f.Exit != nil {
		e.Signal = f.Exit.Signal
		if f.Exit.Signal == "" {
			status := f.Exit.Status
			e.ExitStatus = &status
		}
	}
	if f.Status != 0 {
		e.Evidence = append(e.Evidence, strings.TrimSpace(fmt.Sprintf("%s %s: %d %s", f.Method, f.URL, f.Status, f.ContentType)))
		switch {
		case f.Title != "":
			e.Evidence = append(e.Evidence, fmt.Sprintf("page title: %q", f.Title))
		case f.Snippet() != "":
			e.Evidence = append(e.Evidence, "first bytes: "+f.Snippet())
		}
		e.Evidence = append(e.Evidence, f.Signs...)
	}
	if f.Challenge != "" {
		e.Evidence = append(e.Evidence, "WWW-Authenticate: "+f.Challenge)
		if failureOf(f.Err) == nil { // which knows better what is missing
			describeChallenge(e, f)
		}
	}
}

// describeChallenge says in words what a server wants that refuses a token for its scopes. See RFC 6750, 3.1.
func describeChallenge(e *Error, f *transport.Fault) {
	for _, c := range transport.ParseChallenge(f.Challenge) {
		about := c.Params["error_description"]
		if about != "" && !strings.Contains(e.Message, about) {
			e.Message += ": " + about
		}
		if scope := c.Params["scope"]; scope != "" && c.Params["error"] == "insufficient_scope" {
			e.Message += fmt.Sprintf("; it wants the scopes %q", scope)
			e.Hint = "get a token that has these scopes"
			return
		}
	}
}

// plain drops the SDK's prefixes from the text of an error.
func plain(err error) string {
	if err == nil {
		return "failed"
	}
	text := err.Error()
	for _, prefix := range []string{`calling "`, `sending "`} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			if _, after, ok := strings.Cut(rest, `": `); ok {
				text = after
			}
		}
	}
	return text
}

// ended returns why ctx ended, nil if it has not.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
