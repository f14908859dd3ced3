package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect opens a session as a client would, and closes it when the test ends.
func connect(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// inMemory opens a session with a new server.
func inMemory(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	clientSide, serverSide := mcp.NewInMemoryTransports()
	serving, err := NewServer(Options{Version: "1.2.3"}).Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	session := connect(t, clientSide, o)
	t.Cleanup(func() {
		_ = session.Close()
		_ = serving.Wait()
	})
	return session
}

// call calls a tool; arguments are JSON text.
func call(t *testing.T, s *mcp.ClientSession, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return result
}

// startSlow calls slow for ten minutes, on a session opened by open, and returns when the call is running. How it
// ends, which must not be with success, arrives on ended.
func startSlow(t *testing.T, open func(*mcp.ClientOptions) *mcp.ClientSession) (s *mcp.ClientSession, ended <-chan error) {
	t.Helper()
	running := make(chan struct{}, slowMax)
	s = open(&mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { running <- struct{}{} },
		// Opens a stream for notifications in the new era of HTTP; in the old one there is one always.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	how := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "slow", Arguments: json.RawMessage(`{"seconds":600}`)}
		params.SetProgressToken("slow")
		result, err := s.CallTool(t.Context(), params)
		if err == nil && result.IsError { // the answer was on its way before the session ended
			err = errors.New("tool error")
		}
		how <- err
	}()
	select {
	case <-running:
	case err := <-how:
		t.Fatalf("slow ended with %v", err)
	}
	return s, how
}

// wantFailure waits for the end of a call.
func wantFailure(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the call succeeded")
		}
	case <-time.After(5 * time.Second):
		t.Error("the call goes on")
	}
}

// text returns the text of a result that has one block of text and nothing else.
func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks of content, want 1", len(r.Content))
	}
	block, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is a %T, want text", r.Content[0])
	}
	return block.Text
}

func TestServerIntroducesItself(t *testing.T) {
	s := inMemory(t, nil)
	got := s.InitializeResult()
	if got.ServerInfo.Name != "mcpctl-demo" || got.ServerInfo.Version != "1.2.3" || got.ServerInfo.Title == "" {
		t.Errorf("server info %+v", got.ServerInfo)
	}
	if got.Instructions == "" {
		t.Error("no instructions")
	}
	c := got.Capabilities
	if c.Tools == nil || c.Resources == nil || c.Prompts == nil || c.Completions == nil {
		t.Errorf("capabilities %+v", c)
	}
}

