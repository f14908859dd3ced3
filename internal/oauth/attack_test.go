package oauth

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// What others could try: a server, an authorization server, a page in the person's browser. Each test shows an attack, and
// that nothing comes of it.

// stranger is an origin that is to get nothing. Its log is what came all the same.
type stranger struct {
	*httptest.Server

	mu  sync.Mutex
	log bytes.Buffer
}

func startStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = r.Write(&s.log)
		answerJSON(w, http.StatusOK, map[string]any{})
	}))
	t.Cleanup(s.Close)
	return s
}

// got is what the stranger was sent.
func (s *stranger) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// zipped answers with much more than its size says.
func zipped(begin string) http.HandlerFunc {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	// What is packed in parts is one text. The part in the middle is packed once: that takes long under the race detector.
	packed := slices.Concat(pack(begin), bytes.Repeat(pack(strings.Repeat(" ", 1<<20)), 64), pack("}"))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	}
}

// trickle answers without an end, a byte at a time.
func trickle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// TestHostileDocuments shows documents that lead nowhere: no browser is opened, nothing is registered, and they do not keep
// anybody waiting.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		}
	}
	resource := func(value any) func(*authServer, *stranger) {
		return func(s *authServer, _ *stranger) { s.prm = func(doc map[string]any) { doc["resource"] = value } }
	}
	issuers := func(values ...any) func(*authServer, *stranger) {
		return func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) { doc["authorization_servers"] = values }
		}
	}
	placed := func(h http.HandlerFunc) func(*authServer, *stranger) {
		return func(s *authServer, _ *stranger) { s.placed[s.prmPath()] = h }
	}
	metadata := func(key string, value any) func(*authServer, *stranger) {
		return func(s *authServer, _ *stranger) { s.metadata = func(doc map[string]any) { doc[key] = value } }
	}
	for name, c := range map[string]struct {
		set   func(s *authServer, other *stranger)
		words string
	}{
		"a resource elsewhere that looks like the server": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) { doc["resource"] = s.endpoint() + "@evil.example/mcp" }
		}, "resource metadata"},
		"a user name before the host of the resource": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) {
				doc["resource"] = strings.Replace(s.endpoint(), "://", "://bank.example@", 1)
			}
		}, "its tokens would be for another server"},
		"a resource that begins like the path": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) { doc["resource"] = s.mcp.URL + "/m" }
		}, "its tokens would be for another server"},
		"the resource of another tenant": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) { doc["resource"] = s.endpoint() + "?tenant=other" }
		}, "its tokens would be for another server"},
		"a resource over http of a server over https": {resource("http://mcp.example/mcp"), "it is about http://mcp.example/mcp"},
		"a resource that is null":                     {resource(nil), "JSON without a resource"},
		"a resource that is a number":                 {resource(7), "no JSON object"},
		"a document that is null":                     {placed(says("null")), "JSON without a resource"},
		"a document that is a list":                   {placed(says("[]")), "no JSON object"},
		"a document that is deep":                     {placed(says(strings.Repeat(`{"a":`, 12000))), "no JSON object"},
		"a document that is large":                    {placed(says(`{"resource":"` + strings.Repeat("a", 100<<10) + `"}`)), "more than 64 KiB"},
		"a document that is large when unpacked":      {placed(zipped(`{"resource":"x"`)), "more than 64 KiB"},
		"a document without an end":                   {placed(trickle), "cut off"},
		"a user name before the host of the issuer": {func(s *authServer, _ *stranger) {
			lie := strings.Replace(s.issuer(), "://", "://accounts.bank.example@", 1)
			s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{lie} }
			s.metadata = func(doc map[string]any) { doc["issuer"] = lie }
		}, "it has a user name in it"},
		"an issuer with a query": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{s.issuer() + "?a"} }
			s.metadata = func(doc map[string]any) { doc["issuer"] = s.issuer() + "?a" }
		}, "no issuer has"},
		"an issuer in the cloud's own network": {issuers("http://169.254.169.254/latest/meta-data"), "not https"},
		"an issuer that is a file":             {issuers("file:///etc/passwd"), "it is no URL"},
		"an issuer that is a script":           {issuers("javascript://evil.example/%0aalert(1)"), "neither https nor http"},
		"an issuer that is null":               {issuers(nil), "it is no URL"},
		"metadata in the cloud's own network": {func(s *authServer, _ *stranger) {
			s.challenge = `Bearer resource_metadata="http://169.254.169.254/latest/meta-data"`
			s.placed[s.prmPath()] = http.NotFound
		}, "not https"},
		"metadata that redirects elsewhere": {func(s *authServer, other *stranger) {
			s.placed[s.prmPath()] = http.RedirectHandler(other.URL+"/prm", http.StatusFound).ServeHTTP
		}, "redirects to another origin"},
		"metadata that redirects for ever": {func(s *authServer, _ *stranger) {
			s.placed[s.prmPath()] = http.RedirectHandler(s.prmPath(), http.StatusFound).ServeHTTP
		}, "again and again"},
		"an authorization endpoint that is a script": {metadata("authorization_endpoint", "javascript:alert(1)"), "neither https nor http"},
		"an authorization endpoint that is a flag":   {metadata("authorization_endpoint", "--version"), "neither https nor http"},
		"an authorization endpoint with a user name": {metadata("authorization_endpoint", "https://accounts.bank.example@evil.example/a"), "a user name"},
		"a token endpoint in another scheme":         {metadata("token_endpoint", "ftp://evil.example/token"), "neither https nor http"},
		"a registration endpoint over http":          {metadata("registration_endpoint", "http://169.254.169.254/register"), "not https"},
		"scopes without an end": {func(s *authServer, _ *stranger) {
			s.prm = func(doc map[string]any) {
				doc["scopes_supported"] = strings.Fields(strings.Repeat("read write ", 2000))
			}
		}, "the server names 4000 scopes"},
		"a registration that redirects elsewhere": {func(s *authServer, other *stranger) {
			s.register = func(w http.ResponseWriter, _, _ map[string]any) bool {
				w.Header().Set("Location", other.URL+"/register")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return false
			}
		}, "HTTP 307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := startAuthServer(t), startStranger(t)
			c.set(s, other)
			lap := stopwatch.Start(t)
			_, err := s.request(New(s.options()), "tools/list")
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q in it", err, c.words)
			}
			if s.times("authorize")+s.times("token") != 0 {
				t.Errorf("log: %v", s.log)
			}
			if took := lap.End(); took > 4*documentBound {
				t.Errorf("it took %s", took)
			}
			if got := other.got(); got != "" {
				t.Errorf("a stranger got:\n%s", got)
			}
		})
	}
}

