package probe

import "context"

func callHealth() Check {
	return Check{
		ID: "call.health", Title: "health call is answered as expected", Needs: append(usable(), "tools.list"),
		Limit: ownLimits, // the call has that of the entry
		Why: `A server that lists its tools may still be unable to work: its database is down, its token has expired. The key
health of an entry names a tool that shows this, and what to expect of its answer: is_error, contains, matches,
jq, equals, max_ms. Its arguments are checked against the tool's schema, and it is called once; if the call
becomes a task, its result is waited for. The recovery checks call it again only if it is no task and the tool
declares that it only reads (readOnlyHint). mcpctl calls no tool that nobody has named.`,
		Remedy: `Look at what the tool depends on: its database, its token, its upstream. If the answer is right, correct
health.expect.`,
		Applies: func(t *Target) bool { return t.Server.Health != nil },
		Run: func(ctx context.Context, t *Target) Finding {
			call, problem := t.healthCall(ctx)
			if problem != nil {
				return *problem
			}
			f, state := t.make(ctx, call)
			t.health = state
			_, t.healthTask = f.Data["task"]
			return f
		},
	}
}

// healthState says what became of the entry's own call.
type healthState int

const (
	healthNotMade healthState = iota
	// healthUnanswered is a call that brought no answer: it may have been executed.
	healthUnanswered
	healthWrong
	healthGood
)

// healthCall prepares the entry's own call.
func (t *Target) healthCall(ctx context.Context) (preparedCall, *Finding) {
	return t.prepare(ctx, *t.Server.Health, callPlace{"health.tool in the entry", "health.args in the entry", "health.expect"})
}
