package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// A program gets a token with its secret, in the way that the server supports; the record says how, for the next time.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for method, methods := range map[string][]string{methodBasic: nil, methodPost: {methodPost}} {
		s := startTokenServer(t)
		s.secrets["robot"] = "very secret"
		a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"})
		chain.Server.AuthMethods, chain.Server.RevocationEndpoint = methods, s.URL+"/revoke"
		r, err := a.withoutPerson(t.Context(), chain, []string{"read", "write"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Server != "https://mcp.example/mcp" || r.Issuer != s.URL || r.Resource != "https://mcp.example/mcp" || r.Grant != "client_credentials" ||
			r.Token.Access != "access-1" || !slices.Equal(r.Token.Scopes, []string{"read", "write"}) || r.Client.ID != "robot" ||
			r.Client.Method != method || r.TokenEndpoint != s.URL+"/token" || r.RevocationEndpoint != s.URL+"/revoke" || r.Key != "" {
			t.Errorf("%+v", r)
		}
		form := s.last().form
		if form.Get("grant_type") != "client_credentials" || form.Get("resource") != "https://mcp.example/mcp" || form.Get("scope") != "read write" {
			t.Errorf("%v", form)
		}
		if !heard.knows("very secret") || !heard.knows("access-1") {
			t.Error("secrets were not told")
		}
	}
}

// A server that does not describe itself is named by its URL, without what belongs to nobody else.
func TestGrantWithoutResourceMetadata(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"] = "very secret"
	a, chain, _ := grantsFor(t, s, config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"})
	chain.Resource = nil
	if _, err := a.withoutPerson(t.Context(), chain, nil); err != nil {
		t.Fatal(err)
	}
	if form := s.last().form; form.Get("resource") != "https://mcp.example/mcp" || form.Has("scope") {
		t.Errorf("%v", form)
	}
}

// A program shows who it is with a key of each kind; the assertion is another one each time.
func TestClientCredentialsWithAKey(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]crypto.Signer{
		"P-256": p256(t), "Ed25519": ed,
		"P-384": must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
		"P-521": must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)),
		"RSA":   must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048)),
	}
	for name, key := range keys {
		s := startTokenServer(t)
		s.keys["robot"] = key.Public()
		path := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(path, []byte(pemOf(t, key)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{path, pemOf(t, key)} {
			a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantClient, ClientID: "robot", PrivateKey: value})
			chain.Server.AuthMethods = []string{methodKey}
			r, err := a.withoutPerson(t.Context(), chain, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Client.Method != methodKey || r.Client.Secret != "" || r.Key != "" {
				t.Errorf("%s: %+v", name, r.Client)
			}
			if !heard.knows(pemOf(t, key)) || !heard.knows(s.last().form.Get("client_assertion")) {
				t.Errorf("%s: secrets were not told", name)
			}
		}
	}
}

// A key that everybody can read is used, and told of.
func TestKeyThatEverybodyReads(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	key := p256(t)
	s.keys["robot"] = key.Public()
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, []byte(pemOf(t, key)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // that is the case
		t.Fatal(err)
	}
	a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantClient, ClientID: "robot", PrivateKey: path})
	if _, err := a.withoutPerson(t.Context(), chain, nil); err != nil {
		t.Fatal(err)
	}
	if len(heard.events) == 0 || !strings.Contains(heard.events[0].Message, "chmod 600 "+path) {
		t.Errorf("%+v", heard.events)
	}
}

