package session

// What a failed request means is decided here, in one place, from evidence below the SDK: type, status and phase, and
// words only where servers say it in words alone. The table:
//
//	kind        evidence                                                      fresh session  repeat
//	expired     404 or 410 to a request that carried a session id; 400, 401,  yes            yes: it was refused
//	            403, 409, 503 or a JSON-RPC error with a phrase about the
//	            transport's session
//	uncertain   500 with such a phrase: lost, but perhaps after execution     yes            as severed
//	notSent     no byte of the request was written                            yes            yes
//	severed     EOF, reset, stream end without response, child died during    yes            only if harmless
//	            the request, 502, 504, 503 without Retry-After on a request
//	            that may not be repeated
//	busy        429, 503                                                      no             after a wait
//	auth        401, 403 otherwise                                            no             no
//	protocol    undecodable, wrong content type, other statuses               no             no
//	broken      other 5xx: it may have been executed                          no             no
//	answered    any other JSON-RPC error                                      no             no
//	timeout     the caller's deadline                                         no             no
//	interrupted the caller's cancellation                                     no             no
//
// A tool's result is never looked at: an error result that says "session not found" is an application's matter.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// kind is what the evidence says happened.
type kind int

const (
	kindProtocol kind = iota
	kindExpired
	kindUncertain
	kindNotSent
	kindSevered
	kindBusy
	kindAuth
	kindBroken
	kindAnswered
	kindTimeout
	kindInterrupted
	kindConfig
)

// verdict says what may be done about a failed request.
type verdict struct {
	// fresh asks for a replacement of the session, repeat for one repetition of the request.
	fresh, repeat bool
}

// decide is the at-most-once rule: a request that may have been executed is repeated only if that does no harm.
func decide(k kind, repeatable bool) verdict {
	switch k {
	case kindExpired, kindNotSent:
		return verdict{fresh: true, repeat: true}
	case kindSevered, kindUncertain:
		return verdict{fresh: true, repeat: repeatable}
	case kindProtocol, kindBusy, kindAuth, kindBroken, kindAnswered, kindTimeout, kindInterrupted, kindConfig:
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
		`session ` + someID + ` has (expired|been terminated)|` +
		`(invalid|unknown) or (missing|expired) session( |-)?(id)?|` +
		`no (transport|session) found for session( |-)?id|` +
		`no session with id|` +
		`session (id )?(has |is |was )?(been )?(expired|terminated|closed|invalidated|evicted)|` +
		`session (id )?(does not|doesn't|no longer) exists?|` +
		`session (id )?is (unknown|invalid|stale|no longer valid)|` +
		`(unknown|stale|expired|invalid|terminated) (mcp )?session(( |-)?id)?|` +
		`no (valid|active|such) session( id)?( provided)?|` +
		`no session (found )?(with|for) (this |that |the )?(session )?id|` +
		`session not (recognized|recognised|known)|` +
		`could not find session`
	// someID is an id inside a phrase: named as one, in quotes, or with a digit. "Session cookie not found" has none.
	someID = `(with id ['"]?[\w.-]{1,80}['"]?|['"][\w.-]{1,80}['"]|[\w.-]{0,80}\d[\w.-]{0,80})`
	// uninitialised is what a server says that has made a new, empty session of an unknown id.
	uninitialised = `(server|session) (is |was |has )?not (been )?(yet )?initiali[sz]ed( yet)?`
	// leadIn is what stands before a phrase that is the whole message: the name of the error, an article.
	leadIn = `((bad request|invalid params|invalid request|not found|unauthorized|forbidden|conflict|error|(mcp error )?-?\d+)\s*[:,.-]\s*)*` +
		`(the |your |this )?(mcp[ -])?`
	// leadOut is what may follow it: an id, a hint.
	leadOut = `\s*([:;,.!(-].{0,120}|(on|for|with|at) .{0,120}|[\w-]{1,80}|` +
		`or (is |has |was |session )?(expired|invalid|unknown|terminated|not found|missing)[.!]?)?`
)

// lazily returns an expression that is compiled when it is first needed: most commands never need it.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
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
}

