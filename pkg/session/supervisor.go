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
	"errors"
	"fmt"
	"net/http"
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

// Request says what a request is, for the decision whether it may be repeated.
type Request struct {
	// Name is the method, "tools/call", or what a person would call the operation.
	Name string
	// Repeatable is set when executing the request twice does no harm: a list, a read, a tool that says of itself that it
	// is read-only or idempotent.
	Repeatable bool
	// RetryUnsafe is set when somebody accepts that a request that may not be repeated is executed twice.
	RetryUnsafe bool
	// Hints finds out whether the request is Repeatable, when that is not known beforehand. It is asked only when it makes a
	// difference, on a session that is ready. If nil, Repeatable says it all.
	Hints func(context.Context, *Session) bool
}

// resolve asks the hints, if they are not known.
func (r *Request) resolve(ctx context.Context, sess *Session) {
	if !r.Repeatable && r.Hints != nil {
		r.Repeatable = r.Hints(ctx, sess)
	}
	r.Hints = nil
}

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

// retryHint says what can be done about a server that wants more time than there is.
func retryHint(after time.Duration) string {
	const longest = time.Hour // nobody sits and waits for longer
	if after > longest {
		return "try again when the server is less busy"
	}
	return fmt.Sprintf("try again in %s, or wait for it with --wait %s", after, after+waitMargin)
}

// waitMargin is what a wait for a busy server should be longer than the server asks for: it may not be exact.
const waitMargin = 10 * time.Second

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

// Do makes a request: fn, on a session that is ready. When the request meets a lost session, the session is replaced,
// and fn is called once more on the fresh one, if the server cannot have executed it or req says that repeating it does no
// harm. fn must make one request (or several that only read) and return its error. A server that is busy is asked again
// after a while, within the request's limit.
//
// The failure of a request is an [*Error]; any other error of fn is returned as it is.
func (s *Supervisor) Do(ctx context.Context, req Request, fn func(context.Context, *Session) error) error {
	sess, err := s.acquire(ctx, 0, "")
	if err != nil {
		return notSent(err)
	}
	ctx, cancel := withCap(ctx, s.limits.Request, s.limits.MaxRequest)
	defer cancel()
	sent := time.Now()
	sess, err = s.try(ctx, &req, sess, fn)
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if sess == nil || !decide(failure.kind, true).fresh {
		return failure
	}
	return s.recover(ctx, req, sess, sent, failure, fn)
}

// recover replaces the session that a request found lost, and repeats the request if it may be.
func (s *Supervisor) recover(ctx context.Context, req Request, lost *Session, sent time.Time, failure *Error, fn func(context.Context, *Session) error) error {
	noticed := time.Now()
	rec := &Recovery{Cause: failure.Message, OldGeneration: lost.info.Generation, Detect: noticed.Sub(sent)}
	waitCtx, cancel := withLimit(ctx, s.limits.SessionWait)
	defer cancel()
	fresh, err := s.acquire(waitCtx, lost.info.Generation, failure.Message)
	rec.Elapsed = time.Since(noticed)
	if err == nil && !decide(failure.kind, req.Repeatable || req.RetryUnsafe).repeat {
		req.resolve(ctx, fresh)
	}
	repeat := decide(failure.kind, req.Repeatable || req.RetryUnsafe).repeat
	if err != nil {
		known := repeat && (req.Repeatable || failure.Outcome != OutcomeUnknown)
		return s.notReplaced(failure, err, rec, known, ended(ctx))
	}
	rec.NewGeneration = fresh.info.Generation
	rec.Repeated = repeat
	s.recovered(*rec)
	if !repeat {
		fresh.end()
		return unknownOutcome(failure, rec)
	}
	fresh, err = s.try(ctx, &req, fresh, fn)
	again, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	again.Recovery = rec
	v := decide(again.kind, req.Repeatable)
	if fresh == nil {
		v = verdict{} // it is the failure of an opening
	}
	switch {
	case v.fresh && !v.repeat || !req.Repeatable && failure.Outcome == OutcomeUnknown && again.Outcome != OutcomeExecuted:
		out := unknownOutcome(again, rec)
		if failure.Outcome == OutcomeUnknown {
			out.Message = fmt.Sprintf("the connection failed after the request was sent, and again after its repetition, which was allowed (%s); it may have been executed twice", again.Message)
		}
		return out
	case fresh == nil:
	case again.kind == kindExpired || again.kind == kindUncertain:
		// Another session would be lost too.
		again.Class = ClassSession
		again.Message = fmt.Sprintf("a fresh session was accepted and lost again at once: %s", again.Message)
		again.Hint = "several instances without shared sessions behind one address, or a server that drops sessions?"
	case v.fresh:
		again.Message = fmt.Sprintf("it failed again on a fresh session: %s", again.Message)
	}
	return again
}

