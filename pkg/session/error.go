package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Class says what kind of failure an [Error] is.
type Class string

// The classes of failure.
const (
	// ClassConfig is an entry that cannot be used as it stands: a bad URL, a value out of range.
	ClassConfig Class = "config"
	// ClassConnect is a server that could not be started or reached.
	ClassConnect Class = "connect"
	// ClassProtocol is a peer that was reached and does not speak MCP as specified.
	ClassProtocol Class = "protocol"
	// ClassSession is a session that was lost and could not be replaced in time, or was lost again at once.
	ClassSession Class = "session"
	// ClassBusy is a server that answered 429 or 503 to the end.
	ClassBusy Class = "busy"
	// ClassAuth is a server that wants authorization, or refuses the one it got.
	ClassAuth Class = "auth"
	// ClassAnswered is a JSON-RPC error: the server understood the request and refused it.
	ClassAnswered Class = "answered"
	// ClassTimeout is a limit that ran out. [Error.Limit] says which.
	ClassTimeout Class = "timeout"
	// ClassUnknownOutcome is a request that may have been executed and was therefore not repeated.
	ClassUnknownOutcome Class = "unknown-outcome"
	// ClassInterrupted is a person's wish to stop.
	ClassInterrupted Class = "interrupted"
)

// Outcome says what is known about the execution of a failed request.
type Outcome string

// The outcomes of a request.
const (
	// OutcomeNotSent means no byte of the request left this process.
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeRefused means the server answered without executing the request.
	OutcomeRefused Outcome = "refused"
	// OutcomeExecuted means the server executed the request and said so.
	OutcomeExecuted Outcome = "executed"
	// OutcomeUnknown means the request was sent and its fate is not known.
	OutcomeUnknown Outcome = "unknown"
)

// Error is a failure to open a session or to make a request, with the evidence for it. All errors that this package
// returns are of this type, found with [errors.As].
type Error struct {
	// Server is the name of the server.
	Server string
	// Phase is the step that failed: "start", "connect", a method ("initialize", "tools/call"), or "close".
	Phase string
	Class Class
	// Message says what happened in one line, lower case, without the server's name.
	Message string
	// Hint is one next step, or empty.
	Hint string

	// Status is the HTTP status of the answer, 0 if there was none.
	Status int
	// Evidence holds what was seen, one fact a line: content type, first bytes, offending line.
	Evidence []string
	// RetryAfter is how long the server asked to wait, 0 if it did not.
	RetryAfter time.Duration
	// ExitStatus and Signal tell how a child process ended: nil and "" when it did not.
	ExitStatus *int
	Signal     string
	// Symptom names what was recognised of a child that did not open a session ("python-module", "port"), or of who answers
	// in place of a server ("cloudflare", "body-size"), or of what its author has done wrong ("zod"), "" for nothing.
	Symptom string
	// StderrTail holds the last lines of a child's standard error.
	StderrTail []string
	// Limit is the limit that ran out, for ClassTimeout.
	Limit *Limit
	// NeedsLogin is set when a person has to log in before anything else helps, and nobody was asked, or nobody could be.
	NeedsLogin bool
	// Outcome says what is known about the request. Empty when the failure concerns the opening.
	Outcome Outcome
	// Retryable is set when the same operation may be repeated without the risk of a second execution and may succeed.
	Retryable bool
	// RPC is the JSON-RPC error, for ClassAnswered.
	RPC *RPCError
	// Task is the task that the operation had become, as it was seen last; nil if it had not become one.
	Task *Task
	// Recovery tells of a replacement of the session during the operation, nil if there was none.
	Recovery *Recovery
	// Err is the cause, never nil for errors that came from another package.
	Err error

	// kind is what the evidence says happened, before it is known what that means for the operation.
	kind kind
	// last is how the last attempt of an opening failed that nobody waits for any more, nil if none has.
	last *Error
}

// Error returns "SERVER: PHASE: MESSAGE".
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{e.Server, e.Phase, e.Message} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotMCP reports whether something answered that was no MCP at all: an HTTP error, a redirect, a web page.
func (e *Error) NotMCP() bool {
	f, ok := errors.AsType[*transport.Fault](e.Err)
	if !ok {
		return false
	}
	switch f.Kind {
	case transport.KindStatus, transport.KindRedirect, transport.KindContent, transport.KindNotHTTP:
		return true
	case transport.KindOther, transport.KindDNS, transport.KindRefused, transport.KindDial, transport.KindTLS,
		transport.KindProxy, transport.KindSevered, transport.KindStart, transport.KindExit, transport.KindTooLarge,
		transport.KindAuth:
	}
	return false
}

// RPCError is a JSON-RPC 2.0 error object as the server sent it.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message and the code.
func (e *RPCError) Error() string {
	message := e.Message
	if strings.TrimSpace(message) == "" {
		message = "an error without a message"
	}
	if e.Code == 0 { // there was none
		return message
	}
	return fmt.Sprintf("%s (code %d)", message, e.Code)
}

// ClassOf returns the class of err, or "" if err holds no [Error].
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}

// CauseAskedFor is the cause of a recovery after [Supervisor.Reconnect]: nothing was lost.
const CauseAskedFor = "a fresh session was asked for"

// Recovery tells how a lost session was replaced.
type Recovery struct {
	// Cause says how the loss was noticed: "HTTP 404: session not found", "process exited with status 1".
	Cause string
	// OldGeneration and NewGeneration count the connections of this server. NewGeneration is 0 while none is ready.
	OldGeneration, NewGeneration int
	// Detect is the time from the beginning of the request to the first sign of the loss, 0 when the loss was known before.
	Detect time.Duration
	// Elapsed is the time from the first sign of the loss to the fresh session, ready for use.
	Elapsed time.Duration
	// Repeated is set when the request was sent once more on the fresh session.
	Repeated bool
	// Reason says why the request was repeated, or why not. It is empty for a replacement that no request had asked for.
	Reason string
}
