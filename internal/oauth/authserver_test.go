package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// authServer is an authorization server for people, and a protected MCP server at another origin. It is strict about what
// it is sent: PKCE, the redirect URI, the resource, the client. The zero configuration is a server as it should be.
type authServer struct {
	t *testing.T
	// as is the authorization server, mcp the protected server, whose endpoint is at /mcp.
	as, mcp *httptest.Server

	// challenge is that of a 401, in which {prm} is the place of the metadata; "-" for none.
	challenge string
	// issuerPath is the path of the issuer.
	issuerPath string
	// prm and metadata change the documents; placed answers at further places of the MCP server, or in place of a document.
	prm, metadata func(doc map[string]any)
	placed        map[string]http.HandlerFunc
	// wellKnown are the places of the authorization server's metadata, nil for that of RFC 8414.
	wellKnown []string
	// register changes a registration's answer, or answers by itself and returns false.
	register func(w http.ResponseWriter, asked, answer map[string]any) bool
	// back changes what the browser brings back.
	back func(asked, answer url.Values)
	// token changes the answer of the token endpoint, or answers by itself and returns false.
	token func(w http.ResponseWriter, form url.Values, answer map[string]any) bool
	// serve judges a request to the MCP server with a good token: a status other than 200, and its challenge.
	serve func(r *http.Request, rpc string, scopes []string) (status int, challenge string)
	// header changes the header of each answer of the MCP endpoint.
	header func(h http.Header)
	// open is set for methods that everybody may call.
	open []string

	mu sync.Mutex
	// log is what happened: "authorize", "token", "register", "mcp METHOD", "prm", "metadata".
	log     []string
	clients map[string]map[string]any
	codes   map[string]url.Values
	tokens  map[string][]string
	asked   []url.Values
	forms   []url.Values
	given   int
}

func startAuthServer(t *testing.T) *authServer {
	t.Helper()
	s := &authServer{
		t: t, challenge: `Bearer resource_metadata="{prm}"`,
		clients: map[string]map[string]any{}, codes: map[string]url.Values{}, tokens: map[string][]string{},
		placed: map[string]http.HandlerFunc{},
	}
	s.as = httptest.NewServer(http.HandlerFunc(s.serveAS))
	t.Cleanup(s.as.Close)
	s.mcp = httptest.NewServer(http.HandlerFunc(s.serveMCP))
	t.Cleanup(s.mcp.Close)
	return s
}

func (s *authServer) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// times counts what happened.
func (s *authServer) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.log {
		if l == what {
			n++
		}
	}
	return n
}

func (s *authServer) endpoint() string { return s.mcp.URL + "/mcp" }
func (s *authServer) issuer() string   { return s.as.URL + s.issuerPath }

// scopesAsked are those of the last authorization request.
func (s *authServer) scopesAsked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1].Get("scope")
}

