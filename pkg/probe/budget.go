package probe

import (
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// Budget returns the most that the checks take about a target when each uses up all that it may: the sum of their limits.
// A run that is bounded by it is never cut short because the server is slow, only because something hangs that has no
// limit of its own.
func Budget(t *Target, checks []Check) time.Duration {
	total := budgetSlack
	lists := false
	for _, c := range checks {
		switch {
		case c.Applies != nil && !c.Applies(t):
		case c.lists:
			lists = true
		case c.Budget != nil:
			total += c.Budget(t)
		case c.Limit == 0:
			total += defaultLimit
		case c.Limit > 0:
			total += c.Limit
		default:
			total += requestBudget(t)
		}
	}
	if lists {
		total += listBudget(t)
	}
	return total
}

// budgetSlack is for what is done between the checks, on a machine that is busy.
const budgetSlack = 30 * time.Second

// requestBudget is the most that a request takes, together with the opening of the session that it needs, and a
// replacement of it.
func requestBudget(t *Target) time.Duration {
	l := session.LimitsFor(t.Server)
	return l.Connect.Value + max(l.Request.Value, l.MaxRequest.Value) + l.SessionWait.Value
}

// connectBudget is the most that the opening of a session takes, and a second attempt of it; or of a look at other paths.
func connectBudget(t *Target) time.Duration {
	const elsewhere = 10 * pathLimit
	return 2*session.LimitsFor(t.Server).Connect.Value + elsewhere
}

// listBudget is the most that the four lists take.
func listBudget(t *Target) time.Duration { return 4 * requestBudget(t) }
