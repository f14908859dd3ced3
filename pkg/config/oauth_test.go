package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fullOAuth returns an entry with every key of oauth.
func fullOAuth() Server {
	return Server{
		Name: "s", URL: "https://x.example/mcp", Transport: TransportAuto, Enabled: true, Auth: AuthOAuth,
		OAuth: &OAuth{
			ClientID: "${ID}", ClientSecret: "${SECRET}", ClientMetadataURL: "https://c.example/client.json", Issuer: "https://as.example",
			Scopes: []string{"read", "${SCOPE}"}, Grant: GrantEnterprise, PrivateKey: "~/key.pem", Assertion: "${ASSERTION}",
			RedirectURI: "http://127.0.0.1:8765/cb", DPoP: true,
			IDP: IDP{
				Issuer: "https://idp.example", TokenEndpoint: "https://idp.example/token", ClientID: "77", ClientSecret: "${IDP_SECRET}",
				IDToken: "${keyring:idp/me}",
			},
		},
	}
}

func TestOAuthIsKeptByEdits(t *testing.T) {
	want := fullOAuth()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := Edit(path, func(d *Document) error { return d.Add(want) }); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := cfg.Server("s")
	if got.Err != nil || got.Auth != want.Auth || !reflect.DeepEqual(got.OAuth, want.OAuth) {
		t.Errorf("%v\ngot  %+v\nwant %+v", got.Err, got.OAuth, want.OAuth)
	}
	for _, key := range oauthKeys() {
		if key != "redirect_port" && got.Sources["oauth."+key].Kind != "entry" {
			t.Errorf("%s has no source", key)
		}
	}
	for _, key := range idpKeys() {
		if got.Sources["oauth.idp."+key].Kind != "entry" {
			t.Errorf("idp.%s has no source", key)
		}
	}
	got.OAuth.Scopes[0] = "other"
	if again, _ := cfg.Server("s"); again.OAuth.Scopes[0] != "read" {
		t.Error("a copy shares its scopes")
	}
	port := Server{Name: "p", URL: "https://x/", Enabled: true, Auth: AuthNone, OAuth: &OAuth{RedirectPort: 4000}}
	if err := Edit(path, func(d *Document) error { return d.Add(port) }); err != nil {
		t.Fatal(err)
	}
	cfg, err = Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := cfg.Server("p"); p.Err != nil || p.OAuth.RedirectPort != 4000 || p.Auth != AuthNone {
		t.Errorf("%+v", p)
	}
}

func TestOAuthIsExpanded(t *testing.T) {
	env := Environment{
		Home: "/home/u",
		Lookup: lookupIn(map[string]string{
			"ID": "client-1", "SECRET": "hunter22", "SCOPE": "write", "ASSERTION": "aaa.bbb", "IDP_SECRET": "swordfish",
		}),
		Keyring: func(string, string) (string, error) { return "id-token-1", nil },
	}
	out, secrets, err := fullOAuth().Expand(env)
	if err != nil {
		t.Fatal(err)
	}
	o := out.OAuth
	if o.ClientID != "client-1" || o.ClientSecret != "hunter22" || o.Scopes[1] != "write" || o.Assertion != "aaa.bbb" ||
		o.PrivateKey != "/home/u/key.pem" || o.IDP.ClientSecret != "swordfish" || o.IDP.IDToken != "id-token-1" {
		t.Errorf("%+v", o)
	}
	slices.Sort(secrets)
	if want := []string{"aaa.bbb", "client-1", "hunter22", "id-token-1", "swordfish", "write"}; !slices.Equal(secrets, want) {
		t.Errorf("got %q, want %q", secrets, want)
	}
	if s := fullOAuth(); s.OAuth.ClientID != "${ID}" {
		t.Error("the original was changed")
	}
	_, _, err = Server{Name: "s", URL: "https://x/", OAuth: &OAuth{ClientID: "${EMPTY}"}}.Expand(Environment{Lookup: lookupIn(map[string]string{"EMPTY": ""})})
	if err == nil || err.Error() != `server "s": key "oauth.client_id": is empty: its variable holds nothing` {
		t.Error(err)
	}
}

func TestOAuthLiteralSecrets(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"
	s := Server{Name: "s", URL: "https://x/", OAuth: &OAuth{
		ClientID: "me", ClientSecret: "hunter22", PrivateKey: key, Assertion: "one.two", RedirectPort: 1,
		IDP: IDP{ClientID: "me", ClientSecret: "swordfish", IDToken: "three.four"},
	}}
	var places []string
	for _, l := range s.LiteralSecrets() {
		places = append(places, l.Place)
	}
	want := []string{"oauth.client_secret", "oauth.private_key", "oauth.assertion", "oauth.idp.client_secret", "oauth.idp.id_token"}
	if !slices.Equal(places, want) {
		t.Errorf("got %q, want %q", places, want)
	}
	shown := s.Redacted().OAuth
	for _, text := range []string{shown.ClientSecret, shown.PrivateKey, shown.Assertion, shown.IDP.ClientSecret, shown.IDP.IDToken} {
		if text != masked {
			t.Errorf("%q is shown", text)
		}
	}
	if s.OAuth.ClientSecret != "hunter22" || shown.ClientID != "me" {
		t.Errorf("%+v", s.OAuth)
	}
	if out, secrets, err := s.Expand(Environment{}); err != nil || out.OAuth.PrivateKey != key || !slices.Contains(secrets, key) {
		t.Errorf("%q, %v", secrets, err)
	}
	refs := fullOAuth()
	if found := refs.LiteralSecrets(); len(found) > 0 || refs.Redacted().OAuth.ClientSecret != "${SECRET}" {
		t.Errorf("%+v", found)
	}
}

