package session

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// guarded is an MCP server of the SDK behind the SDK's own check of tokens. It gives out tokens, too, as its authorization
// server would.
type guarded struct {
	*httptest.Server
	mcp *mcp.Server

	mu       sync.Mutex
	tokens   map[string][]string // the scopes of those that are good
	given    int
	executed map[string]int // by tool
	opened   int            // how often a session was opened
	streams  chan string    // the token of each GET that was let in
	cut      map[string]bool
	hangUp   context.CancelFunc // ends the latest stream
}

// The ways in which a guarded server is spoken with.
const (
	overLegacy = "legacy"
	overModern = "modern"
	overSSE    = "sse"
)

func newGuarded(t *testing.T, over string) (*guarded, config.Server) {
	t.Helper()
	g := &guarded{tokens: map[string][]string{}, executed: map[string]int{}, streams: make(chan string, 100), cut: map[string]bool{}}
	g.mcp = mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	g.mcp.AddResource(&mcp.Resource{URI: "news://today", Name: "today"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	for _, name := range []string{"write", "admin"} {
		mcp.AddTool(g.mcp, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.executed[name]++
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	var inner http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return g.mcp }, &mcp.StreamableHTTPOptions{Stateless: over == overModern})
	if over == overSSE {
		inner = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return g.mcp }, nil)
	}
	mux := http.NewServeMux()
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	t.Cleanup(func() {
		g.CloseClientConnections()           // streams would not end by themselves
		for sess := range g.mcp.Sessions() { // without a token, they could not be deleted
			_ = sess.Close()
		}
	})
	const described = "/.well-known/oauth-protected-resource/mcp"
	mux.Handle(described, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: g.URL + "/mcp", AuthorizationServers: []string{g.URL}, ScopesSupported: []string{"use"},
	}))
	check := func(scopes ...string) http.Handler {
		return auth.RequireBearerToken(g.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: g.URL + described, Scopes: scopes})(http.HandlerFunc(
			func(w http.ResponseWriter, req *http.Request) { g.inside(w, req, inner) }))
	}
	all, few := check("use", "admin"), check("use")
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"name":"admin"`)) {
			all.ServeHTTP(w, req)
			return
		}
		few.ServeHTTP(w, req)
	})
	server := config.Server{Name: "guarded", URL: g.URL + "/mcp", Transport: config.TransportAuto, ConnectTimeout: 10 * time.Second}
	if over == overSSE {
		server.Transport = config.TransportSSE
	}
	return g, server
}

// inside is what a request meets that was let in.
func (g *guarded) inside(w http.ResponseWriter, req *http.Request, inner http.Handler) {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	var msg struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &msg)
	g.mu.Lock()
	if msg.Method == "initialize" || msg.Method == "server/discover" {
		g.opened++
	}
	cut := g.cut[msg.Method]
	g.mu.Unlock()
	if req.Method == http.MethodGet {
		ctx, hangUp := context.WithCancel(req.Context())
		defer hangUp()
		req = req.WithContext(ctx)
		g.mu.Lock()
		g.hangUp = hangUp
		g.mu.Unlock()
		g.streams <- req.Header.Get("Authorization")
	}
	if cut {
		inner.ServeHTTP(httptest.NewRecorder(), req)
		panic(http.ErrAbortHandler) // executed, and the answer is lost
	}
	inner.ServeHTTP(w, req)
}

func (g *guarded) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	scopes, good := g.tokens[token]
	if !good {
		return nil, fmt.Errorf("%w: it has expired", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{Scopes: scopes, Expiration: time.Now().Add(time.Hour), UserID: "me"}, nil
}

// give gives out a token.
func (g *guarded) give(scopes []string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given++
	token := fmt.Sprintf("token-%d", g.given)
	g.tokens[token] = scopes
	return token
}

// expire ends all tokens.
func (g *guarded) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.tokens)
}

func (g *guarded) executions(tool string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.executed[tool]
}

// broker is an authorizer that gets the tokens of a guarded server, one for all who wait for one.
type broker struct {
	g *guarded
	// takes is how long a person takes; begins is what is told of that.
	takes  time.Duration
	begins func(context.Context)
	// keeps is how long it takes to keep the first login.
	keeps time.Duration
	// silent is set to give nothing when nobody may be asked.
	silent bool
	// fails is why nothing is got, nil if something is.
	fails func(r Refusal) error

	mu      sync.Mutex
	token   string
	asked   []Refusal
	logins  int
	pending chan struct{}
}

func (b *broker) Authorize(req *http.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	return nil
}

func (b *broker) Refused(req *http.Request, r Refusal) error {
	b.mu.Lock()
	b.asked = append(b.asked, r)
	switch spent := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "); {
	case b.fails != nil:
		b.mu.Unlock()
		return b.fails(r)
	case r.Quiet && b.silent:
		b.mu.Unlock()
		return &oauth.Error{Step: oauth.StepBrowser, Reason: oauth.NeedsLogin, Message: "somebody has to log in"}
	case b.token != spent:
		b.mu.Unlock()
		return nil
	}
	if pending := b.pending; pending != nil {
		b.mu.Unlock()
		select {
		case <-pending:
			return nil
		case <-req.Context().Done():
			return context.Cause(req.Context())
		}
	}
	b.logins++
	done := make(chan struct{})
	b.pending = done
	b.mu.Unlock()
	if b.begins != nil {
		b.begins(req.Context())
	}
	ok := b.takes == 0 || sleep(req.Context(), b.takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = nil
	close(done)
	if !ok {
		return context.Cause(req.Context())
	}
	scopes := []string{"use"}
	for _, c := range r.Challenges {
		if wanted := c.Params["scope"]; wanted != "" {
			scopes = strings.Fields(wanted)
		}
	}
	if b.g != nil {
		b.token = b.g.give(scopes)
	} else {
		b.token = "good"
	}
	return nil
}

func (b *broker) Accepted(req *http.Request, _ http.Header) {
	b.mu.Lock()
	keeps := b.keeps
	b.keeps = 0
	b.mu.Unlock()
	sleep(req.Context(), keeps)
}

func (b *broker) count() (logins, asked int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logins, len(b.asked)
}

func brokered(b *broker) *Dialer { return &Dialer{OAuth: func(config.Server) Authorizer { return b }} }

// TestAuthorizedSessions shows, for each transport and era, that a server which wants authorization is opened after one
// login, that a token which ends in the middle of a session is followed by another on the same session, and that a wider
// one is got for a request that wants it; and that a tool which may change something is executed once each time.
func TestAuthorizedSessions(t *testing.T) {
	t.Parallel()
	for _, over := range []string{overLegacy, overModern, overSSE} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			g, entry := newGuarded(t, over)
			b := &broker{g: g}
			s := NewSupervisor(brokered(b), entry)
			defer func() { _ = s.Close() }()
			use := func(tool string, executed, logins int) {
				t.Helper()
				if _, err := call(t.Context(), s, tool, map[string]any{}, false); err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				if got, n := g.executions(tool), s.Stats().Handshakes; got != executed || n != 1 {
					t.Errorf("%s was executed %d times, in %d sessions", tool, got, n)
				}
				if got, _ := b.count(); got != logins {
					t.Errorf("%s: %d logins, want %d", tool, got, logins)
				}
			}
			use("write", 1, 1)
			g.expire()
			use("write", 2, 2)
			use("admin", 1, 3) // 403, with the scopes
			use("write", 3, 3)
			g.mu.Lock()
			defer g.mu.Unlock()
			if want := map[string]int{overLegacy: 2, overModern: 1, overSSE: 1}[over]; g.opened != want { // with the question for the era
				t.Errorf("%d requests of handshakes were let in", g.opened)
			}
		})
	}
}

// TestSafetyAfterALogin shows that a refused request which was sent again after a login is a request as any other: when its
// connection is cut then, nobody knows whether it was executed, and it is not sent a third time.
func TestSafetyAfterALogin(t *testing.T) {
	t.Parallel()
	for _, over := range []string{overLegacy, overModern} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			g, entry := newGuarded(t, over)
			b := &broker{g: g}
			s := NewSupervisor(brokered(b), entry)
			defer func() { _ = s.Close() }()
			if _, err := list(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			g.expire()
			g.mu.Lock()
			g.cut["tools/call"] = true
			g.mu.Unlock()
			_, err := call(t.Context(), s, "write", map[string]any{}, false)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Class != ClassUnknownOutcome || e.Outcome != OutcomeUnknown || e.Retryable {
				t.Errorf("%+v", err)
			}
			if n := g.executions("write"); n != 1 {
				t.Errorf("executed %d times", n)
			}
			if logins, _ := b.count(); logins != 2 {
				t.Errorf("%d logins", logins)
			}
		})
	}
}

// TestStreamOutlivesTheToken shows that the stream of what the server says unasked is opened again with the next token,
// without a login of its own and without a new session.
func TestStreamOutlivesTheToken(t *testing.T) {
	t.Parallel()
	g, entry := newGuarded(t, overLegacy)
	b := &broker{g: g, silent: true}
	d := brokered(b)
	d.Listen = ListenAlways
	s := NewSupervisor(d, entry)
	defer func() { _ = s.Close() }()
	if _, err := list(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := <-g.streams; got != "Bearer token-1" {
		t.Errorf("the stream was opened with %q", got)
	}
	g.expire()
	g.mu.Lock()
	g.hangUp()
	g.mu.Unlock()
	if _, err := call(t.Context(), s, "write", map[string]any{}, false); err != nil {
		t.Fatal(err)
	}
	if got := <-g.streams; got != "Bearer token-2" {
		t.Errorf("the stream was opened again with %q", got)
	}
	if logins, _ := b.count(); logins != 2 || s.Stats().Handshakes != 1 {
		t.Errorf("%d logins, %+v", logins, s.Stats())
	}
}

// TestTL03OneLoginForAll shows that one login gives everybody time who waits for it: requests side by side, of which only one
// asks the person, and a subscription, whose request has a context of the SDK's own.
func TestTL03OneLoginForAll(t *testing.T) {
	t.Parallel()
	for _, over := range []string{overLegacy, overModern, overSSE} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			g, entry := newGuarded(t, over)
			entry.ConnectTimeout, entry.SessionWait, entry.Timeout = 2*time.Second, 2*time.Second, 2*time.Second
			b := &broker{g: g}
			s := NewSupervisor(brokered(b), entry)
			defer func() { _ = s.Close() }()
			sess, err := s.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.takes, b.begins = 4*time.Second, LoginBegins
			g.expire()
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if _, err := call(t.Context(), s, "write", map[string]any{}, false); err != nil {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				ctx, cancel := WithLimit(t.Context(), Limit{Name: "timeout", Value: 2 * time.Second})
				defer cancel()
				if err := sess.Subscribe(ctx, "news://today"); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if logins, _ := b.count(); logins != 2 || g.executions("write") != 5 || s.Stats().Handshakes != 1 {
				t.Errorf("%d logins, %d executions, %+v", logins, g.executions("write"), s.Stats())
			}
		})
	}
}

// TestTL03TheFloorIsALimit shows, to the second, that a person has 300 s whatever the limits are, that a step which was
// bounded by a share of the time is bounded by it again afterwards, and that the floor is a limit, too.
func TestTL03TheFloorIsALimit(t *testing.T) {
	open := func(t *testing.T, takes time.Duration, hang string) (*broker, time.Duration, error) {
		t.Helper()
		w := newTown(t, "town")
		entry := w.entry()
		entry.Protocol, entry.ConnectTimeout, entry.Timeout = "", 30*time.Second, 10*time.Second
		w.answers(func(rw http.ResponseWriter, req *http.Request, method string) bool {
			if req.Header.Get("Authorization") != "Bearer good" {
				rw.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(rw, "no", http.StatusUnauthorized)
				return true
			}
			if method == hang {
				<-req.Context().Done()
				return true
			}
			return false
		})
		d := region(w)
		b := &broker{takes: takes, begins: LoginBegins}
		d.OAuth = func(config.Server) Authorizer { return b }
		s := NewSupervisor(d, entry)
		t.Cleanup(func() { _ = s.Close() })
		begin := time.Now()
		_, err := list(t.Context(), s)
		return b, time.Since(begin), err
	}
	synctest.Test(t, func(t *testing.T) {
		if b, took, err := open(t, 299*time.Second, ""); err != nil || b.logins != 1 || took > 300*time.Second {
			t.Errorf("%v after %s, %d logins", err, took, b.logins)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if _, took, err := open(t, 100*time.Second, "server/discover"); err != nil || took < 104*time.Second || took > 107*time.Second {
			t.Errorf("%v after %s: the question for the era has 5 s", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, took, err := open(t, time.Hour, "")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Class != ClassTimeout || e.Limit == nil || e.Limit.Value != loginFloor || took < 314*time.Second || took > 316*time.Second {
			t.Errorf("%+v after %s", err, took)
		}
	})
}

// TestTL03AKeyringMayAsk shows that a login which is kept only after a person has unlocked the keyring is no silent server:
// the question for the era is not cut off meanwhile.
func TestTL03AKeyringMayAsk(t *testing.T) {
	t.Parallel()
	g, entry := newGuarded(t, overModern)
	entry.ConnectTimeout = 3 * time.Second // a third of which the question has
	b := &broker{g: g, begins: LoginBegins, keeps: 2 * time.Second}
	s := NewSupervisor(brokered(b), entry)
	defer func() { _ = s.Close() }()
	sess, err := s.Session(t.Context())
	if err != nil || sess.Info().Era != EraModern {
		t.Fatalf("%v, %+v", err, s.Stats().Info)
	}
}

// TestForLogin shows that the floor can be had from the start.
func TestForLogin(t *testing.T) {
	t.Parallel()
	server := config.Server{Name: "x", URL: "http://x/", ConnectTimeout: time.Second, Timeout: time.Hour}
	s := NewSupervisor(&Dialer{ForLogin: true}, server)
	defer func() { _ = s.Close() }()
	l := s.Limits()
	if l.Connect.Value != loginFloor || l.SessionWait.Value != loginFloor || l.Request.Value != time.Hour || l.Connect.Note != "raised from 1s: a person has to log in" {
		t.Errorf("%+v", l)
	}
	if l := LimitsFor(server); l.Connect.Value != time.Second {
		t.Errorf("%+v", l)
	}
}

// TestRC04Logins shows that nobody is asked to log in by what happens in the background, that whoever makes a request is, and
// that a login elsewhere wakes the server.
func TestRC04Logins(t *testing.T) {
	setUp := func(t *testing.T) (*broker, *Supervisor, func(good string)) {
		t.Helper()
		w := newTown(t, "town")
		var mu sync.Mutex
		good := "good"
		w.answers(func(rw http.ResponseWriter, req *http.Request, _ string) bool {
			mu.Lock()
			defer mu.Unlock()
			if req.Header.Get("Authorization") == "Bearer "+good {
				return false
			}
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "no", http.StatusUnauthorized)
			return true
		})
		d := region(w)
		b := &broker{silent: true}
		d.OAuth = func(config.Server) Authorizer { return b }
		s := NewSupervisor(d, w.entry())
		t.Cleanup(func() { _ = s.Close() })
		s.Keep()
		pass(time.Hour)
		return b, s, func(token string) {
			mu.Lock()
			defer mu.Unlock()
			good = token
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b, s, _ := setUp(t)
		st := wantState(t, s, StateNeedsAuth)
		e, ok := errors.AsType[*Error](st.Err)
		if !ok || !e.NeedsLogin || e.Class != ClassAuth || b.logins != 0 {
			t.Errorf("%+v, %d logins", st.Err, b.logins)
		}
		if _, err := list(t.Context(), s); err != nil || b.logins != 1 {
			t.Errorf("%v, %d logins", err, b.logins)
		}
		wantState(t, s, StateReady)
	})
	synctest.Test(t, func(t *testing.T) {
		b, s, accept := setUp(t)
		b.mu.Lock()
		b.token = "good" // from another process
		b.mu.Unlock()
		s.Wake()
		pass(0)
		wantState(t, s, StateReady)
		accept("better") // and what there is has ended
		pass(time.Hour)
		wantState(t, s, StateNeedsAuth)
		if b.logins != 0 {
			t.Errorf("%d logins", b.logins)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a request that joins what was begun for nobody
		b, s, _ := setUp(t)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := list(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
			s.Wake()
		}
		all.Wait()
		if b.logins != 1 {
			t.Errorf("%d logins", b.logins)
		}
	})
}

// TestUnreachableAuthorizationServer shows that a token which cannot be refreshed for want of a network is not a login that
// is needed: an opening waits for it, and so does a request, on the session that there is.
func TestUnreachableAuthorizationServer(t *testing.T) {
	down := func(err error) func(*http.Request) error {
		return func(*http.Request) error {
			return &oauth.Error{Step: oauth.StepRefresh, Reason: oauth.Unreachable, Message: "https://as.test/token: connection refused", Err: err}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "town")
		d := region(w)
		a := &switchable{}
		d.OAuth = func(config.Server) Authorizer { return a }
		s := NewSupervisor(d, w.entry())
		t.Cleanup(func() { _ = s.Close() })
		a.set(down(nil))
		begin := time.Now()
		_, err := list(t.Context(), s)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Class != ClassConnect || !e.Retryable || e.NeedsLogin || e.Outcome != OutcomeNotSent || time.Since(begin) < 3*time.Second || time.Since(begin) > 5*time.Second {
			t.Errorf("%+v after %s", err, time.Since(begin))
		}
		if !strings.Contains(e.Message, "token refresh: https://as.test/token: connection refused") {
			t.Errorf("message %q", e.Message)
		}
		if !mayRecover(e) || !strings.Contains(e.Hint, "is kept") {
			t.Errorf("%+v: a task is asked for again, and the login is kept", e)
		}
		time.AfterFunc(2*time.Second, func() { a.set(nil) })
		if _, err := list(t.Context(), s); err != nil {
			t.Error(err)
		}
		a.set(down(nil))
		time.AfterFunc(2*time.Second, func() { a.set(nil) })
		w.asked()
		if _, err := call(t.Context(), s, "x", nil, false); err != nil {
			t.Error(err)
		}
		if n := w.asked(); n["tools/call"] != 1 || len(n) != 1 {
			t.Errorf("the server saw %v", n)
		}
		a.set(down(nil))
		begin = time.Now()
		_, err = call(t.Context(), s, "x", nil, false)
		if e, ok := errors.AsType[*Error](err); !ok || e.Class != ClassConnect || !e.Retryable || e.Outcome != OutcomeNotSent || time.Since(begin) > 15*time.Second {
			t.Errorf("%+v after %s", err, time.Since(begin))
		}
		if n := s.Stats().Handshakes; n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// switchable is an authorizer that has what is needed, or not.
type switchable struct {
	mu    sync.Mutex
	fails func(*http.Request) error
}

func (s *switchable) set(fails func(*http.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *switchable) Authorize(req *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails(req)
	}
	return nil
}

func (s *switchable) Refused(*http.Request, Refusal) error { return errors.New("no other") }

func (s *switchable) Accepted(*http.Request, http.Header) {}

// TestFailuresOfAuthorizers shows the class, the words and the next step of each reason for which there is no authorization.
func TestFailuresOfAuthorizers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		class Class
		hint  string
		needs bool
		limit time.Duration
	}{
		"a login is needed": {&oauth.Error{Step: oauth.StepBrowser, Reason: oauth.NeedsLogin, Message: "somebody has to log in"}, ClassAuth, "log in: mcpctl login guarded", true, 0},
		"refused":           {&oauth.Error{Step: oauth.StepBrowser, Reason: oauth.Refused, Message: "the person said no"}, ClassAuth, "to log in anew: mcpctl login guarded", false, 0},
		"another issuer":    {&oauth.Error{Step: oauth.StepServer, Reason: oauth.Invalid, Message: "another issuer", Hint: "ask"}, ClassAuth, "ask", false, 0},
		"a port":            {&oauth.Error{Step: oauth.StepCallback, Reason: oauth.Config, Message: "the port is taken"}, ClassConfig, "", false, 0},
		"nobody came":       {&oauth.Error{Step: oauth.StepCallback, Reason: oauth.TimedOut, Message: "nobody came back", Limit: oauth.Limit{Name: "login", Value: loginTime, Source: "built-in"}}, ClassTimeout, "to try again: mcpctl login guarded", false, loginTime},
		"cancelled":         {&oauth.Error{Step: oauth.StepCallback, Reason: oauth.Cancelled, Message: "cancelled"}, ClassInterrupted, "", false, 0},
		"one of one's own":  {errors.New("the vault is locked"), ClassAuth, "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, entry := newGuarded(t, overLegacy)
			entry.Wait = time.Second
			b := &broker{g: g}
			s := NewSupervisor(brokered(b), entry)
			defer func() { _ = s.Close() }()
			check := func(phase string, err error) {
				t.Helper()
				e, ok := errors.AsType[*Error](err)
				switch {
				case !ok || e.Class != c.class || e.NeedsLogin != c.needs || e.Phase != phase:
					t.Errorf("%s: %+v", phase, err)
				case !strings.Contains(e.Message, c.err.Error()) || c.hint != "" && e.Hint != c.hint:
					t.Errorf("%s: message %q, hint %q", phase, e.Message, e.Hint)
				case c.limit != 0 && (e.Limit == nil || e.Limit.Name != "login" || e.Limit.Value != c.limit):
					t.Errorf("%s: limit %+v", phase, e.Limit)
				}
			}
			b.fails = func(Refusal) error { return c.err }
			_, err := list(t.Context(), s)
			check("initialize", err)
			b.fails = nil
			if _, err := list(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			g.expire()
			b.fails = func(Refusal) error { return c.err }
			_, err = call(t.Context(), s, "write", map[string]any{}, false)
			check("tools/call", err)
			if n := g.executions("write"); n != 0 {
				t.Errorf("executed %d times", n)
			}
			if e := Unauthorized("guarded", c.err); failureOf(c.err) == nil != (e == nil) || e != nil && e.Class != c.class {
				t.Errorf("by itself: %+v", e)
			}
		})
	}
}

// TestHintsOfOffers shows what is said of a server that wants a login where none is to be got.
func TestHintsOfOffers(t *testing.T) {
	t.Parallel()
	g, entry := newGuarded(t, overLegacy)
	for name, c := range map[string]struct {
		change func(*config.Server)
		hint   string
	}{
		"nothing":        {func(*config.Server) {}, "the server wants an OAuth login: mcpctl login guarded"},
		"a name":         {func(s *config.Server) { s.Name = "my server" }, "the server wants an OAuth login: mcpctl login 'my server'"},
		"auth: none":     {func(s *config.Server) { s.Auth = config.AuthNone }, "the server wants an OAuth login, and the entry says auth: none; remove that, and log in: mcpctl login guarded"},
		"a static token": {func(s *config.Server) { s.Headers = map[string]string{"Authorization": "Bearer old"} }, hintRefuse + "; or remove it, and log in: mcpctl login guarded"},
	} {
		server := entry
		c.change(&server)
		_, err := (&Dialer{}).Dial(t.Context(), server)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Hint != c.hint || !slices.Contains(e.Evidence, "OAuth metadata: "+g.URL+"/.well-known/oauth-protected-resource/mcp") {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// TestCheckOfATokenThatBreaks shows a server whose check of a token fails in place of refusing it: the token is what to look at.
// Without one, and where the words are others, it is the server's own matter.
func TestCheckOfATokenThatBreaks(t *testing.T) {
	t.Parallel()
	const broke = `{"error":"server_error","error_description":"Internal Server Error"}`
	for name, c := range map[string]struct {
		headers map[string]string
		body    string
		told    bool
	}{
		"a token":     {map[string]string{"authorization": "Bearer old"}, broke, true},
		"none":        {nil, broke, false},
		"other words": {map[string]string{"authorization": "Bearer old"}, `{"error":"out of memory"}`, false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := (&Dialer{}).Dial(t.Context(), config.Server{Name: "n", URL: s.URL + "/mcp", Headers: c.headers})
		s.Close()
		if e, ok := errors.AsType[*Error](err); !ok || strings.Contains(e.Hint, "check the token") != c.told {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// TestDialerClient shows the way to what belongs to a server: by the proxy and with the authorities of its entry, without
// what only the server itself is to see.
func TestDialerClient(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 10)
	as := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Clone(t.Context()) }))
	defer as.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: as.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Clone(t.Context()) }))
	defer proxy.Close()
	d := &Dialer{OAuth: func(config.Server) Authorizer { t.Error("the authorizer was asked for"); return nil }}
	get := func(server config.Server, address string) error {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Client(server, u)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	entry := config.Server{
		Name: "x", URL: "https://mcp.test/mcp", TLS: config.TLS{CAFile: ca, InsecureSkipVerify: true, ServerName: "wrong.test"}, ConnectTo: "127.0.0.1:1",
		Headers: map[string]string{"X-Own": "1", "Authorization": "Bearer mine"},
	}
	if err := get(entry, as.URL); err != nil {
		t.Error(err)
	} else if r := <-seen; r.Header.Get("X-Own") != "" || r.Header.Get("Authorization") != "" || !strings.HasPrefix(r.UserAgent(), "mcpctl/") {
		t.Errorf("%v", r.Header)
	}
	stranger := entry
	stranger.TLS.CAFile = ""
	if err := get(stranger, as.URL); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("insecure_skip_verify is for the server alone: %v", err)
	}
	own := entry
	own.URL, own.ConnectTo = "https://mcp.test:443/mcp", strings.TrimPrefix(as.URL, "https://")
	if err := get(own, "https://mcp.test/.well-known/x"); err != nil {
		t.Errorf("at the server's own origin, its way: %v", err)
	} else if r := <-seen; r.Host != "mcp.test" {
		t.Errorf("host %s", r.Host)
	}
	proxied := entry
	proxied.Proxy = proxy.URL
	if err := get(proxied, "http://as.test/token"); err != nil {
		t.Error(err)
	} else if r := <-seen; r.Host != "as.test" {
		t.Errorf("host %s", r.Host)
	}
	broken := entry
	broken.TLS.CAFile = ca + ".none"
	if err := get(broken, as.URL); ClassOf(err) != ClassConfig {
		t.Errorf("%v", err)
	}
}

// TestLoginForReal shows the flow itself at work under a session: the chain of documents, a registration, a browser that
// comes back, one token for all requests.
func TestLoginForReal(t *testing.T) {
	t.Parallel()
	_, entry := fault(t, "oauth-full-chain")
	var windows int
	var a *oauth.Authorizer
	d := &Dialer{OAuth: func(config.Server) Authorizer { return a }}
	a = oauth.New(oauth.Options{
		Server: entry, Begins: LoginBegins,
		Client: func(u *url.URL) (*http.Client, error) { return d.Client(entry, u) },
		Person: &oauth.Person{Open: func(ctx context.Context, address string) error {
			windows++
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return err
			}
			browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			go func() { // it does not wait for the page
				if resp, err := browser.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}()
			return nil
		}},
	})
	s := NewSupervisor(d, entry)
	defer func() { _ = s.Close() }()
	if result, err := call(t.Context(), s, "echo", map[string]any{"text": "hi"}, false); err != nil || !strings.Contains(string(result), "hi") {
		t.Errorf("%s, %v", result, err)
	}
	if windows != 1 {
		t.Errorf("%d windows", windows)
	}
}

// fromTheSDK is a handler in the SDK's terms.
type fromTheSDK struct {
	g      *guarded
	mu     sync.Mutex
	source oauth2.TokenSource
	flows  int
}

func (h *fromTheSDK) TokenSource(context.Context) (oauth2.TokenSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.source, nil
}

func (h *fromTheSDK) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	if !strings.Contains(resp.Header.Get("WWW-Authenticate"), "resource_metadata=") {
		return errors.New("no challenge")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flows++
	h.source = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: h.g.give([]string{"use"})})
	return nil
}

// TestSDKAuthorizer shows a handler of the SDK at work for requests of each kind, one flow for those side by side.
func TestSDKAuthorizer(t *testing.T) {
	t.Parallel()
	for _, over := range []string{overLegacy, overModern, overSSE} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			g, entry := newGuarded(t, over)
			h := &fromTheSDK{g: g}
			a := SDKAuthorizer(h)
			s := NewSupervisor(&Dialer{OAuth: func(config.Server) Authorizer { return a }}, entry)
			defer func() { _ = s.Close() }()
			for flows := 1; flows <= 2; flows++ {
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() {
						if _, err := call(t.Context(), s, "write", map[string]any{}, false); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if h.flows != flows || g.executions("write") != 5*flows {
					t.Errorf("%d flows, %d executions", h.flows, g.executions("write"))
				}
				g.expire()
			}
		})
	}
}
