package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

const (
	// loginTime is how long a person has to log in.
	loginTime = 300 * time.Second
	// loginFloor is the least that any limit leaves once a person has to log in: the person's time, and 15 s for the rest.
	loginFloor = loginTime + 15*time.Second
	// capShare is how many times the request limit a request may last altogether, unless something else is set.
	capShare = 3
)

// limitError is the cause of a context that a limit ended.
type limitError struct{ limit Limit }

func (e *limitError) Error() string { return fmt.Sprintf("the limit %s ran out", e.limit) }

// Is makes it recognisable as a deadline.
func (e *limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// bound is a limit at work: it ends a context, and can be put off while it runs.
type bound struct {
	limit Limit
	// parent is the bound around this one, nil if there is none.
	parent *bound
	timer  *time.Timer

	mu  sync.Mutex
	end time.Time
	// most is the total that restarts cannot go past; its Value is 0 if the bound cannot be restarted.
	most   Limit
	latest time.Time
	// followers are bounds of other contexts that wait for what happens under this one.
	followers map[*bound]struct{}
	raised    bool
	// share is set on the bound of one step within a limit, suspended while such a step stands still.
	share, suspended bool
	// pauses counts the reasons why the bound stands still, since the given time.
	pauses int
	since  time.Time
}

type boundKey struct{}

// boundOf returns the innermost bound of ctx, nil if it has none.
func boundOf(ctx context.Context) *bound {
	b, _ := ctx.Value(boundKey{}).(*bound)
	return b
}

// WithLimit returns a context that ends when the limit runs out, with the limit as its cause. Unlike a deadline, the
// limit can be put off: by progress, and by a person who has to log in. A request that it ends fails with [ClassTimeout]
// and names the limit.
func WithLimit(ctx context.Context, l Limit) (context.Context, context.CancelFunc) {
	return withCap(ctx, l, Limit{})
}

// withCap is WithLimit for a limit that progress restarts, up to most altogether.
func withCap(ctx context.Context, l, most Limit) (context.Context, context.CancelFunc) {
	b := &bound{limit: l, parent: boundOf(ctx), most: most}
	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	b.mu.Lock()
	b.end, b.latest = now.Add(l.Value), now.Add(most.Value)
	if most.Value > 0 && b.latest.Before(b.end) {
		b.end = b.latest
	}
	b.timer = time.AfterFunc(b.end.Sub(now), func() { cancel(&limitError{b.current()}) })
	b.mu.Unlock()
	return boundCtx{ctx, b}, func() { b.timer.Stop(); cancel(nil) }
}

// boundCtx is a context with a bound.
type boundCtx struct {
	context.Context //nolint:containedctx // it is one
	b               *bound
}

// Deadline implements [context.Context]. It is when the context ends as things stand. A limit that stands still until further
// notice is none: whoever sets another limit below this context would take it for the earlier one, and not set a timer.
func (c boundCtx) Deadline() (time.Time, bool) {
	c.b.mu.Lock()
	end, still := c.b.end, c.b.suspended || c.b.pauses > 0
	c.b.mu.Unlock()
	if outer, ok := c.Context.Deadline(); still || ok && outer.Before(end) {
		return outer, ok
	}
	return end, true
}

// Value implements [context.Context].
func (c boundCtx) Value(key any) any {
	if key == (boundKey{}) {
		return c.b
	}
	return c.Context.Value(key)
}

// withShare bounds one step of an opening by a share of the time.
func withShare(ctx context.Context, most, connect time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := WithLimit(ctx, Limit{Name: "step", Value: min(most, connect/boundShare)})
	boundOf(ctx).share = true
	return ctx, cancel
}

// current returns the limit that ends the context now.
func (b *bound) current() Limit {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most.Value > 0 && !b.raised && !b.end.Before(b.latest) {
		return b.most
	}
	return b.limit
}

// left is the time until the limit runs out.
func (b *bound) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.end)
}

// restart begins the limit anew, and those around it, each up to its cap: the server has said that it is at work.
func (b *bound) restart() {
	for ; b != nil; b = b.parent {
		b.mu.Lock()
		if b.most.Value > 0 {
			end := time.Now().Add(b.limit.Value)
			if end.After(b.latest) {
				end = b.latest
			}
			b.putOff(end)
		}
		b.mu.Unlock()
	}
}

// putOff moves the end. It moves nothing that has ended already. b.mu is held.
func (b *bound) putOff(end time.Time) {
	if b.pauses > 0 { // its timer does not run; the whole time for which it stood still is added at the end of that
		if end = end.Add(-time.Since(b.since)); end.After(b.end) {
			b.end = end
		}
		return
	}
	if !end.After(b.end) || !b.timer.Stop() {
		return
	}
	b.end = end
	b.timer.Reset(time.Until(end))
}

