package probe

import (
	"context"
	"slices"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// With returns checks with others of one's own among them: after all that look at the server, and before those that end
// the session. A check that asks the server something Needs "session.open".
func With(checks []Check, own ...Check) []Check {
	at := slices.IndexFunc(checks, func(c Check) bool { return c.ID == "shutdown.close" })
	if at < 0 {
		at = len(checks)
	}
	return slices.Insert(slices.Clone(checks), at, own...)
}

// Do makes a request on the session of the examination, as [session.Supervisor.Do] does, within the limits of the entry. It
// is for the Run of a check that Needs "session.open", and of no use after Run.
func (t *Target) Do(ctx context.Context, req session.Request, fn func(context.Context, *session.Session) error) error {
	if _, err := t.open(ctx); err != nil {
		return err
	}
	return t.sup.Do(ctx, req, fn)
}

// List returns what the server lists: "tools/list", "resources/list", "resources/templates/list" or "prompts/list". It is
// asked once in an examination, whoever wants to know. Like Do, it is for the Run of a check that Needs "session.open".
func (t *Target) List(ctx context.Context, method string) (session.List, error) {
	if _, err := t.open(ctx); err != nil {
		return session.List{}, err
	}
	return t.list(ctx, method)
}
