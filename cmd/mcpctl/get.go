package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

func newGetCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME",
		Short: "Show one server, and where its values come from",
		Long: `Show one server of the configuration, with each value in effect and where it
comes from. Secrets are masked; variables are shown by name.`,
		Example: `  mcpctl get notes
  mcpctl get notes --jq .values.connect_timeout.source`,
		Aliases:           []string{"show", "describe"},
		Args:              oneName,
		ValidArgsFunction: a.completeEntries(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.get(cmd, args[0]) },
	}
}

// oneName wants the name of one entry.
func oneName(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("%s: no server named", cmd.CommandPath()).hint("%s", usageLine(cmd))
	case len(args) > 1:
		return usagef("%s takes one server, and got %q, too", cmd.CommandPath(), args[1]).hint("%s", usageLine(cmd))
	}
	return nil
}

// getDocument is the output of get.
type getDocument struct {
	Version int `json:"version"`
	serverBody
	Values map[string]valueBody `json:"values"`
	// Notes are what another client's file says and mcpctl has no place for.
	Notes []string `json:"notes,omitempty"`
}

// valueBody is one value and where it comes from.
type valueBody struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

func (a *app) get(cmd *cobra.Command, name string) error {
	c, err := a.loadConfig(cmd.Context())
	if err != nil {
		return err
	}
	server, ok := c.Server(name)
	if !ok {
		return a.notFound(cmd.Context(), c, name)
	}
	values, standing := valuesOf(server), a.standing(cmd.Context(), server)
	if a.json() {
		doc := getDocument{Version: documentVersion, serverBody: newServerBody(server), Values: map[string]valueBody{}, Notes: noteTexts(server)}
		doc.Authorization = standing
		for _, v := range values {
			doc.Values[v.key] = valueBody{v.value, v.source}
		}
		return a.print(cmd.Context(), doc)
	}
	t := render.Table{Columns: []render.Column{{Title: "key", Fixed: true}, {Title: "value"}, {Title: "source", Fixed: true}}}
	for _, v := range append(values, standingValues(standing, time.Now())...) {
		t.Rows = append(t.Rows, []render.Cell{{Text: v.key, Style: render.Strong}, {Text: v.text}, {Text: v.source, Style: render.Faint}})
	}
	if a.screen().Terminal {
		if _, err := io.WriteString(a.out(), a.screen().Paint(render.Strong, server.Name)+"\n\n"); err != nil {
			return err
		}
	}
	if err := t.Write(a.out(), a.screen()); err != nil {
		return err
	}
	if server.Foreign != nil {
		a.tellNotes(server.Name, server.Foreign.Notes)
	}
	a.tellUnreadable(standing)
	if server.Err != nil {
		f, _ := classify(server.Err, false)
		a.warn("mcpctl: warning: " + render.OneLine(f.said) + "\n")
	}
	return nil
}

// health adds the values of a call that shows a server's health, below key.
func health(key string, h config.Health, add func(key string, value any, text string)) {
	add(key+".tool", h.Tool, h.Tool)
	if len(h.Args) > 0 {
		add(key+".args", h.Args, string(h.Args))
	}
	x := h.Expect
	if x.IsError {
		add(key+".expect.is_error", true, "true")
	}
	if x.Contains != "" {
		add(key+".expect.contains", x.Contains, x.Contains)
	}
	if x.Matches != "" {
		add(key+".expect.matches", x.Matches, x.Matches)
	}
	if x.JQ != "" {
		add(key+".expect.jq", x.JQ, x.JQ)
	}
	if x.Equals != nil {
		add(key+".expect.equals", *x.Equals, *x.Equals)
	}
	if x.EqualsJSON != nil {
		add(key+".expect.equals", x.EqualsJSON, string(x.EqualsJSON))
	}
	if x.Within > 0 {
		ms := x.Within.Milliseconds()
		add(key+".expect.max_ms", ms, strconv.FormatInt(ms, 10))
	}
}

// oauthValues adds the values for a login.
func oauthValues(o *config.OAuth, add func(key string, value any, text string)) {
	if o == nil {
		return
	}
	text := func(key, value string) {
		if value != "" {
			add("oauth."+key, value, value)
		}
	}
	text("client_id", o.ClientID)
	text("client_secret", o.ClientSecret)
	text("client_metadata_url", o.ClientMetadataURL)
	text("issuer", o.Issuer)
	if len(o.Scopes) > 0 {
		add("oauth.scopes", o.Scopes, strings.Join(o.Scopes, " "))
	}
	text("grant", string(o.Grant))
	text("private_key", o.PrivateKey)
	text("assertion", o.Assertion)
	text("redirect_uri", o.RedirectURI)
	if o.RedirectPort != 0 {
		add("oauth.redirect_port", o.RedirectPort, strconv.Itoa(o.RedirectPort))
	}
	if o.DPoP {
		add("oauth.dpop", true, "true")
	}
	text("idp.issuer", o.IDP.Issuer)
	text("idp.token_endpoint", o.IDP.TokenEndpoint)
	text("idp.client_id", o.IDP.ClientID)
	text("idp.client_secret", o.IDP.ClientSecret)
	text("idp.id_token", o.IDP.IDToken)
}

