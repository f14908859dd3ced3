package session

// How a server is kept connected while nobody asks.
//
// A goroutine, begun by Keep, does one of three things at any time: it watches the current session, it waits for the
// opening that is under way, whoever began it, or it rests until the next attempt is due. It is woken by everything that
// happens to the supervisor, so nothing is missed and nothing polled.
//
// What counts is failures in a row: an opening that failed, and a session that was lost before it proved itself by a
// request or by lasting for a while. The first replacement of a session that had proved itself is made at once; each
// failure makes the pause before the next longer; after some the server is parked. Whoever makes a request does not wait
// for any of this: a request begins an opening of its own, or joins the one under way and lends it its patience.

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// keeper is what a supervisor knows for holding its server connected. The supervisor's lock guards it.
type keeper struct {
	// kept is set when Keep was called, disabled when the server is not to be contacted.
	kept, disabled bool
	// nudge wakes the goroutine.
	nudge chan struct{}
	// failures counts those in a row since a connection proved itself; proven is set when one ever did.
	failures int
	proven   bool
	// next is when the next attempt is due; dormant is set when none is made without a wake-up.
	next    time.Time
	dormant bool
	// woken is set when an attempt is to be made at once.
	woken bool
}

// Keep holds the server connected from now on, until [Supervisor.Close]: a session is opened, asked for a sign of life
// when it is idle, and replaced when it is lost, with growing pauses while that fails; a server that fails too often is
// parked. It also sets the circuit breaker to work. Keep returns at once; [Supervisor.Events] tell what happens. See
// [Upkeep] for the numbers.
//
// Requests work as without it. One that finds no session has one opened at once, also for a parked server.
func (s *Supervisor) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.keeper.disabled || s.keeper.kept {
		return
	}
	k := &s.keeper
	// What failed before was somebody's request, and nobody's plan.
	k.kept, k.failures, k.next, k.dormant = true, 0, time.Time{}, false
	s.closing.Go(s.keep)
}

// Wake makes the next attempt for a server that is kept and has no session at once, whatever was planned, and closes the
// circuit breaker: somebody has logged in, or wants to use the server. It does nothing to a server that is healthy, or
// disabled. Wake returns at once. Nobody is asked to log in because of it.
func (s *Supervisor) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.keeper.kept || s.keeper.disabled {
		return
	}
	s.breaker.close(s)
	if s.current == nil || s.current.Dead() != nil {
		s.keeper.woken = true
		s.stir()
	}
}

// Reconnect puts the current session aside, healthy or not, and opens a fresh one.
func (s *Supervisor) Reconnect(ctx context.Context) (*Session, error) {
	s.mu.Lock()
	generation := s.generation
	s.breaker.close(s)
	if s.current != nil {
		s.current.dismissed = true
	}
	s.mu.Unlock()
	sess, err := s.acquire(ctx, generation, CauseAskedFor)
	if err != nil {
		return nil, err
	}
	sess.end()
	return sess, nil
}

// disable keeps everybody from contacting the server.
func (s *Supervisor) disable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeper.disabled = true
	s.become(StateDisabled, "disabled", nil)
}

// stir wakes the goroutine, if it rests. s.mu need not be held.
func (s *Supervisor) stir() {
	select {
	case s.keeper.nudge <- struct{}{}:
	default: // it has not seen the last one yet
	}
}

// keep runs until the supervisor is closed.
func (s *Supervisor) keep() {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		sess, open := s.current, s.opening
		pause, ever := s.due()
		if sess == nil && open == nil && ever && pause <= 0 {
			open = s.begin(transport.Unattended(s.ctx), s.Limits().Connect, s.patience())
			open.unattended = true
		}
		held := open != nil && !open.doomed
		if held {
			open.waiters++
		}
		s.mu.Unlock()
		switch {
		case sess != nil:
			s.watch(sess)
		case open != nil:
			_, _ = s.await(s.ctx, open, held)
		default:
			s.rest(pause, ever)
		}
	}
}

// due returns how long it is to the next attempt, and whether one is made at all. s.mu is held.
func (s *Supervisor) due() (pause time.Duration, ever bool) {
	k := &s.keeper
	if k.woken {
		return 0, true
	}
	if k.dormant {
		return 0, false
	}
	return time.Until(k.next), true
}

// patience is until when an opening of the keeper's is tried again by itself. One that was asked for is given time, since
// somebody may wait for a server that is just starting; the others are followed by the next that is planned. s.mu is held.
func (s *Supervisor) patience() time.Time {
	if !s.keeper.woken {
		return time.Time{}
	}
	s.keeper.woken = false
	if s.generation > 0 {
		return time.Now().Add(s.Limits().SessionWait.Value)
	}
	return time.Now().Add(s.Limits().Wait.Value)
}

// rest waits until an attempt is due, or something happens.
func (s *Supervisor) rest(pause time.Duration, ever bool) {
	var due <-chan time.Time
	if ever {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-s.keeper.nudge:
	case <-s.ctx.Done():
	}
}

// opened notes that a session was opened. It has yet to prove itself.
func (k *keeper) opened() { k.next, k.dormant, k.woken = time.Time{}, false, false }

// notOpened plans what follows on an opening that failed, or was given up because nobody waited for it. s.mu is held.
func (s *Supervisor) notOpened(err error, a *attempt) {
	switch {
	case a.doomed && s.keeper.kept:
		s.become(a.before.State, a.before.Reason, a.before.Err) // what was planned still is
		return
	case a.doomed:
		s.become(StateIdle, "nobody waited for the opening any more", nil)
		return
	}
	s.stranger = true
	s.keeper.failures++
	s.plan(reasonOf(err), err)
}

