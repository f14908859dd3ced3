package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

func s256(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// wantError checks a failure's reason, step, and words.
func wantError(t *testing.T, err error, reason Reason, step Step, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("err = %v, want an *Error", err)
	}
	if e.Reason != reason || e.Step != step {
		t.Errorf("reason %d at %q, want %d at %q: %v", e.Reason, e.Step, reason, step, e)
	}
	for _, w := range words {
		if !strings.Contains(e.Error()+" "+e.Hint, w) {
			t.Errorf("%q is not in: %v (%s)", w, e, e.Hint)
		}
	}
}

func TestLoginOnChallenge(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	var secrets []string
	var mu sync.Mutex
	o.Secret = func(v ...string) { mu.Lock(); secrets = append(secrets, v...); mu.Unlock() }
	a := New(o)
	if status, err := s.request(a, "tools/list"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	q := s.asked[0]
	if q.Get("resource") != s.endpoint() || s.forms[0].Get("resource") != s.endpoint() {
		t.Errorf("resource: %q and %q", q.Get("resource"), s.forms[0].Get("resource"))
	}
	client := s.clients["client-1"]
	if client["application_type"] != "native" || client["client_name"] != "mcpctl" || client["token_endpoint_auth_method"] != "none" {
		t.Errorf("registered as %v", client)
	}
	if types, ok := client["grant_types"].([]any); !ok || !slices.Contains(types, any("refresh_token")) {
		t.Errorf("grant_types: %v", client["grant_types"])
	}
	for _, secret := range []string{"code-1", s.forms[0].Get("code_verifier"), "secret-at-2", "secret-rt-2"} {
		if !slices.Contains(secrets, secret) {
			t.Errorf("%s was not told as a secret", secret)
		}
	}
	// Another run uses what is kept: no login, no registration.
	o.Person = nil
	if status, err := s.request(New(o), "tools/list"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	if n := s.times("authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
	// Another login uses the client that was registered.
	o.Person = s.person()
	if err := New(o).Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if s.times("register") != 1 || s.times("authorize") != 2 {
		t.Errorf("log: %v", s.log)
	}
}

func TestNeedsLoginWithoutAPerson(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	o.Person = nil
	a := New(o)
	for range 2 {
		_, err := s.request(a, "tools/list")
		wantError(t, err, NeedsLogin, "", "login required (OAuth)")
	}
	if s.times("authorize")+s.times("register") != 0 || s.times("prm") != 1 {
		t.Errorf("log: %v", s.log)
	}
}

func TestDiscoveryVariants(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>app</html>"))
	}
	for name, set := range map[string]func(s *authServer){
		"well-known": func(s *authServer) { s.challenge = "Bearer" },
		"root": func(s *authServer) {
			s.challenge = "Bearer"
			s.placed[s.prmPath()] = page
			s.placed["/.well-known/oauth-protected-resource"] = func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, 200, map[string]any{"resource": s.mcp.URL, "authorization_servers": []string{s.issuer()}})
			}
		},
		"named place is a page": func(s *authServer) {
			s.challenge = `Bearer resource_metadata="` + s.mcp.URL + `/elsewhere"`
			s.placed["/elsewhere"] = page
		},
		"named place is no https": func(s *authServer) { s.challenge = `Bearer resource_metadata="http://192.0.2.1/elsewhere"` },
		"redirected": func(s *authServer) {
			s.challenge = `Bearer resource_metadata="` + s.mcp.URL + `/elsewhere"`
			s.placed["/elsewhere"] = http.RedirectHandler(s.prmPath(), http.StatusMovedPermanently).ServeHTTP
		},
		"issuer with a path": func(s *authServer) { s.issuerPath = "/tenant" },
		"openid inserted": func(s *authServer) {
			s.issuerPath, s.wellKnown = "/tenant", []string{"/.well-known/openid-configuration/tenant"}
		},
		"openid appended": func(s *authServer) {
			s.issuerPath, s.wellKnown = "/tenant", []string{"/tenant/.well-known/openid-configuration"}
		},
		"openid at the root": func(s *authServer) { s.wellKnown = []string{"/.well-known/openid-configuration"} },
		"second server": func(s *authServer) {
			s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{s.mcp.URL + "/none", s.issuer()} }
		},
		"issuer with a slash": func(s *authServer) {
			s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{s.issuer() + "/"} }
		},
		"no challenge but metadata": func(s *authServer) { s.challenge = "-" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t)
			set(s)
			if status, err := s.request(New(s.options()), "tools/list"); err != nil || status != http.StatusOK {
				t.Errorf("status %d, %v; log %v", status, err, s.log)
			}
			if s.times("authorize") != 1 {
				t.Errorf("log: %v", s.log)
			}
		})
	}
}

