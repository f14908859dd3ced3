package session

// How a request survives the loss of its session.
//
// It is made on a session that is ready. When it fails, classify says what happened, and decide what may be done about it.
// A lost session is replaced first, in any case; then the request is repeated once, on a session of a higher generation, if
// it cannot have been executed, or may be executed twice. Its repetition's answer is the answer.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
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
	trial, refusal := s.admit()
	if refusal != nil {
		sess.end()
		return refusal
	}
	settled := false
	defer func() {
		if !settled { // fn has panicked
			s.settle(nil, trial, nil)
		}
	}()
	sess, err = s.do(ctx, req, sess, fn)
	settled = true
	s.settle(sess, trial, err)
	return err
}

// do makes an admitted request on a session, and returns the session that it was made on in the end.
func (s *Supervisor) do(ctx context.Context, req Request, sess *Session, fn func(context.Context, *Session) error) (*Session, error) {
	ctx, cancel := withCap(ctx, s.Limits().Request, s.Limits().MaxRequest)
	defer cancel()
	sent := time.Now()
	sess, err := s.try(ctx, &req, sess, fn)
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		return sess, err
	}
	if sess == nil || !decide(failure.kind, true).fresh {
		return sess, failure
	}
	return s.recover(ctx, req, sess, sent, failure, fn)
}

// recover replaces the session that a request found lost, and repeats the request if it may be.
func (s *Supervisor) recover(ctx context.Context, req Request, lost *Session, sent time.Time, failure *Error, fn func(context.Context, *Session) error) (*Session, error) {
	noticed := time.Now()
	rec := &Recovery{Cause: failure.Message, OldGeneration: lost.info.Generation, Detect: noticed.Sub(sent)}
	waitCtx, cancel := WithLimit(ctx, s.Limits().SessionWait)
	defer cancel()
	fresh, err := s.acquire(waitCtx, lost.info.Generation, failure.Message)
	rec.Elapsed = time.Since(noticed)
	if err == nil && !decide(failure.kind, req.Repeatable || req.RetryUnsafe).repeat {
		req.resolve(ctx, fresh)
	}
	v := decide(failure.kind, req.Repeatable || req.RetryUnsafe)
	repeat := v.repeat
	rec.Reason = v.why
	if err != nil {
		known := repeat && (req.Repeatable || failure.Outcome != OutcomeUnknown)
		return lost, s.notReplaced(failure, err, rec, known, ended(ctx))
	}
	rec.NewGeneration = fresh.info.Generation
	rec.Repeated = repeat
	s.recovered(*rec)
	if !repeat {
		fresh.end()
		return fresh, unknownOutcome(failure, rec)
	}
	fresh, err = s.try(ctx, &req, fresh, fn)
	again, ok := errors.AsType[*Error](err)
	if !ok {
		return fresh, err
	}
	again.Recovery = rec
	if fresh != nil && !decide(again.kind, false).repeat && decide(again.kind, true).repeat {
		req.resolve(ctx, fresh) // it was refused before, so that nobody had to know
	}
	v = decide(again.kind, req.Repeatable)
	if fresh == nil {
		v = verdict{} // it is the failure of an opening
	}
	switch {
	case v.fresh && !v.repeat || !req.Repeatable && failure.Outcome == OutcomeUnknown && again.Outcome != OutcomeExecuted:
		out := unknownOutcome(again, rec)
		if failure.Outcome == OutcomeUnknown {
			out.Message = fmt.Sprintf("the connection failed after the request was sent, and again after its repetition, which was allowed (%s); it may have been executed twice", again.Message)
		}
		return fresh, out
	case fresh == nil:
	case again.kind == kindExpired || again.kind == kindUncertain:
		// Another session would be lost too.
		again.Class = ClassSession
		again.Message = fmt.Sprintf("a fresh session was accepted and lost again at once: %s", again.Message)
		again.Hint = "several instances without shared sessions behind one address, or a server that drops sessions?"
	case v.fresh:
		again.Message = fmt.Sprintf("it failed again on a fresh session: %s", again.Message)
		if again.kind == kindSevered && s.server.URL != "" {
			again.Hint = cmp.Or(again.Hint, hintCut)
		}
	}
	return fresh, again
}

