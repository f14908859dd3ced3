package main

// The hang matrix: a server that stops at each point where one can stop, and every command that meets it. Nothing is
// mocked: the servers are raw TCP listeners that write bytes, and (hang_unix_test.go) real child processes.
//
// The rule is TL-07: a command ends within the limits that it may use up to the point where the server stops, plus 1 s,
// plus 3 s for closing. After Ctrl-C it ends within 1.5 s, wherever it is.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

const (
	// hangLimit is the connect limit and the request limit of all commands here: short, and above the floor of 1 s.
	hangLimit = 2 * time.Second
	// hangOverrun and hangClosing are those of TL-07 and TL-06.
	hangOverrun = time.Second
	hangClosing = 3 * time.Second
	// hangHurry is how soon after Ctrl-C a command is over: hasty closing takes 0.8 s of it.
	hangHurry = 1500 * time.Millisecond
	// acceptLimit is the share of the connect limit that a server has to answer a question it need not answer: the one
	// for the modern era, and the initialized notification.
	acceptLimit = hangLimit / 3
	// hangWide is how many commands run at a time for each processor. Nearly all of them only wait.
	hangWide = 24
	// hangAgain is how often a command that failed beside the others is tried alone. A command that outlives its limits does
	// so each time, and what a busy machine does to one of them is over at one of the next.
	hangAgain = 3
)

// hangAnswer is what a healthy server would send.
type hangAnswer struct {
	status int
	header string // more header lines, each with its end
	body   string
}

// stall begins an answer, or does not, and never ends it. It returns when it has no more to write; the connection stays
// open.
type stall struct {
	name  string
	write func(ctx context.Context, w io.Writer, a hangAnswer)
	// accepts is set when the status of the answer comes.
	accepts bool
}

// elsewhere is the path at which the server does not stop.
const elsewhere = "/elsewhere"

func (a hangAnswer) head(media string, length int) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n", a.status, http.StatusText(a.status), media, length, a.header)
}

// sseHead begins a stream whose length nobody knows.
func (a hangAnswer) sseHead() string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + a.header + "\r\n"
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

func put(w io.Writer, text string) bool {
	_, err := io.WriteString(w, text)
	return err == nil
}

// every writes the next piece at each tick until the other side or the test is tired of it.
func every(ctx context.Context, d time.Duration, write func() bool) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for write() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// stalls are the ways to stop in an answer.
func stalls() []stall {
	return []stall{
		{"no headers", func(context.Context, io.Writer, hangAnswer) {}, false},
		{"half the headers", func(_ context.Context, w io.Writer, _ hangAnswer) { put(w, "HTTP/1.1 200 OK\r\nContent-Ty") }, false},
		{"no body", func(_ context.Context, w io.Writer, a hangAnswer) { put(w, a.head("application/json", 1000)) }, true},
		{"half the body", func(_ context.Context, w io.Writer, a hangAnswer) {
			put(w, a.head("application/json", len(a.body)+1)+a.body[:len(a.body)/2])
		}, true},
		{"no event", func(_ context.Context, w io.Writer, a hangAnswer) { put(w, a.sseHead()) }, true},
		{"only comments", func(ctx context.Context, w io.Writer, a hangAnswer) {
			put(w, a.sseHead())
			every(ctx, 50*time.Millisecond, func() bool { return put(w, chunk(": keep-alive\n\n")) })
		}, true},
		{"a byte a second", func(ctx context.Context, w io.Writer, a hangAnswer) {
			text := a.head("application/json", 1000)
			every(ctx, time.Second, func() bool {
				if text == "" {
					return false
				}
				next := text[:1]
				text = text[1:]
				return put(w, next)
			})
		}, false},
	}
}

// failing is the answer of a server that refuses and does not end the body of its refusal.
func failing(status int, header string) stall {
	return stall{fmt.Sprintf("%d without end", status), func(_ context.Context, w io.Writer, _ hangAnswer) {
		put(w, hangAnswer{status: status, header: header}.head("text/plain", 1000)+"refused")
	}, true}
}

