package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// keyring is an authorizer of these tests: it has a token, and gets the next one when that is refused.
type keyring struct {
	// wait is what getting the next token takes; if nil, no time.
	wait func(*http.Request) error

	mu       sync.Mutex
	token    int
	refusals []Refusal
	accepted int
}

func (k *keyring) Authorize(req *http.Request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.token > 0 {
		req.Header.Set("Authorization", fmt.Sprintf("Bearer secret-%d", k.token))
		req.Header.Set("DPoP", "secret-proof")
	}
	return nil
}

func (k *keyring) Refused(req *http.Request, r Refusal) error {
	if k.wait != nil {
		if err := k.wait(req); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refusals = append(k.refusals, r)
	k.token++
	return nil
}

func (k *keyring) Accepted(*http.Request, http.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.accepted++
}

// door is an HTTP server that lets only one token in, and keeps what it was sent.
type door struct {
	*httptest.Server

	mu   sync.Mutex
	seen []seenRequest
}

type seenRequest struct {
	method, path, token, body string
	header                    http.Header
}

func newDoor(t *testing.T, token string, inside http.HandlerFunc) *door {
	t.Helper()
	d := &door{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		d.mu.Lock()
		d.seen = append(d.seen, seenRequest{r.Method, r.URL.Path, got, string(body), r.Header.Clone()})
		d.mu.Unlock()
		if got != token {
			w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inside(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *door) requests() []seenRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

func (d *door) connect(t *testing.T, opts HTTPOptions) *HTTP {
	t.Helper()
	u, err := url.Parse(d.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	opts.Endpoint = u
	h := NewHTTP(opts)
	t.Cleanup(h.Close)
	return h
}

// request makes one request and returns its status, 0 for a failure, what the exchange saw, and the failure.
func request(ctx context.Context, t *testing.T, h *HTTP, method, body string, header http.Header) (int, ExchangeState, error) {
	t.Helper()
	ctx, ex := WithExchange(ctx)
	var sent io.Reader
	if body != "" {
		sent = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.opts.Endpoint.String(), sent)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := h.Client().Do(req)
	if err != nil {
		return 0, ex.State(), err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, ex.State(), nil
}

const (
	rpcCall   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":1}}`
	rpcResult = `{"jsonrpc":"2.0","id":7,"result":{}}`
)

// inside answers any kind of request with a success.
func inside(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+rpcResult+"\n\n")
	case http.MethodPost:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, rpcResult)
	}
}

// TestRefusedIsSentAgainWhole shows that each kind of request is sent again after a refusal: the same body and headers,
// with the new token; and which of them ask a person.
func TestRefusedIsSentAgainWhole(t *testing.T) {
	for name, c := range map[string]struct {
		method, body string
		header       http.Header
		legacy       bool
		quiet        bool
	}{
		"a call":                  {"POST", rpcCall, nil, false, false},
		"a call, older transport": {"POST", rpcCall, nil, true, false},
		"the end of a handshake":  {"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, false, false},
		"a cancellation":          {"POST", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, nil, false, true},
		"an answer of ours":       {"POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, false, false},
		"a stream":                {"GET", "", http.Header{"Last-Event-Id": {"17"}, "Accept": {"text/event-stream"}}, false, true},
		"the older stream":        {"GET", "", http.Header{"Accept": {"text/event-stream"}}, true, false},
		"the end of a session":    {"DELETE", "", http.Header{"Mcp-Session-Id": {"abc"}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, "secret-1", inside)
			keys := &keyring{}
			h := d.connect(t, HTTPOptions{Authorizer: keys, Legacy: c.legacy})
			status, _, err := request(t.Context(), t, h, c.method, c.body, c.header)
			if err != nil || status != http.StatusOK && status != http.StatusAccepted {
				t.Fatalf("%d, %v", status, err)
			}
			seen := d.requests()
			if len(seen) != 2 || seen[1].token != "secret-1" || seen[1].body != c.body || seen[0].body != c.body {
				t.Fatalf("the server saw %+v", seen)
			}
			for key := range c.header {
				if seen[1].header.Get(key) != c.header.Get(key) {
					t.Errorf("%s was %q the second time", key, seen[1].header.Get(key))
				}
			}
			if len(keys.refusals) != 1 || keys.refusals[0].Quiet != c.quiet || keys.accepted != 1 {
				t.Errorf("refusals %+v, %d accepted", keys.refusals, keys.accepted)
			}
			if got := keys.refusals[0]; got.Status != 401 || len(got.Challenges) != 1 || got.Session != (c.method == "DELETE") {
				t.Errorf("refusal %+v", got)
			}
		})
	}
}

// TestNobodyIsAskedInTheBackground shows that a request which nobody waits for, and one of an examination, asks nobody.
func TestNobodyIsAskedInTheBackground(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "none", inside)
	keys := &keyring{wait: func(*http.Request) error { return nil }}
	h := d.connect(t, HTTPOptions{Authorizer: keys})
	_, _, _ = request(Unattended(t.Context()), t, h, "POST", rpcCall, nil)
	sibling := h.Sibling(nil)
	defer sibling.Close()
	_, _, _ = request(t.Context(), t, sibling, "POST", rpcCall, nil)
	for _, r := range keys.refusals {
		if !r.Quiet {
			t.Errorf("%+v", r)
		}
	}
	if len(keys.refusals) != 2*maxRefusals {
		t.Errorf("%d refusals", len(keys.refusals))
	}
}

// TestRefusals shows which refusals the authorizer is asked about, and how often.
func TestRefusals(t *testing.T) {
	const session = "Mcp-Session-Id"
	for name, c := range map[string]struct {
		status    int
		challenge string
		body      string
		header    http.Header
		configure func(*HTTPOptions)
		asked     int
		words     string
	}{
		"401":                              {status: 401, asked: maxRefusals, words: "refused again, with other authorization each of 3 times"},
		"401 with an answer of its own":    {status: 401, body: `{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"Unauthorized"}}`, asked: maxRefusals, words: "refused again"},
		"403 with a challenge":             {status: 403, challenge: `Bearer error="insufficient_scope"`, asked: maxRefusals, words: "refused again"},
		"403":                              {status: 403, body: "not you", words: "HTTP 403 Forbidden: not you"},
		"404":                              {status: 404, words: "HTTP 404"},
		"500":                              {status: 500, challenge: "Bearer", words: "HTTP 500"},
		"401 of a session":                 {status: 401, body: "token expired", header: http.Header{session: {"abc"}}, asked: maxRefusals, words: "refused again"},
		"a session that is not known":      {status: 401, body: "Session not found", header: http.Header{session: {"abc"}}, words: "HTTP 401 Unauthorized: Session not found"},
		"a session, with a challenge":      {status: 401, challenge: "Bearer", body: "Session not found", header: http.Header{session: {"abc"}}, asked: maxRefusals, words: "refused again"},
		"a header that somebody gave":      {status: 401, challenge: "Bearer", configure: func(o *HTTPOptions) { o.Header = http.Header{"Authorization": {"Bearer mine"}} }, words: "HTTP 401 Unauthorized"},
		"a header, spelled in another way": {status: 401, challenge: "Bearer", configure: func(o *HTTPOptions) { o.Header = http.Header{"authorization": {"Bearer mine"}} }, words: "HTTP 401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent []string
			d := newDoor(t, "", func(w http.ResponseWriter, r *http.Request) {})
			d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent = append(sent, r.Header.Get("Authorization"))
				if c.challenge != "" {
					w.Header().Set("WWW-Authenticate", c.challenge)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			keys := &keyring{}
			opts := HTTPOptions{Authorizer: keys, Lost: func(body []byte) bool { return bytes.Contains(body, []byte("Session")) }}
			if c.configure != nil {
				c.configure(&opts)
			}
			_, st, err := request(t.Context(), t, d.connect(t, opts), "POST", rpcCall, c.header)
			if err == nil || !strings.Contains(err.Error(), c.words) || !st.Written || st.Fault == nil || !st.Fault.Written || st.Fault.Status != c.status {
				t.Errorf("%v; %+v", err, st)
			}
			if len(keys.refusals) != c.asked || len(sent) != c.asked+1 || keys.accepted != 0 {
				t.Errorf("asked %d times, sent %q", len(keys.refusals), sent)
			}
			if opts.Header != nil && sent[0] != "Bearer mine" {
				t.Errorf("sent %q", sent)
			}
		})
	}
}

// TestRedirectsKeepTheToken shows that a redirect within the origin keeps the authorization, that a refusal behind it is
// answered there, and that another origin never sees a token.
func TestRedirectsKeepTheToken(t *testing.T) {
	t.Parallel()
	elsewhere := newDoor(t, "none", inside)
	d := newDoor(t, "", nil)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		d.seen = append(d.seen, seenRequest{r.Method, r.URL.Path, r.Header.Get("Authorization"), string(body), nil})
		d.mu.Unlock()
		switch {
		case r.URL.Query().Has("leave"):
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case r.URL.Path == "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != "Bearer secret-1":
			http.Error(w, "no", http.StatusUnauthorized)
		default:
			inside(w, r)
		}
	})
	h := d.connect(t, HTTPOptions{Authorizer: &keyring{}})
	if status, _, err := request(t.Context(), t, h, "POST", rpcCall, nil); status != 200 {
		t.Fatal(status, err)
	}
	var got []string
	for _, s := range d.requests() {
		got = append(got, s.path+" "+s.token+" "+s.body)
	}
	want := []string{"/mcp  " + rpcCall, "/mcp/  " + rpcCall, "/mcp/ Bearer secret-1 " + rpcCall}
	if !slices.Equal(got, want) {
		t.Errorf("the server saw %q", got)
	}
	u := *h.opts.Endpoint
	u.RawQuery = "leave"
	h.opts.Endpoint = &u
	if _, _, err := request(t.Context(), t, h, "POST", rpcCall, nil); err == nil || len(elsewhere.requests()) != 0 {
		t.Errorf("%v; the other origin saw %+v", err, elsewhere.requests())
	}
}

// TestRefusedWasNotExecuted shows that what becomes of a request after it was refused is judged as if nothing had been
// sent before: an idle connection that was closed meanwhile is passed over, nothing has been written when no connection
// can be had, and a cut connection leaves the outcome open.
func TestRefusedWasNotExecuted(t *testing.T) {
	t.Parallel()
	t.Run("closed while somebody logs in", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, "secret-1", inside)
		dial, ended := watchedDial()
		keys := &keyring{wait: func(*http.Request) error { d.CloseClientConnections(); <-ended; return nil }}
		if status, st, err := request(t.Context(), t, d.connect(t, HTTPOptions{Authorizer: keys, Dial: dial}), "POST", rpcCall, nil); status != 200 {
			t.Errorf("%v, %+v", err, st)
		}
	})
	t.Run("gone while somebody logs in", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, "secret-1", inside)
		dial, ended := watchedDial()
		keys := &keyring{wait: func(*http.Request) error {
			_ = d.Listener.Close()
			d.CloseClientConnections()
			<-ended
			return nil
		}}
		_, st, err := request(t.Context(), t, d.connect(t, HTTPOptions{Authorizer: keys, Dial: dial}), "POST", rpcCall, nil)
		if f, ok := errors.AsType[*Fault](err); !ok || f.Kind != KindRefused || f.Written || st.Written {
			t.Errorf("%+v, written %t", f, st.Written)
		}
	})
	t.Run("cut afterwards", func(t *testing.T) {
		t.Parallel()
		var executed atomic.Int32
		d := newDoor(t, "secret-1", func(http.ResponseWriter, *http.Request) { executed.Add(1); panic(http.ErrAbortHandler) })
		_, st, err := request(t.Context(), t, d.connect(t, HTTPOptions{Authorizer: &keyring{}}), "POST", rpcCall, nil)
		if f, ok := errors.AsType[*Fault](err); !ok || f.Kind != KindSevered || !f.Written || !st.Written || executed.Load() != 1 {
			t.Errorf("%v, executed %d times", err, executed.Load())
		}
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		keys := &keyring{wait: func(req *http.Request) error {
			cancel()
			<-req.Context().Done()
			return req.Context().Err()
		}}
		d := newDoor(t, "secret-1", inside)
		_, st, err := request(ctx, t, d.connect(t, HTTPOptions{Authorizer: keys}), "POST", rpcCall, nil)
		if !errors.Is(err, context.Canceled) || st.Written || st.Fault != nil {
			t.Errorf("%v, %+v", err, st)
		}
	})
	t.Run("closed by us", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, "secret-1", inside)
		var h *HTTP
		keys := &keyring{wait: func(req *http.Request) error { h.Close(); <-req.Context().Done(); return req.Context().Err() }}
		h = d.connect(t, HTTPOptions{Authorizer: keys})
		if _, _, err := request(t.Context(), t, h, "POST", rpcCall, nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// watchedDial dials, and tells when the first connection was seen to end.
func watchedDial() (dial func(context.Context, string, string) (net.Conn, error), ended <-chan struct{}) {
	end := make(chan struct{})
	once := sync.OnceFunc(func() { close(end) })
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: c, ended: once}, nil
	}, end
}

