package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// asked is what a server asked, in its order.
type asked struct {
	mu   sync.Mutex
	list []Question
}

func (a *asked) add(q Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, q)
}

func (a *asked) all() []Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Question(nil), a.list...)
}

// says returns a function that answers with raw, and notes what was asked.
func (a *asked) says(raw string) func(context.Context, Question) (json.RawMessage, error) {
	return func(_ context.Context, q Question) (json.RawMessage, error) {
		a.add(q)
		return json.RawMessage(raw), nil
	}
}

// answers accepts, completes and lists.
func (a *asked) answers() Answers {
	return Answers{
		Elicit: a.says(`{"action":"accept","content":{"name":"Ada","colour":"blue","cups":3,"early":true}}`),
		Sample: a.says(`{"role":"assistant","model":"toy","content":{"type":"text","text":"short"}}`),
		Roots:  a.says(`{"roots":[{"uri":"file:///tmp","name":"tmp"}]}`),
	}
}

// demoEntries are the demonstration server on all ways it can be reached.
func demoEntries(t *testing.T) map[string]config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := func(protocol string) config.Server {
		return config.Server{Name: "demo", Command: exe, Args: []string{"demo"}, Transport: config.TransportStdio, Protocol: protocol}
	}
	over := func(stateless bool) config.Server {
		s, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{Stateless: stateless})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return config.Server{Name: "demo", URL: s.URL(), Transport: config.TransportHTTP}
	}
	older := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return demo.NewServer(demo.Options{}) }, nil)
	sse := httptest.NewServer(older)
	t.Cleanup(func() { sse.CloseClientConnections(); sse.Close() })
	return map[string]config.Server{
		"legacy stdio": child("2025-11-25"), "modern stdio": child("2026-07-28"),
		"legacy HTTP": over(false), "modern HTTP": over(true),
		"SSE": {Name: "demo", URL: sse.URL, Transport: config.TransportSSE},
	}
}

// callTool calls a tool of a supervised server, and returns the text of the result.
func callTool(ctx context.Context, t *testing.T, s *Supervisor, tool, arguments string) (string, error) {
	t.Helper()
	var result json.RawMessage
	err := s.Do(ctx, Request{Name: "tools/call"}, func(ctx context.Context, sess *Session) (err error) {
		result, err = sess.Raw(ctx, "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(arguments)})
		return err
	})
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("result %s: %v", result, err)
	}
	return r.Content[0].Text, nil
}

// TestServersAreAnswered shows that a server gets what it asks for on every transport and in both eras, and that what it
// asks arrives as it was sent: with the order of the properties.
func TestServersAreAnswered(t *testing.T) {
	t.Parallel()
	for name, entry := range demoEntries(t) {
		t.Run(name, func(t *testing.T) {
			a := &asked{}
			s := NewSupervisor(&Dialer{Answers: a.answers()}, entry)
			defer func() { _ = s.Close() }()
			for _, c := range []struct{ tool, arguments, want string }{
				{"ask", `{}`, `answered with accept: {"colour":"blue","cups":3,"early":true,"name":"Ada"}`},
				{"summarize", `{"text":"long"}`, "toy: short"},
				{"roots", `{}`, "file:///tmp tmp"},
			} {
				got, err := callTool(t.Context(), t, s, c.tool, c.arguments)
				if err != nil || got != c.want {
					t.Errorf("%s: %q, %v", c.tool, got, err)
				}
			}
			list := a.all()
			if len(list) != 3 {
				t.Fatalf("asked %d times", len(list))
			}
			form := string(list[0].Params)
			if i, j := strings.Index(form, `"name"`), strings.Index(form, `"colour"`); i < 0 || i > j {
				t.Errorf("the properties are not in their order: %s", form)
			}
			if q := list[1]; q.Method != MethodSample || q.Server != "demo" || q.Idle || !strings.Contains(string(q.Params), `"maxTokens":100`) {
				t.Errorf("asked %+v %s", q, q.Params)
			}
		})
	}
}