// lostOne plans what follows on the loss of a session. s.mu is held.
func (s *Supervisor) lostOne(old *Session, why string) {
	if !s.keeper.kept {
		return // whoever found it lost asks for another
	}
	if !old.proven.Load() && !old.dismissed {
		s.keeper.failures++
	}
	s.plan(why, nil)
}

// plan decides what is done about a server without a session. s.mu is held.
func (s *Supervisor) plan(reason string, err error) {
	k := &s.keeper
	k.next, k.dormant = time.Time{}, false
	e, _ := err.(*Error) //nolint:errorlint // it is ours, and not wrapped
	most := s.upkeep.Initial
	if k.proven {
		most = s.upkeep.Reconnect
	}
	switch {
	case e != nil && (e.Class == ClassAuth || e.wanted()):
		k.dormant = true
		s.become(StateNeedsAuth, reason, err)
	case !k.kept || e != nil && e.Class == ClassConfig:
		k.dormant = true
		s.become(StateFailed, reason, err)
	case e != nil && !mayPass(e), k.failures >= most, retryAfterOf(e) > s.upkeep.ParkInterval:
		k.next = time.Now().Add(max(s.upkeep.ParkInterval, retryAfterOf(e)))
		if k.failures > 1 {
			reason = fmt.Sprintf("%s (%d failures in a row)", reason, k.failures)
		}
		s.become(StateParked, reason, err)
	default:
		if k.failures > 0 {
			k.next = time.Now().Add(max(s.upkeep.backoff(k.failures), retryAfterOf(e)))
		}
		state := StateReconnecting
		if s.generation == 0 {
			state = StateConnecting
		}
		s.become(state, reason, err)
	}
}

// retryAfterOf is how long the server asked to wait, at most a day: its clock may be wrong.
func retryAfterOf(e *Error) time.Duration {
	if e == nil {
		return 0
	}
	return min(e.RetryAfter, 24*time.Hour)
}

// reasonOf is what a status says of a failure.
func reasonOf(err error) string {
	e, ok := err.(*Error) //nolint:errorlint // it is ours, and not wrapped
	if !ok {
		return err.Error()
	}
	if e.Phase == "" {
		return e.Message
	}
	return e.Phase + ": " + e.Message
}

// proved notes that a connection has done something useful.
func (s *Supervisor) proved(sess *Session) {
	if sess.proven.Swap(true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == sess {
		s.keeper.failures, s.keeper.proven = 0, true
		s.breaker.close(s)
	}
}

// lost puts a session aside that was found dead, if that has not been done.
func (s *Supervisor) lost(sess *Session, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == sess {
		s.putAside(why)
	}
}

// watch returns when the session is not the current one any more. While it is idle it is asked for a sign of life.
func (s *Supervisor) watch(sess *Session) {
	interval := s.upkeep.proof()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-sess.retired:
			return
		case <-sess.ended():
			s.lost(sess, sess.Dead().Error())
			return
		case <-sess.doubted:
			if s.replaces(sess) {
				return
			}
			continue
		case <-timer.C:
		}
		s.proved(sess) // it has lasted
		if quiet := sess.quiet(); quiet < interval {
			timer.Reset(interval - quiet)
			continue
		}
		if s.keepsAlive(sess) && s.replaces(sess) {
			return
		}
		timer.Reset(interval)
	}
}

// replaces asks a session for a sign of life and reports whether it was put aside for want of one.
func (s *Supervisor) replaces(sess *Session) bool {
	e := s.sign(sess)
	switch {
	case e == nil:
		return false
	case unauthorized(e):
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.current == sess {
			sess.dismissed = true
			s.putAside(e.Message)
			s.plan(reasonOf(e), e) // a login is wanted, and no other session
		}
		return true
	}
	s.lost(sess, cmp.Or(e.Message, string(e.Class)))
	return true
}

// keepsAlive reports whether a session is asked for signs of life. The death of a child is visible by itself, and where
// there is no session nothing is forgotten, so that it is done only if it was asked for.
func (s *Supervisor) keepsAlive(sess *Session) bool {
	if sess.child != nil || s.upkeep.Keepalive.Value == 0 {
		return false
	}
	return s.server.Keepalive > 0 || sess.stream != nil || sess.ID() != ""
}

// sign asks a session for a sign of life, and returns what it died of, nil if it lives, or nothing is known.
func (s *Supervisor) sign(sess *Session) *Error {
	bound := Limit{Name: "keepalive", Value: min(signBound, s.upkeep.proof())}
	ask := func(method func(context.Context) error) *Error {
		ctx, cancel := WithLimit(transport.Unattended(s.ctx), bound)
		defer cancel()
		e, _ := method(ctx).(*Error) //nolint:errorlint // it is ours, and not wrapped
		return e
	}
	e := ask(sess.Alive)
	if e != nil && e.kind == kindTimeout {
		// Servers exist that do not answer what they do not know: what every server with tools answers decides.
		second := ask(func(ctx context.Context) error { return sess.answers(ctx, "tools/list") })
		if second != nil && second.kind == kindTimeout {
			second.Message = fmt.Sprintf("no sign of life: neither %s nor tools/list was answered within %s", e.Phase, bound.Value)
			return second
		}
		e = second
	}
	if e == nil || unauthorized(e) {
		return e
	}
	return gone(e)
}

// unauthorized reports whether the server does not let us in any more, or there is nothing to get in with: a 403 may
// concern one request alone.
func unauthorized(e *Error) bool { return e.kind == kindAuth && e.Status != http.StatusForbidden }

// doubt has a session asked for a sign of life at once, if it is watched.
func (s *Session) doubt() {
	select {
	case s.doubted <- struct{}{}:
	default: // it will be
	}
}
