package faultlab

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// realm is a protected MCP server with an authorization server that looks closely: PKCE, the resource, the redirect URI, and
// codes and refresh tokens that are good once. The zero value is the proper chain on one origin. A case names only what
// differs.
type realm struct {
	// first sees every request before anything else does.
	first func(x *exchange) (done bool)

	// challenge replaces the challenge of a 401; "-" is for none. URL stands for the address of the resource metadata.
	challenge string
	// anonymous lets requests without a token through, but for tool calls.
	anonymous bool
	// enough reports whether the scopes of a token allow a request. If nil, they all do. wants says which would.
	enough func(x *exchange, scope string) bool
	wants  func(x *exchange) string
	// granted sees requests with a good token.
	granted func(x *exchange) (done bool)

	// resourceAt is where the resource metadata is, "-" for nowhere; resource changes it.
	resourceAt string
	resource   func(x *exchange, doc map[string]any)
	// tenant is the path of the issuer. serverAt are the places of the authorization server's metadata, if not only the usual
	// one; server changes it.
	tenant   string
	serverAt []string
	server   func(x *exchange, doc map[string]any)
	// elsewhere puts the authorization server on the second listener; moves does so when the first token has been used for a
	// call, and what was given before is forgotten.
	elsewhere, moves bool

	// register sees registrations first, authorize those of a browser, token and refresh what is asked of the token endpoint.
	register  func(x *exchange) (done bool)
	authorize func(x *exchange, back url.Values) (done bool)
	token     func(x *exchange) (done bool)
	refresh   func(x *exchange) (done bool)
	// answer changes what the token endpoint gives.
	answer func(x *exchange, doc map[string]any)
	// plainTokens says that the answer with a token is text.
	plainTokens bool
	// lifetime is how many seconds a token lasts by what it says, and in truth; 0 means 3600.
	lifetime int
	// proof wants tokens that are bound to a key (RFC 9449), with a nonce.
	proof bool
}

// The secrets of the realm begin with labSecret, so that a test can look for them where they must not be. labClient is the
// client that somebody has registered by hand, newLabClient begins those that register themselves.
const (
	labSecret    = "lab-secret-"
	accessSecret = labSecret + "access-"
	labClient    = "lab-client"
	newLabClient = "lab-client-"
	labNonce     = "lab-nonce"
)

// grants is what the authorization server has given.
type grants struct {
	mu      sync.Mutex
	n       int
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]grant
	// moved is set when the authorization server is another one now.
	moved bool
}

// move makes the second listener the authorization server. What was given before is worth nothing.
func (g *grants) move() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moved = true
	clear(g.codes)
	clear(g.access)
	clear(g.refresh)
}

// grant is one thing that was given.
type grant struct {
	client, redirect, challenge, resource, scope string
	// key is the thumbprint of the key that an access token is bound to.
	key   string
	until time.Time
}

// put keeps a grant in a table and returns its name.
func (g *grants) put(table *map[string]grant, kind string, what grant) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *table == nil {
		*table = map[string]grant{}
	}
	g.n++
	name := labSecret + kind + strconv.Itoa(g.n)
	(*table)[name] = what
	return name
}

// take returns a grant. One that is spent is forgotten.
func (g *grants) take(table map[string]grant, name string, spent bool) (grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	what, ok := table[name]
	if spent {
		delete(table, name)
	}
	return what, ok
}

// RevokeTokens forgets all access tokens, and the refresh tokens too if refresh is set, as an operator would who ends all
// logins. It returns how many tokens that were.
func (s *Server) RevokeTokens(refresh bool) int {
	g := &s.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.access)
	clear(g.access)
	if refresh {
		n += len(g.refresh)
		clear(g.refresh)
	}
	return n
}

// away reports whether the authorization server is at the second listener.
func (r realm) away(x *exchange) bool {
	x.s.grants.mu.Lock()
	defer x.s.grants.mu.Unlock()
	return r.elsewhere || x.s.grants.moved
}

// home is the origin of the authorization server.
func (r realm) home(x *exchange) string {
	if r.away(x) {
		return x.s.Other
	}
	return x.s.Origin
}

