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
//
// That is all as long as nobody calls Keep: between requests nothing happens. With Keep, a goroutine looks after the
// server in between; see keeper.go.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
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
	bounds atomic.Pointer[Limits]
	upkeep Upkeep
	// feeds are told of each change of the status: the supervisor's own, and that of its pool.
	feeds []*feed

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
	closed     bool
	recovery   *Recovery
	loss       *loss
	info       Info
	status     Status
	// stranger is set when an opening has failed since the latest session: the server may be another by now.
	stranger bool
	standing standing
	// listeners are told of each notification.
	listeners []*hearer
	tools     knownTools
	keeper    keeper
	breaker   breaker
	// vigils are the waits for tasks.
	vigils map[*vigil]struct{}
}

// loss is a session that was put aside and has not been replaced yet.
type loss struct {
	cause      string
	generation int
	since      time.Time
}

// maxOpenings is how many sessions one request waits for that were of no use to anybody: a server that opens each and drops
// it at once would go on for ever.
const maxOpenings = 3

// attempt is an opening under way.
type attempt struct {
	waiters int
	// until is when an attempt that failed is followed by no other.
	until time.Time
	// before is how the server stood when it was begun.
	before Status
	// doomed is set when nobody waited any more and the opening was given up.
	doomed bool
	// unattended is set when it was begun for nobody: no person is asked to log in.
	unattended bool
	cancel     context.CancelFunc
	// bound is the limit of the whole opening: when a login raises it, those who wait have more time, too.
	bound *bound
	done  chan struct{}
	err   error
	// opened is the session, nil if there is none.
	opened *Session
	// last is the failure of the latest attempt that was followed by another.
	last *Error
}

// NewSupervisor returns a supervisor for a server whose variables have been expanded, whether it is Enabled or not: that is
// for whoever chooses servers, as a [Pool] does. Nothing is opened yet. If d is nil, a zero Dialer is used.
func NewSupervisor(d *Dialer, server config.Server) *Supervisor {
	if d == nil {
		d = &Dialer{}
	}
	s := &Supervisor{
		dialer: d, server: server.Clone(), upkeep: UpkeepFor(server), feeds: []*feed{{}},
		status: Status{Server: server.Name, State: StateIdle, Reason: "nothing has been asked yet", Since: time.Now()},
		keeper: keeper{nudge: make(chan struct{}, 1)},
	}
	s.SetLimits(d.limitsFor(server))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.hurry, s.hasten = context.WithCancel(context.Background())
	return s
}

// Limits returns the limits in force.
func (s *Supervisor) Limits() Limits { return *s.bounds.Load() }

// SetLimits changes the limits of what begins from now on. A supervisor that is held for long has the limits that
// somebody wants for one request in this way.
func (s *Supervisor) SetLimits(limits Limits) { s.bounds.Store(&limits) }

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

// Status returns how the server stands.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.snapshot()
	if st.State == StateReady {
		if dead := s.current.Dead(); dead != nil { // and nobody has noticed yet
			st.State, st.Reason = StateIdle, dead.Error()
		}
	}
	return st
}

// Events returns the changes of the status from now on. The channel is closed when ctx ends, or after the supervisor was
// closed. A reader that is slow misses the oldest ones, and is told how many; nobody ever waits for it.
func (s *Supervisor) Events(ctx context.Context) <-chan Event { return s.feeds[0].watch(ctx) }

// snapshot returns the status. s.mu is held.
func (s *Supervisor) snapshot() Status {
	st := s.status
	st.Generation, st.Failures, st.Refusing = s.generation, s.keeper.failures, s.breaker.until
	if s.opening == nil && s.current == nil {
		st.Next = s.keeper.next
	}
	return st
}

// become changes the state and tells of it. s.mu is held.
func (s *Supervisor) become(state State, reason string, err error) {
	s.tell(state, reason, err, nil)
}

func (s *Supervisor) tell(state State, reason string, err error, rec *Recovery) {
	from := s.status.State
	if from == state && s.status.Reason == reason && rec == nil {
		return
	}
	if from != state {
		s.status.Since = time.Now()
	}
	s.status.State, s.status.Reason, s.status.Err = state, reason, err
	s.publish(Event{From: from, Recovery: rec})
}

// publish completes an event and hands it out. s.mu is held.
func (s *Supervisor) publish(e Event) {
	e.Status, e.Time = s.snapshot(), time.Now()
	for _, f := range s.feeds {
		f.publish(e)
	}
}

