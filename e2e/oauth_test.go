//go:build e2e && linux

package e2e

import (
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// needsLogin wants the failure of somebody who has to log in, with the line to type.
func needsLogin(o *outcome) {
	o.t.Helper()
	o.exits(4).complains("mcpctl login ")
}

// keepsSecret wants none of the tokens that the server has seen in what was written.
func (p *protected) keepsSecret(texts ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range p.tokens {
		for _, text := range texts {
			if strings.Contains(text, token) {
				p.t.Errorf("a token is in what was written: %s", text)
			}
		}
	}
}

// TestLoginAtAServerOfOthers logs in at an authorization server that others wrote, to a server that the SDK's own middleware
// guards: with a browser, at once, and for all commands that follow; until logout, which takes the token back.
func TestLoginAtAServerOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version   string
		stateless bool
	}{{legacy, false}, {modern, true}} {
		t.Run(c.version, func(t *testing.T) {
			t.Parallel()
			as := startOIDC(t)
			p, u := as.protect(c.stateless), newPerson(t)
			u.run("add", "notes", p.url, "--protocol", c.version, "--no-check").exits(0)

			// Nobody may be asked here, so nobody is.
			needsLogin(u.run("call", "notes", "read"))
			needsLogin(u.run("call", "notes", "read", "--no-input", "--browser"))
			if n := as.counts().Authorizations; n != 0 {
				t.Errorf("%d authorizations before anybody asked for one", n)
			}

			trace := filepath.Join(u.home, "trace")
			login := u.run("login", "notes", "--browser", "--trace", trace).exits(0)
			call := u.run("call", "notes", "read", "-o", "json", "--trace", trace).exits(0).json(`.result.content[0].text == "read done"`)
			tools := u.run("tools", "notes", "-o", "name", "-vv").exits(0).prints("read\nwrite\n")
			get := u.run("get", "notes", "-o", "json").exits(0)
			token := p.last()
			p.keepsSecret(login.stdout, login.stderr, call.stdout, call.stderr, tools.stderr, get.stdout, u.read(trace))
			if n := as.counts(); n.Authorizations != 1 || n.Registrations != 1 || n.Tokens["authorization_code"] != 1 {
				t.Errorf("%+v, want one of each", n)
			}

			both := []string{token, kept(u, refreshToken)}
			for _, token := range both {
				if said, err := as.introspect(t.Context(), token); err != nil || !said.Active {
					t.Errorf("before logout a token is not good: %+v, %v", said, err)
				}
			}
			u.run("logout", "notes").exits(0)
			for _, token := range both {
				if said, err := as.introspect(t.Context(), token); err != nil || said.Active {
					t.Errorf("after logout a token is still good: %+v, %v", said, err)
				}
			}
			needsLogin(u.run("call", "notes", "read"))

			// The client that was registered is still known, and a login in between needs no command of its own.
			u.run("call", "notes", "read", "--browser").exits(0).prints("read done")
			if n := as.counts(); n.Registrations != 1 || n.Authorizations != 2 {
				t.Errorf("%+v, want one registration and two authorizations", n)
			}
		})
	}
}

// TestLoginToTheTypeScriptSDK logs in to a server that the middleware of another SDK guards.
func TestLoginToTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	as, r, u := startOIDC(t), newRemote(t, modeHTTP), newPerson(t)
	r.command = []string{"node", filepath.Join(directory, "servers", "ts-v2.mjs"), "guarded"}
	r.env = []string{"ISSUER=" + as.issuer, "RESOURCE_SECRET=" + as.resourceSecret}
	r.start()
	as.control(map[string]any{"resource": r.url})
	for _, version := range []string{legacy, modern} {
		needsLogin(u.run("call", r.url, "add", "a=1", "b=2", "--protocol", version))
		u.run("login", r.url, "--browser", "--protocol", version).exits(0)
		u.run("call", r.url, "add", "a=1", "b=2", "--protocol", version).exits(0).prints("3")
		u.run("logout", r.url).exits(0)
	}
	if n := as.counts(); n.Registrations != 1 || n.Authorizations != 2 {
		t.Errorf("%+v, want one registration and two authorizations", n)
	}
}