// request answers at the main listener.
func (r realm) request(x *exchange) bool {
	if r.first != nil && r.first(x) {
		return true
	}
	path := x.r.URL.Path
	switch {
	case path == "/mcp":
		return r.protect(x)
	case path == cmp.Or(r.resourceAt, resourceMetadataForMCP):
		doc := map[string]any{
			"resource": x.s.Origin + "/mcp", "authorization_servers": []string{r.home(x) + r.tenant},
			"scopes_supported": []string{"mcp:read", "mcp:call"}, "bearer_methods_supported": []string{"header"},
		}
		if r.resource != nil {
			r.resource(x, doc)
		}
		x.document(http.StatusOK, doc)
	case r.away(x) || !r.authority(x):
		x.text(http.StatusNotFound, "text/plain", "Not Found")
	}
	return true
}

// other answers at the second listener.
func (r realm) other(x *exchange) bool {
	if r.first != nil && r.first(x) {
		return true
	}
	if !r.away(x) || !r.authority(x) {
		x.text(http.StatusNotFound, "text/plain", "Not Found")
	}
	return true
}

// fault is the realm as what a case changes over HTTP.
func (r realm) fault() httpFault {
	return httpFault{request: r.request, other: r.other, otherOrigin: true}
}

// document answers with JSON.
func (x *exchange) document(status int, doc map[string]any) {
	b, err := json.Marshal(doc)
	if err != nil { // the cases hold nothing that does not marshal
		panic(err)
	}
	x.json(status, string(b))
}

// protect answers at the MCP endpoint.
func (r realm) protect(x *exchange) bool {
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	what, ok := x.s.grants.take(x.s.grants.access, token, false)
	ok = ok && (what.until.IsZero() || time.Now().Before(what.until))
	if ok && what.key != "" {
		proof, err := readProof(x, x.s.Origin+"/mcp", token)
		ok = strings.EqualFold(scheme, "DPoP") && err == nil && proof == what.key
		if err != nil {
			x.s.log("proof_refused", "error", err.Error())
		}
	}
	switch {
	case !ok && token == "" && r.anonymous && x.rpc() != "tools/call":
		return false
	case !ok:
		r.refuse(x, token != "")
		return true
	case r.enough != nil && !r.enough(x, what.scope):
		x.set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+r.wants(x)+`", resource_metadata="`+
			x.s.Origin+resourceMetadataForMCP+`", error_description="The token does not allow this"`)
		x.json(http.StatusForbidden, `{"error":"insufficient_scope"}`)
		return true
	}
	if r.moves && x.rpc() == "tools/call" && !r.away(x) {
		x.s.grants.move()
	}
	return r.granted != nil && r.granted(x)
}

// refuse answers a request without a good token.
func (r realm) refuse(x *exchange, sent bool) {
	at := cmp.Or(strings.TrimPrefix(r.resourceAt, "-"), resourceMetadataForMCP)
	challenge := strings.ReplaceAll(cmp.Or(r.challenge, `Bearer resource_metadata="URL"`), "URL", x.s.Origin+at)
	if r.proof {
		challenge = strings.Replace(challenge, "Bearer ", "DPoP ", 1) + `, algs="ES256"`
	}
	if sent {
		challenge += `, error="invalid_token", error_description="The access token expired or was revoked"`
	}
	if r.challenge != "-" {
		x.set("WWW-Authenticate", challenge)
	}
	x.json(http.StatusUnauthorized, `{"error":"invalid_token"}`)
}

