package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// taskServer starts a server of tasks, and returns it with a supervisor of it.
func taskServer(t *testing.T, o faultlab.TaskOptions, timeout time.Duration) (*faultlab.TaskServer, *Supervisor) {
	t.Helper()
	srv, err := faultlab.ServeTasks(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv, supervise(t, taskEntry(srv, timeout))
}

func taskEntry(srv *faultlab.TaskServer, timeout time.Duration) config.Server {
	return config.Server{Name: "tasks", URL: srv.URL, Transport: config.TransportAuto, Timeout: timeout}
}

// asTask calls a tool that may become a task.
func asTask(ctx context.Context, s *Supervisor, tool, args string, onTask func(Task)) (Answer, error) {
	return s.CallTool(ctx, ToolCall{
		Request: Request{Name: "tools/call"}, Tool: tool, Arguments: json.RawMessage(args), AsTask: true, OnTask: onTask,
	})
}

// bothEras runs a test against a server of each era.
func bothEras(t *testing.T, test func(t *testing.T, o faultlab.TaskOptions)) {
	t.Helper()
	for name, modern := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, faultlab.TaskOptions{Modern: modern})
		})
	}
}

func taskError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("err = %v", err)
	}
	return e
}

// TestTaskIsWaitedFor shows that the result of a task is that of the call, digit for digit, and that its changes are told.
func TestTaskIsWaitedFor(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, s := taskServer(t, o, 0)
		var seen, reported []string
		ctx := WithProgress(t.Context(), func(p Progress) { reported = append(reported, p.Message) })
		a, err := asTask(ctx, s, "job", `{"polls":2,"message":"step","text":"hello"}`, func(task Task) {
			seen = append(seen, string(task.Status)+" "+task.Message)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(a.Result), `"hello"`) || !strings.Contains(string(a.Result), `"id":12345678901234567890`) {
			t.Errorf("result %s", a.Result)
		}
		if a.Task == nil || a.Task.ID != "task-1" || a.Task.Status != TaskCompleted || a.Task.Created.IsZero() || a.Task.TTL != time.Minute {
			t.Errorf("task %+v", a.Task)
		}
		if want := []string{"working step 0", "working step 1", "working step 2", "completed "}; !slices.Equal(seen, want) {
			t.Errorf("seen %q", seen)
		}
		if want := []string{"step 0", "step 1", "step 2", "completed"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q", reported)
		}
		if srv.Asked("tools/call") != 1 || srv.Asked("tasks/get") != 3 || srv.Asked("tasks/cancel") != 0 {
			t.Errorf("%d calls, %d polls", srv.Asked("tools/call"), srv.Asked("tasks/get"))
		}
	})
}