// TestStopsBeforeTheBrowser shows what ends a login before anybody is asked.
func TestStopsBeforeTheBrowser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(s *authServer, o *Options)
		reason Reason
		step   Step
		words  []string
	}{
		"another resource": {func(s *authServer, _ *Options) {
			s.prm = func(doc map[string]any) { doc["resource"] = "https://evil.example.com/mcp" }
		}, Invalid, StepResource, []string{"https://evil.example.com/mcp", "/mcp"}},
		"another issuer": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { doc["issuer"] = "https://attacker.example.com" }
		}, Invalid, StepServer, []string{"https://attacker.example.com", "http://127.0.0.1"}},
		"no PKCE": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { delete(doc, "code_challenge_methods_supported") }
		}, Invalid, StepServer, []string{"PKCE"}},
		"plain PKCE": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { doc["code_challenge_methods_supported"] = []string{"plain"} }
		}, Invalid, StepServer, []string{"plain", "S256"}},
		"token endpoint without https": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { doc["token_endpoint"] = "http://192.0.2.1/token" }
		}, Invalid, StepServer, []string{"http://192.0.2.1/token", "not https"}},
		"authorization endpoint is a file": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { doc["authorization_endpoint"] = "file:///etc/passwd" }
		}, Invalid, StepServer, []string{"authorization_endpoint"}},
		"registration refused": {func(s *authServer, _ *Options) {
			s.register = func(w http.ResponseWriter, _, _ map[string]any) bool {
				answerJSON(w, http.StatusForbidden, map[string]any{"error": "access_denied", "error_description": "ask\nus first"})
				return false
			}
		}, Refused, StepRegistration, []string{"HTTP 403", "access_denied", "ask us first", "oauth.client_id", "--client-id"}},
		"no registration": {func(s *authServer, _ *Options) {
			s.metadata = func(doc map[string]any) { delete(doc, "registration_endpoint") }
		}, Refused, StepRegistration, []string{"oauth.client_id"}},
		"no metadata anywhere": {func(s *authServer, _ *Options) {
			s.challenge = "Bearer"
			s.placed[s.prmPath()] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<html>"))
			}
		}, Refused, StepResource, []string{"a web page", "static token", "/register"}},
		"no challenge and no metadata": {func(s *authServer, _ *Options) {
			s.challenge, s.placed[s.prmPath()] = "-", http.NotFound
		}, Refused, "", []string{"HTTP 404"}},
		"another kind": {func(s *authServer, _ *Options) { s.challenge = `Basic realm="x"` }, Refused, "", []string{"Basic"}},
		"metadata is broken": {func(s *authServer, _ *Options) {
			s.placed[s.prmPath()] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
		}, Unreachable, StepResource, []string{"HTTP 502"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t)
			o := s.options()
			c.set(s, &o)
			_, err := s.request(New(o), "tools/list")
			wantError(t, err, c.reason, c.step, c.words...)
			if s.times("authorize")+s.times("token") != 0 {
				t.Errorf("log: %v", s.log)
			}
		})
	}
}

