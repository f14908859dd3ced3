//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// leaky is an MCP server with an authorization server of its own, at another origin, and a third origin to which it
// redirects. All that is secret is recognisable, and all that it is sent comes back in its errors.
type leaky struct {
	resource, issuer, other *httptest.Server

	mu sync.Mutex
	// secrets are the values that must not be seen, by what they are; those that mcpctl makes are added when they come.
	secrets map[string]string
	// elsewhere is all that came to the third origin.
	elsewhere bytes.Buffer
	refuses   bool
	tokens    int
}

// The values of a token have characters that URLs, JSON and base64 write in other ways.
const (
	leakyConfigured = "configured+secret/of~the~client=="
	leakySession    = "session-of-the-leaky-server"
)

func serveLeaky(t *testing.T) *leaky {
	t.Helper()
	l := &leaky{secrets: map[string]string{
		"code":               "code+of/the~login~4d1f==",
		"registered secret":  "registered+secret/9a7c~1b==",
		"registration token": "registration+token/31e8~5d==",
		"id token":           "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzb21lYm9keS1zZWNyZXQifQ.c2lnbmF0dXJlLXNlY3JldA",
		"configured secret":  leakyConfigured,
	}}
	l.other = httptest.NewServer(http.HandlerFunc(l.answerElsewhere))
	l.issuer = httptest.NewServer(http.HandlerFunc(l.answerIssuer))
	l.resource = httptest.NewServer(http.HandlerFunc(l.answerResource))
	t.Cleanup(func() {
		l.resource.Close()
		l.issuer.Close()
		l.other.Close()
	})
	return l
}

// secret notes a value that must not be seen.
func (l *leaky) secret(what, value string) {
	if value != "" {
		l.secrets[what] = value
	}
}

// answerElsewhere is a stranger, who gets nothing.
func (l *leaky) answerElsewhere(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = r.Write(&l.elsewhere)
	http.Error(w, "a stranger", http.StatusUnauthorized)
}

func writeJSON(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (l *leaky) answerIssuer(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		at := l.issuer.URL
		writeJSON(w, http.StatusOK, map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
			"registration_endpoint": at + "/register", "revocation_endpoint": at + "/revoke",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
			"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post"},
			"authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		var asked map[string]any
		_ = json.Unmarshal(body, &asked)
		asked["client_id"], asked["client_secret"] = "registered-client", l.secrets["registered secret"]
		asked["client_secret_expires_at"], asked["registration_access_token"] = 0, l.secrets["registration token"]
		asked["registration_client_uri"], asked["token_endpoint_auth_method"] = l.issuer.URL+"/register/1", "client_secret_basic"
		writeJSON(w, http.StatusCreated, asked)
	case "/authorize":
		back, _ := url.Parse(r.URL.Query().Get("redirect_uri"))
		back.RawQuery = url.Values{"code": {l.secrets["code"]}, "state": {r.URL.Query().Get("state")}, "iss": {l.issuer.URL}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case "/token":
		l.secret("verifier", form.Get("code_verifier"))
		if l.refuses {
			writeJSON(w, http.StatusBadRequest, map[string]any{
				"error": "invalid_grant", "error_description": "refused: " + string(body) + " " + r.Header.Get("Authorization") + " " + form.Get("code_verifier"),
			})
			return
		}
		l.tokens++
		access, refresh := fmt.Sprintf("access+token/%d~77ce==", l.tokens), fmt.Sprintf("refresh+token/%d~02bd==", l.tokens)
		l.secret(fmt.Sprintf("access token %d", l.tokens), access)
		l.secret(fmt.Sprintf("refresh token %d", l.tokens), refresh)
		writeJSON(w, http.StatusOK, map[string]any{
			"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh, "scope": "all", "id_token": l.secrets["id token"],
		})
	case "/revoke":
		http.Error(w, "echo: "+string(body)+" "+r.Header.Get("Authorization"), http.StatusInternalServerError)
	default:
		http.NotFound(w, r)
	}
}

func (l *leaky) answerResource(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		writeJSON(w, http.StatusOK, map[string]any{"resource": l.resource.URL + "/mcp", "authorization_servers": []string{l.issuer.URL}})
		return
	case r.URL.Path == "/away":
		http.Redirect(w, r, l.other.URL+"/mcp", http.StatusTemporaryRedirect)
		return
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	known := token != "" && slices.Contains(slices.Collect(maps.Values(l.secrets)), token)
	if !known || l.refuses {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q, error=\"invalid_token\", error_description=%q",
			l.resource.URL+"/.well-known/oauth-protected-resource/mcp", "echo: "+r.Header.Get("Authorization")))
		writeJSON(w, http.StatusUnauthorized, map[string]any{"echo": r.Header.Get("Authorization"), "token": token})
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name string
		}
	}
	_ = json.Unmarshal(body, &req)
	answer := func(result any) {
		writeJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
	}
	text := func(s string) map[string]any {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
	}
	tool := func(name, description string) map[string]any {
		return map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}}
	}
	switch {
	case req.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", leakySession)
		answer(map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "leaky " + token, "version": "1"}, "instructions": "your token is " + token,
		})
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case req.Method == "tools/list":
		answer(map[string]any{"tools": []any{tool("whoami", "Says the token "+token), tool("fail", "Fails"), tool("crash", "Fails otherwise")}})
	case req.Method == "tools/call" && req.Params.Name == "whoami":
		answer(text("you sent " + token))
	case req.Method == "tools/call" && req.Params.Name == "crash":
		http.Error(w, "crashed with "+r.Header.Get("Authorization")+" "+string(body), http.StatusInternalServerError)
	case req.Method == "tools/call":
		writeJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": req.ID, "error": map[string]any{
			"code": -32000, "message": "failed with " + r.Header.Get("Authorization"), "data": map[string]any{"token": token},
		}})
	default:
		writeJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": req.ID, "error": map[string]any{
			"code": -32601, "message": "no method " + req.Method + " for " + token,
		}})
	}
}

