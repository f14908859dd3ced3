package session

import (
	"fmt"
	"sync/atomic"
	"time"
)

// breaker refuses requests at once when those before them failed on the way, although there was a session: so a server
// that breaks each connection is left alone for a while. The supervisor's lock guards it.
type breaker struct {
	// trouble is set while anything below is not zero: the way of a request past a breaker that has nothing to do takes no
	// lock.
	trouble atomic.Bool
	// failures counts those in a row, cause is the latest one's.
	failures int
	cause    string
	// counted is the generation whose loss was counted last.
	counted int
	// until is when a request is let through again, zero while the breaker is closed.
	until time.Time
	// trying is set while the one request that was let through is on its way.
	trying bool
}

// close lets all requests through again.
func (b *breaker) close(s *Supervisor) {
	wasOpen := !b.until.IsZero()
	b.failures, b.cause, b.until, b.trying = 0, "", time.Time{}, false
	b.trouble.Store(false)
	if wasOpen {
		s.publish(Event{From: s.status.State})
	}
}

// admit refuses a request if the breaker does, or says that it is the trial that decides. There is a session: whoever finds
// none asks for one, and does not come here.
func (s *Supervisor) admit() (trial bool, refusal error) {
	if !s.breaker.trouble.Load() {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.breaker
	left := time.Until(b.until)
	switch {
	case b.until.IsZero():
		return false, nil
	case left <= 0 && !b.trying:
		b.trying = true
		return true, nil
	case left <= 0:
		left = 0
	}
	e := &Error{
		Server: s.server.Name, Phase: "breaker", Class: ClassConnect, kind: kindNotSent, Outcome: OutcomeNotSent, Retryable: true,
		RetryAfter: left,
		Message:    fmt.Sprintf("not sent: the last %d requests failed on the way (%s)", b.failures, b.cause),
		Hint:       fmt.Sprintf("requests are refused for another %s; a new connection that works ends that", left.Round(time.Second)),
	}
	if left == 0 {
		e.Hint = "one request is being tried; its answer decides"
	}
	return false, e
}

// settle tells the breaker, and whoever counts failures, how a request ended that was made on a session; nil, if there was
// none any more.
func (s *Supervisor) settle(sess *Session, trial bool, err error) {
	e, failed := err.(*Error) //nolint:errorlint // Do returns it as it is
	worked := sess != nil && (err == nil || failed && e.kind == kindAnswered)
	if worked {
		s.proved(sess)
	}
	if sess != nil && failed && unauthorized(e) {
		sess.doubt()
	}
	lost := sess != nil && failed && onTheWay(e)
	if !lost && !s.breaker.trouble.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.breaker
	if trial {
		b.trying = false
	}
	switch {
	case worked && (trial || b.until.IsZero()):
		b.close(s)
	case lost && s.keeper.kept && s.upkeep.Threshold > 0:
		generation := sess.info.Generation
		if e.Recovery != nil {
			generation = e.Recovery.OldGeneration
		}
		if generation <= b.counted && !trial {
			return // one incident, however many met it
		}
		b.counted = generation
		b.failures++
		b.cause = e.Message
		b.trouble.Store(true)
		if b.failures >= s.upkeep.Threshold && (b.until.IsZero() || trial) {
			b.until = time.Now().Add(s.upkeep.Cooldown)
			s.publish(Event{From: s.status.State})
		}
	}
}

// onTheWay reports whether a request was lost with its connection, while there was one. What the server answered, and an
// opening that failed, are other matters.
func onTheWay(e *Error) bool {
	if e.Recovery != nil && e.Recovery.NewGeneration == 0 {
		return false
	}
	switch e.kind {
	case kindNotSent, kindSevered, kindExpired, kindUncertain:
		return true
	case kindProtocol, kindBusy, kindAuth, kindNoToken, kindBroken, kindAnswered, kindTimeout, kindInterrupted, kindConfig:
	}
	return false
}
