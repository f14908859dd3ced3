package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// The states of authorization in a document. Those of people are nearly the same words.
const (
	authHeader      = "header"
	authOK          = "ok"
	authRefreshable = "refreshable"
	authExpired     = "expired"
	authNeedsLogin  = "needs_login"
	authUnreadable  = "unreadable"
)

// authorizationBody tells in a document how the authorization at a server stands, as far as it is known without asking it.
type authorizationBody struct {
	State string `json:"state"`
	// ExpiresAt is when the token does, nil if nobody said so.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Issuer    string     `json:"issuer,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	ClientID  string     `json:"client_id,omitempty"`
	DPoP      bool       `json:"dpop,omitempty"`
	// Kept is where the credentials are: "keyring", or a file.
	Kept string `json:"kept,omitempty"`
	// Problem says why what is kept cannot be read, and Hint what to do.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// standingTime bounds a look at what is kept for one server: a keyring may hang.
const standingTime = 2 * time.Second

// standing returns how the authorization at a server stands, nil if there is nothing to tell. Nothing is contacted, and of
// the entry only the URL is expanded, so that no keyring is asked for what an entry refers to.
func (a *app) standing(ctx context.Context, server config.Server) *authorizationBody {
	switch {
	case server.Err != nil || server.URL == "":
		return nil
	case hasCredential(server):
		return &authorizationBody{State: authHeader}
	case server.Auth == config.AuthNone:
		return nil
	}
	env := a.environment()
	env.Keyring = nil
	bare, secrets, err := config.Server{
		Name: server.Name, URL: server.URL, Transport: server.Transport, Foreign: server.Foreign, Dir: server.Dir,
		OAuth: whose(server.OAuth),
	}.Expand(env)
	a.redact.Add(secrets...)
	if err != nil {
		return nil // whoever uses it is told
	}
	if bare.OAuth != nil {
		bare.OAuth.Grant = server.OAuth.Grant // which by itself would be incomplete
	}
	ctx, cancel := context.WithTimeout(ctx, standingTime)
	defer cancel()
	state, err := oauth.New(oauth.Options{Server: bare, Store: a.credentials(), Secret: a.redact.Add, Logger: a.logger}).State(ctx)
	if err != nil {
		b := &authorizationBody{State: authUnreadable, Problem: err.Error()}
		if e, ok := errors.AsType[*oauth.Error](err); ok {
			b.Hint = e.Hint
		}
		return b
	}
	b := &authorizationBody{
		Issuer: state.Issuer, Scopes: state.Scopes, ClientID: state.ClientID, DPoP: state.Bound, Kept: state.Where,
	}
	if !state.Expires.IsZero() {
		expires := state.Expires.UTC().Truncate(time.Second)
		b.ExpiresAt = &expires
	}
	switch state.Standing {
	case oauth.StandingOK:
		b.State = authOK
	case oauth.StandingRefreshable:
		b.State = authRefreshable
	case oauth.StandingExpired:
		b.State = authExpired
	case oauth.StandingNeedsLogin:
		b.State = authNeedsLogin
	case oauth.StandingNone:
		if server.Auth != config.AuthOAuth || byItself(server) {
			return nil
		}
		return &authorizationBody{State: authNeedsLogin}
	}
	return b
}

// whose returns what of the values for a login says whose it is, but for the grant.
func whose(o *config.OAuth) *config.OAuth {
	if o == nil {
		return nil
	}
	return &config.OAuth{ClientID: o.ClientID, Issuer: o.Issuer}
}

// byItself reports whether a server's token is got without a person.
func byItself(server config.Server) bool {
	return server.OAuth != nil && server.OAuth.Grant != "" && server.OAuth.Grant != config.GrantCode
}

// words says how the authorization stands, for people.
func (b *authorizationBody) words(now time.Time) string {
	switch {
	case b == nil:
		return "-"
	case b.State == authOK && b.ExpiresAt != nil:
		return "ok until " + clock(now, *b.ExpiresAt)
	case b.State == authRefreshable:
		return "ok" // it is refreshed when it is used
	}
	return strings.ReplaceAll(b.State, "_", " ")
}

// clock is a moment as people say it: the time of today, or the day.
func clock(now, at time.Time) string {
	at = at.In(now.Location())
	switch {
	case at.YearDay() == now.YearDay() && at.Year() == now.Year():
		return at.Format("15:04")
	case at.Year() == now.Year():
		return at.Format("Jan 2")
	}
	return at.Format("Jan 2 2006")
}

// style is how the words are shown.
func (b *authorizationBody) style() render.Style {
	switch {
	case b == nil:
		return render.Faint
	case b.State == authExpired || b.State == authNeedsLogin || b.State == authUnreadable:
		return render.Bad
	case b.State == authHeader:
		return render.Plain
	}
	return render.Good
}

// standingValues are the lines of get about it.
func standingValues(b *authorizationBody, now time.Time) []entryValue {
	if b == nil {
		return nil
	}
	const key = "authorization"
	if b.State == authHeader {
		return nil // the header is shown itself
	}
	source := "login" // where that is kept has a line of its own: it may be long
	if b.Kept == "" && b.State != authUnreadable {
		source = "nothing kept"
	}
	values := []entryValue{{key: key, text: b.words(now), source: source}}
	add := func(name, text string) {
		if text != "" {
			values = append(values, entryValue{key: key + "." + name, text: text, source: source})
		}
	}
	if b.ExpiresAt != nil {
		add("expires_at", b.ExpiresAt.In(now.Location()).Format(time.RFC3339))
	}
	add("issuer", render.OneLine(b.Issuer))
	add("scopes", render.OneLine(strings.Join(b.Scopes, " ")))
	add("client_id", render.OneLine(b.ClientID))
	if b.DPoP {
		add("dpop", "true")
	}
	add("kept", render.OneLine(b.Kept))
	return values
}

// tellUnreadable warns of what is kept for servers and cannot be read, once for each file. In a document it is there.
func (a *app) tellUnreadable(standings ...*authorizationBody) {
	told := map[string]bool{}
	for _, b := range standings {
		if a.json() || b == nil || b.State != authUnreadable || told[b.Problem] {
			continue
		}
		told[b.Problem] = true
		a.warn("mcpctl: warning: " + render.OneLine(b.Problem) + "\n")
		if b.Hint != "" {
			a.warn("mcpctl: hint: " + render.OneLine(b.Hint) + "\n")
		}
	}
}

// pinIssuer has an entry remember the authorization server at which a check has used its client: the client belongs to that
// one, and what is configured of it is shown to no other, also after a logout.
func (a *app) pinIssuer(ctx context.Context, server *config.Server) {
	o := server.OAuth
	if o == nil || o.Issuer != "" || o.ClientID == "" && o.Assertion == "" {
		return
	}
	if b := a.standing(ctx, *server); b != nil && b.Issuer != "" {
		pinned := *o
		pinned.Issuer = b.Issuer
		server.OAuth = &pinned
	}
}

// tellKept says of entries that are gone what is still kept for their URLs, and how to forget it.
func (a *app) tellKept(ctx context.Context, gone, left []config.Server) {
	if a.json() {
		return
	}
	for _, s := range gone {
		b := a.standing(ctx, s)
		if b == nil || b.Kept == "" {
			continue
		}
		used := false
		for _, other := range left {
			used = used || other.URL == s.URL
		}
		if !used {
			s.Name = urlServer(s.URL).Name
			a.note("its login at " + render.OneLine(b.Issuer) + " is kept; to forget it: " + line([]string{"logout", quoted([]string{s.Redacted().URL})[0]}))
		}
	}
}