// TestAnswers shows what is done with the answers of an authorization server, and that each login opens one window.
func TestAnswers(t *testing.T) {
	t.Parallel()
	promise := func(doc map[string]any) { doc["authorization_response_iss_parameter_supported"] = true }
	for name, c := range map[string]struct {
		set    func(s *authServer)
		good   bool
		reason Reason
		step   Step
		words  []string
	}{
		"iss as promised": {func(s *authServer) {
			s.metadata = promise
			s.back = func(_, answer url.Values) { answer.Set("iss", s.issuer()) }
		}, true, 0, "", nil},
		"iss unpromised": {func(s *authServer) {
			s.back = func(_, answer url.Values) { answer.Set("iss", s.issuer()) }
		}, true, 0, "", nil},
		"iss missing": {func(s *authServer) { s.metadata = promise }, false, Invalid, StepCallback, []string{"iss"}},
		"iss with a slash": {func(s *authServer) {
			s.back = func(_, answer url.Values) { answer.Set("iss", s.issuer()+"/") }
		}, false, Invalid, StepCallback, []string{"iss"}},
		"error of another issuer": {func(s *authServer) {
			s.back = func(_, answer url.Values) {
				answer.Set("iss", "https://evil.example.com")
				answer.Del("code")
				answer.Set("error", "send_money")
			}
		}, false, Invalid, StepCallback, []string{"https://evil.example.com"}},
		"said no": {func(s *authServer) {
			s.back = func(_, answer url.Values) {
				answer.Del("code")
				answer.Set("error", "access_denied")
				answer.Set("error_description", "not today")
			}
		}, false, Refused, StepCallback, []string{"said no", "not today"}},
		"no code": {func(s *authServer) {
			s.back = func(_, answer url.Values) { answer.Set("code", "") }
		}, false, Invalid, StepCallback, []string{"no code"}},
		"code is refused": {func(s *authServer) {
			s.token = func(w http.ResponseWriter, _ url.Values, _ map[string]any) bool {
				answerJSON(w, 400, map[string]any{"error": "invalid_grant", "error_description": "too late"})
				return false
			}
		}, false, Refused, StepToken, []string{"too late"}},
		"token is refused": {func(s *authServer) {
			s.serve = func(*http.Request, string, []string) (int, string) {
				return 401, `Bearer error="invalid_token", error_description="wrong audience"`
			}
		}, false, Refused, StepServerAgain, []string{"wrong audience"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t)
			c.set(s)
			o := s.options()
			a := New(o)
			_, err := s.request(a, "tools/list")
			if c.good {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantError(t, err, c.reason, c.step, c.words...)
			if strings.Contains(err.Error(), "send_money") {
				t.Errorf("what another issuer says is shown: %v", err)
			}
			_, again := s.request(a, "tools/list")
			if again == nil || s.times("authorize") != 1 {
				t.Errorf("%v; log: %v", again, s.log)
			}
			if _, kept, err := o.Store.Load(t.Context(), s.endpoint()); kept || err != nil {
				t.Errorf("a failed login is kept, %v", err)
			}
			a.Forgive()
			_, _ = s.request(a, "tools/list")
			if s.times("authorize") != 2 {
				t.Errorf("a login that was forgiven is not tried again: %v", s.log)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	offline := func(doc map[string]any) { doc["scopes_supported"] = []string{"a", "offline_access"} }
	for name, c := range map[string]struct {
		set  func(s *authServer, o *Options)
		want string
	}{
		"none":      {func(*authServer, *Options) {}, ""},
		"challenge": {func(s *authServer, _ *Options) { s.challenge += `, scope="a b"` }, "a b"},
		"resource": {func(s *authServer, _ *Options) {
			s.prm = func(doc map[string]any) { doc["scopes_supported"] = []string{"c"} }
		}, "c"},
		"configured": {func(s *authServer, o *Options) {
			s.challenge += `, scope="a b"`
			o.Server.OAuth = &config.OAuth{Scopes: []string{"x"}}
		}, "x"},
		"offline":                   {func(s *authServer, _ *Options) { s.challenge += `, scope="a"`; s.metadata = offline }, "a offline_access"},
		"offline that nobody knows": {func(s *authServer, _ *Options) { s.challenge += `, scope="a offline_access"` }, "a"},
		"offline alone":             {func(s *authServer, _ *Options) { s.metadata = offline }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t)
			o := s.options()
			c.set(s, &o)
			if _, err := s.request(New(o), "tools/list"); err != nil {
				t.Fatal(err)
			}
			if got := s.scopesAsked(); got != c.want {
				t.Errorf("scope %q, want %q", got, c.want)
			}
			_, asked := s.asked[0]["scope"]
			if asked != (c.want != "") {
				t.Errorf("scope is sent: %t", asked)
			}
		})
	}
}

// stepUp wants the scope write for calls, and read for everything else.
func stepUp(s *authServer) {
	s.challenge += `, scope="read"`
	s.serve = func(_ *http.Request, rpc string, scopes []string) (int, string) {
		need := "read"
		if rpc == "tools/call" {
			need = "write"
		}
		if slices.Contains(scopes, need) {
			return 200, ""
		}
		return 403, `Bearer error="insufficient_scope", scope="` + need + `", error_description="need it"`
	}
}

// TestStepUp shows that scopes add up, also over several runs.
func TestStepUp(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	stepUp(s)
	o := s.options()
	if _, err := s.request(New(o), "tools/list"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.request(New(o), "tools/call"); err != nil {
		t.Fatal(err)
	}
	if got := s.scopesAsked(); got != "read write" {
		t.Errorf("scope %q", got)
	}
	if _, err := s.request(New(o), "tools/list"); err != nil || s.times("authorize") != 2 || s.times("register") != 1 {
		t.Errorf("%v, log: %v", err, s.log)
	}
}

// TestStepUpWithoutAnError shows that a server which forbids something and names the scope for it has asked for that, as the
// middleware of the SDK does; and that one which names none has asked for nothing.
func TestStepUpWithoutAnError(t *testing.T) {
	t.Parallel()
	for challenge, want := range map[string]int{`Bearer scope="write"`: 2, `Bearer realm="x"`: 1, `Bearer error="invalid_request", scope="write"`: 1} {
		s := startAuthServer(t)
		stepUp(s)
		serve := s.serve
		s.serve = func(r *http.Request, rpc string, scopes []string) (int, string) {
			status, says := serve(r, rpc, scopes)
			if status == http.StatusForbidden {
				says = challenge
			}
			return status, says
		}
		a := New(s.options())
		if _, err := s.request(a, "tools/list"); err != nil {
			t.Fatal(err)
		}
		_, err := s.request(a, "tools/call")
		if got := s.times("authorize"); got != want || (err == nil) != (want == 2) {
			t.Errorf("%s: %d authorizations, want %d: %v", challenge, got, want, err)
		}
	}
}

// TestStepUpNeverEnds shows that a server that is never content is not obeyed for ever.
func TestStepUpNeverEnds(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(n int) string{
		"the same scope":    func(int) string { return "admin" },
		"none":              func(int) string { return "" },
		"another each time": func(n int) string { return strings.Repeat("x", n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t)
			s.challenge += `, scope="admin"`
			n := 0
			s.serve = func(*http.Request, string, []string) (int, string) {
				n++
				return 403, `Bearer error="insufficient_scope", scope="` + serve(n) + `"`
			}
			a := New(s.options())
			_, err := s.request(a, "tools/list")
			if err == nil || s.times("authorize") > 3 {
				t.Errorf("%v, log %v", err, s.log)
			}
		})
	}
}

func TestPlain403(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	s.serve = func(*http.Request, string, []string) (int, string) { return 403, `Bearer realm="x"` }
	o := s.options()
	a := New(o)
	_, err := s.request(a, "tools/list")
	wantError(t, err, Refused, "")
	if s.times("authorize") != 1 { // for the 401 before
		t.Errorf("log: %v", s.log)
	}
}

// TestManyAtOnce shows that requests that are refused at once share one login.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	a := New(s.options())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if status, err := s.request(a, "tools/list"); err != nil || status != 200 {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
	wg.Wait()
	if s.times("authorize") != 1 || s.times("register") != 1 {
		t.Errorf("log: %v", s.log)
	}
}

// TestOtherOrigin shows that a token is sent to the server's own origin alone.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	s, other := startAuthServer(t), startAuthServer(t)
	a := New(s.options())
	if _, err := s.request(a, "tools/list"); err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, other.endpoint(), nil)
	if err := a.Authorize(req); err != nil || req.Header.Get("Authorization") != "" {
		t.Errorf("%v, Authorization: %q", err, req.Header.Get("Authorization"))
	}
}

