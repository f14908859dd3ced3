package faultlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A server that makes tasks of calls, in either era. It is no case of the catalogue: what becomes of a task is said by the
// arguments of its call, so that one server shows everything. See the MCP specification, 2025-11-25, "Tasks", and the tasks
// extension, 2026-07-28.

// TaskOptions say what a server of tasks is like.
type TaskOptions struct {
	// Modern serves the modern era in place of the legacy one.
	Modern bool
	// NoTasks announces no tasks; NoList and NoCancel announce all but that, and do not have it.
	NoTasks, NoList, NoCancel bool
	// PerSession hides a task from other sessions than the one that it was made on.
	PerSession bool
}

// TaskServer is a server of tasks over HTTP on 127.0.0.1. Its tools are job, which must be a task; maybe, which may be one;
// plain, which is none; and surprise, which is one without being asked.
type TaskServer struct {
	URL string

	o       TaskOptions
	server  *http.Server
	stopped context.Context //nolint:containedctx // the life of the server
	stop    context.CancelFunc
	serving sync.WaitGroup

	mu       sync.Mutex
	asked    []string // the methods, in order; an HTTP method where there is no other
	sessions map[string]bool
	issued   int
	tasks    []*labTask
	streams  map[chan string]bool // of GET
	waiting  map[string]*labTask  // by the id of the request that the server has made
	// changed is closed and replaced whenever a task changes.
	changed chan struct{}
}

// taskPlan is what becomes of a task, as the arguments of its call say.
type taskPlan struct {
	// Polls is how often the task says that it is being worked on; AfterMS ends it by the clock instead.
	Polls   int `json:"polls"`
	AfterMS int `json:"after_ms"`
	// End is "completed", "failed" (a JSON-RPC error), "error" (a result that is one), "cancelled", or "expired" (completed,
	// and the result is gone).
	End string `json:"end"`
	// Text is the result, Message what is said of the work, N times counted.
	Text    string `json:"text"`
	Message string `json:"message"`
	// Interval is what stands for the poll interval, null for nothing.
	Interval json.RawMessage `json:"interval"`
	// Stuck never ends, Status stands in place of "working", Block never answers tasks/result.
	Stuck  bool   `json:"stuck"`
	Status string `json:"status"`
	Block  bool   `json:"block"`
	// Forget, Drop, Sever and Fail say at which poll the task is forgotten, all sessions are, the connection breaks, or the
	// server answers 500.
	Forget int `json:"forget"`
	Drop   int `json:"drop"`
	Sever  int `json:"sever"`
	Fail   int `json:"fail"`
	// Refuse refuses to cancel, Mute never answers to that.
	Refuse bool `json:"refuse"`
	Mute   bool `json:"mute"`
	// Ask waits for an answer first, Tell reports progress with each poll.
	Ask  bool `json:"ask"`
	Tell bool `json:"tell"`
	// Now makes no task of it.
	Now bool `json:"now"`
}

// labTask is a task of the server.
type labTask struct {
	plan      taskPlan
	id        string
	session   string
	token     json.RawMessage // of the call's progress
	made      time.Time
	polls     int
	cancelled bool
	// answer is what came back to the question, nil before.
	answer json.RawMessage
}

// ServeTasks starts a server of tasks. The caller must close it.
func ServeTasks(o TaskOptions) (*TaskServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &TaskServer{
		URL: "http://" + l.Addr().String() + "/mcp", o: o, sessions: map[string]bool{}, streams: map[chan string]bool{},
		waiting: map[string]*labTask{}, changed: make(chan struct{}),
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return s.stopped },
	}
	s.serving.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

// Close stops the server.
func (s *TaskServer) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	s.serving.Wait()
	return err
}

// Asked returns how often a method was asked for; "DELETE" and "GET" are methods, too.
func (s *TaskServer) Asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.asked {
		if m == method {
			n++
		}
	}
	return n
}

// Running returns how many tasks have not ended.
func (s *TaskServer) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.tasks {
		if status, _ := t.status(); status != "completed" && status != "failed" && status != "cancelled" {
			n++
		}
	}
	return n
}