type watchedConn struct {
	net.Conn
	ended func()
}

// Read implements net.Conn.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		_ = c.Close()                                // whatever is written from now on does not go out
		time.AfterFunc(50*time.Millisecond, c.ended) // net/http hears of it first
	}
	return n, err
}

// TestRefusalWithoutAnEnd shows that the body of a refusal which does not end holds up neither the login nor the request
// that is sent again.
func TestRefusalWithoutAnEnd(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "", nil)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "" {
			inside(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	begin := time.Now()
	status, _, err := request(t.Context(), t, d.connect(t, HTTPOptions{Authorizer: &keyring{}}), "POST", rpcCall, nil)
	if status != 200 || time.Since(begin) > errorBodyTime+3*time.Second {
		t.Errorf("%d, %v after %s", status, err, time.Since(begin))
	}
}

// stern is a keyring that gives up after its first token.
type stern struct{ keyring }

func (s *stern) Refused(req *http.Request, r Refusal) error {
	if req.Header.Get("Authorization") != "" {
		return errors.New("the server is never content")
	}
	return s.keyring.Refused(req, r)
}

// TestForbiddenIsNotFollowedByAHandshake shows that a token which the server forbids the first question is not tried with a
// handshake: its failure would hide why.
func TestForbiddenIsNotFollowedByAHandshake(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "", nil)
	asked := 0
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("WWW-Authenticate", `Bearer scope="admin"`)
		w.WriteHeader(map[bool]int{true: http.StatusForbidden, false: http.StatusUnauthorized}[r.Header.Get("Authorization") != ""])
	})
	h := d.connect(t, HTTPOptions{Authorizer: &stern{}})
	_, _, _ = request(t.Context(), t, h, "POST", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, nil)
	_, _, err := request(t.Context(), t, h, "POST", `{"jsonrpc":"2.0","id":2,"method":"initialize"}`, nil)
	if err == nil || !strings.Contains(err.Error(), "never content") || asked != 2 {
		t.Errorf("%v, after %d requests", err, asked)
	}
}

