package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// DefaultPing is how long a ping waits for its answer unless the entry sets a limit for requests: it costs a server
// nothing to answer, so one that is silent for so long is in trouble, busy though it may be.
const DefaultPing = 10 * time.Second

// mostRequest is the longest limit that the configuration takes.
const mostRequest = 24 * time.Hour

// ForPing returns server with limits for many pings, and the limit for the silence of one, to be given to
// [Session.Ping]. A limit for requests that the entry or a flag sets stays, and bounds a ping with its recovery as it
// bounds any request. Without one, a ping has [DefaultPing] for its answer, and as much again for its repetition once a
// lost session has been replaced, for which there is the whole session wait.
func ForPing(server config.Server) (config.Server, Limit) {
	answer := configured(Limit{Name: "timeout", Value: DefaultPing, Source: "built-in for a ping"}, server.Timeout, server)
	if server.Timeout > 0 {
		return server, answer
	}
	server = server.Clone()
	server.Timeout = min(2*DefaultPing+LimitsFor(server).SessionWait.Value, mostRequest)
	server.Set("timeout", config.Source{Kind: "built-in", Detail: "for a ping with its recovery"})
	return server, answer
}

// Pong is the answer to a ping.
type Pong struct {
	// Method is what the server was asked for.
	Method string
	// Refused is the error that the server answered with, nil for a result. Either is a sign of life.
	Refused *RPCError
	// Next is what the following pings on this connection ask for, if the server does not know Method; else "".
	Next string
}

const (
	discoverMethod = "server/discover"
	// discoverStandIn is the name under which the SDK, which lets nobody send server/discover, is asked to send it. The
	// transport puts the right one in its place.
	discoverStandIn = "mcpctl/discover"
)

// unknownMethod finds the words with which servers say that they do not know a method, beside the code for that.
var unknownMethod = lazily(`(?i)\b(method|ping|discover|request|handler)\b.*\b(not (found|known|supported|implemented|available|allowed|recogni[sz]ed)|unknown|unsupported)\b|` +
	`\b(unknown|unsupported|unrecogni[sz]ed|unimplemented|no such|no handler for)\b.*\b(method|request|ping|discover)\b`)

// Ping asks for a sign of life, and waits for it as long as limit says; the zero Limit bounds nothing. The request is ping,
// or server/discover in the modern era, which has no ping. A server that does not know it is asked for a list that it
// announced, for the rest of this connection. An error that the server answers with is an answer; the failure of a ping
// is an [*Error].
//
// See the MCP specification, 2025-11-25, "Ping", and 2026-07-28, "Discovery".
func (s *Session) Ping(ctx context.Context, limit Limit) (Pong, error) {
	pong := Pong{Method: s.pingMethod()}
	if limit.Value > 0 {
		var cancel context.CancelFunc
		ctx, cancel = WithLimit(ctx, limit)
		defer cancel()
	}
	_, err := s.Raw(ctx, pong.Method, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.answered() {
		pong.Refused = e.RPC
		if e.RPC.Code == codeMethodNotFound || unknownMethod().MatchString(e.RPC.Message) {
			pong.Next = s.pingAnother()
		}
		return pong, nil
	}
	return pong, err
}

// answered reports whether the server answered with an error of its own, which says nothing against the connection. Some
// servers send it with a status of HTTP to match.
func (e *Error) answered() bool {
	return e.RPC != nil && (e.kind == kindAnswered || e.kind == kindProtocol || e.kind == kindBroken)
}

func (s *Session) pingMethod() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asks != "":
		return s.asks
	case s.legacy():
		return "ping"
	}
	return discoverMethod
}

// pingAnother returns the method in place of one that the server does not know, "" if there is none left.
func (s *Session) pingAnother() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks != "" || s.info.Capabilities == nil {
		return ""
	}
	switch caps := s.info.Capabilities; {
	case caps.Tools == nil && caps.Resources != nil:
		s.asks = "resources/list"
	case caps.Tools == nil && caps.Prompts != nil:
		s.asks = "prompts/list"
	default:
		s.asks = "tools/list" // also not announced: refused, it is an answer, too
	}
	return s.asks
}
