package probe

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// headerWords are those of servers that end because a message has no header.
var headerWords = regexp.MustCompile(`(?i)content-length|\b(missing|invalid|malformed|bad|unexpected)\b.{0,20}\bheaders?\b`)

// tryFraming looks whether a child that did not open a session answers to the framing of the Language Server Protocol, and
// adds that to the finding: it is the cause of the same failure, not another one.
func (t *Target) tryFraming(ctx context.Context, f *Finding) {
	if !stdio(t) || ctx.Err() != nil || f.Status != Fail {
		return
	}
	silent := f.Class == string(session.ClassTimeout) && f.Data["symptom"] == nil && !strings.Contains(f.Detail, "standard output")
	died := f.Class == string(session.ClassConnect) && slices.ContainsFunc(strings.Split(f.Detail, "\n"), headerWords.MatchString)
	if !silent && !died || !t.dialer().AnswersFramed(ctx, t.expanded) {
		return
	}
	f.Message += "; it answers only to Content-Length framing (LSP), not MCP stdio"
	f.Fix = "let the server read and write one line of JSON for each message, as MCP has it, or start it with its option for MCP"
	if f.Data == nil {
		f.Data = map[string]any{}
	}
	f.Data["framing"] = "content-length"
}
