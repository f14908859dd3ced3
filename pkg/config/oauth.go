package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// This file holds the values that say how one logs in to an HTTP server. What is done with them is decided where
// tokens are asked for; nothing here opens a file or knows a network.

// Auth says when a login may begin.
type Auth string

// The values of an entry's auth.
const (
	// AuthAuto logs in when the server asks for authorization. It is what an entry without the key means.
	AuthAuto Auth = "auto"
	// AuthNone never logs in: what the headers hold is all that the server gets.
	AuthNone Auth = "none"
	// AuthOAuth is for a server that is known to need a login.
	AuthOAuth Auth = "oauth"
)

// ParseAuth returns the value of auth of that name.
func ParseAuth(s string) (Auth, error) {
	switch a := Auth(s); a {
	case AuthAuto, AuthNone, AuthOAuth:
		return a, nil
	}
	return "", fmt.Errorf("%q is no way to authorize; write auto, none or oauth", s)
}

// Grant says how a token is got.
type Grant string

// The values of oauth.grant.
const (
	// GrantCode sends a person to a browser (RFC 6749, section 4.1, with PKCE). It is what an entry without the key means.
	GrantCode Grant = "authorization_code"
	// GrantClient is for a program by itself (RFC 6749, section 4.4): with a client secret, or a key (RFC 7523, section 2.2).
	GrantClient Grant = "client_credentials"
	// GrantJWTBearer shows an assertion that another party has signed (RFC 7523, section 2.1): the identity of a workload.
	GrantJWTBearer Grant = "jwt_bearer"
	// GrantEnterprise lets a company's identity provider decide: a token exchange there (RFC 8693), then GrantJWTBearer.
	GrantEnterprise Grant = "enterprise_managed"
)

func grants() []Grant { return []Grant{GrantCode, GrantClient, GrantJWTBearer, GrantEnterprise} }

// OAuth are the values for a login that the server does not say itself. The zero value leaves all to it. In the texts
// references are expanded, except in Grant.
type OAuth struct {
	// ClientID is that of a client that is registered at the authorization server, "" to register one, or to use
	// ClientMetadataURL.
	ClientID string
	// ClientSecret is that client's secret, "" for a public client.
	ClientSecret string
	// ClientMetadataURL is the https URL of a document about the client, which is its id where the authorization server
	// supports that (MCP specification, 2025-11-25, "Client ID Metadata Documents").
	ClientMetadataURL string
	// Issuer is the authorization server that the client belongs to, "" for whichever the server names first. What is
	// configured is shown to no other.
	Issuer string
	// Scopes are asked for in place of those that the server names; nil for the server's.
	Scopes []string
	// Grant says how a token is got, "" for [GrantCode].
	Grant Grant
	// PrivateKey signs the client's assertions (private_key_jwt): the name of a PEM file, or the PEM text itself, as a
	// reference may bring it. Relative names start in the working directory, as those of tls do.
	PrivateKey string
	// Assertion is the signed statement for [GrantJWTBearer], a JSON Web Token. It is secret.
	Assertion string
	// RedirectURI is where the browser comes back to, when the registration demands one: http on localhost or 127.0.0.1.
	// RedirectPort demands the port alone; 0 for a free one. At most one of the two is set.
	RedirectURI  string
	RedirectPort int
	// DPoP binds tokens to a key of ours (RFC 9449) even if the server does not ask for it.
	DPoP bool
	// IDP is the identity provider for [GrantEnterprise].
	IDP IDP
}

// IDP is a company's identity provider, which issues the assertion for the server's own authorization server. See the
// MCP extension "Enterprise-Managed Authorization".
type IDP struct {
	// Issuer is the provider's URL, from which its token endpoint is learnt.
	Issuer string
	// TokenEndpoint is the URL itself, for a provider without metadata.
	TokenEndpoint string
	// ClientID and ClientSecret are those of mcpctl at the provider.
	ClientID, ClientSecret string
	// IDToken is the person's, as the provider has signed it. It is secret.
	IDToken string
}

