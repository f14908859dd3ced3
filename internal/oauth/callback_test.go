package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// listening returns a callback that is closed with the test.
func listening(t *testing.T, redirectURI string, port int) *callback {
	t.Helper()
	c, err := listen(t.Context(), redirectURI, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// visit is what a browser gets at an address.
func visit(t *testing.T, method, address string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// comeBack is a browser whose page nobody looks at.
func comeBack(t *testing.T, address string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
}

// waited is how a wait ended.
type waited struct {
	values url.Values
	done   func(error)
	err    error
}

// wait waits for the answer beside the test.
func wait(ctx context.Context, c *callback, p *Person) <-chan waited {
	end := make(chan waited, 1)
	go func() {
		var w waited
		w.values, w.done, w.err = c.answer(ctx, p, "the-state")
		end <- w
	}()
	return end
}

func TestTheBrowserBringsTheAnswerAndIsToldHowItWent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		outcome error
		status  int
		want    string
	}{
		{nil, http.StatusOK, "You are logged in"},
		{&Error{Step: StepToken, Message: "the authorization server refused <b>it</b>"}, http.StatusBadRequest, "token request: the authorization server refused &lt;b&gt;it&lt;/b&gt;"},
	} {
		c := listening(t, "", 0)
		end := wait(t.Context(), c, nil)
		type got struct {
			status int
			header http.Header
			body   string
		}
		page := make(chan got, 1)
		go func() {
			var g got
			g.status, g.header, g.body = visit(t, http.MethodGet, c.uri()+"?code=the-%3Ccode%3E&state=the-state&iss=https%3A%2F%2Fi.example")
			page <- g
		}()
		w := <-end
		if w.err != nil || w.values.Get("code") != "the-<code>" || w.values.Get("iss") != "https://i.example" {
			t.Fatalf("got %v, %v", w.values, w.err)
		}
		select {
		case g := <-page:
			t.Errorf("the page did not wait for the outcome: %s", g.body)
		default:
		}
		w.done(tc.outcome)
		g := <-page
		if g.status != tc.status || !strings.Contains(g.body, tc.want) || !strings.Contains(g.body, "You can close this tab") {
			t.Errorf("status %d, and\n%s", g.status, g.body)
		}
		if strings.Contains(g.body, "the-") || strings.Contains(g.body, "<script") || strings.Contains(g.body, "http") {
			t.Errorf("the page holds what it must not:\n%s", g.body)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		} {
			if !strings.Contains(g.header.Get(name), want) {
				t.Errorf("%s: %q", name, g.header.Get(name))
			}
		}
		if status, _, body := visit(t, http.MethodGet, c.uri()+"?code=again&state=the-state"); status != http.StatusConflict || !strings.Contains(body, "answered before") {
			t.Errorf("a second answer got %d and\n%s", status, body)
		}
	}
}

func TestWhatIsNoAnswerIsRefusedAndTheWaitGoesOn(t *testing.T) {
	t.Parallel()
	c := listening(t, "", 0)
	var mu sync.Mutex
	var wrong []string
	end := wait(t.Context(), c, &Person{Wrong: func(why string) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, why)
	}})
	<-c.begun
	base := strings.TrimSuffix(c.uri(), callbackPath)
	for _, tc := range []struct {
		method, address string
		status          int
	}{
		{http.MethodGet, base + "/", http.StatusNotFound},
		{http.MethodGet, base + "/favicon.ico", http.StatusNotFound},
		{http.MethodGet, base + "/callback/?code=a&state=the-state", http.StatusNotFound},
		{http.MethodHead, c.uri() + "?code=a&state=the-state", http.StatusMethodNotAllowed},
		{http.MethodOptions, c.uri() + "?code=a&state=the-state", http.StatusMethodNotAllowed},
		{http.MethodPost, c.uri() + "?code=a&state=the-state", http.StatusMethodNotAllowed},
		{http.MethodGet, c.uri(), http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=a", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=a&state=", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=<script>alert(1)</script>&state=other", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=a&state=the-state&state=the-state", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=a&code=b&state=the-state", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?code=%zz&state=the-state", http.StatusBadRequest},
		{http.MethodGet, c.uri() + "?error=access_denied", http.StatusBadRequest},
	} {
		status, _, body := visit(t, tc.method, tc.address)
		if status != tc.status || strings.Contains(body, "alert") {
			t.Errorf("%s %.80s: status %d\n%s", tc.method, tc.address, status, body)
		}
	}
	comeBack(t, c.uri()+"?state=the-state&code="+strings.Repeat("a", 2*mostRequest)) // which may not even be read
	select {
	case w := <-end:
		t.Fatalf("it took %v, %v for the answer", w.values, w.err)
	default:
	}
	comeBack(t, c.uri()+"?error=access_denied&state=the-state")
	w := <-end
	if w.err != nil || w.values.Get("error") != "access_denied" {
		t.Fatalf("got %v, %v", w.values, w.err)
	}
	w.done(errors.New("access_denied"))
	mu.Lock()
	defer mu.Unlock()
	if len(wrong) != mostWrong {
		t.Errorf("told of %q", wrong)
	}
}