// Session returns a session that is ready, opening one if there is none.
func (s *Supervisor) Session(ctx context.Context) (*Session, error) {
	sess, err := s.acquire(ctx, 0, "")
	if err != nil {
		return nil, err
	}
	sess.end()
	return sess, nil
}

// KnownTools returns what the server listed before, opening a session if there is none: false when that is too long ago,
// or when it was another server, or another release of it. The list may be out of date: it spares a round trip, and
// decides nothing that cannot be taken back. See [Dialer].CacheDir.
func (s *Supervisor) KnownTools(ctx context.Context) (List, bool, error) {
	sess, err := s.Session(ctx)
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
// of that generation. The session is counted in, as a request is, so that it is not ended before it is used: the caller
// counts out with [Session.end].
func (s *Supervisor) acquire(ctx context.Context, above int, why string) (*Session, error) {
	var until time.Time // for so long the server is given time to come up
	for opened := 0; ; opened++ {
		if ctx.Err() != nil {
			return nil, classify(evidence{server: s.server.Name, method: "connect", ctx: context.Cause(ctx), err: ctx.Err()})
		}
		if opened > maxOpenings {
			return nil, &Error{
				Server: s.server.Name, Phase: "connect", Class: ClassSession, kind: kindProtocol,
				Message: fmt.Sprintf("%d sessions were opened and each was lost at once", opened-1),
				Hint:    "look at what the server says when a session ends",
			}
		}
		s.mu.Lock()
		switch {
		case s.closed:
			s.mu.Unlock()
			return nil, s.closedError()
		case s.keeper.disabled:
			s.mu.Unlock()
			return nil, &Error{Server: s.server.Name, Phase: "connect", Class: ClassConfig, kind: kindConfig, Message: "the server is disabled"}
		}
		if c := s.current; c != nil {
			dead := c.Dead()
			switch {
			case dead != nil:
				s.putAside(dead.Error())
			case c.info.Generation > above:
				c.begin()
				s.mu.Unlock()
				return c, nil
			default:
				s.putAside(why)
			}
		}
		whole, patience := s.Limits().Connect, s.Limits().Wait.Value
		if s.generation > 0 {
			// The server has worked: it is given the whole wait to come back.
			whole, patience = s.Limits().SessionWait, s.Limits().SessionWait.Value
		}
		if until.IsZero() {
			until = time.Now().Add(patience)
		}
		a := s.opening
		if a == nil {
			a = s.begin(s.ctx, whole, until)
		}
		doomed := a.doomed
		short := a.until.Before(until) // somebody with less patience began it
		if !doomed {
			a.waiters++
			if short {
				a.until = until
			}
		}
		s.mu.Unlock()

		waiting, cancel := ctx, func() {}
		if short { // its own limit is another's
			waiting, cancel = WithLimit(ctx, whole)
		}
		last, done := s.await(waiting, a, !doomed)
		why, err := context.Cause(waiting), waiting.Err()
		cancel()
		switch {
		case !done:
			e := classify(evidence{server: s.server.Name, method: "connect", ctx: why, err: err})
			e.last = last
			return nil, e
		case a.unattended && needsLogin(a.err):
			opened-- // nobody was asked, and here is one who may be
		case a.err == nil && a.opened.proven.Load():
			opened-- // it was of use to others, and is gone before this one's turn
		case a.err == nil || doomed:
		case short && again(a.err) && time.Until(until) > firstBackoff:
			opened-- // it had failed when its patience grew
		default:
			return nil, a.err
		}
	}
}

// await waits for the end of an opening, and reports whether it came before that of ctx. One who was counted as waiting
// is counted out, and the opening is given up after the last.
func (s *Supervisor) await(ctx context.Context, a *attempt, counted bool) (last *Error, done bool) {
	unfollow := a.bound.follow(boundOf(ctx))
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	unfollow()

	s.mu.Lock()
	last = a.last
	if counted {
		a.waiters--
		if a.waiters == 0 {
			a.doomed = true
			a.cancel()
		}
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return last, true
	default:
		return last, false
	}
}

// again reports whether the failure of an opening can pass by itself.
func again(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && passes(e)
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
	close(old.retired)
	s.loss = &loss{cause: why, generation: old.info.Generation, since: time.Now()}
	s.closing.Go(func() {
		// Other requests may still be answered on it: what this one met is no reason to cut them off. Their own limits bound
		// them, and Close of the supervisor does.
		if old.child == nil || old.Dead() == nil {
			ctx, cancel := WithLimit(s.ctx, s.Limits().MaxRequest)
			defer cancel()
			old.wait(ctx)
		}
		old.closeHasty()
	})
	s.lostOne(old, why)
}

// needsLogin reports whether an opening failed for want of a person who logs in.
func needsLogin(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.NeedsLogin
}

// begin starts an opening under ctx, which is the supervisor's, bound by whole. An attempt that fails is followed by
// another until the given time, which those who wait may move. s.mu is held.
func (s *Supervisor) begin(ctx context.Context, whole Limit, patience time.Time) *attempt {
	ctx, cancel := WithLimit(ctx, whole)
	a := &attempt{cancel: cancel, bound: boundOf(ctx), until: patience, before: s.status, done: make(chan struct{})}
	s.opening = a
	if s.generation > 0 {
		reason := s.status.Reason
		if s.loss != nil {
			reason = s.loss.cause
		}
		s.become(StateReconnecting, reason, s.status.Err)
	} else {
		s.become(StateConnecting, "the first session is being opened", s.status.Err)
	}
	generation := s.generation + 1
	until := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return a.until
	}
	report := func(e *Error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.last = e
	}
	to := dialing{server: s.server, limits: s.Limits(), whole: whole, until: until, report: report}
	if s.latest != nil && !s.stranger {
		to.known = remembered{Era: s.info.Era, Transport: s.info.Transport, Offer: s.latest.offer}
	}
	s.closing.Go(func() {
		defer cancel()
		sess, err := s.dialer.dial(ctx, to)
		for tried := false; err == nil; tried = true {
			lost := s.prepare(ctx, sess)
			if lost == nil {
				break
			}
			s.closing.Go(sess.closeHasty)
			if tried {
				err = lost
				break
			}
			if sess, err = s.dialer.dial(ctx, to); err == nil { // as any session that is lost within its handshake
				sess.info.Warnings = append(sess.info.Warnings, Warning{WarnRestart, lostInHandshake})
			}
		}
		s.mu.Lock()
		s.opening = nil
		switch {
		case s.closed && err == nil:
			s.closing.Go(sess.closeHasty)
			a.err = s.closedError()
		case s.closed:
			a.err = err
		case err != nil:
			a.err = err
			s.notOpened(err, a)
		default:
			a.opened = sess
			sess.info.Generation = generation
			s.generation, s.current, s.latest, s.info = generation, sess, sess, sess.Info()
			s.openedOne()
		}
		s.stir()
		s.mu.Unlock()
		close(a.done)
	})
	s.stir()
	return a
}