// oauthKeys and idpKeys return the keys in the order in which they are written.
func oauthKeys() []string {
	return []string{
		"client_id", "client_secret", "client_metadata_url", "issuer", "scopes", "grant", "private_key", "assertion",
		"redirect_uri", "redirect_port", "dpop", "idp",
	}
}

func idpKeys() []string {
	return []string{"issuer", "token_endpoint", "client_id", "client_secret", "id_token"}
}

// clone returns a copy that shares nothing with o.
func (o *OAuth) clone() *OAuth {
	if o == nil {
		return nil
	}
	out := *o
	out.Scopes = slices.Clone(o.Scopes)
	return &out
}

// oauthText is a text of oauth in which references are expanded.
type oauthText struct {
	place string
	value *string
	// secret is set where the value is one, whatever it is.
	secret bool
}

// texts returns the values in which references are expanded, in the order of the keys.
func (o *OAuth) texts() []oauthText {
	if o == nil {
		return nil
	}
	texts := []oauthText{
		{"oauth.client_id", &o.ClientID, false},
		{"oauth.client_secret", &o.ClientSecret, true},
		{"oauth.client_metadata_url", &o.ClientMetadataURL, false},
		{"oauth.issuer", &o.Issuer, false},
	}
	for i := range o.Scopes {
		texts = append(texts, oauthText{fmt.Sprintf("oauth.scopes[%d]", i), &o.Scopes[i], false})
	}
	return append(texts,
		oauthText{"oauth.private_key", &o.PrivateKey, false},
		oauthText{"oauth.assertion", &o.Assertion, true},
		oauthText{"oauth.redirect_uri", &o.RedirectURI, false},
		oauthText{"oauth.idp.issuer", &o.IDP.Issuer, false},
		oauthText{"oauth.idp.token_endpoint", &o.IDP.TokenEndpoint, false},
		oauthText{"oauth.idp.client_id", &o.IDP.ClientID, false},
		oauthText{"oauth.idp.client_secret", &o.IDP.ClientSecret, true},
		oauthText{"oauth.idp.id_token", &o.IDP.IDToken, true},
	)
}

// placed returns the texts with their places.
func (o *OAuth) placed() []placedText {
	var texts []placedText
	for _, t := range o.texts() {
		texts = append(texts, placedText{key: t.place, value: *t.value})
	}
	return texts
}

// literalSecret reports whether a secret is written out in the text, in the place of a reference.
func (t oauthText) literalSecret() bool {
	if t.secret {
		return literalSecret("secret", *t.value)
	}
	return LooksSecretValue(*t.value)
}

// auth reads the key of that name.
func (e *entry) auth(s *Server, f field) {
	word := e.text(f)
	if word == "" {
		return
	}
	auth, err := ParseAuth(word)
	if err != nil {
		e.fail(f.value, f.name, err.Error(), "")
	}
	s.Auth = auth
}

