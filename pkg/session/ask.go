package session

// How a server asks its client something.
//
// In the legacy era a server makes requests of its own while it works on one of ours: on the stream of the call's answer,
// or on the one stream of the session. The SDK reads them and writes what we return; in between, a middleware hands them
// to the Answers of the dialer with the bytes of their parameters, which the transport carries past the SDK's types.
//
// In the modern era a server makes none. It answers a call with what it wants to know, and the call is made again with
// the answers; see multi. Both ask the same functions.
//
// A question ends with what it was asked for: when the server takes it back, when no request is on its way any more, and
// when the session is closed. While a person answers, the limits of the requests stand still.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/transport"
)

// The methods by which a server asks something.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// PersonLimit is how long a person may take for one answer. Meanwhile the limits of the requests stand still.
const PersonLimit = 10 * time.Minute

// Answers are what a client answers when a server asks. A function that is nil is not offered, and servers are told so.
// They are called from several goroutines at once.
//
// What is not offered and asked all the same is answered with an error; elicitation is declined.
//
// A function returns the result as it goes over the wire. An error goes to the server as a JSON-RPC error, with the code
// of the [RPCError] in it, if there is one.
type Answers struct {
	// Elicit answers elicitation/create, the form and the URL. See the MCP specification, 2025-11-25, "Elicitation".
	Elicit func(context.Context, Question) (json.RawMessage, error)
	// Sample answers sampling/createMessage, without tools. See the MCP specification, 2025-11-25, "Sampling".
	Sample func(context.Context, Question) (json.RawMessage, error)
	// Roots answers roots/list. See the MCP specification, 2025-11-25, "Roots".
	Roots func(context.Context, Question) (json.RawMessage, error)
	// Refused is told of a question for whose method there is no function. It must not block. If nil, nobody is told.
	Refused func(Question)
}

// Listening says when a session of the legacy era over HTTP keeps the stream open on which the server says, and asks, what
// no answer to a request carries.
type Listening int

const (
	// ListenWhenUsed is when there is an OnNotification, or something to answer.
	ListenWhenUsed Listening = iota
	// ListenAlways is always.
	ListenAlways
	// ListenNever is never.
	ListenNever
)

// offered reports whether a server may ask anything.
func (a Answers) offered() bool { return a.Elicit != nil || a.Sample != nil || a.Roots != nil }

func (a Answers) to(method string) func(context.Context, Question) (json.RawMessage, error) {
	switch method {
	case MethodElicit:
		return a.Elicit
	case MethodSample:
		return a.Sample
	case MethodRoots:
		return a.Roots
	}
	return nil
}

// capabilities are what servers are told of the answers.
func (a Answers) capabilities() *mcp.ClientCapabilities {
	c := &mcp.ClientCapabilities{}
	if a.Elicit != nil {
		c.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	if a.Sample != nil {
		c.Sampling = &mcp.SamplingCapabilities{} //nolint:staticcheck // servers have it until 2027 at least
	}
	if a.Roots != nil {
		c.RootsV2 = &mcp.RootCapabilities{} //nolint:staticcheck // servers have it until 2027 at least
	}
	return c
}

// listen reports whether sessions keep the stream of what the server says unasked open.
func (d *Dialer) listen() bool {
	switch d.Listen {
	case ListenAlways:
		return true
	case ListenNever:
		return false
	case ListenWhenUsed:
	}
	return d.OnNotification != nil || d.Answers.offered()
}

// Question is something that a server asks.
type Question struct {
	// Server is the name of the server.
	Server string
	// Method is [MethodElicit], [MethodSample] or [MethodRoots].
	Method string
	// Params are byte for byte what the server sent.
	Params json.RawMessage
	// Idle is set when no request of ours is on its way: nobody waits for what comes of the answer.
	Idle bool
	// Again is set when the request that led to the question is made again with the answer.
	Again bool

	session *Session
}

// ByPerson says that a person is about to answer: the limits of the session's requests stand still until done is called,
// for [PersonLimit] at most, at which the returned context ends.
func (q Question) ByPerson(ctx context.Context) (answering context.Context, done context.CancelFunc) {
	if q.session == nil {
		return context.WithTimeout(ctx, PersonLimit)
	}
	resume := q.session.suspend() // first, so that what stands still does not count as the earlier limit
	ctx, cancel := context.WithTimeout(ctx, PersonLimit)
	stop := context.AfterFunc(ctx, resume)
	return ctx, func() { stop(); cancel(); resume() }
}

// asking is what a session knows of questions and of the requests that wait for their answers. The session's lock guards
// it.
type asking struct {
	answers Answers
	// limits are those of the requests on their way.
	limits map[*bound]int
	// persons counts the questions that a person answers, and paused holds what ends the standstill of each limit.
	persons int
	paused  map[*bound]func()
	// open are the questions that end with the last request on its way.
	open map[*Question]context.CancelFunc
}

// suspend makes the limits of all requests stand still until resume is called.
func (s *Session) suspend() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask.persons++
	for b := range s.ask.limits {
		s.pause(b)
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ask.persons--; s.ask.persons > 0 {
			return
		}
		for b, resume := range s.ask.paused {
			resume()
			delete(s.ask.paused, b)
		}
	})
}

