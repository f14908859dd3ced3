package probe

import "context"

const (
	// baselineID is the check that compares what a server offers with a baseline.
	baselineID    = "baseline.unchanged"
	baselineTitle = "server offers what it did"
)

func baselineUnchanged() Check {
	return Check{
		ID: baselineID, Title: baselineTitle, Needs: usable(),
		Limit: ownLimits, lists: true,
		Why: `A server can change what it says about its tools at any time, and clients take the new words without a question: a
changed description is a way to make a model do what nobody agreed to. With --baseline FILE every change is a row of its own,
baseline.tool.NAME, and has a grade. Breaking: something was removed, or is not announced any more, an argument is
required, less is accepted than before, or more is answered. Risky: a description, a title or an annotation changed, something new
has a name that passes for another, or what cannot be compared. Benign: something was added, or more is accepted. --fail-on says
which of them fail.`,
		Remedy:  `Read the differences. If they are meant, write the baseline anew with --write-baseline FILE; else see who changed the server.`,
		Applies: func(t *Target) bool { return t.Baseline != nil },
		Each:    func(ctx context.Context, t *Target) []Result { return t.compare(ctx) },
	}
}
