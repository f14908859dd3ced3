package session

// How a task is waited for.
//
// The status is asked for at the server's pace, within bounds; what the server says unasked is a reason to ask at once. The
// limit of the request holds for the whole wait, and begins anew with each change and each report of progress, as for a
// call. Asking is reading: it survives the loss of the session, as all reading does. The call itself is made once.
//
// Whoever made the call also cancels the task when it waits no more; whoever picked the task up only goes away.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// leastPoll bounds how often a server is asked, whatever it says, and mostPoll how seldom: people wait for the answer.
	leastPoll = 200 * time.Millisecond
	mostPoll  = time.Minute
	// firstPoll doubles up to usualPoll where the server does not say how often it wants to be asked.
	firstPoll = 250 * time.Millisecond
	usualPoll = 5 * time.Second
	// badPolls is how many failures in a row of a server that can be reached end the wait: one is nothing for a task of an
	// hour.
	badPolls = 3
	// cancelBound is how long a server may take to cancel a task that nobody waits for any more.
	cancelBound = 750 * time.Millisecond
	// sideGrace is how long a request for the result that is on its way may take when the task has ended.
	sideGrace = 2 * time.Second
)

// ToolCall is a call of a tool, which may become a task.
type ToolCall struct {
	// Request says whether the call may be repeated. Its Name is that of the method.
	Request
	// Tool is the tool's name, and Arguments are a JSON object.
	Tool      string
	Arguments json.RawMessage
	// AsTask asks servers of the legacy era for a task, if they announce them. In the modern era the server decides.
	AsTask bool
	// Detach returns as soon as there is a task, and leaves the session at the server, to which the task may belong.
	Detach bool
	// OnTask is called with the task whenever it has changed, from one goroutine at a time. If nil, nobody is told; see also
	// [WithProgress].
	OnTask func(Task)
}

// Answer is what a call came to.
type Answer struct {
	// Result is byte for byte as the server sent it, nil for a call that was left to itself as a task.
	Result json.RawMessage
	// Task is the task that the call had become, as it was seen last; nil if it did not become one.
	Task *Task
}

// toolCallParams are the parameters of tools/call. See the MCP specification, 2025-11-25, "Tasks", "Creating Tasks".
type toolCallParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Task      *struct{}       `json:"task,omitempty"`
}

// CallTool calls a tool, and waits for the result if the call becomes a task. A lost session is dealt with as in
// [Supervisor.Do]; the call is not made again for the sake of a task that the server has lost. When ctx ends, the task is
// cancelled. The failure is an [*Error].
func (s *Supervisor) CallTool(ctx context.Context, call ToolCall) (Answer, error) {
	if _, err := s.Session(ctx); err != nil { // the limits of a request are not those of an opening
		return Answer{}, notSent(err)
	}
	ctx, cancel := withCap(ctx, s.Limits().Request, s.Limits().MaxRequest)
	defer cancel()
	v := s.newVigil(ctx, call.OnTask)
	defer v.end()
	v.owner = true

	const method = "tools/call"
	var result json.RawMessage
	var asked bool
	var on *Session
	err := s.Do(WithTasks(v.listen(ctx)), call.Request, func(ctx context.Context, sess *Session) (err error) {
		params := toolCallParams{Name: call.Tool, Arguments: call.Arguments}
		if asked = call.AsTask && sess.legacy() && sess.Info().TaskSupport().Calls; asked {
			params.Task = &struct{}{}
		}
		on = sess
		result, err = sess.Raw(ctx, method, params)
		return err
	})
	if err != nil {
		return Answer{}, err
	}
	t, ok := CreatedTask(result, asked)
	switch {
	case !ok:
		if what := noResult(result, asked, on.legacy()); what != "" {
			return Answer{}, &Error{
				Server: on.server, Phase: method, Class: ClassProtocol, kind: kindProtocol, Outcome: OutcomeExecuted,
				Message: "the answer is " + what, Evidence: []string{"result: " + firstWords(string(result))},
			}
		}
		return Answer{Result: result}, nil
	case call.Detach:
		on.leave()
		return Answer{Task: &t}, nil
	}
	return v.await(ctx, t)
}

