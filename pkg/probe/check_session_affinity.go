package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// affinityID is the check that looks for several instances behind one address.
const affinityID = "session.affinity"

// defaultConnections is on how many new TCP connections a session is tried, unless Target says otherwise. With two instances
// and one request each in turn, all of eight reach the right one never; at random, once in 256 runs.
const defaultConnections = 8

func sessionAffinity() Check {
	return Check{
		ID: affinityID, Title: "every connection reaches the session", Needs: []string{"session.reuse"}, Applies: remotely,
		Limit: ownLimits, Budget: func(*Target) time.Duration { return time.Minute }, // of a slow server
		Why: `Requests of one session may arrive on any TCP connection. Behind a load balancer they reach any instance, and
one that keeps sessions in its own memory does not know those of the others: a part of all requests fails with
"session not found", and scaling down to one instance cures it. So one harmless request of the session is made
on each of eight new connections at once (--connections N). Without sessions, every instance must answer.`,
		Remedy: `Let the instances share their sessions, route each session to the instance that created it (by the
Mcp-Session-Id header), or run without sessions.`,
		Run: func(ctx context.Context, t *Target) Finding {
			if session.ClassOf(t.openErr) == session.ClassSession {
				return t.scattered(ctx)
			}
			s, method, f := t.visitor(ctx)
			if f != nil {
				return *f
			}
			n := t.connections()
			within, cancel := context.WithTimeoutCause(ctx, t.patience(n), fmt.Errorf("no answer within %s", t.patience(n)))
			defer cancel()
			replies, errs := make([]session.Reply, n), make([]error, n)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i], errs[i] = s.Visit(within, session.Visit{Method: method}) })
			}
			all.Wait()
			d := disperse(s.ID() != "", replies, errs)
			if d.broken > 0 {
				if again := t.askAgain(ctx, s, method, &d, replies, errs); again != nil {
					return *again
				}
			}
			return d.finding()
		},
	}
}

// askAgain looks at connections that got no answer of the server: was it too much at once, or is it all over with the
// session, or does the server take only one connection at a time? It returns the finding of a server that takes no second
// connection, or has gone meanwhile, and takes back what too many at once have brought about.
func (t *Target) askAgain(ctx context.Context, s *session.Session, method string, d *dispersion, replies []session.Reply, errs []error) *Finding {
	const times = 2 // with two instances of which one is broken, luck does not hold so long
	alone := func() (answered bool) {
		within, cancel := context.WithTimeout(ctx, t.patience(1))
		defer cancel()
		r, err := s.Visit(within, session.Visit{Method: method})
		return err == nil && answers(r)
	}
	if d.broken < d.n {
		for i := range replies {
			for range times {
				if (errs[i] != nil || !answers(replies[i])) && !alone() {
					return t.over(ctx)
				}
			}
		}
		d.broken = 0 // session.streams tells of too much at once
		return nil
	}
	if f := t.over(ctx); f != nil {
		return f
	}
	if alone() {
		d.broken = 0
		return nil
	}
	if t.stream != nil {
		t.stream.stop()
	}
	s.DropIdle()
	if !alone() {
		return nil
	}
	f := Finding{
		Status: Fail, Class: string(session.ClassConnect), Data: d.data(),
		Message: "the server serves one connection at a time: while one is open, none of the others is answered",
		Detail:  d.trouble,
		Fix:     "let the server work on several connections at a time (threads, or asynchronously): clients open one for the stream, and others for requests",
	}
	return &f
}

// over returns the finding of a session that is not answered any more, nil while it is.
func (t *Target) over(ctx context.Context) *Finding {
	err := use(ctx, t)
	if err == nil {
		return nil
	}
	f := failure(err)
	return &f
}

// answers reports whether a reply is that of an MCP server: a result, or an error of JSON-RPC, or that there is too much to do.
func answers(r session.Reply) bool {
	return r.Result != nil || r.RPC != nil && r.Status < 500 || tooMuch(r)
}

// tooMuch reports whether a request was refused as one of too many.
func tooMuch(r session.Reply) bool { return r.Status == 429 || r.Status == 503 && !r.Lost }

// connections is on how many new TCP connections the session is tried.
func (t *Target) connections() int {
	if t.Connections > 0 {
		return t.Connections
	}
	return defaultConnections
}

const (
	affinityFix = "let the instances behind the address share their sessions, or route each session to one of them by its Mcp-Session-Id"
	brokenFix   = "look at the instances behind the address one by one: --each-address, or --connect-to HOST"
)