// writings are the ways in which a secret may be written: as it is, in URLs, and in base64 at each place of a text.
func writings(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			from, to := (shift*8+5)/6, len(strings.TrimRight(text, "="))-1 // what the neighbours have no part in
			all = append(all, text[from:to])
		}
	}
	return all
}

// secrecy runs mcpctl and looks for secrets in all that it leaves behind.
type secrecy struct {
	t    *testing.T
	l    *leaky
	home string
	env  []string
	// seen is what was written, by the command line.
	seen map[string]string
}

func (s *secrecy) run(args ...string) (int, string, string) {
	s.t.Helper()
	return s.runWith("", args...)
}

func (s *secrecy) runWith(stdin string, args ...string) (int, string, string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "mcpctl", args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	key := fmt.Sprintf("%d: mcpctl %s", len(s.seen), strings.Join(args, " "))
	s.seen[key+" (stdout)"], s.seen[key+" (stderr)"] = out.String(), errs.String()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// forget leaves out what a command wrote to standard output: it is data.
func (s *secrecy) forget() {
	maps.DeleteFunc(s.seen, func(key, _ string) bool {
		return strings.HasPrefix(key, fmt.Sprintf("%d: ", len(s.seen)-2)) && strings.HasSuffix(key, "(stdout)")
	})
	s.seen[fmt.Sprintf("nothing %d", len(s.seen))] = ""
}

// search fails for each secret that is somewhere, but in the store of credentials.
func (s *secrecy) search() {
	s.t.Helper()
	stored := 0
	err := filepath.WalkDir(s.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(path, filepath.Join(s.home, "data")) {
			stored++
			if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				s.t.Errorf("%s has the mode %s", path, info.Mode())
			}
			return nil
		}
		s.seen[path] = string(raw)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if stored == 0 {
		s.t.Error("nothing was stored, so nothing was tested")
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.seen["what the third origin got"] = s.l.elsewhere.String()
	if s.l.elsewhere.Len() == 0 {
		s.t.Error("the third origin was not asked")
	}
	if _, made := s.l.secrets["verifier"]; !made {
		s.t.Error("no verifier was sent")
	}
	for what, secret := range s.l.secrets {
		for _, form := range writings(secret) {
			for _, place := range slices.Sorted(maps.Keys(s.seen)) {
				if at := strings.Index(s.seen[place], form); at >= 0 {
					text := s.seen[place]
					s.t.Errorf("%s, as %q, in %s:\n…%s…", what, form, place, text[max(0, at-80):min(len(text), at+len(form)+20)])
				}
			}
		}
	}
}

// TestNoSecretOfALoginIsSeen logs in, and does what people do then, at servers that hand back whatever they get.
func TestNoSecretOfALoginIsSeen(t *testing.T) {
	t.Parallel()
	l := serveLeaky(t)
	home := t.TempDir()
	s := &secrecy{t: t, l: l, home: home, seen: map[string]string{}}
	browser := filepath.Join(home, "browser.sh")
	script := "#!/bin/sh\ntr '\\0' ' ' </proc/$$/cmdline >>" + home + "/children 2>/dev/null\nexec curl -sSL -o /dev/null \"$1\"\n"
	if err := os.WriteFile(browser, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	s.env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_CACHE_HOME=" + home + "/cache", "XDG_STATE_HOME=" + home + "/state",
		"XDG_DATA_HOME=" + home + "/data", "MCPCTL_CREDENTIALS=file", "MCPCTL_CONFIG=" + home + "/c.yaml", "BROWSER=" + browser,
		"LEAKY_SECRET=" + leakyConfigured, "CI=",
	}
	succeeds := func(args ...string) string {
		t.Helper()
		code, out, errs := s.run(args...)
		if code != codeOK {
			t.Fatalf("mcpctl %q: exit code %d\n%s%s", args, code, out, errs)
		}
		return out
	}
	trace := 0
	loud := func(args ...string) []string {
		trace++
		return append(args, "-v", "-v", "--trace", fmt.Sprintf("%s/trace%d", home, trace))
	}
	succeeds(loud("add", "leaky", l.resource.URL+"/mcp", "--browser")...)
	succeeds(loud("list")...)
	succeeds("list", "-o", "json")
	succeeds("list", "--check", "-v", "-v")
	succeeds("get", "leaky")
	succeeds("get", "leaky", "-o", "json")
	succeeds(loud("tools", "leaky")...)
	succeeds(loud("doctor", "leaky")...)
	succeeds("doctor", "leaky", "-o", "json")
	s.run(loud("call", "leaky", "fail")...)
	s.run("call", "leaky", "fail", "-o", "json")
	s.run(loud("call", "leaky", "crash")...)
	s.run("call", "leaky", "crash", "-o", "json")
	succeeds(loud("ping", "leaky", "-c", "1")...)
	s.runWith("tools\ncall fail\ncall crash\ntools\n", loud("shell", "leaky", "--keep-going")...)
	s.runWith("call fail\ncall crash\n", "shell", "leaky", "--keep-going", "-o", "json")

	// What a tool returns is data, and so is what it says of itself where its own words are asked for.
	code, out, _ := s.run("call", "leaky", "whoami")
	if code != codeOK || !strings.Contains(out, "access+token/") {
		t.Errorf("the data of a tool: exit code %d, %q", code, out)
	}
	s.forget()
	if _, out, _ := s.run("tools", "leaky", "-o", "json"); !strings.Contains(out, "access+token/") {
		t.Errorf("the tools as they are: %q", out)
	}
	s.forget()

	// A client of one's own, by itself.
	succeeds(loud("add", "own", l.resource.URL+"/mcp", "--grant", "client", "--client-id", "me", "--client-secret", "${LEAKY_SECRET}")...)
	succeeds(loud("tools", "own")...)
	if code, _, _ := s.run("tools", "own", "--client-secret", leakyConfigured); code != codeUsage {
		t.Errorf("a secret on the command line: exit code %d", code)
	}

	// Elsewhere, and redirected there, with a login that is kept.
	s.run(loud("tools", l.other.URL+"/mcp")...)
	s.run(loud("tools", l.resource.URL+"/away")...)
	s.run(loud("login", l.resource.URL+"/away", "--browser")...)
	l.mu.Lock()
	l.refuses = true
	l.mu.Unlock()
	s.run(loud("tools", "leaky", "--browser")...)
	s.run("tools", "leaky", "--browser", "-o", "json")
	s.run(loud("login", "leaky", "--browser")...)
	s.run("login", "leaky", "--browser", "-o", "json")
	s.run(loud("doctor", "leaky")...)
	s.run("list", "--check", "-o", "json")
	s.run(loud("logout", "leaky")...)
	s.run("logout", "leaky", "-o", "json")
	s.search()
}

// TestNoSecretOfALoginIsInTheHistory types lines with secrets in a shell.
func TestNoSecretOfALoginIsInTheHistory(t *testing.T) {
	t.Parallel()
	s := shellOn(t, 80, t.TempDir(), "demo")
	s.then("", "demo> ")
	for _, line := range []string{
		"use https://x.example/mcp --client-id me --client-secret hunter22", "use https://x.example/mcp --idp-id-token=hunter22",
		"'http://127.0.0.1:4711/callback?code=hunter22&state=abc'",
	} {
		s.line(line, "mcpctl: error")
	}
	s.line("call add a=1 b=2", "3")
	s.then(ctrlD, "")
	if code, out := s.end(); code != codeOK {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if history := s.historyFile(); strings.Contains(history, "hunter22") || !strings.Contains(history, "call add") {
		t.Errorf("the history:\n%s", history)
	}
}
