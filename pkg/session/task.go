package session

// Tasks: what a server works on after it has answered the request.
//
// In the legacy era (2025-11-25, "Tasks") the client asks for a task with the call, and gets the result with tasks/result,
// which waits until there is one. In the modern era (the extension io.modelcontextprotocol/tasks, 2026-07-28) the client
// says with the call that it can deal with a task, the server decides, and tasks/get brings the result along. The SDK knows
// neither, so both are read from the wire. What servers mix up between the two is understood in either era.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// TaskStatus is how a task stands. A server may have others than those named here: the task goes on then.
type TaskStatus string

// The statuses of tasks.
const (
	// TaskWorking is a task that is being worked on.
	TaskWorking TaskStatus = "working"
	// TaskInput is a task that waits for what the server has asked the client for.
	TaskInput TaskStatus = "input_required"
	// TaskCompleted is a task whose result can be had.
	TaskCompleted TaskStatus = "completed"
	// TaskFailed is a task that ended in an error; in the legacy era also one whose tool reports an error.
	TaskFailed TaskStatus = "failed"
	// TaskCancelled is a task that was ended before it had a result.
	TaskCancelled TaskStatus = "cancelled"
)

// Ended reports whether the status is one that no other follows.
func (s TaskStatus) Ended() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// Task is a task as the server told of it.
type Task struct {
	// ID is the server's name for it.
	ID     string
	Status TaskStatus
	// Message says more about the status, "" if the server does not.
	Message string
	// Created and Updated are zero if the server does not say when that was.
	Created, Updated time.Time
	// TTL is how long after Created the server keeps the task, 0 if it keeps it for ever, or does not say.
	TTL time.Duration
	// PollInterval is how often the server wants to be asked for the status, 0 if it does not say.
	PollInterval time.Duration
	// Raw is byte for byte what the server sent.
	Raw json.RawMessage

	// result, failure and input are what a task of the modern era brings along: its result, the error in its place, and
	// what the server asks for.
	result, failure json.RawMessage
	input           map[string]json.RawMessage
}

// ParseTask reads a task. What is of a wrong type counts as missing, but for the id. It reports false for what has no id.
func ParseTask(raw json.RawMessage) (Task, bool) {
	t, ok := parseTask(raw)
	return t, ok && t.ID != ""
}

// parseTask reads what a server says of a task whose id is known.
func parseTask(raw json.RawMessage) (Task, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return Task{}, false
	}
	if inner, ok := fields["task"]; ok && fields["taskId"] == nil && fields["status"] == nil { // the form of an answer that creates one
		return parseTask(inner)
	}
	text := func(key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // not text: as good as missing
		return s
	}
	moment := func(key string) time.Time {
		at, err := time.Parse(time.RFC3339, text(key))
		if err != nil {
			return time.Time{}
		}
		return at
	}
	either := func(keys ...string) time.Duration {
		for _, key := range keys {
			if d := milliseconds(fields[key]); d > 0 {
				return d
			}
		}
		return 0
	}
	t := Task{
		ID: text("taskId"), Status: TaskStatus(text("status")), Message: text("statusMessage"),
		Created: moment("createdAt"), Updated: moment("lastUpdatedAt"),
		TTL: either("ttl", "ttlMs"), PollInterval: either("pollInterval", "pollIntervalMs"),
		Raw: raw, result: fields["result"], failure: fields["error"],
	}
	_ = json.Unmarshal(fields["inputRequests"], &t.input)
	return t, t.Status != ""
}

// milliseconds reads a number of milliseconds, 0 for none. What is more than a duration can hold is the longest one.
func milliseconds(raw json.RawMessage) time.Duration {
	const most = float64(math.MaxInt64 / int64(time.Millisecond))
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case f >= most: // also one that is no number any more
		return math.MaxInt64
	case err != nil || !(f > 0):
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
}

// CreatedTask reads the task that a server answered a call with in place of a result. It reports false for a result. Asked
// says that a task was asked for.
func CreatedTask(result json.RawMessage, asked bool) (Task, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return Task{}, false
	}
	var kind string
	_ = json.Unmarshal(fields["resultType"], &kind)
	inner, nested := fields["task"]
	switch {
	case kind == "task" && !nested:
		return ParseTask(result)
	case kind == "task", nested && asked:
		return ParseTask(inner)
	case nested && fields["content"] == nil && fields["structuredContent"] == nil: // unasked
		return ParseTask(inner)
	}
	return Task{}, false
}

// noResult says what is wrong with the answer to a call that is no task, "" for a result: it would be a task if it had an id,
// or it is of a type that nobody knows, which the modern era makes invalid. See the MCP specification, 2026-07-28, "Basic",
// "Result Type".
func noResult(answer json.RawMessage, asked, legacy bool) string {
	kind, _ := rawjson.String(rawjson.Get(answer, "resultType"))
	inner := rawjson.Get(answer, "task")
	switch {
	case kind == "task", asked && len(inner) > 0 && inner[0] == '{' && rawjson.Get(answer, "content") == nil:
		return "a task that has no id or no status"
	case !legacy && kind != "" && kind != "complete" && kind != "input_required":
		return fmt.Sprintf("of the type %.40q, which is not known", kind)
	}
	return ""
}

// The methods about tasks. The last is of the legacy era only.
const (
	tasksGet    = "tasks/get"
	tasksUpdate = "tasks/update"
	tasksCancel = "tasks/cancel"
	tasksList   = "tasks/list"
	tasksResult = "tasks/result"
)

// tasksExtension is the name of tasks among the extensions of the modern era.
const tasksExtension = "io.modelcontextprotocol/tasks"

