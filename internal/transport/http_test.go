package transport

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// post sends one request over a new connection and returns what the exchange saw and what the SDK would get.
func post(t *testing.T, handler http.HandlerFunc, header http.Header) (ExchangeState, string, error) {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP(HTTPOptions{Endpoint: u, Header: header})
	t.Cleanup(h.Close)
	return send(t, h, srv.URL)
}

func send(t *testing.T, h *HTTP, address string) (ExchangeState, string, error) {
	t.Helper()
	ctx, ex := WithExchange(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, "abc")
	resp, err := h.Client().Do(req)
	if err != nil {
		return ex.State(), "", err
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return ex.State(), string(body), nil
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		} else {
			w.Header()["Content-Type"] = nil
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestAnswers shows which answers reach the SDK, and in which form.
func TestAnswers(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":7,"result":{"n":12345678901234567890}}`
	for name, tt := range map[string]struct {
		status      int
		contentType string
		body        string
		want        string // result
		wantError   string
	}{
		"JSON":                 {200, "application/json", good, `{"n":12345678901234567890}`, ""},
		"charset":              {200, "application/json; charset=utf-8", good, `{"n":12345678901234567890}`, ""},
		"no content type":      {200, "", good, `{"n":12345678901234567890}`, ""},
		"byte order mark":      {200, "application/json", "\uFEFF" + good, `{"n":12345678901234567890}`, ""},
		"batch of one":         {200, "application/json", "[" + good + "]", `{"n":12345678901234567890}`, ""},
		"batch":                {200, "application/json", `[{"jsonrpc":"2.0","method":"n"},` + good + "]", `{"n":12345678901234567890}`, ""},
		"one after the other":  {200, "application/json", `{"jsonrpc":"2.0","method":"n"}` + "\n" + good + "\n", `{"n":12345678901234567890}`, ""},
		"two in an event":      {200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"array in an event":    {200, "text/event-stream", "data: []\n\ndata: [{\"jsonrpc\":\"2.0\",\"method\":\"n\"}," + good + "]\n\n", `{"n":12345678901234567890}`, ""},
		"id as a string":       {200, "application/json", strings.Replace(good, "7", `"7"`, 1), `{"n":12345678901234567890}`, ""},
		"id as a float":        {200, "application/json", strings.Replace(good, "7", `7.0`, 1), `{"n":12345678901234567890}`, ""},
		"error":                {200, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":1}}`, "", `{"code":1}`},
		"error without an id":  {200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, "", `{"code":1}`},
		"error under 404":      {404, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601}}`, "", `{"code":-32601}`},
		"stream":               {200, "text/event-stream", "event: message\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, CRLF":         {200, "text/event-stream", "data: " + good + "\r\n\r\n", `{"n":12345678901234567890}`, ""},
		"stream, no space":     {200, "text/event-stream", "data:" + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, two lines":    {200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n", `{}`, ""},
		"stream, comment":      {200, "text/event-stream", ": ping\n\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, no last line": {200, "text/event-stream", "data: " + good, `{"n":12345678901234567890}`, ""},
		"stream, DONE":         {200, "text/event-stream", "data: [DONE]\n\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, other event":  {200, "text/event-stream", "event: ping\ndata: now\n\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, empty batch":  {200, "text/event-stream", "data: []\n\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
		"stream, batch of one": {200, "text/event-stream", "data: [" + good + "]\n\n", `{"n":12345678901234567890}`, ""},
		"stream, batch":        {200, "text/event-stream", `data: [1,{"jsonrpc":"2.0","method":"n"},` + good + "]\n\n", `{"n":12345678901234567890}`, ""},
		"stream, bare field":   {200, "text/event-stream", "nonsense\ndata: " + good + "\n\n", `{"n":12345678901234567890}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, body, err := post(t, answer(tt.status, tt.contentType, tt.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !st.Answered || string(st.Result) != tt.want || string(st.Error) != tt.wantError || !st.Written || !st.SessionID {
				t.Errorf("state %+v: result %s, error %s", st, st.Result, st.Error)
			}
			if !strings.Contains(body, `"id":7`) {
				t.Errorf("the SDK gets %q", body)
			}
		})
	}
}

// TestFaults shows which answers are faults, and with what evidence.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		kind    Kind
		words   string
	}{
		"web page":       {answer(200, "text/html", "<title>Sign &amp; in</title>"), KindContent, `web page (200 text/html): "Sign & in"`},
		"empty":          {answer(200, "application/json", ""), KindContent, "empty"},
		"202":            {answer(202, "", ""), KindContent, "HTTP 202 without a body, which is for notifications"},
		"not JSON-RPC":   {answer(200, "application/json", `{"ok":true}`), KindContent, `not JSON-RPC`},
		"another id":     {answer(200, "application/json", `{"jsonrpc":"2.0","id":8,"result":{}}`), KindContent, "its id is 8, the request's is 7"},
		"404":            {answer(404, "text/plain", "no such page"), KindStatus, "HTTP 404 Not Found: no such page"},
		"404 with words": {answer(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`), KindStatus, "Session not found"},
		"unknown status": {answer(520, "", ""), KindStatus, "HTTP 520"},
		"busy, own id":   {answer(429, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-1}}`), KindStatus, "HTTP 429"},
		"stream end":     {answer(200, "text/event-stream", ": nothing\n\n"), KindSevered, ""},
		"reset":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, KindSevered, "without an answer"},
		"303":            {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusSeeOther) }, KindRedirect, "redirects to"},
		"300": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusMultipleChoices)
		}, KindRedirect, "HTTP 300 redirects to"},
		"304": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusNotModified) }, KindRedirect, "HTTP 304 redirects to"},
		"other origin": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, KindRedirect, "http://localhost:1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, _, err := post(t, tt.handler, nil)
			var f *Fault
			if name == "stream end" {
				f = st.Fault // the SDK learns it from the stream
			} else if !errors.As(err, &f) {
				t.Fatalf("err = %v", err)
			}
			if f == nil || st.Fault == nil || f.Kind != tt.kind || !f.Written || !f.SessionID || !strings.Contains(f.Error(), tt.words) {
				t.Errorf("fault %+v: %v", f, f)
			}
		})
	}
}