// TestNothingIsAnnouncedThatIsNotOffered shows that a server is told exactly of what it may ask.
func TestNothingIsAnnouncedThatIsNotOffered(t *testing.T) {
	t.Parallel()
	a := &asked{}
	for name, entry := range demoEntries(t) {
		t.Run(name, func(t *testing.T) {
			s := NewSupervisor(&Dialer{Answers: Answers{Sample: a.says(`{"role":"assistant","model":"toy","content":{"type":"text","text":"x"}}`)}}, entry)
			defer func() { _ = s.Close() }()
			for tool, want := range map[string]string{"ask": "elicitation", "summarize": "toy: x", "roots": "does not offer"} {
				got, err := callTool(t.Context(), t, s, tool, `{"text":"x"}`)
				if tool != "summarize" {
					got, err = callTool(t.Context(), t, s, tool, `{}`)
				}
				if err != nil || !strings.Contains(got, want) {
					t.Errorf("%s: %q, %v", tool, got, err)
				}
			}
		})
	}
}

// newAsker serves tools over HTTP with sessions.
func newAsker(t *testing.T, tools map[string]mcp.ToolHandler) (config.Server, *mcp.Server) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	for name, handler := range tools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return config.Server{Name: "asker", URL: h.URL, Transport: config.TransportHTTP}, server
}

