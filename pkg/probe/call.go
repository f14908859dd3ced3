package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// preparedCall is a call that somebody named, compared with the list of tools.
type preparedCall struct {
	config.Health
	place callPlace
	// readOnly is set when the server says that the tool changes nothing.
	readOnly bool
	// repeatable is set when the server says that a second execution does no harm.
	repeatable bool
	// asTask is set when the server says that a call has to be a task.
	asTask bool
}

// callPlace says in words where the keys of a call are written.
type callPlace struct{ tool, args, expect string }

// prepare compares a call with the list of tools: the tool is there, and the arguments fit it. It returns the finding when
// that is not so.
func (t *Target) prepare(ctx context.Context, h config.Health, place callPlace) (preparedCall, *Finding) {
	call := preparedCall{Health: h, place: place}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	wrong := func(message, fix string) (preparedCall, *Finding) {
		return call, &Finding{Status: Fail, Class: "config", Message: message, Fix: fix}
	}
	if !t.Server.Tools.Allows(call.Tool) {
		return wrong(fmt.Sprintf("the entry's filter leaves %s out, so it is not called", call.Tool), "let tools.include and tools.exclude allow it, or correct "+place.tool)
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
		call.readOnly, call.repeatable, call.asTask = hints(raw)
		if err := toolargs.Check(call.Args, tl.schema); err != nil {
			return wrong(fmt.Sprintf("the arguments do not fit %s: %v", call.Tool, err), "correct "+place.args)
		}
		return call, nil
	}
	message := fmt.Sprintf("the server has no tool %q", call.Tool)
	if len(names) == 0 {
		message += ", and no other"
	}
	if near := config.Near(call.Tool, names); len(near) > 0 {
		return wrong(message, "correct "+place.tool+"; did you mean "+strings.Join(near, ", ")+"?")
	}
	return wrong(message, "correct "+place.tool+"; mcpctl tools lists the names")
}

// cancelTime is how long a server may take to cancel a task that nobody waits for any more.
const cancelTime = 750 * time.Millisecond

// make makes a call, once, and judges the answer.
func (t *Target) make(ctx context.Context, call preparedCall) (Finding, healthState) {
	q := call.question()
	begin := time.Now()
	answer, n, err := t.put(session.WithTasks(ctx), q, nil)
	task, isTask := session.CreatedTask(answer, call.asTask)
	if isTask {
		var ended session.Answer
		if ended, err = t.sup.AwaitTask(ctx, task.ID, nil); ctx.Err() != nil {
			farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
			_, _ = t.sup.CancelTask(farewell, task.ID) // nobody waits for it any more
			cancel()
		}
		answer = ended.Result
		if e, ok := errors.AsType[*session.Error](err); ok && e.Class == session.ClassAnswered {
			n.denied, err = e, nil
		}
	}
	elapsed := time.Since(begin)
	if err != nil {
		f := failure(err)
		e, ok := errors.AsType[*session.Error](err)
		if ctx.Err() != nil && ok && e.Outcome == session.OutcomeUnknown {
			f = Finding{
				Status: Unknown, Class: string(session.ClassUnknownOutcome), partial: true,
				Message: fmt.Sprintf("%s had not answered after %s, and may have been executed: %s", call.Tool, FormatElapsed(elapsed), context.Cause(ctx)),
			}
		}
		return f, healthUnanswered
	}
	f := pass(fmt.Sprintf("%s answered in %s", call.Tool, FormatElapsed(elapsed)))
	wrong := q.judge(ctx, answer)
	if within := call.Expect.Within; wrong == "" && within > 0 && elapsed > within {
		wrong = fmt.Sprintf("it took %s, and %s is the most that is expected", FormatElapsed(elapsed), FormatElapsed(within))
	}
	state := healthGood
	if n.denied != nil {
		f, state = call.denied(n.denied), healthWrong
	} else if wrong != "" {
		state = healthWrong
		f = Finding{
			Status: Fail, Class: "failed", Message: call.Tool + ": " + wrong,
			Fix: fmt.Sprintf("see what stands behind the tool; %s says what is expected", call.place.expect),
		}
		if call.Expect.IsError != isError(answer) {
			f.Class = "tool"
		}
		f.Detail = "text: " + firstWords(answerText(answer))
		if structured := structuredContent(answer); structured != nil && (call.Expect.EqualsJSON != nil || call.Expect.JQ != "") {
			f.Detail += "\nstructured content: " + firstWords(string(structured))
		}
	} else if n.lost {
		f = warn(fmt.Sprintf("%s, after it had to be repeated on a fresh session (%s)", f.Message, n.loss), "see why the session does not last")
	}
	if f.Data == nil {
		f.Data = map[string]any{}
	}
	maps.Copy(f.Data, map[string]any{"tool": call.Tool, "call_ms": milliseconds(elapsed), "attempts": n.sent})
	if isTask {
		f.Data["task"] = true
	}
	return f, state
}

// denied makes the finding about a call that the server answered with an error in place of a result.
func (c preparedCall) denied(e *session.Error) Finding {
	f := failure(e)
	f.Class, f.Message = "tool", c.Tool+": the server refused the call: "+e.Message
	f.Fix = cmp.Or(e.Hint, "see the server's own log: it answered with an error in place of a result")
	if e.RPC != nil {
		f.Data["rpc_code"] = e.RPC.Code
		if e.RPC.Code == codeInvalidParams {
			f.Fix = "correct " + c.place.args + ", or the tool's schema: what fits it has to be accepted"
		}
	}
	return f
}

