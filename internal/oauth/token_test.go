package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func (s *tokenServer) endpoint() *endpoint {
	return &endpoint{url: s.URL + "/token", audience: s.URL, http: s.Client(), step: StepToken}
}

// The client authenticates as it was registered, else as the server supports, else by what there is.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	key := pemOf(t, p256(t))
	for _, c := range []struct {
		name    string
		client  Client
		methods []string
		key     string
		want    string
	}{
		{"nothing is known", Client{}, nil, "", methodNone},
		{"a public client", Client{ID: "me"}, []string{methodBasic}, "", methodNone},
		{"a secret", Client{ID: "me", Secret: "s"}, nil, "", methodBasic},
		{"both", Client{ID: "me", Secret: "s"}, []string{methodPost, methodBasic}, "", methodBasic},
		{"post only", Client{ID: "me", Secret: "s"}, []string{methodPost}, "", methodPost},
		{"none only", Client{ID: "me", Secret: "s"}, []string{methodNone}, "", methodNone},
		{"something else only", Client{ID: "me", Secret: "s"}, []string{"tls_client_auth"}, "", methodBasic},
		{"registered", Client{ID: "me", Secret: "s", Method: methodPost}, []string{methodBasic}, "", methodPost},
		{"a key", Client{ID: "me"}, nil, key, methodKey},
		{"a key and a secret", Client{ID: "me", Secret: "s"}, []string{methodBasic, methodKey}, key, methodKey},
		{"a key that the server does not take, and a secret", Client{ID: "me", Secret: "s"}, []string{methodPost}, key, methodPost},
	} {
		e := &endpoint{client: c.client, methods: c.methods, key: c.key}
		if got := e.method(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The id and the secret are encoded as forms are before they go into the header (RFC 6749, 2.3.1), and are never in two
// places.
func TestSecretIsSentOnce(t *testing.T) {
	t.Parallel()
	const id, secret = "me+you:%3A ü", "p@ss:w%rd +&=ß"
	for _, method := range []string{methodBasic, methodPost} {
		s := startTokenServer(t)
		s.secrets[id] = secret
		heard := &told{}
		e := s.endpoint()
		e.client, e.secret = Client{ID: id, Secret: secret, Method: method}, heard.secret
		token, err := e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}, "scope": {"a b"}})
		if err != nil {
			t.Fatal(method, err)
		}
		if token.Access != "access-1" || token.Type != "Bearer" || !slices.Equal(token.Scopes, []string{"a", "b"}) {
			t.Errorf("%s: %+v", method, token)
		}
		if token, err := e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}}); err != nil || token.Scopes != nil {
			t.Errorf("%s: scopes that nobody named: %v, %v", method, token.Scopes, err)
		}
		if left := time.Until(token.Expires); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%s: good for %s", method, left)
		}
		for _, text := range []string{secret, url.QueryEscape(secret), "access-1"} {
			if !heard.knows(text) {
				t.Errorf("%s: nobody was told that %q is secret", method, text)
			}
		}
		if basic := strings.TrimPrefix(s.last().header.Get("Authorization"), "Basic "); method == methodBasic && !heard.knows(basic) {
			t.Errorf("nobody was told of %q", basic)
		}
	}
}

