package probe

import (
	"context"
	"net/url"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// visitTime bounds single requests that look at one side of a server: they are harmless and were answered before.
const visitTime = 3 * time.Second

// usable is what a check needs that asks a session that works.
func usable() []string { return []string{"session.reuse", affinityID, "session.streams"} }

// patience bounds n harmless requests that are made at once: twice as long as they took one by one, as far as that is known.
// A server that works on one request at a time lets the others wait.
func (t *Target) patience(n int) time.Duration {
	return max(visitTime, time.Duration(2*(n+1))*t.pace)
}

// visitor returns the session that stands and the method of a harmless request on it, for single requests beside those of
// the session. It returns the finding of a check that cannot be made because there is none, or no streamable HTTP.
func (t *Target) visitor(ctx context.Context) (*session.Session, string, *Finding) {
	s := t.current(ctx)
	if s == nil {
		f := skip("no session is open")
		return nil, "", &f
	}
	if f := t.crowded(); f != nil {
		return nil, "", f
	}
	if !s.Visits() {
		f := skip("the server speaks " + s.Info().Transport)
		return nil, "", &f
	}
	return s, t.lightMethod(s), nil
}

// lightMethod is the method of the request that costs a server least, and that it answers.
func (t *Target) lightMethod(s *session.Session) string {
	switch {
	case s.Info().Era == session.EraModern:
		return "server/discover"
	case t.pingless:
		return harmlessMethod(s)
	}
	return "ping"
}

// crowded returns the finding of a check that could do without its request at a server that counts them, nil if the server
// has refused none.
func (t *Target) crowded() *Finding {
	if t.odd(session.OddBusy) == nil {
		return nil
	}
	f := skip("left out: the server refuses requests as too many (429)")
	return &f
}

// localURL reports whether the host of a URL is this machine.
func localURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && local(u.Hostname())
}

// remotely reports whether the session goes over streamable HTTP. Before the opening nobody knows.
func remotely(t *Target) bool { return overHTTP(t) && (t.opened == nil || t.opened.Visits()) }
