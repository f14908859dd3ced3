package session

import (
	"context"
	"errors"
	"time"
)

// unknownMethod finds the words with which servers say that they do not know a method, beside the code for that.
var unknownMethod = lazily(`(?i)\b(method|ping|discover|request|handler)\b.*\b(not (found|known|supported|implemented|available|allowed|recogni[sz]ed)|unknown|unsupported)\b|` +
	`\b(unknown|unsupported|unrecogni[sz]ed|unimplemented|no such|no handler for)\b.*\b(method|request|ping|discover)\b`)

// Alive asks the server for a sign of life. Any answer is one, an error too. It asks with ping, in the modern era, which
// has none, with server/discover; a server that does not know that is asked for its tools, from then on. The failure is
// an [*Error]: nothing was answered.
//
// See the MCP specification, 2025-11-25, "Ping", and 2026-07-28, "Discovery".
func (s *Session) Alive(ctx context.Context) error {
	if s.unpinged.Load() {
		return s.answers(ctx, "tools/list")
	}
	method := "ping"
	if !s.legacy() {
		method = "server/discover"
	}
	_, err := s.Raw(ctx, method, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.kind != kindAnswered {
		return err
	}
	if e.RPC != nil && (e.RPC.Code == codeMethodNotFound || unknownMethod().MatchString(e.RPC.Message)) {
		s.unpinged.Store(true)
		return s.answers(ctx, "tools/list") // a refusal may come from what stands before the server
	}
	return nil
}

// answers reports, by nil, that the server answered a request in whatever way.
func (s *Session) answers(ctx context.Context, method string) error {
	_, err := s.Raw(ctx, method, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.kind == kindAnswered {
		return nil
	}
	return err
}

// ended is closed when the connection is dead, as far as that shows without a request.
func (s *Session) ended() <-chan struct{} {
	if s.child != nil {
		return s.child.Dead()
	}
	return s.http.Ended()
}

// quiet returns how long no request has been made, 0 while one is on its way.
func (s *Session) quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight > 0 {
		return 0
	}
	return time.Since(s.used)
}
