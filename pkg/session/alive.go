package session

import (
	"context"
	"errors"
	"time"
)

// Alive asks the server for a sign of life, as [Session.Ping] does. Any answer is one, an error too, but for one that says
// that the method is not known: that may come from what stands before the server, which is then asked for something that
// it has. The failure is an [*Error]: nothing was answered.
func (s *Session) Alive(ctx context.Context) error {
	pong, err := s.Ping(ctx, Limit{})
	if err == nil && pong.Next != "" {
		_, err = s.Ping(ctx, Limit{})
	}
	return err
}

// answers reports, by nil, that the server answered a request in whatever way.
func (s *Session) answers(ctx context.Context, method string) error {
	_, err := s.Raw(ctx, method, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.answered() {
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