// pause makes one limit stand still. s.mu is held.
func (s *Session) pause(b *bound) {
	if s.ask.paused == nil {
		s.ask.paused = map[*bound]func(){}
	}
	if s.ask.paused[b] == nil {
		s.ask.paused[b] = b.pause()
	}
}

// limited notes the limit of a request that is on its way until done is called.
func (s *Session) limited(ctx context.Context) (done func()) {
	b := boundOf(ctx)
	if b == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ask.limits == nil {
		s.ask.limits = map[*bound]int{}
	}
	s.ask.limits[b]++
	if s.ask.persons > 0 {
		s.pause(b)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ask.limits[b]--; s.ask.limits[b] > 0 {
			return
		}
		delete(s.ask.limits, b)
		if resume := s.ask.paused[b]; resume != nil {
			resume()
			delete(s.ask.paused, b)
		}
	}
}

// answered is what a question was answered with, as the SDK is to write it. The embedded type lends it the methods that
// the SDK asks for.
type answered struct {
	mcp.ElicitResult
	raw json.RawMessage
}

// MarshalJSON implements [json.Marshaler].
func (a *answered) MarshalJSON() ([]byte, error) { return a.raw, nil }

// receiving answers the requests of the server's that the SDK has read.
func (s *Session) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != MethodElicit && method != MethodSample && method != MethodRoots {
			return next(ctx, method, req)
		}
		params, ok := transport.Asked(req.GetParams().GetMeta())
		if !ok {
			params = json.RawMessage("{}")
		}
		s.mu.Lock()
		q := Question{Server: s.server, Method: method, Params: params, Idle: s.inFlight == 0, session: s}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if !q.Idle {
			if s.ask.open == nil {
				s.ask.open = map[*Question]context.CancelFunc{}
			}
			s.ask.open[&q] = cancel
			defer func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.ask.open, &q)
			}()
		}
		s.mu.Unlock()
		stop := context.AfterFunc(s.ctx, cancel)
		defer stop()
		raw, err := s.reply(ctx, q)
		if err != nil {
			if rpc, ok := errors.AsType[*RPCError](err); ok {
				return nil, &jsonrpc.Error{Code: int64(rpc.Code), Message: rpc.Message, Data: rpc.Data}
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		return &answered{raw: raw}, nil
	}
}

// withdraw ends the questions that were asked for the sake of requests, of which there are none any more. s.mu is held.
func (s *Session) withdraw() {
	for _, cancel := range s.ask.open {
		cancel()
	}
}

// errNotOffered is the cause when a server asks for what it was not offered.
var errNotOffered = errors.New("the client has not offered it")

// reply answers a question.
func (s *Session) reply(ctx context.Context, q Question) (json.RawMessage, error) {
	answer := s.ask.answers.to(q.Method)
	if answer == nil {
		if refused := s.ask.answers.Refused; refused != nil {
			refused(q)
		}
		if q.Method == MethodElicit {
			return json.RawMessage(`{"action":"decline"}`), nil // which a server understands that asks all the same
		}
		return nil, fmt.Errorf("%w: %w", &RPCError{Code: codeMethodNotFound, Message: "method not found: " + q.Method}, errNotOffered)
	}
	if q.Method == MethodSample {
		var p struct {
			Tools      json.RawMessage `json:"tools"`
			ToolChoice json.RawMessage `json:"toolChoice"`
		}
		if json.Unmarshal(q.Params, &p) == nil && (p.Tools != nil || p.ToolChoice != nil) {
			return nil, &RPCError{Code: jsonrpc.CodeInvalidParams, Message: "the client has not offered sampling with tools"}
		}
	}
	raw, err := answer(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !json.Valid(raw):
		return nil, errors.New("the answer is not JSON")
	}
	return raw, nil
}

// elicitationComplete is the notification that what a person does at a URL has been done. See the MCP specification,
// 2025-11-25, "Elicitation", "Completion Notifications for URL Mode Elicitation".
const elicitationComplete = "notifications/elicitation/complete"

// maxCompleted bounds the ids of elicitations that are remembered: nobody has more pages open.
const maxCompleted = 64

// completions are the elicitations by URL of which servers said that they are complete.
type completions struct {
	mu   sync.Mutex
	done map[string]chan struct{}
	// order are the keys, the oldest first.
	order []string
}

