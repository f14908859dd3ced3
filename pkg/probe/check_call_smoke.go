package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcpctl/mcpctl/pkg/baseline"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// callSmokeID is the check that makes the smoke calls.
const callSmokeID = "call.smoke"

func callSmoke() Check {
	return Check{
		ID: callSmokeID, Title: "smoke calls are answered as expected", Needs: append(usable(), "tools.list"),
		Limit: ownLimits, // each call has that of the entry
		Budget: func(t *Target) time.Duration {
			return time.Duration(len(t.Server.Smoke)) * requestBudget(t)
		},
		Why: `One call says little about the other tools. The key smoke of an entry, or the file given with --smoke, is a list
of calls with what to expect of each answer: is_error, contains, matches, jq, equals, max_ms. Each is a row of
its own, call.NAME. Arguments are checked against the tool's schema first; a call that does not match is not
sent. Each tool is called once, even one that changes something: it was named for that. If the call becomes a
task, its result is waited for. A call whose outcome is unknown is repeated only if its tool allows it.`,
		Remedy: `Look at what the tool depends on: its database, its token, its upstream. If the answer is right, correct the
expectation.`,
		Applies: func(t *Target) bool { return slices.ContainsFunc(SmokeIDs(t.Server), t.wants(callSmokeID)) },
		Each: func(ctx context.Context, t *Target) []Result {
			var rows []Result
			wanted := t.wants(callSmokeID)
			for i, id := range SmokeIDs(t.Server) {
				if !wanted(id) {
					continue
				}
				smoke := t.Server.Smoke[i]
				row := Result{ID: id, Title: cmp.Or(smoke.Name, smoke.Tool) + " is answered as expected"}
				if ctx.Err() != nil {
					row.Status = Unknown // the run says why
					rows = append(rows, row)
					continue
				}
				begin := time.Now()
				call, problem := t.prepare(ctx, smoke.Health, smokePlace(id, smoke))
				if problem != nil {
					row.Finding = *problem
				} else {
					row.Finding, _ = t.make(ctx, call)
				}
				row.Elapsed = time.Since(begin)
				rows = append(rows, row)
			}
			return rows
		},
	}
}

// smokePlace says where the keys of a smoke call are written.
func smokePlace(id string, smoke config.Smoke) callPlace {
	where := " of " + id
	if smoke.Source.Detail != "" {
		where += " in " + smoke.Source.Detail
	}
	return callPlace{"tool" + where, "args" + where, "expect" + where}
}

// SmokeIDs returns the IDs of the rows that the smoke calls of a server make, one for each call: call.NAME, with a number
// after a name that is taken.
func SmokeIDs(s config.Server) []string {
	ids := uniqueIDs{"call.health": true, callSmokeID: true}
	var out []string
	for _, c := range s.Smoke {
		out = append(out, ids.take("call."+plainID(cmp.Or(c.Name, c.Tool))))
	}
	return out
}

// uniqueIDs are the IDs of rows that are taken.
type uniqueIDs map[string]bool

// take returns the ID, or the first one after it that is free, and takes it.
func (u uniqueIDs) take(id string) string {
	free := id
	for n := 2; u[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	u[free] = true
	return free
}

// longestID bounds the part of an ID that comes from elsewhere, in characters.
const longestID = 80

// plainID returns a name as it can stand in an ID: what is not a letter, a digit or one of _ - . becomes a hyphen. Letters are
// those of all scripts: two names in Japanese have to be told apart, too.
func plainID(name string) string {
	plain := strings.Map(func(r rune) rune {
		if plainRune(r) || r > unicode.MaxASCII && unicode.In(r, unicode.L, unicode.M, unicode.Nd) && baseline.Visible(string(r)) == string(r) {
			return r
		}
		return '-'
	}, name)
	for strings.Contains(plain, "--") {
		plain = strings.ReplaceAll(plain, "--", "-")
	}
	plain = strings.Trim(plain, "-.")
	if r := []rune(plain); len(r) > longestID {
		plain = string(r[:longestID])
	}
	return cmp.Or(plain, "unnamed")
}