// TaskSupport says what a server announces about tasks.
type TaskSupport struct {
	// Calls is set when a call of a tool may become a task.
	Calls bool
	// List and Cancel are set when tasks can be listed and cancelled.
	List, Cancel bool
}

// TaskSupport returns what the server announced about tasks. See the MCP specification, 2025-11-25, "Tasks",
// "Capabilities", and the tasks extension, 2026-07-28, "Capability Negotiation".
func (i Info) TaskSupport() TaskSupport {
	var announced struct {
		Tasks struct {
			List, Cancel json.RawMessage
			Requests     struct {
				Tools struct {
					Call json.RawMessage
				}
			}
		}
		Extensions map[string]json.RawMessage
	}
	_ = json.Unmarshal(i.Announced, &announced) // what does not fit announces nothing
	says := func(raw json.RawMessage) bool { return raw != nil && string(raw) != "false" && string(raw) != "null" }
	if i.Era == EraModern {
		does := says(announced.Extensions[tasksExtension])
		return TaskSupport{Calls: does, Cancel: does}
	}
	return TaskSupport{Calls: says(announced.Tasks.Requests.Tools.Call), List: says(announced.Tasks.List), Cancel: says(announced.Tasks.Cancel)}
}

type announceKey struct{}

// WithTasks returns a context for a call of [Session.Raw] whose maker deals with a task in place of a result, see [CreatedTask] and
// [Supervisor.AwaitTask]: in the modern era servers make a task only of such a call. [Supervisor.CallTool] does so itself.
func WithTasks(ctx context.Context) context.Context {
	return context.WithValue(ctx, announceKey{}, true)
}

// announceTasks says with a request of the modern era that its sender can deal with a task: always when it is about one, and
// with a call if that is made by somebody who can.
func announceTasks(ctx context.Context, method string, req mcp.Request) {
	if method == "tools/call" && ctx.Value(announceKey{}) == nil {
		return
	}
	meta := req.GetParams().GetMeta()
	said, ok := meta[mcp.MetaKeyClientCapabilities]
	if !ok {
		return // it is of the legacy era
	}
	encoded, err := json.Marshal(said)
	var all map[string]any
	if err != nil || json.Unmarshal(encoded, &all) != nil || all == nil {
		return
	}
	extensions, _ := all["extensions"].(map[string]any)
	if extensions == nil {
		extensions = map[string]any{}
	}
	extensions[tasksExtension] = struct{}{}
	all["extensions"] = extensions
	meta[mcp.MetaKeyClientCapabilities] = all
}

// taskParams are the parameters of a request about a task.
type taskParams struct {
	ID string `json:"taskId"`
}

// Task asks how a task stands. The failure is an [*Error].
//
// See the MCP specification, 2025-11-25, "Tasks", "Getting Tasks", and the tasks extension, 2026-07-28, "Task Polling".
func (s *Supervisor) Task(ctx context.Context, id string) (Task, error) {
	var t Task
	err := s.Do(ctx, Request{Name: tasksGet, Repeatable: true}, func(ctx context.Context, sess *Session) error {
		raw, err := sess.Raw(ctx, tasksGet, taskParams{id})
		if err != nil {
			return err
		}
		var ok bool
		if t, ok = parseTask(raw); !ok {
			return sess.notATask(tasksGet, raw)
		}
		return nil
	})
	if t.ID == "" {
		t.ID = id
	}
	return t, err
}

// notATask is the failure of a request that was answered with something else than a task.
func (s *Session) notATask(method string, answer json.RawMessage) error {
	return &Error{
		Server: s.server, Phase: method, Class: ClassProtocol, kind: kindProtocol, Outcome: OutcomeExecuted,
		Message: "the answer is no task: it has no status", Evidence: []string{"result: " + firstWords(string(answer))},
	}
}

// CancelTask asks the server to end a task, and returns how it stands then: in the modern era the server need not have
// ended it yet. The failure is an [*Error].
//
// See the MCP specification, 2025-11-25, "Tasks", "Cancelling Tasks", and the tasks extension, 2026-07-28, "Task
// Cancellation".
func (s *Supervisor) CancelTask(ctx context.Context, id string) (Task, error) {
	t, told, err := s.cancelTask(ctx, id)
	if err != nil || told {
		return t, err
	}
	return s.Task(ctx, id)
}

// cancelTask asks the server to end a task. Told is set when the answer told how the task stands.
func (s *Supervisor) cancelTask(ctx context.Context, id string) (t Task, told bool, err error) {
	// A second wish to cancel does no harm: it is refused.
	err = s.Do(ctx, Request{Name: tasksCancel, Repeatable: true}, func(ctx context.Context, sess *Session) error {
		raw, err := sess.Raw(ctx, tasksCancel, taskParams{id})
		t, told = parseTask(raw)
		return err
	})
	t.ID = id
	return t, told, err
}

// Tasks lists the tasks that the server has. A server of the modern era has no list, and its list is Unsupported. The
// failure is an [*Error].
//
// See the MCP specification, 2025-11-25, "Tasks", "Listing Tasks".
func (s *Supervisor) Tasks(ctx context.Context) (List, error) {
	var list List
	err := s.Do(ctx, Request{Name: tasksList, Repeatable: true}, func(ctx context.Context, sess *Session) error {
		if !sess.legacy() {
			list.Unsupported = true
			return nil
		}
		var err error
		list, err = sess.List(ctx, tasksList)
		return err
	})
	return list, err
}

// leave lets the session go on at the server when the connection is closed: what belongs to it is still wanted.
func (s *Session) leave() {
	if s.http != nil {
		s.http.Leave.Store(true)
	}
}