// AwaitTask waits for the result of a task that was begun elsewhere, perhaps on another session. When ctx ends, the task is
// left alone. The failure is an [*Error].
func (s *Supervisor) AwaitTask(ctx context.Context, id string, onTask func(Task)) (Answer, error) {
	if _, err := s.Session(ctx); err != nil {
		return Answer{}, notSent(err)
	}
	ctx, cancel := withCap(ctx, s.Limits().Request, s.Limits().MaxRequest)
	defer cancel()
	v := s.newVigil(ctx, onTask)
	defer v.end()
	t, err := s.Task(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	return v.await(ctx, t)
}

// vigil is the wait for one task.
type vigil struct {
	s *Supervisor
	// owner is set when the wait began with the call.
	owner  bool
	bound  *bound
	onTask func(Task)
	report func(Progress)

	// telling keeps reports of progress apart, of which last is the latest. It is held while somebody is told, and mu is not:
	// who is told may ask the supervisor something.
	telling sync.Mutex
	last    Progress

	mu     sync.Mutex
	id     string
	forget []func()
	// news gets a value when the server has said something about the task: what it said last is heard.
	news  chan struct{}
	heard Task

	// seen is the task as it was told of last, and known that there is one.
	seen  Task
	known bool
	// polled is when the status was asked for last.
	polled time.Time
	// own is the pace where the server does not say one.
	own time.Duration
	// answered are the questions of the server that have been answered, by their keys.
	answered map[string]bool
	// side is the request for the result that is on its way while the task waits for input, nil if there is none.
	side *sideRequest
	// refused is set when the server answered such a request with an error.
	refused bool
}

func (s *Supervisor) newVigil(ctx context.Context, onTask func(Task)) *vigil {
	v := &vigil{s: s, bound: boundOf(ctx), onTask: onTask, news: make(chan struct{}, 1), answered: map[string]bool{}}
	v.report, _ = ctx.Value(progressKey{}).(func(Progress))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vigils == nil {
		s.vigils = map[*vigil]struct{}{}
	}
	s.vigils[v] = struct{}{}
	return v
}

// listen returns a context for the call, whose progress may be reported for as long as there is the task.
func (v *vigil) listen(ctx context.Context) context.Context {
	ctx = keepProgress(ctx, func(forget func()) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.forget = append(v.forget, forget)
	})
	if v.report == nil {
		return ctx
	}
	return WithProgress(ctx, func(p Progress) {
		v.telling.Lock()
		defer v.telling.Unlock() // one at a time, also when a change of the status is told of
		v.last = p
		v.report(p)
	})
}

func (v *vigil) end() {
	v.s.mu.Lock()
	delete(v.s.vigils, v)
	v.s.mu.Unlock()
	v.mu.Lock()
	forget := v.forget
	v.mu.Unlock()
	for _, f := range forget {
		f()
	}
	v.side.stop()
}

// heardOfTask takes a notification about a task, which its vigil then looks at.
//
// See the MCP specification, 2025-11-25, "Tasks", "Task Status Notification", and the tasks extension, 2026-07-28, "Task
// Status Notifications".
func (s *Supervisor) heardOfTask(n Notification) {
	if n.Method != "notifications/tasks/status" && n.Method != "notifications/tasks" {
		return
	}
	t, ok := ParseTask(n.Params)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.vigils {
		v.mu.Lock()
		if v.id == t.ID {
			v.heard = t
			select {
			case v.news <- struct{}{}:
			default:
			}
		}
		v.mu.Unlock()
	}
}

// saw tells of the task, if it has changed: that is a sign of life, too.
func (v *vigil) saw(t Task) {
	if v.known && t.Status == v.seen.Status && t.Message == v.seen.Message {
		v.seen = t
		return
	}
	v.seen, v.known = t, true
	v.bound.restart()
	if v.onTask != nil {
		v.onTask(t)
	}
	if v.report == nil {
		return
	}
	v.telling.Lock()
	defer v.telling.Unlock()
	p := v.last
	p.Message = t.Message
	if p.Message == "" {
		p.Message = string(t.Status)
	}
	v.report(p)
}