// notSent is the failure of a request for which no session could be opened.
func notSent(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	out := *e // it is shared by all that waited for the opening
	out.Outcome = OutcomeNotSent
	out.Retryable = mayPass(e)
	return &out
}

// mayPass reports whether an opening that failed may succeed when it is tried again.
func mayPass(e *Error) bool {
	return e.Retryable || e.kind == kindTimeout || e.kind == kindBusy || e.kind == kindExpired || passes(e)
}

// recovered keeps the latest recovery.
func (s *Supervisor) recovered(rec Recovery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recovery = &rec
}

// notReplaced is the failure of a request whose session could not be replaced.
//
// harmless is set when it is known that the request was not executed, or that this does not matter.
func (s *Supervisor) notReplaced(failure *Error, err error, rec *Recovery, harmless bool, callers error) error {
	var e *Error
	if !errors.As(err, &e) {
		e = failure
	}
	if e.Class == ClassInterrupted {
		out := *e
		out.Phase, out.Outcome, out.Evidence, out.Recovery = failure.Phase, failure.Outcome, failure.Evidence, rec
		out.Message = fmt.Sprintf("interrupted while the lost session was being replaced (%s)", failure.Message)
		if failure.Outcome == OutcomeUnknown {
			out.Message += "; the request may have been executed"
			out.Hint = "check with a read-only call whether it took effect"
		}
		return &out
	}
	failure.Recovery = rec
	if !harmless {
		failure = unknownOutcome(failure, rec)
		failure.Evidence = append(failure.Evidence, "no fresh session: "+e.Message)
		return failure
	}
	why := e.Message
	switch {
	case e.Class == ClassTimeout && callers == nil && e.Limit != nil && e.Limit.Name == s.limits.SessionWait.Name:
		why = fmt.Sprintf("no fresh session within %s", s.limits.SessionWait)
		if e.last != nil {
			why += ": " + e.last.Message
			e = e.last
		}
	case e.last != nil:
		why = e.Message + "; the last attempt: " + e.last.Message
	case e.Retryable:
		why = fmt.Sprintf("no fresh session within %s: %s", s.limits.SessionWait, e.Message)
	}
	out := *failure
	out.Class = ClassSession
	if e.Class == ClassTimeout && callers != nil { // it is the request's limit that ran out
		out.Class, out.Limit = ClassTimeout, e.Limit
	}
	out.Message = fmt.Sprintf("the session was lost (%s) and could not be replaced: %s", failure.Message, why)
	out.Hint = e.Hint
	out.Retryable = mayPass(e)
	if e.last != nil && e.Status == 0 {
		out.Status = e.last.Status
	}
	if e.Status != 0 {
		out.Status = e.Status
	}
	if len(e.StderrTail) > 0 {
		out.StderrTail = e.StderrTail
	}
	return &out
}