// oauth reads the mapping of that name.
func (e *entry) oauth(s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "write {client_id: ID}")
		return
	}
	o := &OAuth{}
	for _, f := range e.fields(f.value, "oauth") {
		key := below("oauth", f.name)
		e.at.set(key, f.key)
		at := field{key, f.key, f.value}
		switch f.name {
		case "client_id":
			o.ClientID = e.identifier(at)
		case "client_secret":
			o.ClientSecret = e.text(at)
		case "client_metadata_url":
			o.ClientMetadataURL = e.text(at)
		case "issuer":
			o.Issuer = e.text(at)
		case "scopes":
			o.Scopes = e.scopes(at)
		case "grant":
			o.Grant = Grant(e.text(at))
		case "private_key":
			o.PrivateKey = e.text(at)
		case "assertion":
			o.Assertion = e.text(at)
		case "redirect_uri":
			o.RedirectURI = e.text(at)
		case "redirect_port":
			o.RedirectPort = e.port(at)
		case "dpop":
			o.DPoP = e.boolean(at, false)
		case "idp":
			e.idp(s, &o.IDP, at)
		default:
			e.unknown(f, key, oauthKeys(), oauthHint(f.name))
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
	s.OAuth = o
}

// idp reads the mapping of that name below oauth.
func (e *entry) idp(s *Server, p *IDP, f field) {
	path := f.name
	for _, f := range e.fields(f.value, path) {
		key := below(path, f.name)
		e.at.set(key, f.key)
		at := field{key, f.key, f.value}
		switch f.name {
		case "issuer":
			p.Issuer = e.text(at)
		case "token_endpoint":
			p.TokenEndpoint = e.text(at)
		case "client_id":
			p.ClientID = e.identifier(at)
		case "client_secret":
			p.ClientSecret = e.text(at)
		case "id_token":
			p.IDToken = e.text(at)
		default:
			e.unknown(f, key, idpKeys(), "")
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
}

// identifier reads a text that often consists of digits alone, which need no quotes.
func (e *entry) identifier(f field) string { return e.text(f, tagInt) }

// scopes reads the list of scopes.
func (e *entry) scopes(f field) []string {
	if f.value.Kind != yaml.SequenceNode {
		hint := "write [first, second]"
		if words := strings.Fields(f.value.Value); f.value.Kind == yaml.ScalarNode && len(words) > 1 {
			hint = "write [" + strings.Join(words, ", ") + "]"
		}
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), hint)
		return nil
	}
	if len(f.value.Content) == 0 {
		e.fail(f.value, f.name, "is empty", "remove it to ask for the scopes that the server names")
	}
	return e.items(f.value, f.name)
}

// port reads the number of a TCP port.
func (e *entry) port(f field) int {
	n, err := strconv.Atoi(f.value.Value)
	if f.value.Kind != yaml.ScalarNode || f.value.ShortTag() != tagInt {
		e.fail(f.value, f.name, "want a number, found "+describe(f.value), "")
		return 0
	}
	if err != nil || n < 1 || n > 65535 {
		e.fail(f.value, f.name, f.value.Value+": the port is not between 1 and 65535", "")
		return 0
	}
	return n
}

// oauthHint translates a key that other tools use and that does not resemble ours.
func oauthHint(key string) string {
	switch key {
	case "clientId", "id", "client":
		return `write "client_id"`
	case "clientSecret", "secret":
		return `write "client_secret"`
	case "scope":
		return `write "scopes", with a list`
	case "grant_type", "grantType", "flow":
		return `write "grant"`
	case "key_file", "private_key_file", "privateKey":
		return `write "private_key"`
	case "callback_port", "callbackPort", "port":
		return `write "redirect_port"`
	case "redirectUri", "redirect_url", "callback_url":
		return `write "redirect_uri"`
	case "token_endpoint", "id_token":
		return `write it below "idp"; what the server itself uses is learnt from it`
	case "authorization_server":
		return `write "issuer"`
	case "resource", "authorization_endpoint":
		return "remove it: it is learnt from the server"
	}
	return ""
}

// authProblems says what is wrong with auth and oauth, without printing a value that may be secret.
func (s *Server) authProblems() []problem {
	var found []problem
	add := func(key, message, hint string) {
		found = append(found, problem{key: key, message: message, hint: hint})
	}
	missing := func(key, message, hint string) {
		found = append(found, problem{key: key, message: message, hint: hint, missing: true})
	}
	if _, err := ParseAuth(string(s.Auth)); s.Auth != "" && err != nil {
		add("auth", fmt.Sprintf("%q is no way to authorize", string(s.Auth)), "write auto, none or oauth")
	}
	if s.Command != "" && s.URL == "" {
		const unfit, hint = "belongs to a url, and this entry starts a command", "give the command its credential in env"
		if s.Auth == AuthOAuth {
			add("auth", unfit, hint)
		}
		if s.OAuth != nil {
			add("oauth", unfit, hint)
		}
		return found
	}
	if s.Auth == AuthOAuth {
		for name := range s.Headers {
			if strings.EqualFold(name, "Authorization") {
				add("auth", "oauth gets a token by a login, and headers."+name+" is one already", "remove one of them: a server gets one credential")
			}
		}
	}
	o := s.OAuth
	if o == nil {
		return found
	}
	for _, t := range o.texts() {
		lines := t.place == "oauth.private_key" && isPEM(*t.value)
		if !lines && strings.ContainsFunc(*t.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			add(t.place, "holds a line break or another control character", "remove it; a token read from a file may end in one")
		}
	}
	for i, scope := range o.Scopes {
		if message := scopeProblem(scope); message != "" {
			add(fmt.Sprintf("oauth.scopes[%d]", i), message, "write each scope by itself: [first, second]")
		}
	}
	if o.Grant != "" && !slices.Contains(grants(), o.Grant) {
		add("oauth.grant", fmt.Sprintf("%q is not a grant", string(o.Grant)), "write authorization_code, client_credentials, jwt_bearer or enterprise_managed")
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		missing("oauth.client_secret", "is set without oauth.client_id", "set both")
	}
	if o.IDP.ClientSecret != "" && o.IDP.ClientID == "" {
		missing("oauth.idp.client_secret", "is set without oauth.idp.client_id", "set both")
	}
	switch o.Grant {
	case GrantClient:
		if o.ClientID == "" || o.ClientSecret == "" && o.PrivateKey == "" {
			missing("oauth.grant", "client_credentials needs client_id, and client_secret or private_key", "set them")
		}
	case GrantJWTBearer:
		if o.Assertion == "" && o.PrivateKey == "" {
			missing("oauth.grant", "jwt_bearer needs an assertion, or a private_key to sign one", "set one of them")
		}
	case GrantEnterprise:
		if o.IDP.Issuer == "" && o.IDP.TokenEndpoint == "" {
			missing("oauth.grant", "enterprise_managed needs idp.issuer or idp.token_endpoint", "set one of them")
		}
	case GrantCode, "":
	}
	if o.RedirectPort < 0 || o.RedirectPort > 65535 {
		add("oauth.redirect_port", "the port is not between 1 and 65535", "")
	}
	if o.RedirectURI != "" && o.RedirectPort != 0 {
		add("oauth.redirect_port", "oauth.redirect_uri and oauth.redirect_port are both set", "keep one of them: the URI has a port too")
	}
	if message, hint := redirectProblem(o.RedirectURI); message != "" {
		add("oauth.redirect_uri", message, hint)
	}
	if message, hint := webProblem(o.ClientMetadataURL, "https"); message != "" {
		add("oauth.client_metadata_url", message, hint)
	}
	for _, t := range []placedText{{key: "oauth.issuer", value: o.Issuer}, {key: "oauth.idp.issuer", value: o.IDP.Issuer}, {key: "oauth.idp.token_endpoint", value: o.IDP.TokenEndpoint}} {
		if message, hint := webProblem(t.value, "https", "http"); message != "" {
			add(t.place(), message, hint)
		}
	}
	return found
}

// scopeProblem says why a text is no scope (RFC 6749, section 3.3). References stand for something not known yet.
func scopeProblem(scope string) string {
	scope = maskReferences(scope, "x")
	switch {
	case scope == "":
		return "is empty"
	case strings.ContainsAny(scope, " \t"):
		return "holds a space, which parts two scopes"
	case strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }):
		return "holds a character that no scope has"
	}
	return ""
}

