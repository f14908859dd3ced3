//go:build e2e && linux

package e2e

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// toVerify is a token that jose.mjs verifies.
type toVerify struct {
	Kind     string `json:"kind"`
	Token    string `json:"token"`
	Key      string `json:"key"`
	Alg      string `json:"alg"`
	Audience string `json:"audience"`
	Client   string `json:"client"`
	Method   string `json:"method"`
	URL      string `json:"url"`
	Access   string `json:"access"`
}

// recorder is an MCP server and its authorization server, which note what is signed. Tokens are bound to keys of one kind.
type recorder struct {
	*httptest.Server
	key, alg string

	mu   sync.Mutex
	seen []toVerify
}

func (r *recorder) note(v toVerify) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, v)
}

// ServeHTTP implements [http.Handler].
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	answer := func(doc map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	}
	proof := toVerify{Kind: "proof", Token: req.Header.Get("DPoP"), Alg: r.alg, Method: req.Method, URL: r.URL + req.URL.Path}
	switch req.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(map[string]any{"resource": r.URL + "/mcp", "authorization_servers": []string{r.URL}})
	case "/.well-known/oauth-authorization-server":
		answer(map[string]any{
			"issuer": r.URL, "token_endpoint": r.URL + "/token", "token_endpoint_auth_methods_supported": []string{"private_key_jwt"},
			"token_endpoint_auth_signing_alg_values_supported": []string{r.alg}, "dpop_signing_alg_values_supported": []string{r.alg},
		})
	case "/token":
		_ = req.ParseForm()
		r.note(toVerify{Kind: "client", Token: req.PostForm.Get("client_assertion"), Key: r.key, Alg: r.alg, Audience: r.URL, Client: "robot"})
		r.note(proof)
		answer(map[string]any{"access_token": "access", "token_type": "DPoP", "expires_in": 600})
	case "/mcp":
		if proof.Token == "" {
			w.Header().Set("WWW-Authenticate", "DPoP")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proof.Access = "access"
		r.note(proof)
		if req.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var message struct {
			ID     any
			Method string
		}
		_ = json.NewDecoder(req.Body).Decode(&message)
		result := map[string]any{"tools": []any{}}
		if message.Method == "initialize" {
			result = map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "r", "version": "1"},
			}
		}
		if message.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": result})
	default:
		http.NotFound(w, req)
	}
}

// TestSignaturesBeforeJOSE lets jose verify what mcpctl signs with keys of each kind: who the client is, and proofs of
// possession at the token endpoint and at the MCP server.
func TestSignaturesBeforeJOSE(t *testing.T) {
	t.Parallel()
	curve := func(c elliptic.Curve) func() (crypto.Signer, error) {
		return func() (crypto.Signer, error) { return ecdsa.GenerateKey(c, rand.Reader) }
	}
	large := func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) }
	ed := func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	var all []toVerify
	u := newUser(t)
	u.env = append(u.env, "MCPCTL_CREDENTIALS=file")
	for alg, generate := range map[string]func() (crypto.Signer, error){
		"ES256": curve(elliptic.P256()), "ES384": curve(elliptic.P384()), "ES512": curve(elliptic.P521()),
		"RS256": large, "PS256": large, "EdDSA": ed, "Ed25519": ed,
	} {
		key, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(u.home, alg+".pem")
		u.write(path, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
		r := &recorder{alg: alg, key: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))}
		r.Server = httptest.NewUnstartedServer(r) // which its handler looks at
		r.Start()
		t.Cleanup(r.Close)
		u.run("tools", r.URL+"/mcp", "--grant", "client_credentials", "--client-id", "robot", "--private-key", path, "--protocol", legacy).exits(0)
		r.mu.Lock()
		if len(r.seen) < 4 { // the client, its proof, and those of two requests or more
			t.Errorf("%s: only %d signatures", alg, len(r.seen))
		}
		all = append(all, r.seen...)
		r.mu.Unlock()
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(u.home, "signed.json")
	u.write(path, string(text))
	if out, err := exec.CommandContext(t.Context(), node22(), filepath.Join(directory, "jose.mjs"), path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBoundTokenWithoutAPerson gets a token for a program by itself which is bound to a key, where both servers want nonces;
// the key and the token serve the next command too.
func TestBoundTokenWithoutAPerson(t *testing.T) {
	t.Parallel()
	as := startOIDC(t, "client_secret_post", "private_key_jwt")
	p, u := as.protectWith(&protected{proof: true, nonce: "nonce-of-the-server"}, true), newUser(t)
	as.control(map[string]any{"nonce": true})
	u.env = append(u.env, "MCPCTL_CREDENTIALS=file")
	flags := append(withKey(u, as), "--grant", "client_credentials", "--client-id", "robot-jwt")
	for range 2 {
		call := u.run(append([]string{"call", p.url, "read", "-vv"}, flags...)...).exits(0).prints("read done")
		p.keepsSecret(call.stdout, call.stderr)
	}
	if n := as.counts().Tokens; n["client_credentials"] != 1 || n["client_credentials refused"] != 1 {
		t.Errorf("%+v, want one token, after one nonce", n)
	}
}

// TestGrantThatIsRefused tells what to mend, and never what is secret.
func TestGrantThatIsRefused(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newUser(t)
	u.env = append(u.env, "MCPCTL_CREDENTIALS=file", "WRONG=a-wrong-secret-of-a-robot")
	grant := func(flags ...string) *outcome {
		return u.run(append([]string{"call", p.url, "read", "--grant", "client_credentials"}, flags...)...).exits(4)
	}
	for _, o := range []*outcome{
		grant("--client-id", "robot-basic", "--client-secret", "${WRONG}").complains("invalid_client").complains("oauth.client_secret (--client-secret)"),
		grant("--client-id", "nobody", "--client-secret", "${WRONG}").complains("invalid_client"),
	} {
		if strings.Contains(o.stdout+o.stderr, "a-wrong-secret") {
			t.Errorf("the secret is in: %s", o.stderr)
		}
	}
}