// TestNothingWritten shows that what failed before the first byte is known not to have been sent.
func TestNothingWritten(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	u, _ := url.Parse(address)
	h := NewHTTP(HTTPOptions{Endpoint: u})
	defer h.Close()
	st, _, err := send(t, h, address)
	var f *Fault
	if !errors.As(err, &f) || f.Kind != KindRefused || f.Written || st.Written {
		t.Errorf("fault %+v, state %+v", f, st)
	}
}

// TestPF06Secrets shows that configured headers go to the endpoint's origin and nowhere else, and that net/http never
// repeats a POST by itself, not even with an idempotency key.
func TestPF06Secrets(t *testing.T) {
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked.Store(true)
	}))
	defer other.Close()
	var posts atomic.Int32
	header := http.Header{"Authorization": {"Bearer s3cret"}, "Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}
	_, _, err := post(t, func(w http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Idempotency-Key") != "k" {
			t.Errorf("headers %v", r.Header)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}, header)
	if err == nil || leaked.Load() {
		t.Errorf("err = %v, other origin asked: %v", err, leaked.Load())
	}

	// The second request on a connection is read and dropped: net/http would repeat one with an idempotency key.
	posts.Store(0)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if posts.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		answer(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{}}`)(w, r)
	}))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	h := NewHTTP(HTTPOptions{Endpoint: u, Header: header})
	defer h.Close()
	if _, _, err := send(t, h, srv.URL); err != nil {
		t.Fatal(err)
	}
	if _, _, err := send(t, h, srv.URL); err == nil {
		t.Error("the dropped request succeeded")
	}
	if n := posts.Load(); n != 2 {
		t.Errorf("%d posts", n)
	}
}

// TestKillSwitch shows that Close ends a request that nobody answers.
func TestKillSwitch(t *testing.T) {
	arrived := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	h := NewHTTP(HTTPOptions{Endpoint: u})
	go func() {
		<-arrived
		h.Close()
	}()
	_, _, err := send(t, h, srv.URL)
	if !errors.Is(err, ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

// TestSilentErrorBody shows that an error whose body never comes is reported all the same.
func TestSilentErrorBody(t *testing.T) {
	st, _, err := post(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadGateway)
		w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
		<-r.Context().Done()
	}, nil)
	var f *Fault
	if !errors.As(err, &f) || f.Status != http.StatusBadGateway || st.Status != http.StatusBadGateway {
		t.Errorf("err = %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"3": 3 * time.Second, " 0 ": 0, "-5": 0, "9999999": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour, "99999999999999999999": 24 * time.Hour,
	} {
		got, ok := retryAfter(http.Header{"Retry-After": {value}}, now)
		if !ok || got != want {
			t.Errorf("%q: %s, %v", value, got, ok)
		}
	}
	if _, ok := retryAfter(http.Header{}, now); ok {
		t.Error("there is none")
	}
}

// TestExchangeParams shows that parameters go out as they were given, beside what only the SDK set.
func TestExchangeParams(t *testing.T) {
	_, ex := WithExchange(t.Context())
	ex.SetParams([]byte(`{"n":12345678901234567890,"_meta":{"mine":1}}`))
	got := string(ex.params([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":1.2e19,"inputResponses":{},"_meta":{"sdk":2}}}`)))
	for _, want := range []string{`"n":12345678901234567890`, `"inputResponses":{}`, `"mine":1`, `"sdk":2`, `"id":1`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// TestExchangeMethod shows that a request goes out under another name.
func TestExchangeMethod(t *testing.T) {
	_, ex := WithExchange(t.Context())
	ex.SetParams([]byte(`{}`))
	ex.SetMethod("server/discover")
	got := string(ex.params([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"sdk":2}}}`)))
	if want := `{"id":1,"jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"sdk":2}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none *Exchange
	if ex.rename("m") != "server/discover" || none.rename("m") != "m" {
		t.Errorf("renamed to %s, %s", ex.rename("m"), none.rename("m"))
	}
}

// TestAfterClose shows that nothing is sent on a closed connection.
func TestAfterClose(t *testing.T) {
	var served atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	for range 50 {
		h := NewHTTP(HTTPOptions{Endpoint: u})
		h.Close()
		st, _, err := send(t, h, srv.URL)
		var f *Fault
		if !errors.As(err, &f) || f.Written || st.Written {
			t.Fatalf("err = %v", err)
		}
	}
	if n := served.Load(); n != 0 {
		t.Errorf("%d requests were served", n)
	}
}

// TestOpenStream shows that a stream that stays open after the response, or has no content type, keeps nobody waiting.
func TestOpenStream(t *testing.T) {
	for name, contentType := range map[string]string{"typed": "text/event-stream", "untyped": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, body, err := post(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				w.Header()["Content-Type"] = nil
				if contentType != "" {
					w.Header().Set("Content-Type", contentType)
				}
				_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")
				w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
				<-r.Context().Done()
			}, nil)
			if err != nil || !st.Answered || !strings.Contains(body, `"id":7`) {
				t.Errorf("body %q, %v", body, err)
			}
		})
	}
}

