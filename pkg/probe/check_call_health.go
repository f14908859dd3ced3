package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

func callHealth() Check {
	return Check{
		ID: "call.health", Title: "health call is answered as expected", Needs: append(usable(), "tools.list"),
		Limit: ownLimits, // the call has that of the entry
		Why: `A server that lists its tools may still be unable to do its work: its database is gone, its token has expired. The key
health of an entry names a tool that shows it, and what the answer must be like: is_error, contains, matches, equals, max_ms. Its
arguments are checked against the tool's schema, and it is called once. The stage recovery calls it again only if the tool says of
itself that it only reads (readOnlyHint). mcpctl calls no tool that the entry does not name.`,
		Remedy:  `See what stands behind the tool: its database, its token, its upstream. If the answer is right, correct health.expect.`,
		Applies: func(t *Target) bool { return t.Server.Health != nil },
		Run: func(ctx context.Context, t *Target) Finding {
			call, problem := t.healthCall(ctx)
			if problem != nil {
				return *problem
			}
			q := call.question()
			begin := time.Now()
			answer, n, err := t.put(ctx, q, nil)
			elapsed := time.Since(begin)
			t.timed("tools/call", begin)
			if err != nil {
				t.health = healthUnanswered
				return failure(err)
			}
			f := pass(fmt.Sprintf("%s answered in %s", call.Tool, FormatElapsed(elapsed)))
			data := map[string]any{"tool": call.Tool, "call_ms": milliseconds(elapsed), "attempts": n.sent}
			wrong := q.judge(answer)
			if within := call.Expect.Within; wrong == "" && within > 0 && elapsed > within {
				wrong = fmt.Sprintf("it took %s, and %s is the most that is expected", FormatElapsed(elapsed), FormatElapsed(within))
			}
			if wrong != "" {
				f = Finding{Status: Fail, Class: "failed", Message: call.Tool + ": " + wrong, Fix: "see what stands behind the tool; health.expect says what is expected"}
				if call.Expect.IsError != isError(answer) {
					f.Class = "tool"
				}
				f.Detail = "text: " + firstWords(answerText(answer))
			} else if n.lost {
				f = warn(fmt.Sprintf("%s, after it had to be repeated on a fresh session (%s)", f.Message, n.loss), "see why the session does not last")
			}
			f.Data = data
			if t.health = healthGood; f.Status == Fail {
				t.health = healthWrong
			}
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

// healthCall is the entry's own call, prepared.
type healthCall struct {
	config.Health
	// readOnly is set when the server says that the tool changes nothing.
	readOnly bool
	// repeatable is set when the server says that a second execution does no harm.
	repeatable bool
}

// healthCall prepares the entry's call by the list of tools: the tool is there, and the arguments fit it. It returns the
// finding when that is not so.
func (t *Target) healthCall(ctx context.Context) (healthCall, *Finding) {
	call := healthCall{Health: *t.Server.Health}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	list, err := t.list(ctx, "tools/list")
	if err != nil {
		f := failure(err)
		return call, &f
	}
	var names []string
	for _, raw := range list.Items {
		tl := parseTool(raw)
		if tl.name != call.Tool {
			names = append(names, tl.name)
			continue
		}
		call.readOnly, call.repeatable = hints(raw)
		if err := toolargs.Check(call.Args, tl.schema); err != nil {
			return call, &Finding{
				Status: Fail, Class: "config", Message: fmt.Sprintf("the arguments do not fit %s: %v", call.Tool, err),
				Fix: "correct health.args in the entry",
			}
		}
		return call, nil
	}
	f := Finding{Status: Fail, Class: "config", Message: fmt.Sprintf("the server has no tool %q", call.Tool), Fix: "correct health.tool in the entry; mcpctl tools lists the names"}
	if near := config.Near(call.Tool, names); len(near) > 0 {
		f.Fix = "correct health.tool in the entry; did you mean " + strings.Join(near, ", ") + "?"
	}
	if len(names) == 0 {
		f.Message += ", and no other"
	}
	return call, &f
}

// hints reports whether a tool says of itself that it only reads, and that calling it twice does no harm. Anything but
// true says nothing.
// See the MCP specification, 2025-11-25, "Tools", "ToolAnnotations".
func hints(raw json.RawMessage) (readOnly, repeatable bool) {
	var t struct {
		Annotations map[string]json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(raw, &t) != nil {
		return false, false
	}
	readOnly = string(t.Annotations["readOnlyHint"]) == "true"
	return readOnly, readOnly || string(t.Annotations["idempotentHint"]) == "true"
}

// question returns the call as a request.
func (c healthCall) question() question {
	const method = "tools/call"
	params := struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Tool, c.Args}
	return question{
		name: method + " " + c.Tool, req: session.Request{Name: method, Repeatable: c.repeatable},
		ask: func(ctx context.Context, s *session.Session) (json.RawMessage, error) {
			return s.Raw(ctx, method, params)
		},
		judge: func(answer json.RawMessage) string { return unexpected(c.Expect, answer) },
	}
}

// unexpected says in what an answer is not as expected, "" if in nothing. The time is another matter: it counts only
// where nobody has killed the session.
func unexpected(x config.Expect, answer json.RawMessage) string {
	if answer == nil {
		return "the server refused the call"
	}
	text := answerText(answer)
	switch failed := isError(answer); {
	case failed && !x.IsError:
		return "it reported an error: " + firstWords(text)
	case !failed && x.IsError:
		return "it reported no error, and one is expected"
	case !strings.Contains(text, x.Contains):
		return fmt.Sprintf("its text does not contain %q", x.Contains)
	case x.Equals != nil && text != *x.Equals:
		return fmt.Sprintf("its text is not %q", firstWords(*x.Equals))
	}
	if matcher, err := regexp.Compile(x.Matches); err != nil || !matcher.MatchString(text) {
		return fmt.Sprintf("its text does not match %s", x.Matches)
	}
	return ""
}

// isError reports whether a tool says that it failed, as call understands it: "true" in quotes is no success.
func isError(answer json.RawMessage) bool {
	var r struct {
		IsError json.RawMessage `json:"isError"`
	}
	_ = json.Unmarshal(answer, &r) // what is no object says nothing
	switch string(r.IsError) {
	case "", "false", "null", "0", `""`, `"false"`:
		return false
	}
	return true
}

// answerText returns the text of a tool's result as call prints it: the text blocks, joined by newlines, or without any
// the structured content.
func answerText(answer json.RawMessage) string {
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(answer, &r) != nil {
		return string(answer)
	}
	var texts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	if texts == nil && r.Structured != nil {
		return string(r.Structured)
	}
	return strings.Join(texts, "\n")
}

// firstWords cuts text of a server to what a line of evidence holds.
func firstWords(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