func told(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// formOf is a question for a number with many digits.
func formOf(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"number","maximum":12345678901234567890,"vendor":"<&>"}}}`)}
}

// TestOP09QuestionsOnTheStreamOfTheSession shows that a question which does not come with the answer to a call is answered,
// that the call waits for the stream on which it comes, and that both arrive digit for digit.
func TestOP09QuestionsOnTheStreamOfTheSession(t *testing.T) {
	t.Parallel()
	entry, _ := newAsker(t, map[string]mcp.ToolHandler{
		"ask": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			apart, cancel := context.WithTimeout(t.Context(), 10*time.Second) // apart from the call
			defer cancel()
			got, err := req.Session.Elicit(apart, formOf("apart"))
			if err != nil {
				return nil, err
			}
			return told(fmt.Sprint(got.Action, " ", got.Content["s"])), ctx.Err()
		},
	})
	for range 5 { // the stream and the call race anew each time
		a := &asked{}
		s := NewSupervisor(&Dialer{Answers: Answers{Elicit: a.says(`{"action":"accept","content":{"s":"<b>"}}`)}}, entry)
		got, err := callTool(t.Context(), t, s, "ask", `{}`)
		_ = s.Close()
		if err != nil || got != "accept <b>" {
			t.Fatalf("%q, %v", got, err)
		}
		if q := a.all()[0]; !strings.Contains(string(q.Params), "12345678901234567890") {
			t.Errorf("asked %s", q.Params)
		}
	}
}

// TestOP09NoStreamWithoutNeed shows that a client that can be asked nothing opens no stream, nor one that is told not to.
func TestOP09NoStreamWithoutNeed(t *testing.T) {
	t.Parallel()
	a := &asked{}
	for _, c := range []struct {
		d    *Dialer
		want int
	}{
		{&Dialer{}, 0},
		{&Dialer{Answers: a.answers()}, 1},
		{&Dialer{Answers: a.answers(), Listen: ListenNever}, 0},
		{&Dialer{Listen: ListenAlways}, 1},
	} {
		n := newNewsroom(t, false)
		s := NewSupervisor(c.d, config.Server{Name: "news", URL: n.URL, Transport: config.TransportHTTP})
		_ = s.Do(t.Context(), Request{Name: "resources/read", Repeatable: true}, func(ctx context.Context, sess *Session) error {
			_, err := sess.Raw(ctx, "resources/read", map[string]string{"uri": "news://today"})
			return err // there is nothing to read
		})
		_ = s.Close()
		n.mu.Lock()
		if n.streams != c.want {
			t.Errorf("%d streams, want %d", n.streams, c.want)
		}
		n.mu.Unlock()
	}
}

// TestOP09SilentStream shows that a call does not wait for long for a stream that does not open.
func TestOP09SilentStream(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	inner, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		forward(w, r, inner.URL())
	}))
	defer h.Close()
	defer close(over)
	a := &asked{}
	s := NewSupervisor(&Dialer{Answers: a.answers()}, config.Server{Name: "s", URL: h.URL, Transport: config.TransportHTTP})
	defer func() { _ = s.Close() }()
	lap := stopwatch.Start(t)
	if got, err := callTool(t.Context(), t, s, "echo", `{"message":"hi"}`); err != nil || got != "hi" {
		t.Errorf("%q, %v", got, err)
	}
	if took := lap.End(); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// forward sends a request on to another server, and its answer back.
func forward(w http.ResponseWriter, r *http.Request, target string) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, target, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header = r.Header.Clone()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// TestQuestionsThatAreNotAnswered shows what a server hears: that a method is not known when it was not offered, the code of
// an error, and its text.
func TestQuestionsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	refused := &asked{}
	entry, _ := newAsker(t, map[string]mcp.ToolHandler{
		"roots": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers have it until 2027 at least
			return told(code(err)), nil
		},
		"sample": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{}) //nolint:staticcheck // likewise
			return told(code(err)), nil
		},
		"elicit": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.Elicit(ctx, formOf("x"))
			return told(code(err)), nil
		},
	})
	s := NewSupervisor(&Dialer{Answers: Answers{
		Elicit: func(context.Context, Question) (json.RawMessage, error) {
			return nil, &RPCError{Code: jsonrpc.CodeInvalidParams, Message: "no form"}
		},
		Sample:  func(context.Context, Question) (json.RawMessage, error) { return nil, errors.New("no model") },
		Refused: func(q Question) { refused.add(q) },
	}}, entry)
	defer func() { _ = s.Close() }()
	for tool, want := range map[string]string{"roots": "-32601", "sample": "-32603 no model", "elicit": "-32602 no form"} {
		got, err := callTool(t.Context(), t, s, tool, `{}`)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v, want %q", tool, got, err, want)
		}
	}
	if list := refused.all(); len(list) != 1 || list[0].Method != MethodRoots {
		t.Errorf("refused %+v", list)
	}
}

// code is a JSON-RPC error in short.
func code(err error) string {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		return fmt.Sprint("no error: ", err)
	}
	return fmt.Sprintf("%d %s", rpc.Code, rpc.Message)
}

// TestQuestionsEndWithTheirCall shows that a question is taken back when the server cancels it, when the call it came with
// is over, and when the caller gives the call up.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	t.Parallel()
	entry, _ := newAsker(t, map[string]mcp.ToolHandler{
		"changes-its-mind": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, err := req.Session.Elicit(short, formOf("x"))
			return told(fmt.Sprint(errors.Is(err, context.DeadlineExceeded))), nil
		},
		"does-not-wait": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ready := make(chan struct{})
			go func() {
				close(ready)
				_, _ = req.Session.Elicit(context.WithoutCancel(ctx), formOf("x"))
			}()
			<-ready
			time.Sleep(100 * time.Millisecond) // the question is to be on its way
			return told("done"), nil
		},
		"waits": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.Elicit(ctx, formOf("x"))
			return told(fmt.Sprint(err)), nil
		},
	})
	for _, tool := range []string{"changes-its-mind", "does-not-wait", "waits"} {
		t.Run(tool, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			gone := make(chan struct{})
			s := NewSupervisor(&Dialer{Answers: Answers{Elicit: func(ask context.Context, q Question) (json.RawMessage, error) {
				answering, done := q.ByPerson(ask)
				defer done()
				if tool == "waits" {
					cancel()
				}
				<-answering.Done()
				close(gone)
				return nil, context.Cause(answering)
			}}}, entry)
			defer func() { _ = s.Close() }()
			_, err := callTool(ctx, t, s, tool, `{}`)
			if tool == "waits" && ClassOf(err) != ClassInterrupted || tool != "waits" && err != nil {
				t.Errorf("err = %v", err)
			}
			select {
			case <-gone:
			case <-time.After(10 * time.Second):
				t.Error("the question stands")
			}
		})
	}
}

// TestLimitsStandStillWhileAPersonAnswers shows that a person may take longer than the limit of the request, in both eras,
// and that the limit goes on afterwards; a program may not.
func TestLimitsStandStillWhileAPersonAnswers(t *testing.T) {
	t.Parallel()
	const limit = time.Second // the least there is
	for name, entry := range demoEntries(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry.Timeout = limit
			for _, person := range []bool{true, false} {
				s := NewSupervisor(&Dialer{Answers: Answers{Elicit: func(ctx context.Context, q Question) (json.RawMessage, error) {
					if person {
						var done context.CancelFunc
						ctx, done = q.ByPerson(ctx)
						defer done()
					}
					select {
					case <-time.After(2 * limit):
						return json.RawMessage(`{"action":"decline"}`), nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}}}, entry)
				got, err := callTool(t.Context(), t, s, "ask", `{}`)
				if person && (err != nil || got != "answered with decline") {
					t.Errorf("a person: %q, %v", got, err)
				}
				if !person && ClassOf(err) != ClassTimeout {
					t.Errorf("a program: %q, %v", got, err)
				}
				if person {
					if _, err := callTool(t.Context(), t, s, "slow", `{"seconds":5}`); err != nil && ClassOf(err) != ClassTimeout {
						t.Errorf("afterwards: %v", err)
					}
				}
				_ = s.Close()
			}
		})
	}
}

// modern is a server of the modern era by hand, which answers each request with what next returns.
func modern(t *testing.T, next func(n int, params map[string]json.RawMessage, r *http.Request) string) config.Server {
	t.Helper()
	var mu sync.Mutex
	n := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params map[string]json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}`
		if rounds[m.Method] {
			mu.Lock()
			n++
			result = next(n, m.Params, r)
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(h.Close)
	return config.Server{Name: "modern", URL: h.URL, Transport: config.TransportHTTP}
}