// ServeHTTP implements [http.Handler].
func (s *TaskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	m := parseMessage(b)
	id := r.Header.Get("Mcp-Session-Id")
	if r.Method != http.MethodPost || m == nil {
		s.other(w, r, id)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, m.Method)
	known := s.o.Modern || m.Method == "initialize" || s.sessions[id]
	s.mu.Unlock()
	x := &taskExchange{s: s, w: w, r: r, m: m, session: id}
	switch {
	case !known:
		x.reply(http.StatusNotFound, errorFrame("null", -32001, "Session not found"))
	case m.isResponse():
		s.deliver(m)
		w.WriteHeader(http.StatusAccepted)
	case !m.isRequest():
		w.WriteHeader(http.StatusAccepted)
	case s.o.Modern:
		x.modern()
	default:
		x.legacy()
	}
}

// other answers what is no POST of a message.
func (s *TaskServer) other(w http.ResponseWriter, r *http.Request, id string) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method)
	known := s.sessions[id]
	if r.Method == http.MethodDelete {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete && known:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodGet && known && !s.o.Modern:
		s.stream(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// stream is the answer to a GET: what the server says unasked.
func (s *TaskServer) stream(w http.ResponseWriter, r *http.Request) {
	frames := make(chan string, 16)
	s.mu.Lock()
	s.streams[frames] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, frames)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
	for {
		select {
		case frame := <-frames:
			event(w, frame)
		case <-r.Context().Done():
			return
		}
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func event(w http.ResponseWriter, frame string) {
	_, _ = io.WriteString(w, "event: message\ndata: "+frame+"\n\n")
	flush(w)
}

// deliver takes the client's answer to a question.
func (s *TaskServer) deliver(m *message) {
	var id string
	_ = json.Unmarshal(m.ID, &id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.waiting[id]; t != nil && t.answer == nil {
		if t.answer = m.Result; t.answer == nil {
			t.answer = m.Error
		}
		s.tell()
	}
}

// tell wakes those who wait for a task. s.mu is held.
func (s *TaskServer) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// taskExchange is one request and the way to answer it.
type taskExchange struct {
	s       *TaskServer
	w       http.ResponseWriter
	r       *http.Request
	m       *message
	session string
	// streaming is set when the answer is a stream of events.
	streaming bool
}

func (x *taskExchange) reply(status int, frame string) {
	if x.streaming {
		event(x.w, frame)
		return
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	_, _ = io.WriteString(x.w, frame)
}

func (x *taskExchange) result(result string) {
	if x.s.o.Modern && !strings.Contains(result, `"resultType"`) {
		result = strings.Replace(result, "{", `{"resultType":"complete",`, 1)
		result = strings.Replace(result, ",}", "}", 1)
	}
	x.reply(http.StatusOK, resultFrame(x.m.ID, result))
}

func (x *taskExchange) fail(code int, text string) {
	x.reply(http.StatusOK, errorFrame(string(x.m.ID), code, text))
}

// events makes the answer a stream.
func (x *taskExchange) events() {
	x.streaming = true
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.WriteHeader(http.StatusOK)
	flush(x.w)
}

// legacy answers as a server of the legacy era.
func (x *taskExchange) legacy() {
	if x.m.Method != "initialize" {
		x.common()
		return
	}
	s := x.s
	s.mu.Lock()
	s.issued++
	id := fmt.Sprintf("tasks-%d", s.issued)
	s.sessions[id] = true
	s.mu.Unlock()
	x.w.Header().Set("Mcp-Session-Id", id)
	tasks := []string{`"requests":{"tools":{"call":{}}}`}
	if !s.o.NoList {
		tasks = append(tasks, `"list":{}`)
	}
	if !s.o.NoCancel {
		tasks = append(tasks, `"cancel":{}`)
	}
	capabilities := `"tools":{}`
	if !s.o.NoTasks {
		capabilities += `,"tasks":{` + strings.Join(tasks, ",") + `}`
	}
	x.result(`{"protocolVersion":"2025-11-25","capabilities":{` + capabilities + `},"serverInfo":{"name":"tasks","version":"1"}}`)
}

// modern answers as a server of the modern era.
func (x *taskExchange) modern() {
	var params struct {
		ID   string `json:"taskId"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(x.m.Params, &params)
	if params.Meta.Version != modernVersion {
		x.reply(http.StatusBadRequest, unsupportedVersion(string(x.m.ID), params.Meta.Version))
		return
	}
	if strings.HasPrefix(x.m.Method, "tasks/") {
		switch {
		case !x.announced():
			x.missing()
			return
		case x.r.Header.Get("Mcp-Name") != params.ID || x.r.Header.Get("Mcp-Method") != x.m.Method:
			x.reply(http.StatusBadRequest, errorFrame(string(x.m.ID), codeHeaderMismatch, "Header mismatch: Mcp-Name is not the task's id"))
			return
		}
	}
	if x.m.Method != "server/discover" {
		x.common()
		return
	}
	extensions := `,"extensions":{"io.modelcontextprotocol/tasks":{}}`
	if x.s.o.NoTasks {
		extensions = ""
	}
	x.result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}` + extensions + `},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tasks","version":"1"}},"ttlMs":0,"cacheScope":"private"}`)
}

// announced reports whether the request says that its sender can deal with tasks.
func (x *taskExchange) announced() bool {
	var params struct {
		Meta struct {
			Capabilities struct {
				Extensions map[string]json.RawMessage `json:"extensions"`
			} `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(x.m.Params, &params)
	return params.Meta.Capabilities.Extensions["io.modelcontextprotocol/tasks"] != nil
}

// missing says that the client has to announce tasks.
func (x *taskExchange) missing() {
	x.reply(http.StatusBadRequest, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"Missing required client capability",`+
		`"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, x.m.ID))
}

// taskTools are the tools with what they say of tasks.
func taskTools() string {
	schema := `{"type":"object","properties":{"polls":{"type":"integer"},"after_ms":{"type":"integer"},"end":{"type":"string"},"text":{"type":"string"},` +
		`"message":{"type":"string"},"interval":{"type":["integer","null"]},"stuck":{"type":"boolean"},"status":{"type":"string"},"block":{"type":"boolean"},` +
		`"forget":{"type":"integer"},"drop":{"type":"integer"},"sever":{"type":"integer"},"fail":{"type":"integer"},"refuse":{"type":"boolean"},` +
		`"mute":{"type":"boolean"},"ask":{"type":"boolean"},"tell":{"type":"boolean"},"now":{"type":"boolean"}}}`
	var defs []string
	for _, t := range []struct{ name, support string }{{"job", "required"}, {"maybe", "optional"}, {"plain", ""}, {"surprise", "forbidden"}} {
		execution := ""
		if t.support != "" {
			execution = `,"execution":{"taskSupport":` + quote(t.support) + `}`
		}
		defs = append(defs, `{"name":`+quote(t.name)+`,"description":"Work.","inputSchema":`+schema+execution+`}`)
	}
	return strings.Join(defs, ",")
}

// common answers what both eras have.
func (x *taskExchange) common() {
	switch x.m.Method {
	case "ping":
		x.result(`{}`)
	case "tools/list":
		x.result(`{"tools":[` + taskTools() + `],"ttlMs":0,"cacheScope":"private"}`)
	case "tools/call":
		x.call()
	case "tasks/get", "tasks/cancel":
		x.about()
	case "tasks/result", "tasks/list":
		if x.s.o.Modern || x.m.Method == "tasks/list" && (x.s.o.NoList || x.s.o.NoTasks) {
			x.fail(codeNoMethod, "Method not found")
			return
		}
		x.about()
	case "tasks/update":
		if !x.s.o.Modern {
			x.fail(codeNoMethod, "Method not found")
			return
		}
		x.about()
	default:
		x.fail(codeNoMethod, "Method not found")
	}
}

// call answers tools/call.
func (x *taskExchange) call() {
	var params struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Task json.RawMessage `json:"task"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(x.m.Params, &params); err != nil {
		x.fail(codeInvalidParams, err.Error())
		return
	}
	t := &labTask{session: x.session, token: params.Meta.Token, made: time.Now()}
	if len(params.Args) > 0 {
		if err := json.Unmarshal(params.Args, &t.plan); err != nil {
			x.fail(codeInvalidParams, err.Error())
			return
		}
	}
	asked := params.Task != nil
	if x.s.o.Modern {
		asked = x.announced()
	}
	switch {
	case x.s.o.Modern && params.Task != nil:
		x.fail(codeInvalidParams, "task: there is no such parameter in this era")
		return
	case x.s.o.Modern && params.Name == "job" && !asked:
		x.missing()
		return
	case !x.s.o.Modern && params.Name == "job" && !asked:
		x.fail(codeNoMethod, "Tool job requires task augmentation")
		return
	case !x.s.o.Modern && asked && (params.Name == "plain" || params.Name == "surprise"):
		x.fail(codeNoMethod, "Tool does not support task augmentation")
		return
	case params.Name == "plain" || !asked && params.Name != "surprise" || t.plan.Now:
		x.result(t.outcome())
		return
	}
	s := x.s
	s.mu.Lock()
	t.id = fmt.Sprintf("task-%d", len(s.tasks)+1)
	s.tasks = append(s.tasks, t)
	state := t.state(s.o.Modern)
	s.mu.Unlock()
	if t.plan.AfterMS > 0 {
		s.serving.Go(func() { s.announceEnd(t) })
	}
	if s.o.Modern {
		x.result(strings.Replace(state, "{", `{"resultType":"task",`, 1))
		return
	}
	x.result(`{"task":` + state + `}`)
}

// announceEnd tells on the streams when a task has ended by the clock.
func (s *TaskServer) announceEnd(t *labTask) {
	timer := time.NewTimer(time.Duration(t.plan.AfterMS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopped.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	frame := `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + t.state(s.o.Modern) + `}`
	for frames := range s.streams {
		select {
		case frames <- frame:
		default:
		}
	}
	s.tell()
}

// status is how a task stands, and what is said about it. The server's lock is held.
func (t *labTask) status() (status, message string) {
	switch {
	case t.cancelled:
		return "cancelled", "cancelled by request"
	case t.plan.Ask && t.answer == nil:
		return "input_required", "a question"
	case t.plan.Stuck, t.plan.AfterMS == 0 && t.polls <= t.plan.Polls,
		time.Since(t.made) < time.Duration(t.plan.AfterMS)*time.Millisecond:
		if status = t.plan.Status; status == "" {
			status = "working"
		}
		if message = t.plan.Message; message != "" && !t.plan.Stuck {
			message = fmt.Sprintf("%s %d", message, t.polls)
		}
		return status, message
	}
	switch t.plan.End {
	case "failed":
		return "failed", "no space left"
	case "cancelled":
		return "cancelled", "the operator said so"
	}
	return "completed", ""
}

// state is the task as the server tells of it. The server's lock is held.
func (t *labTask) state(modern bool) string {
	status, message := t.status()
	ttl, interval := "ttl", "pollInterval"
	if modern {
		ttl, interval = "ttlMs", "pollIntervalMs"
	} else if status == "completed" && t.plan.End == "error" {
		status = "failed"
	}
	at := t.made.UTC().Format(time.RFC3339)
	var b strings.Builder
	fmt.Fprintf(&b, `{"taskId":%s,"status":%s,"createdAt":%q,"lastUpdatedAt":%q,%q:60000`, quote(t.id), quote(status), at, at, ttl)
	if message != "" {
		fmt.Fprintf(&b, `,"statusMessage":%s`, quote(message))
	}
	switch {
	case t.plan.Interval == nil:
		fmt.Fprintf(&b, `,%q:50`, interval)
	case string(t.plan.Interval) != "null":
		fmt.Fprintf(&b, `,%q:%s`, interval, t.plan.Interval)
	}
	if modern {
		switch status {
		case "completed":
			b.WriteString(`,"result":` + t.outcome())
		case "failed":
			b.WriteString(`,"error":{"code":-32603,"message":"no space left"}`)
		case "input_required":
			b.WriteString(`,"inputRequests":{"q":{"method":"elicitation/create","params":` + question + `}}`)
		}
	}
	return b.String() + "}"
}

// question is what a task asks.
const question = `{"mode":"form","message":"Which one?","requestedSchema":{"type":"object","properties":{"which":{"type":"string"}},"required":["which"]}}`

// outcome is the result of the work.
func (t *labTask) outcome() string {
	text := t.plan.Text
	if text == "" {
		text = "done"
	}
	if t.answer != nil {
		text += " with " + string(t.answer)
	}
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":{"id":12345678901234567890},"isError":%t}`, quote(text), t.plan.End == "error")
}

// find returns the task that a request is about. The server's lock is held.
func (x *taskExchange) find() *labTask {
	var params struct {
		ID string `json:"taskId"`
	}
	_ = json.Unmarshal(x.m.Params, &params)
	i := slices.IndexFunc(x.s.tasks, func(t *labTask) bool { return t.id == params.ID })
	if i < 0 || x.s.o.PerSession && x.s.tasks[i].session != x.session {
		return nil
	}
	return x.s.tasks[i]
}

// about answers a request about tasks.
func (x *taskExchange) about() {
	s := x.s
	if x.m.Method == "tasks/list" {
		x.list()
		return
	}
	s.mu.Lock()
	t := x.find()
	s.mu.Unlock()
	if t == nil {
		x.fail(codeInvalidParams, "Failed to retrieve task: Task not found")
		return
	}
	switch x.m.Method {
	case "tasks/get":
		x.get(t)
	case "tasks/cancel":
		x.cancel(t)
	case "tasks/update":
		var params struct {
			Responses map[string]json.RawMessage `json:"inputResponses"`
		}
		_ = json.Unmarshal(x.m.Params, &params)
		s.mu.Lock()
		t.answer = params.Responses["q"]
		s.mu.Unlock()
		x.result(`{}`)
	case "tasks/result":
		x.await(t)
	}
}

// list answers tasks/list, two a page.
func (x *taskExchange) list() {
	var params struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(x.m.Params, &params)
	begin := 0
	_, _ = fmt.Sscanf(params.Cursor, "from-%d", &begin)
	x.s.mu.Lock()
	var states []string
	for _, t := range x.s.tasks {
		if !x.s.o.PerSession || t.session == x.session {
			states = append(states, t.state(false))
		}
	}
	x.s.mu.Unlock()
	const page = 2
	begin = min(begin, len(states))
	end, more := min(begin+page, len(states)), ""
	if end < len(states) {
		more = fmt.Sprintf(`,"nextCursor":"from-%d"`, end)
	}
	x.result(`{"tasks":[` + strings.Join(states[begin:end], ",") + `]` + more + `}`)
}

// get answers tasks/get.
func (x *taskExchange) get(t *labTask) {
	s := x.s
	s.mu.Lock()
	t.polls++
	polls, plan := t.polls, t.plan
	if polls == plan.Drop {
		clear(s.sessions)
	}
	forgotten := plan.Forget > 0 && polls >= plan.Forget
	state := t.state(s.o.Modern)
	s.tell()
	s.mu.Unlock()
	switch {
	case polls == plan.Drop:
		x.reply(http.StatusNotFound, errorFrame("null", -32001, "Session not found"))
		return
	case polls == plan.Sever:
		if c, _, err := http.NewResponseController(x.w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	case polls == plan.Fail:
		http.Error(x.w, "oops", http.StatusInternalServerError)
		return
	case forgotten:
		x.fail(codeInvalidParams, "Failed to retrieve task: Task has expired")
		return
	}
	if plan.Tell && !s.o.Modern {
		x.events()
		x.reply(0, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":9}}`, t.token, polls))
		x.reply(0, `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":`+state+`}`)
	}
	x.result(state)
}

// cancel answers tasks/cancel.
func (x *taskExchange) cancel(t *labTask) {
	s := x.s
	s.mu.Lock()
	status, _ := t.status()
	ended := status == "completed" || status == "failed" || status == "cancelled"
	mute := t.plan.Mute
	refused := t.plan.Refuse || ended || s.o.NoCancel
	if !refused && !mute {
		t.cancelled = true
		s.tell()
	}
	state := t.state(s.o.Modern)
	s.mu.Unlock()
	switch {
	case mute:
		<-x.r.Context().Done()
	case refused:
		x.fail(codeInvalidParams, "Cannot cancel task: it is "+status)
	case s.o.Modern:
		x.result(`{}`)
	default:
		x.result(state)
	}
}

// await answers tasks/result: when the task has ended, and with a question on the way if it has one.
func (x *taskExchange) await(t *labTask) {
	s := x.s
	s.mu.Lock()
	if t.plan.Ask && t.answer == nil {
		id := "ask-" + t.id
		s.waiting[id] = t
		s.mu.Unlock()
		x.events()
		x.reply(0, `{"jsonrpc":"2.0","id":`+quote(id)+`,"method":"elicitation/create","params":`+
			strings.TrimSuffix(question, "}")+`,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":`+quote(t.id)+`}}}}`)
		s.mu.Lock()
	}
	for {
		status, _ := t.status()
		if !t.plan.Block && (status == "completed" || status == "failed" || status == "cancelled") {
			break
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-x.r.Context().Done():
			return
		}
		s.mu.Lock()
	}
	status, message := t.status()
	outcome := t.outcome()
	s.mu.Unlock()
	switch {
	case t.plan.End == "expired":
		x.fail(codeInvalidParams, "Failed to retrieve task: Task has expired")
	case status == "failed":
		x.fail(codeInternal, message)
	case status == "cancelled":
		x.fail(codeInternal, "Task was cancelled")
	default:
		var b bytes.Buffer
		b.WriteString(strings.TrimSuffix(outcome, "}"))
		b.WriteString(`,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + quote(t.id) + `}}}`)
		x.result(b.String())
	}
}