// of returns a channel that is closed when an elicitation is complete.
func (c *completions) of(server, id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := server + "\x00" + id
	if ch := c.done[key]; ch != nil {
		return ch
	}
	if c.done == nil {
		c.done = map[string]chan struct{}{}
	}
	if len(c.order) >= maxCompleted {
		delete(c.done, c.order[0])
		c.order = c.order[1:]
	}
	ch := make(chan struct{})
	c.done[key], c.order = ch, append(c.order, key)
	return ch
}

// hear takes a notification.
func (c *completions) hear(server string, n Notification) {
	var p struct {
		ID string `json:"elicitationId"`
	}
	if n.Method != elicitationComplete || json.Unmarshal(n.Params, &p) != nil || p.ID == "" {
		return
	}
	ch := c.of(server, p.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// Completed returns a channel that is closed when a server says that what a person was to do at a URL is done; it may have
// said so before. It never is when the server does not say.
func (d *Dialer) Completed(server, elicitationID string) <-chan struct{} {
	return d.completed.of(server, elicitationID)
}

// mostRounds bounds how often a server may answer one request with questions.
const mostRounds = 10

// rounds are the methods that a server may answer with questions. See the MCP specification, 2026-07-28, "Multi Round-Trip
// Requests", "Supported Requests".
var rounds = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// inputRequired is a result that asks for input.
type inputRequired struct {
	Type     string                     `json:"resultType"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	// State is what the server wants back as it is, nil for nothing.
	State json.RawMessage `json:"requestState"`
}

// wantsInput returns what a result asks for, nil if it is a result.
func wantsInput(result json.RawMessage) *inputRequired {
	if kind, _ := rawjson.String(rawjson.Get(result, "resultType")); kind != "input_required" {
		return nil
	}
	in := &inputRequired{}
	if json.Unmarshal(result, in) != nil {
		in.Requests = map[string]json.RawMessage{"": nil} // which cannot be answered
	}
	return in
}

// supply answers what a result asks for, and returns the parameters with which the request is made again.
func (s *Session) supply(ctx context.Context, method string, params json.RawMessage, in *inputRequired) (json.RawMessage, *Error) {
	wrong := func(class Class, cause error, format string, args ...any) *Error {
		return &Error{
			Server: s.server, Phase: method, Class: class, kind: kindAnswered, Err: cause,
			Message: fmt.Sprintf(format, args...), Outcome: OutcomeRefused,
		}
	}
	switch {
	case in.Requests == nil && in.State == nil: // asked again, it could only say the same, and may execute it each time
		return nil, wrong(ClassProtocol, nil, "the server asks for input, and does not say what: the result has neither inputRequests nor requestState")
	case len(in.Requests) == 0: // it only wants to be asked again
		sleep(ctx, spread(firstBackoff))
	}
	responses := map[string]json.RawMessage{}
	for _, id := range slices.Sorted(maps.Keys(in.Requests)) {
		var r struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(in.Requests[id], &r) != nil || r.Method == "" {
			return nil, wrong(ClassProtocol, nil, "the server asks for input, and what it asks cannot be read (inputRequests %.60q)", id)
		}
		if r.Params == nil {
			r.Params = json.RawMessage("{}")
		}
		raw, err := s.reply(ctx, Question{Server: s.server, Method: r.Method, Params: r.Params, Again: true, session: s})
		switch {
		case ctx.Err() != nil:
			e := classify(evidence{server: s.server, method: method, ctx: ended(ctx), err: context.Cause(ctx), opened: true})
			e.Outcome = OutcomeRefused // it was answered with questions
			return nil, e
		case errors.Is(err, errNotOffered):
			return nil, wrong(ClassProtocol, err, "the server asks for %.60s, which it was not offered", r.Method)
		case err != nil:
			return nil, wrong(ClassAnswered, err, "the server asks for %s: %v", r.Method, err)
		}
		responses[id] = raw
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(params, &whole); err != nil {
		return nil, wrong(ClassProtocol, err, "encode parameters: %v", err)
	}
	if in.Requests != nil {
		encoded, err := encodeRaw(responses)
		if err != nil {
			return nil, wrong(ClassProtocol, err, "encode parameters: %v", err)
		}
		whole["inputResponses"] = encoded
	}
	if in.State != nil {
		whole["requestState"] = in.State
	}
	again, err := encodeRaw(whole)
	if err != nil {
		return nil, wrong(ClassProtocol, err, "encode parameters: %v", err)
	}
	return again, nil
}

// neverDone is the failure of a request that the server goes on answering with questions.
func (s *Session) neverDone(method string) *Error {
	return &Error{
		Server: s.server, Phase: method, Class: ClassProtocol, kind: kindAnswered, Outcome: OutcomeRefused,
		Message: fmt.Sprintf("the server asked for input %d times, and never finished", mostRounds),
		Hint:    "see whether the answers are what it wants",
	}
}

// encodeRaw is json.Marshal that changes nothing inside raw JSON.
func encodeRaw(value any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