// TestALoginHoldsUpNobody shows that requests which need no authorization are answered while somebody logs in.
func TestALoginHoldsUpNobody(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "", nil)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("tools/call")) && r.Header.Get("Authorization") == "" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inside(w, r)
	})
	waits, loggedIn := make(chan struct{}), make(chan struct{})
	keys := &keyring{wait: func(*http.Request) error { close(waits); <-loggedIn; return nil }}
	h := d.connect(t, HTTPOptions{Authorizer: keys})
	done := make(chan int)
	go func() {
		status, _, _ := request(t.Context(), t, h, "POST", rpcCall, nil)
		done <- status
	}()
	<-waits
	if status, _, err := request(t.Context(), t, h, "POST", strings.Replace(rpcCall, "tools/call", "tools/list", 1), nil); status != 200 {
		t.Error(status, err)
	}
	close(loggedIn)
	if status := <-done; status != 200 {
		t.Error(status)
	}
}

// TestAuthorizersOwnRequests shows that requests which an authorizer makes under the context of the request are not taken
// for it.
func TestAuthorizersOwnRequests(t *testing.T) {
	t.Parallel()
	other := newDoor(t, "", func(http.ResponseWriter, *http.Request) {})
	d := newDoor(t, "secret-1", inside)
	var h *HTTP
	keys := &keyring{wait: func(req *http.Request) error {
		client := NewWeb(HTTPOptions{Endpoint: h.opts.Endpoint})
		own, err := http.NewRequestWithContext(req.Context(), http.MethodPost, other.URL, strings.NewReader("grant_type=x"))
		if err != nil {
			return err
		}
		resp, err := client.Do(own)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		_ = d.Listener.Close()
		d.CloseClientConnections()
		return nil
	}}
	h = d.connect(t, HTTPOptions{Authorizer: keys, NoReuse: true})
	_, st, err := request(t.Context(), t, h, "POST", rpcCall, nil)
	if f, ok := errors.AsType[*Fault](err); !ok || f.Written || st.Written || len(h.Spans()) != 1 {
		t.Errorf("%+v, written %t, spans %v", err, st.Written, h.Spans())
	}
}

