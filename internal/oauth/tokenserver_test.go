package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// tokenServer is an authorization server that gives tokens to clients by themselves. It looks at what it is sent as
// strictly as the RFCs let it, by a way of its own.
type tokenServer struct {
	t *testing.T
	*httptest.Server

	// keys are the public keys of clients, and of whoever signs assertions, by the name.
	keys map[string]crypto.PublicKey
	// secrets are those of clients, methods how each may authenticate (nil: in any way), grants those that are allowed.
	secrets map[string]string
	// metadata is added to the server's metadata.
	metadata map[string]any
	// nonce is demanded in proofs, "" for none. bind refuses requests without a proof.
	nonce string
	bind  bool
	// answer replaces the server's own, for all requests.
	answer http.HandlerFunc
	// judge looks at a request that is right so far, and returns an error code to refuse it.
	judge func(form url.Values) string

	mu    sync.Mutex
	seen  []request
	jtis  map[string]bool
	given int
}

// request is one that the server got at its token endpoint.
type request struct {
	form   url.Values
	header http.Header
}

func startTokenServer(t *testing.T) *tokenServer {
	t.Helper()
	s := &tokenServer{t: t, keys: map[string]crypto.PublicKey{}, secrets: map[string]string{}, jtis: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{"issuer": s.URL, "token_endpoint": s.URL + "/token"}
		maps.Copy(doc, s.metadata)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	})
	mux.HandleFunc("POST /token", s.token)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// requests returns what the token endpoint has got.
func (s *tokenServer) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// last returns the last of them.
func (s *tokenServer) last() request {
	s.t.Helper()
	all := s.requests()
	if len(all) == 0 {
		s.t.Fatal("the token endpoint was not asked")
	}
	return all[len(all)-1]
}

func (s *tokenServer) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, request{form: r.PostForm, header: r.Header.Clone()})
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	for name, values := range r.PostForm {
		if len(values) != 1 || values[0] == "" {
			s.refuse(w, http.StatusBadRequest, "invalid_request", name+" is there twice, or empty") // RFC 6749, 3.2
			return
		}
	}
	if r.URL.RawQuery != "" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.Header.Get("Cookie") != "" {
		s.refuse(w, http.StatusBadRequest, "invalid_request", "not as RFC 6749, 4 says")
		return
	}
	if err := s.client(r); err != nil {
		s.refuse(w, http.StatusUnauthorized, "invalid_client", err.Error())
		return
	}
	thumb, code, err := s.proof(r)
	if code != "" {
		if code == useNonce {
			w.Header().Set("DPoP-Nonce", s.nonce)
		}
		s.refuse(w, http.StatusBadRequest, code, fmt.Sprint(err))
		return
	}
	form := r.PostForm
	if statement := form.Get("assertion"); form.Get("grant_type") == grantJWTBearer {
		if err := s.signed(statement, ""); err != nil {
			s.refuse(w, http.StatusBadRequest, "invalid_grant", err.Error())
			return
		}
	}
	if s.judge != nil {
		if code := s.judge(form); code != "" {
			s.refuse(w, http.StatusBadRequest, code, "as the test has it")
			return
		}
	}
	s.given++
	answer := map[string]any{"access_token": fmt.Sprintf("access-%d", s.given), "token_type": "bearer", "expires_in": 3600}
	if thumb != "" {
		answer["token_type"] = "DPoP"
	}
	if scope := form.Get("scope"); scope != "" {
		answer["scope"] = scope
	}
	if form.Get("grant_type") == grantExchange {
		answer["issued_token_type"], answer["token_type"] = tokenIDJAG, "N_A"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *tokenServer) refuse(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
}