// TestTaskEnds shows what is made of each way in which a task ends.
func TestTaskEnds(t *testing.T) {
	for _, c := range []struct {
		end             string
		modern          bool
		status          TaskStatus
		class           Class
		message, result string
	}{
		{"error", false, TaskFailed, "", "", `"isError":true`},
		{"error", true, TaskCompleted, "", "", `"isError":true`},
		{"failed", false, TaskFailed, ClassAnswered, "the task failed: no space left", ""},
		{"failed", true, TaskFailed, ClassAnswered, "the task failed: no space left", ""},
		{"cancelled", false, TaskCancelled, ClassAnswered, "the task was cancelled: the operator said so", ""},
		{"cancelled", true, TaskCancelled, ClassAnswered, "the task was cancelled: the operator said so", ""},
		{"expired", false, TaskCompleted, ClassAnswered, "its result could not be had: Failed to retrieve task: Task has expired", ""},
	} {
		t.Run(fmt.Sprintf("%s modern=%t", c.end, c.modern), func(t *testing.T) {
			t.Parallel()
			_, s := taskServer(t, faultlab.TaskOptions{Modern: c.modern}, 0)
			a, err := asTask(t.Context(), s, "job", `{"polls":1,"end":"`+c.end+`"}`, nil)
			if a.Task == nil || a.Task.Status != c.status {
				t.Errorf("task %+v", a.Task)
			}
			if c.class == "" {
				if err != nil || !strings.Contains(string(a.Result), c.result) {
					t.Errorf("%s, %v", a.Result, err)
				}
				return
			}
			e := taskError(t, err)
			if e.Class != c.class || !strings.Contains(e.Message, c.message) || e.Task == nil || e.Task.ID != "task-1" || e.Retryable {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestTaskPollInterval shows that the server's pace is kept within bounds, whatever it says.
func TestTaskPollInterval(t *testing.T) {
	for _, c := range []struct {
		interval    string
		modern      bool
		least, most int
	}{
		{"0", false, 2, 7},
		{"null", true, 2, 7},
		{"-5", false, 2, 7},
		{"1", true, 2, 7},
		{"500", false, 1, 3},
		{"31536000000", false, 1, 2}, // a year
		{"31536000000", true, 1, 2},
		{"1e999", false, 1, 2},
	} {
		t.Run(fmt.Sprintf("%s modern=%t", c.interval, c.modern), func(t *testing.T) {
			t.Parallel()
			srv, s := taskServer(t, faultlab.TaskOptions{Modern: c.modern}, time.Second)
			lap := stopwatch.Start(t)
			_, err := asTask(t.Context(), s, "job", `{"stuck":true,"interval":`+c.interval+`}`, nil)
			if e := taskError(t, err); e.Class != ClassTimeout || lap.Took() > 3*time.Second {
				t.Errorf("%v after %s", err, lap.Clock())
			}
			if n := srv.Asked("tasks/get"); n < c.least || n > c.most {
				t.Errorf("%d polls in 1s", n)
			}
		})
	}
}

// TestTaskWithoutChange shows that the limit of a request holds for a task that does not change, which is cancelled then.
func TestTaskWithoutChange(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, s := taskServer(t, o, time.Second)
		_, err := asTask(t.Context(), s, "job", `{"stuck":true}`, nil)
		e := taskError(t, err)
		if e.Class != ClassTimeout || e.Limit == nil || e.Limit.Name != "timeout" || e.Outcome != OutcomeUnknown || e.Retryable {
			t.Errorf("%+v", e)
		}
		want := "nothing changed about the task for timeout 1s"
		if !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "cancel") {
			t.Errorf("message %q", e.Message)
		}
		if srv.Asked("tasks/cancel") != 1 || srv.Running() != 0 || srv.Asked("tools/call") != 1 {
			t.Errorf("%d wishes to cancel, %d running", srv.Asked("tasks/cancel"), srv.Running())
		}
	})
}

// TestTaskCannotBeCancelled shows that an end that the server does not agree to comes all the same, and is told of.
func TestTaskCannotBeCancelled(t *testing.T) {
	for _, c := range []struct {
		name, args, message string
		o                   faultlab.TaskOptions
	}{
		{"refused", `{"stuck":true,"refuse":true}`, "the task was not cancelled (Cannot cancel task", faultlab.TaskOptions{}},
		{"refused, modern", `{"stuck":true,"refuse":true}`, "the task was not cancelled (Cannot cancel task", faultlab.TaskOptions{Modern: true}},
		{"not offered", `{"stuck":true}`, "does not offer to cancel tasks", faultlab.TaskOptions{NoCancel: true}},
		{"silent", `{"stuck":true,"mute":true}`, "the server did not say within", faultlab.TaskOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, s := taskServer(t, c.o, 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			lap := stopwatch.Start(t)
			_, err := asTask(ctx, s, "job", c.args, func(Task) { cancel() })
			e := taskError(t, err)
			if e.Class != ClassInterrupted || !strings.Contains(e.Message, c.message) || lap.Took() > 2*time.Second {
				t.Errorf("%v after %s", err, lap.Clock())
			}
		})
	}
}

// TestTaskInterrupted shows that a task is cancelled when nobody waits for it any more.
func TestTaskInterrupted(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, s := taskServer(t, o, 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := asTask(ctx, s, "job", `{"stuck":true}`, func(Task) { cancel() })
		if e := taskError(t, err); e.Class != ClassInterrupted || e.Outcome != OutcomeUnknown || e.Task == nil {
			t.Errorf("%+v", e)
		}
		if srv.Asked("tasks/cancel") != 1 || srv.Running() != 0 {
			t.Errorf("%d wishes to cancel, %d running", srv.Asked("tasks/cancel"), srv.Running())
		}
	})
}

// TestTaskPickedUpIsLeftAlone shows that who only waits for a task of somebody else does not end it.
func TestTaskPickedUpIsLeftAlone(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, s := taskServer(t, o, time.Second)
		begun, err := s.CallTool(t.Context(), ToolCall{Request: Request{Name: "tools/call"}, Tool: "job", Arguments: json.RawMessage(`{"stuck":true}`), AsTask: true, Detach: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.AwaitTask(t.Context(), begun.Task.ID, nil)
		e := taskError(t, err)
		if e.Class != ClassTimeout || !e.Retryable || !strings.Contains(e.Message, "goes on") {
			t.Errorf("%+v", e)
		}
		if srv.Asked("tasks/cancel") != 0 || srv.Running() != 1 {
			t.Errorf("%d wishes to cancel, %d running", srv.Asked("tasks/cancel"), srv.Running())
		}
	})
}

// TestTaskProgressBeginsTheLimitAnew shows TL-06 for tasks: changes and reports of progress begin the limit anew, up to the
// other limit.
func TestTaskProgressBeginsTheLimitAnew(t *testing.T) {
	for _, c := range []struct {
		name, args string
		modern     bool
	}{
		{"changes", `{"polls":4,"message":"step","interval":500}`, false},
		{"changes, modern", `{"polls":4,"message":"step","interval":500}`, true},
		{"progress", `{"polls":4,"tell":true,"interval":500}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, s := taskServer(t, faultlab.TaskOptions{Modern: c.modern}, time.Second)
			var mu sync.Mutex
			var last Progress
			begin := time.Now()
			a, err := asTask(WithProgress(t.Context(), func(p Progress) {
				mu.Lock()
				defer mu.Unlock()
				if p.Total > 0 {
					last = p
				}
			}), s, "job", c.args, nil)
			if err != nil || a.Result == nil || time.Since(begin) < 2*time.Second {
				t.Fatalf("%v after %s", err, time.Since(begin))
			}
			mu.Lock()
			defer mu.Unlock()
			if c.name == "progress" && (last.Progress < 4 || last.Total != 9) {
				t.Errorf("progress %+v", last)
			}
		})
	}
	t.Run("max_timeout", func(t *testing.T) {
		t.Parallel()
		srv, err := faultlab.ServeTasks(faultlab.TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = srv.Close() }()
		entry := taskEntry(srv, time.Second)
		entry.MaxTimeout = 1500 * time.Millisecond
		_, err = asTask(t.Context(), supervise(t, entry), "job", `{"polls":1000,"message":"step"}`, nil)
		e := taskError(t, err)
		if e.Class != ClassTimeout || e.Limit == nil || e.Limit.Name != "max_timeout" || !strings.Contains(e.Message, "did not end within max_timeout 1.5s") {
			t.Errorf("%+v", e)
		}
	})
}

// TestTaskUnknownStatus shows that a status nobody knows is one of a task that goes on.
func TestTaskUnknownStatus(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		_, s := taskServer(t, o, 0)
		var seen []TaskStatus
		a, err := asTask(t.Context(), s, "job", `{"polls":2,"status":"paused"}`, func(task Task) { seen = append(seen, task.Status) })
		if err != nil || a.Result == nil || !slices.Equal(seen, []TaskStatus{"paused", TaskCompleted}) {
			t.Errorf("seen %q, %v", seen, err)
		}
	})
}

// TestTaskResultBlocks shows that a server which does not give the result of a task that has ended is not waited for
// longer than the limit.
func TestTaskResultBlocks(t *testing.T) {
	srv, s := taskServer(t, faultlab.TaskOptions{}, time.Second)
	_, err := asTask(t.Context(), s, "job", `{"polls":1,"block":true}`, nil)
	e := taskError(t, err)
	if e.Class != ClassTimeout || e.Outcome != OutcomeExecuted || !strings.Contains(e.Message, "has ended (completed)") {
		t.Errorf("%+v", e)
	}
	if srv.Asked("tasks/cancel") != 0 {
		t.Error("it was cancelled")
	}
}

// TestTaskSurvivesItsSession shows SE-01 to SE-06 for tasks: asking is repeated on a fresh session, the call never is.
func TestTaskSurvivesItsSession(t *testing.T) {
	for _, c := range []struct {
		args   string
		modern bool
	}{
		{`{"polls":3,"drop":2}`, false},
		{`{"polls":3,"sever":2}`, false},
		{`{"polls":3,"sever":2}`, true},
		{`{"polls":3,"fail":2}`, false},
		{`{"polls":3,"fail":2}`, true},
	} {
		t.Run(fmt.Sprintf("%s modern=%t", c.args, c.modern), func(t *testing.T) {
			t.Parallel()
			srv, s := taskServer(t, faultlab.TaskOptions{Modern: c.modern}, 0)
			a, err := asTask(t.Context(), s, "job", c.args, nil)
			if err != nil || !strings.Contains(string(a.Result), "done") {
				t.Fatalf("%s, %v", a.Result, err)
			}
			if srv.Asked("tools/call") != 1 {
				t.Errorf("%d calls", srv.Asked("tools/call"))
			}
			if recovered := s.Stats().Recovered; recovered != !strings.Contains(c.args, "fail") {
				t.Errorf("recovered %t", recovered)
			}
		})
	}
}

// TestTaskIsLost shows SE-11 for tasks: a task that the server does not know any more leaves the outcome open.
func TestTaskIsLost(t *testing.T) {
	for _, c := range []struct {
		name, args, message string
		o                   faultlab.TaskOptions
	}{
		{"with its session", `{"polls":3,"drop":2}`, "on a fresh one the server does not know the task", faultlab.TaskOptions{PerSession: true}},
		{"expired", `{"polls":3,"forget":2}`, "the server does not know the task any more", faultlab.TaskOptions{}},
		{"expired, modern", `{"polls":3,"forget":2}`, "the server does not know the task any more", faultlab.TaskOptions{Modern: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv, s := taskServer(t, c.o, 0)
			_, err := asTask(t.Context(), s, "job", c.args, nil)
			e := taskError(t, err)
			if e.Class != ClassUnknownOutcome || e.Outcome != OutcomeUnknown || e.Retryable || e.Task == nil ||
				!strings.Contains(e.Message, c.message) || !strings.Contains(e.Message, "may have been executed") {
				t.Errorf("%+v", e)
			}
			if srv.Asked("tools/call") != 1 {
				t.Errorf("%d calls", srv.Asked("tools/call"))
			}
		})
	}
}

// TestTaskAsks shows that a task that waits for input gets it: on the stream of tasks/result in the legacy era, and by
// tasks/update in the modern one, each question once.
func TestTaskAsks(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		srv, s := taskServer(t, faultlab.TaskOptions{}, 0)
		a, err := asTask(t.Context(), s, "job", `{"ask":true,"polls":4}`, nil)
		if err != nil || !strings.Contains(string(a.Result), "done with") {
			t.Fatalf("%s, %v", a.Result, err)
		}
		if srv.Asked("tasks/result") != 1 {
			t.Errorf("%d requests for the result", srv.Asked("tasks/result"))
		}
	})
	t.Run("modern, declined", func(t *testing.T) {
		srv, s := taskServer(t, faultlab.TaskOptions{Modern: true}, 0)
		a, err := asTask(t.Context(), s, "job", `{"ask":true,"polls":3}`, nil)
		if err != nil || !strings.Contains(string(a.Result), `{\"action\":\"decline\"}`) {
			t.Fatalf("%s, %v", a.Result, err)
		}
		if srv.Asked("tasks/update") != 1 {
			t.Errorf("%d answers", srv.Asked("tasks/update"))
		}
	})
	t.Run("modern, answered", func(t *testing.T) {
		srv, err := faultlab.ServeTasks(faultlab.TaskOptions{Modern: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = srv.Close() }()
		d := &Dialer{Answers: Answers{Elicit: func(_ context.Context, q Question) (json.RawMessage, error) {
			if q.Server != "tasks" || q.Method != MethodElicit || !strings.Contains(string(q.Params), "Which one?") {
				t.Errorf("asked %s %s", q.Method, q.Params)
			}
			return json.RawMessage(`{"action":"accept","content":{"which":"that"}}`), nil
		}}}
		s := NewSupervisor(d, taskEntry(srv, 0))
		defer func() { _ = s.Close() }()
		a, err := asTask(t.Context(), s, "job", `{"ask":true}`, nil)
		if err != nil || !strings.Contains(string(a.Result), `that`) {
			t.Fatalf("%s, %v", a.Result, err)
		}
	})
	t.Run("modern, nobody answers", func(t *testing.T) {
		srv, err := faultlab.ServeTasks(faultlab.TaskOptions{Modern: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = srv.Close() }()
		d := &Dialer{Answers: Answers{Elicit: func(context.Context, Question) (json.RawMessage, error) {
			return nil, errors.New("not today")
		}}}
		s := NewSupervisor(d, taskEntry(srv, 0))
		defer func() { _ = s.Close() }()
		_, err = asTask(t.Context(), s, "job", `{"ask":true}`, nil)
		if e := taskError(t, err); !strings.Contains(e.Message, `asks for "elicitation/create"`) || srv.Running() != 0 {
			t.Errorf("%v, %d running", err, srv.Running())
		}
	})
}

// TestTaskNotification shows that what the server says unasked ends the wait at once.
func TestTaskNotification(t *testing.T) {
	srv, err := faultlab.ServeTasks(faultlab.TaskOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	s := NewSupervisor(&Dialer{OnNotification: func(string, Notification) {}}, taskEntry(srv, 0))
	defer func() { _ = s.Close() }()
	if _, err := s.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(10 * time.Millisecond); srv.Asked("GET") == 0; {
		<-tick.C // the stream is opened in the background
	}
	a, err := asTask(t.Context(), s, "job", `{"after_ms":300,"interval":31536000000}`, nil)
	if err != nil || a.Result == nil {
		t.Fatal(err)
	}
	if n := srv.Asked("tasks/get"); n != 1 {
		t.Errorf("%d polls", n)
	}
}

// TestTaskUnasked shows that a task is coped with that nobody asked for, and a result in place of a task.
func TestTaskUnasked(t *testing.T) {
	_, s := taskServer(t, faultlab.TaskOptions{}, 0)
	a, err := s.CallTool(t.Context(), ToolCall{Request: Request{Name: "tools/call"}, Tool: "surprise", Arguments: json.RawMessage(`{"polls":1}`)})
	if err != nil || a.Task == nil || a.Result == nil {
		t.Errorf("%+v, %v", a, err)
	}
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		_, s := taskServer(t, o, 0)
		a, err := asTask(t.Context(), s, "maybe", `{"now":true}`, nil)
		if err != nil || a.Task != nil || a.Result == nil {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestTaskIsAskedForWhereAnnounced shows that servers which announce no tasks are not asked for one, and that only those
// requests say that a task may come whose sender can deal with it.
func TestTaskIsAskedForWhereAnnounced(t *testing.T) {
	_, s := taskServer(t, faultlab.TaskOptions{NoTasks: true}, 0)
	a, err := asTask(t.Context(), s, "maybe", `{}`, nil)
	if err != nil || a.Task != nil || a.Result == nil {
		t.Errorf("%+v, %v", a, err)
	}
	_, s = taskServer(t, faultlab.TaskOptions{Modern: true}, 0)
	if result, err := call(t.Context(), s, "maybe", nil, false); err != nil || !strings.Contains(string(result), "done") {
		t.Errorf("%s, %v", result, err)
	}
	_, err = call(t.Context(), s, "job", nil, false)
	if e := taskError(t, err); e.RPC == nil || e.RPC.Code != -32021 {
		t.Errorf("%+v", e)
	}
}

// TestTaskIsPickedUp shows that a task can be left alone, and its result had on another session. The session on which it was
// made goes on at the server.
func TestTaskIsPickedUp(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, err := faultlab.ServeTasks(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = srv.Close() }()
		first := NewSupervisor(nil, taskEntry(srv, 0))
		a, err := first.CallTool(t.Context(), ToolCall{
			Request: Request{Name: "tools/call"}, Tool: "maybe", Arguments: json.RawMessage(`{"polls":2}`), AsTask: true, Detach: true,
		})
		_ = first.Close()
		if err != nil || a.Task == nil || a.Result != nil || srv.Asked("tasks/get") != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		if srv.Asked("DELETE") != 0 {
			t.Error("the session was ended")
		}
		second := NewSupervisor(nil, taskEntry(srv, 0))
		if task, err := second.Task(t.Context(), a.Task.ID); err != nil || task.Status != TaskWorking {
			t.Errorf("%+v, %v", task, err)
		}
		a, err = second.AwaitTask(t.Context(), a.Task.ID, nil)
		if err != nil || !strings.Contains(string(a.Result), "done") {
			t.Errorf("%s, %v", a.Result, err)
		}
		_, err = second.AwaitTask(t.Context(), "task-99", nil)
		if e := taskError(t, err); e.Class != ClassAnswered || e.RPC.Code != codeInvalidParams {
			t.Errorf("%+v", e)
		}
		_ = second.Close()
		if !o.Modern && srv.Asked("DELETE") != 1 {
			t.Error("the second session was not ended")
		}
	})
}

// TestTaskListAndCancel shows the list, page for page, and how a task is cancelled.
func TestTaskListAndCancel(t *testing.T) {
	bothEras(t, func(t *testing.T, o faultlab.TaskOptions) {
		t.Helper()
		srv, s := taskServer(t, o, 0)
		for range 3 {
			if _, err := s.CallTool(t.Context(), ToolCall{
				Request: Request{Name: "tools/call"}, Tool: "job", Arguments: json.RawMessage(`{"stuck":true}`), AsTask: true, Detach: true,
			}); err != nil {
				t.Fatal(err)
			}
		}
		l, err := s.Tasks(t.Context())
		if err != nil || l.Unsupported != o.Modern || !o.Modern && len(l.Items) != 3 {
			t.Errorf("%+v, %v", l, err)
		}
		task, err := s.CancelTask(t.Context(), "task-2")
		if err != nil || task.Status != TaskCancelled || srv.Running() != 2 {
			t.Errorf("%+v, %v, %d running", task, err, srv.Running())
		}
		_, err = s.CancelTask(t.Context(), "task-2")
		if e := taskError(t, err); e.RPC == nil || e.RPC.Code != codeInvalidParams {
			t.Errorf("%+v", e)
		}
	})
}

// TestTaskSupport shows what is taken for an announcement.
func TestTaskSupport(t *testing.T) {
	for _, c := range []struct {
		era       Era
		announced string
		want      TaskSupport
	}{
		{EraLegacy, `{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`, TaskSupport{true, true, true}},
		{EraLegacy, `{"tasks":{"requests":{"tools":{"call":true}},"list":false}}`, TaskSupport{Calls: true}},
		{EraLegacy, `{"tasks":{}}`, TaskSupport{}},
		{EraLegacy, `{"tasks":7}`, TaskSupport{}},
		{EraLegacy, ``, TaskSupport{}},
		{EraModern, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, TaskSupport{Calls: true, Cancel: true}},
		{EraModern, `{"tasks":{"requests":{"tools":{"call":{}}}}}`, TaskSupport{}},
	} {
		if got := (Info{Era: c.era, Announced: json.RawMessage(c.announced)}).TaskSupport(); got != c.want {
			t.Errorf("%s %s: %+v", c.era, c.announced, got)
		}
	}
}

// TestNoResult shows which answers to a call are neither a result nor a task.
func TestNoResult(t *testing.T) {
	for _, c := range []struct {
		answer        string
		asked, legacy bool
		want          string
	}{
		{`{"content":[]}`, true, true, ""},
		{`{}`, true, true, ""},
		{`null`, true, true, ""},
		{`[]`, false, false, ""},
		{`{"task":{"status":"working"}}`, true, true, "no id"},
		{`{"task":{"taskId":"x"}}`, true, true, "no id"},
		{`{"task":{"title":"mine"}}`, false, true, ""},
		{`{"task":{"title":"mine"},"content":[]}`, true, true, ""},
		{`{"resultType":"task","status":"working"}`, false, false, "no id"},
		{`{"resultType":"complete","content":[]}`, false, false, ""},
		{`{"resultType":"surprise","content":[]}`, false, false, `"surprise"`},
		{`{"resultType":"surprise","content":[]}`, false, true, ""},
		{`{"resultType":7,"content":[]}`, false, false, ""},
	} {
		got := noResult(json.RawMessage(c.answer), c.asked, c.legacy)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.answer, got, c.want)
		}
	}
}

// TestCreatedTask shows what is taken for a task in place of a result.
func TestCreatedTask(t *testing.T) {
	for _, c := range []struct {
		result string
		asked  bool
		want   string
	}{
		{`{"task":{"taskId":"a","status":"working"}}`, true, "a"},
		{`{"task":{"taskId":"a","status":"working"}}`, false, "a"},
		{`{"task":{"taskId":"a","status":"working"},"content":[]}`, true, "a"},
		{`{"task":{"taskId":"a","status":"working"},"content":[]}`, false, ""},
		{`{"resultType":"task","taskId":"b","status":"working"}`, false, "b"},
		{`{"resultType":"task","task":{"taskId":"b","status":"working"}}`, false, "b"},
		{`{"resultType":"complete","taskId":"b","status":"working"}`, false, ""},
		{`{"taskId":"b","status":"working"}`, true, ""},
		{`{"content":[{"type":"text","text":"task"}]}`, true, ""},
		{`{"task":{"taskId":7,"status":"working"}}`, true, ""},
		{`{"task":null}`, true, ""},
		{`[]`, true, ""},
	} {
		got, ok := CreatedTask(json.RawMessage(c.result), c.asked)
		if got.ID != c.want || ok != (c.want != "") {
			t.Errorf("%s: %+v, %t", c.result, got, ok)
		}
	}
}

// FuzzParseTask shows that no task of a server's is too odd to be read.
func FuzzParseTask(f *testing.F) {
	f.Add(`{"taskId":"a","status":"working","ttl":null,"pollInterval":1e999}`)
	f.Add(`{"resultType":"task","taskId":"a","status":"input_required","inputRequests":{"q":{"method":"x"}}}`)
	f.Add(`{"task":{"task":{"taskId":"a"}}}`)
	f.Add(`{"taskId":"a","status":7,"createdAt":7,"pollIntervalMs":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, asked := range []bool{true, false} {
			task, ok := CreatedTask(json.RawMessage(text), asked)
			if ok && (task.ID == "" || task.Status == "" || task.TTL < 0 || task.PollInterval < 0) {
				t.Errorf("%+v", task)
			}
		}
		if task, ok := ParseTask(json.RawMessage(text)); ok && (task.PollInterval < 0 || task.ID == "") {
			t.Errorf("%+v", task)
		}
	})
}
