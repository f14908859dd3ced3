package probe

import (
	"context"
	"fmt"
	"slices"
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
		ID: affinityID, Title: "session is known on every connection", Needs: []string{"session.reuse"}, Applies: remotely,
		Limit: ownLimits, Budget: func(*Target) time.Duration { return 2 * visitTime },
		Why: `Requests of one session may come over any TCP connection. Behind a load balancer they reach any of several instances,
and one that keeps sessions in its own memory does not know those of the others: about half of all requests fail with "session not
found", and scaling down to one instance cures it. So one harmless request of the session is made on each of eight new connections
at once (--connections N). Without a session, every instance must answer.`,
		Remedy: `Let the instances share their sessions, route each session to the instance that gave it (by the Mcp-Session-Id header), or run without sessions.`,
		Run: func(ctx context.Context, t *Target) Finding {
			if session.ClassOf(t.openErr) == session.ClassSession {
				return t.scattered(ctx)
			}
			s, method, f := t.visitor(ctx)
			if f != nil {
				return *f
			}
			ctx, cancel := context.WithTimeout(ctx, visitTime)
			defer cancel()
			replies, errs := make([]session.Reply, t.connections()), make([]error, t.connections())
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i], errs[i] = s.Visit(ctx, session.Visit{Method: method}) })
			}
			all.Wait()
			for i, r := range replies { // was it the instance, or too much at once? session.streams tells of that
				if errs[i] != nil || r.Status >= 500 && !r.Lost {
					replies[i], errs[i] = s.Visit(ctx, session.Visit{Method: method})
				}
			}
			return t.dispersion(s.ID() != "", replies, errs)
		},
	}
}

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

// dispersion judges how requests of one session on several connections were answered.
func (t *Target) dispersion(hasSession bool, replies []session.Reply, errs []error) Finding {
	n := len(replies)
	var lost, broken, busy int
	var first, trouble string
	var remotes []string
	for i, r := range replies {
		if r.Remote != "" && !slices.Contains(remotes, r.Remote) {
			remotes = append(remotes, r.Remote)
		}
		switch {
		case errs[i] != nil:
			broken++
			trouble = errs[i].Error()
		case r.Lost && hasSession:
			lost++
			first = replyText(r)
		case r.Status == 429 || r.Status == 503:
			busy++
		case r.Status >= 500:
			broken++
			trouble = replyText(r)
		}
	}
	data := map[string]any{"connections": n, "unknown_session": lost, "broken": broken, "busy": busy, "addresses": append([]string{}, remotes...)}
	f := Finding{Data: data}
	switch {
	case lost > 0 && lost < n:
		f.Status, f.Class = Fail, string(session.ClassSession)
		f.Message = fmt.Sprintf("%d of %d connections reached an instance that does not know this session: several instances without shared sessions", lost, n)
		f.Detail, f.Fix = first, affinityFix
	case lost > 0:
		f.Status, f.Class = Fail, string(session.ClassSession)
		f.Message = fmt.Sprintf("the session is not known on any of %d new connections: it works only on the connection that opened it", n)
		f.Detail, f.Fix = first, affinityFix
	case broken > 0:
		f.Status = Warn
		f.Message = fmt.Sprintf("%d of %d connections got no answer of an MCP server", broken, n)
		f.Detail, f.Fix = trouble, brokenFix
	case busy > 0:
		f.Status, f.Message = Pass, fmt.Sprintf("known where it was asked; %d of %d requests were refused as too many", busy, n)
	case hasSession:
		f.Status, f.Message = Pass, fmt.Sprintf("on %d new connections at once", n)
	default:
		f.Status, f.Message = Pass, fmt.Sprintf("there is no session; all of %d connections were answered", n)
	}
	return f
}

// scattered looks at a server that forgot a session within its handshake: is it always so, or only at some of several
// instances?
func (t *Target) scattered(ctx context.Context) Finding {
	limit := session.LimitsFor(t.expanded).Connect.Value
	ctx, cancel := context.WithTimeout(ctx, min(limit, visitTime))
	defer cancel()
	own := lostInOpening(failure(t.openErr))
	replies, err := t.dialer().Scatter(ctx, t.expanded, t.connections())
	if err != nil || len(replies) == 0 {
		return own
	}
	f := t.dispersion(true, replies, make([]error, len(replies)))
	if f.Status != Fail || f.Data["unknown_session"] == len(replies) {
		return own
	}
	f.Detail = own.Message
	return f
}

// replyText says how a server answered.
func replyText(r session.Reply) string {
	text := fmt.Sprintf("HTTP %d", r.Status)
	switch {
	case r.RPC != nil:
		text += fmt.Sprintf(": %s (code %d)", firstWords(r.RPC.Message), r.RPC.Code)
	case r.Snippet != "":
		text += ": " + r.Snippet
	}
	return text
}
