package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// StepRevocation is the step in which an authorization server is told that a token is not used any more.
const StepRevocation Step = "token revocation"

// revocationTime bounds the revocation of all tokens of a server: somebody who logs out waits for it.
const revocationTime = 10 * time.Second

// Logout forgets what is kept for the server, and asks the authorization server to revoke it where that can be done (RFC
// 7009). It reports whether there was anything, and whether all of it is revoked: some authorization servers cannot do that. A
// failure of the revocation is told by err, and nothing is kept all the same.
func (a *Authorizer) Logout(ctx context.Context) (had, revoked bool, err error) {
	s := a.o.Store
	if s == nil || a.endpoint == nil {
		return false, false, nil
	}
	unlock, err := s.Lock(ctx, a.o.Server.URL)
	if err != nil {
		return false, false, err
	}
	defer unlock()
	// Whatever is configured now: what is kept is to go.
	records, unread := s.records(ctx, a.o.Server.URL)
	// What a login of this run has brought may not be kept yet.
	a.mu.Lock()
	if a.held != nil && !slices.ContainsFunc(records, func(r Record) bool { return r.Token.Access == a.held.record.Token.Access }) {
		records = append(records, a.held.record)
	}
	a.held, a.failed, a.renewed, a.last = nil, nil, "", lately{}
	a.mu.Unlock()
	for _, r := range records {
		a.secret(r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key)
	}
	had, err = s.Delete(ctx, a.o.Server.URL)
	if err != nil {
		return had, false, err
	}
	if unread != nil && had {
		return had, false, &Error{
			Step: StepRevocation, Reason: Unreachable, Err: unread,
			Message: "the tokens could not be read, so the authorization server was not told: " + plain(unread),
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, revocationTime, fmt.Errorf("no answer within %s", revocationTime))
	defer cancel()
	var failures []error
	revoked = len(records) > 0
	for _, r := range records {
		able, err := a.revoke(ctx, r)
		if err != nil {
			failures = append(failures, err)
		}
		revoked = revoked && able && err == nil
	}
	switch len(failures) {
	case 0:
		return had, revoked, nil
	case 1:
		return had, false, failures[0]
	}
	return had, false, errors.Join(failures...)
}

// revoke tells the authorization server of a record that its tokens are not used any more: the refresh token first, with
// which most servers revoke the access token too. It reports whether that can be done.
func (a *Authorizer) revoke(ctx context.Context, r Record) (able bool, err error) {
	if r.RevocationEndpoint == "" {
		if r.Token.Access != "" || r.Token.Refresh != "" {
			a.say(StepRevocation, "%s has no way to revoke tokens: what it gave stays good until it expires", shownIssuer(r.Issuer))
		}
		return false, nil
	}
	for _, t := range []struct{ token, hint string }{{r.Token.Refresh, "refresh_token"}, {r.Token.Access, "access_token"}} {
		if t.token == "" {
			continue
		}
		if err := a.revokeOne(ctx, r, t.token, t.hint); err != nil {
			return true, err
		}
	}
	a.say(StepRevocation, "%s has revoked the tokens", shownIssuer(r.Issuer))
	return true, nil
}

func (a *Authorizer) revokeOne(ctx context.Context, r Record, token, hint string) error {
	e, failed := a.endpointOf(r, r.RevocationEndpoint, StepRevocation)
	if failed != nil {
		return failed
	}
	u, err := url.Parse(e.url)
	if err != nil {
		return failure(StepRevocation, Invalid, nil, "%s is no URL", shownURL(e.url))
	}
	hidden := []string{token}
	got, err := e.send(ctx, u, url.Values{"token": {token}, "token_type_hint": {hint}}, &hidden)
	switch own, ok := errors.AsType[*Error](err); {
	case ok:
		return own
	case err != nil && ctx.Err() != nil:
		return failure(StepRevocation, Unreachable, context.Cause(ctx), "%s: %v", shownURL(e.url), context.Cause(ctx))
	case err != nil:
		return failure(StepRevocation, Unreachable, err, "%s: %v", shownURL(e.url), because(err))
	case got.status == http.StatusOK, got.status == http.StatusNoContent:
		return nil
	}
	// RFC 7009, 2.2: a token that is not known is no failure.
	var answer struct {
		Code string `json:"error"`
	}
	words := fmt.Sprintf("HTTP %d", got.status)
	if json.Unmarshal(got.body, &answer) == nil && answer.Code != "" {
		words += ", " + bareCode(answer.Code)
	}
	reason := Refused
	if got.status >= 500 || got.status == http.StatusTooManyRequests {
		reason = Unreachable
	}
	told := failure(StepRevocation, reason, nil, "%s answered %s, so the tokens may stay good until they expire", shownURL(e.url), words)
	told.Code = bareCode(answer.Code)
	return told
}