// TestRequestStateComesBackAsItWas shows that a request is made again with the answers, with the state byte for byte, with
// its own parameters, and with a progress token; and without a state when there was none.
func TestRequestStateComesBackAsItWas(t *testing.T) {
	t.Parallel()
	const state = `"<opaque & \u00e9\ud800 \/ 1e400>"`
	for method, params := range map[string]string{
		"tools/call":     `{"name":"t","arguments":{"n":12345678901234567890,"s":"<&>"}}`,
		"prompts/get":    `{"name":"p","arguments":{"a":"<&>"}}`,
		"resources/read": `{"uri":"x://<&>"}`,
	} {
		t.Run(method, func(t *testing.T) {
			a := &asked{}
			var seen []map[string]json.RawMessage
			entry := modern(t, func(n int, params map[string]json.RawMessage, _ *http.Request) string {
				seen = append(seen, params)
				switch n {
				case 1:
					return `{"resultType":"input_required","requestState":` + state + `,"inputRequests":{"b":{"method":"roots/list"},` +
						`"a":{"method":"elicitation/create","params":{"message":"x","n":12345678901234567890}}}}`
				case 2:
					return `{"resultType":"input_required","inputRequests":{"c":{"method":"elicitation/create","params":{}}}}`
				case 3:
					return `{"resultType":"input_required","requestState":"later"}`
				}
				return `{"resultType":"complete","content":[],"messages":[],"contents":[],"vendor":9007199254740993}`
			})
			sess, err := (&Dialer{Answers: a.answers()}).Dial(t.Context(), entry)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sess.Close() }()
			result, err := sess.Raw(t.Context(), method, json.RawMessage(params))
			if err != nil || !strings.Contains(string(result), "9007199254740993") {
				t.Fatalf("%s, %v", result, err)
			}
			if len(seen) != 4 {
				t.Fatalf("%d requests", len(seen))
			}
			var own map[string]json.RawMessage
			_ = json.Unmarshal([]byte(params), &own)
			for i, got := range seen {
				for key, value := range own {
					if !bytes.Equal(got[key], value) {
						t.Errorf("request %d: %s is %s", i, key, got[key])
					}
				}
				if !strings.Contains(string(got["_meta"]), `"progressToken"`) {
					t.Errorf("request %d: no progress token", i)
				}
				if !strings.Contains(string(got["_meta"]), `"elicitation":{"form":{},"url":{}}`) {
					t.Errorf("request %d: capabilities %s", i, got["_meta"])
				}
			}
			if string(seen[1]["requestState"]) != state {
				t.Errorf("state %s", seen[1]["requestState"])
			}
			var responses map[string]json.RawMessage
			_ = json.Unmarshal(seen[1]["inputResponses"], &responses)
			if !strings.Contains(string(responses["a"]), `"accept"`) || !strings.Contains(string(responses["b"]), `"roots"`) || len(responses) != 2 {
				t.Errorf("responses %s", seen[1]["inputResponses"])
			}
			if seen[2]["requestState"] != nil || !strings.Contains(string(seen[2]["inputResponses"]), `"c"`) {
				t.Errorf("third request %s %s", seen[2]["requestState"], seen[2]["inputResponses"])
			}
			if string(seen[3]["requestState"]) != `"later"` || seen[3]["inputResponses"] != nil {
				t.Errorf("fourth request %s %s", seen[3]["requestState"], seen[3]["inputResponses"])
			}
			if q := a.all(); len(q) != 3 || !q[0].Again || !strings.Contains(string(q[0].Params), "12345678901234567890") {
				t.Errorf("asked %+v", q)
			}
		})
	}
}