// TestLoginWhereverTheMetadataIs logs in at an authorization server whose metadata is in one of the places of the
// specification, and nowhere else. See the MCP specification, "Authorization Server Metadata Discovery".
func TestLoginWhereverTheMetadataIs(t *testing.T) {
	t.Parallel()
	places := []struct{ path, discovery string }{
		{"", "/.well-known/oauth-authorization-server"},
		{"", "/.well-known/openid-configuration"},
		{"/tenant", "/.well-known/oauth-authorization-server/tenant"},
		{"/tenant", "/.well-known/openid-configuration/tenant"},
		{"/tenant", "/tenant/.well-known/openid-configuration"},
	}
	for _, c := range places {
		t.Run(c.discovery, func(t *testing.T) {
			t.Parallel()
			as := startOIDCAt(t, c.path, c.discovery)
			for _, place := range places {
				if there := as.has(place.discovery); there != (place == c) {
					t.Errorf("there is metadata at %s: %v", place.discovery, there)
				}
			}
			p, u := as.protect(true), newPerson(t)
			u.run("login", p.url, "--browser").exits(0)
			u.run("call", p.url, "read").exits(0).prints("read done")
		})
	}
}

// TestLoginWithoutABrowserHere logs in on a machine without a browser: the URL is opened elsewhere. Where this machine can be
// reached from there, the browser comes back by itself; else the person pastes where it ended.
func TestLoginWithoutABrowserHere(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p := as.protect(true)

	u := newPerson(t)
	r := u.start("login", p.url, "--no-browser")
	address := ""
	eventually(t, startTime, func() string { return "no URL is shown: " + r.said() }, func() bool {
		address = authorizeURL.FindString(r.said())
		return address != ""
	})
	visit(t, address, "nowhere") // it comes back to mcpctl
	r.wait().exits(0)
	u.run("call", p.url, "read").exits(0).prints("read done")

	u = newPerson(t)
	line := pasted(u, "login", p.url, "--no-browser")
	if !strings.Contains(line, "127.0.0.1") {
		t.Errorf("nothing is told of the server: %s", line)
	}
	u.run("call", p.url, "read").exits(0).prints("read done")
	p.keepsSecret(line)
}