// authority answers as the authorization server. It reports false for what it does not have.
func (r realm) authority(x *exchange) bool {
	places := r.serverAt
	if places == nil {
		places = []string{authorizationMetadata + r.tenant}
	}
	home, path, post := r.home(x)+r.tenant, x.r.URL.Path, x.r.Method == http.MethodPost
	switch {
	case slices.Contains(places, path):
		doc := map[string]any{
			"issuer": home, "authorization_endpoint": home + "/authorize", "token_endpoint": home + "/token",
			"registration_endpoint": home + "/register", "revocation_endpoint": home + "/revoke",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			"scopes_supported": []string{"mcp:read", "mcp:call", "mcp:admin", "offline_access"},
		}
		if r.proof {
			doc["dpop_signing_alg_values_supported"] = []string{"ES256"}
		}
		if r.server != nil {
			r.server(x, doc)
		}
		x.document(http.StatusOK, doc)
	case path == r.tenant+"/register" && post:
		if r.register == nil || !r.register(x) {
			r.enrol(x)
		}
	case path == r.tenant+"/authorize":
		r.logIn(x)
	case path == r.tenant+"/token" && post:
		r.give(x)
	case path == r.tenant+"/revoke" && post:
		form := x.form()
		x.s.grants.take(x.s.grants.access, form.Get("token"), true)
		x.s.grants.take(x.s.grants.refresh, form.Get("token"), true)
		x.w.WriteHeader(http.StatusOK)
	default:
		return false
	}
	return true
}

// enrol registers a client.
func (r realm) enrol(x *exchange) {
	var asked map[string]any
	if json.Unmarshal([]byte(x.body), &asked) != nil || asked["redirect_uris"] == nil {
		x.json(http.StatusBadRequest, `{"error":"invalid_client_metadata","error_description":"redirect_uris are missing"}`)
		return
	}
	answer := maps.Clone(asked)
	answer["client_id"] = newLabClient + strconv.Itoa(x.count("clients"))
	answer["client_id_issued_at"] = time.Now().Unix()
	answer["token_endpoint_auth_method"] = "none"
	x.document(http.StatusCreated, answer)
}

// logIn logs the user in without a question and sends the browser back, to this machine only.
func (r realm) logIn(x *exchange) {
	q := x.r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	wrong := ""
	switch {
	case err != nil || back.Hostname() != "127.0.0.1" && back.Hostname() != "localhost":
		wrong = "invalid redirect_uri"
	case !strings.HasPrefix(q.Get("client_id"), labClient):
		wrong = "unknown client_id"
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "":
		wrong = "response_type=code and PKCE with S256 are wanted"
	case r.resourceAt != "-" && q.Get("resource") == "":
		wrong = "the resource is missing"
	}
	if wrong != "" {
		x.s.log("login_refused", "error", wrong)
		x.text(http.StatusBadRequest, "text/html", "<html><body>"+wrong+"</body></html>\n")
		return
	}
	values := back.Query()
	values.Set("state", q.Get("state"))
	values.Set("code", x.s.grants.put(&x.s.grants.codes, "code-", grant{
		client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
		resource: q.Get("resource"), scope: q.Get("scope"),
	}))
	if r.authorize != nil && r.authorize(x, values) {
		return
	}
	back.RawQuery = values.Encode()
	x.redirect(http.StatusFound, back.String())
}

// form is the body of a request to the token endpoint.
func (x *exchange) form() url.Values {
	form, err := url.ParseQuery(x.body)
	if err != nil {
		return url.Values{}
	}
	return form
}