// openedOne tells of the session that has become the current one. s.mu is held.
func (s *Supervisor) openedOne() {
	s.keeper.opened()
	s.stranger = false
	var rec *Recovery
	if l := s.loss; l != nil {
		rec = &Recovery{Cause: l.cause, OldGeneration: l.generation, NewGeneration: s.generation, Elapsed: time.Since(l.since)}
		s.recovery, s.loss = rec, nil
		out := *rec
		rec = &out
	}
	if s.keeper.kept && s.tools.known {
		sess := s.current
		s.closing.Go(func() { s.refresh(sess) })
	}
	s.tell(StateReady, "opened in "+s.info.Elapsed.Round(time.Millisecond).String(), nil, rec)
}

// Close ends everything: openings under way, the current session, and those that are still being ended. Requests in
// flight end with an error. It is bounded by the limit for closing.
func (s *Supervisor) Close() error { s.shut(); return nil }

// CloseHasty is Close after Ctrl-C or a limit that ran out: servers get less time to end by themselves.
func (s *Supervisor) CloseHasty() { s.Hasten(); s.shut() }

// Hasten makes a Close that is under way, and any that follows, as quick as [Supervisor.CloseHasty].
func (s *Supervisor) Hasten() { s.hasten() }

// retire lets nobody begin anything any more.
func (s *Supervisor) retire() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.become(StateClosed, "closed", nil)
	}
}

func (s *Supervisor) shut() {
	s.retire()
	s.mu.Lock()
	if c := s.current; c != nil {
		s.current = nil
		grace := transport.PatientGrace
		if c.Dead() != nil { // it does not read any more, or not from us: there is nothing that it could put in order
			grace = transport.HastyGrace
		}
		s.closing.Go(func() { c.close(s.hurry, grace) })
	}
	s.mu.Unlock()
	s.closing.Wait()
	s.feeds[0].end()
}