// TestServersThatNeverFinishAsking shows that the rounds are bounded, and what is said of questions that cannot be answered.
func TestServersThatNeverFinishAsking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result string
		class  Class
		want   string
		times  int
	}{
		"asks on":     {`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}`, ClassProtocol, "asked for input 10 times", mostRounds},
		"not offered": {`{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}`, ClassProtocol, "was not offered", 1},
		"unknown":     {`{"resultType":"input_required","inputRequests":{"a":{"method":"ping"}}}`, ClassProtocol, "was not offered", 1},
		"no request":  {`{"resultType":"input_required","inputRequests":{"a":7}}`, ClassProtocol, "cannot be read", 1},
		"no object":   {`{"resultType":"input_required","inputRequests":[7]}`, ClassProtocol, "cannot be read", 1},
		"nothing":     {`{"resultType":"input_required","content":[]}`, ClassProtocol, "neither inputRequests nor requestState", 1},
		"fails":       {`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`, ClassAnswered, "no roots today", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, times := &asked{}, 0
			entry := modern(t, func(n int, _ map[string]json.RawMessage, _ *http.Request) string {
				times = n
				return c.result
			})
			s := NewSupervisor(&Dialer{Answers: Answers{
				Elicit: a.says(`{"action":"decline"}`),
				Roots:  func(context.Context, Question) (json.RawMessage, error) { return nil, errors.New("no roots today") },
			}}, entry)
			defer func() { _ = s.Close() }()
			_, err := callTool(t.Context(), t, s, "t", `{}`)
			var e *Error
			if !errors.As(err, &e) || e.Class != c.class || !strings.Contains(e.Message, c.want) || e.Outcome != OutcomeRefused || e.Retryable {
				t.Errorf("err = %+v", e)
			}
			if times != c.times {
				t.Errorf("%d requests", times)
			}
		})
	}
}

// TestARepetitionIsNotMadeEasierByQuestions shows that a call that breaks after it was answered with questions is as unknown
// as any.
func TestARepetitionIsNotMadeEasierByQuestions(t *testing.T) {
	t.Parallel()
	a, times := &asked{}, 0
	entry := modern(t, func(n int, _ map[string]json.RawMessage, _ *http.Request) string {
		if times = n; n == 1 {
			return `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}`
		}
		panic(http.ErrAbortHandler)
	})
	s := NewSupervisor(&Dialer{Answers: a.answers()}, entry)
	defer func() { _ = s.Close() }()
	_, err := callTool(t.Context(), t, s, "t", `{}`)
	if ClassOf(err) != ClassUnknownOutcome || times != 2 {
		t.Errorf("err = %v after %d requests", err, times)
	}
}

// TestCompletionOfAPageIsHeard shows that a server's word that a page is done is heard, also by one who asks later.
func TestCompletionOfAPageIsHeard(t *testing.T) {
	t.Parallel()
	entry, _ := newAsker(t, map[string]mcp.ToolHandler{
		"page": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "url", Message: "x", URL: "https://example.com/", ElicitationID: "e1"})
			if err != nil {
				return nil, err
			}
			return told(got.Action), nil
		},
	})
	d := &Dialer{Answers: Answers{Elicit: (&asked{}).says(`{"action":"accept"}`)}}
	s := NewSupervisor(d, entry)
	defer func() { _ = s.Close() }()
	if got, err := callTool(t.Context(), t, s, "page", `{}`); err != nil || got != "accept" {
		t.Fatalf("%q, %v", got, err)
	}
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := d.Completed("asker", "e1")
	sess.hear(elicitationComplete, json.RawMessage(`{"elicitationId":"e1"}`))
	for _, ch := range []<-chan struct{}{before, d.Completed("asker", "e1")} {
		select {
		case <-ch:
		default:
			t.Error("it is not complete")
		}
	}
	select {
	case <-d.Completed("other", "e1"):
		t.Error("another server's is complete")
	default:
	}
}
