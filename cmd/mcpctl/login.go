package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type loginOptions struct{ serverFlags }

func newLoginCmd(a *app) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server with OAuth, in the browser",
		Long: `Log in to a server with OAuth: your browser opens at its authorization server,
and the answer comes back to mcpctl. The URL is printed, too. The login is saved
once the server itself has accepted it; until then, and if it fails, an earlier
login stays as it was. You have 5 minutes. With a grant that needs no person,
set in the entry or by --grant, no browser is opened.

If the browser is on another machine, as over ssh, open the URL there. It ends
at a page that cannot be reached: paste the address of that page here. Without a
terminal the URL is printed, and mcpctl waits for the login; --browser opens it
anyway.

Most commands log in by themselves when a server asks for it on a terminal. The
login is kept in the system's keyring, or in a file that only you can read.`,
		Example: `  mcpctl login search
  mcpctl login https://search.example/mcp --no-browser
  mcpctl login search -o json`,
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		o.register(flags)
	})
}

// loginDocument is the output of login.
type loginDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	// Needed is false for a server that can be used without a login; then there is nothing more to tell.
	Needed bool     `json:"needed"`
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes"`
	// ExpiresAt is when the token does, nil if nobody said so. It may be refreshed then.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Stored is where the login is kept: "keyring", or a file; "" if it could not be kept.
	Stored  string       `json:"stored"`
	Session *sessionBody `json:"session,omitempty"`
}

func (o *loginOptions) run(cmd *cobra.Command, a *app, args []string) error {
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("login takes one server, and got %q, too", rest[0]).hint("%s", usageLine(cmd))
	}
	if err := a.loginFits(server); err != nil {
		return err
	}
	ctx := cmd.Context()
	if server.URL == "" {
		return a.needsNoLogin(ctx, server, "it is a command, and what it needs is in its environment")
	}
	expanded, err := a.expand(server)
	if err != nil {
		return err
	}
	auth := a.authorization(expanded)
	if auth == nil {
		return &configError{server: server.Name, message: "the entry does not allow a login"}
	}
	a.warnUnverified(expanded)
	stop := a.live(server.Name + ": asking how to log in")
	err = auth.Login(ctx, nil)
	stop()
	if err != nil {
		if a.opensWithout(ctx, server, err) {
			return a.needsNoLogin(ctx, server, "it answers without one")
		}
		return &loginFailedError{server: server.Name, hint: a.loginHint(server, err), cause: err}
	}
	return a.with(ctx, server, func(s *session.Supervisor) error {
		stop := a.live(server.Name + ": opening it with the new login")
		defer stop()
		list, err := listTools(ctx, s, server.Name)
		if err != nil && session.ClassOf(err) == session.ClassAnswered {
			err = nil // it has no tools, and it has let us in
		}
		if err != nil {
			return err
		}
		state, err := auth.State(context.WithoutCancel(ctx))
		if err != nil {
			return &loginFailedError{server: server.Name, cause: err}
		}
		return a.loggedIn(ctx, server, s, len(list.Items), state)
	})
}

// loginFits refuses a login that the entry rules out.
func (a *app) loginFits(server config.Server) error {
	if server.URL == "" {
		return nil
	}
	name := toolargs.Quote(server.Name)
	if server.Auth == config.AuthNone {
		e := &configError{server: server.Name, message: "the entry says auth: none, and is never logged in to"}
		if e.hint = "for once: --auth auto"; !pasted.IsURL(server.Name) {
			e.hint = "mcpctl " + a.configWords() + "set " + name + " auth=auto, or for once: --auth auto"
		}
		return e
	}
	for _, header := range sortedKeys(server.Headers) {
		if strings.EqualFold(header, "Authorization") {
			e := &configError{server: server.Name, message: "there is a credential in the header " + header + ", which is what the server gets"}
			if e.hint = "to log in instead, leave it out"; !pasted.IsURL(server.Name) {
				e.hint = "to log in instead, remove it: mcpctl " + a.configWords() + "set " + name + " headers." + header + "="
			}
			return e
		}
	}
	return nil
}

// opensWithout reports whether a server that publishes nothing about a login can be used without one.
func (a *app) opensWithout(ctx context.Context, server config.Server, err error) bool {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Reason != oauth.Refused || e.Step != oauth.StepResource {
		return false
	}
	stop := a.live(server.Name + ": opening it without a login")
	defer stop()
	s, err := a.supervise(a.dialer(), server)
	if err != nil {
		return false
	}
	_, err = listTools(ctx, s, server.Name)
	a.release(ctx, server.Name, s, err)
	return err == nil || session.ClassOf(err) == session.ClassAnswered
}

// loginHint is the next step after a login that failed, "" if the failure itself says it: what a server that publishes nothing
// about a login probably wants, what shows more, or the login again.
func (a *app) loginHint(server config.Server, err error) string {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		return ""
	}
	switch {
	case e.Reason == oauth.Refused && e.Step == oauth.StepResource:
		return a.staticHint(server)
	case e.Hint != "" || e.Reason == oauth.NeedsLogin || e.Reason == oauth.Cancelled || e.Reason == oauth.Config:
		return ""
	case e.Reason == oauth.TimedOut && e.Step == oauth.StepChallenge:
		return "to see each step: " + a.serverLine("doctor", server)
	case e.Reason == oauth.TimedOut, e.Reason == oauth.Refused && e.Step == oauth.StepCallback:
		return "to try again: " + a.serverLine("login", server)
	case e.Reason == oauth.Unreachable && e.Step != oauth.StepChallenge:
		return "try again in a while; to see each step: " + a.serverLine("doctor", server)
	}
	return "to see each step: " + a.serverLine("doctor", server)
}