// smoke adds the values of the smoke calls.
func smoke(calls []config.Smoke, add func(key string, value any, text string)) {
	for i, c := range calls {
		key := fmt.Sprintf("smoke[%d]", i)
		if c.Name != "" {
			add(key+".name", c.Name, c.Name)
		}
		health(key, c.Health, add)
	}
}

// entryValue is one value in force.
type entryValue struct {
	key    string
	value  any    // in a document
	text   string // for people
	source string
}

// valuesOf returns the values in force of an entry, secrets masked, in the order in which one would write them.
func valuesOf(original config.Server) []entryValue {
	s := original.Redacted()
	limits := session.LimitsFor(original)
	var values []entryValue
	add := func(key string, value any, text string) {
		top, _, _ := strings.Cut(key, ".")
		source, ok := s.Sources[key]
		if !ok {
			source = s.Sources[top]
		}
		values = append(values, entryValue{key, value, text, source.String()})
	}
	words := func(key string, list []string) {
		quoted := make([]string, len(list))
		for i, w := range list {
			quoted[i] = toolargs.Quote(w)
		}
		add(key, list, strings.Join(quoted, " "))
	}
	yesNo := func(key string, value bool) {
		text := "false"
		if value {
			text = "true"
		}
		add(key, value, text)
	}
	limit := func(l session.Limit) {
		text := shortDuration(l.Value)
		if l.Note != "" {
			text += " (" + l.Note + ")"
		}
		values = append(values, entryValue{l.Name, text, text, l.Source})
	}

	if s.Command != "" || s.URL == "" {
		add("command", s.Command, s.Command)
		if len(s.Args) > 0 {
			words("args", s.Args)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			add("env."+name, s.Env[name], s.Env[name])
		}
		if s.Foreign != nil && s.Foreign.EnvFile != "" {
			add("envFile", s.Foreign.EnvFile, s.Foreign.EnvFile)
		}
		switch {
		case s.InheritEnv.All:
			yesNo("inherit_env", true)
		case len(s.InheritEnv.Names) > 0:
			words("inherit_env", s.InheritEnv.Names)
		}
		if s.Cwd != "" {
			add("cwd", s.Cwd, s.Cwd)
		}
	}
	if s.URL != "" {
		add("url", s.URL, s.URL)
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			add("headers."+name, s.Headers[name], s.Headers[name])
		}
		if s.Auth != "" {
			add("auth", string(s.Auth), string(s.Auth))
		}
		oauthValues(s.OAuth, add)
		for _, file := range []struct{ key, value string }{
			{"tls.ca_file", s.TLS.CAFile},
			{"tls.cert_file", s.TLS.CertFile},
			{"tls.key_file", s.TLS.KeyFile},
			{"tls.server_name", s.TLS.ServerName},
		} {
			if file.value != "" {
				add(file.key, file.value, file.value)
			}
		}
		if s.TLS.InsecureSkipVerify {
			yesNo("tls.insecure_skip_verify", true)
		}
		if s.Proxy != "" {
			add("proxy", s.Proxy, s.Proxy)
		}
	}
	add("transport", string(s.Transport), string(s.Transport))
	protocol := s.Protocol
	if protocol == "" {
		protocol = "auto"
	}
	add("protocol", protocol, protocol)
	yesNo("enabled", s.Enabled)
	limit(limits.Connect)
	limit(limits.Request)
	limit(limits.MaxRequest)
	limit(limits.Wait)
	limit(limits.SessionWait)
	upkeep(original, add)
	if s.URL != "" {
		yesNo("skip_preflight", s.SkipPreflight)
	}
	if len(s.Tools.Include) > 0 {
		words("tools.include", s.Tools.Include)
	}
	if len(s.Tools.Exclude) > 0 {
		words("tools.exclude", s.Tools.Exclude)
	}
	if s.Health != nil {
		health("health", *s.Health, add)
	}
	smoke(s.Smoke, add)
	return values
}

// upkeep adds the values for a session that is held open, as far as the entry sets them: what is built in concerns
// programs that hold one for long.
func upkeep(s config.Server, add func(key string, value any, text string)) {
	u := session.UpkeepFor(s)
	number := func(key string, set, value int) {
		if set != 0 {
			add(key, value, strconv.Itoa(value))
		}
	}
	duration := func(key string, set, value time.Duration) {
		if set != 0 {
			text := shortDuration(value)
			add(key, text, text)
		}
	}
	switch {
	case s.Keepalive == config.Off:
		add("keepalive", "off", "off")
	case s.Keepalive != 0:
		text := shortDuration(u.Keepalive.Value)
		if u.Keepalive.Note != "" {
			text += " (" + u.Keepalive.Note + ")"
		}
		add("keepalive", text, text)
	}
	number("retry.initial", s.Retry.Initial, u.Initial)
	number("retry.reconnect", s.Retry.Reconnect, u.Reconnect)
	duration("retry.park_interval", s.Retry.ParkInterval, u.ParkInterval)
	duration("retry.max_backoff", s.Retry.MaxBackoff, u.MaxBackoff)
	number("breaker.threshold", s.Breaker.Threshold, u.Threshold)
	duration("breaker.cooldown", s.Breaker.Cooldown, u.Cooldown)
}