// TestMask shows that a secret is hidden before evidence is cut, so that no part of it is left at the end.
func TestMask(t *testing.T) {
	const secret = "QWERTYUIOPASDFGHJKL"
	srv := httptest.NewServer(answer(200, "text/html", "<title>"+strings.Repeat("x", 140)+secret+"</title>"+strings.Repeat("x", faultBody-400)+secret))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	h := NewHTTP(HTTPOptions{Endpoint: u, Mask: func(s string) string { return strings.ReplaceAll(s, secret, "***") }})
	defer h.Close()
	_, _, err := send(t, h, srv.URL)
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	if said := f.Error() + f.Title + f.Snippet() + string(f.Body); strings.Contains(said, secret[:5]) {
		t.Errorf("part of the secret is left: %s", said)
	}
}

// TestUnendedEvent shows that a response is taken whose event the server does not end, that this is noted, and is not of a
// server that ends it a moment later.
func TestUnendedEvent(t *testing.T) {
	t.Parallel()
	const event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n"
	for name, ends := range map[string]bool{"never": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
				if ends {
					_, _ = io.WriteString(w, "\n")
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			t.Cleanup(srv.Close)
			u, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			h := NewHTTP(HTTPOptions{Endpoint: u})
			t.Cleanup(h.Close)
			for range 2 {
				if st, _, err := send(t, h, srv.URL); err != nil || !st.Answered {
					t.Fatalf("%+v, %v", st, err)
				}
			}
			if h.Odd.has(OddUnended) == ends {
				t.Errorf("noted: %+v", h.Odd.List())
			}
		})
	}
}