// codeInvalidParams is the code of JSON-RPC for arguments that are not accepted.
const codeInvalidParams = -32602

// hints reports whether a tool says of itself that it only reads, that calling it twice does no harm, and that a call has to be
// a task. Anything else says nothing.
// See the MCP specification, 2025-11-25, "Tools", "ToolAnnotations", and "Tasks", "Tool-Level Negotiation".
func hints(raw json.RawMessage) (readOnly, repeatable, asTask bool) {
	var t struct {
		Annotations map[string]json.RawMessage `json:"annotations"`
		Execution   map[string]json.RawMessage `json:"execution"`
	}
	_ = json.Unmarshal(raw, &t) // what cannot be read is not there
	readOnly = string(t.Annotations["readOnlyHint"]) == "true"
	return readOnly, readOnly || string(t.Annotations["idempotentHint"]) == "true", string(t.Execution["taskSupport"]) == `"required"`
}

// question returns the call as a request.
func (c preparedCall) question() question {
	const method = "tools/call"
	type params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Task      *struct{}       `json:"task,omitempty"`
	}
	return question{
		name: method + " " + c.Tool, req: session.Request{Name: method, Repeatable: c.repeatable},
		ask: func(ctx context.Context, s *session.Session) (json.RawMessage, error) {
			p := params{Name: c.Tool, Arguments: c.Args}
			if info := s.Info(); c.asTask && info.Era != session.EraModern && info.TaskSupport().Calls {
				p.Task = &struct{}{} // in the modern era the server decides
			}
			return s.Raw(ctx, method, p)
		},
		judge: func(ctx context.Context, answer json.RawMessage) string { return unexpected(ctx, c.Expect, answer) },
	}
}

// unexpected says in what an answer is not as expected, "" if in nothing. The time is another matter: it counts only
// where nobody has killed the session.
func unexpected(ctx context.Context, x config.Expect, answer json.RawMessage) string {
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
		return fmt.Sprintf("its text does not contain %q: got %s", x.Contains, quoted(text))
	case x.Equals != nil && text != *x.Equals:
		return fmt.Sprintf("its text is not %q: got %s", firstWords(*x.Equals), quoted(text))
	}
	if matcher, err := regexp.Compile(x.Matches); err != nil || !matcher.MatchString(text) {
		return fmt.Sprintf("its text does not match %s: got %s", x.Matches, quoted(text))
	}
	if x.EqualsJSON != nil {
		switch structured := structuredContent(answer); {
		case structured == nil && !toolargs.Equal(json.RawMessage(text), x.EqualsJSON):
			return fmt.Sprintf("it has no structured content, and its text is not %s: got %s", firstWords(string(x.EqualsJSON)), quotedUnlessJSON(text))
		case structured != nil && !toolargs.Equal(structured, x.EqualsJSON):
			return fmt.Sprintf("its structured content is not %s: got %s", firstWords(string(x.EqualsJSON)), aFewWords(string(structured)))
		}
	}
	if x.JQ != "" {
		return jqDenies(ctx, x.JQ, answer)
	}
	return ""
}

// aFewWords cuts what came in place of what was expected to what a message holds. The evidence has more of it.
func aFewWords(text string) string {
	const most = 80
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// jqInput shows what a jq expression was asked of, cut: the structured content, or else the text.
func jqInput(answer json.RawMessage) string {
	if structured := structuredContent(answer); structured != nil {
		return "got " + aFewWords(string(structured))
	}
	return "got the text " + quoted(answerText(answer))
}

// quotedUnlessJSON shows a text that should be JSON, cut.
func quotedUnlessJSON(text string) string {
	if json.Valid([]byte(text)) {
		return aFewWords(text)
	}
	return quoted(text)
}

// quoted shows a text in quotes, cut.
func quoted(text string) string {
	return strconv.Quote(aFewWords(text))
}

// jqLimit bounds a jq expression: those that end take milliseconds.
const jqLimit = 10 * time.Second

// jqDenies says why a jq expression is not true of an answer, "" if it is.
func jqDenies(ctx context.Context, expression string, answer json.RawMessage) string {
	query, err := gojq.Parse(expression)
	if err != nil {
		return "jq: " + err.Error()
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return "jq: " + err.Error()
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return "jq: the answer is not JSON: " + err.Error()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, jqLimit, fmt.Errorf("no output within %s", jqLimit))
	defer cancel()
	output, ok := code.RunWithContext(ctx, value).Next()
	truth, isBool := output.(bool)
	switch err, failed := output.(error); {
	case ctx.Err() != nil:
		return fmt.Sprintf("jq %s: %s", expression, context.Cause(ctx))
	case !ok:
		return fmt.Sprintf("jq %s has no output", expression)
	case failed:
		return fmt.Sprintf("jq %s: %s", expression, firstWords(err.Error())) // which may quote the whole answer
	case output == nil:
		return fmt.Sprintf("jq %s is null; %s", expression, jqInput(answer))
	case isBool && !truth:
		return fmt.Sprintf("jq %s is false; %s", expression, jqInput(answer))
	}
	return ""
}

// structuredContent returns that of an answer, nil if there is none.
func structuredContent(answer json.RawMessage) json.RawMessage {
	var r struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(answer, &r) != nil || string(r.Structured) == "null" {
		return nil
	}
	return r.Structured
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
