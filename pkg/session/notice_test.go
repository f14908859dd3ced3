package session

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// newsroom is a server of the official SDK's that tells of changes, and can be restarted behind one address.
type newsroom struct {
	*httptest.Server
	stateless bool

	mu      sync.Mutex
	server  *mcp.Server
	servers []*mcp.Server // all there have been
	handler http.Handler
	// refused is how many requests for the stream of notifications are answered with an error, streams how many of them
	// there have been; cut ends the one there is.
	refused int
	streams int
	cut     context.CancelFunc
	// subscribed counts the subscriptions, level is the log level that was asked for last.
	subscribed map[string]int
	level      string
}

func newNewsroom(t *testing.T, stateless bool) *newsroom {
	t.Helper()
	n := &newsroom{subscribed: map[string]int{}, stateless: stateless}
	n.restart()
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(func() {
		n.CloseClientConnections()
		n.Close()
		for _, server := range n.servers {
			for session := range server.Sessions() {
				_ = session.Close() // the forgotten ones, too: the SDK keeps a goroutine for each
			}
		}
	})
	return n
}

// restart forgets all sessions.
func (n *newsroom) restart() {
	server := mcp.NewServer(&mcp.Implementation{Name: "news", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.subscribed[req.Params.URI]++
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddResource(&mcp.Resource{URI: "news://today", Name: "today"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if p, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok { //nolint:staticcheck // servers of the legacy era have it
				n.mu.Lock()
				n.level = string(p.Level)
				n.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: n.stateless})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server, n.handler, n.servers = server, handler, append(n.servers, server)
}

func (n *newsroom) serve(w http.ResponseWriter, req *http.Request) {
	n.mu.Lock()
	handler := n.handler
	refuse := false
	if req.Method == http.MethodGet {
		refuse = n.refused > 0
		if refuse {
			n.refused--
		}
		var ctx context.Context
		ctx, n.cut = context.WithCancel(req.Context())
		req = req.WithContext(ctx)
		n.streams++
	}
	n.mu.Unlock()
	if refuse {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	handler.ServeHTTP(w, req)
}

func (n *newsroom) current() *mcp.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// updates tells subscribers of a change, and again until somebody has heard of it.
func (n *newsroom) updates(ctx context.Context, t *testing.T, heard <-chan Notification) json.RawMessage {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = n.current().ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "news://today"})
		select {
		case m := <-heard:
			if m.Method == "notifications/resources/updated" {
				return m.Params
			}
		case <-tick.C:
		case <-ctx.Done():
			t.Error("nobody heard of the change")
			return nil
		}
	}
}

// listener is a supervisor that is kept, and what it hears.
func (n *newsroom) listener(t *testing.T) (*Supervisor, <-chan Notification) {
	t.Helper()
	heard := make(chan Notification, 1000)
	s := NewSupervisor(&Dialer{OnNotification: func(_ string, n Notification) {
		select {
		case heard <- n:
		default:
		}
	}}, config.Server{Name: "news", URL: n.URL, Transport: config.TransportHTTP})
	t.Cleanup(func() { _ = s.Close() })
	s.Keep()
	return s, heard
}

// TestSE08SubscriptionsAreSetAgain shows that a fresh session has the subscriptions and the log level of the one before, in
// both eras, and that their notifications arrive.
func TestSE08SubscriptionsAreSetAgain(t *testing.T) {
	t.Parallel()
	for name, stateless := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			n := newNewsroom(t, stateless)
			s, heard := n.listener(t)
			if err := s.Subscribe(ctx, "news://today"); err != nil {
				t.Fatal(err)
			}
			if err := s.SetLogLevel(ctx, "warning"); err != nil {
				t.Fatal(err)
			}
			if params := n.updates(ctx, t, heard); !strings.Contains(string(params), "news://today") {
				t.Errorf("params %s", params)
			}
			n.restart()
			n.CloseClientConnections()
			n.mu.Lock()
			n.level = ""
			n.mu.Unlock()
			if _, err := list(ctx, s); err != nil {
				t.Fatal(err)
			}
			n.updates(ctx, t, heard)
			if !stateless {
				if st := s.Stats(); st.Handshakes != 2 || len(st.Info.Notes) != 0 {
					t.Errorf("%d handshakes, notes %v", st.Handshakes, st.Info.Notes)
				}
				n.mu.Lock()
				defer n.mu.Unlock()
				if n.subscribed["news://today"] != 2 || n.level != "warning" {
					t.Errorf("subscribed %v, level %q", n.subscribed, n.level)
				}
			}
		})
	}
}