// TestTraceOfARefusal shows that the trace tells of a refusal and of what was done about it, and shows no token.
func TestTraceOfARefusal(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "secret-2", inside)
	got := traced(func(c *ConnTrace) {
		h := d.connect(t, HTTPOptions{Authorizer: &keyring{}, Trace: c})
		if status, _, err := request(t.Context(), t, h, "POST", rpcCall, nil); status != 200 {
			t.Error(status, err)
		}
	})
	for _, want := range []string{
		"* refused with 401: other authorization is looked for", "* the request is sent again, with other authorization",
		"> Authorization: Bearer ***", "> Dpop: ***",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("a secret in\n%s", got)
	}
}

// TestStandaloneStreamGetsTheNextToken shows that the stream of what the server says unasked survives the end of a token: it
// waits for the one that a request gets, asks nobody by itself, and ends nothing.
func TestStandaloneStreamGetsTheNextToken(t *testing.T) {
	t.Parallel()
	keys := &keyring{}
	opened := make(chan bool, 10)
	d := newDoor(t, "", nil)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer secret-1" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inside(w, r)
		if r.Method == http.MethodGet {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	asked := &loud{keyring: keys}
	h := d.connect(t, HTTPOptions{Authorizer: asked, Listen: true, OnStream: func(open bool) { opened <- open }})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.opts.Endpoint.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if <-opened || h.EndErr() != nil {
		t.Fatal("it was opened, or the connection has ended")
	}
	if status, _, err := request(t.Context(), t, h, "POST", rpcCall, nil); status != 200 {
		t.Fatal(status, err)
	}
	for again := false; !again; {
		again = <-opened
	}
	if asked.said != 1 {
		t.Errorf("somebody was asked %d times", asked.said)
	}
}

// loud is a keyring that gets a token only if somebody may be asked.
type loud struct {
	*keyring
	said int
}

func (l *loud) Refused(req *http.Request, r Refusal) error {
	if r.Quiet {
		return errors.New("nobody may be asked")
	}
	l.said++
	return l.keyring.Refused(req, r)
}