// classify turns evidence into an error.
func classify(ev evidence) *Error {
	e := &Error{Server: ev.server, Phase: ev.method, Err: ev.err}
	if e.Phase == "" {
		e.Phase = ev.state.Method
	}
	st := ev.state
	switch {
	case ev.ctx != nil && (!st.Answered || errors.Is(ev.err, context.DeadlineExceeded) || errors.Is(ev.err, context.Canceled)):
		// Whatever the wire showed after that is a consequence.
		ev.byContext(e)
	case st.Answered && st.Error != nil:
		ev.byAnswer(e)
	case st.Fault != nil && !st.Answered:
		ev.byFault(e, st.Fault)
	default:
		ev.bySDK(e)
	}
	if ev.opened {
		e.Outcome = outcomeOf(e.kind, st)
	}
	return e
}

func (ev evidence) byContext(e *Error) {
	if limit, ok := errors.AsType[*limitError](ev.ctx); ok {
		e.kind, e.Class, e.Limit = kindTimeout, ClassTimeout, &limit.limit
		e.Message = fmt.Sprintf("no answer within %s", limit.limit)
		e.Hint = fmt.Sprintf("raise it with %s, or see what the server is doing", limit.limit.Flag())
		return
	}
	if errors.Is(ev.ctx, context.DeadlineExceeded) {
		e.kind, e.Class, e.Message = kindTimeout, ClassTimeout, "no answer within the caller's deadline"
		return
	}
	if !errors.Is(ev.ctx, context.Canceled) { // a cause that the caller gave
		e.kind, e.Class, e.Message = kindTimeout, ClassTimeout, ev.ctx.Error()
		return
	}
	e.kind, e.Class, e.Message = kindInterrupted, ClassInterrupted, "interrupted"
}

// byAnswer judges a JSON-RPC error.
func (ev evidence) byAnswer(e *Error) {
	st := ev.state
	e.Status = st.Status
	rpc := &RPCError{}
	if json.Unmarshal(st.Error, rpc) != nil {
		rpc.Message = string(st.Error)
	}
	e.RPC = rpc
	lost := ev.saysLost(rpc.Message, st.SessionID)
	if st.SessionID && (st.Status == http.StatusNotFound || st.Status == http.StatusGone) {
		lost = lost || sessionPhrases().MatchString(rpc.Message) // the status says the rest
	}
	if lost {
		e.kind, e.Class, e.Message = kindExpired, ClassSession, rpc.Message
		if st.Status == http.StatusInternalServerError {
			e.kind = kindUncertain
		}
		return
	}
	e.kind, e.Class, e.Message = kindAnswered, ClassAnswered, rpc.Error()
}

// saysLost reports whether the whole of a text says that the transport's session is gone, as the message of a JSON-RPC
// error does. A phrase inside a longer sentence is an application's matter: "order placed, but the checkout session has
// expired". Without a session there is none to lose; only a server that has forgotten the handshake can say so of an HTTP
// session without an id.
func (ev evidence) saysLost(text string, carried bool) bool {
	return carried && wholeSessionPhrase().MatchString(text) ||
		(carried || ev.opened && ev.legacy) && wholeInitPhrase().MatchString(text)
}

// byFault judges what went wrong on the wire.
func (ev evidence) byFault(e *Error, f *transport.Fault) {
	e.Err = f
	e.Message = f.Error()
	describeFault(e, f)
	switch f.Kind {
	case transport.KindDNS, transport.KindRefused, transport.KindDial, transport.KindTLS, transport.KindProxy,
		transport.KindStart:
		e.kind, e.Class = kindNotSent, ClassConnect
		if f.Written {
			e.kind = kindSevered
		}
		if !ev.opened && f.Kind != transport.KindStart {
			e.Phase = "connect"
		}
	case transport.KindSevered, transport.KindExit, transport.KindOther:
		e.kind, e.Class = kindNotSent, ClassConnect
		if f.Written {
			e.kind = kindSevered
		}
	case transport.KindStatus:
		ev.byStatus(e, f)
	case transport.KindRedirect, transport.KindContent, transport.KindNotHTTP, transport.KindTooLarge:
		e.kind, e.Class = kindProtocol, ClassProtocol
		if !ev.opened && (f.Kind == transport.KindRedirect || f.IsPage()) {
			e.Class = ClassConnect // no MCP server was reached
		}
	}
}