// unknownOutcome is the failure of a request that may have been executed: not repeated, unless somebody accepted that.
func unknownOutcome(failure *Error, rec *Recovery) *Error {
	out := *failure
	out.Class, out.Outcome, out.Retryable, out.Recovery = ClassUnknownOutcome, OutcomeUnknown, false, rec
	out.Message = fmt.Sprintf("the connection failed after the request was sent (%s); it may have been executed, so it was not repeated", failure.Message)
	if rec != nil && rec.Repeated { // the repetition is meant: what came before it had been refused
		out.Message = fmt.Sprintf("the connection failed after the request was sent again (%s); it may have been executed", failure.Message)
	}
	if mayHaveRun(failure) { // the connection is as it was
		out.Message = fmt.Sprintf("the request failed at the server (%s); it may have been executed, so it was not repeated", failure.Message)
	}
	out.Hint = "check with a read-only call whether it took effect"
	if rec != nil && rec.NewGeneration > 0 {
		out.Hint = "a fresh session stands ready: " + out.Hint
	}
	return &out
}

// try makes the request on a session that acquire returned, waiting while the server is busy. A busy server has not
// executed the request, so it is made again on whatever session is ready then: the one before may have been put aside and
// ended meanwhile. It returns the session that was used last, nil if none could be had any more: the failure is then that
// of an opening.
func (s *Supervisor) try(ctx context.Context, req *Request, sess *Session, fn func(context.Context, *Session) error) (*Session, error) {
	backoff, begin, told := firstBackoff, time.Now(), false
	for {
		err := fn(ctx, sess)
		failure, ok := errors.AsType[*Error](err)
		if ok && mayHaveRun(failure) {
			req.resolve(ctx, sess)
		}
		sess.end()
		if !ok {
			return sess, err
		}
		failure = weigh(failure, *req)
		if failure.kind != kindBusy {
			return sess, failure
		}
		pause := spread(backoff)
		if failure.RetryAfter > 0 {
			pause = max(failure.RetryAfter, pause)
		}
		limit := s.limits.Request
		late := pause > boundOf(ctx).left()
		if !late && failure.RetryAfter > 0 && time.Since(begin)+pause > s.limits.Connect.Value {
			// Somebody waits for the answer: a server is given the time to become ready that it has when it is opened.
			limit, late = s.limits.Connect, true
		}
		if late {
			failure.Retryable = true
			failure.Hint = fmt.Sprintf("it stayed busy to the end of the limit %s", limit)
			if failure.RetryAfter > 0 {
				failure.Message = fmt.Sprintf("%s; the server asks to wait %s, which is past the limit %s", failure.Message, failure.RetryAfter, limit)
				failure.Hint = retryHint(failure.RetryAfter)
			}
			return sess, failure
		}
		told = s.dialer.waits(s.server.Name, pause, failure, told)
		if !sleep(ctx, pause) {
			if errors.Is(context.Cause(ctx), context.Canceled) {
				interrupted := classify(evidence{server: s.server.Name, method: failure.Phase, ctx: context.Cause(ctx), err: err, opened: true})
				interrupted.Outcome = failure.Outcome
				return sess, interrupted
			}
			return sess, failure
		}
		backoff = min(2*backoff, maxBackoff)
		if sess, err = s.acquire(ctx, 0, ""); err != nil {
			return nil, notSent(err)
		}
	}
}

// weigh completes a failure with what the session could not know: whether the request may be repeated decides what a 503
// means, and whether another error of the server leaves the outcome open.
func weigh(e *Error, req Request) *Error {
	switch {
	case req.Repeatable && e.kind == kindSevered && e.Status == http.StatusServiceUnavailable:
		out := *e
		out.kind, out.Class, out.Outcome = kindBusy, ClassBusy, OutcomeRefused
		return &out
	case !req.Repeatable && mayHaveRun(e):
		return unknownOutcome(e, nil)
	}
	return e
}

// mayHaveRun reports whether a failure of the server leaves open whether it executed the request, on a session that is
// none the worse for it.
func mayHaveRun(e *Error) bool {
	return e.kind == kindBroken || e.kind == kindProtocol && e.Outcome == OutcomeUnknown
}

// acquire returns a ready session above a generation, opening one if need be. why says what is wrong with the session
// of that generation. The session is counted in, as a request is, so that it is not ended before it is used: the caller
// counts out with [Session.end].
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
				c.begin()
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
