package transport

import (
	"context"
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

// ask asks for a token in the way of the grants and returns the status and the body of the answer.
func ask(ctx context.Context, t *testing.T, c *http.Client, address string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("client_secret=sesam-1"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Basic sesam-2")
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func webClient(t *testing.T, address string, opts HTTPOptions) *http.Client {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	opts.Endpoint = u
	return NewWeb(opts)
}

// TestWeb shows what a request for a token is: no redirect is followed, no cookie is kept, no connection stays, none of
// the server's headers goes along, and the trace tells that it was made, and nothing of what was in it.
func TestWeb(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Own") != "" || r.Header.Get("User-Agent") != "mcpctl/1" || r.Header.Get("Cookie") != "" {
			t.Errorf("headers %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "id=sesam-3")
		w.Header().Set("Location", "/elsewhere?code=sesam-4")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, `{"access_token":"sesam-5"}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	srv.Start()
	defer srv.Close()
	got := traced(func(c *ConnTrace) {
		client := webClient(t, srv.URL, HTTPOptions{
			Header: http.Header{"X-Own": {"1"}, "User-Agent": {"mcpctl/1"}, "Authorization": {"Bearer sesam-6"}}, Trace: c, Authorizer: &keyring{token: 1},
		})
		for range 2 {
			status, body, err := ask(t.Context(), t, client, srv.URL+"/token?key=sesam-7")
			if err != nil || status != http.StatusFound || !strings.Contains(body, "sesam-5") {
				t.Errorf("%d %q %v", status, body, err)
			}
		}
	})
	if strings.Contains(got, "sesam") || !strings.Contains(got, "> POST "+srv.URL+"/token\n") || !strings.Contains(got, "< HTTP/1.1 302 Found (") {
		t.Errorf("the trace:\n%s", got)
	}
	for deadline := time.Now().Add(5 * time.Second); open.Load() != 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open", open.Load())
		}
		time.Sleep(time.Millisecond) // the server hears of it a moment later
	}
}

// TestWebFailures shows that what goes wrong on the way is told in plain words.
func TestWebFailures(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	proxy, _ := url.Parse(closed.URL)
	for name, c := range map[string]struct {
		address string
		opts    HTTPOptions
		kind    Kind
		words   string
	}{
		"a name":      {"https://nowhere.invalid/token", HTTPOptions{}, KindDNS, "no such host: nowhere.invalid"},
		"refused":     {closed.URL, HTTPOptions{}, KindRefused, "connection refused"},
		"a CA":        {secure.URL, HTTPOptions{}, KindTLS, "TLS: certificate signed by unknown authority"},
		"plain HTTP":  {strings.Replace(plain.URL, "http:", "https:", 1), HTTPOptions{}, KindTLS, "the server speaks plain HTTP on this port"},
		"cut":         {cut.URL, HTTPOptions{}, KindSevered, "closed without an answer"},
		"a proxy":     {plain.URL, HTTPOptions{Proxy: &Proxy{URL: proxy}}, KindProxy, "the proxy " + closed.URL + " cannot be reached"},
		"no end":      {hangs.URL, HTTPOptions{}, -1, "deadline exceeded"},
		"connects to": {"http://nowhere.invalid/token", HTTPOptions{ConnectTo: strings.TrimPrefix(closed.URL, "http://")}, KindRefused, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 5 * time.Second
			if c.kind < 0 {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, _, err := ask(ctx, t, webClient(t, c.address, c.opts), c.address)
			f, ok := errors.AsType[*Fault](err)
			switch {
			case err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "sesam"):
				t.Errorf("%v, want %q", err, c.words)
			case c.kind < 0 && ok, c.kind >= 0 && (!ok || f.Kind != c.kind):
				t.Errorf("%+v", f)
			}
		})
	}
}