// What cannot work is refused before anybody is asked, and names the key of the configuration.
func TestGrantsThatCannotWork(t *testing.T) {
	t.Parallel()
	key := pemOf(t, p256(t))
	for _, c := range []struct {
		name  string
		o     config.OAuth
		chain func(*Chain)
		says  string
	}{
		{"no client", config.OAuth{Grant: config.GrantClient}, nil, "oauth.client_id (--client-id)"},
		{"no secret", config.OAuth{Grant: config.GrantClient, ClientID: "a"}, nil, "oauth.client_secret (--client-secret)"},
		{"no such key", config.OAuth{Grant: config.GrantClient, ClientID: "a", PrivateKey: "/not/there.pem"}, nil, "oauth.private_key (--private-key): /not/there.pem: there is no such file"},
		{"no assertion", config.OAuth{Grant: config.GrantJWTBearer}, nil, "oauth.assertion (--assertion)"},
		{"no token", config.OAuth{Grant: config.GrantJWTBearer, Assertion: "sk-live-12345"}, nil, "oauth.assertion (--assertion): is no JSON Web Token"},
		{"a key of nobody", config.OAuth{Grant: config.GrantJWTBearer, PrivateKey: key}, nil, "oauth.client_id (--client-id)"},
		{"no id token", config.OAuth{Grant: config.GrantEnterprise, IDP: config.IDP{TokenEndpoint: "https://idp.example/token"}}, nil, "oauth.idp.id_token"},
		{"a provider that is no URL", config.OAuth{Grant: config.GrantEnterprise, IDP: config.IDP{Issuer: "idp"}}, nil, "oauth.idp.issuer"},
		{"a person", config.OAuth{Grant: config.GrantCode}, nil, "oauth.grant (--grant)"},
		{"plain http", config.OAuth{Grant: config.GrantClient}, func(c *Chain) { c.Server.TokenEndpoint = "http://as.example/token" }, "the token endpoint is http://as.example/token, and nothing is sent there: it is not https"},
		{"another scheme", config.OAuth{Grant: config.GrantClient}, func(c *Chain) { c.Server.TokenEndpoint = "file:///token" }, "nothing is sent there"},
	} {
		s := startTokenServer(t)
		a, chain, _ := grantsFor(t, s, c.o)
		if c.chain != nil {
			c.chain(&chain)
		}
		_, err := a.withoutPerson(t.Context(), chain, nil)
		if err == nil {
			t.Errorf("%s: no failure", c.name)
			continue
		}
		e := failureOf(t, err)
		if !strings.Contains(e.Message, c.says) || strings.Contains(e.Message+e.Hint, "sk-live") {
			t.Errorf("%s: %s; %s", c.name, e.Message, e.Hint)
		}
		if len(s.requests()) != 0 {
			t.Errorf("%s: the server was asked", c.name)
		}
	}
}

// Each no says where, what and which key to mend.
func TestGrantsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		o    config.OAuth
		hint string
	}{
		{"invalid_client", config.OAuth{ClientID: "robot", ClientSecret: "wrong-secret"}, "oauth.client_id (--client-id) or oauth.client_secret (--client-secret)"},
		{"invalid_client", config.OAuth{ClientID: "robot", PrivateKey: pemOf(t, p256(t))}, `have the public key of oauth.private_key (--private-key) registered for the client "robot"`},
		{"unauthorized_client", config.OAuth{ClientID: "robot", ClientSecret: "very secret"}, "oauth.grant (--grant)"},
		{"unsupported_grant_type", config.OAuth{ClientID: "robot", ClientSecret: "very secret"}, "oauth.grant (--grant)"},
		{"invalid_scope", config.OAuth{ClientID: "robot", ClientSecret: "very secret"}, "oauth.scopes (--oauth-scope)"},
		{"invalid_target", config.OAuth{ClientID: "robot", ClientSecret: "very secret"}, "https://mcp.example/mcp"},
	} {
		s := startTokenServer(t)
		s.secrets["robot"] = "very secret"
		s.judge = func(url.Values) string { return c.code }
		c.o.Grant = config.GrantClient
		a, chain, _ := grantsFor(t, s, c.o)
		_, err := a.withoutPerson(t.Context(), chain, []string{"admin"})
		e := failureOf(t, err)
		if e.Reason != Refused || e.Code != c.code || e.Step != StepToken || !strings.Contains(e.Message, s.URL) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %+v", c.code, e)
		}
		if strings.Contains(e.Error()+e.Hint, "wrong-secret") {
			t.Errorf("the secret is in %v", e)
		}
		if len(s.requests()) != 1 {
			t.Errorf("%s: asked %d times", c.code, len(s.requests()))
		}
	}
}