// tokenError answers with an error of RFC 6749, 5.2.
func (x *exchange) tokenError(code, text string) {
	x.s.log("token_refused", "error", code, "text", text)
	x.document(http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

// give answers at the token endpoint.
func (r realm) give(x *exchange) {
	form := x.form()
	key := ""
	if r.proof {
		var err error
		if key, err = readProof(x, r.home(x)+r.tenant+"/token", ""); err != nil {
			x.set("DPoP-Nonce", labNonce)
			x.tokenError("use_dpop_nonce", err.Error())
			return
		}
	}
	g := &x.s.grants
	var what grant
	switch form.Get("grant_type") {
	case "authorization_code":
		if r.token != nil && r.token(x) {
			return
		}
		var ok bool
		what, ok = g.take(g.codes, form.Get("code"), true)
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		switch {
		case !ok:
			x.tokenError("invalid_grant", "the code is unknown, or was used before")
			return
		case what.client != form.Get("client_id") || what.redirect != form.Get("redirect_uri") || what.resource != form.Get("resource"):
			x.tokenError("invalid_grant", "client_id, redirect_uri and resource must be those of the authorization request")
			return
		case what.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
			x.tokenError("invalid_grant", "the code_verifier does not fit")
			return
		}
	case "refresh_token":
		if r.refresh != nil && r.refresh(x) {
			return
		}
		var ok bool
		what, ok = g.take(g.refresh, form.Get("refresh_token"), true)
		if !ok || what.client != form.Get("client_id") {
			x.tokenError("invalid_grant", "the refresh token is unknown, or was used before")
			return
		}
		if what.resource != form.Get("resource") {
			x.tokenError("invalid_target", "the resource must be that of the login")
			return
		}
	default:
		x.tokenError("unsupported_grant_type", "authorization_code and refresh_token are supported")
		return
	}
	lifetime := cmp.Or(r.lifetime, 3600)
	what.key, what.until = key, time.Now().Add(time.Duration(lifetime)*time.Second)
	what.scope = cmp.Or(what.scope, "mcp:read mcp:call")
	doc := map[string]any{
		"access_token": g.put(&g.access, "access-", what), "refresh_token": g.put(&g.refresh, "refresh-", what),
		"token_type": "Bearer", "expires_in": lifetime, "scope": what.scope,
	}
	if r.proof {
		doc["token_type"] = "DPoP"
	}
	if r.answer != nil {
		r.answer(x, doc)
	}
	x.set("Cache-Control", "no-store")
	if b, err := json.Marshal(doc); err == nil && r.plainTokens {
		x.text(http.StatusOK, "text/plain", string(b))
		return
	}
	x.document(http.StatusOK, doc)
}

// readProof checks the proof of possession of a request and returns the thumbprint of its key (RFC 9449, 4.3; RFC 7638).
func readProof(x *exchange, target, token string) (string, error) {
	parts := strings.Split(x.r.Header.Get("DPoP"), ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("there is no proof of possession")
	}
	var raw [3][]byte
	for i, part := range parts {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return "", fmt.Errorf("the proof is no JWT: %w", err)
		}
		raw[i] = b
	}
	var head struct {
		Typ, Alg string
		JWK      struct{ Kty, Crv, X, Y string }
	}
	var claims struct {
		HTM, HTU, ATH, JTI, Nonce string
		IAT                       int64
	}
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &claims) != nil {
		return "", fmt.Errorf("the proof is no JWT")
	}
	px, errX := base64.RawURLEncoding.DecodeString(head.JWK.X)
	py, errY := base64.RawURLEncoding.DecodeString(head.JWK.Y)
	const half = 32 // of a signature, and a coordinate, of P-256
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	sum := sha256.Sum256([]byte(token))
	switch {
	case head.Typ != "dpop+jwt" || head.Alg != "ES256" || head.JWK.Crv != "P-256" || errX != nil || errY != nil || len(px) != half || len(py) != half || len(raw[2]) != 2*half:
		return "", fmt.Errorf("the proof is not of dpop+jwt with ES256")
	case claims.HTM != x.r.Method || claims.HTU != target || claims.JTI == "" || time.Since(time.Unix(claims.IAT, 0)).Abs() > time.Minute:
		return "", fmt.Errorf("the proof is for another request: htm %s, htu %s", claims.HTM, claims.HTU)
	case token != "" && claims.ATH != base64.RawURLEncoding.EncodeToString(sum[:]):
		return "", fmt.Errorf("the proof is for another token")
	case token == "" && claims.Nonce != labNonce:
		return "", fmt.Errorf("the proof needs the nonce")
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, px, py))
	if err != nil {
		return "", fmt.Errorf("the key of the proof is none: %w", err)
	}
	if !ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(raw[2][:half]), new(big.Int).SetBytes(raw[2][half:])) {
		return "", fmt.Errorf("the signature of the proof is wrong")
	}
	thumb := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":` + quote(head.JWK.X) + `,"y":` + quote(head.JWK.Y) + `}`))
	return base64.RawURLEncoding.EncodeToString(thumb[:]), nil
}