// TestTokensGoNowhereElse shows a token endpoint that redirects, and one that packs a large answer.
func TestTokensGoNowhereElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(other *stranger) http.HandlerFunc
		words  string
	}{
		"redirect": {func(other *stranger) http.HandlerFunc {
			return http.RedirectHandler(other.URL+"/token", http.StatusPermanentRedirect).ServeHTTP
		}, "it is not followed"},
		"bomb": {func(*stranger) http.HandlerFunc { return zipped(`{"access_token":"a"`) }, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := startAuthServer(t), startStranger(t)
			h := c.answer(other)
			s.token = func(w http.ResponseWriter, _ url.Values, _ map[string]any) bool {
				h(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/token", nil))
				return false
			}
			_, err := s.request(New(s.options()), "tools/list")
			wantError(t, err, Invalid, StepToken, c.words)
			if got := other.got(); got != "" {
				t.Errorf("a stranger got:\n%s", got)
			}
		})
	}
}

// TestMixUp shows an authorization server that sends the person to another, honest one, to get the code of that: the answer
// says from whom it is, whatever the attacker publishes, and the code is not given away. See RFC 9207, 1, and RFC 9700, 4.4.
func TestMixUp(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(evil, honest *authServer){
		"by its metadata": func(evil, honest *authServer) {
			evil.metadata = func(doc map[string]any) {
				doc["authorization_endpoint"], doc["registration_endpoint"] = honest.as.URL+"/authorize", honest.as.URL+"/register"
			}
		},
		"by a redirect, without metadata": func(evil, honest *authServer) {
			evil.challenge, evil.placed[evil.prmPath()] = "Bearer", http.NotFound
			evil.placed["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, honest.as.URL+r.URL.String(), http.StatusFound)
			}
			evil.placed["/register"] = func(w http.ResponseWriter, r *http.Request) { honest.registerClient(w, r) }
			evil.placed["/token"] = func(w http.ResponseWriter, r *http.Request) { evil.giveToken(w, r) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evil, honest := startAuthServer(t), startAuthServer(t)
			set(evil, honest)
			honest.back = func(_, answer url.Values) { answer.Set("iss", honest.issuer()) }
			_, err := evil.request(New(evil.options()), "tools/list")
			wantError(t, err, Invalid, StepCallback, "the answer is from "+honest.issuer())
			if honest.times("authorize") != 1 || evil.times("token")+honest.times("token") != 0 {
				t.Errorf("evil: %v\nhonest: %v", evil.log, honest.log)
			}
		})
	}
}

