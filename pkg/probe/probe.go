// Package probe asks questions of one MCP server and judges the answers. A [Check] is a value that asks one question;
// [Run] walks the road a request takes, check by check, and returns a [Report]. Nothing here prints, exits, or knows
// colours, and nothing here changes anything at a server beyond opening sessions, which are ended again.
package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// Status is the verdict of one check.
type Status string

// The five verdicts of a check.
const (
	// Pass means the check looked and found nothing wrong.
	Pass Status = "pass"
	// Warn means it works, and something should be mended.
	Warn Status = "warn"
	// Fail means a request would meet this and break.
	Fail Status = "fail"
	// Skip means the check does not apply, or what it needs did not pass.
	Skip Status = "skip"
	// Unknown means the question could not be answered, or the check itself broke. It is never a pass and never the
	// server's fault.
	Unknown Status = "unknown"
)

// Finding is what one check saw.
type Finding struct {
	Status Status
	// Message is one line: what was seen. Never "connection closed" alone.
	Message string
	// Detail is the evidence, several lines at most: status, content type, first bytes, the end of stderr.
	Detail string
	// Note is a line that belongs to a message and must be read with it, "" for none. Data says the same.
	Note string
	// Fix is one next step: what to type or to change.
	Fix string
	// Class is, for a failure, one of the error classes of package session ("connect", "auth", …).
	Class string
	// Table holds figures for people, the heads of its columns first; nil for none. Data has them for programs.
	Table [][]string
	// Data holds the measurements and facts that programs may want, keys in snake_case, times in keys ending in _ms.
	Data map[string]any
	// Alone is set for a failure that stands in the way of no other check.
	Alone bool
	// Instead is, for a check that is skipped because another one tells more of what it saw, that check: what needs the one
	// needs the other, too.
	Instead string
	// Shown says that people want to read the message although the check passed.
	Shown bool
	// partial is set when the check was interrupted and what it measured until then holds.
	partial bool
}

// Check asks one question about a target.
type Check struct {
	// ID is stable and dotted; the part before the first dot is the stage ("session.open").
	ID    string
	Title string
	// Why says what the check means and why it matters, and to which clients.
	Why string
	// Remedy says how to mend what the check finds.
	Remedy string
	// Needs are the IDs that must not have failed, been skipped or stayed unknown before this check can be run.
	Needs []string
	// Applies reports whether the question makes sense for the target. If nil, it always does. A check that does not
	// apply is left out of the report.
	Applies func(*Target) bool
	// Limit bounds Run; 0 means 10 s, and negative that what Run does has limits of its own.
	Limit time.Duration
	// Budget is the most that a check with limits of its own takes, for the deadline of a run. If nil, it is what a few
	// requests take.
	Budget func(*Target) time.Duration
	// lists is set for a check that asks for lists: each is asked for once, whoever asks first.
	lists bool
	// Run asks. It must end when ctx does.
	Run func(context.Context, *Target) Finding
	// Each asks in place of Run, for a check that makes a row for each of many things. The IDs of the rows are of the
	// check's stage. It returns at least one row.
	Each func(context.Context, *Target) []Result
	// Rows are the IDs of the rows of Each that are known before it is asked; see [WithRows].
	Rows []string
}

// Stage returns the part of the check's ID before the first dot.
func (c Check) Stage() string { return stage(c.ID) }

// Result is a check together with its finding.
type Result struct {
	ID string
	// Check is the ID of the check that made this row. It is the same as ID, but for a check that makes many.
	Check   string
	Title   string
	Elapsed time.Duration
	// Blocked is the ID of the broken check because of which this one was skipped, "" if it was not.
	Blocked string
	Finding
}

// Stage returns the part of the result's ID before the first dot.
func (r Result) Stage() string { return stage(r.ID) }

// Cause is the first broken step of a report.
type Cause struct {
	Check   string
	Class   string
	Message string
	Detail  string
	Fix     string
}

// Span is one named stretch of time ("dns", "tcp", "initialize"), in the order in which they began.
type Span = session.Span

// Report is everything that was found about one server.
type Report struct {
	Name      string
	Transport string
	Target    string
	// Verdict is Pass, Warn, Fail or Unknown.
	Verdict Status
	// Incomplete is set when some check stayed unknown.
	Incomplete bool
	// Cause is nil unless a check failed.
	Cause   *Cause
	Results []Result
	Timing  []Span
	Elapsed time.Duration
}

// FormatElapsed shows a stretch of time with the figures that matter: "0.35 ms", "12 ms", "1.4 s", "75 s".
func FormatElapsed(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	default:
		return fmt.Sprintf("%.0f s", ms/1000)
	}
}

func stage(id string) string {
	for i := range len(id) {
		if id[i] == '.' {
			return id[:i]
		}
	}
	return id
}
