package transport

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Authorizer gets authorization for the requests of connections to one server. It may be used by several goroutines at
// once.
type Authorizer interface {
	// Authorize puts the authorization that there is into a request that is about to be sent. An error is that of the
	// request, which is not sent.
	Authorize(req *http.Request) error
	// Refused is told that a request was refused with 401 or 403. If it returns nil, the request is sent again, with what
	// Authorize puts in then; else the refusal stands, and the error explains it. It may take as long as a person needs.
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
}

// maxRefusals is how often a request is sent again with other authorization: a challenge, a wider scope, and one more.
const maxRefusals = 3

// authorize puts the authorization that there is into a request.
func (x *roundTrip) authorize(r *http.Request) error {
	if x.h.opts.Authorizer == nil {
		return nil
	}
	if err := x.h.opts.Authorizer.Authorize(r); err != nil {
		return x.fail(Fault{Kind: KindOther, Err: err})
	}
	return nil
}

// refused reports whether a request was refused and is to be sent again. A 401 without a challenge on a session may be a
// lost session.
func (x *roundTrip) refused(r *http.Request, resp *http.Response) bool {
	a := x.h.opts.Authorizer
	switch {
	case a == nil:
		return false
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		a.Accepted(r, resp.Header)
		return false
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return false
	}
	challenges := ParseChallenge(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	if len(challenges) == 0 && x.fault.SessionID || x.refusals >= maxRefusals {
		return false
	}
	body := x.errorBody(resp)
	discard(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	x.unauthorized = a.Refused(r, Refusal{
		Status: resp.StatusCode, Challenges: challenges, Header: resp.Header, Session: x.fault.SessionID,
	})
	x.refusals++
	return x.unauthorized == nil
}