// TestAnswerOfAnotherLogin shows two logins at a time: what answers one of them is no answer to the other, as their states
// differ, and so do the states of one authorizer's logins.
func TestAnswerOfAnotherLogin(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	var states []string
	s.back = func(asked, _ url.Values) { states = append(states, asked.Get("state")) }
	first := New(s.options())
	if err := first.Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.options()
	wrong := make(chan string, 1)
	o.Person.Wrong = func(why string) { wrong <- why }
	o.Person.Open = func(ctx context.Context, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		forged := u.Query().Get("redirect_uri") + "?" + url.Values{"code": {"code-of-evil"}, "state": {states[0]}}.Encode()
		if status, _, body := visit(t, http.MethodGet, forged); status != http.StatusBadRequest || strings.Contains(body, "code-of-evil") {
			return fmt.Errorf("status %d:\n%s", status, body)
		}
		return s.person().Open(ctx, address)
	}
	if err := New(o).Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if why := <-wrong; !strings.Contains(why, "state") {
		t.Errorf("told: %s", why)
	}
	if len(states) != 2 || states[0] == states[1] || len(states[0]) < 22 { // 128 bits
		t.Errorf("states: %q", states)
	}
	for _, form := range s.forms {
		if form.Get("code") == "code-of-evil" {
			t.Error("a forged code is used")
		}
	}
}