// raise makes this bound, those around it, and those that follow them last for at least d from now.
func (b *bound) raise(d time.Duration, why string) {
	for ; b != nil; b = b.parent {
		b.mu.Lock()
		// A step that stands still has its own time again afterwards: a server that hangs then is not to be waited for.
		if end := time.Now().Add(d); end.After(b.end) && !b.suspended {
			b.putOff(end)
			if b.most.Value > 0 && end.After(b.latest) {
				b.latest = end
			}
			if b.limit.Value < d {
				b.limit.Note = fmt.Sprintf("raised from %s: %s", b.limit.Value, why)
				b.limit.Value = d
			}
		}
		b.raised = true
		followers := b.followers
		b.followers = nil
		b.mu.Unlock()
		for f := range followers {
			f.raise(d, why)
		}
	}
}

// suspend stops the innermost bound if it is only one step's share of the time: a step that stands still because a login
// is under way is not silent. The returned function begins it anew.
func (b *bound) suspend() (resume func()) {
	if b == nil || !b.share {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.suspended || !b.timer.Stop() {
		return func() {}
	}
	b.suspended = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.suspended = false
		b.end = time.Now().Add(b.limit.Value)
		b.timer.Reset(b.limit.Value)
	}
}

// pause stops this bound and those around it: a person is asked something, and the server waits for the answer. The
// returned function lets them go on, as if no time had passed. It is called once.
func (b *bound) pause() (resume func()) {
	var stopped []*bound
	for ; b != nil; b = b.parent {
		b.mu.Lock()
		if b.pauses > 0 || b.timer.Stop() {
			if b.pauses == 0 {
				b.since = time.Now()
			}
			b.pauses++
			stopped = append(stopped, b)
		}
		b.mu.Unlock()
	}
	return func() {
		for _, b := range stopped {
			b.mu.Lock()
			if b.pauses--; b.pauses == 0 {
				passed := time.Since(b.since)
				b.end, b.latest = b.end.Add(passed), b.latest.Add(passed)
				b.timer.Reset(time.Until(b.end))
			}
			b.mu.Unlock()
		}
	}
}

// follow makes other last as long as this bound when a login raises it. The returned function ends that.
func (b *bound) follow(other *bound) (stop func()) {
	if other == nil {
		return func() {}
	}
	b.mu.Lock()
	raised, end := b.raised, b.end
	if !raised {
		if b.followers == nil {
			b.followers = map[*bound]struct{}{}
		}
		b.followers[other] = struct{}{}
	}
	b.mu.Unlock()
	if raised { // the login is under way
		other.raise(time.Until(end), loginReason)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.followers, other)
	}
}

const loginReason = "a person has to log in"

// LoginBegins raises all limits around ctx, which is that of an opening or of a request, so that a person has time to
// log in: 315 s from now are left of each. So are those of all others that wait for authorization for the same server:
// the login is for them, too. Whoever asks a person during a request of this package's calls it at that moment, and not
// before, so that a server that hangs still ends at its own limit. ctx is, or comes from, that of the request which the
// [Authorizer] was given.
func LoginBegins(ctx context.Context) {
	boundOf(ctx).raise(loginFloor, loginReason)
	if l, ok := ctx.Value(lobbyKey{}).(*lobby); ok {
		l.begins()
	}
}

// lobby holds the limits of those who wait for authorization for one server. Only one of them asks a person.
type lobby struct {
	mu      sync.Mutex
	waiting map[*waiter]struct{}
	// until is when the floor of the login that has begun ends, zero if none has since nobody was waiting.
	until time.Time
}

// waiter is one who waits in a lobby.
type waiter struct{ b *bound }

type lobbyKey struct{}

// enter makes a bound last as long as a login needs that has begun, or begins, until leave is called.
func (l *lobby) enter(b *bound) (leave func()) {
	w := &waiter{b}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[*waiter]struct{}{}
	}
	l.waiting[w] = struct{}{}
	if left := time.Until(l.until); !l.until.IsZero() && left > 0 {
		b.raise(left, loginReason)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.waiting, w); len(l.waiting) == 0 {
			l.until = time.Time{}
		}
	}
}

// begins raises all bounds.
func (l *lobby) begins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(loginFloor)
	for w := range l.waiting {
		w.b.raise(loginFloor, loginReason)
	}
}

// lobbies are those of all servers of a dialer.
type lobbies struct {
	mu   sync.Mutex
	list map[string]*lobby
}

// of returns the lobby of a server.
func (l *lobbies) of(server config.Server) *lobby {
	key := server.Name + " " + server.URL
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]*lobby{}
	}
	if l.list[key] == nil {
		l.list[key] = &lobby{}
	}
	return l.list[key]
}
