package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// Options say whom to authorize, and with what.
type Options struct {
	// Server is the MCP server. Its references are expanded.
	Server config.Server
	// Client returns what requests to a URL of an authorization server, or a metadata document, are made with: it goes by
	// the server's proxy, trusts the server's authorities, follows no redirects, and bounds what it reads.
	Client func(u *url.URL) (*http.Client, error)
	// Store keeps credentials between runs. If nil, they live as long as the Authorizer.
	Store *Store
	// Connect bounds how long the server has to answer when a login looks for its challenge. If zero, that is 30 s.
	Connect Limit
	// Person can be asked to log in. If nil, nobody can, and what needs a person fails with [NeedsLogin].
	Person *Person
	// Ask returns how the person is asked, in place of Person, nil if nobody may be asked now: whoever uses an Authorizer
	// for long may ask at times. If nil, Person it is.
	Ask func() *Person
	// Secret is told of every secret value at the moment it is known. If nil, nobody is.
	Secret func(secrets ...string)
	// Begins is called when a person is about to be asked: limits on time are raised. If nil, nothing is.
	Begins func(ctx context.Context)
	// Tell is told of what happens: [Event]. It must not block. If nil, nobody is.
	Tell func(Event)
	// Logger tells of steps. If nil, nothing is logged.
	Logger *slog.Logger
}

// Event is something that happened on the way to authorization.
type Event struct {
	Step Step
	// Message says what, for people: "registered as a client", "the token was refreshed".
	Message string
	// Lost is set when something went wrong that ends nothing, and that a person should know: a login cannot be kept.
	Lost bool
}

// Authorizer gets, keeps and uses the authorization for one server. It may be used by several goroutines at once. It is
// a [transport.Authorizer].
type Authorizer struct {
	o        Options
	endpoint *url.URL // nil if the server has no URL

	mu sync.Mutex
	// held is what a flow has brought, until it can be read from the store.
	held *brought
	// attempt is the flow that is under way, failed the one that must not be begun again, flows how many have brought a token.
	attempt *attempt
	failed  *Error
	flows   int
	// renewed is the access token that a refresh has brought after a refusal: it is not refreshed again when it is refused.
	renewed string
	// last is the token that a flow of this run has brought last, or what it was refreshed to.
	last lately
	// key is the key of the token in use, with the nonces that were given for it, keyText what it was read from.
	key     *proofKey
	keyText string
}

// lately is a token that was got a moment ago.
type lately struct {
	token, issuer string
	at            time.Time
}

// brought is what a flow has brought.
type brought struct {
	record Record
	// asked are the scopes that were asked for; accepted is set once the server has taken the token.
	asked    []string
	accepted bool
}

// attempt is a flow under way. done is closed at its end, asks when a person is asked.
type attempt struct {
	done, asks chan struct{}
	err        error
}

var _ transport.Authorizer = (*Authorizer)(nil)

// New returns the authorizer of a server. Nothing is contacted or read yet.
func New(o Options) *Authorizer {
	a := &Authorizer{o: o}
	if u, err := url.Parse(o.Server.URL); err == nil && u.Host != "" {
		a.endpoint = u
	}
	return a
}

// Authorize puts what authorization there is into a request: the token, refreshed if it is about to expire, and a proof of
// possession if the token is bound to a key. Without a token it does nothing. A request to another origin than the
// server's gets nothing. The failure is an [*Error].
func (a *Authorizer) Authorize(req *http.Request) error {
	if a.endpoint == nil || !transport.SameOrigin(req.URL, a.endpoint) {
		return nil
	}
	r, ok, err := a.record(req.Context())
	if err != nil || !ok {
		return err
	}
	if r.Key == "" {
		req.Header.Set("Authorization", typeBearer+" "+r.Token.Access)
		return nil
	}
	key, err := a.proofKey(r.Key)
	if err == nil {
		err = key.authorize(req, r.Token.Access)
	}
	if err != nil {
		return failure(StepStore, Invalid, err, "the key of the token (DPoP): %v", err)
	}
	return nil
}

// proofKey returns the key that a record keeps. A key that is used again knows its nonces.
func (a *Authorizer) proofKey(text string) (*proofKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key != nil && a.keyText == text {
		return a.key, nil
	}
	key, err := parseProofKey(text)
	if err != nil {
		return nil, err
	}
	a.key, a.keyText = key, text
	return key, nil
}

// learn remembers the nonce of an answer to a request with a proof, and reports whether it is another than the proof's.
func (a *Authorizer) learn(req *http.Request, header http.Header) bool {
	a.mu.Lock()
	key := a.key
	a.mu.Unlock()
	proof := req.Header.Get("DPoP")
	return key != nil && proof != "" && key.learn(req.URL, proof, header)
}

