package probe

import "context"

// baselineCompleteID is the check that keeps what a server offers.
const baselineCompleteID = "baseline.complete"

func baselineComplete() Check {
	return Check{
		ID: baselineCompleteID, Title: "a baseline can be written",
		Needs: append(usable(), "tools.list", "resources.list", "prompts.list"),
		Limit: ownLimits, lists: true,
		Why: `With --write-baseline FILE the definitions of all tools, prompts, resources and resource templates are kept. What is
kept has to be all of it: a list that was cut short, or that holds two tools of one name, would let the next comparison tell of
changes that never happened, or hide those that did. Nothing is written then, nor when another check of the server failed.`,
		Remedy:  `Mend what is told about the list: its pages must end, and each name must be there once.`,
		Applies: func(t *Target) bool { return t.Capture },
		Run:     func(ctx context.Context, t *Target) Finding { return t.capture(ctx) },
	}
}
