package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
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
	if s == nil {
		return false, false, nil
	}
	unlock, err := s.Lock(ctx, a.o.Server.URL)
	if err != nil {
		return false, false, err
	}
	defer unlock()
	// Whatever is configured now: what is kept is to go.
	records, unread := s.records(ctx, a.o.Server.URL)
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
			a.tell(StepRevocation, shownURL(r.Issuer)+" has no way to revoke tokens: what was given stays good until it expires")
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
	a.tell(StepRevocation, shownURL(r.Issuer)+" has revoked the tokens")
	return true, nil
}

func (a *Authorizer) revokeOne(ctx context.Context, r Record, token, hint string) error {
	e, err := a.endpointOf(r, r.RevocationEndpoint, StepRevocation)
	if err != nil {
		return err
	}
	return e.revokePlainly(ctx, url.Values{"token": {token}, "token_type_hint": {hint}})
}

func (e *endpoint) revokePlainly(ctx context.Context, form url.Values) error {
	if e.client.Secret == "" || e.client.Method == "client_secret_post" {
		form.Set("client_id", e.client.ID)
	}
	if e.client.Method == "client_secret_post" {
		form.Set("client_secret", e.client.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if e.client.Secret != "" && e.client.Method != "client_secret_post" {
		req.SetBasicAuth(url.QueryEscape(e.client.ID), url.QueryEscape(e.client.Secret))
	}
	resp, err := e.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &Error{Step: e.step, Reason: Unreachable, Message: plain(err), Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode != http.StatusOK {
		return &Error{Step: e.step, Reason: Refused, Message: fmt.Sprintf("%s answered HTTP %d, so the tokens may still be good", shownURL(e.url), resp.StatusCode)}
	}
	return nil
}