// record returns the record to use for a request. One that will not be refreshed any more is none: the server is asked
// without, and answers with a challenge if it wants a token.
func (a *Authorizer) record(ctx context.Context) (Record, bool, error) {
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held != nil {
		return held.record, true, nil
	}
	r, ok, err := a.current(ctx, "")
	if reasonOf(err) == NeedsLogin || err != nil && reasonOf(err) == Unreachable && a.moved(ctx, nil) {
		return Record{}, false, nil
	}
	return r, ok && r.Token.Access != "", err
}

// Refused is told that a request was refused with 401 or 403. It returns nil if the request may be sent again, with what
// Authorize puts in then; else an [*Error]. A login begins only on a challenge, or for a 401 without one if the server
// publishes where tokens are to be had. See the MCP specification, 2025-11-25, "Authorization".
func (a *Authorizer) Refused(req *http.Request, r transport.Refusal) error {
	ctx, spent, seen := req.Context(), tokenIn(req), a.flowsDone()
	c, asks := bearer(r.Challenges)
	wider := wantsScopes(r.Status, c)
	fresh := a.learn(req, r.Header)
	switch {
	case a.endpoint == nil || !transport.SameOrigin(req.URL, a.endpoint):
		return failure("", Refused, nil, "the answer is not the server's")
	case fresh && wantsNonce(r):
		return nil
	case refusesProof(req, r):
		return proofFailure(r)
	case r.Status != http.StatusUnauthorized && !wider:
		return failure("", Refused, nil, "the server forbids it, and asks for no other authorization")
	case !asks && len(r.Challenges) > 0 && a.o.Server.Auth != config.AuthOAuth:
		other := failure("", Refused, nil, "the server wants authorization of another kind: %s", transport.Snippet([]byte(r.Challenges[0].Scheme)))
		other.Hint = "give it what the scheme wants: " + r.Challenges[0].Flag()
		return other
	}
	if newer, err := a.newer(ctx, spent); err != nil || newer {
		return err
	}
	if spent != "" && !wider {
		again, err := a.renew(ctx, spent, c)
		if err != nil || again {
			return err
		}
	}
	return a.once(ctx, wish{spent, seen, r.Quiet && a.needsPerson()}, func(ctx context.Context, f *attempt) (*brought, error) {
		return a.flow(ctx, f, demand{refusal: r, challenge: c, asks: asks, wider: wider, spent: spent})
	})
}

// wantsScopes reports whether a challenge wants a token with other scopes. Of a 403 that names scopes and no error, which
// servers made with the official SDK give, that is the only sense. See RFC 6750, 3.1.
func wantsScopes(status int, c transport.Challenge) bool {
	return c.Params["error"] == "insufficient_scope" ||
		status == http.StatusForbidden && c.Params["error"] == "" && strings.TrimSpace(c.Params["scope"]) != ""
}

// flowsDone is how many flows have brought a token.
func (a *Authorizer) flowsDone() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.flows
}

// needsPerson reports whether a flow would ask a person.
func (a *Authorizer) needsPerson() bool {
	grant := a.oauth().Grant
	return a.person() != nil && (grant == "" || grant == config.GrantCode)
}

// newer reports whether there is another token by now than the one that was refused.
func (a *Authorizer) newer(ctx context.Context, spent string) (bool, error) {
	r, ok, err := a.record(ctx)
	return ok && r.Token.Access != spent, err
}

// renew reports whether a refresh has brought another token in place of one that was refused. The token that a flow has
// just brought is not refreshed: the server does not like what its own authorization server gives.
func (a *Authorizer) renew(ctx context.Context, spent string, c transport.Challenge) (bool, error) {
	a.mu.Lock()
	renewed, held := a.renewed == spent, a.held
	if held != nil && held.record.Token.Access == spent {
		a.held = nil
		if !held.accepted {
			a.failed = unwelcome(held.record.Issuer, c)
			defer a.mu.Unlock()
			return false, a.failed
		}
	}
	a.mu.Unlock()
	if renewed || a.o.Store == nil {
		return false, nil
	}
	r, ok, err := a.current(ctx, spent)
	switch {
	case reasonOf(err) == NeedsLogin, err != nil && reasonOf(err) == Unreachable && a.moved(ctx, []transport.Challenge{c}):
		return false, nil
	case err != nil:
		return false, err
	case !ok || r.Token.Access == spent || r.Token.Access == "":
		return false, nil
	}
	a.mu.Lock()
	a.renewed = r.Token.Access
	if a.last.token == spent {
		a.last.token = r.Token.Access
	}
	a.mu.Unlock()
	return true, nil
}

