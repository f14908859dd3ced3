package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func commandRuntime() Check {
	return Check{
		ID: "command.runtime", Title: "runtime is new enough", Needs: []string{"command.executable"},
		Applies: func(t *Target) bool { return stdio(t) && t.Server.Err == nil },
		Why: `Servers written in JavaScript and Python exit at once, with errors about syntax or missing functions, when the
runtime is older than the MCP SDK requires. If several versions are installed, the one on the server's own PATH
and in its directory counts. It is asked for its version while the session opens.`,
		Remedy: "Install a newer version, or use the full path of the newer one as the command.",
		Run: func(ctx context.Context, t *Target) Finding {
			t.askRuntime(ctx)
			a, ok := t.runtime.wait(ctx)
			switch {
			case a.none:
				return skip("no runtime whose version is known to matter")
			case !ok:
				return Finding{Status: Unknown, Message: "interrupted"}
			case a.err != nil:
				return skip("its version is not known: " + a.err.Error()) // whether it works is the opening's to tell
			}
			f := pass(fmt.Sprintf("%s %s", a.Title, a.version))
			if a.Old(a.version) {
				f.Message += ": " + a.Why
				if t.opened == nil { // a server that works does not need what others need
					f.Status = Warn
					f.Fix = fmt.Sprintf("install %s %s or newer; the server gets %s", a.Title, a.Least, a.Path)
				}
			}
			f.Data = map[string]any{"runtime": a.Title, "version": a.version, "path": a.Path, "least": a.Least}
			return f
		},
	}
}

// runtimeBound is how long a runtime has to tell its version. Those that are wrapped by a version manager are slow.
const runtimeBound = 2 * time.Second

// runtimeAnswer is what a runtime said about its version.
type runtimeAnswer struct {
	session.Runtime
	none    bool
	version string
	err     error
}

// runtimeQuestion is the question for the version, which is asked once and answered beside the opening of the session.
type runtimeQuestion struct {
	done   chan struct{}
	answer runtimeAnswer
}

// askRuntime begins to ask, once.
func (t *Target) askRuntime(ctx context.Context) {
	if t.runtime != nil {
		return
	}
	q := &runtimeQuestion{done: make(chan struct{})}
	t.runtime = q
	r, ok := t.dialer().Runtime(t.expanded)
	if !ok {
		q.answer.none = true
		close(q.done)
		return
	}
	go func() {
		defer close(q.done)
		ctx, cancel := context.WithTimeoutCause(ctx, runtimeBound, fmt.Errorf("no answer to --version within %s", runtimeBound))
		defer cancel()
		q.answer.Runtime = r
		q.answer.version, q.answer.err = r.Version(ctx)
	}()
}

// wait returns the answer, false if ctx ended before it came.
func (q *runtimeQuestion) wait(ctx context.Context) (runtimeAnswer, bool) {
	select {
	case <-q.done:
		return q.answer, true
	case <-ctx.Done():
		return runtimeAnswer{}, false
	}
}