// TestMigration shows that nothing of one authorization server is shown to another.
func TestMigration(t *testing.T) {
	t.Parallel()
	s, next := startAuthServer(t), startAuthServer(t)
	next.register = func(_ http.ResponseWriter, _, answer map[string]any) bool {
		answer["client_id"] = "client-of-next"
		next.clients["client-of-next"] = answer
		return true
	}
	moved := false
	s.prm = func(doc map[string]any) {
		if moved {
			doc["authorization_servers"] = []string{next.issuer()}
		}
	}
	s.serve = func(r *http.Request, _ string, _ []string) (int, string) {
		if moved {
			return 401, `Bearer error="invalid_token", resource_metadata="{prm}"`
		}
		return 200, ""
	}
	a := New(s.options())
	if _, err := s.request(a, "tools/list"); err != nil {
		t.Fatal(err)
	}
	moved = true
	_, _ = s.request(a, "tools/list")
	if next.times("register") != 1 || next.times("authorize") != 1 || next.asked[0].Get("client_id") != "client-of-next" {
		t.Errorf("log of the next: %v", next.log)
	}
}

// TestOldServers shows servers of the first revision: no resource metadata, with metadata at the origin, and without.
func TestOldServers(t *testing.T) {
	t.Parallel()
	for _, published := range []bool{true, false} {
		s := startAuthServer(t)
		s.challenge = "Bearer"
		for _, path := range []string{"/authorize", "/token", "/register"} {
			s.placed[path] = func(w http.ResponseWriter, r *http.Request) { s.serveAS(w, r) }
		}
		s.placed[s.prmPath()] = http.NotFound
		if published {
			s.placed["/.well-known/oauth-authorization-server"] = func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, 200, map[string]any{
					"issuer": s.mcp.URL, "authorization_endpoint": s.mcp.URL + "/authorize", "token_endpoint": s.mcp.URL + "/token",
					"registration_endpoint": s.mcp.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
				})
			}
		}
		if status, err := s.request(New(s.options()), "tools/list"); err != nil || status != 200 {
			t.Errorf("published %t: status %d, %v; log %v", published, status, err, s.log)
		}
	}
}

// TestLoginFindsTheChallenge shows servers that let everybody open a session.
func TestLoginFindsTheChallenge(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	s.open = []string{"initialize"}
	s.challenge += `, scope="a"`
	o := s.options()
	a := New(o)
	if err := a.Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if s.scopesAsked() != "a" {
		t.Errorf("scope %q", s.scopesAsked())
	}
	if _, kept, _ := o.Store.Load(t.Context(), s.endpoint()); kept {
		t.Error("the login is kept before the server has accepted it")
	}
	if _, err := s.request(a, "tools/list"); err != nil {
		t.Fatal(err)
	}
	if r, kept, err := o.Store.Load(t.Context(), s.endpoint()); !kept || err != nil || r.Issuer != s.issuer() || r.Token.Refresh == "" {
		t.Errorf("kept %t, %v: %v", kept, err, r.Issuer)
	}
}