func TestParseOAuthErrors(t *testing.T) {
	tests := []struct{ entry, want string }{
		{"auth: oath", `4:11: server "s": key "auth": "oath" is no way to authorize; write auto, none or oauth`},
		{"auth: true", `4:11: server "s": key "auth": want text, found the boolean true`},
		{"oauth: yes please", `4:12: server "s": key "oauth": want a mapping, found text; write {client_id: ID}`},
		{"oauth: {clint_id: x}", `4:13: server "s": key "oauth.clint_id": unknown key; did you mean "client_id"?`},
		{"oauth: {scope: x}", `4:13: server "s": key "oauth.scope": unknown key; write "scopes", with a list`},
		{"oauth: {client_id: a, client_id: b}", `4:27: server "s": key "oauth.client_id": is defined twice, in lines 4 and 4; keep one`},
		{"oauth: {client_id: [a]}", `4:24: server "s": key "oauth.client_id": want text, found a list`},
		{"oauth: {client_secret: abc}", `4:13: server "s": key "oauth.client_secret": is set without oauth.client_id; set both`},
		{"oauth: {client_metadata_url: 'http://x/c'}", `4:13: server "s": key "oauth.client_metadata_url": must begin with https://; write it as https://host/path`},
		{"oauth: {issuer: as.example}", `4:13: server "s": key "oauth.issuer": must begin with https:// or http://; write it as https://host/path`},
		{"oauth: {authorization_server: x}", `4:13: server "s": key "oauth.authorization_server": unknown key; write "issuer"`},
		{"oauth: {scopes: read write}", `4:21: server "s": key "oauth.scopes": want a list, found text; write [read, write]`},
		{"oauth: {scopes: [read write]}", `4:22: server "s": key "oauth.scopes[0]": holds a space, which parts two scopes; write each scope by itself: [first, second]`},
		{"oauth: {scopes: []}", `4:21: server "s": key "oauth.scopes": is empty; remove it to ask for the scopes that the server names`},
		{"oauth: {grant: password}", `4:13: server "s": key "oauth.grant": "password" is not a grant; write authorization_code, client_credentials, jwt_bearer or enterprise_managed`},
		{"oauth: {grant: client_credentials}", `4:13: server "s": key "oauth.grant": client_credentials needs client_id, and client_secret or private_key; set them`},
		{"oauth: {grant: jwt_bearer}", `4:13: server "s": key "oauth.grant": jwt_bearer needs an assertion, or a private_key to sign one; set one of them`},
		{"oauth: {grant: enterprise_managed}", `4:13: server "s": key "oauth.grant": enterprise_managed needs idp.issuer or idp.token_endpoint; set one of them`},
		{"oauth: {private_key: 7}", `4:26: server "s": key "oauth.private_key": want text, found a number`},
		{"oauth: {assertion: ''}", `4:24: server "s": key "oauth.assertion": is empty; give it a value, or remove the key`},
		{"oauth: {redirect_uri: 'https://example.com/'}", `4:13: server "s": key "oauth.redirect_uri": must begin with http://, as the listener is on this machine; write it as http://127.0.0.1:8765/callback`},
		{"oauth: {redirect_uri: 'http://example.com/'}", `4:13: server "s": key "oauth.redirect_uri": the host must be localhost or 127.0.0.1, where the listener is; write it as http://127.0.0.1:8765/callback`},
		{"oauth: {redirect_port: many}", `4:28: server "s": key "oauth.redirect_port": want a number, found text`},
		{"oauth: {redirect_port: 70000}", `4:28: server "s": key "oauth.redirect_port": 70000: the port is not between 1 and 65535`},
		{"oauth: {redirect_port: 1, redirect_uri: 'http://localhost/'}", `4:13: server "s": key "oauth.redirect_port": oauth.redirect_uri and oauth.redirect_port are both set; keep one of them: the URI has a port too`},
		{"oauth: {dpop: maybe}", `4:19: server "s": key "oauth.dpop": want true or false, found text`},
		{"oauth: {idp: x}", `4:18: server "s": key "oauth.idp": want a mapping, found text`},
		{"oauth: {idp: {isuer: x}}", `4:19: server "s": key "oauth.idp.isuer": unknown key; did you mean "issuer"?`},
		{"oauth: {idp: {issuer: ftp://x}}", `4:19: server "s": key "oauth.idp.issuer": must begin with https:// or http://; write it as https://host/path`},
		{"oauth: {idp: {client_secret: abc}}", `4:19: server "s": key "oauth.idp.client_secret": is set without oauth.idp.client_id; set both`},
	}
	for _, test := range tests {
		t.Run(test.entry, func(t *testing.T) {
			s := entryOf(t, "url: https://x", test.entry)
			if want := "config.yaml:" + test.want; s.Err == nil || s.Err.Error() != want {
				t.Errorf("got  %v\nwant %v", s.Err, want)
			}
		})
	}
	for _, entry := range []string{"auth: oauth", "oauth: {dpop: true}"} {
		s := entryOf(t, "command: x", entry)
		if s.Err == nil || !strings.Contains(s.Err.Error(), "belongs to a url, and this entry starts a command; give the command its credential in env") {
			t.Errorf("%s: %v", entry, s.Err)
		}
	}
	for _, entry := range []string{"auth: none", "auth: auto", "oauth: {}", "oauth: {client_id: 123}", "oauth: {redirect_uri: 'http://localhost:${PORT}/'}"} {
		if s := entryOf(t, "url: https://x", entry); s.Err != nil {
			t.Errorf("%s: %v", entry, s.Err)
		}
	}
}
