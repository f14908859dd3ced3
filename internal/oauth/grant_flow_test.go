package oauth

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// guarded is an MCP server that takes the tokens of a tokenServer.
type guarded struct {
	*httptest.Server
	as *tokenServer

	mu sync.Mutex
	// revoked are tokens that are not taken any more; all is set for a server that takes none.
	revoked map[string]bool
	all     bool
	// bound is set where only tokens with a proof are taken, thumb is the key that was seen with them, nonce what proofs need.
	bound        bool
	thumb, nonce string
	jtis         map[string]bool
	// clock is what the server's clock is off.
	clock time.Duration
}

func (s *tokenServer) guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{as: s, revoked: map[string]bool{}, jtis: map[string]bool{}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

// ServeHTTP implements [http.Handler].
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, resourceWellKnown) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"resource": g.URL + "/mcp", "authorization_servers": []string{g.as.URL}, "dpop_bound_access_tokens_required": g.bound,
		})
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(g.clock).UTC().Format(http.TimeFormat))
	scheme, want := "Bearer", "Bearer"
	if g.bound {
		scheme, want = "DPoP", "DPoP"
	}
	got, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	refuse := func(code string) {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`%s resource_metadata="%s", error=%q`, scheme, g.URL+resourceWellKnown+"/mcp", code))
		w.WriteHeader(http.StatusUnauthorized)
	}
	if got != want || !strings.HasPrefix(token, "access-") || g.revoked[token] || g.all {
		refuse("invalid_token")
		return
	}
	if g.bound {
		thumb, nonce, err := checkProof(r, g.URL+"/mcp", token, g.jtis)
		switch {
		case err != nil || g.thumb != "" && g.thumb != thumb || g.clock != 0:
			refuse("invalid_dpop_proof")
			return
		case nonce != g.nonce:
			w.Header().Set("DPoP-Nonce", g.nonce)
			refuse("use_dpop_nonce")
			return
		}
		g.thumb = thumb
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
}

// robot returns an authorizer for it, which keeps what it gets in store.
func (g *guarded) robot(store *Store, o config.OAuth) *Authorizer {
	return New(Options{Server: config.Server{Name: "up", URL: g.URL + "/mcp", OAuth: &o}, Client: webClient, Store: store})
}

func newFiles(t *testing.T) *Store {
	t.Helper()
	return OpenStore(StoreOptions{Dir: t.TempDir(), Kind: "file"})
}

// A token of a grant without a person is got on the first refusal, kept, used by the next command, and got anew when it has
// expired or is refused.
func TestGrantIsKept(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"] = "very secret"
	g := s.guard(t)
	dir := t.TempDir()
	o := config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"}
	run := func(want int) {
		t.Helper()
		a := g.robot(OpenStore(StoreOptions{Dir: dir, Kind: "file"}), o) // another process
		for range 2 {
			if status, err := requestAt(t, g.URL+"/mcp", a, "tools/list"); err != nil || status != http.StatusOK {
				t.Fatalf("status %d, %v", status, err)
			}
		}
		if got := len(s.requests()); got != want {
			t.Errorf("%d tokens were asked for, want %d", got, want)
		}
	}
	run(1)
	run(1)
	g.mu.Lock()
	g.revoked["access-1"] = true
	g.mu.Unlock()
	run(2)
	run(2)

	store := OpenStore(StoreOptions{Dir: dir, Kind: "file"})
	r, ok, err := store.Load(t.Context(), g.URL+"/mcp")
	if err != nil || !ok || r.Grant != "client_credentials" || r.Token.Access != "access-2" {
		t.Fatalf("%+v, %t, %v", r, ok, err)
	}
	r.Token.Expires = time.Now().Add(100 * time.Millisecond)
	if err := store.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(r.Token.Expires))
	run(3)
}

// A refusal of a grant is told once: no second request, no other grant.
func TestGrantIsRefusedOnce(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	g := s.guard(t)
	key := p256(t)
	s.keys["i"] = key.Public()
	a := g.robot(newFiles(t), config.OAuth{Grant: config.GrantJWTBearer, Assertion: statement(t, key, jwt.MapClaims{
		"iss": "i", "sub": "s", "aud": s.URL, "jti": rand.Text(), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	})})
	s.judge = func(url.Values) string { return "unauthorized_client" }
	for range 3 {
		_, err := requestAt(t, g.URL+"/mcp", a, "tools/list")
		wantError(t, err, Refused, StepToken, "unauthorized_client", s.URL)
	}
	if got := len(s.requests()); got != 1 {
		t.Errorf("it was asked %d times", got)
	}
}

// A server that does not take what its own authorization server gives is not fed with tokens.
func TestGrantThatIsUnwelcome(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"] = "very secret"
	g := s.guard(t)
	g.all = true
	a := g.robot(newFiles(t), config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"})
	for range 2 {
		_, err := requestAt(t, g.URL+"/mcp", a, "tools/list")
		wantError(t, err, Refused, StepServerAgain, s.URL)
	}
	if got := len(s.requests()); got != 1 {
		t.Errorf("%d tokens were got", got)
	}
}

// Many requests at once need one token, and proofs of one key; each learns the nonce by itself.
func TestManyBoundAtOnce(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"], s.bind, s.nonce = "very secret", true, "of-the-issuer"
	g := s.guard(t)
	g.bound, g.nonce = true, "of-the-server"
	dir := t.TempDir()
	for run := range 2 { // the second finds the token, and the key
		a := g.robot(OpenStore(StoreOptions{Dir: dir, Kind: "file"}), config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if status, err := requestAt(t, g.URL+"/mcp", a, "tools/list"); err != nil || status != http.StatusOK {
					t.Errorf("run %d: status %d, %v", run, status, err)
				}
			})
		}
		all.Wait()
	}
	if got := len(s.requests()); got != 2 { // the first brought the nonce
		t.Errorf("the token endpoint was asked %d times", got)
	}
}

// A proof that is refused is no reason for another token: the clock is, mostly.
func TestProofIsRefused(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"] = "very secret"
	g := s.guard(t)
	g.bound = true
	o := config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"}
	store := newFiles(t)
	if status, err := requestAt(t, g.URL+"/mcp", g.robot(store, o), "tools/list"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	g.mu.Lock()
	g.clock = time.Hour
	g.mu.Unlock()
	_, err := requestAt(t, g.URL+"/mcp", g.robot(store, o), "tools/list")
	wantError(t, err, Refused, StepServerAgain, "invalid_dpop_proof", "clock is 1h0m behind")
	if got := len(s.requests()); got != 1 {
		t.Errorf("%d tokens were got", got)
	}
}