// TestForeignPagesLearnNothing shows pages of other sites that guess the port, also under a name that resolves to this
// machine (DNS rebinding): they can read nothing of a login, and end none.
func TestForeignPagesLearnNothing(t *testing.T) {
	t.Parallel()
	c := listening(t, "", 0)
	end := wait(t.Context(), c, &Person{})
	<-c.begun
	for _, query := range []string{"", "?code=forged&state=guess", "?error=access_denied&state=", "?code=forged&state=the-stat", "?iss=a&iss=b&state=the-state"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.uri()+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "rebound.evil.example"
		req.Header.Set("Origin", "http://rebound.evil.example")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, header %v", query, resp.StatusCode, resp.Header)
		}
		for _, word := range []string{"the-state", "forged", "guess", "evil"} {
			if bytes.Contains(body, []byte(word)) {
				t.Errorf("%s: %q is in the page:\n%s", query, word, body)
			}
		}
	}
	// Of many right answers at a time one counts.
	statuses := make(chan int, 8)
	for n := range cap(statuses) {
		go func() {
			resp, err := http.Get(fmt.Sprintf("%s?code=c%d&state=the-state", c.uri(), n))
			if err != nil {
				statuses <- 0
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	w := <-end
	if w.err != nil || !strings.HasPrefix(w.values.Get("code"), "c") {
		t.Fatalf("got %v, %v", w.values, w.err)
	}
	w.done(nil)
	counts := map[int]int{}
	for range cap(statuses) {
		counts[<-statuses]++
	}
	if counts[http.StatusOK] != 1 || counts[http.StatusConflict] != cap(statuses)-1 {
		t.Errorf("statuses: %v", counts)
	}
}

// TestAssertionIsForOneServer shows that what a workload could be impersonated with is not shown to whomever an MCP server
// names: not if it says itself that it is for somebody else, and not if it was used somewhere else before.
func TestAssertionIsForOneServer(t *testing.T) {
	t.Parallel()
	key := p256(t)
	signed := func(aud any) string {
		return statement(t, key, jwt.MapClaims{
			"iss": "i", "sub": "s", "aud": aud, "jti": rand.Text(), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		})
	}
	for name, c := range map[string]struct {
		aud  any
		sent int
	}{
		"of another server": {"https://honest.example", 0},
		"of two others":     {[]string{"https://honest.example", "https://b.example/token"}, 0},
		"of a name":         {"api://exchange", 1},
		"of nobody":         {[]string{}, 1},
	} {
		s := startTokenServer(t)
		s.keys["i"] = key.Public()
		a, chain, _ := grantsFor(t, s, config.OAuth{Grant: config.GrantJWTBearer, Assertion: signed(c.aud)})
		_, err := a.withoutPerson(t.Context(), chain, nil)
		if len(s.requests()) != c.sent {
			t.Errorf("%s: asked %d times: %v", name, len(s.requests()), err)
		}
		if e := failureOf(t, err); c.sent == 0 && (e.Reason != Config || !strings.Contains(e.Message, "is for https://honest.example") || !strings.Contains(e.Message, s.URL)) {
			t.Errorf("%s: %+v", name, e)
		}
	}

	honest, evil := startAuthServer(t), startAuthServer(t)
	o := honest.options()
	o.Person = nil
	o.Server.OAuth = &config.OAuth{Grant: config.GrantJWTBearer, Assertion: signed("api://exchange")}
	r := Record{
		Server: honest.endpoint(), Issuer: honest.issuer(), Grant: string(config.GrantJWTBearer), TokenEndpoint: honest.as.URL + "/token",
		Token: Token{Access: "secret-of-before", Type: typeBearer},
	}
	if err := o.Store.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	honest.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{evil.issuer()} }
	_, err := honest.request(New(o), "tools/list")
	wantError(t, err, Invalid, StepServer, "assertion belongs to "+honest.issuer(), evil.issuer())
	if evil.times("token") != 0 {
		t.Errorf("log: %v", evil.log)
	}
}

// TestSecretOfAClientStaysWhereItIs shows a server that names another authorization server, to get the secret and the refresh
// token that were used at the first.
func TestSecretOfAClientStaysWhereItIs(t *testing.T) {
	t.Parallel()
	honest, evil := startAuthServer(t), startAuthServer(t)
	honest.clients["mine"] = map[string]any{}
	o := honest.options()
	o.Server.OAuth = &config.OAuth{ClientID: "mine", ClientSecret: "secret-of-mine"}
	if _, err := honest.request(New(o), "tools/list"); err != nil {
		t.Fatal(err)
	}
	honest.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{evil.issuer()} }
	honest.serve = func(*http.Request, string, []string) (int, string) {
		return http.StatusUnauthorized, `Bearer error="invalid_token", resource_metadata="{prm}"`
	}
	if _, err := honest.request(New(o), "tools/list"); err == nil {
		t.Error("no error")
	}
	if evil.times("register")+evil.times("authorize")+evil.times("token") != 0 {
		t.Errorf("log of evil: %v", evil.log)
	}
}

