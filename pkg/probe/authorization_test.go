package probe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// keeper has a login, or cannot say whether it has. It puts a token of the laboratory's into requests.
type keeper struct {
	login session.Login
	err   error
	token string
}

func (k keeper) State(context.Context) (session.Login, error) { return k.login, k.err }

func (k keeper) Authorize(req *http.Request) error {
	if k.token != "" {
		req.Header.Set("Authorization", "Bearer "+k.token)
	}
	return nil
}

func (k keeper) Refused(*http.Request, session.Refusal) error {
	return &session.LoginError{Reason: session.LoginNeeded, Message: "somebody has to log in"}
}

func (k keeper) Accepted(*http.Request, http.Header) {}

// examined examines a case with what is kept of a login.
func examined(t *testing.T, name string, k keeper) Report {
	t.Helper()
	_, server := lab(t, name)
	d := &session.Dialer{OAuth: func(config.Server) session.Authorizer { return k }}
	return Run(t.Context(), &Target{Server: server, Dialer: d}, Checks())
}

// TestLoginThatCannotBeRead shows that a store which cannot be read is a warning of its own, beside the refusal.
func TestLoginThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := examined(t, "oauth-full-chain", keeper{err: errors.New("the keyring is locked")})
	got := byID(r)["auth.token"]
	if got.Status != Warn || !strings.Contains(got.Message, "the keyring is locked") || !strings.Contains(got.Fix, "MCPCTL_CREDENTIALS=file") {
		t.Errorf("%+v", got)
	}
	if r.Cause == nil || r.Cause.Check != "auth.access" || !strings.HasPrefix(r.Cause.Fix, "mcpctl login ") {
		t.Errorf("cause %+v", r.Cause)
	}
}

// TestLoginChain shows that a login which is let in passes every check of the chain, and what they tell of it.
func TestLoginChain(t *testing.T) {
	t.Parallel()
	good := session.Login{
		Standing: session.StandingOK, Issuer: "https://as.example", Scopes: []string{"mcp:read", "mcp:call"},
		Expires: time.Now().Add(time.Hour), ClientID: "dyn-client-1", Where: "keyring",
	}
	const token = "tok-1-faultlab"
	r := examined(t, "oauth-full-chain", keeper{login: good, token: token})
	results := byID(r)
	for id, words := range map[string]string{
		"auth.access": "let the login in", "auth.token": "of a login at https://as.example, kept in keyring", "auth.expiry": "in 60 min",
		"auth.challenge": "HTTP 401 with Bearer", "auth.resource": "oauth-protected-resource/mcp", "auth.server": "oauth-authorization-server",
		"auth.registration": "by registration at ", "auth.scopes": "granted: mcp:read mcp:call", "auth.clock": "within a minute",
	} {
		if got := results[id]; got.Status != Pass || !strings.Contains(got.Message, words) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if r.Verdict != Pass {
		t.Errorf("%s\n%s", r.Verdict, statuses(r))
	}

	for _, tt := range []struct {
		name   string
		token  string
		change func(*session.Login)
		check  string
		status Status
		words  string
	}{
		{"lacks a scope", token, func(l *session.Login) { l.Scopes = []string{"mcp:read"} }, "auth.scopes", Warn, "the login lacks mcp:call"},
		{"expired", token, func(l *session.Login) { l.Standing, l.Expires = session.StandingExpired, time.Now().Add(-time.Hour) }, "auth.expiry", Warn, "cannot be refreshed"},
		{"without end", token, func(l *session.Login) { l.Expires = time.Time{} }, "auth.expiry", Pass, "did not say until when"},
		{"will not be refreshed", token, func(l *session.Login) { l.Standing = session.StandingNeedsLogin }, "auth.expiry", Warn, "does not refresh it any more"},
		{"refused", "other", func(*session.Login) {}, "auth.access", Fail, "the login is one at https://as.example, and the server names http://127.0.0.1"},
	} {
		login := good
		tt.change(&login)
		r := examined(t, "oauth-full-chain", keeper{login: login, token: tt.token})
		if got := byID(r)[tt.check]; got.Status != tt.status || !strings.Contains(got.Message, tt.words) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestChainSendsNoCredential shows that the walk along the chain sends neither the entry's headers nor a token.
func TestChainSendsNoCredential(t *testing.T) {
	t.Parallel()
	srv, server := lab(t, "login-other-origin")
	server.Headers = map[string]string{"X-Api-Key": "very-secret"}
	d := &session.Dialer{OAuth: func(config.Server) session.Authorizer {
		return keeper{login: session.Login{Standing: session.StandingOK, Issuer: srv.Other}, token: "wrong"}
	}}
	Run(t.Context(), &Target{Server: server, Dialer: d}, Checks())
	walked := 0
	for _, e := range srv.Events() {
		headers, _ := e["headers"].(map[string]string)
		url, _ := e["url"].(string)
		if !strings.Contains(url, "/.well-known/") {
			continue
		}
		walked++
		if headers["Authorization"] != "" || headers["X-Api-Key"] != "" {
			t.Errorf("a credential went to %s: %v", url, headers)
		}
	}
	if walked < 2 {
		t.Errorf("%d documents were read", walked)
	}
}

// TestSlowChain shows that documents which never come hold an examination up for a few seconds, and no more.
func TestSlowChain(t *testing.T) {
	t.Parallel()
	lap := stopwatch.Start(t)
	r := examined(t, "login-metadata-hangs", keeper{})
	if took := lap.End(); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	if r.Cause == nil || r.Cause.Check != "auth.resource" || !strings.Contains(r.Cause.Message, "no answer within 2s") {
		t.Errorf("cause %+v", r.Cause)
	}
}