func TestToolsAreAnnotatedTruthfullyAndDescribed(t *testing.T) {
	s := inMemory(t, nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if changes := tool.Name == "note"; a.ReadOnlyHint == changes || a.IdempotentHint == changes {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: destructive or open to the world", tool.Name)
		}
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s: title %q, description %q", tool.Name, tool.Title, tool.Description)
		}
		if (tool.OutputSchema != nil) != (tool.Name == "weather") {
			t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
		}
		schema, ok := tool.InputSchema.(map[string]any)
		if !ok {
			t.Fatalf("%s: input schema is a %T", tool.Name, tool.InputSchema)
		}
		properties, _ := schema["properties"].(map[string]any) // none for tools without arguments
		for name, property := range properties {
			if p, ok := property.(map[string]any); !ok || p["description"] == nil {
				t.Errorf("%s: argument %s has no description", tool.Name, name)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"add", "ask", "echo", "fail", "note", "picture", "roots", "slow", "summarize", "weather"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
}

func TestEchoReturnsTheMessage(t *testing.T) {
	s := inMemory(t, nil)
	for _, message := range []string{"hi", "", "line\nline", "żółw \u0000 \u2028"} {
		arguments, err := json.Marshal(map[string]string{"message": message})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, call(t, s, "echo", string(arguments))); got != message {
			t.Errorf("echo %q returned %q", message, got)
		}
	}
}

func TestAddIsExact(t *testing.T) {
	s := inMemory(t, nil)
	for _, c := range []struct{ a, b, want string }{
		{"2", "3", "5"},
		{"0.1", "0.2", "0.3"},
		{"-1.5", "1.5", "0"},
		{"2.50", "0", "2.5"},
		{"9007199254740993", "1", "9007199254740994"},
		{"123456789012345678901234567890", "1", "123456789012345678901234567891"},
		{"1e3", "1E-3", "1000.001"},
		{"-0", "0", "0"},
	} {
		if got := text(t, call(t, s, "add", `{"a":`+c.a+`,"b":`+c.b+`}`)); got != c.want {
			t.Errorf("%s + %s = %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// FuzzExactNumber shows that no number makes the server compute for long or panic, and that what it takes it keeps.
func FuzzExactNumber(f *testing.F) {
	for _, seed := range []string{"1", "-0.5", "1e400", "1e-999999999", "", "0x1p4", "1/3", "1_000", "1e", "Inf", ".5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		r, err := exactNumber(json.Number(literal))
		if err != nil || !json.Valid([]byte(literal)) { // others do not reach it
			return
		}
		again, err := exactNumber(json.Number(decimal(r)))
		if err == nil && again.Cmp(r) != 0 {
			t.Errorf("%s became %s", literal, decimal(r))
		}
	})
}

func TestBadArgumentsAreToolErrors(t *testing.T) {
	s := inMemory(t, nil)
	for _, c := range []struct{ tool, arguments, want string }{
		{"echo", `{}`, "message"},
		{"echo", `{"message":1}`, "message"},
		{"echo", `{"message":"hi","x":1}`, "x"},
		{"add", `{"a":1}`, "b"},
		{"add", `{"a":"1","b":2}`, "a"},
		{"add", `{"a":1e-999999999,"b":1}`, "exponents beyond 400"},
		{"add", `{"a":0.` + strings.Repeat("0", 2000) + `1,"b":1}`, "at most 1000"},
		{"slow", `{"seconds":-1}`, "seconds"},
		{"slow", `{"seconds":601}`, "seconds"},
		{"weather", `{"city":" "}`, "city is empty"},
		{"note", `{"text":""}`, "text is empty"},
		{"note", `{"text":"` + strings.Repeat("x", maxNoteSize+1) + `"}`, "at most 10000"},
	} {
		r := call(t, s, c.tool, c.arguments)
		if got := text(t, r); !r.IsError || !strings.Contains(got, c.want) {
			t.Errorf("%s %.60s: error %t, %q, want an error with %q", c.tool, c.arguments, r.IsError, got, c.want)
		}
	}
}

func TestFailFails(t *testing.T) {
	r := call(t, inMemory(t, nil), "fail", `{}`)
	if !r.IsError || !strings.Contains(text(t, r), "always fails") {
		t.Errorf("error %t, %q", r.IsError, text(t, r))
	}
}

func TestWeatherIsStructuredAndDeterministic(t *testing.T) {
	s := inMemory(t, nil)
	r := call(t, s, "weather", `{"city":"Paris"}`)
	got, ok := r.StructuredContent.(map[string]any)
	if !ok || got["city"] != "Paris" || got["conditions"] == "" {
		t.Errorf("structured content %v", r.StructuredContent)
	}
	var fromText map[string]any
	if err := json.Unmarshal([]byte(text(t, r)), &fromText); err != nil || fromText["temperature"] != got["temperature"] {
		t.Errorf("text %q does not repeat the structured content: %v", text(t, r), err)
	}
	if again := text(t, call(t, s, "weather", `{"city":"Paris"}`)); again != text(t, r) {
		t.Errorf("first %s, then %s", text(t, r), again)
	}
	if other := text(t, call(t, s, "weather", `{"city":"Oslo"}`)); strings.ReplaceAll(other, "Oslo", "Paris") == text(t, r) {
		t.Error("Oslo has the weather of Paris")
	}
}

func TestPictureIsAPicture(t *testing.T) {
	r := call(t, inMemory(t, nil), "picture", `{}`)
	block, ok := r.Content[0].(*mcp.ImageContent)
	if !ok || block.MIMEType != "image/png" {
		t.Fatalf("content %+v", r.Content[0])
	}
	img, err := png.Decode(bytes.NewReader(block.Data))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != pictureSize || b.Dy() != pictureSize {
		t.Errorf("picture of %v", b)
	}
}

func TestNotesCanBeReadAfterwards(t *testing.T) {
	s := inMemory(t, nil)
	for i, note := range []string{"first", "second"} {
		r := call(t, s, "note", `{"text":"`+note+`"}`)
		link, ok := r.Content[1].(*mcp.ResourceLink)
		if r.IsError || !ok {
			t.Fatalf("content %+v", r.Content)
		}
		if link.URI != noteURI(i+1) {
			t.Errorf("link to %s, want %s", link.URI, noteURI(i+1))
		}
		read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
		if err != nil {
			t.Fatal(err)
		}
		if c := read.Contents[0]; c.Text != note || c.URI != link.URI {
			t.Errorf("note %+v, want %q", c, note)
		}
	}
	for _, uri := range []string{noteURI(0), noteURI(3), noteURI(-1), "demo://notes/01", "demo://notes/+1", "demo://notes/x", "demo://other"} {
		_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		wantRPCError(t, err, jsonrpc.CodeInvalidParams)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var kept notes
	for range maxNotes {
		if _, err := kept.add("x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kept.add("x"); err == nil {
		t.Errorf("kept more than %d notes", maxNotes)
	}
}

func wantRPCError(t *testing.T, err error, code int64) {
	t.Helper()
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != code {
		t.Errorf("error %v, want a JSON-RPC error with code %d", err, code)
	}
}

func TestReadmeIsListedAndRead(t *testing.T) {
	s := inMemory(t, nil)
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	slices.Sort(uris)
	if want := []string{"demo://notes", "demo://picture", "demo://readme"}; !slices.Equal(uris, want) {
		t.Errorf("resources %v, want %v", uris, want)
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "demo://notes/{number}" {
		t.Errorf("templates %+v", templates.ResourceTemplates)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://readme"})
	if err != nil {
		t.Fatal(err)
	}
	if c := read.Contents[0]; c.Text != readme || c.MIMEType != "text/markdown" {
		t.Errorf("contents %+v", c)
	}
}

func TestGreetAsksForAGreeting(t *testing.T) {
	s := inMemory(t, nil)
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Prompts) != 2 || list.Prompts[0].Name != "greet" || list.Prompts[1].Name != "tour" {
		t.Fatalf("prompts %+v", list.Prompts)
	}
	for _, a := range list.Prompts[0].Arguments {
		if a.Required != (a.Name == "name") || a.Description == "" {
			t.Errorf("argument %+v", a)
		}
	}
	for _, c := range []struct{ style, want string }{{"", "warmly"}, {"pirate", "pirate ship"}} {
		got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{
			Name: "greet", Arguments: map[string]string{"name": "Ada", "style": c.style},
		})
		if err != nil {
			t.Fatal(err)
		}
		message, ok := got.Messages[0].Content.(*mcp.TextContent)
		if !ok || !strings.Contains(message.Text, "Ada") || !strings.Contains(message.Text, c.want) {
			t.Errorf("style %q: %+v", c.style, got.Messages[0])
		}
	}
	for _, arguments := range []map[string]string{nil, {"style": "formal"}, {"name": "Ada", "style": "rude"}} {
		_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: arguments})
		wantRPCError(t, err, jsonrpc.CodeInvalidParams)
	}
}

func TestCompletionMatchesPrefixes(t *testing.T) {
	s := inMemory(t, nil)
	for range 2 {
		call(t, s, "note", `{"text":"x"}`)
	}
	prompt := &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}
	template := &mcp.CompleteReference{Type: "ref/resource", URI: "demo://notes/{number}"}
	for _, c := range []struct {
		ref             *mcp.CompleteReference
		argument, value string
		want            string
	}{
		{prompt, "style", "", "brief formal friendly pirate poetic"},
		{prompt, "style", "P", "pirate poetic"},
		{prompt, "style", "pirates", ""},
		{prompt, "name", "a", "Ada Alan"},
		{template, "number", "", "1 2"},
		{template, "number", "2", "2"},
	} {
		got, err := s.Complete(t.Context(), &mcp.CompleteParams{
			Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.argument, Value: c.value},
		})
		if err != nil {
			t.Fatalf("%s %q: %v", c.argument, c.value, err)
		}
		if values := strings.Join(got.Completion.Values, " "); values != c.want || got.Completion.HasMore {
			t.Errorf("%s %q: %+v, want %s", c.argument, c.value, got.Completion, c.want)
		}
	}
	_, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: prompt, Argument: mcp.CompleteParamsArgument{Name: "other"}})
	wantRPCError(t, err, jsonrpc.CodeInvalidParams)
}