// redirectProblem says why a browser cannot come back to a URL: the listener is on this machine.
func redirectProblem(raw string) (message, hint string) {
	const example = "write it as http://127.0.0.1:8765/callback"
	if raw == "" || strings.HasPrefix(raw, "${") {
		return "", ""
	}
	u, err := url.Parse(maskReferences(raw, "1"))
	switch {
	case err != nil:
		return "is no URL", example
	case u.Scheme != "http":
		return "must begin with http://, as the listener is on this machine", example
	case u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1":
		return "the host must be localhost or 127.0.0.1, where the listener is", example
	case u.Port() != "" && !validPort(u.Port()):
		return "the port is not between 1 and 65535", example
	case u.Fragment != "" || u.User != nil:
		return "must not have a # or a user name in it", example
	}
	return "", ""
}

// webProblem says why a text is not the URL of a place on the web, without printing it.
func webProblem(raw string, schemes ...string) (message, hint string) {
	if raw == "" || strings.HasPrefix(raw, "${") {
		return "", ""
	}
	example := "write it as " + schemes[0] + "://host/path"
	u, err := url.Parse(maskReferences(raw, "1"))
	switch {
	case err != nil:
		return "is no URL", example
	case !slices.Contains(schemes, strings.ToLower(u.Scheme)):
		return "must begin with " + strings.Join(schemes, ":// or ") + "://", example
	case u.Hostname() == "":
		return "has no host", example
	case u.User != nil:
		return "has a user name or password in it", "remove it"
	}
	return "", ""
}

