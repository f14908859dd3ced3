package probe

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// headerWords are those of servers that end because a message has no header.
var headerWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)content-length|\b(missing|invalid|malformed|bad|unexpected)\b.{0,20}\bheaders?\b`)
})

// framingLead is how long before the end of the connect limit a silent server is asked in the other framing: it has time to
// start and to answer by then, and the answer costs no time of its own.
const framingLead = 2500 * time.Millisecond

// framing is the question whether a stdio server answers to the framing of the Language Server Protocol. It is put only if
// the opening takes nearly all of its limit.
type framing struct {
	cancel context.CancelFunc
	done   chan struct{}
	yes    bool
}

// askFraming arranges for the question, at a second process of the server.
func (t *Target) askFraming(ctx context.Context) *framing {
	limit := session.LimitsFor(t.expanded).Connect.Value
	ctx, cancel := context.WithCancel(ctx)
	q := &framing{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(q.done)
		if pause(ctx, max(limit/2, limit-framingLead)) {
			q.yes = t.dialer().AnswersFramed(ctx, t.expanded)
		}
	}()
	return q
}

// end ends the question, which nobody waits for if it is not to be answered, and reports whether the answer was yes.
func (q *framing) end(wait bool) bool {
	if wait {
		timer := time.AfterFunc(framingTail, q.cancel)
		defer timer.Stop()
	} else {
		q.cancel()
	}
	<-q.done
	q.cancel()
	return q.yes
}

// framingTail is how long the answer is waited for when the connect limit has run out.
const framingTail = 500 * time.Millisecond

// tryFraming looks whether a child that did not open a session answers to the framing of the Language Server Protocol, and
// adds that to the finding: it is the cause of the same failure, not another one.
func (t *Target) tryFraming(ctx context.Context, q *framing, f *Finding) {
	if q == nil || ctx.Err() != nil || f.Status != Fail {
		return
	}
	silent := f.Class == string(session.ClassTimeout) && f.Data["symptom"] == nil && !strings.Contains(f.Detail, "standard output")
	died := f.Class == string(session.ClassConnect) && slices.ContainsFunc(strings.Split(f.Detail, "\n"), headerWords().MatchString)
	yes := q.end(silent)
	if died && !silent {
		yes = t.dialer().AnswersFramed(ctx, t.expanded)
	}
	if !yes {
		return
	}
	f.Message += "; it answers only to Content-Length framing (LSP), not MCP stdio"
	f.Fix = "let the server read and write one line of JSON for each message, as MCP has it, or start it with its option for MCP"
	if f.Data == nil {
		f.Data = map[string]any{}
	}
	f.Data["framing"] = "content-length"
}