// A workload shows the statement that its platform has signed; no client need be known.
func TestWorkloadIdentity(t *testing.T) {
	t.Parallel()
	key := p256(t)
	for _, client := range []string{"", "workload"} {
		s := startTokenServer(t)
		s.keys["https://platform.example"] = key.Public()
		text := statement(t, key, jwt.MapClaims{
			"iss": "https://platform.example", "sub": "spiffe://x", "aud": s.URL, "jti": rand.Text(),
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		})
		a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantJWTBearer, ClientID: client, Assertion: text + "\n"})
		chain.Server.AuthMethods = []string{methodNone}
		r, err := a.withoutPerson(t.Context(), chain, nil)
		if err != nil {
			t.Fatal(err)
		}
		form := s.last().form
		if r.Grant != "jwt_bearer" || form.Get("assertion") != text || form.Get("client_id") != client || form.Get("resource") == "" || !heard.knows(text) {
			t.Errorf("%+v of %v", r, form)
		}
	}
}

// A refused statement is explained by what it says of itself, and nothing else is tried.
func TestWorkloadIdentityThatIsRefused(t *testing.T) {
	t.Parallel()
	key := p256(t)
	for want, claims := range map[string]jwt.MapClaims{
		"has expired 5m ago: get a new one": {"exp": time.Now().Add(-5 * time.Minute).Unix()},
		"is for urn:wrong":                  {"aud": "urn:wrong"},
		"one of the clocks is wrong":        {"iat": time.Now().Add(time.Hour).Unix()},
	} {
		s := startTokenServer(t)
		s.keys["i"] = key.Public()
		all := jwt.MapClaims{"iss": "i", "sub": "s", "aud": s.URL, "jti": rand.Text(), "iat": time.Now().Unix(), "exp": time.Now().Add(2 * time.Hour).Unix()}
		maps.Copy(all, claims)
		a, chain, _ := grantsFor(t, s, config.OAuth{Grant: config.GrantJWTBearer, Assertion: statement(t, key, all)})
		_, err := a.withoutPerson(t.Context(), chain, nil)
		e := failureOf(t, err)
		if e.Reason != Refused || e.Code != "invalid_grant" || !strings.Contains(e.Hint, want) || !strings.Contains(e.Hint, "oauth.assertion (--assertion)") {
			t.Errorf("%s: %+v", want, e)
		}
		if len(s.requests()) != 1 {
			t.Errorf("%s: asked %d times", want, len(s.requests()))
		}
	}
}

// A client that has a key signs the statement itself.
func TestOwnAssertion(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	key := p256(t)
	a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantJWTBearer, ClientID: "robot", PrivateKey: pemOf(t, key)})
	s.judge = func(form url.Values) string {
		if form.Get("client_id") != "robot" || form.Has("client_assertion") {
			return "invalid_request"
		}
		return ""
	}
	s.keys["robot"] = nil
	_, err := a.withoutPerson(t.Context(), chain, nil)
	if e := failureOf(t, err); e.Code != "invalid_grant" {
		t.Fatalf("%+v", e)
	}
	s.keys = map[string]crypto.PublicKey{"robot": key.Public()}
	s.secrets = map[string]string{}
	s.keys["robot"] = key.Public()
	chain.Server.AuthMethods = []string{methodKey}
	s.judge = nil
	if _, err := a.withoutPerson(t.Context(), chain, nil); err != nil {
		t.Fatal(err)
	}
	form := s.last().form
	if form.Get("assertion") == form.Get("client_assertion") || !heard.knows(form.Get("assertion")) {
		t.Errorf("%v", form)
	}
}

