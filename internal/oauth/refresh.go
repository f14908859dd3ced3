package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// How a token is refreshed.
//
// An authorization server may rotate the refresh token with each use, and take a second use of the old one for theft: it
// revokes them all then, and the person is logged out. So one refresh runs at a time, in this process and in all others,
// and whoever waited looks at what is kept before it asks. A refresh goes on when the request that wanted it is given up:
// the answer, which may hold the only refresh token that is good, is kept at once.

const (
	// mostMargin is how long before its end a token is refreshed: it has to last until the server has looked at it, on
	// another clock. A token that lives shortly gets a tenth of its life.
	mostMargin = 30 * time.Second
	// refreshTime bounds the request, lockTime the wait for others that refresh, of which each has as long. keepTime bounds
	// keeping what came; it is longer than the keyring may take.
	refreshTime = 10 * time.Second
	lockTime    = 2 * refreshTime
	keepTime    = ringTime + 10*time.Second
	// grace is how long somebody who gives up waits for a refresh whose request was sent: without its answer the person may
	// be logged out. It is no more than Ctrl-C may take.
	grace = time.Second
)

// flight is a refresh on its way, for which several may wait.
type flight struct {
	done chan struct{}
	// sent is set when the request may be at the authorization server.
	sent atomic.Bool

	r   Record
	ok  bool
	err error
}

// unsaved is a record that could not be kept, in place of the one that was saved before, zero for none.
type unsaved struct {
	before time.Time
	r      Record
}

// current returns the record to use for a request, ok false if there is none. A token that is about to expire, or has
// been refused (spent is then that access token), is refreshed first, under the store's lock, unless another process has
// done so meanwhile. The failure is an [*Error]: [NeedsLogin] if the refresh was refused (invalid_grant), [Unreachable]
// if the authorization server was.
func (a *Authorizer) current(ctx context.Context, spent string) (r Record, ok bool, err error) {
	if a.o.Store == nil {
		return Record{}, false, nil
	}
	// Who joined the refresh of somebody else may get the very token that was refused here.
	for range 2 {
		r, ok, err = a.kept(ctx)
		if err != nil || !ok {
			return Record{}, false, err
		}
		now := time.Now()
		usable := r.Token.Access != "" && r.Token.Access != spent
		lasts := usable && !over(r, now, 0)
		switch {
		case usable && !over(r, now, margin(r)):
			return r, true, nil
		case r.Dead && !lasts:
			return Record{}, false, a.needsLogin("")
		case r.Dead, r.Token.Refresh == "":
			return r, lasts, nil
		}
		next, ok, err := a.refreshed(ctx, spent)
		switch {
		case err != nil && lasts:
			// It was only to be early. What is wrong will be told when it matters.
			a.logger().DebugContext(ctx, "refresh_failed", "server", a.o.Server.Name, "error", err)
			return r, true, nil
		case err != nil || !ok || next.Token.Access != spent:
			return next, ok, err
		}
	}
	return Record{}, false, nil
}

// kept is what the store has for the server, if it belongs to what is configured now.
func (a *Authorizer) kept(ctx context.Context) (Record, bool, error) {
	s := a.o.Store
	r, ok, err := s.Load(ctx, a.o.Server.URL)
	if err != nil || !ok || !a.belongs(r) {
		return Record{}, false, err
	}
	s.mu.Lock()
	again := s.told[r.Token.Access]
	s.told[r.Token.Access] = true
	s.mu.Unlock()
	if !again {
		a.secret(r.Token.Access, r.Token.Refresh, r.Client.Secret, r.Key)
	}
	return r, true, nil
}

// belongs reports whether a record was got as the server's configuration says now. What it leaves open, any record fits.
func (a *Authorizer) belongs(r Record) bool {
	o := a.oauth()
	grant := func(g config.Grant) config.Grant {
		if g == "" {
			return config.GrantCode
		}
		return g
	}
	if grant(o.Grant) != grant(config.Grant(r.Grant)) {
		return false
	}
	return (o.ClientID == "" || o.ClientID == r.Client.ID) && (o.Issuer == "" || sameBySlash(o.Issuer, r.Issuer))
}

