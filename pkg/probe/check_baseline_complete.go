package probe

import "context"

// baselineCompleteID is the check that keeps what a server offers.
const baselineCompleteID = "baseline.complete"

func baselineComplete() Check {
	return Check{
		ID: baselineCompleteID, Title: "a baseline can be written",
		Needs: append(usable(), "tools.list", "resources.list", "prompts.list"),
		Limit: ownLimits, lists: true,
		Why: `--write-baseline FILE saves the definitions of all tools, prompts, resources and resource templates. They must
be complete: a list that was cut short, or that holds two tools of one name, would make the next comparison
report changes that never happened, or hide real ones. In that case nothing is written, nor if another check of
the server failed.`,
		Remedy:  "Fix what is reported about the list: its pages must end, and each name must be unique.",
		Applies: func(t *Target) bool { return t.Capture },
		Run:     func(ctx context.Context, t *Target) Finding { return t.capture(ctx) },
	}
}