// staticHint says how a server that publishes nothing about a login gets what it probably wants.
func (a *app) staticHint(server config.Server) string {
	if pasted.IsURL(server.Name) {
		return "it probably wants a static token: --header 'Authorization: Bearer ${TOKEN}'"
	}
	return "it probably wants a static token: mcpctl " + a.configWords() + "set " + toolargs.Quote(server.Name) +
		" headers.Authorization='Bearer ${TOKEN}'"
}

func (a *app) needsNoLogin(ctx context.Context, server config.Server, why string) error {
	if a.json() {
		return a.print(ctx, loginDocument{Version: documentVersion, Server: server.Name, Scopes: []string{}})
	}
	return a.writeLine(fmt.Sprintf("%s needs no login: %s\n", render.OneLine(server.Name), why))
}

// loggedIn tells of a login that counts.
func (a *app) loggedIn(ctx context.Context, server config.Server, s *session.Supervisor, tools int, state oauth.State) error {
	info := s.Stats().Info
	if a.json() {
		doc := loginDocument{
			Version: documentVersion, Server: server.Name, Needed: true, Issuer: state.Issuer,
			Scopes: append([]string{}, state.Scopes...), Stored: state.Where, Session: a.sessionBody(),
		}
		if !state.Expires.IsZero() {
			expires := state.Expires.UTC().Truncate(time.Second)
			doc.ExpiresAt = &expires
		}
		return a.print(ctx, doc)
	}
	var b strings.Builder
	width := a.screen().Width
	say := func(key, value string) {
		const indent = "           " // of what follows the keys
		text := render.Wrap(render.OneLine(value), width, indent)
		fmt.Fprintf(&b, "  %-9s%s\n", key, strings.TrimPrefix(text, indent))
	}
	b.WriteString(render.Wrap("logged in to "+render.OneLine(server.Name), width, "") + "\n")
	about := strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
	if about == "" {
		about = "it does not say its name"
	}
	say("server", fmt.Sprintf("%s, %s", about, plural(tools, "tool")))
	say("issuer", state.Issuer)
	if len(state.Scopes) > 0 {
		say("scopes", strings.Join(state.Scopes, " "))
	}
	say("until", untilWords(time.Now(), state.Expires))
	switch state.Where {
	case "":
		say("kept in", "nothing: it holds for this run alone")
	case "keyring":
		say("kept in", "the system's keyring")
	default:
		say("kept in", state.Where)
	}
	return a.writeLine(b.String())
}

// untilWords says how long a login is good for.
func untilWords(now, expires time.Time) string {
	if expires.IsZero() {
		return "the server refuses it: nobody said when"
	}
	at := expires.In(now.Location())
	layout := "15:04"
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		layout = "Jan 2 2006 15:04"
	}
	left := expires.Sub(now).Round(time.Second)
	if left > 2*time.Minute {
		left = left.Round(time.Minute)
	}
	return fmt.Sprintf("%s, for %s", at.Format(layout), shortDuration(left))
}

// loginFailedError is a login that failed before the server itself was opened.
type loginFailedError struct {
	server string
	// phase is "login" or "logout", "" for the first.
	phase string
	// hint is the next step, if the cause does not say it better.
	hint  string
	cause error
}

func (e *loginFailedError) Error() string {
	return e.server + ": " + e.during() + ": " + e.cause.Error()
}
func (e *loginFailedError) during() string { return cmp.Or(e.phase, "login") }
func (e *loginFailedError) Unwrap() error  { return e.cause }

// loginFailure is a login that failed, as the process reports it.
func loginFailure(e *loginFailedError) failure {
	denied, ok := errors.AsType[*oauth.Error](e.cause)
	if !ok {
		denied = &oauth.Error{Reason: oauth.Refused, Message: e.cause.Error()}
	}
	class := classAuth
	switch denied.Reason {
	case oauth.Unreachable:
		class = classConnect
	case oauth.Config:
		class = classConfig
	case oauth.TimedOut:
		class = classTimeout
	case oauth.Cancelled:
		class = classInterrupted
	case oauth.NeedsLogin, oauth.Refused, oauth.Invalid:
	}
	hint := e.hint
	if hint == "" {
		hint = denied.Hint
	}
	if hint == "" && denied.Reason == oauth.NeedsLogin {
		hint = "somebody has to log in: run it without --no-input"
	}
	if hint == "" && denied.Reason == oauth.Unreachable {
		hint = "try again in a while; an earlier login is as it was"
	}
	f := newFailure(class, e.cause.Error(), nonEmpty(hint)...)
	f.said = e.Error()
	if class == classInterrupted {
		f.said, f.Message = e.server+": interrupted: no login, and an earlier one is as it was", "interrupted"
	}
	f.Server, f.Phase = e.server, e.during()
	f.Retryable = denied.Reason == oauth.Unreachable || denied.Reason == oauth.TimedOut && denied.Step == oauth.StepChallenge
	if l := denied.Limit; l.Value > 0 {
		f.Limit = &limitBody{Name: l.Name, ValueMS: l.Value.Milliseconds(), Source: l.Source}
	}
	return f
}