// TestClients shows how the client is chosen.
func TestClients(t *testing.T) {
	t.Parallel()
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		s := startAuthServer(t)
		s.clients["mine"] = map[string]any{}
		o := s.options()
		o.Server.OAuth = &config.OAuth{ClientID: "mine", ClientSecret: "secret-of-mine"}
		if _, err := s.request(New(o), "tools/list"); err != nil || s.times("register") != 0 {
			t.Errorf("%v, log %v", err, s.log)
		}
	})
	t.Run("document", func(t *testing.T) {
		t.Parallel()
		s := startAuthServer(t)
		s.metadata = func(doc map[string]any) { doc["client_id_metadata_document_supported"] = true }
		const where = "https://example.com/mcpctl.json"
		s.clients[where] = map[string]any{}
		o := s.options()
		o.Server.OAuth = &config.OAuth{ClientMetadataURL: where}
		if _, err := s.request(New(o), "tools/list"); err != nil || s.times("register") != 0 {
			t.Errorf("%v, log %v", err, s.log)
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		s := startAuthServer(t)
		o := s.options()
		if _, err := s.request(New(o), "tools/list"); err != nil {
			t.Fatal(err)
		}
		s.token = func(w http.ResponseWriter, form url.Values, _ map[string]any) bool {
			if form.Get("client_id") == "client-1" {
				answerJSON(w, 401, map[string]any{"error": "invalid_client"})
				return false
			}
			return true
		}
		err := New(o).Login(t.Context(), nil)
		if err == nil {
			t.Fatal("no error")
		}
		if err := New(o).Login(t.Context(), nil); err != nil || s.times("register") != 2 {
			t.Errorf("%v, log %v", err, s.log)
		}
	})
	t.Run("moved", func(t *testing.T) {
		t.Parallel()
		s, next := startAuthServer(t), startAuthServer(t)
		s.clients["mine"], next.clients["mine"] = map[string]any{}, map[string]any{}
		o := s.options()
		o.Server.OAuth = &config.OAuth{ClientID: "mine"}
		if _, err := s.request(New(o), "tools/list"); err != nil {
			t.Fatal(err)
		}
		s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{next.issuer()} }
		err := New(o).Login(t.Context(), nil)
		wantError(t, err, Invalid, StepServer, s.issuer(), next.issuer())
		if next.times("authorize") != 0 {
			t.Errorf("log: %v", next.log)
		}
	})
}

// TestBoundToken shows a token that is bound to a key, and a server that wants nonces in the proofs.
func TestBoundToken(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	s.challenge = `DPoP resource_metadata="{prm}"`
	s.metadata = func(doc map[string]any) { doc["dpop_signing_alg_values_supported"] = []string{"ES256"} }
	s.token = func(_ http.ResponseWriter, _ url.Values, answer map[string]any) bool {
		answer["token_type"] = "DPoP"
		return true
	}
	fresh := "nonce-1"
	s.header = func(h http.Header) { h.Set("DPoP-Nonce", fresh) }
	var wrong []string
	s.serve = func(r *http.Request, _ string, _ []string) (int, string) {
		var claims struct {
			Nonce string `json:"nonce"`
			Htm   string `json:"htm"`
			Htu   string `json:"htu"`
		}
		parts := strings.Split(r.Header.Get("DPoP"), ".")
		if len(parts) != 3 || !strings.HasPrefix(r.Header.Get("Authorization"), "DPoP ") {
			wrong = append(wrong, r.Header.Get("Authorization"))
			return 401, `DPoP error="invalid_token"`
		}
		data, _ := base64.RawURLEncoding.DecodeString(parts[1])
		if err := json.Unmarshal(data, &claims); err != nil || claims.Htm != r.Method || claims.Htu != s.endpoint() {
			wrong = append(wrong, string(data))
		}
		if claims.Nonce != fresh {
			return 401, `DPoP error="use_dpop_nonce"`
		}
		return 200, ""
	}
	o := s.options()
	a := New(o)
	if status, err := s.request(a, "tools/list"); err != nil || status != 200 {
		t.Fatalf("status %d, %v; %v", status, err, wrong)
	}
	fresh = "nonce-2"
	if status, err := s.request(a, "tools/list"); err != nil || status != 200 || len(wrong) > 0 || s.times("authorize") != 1 {
		t.Errorf("status %d, %v; %v; log %v", status, err, wrong, s.log)
	}
	o.Person = nil
	if status, err := s.request(New(o), "tools/list"); err != nil || status != 200 {
		t.Errorf("another run: status %d, %v", status, err)
	}
}

// TestQuietRefusals shows that nobody is asked because of what is done in the background, and that this hinders no login of
// a request that somebody waits for; and that scopes which a 403 names without an error are asked for.
func TestQuietRefusals(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	challenge := `Bearer resource_metadata="` + s.mcp.URL + s.prmPath() + `"`
	r := transport.Refusal{Status: http.StatusUnauthorized, Challenges: transport.ParseChallenge(challenge), Header: http.Header{}, Quiet: true}
	for name, ask := range map[string]bool{"always": false, "at times": true} {
		t.Run(name, func(t *testing.T) {
			r, o := r, s.options()
			if person := o.Person; ask {
				o.Person, o.Ask = nil, func() *Person { return person }
			}
			a := New(o)
			wantError(t, a.Refused(req, r), NeedsLogin, StepBrowser)
			r.Quiet = false
			if err := a.Refused(req, r); err != nil {
				t.Error(err)
			}
		})
	}
	for header, want := range map[string]bool{
		`Bearer error="insufficient_scope"`: true, `Bearer scope="a b"`: true, `Bearer error="invalid_token", scope="a"`: false, `Bearer`: false,
	} {
		if got := wantsScopes(http.StatusForbidden, transport.ParseChallenge(header)[0]); got != want {
			t.Errorf("%s: %t", header, got)
		}
	}
}

// TestEarlierLoginStays shows that a login that fails leaves the one before as it was.
func TestEarlierLoginStays(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	if _, err := s.request(New(o), "tools/list"); err != nil {
		t.Fatal(err)
	}
	before, _, err := o.Store.Load(t.Context(), s.endpoint())
	if err != nil {
		t.Fatal(err)
	}
	s.back = func(_, answer url.Values) {
		answer.Del("code")
		answer.Set("error", "access_denied")
	}
	a := New(o)
	wantError(t, a.Login(t.Context(), nil), Refused, StepCallback)
	if after, ok, err := o.Store.Load(t.Context(), s.endpoint()); err != nil || !ok || after.Token.Access != before.Token.Access {
		t.Errorf("kept %t, %v", ok, err)
	}
	if status, err := s.request(a, "tools/list"); err != nil || status != http.StatusOK {
		t.Errorf("status %d, %v", status, err)
	}
}