// TestOP09StandaloneStream shows that the loss of the stream for notifications ends no session, and that it comes back,
// also after refusals.
func TestOP09StandaloneStream(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	n := newNewsroom(t, false)
	s, heard := n.listener(t)
	if err := s.Subscribe(ctx, "news://today"); err != nil {
		t.Fatal(err)
	}
	n.updates(ctx, t, heard)
	n.mu.Lock()
	n.refused = 1
	n.cut()
	n.mu.Unlock()
	streams := 1
	for streams < 3 && ctx.Err() == nil { // what was sent before the cut may still be heard
		n.updates(ctx, t, heard)
		n.mu.Lock()
		streams = n.streams
		n.mu.Unlock()
	}
	n.updates(ctx, t, heard)
	if st := s.Status(); streams != 3 || st.Generation != 1 || st.State != StateReady {
		t.Errorf("%d streams, %+v", streams, st)
	}
}

// TestOP09ForgottenSession shows that a session of which the stream's 404 tells is replaced, though nobody makes requests.
func TestOP09ForgottenSession(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	n := newNewsroom(t, false)
	s, heard := n.listener(t)
	events := s.Events(ctx)
	if err := s.Subscribe(ctx, "news://today"); err != nil {
		t.Fatal(err)
	}
	n.updates(ctx, t, heard)
	n.restart()
	n.CloseClientConnections()
	for e := range events {
		if e.Recovery != nil {
			if !strings.Contains(e.Recovery.Cause, "404") {
				t.Errorf("%+v", e.Recovery)
			}
			break
		}
	}
	n.updates(ctx, t, heard)
}

// TestOP09NoStream shows that a server that offers no stream of notifications works, whatever it answers.
func TestOP09NoStream(t *testing.T) {
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusNotAcceptable, http.StatusOK} {
		r := newRestartable(t)
		asked := make(chan struct{}, 10)
		r.handle = func(w http.ResponseWriter, req *http.Request, _ string) bool {
			if req.Method == http.MethodGet {
				asked <- struct{}{}
				w.WriteHeader(status)
				return true
			}
			return false
		}
		s := NewSupervisor(&Dialer{OnNotification: func(string, Notification) {}}, r.entry())
		s.Keep()
		if _, err := list(t.Context(), s); err != nil {
			t.Error(status, err)
		}
		<-asked
		if _, err := list(t.Context(), s); err != nil || s.Status().Generation != 1 || len(asked) != 0 {
			t.Errorf("%d: %v, %+v, asked %d more", status, err, s.Status(), len(asked))
		}
		_ = s.Close()
	}
}

// TestRC05ToolsOfTheRevived shows that a server that comes back has its tools again, without anybody asking, and that it is
// told when they are others.
func TestRC05ToolsOfTheRevived(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n := newNewsroom(t, false)
	tool := func(name string) {
		n.current().AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	names := func(l List) []string {
		var all []string
		for _, item := range l.Items {
			var t struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(item, &t)
			all = append(all, t.Name)
		}
		return all
	}
	tool("one")
	s, _ := n.listener(t)
	tools, err := s.Tools(ctx)
	if err != nil || !slices.Equal(names(tools), []string{"one"}) {
		t.Fatal(names(tools), err)
	}
	events := s.Events(ctx)
	changed := func() {
		t.Helper()
		for e := range events {
			if e.ToolsChanged {
				return
			}
		}
		t.Error("nobody was told")
	}
	tool("two") // while the session lasts: the server says so
	changed()
	if tools, err = s.Tools(ctx); err != nil || !slices.Equal(names(tools), []string{"one", "two"}) {
		t.Error(names(tools), err)
	}
	n.restart()
	tool("three")
	n.CloseClientConnections()
	changed()
	if tools, err = s.Tools(ctx); err != nil || !slices.Equal(names(tools), []string{"three"}) {
		t.Error(names(tools), err)
	}
}

// TestSE09RefusedSubscription shows that a subscription of the modern era is not taken for one before the server has
// accepted it, and that a busy server is asked again.
func TestSE09RefusedSubscription(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n := newNewsroom(t, true)
	s, heard := n.listener(t)
	refusals := make(chan int, 10)
	inner := n.Config.Handler
	n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Mcp-Method") == "subscriptions/listen" {
			select {
			case status := <-refusals:
				http.Error(w, "no", status)
				return
			default:
			}
		}
		inner.ServeHTTP(w, req)
	})
	refusals <- http.StatusForbidden
	if err := s.Subscribe(ctx, "news://today"); ClassOf(err) != ClassAuth {
		t.Errorf("refused: %v", err)
	}
	refusals <- http.StatusTooManyRequests
	if err := s.Subscribe(ctx, "news://today"); err != nil || len(refusals) != 0 {
		t.Errorf("busy at first: %v", err)
	}
	n.updates(ctx, t, heard)
	sess, err := s.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = sess.Close()
	if err := sess.Subscribe(ctx, "news://today"); err == nil {
		t.Error("a closed session has accepted a subscription")
	}
}

