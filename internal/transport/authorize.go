package transport

// How a request gets authorization.
//
// Before a request is sent, the authorizer puts in what there is. A refusal, which is an answer with 401, or with 403 and a
// challenge, is shown to it; if it has other authorization then, the request is sent again, whole. A request that was
// refused has not been executed, so that this is safe for all of them, and what becomes of it afterwards is judged as if
// it had been sent for the first time.
//
// Nobody is asked to log in because of a request that is made in the background, or that only opens or ends a stream:
// the refusal is marked as quiet. The first request that somebody waits for asks.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"
)

// Authorizer gets authorization for the requests of connections to one server. It may be used by several goroutines at
// once. It ends what it does when the context of the request does.
type Authorizer interface {
	// Authorize puts the authorization that there is into a request that is about to be sent: it changes the header and
	// nothing else. An error is that of the request, which is not sent.
	Authorize(req *http.Request) error
	// Refused is told that a request was refused: with 401, or with 403 and a challenge. If it returns nil, the request is
	// sent again, with what Authorize puts in then; else the refusal stands, and the error explains it. It may take as long
	// as a person needs.
	Refused(req *http.Request, r Refusal) error
	// Accepted is told that a request was answered with a success, and the header of the answer.
	Accepted(req *http.Request, header http.Header)
}

// Refusal is an answer with 401 or 403. The body was read and is gone.
type Refusal struct {
	Status     int
	Challenges []Challenge
	Header     http.Header
	// Session is set when the request carried a session id.
	Session bool
	// Quiet is set when nobody is to be asked to log in because of this request. What there is may be refreshed.
	Quiet bool
}

const (
	// maxRefusals is how often a request is sent again with other authorization: a challenge, a wider scope, and one more.
	maxRefusals = 3
	// idleTrust is how long a TCP connection on which nothing was sent is trusted to be alive: while a person logs in, what
	// stands in between forgets it, and says nothing.
	idleTrust = 15 * time.Second
	// initializedMethod is the one notification that somebody waits for: it ends the handshake.
	initializedMethod = "notifications/initialized"
	// discoverMethod asks which era a server is of, and initializeMethod begins the handshake of the older one.
	discoverMethod   = "server/discover"
	initializeMethod = "initialize"
)

type unattendedKey struct{}

// Unattended returns a context whose requests nobody waits for: because of them, no person is asked to log in.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// IsUnattended reports whether a context is one of [Unattended].
func IsUnattended(ctx context.Context) bool { return ctx.Value(unattendedKey{}) != nil }

// errStillRefused is why a refusal stands after other authorization was tried as often as is allowed.
var errStillRefused = fmt.Errorf("refused again, with other authorization each of %d times", maxRefusals)

// authorizer returns what gets authorization, nil for nothing: one that was configured as a header stands.
func (h *HTTP) authorizer() Authorizer {
	for name := range h.opts.Header {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return nil
		}
	}
	return h.opts.Authorizer
}

// authorize puts the authorization that there is into a request.
func (x *roundTrip) authorize(r *http.Request) error {
	if a := x.h.authorizer(); a != nil {
		if err := x.h.forbids(x.msg.Method); err != nil {
			return x.unauthorizable(r, err)
		}
		if err := a.Authorize(r); err != nil {
			x.h.opts.Trace.Event("not sent, as there is no authorization: %v", err)
			return x.unauthorizable(r, err)
		}
	}
	x.fault.Authorized = r.Header.Get("Authorization") != ""
	return nil
}