// authorizeURL is a URL of the authorization server's, for a login.
var authorizeURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/auth\?[^\s\x1b]+`)

// pasted types a command line on a terminal, opens the URL that is shown in a browser that cannot reach this machine, and pastes
// where that ends. It returns what was on the screen.
func pasted(u *user, args ...string) string {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), mcpctl, args...)
	cmd.Env, cmd.Dir = append(u.environ(), "TERM=xterm"), u.cwd
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 2000})
	if err != nil {
		u.t.Fatal(err)
	}
	var screen writing
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&screen, terminal) // ends with an error when the program has gone
	}()
	address := ""
	eventually(u.t, startTime, func() string { return "no URL is shown: " + screen.String() }, func() bool {
		address = authorizeURL.FindString(screen.String())
		return address != ""
	})
	parsed, err := url.Parse(address)
	if err != nil {
		u.t.Fatal(err)
	}
	back := visit(u.t, address, parsed.Query().Get("redirect_uri"))
	if _, err := terminal.WriteString(back + "\r"); err != nil {
		u.t.Fatal(err)
	}
	err = cmd.Wait()
	<-ended
	_ = terminal.Close()
	if err != nil {
		u.t.Fatalf("%s: %v: %s", cmd, err, screen.String())
	}
	return screen.String()
}

// TestTokensAreRefreshed shows that a token which is about to expire is refreshed without anybody, for the same server, and that
// the refresh token that comes with it is used the next time: the earlier one is dead.
func TestTokensAreRefreshed(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newPerson(t)
	as.control(map[string]any{"ttl": 2})
	u.run("login", p.url, "--browser").exits(0)
	first := p.last()
	before := as.counts().Tokens["refresh_token"]
	p.expires()
	u.run("call", p.url, "read").exits(0).prints("read done")
	second := p.last()
	p.expires()
	u.run("call", p.url, "read").exits(0).prints("read done")
	if n := as.counts(); n.Tokens["refresh_token"] < before+2 || n.Authorizations != 1 || first == second || second == p.last() {
		t.Errorf("%+v, and the tokens %q, %q, %q", n, first, second, p.last())
	}

	p.expires()
	// Many at once: one of them refreshes, and nobody is logged out.
	as.control(map[string]any{"ttl": 3600})
	before = as.counts().Tokens["refresh_token"]
	var all []*running
	for range 8 {
		all = append(all, u.start("call", p.url, "read"))
	}
	for _, r := range all {
		if o := r.ends(); o.code != 0 || o.stdout != "read done" {
			t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
		}
	}
	if n := as.counts().Tokens; n["refresh_token"] != before+1 || n["refresh_token refused"] != 0 {
		t.Errorf("%+v, want one refresh more than %d", n, before)
	}
}

// TestStolenRefreshToken shows what becomes of a refresh token that somebody else has used: the authorization server takes
// everything back, both are told to log in, and a login mends it.
func TestStolenRefreshToken(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newPerson(t)
	as.control(map[string]any{"ttl": 2})
	u.run("login", p.url, "--browser").exits(0)
	thief := newPerson(t)
	if err := os.CopyFS(thief.home, os.DirFS(u.home)); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	p.expires()
	u.run("call", p.url, "read").exits(0)
	p.expires()
	needsLogin(thief.run("call", p.url, "read"))
	needsLogin(u.run("call", p.url, "read"))
	refused := as.counts().Tokens["refresh_token refused"]
	needsLogin(u.run("call", p.url, "read")) // what is dead is not shown again
	if n := as.counts().Tokens["refresh_token refused"]; n != refused {
		t.Errorf("%d refused refreshes, want %d still", n, refused)
	}
	as.control(map[string]any{"ttl": 3600})
	u.run("call", p.url, "read", "--browser").exits(0).prints("read done")
}

// TestStepUp shows that a call which needs more than was granted asks for that, keeps what there was, and keeps it.
func TestStepUp(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newPerson(t)
	u.run("login", p.url, "--browser").exits(0)
	if said, err := as.introspect(t.Context(), p.last()); err != nil || said.Scope != scopeRead {
		t.Fatalf("the login got %+v, %v; want the scope of the challenge", said, err)
	}
	u.run("call", p.url, "write").exits(4)
	u.run("call", p.url, "write", "--browser").exits(0).prints("write done")
	u.run("call", p.url, "write").exits(0).prints("write done")
	u.run("call", p.url, "read").exits(0).prints("read done")
	if n := as.counts().Authorizations; n != 2 {
		t.Errorf("%d authorizations, want 2", n)
	}
}

// TestThePersonSaysNo shows that a no is told as one, asked once, and leaves what there was.
func TestThePersonSaysNo(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newPerson(t)
	as.control(map[string]any{"deny": true})
	u.run("login", p.url, "--browser").exits(4).complains("access_denied")
	u.run("call", p.url, "read", "--browser").exits(4).complains("access_denied")
	as.control(map[string]any{"deny": false})
	u.run("login", p.url, "--browser").exits(0)
	as.control(map[string]any{"deny": true})
	u.run("login", p.url, "--browser").exits(4)
	u.run("call", p.url, "read").exits(0).prints("read done")
}

// TestTheClientIsGone shows that a client which an operator has deleted is registered anew.
func TestTheClientIsGone(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	p, u := as.protect(true), newPerson(t)
	as.control(map[string]any{"ttl": 2})
	u.run("login", p.url, "--browser").exits(0)
	as.control(map[string]any{"delete": kept(u, clientID), "ttl": 3600})
	p.expires()
	needsLogin(u.run("call", p.url, "read"))
	u.run("call", p.url, "read", "--browser").exits(0).prints("read done")
	if n := as.counts().Registrations; n != 2 {
		t.Errorf("%d registrations, want 2", n)
	}
}

// kept returns what the user's mcpctl has kept, in the one place that matches.
func kept(u *user, what *regexp.Regexp) string {
	u.t.Helper()
	found := ""
	err := filepath.WalkDir(u.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if m := what.FindStringSubmatch(u.read(path)); m != nil {
			found = m[1]
		}
		return nil
	})
	if err != nil || found == "" {
		u.t.Fatalf("nothing like %s is kept below %s: %v", what, u.home, err)
	}
	return found
}

// The id of a client and a refresh token, as they are kept.
var (
	clientID     = regexp.MustCompile(`"id": *"([^"]+)"`)
	refreshToken = regexp.MustCompile(`"refresh": *"([^"]+)"`)
)