// isPEM reports whether a text is a key itself, not the name of its file.
func isPEM(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "-----BEGIN ") }

// expandOAuth expands the values of oauth. One that comes out empty is an error: the login would be another one.
func (x *expansion) expandOAuth(out *Server) {
	for _, t := range out.OAuth.texts() {
		written := placedText{key: t.place, value: *t.value}
		if written.value == "" {
			continue
		}
		wrong := len(x.errs) + len(x.unset)
		if t.place == "oauth.private_key" {
			*t.value = x.expandKey(written)
		} else {
			value := x.expand(written)
			*t.value = value.text
			_, name, _ := strings.Cut(t.place, ".")
			if t.secret {
				x.secret(value.text)
			}
			x.noteSecret(name, value)
		}
		if *t.value == "" && len(x.errs)+len(x.unset) == wrong {
			x.fail(t.place, "is empty: its variable holds nothing")
		}
	}
}

// expandKey expands the private key: a name of a file is no secret, the text of a key is one.
func (x *expansion) expandKey(t placedText) string {
	value := x.withHome(t)
	if isPEM(value) {
		x.secret(value)
	}
	return value
}

// redact masks what is written out and secret.
func (o *OAuth) redact() {
	for _, t := range o.texts() {
		if t.literalSecret() {
			*t.value = masked
		}
	}
}

// oauthNode returns the oauth key as it is written, nil for nothing that is set.
func oauthNode(o *OAuth) *yaml.Node {
	if o == nil {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	put := func(key string, value *yaml.Node) { n.Content = append(n.Content, textNode(key), value) }
	for _, key := range oauthKeys() {
		switch key {
		case "client_id":
			putText(put, key, o.ClientID)
		case "client_secret":
			putText(put, key, o.ClientSecret)
		case "client_metadata_url":
			putText(put, key, o.ClientMetadataURL)
		case "issuer":
			putText(put, key, o.Issuer)
		case "scopes":
			if len(o.Scopes) > 0 {
				put(key, listNode(o.Scopes))
			}
		case "grant":
			putText(put, key, string(o.Grant))
		case "private_key":
			putText(put, key, o.PrivateKey)
		case "assertion":
			putText(put, key, o.Assertion)
		case "redirect_uri":
			putText(put, key, o.RedirectURI)
		case "redirect_port":
			if o.RedirectPort != 0 {
				put(key, numberNode(o.RedirectPort))
			}
		case "dpop":
			if o.DPoP {
				put(key, boolNode(true))
			}
		case "idp":
			if m := idpNode(o.IDP); m != nil {
				put(key, m)
			}
		}
	}
	return filled(n)
}

func idpNode(p IDP) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	put := func(key string, value *yaml.Node) { n.Content = append(n.Content, textNode(key), value) }
	for i, value := range []string{p.Issuer, p.TokenEndpoint, p.ClientID, p.ClientSecret, p.IDToken} {
		putText(put, idpKeys()[i], value)
	}
	return filled(n)
}