// forbids returns why a handshake is not tried, nil if it is.
func (h *HTTP) forbids(method string) error {
	if method != initializeMethod {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.forbidden
}

// unauthorizable is the failure of a request for which no authorization was got. Whose wish it was that nothing more be
// done comes first.
func (x *roundTrip) unauthorizable(r *http.Request, err error) error {
	switch {
	case x.h.ctx.Err() != nil:
		return x.fail(Fault{Kind: KindSevered, Err: context.Cause(x.h.ctx)})
	case x.caller.Err() != nil:
		return err
	case r.Context().Err() != nil: // the stream of the legacy transport has ended
		return x.fail(Fault{Kind: KindSevered, Err: context.Cause(r.Context())})
	}
	return x.fail(Fault{Kind: KindAuth, Err: err})
}

// quiet reports whether nobody is to be asked to log in because of a request.
func (x *roundTrip) quiet(r *http.Request) bool {
	switch {
	case x.h.quiet, IsUnattended(r.Context()):
		return true
	case r.Method == http.MethodGet:
		return !x.h.opts.Legacy // whose GET opens the connection
	case r.Method == http.MethodPost && x.request != nil: // the SDK sends it under a context of its own
		return x.h.opts.Unattended != nil && x.h.opts.Unattended(x.request)
	case r.Method == http.MethodPost:
		return x.msg.Method != "" && !x.msg.isCall() && x.msg.Method != initializedMethod
	}
	return true
}

// refused reports whether a request was refused and is to be sent again. The error is that of a request that nobody waits
// for any more.
func (x *roundTrip) refused(r *http.Request, resp *http.Response) (bool, error) {
	a := x.h.authorizer()
	x.unauthorized = nil
	switch {
	case a == nil:
		return false, nil
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		a.Accepted(r, resp.Header)
		return false, nil
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return false, nil
	}
	challenges := ParseChallenge(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	if len(challenges) == 0 && resp.StatusCode == http.StatusForbidden {
		return false, nil // whoever asks is known, and may not
	}
	body := x.refusalBody(resp)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if len(challenges) == 0 && x.fault.SessionID && x.h.opts.Lost != nil && x.h.opts.Lost(body) {
		return false, nil // it is the session that the server does not know
	}
	if x.refusals++; x.refusals > maxRefusals {
		x.unauthorized = errStillRefused
		return false, nil
	}
	x.h.opts.Trace.Event("refused with %d: other authorization is looked for", resp.StatusCode)
	x.sentNothing(true)
	begin := time.Now()
	err := a.Refused(r, Refusal{
		Status: resp.StatusCode, Challenges: challenges, Header: resp.Header, Session: x.fault.SessionID, Quiet: x.quiet(r),
	})
	switch {
	case err == nil && r.Context().Err() == nil:
		if time.Since(begin) > idleTrust {
			x.h.Drop()
		}
		x.h.opts.Trace.Event("the request is sent again, with other authorization")
		return true, nil
	case err == nil, r.Context().Err() != nil, x.h.ctx.Err() != nil:
		if err == nil {
			err = context.Cause(r.Context())
		}
		return false, x.unauthorizable(r, err)
	}
	x.h.opts.Trace.Event("no other authorization: %v", err)
	if resp.StatusCode == http.StatusForbidden && x.fault.Authorized && x.msg.Method == discoverMethod {
		x.h.mu.Lock()
		x.h.forbidden = err
		x.h.mu.Unlock()
	}
	x.sentNothing(false)
	x.unauthorized = err
	return false, nil
}

// sentNothing makes the request one of which nothing has been sent: what was refused was not executed. It takes that back,
// too.
func (x *roundTrip) sentNothing(nothing bool) {
	x.fault.Written = !nothing
	x.ex.update(func(s *ExchangeState) { s.Written = !nothing })
}

// refusalBody reads the body of a refusal, and ends the answer. Unlike [roundTrip.errorBody], it never ends the request.
func (x *roundTrip) refusalBody(resp *http.Response) []byte {
	wait := errorBodyTime
	if deadline, ok := x.caller.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	timer := time.AfterFunc(wait, func() { _ = resp.Body.Close() })
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	discard(resp.Body)
	return body
}

// untraced is a context whose requests are not watched by whoever watches the request that it belongs to.
type untraced struct {
	context.Context //nolint:containedctx // it is one
}

// Value implements [context.Context].
func (c untraced) Value(key any) any {
	v := c.Context.Value(key)
	if _, ok := v.(*httptrace.ClientTrace); ok {
		return nil
	}
	return v
}