// What the far end answers is read strictly, and what it means is told apart: a no, a server that does not work, and
// something that must not be used.
func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	page := "<html><title>Sign in</title></html>"
	for _, c := range []struct {
		name, media, body string
		status            int
		reason            Reason
		code, says        string
	}{
		{"no such token", "application/json", `{"token_type":"Bearer"}`, 200, Invalid, "", "without an access_token"},
		{"no type", "application/json", `{"access_token":"t"}`, 200, Invalid, "", "without a token_type"},
		{"a token that is no text", "application/json", `{"access_token":{"a":1},"token_type":"Bearer"}`, 200, Invalid, "", "access_token that is no text"},
		{"a token with a line break", "application/json", `{"access_token":"a\r\nX-Evil: 1","token_type":"Bearer"}`, 200, Invalid, "", "cannot be sent"},
		{"another type", "application/json", `{"access_token":"t","token_type":"mac"}`, 200, Invalid, "", "type mac"},
		{"bound without a proof", "application/json", `{"access_token":"t","token_type":"DPoP"}`, 200, Invalid, "", "no key was shown"},
		{"a list", "application/json", `[]`, 200, Invalid, "", "no JSON object"},
		{"null", "application/json", `null`, 200, Invalid, "", "no JSON object"},
		{"nothing", "application/json", ``, 200, Invalid, "", "answered with nothing"},
		{"a form", "application/x-www-form-urlencoded", `access_token=t&token_type=bearer`, 200, Invalid, "", "no JSON object"},
		{"a page", "text/html", page, 200, Invalid, "", "web page"},
		{"a page that is not there", "text/html", page, 404, Invalid, "", "HTTP 404"},
		{"an error", "application/json", `{"error":"invalid_grant","error_description":"it is\nover"}`, 400, Refused, "invalid_grant", "invalid_grant: it is over"},
		{"an error with 200", "application/json", `{"error":"invalid_grant","access_token":"t","token_type":"Bearer"}`, 200, Refused, "invalid_grant", "invalid_grant"},
		{"an error as a page's media type", "text/html", `{"error":"invalid_client"}`, 401, Refused, "invalid_client", "invalid_client"},
		{"an error that is an object", "application/json", `{"error":{"code":7}}`, 400, Refused, "error", "says error"},
		{"a no without words", "text/plain", "no", 401, Refused, "", "HTTP 401"},
		{"forbidden without words", "text/plain", "no", 403, Invalid, "", "HTTP 403"},
		{"out of order", "text/html", page, 502, Unreachable, "", "HTTP 502"},
		{"out of order, in JSON", "application/json", `{"error":"invalid_grant"}`, 500, Unreachable, "invalid_grant", "HTTP 500"},
		{"too many", "application/json", `{"error":"slow_down"}`, 429, Unreachable, "slow_down", "HTTP 429"},
		{"later", "application/json", `{"error":"temporarily_unavailable"}`, 400, Unreachable, "temporarily_unavailable", "HTTP 400"},
		{"a code with colours", "application/json", `{"error":"\u001b[31mred\n"}`, 400, Refused, "[31mred", "[31mred"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startTokenServer(t)
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}
			_, err := s.endpoint().ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
			e := failureOf(t, err)
			if e.Reason != c.reason || e.Code != c.code || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, s.URL) {
				t.Errorf("reason %d code %q: %s", e.Reason, e.Code, e.Message)
			}
			if len(s.requests()) != 1 {
				t.Errorf("it was asked %d times", len(s.requests()))
			}
		})
	}
}

// How long a token is good is believed within reason.
func TestTokenLife(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]time.Duration{
		`3600`: time.Hour, `"3600"`: time.Hour, `" 60 "`: time.Minute, `90.7`: 90 * time.Second, `3.6e3`: time.Hour,
		`-1`: 0, `0`: 0, `"-5"`: 0, `null`: 0, `"soon"`: 0, `"NaN"`: 0, `"Inf"`: 0, `1e18`: 0, `1e999`: 0, `{}`: 0, `[1]`: 0, `true`: 0, ``: 0,
	} {
		if got := readLife(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// A server that repeats what it was sent does not bring it onto the screen.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusBadRequest, "invalid_request", r.PostForm.Encode()+" "+r.PostForm.Get("refresh_token")+" "+r.Header.Get("Authorization"))
	}
	e := s.endpoint()
	e.client = Client{ID: "me", Secret: "hunter-2-hunter"}
	_, err := e.ask(t.Context(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"very-secret-refresh"}})
	failure := failureOf(t, err)
	for _, secret := range []string{"hunter-2", "very-secret", "bWU6"} {
		if strings.Contains(fmt.Sprint(failure, failure.Hint, failure.Code), secret) {
			t.Errorf("%q is in: %v", secret, failure)
		}
	}
}