func TestCompletionIsCutAtTheLimitOfTheProtocol(t *testing.T) {
	var kept notes
	for range maxCompletions + 1 {
		if _, err := kept.add("x"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := completer(&kept)(t.Context(), &mcp.CompleteRequest{Params: &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: noteTemplate},
		Argument: mcp.CompleteParamsArgument{Name: "number"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Completion; len(c.Values) != maxCompletions || c.Total != maxCompletions+1 || !c.HasMore {
		t.Errorf("%d values of %d, more: %t", len(c.Values), c.Total, c.HasMore)
	}
}

// TestSlowTellsProgress runs in a bubble, where 3 s take no time.
func TestSlowTellsProgress(t *testing.T) {
	for _, c := range []struct {
		arguments, want string
		told            int
	}{
		{`{}`, "waited 3s", 10},
		{`{"seconds":0.5}`, "waited 500ms", 3},
		{`{"seconds":600}`, "waited 10m0s", 600},
		{`{"seconds":0}`, "waited 0s", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan *mcp.ProgressNotificationParams, 1000)
			s := inMemory(t, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					told <- r.Params
				},
			})
			params := &mcp.CallToolParams{Name: "slow", Arguments: json.RawMessage(c.arguments)}
			params.SetProgressToken("token")
			start := time.Now()
			r, err := s.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, r); got != c.want {
				t.Errorf("%s: %q, want %q", c.arguments, got, c.want)
			}
			synctest.Wait()
			close(told)
			n, last := 0, -1.0
			for p := range told {
				n++
				if p.ProgressToken != "token" || p.Message == "" || p.Progress <= last || p.Progress > p.Total {
					t.Errorf("%s: progress %+v after %v", c.arguments, p, last)
				}
				last = p.Progress
			}
			// The last step and the end come at the same moment, in either order.
			if n != c.told && n != c.told+1 {
				t.Errorf("%s: %d notifications in %s, want %d", c.arguments, n, time.Since(start), c.told)
			}
		})
	}
}

func TestSlowStopsWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		// Closing waits for the call to end on the server.
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestPanicOfAHandlerIsAnErrorOfTheRequest(t *testing.T) {
	server := NewServer(Options{})
	server.AddPrompt(&mcp.Prompt{Name: "bad"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		panic("oh")
	})
	clientSide, serverSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	s := connect(t, clientSide, nil)
	_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "bad"})
	wantRPCError(t, err, jsonrpc.CodeInternalError)
	if got := text(t, call(t, s, "echo", `{"message":"alive"}`)); got != "alive" {
		t.Errorf("echo after the panic: %q", got)
	}
}

// TestANewNoteIsTold shows that whoever has subscribed to the notes hears of each new one, and that they are all there.
func TestANewNoteIsTold(t *testing.T) {
	told := make(chan string, 10)
	clientSide, serverSide := mcp.NewInMemoryTransports()
	if _, err := NewServer(Options{}).Connect(t.Context(), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
	})
	// The era in which a subscription is answered: in the other one nobody knows when it begins.
	s, err := client.Connect(t.Context(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, uri := range []string{notesURI, noteURI(2)} {
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	for _, note := range []string{"first", "second"} {
		call(t, s, "note", `{"text":"`+note+`"}`)
	}
	var got []string
	for range 3 {
		select {
		case uri := <-told:
			got = append(got, uri)
		case <-time.After(5 * time.Second):
			t.Fatalf("only %v was told", got)
		}
	}
	slices.Sort(got)
	if want := []string{notesURI, notesURI, noteURI(2)}; !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: notesURI})
	if err != nil || len(read.Contents) != 2 || read.Contents[1].Text != "second" || read.Contents[1].URI != noteURI(2) {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestTourHasEveryKindOfContent names them.
func TestTourHasEveryKindOfContent(t *testing.T) {
	got, err := inMemory(t, nil).GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "tour"})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, m := range got.Messages {
		kinds[fmt.Sprintf("%s %T", m.Role, m.Content)] = true
	}
	for _, want := range []string{
		"user *mcp.TextContent", "assistant *mcp.TextContent", "assistant *mcp.EmbeddedResource", "user *mcp.ImageContent", "user *mcp.ResourceLink",
	} {
		if !kinds[want] {
			t.Errorf("no %s among %v", want, kinds)
		}
	}
}
