package probe

import "context"

const (
	// baselineID is the check that compares what a server offers with a baseline.
	baselineID    = "baseline.unchanged"
	baselineTitle = "server offers the same as before"
)

func baselineUnchanged() Check {
	return Check{
		ID: baselineID, Title: baselineTitle, Needs: usable(),
		Limit: ownLimits, lists: true,
		Why: `A server can change what it says about its tools at any time, and clients accept the new text without asking: a
changed description can make a model do what nobody agreed to. With --baseline FILE every change is a row of its
own, baseline.tool.NAME, and has a grade. Breaking: something was removed or is no longer declared, an argument
is required, less is accepted than before, or more is returned. Risky: a description, a title or an annotation
changed, something new has a name that can be mistaken for another, or the change cannot be compared. Benign:
something was added, or more is accepted. --fail-on says which grades fail.`,
		Remedy: `Read the differences. If they are intended, write the baseline again with --write-baseline FILE; otherwise find
out who changed the server.`,
		Applies: func(t *Target) bool { return t.Baseline != nil },
		Each:    func(ctx context.Context, t *Target) []Result { return t.compare(ctx) },
	}
}