// TestAnEventOfManyLinesIsLookedAtSeldom shows that the search for events that are not ended does not look at a whole event at each
// of its lines, however they come.
func TestAnEventOfManyLinesIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	const lines = 500
	r, w := io.Pipe()
	go func() {
		for range lines {
			_, _ = io.WriteString(w, "data: 1\n") // each is read by itself
		}
		_, _ = io.WriteString(w, "\n")
		_ = w.Close()
	}()
	looked := 0
	body := newSSEBody(r, MaxMessage, func(ev sseEvent) (sseEvent, bool, error) { return ev, true, nil }, func(error) {})
	body.whole = func(sseEvent) bool { looked++; return false }
	got, err := io.ReadAll(body)
	if err != nil || strings.Count(string(got), "data: 1\n") != lines {
		t.Fatalf("%.60q, %v", got, err)
	}
	if looked > lines/10 { // a busy machine may be taken for a pause
		t.Errorf("%d lines, and the event was looked at %d times", lines, looked)
	}
}

// TestEventIDs shows which ids of events are kept: one that no header can hold could never be sent back.
func TestEventIDs(t *testing.T) {
	for line, want := range map[string]string{
		"id: 7": "7", "id: \u00e9\t7": "\u00e9\t7", "id": "", "id: a\x00b": "none", "id: a\x1bb": "none", "id: a\x7f": "none",
	} {
		_, events, _ := readEvents([]byte(line+"\ndata: x\n\n"), 100, 100)
		got := "none"
		if len(events) == 1 && events[0].hasID {
			got = events[0].id
		}
		if len(events) != 1 || got != want {
			t.Errorf("%q: %q of %+v", line, got, events)
		}
	}
}

// TestEvidenceIsSmall shows that no part of an answer makes a failure larger than somebody can read.
func TestEvidenceIsSmall(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("A", 900_000)
	for name, handler := range map[string]http.HandlerFunc{
		"title":        answer(502, "text/html", "<title>"+large+"</title>"),
		"content type": answer(200, "text/"+large, "nothing"),
		"challenge": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+large+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://other.example/"+large)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, _, err := post(t, handler, nil)
			f := st.Fault
			if f == nil {
				t.Fatal(err)
			}
			if n := len(f.Error()) + len(f.Title) + len(f.ContentType) + len(f.Challenge) + len(f.Location) + len(f.Body); n > 4*faultBody {
				t.Errorf("%d bytes", n)
			}
		})
	}
}

// TestARedirectToNoURLIsNotShown shows that what cannot be read as a URL, and may hold a secret, is not repeated.
func TestARedirectToNoURLIsNotShown(t *testing.T) {
	t.Parallel()
	_, _, err := post(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://me:secret@h%zz/?token=secret")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, nil)
	if f, ok := errors.AsType[*Fault](err); !ok || f.Kind != KindRedirect || f.Status != http.StatusTemporaryRedirect || strings.Contains(f.Error()+f.Location, "secret") {
		t.Errorf("%v", err)
	}
}

// TestIdleConnectionsDoNotOutlastASleep shows that no TCP connection is used again that is older, by the clock on the wall, than
// idle ones are kept: the machine has slept, and whoever stands in between has forgotten it.
func TestIdleConnectionsDoNotOutlastASleep(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(answer(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{}}`))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP(HTTPOptions{Endpoint: u})
	t.Cleanup(h.Close)
	for i, want := range []int64{1, 1, 2} {
		if i == 2 {
			h.used = h.used.Add(-2 * idleKept) // as after a sleep
		}
		if st, _, err := send(t, h, srv.URL); err != nil || !st.Answered {
			t.Fatalf("%+v, %v", st, err)
		}
		if got := opened.Load(); got != want {
			t.Errorf("request %d: %d connections were opened, want %d", i, got, want)
		}
	}
}
