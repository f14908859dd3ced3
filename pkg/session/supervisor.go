package session

// How a supervisor keeps a server connected.
//
// There is at most one current session, numbered by its generation, and at most one opening under way. A request takes
// the current session, or waits for the opening. When it meets a loss, it asks for a session above the generation it
// used: if there is one already, fine; else the current session is put aside first, so that nobody can be handed it
// again, and an opening begins, which all requests that wait for a session share. An opening runs under a context of its
// own and is given up when nobody waits for it any more. Nothing polls: waiters sleep on the opening's channel.
//
// A session that was put aside is ended in the background; Close waits for that.

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// State says how a server stands.
type State string

// The states of a supervisor.
const (
	// StateIdle means nothing has been asked yet, or the last session was lost and nobody has asked since.
	StateIdle State = "idle"
	// StateConnecting means the first opening is under way.
	StateConnecting State = "connecting"
	// StateReady means requests can be made at once.
	StateReady State = "ready"
	// StateReconnecting means a lost session is being replaced.
	StateReconnecting State = "reconnecting"
	// StateFailed means the last opening failed.
	StateFailed State = "failed"
	// StateClosed means the supervisor was closed.
	StateClosed State = "closed"
)

// Stats tell what a supervisor has been through.
type Stats struct {
	// Handshakes counts the sessions that were opened.
	Handshakes int
	// Recovered is set when a lost session was replaced.
	Recovered bool
	// Recovery tells of the latest replacement, nil if there was none.
	Recovery *Recovery
	// Info is that of the latest session; its Generation is 0 if none was opened.
	Info Info
	// Strays counts the answers of the latest session that belonged to no request.
	Strays int
	// Ending tells what it took to end the child of the latest session. It is zero before, and on other transports.
	Ending Ending
}

// Supervisor keeps one server connected and makes requests on it. It is safe for concurrent use. End it with
// [Supervisor.Close].
type Supervisor struct {
	dialer *Dialer
	server config.Server
	limits Limits

	// ctx ends all openings when the supervisor is closed.
	ctx    context.Context //nolint:containedctx // the life of the supervisor, not of one call
	cancel context.CancelFunc
	// hurry ends when nobody has time for a patient end of sessions.
	hurry  context.Context //nolint:containedctx // the same
	hasten context.CancelFunc
	// closing counts the sessions that are being ended in the background.
	closing sync.WaitGroup

	mu         sync.Mutex
	current    *Session
	latest     *Session // the same, and not forgotten when it is put aside
	generation int
	opening    *attempt
	lastErr    error
	closed     bool
	recovery   *Recovery
	loss       *loss
	info       Info
}

// loss is a session that was put aside and has not been replaced yet.
type loss struct {
	cause      string
	generation int
	since      time.Time
}

// maxOpenings is how many sessions one request waits for: a server that opens each and drops it at once would go on for
// ever.
const maxOpenings = 3

// attempt is an opening under way.
type attempt struct {
	waiters int
	// doomed is set when nobody waited any more and the opening was given up.
	doomed bool
	cancel context.CancelFunc
	// bound is the limit of the whole opening: when a login raises it, those who wait have more time, too.
	bound *bound
	done  chan struct{}
	err   error
	// last is the failure of the latest attempt that was followed by another.
	last *Error
}

// NewSupervisor returns a supervisor for a server whose variables have been expanded. Nothing is opened yet. If d is
// nil, a zero Dialer is used.
func NewSupervisor(d *Dialer, server config.Server) *Supervisor {
	if d == nil {
		d = &Dialer{}
	}
	s := &Supervisor{dialer: d, server: server.Clone(), limits: LimitsFor(server)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.hurry, s.hasten = context.WithCancel(context.Background())
	return s
}

// Limits returns the limits in force.
func (s *Supervisor) Limits() Limits { return s.limits }

// Server returns the entry that the supervisor was made for.
func (s *Supervisor) Server() config.Server { return s.server.Clone() }

// Stats tell what the supervisor has been through so far.
func (s *Supervisor) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Handshakes: s.generation, Info: s.info}
	if s.latest != nil {
		st.Strays, st.Ending = s.latest.Strays(), s.latest.Ending()
	}
	if s.recovery != nil {
		r := *s.recovery
		st.Recovered, st.Recovery = r.NewGeneration > 0, &r
	}
	return st
}

// State returns the state and the last error, if the state has one.
func (s *Supervisor) State() (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return StateClosed, nil
	case s.opening != nil && s.generation > 0:
		return StateReconnecting, s.lastErr
	case s.opening != nil:
		return StateConnecting, nil
	case s.current != nil && s.current.Dead() == nil:
		return StateReady, nil
	case s.lastErr != nil:
		return StateFailed, s.lastErr
	}
	return StateIdle, nil
}

// Session returns a session that is ready, opening one if there is none.
func (s *Supervisor) Session(ctx context.Context) (*Session, error) { return s.acquire(ctx, 0, "") }

// KnownTools returns what the server listed before, opening a session if there is none: false when that is too long ago,
// or when it was another server, or another release of it. The list may be out of date: it spares a round trip, and
// decides nothing that cannot be taken back. See [Dialer].CacheDir.
func (s *Supervisor) KnownTools(ctx context.Context) (List, bool, error) {
	sess, err := s.acquire(ctx, 0, "")
	if err != nil {
		return List{}, false, notSent(err)
	}
	list, ok := sess.memory.tools()
	return list, ok, nil
}