// pause is how long to wait before the status is asked for.
func (v *vigil) pause() time.Duration {
	d := v.seen.PollInterval
	if d == 0 {
		v.own = min(max(2*v.own, firstPoll), usualPoll)
		d = v.own
	}
	d = min(max(d, leastPoll), mostPoll)
	if left := v.bound.left(); d >= left && left > 2*leastPoll { // else nobody would ask any more
		d = left - leastPoll
	}
	return d
}

// await waits until the task has ended, and gets its result.
func (v *vigil) await(ctx context.Context, t Task) (Answer, error) {
	v.mu.Lock()
	v.id = t.ID
	v.mu.Unlock()
	for bad := 0; ; {
		v.polled = time.Now()
		v.saw(t)
		switch {
		case t.Status.Ended():
			return v.fetch(ctx)
		case t.Status == TaskInput:
			if err := v.provide(ctx); err != nil {
				return v.fail(ctx, err)
			}
		}
		if !v.wait(ctx) {
			return v.fail(ctx, v.over(ctx, tasksGet))
		}
		if a, ok := v.beside(); ok {
			return a, nil
		}
		next, err := v.s.Task(ctx, t.ID)
		switch {
		case err == nil:
			bad, t = 0, next
		case bad+1 >= badPolls || !mayRecover(err):
			return v.fail(ctx, err)
		default:
			bad++
		}
	}
}

// over is the failure of a wait whose context has ended.
func (v *vigil) over(ctx context.Context, method string) error {
	return classify(evidence{server: v.s.server.Name, method: method, ctx: ended(ctx), err: ctx.Err(), opened: true})
}

// wait returns when it is time to ask for the status, and reports false if ctx ended before.
func (v *vigil) wait(ctx context.Context) bool {
	v.mu.Lock()
	if v.heard.Status == v.seen.Status && v.heard.Message == v.seen.Message {
		select {
		case <-v.news: // it is none
		default:
		}
	}
	v.mu.Unlock()
	timer := time.NewTimer(v.pause())
	defer timer.Stop()
	var side <-chan struct{}
	if v.side != nil {
		side = v.side.done
	}
	select {
	case <-timer.C:
	case <-v.news:
		sleep(ctx, leastPoll-time.Since(v.polled)) // a server that tells something with each answer is not asked without a pause
	case <-side:
	case <-ctx.Done():
		return false
	case <-v.s.ctx.Done():
		return true // the next request says so
	}
	return ctx.Err() == nil
}

// mayRecover reports whether a failure to ask for the status leaves hope for the next time.
func mayRecover(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if e.RPC != nil && (e.RPC.Code == codeInvalidParams || e.RPC.Code == codeMethodNotFound) {
		return false
	}
	switch e.kind {
	case kindProtocol, kindBroken, kindAnswered, kindNoToken:
		return true
	case kindExpired, kindUncertain, kindNotSent, kindSevered, kindBusy, kindAuth, kindTimeout, kindInterrupted, kindConfig:
	}
	return false
}

// codeInvalidParams is that of JSON-RPC 2.0, section 5.1: with it servers say that they do not know a task.
const codeInvalidParams = -32602

// sideRequest is a request for the result of a task that waits for input: on its stream the server asks.
type sideRequest struct {
	cancel context.CancelFunc
	done   chan struct{}
	result json.RawMessage
	err    error
}

func (r *sideRequest) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

// provide gives the server what the task waits for.
//
// See the MCP specification, 2025-11-25, "Tasks", "Input Required Status", and the tasks extension, 2026-07-28, "Task
// Update Requests".
func (v *vigil) provide(ctx context.Context) error {
	if len(v.seen.input) > 0 {
		return v.update(ctx)
	}
	if v.side != nil || v.refused {
		return nil
	}
	sess, err := v.s.Session(ctx)
	if err != nil || !sess.legacy() {
		return err
	}
	sideCtx, cancel := context.WithCancel(ctx)
	r := &sideRequest{cancel: cancel, done: make(chan struct{})}
	v.side = r
	id := v.seen.ID
	go func() {
		defer close(r.done)
		defer cancel()
		r.result, r.err = v.s.taskResult(sideCtx, id)
	}()
	return nil
}