func TestABrowserThatClosesEarlyHasAnsweredAllTheSame(t *testing.T) {
	t.Parallel()
	c := listening(t, "", 0)
	end := wait(t.Context(), c, nil)
	u, err := url.Parse(c.uri())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s?code=c&state=the-state HTTP/1.1\r\nHost: %s\r\n\r\n", u.Path, u.Host); err != nil {
		t.Fatal(err)
	}
	w := <-end
	_ = conn.Close()
	if w.err != nil || w.values.Get("code") != "c" {
		t.Fatalf("got %v, %v", w.values, w.err)
	}
	w.done(nil)
}

// TestIdleConnectionsDoNotKeepTheBrowserOut opens more connections than are served at once, and sends nothing, or a
// request that never ends.
func TestIdleConnectionsDoNotKeepTheBrowserOut(t *testing.T) {
	t.Parallel()
	c := listening(t, "", 0)
	end := wait(t.Context(), c, nil)
	u, err := url.Parse(c.uri())
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostConnections + 10 {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "GET /callback?code=c&state=the-state HTTP/1.1\r\nX-Slow: ")
		}
	}
	comeBack(t, c.uri()+"?code=c&state=the-state")
	select {
	case w := <-end:
		if w.err != nil || w.values.Get("code") != "c" {
			t.Errorf("got %v, %v", w.values, w.err)
		}
		w.done(nil)
	case <-time.After(4 * requestTime):
		t.Error("the browser was kept out")
	}
}