// TestNobodyComesBack shows a person who closes the tab, and one who ends the login. A client that was registered in another
// login is forgotten then: the authorization server may have forgotten it too, and shows a page of its own.
func TestNobodyComesBack(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	if err := New(o).Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o.Person = &Person{Time: 50 * time.Millisecond}
	begun := 0
	o.Begins = func(context.Context) { begun++ }
	a := New(o)
	wantError(t, a.Login(t.Context(), nil), TimedOut, StepBrowser)
	if _, kept, err := o.Store.LoadClient(t.Context(), s.issuer()); kept || err != nil {
		t.Errorf("the client is kept, %v", err)
	}
	if _, err := s.request(a, "tools/list"); err == nil || begun != 1 {
		t.Errorf("%v; a person was asked %d times", err, begun)
	}
	for _, kept := range []bool{true, false} { // the first login registers, and so the second one is with a client that was kept
		ctx, cancel := context.WithCancel(t.Context())
		o.Person = &Person{Show: func(Asked) { cancel() }}
		err := New(o).Login(ctx, nil)
		wantError(t, err, Cancelled, StepBrowser)
		if e, ok := errors.AsType[*Error](err); !ok || strings.Contains(e.Hint, "registers anew") == kept {
			t.Errorf("hint %q", e.Hint)
		}
		if _, is, err := o.Store.LoadClient(t.Context(), s.issuer()); is != kept || err != nil {
			t.Errorf("the client is kept: %t, want %t, %v", is, kept, err)
		}
	}
}

// TestALoginThatIsGivenUpWaitsForNobody shows that another mcpctl, at work on the client that is to be forgotten, does not put off
// the end of a login.
func TestALoginThatIsGivenUpWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	dir := t.TempDir()
	o.Store = OpenStore(StoreOptions{Dir: dir, Kind: StoreFile})
	if err := New(o).Login(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const long = 20 * time.Second
	release, err := OpenStore(StoreOptions{Dir: dir, Kind: StoreFile}).hold(t.Context(), clientFile(s.issuer())+".write")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	defer time.AfterFunc(long, release).Stop()
	ctx, cancel := context.WithCancel(t.Context())
	o.Person = &Person{Show: func(Asked) { cancel() }}
	lap := stopwatch.Start(t)
	wantError(t, New(o).Login(ctx, nil), Cancelled, StepBrowser)
	if elapsed := lap.End(); elapsed > long/2 {
		t.Errorf("it took %s", elapsed)
	}
}

// TestTakenPort shows that a port that is taken is told before anybody is registered or asked.
func TestTakenPort(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	o := s.options()
	o.Server.OAuth = &config.OAuth{RedirectURI: "http://127.0.0.1:" + port + "/callback"}
	_, err = s.request(New(o), "tools/list")
	wantError(t, err, Config, StepCallback, port)
	if s.times("register")+s.times("authorize") != 0 {
		t.Errorf("log: %v", s.log)
	}
}

// TestNothingToLogInTo shows the command login at a server that lets everybody in.
func TestNothingToLogInTo(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	s.open, s.placed[s.prmPath()] = []string{"initialize", "tools/list"}, http.NotFound
	wantError(t, New(s.options()).Login(t.Context(), nil), Refused, StepResource, "HTTP 404")
	if s.times("register") != 0 {
		t.Errorf("log: %v", s.log)
	}
}

// TestScopesOfAClient shows servers that give a client only the scopes that it has registered for: it is registered anew at
// the next login; and one that knows no scopes of clients, which gets none.
func TestScopesOfAClient(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	s.register = func(w http.ResponseWriter, asked, _ map[string]any) bool {
		if asked["scope"] == "odd" {
			answerJSON(w, 400, map[string]any{"error": "invalid_client_metadata"})
			return false
		}
		return true
	}
	s.back = func(asked, answer url.Values) {
		scope, _ := s.clients[asked.Get("client_id")]["scope"].(string)
		if scope != "" && !subset(strings.Fields(asked.Get("scope")), strings.Fields(scope)) {
			answer.Del("code")
			answer.Set("error", "invalid_scope")
		}
	}
	o := s.options()
	for _, c := range []struct {
		scope string
		good  bool
		times int
	}{{"a", true, 1}, {"a", true, 1}, {"a b", false, 1}, {"a b", true, 2}, {"odd", false, 2}, {"odd", true, 4}, {"more", true, 4}} {
		o.Server.OAuth = &config.OAuth{Scopes: strings.Fields(c.scope)}
		err := New(o).Login(t.Context(), nil)
		if n := s.times("register"); (err == nil) != c.good || n != c.times {
			t.Errorf("%s: %v; %d requests for registration, want %d", c.scope, err, n, c.times)
		}
	}
}

