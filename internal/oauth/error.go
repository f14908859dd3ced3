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
	// TimedOut is a person who did not come back in time.
	TimedOut
	// Cancelled is a caller who does not want it any more.
	Cancelled
)

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
	// Limit is the time that was over, for [TimedOut], if it is that of the person.
	Limit time.Duration
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