func answerJSON(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (s *authServer) prmPath() string { return "/.well-known/oauth-protected-resource/mcp" }

func (s *authServer) serveMCP(w http.ResponseWriter, r *http.Request) {
	if h := s.placed[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	switch r.URL.Path {
	case s.prmPath():
		s.note("prm")
		doc := map[string]any{"resource": s.endpoint(), "authorization_servers": []string{s.issuer()}}
		if s.prm != nil {
			s.prm(doc)
		}
		answerJSON(w, http.StatusOK, doc)
		return
	case "/mcp":
	default:
		http.NotFound(w, r)
		return
	}
	var rpc struct {
		Method string `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&rpc)
	s.note("mcp " + rpc.Method)
	status, challenge := http.StatusUnauthorized, s.challenge
	s.mu.Lock()
	scopes, good := s.tokens[tokenIn(r)]
	s.mu.Unlock()
	switch {
	case slices.Contains(s.open, rpc.Method):
		status = http.StatusOK
	case good && s.serve != nil:
		status, challenge = s.serve(r, rpc.Method, scopes)
	case good:
		status = http.StatusOK
	}
	if s.header != nil {
		s.header(w.Header())
	}
	if status != http.StatusOK {
		if challenge != "-" && challenge != "" {
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(challenge, "{prm}", s.mcp.URL+s.prmPath()))
		}
		http.Error(w, "no", status)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{}})
}

func (s *authServer) serveAS(w http.ResponseWriter, r *http.Request) {
	places := s.wellKnown
	if places == nil {
		places = []string{"/.well-known/oauth-authorization-server" + s.issuerPath}
	}
	if slices.Contains(places, r.URL.Path) {
		s.note("metadata")
		doc := map[string]any{
			"issuer": s.issuer(), "authorization_endpoint": s.as.URL + "/authorize", "token_endpoint": s.as.URL + "/token",
			"registration_endpoint": s.as.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
		}
		if s.metadata != nil {
			s.metadata(doc)
		}
		answerJSON(w, http.StatusOK, doc)
		return
	}
	switch r.URL.Path {
	case "/register":
		s.registerClient(w, r)
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.giveToken(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *authServer) registerClient(w http.ResponseWriter, r *http.Request) {
	s.note("register")
	asked := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	s.mu.Lock()
	id := fmt.Sprintf("client-%d", len(s.clients)+1)
	s.mu.Unlock()
	answer := maps.Clone(asked)
	answer["client_id"] = id
	if s.register != nil && !s.register(w, asked, answer) {
		return
	}
	s.mu.Lock()
	s.clients[id] = answer
	s.mu.Unlock()
	answerJSON(w, http.StatusCreated, answer)
}

func (s *authServer) authorize(w http.ResponseWriter, r *http.Request) {
	s.note("authorize")
	q := r.URL.Query()
	s.mu.Lock()
	s.asked = append(s.asked, q)
	client := s.clients[q.Get("client_id")]
	s.given++
	code := fmt.Sprintf("code-%d", s.given)
	s.codes[code] = q
	s.mu.Unlock()
	var problem string
	switch uris, _ := client["redirect_uris"].([]any); {
	case client == nil:
		problem = "unknown client"
	case uris != nil && !slices.Contains(uris, any(q.Get("redirect_uri"))):
		problem = "redirect_uri is not registered"
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "":
		problem = "no PKCE"
	case q.Get("state") == "":
		problem = "no state"
	}
	if problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	answer := url.Values{"code": {code}, "state": {q.Get("state")}}
	if s.back != nil {
		s.back(q, answer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *authServer) giveToken(w http.ResponseWriter, r *http.Request) {
	s.note("token")
	_ = r.ParseForm()
	form := r.PostForm
	s.mu.Lock()
	s.forms = append(s.forms, form)
	asked, good := s.codes[form.Get("code")]
	delete(s.codes, form.Get("code"))
	s.given++
	access, refresh := fmt.Sprintf("secret-at-%d", s.given), fmt.Sprintf("secret-rt-%d", s.given)
	s.mu.Unlock()
	var problem string
	switch id, _, basic := r.BasicAuth(); {
	case form.Get("grant_type") != "authorization_code":
		problem = "unsupported_grant_type"
	case !good || s256(form.Get("code_verifier")) != asked.Get("code_challenge") || form.Get("redirect_uri") != asked.Get("redirect_uri"):
		problem = "invalid_grant"
	case !basic && form.Get("client_id") != asked.Get("client_id") || basic && id != asked.Get("client_id"):
		problem = "invalid_client"
	case form.Get("resource") != asked.Get("resource"):
		problem = "invalid_target"
	}
	if problem != "" {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": problem})
		return
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
	if scope := asked.Get("scope"); scope != "" {
		answer["scope"] = scope
	}
	if s.token != nil && !s.token(w, form, answer) {
		return
	}
	if access, ok := answer["access_token"].(string); ok {
		scope, _ := answer["scope"].(string)
		s.mu.Lock()
		s.tokens[access] = strings.Fields(scope)
		s.mu.Unlock()
	}
	answerJSON(w, http.StatusOK, answer)
}

// person is one who allows everything at once, in a browser that follows redirects.
func (s *authServer) person() *Person {
	return &Person{Open: func(ctx context.Context, address string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}}
}

// webClient is what the authorizer asks with: the way of the program.
func webClient(u *url.URL) (*http.Client, error) {
	return transport.NewWeb(transport.HTTPOptions{Endpoint: u}), nil
}

// options are those of an authorizer for the server, with a person and a store of its own.
func (s *authServer) options() Options {
	return Options{
		Server: config.Server{Name: "lab", URL: s.endpoint()}, Client: webClient, Person: s.person(),
		Store: OpenStore(StoreOptions{Dir: s.t.TempDir(), Kind: "file"}),
	}
}

// request sends one request of MCP through the real transport, and returns the status of the answer and why it was not
// sent again, if it was refused.
func (s *authServer) request(a *Authorizer, method string) (int, error) {
	s.t.Helper()
	return requestAt(s.t, s.endpoint(), a, method)
}

func requestAt(t *testing.T, endpoint string, a *Authorizer, method string) (int, error) {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	h := transport.NewHTTP(transport.HTTPOptions{Endpoint: u, Authorizer: a, NoReuse: true})
	defer h.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := h.Client().Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}
