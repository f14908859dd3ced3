package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/shellwords"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// parseAuth parses the words of a command line for how one is authorized.
func parseAuth(words ...string) (config.Server, error) {
	var f authFlags
	flags := newFlags()
	f.registerAuth(flags)
	server := config.Server{Name: "x", URL: "https://x.example/mcp", Sources: map[string]config.Source{}}
	if err := flags.Parse(words); err != nil {
		return server, err
	}
	set := func(flag, key string, change func()) {
		if flags.Changed(flag) {
			change()
			server.Set(key, config.Source{Kind: sourceFlag, Detail: "--" + flag})
		}
	}
	err := f.applyAuth(flags, set, &server)
	return server, err
}

// FuzzAuthWords shows that the line that is suggested says what was typed, and that nothing that was typed is lost.
func FuzzAuthWords(f *testing.F) {
	f.Add("oauth", "me", "${SECRET}", "a b", "client", 0, true)
	f.Add("auto", "it's me", "@file", "x", "id-jag", 8765, false)
	f.Fuzz(func(t *testing.T, auth, id, secret, scope, grant string, port int, dpop bool) {
		words := []string{"--auth=" + auth, "--client-id=" + id, "--client-secret=" + secret, "--oauth-scope=" + scope, "--grant=" + grant}
		if port != 0 {
			words = append(words, "--redirect-port", (*portValue)(&port).String())
		}
		if dpop {
			words = append(words, "--dpop")
		}
		first, err := parseAuth(words...)
		if err != nil {
			return
		}
		line := strings.Join(authWords(first, false), " ")
		split, err := shellwords.Split(line)
		if err != nil {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
				return // shown, and not pasted
			}
			t.Fatalf("%q: %v", line, err)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) || strings.Contains(line, "$'") {
			return
		}
		again, err := parseAuth(shellwords.Texts(split)...)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if first.Auth != again.Auth || !reflect.DeepEqual(first.OAuth, again.OAuth) {
			t.Errorf("%q says %+v, and %+v was typed", line, again.OAuth, first.OAuth)
		}
	})
}

func TestGrantsHaveShortNames(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]config.Grant{
		"client-credentials": config.GrantClient, "Client_Credentials": config.GrantClient, "m2m": config.GrantClient, "code": config.GrantCode,
		"authorization-code": config.GrantCode, "urn:ietf:params:oauth:grant-type:jwt-bearer": config.GrantJWTBearer,
		"workload": config.GrantJWTBearer, "enterprise": config.GrantEnterprise, "id-jag": config.GrantEnterprise,
		"urn:ietf:params:oauth:grant-type:token-exchange": config.GrantEnterprise, "urn:ietf:params:oauth:token-type:id-jag": config.GrantEnterprise,
	} {
		var v grantValue
		if err := v.Set(word); err != nil || config.Grant(v) != want {
			t.Errorf("%s: %q, %v", word, v, err)
		}
	}
	for _, word := range []string{"", "password", "implicit", "refresh_token"} {
		if err := new(grantValue).Set(word); err == nil {
			t.Errorf("%q is a grant", word)
		}
	}
}

func TestStandingInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time {
		end := now.Add(d)
		return &end
	}
	for _, c := range []struct {
		b    *authorizationBody
		want string
	}{
		{nil, "-"},
		{&authorizationBody{State: authOK, ExpiresAt: at(time.Hour)}, "ok until 13:00"},
		{&authorizationBody{State: authOK, ExpiresAt: at(24 * time.Hour)}, "ok until Dec 1"},
		{&authorizationBody{State: authOK, ExpiresAt: at(365 * 24 * time.Hour)}, "ok until Nov 30 2027"},
		{&authorizationBody{State: authOK}, "ok"},
		{&authorizationBody{State: authRefreshable, ExpiresAt: at(-time.Hour)}, "ok"},
		{&authorizationBody{State: authExpired}, "expired"},
		{&authorizationBody{State: authNeedsLogin}, "needs login"},
		{&authorizationBody{State: authHeader}, "header"},
	} {
		if got := c.b.words(now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.b, got, c.want)
		}
	}
}

func TestCallbacksAreSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"http://127.0.0.1:1/callback?code=x&state=y": true, "http://localhost/?state=y&code=x": true,
		"https://x.example/mcp?code=x": false, "call": false, "%zz": false,
	} {
		if isCallback(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