// hangServer is an MCP server that stops at one point.
type hangServer struct {
	// at is the message at which it stops: a JSON-RPC method, "resume" for the GET that resumes a broken stream, "listen"
	// for the GET of the older transport, or "DELETE". "" stops nowhere.
	at    string
	stall stall
	// deafFrom is the number of the TCP connection, from 1, from which on nothing is read. Each request then has a
	// connection of its own.
	deafFrom int
	// dropped is the method whose answer breaks off in such a way that it can be resumed.
	dropped string
	// legacy is the HTTP with SSE transport of 2024-11-05. Mute then is the message that is accepted and not answered.
	legacy bool
	mute   string

	listener net.Listener
	ctx      context.Context //nolint:containedctx // the life of the server
	stop     context.CancelFunc
	all      sync.WaitGroup
	reached  chan struct{} // closed when the server has stopped
	once     sync.Once

	mu       sync.Mutex
	accepted int
	sessions map[string]bool
	stream   io.Writer // of the older transport
}

func (s *hangServer) start(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.reached, s.sessions = l, make(chan struct{}), map[string]bool{}
	s.ctx, s.stop = context.WithCancel(t.Context())
	s.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepted++
			n := s.accepted
			s.mu.Unlock()
			s.all.Go(func() { s.serve(c, n) })
		}
	})
	t.Cleanup(func() {
		s.stop()
		_ = l.Close()
		s.all.Wait()
	})
	return l.Addr().String()
}

func (s *hangServer) arrive() { s.once.Do(func() { close(s.reached) }) }

// serve answers the requests on one connection.
func (s *hangServer) serve(c net.Conn, number int) {
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	defer func() {
		stop()
		_ = c.Close()
	}()
	if s.deafFrom > 0 && number >= s.deafFrom {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10) // so that a large request does not fit into what the system takes
		}
		s.arrive()
		<-s.ctx.Done()
		return
	}
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if !s.answer(c, req, body) {
			<-s.ctx.Done()
			return
		}
		if s.deafFrom > 0 {
			return
		}
	}
}