// ForgetTools drops what is remembered of the server's tools: they may have changed.
func (s *Supervisor) ForgetTools() {
	s.mu.Lock()
	sess := s.current
	s.mu.Unlock()
	if sess != nil {
		sess.memory.forgetTools()
	}
}

// acquire returns a ready session above a generation, opening one if need be. why says what is wrong with the session
// of that generation.
func (s *Supervisor) acquire(ctx context.Context, above int, why string) (*Session, error) {
	for opened := 0; ; opened++ {
		if opened > maxOpenings {
			return nil, &Error{
				Server: s.server.Name, Phase: "connect", Class: ClassSession, kind: kindProtocol,
				Message: fmt.Sprintf("%d sessions were opened and each was lost at once", opened-1),
				Hint:    "look at what the server says when a session ends",
			}
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, s.closedError()
		}
		if c := s.current; c != nil {
			dead := c.Dead()
			switch {
			case dead != nil:
				s.putAside(dead.Error())
			case c.info.Generation > above:
				s.mu.Unlock()
				return c, nil
			default:
				s.putAside(why)
			}
		}
		a := s.opening
		if a == nil {
			a = s.begin()
		}
		doomed := a.doomed
		if !doomed {
			a.waiters++
		}
		s.mu.Unlock()

		unfollow := a.bound.follow(boundOf(ctx))
		select {
		case <-a.done:
		case <-ctx.Done():
		}
		unfollow()

		s.mu.Lock()
		last := a.last
		if !doomed {
			a.waiters--
			if a.waiters == 0 {
				a.doomed = true
				a.cancel()
			}
		}
		s.mu.Unlock()
		select {
		case <-a.done:
			if a.err != nil && !doomed {
				return nil, a.err
			}
		default:
			e := classify(evidence{server: s.server.Name, method: "connect", ctx: context.Cause(ctx), err: ctx.Err()})
			e.last = last
			return nil, e
		}
	}
}

func (s *Supervisor) closedError() *Error {
	return &Error{
		Server: s.server.Name, Phase: "connect", Class: ClassInterrupted, kind: kindInterrupted,
		Message: "the supervisor is closed", Err: transport.ErrClosed,
	}
}

// putAside makes sure that nobody gets the current session any more, and ends it in the background. s.mu is held.
func (s *Supervisor) putAside(why string) {
	old := s.current
	s.current = nil
	s.loss = &loss{cause: why, generation: old.info.Generation, since: time.Now()}
	s.closing.Go(func() {
		// Other requests may still be answered on it: what this one met is no reason to cut them off. Their own limits bound
		// them, and Close of the supervisor does.
		if old.child == nil {
			ctx, cancel := withLimit(s.ctx, s.limits.Request)
			defer cancel()
			old.wait(ctx)
		}
		old.closeHasty()
	})
}

// begin starts an opening. s.mu is held.
func (s *Supervisor) begin() *attempt {
	whole, patience := s.limits.Connect, s.limits.Wait.Value
	if s.generation > 0 {
		// The server has worked: it is given the whole wait to come back.
		whole, patience = s.limits.SessionWait, s.limits.SessionWait.Value
	}
	ctx, cancel := withLimit(s.ctx, whole)
	a := &attempt{cancel: cancel, bound: boundOf(ctx), done: make(chan struct{})}
	s.opening = a
	generation := s.generation + 1
	s.closing.Go(func() {
		defer cancel()
		sess, err := s.dialer.dial(ctx, s.server, s.limits, whole, patience, func(e *Error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			a.last = e
		})
		s.mu.Lock()
		s.opening = nil
		switch {
		case err != nil:
			a.err = err
			if !a.doomed { // given up is not failed
				s.lastErr = err
			}
		case s.closed:
			s.closing.Go(sess.closeHasty)
			a.err = s.closedError()
		default:
			sess.info.Generation = generation
			if l := s.loss; l != nil {
				s.recovery = &Recovery{Cause: l.cause, OldGeneration: l.generation, NewGeneration: generation, Elapsed: time.Since(l.since)}
				s.loss = nil
			}
			s.generation, s.current, s.latest, s.info, s.lastErr = generation, sess, sess, sess.Info(), nil
		}
		s.mu.Unlock()
		close(a.done)
	})
	return a
}

// Close ends everything: openings under way, the current session, and those that are still being ended. It is bounded by
// the limit for closing.
func (s *Supervisor) Close() error { s.shut(); return nil }

// CloseHasty is Close after Ctrl-C or a limit that ran out: servers get less time to end by themselves.
func (s *Supervisor) CloseHasty() { s.Hasten(); s.shut() }

// Hasten makes a Close that is under way, and any that follows, as quick as [Supervisor.CloseHasty].
func (s *Supervisor) Hasten() { s.hasten() }

func (s *Supervisor) shut() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	if c := s.current; c != nil {
		s.current = nil
		s.closing.Go(func() { c.close(s.hurry, transport.PatientGrace) })
	}
	s.mu.Unlock()
	s.closing.Wait()
}