// byStatus judges an HTTP status without a JSON-RPC response of the request's own.
func (ev evidence) byStatus(e *Error, f *transport.Fault) {
	words := string(f.Body)
	var rpc RPCError
	if f.RPCError != nil && json.Unmarshal(f.RPCError, &rpc) == nil {
		words = rpc.Message
		e.RPC = &rpc
		e.Message = fmt.Sprintf("HTTP %d %s: %s", f.Status, http.StatusText(f.Status), rpc.Error())
	}
	lost := f.SessionID && sessionPhrases().MatchString(words) || ev.saysLost(words, f.SessionID)
	switch f.Status {
	case http.StatusNotFound, http.StatusGone:
		if f.SessionID {
			e.kind, e.Class = kindExpired, ClassSession
			return
		}
	case http.StatusBadRequest, http.StatusConflict:
		if lost {
			e.kind, e.Class = kindExpired, ClassSession
			return
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		if lost && f.Challenge == "" {
			e.kind, e.Class = kindExpired, ClassSession
			return
		}
		e.kind, e.Class = kindAuth, ClassAuth
		return
	case http.StatusTooManyRequests:
		e.kind, e.Class = kindBusy, ClassBusy
		return
	case http.StatusServiceUnavailable:
		switch {
		case lost:
			e.kind, e.Class = kindExpired, ClassSession
		case f.HasRetryAfter || !ev.opened:
			e.kind, e.Class = kindBusy, ClassBusy
		default: // the supervisor weighs it, knowing whether the request may be repeated
			e.kind, e.Class = kindSevered, ClassConnect
		}
		return
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		e.kind, e.Class = kindSevered, ClassConnect
		return
	}
	switch {
	case f.Status == http.StatusInternalServerError && lost:
		e.kind, e.Class = kindUncertain, ClassSession
	case f.Status >= http.StatusInternalServerError:
		e.kind, e.Class = kindBroken, ClassProtocol
	default:
		e.kind, e.Class = kindProtocol, ClassProtocol
	}
	if !ev.opened && e.Class == ClassProtocol {
		e.Class = ClassConnect // no MCP server was reached
	}
}

// bySDK judges an error for which the wire has no evidence.
func (ev evidence) bySDK(e *Error) {
	st := ev.state
	switch {
	case st.Method == "" && ev.opened && errors.Is(ev.err, mcp.ErrConnectionClosed):
		// The SDK refused before the transport saw anything: it had given the connection up.
		e.kind, e.Class, e.Message = kindNotSent, ClassConnect, "the connection is closed"
	case st.Written && !st.Answered:
		e.kind, e.Class, e.Message = kindSevered, ClassConnect, "the connection broke before the answer"
	default:
		e.kind, e.Class = kindProtocol, ClassProtocol
		e.Message = plain(ev.err)
	}
}

// outcomeOf says what is known about the execution of a failed request.
func outcomeOf(k kind, st transport.ExchangeState) Outcome {
	switch k {
	case kindNotSent:
		return OutcomeNotSent
	case kindExpired, kindBusy, kindAuth, kindAnswered, kindConfig:
		return OutcomeRefused
	case kindSevered, kindUncertain, kindBroken, kindTimeout, kindInterrupted, kindProtocol:
	}
	switch {
	case st.Answered:
		return OutcomeExecuted
	case !st.Written:
		return OutcomeNotSent
	case st.Fault == nil:
		return OutcomeUnknown
	}
	switch status := st.Fault.Status; {
	case status == http.StatusSeeOther || status == http.StatusRequestTimeout:
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
	}
	if f.Challenge != "" {
		e.Evidence = append(e.Evidence, "WWW-Authenticate: "+f.Challenge)
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

// limitError is the cause of a context that a limit ended.
type limitError struct{ limit Limit }

func (e *limitError) Error() string { return fmt.Sprintf("the limit %s ran out", e.limit) }

// Is makes it recognisable as a deadline.
func (e *limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// withLimit returns a context that ends when the limit runs out, with the limit as its cause.
func withLimit(ctx context.Context, l Limit) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.Value, &limitError{l})
}

// ended returns why ctx ended, nil if it has not.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
