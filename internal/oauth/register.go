package oauth

// Who mcpctl is at an authorization server: a client that the user has registered, one that a document describes, or one
// that registers itself.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// identity is mcpctl as an authorization server knows it, and where its browser comes back to.
type identity struct {
	client Client
	back   *callback
	// reused is set for a client that was registered in another login.
	reused bool
}

// identify chooses the client: one that is configured, else the URL of a document where the server supports that, else
// one that registers itself, if need be. The listener is there before: its port is part of what is registered. See the MCP
// specification, 2026-07-28, "Client Registration".
func (a *Authorizer) identify(ctx context.Context, chain Chain, scopes []string) (identity, error) {
	o, s := a.oauth(), chain.Server
	var known Client
	switch {
	case o.ClientID != "":
		a.secret(o.ClientSecret)
		known = Client{ID: o.ClientID, Secret: o.ClientSecret}
		switch {
		case o.ClientSecret != "":
		case o.PrivateKey != "":
			known.Method = methodKey
		default:
			known.Method = methodNone
		}
	case o.ClientMetadataURL != "" && s.ClientIDMetadataDocument:
		known = Client{ID: o.ClientMetadataURL, Method: methodNone}
		if o.PrivateKey != "" {
			known.Method = methodKey
		}
	default:
		return a.registered(ctx, chain, scopes)
	}
	back, err := listen(ctx, o.RedirectURI, o.RedirectPort)
	return identity{client: known, back: back}, err
}

// registered returns the client that was registered at the authorization server before, if the browser can still come back
// to where that one said, or else registers.
func (a *Authorizer) registered(ctx context.Context, chain Chain, scopes []string) (identity, error) {
	o, issuer := a.oauth(), chain.Server.Issuer
	if kept, ok := a.keptClient(ctx, issuer); ok {
		if back := a.listenAgain(ctx, kept); back != nil {
			return identity{client: kept, back: back, reused: true}, nil
		}
	}
	if chain.Server.RegistrationEndpoint == "" {
		e := failure(StepRegistration, Refused, nil, "%s lets no client register itself, and no client id is configured", shownIssuer(issuer))
		e.Hint = hintClient
		return identity{}, e
	}
	back, err := listen(ctx, o.RedirectURI, o.RedirectPort)
	if err != nil {
		return identity{}, err
	}
	client, err := a.register(ctx, chain, back.uri(), scopes)
	if err != nil {
		back.close()
		return identity{}, err
	}
	a.say(StepRegistration, "registered at %s as %s", shownIssuer(issuer), transport.Snippet([]byte(client.ID)))
	if a.o.Store != nil {
		if err := a.o.Store.SaveClient(ctx, issuer, client); err != nil {
			a.lose(StepStore, "the registration is not kept: %v", err)
		}
	}
	return identity{client: client, back: back}, nil
}

const hintClient = "register mcpctl there by hand and give its client id: oauth.client_id, or --client-id ID"

// keptClient returns the client that was registered in another login.
func (a *Authorizer) keptClient(ctx context.Context, issuer string) (Client, bool) {
	if a.o.Store == nil {
		return Client{}, false
	}
	c, ok, err := a.o.Store.LoadClient(ctx, issuer)
	if err != nil {
		a.lose(StepStore, "the client that was registered at %s cannot be read: %v", shownIssuer(issuer), err)
		return Client{}, false
	}
	a.secret(c.Secret)
	return c, ok && c.ID != "" && (c.SecretExpires.IsZero() || time.Until(c.SecretExpires) > personTime)
}

// listenAgain listens where a client said that it does. It returns nil if that cannot be, or is not what is configured.
func (a *Authorizer) listenAgain(ctx context.Context, c Client) *callback {
	o := a.oauth()
	if o.RedirectURI != "" || o.RedirectPort != 0 {
		back, err := listen(ctx, o.RedirectURI, o.RedirectPort)
		if err != nil {
			return nil // the same failure is told when it is tried for the registration
		}
		if !slices.Contains(c.RedirectURIs, back.uri()) {
			back.close()
			return nil
		}
		return back
	}
	for _, uri := range c.RedirectURIs {
		if back, err := listen(ctx, uri, 0); err == nil {
			return back
		}
	}
	return nil
}

// registerBound bounds one registration.
const registerBound = 10 * time.Second

// clientMetadata is what mcpctl says of itself. See RFC 7591, 2, and OpenID Connect Registration 1.0, 2.
type clientMetadata struct {
	Name            string   `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type"`
	Scope           string   `json:"scope,omitempty"`
}

