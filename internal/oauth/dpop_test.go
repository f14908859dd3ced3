package oauth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// A key makes proofs that a server takes, by each algorithm, also after it was kept and read again.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, algs := range [][]string{nil, {"ES256"}, {"none", "HS256", "ES384"}, {"ES512"}, {"EdDSA"}, {"PS256"}, {"RS256"}, {"RS256", "ES256"}} {
		made, err := newProofKey(algs...)
		if err != nil {
			t.Fatal(algs, err)
		}
		text, err := made.text()
		if err != nil {
			t.Fatal(algs, err)
		}
		kept, err := parseProofKey(text)
		if err != nil {
			t.Fatal(algs, err)
		}
		if kept.alg != made.alg || len(algs) > 0 && !slices.Contains(algs, kept.alg) {
			t.Errorf("%v: made for %s, kept for %s", algs, made.alg, kept.alg)
		}
		jtis, thumbs := map[string]bool{}, map[string]bool{}
		for _, k := range []*proofKey{made, kept, kept} {
			r := httptest.NewRequest(http.MethodGet, "https://Mcp.Example:443/a%2Fb/?tenant=1#top", nil)
			k.learn(r.URL, "", http.Header{"Dpop-Nonce": {"n-1"}})
			if err := k.authorize(r, "token"); err != nil {
				t.Fatal(algs, err)
			}
			if got := r.Header.Get("Authorization"); got != "DPoP token" {
				t.Errorf("%v: %s", algs, got)
			}
			thumb, nonce, err := checkProof(r, "https://mcp.example/a%2Fb/", "token", jtis)
			if err != nil || nonce != "n-1" {
				t.Errorf("%v: nonce %q: %v", algs, nonce, err)
			}
			thumbs[thumb] = true
		}
		if len(thumbs) != 1 {
			t.Errorf("%v: the key has changed", algs)
		}
	}
	if _, err := newProofKey("HS256", "none"); err == nil {
		t.Error("a key for no algorithm")
	}
	for _, text := range []string{"", "junk", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := parseProofKey(text); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

// Nonces are kept by the origin that gave them, the newest alone, and junk is none.
func TestNonces(t *testing.T) {
	t.Parallel()
	k, err := newProofKey()
	if err != nil {
		t.Fatal(err)
	}
	at := func(raw string) *url.URL {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	give := func(nonce string) http.Header { h := http.Header{}; h.Set("DPoP-Nonce", nonce); return h }
	proof := func(nonce string) string {
		text, err := k.proof(http.MethodPost, at("https://a.example/mcp"), nonce, "")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	// Two requests on their way at once are both without it; one that had it is not sent again.
	if !k.learn(at("https://a.example/mcp"), proof(""), give("one")) || !k.learn(at("https://A.example:443/token"), proof(""), give("one")) ||
		k.learn(at("https://a.example/mcp"), proof("one"), give("one")) {
		t.Error("a nonce is new to a proof that does not have it")
	}
	if got := k.nonce(at("https://a.example/x?y")); got != "one" {
		t.Errorf("%q", got)
	}
	if got := k.nonce(at("https://a.example:8443/")) + k.nonce(at("http://a.example/")); got != "" {
		t.Errorf("another origin has %q", got)
	}
	k.learn(at("https://a.example/"), proof("one"), give("two"))
	for _, junk := range []string{"", "with space", `quote"`, "line\nbreak", "ümlaut", strings.Repeat("a", mostNonce+1)} {
		if k.learn(at("https://a.example/"), proof("one"), give(junk)) {
			t.Errorf("%q is a nonce", junk)
		}
	}
	if got := k.nonce(at("https://a.example/")); got != "two" {
		t.Errorf("%q", got)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			u := at(fmt.Sprintf("https://%d.example/", i%3))
			k.learn(u, "", give(fmt.Sprint(i)))
			r := httptest.NewRequest(http.MethodPost, u.String(), nil)
			if err := k.authorize(r, "t"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A request that was refused for want of a nonce alone is told apart from all others.
func TestWantsNonce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status           int
		challenge, nonce string
		want             bool
	}{
		{401, `DPoP error="use_dpop_nonce"`, "n", true},
		{401, `Bearer, dpop error="use_dpop_nonce", resource_metadata="https://a.example/"`, "n", true},
		{401, `DPoP error="use_dpop_nonce"`, "", false},
		{401, `DPoP error="invalid_token"`, "n", false},
		{401, `Bearer error="use_dpop_nonce"`, "n", false},
		{403, `DPoP error="use_dpop_nonce"`, "n", false},
		{401, ``, "n", false},
	} {
		r := transport.Refusal{Status: c.status, Challenges: transport.ParseChallenge(c.challenge), Header: http.Header{"Dpop-Nonce": {c.nonce}}}
		if got := wantsNonce(r); got != c.want {
			t.Errorf("%d %s nonce %q: %t", c.status, c.challenge, c.nonce, got)
		}
	}
}

// Tokens are bound to a key when the user wants it, or the server.
func TestWhenTokensAreBound(t *testing.T) {
	t.Parallel()
	algs := &ServerMetadata{DPoPAlgorithms: []string{"ES256"}}
	for _, c := range []struct {
		name  string
		o     *config.OAuth
		chain Chain
		want  proofWanted
	}{
		{"nobody", nil, Chain{}, proofNone},
		{"the authorization server could", nil, Chain{Server: algs, Challenges: transport.ParseChallenge("Bearer")}, proofNone},
		{"the user", &config.OAuth{DPoP: true}, Chain{Challenges: transport.ParseChallenge("Bearer")}, proofDemanded},
		{"a challenge", nil, Chain{Challenges: transport.ParseChallenge(`dpop algs="ES256"`)}, proofDemanded},
		{"both challenges", nil, Chain{Server: algs, Challenges: transport.ParseChallenge(`Bearer, DPoP algs="ES256"`)}, proofOffered},
		{"both challenges, and nobody to give one", nil, Chain{Challenges: transport.ParseChallenge(`Bearer, DPoP`)}, proofNone},
		{"the metadata", nil, Chain{Resource: &ResourceMetadata{DPoPRequired: true}, Challenges: transport.ParseChallenge("Bearer")}, proofDemanded},
	} {
		if got := wantsProof(c.o, c.chain); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// At the token endpoint a proof goes along; the server's nonce is taken over once, and remembered.
func TestTokenIsBound(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.bind, s.nonce = true, "first"
	key := p256(t)
	s.keys["me"] = key.Public()
	k, err := newProofKey()
	if err != nil {
		t.Fatal(err)
	}
	e := s.endpoint()
	e.proof, e.bound, e.client, e.key = k, true, Client{ID: "me"}, pemOf(t, key)
	form := url.Values{"grant_type": {"client_credentials"}}
	for i, want := range []int{2, 3, 5} { // the second request knows the nonce; before the third the server has changed it
		if i == 2 {
			s.mu.Lock()
			s.nonce = "second"
			s.mu.Unlock()
		}
		token, err := e.ask(t.Context(), form)
		if err != nil || token.Type != "DPoP" {
			t.Fatalf("%+v: %v", token, err)
		}
		if text, err := e.keyText(token); err != nil || text == "" {
			t.Errorf("%q: %v", text, err)
		}
		if got := len(s.requests()); got != want {
			t.Errorf("after token %d: %d requests, want %d", i+1, got, want)
		}
	}
	if form.Has("client_assertion") {
		t.Error("the caller's form was changed")
	}
}

// A server that always wants another nonce is asked twice.
func TestNonceWithoutEnd(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	n := 0
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("DPoP-Nonce", fmt.Sprint("n", n))
		s.refuse(w, http.StatusBadRequest, "use_dpop_nonce", "another")
	}
	k, err := newProofKey()
	if err != nil {
		t.Fatal(err)
	}
	e := s.endpoint()
	e.proof = k
	_, err = e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if f := failureOf(t, err); f.Code != useNonce || len(s.requests()) != 2 {
		t.Errorf("%d requests, %+v", len(s.requests()), f)
	}
	e.proof = nil
	_, err = e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if f := failureOf(t, err); !strings.Contains(f.Hint, "oauth.dpop (--dpop)") || len(s.requests()) != 3 {
		t.Errorf("%d requests, %+v", len(s.requests()), f)
	}
}

// A bearer token where a bound one was asked for: not if it was demanded.
func TestBearerInPlaceOfBound(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"t","token_type":"BEARER"}`))
	}
	k, err := newProofKey()
	if err != nil {
		t.Fatal(err)
	}
	e := s.endpoint()
	e.proof, e.bound = k, true
	_, err = e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if f := failureOf(t, err); f.Reason != Invalid || !strings.Contains(f.Hint, "oauth.dpop") {
		t.Errorf("%+v", f)
	}
	e.bound = false
	token, err := e.ask(t.Context(), url.Values{"grant_type": {"client_credentials"}})
	if err != nil || token.Type != "Bearer" {
		t.Errorf("%+v: %v", token, err)
	}
	if text, err := e.keyText(token); text != "" || err != nil {
		t.Errorf("%q: %v", text, err)
	}
}

func FuzzNonce(f *testing.F) {
	for _, seed := range []string{"", "abc", "a b", "a\r\nX: 1", "\x7f", `"`} {
		f.Add(seed)
	}
	k, err := newProofKey()
	if err != nil {
		f.Fatal(err)
	}
	u := &url.URL{Scheme: "https", Host: "a.example"}
	f.Fuzz(func(t *testing.T, nonce string) {
		k.learn(u, "", http.Header{"Dpop-Nonce": {nonce}})
		r := httptest.NewRequest(http.MethodPost, "https://a.example/", nil)
		if err := k.authorize(r, "t"); err != nil {
			t.Fatal(err)
		}
		if _, got, err := checkProof(r, "https://a.example/", "t", map[string]bool{}); err != nil || got != k.nonce(u) {
			t.Errorf("%q becomes %q: %v", nonce, got, err)
		}
	})
}