// hintCut is the next step at a server whose answer was cut off twice.
const hintCut = "see the server's log; if it takes as long each time, suspect a limit of a proxy before the server (nginx: proxy_read_timeout, HAProxy: timeout server)"

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
	case e.Class == ClassTimeout && callers == nil && e.Limit != nil && e.Limit.Name == s.Limits().SessionWait.Name:
		why = fmt.Sprintf("no fresh session within %s", s.Limits().SessionWait)
		if e.last != nil {
			why += ": " + e.last.Message
			e = e.last
		}
	case e.last != nil:
		why = e.Message + "; the last attempt: " + e.last.Message
	case e.Retryable:
		why = fmt.Sprintf("no fresh session within %s: %s", s.Limits().SessionWait, e.Message)
	}
	out := *failure
	out.Class = ClassSession
	if e.Class == ClassTimeout && callers != nil { // it is the request's limit that ran out
		out.Class, out.Limit = ClassTimeout, e.Limit
	}
	out.Message = fmt.Sprintf("the session was lost (%s) and could not be replaced: %s", failure.Message, why)
	out.Hint = e.Hint
	if again(e) && e.RetryAfter == 0 {
		out.Hint = moreTime(s.Limits().SessionWait)
	}
	out.Retryable = mayPass(e) && failure.Outcome != OutcomeUnknown // without the risk of a second execution
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
	out.Message = fmt.Sprintf("the connection failed after the request was sent (%s); %s, so it was not repeated", failure.Message, decide(kindSevered, false).why)
	if rec != nil && rec.Repeated { // the repetition is meant: what came before it had been refused
		out.Message = fmt.Sprintf("the connection failed after the request was sent again (%s); it may have been executed", failure.Message)
	}
	if mayHaveRun(failure) { // the connection is as it was
		out.Message = fmt.Sprintf("the request failed at the server (%s); %s, so it was not repeated", failure.Message, decide(kindBroken, false).why)
	}
	out.Hint = "check with a read-only call whether it took effect"
	if f, ok := errors.AsType[*transport.Fault](failure.Err); ok && f.Kind == transport.KindTooLarge {
		out.Message = fmt.Sprintf("the answer was not taken: %s; the request may have been executed, so it was not repeated", failure.Message)
		out.Hint += "; " + tooLargeHint
	}
	if failure.Symptom != "" && failure.Hint != "" {
		out.Hint += "; " + failure.Hint
	}
	if rec != nil && rec.NewGeneration > 0 {
		out.Hint = "a fresh session is ready: " + out.Hint
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
		err := held(ctx, sess, fn)
		failure, ok := errors.AsType[*Error](err)
		if ok && mayHaveRun(failure) {
			req.resolve(ctx, sess)
		}
		sess.end()
		if !ok {
			return sess, err
		}
		failure = weigh(failure, *req)
		if failure.kind != kindBusy && failure.kind != kindNoToken {
			return sess, failure
		}
		pause := spread(backoff)
		if failure.RetryAfter > 0 {
			pause = max(failure.RetryAfter, pause)
		}
		limit := s.Limits().Request
		late := pause > boundOf(ctx).left()
		if !late && failure.RetryAfter > 0 && time.Since(begin)+pause > s.Limits().Connect.Value {
			// Somebody waits for the answer: a server is given the time to become ready that it has when it is opened.
			limit, late = s.Limits().Connect, true
		}
		if failure.kind == kindNoToken {
			// It is given as long as a server that has to come back.
			if late || time.Since(begin)+pause > s.Limits().SessionWait.Value {
				return sess, failure
			}
		} else if late {
			failure.Retryable = true
			failure.Hint = fmt.Sprintf("it stayed busy to the end of the limit %s", limit)
			if failure.RetryAfter > 0 {
				failure.Message = fmt.Sprintf("%s; the server asks to wait %s, which is past the limit %s", failure.Message, failure.RetryAfter, limit)
				failure.Hint = retryHint(failure.RetryAfter)
			}
			return sess, failure
		}
		told = s.dialer.waits(s.server.Name, pause, failure, told)
		if !s.sleep(ctx, pause) {
			if s.ctx.Err() != nil {
				closed := s.closedError()
				closed.Phase, closed.Outcome = failure.Phase, failure.Outcome
				return sess, closed
			}
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

// held calls fn with a session that is counted in. It counts out only if fn panics, which nobody else would do.
func held(ctx context.Context, sess *Session, fn func(context.Context, *Session) error) error {
	returned := false
	defer func() {
		if !returned {
			sess.end()
		}
	}()
	err := fn(ctx, sess)
	returned = true
	return err
}

// sleep waits, and reports false if ctx ended before, or the supervisor was closed.
func (s *Supervisor) sleep(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	return sleep(ctx, d)
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

// gone returns the failure of a harmless request if it says that the session is of no use any more, else nil.
func gone(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	if e = weigh(e, Request{Repeatable: true}); !decide(e.kind, true).fresh {
		return nil
	}
	return e
}

// mayHaveRun reports whether a failure of the server leaves open whether it executed the request, on a session that is
// none the worse for it.
func mayHaveRun(e *Error) bool {
	return e.kind == kindBroken || e.kind == kindProtocol && e.Outcome == OutcomeUnknown
}

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