// FuzzEndpointURL looks for URLs of servers to which credentials must not go.
func FuzzEndpointURL(f *testing.F) {
	for _, seed := range []string{"https://h/token", "http://127.0.0.1:1/x", "http://mcp.example/x", "file:///etc/passwd", "https://a@b/", "http:mcp.example", "HTTP://LOCALHOST"} {
		f.Add(seed)
	}
	server, _ := url.Parse("http://mcp.example/mcp")
	f.Fuzz(func(t *testing.T, raw string) {
		u, says := endpointURL(raw, server)
		if says != "" {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host == "" || again.User != nil || again.Fragment != "" {
			t.Errorf("%q: %v, %v", raw, again, err)
		}
		if again.Scheme != "https" && (again.Scheme != "http" || !loopback(again.Hostname()) && !strings.EqualFold(again.Hostname(), "mcp.example")) {
			t.Errorf("%q goes to %s", raw, again)
		}
	})
}

// TestQuietRefusalsOfALongRun is TestQuietRefusals for a caller of whom a person may be asked at times.
func TestQuietRefusalsOfALongRun(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	o := s.options()
	person := o.Person
	o.Person, o.Ask = nil, func() *Person { return person }
	a := New(o)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.endpoint(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r := transport.Refusal{
		Status: http.StatusUnauthorized, Header: http.Header{}, Quiet: true,
		Challenges: transport.ParseChallenge(`Bearer resource_metadata="` + s.mcp.URL + s.prmPath() + `"`),
	}
	wantError(t, a.Refused(req, r), NeedsLogin, StepBrowser)
	if n := s.times("authorize"); n != 0 {
		t.Errorf("somebody was asked %d times", n)
	}
	if status, err := s.request(a, "tools/list"); err != nil || status != http.StatusOK || s.times("authorize") != 1 {
		t.Errorf("status %d, %v", status, err)
	}
}

// TestRefusalThatIsLate shows that a request which was refused before a login that has ended since begins no other.
func TestRefusalThatIsLate(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	a := New(s.options())
	seen := a.flowsDone()
	if status, err := s.request(a, "tools/list"); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	err := a.once(t.Context(), wish{seen: seen}, func(context.Context, *attempt) (*brought, error) {
		t.Error("another flow was begun")
		return nil, errors.ErrUnsupported
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFlowOfOneWhoGivesUp shows that a request which waits for the flow of another is not given up with it.
func TestFlowOfOneWhoGivesUp(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	asked, held := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(asked); <-held })
	s.placed[s.prmPath()] = func(w http.ResponseWriter, _ *http.Request) {
		first()
		answerJSON(w, http.StatusOK, map[string]any{"resource": s.endpoint(), "authorization_servers": []string{s.issuer()}})
	}
	a := New(s.options())
	gone, giveUp := context.WithCancel(t.Context())
	refused := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint(), http.NoBody)
		if err != nil {
			return err
		}
		return a.Refused(req, transport.Refusal{
			Status: http.StatusUnauthorized, Header: http.Header{},
			Challenges: transport.ParseChallenge(`Bearer resource_metadata="` + s.mcp.URL + s.prmPath() + `"`),
		})
	}
	var both sync.WaitGroup
	both.Go(func() { wantError(t, refused(gone), Cancelled, StepResource) })
	<-asked
	waits := make(chan error, 1)
	both.Go(func() {
		waits <- a.once(t.Context(), wish{}, func(context.Context, *attempt) (*brought, error) {
			return &brought{record: Record{Token: Token{Access: "of the second"}}}, nil
		})
	})
	giveUp()
	close(held)
	both.Wait()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// TestLoginThatCannotBeKept shows that a login is good for the whole run where nothing can be kept: other parts of the run use
// it, its token is refreshed, and it can be forgotten.
func TestLoginThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s, as := startAuthServer(t), newRotator(t)
	s.metadata = func(doc map[string]any) {
		doc["revocation_endpoint"] = as.URL + "/revoke"
	}
	o := s.options()
	o.Store = OpenStore(StoreOptions{Dir: t.TempDir(), Kind: StoreKeyring, Keyring: brokenRing{errors.New("it is locked")}})
	use := func(a *Authorizer) {
		t.Helper()
		if status, err := s.request(a, "tools/list"); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	use(New(o))
	other := o
	other.Person = nil
	use(New(other))
	if n := s.times("authorize"); n != 1 {
		t.Errorf("somebody was asked %d times", n)
	}
	if had, revoked, err := New(o).Logout(t.Context()); !had || !revoked || err != nil || len(as.revoked) != 2 {
		t.Error(had, revoked, err, len(as.revoked))
	}
	if status, _ := s.request(New(other), "tools/list"); status == http.StatusOK {
		t.Error("still logged in")
	}

	store := OpenStore(o.Store.o)
	store.lend(t.Context(), as.record(time.Hour))
	wantToken(t, keeper(store), "", "access-0")
	wantToken(t, keeper(store), "access-0", "access-1")
	wantToken(t, keeper(store), "", "access-1")
	wantToken(t, keeper(store), "access-1", "access-2")
	if as.dead {
		t.Error("a refresh token was used twice")
	}
}

// TestNobodyIsAskedForWhatCannotBeKept shows that a login which nothing can be kept of fails before anybody is contacted, and
// that looking leaves nothing behind.
func TestNobodyIsAskedForWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := dbus.Error{Name: "org.freedesktop.DBus.Error.ServiceUnknown", Body: []any{"no such service"}}
	for name, c := range map[string]struct {
		store  StoreOptions
		reason Reason
		says   []string
	}{
		"no keyring at all": {StoreOptions{Kind: StoreKeyring}, Config, []string{"there is no keyring here", "MCPCTL_CREDENTIALS"}},
		"no service": {
			StoreOptions{Kind: StoreKeyring, Keyring: brokenRing{gone}}, Config, []string{"there is no keyring here", "MCPCTL_CREDENTIALS=file"},
		},
		"one that is locked": {
			StoreOptions{Kind: StoreKeyring, Keyring: brokenRing{errors.New("it is locked")}}, Unreachable, []string{"it is locked", "unlock"},
		},
		"a file in the place of the directory": {StoreOptions{Dir: file, Kind: StoreFile}, Config, []string{file}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.store.Dir == "" {
				c.store.Dir = t.TempDir()
			}
			s := startAuthServer(t)
			o := s.options()
			o.Store = OpenStore(c.store)
			wantError(t, New(o).Login(t.Context(), nil), c.reason, StepStore, c.says...)
			if len(s.log) > 0 {
				t.Errorf("somebody was asked: %v", s.log)
			}
		})
	}
	dir, ring := t.TempDir(), ringIn(t.TempDir())
	store := OpenStore(StoreOptions{Dir: dir, Kind: StoreKeyring, Keyring: ring})
	if err := store.Ready(t.Context(), keptURL); err != nil {
		t.Fatal(err)
	}
	if left := append(filesIn(t, dir), filesIn(t, string(ring))...); len(left) > 0 {
		t.Errorf("there is left: %q", left)
	}
}

