package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	authResourceID     = "auth.resource"
	authServerID       = "auth.server"
	authRegistrationID = "auth.registration"
)

// refused reports whether the server wants authorization, or refuses the one it got.
func refused(t *Target) bool {
	_, failed := errors.AsType[*session.LoginError](t.openErr)
	return failed || session.ClassOf(t.openErr) == session.ClassAuth
}

// loggedIn reports whether something is kept of a login for the server.
func loggedIn(t *Target) bool { return t.login.Standing != session.StandingNone }

// chained reports whether there is a chain of documents to look at: the server refuses, or a login was let in. The checks
// of the chain have nothing to look at otherwise.
func chained(t *Target) bool { return overHTTP(t) && (refused(t) || loggedIn(t)) }

// authorization walks the chain of the server's authorization, once.
func (t *Target) authorization(ctx context.Context) session.Authorization {
	if t.chain == nil {
		var a session.Authorization
		if e, ok := errors.AsType[*session.Error](t.openErr); ok && e.Status != 0 {
			a = t.dialer().Authorization(ctx, t.expanded, t.openErr)
		} else {
			a = t.dialer().Protection(ctx, t.expanded)
		}
		t.chain = &a
	}
	return *t.chain
}

// loginLine is the line to type to log in.
func (t *Target) loginLine() string {
	return cmp.Or(t.LoginLine, "mcpctl login "+toolargs.Quote(t.Server.Name))
}

// needsPerson reports whether a token is got by a person in a browser, as far as the entry says.
func (t *Target) needsPerson() bool {
	o := t.expanded.OAuth
	return o == nil || o.Grant == "" || o.Grant == config.GrantCode
}

// obstacle is the check that says why no login can come about, "" if one can, as far as that is known before it is tried:
// documents that must not be used, or are not there. It is the cause then, and not that somebody has to log in.
func (t *Target) obstacle(ctx context.Context) string {
	a := t.authorization(ctx)
	switch {
	case authorizationOf(t.expanded.Headers) != "" || t.expanded.Auth == config.AuthNone:
		return "" // none is wanted
	case a.Resource == nil && a.Server == nil && (a.Mismatch != "" || challenged(a, "resource_metadata") != ""), a.Resource != nil && len(a.Resource.AuthorizationServers) == 0 && a.Server == nil:
		return authResourceID
	case a.Server == nil && a.Issuer != "", a.Server != nil && t.unfit(a) != "":
		return authServerID
	case a.Server != nil && !t.registrable(a):
		return authRegistrationID
	}
	return ""
}

// stopped makes a finding of the chain the failure that it is if no login can come about because of it, and a warning else.
func (t *Target) stopped(ctx context.Context, id string, f Finding) Finding {
	if refused(t) && t.obstacle(ctx) == id {
		f.Status, f.Class = Fail, string(cmp.Or(session.ClassOf(t.openErr), session.ClassAuth))
	}
	return f
}

// unfit says why the metadata of an authorization server cannot be used for a login, "" if it can. See the MCP
// specification, 2025-11-25, "Authorization Code Protection", and OAuth 2.1, 1.5.
func (t *Target) unfit(a session.Authorization) string {
	endpoints := []struct{ name, url string }{{"token_endpoint", a.Server.TokenEndpoint}}
	if t.needsPerson() {
		endpoints = append(endpoints, struct{ name, url string }{"authorization_endpoint", a.Server.AuthorizationEndpoint})
	}
	for _, e := range endpoints {
		if e.url == "" {
			return "has no " + e.name
		}
		if wrong := session.Unsafe(e.url, t.expanded); wrong != "" {
			return fmt.Sprintf("has the %s %s: %s", e.name, firstWords(e.url), wrong)
		}
	}
	if t.needsPerson() && !slices.Contains(a.Server.CodeChallengeMethods, "S256") {
		return "does not offer PKCE with S256 (code_challenge_methods_supported), which a login must use"
	}
	return ""
}

// asked lists the places where a document was looked for, with what they answered.
func asked(places []session.Place) string {
	var lines []string
	for _, p := range places {
		says := p.Says
		if p.Found {
			says = "found"
		}
		lines = append(lines, p.URL+": "+firstWords(says))
	}
	return strings.Join(lines, "\n")
}

// askedData is asked for programs.
func askedData(places []session.Place) []any {
	var list []any
	for _, p := range places {
		list = append(list, map[string]any{"url": p.URL, "found": p.Found, "says": p.Says})
	}
	return list
}

// missing makes the finding of a document that was not found.
func missing(what string, places []session.Place, fix string) Finding {
	f := warn("no "+what+" was found", fix)
	if len(places) == 1 {
		f.Message = fmt.Sprintf("no %s at %s: %s", what, places[0].URL, firstWords(places[0].Says))
	}
	f.Detail = asked(places)
	return f
}

// inTime says how far off a moment is, in words.
func inTime(at time.Time) string {
	left := time.Until(at)
	unit := time.Minute
	if left.Abs() < time.Hour {
		unit = time.Second
	}
	text := left.Abs().Round(unit).String()
	if text = strings.TrimSuffix(text, "0s"); text == "" || strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if left < 0 {
		return text + " ago"
	}
	return "in " + text
}
