//go:build e2e && linux

package e2e

// The fixtures of authorization, in this order: the authorization server, the MCP server that it protects, who is guarded by
// the SDK's own middleware, and the browser.

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The scopes that there are: for each tool one.
const (
	scopeRead  = "mcp:read"
	scopeWrite = "mcp:write"
)

// oidc is an authorization server of servers/oidc.mjs. They share a process, whose start takes longer than what they do, and
// nothing else.
type oidc struct {
	t    *testing.T
	port string
	// issuer is its name, and controls the place of an operator.
	issuer, controls string
	// robotSecret and robotKey belong to the clients that act by themselves, resourceSecret to the MCP server.
	robotSecret, resourceSecret, robotKey string
}

// startOIDC starts the authorization server, which knows only some ways in which a client can say who it is, if there are any
// methods.
func startOIDC(t *testing.T, methods ...string) *oidc {
	t.Helper()
	return startOIDCAt(t, "", "", methods...)
}

// startOIDCAt does that for an issuer with a path, whose metadata is in one place only, if that is not "".
func startOIDCAt(t *testing.T, path, discovery string, methods ...string) *oidc {
	t.Helper()
	as := &oidc{t: t, robotSecret: rand.Text(), resourceSecret: rand.Text()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	as.robotKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	x, y := coordinates(t, &key.PublicKey)
	keys := fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, x, y)
	process := servers.start(t, "oidc", modeHTTP, func(r *remote) {
		r.command = []string{"node", filepath.Join(directory, "servers", "oidc.mjs")}
	})
	var started struct{ Port int }
	post(t, "http://127.0.0.1:"+process.port+"/start", map[string]any{
		"path": path, "discovery": discovery, "methods": methods,
		"robotSecret": as.robotSecret, "robotKeys": json.RawMessage(keys), "resourceSecret": as.resourceSecret,
	}, &started)
	as.port = strconv.Itoa(started.Port)
	as.issuer = "http://127.0.0.1:" + as.port + path
	as.controls = "http://127.0.0.1:" + as.port + "/control"
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the authorization servers say:\n%s\nand this one was asked for %+v", process.log(), as.counts())
		}
	})
	return as
}

// coordinates are those of a point on a curve, as a JSON Web Key has them (RFC 7518, 6.2.1).
func coordinates(t *testing.T, key *ecdsa.PublicKey) (x, y string) {
	t.Helper()
	raw, err := key.Bytes() // 4, x, y
	if err != nil {
		t.Fatal(err)
	}
	half := len(raw) / 2
	return base64.RawURLEncoding.EncodeToString(raw[1 : 1+half]), base64.RawURLEncoding.EncodeToString(raw[1+half:])
}

// oidcCounts are what the authorization server was asked for.
type oidcCounts struct {
	Authorizations, Registrations int
	// Tokens are the requests by their grants; those that were refused have the word after it.
	Tokens map[string]int
}

func (as *oidc) counts() oidcCounts { return as.control(nil) }

// control sets what servers/oidc.mjs says at its head, and returns what was asked for so far.
func (as *oidc) control(settings map[string]any) oidcCounts {
	as.t.Helper()
	var counts oidcCounts
	post(as.t, as.controls, settings, &counts)
	return counts
}

// post sends a document to the authorization servers' operator, nothing if it is nil, and reads the answer.
func post(t *testing.T, to string, document map[string]any, answer any) {
	t.Helper()
	body, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	// It is also asked at the end of a test, when the test's own context is over.
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: startTime}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		t.Errorf("%s: HTTP %d: %v", to, resp.StatusCode, err)
	}
}