// TestTheIssuerOfAClient shows that what is configured of a client is shown to the authorization server of the configuration
// alone, from the first login on.
func TestTheIssuerOfAClient(t *testing.T) {
	t.Parallel()
	s, evil := startAuthServer(t), startAuthServer(t)
	for _, o := range []config.OAuth{
		{ClientID: "mine", ClientSecret: "secret-of-mine"},
		{ClientID: "mine", ClientSecret: "secret-of-mine", Grant: config.GrantClient},
		{}, // nothing is registered there, either
	} {
		o.Issuer = s.issuer()
		with := s.options()
		with.Server.OAuth = &o
		s.prm = func(doc map[string]any) { doc["authorization_servers"] = []string{evil.issuer()} }
		_, err := s.request(New(with), "tools/list")
		wantError(t, err, Invalid, StepServer, evil.issuer(), s.issuer(), "oauth.issuer")
		if n := evil.times("token") + evil.times("register") + evil.times("authorize"); n > 0 {
			t.Errorf("%+v: log of the other: %v", o, evil.log)
		}
	}
	// A slash at the end makes no other server of it, and a token of another is not used.
	s.prm = nil
	with := s.options()
	with.Server.OAuth = &config.OAuth{Issuer: s.issuer() + "/"}
	if _, err := s.request(New(with), "tools/list"); err != nil {
		t.Fatal(err)
	}
	if st, err := New(with).State(t.Context()); err != nil || st.Standing != StandingOK {
		t.Errorf("%+v, %v", st, err)
	}
	with.Server.OAuth = &config.OAuth{Issuer: evil.issuer()}
	if st, err := New(with).State(t.Context()); err != nil || st.Standing != StandingNone {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestSilentServer shows a server that takes connections and says nothing: the login ends within the limit on connecting, and
// says which that is.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t)
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	o := s.options()
	o.Server.URL = "http://" + silent.Addr().String() + "/mcp"
	o.Connect = Limit{Name: "connect_timeout", Value: 50 * time.Millisecond, Source: "flag --connect-timeout"}
	err = New(o).Login(t.Context(), nil)
	wantError(t, err, TimedOut, StepChallenge, "nothing came within connect_timeout 50ms (flag --connect-timeout)")
	if e, _ := errors.AsType[*Error](err); e.Limit != o.Connect {
		t.Errorf("the limit is %+v", e.Limit)
	}
}

// TestOtherNameOfThisMachine shows a server that calls itself localhost and is reached as 127.0.0.1: the next step is told. That
// of another machine is not recommended: it may be somebody else's.
func TestOtherNameOfThisMachine(t *testing.T) {
	t.Parallel()
	for about, recommended := range map[string]bool{"http://localhost:1/mcp": true, "https://mcp.example/mcp": false, "http://bank.example@localhost:1/mcp": false} {
		s := startAuthServer(t)
		s.prm = func(doc map[string]any) { doc["resource"] = about }
		err := New(s.options()).Login(t.Context(), nil)
		wantError(t, err, Invalid, StepResource, about)
		if e, ok := errors.AsType[*Error](err); !ok || strings.Contains(e.Hint, "use the URL that it is about") != recommended || !strings.Contains(e.Hint, s.endpoint()) {
			t.Errorf("%s: hint %q", about, e.Hint)
		}
	}
}
