package oauth

import (
	"fmt"
	"time"
)

// Step is a step of getting authorization, in words for people. "" is a failure before any: nothing was begun.
type Step string

// The steps.
const (
	StepChallenge    Step = "challenge"
	StepResource     Step = "resource metadata"
	StepServer       Step = "authorization server metadata"
	StepRegistration Step = "client registration"
	StepBrowser      Step = "browser"
	StepCallback     Step = "callback"
	StepToken        Step = "token request"
	StepRefresh      Step = "token refresh"
	StepExchange     Step = "token exchange at the identity provider"
	StepStore        Step = "credential store"
	StepServerAgain  Step = "request with the new token"
)

// Reason says why there is no authorization.
type Reason int

// The reasons.
const (
	// NeedsLogin is a person who has to log in, and nobody may be asked here.
	NeedsLogin Reason = iota
	// Refused is a no: of the person, the authorization server, or the server itself.
	Refused
	// Invalid is a document or an answer that must not be used: another issuer, another resource, another state.
	Invalid
	// Unreachable is an authorization server that could not be reached, or did not work; it may later.
	Unreachable
	// Config is a value of the user's that cannot work: a key that is no key, a port that is taken.
	Config
	// TimedOut is a limit that ran out: that of a person who did not come back in time, or that of a server that does not
	// answer at all.
	TimedOut
	// Cancelled is a caller who does not want it any more.
	Cancelled
)

// Limit is a limit on time: its name, and where its value was set.
type Limit struct {
	Name   string
	Value  time.Duration
	Source string
}

// String is the limit as people read it.
func (l Limit) String() string { return fmt.Sprintf("%s %s (%s)", l.Name, l.Value, l.Source) }

// loginLimit is that of a person.
func loginLimit(value time.Duration) Limit {
	return Limit{Name: "login", Value: value, Source: "built-in"}
}

// Error is a failure to get authorization. Its text names the step, what happened, and never a secret.
type Error struct {
	Step   Step
	Reason Reason
	// Message is what happened, Hint the next step for the user, "" for none.
	Message, Hint string
	// Code is the error code of the authorization server (RFC 6749, 4.1.2.1 and 5.2), "" if it gave none.
	Code string
	// Scopes are those that a person has to log in with, for [NeedsLogin], if there is a login already that lacks some.
	Scopes []string
	// Limit is the one that ran out, for [TimedOut].
	Limit Limit
	// Err is the cause, nil if there is none.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Step == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Step, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