// Credentials are for the server that was asked: a redirect is not followed.
func TestTokenRedirect(t *testing.T) {
	t.Parallel()
	other := startTokenServer(t)
	s := startTokenServer(t)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/token?secret=1", http.StatusTemporaryRedirect)
	}
	_, err := s.endpoint().ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if e := failureOf(t, err); e.Reason != Invalid || !strings.Contains(e.Message, other.URL+"/token;") {
		t.Errorf("%+v", e)
	}
	if len(other.requests()) != 0 {
		t.Error("the other server was asked")
	}
}

// An answer that does not end, and one that does not begin.
func TestTokenBounds(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"`+strings.Repeat("a", mostToken)+`"}`)
	}
	_, err := s.endpoint().ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if e := failureOf(t, err); e.Reason != Invalid || !strings.Contains(e.Message, "more than") {
		t.Errorf("%+v", e)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	e := &endpoint{url: "http://" + silent.Addr().String() + "/token", http: &http.Client{}, step: StepRefresh}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more"))
	_, err = e.ask(ctx, url.Values{"grant_type": {"refresh_token"}})
	if failure := failureOf(t, err); failure.Reason == Invalid || failure.Step != StepRefresh {
		t.Errorf("%+v", failure)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = e.ask(ctx, url.Values{"grant_type": {"refresh_token"}})
	if failure := failureOf(t, err); failure.Reason != Cancelled {
		t.Errorf("%+v", failure)
	}
	ctx, stop = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err = e.ask(ctx, url.Values{"grant_type": {"refresh_token"}})
	if failure := failureOf(t, err); failure.Reason != Unreachable {
		t.Errorf("%+v", failure)
	}
}

// A server that is not there, and a URL that is none.
func TestTokenUnreachable(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	e := s.endpoint()
	s.Close()
	_, err := e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if failure := failureOf(t, err); failure.Reason != Unreachable || !strings.Contains(failure.Message, "could not be asked") {
		t.Errorf("%+v", failure)
	}
	for _, place := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "://", "https:///token"} {
		_, err := (&endpoint{url: place, http: &http.Client{}, step: StepToken}).ask(t.Context(), nil)
		if failure := failureOf(t, err); failure.Reason != Invalid {
			t.Errorf("%s: %+v", place, failure)
		}
	}
}

// A wrong clock is named as the cause, where what was refused has a time in it.
func TestClockIsTheCause(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"invalid_client": true, "invalid_scope": false} {
		s := startTokenServer(t)
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
			s.refuse(w, http.StatusUnauthorized, code, "")
		}
		e := s.endpoint()
		e.client, e.key = Client{ID: "me"}, pemOf(t, p256(t))
		_, err := e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
		if hint := failureOf(t, err).Hint; strings.Contains(hint, "clock is 10m ahead") != want {
			t.Errorf("%s: %q", code, hint)
		}
	}
}

func FuzzTokenAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"t","token_type":"Bearer","expires_in":3600,"scope":"a b","refresh_token":"r"}`,
		`{"error":"invalid_grant","error_description":"no"}`, `{"error":{}}`, `[]`, `null`, ``, `{"expires_in":"1e400"}`,
		`{"access_token":"t","token_type":"DPoP","scope":["a"],"expires_in":-1}`,
	} {
		f.Add([]byte(seed))
	}
	asked := time.Now()
	f.Fuzz(func(t *testing.T, body []byte) {
		a, p := readAnswer(body, asked)
		if p.code == "" && p.says == "" {
			if a.Access == "" || a.Type == "" || strings.ContainsFunc(a.Access, unsendable) {
				t.Errorf("%q gives %+v", body, a)
			}
			if !a.Expires.IsZero() && (a.Expires.Before(asked) || a.Expires.After(asked.Add(longestToken))) {
				t.Errorf("%q is good until %s", body, a.Expires)
			}
		}
		if code := bareCode(p.code); strings.ContainsFunc(code, unsendable) || len(code) > 60 {
			t.Errorf("%q shows %q", body, code)
		}
	})
}