// client checks who asks. See RFC 6749, 2.3, and RFC 7523, 3.
func (s *tokenServer) client(r *http.Request) error {
	form := r.PostForm
	id, secret, basic := r.BasicAuth()
	ways := 0
	if basic {
		ways++
		var err error
		if id, err = url.QueryUnescape(id); err != nil {
			return err
		}
		if secret, err = url.QueryUnescape(secret); err != nil {
			return err
		}
		if form.Has("client_id") {
			return fmt.Errorf("the client is named twice")
		}
	}
	if form.Has("client_secret") {
		ways++
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	if form.Has("client_assertion") {
		if ways > 0 {
			return fmt.Errorf("the client authenticates in two ways")
		}
		if form.Get("client_assertion_type") != clientAssertionType {
			return fmt.Errorf("the assertion is of another type")
		}
		return s.signed(form.Get("client_assertion"), form.Get("client_id"))
	}
	switch {
	case ways > 1:
		return fmt.Errorf("the client authenticates in %d ways", ways)
	case ways == 0 && s.secrets[form.Get("client_id")] == "" && s.keys[form.Get("client_id")] == nil:
		return nil // a public client, or none
	case ways == 0:
		return fmt.Errorf("the client does not authenticate")
	case s.secrets[id] == "" || s.secrets[id] != secret:
		return fmt.Errorf("the client %q is not known, or its secret is wrong: %s", id, secret)
	}
	return nil
}

// signed checks an assertion for this server. If a client is named, it must be about it.
func (s *tokenServer) signed(statement, client string) error {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(statement, &claims, func(t *jwt.Token) (any, error) {
		key := s.keys[claims.Issuer]
		if key == nil {
			return nil, fmt.Errorf("nobody knows %q", claims.Issuer)
		}
		return key, nil
	}, jwt.WithAudience(s.URL), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(5*time.Second))
	switch {
	case err != nil:
		return err
	case client != "" && (claims.Issuer != client || claims.Subject != client):
		return fmt.Errorf("it is about %q, and %q asks", claims.Subject, client)
	case client != "" && (claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > 5*time.Minute):
		return fmt.Errorf("it is good for too long")
	case claims.ID == "" || s.jtis[claims.ID]:
		return fmt.Errorf("it was there before")
	}
	s.jtis[claims.ID] = true
	return nil
}

// proof checks the proof of a request at the token endpoint, and returns the key's thumbprint, "" for none.
func (s *tokenServer) proof(r *http.Request) (thumb, code string, err error) {
	if r.Header.Get("DPoP") == "" {
		if s.bind {
			return "", "invalid_dpop_proof", fmt.Errorf("there is none")
		}
		return "", "", nil
	}
	thumb, nonce, err := checkProof(r, s.URL+"/token", "", s.jtis)
	if err != nil {
		return "", "invalid_dpop_proof", err
	}
	if s.nonce != nonce {
		return "", useNonce, fmt.Errorf("another nonce is wanted")
	}
	return thumb, "", nil
}

// checkProof checks the proof of a request as RFC 9449, 4.3 says, and returns the thumbprint of its key (RFC 7638), and its
// nonce.
func checkProof(r *http.Request, place, access string, jtis map[string]bool) (thumb, nonce string, err error) {
	proofs := r.Header.Values("DPoP")
	if len(proofs) != 1 {
		return "", "", fmt.Errorf("there are %d proofs", len(proofs))
	}
	var claims struct {
		jwt.RegisteredClaims
		Method string `json:"htm"`
		URL    string `json:"htu"`
		Hash   string `json:"ath"`
		Nonce  string `json:"nonce"`
	}
	parsed, err := jwt.ParseWithClaims(proofs[0], &claims, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != "dpop+jwt" {
			return nil, fmt.Errorf("typ is %v", t.Header["typ"])
		}
		jwk, _ := t.Header["jwk"].(map[string]any)
		var members []string
		for name := range jwk {
			members = append(members, name)
		}
		slices.Sort(members)
		var key crypto.PublicKey
		part := func(name string) []byte {
			text, _ := jwk[name].(string)
			data, _ := base64.RawURLEncoding.DecodeString(text)
			return data
		}
		switch strings.Join(members, " ") { // anything else, a private part above all, must not be there
		case "crv kty x y":
			curve := map[any]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[jwk["crv"]]
			point, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, part("x"), part("y")))
			if err != nil {
				return nil, err
			}
			key = point
		case "crv kty x":
			key = ed25519.PublicKey(part("x"))
		case "e kty n":
			key = &rsa.PublicKey{N: new(big.Int).SetBytes(part("n")), E: int(new(big.Int).SetBytes(part("e")).Int64())}
		default:
			return nil, fmt.Errorf("the key has %v", members)
		}
		text, err := json.Marshal(jwk) // in the order of the names, without spaces: as RFC 7638 wants it
		sum := sha256.Sum256(text)
		thumb = base64.RawURLEncoding.EncodeToString(sum[:])
		return key, err
	})
	sum := sha256.Sum256([]byte(access))
	switch {
	case err != nil:
		return "", "", err
	case !parsed.Valid || claims.ID == "" || jtis[claims.ID]:
		return "", "", fmt.Errorf("it was there before")
	case claims.Method != r.Method || claims.URL != place:
		return "", "", fmt.Errorf("it is for %s %s", claims.Method, claims.URL)
	case claims.IssuedAt == nil || time.Since(claims.IssuedAt.Time).Abs() > time.Minute:
		return "", "", fmt.Errorf("it is of another time")
	case access == "" && claims.Hash != "", access != "" && claims.Hash != base64.RawURLEncoding.EncodeToString(sum[:]):
		return "", "", fmt.Errorf("it is for another token")
	}
	jtis[claims.ID] = true
	return thumb, claims.Nonce, nil
}

// told collects what an authorizer tells.
type told struct {
	mu      sync.Mutex
	secrets []string
	events  []Event
}

func (t *told) secret(values ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.secrets = append(t.secrets, values...)
}

func (t *told) event(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
}

// knows reports whether a secret was told.
func (t *told) knows(secret string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.secrets, secret)
}

// grantsFor returns an authorizer for a server that is protected by s, and the chain that leads there.
func grantsFor(t *testing.T, s *tokenServer, o config.OAuth) (*Authorizer, Chain, *told) {
	t.Helper()
	heard := &told{}
	a := New(Options{
		Server: config.Server{Name: "up", URL: "https://mcp.example/mcp?tenant=1", OAuth: &o},
		Client: func(*url.URL) (*http.Client, error) { return s.Client(), nil },
		Secret: heard.secret, Tell: heard.event,
	})
	chain := Chain{
		Status: http.StatusUnauthorized, Issuer: s.URL,
		Resource: &ResourceMetadata{Resource: "https://mcp.example/mcp", AuthorizationServers: []string{s.URL}},
		Server:   &ServerMetadata{Issuer: s.URL, TokenEndpoint: s.URL + "/token"},
	}
	return a, chain, heard
}

// pemOf returns a private key as PKCS #8.
func pemOf(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func p256(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// statement returns an assertion that somebody has signed.
func statement(t *testing.T, key crypto.Signer, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm(key, nil)), claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func failureOf(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if e, _ = err.(*Error); e == nil { //nolint:errorlint // it must be one, and not wrap one
		t.Fatalf("the failure is %T: %v", err, err)
	}
	return e
}