// register registers mcpctl as a client. See RFC 7591, 3.
func (a *Authorizer) register(ctx context.Context, chain Chain, redirectURI string, scopes []string) (Client, error) {
	// Some servers give a client no scopes but those that it has registered for, so all that it may ever ask for are named.
	if chain.Resource != nil {
		scopes = union(scopes, chain.Resource.ScopesSupported)
	}
	m := clientMetadata{
		Name: "mcpctl", RedirectURIs: []string{redirectURI}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, AuthMethod: registeredMethod(chain.Server.AuthMethods), ApplicationType: "native",
		Scope: strings.Join(scopes, " "),
	}
	client, err := a.registerAs(ctx, chain, m)
	if err != nil && m.Scope != "" && err.Code == "invalid_client_metadata" {
		m.Scope = "" // others refuse one that they do not know, or any
		client, err = a.registerAs(ctx, chain, m)
	}
	if err != nil {
		return Client{}, err
	}
	if m.Scope != "" {
		client.Scopes = scopes
	}
	return client, nil
}

// registeredMethod is how mcpctl authenticates: not at all, as a program on somebody's machine keeps no secret from them,
// unless the server wants it. A server that does not say is taken to allow that.
func registeredMethod(supported []string) string {
	if len(supported) == 0 {
		return methodNone
	}
	for _, m := range []string{methodNone, methodBasic, methodPost} {
		if slices.Contains(supported, m) {
			return m
		}
	}
	return methodNone
}

// registration is what the authorization server answers. See RFC 7591, 3.2.
type registration struct {
	ClientID      string  `json:"client_id"`
	ClientSecret  string  `json:"client_secret"`
	SecretExpires float64 `json:"client_secret_expires_at"`
	AuthMethod    string  `json:"token_endpoint_auth_method"`
	AccessToken   string  `json:"registration_access_token"`

	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// registerAs makes one request for registration.
func (a *Authorizer) registerAs(ctx context.Context, chain Chain, m clientMetadata) (Client, *Error) {
	where := chain.Server.RegistrationEndpoint
	u, client, failed := a.way(StepRegistration, "registration endpoint", where, a.endpoint)
	if failed != nil {
		return Client{}, failed
	}
	body, err := json.Marshal(m)
	if err != nil {
		return Client{}, failure(StepRegistration, Config, err, "%v", err)
	}
	bound, cancel := context.WithTimeout(ctx, registerBound)
	defer cancel()
	req, err := http.NewRequestWithContext(bound, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Client{}, failure(StepRegistration, Invalid, err, "%v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return Client{}, cancelled(ctx, StepRegistration)
	case err != nil && bound.Err() != nil:
		return Client{}, failure(StepRegistration, Unreachable, err, "no answer from %s within %s", shownURL(where), registerBound)
	case err != nil:
		return Client{}, failure(StepRegistration, Unreachable, err, "%s: %v", shownURL(where), because(err))
	}
	defer func() { _ = resp.Body.Close() }()
	var answer registration
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostToken))
	readable := err == nil && json.Unmarshal(data, &answer) == nil
	a.secret(answer.ClientSecret, answer.AccessToken)
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		return Client{}, a.unregistered(chain, resp.StatusCode, answer)
	}
	if !readable || answer.ClientID == "" {
		what := "has no client_id in it"
		if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/html" {
			what = "is a web page (text/html)"
		}
		e := failure(StepRegistration, Invalid, nil, "the answer of %s %s", shownURL(where), what)
		e.Hint = hintClient
		if chain.Defaults {
			e.Message, e.Hint = unpublished(chain).Message+", and "+e.Message, unpublished(chain).Hint
		}
		return Client{}, e
	}
	c := Client{ID: answer.ClientID, Secret: answer.ClientSecret, Method: answer.AuthMethod, RedirectURIs: m.RedirectURIs}
	// What lies further off than anybody plans is taken as never, as it is with tokens.
	if at := answer.SecretExpires; at > 0 && c.Secret != "" && at < float64(time.Now().Add(longestToken).Unix()) {
		c.SecretExpires = time.Unix(int64(at), 0)
	}
	if c.Method == "" && (c.Secret == "" || slices.Contains(chain.Server.AuthMethods, m.AuthMethod)) {
		c.Method = m.AuthMethod
	}
	return c, nil
}

// unregistered is the failure of a registration that was refused.
func (a *Authorizer) unregistered(chain Chain, status int, answer registration) *Error {
	words := fmt.Sprintf("HTTP %d", status)
	if answer.Code != "" {
		words += ", " + bareCode(answer.Code)
	}
	if answer.Description != "" {
		words += ": " + transport.Snippet([]byte(answer.Description))
	}
	e := failure(StepRegistration, Refused, nil, "%s registers no client (%s)", shownURL(chain.Server.RegistrationEndpoint), words)
	e.Code, e.Hint = bareCode(answer.Code), hintClient
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		e.Reason, e.Hint = Unreachable, "try again later; or "+hintClient
	case chain.Defaults:
		none := unpublished(chain)
		e.Step, e.Message, e.Hint = none.Step, none.Message+", and "+e.Message, none.Hint
	}
	return e
}