// TestTokensBoundToAKey shows DPoP: a server that wants it says so, the key is kept with the token, and nonces are learnt from
// both servers.
func TestTokensBoundToAKey(t *testing.T) {
	t.Parallel()
	as := startOIDC(t)
	u := newPerson(t)
	p := as.protectWith(&protected{proof: true, nonce: "nonce-of-the-server"}, true)
	as.control(map[string]any{"nonce": true, "ttl": 2})
	u.run("login", p.url, "--browser").exits(0)
	p.expires()
	u.run("call", p.url, "read").exits(0).prints("read done") // refreshed, with the same key
	u.run("call", p.url, "write").exits(0).prints("write done")
	if n := as.counts(); n.Authorizations != 1 || n.Tokens["refresh_token"] == 0 {
		t.Errorf("%+v, want one authorization, and refreshes", n)
	}
}

// TestTokensWithoutAPerson gets tokens for a program by itself, in each way in which it can say who it is.
func TestTokensWithoutAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// only are the ways that the authorization server knows; the MCP server says its own secret by post.
		only  []string
		flags func(*user, *oidc) []string
	}{
		{"robot-basic", nil, withSecret},
		{"robot-post", []string{"client_secret_post"}, withSecret},
		{"robot-jwt", []string{"client_secret_post", "private_key_jwt"}, withKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			as := startOIDC(t, c.only...)
			p, u := as.protect(true), newUser(t)
			u.env = append(u.env, "MCPCTL_CREDENTIALS=file")
			flags := append(c.flags(u, as), "--grant", "client_credentials", "--client-id", c.name)
			u.run(append([]string{"call", p.url, "read"}, flags...)...).exits(0).prints("read done")
			o := u.run(append([]string{"call", p.url, "write", "-vv"}, flags...)...).exits(0).prints("write done")
			p.keepsSecret(o.stderr)
			if strings.Contains(o.stderr, as.robotSecret) {
				o.fatalf("the client's secret is in what was written")
			}
			u.run("add", "job", p.url, "--grant", "client_credentials", "--client-id", c.name, "--oauth-scope", scopeRead, flags[0], flags[1]).exits(0)
			u.run("tools", "job", "-o", "name").exits(0).prints("read\nwrite\n")
			u.run("call", p.url, "read", "--grant", "client_credentials", "--client-id", "robot-nobody", flags[0], flags[1]).exits(4).complains("invalid_client")
		})
	}
}

func withSecret(u *user, as *oidc) []string {
	u.env = append(u.env, "ROBOT="+as.robotSecret)
	return []string{"--client-secret", "${ROBOT}"}
}

func withKey(u *user, as *oidc) []string {
	path := filepath.Join(u.home, "key.pem")
	u.write(path, as.robotKey)
	return []string{"--private-key", path}
}