// dispersion is how the requests of one session on n connections were answered.
type dispersion struct {
	session            bool
	n                  int
	lost, broken, busy int
	// first is what was said of a lost session, and trouble what came in place of an answer.
	first, trouble string
	// auth is set when that was a refusal of the credentials.
	auth    bool
	remotes []string
}

// disperse counts how requests of one session on several connections were answered.
func disperse(hasSession bool, replies []session.Reply, errs []error) dispersion {
	d := dispersion{session: hasSession, n: len(replies)}
	refusals := 0
	for _, r := range replies {
		if r.RPC != nil && !r.Lost {
			refusals++
		}
	}
	for i, r := range replies {
		if r.Remote != "" && !slices.Contains(d.remotes, r.Remote) {
			d.remotes = append(d.remotes, r.Remote)
		}
		switch {
		case errs[i] != nil:
			d.broken++
			d.trouble = failure(errs[i]).Message
		case r.Lost && hasSession:
			d.lost++
			d.first = replyText(r)
		case tooMuch(r):
			d.busy++
		case !answers(r), r.RPC != nil && refusals < d.n: // some instances answer, and some refuse the same request
			d.broken++
			d.trouble = replyText(r)
			d.auth = d.auth || r.Status == 401 || r.Status == 403
		}
	}
	return d
}

func (d dispersion) data() map[string]any {
	return map[string]any{"connections": d.n, "unknown_session": d.lost, "broken": d.broken, "busy": d.busy, "addresses": append([]string{}, d.remotes...)}
}

// finding judges how the requests were answered.
func (d dispersion) finding() Finding {
	f := Finding{Data: d.data()}
	switch {
	case d.lost > 0 && d.lost < d.n:
		f.Status, f.Class = Fail, string(session.ClassSession)
		f.Message = fmt.Sprintf("%d of %d connections reached an instance that does not know this session: several instances without shared sessions", d.lost, d.n)
		f.Detail, f.Fix = d.first, affinityFix
	case d.lost > 0:
		f.Status, f.Class = Fail, string(session.ClassSession)
		f.Message = fmt.Sprintf("the session is not known on any of %d new connections: it works only on the connection that opened it", d.n)
		f.Detail, f.Fix = d.first, affinityFix
	case d.broken > 0:
		f.Status, f.Class = Fail, string(session.ClassConnect)
		if d.auth {
			f.Class = string(session.ClassAuth)
		}
		f.Message = fmt.Sprintf("%d of %d connections reached something that does not answer as this server does: %s", d.broken, d.n, d.trouble)
		f.Fix = brokenFix
	case d.busy > 0:
		f.Status, f.Message = Pass, fmt.Sprintf("known where it was asked; %d of %d requests were refused as too many", d.busy, d.n)
	case d.session:
		f.Status, f.Message = Pass, fmt.Sprintf("on %d new connections at once", d.n)
	default:
		f.Status, f.Message = Pass, fmt.Sprintf("there is no session; all of %d connections were answered", d.n)
	}
	return f
}

// scattered looks at a server that forgot a session within its handshake: is it always so, or only at some of several
// instances?
func (t *Target) scattered(ctx context.Context) Finding {
	limit := session.LimitsFor(t.expanded).Connect.Value
	ctx, cancel := context.WithTimeout(ctx, min(limit, 2*visitTime)) // they are made one after the other
	defer cancel()
	opening := failure(t.openErr)
	replies, _ := t.dialer().Scatter(ctx, t.expanded, t.connections()) // what there is tells enough
	d := disperse(true, replies, make([]error, len(replies)))
	switch d.lost {
	case 0:
		return lostInOpening(opening)
	case d.n:
		opening.Message = fmt.Sprintf("the session that initialize gave is known to none of %d further requests: %s", d.n, opening.Message)
		opening.Fix = "let a proxy before the server pass on the header Mcp-Session-Id of requests, and the server keep a session for longer than " +
			"the request that opens it"
		return opening
	}
	f := d.finding()
	f.Detail = lostInOpening(opening).Message
	return f
}

// replyText says how a server answered.
func replyText(r session.Reply) string {
	text := fmt.Sprintf("HTTP %d", r.Status)
	switch {
	case r.RPC != nil:
		text += fmt.Sprintf(": %s (code %d)", firstWords(r.RPC.Message), r.RPC.Code)
	case r.Location != "":
		text += " to " + firstWords(r.Location)
	case r.Snippet != "":
		text = strings.TrimSpace(text+" "+r.Header.Get("Content-Type")) + ": " + r.Snippet
	}
	return text
}