// has reports whether there is something at a path.
func (as *oidc) has(path string) bool {
	as.t.Helper()
	req, err := http.NewRequestWithContext(as.t.Context(), http.MethodGet, "http://127.0.0.1:"+as.port+path, nil)
	if err != nil {
		as.t.Fatal(err)
	}
	client := &http.Client{Timeout: endTime}
	resp, err := client.Do(req)
	if err != nil {
		as.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// introspection is what an authorization server says of a token. See RFC 7662, 2.2, and RFC 9449, 6.2.
type introspection struct {
	Active   bool   `json:"active"`
	Scope    string `json:"scope"`
	Audience any    `json:"aud"`
	Expires  int64  `json:"exp"`
	Subject  string `json:"sub"`
	Bound    struct {
		Thumbprint string `json:"jkt"`
	} `json:"cnf"`
}

// introspect asks whether a token is good.
func (as *oidc) introspect(ctx context.Context, token string) (introspection, error) {
	form := url.Values{"token": {token}, "client_id": {"resource-server"}, "client_secret": {as.resourceSecret}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, as.issuer+"/token/introspection", strings.NewReader(form.Encode()))
	if err != nil {
		return introspection{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Timeout: endTime}
	resp, err := client.Do(req)
	if err != nil {
		return introspection{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return introspection{}, fmt.Errorf("introspection: HTTP %d", resp.StatusCode)
	}
	var said introspection
	return said, json.NewDecoder(resp.Body).Decode(&said)
}

// protected is an MCP server on the SDK that wants tokens of an authorization server. The tool read wants the scope mcp:read,
// as every request does, and the tool write wants mcp:write, too.
type protected struct {
	t   *testing.T
	as  *oidc
	url string
	// proof is set when tokens must be bound to a key (DPoP), and nonce is what proofs must have in them then, "" for nothing.
	proof bool
	nonce string

	mu sync.Mutex
	// tokens are those that were seen, the newest last, and ids those of proofs.
	tokens []string
	ids    map[string]bool
}

// protect starts an MCP server that an authorization server protects.
func (as *oidc) protect(stateless bool) *protected { return as.protectWith(&protected{}, stateless) }

func (as *oidc) protectWith(p *protected, stateless bool) *protected {
	as.t.Helper()
	p.t, p.as, p.ids = as.t, as, map[string]bool{}
	server := mcp.NewServer(&mcp.Implementation{Name: "protected", Version: "1"}, nil)
	for _, name := range []string{"read", "write"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " done"}}}, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	mux := http.NewServeMux()
	listener := httptest.NewServer(mux)
	as.t.Cleanup(listener.Close)
	as.t.Cleanup(listener.CloseClientConnections)
	p.url = listener.URL + "/mcp"
	const place = "/.well-known/oauth-protected-resource/mcp"
	guard := func(scopes ...string) http.Handler {
		if p.proof {
			return p.wantsProof(listener.URL+place, handler)
		}
		return auth.RequireBearerToken(p.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: listener.URL + place, Scopes: scopes})(handler)
	}
	read, write := guard(scopeRead), guard(scopeRead, scopeWrite)
	mux.Handle(place, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: p.url, AuthorizationServers: []string{as.issuer}, ScopesSupported: []string{scopeRead, scopeWrite},
		BearerMethodsSupported: []string{"header"}, DPOPBoundAccessTokensRequired: p.proof,
	}))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var message struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal(body, &message) // a GET has none
		if message.Method == "tools/call" && message.Params.Name == "write" {
			write.ServeHTTP(w, r)
			return
		}
		read.ServeHTTP(w, r)
	})
	as.control(map[string]any{"resource": p.url})
	return p
}

// verify asks the authorization server about a token, as the SDK wants it.
func (p *protected) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	p.saw(token)
	said, err := p.as.introspect(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case !said.Active || said.Audience != p.url:
		return nil, fmt.Errorf("%w: active %v, for %v", auth.ErrInvalidToken, said.Active, said.Audience)
	case said.Bound.Thumbprint != "":
		return nil, fmt.Errorf("%w: it is bound to a key", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{Scopes: strings.Fields(said.Scope), Expiration: time.Unix(said.Expires, 0), UserID: said.Subject}, nil
}

func (p *protected) saw(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens = append(p.tokens, token)
}

// last is the token that was seen last.
func (p *protected) last() string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) == 0 {
		p.t.Fatal("no request has brought a token")
	}
	return p.tokens[len(p.tokens)-1]
}

// expires waits until the token that was seen last is good no more.
func (p *protected) expires() {
	p.t.Helper()
	token := p.last()
	eventually(p.t, startTime, func() string { return "the token is still good" }, func() bool {
		said, err := p.as.introspect(p.t.Context(), token)
		return err == nil && !said.Active
	})
}