// enterprise returns an authorization server and an identity provider that is trusted there, and an authorizer that knows
// both.
func enterprise(t *testing.T, change func(*config.OAuth)) (as, idp *tokenServer, a *Authorizer, chain Chain, heard *told) {
	t.Helper()
	as, idp = startTokenServer(t), startTokenServer(t)
	key := p256(t)
	identity := statement(t, key, jwt.MapClaims{"iss": idp.URL, "sub": "me", "aud": "desk", "exp": time.Now().Add(time.Hour).Unix()})
	idp.secrets["desk"] = "secret of the desk"
	as.secrets["mcpctl"], as.keys[idp.URL] = "secret of mcpctl", key.Public()
	idp.answer = func(w http.ResponseWriter, r *http.Request) {
		form := r.PostForm
		switch {
		case form.Get("grant_type") != grantExchange || form.Get("requested_token_type") != tokenIDJAG || form.Get("subject_token_type") != tokenID:
			idp.refuse(w, http.StatusBadRequest, "invalid_request", "another request")
			return
		case form.Get("subject_token") != identity:
			idp.refuse(w, http.StatusBadRequest, "invalid_grant", "another token: "+form.Get("subject_token"))
			return
		case form.Get("resource") != "https://mcp.example/mcp":
			idp.refuse(w, http.StatusBadRequest, "invalid_target", "another resource")
			return
		}
		if err := idp.client(r); err != nil {
			idp.refuse(w, http.StatusUnauthorized, "invalid_client", err.Error())
			return
		}
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
			"iss": idp.URL, "sub": "me", "aud": form.Get("audience"), "client_id": "mcpctl", "resource": form.Get("resource"),
			"jti": rand.Text(), "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
		})
		token.Header["typ"] = typIDJAG
		text, err := token.SignedString(key)
		if err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"issued_token_type":%q,"token_type":"N_A","expires_in":300}`, text, tokenIDJAG)
	}
	o := config.OAuth{
		Grant: config.GrantEnterprise, ClientID: "mcpctl", ClientSecret: "secret of mcpctl",
		IDP: config.IDP{Issuer: idp.URL, ClientID: "desk", ClientSecret: "secret of the desk", IDToken: identity},
	}
	if change != nil {
		change(&o)
	}
	a, chain, heard = grantsFor(t, as, o)
	return as, idp, a, chain, heard
}

// The company's identity provider vouches for the person, and the authorization server takes its word. The provider is
// found by its metadata, in which nothing but the endpoint is needed, or is named.
func TestEnterprise(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{false, true} {
		var at string
		as, idp, a, chain, heard := enterprise(t, nil)
		if named {
			at = idp.URL + "/token"
			a.o.Server.OAuth.IDP.Issuer, a.o.Server.OAuth.IDP.TokenEndpoint = "", at
		}
		r, err := a.withoutPerson(t.Context(), chain, []string{"read"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Grant != "enterprise_managed" || r.Issuer != as.URL || r.TokenEndpoint != as.URL+"/token" || r.Client.ID != "mcpctl" || r.Token.Access != "access-1" {
			t.Errorf("%+v", r)
		}
		exchange, bearer := idp.last().form, as.last().form
		if exchange.Get("audience") != as.URL || exchange.Get("scope") != "read" || bearer.Get("grant_type") != grantJWTBearer ||
			bearer.Get("scope") != "read" || bearer.Get("resource") != "https://mcp.example/mcp" {
			t.Errorf("%v, then %v", exchange, bearer)
		}
		// Neither server sees what is for the other.
		if strings.Contains(exchange.Encode()+fmt.Sprint(idp.last().header), "mcpctl") || strings.Contains(bearer.Encode(), exchange.Get("subject_token")) {
			t.Error("what is for one server was sent to the other")
		}
		for _, secret := range []string{exchange.Get("subject_token"), bearer.Get("assertion"), "secret of the desk", "secret of mcpctl"} {
			if !heard.knows(secret) {
				t.Errorf("%q was not told", secret)
			}
		}
	}
}

// A no says which of the two servers said it, and what to mend.
func TestEnterpriseThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(*config.OAuth)
		servers func(as, idp *tokenServer)
		step    Step
		code    string
		says    string
		hint    string
	}{
		{"the provider does not know the client", func(o *config.OAuth) { o.IDP.ClientSecret = "another" }, nil, StepExchange, "invalid_client", "the identity provider", "oauth.idp.client_secret"},
		{"the provider does not know the token", func(o *config.OAuth) { o.IDP.IDToken = "a.b.c" }, nil, StepExchange, "invalid_grant", "the identity provider", "oauth.idp.id_token"},
		{"the authorization server does not know the client", func(o *config.OAuth) { o.ClientSecret = "another" }, nil, StepToken, "invalid_client", "the authorization server", "oauth.client_secret (--client-secret)"},
		{"the authorization server does not trust the provider", nil, func(as, _ *tokenServer) { clear(as.keys) }, StepToken, "invalid_grant", "the authorization server", "have it trust that provider"},
		{"the provider gives something else", nil, func(_, idp *tokenServer) {
			idp.answer = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"access_token":"x","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`))
			}
		}, StepExchange, "", "access_token", "ID-JAG"},
		{"the provider has no metadata", func(o *config.OAuth) { o.IDP.Issuer += "/tenant" }, nil, StepExchange, "", "has no metadata that can be used", "oauth.idp.token_endpoint"},
	} {
		as, idp, a, chain, _ := enterprise(t, c.change)
		if c.servers != nil {
			c.servers(as, idp)
		}
		_, err := a.withoutPerson(t.Context(), chain, nil)
		if err == nil {
			t.Errorf("%s: no failure", c.name)
			continue
		}
		e := failureOf(t, err)
		if e.Step != c.step || e.Code != c.code || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %+v", c.name, e)
		}
		if c.step == StepExchange && len(as.requests()) != 0 {
			t.Errorf("%s: the authorization server was asked", c.name)
		}
	}
}