// answer writes the answer to one request. It reports false when the connection is to stay open and be silent.
func (s *hangServer) answer(w io.Writer, req *http.Request, body []byte) bool {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &msg) // a GET has none
	name := msg.Method
	switch {
	case req.Method == http.MethodGet && req.Header.Get("Last-Event-Id") != "":
		name = "resume"
	case req.Method == http.MethodGet:
		name = "listen"
	case req.Method == http.MethodDelete:
		name = "DELETE"
	}
	a := s.healthy(req, name, msg.ID)
	if s.at == name && req.URL.Path != elsewhere {
		s.arrive()
		if s.legacy && req.Method == http.MethodPost && s.stall.accepts {
			s.say(a) // only the end of the answer to the POST is withheld
			a = hangAnswer{status: http.StatusAccepted, body: "Accepted"}
		}
		if a.status == http.StatusNoContent {
			a.status = http.StatusOK // which has a body that can be withheld
		}
		s.stall.write(s.ctx, w, a)
		return false
	}
	switch {
	case s.legacy && name == "listen":
		s.mu.Lock()
		s.stream = w
		s.mu.Unlock()
		put(w, a.sseHead()+chunk("event: endpoint\ndata: /post\n\n"))
		return false
	case s.legacy && req.Method == http.MethodPost:
		if s.mute == name {
			s.arrive()
		} else {
			s.say(a)
		}
		return put(w, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	case s.dropped == name:
		return put(w, a.sseHead()+chunk("id: 1\nretry: 10\ndata:\n\n")+chunk(""))
	case a.body == "":
		return put(w, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n\r\n", a.status, http.StatusText(a.status)))
	}
	return put(w, a.head("application/json", len(a.body))+a.body)
}

// say writes an answer to the stream of the older transport.
func (s *hangServer) say(a hangAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil && a.body != "" {
		put(s.stream, chunk("data: "+a.body+"\n\n"))
	}
}

// healthy is the answer of a server that has nothing wrong with it.
func (s *hangServer) healthy(req *http.Request, name string, id json.RawMessage) hangAnswer {
	const header = "Mcp-Session-Id"
	s.mu.Lock()
	defer s.mu.Unlock()
	a := hangAnswer{status: http.StatusOK}
	given := req.Header.Get(header)
	if given != "" && !s.sessions[given] {
		return hangAnswer{status: http.StatusNotFound, body: "session not found"}
	}
	a.body = mcpAnswer(name, id)
	switch {
	case name == "initialize" && !s.legacy:
		id := "session-" + strconv.Itoa(len(s.sessions)+1)
		s.sessions[id] = true
		a.header = header + ": " + id + "\r\n"
	case name == "DELETE":
		s.sessions[given] = false
		a.status = http.StatusNoContent
	case strings.HasPrefix(name, "notifications/"):
		a.status = http.StatusAccepted
	case name == "listen" && !s.legacy:
		a.status = http.StatusMethodNotAllowed
	}
	return a
}

// mcpAnswer is the answer of a healthy server to a request, "" if there is none.
func mcpAnswer(method string, id json.RawMessage) string {
	result := ""
	switch method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hang","version":"1"}}`
	case "ping":
		result = `{}`
	case "tools/list":
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}]}`
	case "tools/call":
		result = `{"content":[{"type":"text","text":"hello"}]}`
	default:
		if len(id) == 0 {
			return ""
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// hangCommand is a command line that meets a server that stops.
type hangCommand struct {
	name string
	// failed is its exit code when a limit ran out, and lost when something broke.
	timedOut, lost int
}

// The commands. List and doctor look at many servers, so they have one code for all that is wrong with one.
var (
	hangCall   = hangCommand{"call", codeTimeout, codeConnect}
	hangTools  = hangCommand{"tools", codeTimeout, codeConnect}
	hangAdd    = hangCommand{"add", codeTimeout, codeConnect}
	hangList   = hangCommand{"list", codeFailed, codeFailed}
	hangDoctor = hangCommand{"doctor", codeFailed, codeFailed}
	hangDrill  = hangCommand{"drill", codeFailed, codeFailed}
)

// words returns the command line for a server, and what stands on its standard input.
func (c hangCommand) words(target hangTarget) (args []string, in string) {
	limits := []string{"--connect-timeout", hangLimit.String(), "--timeout", hangLimit.String()}
	server := []string{target.url}
	if target.url == "" {
		server = []string{"--stdio", quotedWords(target.command)}
		for _, e := range target.env {
			server = append(server, "--env", e)
		}
	}
	if target.transport != "" {
		limits = append(limits, "--transport", target.transport)
	}
	message := []string{"message=hello"}
	if target.argument != "" {
		message = []string{"message=@" + target.argument}
	}
	switch c {
	case hangCall:
		return slices.Concat([]string{"call"}, server, []string{"echo"}, message, limits), ""
	case hangTools:
		return slices.Concat([]string{"tools"}, server, limits), ""
	case hangAdd:
		if target.url == "" {
			return slices.Concat([]string{"add", "s"}, server[2:], limits, []string{"--"}, target.command), ""
		}
		return slices.Concat([]string{"add", "s"}, server, limits), ""
	case hangList:
		return []string{"list", "--check", "--config", "-"}, target.config()
	case hangDrill:
		limits = append(limits, "--kill-session")
	}
	return slices.Concat([]string{"doctor"}, server, limits), ""
}

// quotedWords returns a command line.
func quotedWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, " ")
}

// hangTarget is how a command reaches a server.
type hangTarget struct {
	url, transport string
	command, env   []string
	// argument is a file with the argument of the call, "" for a small one.
	argument string
}

// config returns a configuration with the server in it. JSON is YAML, too.
func (t hangTarget) config() string {
	entry := map[string]any{"connect_timeout": hangLimit.String(), "timeout": hangLimit.String()}
	if t.url != "" {
		entry["url"] = t.url
	} else {
		env := map[string]string{}
		for _, e := range t.env {
			name, value, _ := strings.Cut(e, "=")
			env[name] = value
		}
		entry["command"], entry["args"], entry["env"] = t.command[0], t.command[1:], env
	}
	if t.transport != "" {
		entry["transport"] = t.transport
	}
	text, _ := json.Marshal(map[string]any{"version": 1, "servers": map[string]any{"s": entry}}) // maps of strings have no way to fail
	return string(text)
}

// hangRun is one command that meets one server.
type hangRun struct {
	name    string
	command hangCommand
	// limits are what the command may use up before it gives up, closing apart.
	limits time.Duration
	codes  []int
	// prepare starts the server and returns it, with what is closed when the server has stopped.
	prepare func(t *testing.T) (hangTarget, <-chan struct{})
	// after looks at what is left.
	after func(t *testing.T)
	// watch measures.
	watch *stopwatch.Watch
}

// hangs runs commands side by side, each alone, and those that can be interrupted a second time with a Ctrl-C at the
// point where the server stops. The program is to be measured, and not the machine: what fails beside the others is repeated
// alone when they are over, and time that the machine gives to nobody here does not count.
func hangs(t *testing.T, wide int, runs []hangRun) {
	t.Helper()
	type attempt struct {
		name string
		fn   func(*testing.T) string
	}
	watch := stopwatch.New(t)
	defer watch.Stop()
	var first, again []attempt
	for _, r := range runs {
		r.watch = watch
		name := r.command.name + "/" + r.name
		first = append(first, attempt{name, r.ends})
		if r.command == hangCall || r.command == hangTools {
			first = append(first, attempt{name + "/interrupted", r.interrupted})
		}
	}
	var mu sync.Mutex
	sideBySide(wide, first, func(a attempt) {
		t.Run(a.name, func(t *testing.T) {
			if problem := a.fn(t); problem != "" {
				t.Log(problem)
				mu.Lock()
				defer mu.Unlock()
				again = append(again, a)
			}
		})
	})
	if most := len(first)/5 + 1; len(again) > most { // more are no accident, and would take minutes
		t.Errorf("%d of %d failed; the first %d are repeated", len(again), len(first), most)
		again = again[:most]
	}
	for _, a := range again {
		problem := "no attempt"
		for i := 1; problem != "" && i <= hangAgain; i++ {
			t.Run(fmt.Sprintf("%s/again-%d", a.name, i), func(t *testing.T) {
				if problem = a.fn(t); problem != "" {
					t.Log(problem)
				}
			})
		}
		if problem != "" {
			t.Errorf("%s, alone, %d times: %s", a.name, hangAgain, problem)
		}
	}
}

// sideBySide calls fn for all items, for at most wide at a time.
func sideBySide[T any](wide int, items []T, fn func(T)) {
	slots := make(chan struct{}, wide)
	var all sync.WaitGroup
	for _, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			fn(item)
		})
	}
	all.Wait()
}

// ends returns what is wrong with how and when the command ends, "" if nothing is.
func (r hangRun) ends(t *testing.T) (problem string) {
	t.Helper()
	target, _ := r.prepare(t)
	args, in := r.command.words(target)
	lap := r.watch.Lap()
	code, out, errOut := runHere(t.Context(), t, in, args...)
	took, clock := lap.Took(), lap.Clock()
	if r.after != nil {
		r.after(t)
	}
	if bound := r.limits + hangOverrun + hangClosing + raceAllowance; took > bound {
		problem += fmt.Sprintf("it took %s, %s by the clock, and the bound is %s\n", took, clock, bound)
	}
	if !slices.Contains(r.codes, code) {
		problem += fmt.Sprintf("exit code %d after %s, want %d\n", code, clock, r.codes)
	}
	if problem != "" {
		problem += out + errOut
	}
	return problem
}

// interrupted returns what is wrong with how the command ends after Ctrl-C where the server has stopped, "" if nothing is.
func (r hangRun) interrupted(t *testing.T) string {
	t.Helper()
	target, reached := r.prepare(t)
	args, in := r.command.words(target)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at *stopwatch.Lap
	ended := make(chan struct{})
	pressed := make(chan struct{})
	go func() {
		defer close(pressed)
		select {
		case <-reached:
			lap := r.watch.Lap()
			at = &lap
			cancel()
		case <-ended:
		}
	}()
	code, out, errOut := runHere(ctx, t, in, args...)
	close(ended)
	<-pressed
	took := time.Duration(0)
	if at != nil {
		took = at.Took()
	}
	if r.after != nil {
		r.after(t)
	}
	harmless := slices.Contains(r.codes, codeOK)
	switch {
	case at == nil && !harmless:
		return fmt.Sprintf("the server was never at the point: exit code %d\n%s%s", code, out, errOut)
	case took > hangHurry+raceAllowance:
		return fmt.Sprintf("it took %s after Ctrl-C\n%s%s", took, out, errOut)
	case code != codeInterrupted && (code != codeOK || !harmless):
		return fmt.Sprintf("exit code %d %s after Ctrl-C\n%s%s", code, took, out, errOut)
	}
	return ""
}

// overHTTP prepares a server. The template is not used itself.
func overHTTP(template *hangServer, target hangTarget) func(*testing.T) (hangTarget, <-chan struct{}) {
	return func(t *testing.T) (hangTarget, <-chan struct{}) {
		t.Helper()
		s := &hangServer{
			at: template.at, stall: template.stall, deafFrom: template.deafFrom, dropped: template.dropped,
			legacy: template.legacy, mute: template.mute,
		}
		target := target
		scheme := "http"
		if target.url != "" {
			scheme = target.url
		}
		target.url = scheme + "://" + s.start(t) + "/mcp"
		if s.legacy {
			target.transport = "sse"
		}
		return target, s.reached
	}
}

// hangPoint is a message with what comes of a server that stops there.
type hangPoint struct {
	at string
	// limit is what is used up there.
	limit time.Duration
	// harmless is set when the command goes on without the answer.
	harmless bool
}

// stalls returns the ways to stop that a command meets. Add and list go the way that tools goes, so they meet a choice.
func (c hangCommand) stalls() []stall {
	all := stalls()
	if c == hangAdd || c == hangList {
		return []stall{all[0], all[3], all[5]}
	}
	return all
}

// points returns where a command can meet silence.
func (c hangCommand) points() []hangPoint {
	points := []hangPoint{
		{"server/discover", acceptLimit, true},
		{"initialize", hangLimit, false},
		{"notifications/initialized", acceptLimit, true},
		{"tools/list", hangLimit, false},
		{"resume", hangLimit, false},
		{"DELETE", 0, true},
	}
	switch c {
	case hangCall:
		points = append(points, hangPoint{"tools/call", hangLimit, false})
	case hangDoctor, hangDrill:
		points = append(points,
			// session.reuse asks twice, protocol.ping once.
			hangPoint{"ping", 3 * hangLimit, false},
			hangPoint{"mcpctl/no-such-method", hangLimit, true})
	}
	return points
}

// httpRuns are the points of streamable HTTP.
func httpRuns() []hangRun {
	var runs []hangRun
	for _, c := range []hangCommand{hangCall, hangTools, hangAdd, hangList, hangDoctor, hangDrill} {
		for _, p := range c.points() {
			code := c.timedOut
			if p.harmless {
				code = codeOK
			}
			dropped := ""
			if p.at == "resume" {
				dropped = "tools/list"
				if c == hangCall {
					dropped = "tools/call"
				}
			}
			limit := p.limit
			switch {
			case c == hangDrill && p.at == "DELETE":
				limit += time.Second // the drill waits that long for the answer to its own
			case c == hangDrill && p.at == "ping":
				limit += 5 * time.Second // it kills the session, and asks that long whether it is dead
			case c == hangDrill && (p.at == "tools/list" || p.at == "resume"):
				limit += hangLimit // the request that shows the recovery
			}
			for _, how := range c.stalls() {
				runs = append(runs, hangRun{
					name: "http/" + p.at + "/" + how.name, command: c, limits: limit, codes: []int{code},
					prepare: overHTTP(&hangServer{at: p.at, stall: how, dropped: dropped}, hangTarget{}),
				})
			}
		}
		runs = append(runs, hangRun{
			name: "https/silent", command: c, limits: 2 * hangLimit, codes: []int{c.timedOut},
			prepare: overHTTP(&hangServer{deafFrom: 1}, hangTarget{url: "https"}),
		}, hangRun{
			name: "http/never reads", command: c, limits: hangLimit, codes: []int{c.timedOut},
			prepare: overHTTP(&hangServer{deafFrom: 1}, hangTarget{}),
		})
	}
	return append(runs, refusalRuns()...)
}

// refusalRuns are refusals and redirects whose body does not end. The status is known, so it counts.
func refusalRuns() []hangRun {
	var runs []hangRun
	add := func(c hangCommand, at string, how stall, limits time.Duration, codes ...int) {
		runs = append(runs, hangRun{
			name: "http/" + at + "/" + how.name, command: c, limits: limits, codes: codes,
			prepare: overHTTP(&hangServer{at: at, stall: how}, hangTarget{}),
		})
	}
	for _, c := range []hangCommand{hangCall, hangTools} {
		add(c, "initialize", failing(500, ""), hangLimit, codeConnect)
		add(c, "initialize", failing(404, ""), hangLimit, codeConnect)
		add(c, "initialize", failing(401, ""), hangLimit, codeAuth)
		add(c, "initialize", failing(307, "Location: "+elsewhere+"\r\n"), 0, codeOK)
		add(c, "notifications/initialized", failing(401, ""), hangLimit, codeAuth, codeOK)
		add(c, "tools/list", failing(500, ""), hangLimit, codeConnect)
		add(c, "tools/list", failing(404, ""), 2*hangLimit, codeConnect)
		add(c, "tools/list", failing(401, ""), hangLimit, codeAuth)
		add(c, "DELETE", failing(500, ""), 0, codeOK)
	}
	add(hangCall, "tools/call", failing(500, ""), hangLimit, codeUnknownOutcome)
	add(hangCall, "tools/call", failing(404, ""), 2*hangLimit, codeConnect)
	add(hangCall, "tools/call", failing(401, ""), hangLimit, codeAuth)
	// The connections that are not read: the requests come in this order, each on its own.
	for i, at := range []string{"initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"} {
		code, limits := codeTimeout, hangLimit
		switch at {
		case "notifications/initialized":
			limits += acceptLimit // and then tools/list
		case "DELETE":
			code, limits = codeOK, 0
		}
		runs = append(runs, hangRun{
			name: "http/" + at + "/never read", command: hangCall, limits: limits, codes: []int{code},
			prepare: overHTTP(&hangServer{deafFrom: i + 2}, hangTarget{}),
		})
	}
	return runs
}

// legacyRuns are the points of the older HTTP with SSE transport.
func legacyRuns() []hangRun {
	var runs []hangRun
	for _, c := range []hangCommand{hangCall, hangTools, hangAdd, hangList, hangDoctor, hangDrill} {
		for _, how := range stalls() {
			if how.name == "no body" || how.name == "half the body" {
				continue // the answer is JSON, which is refused at once
			}
			runs = append(runs, hangRun{
				name: "sse/listen/" + how.name, command: c, limits: hangLimit, codes: []int{c.timedOut},
				prepare: overHTTP(&hangServer{legacy: true, at: "listen", stall: how}, hangTarget{}),
			})
		}
		for _, p := range c.points() {
			if p.at == "server/discover" || p.at == "resume" || p.at == "DELETE" {
				continue
			}
			code := c.timedOut
			if p.harmless {
				code = codeOK
			}
			if p.at != "notifications/initialized" {
				if c == hangDrill && p.at == "tools/list" {
					p.limit += hangLimit
				}
				runs = append(runs, hangRun{
					name: "sse/" + p.at + "/accepted and not answered", command: c, limits: p.limit, codes: []int{code},
					prepare: overHTTP(&hangServer{legacy: true, mute: p.at}, hangTarget{}),
				})
			}
			for _, how := range stalls()[:4] {
				codes := []int{code}
				if how.accepts {
					codes = []int{codeOK} // it was accepted, and answered on the stream
				}
				runs = append(runs, hangRun{
					name: "sse/" + p.at + "/POST " + how.name, command: c, limits: p.limit, codes: codes,
					prepare: overHTTP(&hangServer{legacy: true, at: p.at, stall: how}, hangTarget{}),
				})
			}
		}
	}
	return runs
}

// largeArgument writes a file whose text fits into no buffer of the system's.
func largeArgument(t *testing.T, size int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "large.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("large ", size/6)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTL07NoCommandOutlivesItsLimit is the matrix.
func TestTL07NoCommandOutlivesItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for many limits")
	}
	defer goleak.VerifyNone(t)
	runs := slices.Concat(httpRuns(), legacyRuns(), stdioRuns())
	const large = 400 << 10 // more than the system takes for a connection whose other end has a small buffer
	runs = append(runs, hangRun{
		name: "http/tools/call/large and never read", command: hangCall, limits: hangLimit, codes: []int{codeTimeout},
		prepare: overHTTP(&hangServer{deafFrom: 5}, hangTarget{argument: largeArgument(t, large)}),
	})
	// Mixed, so that those that are work do not come all at once. Always in the same way.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	hangs(t, hangWide*runtime.NumCPU(), runs)
	hangs(t, 1, greedyRuns())
}