// wantsProof lets requests through that have a token which is bound to a key, and a proof by that key. See RFC 9449, 4.3 and
// 7.1.
func (p *protected) wantsProof(metadata string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		challenge := `DPoP algs="ES256", resource_metadata="` + metadata + `"`
		err := p.proven(r)
		switch {
		case errors.Is(err, errNonce):
			w.Header().Set("DPoP-Nonce", p.nonce)
			challenge += `, error="use_dpop_nonce"`
		case err != nil && r.Header.Get("Authorization") != "":
			challenge += `, error="invalid_token"`
		}
		if err != nil {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// errNonce is the lack of a nonce in a proof.
var errNonce = errors.New("the proof needs a nonce")

// proven says what is wrong with the token of a request, or with its proof.
func (p *protected) proven(r *http.Request) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "DPoP ")
	if !ok {
		return errors.New("no token of the scheme DPoP")
	}
	p.saw(token)
	if n := len(r.Header.Values("DPoP")); n != 1 {
		return fmt.Errorf("%d proofs", n)
	}
	thumbprint := ""
	proof, err := jwt.Parse(r.Header.Get("DPoP"), func(proof *jwt.Token) (any, error) {
		if proof.Header["typ"] != "dpop+jwt" {
			return nil, fmt.Errorf("the type of the proof is %v", proof.Header["typ"])
		}
		key, _ := proof.Header["jwk"].(map[string]any)
		if key["d"] != nil {
			return nil, errors.New("the proof has the private key in it")
		}
		point := []byte{4} // and x and y
		for _, name := range []string{"x", "y"} {
			number, err := base64.RawURLEncoding.DecodeString(fmt.Sprint(key[name]))
			if err != nil {
				return nil, err
			}
			point = append(point, number...)
		}
		hash := sha256.Sum256(fmt.Appendf(nil, `{"crv":%q,"kty":%q,"x":%q,"y":%q}`, key["crv"], key["kty"], key["x"], key["y"])) // RFC 7638, 3
		thumbprint = base64.RawURLEncoding.EncodeToString(hash[:])
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuedAt())
	if err != nil {
		return err
	}
	claims, _ := proof.Claims.(jwt.MapClaims)
	hash := sha256.Sum256([]byte(token))
	id := fmt.Sprint(claims["jti"])
	p.mu.Lock()
	repeated := p.ids[id]
	p.ids[id] = true
	p.mu.Unlock()
	said, err := p.as.introspect(r.Context(), token)
	switch {
	case err != nil:
		return err
	case claims["jti"] == nil || repeated:
		return errors.New("the proof was used before, or has no id")
	case claims["htm"] != r.Method || claims["htu"] != p.url:
		return fmt.Errorf("the proof is for %v %v", claims["htm"], claims["htu"])
	case claims["ath"] != base64.RawURLEncoding.EncodeToString(hash[:]):
		return errors.New("the proof is for another token")
	case !said.Active || said.Audience != p.url || said.Bound.Thumbprint != thumbprint:
		return fmt.Errorf("the token is not good here, or is bound to another key: %+v, %s", said, thumbprint)
	case p.nonce != "" && claims["nonce"] != p.nonce:
		return errNonce
	}
	return nil
}

// newPerson is a user with a browser: curl, which keeps cookies for a visit and follows where it is sent.
func newPerson(t *testing.T) *user {
	t.Helper()
	u := newUser(t)
	u.env = append(u.env, "MCPCTL_CREDENTIALS=file", "BROWSER=curl -sSL -b /dev/null -o /dev/null")
	return u
}

// visit opens a URL in a browser of the test's own. It returns the address that begins with home, which is not opened, or ""
// if the browser ends elsewhere, at a page that is not an error.
func visit(t *testing.T, from, home string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: startTime, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), home) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if location, err := resp.Location(); err == nil {
		return location.String()
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("the browser ended at %s: HTTP %d: %s", resp.Request.URL, resp.StatusCode, body)
	}
	return ""
}