func TestNothingIsLeftOfAListener(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c, err := listen(t.Context(), "http://localhost/back?x=1", 0)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(c.uri())
	if err != nil || u.Hostname() != "localhost" || u.Port() == "" || u.Path != "/back" || u.RawQuery != "x=1" {
		t.Fatalf("the address is %s, %v", c.uri(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	end := wait(ctx, c, &Person{Paste: func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}})
	idle, err := net.Dial("tcp", "127.0.0.1:"+u.Port())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	var e *Error
	if w := <-end; !errors.As(w.err, &e) || e.Reason != Cancelled || !errors.Is(w.err, context.Canceled) {
		t.Errorf("got %v", w.err)
	}
	lap := stopwatch.Start(t)
	c.close()
	c.close()
	if took := lap.End(); took > pageTime {
		t.Errorf("closing took %s", took)
	}
	_ = idle.Close()
	if _, err := net.Dial("tcp", "127.0.0.1:"+u.Port()); err == nil {
		t.Error("something still listens")
	}
}

func TestAPersonWhoDoesNotComeBackIsWaitedForNoLonger(t *testing.T) {
	t.Parallel()
	c := listening(t, "", 0)
	answered := true
	_, _, err := c.answer(t.Context(), &Person{Time: 20 * time.Millisecond, Done: func(a bool) { answered = a }}, "the-state")
	var e *Error
	if !errors.As(err, &e) || e.Reason != TimedOut || e.Message != "nobody came back from the browser within 20ms" || answered {
		t.Fatalf("got %v, answered %t", err, answered)
	}
	if status, _, body := visit(t, http.MethodGet, c.uri()+"?code=c&state=the-state"); status != http.StatusConflict {
		t.Errorf("who comes too late gets %d\n%s", status, body)
	}
}

// TestThePortThatIsToldIsTheOneThatIsListenedAt is case oauth-callback-port.
func TestThePortThatIsToldIsTheOneThatIsListenedAt(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, text, _ := net.SplitHostPort(taken.Addr().String())
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		uri  string
		port int
		want string
	}{
		{fmt.Sprintf("http://localhost:%d/callback", port), 0, fmt.Sprintf("port %d of localhost is taken by another program, and the browser is to come back there (oauth.redirect_uri)", port)},
		{fmt.Sprintf("http://127.0.0.1:%d/callback", port), 0, fmt.Sprintf("port %d of 127.0.0.1 is taken", port)},
		{"", port, fmt.Sprintf("port %d of 127.0.0.1 is taken by another program, and the browser is to come back there (oauth.redirect_port)", port)},
		{"https://localhost:1/callback", 0, "no http URL at localhost"},
		{"http://example.com:1/callback", 0, "no http URL at localhost"},
		{"http://localhost:99999/callback", 0, "not between 1 and 65535"},
	} {
		_, err := listen(t.Context(), tc.uri, tc.port)
		var e *Error
		if !errors.As(err, &e) || e.Reason != Config || !strings.Contains(e.Message, tc.want) {
			t.Errorf("%s, %d: got %v", tc.uri, tc.port, err)
		}
	}
	_ = taken.Close()
	for _, uri := range []string{fmt.Sprintf("http://localhost:%d/a%%2Fb", port), fmt.Sprintf("http://127.0.0.1:%d", port)} {
		c, err := listen(t.Context(), uri, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.uri() != uri {
			t.Errorf("told is %s, demanded was %s", c.uri(), uri)
		}
		end := wait(t.Context(), c, nil)
		comeBack(t, c.uri()+"?code=c&state=the-state")
		if w := <-end; w.err != nil {
			t.Error(w.err)
		}
		c.close()
	}
}

func TestAPastedAddressIsTheAnswer(t *testing.T) {
	t.Parallel()
	const at = "http://127.0.0.1:4711/callback"
	for _, tc := range []struct{ text, code, why string }{
		{text: at + "?code=c%2B1&state=the-state", code: "c+1"},
		{text: "  '" + at + "?code=c&state=the-state#_=_'\n", code: "c"},
		{text: at + "?code=c&sta\nte=the-state", code: "c"},
		{text: "127.0.0.1:4711/callback?state=the-state&code=c", code: "c"},
		{text: "code=c&state=the-state", code: "c"},
		{text: "?code=c&state=the-state", code: "c"},
		{text: " \n"},
		{text: "the-code", why: "a code alone does not say which login it answers"},
		{text: at, why: "nothing behind the path"},
		{text: at + "?state=the-state", why: "there is no code in it"},
		{text: at + "?code=c", why: "there is no state in it"},
		{text: at + "?code=c&state=other", why: "it answers another login"},
		{text: at + "?code=c&code=d&state=the-state", why: "code is in it twice"},
		{text: at + "?error=access_denied", why: "there is no state in it"},
		{text: at + "?code=%zz", why: "cannot be read"},
		{text: "https://as.example/authorize?response_type=code&state=the-state&redirect_uri=x", why: "that is the address to log in at"},
	} {
		values, why := parsePasted(tc.text, "the-state", at)
		if values.Get("code") != tc.code || tc.why == "" != (why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%q: got %v, %q", tc.text, values, why)
		}
	}
	if values, why := parsePasted(at+"?error=access_denied&state=the-state", "the-state", at); why != "" || values.Get("error") != "access_denied" {
		t.Errorf("got %v, %q", values, why)
	}
}

func TestWrongPastesAreAskedForAgainUntilTheAnswerComes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		pastes []string
		end    error
		code   string
		reason Reason
	}{
		{name: "right in the end", pastes: []string{"", "nonsense", "code=p&state=other", "code=p&state=the-state"}, code: "p"},
		{name: "not wanted", pastes: []string{"nonsense"}, end: errors.New("Ctrl-C"), reason: Cancelled},
		{name: "end of the input", pastes: []string{"nonsense"}, end: io.EOF, code: "b"},
	} {
		c := listening(t, "", 0)
		n := 0
		p := &Person{Paste: func(ctx context.Context) (string, error) {
			if n++; n <= len(tc.pastes) {
				return tc.pastes[n-1], nil
			}
			if tc.end == nil {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "", tc.end
		}}
		end := wait(t.Context(), c, p)
		if tc.code == "b" {
			comeBack(t, c.uri()+"?code=b&state=the-state")
		}
		w := <-end
		var e *Error
		if failed := errors.As(w.err, &e); failed != (tc.code == "") || failed && e.Reason != tc.reason || w.values.Get("code") != tc.code {
			t.Errorf("%s: got %v, %v", tc.name, w.values, w.err)
		}
		if w.done != nil {
			w.done(nil)
		}
	}
}

func FuzzPasted(f *testing.F) {
	for _, text := range []string{"", "code=c&state=s", "http://127.0.0.1:1/callback?code=c&state=s#x", "c", "?&&=", "http://[::1", "a?b?c=%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, why := parsePasted(text, "s", "http://127.0.0.1:1/callback")
		if values != nil && (why != "" || values.Get("state") != "s" || !values.Has("code") && !values.Has("error")) {
			t.Errorf("%q is taken for %v, %q", text, values, why)
		}
		if len(text) > 60 && strings.Contains(why, text) {
			t.Errorf("what was pasted is repeated: %q", why)
		}
	})
}