// unwelcome is the failure of a server that does not take what its authorization server gives.
func unwelcome(issuer string, c transport.Challenge) *Error {
	return failure(StepServerAgain, Refused, nil, "the server refuses the token that %s has just given%s", shownIssuer(issuer), described(c))
}

// wish is a flow that is wanted.
type wish struct {
	// spent is the token that was refused, seen how many flows had brought one when it was.
	spent string
	seen  int
	// joins is set for who waits for a flow, and begins none: it would ask a person, and nobody waits for this request.
	joins bool
}

// once runs a flow. If one is under way already, its outcome is waited for, and is the outcome; and if one has failed, it
// is not begun again.
func (a *Authorizer) once(ctx context.Context, w wish, run func(context.Context, *attempt) (*brought, error)) error {
	a.mu.Lock()
	if f := a.attempt; f != nil {
		a.mu.Unlock()
		err := a.await(ctx, f)
		if reasonOf(err) == Cancelled && !f.asked() && ctx.Err() == nil {
			return a.once(ctx, w, run) // whoever began it does not want it any more, and nobody was asked
		}
		return err
	}
	switch {
	case a.flows != w.seen, a.held != nil && a.held.record.Token.Access != w.spent:
		a.mu.Unlock() // another flow has ended since the request was refused
		return nil
	case a.failed != nil:
		err := a.failed
		a.mu.Unlock()
		return err
	case w.joins:
		a.mu.Unlock()
		return failure(StepBrowser, NeedsLogin, nil, "somebody has to log in, and nobody is asked by what is done in the background")
	}
	f := &attempt{done: make(chan struct{}), asks: make(chan struct{})}
	a.attempt = f
	a.mu.Unlock()

	got, err := run(ctx, f)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempt = nil
	if err == nil {
		a.held = got
		a.flows++
		a.last = lately{token: got.record.Token.Access, issuer: got.record.Issuer, at: time.Now()}
	} else if e, ok := errors.AsType[*Error](err); ok && (f.asked() || e.Reason != Unreachable && e.Reason != Cancelled && !a.later(e)) {
		a.failed = e
	}
	f.err = err
	close(f.done)
	return err
}

// person returns how the person is asked, nil if nobody may be.
func (a *Authorizer) person() *Person {
	if a.o.Ask != nil {
		return a.o.Ask()
	}
	return a.o.Person
}

// later reports whether a failure is that nobody could be asked, who may be the next time.
func (a *Authorizer) later(e *Error) bool { return a.o.Ask != nil && e.Reason == NeedsLogin }

// await waits for the flow of another request, with as much time as a person needs if one is asked.
func (a *Authorizer) await(ctx context.Context, f *attempt) error {
	asks := f.asks
	for {
		select {
		case <-f.done:
			return f.err
		case <-asks:
			asks = nil
			a.begins(ctx)
		case <-ctx.Done():
			return cancelled(ctx, StepBrowser)
		}
	}
}

// begin tells everybody that a person is about to be asked.
func (f *attempt) begin() { close(f.asks) }

// asked reports whether a person was asked.
func (f *attempt) asked() bool {
	select {
	case <-f.asks:
		return true
	default:
		return false
	}
}

// Accepted is told that a request with what Authorize put in was accepted: what a login brought is kept from then on.
func (a *Authorizer) Accepted(req *http.Request, header http.Header) {
	a.learn(req, header)
	token := tokenIn(req)
	a.mu.Lock()
	held := a.held
	mine := held != nil && !held.accepted && token != "" && held.record.Token.Access == token
	if mine {
		held.accepted = true
	}
	a.mu.Unlock()
	if !mine || a.o.Store == nil {
		return
	}
	// The request's own end must not leave the login half kept.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), keepBound)
	defer cancel()
	if err := a.keep(ctx, held.record); err != nil {
		a.lose(StepStore, "the login is good for this run only, as it cannot be kept: %v", err)
		a.o.Store.lend(ctx, held.record)
	} else {
		a.say(StepStore, "the login is kept in %s", a.o.Store.Where())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == held {
		a.held = nil
	}
}

// keepBound bounds how long it takes to keep a record: others may hold the lock for a refresh.
const keepBound = 15 * time.Second

// keep writes a record, in turn with those who refresh.
func (a *Authorizer) keep(ctx context.Context, r Record) error {
	unlock, err := a.o.Store.Lock(ctx, r.Server)
	if err != nil {
		return err
	}
	defer unlock()
	return a.o.Store.Save(ctx, r)
}

// Forgive forgets a login that failed: the next refusal may ask the person again.
func (a *Authorizer) Forgive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = nil
}