// update answers the questions that a task of the modern era brings along, each once.
func (v *vigil) update(ctx context.Context) error {
	responses := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(v.seen.input)) {
		if v.answered[key] {
			continue
		}
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		_ = json.Unmarshal(v.seen.input[key], &q) // what has no method is refused
		response, err := v.s.input(ctx, q.Method, q.Params)
		if err != nil {
			if ctx.Err() != nil {
				return v.over(ctx, tasksUpdate)
			}
			return &Error{
				Server: v.s.server.Name, Phase: tasksUpdate, Class: ClassProtocol, kind: kindProtocol, Err: err,
				Message: fmt.Sprintf("the task asks for %q, which it is not given: %v", q.Method, err),
			}
		}
		responses[key] = response
	}
	if len(responses) == 0 {
		return nil
	}
	params := struct {
		taskParams
		Responses map[string]json.RawMessage `json:"inputResponses"`
	}{taskParams{v.seen.ID}, responses}
	// An answer that the server has already is ignored.
	err := v.s.Do(ctx, Request{Name: tasksUpdate, Repeatable: true}, func(ctx context.Context, sess *Session) error {
		_, err := sess.Raw(ctx, tasksUpdate, params)
		return err
	})
	if err != nil {
		return err
	}
	for key := range responses {
		v.answered[key] = true
	}
	v.own = 0 // the task goes on
	return nil
}

// input answers one question of a server.
func (s *Supervisor) input(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	sess, err := s.Session(ctx)
	if err != nil {
		return nil, err
	}
	release := sess.limited(ctx)
	defer release()
	if params == nil {
		params = json.RawMessage("{}")
	}
	return sess.reply(ctx, Question{Server: s.server.Name, Method: method, Params: params, session: sess})
}

// beside returns what the request for the result brought that was on its way while the task waited for input.
func (v *vigil) beside() (Answer, bool) {
	r := v.side
	if r == nil {
		return Answer{}, false
	}
	select {
	case <-r.done:
	default:
		return Answer{}, false
	}
	v.side = nil
	if r.err != nil {
		v.refused = ClassOf(r.err) == ClassAnswered // perhaps the task's own error: its status tells
		return Answer{}, false
	}
	t := v.seen
	t.Status = TaskCompleted // else the server would not have answered
	var result struct {
		IsError bool `json:"isError"`
	}
	if json.Unmarshal(r.result, &result) == nil && result.IsError {
		t.Status = TaskFailed
	}
	v.saw(t)
	return Answer{Result: r.result, Task: &t}, true
}

// taskResult asks for the result of a task, and waits until the server has it.
//
// See the MCP specification, 2025-11-25, "Tasks", "Retrieving Task Results".
func (s *Supervisor) taskResult(ctx context.Context, id string) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.Do(ctx, Request{Name: tasksResult, Repeatable: true}, func(ctx context.Context, sess *Session) (err error) {
		result, err = sess.Raw(ctx, tasksResult, taskParams{id})
		return err
	})
	return result, err
}