// An id token that is over is named as the cause.
func TestEnterpriseWithAnOldToken(t *testing.T) {
	t.Parallel()
	_, _, a, chain, _ := enterprise(t, func(o *config.OAuth) {
		key := p256(t)
		o.IDP.IDToken = statement(t, key, jwt.MapClaims{"aud": "desk", "exp": time.Now().Add(-90 * time.Minute).Unix()})
	})
	_, err := a.withoutPerson(t.Context(), chain, nil)
	if e := failureOf(t, err); !strings.Contains(e.Hint, "oauth.idp.id_token has expired 1h30m ago") {
		t.Errorf("%+v", e)
	}
}

// A token without a person is bound to a key where the server wants it; the record keeps the key.
func TestGrantThatIsBound(t *testing.T) {
	t.Parallel()
	s := startTokenServer(t)
	s.secrets["robot"], s.bind, s.nonce = "very secret", true, "n"
	a, chain, heard := grantsFor(t, s, config.OAuth{Grant: config.GrantClient, ClientID: "robot", ClientSecret: "very secret"})
	chain.Challenges = transport.ParseChallenge(`DPoP resource_metadata="https://mcp.example/x"`)
	chain.Server.DPoPAlgorithms = []string{"ES256"}
	r, err := a.withoutPerson(t.Context(), chain, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Token.Type != "DPoP" || !heard.knows(r.Key) {
		t.Errorf("%+v", r)
	}
	if _, err := parseProofKey(r.Key); err != nil {
		t.Error(err)
	}
	chain.Server.DPoPAlgorithms = []string{"HS256"}
	_, err = a.withoutPerson(t.Context(), chain, nil)
	if e := failureOf(t, err); e.Reason != Invalid || !strings.Contains(e.Message, "DPoP") {
		t.Errorf("%+v", e)
	}
}