// TestFarOffExpiry shows a registration whose secret ends in a year that no calendar has: it is kept all the same.
func TestFarOffExpiry(t *testing.T) {
	t.Parallel()
	for _, at := range []float64{1e300, 1e15, 253402300800, -1} {
		s := startAuthServer(t)
		s.metadata = func(doc map[string]any) {
			doc["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		}
		s.register = func(_ http.ResponseWriter, _, answer map[string]any) bool {
			answer["client_secret"], answer["client_secret_expires_at"] = "secret-of-client", at
			return true
		}
		o := s.options()
		for range 2 {
			if err := New(o).Login(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if s.times("register") != 1 {
			t.Errorf("%g: registered %d times", at, s.times("register"))
		}
	}
}

// TestHostsAreShownAsTheyAre shows that no letter of another script stands in for one of ASCII in what a person decides by.
func TestHostsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://\u0430pple.com:8443/a?secret=1": "https://xn--pple-43d.com:8443/a",
		"https://bank.example@evil.example/":     "https://evil.example/",
		"https://evil.example/\u202egnp.exe":     "https://evil.example/%E2%80%AEgnp.exe",
		"https://EXAMPLE.com/A":                  "https://EXAMPLE.com/A",
	} {
		if got := shownURL(raw); got != want {
			t.Errorf("%q is shown as %s, want %s", raw, got, want)
		}
	}
	s := startAuthServer(t)
	s.metadata = func(doc map[string]any) {
		doc["authorization_endpoint"] = "https://\u0430pple.com/a(b)?response_type=token&scope=all&code_challenge_method=plain"
	}
	o := s.options()
	var asked Asked
	o.Person.Show = func(a Asked) { asked = a }
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Person.Open = func(context.Context, string) error { cancel(gone); return nil }
	if err := New(o).Login(ctx, nil); err == nil {
		t.Fatal("no error")
	}
	u, err := url.Parse(asked.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "xn--pple-43d.com" || strings.Join(q["response_type"], " ") != "code" || strings.Join(q["code_challenge_method"], " ") != "S256" {
		t.Errorf("the address is %s", asked.URL)
	}
	if openable(asked.URL) == nil {
		t.Errorf("a program is started with %s", asked.URL)
	}
	if err := openable("https://as.example/oauth2/v2.0/authorize?" + q.Encode()); err != nil {
		t.Error(err)
	}
}

// TestWhereCredentialsGo shows which URLs that a server names are gone to: those that nobody on the way can read.
func TestWhereCredentialsGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, server string
		good        bool
	}{
		{"https://as.example/token", "https://mcp.example/mcp", true},
		{"HTTPS://as.example/token", "https://mcp.example/mcp", true},
		{"https://as.example:8443/token?a=b", "http://mcp.example/mcp", true},
		{"http://127.0.0.1:4711/token", "https://mcp.example/mcp", true},
		{"http://localhost/token", "https://mcp.example/mcp", true},
		{"http://[::1]/token", "https://mcp.example/mcp", true},
		{"http://mcp.example/token", "http://mcp.example/mcp", true},
		{"http://MCP.example:8080/token", "http://mcp.example/mcp", true},

		{"http://mcp.example/token", "https://mcp.example/mcp", false}, // a downgrade
		{"http://mcp.example./token", "http://mcp.example/mcp", false},
		{"http://as.example/token", "http://mcp.example/mcp", false},
		{"http://169.254.169.254/token", "https://mcp.example/mcp", false},
		{"http://[fe80::1]/token", "https://mcp.example/mcp", false},
		{"http://0.0.0.0/token", "https://mcp.example/mcp", false},
		{"http://localhost.evil.example/token", "https://mcp.example/mcp", false},
		{"http://127.0.0.1.evil.example/token", "https://mcp.example/mcp", false},
		{"http://2130706433/token", "https://mcp.example/mcp", false},
		{"http://127.0.0.1@evil.example/token", "http://mcp.example/mcp", false},
		{"https://mcp.example@evil.example/token", "https://mcp.example/mcp", false},
		{"https:as.example/token", "https://mcp.example/mcp", false},
		{"//as.example/token", "https://mcp.example/mcp", false},
		{"/token", "https://mcp.example/mcp", false},
		{"https:///token", "https://mcp.example/mcp", false},
		{"https://as.example\n/token", "https://mcp.example/mcp", false},
		{"unix:///run/token", "https://mcp.example/mcp", false},
		{"", "https://mcp.example/mcp", false},
	} {
		server, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if says := Unsafe(c.raw, server); (says == "") != c.good {
			t.Errorf("%q of %s: %q", c.raw, c.server, says)
		}
	}
}

// TestPageOfAFailure shows that what a server says stands in the page as text, and changes nothing of it.
func TestPageOfAFailure(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	writePage(w, http.StatusBadRequest, pageFailed(declined("x", "</p><script>alert(1)</script>\x1b[2J\u202eevil\u2066", "https://as.example")))
	body, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	if strings.ContainsAny(body, "\x1b\u202e\u2066") || strings.Contains(body, "<script") || !strings.Contains(body, "&lt;/p&gt;&lt;script&gt;") {
		t.Errorf("the page:\n%s", body)
	}
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the header: %v", w.Header())
	}
}

// TestNothingForAShell shows addresses that are given to no program.
func TestNothingForAShell(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://a.example/$(id)", "https://a.example/`id`", "https://a.example/;id", "https://a.example/|id", "https://a.example/'id'",
		"https://a.example/\u202ea", "https://a.example/\x1b[2J", "https://a.example/\\a", "file://a.example/etc/passwd", "-https://a.example/",
		"vscode://a.example/", "javascript://a.example/%0aalert(1)", "https://a.example/a<b", "HTTPS:a.example",
	} {
		if openable(address) == nil {
			t.Errorf("%s is opened", address)
		}
	}
}