// fetch returns the result of a task that has ended.
func (v *vigil) fetch(ctx context.Context) (Answer, error) {
	t := v.seen
	switch {
	case t.Status == TaskCancelled:
		return Answer{Task: &t}, v.ended(t, "the task was cancelled"+because(t.Message), nil)
	case t.Status == TaskFailed && t.failure != nil:
		rpc := rpcError(t.failure)
		return Answer{Task: &t}, v.ended(t, "the task failed: "+rpc.Error(), rpc)
	case t.result != nil:
		return Answer{Result: t.result, Task: &t}, nil
	}
	if v.side != nil {
		timer := time.NewTimer(sideGrace)
		defer timer.Stop()
		select {
		case <-v.side.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		if v.side.stop(); v.side.err == nil {
			return Answer{Result: v.side.result, Task: &t}, nil
		}
	}
	if sess, err := v.s.Session(ctx); err == nil && !sess.legacy() {
		if t.Status == TaskFailed {
			return Answer{Task: &t}, v.ended(t, "the task failed"+because(t.Message), nil)
		}
		e := v.ended(t, "the task has ended, and its result is missing", nil)
		e.Class, e.kind = ClassProtocol, kindProtocol
		return Answer{Task: &t}, e
	}
	result, err := v.s.taskResult(ctx, t.ID)
	if err == nil {
		return Answer{Result: result, Task: &t}, nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return Answer{Task: &t}, err
	}
	out := *e
	out.Task, out.Outcome = &t, OutcomeExecuted
	switch {
	case t.Status == TaskFailed && e.Class == ClassAnswered:
		out.Message = "the task failed: " + e.Message
		if t.Message != "" && t.Message != e.RPC.Message {
			out.Evidence = append(slices.Clone(out.Evidence), "status: "+t.Message)
		}
	default:
		out.Message = fmt.Sprintf("the task has ended (%s), and its result could not be had: %s", t.Status, e.Message)
	}
	return Answer{Task: &t}, &out
}

// because adds what the server says about a status.
func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// ended is the failure of a task that ended without a result.
func (v *vigil) ended(t Task, message string, rpc *RPCError) *Error {
	e := &Error{
		Server: v.s.server.Name, Phase: tasksGet, Class: ClassAnswered, kind: kindAnswered,
		Message: message, Outcome: OutcomeExecuted, RPC: rpc, Task: &t,
	}
	if t.Status == TaskCancelled {
		e.Outcome = OutcomeUnknown // nobody knows how far it had come
	}
	return e
}

// fail is the end of a wait that came to nothing. The task that was begun with it is cancelled if nobody waits any more.
func (v *vigil) fail(ctx context.Context, err error) (Answer, error) {
	e, ok := errors.AsType[*Error](err)
	t := v.seen
	if !ok {
		return Answer{Task: &t}, err
	}
	out := *e
	out.Task = &t
	unknown := e.RPC != nil && e.RPC.Code == codeInvalidParams
	switch {
	case e.Class == ClassTimeout || e.Class == ClassInterrupted:
		out.Outcome, out.Retryable = OutcomeUnknown, !v.owner
		if l := e.Limit; l != nil {
			out.Message = fmt.Sprintf("the task did not end within %s, and is %s", l, t.Status)
			if l.Name == v.s.Limits().Request.Name { // it begins anew with each change
				out.Message = fmt.Sprintf("nothing changed about the task for %s, and it is %s", l, t.Status)
			}
			out.Hint = "raise it with " + l.Flag()
			if time.Since(v.polled) < l.Value/2 {
				out.Evidence = nil // the server had only just been asked again
			}
		}
		if v.owner {
			out.Message += "; " + v.giveUp(ctx, &t)
		} else {
			out.Message += "; the task goes on at the server"
		}
		return Answer{Task: &t}, &out
	case e.Class == ClassProtocol && e.Phase == tasksUpdate && v.owner:
		out.Message += "; " + v.giveUp(ctx, &t)
	case unknown && e.Recovery != nil:
		out.Message = fmt.Sprintf("the session was lost (%s), and on a fresh one the server does not know the task (%s)", e.Recovery.Cause, e.Message)
	case unknown:
		out.Message = fmt.Sprintf("the server does not know the task any more (%s)", e.Message)
	default:
		out.Message = fmt.Sprintf("the task goes on, and nothing can be learned of it (%s)", e.Message)
	}
	if v.owner || unknown {
		out.Class, out.Outcome, out.Retryable = ClassUnknownOutcome, OutcomeUnknown, false
		out.Message += "; the call was accepted and may have been executed"
		out.Hint = "check with a read-only call whether it took effect"
	}
	return Answer{Task: &t}, &out
}

// giveUp cancels the task, and says what came of that.
func (v *vigil) giveUp(ctx context.Context, t *Task) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelBound)
	defer cancel()
	v.s.mu.Lock()
	sess := v.s.current
	v.s.mu.Unlock()
	switch {
	case sess == nil || sess.Dead() != nil:
		return "the task goes on: there is no connection to cancel it with"
	case !sess.Info().TaskSupport().Cancel:
		return "the task goes on: the server does not offer to cancel tasks"
	}
	now, told, err := v.s.cancelTask(ctx, t.ID)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Sprintf("the task may go on: the server did not say within %s that it was cancelled", cancelBound)
	case err != nil:
		return fmt.Sprintf("the task was not cancelled (%s)", messageOf(err))
	case told:
		*t = now
		return fmt.Sprintf("the task is %s now", now.Status)
	}
	return "the server was asked to cancel the task"
}

// messageOf returns what happened, without the server and the phase.
func messageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return err.Error()
}