// TestSE08StreamsComeBack shows that the stream of a subscription of the modern era is opened again until it is there,
// also when the server was away for longer.
func TestSE08StreamsComeBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	n := newNewsroom(t, true)
	s, heard := n.listener(t)
	if err := s.Subscribe(ctx, "news://today"); err != nil {
		t.Fatal(err)
	}
	n.updates(ctx, t, heard)
	refused := make(chan struct{}, 10)
	inner := n.Config.Handler
	n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case refused <- struct{}{}: // the first ten
			http.Error(w, "starting", http.StatusBadGateway)
		default:
			inner.ServeHTTP(w, req)
		}
	})
	n.restart()
	n.CloseClientConnections()
	for range cap(refused) - 2 { // the others are the stream's own
		refused <- struct{}{}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(refused) < cap(refused) && ctx.Err() == nil { // it has been asked for twice, in vain
		<-tick.C
	}
	for len(heard) > 0 { // what the old stream had brought
		<-heard
	}
	n.updates(ctx, t, heard)
	if st := s.Status(); st.State != StateReady || st.Generation != 1 {
		t.Errorf("%+v", st)
	}
}

// TestSE08SilentSubscription shows that a server that does not answer when subscriptions are set again delays nobody for
// long, and that one that has lost the session meanwhile is asked for another.
func TestSE08SilentSubscription(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter, req *http.Request){
		"silent": func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"lost":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "session not found", http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestartable(t)
			var mu sync.Mutex
			seen := 0
			r.handle = func(w http.ResponseWriter, req *http.Request, method string) bool {
				if method != "resources/subscribe" {
					return false
				}
				mu.Lock()
				seen++
				hit := seen == 3 || name == "silent" && seen > 2
				mu.Unlock()
				if hit {
					refuse(w, req)
				}
				return hit
			}
			server := r.entry()
			server.SessionWait = 8 * time.Second // less than two subscriptions may take one after the other
			s := NewSupervisor(nil, server)
			defer func() { _ = s.Close() }()
			for _, uri := range []string{"a://1", "a://2"} {
				if err := s.Subscribe(t.Context(), uri); err != nil {
					t.Fatal(err)
				}
			}
			r.forget()
			if _, err := list(t.Context(), s); err != nil {
				t.Error(err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if want := map[string]int{"silent": 2, "lost": 3}[name]; r.issued != want {
				t.Errorf("%d sessions were opened, want %d", r.issued, want)
			}
		})
	}
}

// TestOP09Conflict shows that a stream that the server had is asked for again, also if it takes the old one to be there
// still.
func TestOP09Conflict(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	n := newNewsroom(t, false)
	conflict := make(chan struct{}, 2)
	inner := n.Config.Handler
	n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			select {
			case <-conflict:
				http.Error(w, "only one stream", http.StatusConflict)
				return
			default:
			}
		}
		inner.ServeHTTP(w, req)
	})
	s, heard := n.listener(t)
	if err := s.Subscribe(ctx, "news://today"); err != nil {
		t.Fatal(err)
	}
	n.updates(ctx, t, heard)
	conflict <- struct{}{}
	n.mu.Lock()
	n.cut()
	n.mu.Unlock()
	for len(conflict) > 0 && ctx.Err() == nil {
		n.updates(ctx, t, heard)
	}
	for len(heard) > 0 {
		<-heard
	}
	n.updates(ctx, t, heard)
}
