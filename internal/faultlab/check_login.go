package faultlab

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// logIn goes the way from a challenge to a token without looking where it leads, uses the token, and refreshes it.
func (p *httpProbe) logIn() {
	p.initialize("bare")
	p.rpc("bare-call", 21, "tools/call", echoHi)
	p.session = ""
	const tenant = "/tenant"
	for _, path := range []string{
		resourceMetadataForMCP, resourceMetadata, authorizationMetadata, openIDConfiguration,
		authorizationMetadata + tenant, openIDConfiguration + tenant, tenant + openIDConfiguration,
	} {
		p.send("get "+path, http.MethodGet, p.server.Origin+path, "")
	}
	const back, verifier = "http://127.0.0.1:9/callback", "a-verifier-that-is-long-enough-for-the-rule-of-43"
	home, client := p.server.Origin, labClient
	for _, base := range []string{p.server.Origin, p.server.Origin + tenant, p.server.Other} {
		answer := p.send("register", http.MethodPost, base+"/register", `{"redirect_uris":[`+quote(back)+`]}`)
		if strings.HasPrefix(answer, "404") {
			continue
		}
		home = base
		client = textOf(answer, "client_id")
		break
	}
	sum := sha256.Sum256([]byte(verifier))
	resource := p.server.URL
	p.send("authorize", http.MethodGet, home+"/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {back}, "state": {"st-1"}, "scope": {"mcp:read mcp:call"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {resource},
	}.Encode(), "")
	code := ""
	if u, err := url.Parse(p.leads); err == nil {
		code = u.Query().Get("code")
	}
	ask := func(label string, form url.Values) string {
		form.Set("client_id", client)
		form.Set("resource", resource)
		return p.send(label, http.MethodPost, home+"/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	byCode := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "code_verifier": {verifier}}
	answer := ask("token", byCode)
	access := textOf(answer, "access_token")
	if access == "" {
		p.journal()
		return
	}
	p.c.check.header = map[string]string{"Authorization": "Bearer " + access}
	p.open()
	p.callTool()
	p.rpc("after", 22, "tools/call", echoHi)
	p.send("later", http.MethodGet, p.server.Origin+resourceMetadataForMCP, "")
	ask("again", byCode)
	byRefresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {textOf(answer, "refresh_token")}}
	ask("refreshed", byRefresh)
	ask("spent", byRefresh)
	p.journal()
}

// textOf returns a text in the JSON of an answer, "" if there is none.
func textOf(answer, key string) string {
	_, body, _ := strings.Cut(answer, " ")
	var doc map[string]any
	if json.Unmarshal([]byte(body), &doc) != nil {
		return ""
	}
	text, _ := doc[key].(string)
	return text
}