// lives reports whether it is known when a token ends: one that ended before it was kept is the fault of a clock, and is
// used until it is refused.
func lives(r Record) bool { return r.Token.Expires.After(r.Saved) }

// over reports whether a token ends within a time from now.
func over(r Record, now time.Time, within time.Duration) bool {
	return lives(r) && !now.Add(within).Before(r.Token.Expires)
}

// margin is how long before its end a token is refreshed.
func margin(r Record) time.Duration {
	return min(mostMargin, r.Token.Expires.Sub(r.Saved)/10)
}

// needsLogin is the refusal of a refresh.
func (a *Authorizer) needsLogin(code string) *Error {
	e := &Error{
		Step: StepRefresh, Reason: NeedsLogin, Code: code,
		Message: "the login has ended: the authorization server does not refresh the token any more", Hint: "mcpctl login " + a.o.Server.Name,
	}
	if code != "" {
		e.Message += " (" + code + ")"
	}
	return e
}

// refreshed waits for a refresh, which it begins unless one is on its way.
func (a *Authorizer) refreshed(ctx context.Context, spent string) (Record, bool, error) {
	s, id := a.o.Store, serverID(a.o.Server.URL)
	s.mu.Lock()
	f := s.flights[id]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		s.flights[id] = f
		go func() {
			f.r, f.ok, f.err = a.refresh(context.WithoutCancel(ctx), spent, f)
			s.mu.Lock()
			delete(s.flights, id)
			s.mu.Unlock()
			close(f.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.r, f.ok, f.err
	case <-ctx.Done():
	}
	if f.sent.Load() {
		select {
		case <-f.done:
		case <-time.After(grace):
		}
	}
	return Record{}, false, &Error{
		Step: StepRefresh, Reason: Cancelled, Message: "it was given up before the authorization server had answered", Err: context.Cause(ctx),
	}
}

// refresh refreshes the token, unless somebody else has. The token that is spent will not do.
func (a *Authorizer) refresh(ctx context.Context, spent string, f *flight) (Record, bool, error) {
	s := a.o.Store
	wait, cancel := context.WithTimeoutCause(ctx, lockTime, fmt.Errorf("it has been for %s", lockTime))
	unlock, err := s.Lock(wait, a.o.Server.URL)
	cancel()
	if err != nil {
		return Record{}, false, err
	}
	defer unlock()

	keep, cancel := context.WithTimeout(ctx, refreshTime+keepTime)
	defer cancel()
	r, ok, err := a.kept(keep)
	for attempt := 1; ; attempt++ {
		switch {
		case err != nil || !ok:
			return Record{}, false, err
		case r.Token.Access != "" && r.Token.Access != spent && !over(r, time.Now(), margin(r)):
			return r, true, nil
		case r.Dead:
			return Record{}, false, a.needsLogin("")
		case r.Token.Refresh == "":
			return Record{}, false, nil
		}
		token, failed := a.exchange(ctx, r, f)
		if failed == nil {
			return a.take(keep, r, token), true, nil
		}
		if !final(failed) {
			if failed.Reason == Refused || failed.Reason == Invalid {
				failed.Reason = Unreachable // it does not work now, and nothing is lost
			}
			return Record{}, false, failed
		}
		// Somebody who knows nothing of our lock, on another machine with the same home, may have been faster.
		used := r.Token.Refresh
		if r, ok, err = a.kept(keep); err == nil && ok && r.Token.Refresh != used && attempt == 1 {
			continue
		}
		return Record{}, false, a.ended(keep, r, ok && err == nil, failed)
	}
}

// final reports whether an authorization server has said no, and not only that it does not work.
func final(err *Error) bool {
	switch err.Code {
	case "", "temporarily_unavailable", "server_error", "slow_down":
		return false
	case "invalid_dpop_proof", useNonce:
		return false // a clock that is wrong is not the end of a login
	}
	return err.Reason != Unreachable
}

// take keeps what came, and returns the record to use.
func (a *Authorizer) take(ctx context.Context, old Record, token Token) Record {
	s, r := a.o.Store, old
	a.secret(token.Access, token.Refresh)
	// RFC 6749, 6: what is left out stays as it was.
	if token.Refresh == "" {
		token.Refresh = old.Token.Refresh
	}
	if len(token.Scopes) == 0 {
		token.Scopes = old.Token.Scopes
	}
	r.Token, r.Dead = token, false
	if token.Type != typeDPoP {
		r.Key = "" // the new token is bound to no key
	}
	r.Saved = time.Now().UTC()
	if err := s.Save(ctx, r); err != nil {
		s.lend(ctx, r)
		s.note(fmt.Sprintf("%s: the token was refreshed but cannot be kept, so a login may be needed next time: %s", a.o.Server.Name, plain(err)))
		return r
	}
	a.say(StepRefresh, "the token was refreshed")
	return r
}

// ended notes that a login has ended, and says so.
func (a *Authorizer) ended(ctx context.Context, r Record, ok bool, failed *Error) error {
	s := a.o.Store
	ours := r.Client.RedirectURIs != nil
	client := failed.Code == "invalid_client" || failed.Code == "unauthorized_client"
	if client && !ours && ok {
		failed.Reason = Config // what the message says, the user can mend
		return failed
	}
	if client && ok {
		// It was registered by us and is not known any more: the next login registers another.
		if c, found, err := s.LoadClient(ctx, r.Issuer); err == nil && found && c.ID == r.Client.ID {
			if err := s.DeleteClient(ctx, r.Issuer); err != nil {
				a.logger().DebugContext(ctx, "client_not_forgotten", "issuer", r.Issuer, "error", err)
			}
		}
	}
	if ok {
		r.Dead = true
		if err := s.Save(ctx, r); err != nil {
			a.logger().DebugContext(ctx, "end_of_login_not_kept", "server", a.o.Server.Name, "error", err)
		}
	}
	e := a.needsLogin(failed.Code)
	e.Err = failed
	return e
}

// exchange shows the refresh token to the authorization server. See RFC 6749, 6, and RFC 8707, 2.2.
func (a *Authorizer) exchange(ctx context.Context, r Record, f *flight) (Token, *Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, fmt.Errorf("no answer within %s", refreshTime))
	defer cancel()
	e, err := a.endpointOf(r, r.TokenEndpoint, StepRefresh)
	if err != nil {
		return Token{}, err
	}
	if r.Key != "" {
		// A client that keeps no secret has its refresh tokens bound to the key, too (RFC 9449, 5).
		key, err := a.proofKey(r.Key)
		if err != nil {
			return Token{}, failure(StepStore, Config, err, "the key that the token is bound to cannot be read: %s", plain(err))
		}
		e.proof, e.bound = key, a.oauth().DPoP
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Token.Refresh}}
	if r.Resource != "" {
		form.Set("resource", r.Resource)
	}
	f.sent.Store(true)
	token, failed := e.ask(ctx, form)
	if failed == nil {
		return token, nil
	}
	if known, ok := errors.AsType[*Error](failed); ok {
		return Token{}, known
	}
	return Token{}, failure(StepRefresh, Unreachable, failed, "%s", plain(failed))
}

// endpointOf is an endpoint of the authorization server of a record, asked by the record's client.
func (a *Authorizer) endpointOf(r Record, at string, step Step) (*endpoint, *Error) {
	u, says := endpointURL(at, a.endpoint)
	if says != "" {
		return nil, failure(step, Invalid, nil, "%s is not asked: %s", shownURL(at), says)
	}
	client, err := a.o.Client(u)
	if err != nil {
		return nil, failure(step, Unreachable, err, "%s", plain(err))
	}
	o := a.oauth()
	e := &endpoint{url: at, client: r.Client, audience: r.Issuer, key: o.PrivateKey, http: client, secret: a.secret, step: step}
	if o.ClientID == r.Client.ID && o.ClientSecret != "" {
		e.client.Secret = o.ClientSecret // it may have been changed since
	}
	return e, nil
}
