package oauth

// What a server that wants authorization says of how to get it: a chain of documents, each of which names the next. It is
// read to explain a refusal, and to begin a login; no credential is sent.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Place is a URL at which a document was looked for, and what was found there.
type Place struct {
	URL string
	// Found is set when the document is there and can be used.
	Found bool
	// Says is what the URL answered, in words: "HTTP 404", "a web page (text/html)", "no JSON".
	Says string
	// Issuer is that of a document which is about another authorization server than the one that was asked for, "" else.
	Issuer string
	// Skew is how far the clock of whoever answered is ahead of this machine's, nil if the answer has no date.
	Skew *time.Duration

	// trouble is set when nothing can be said of the document: no answer, or an error of the server's own (5xx).
	trouble bool
	// other is set when the document is that of another issuer.
	other bool
}

// ResourceMetadata is how a protected server describes itself. See RFC 9728, 2.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	// DPoPRequired is set when the server takes only tokens that are bound to a key (RFC 9449).
	DPoPRequired bool `json:"dpop_bound_access_tokens_required"`
	// DPoPAlgorithms are those of proofs of possession, nil if it does not say.
	DPoPAlgorithms []string `json:"dpop_signing_alg_values_supported"`
}

// ServerMetadata is how an authorization server describes itself. See RFC 8414, 2.
type ServerMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	CodeChallengeMethods  []string `json:"code_challenge_methods_supported"`
	// AuthMethods are the ways in which clients authenticate at the token endpoint, nil if it does not say.
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	// AuthAlgorithms are those of the assertions by which they do (private_key_jwt), nil if it does not say.
	AuthAlgorithms []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	// DPoPAlgorithms are those of proofs of possession (RFC 9449, 5.1), nil for a server that binds no tokens.
	DPoPAlgorithms []string `json:"dpop_signing_alg_values_supported"`
	// AnswersIssuer is set when the answer to an authorization request says whose it is (RFC 9207).
	AnswersIssuer bool `json:"authorization_response_iss_parameter_supported"`
	// ClientIDMetadataDocument is set when a client may name itself by the URL of a document.
	ClientIDMetadataDocument bool `json:"client_id_metadata_document_supported"`
}

// Chain is what is known of how a server is protected.
type Chain struct {
	// Status is the status of the refusal: 401 or 403.
	Status int
	// Challenges are those of the refusal, in their order.
	Challenges []transport.Challenge
	// Resource is nil if the server does not describe itself. ResourcePlaces are all places that were asked.
	Resource       *ResourceMetadata
	ResourcePlaces []Place
	// Mismatch is the identifier in metadata that is about another resource than this server, "" if there is none.
	Mismatch string
	// Issuer is the authorization server that the resource metadata names: the first whose metadata may be used, or else
	// the first; "" if it names none.
	Issuer string
	// Server is nil if no metadata of the authorization server was found, or none that may be used.
	Server       *ServerMetadata
	ServerPlaces []Place
	// SlashOnly is set when the issuer in the metadata differs from the one that was asked for by a slash at the end.
	SlashOnly bool
	// Defaults is set when Server was not read anywhere: it holds the endpoints of a server of the year 2025 that publishes
	// nothing (MCP specification, 2025-03-26, "Fallbacks for Servers without Metadata Discovery").
	Defaults bool
}

const (
	// documentBound bounds one document of it.
	documentBound = 2 * time.Second
	// mostDocument bounds the size of a document, in bytes: they have some hundred.
	mostDocument = 64 << 10
)

const (
	resourceWellKnown = "/.well-known/oauth-protected-resource"
	serverWellKnown   = "/.well-known/oauth-authorization-server"
	openIDWellKnown   = "/.well-known/openid-configuration"
)

// mostAsked bounds how many authorization servers are asked: a resource has one, rarely two.
const mostAsked = 4

// Discover walks the chain that a refusal begins: the challenge, the metadata of the protected resource, the metadata of
// its authorization server. client is that of [Options]. No credential is sent. See the MCP specification, 2025-11-25,
// "Authorization", and RFC 9728 and 8414.
func Discover(ctx context.Context, server *url.URL, r transport.Refusal, client func(*url.URL) (*http.Client, error)) Chain {
	a := Chain{Status: r.Status, Challenges: r.Challenges}
	w := walk{endpoint: server, client: client}
	w.resource(ctx, &a)
	trouble := slices.ContainsFunc(a.ResourcePlaces, func(p Place) bool { return p.trouble })
	if a.Resource != nil || a.Mismatch == "" && r.Status == http.StatusUnauthorized && !trouble {
		_, asks := bearer(r.Challenges)
		w.server(ctx, &a, asks)
	}
	return a
}

// Unsafe says why nothing is sent to a URL that a server or its authorization server names, "" if it may be.
func Unsafe(raw string, server *url.URL) string {
	_, says := endpointURL(raw, server)
	return says
}

// walk is the walk along the documents of one server.
type walk struct {
	endpoint *url.URL
	client   func(*url.URL) (*http.Client, error)
}

// origin is the server's URL without its path.
func (w walk) origin() string {
	return (&url.URL{Scheme: w.endpoint.Scheme, Host: w.endpoint.Host}).String()
}

// resource looks for the metadata of the protected resource: where the challenge says, and else at the well-known places.
// See RFC 9728, 3.1 and 5.1, and the MCP specification, 2025-11-25, "Protected Resource Metadata Discovery Requirements".
func (w walk) resource(ctx context.Context, a *Chain) {
	var places []string
	if named := named(a.Challenges); named != "" {
		places = append(places, named)
	}
	if path := strings.TrimSuffix(w.endpoint.EscapedPath(), "/"); path != "" {
		places = append(places, w.origin()+resourceWellKnown+path)
	}
	places = append(places, w.origin()+resourceWellKnown)
	for i, place := range places {
		if slices.Contains(places[:i], place) {
			continue // the challenge names a well-known place
		}
		var doc ResourceMetadata
		p := w.fetch(ctx, place, &doc)
		switch {
		case p.Found && doc.Resource == "":
			p.Found, p.Says = false, "JSON without a resource"
		case p.Found && !covers(doc.Resource, w.endpoint):
			a.Mismatch = doc.Resource
			p.Found, p.Says = false, "it is about "+transport.Snippet([]byte(doc.Resource))
		}
		a.ResourcePlaces = append(a.ResourcePlaces, p)
		if p.Found {
			a.Resource = &doc
			return
		}
	}
}

// named is where the challenges say that the metadata is, "" if they do not.
func named(challenges []transport.Challenge) string {
	for _, c := range challenges {
		if place := c.Params["resource_metadata"]; place != "" {
			return place
		}
	}
	return ""
}

// covers reports whether a resource is the server, or what the server is a part of. A user name in it would only look like
// the host of somebody else, a fragment must not be there (RFC 8707, 2), and a query tells one server from another.
func covers(resource string, endpoint *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.User != nil || r.Fragment != "" || r.RawQuery != "" && r.RawQuery != endpoint.RawQuery || !transport.SameOrigin(r, endpoint) {
		return false
	}
	path, own := strings.TrimSuffix(r.Path, "/"), strings.TrimSuffix(endpoint.Path, "/")
	return own == path || strings.HasPrefix(own, path+"/")
}

// server looks for the authorization server: one that the resource names, or at the MCP server's origin. wanted says that
// the server is known to want a token.
func (w walk) server(ctx context.Context, a *Chain, wanted bool) {
	switch {
	case a.Resource == nil:
		w.atOrigin(ctx, a, wanted && named(a.Challenges) == "")
	case len(a.Resource.AuthorizationServers) == 0:
		w.issuers(ctx, a, []string{w.origin()})
	default:
		w.issuers(ctx, a, a.Resource.AuthorizationServers)
	}
}

// issuers looks for the first authorization server whose metadata may be used. Any of them will do, as the resource trusts
// them all. See RFC 9728, 7.6.
func (w walk) issuers(ctx context.Context, a *Chain, issuers []string) {
	for i, issuer := range issuers {
		if i == mostAsked || i > 0 && ctx.Err() != nil {
			break
		}
		a.Issuer = issuer
		if w.issuer(ctx, a, issuer) {
			return
		}
	}
	if len(issuers) > 0 {
		a.Issuer = issuers[0]
	}
}

// issuer looks for the metadata of an authorization server at all places where it may be, and reports whether there is
// one that may be used. See RFC 8414, 3.1, and OpenID Connect Discovery 1.0, 4.
func (w walk) issuer(ctx context.Context, a *Chain, issuer string) bool {
	u, says := issuerURL(issuer)
	if says != "" {
		a.ServerPlaces = append(a.ServerPlaces, Place{URL: shownURL(issuer), Says: says})
		return false
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin.String() + serverWellKnown + path, origin.String() + openIDWellKnown + path}
	if path != "" {
		places = append(places, origin.String()+path+openIDWellKnown)
	}
	for _, place := range places {
		var doc ServerMetadata
		p := w.fetch(ctx, place, &doc)
		slash := p.Found && doc.Issuer != issuer && strings.TrimSuffix(doc.Issuer, "/") == strings.TrimSuffix(issuer, "/") && path == ""
		switch {
		case p.Found && doc.Issuer == "":
			p.Found, p.Says = false, "JSON without an issuer"
		case p.Found && doc.Issuer != issuer && !slash:
			p.Found, p.Says = false, fmt.Sprintf("its issuer is %s, and %s was asked for",
				transport.Snippet([]byte(doc.Issuer)), transport.Snippet([]byte(issuer)))
			p.other, p.Issuer = true, doc.Issuer
		}
		a.ServerPlaces = append(a.ServerPlaces, p)
		if p.Found {
			a.Server, a.SlashOnly = &doc, slash
			return true
		}
	}
	return false
}

// issuerURL returns the URL that an issuer is, or says why it is none. See RFC 8414, 2. A user name before the host would
// only look like the host of somebody else.
func issuerURL(issuer string) (*url.URL, string) {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "":
		return nil, "it is no URL"
	case u.User != nil:
		return nil, "it has a user name in it"
	case u.RawQuery != "" || u.Fragment != "":
		return nil, "it has a query or a fragment, which no issuer has"
	}
	return u, ""
}

// atOrigin looks for an authorization server at the origin of a server that does not describe itself, as those of the
// first revision did: it is the authorization server too, and publishes metadata at its root or has the endpoints that the
// revision names. guess says whether those may be taken where there is no metadata. See the MCP specification, 2025-03-26,
// "Authorization", 2.3.
func (w walk) atOrigin(ctx context.Context, a *Chain, guess bool) {
	origin := w.origin()
	a.Issuer = origin
	if w.issuer(ctx, a, origin) || !guess {
		return
	}
	for _, p := range a.ServerPlaces {
		if p.trouble || p.other {
			return // there may be metadata, or there is some that must not be used
		}
	}
	a.Defaults = true
	a.Server = &ServerMetadata{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
		RegistrationEndpoint: origin + "/register", CodeChallengeMethods: []string{"S256"},
	}
}

// mostHops is how many redirects of a document are followed, within its origin: a slash more, or another path.
const mostHops = 3

// fetch reads a JSON document, or says what is there in its place.
func (w walk) fetch(ctx context.Context, place string, doc any) Place {
	p := Place{URL: shownURL(place)}
	u, says := endpointURL(place, w.endpoint)
	if says != "" {
		p.Says = "not asked: " + says
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, documentBound)
	defer cancel()
	client, err := w.client(u)
	if err != nil {
		p.Says, p.trouble = err.Error(), true
		return p
	}
	for hop := 0; ; hop++ {
		next := p.read(ctx, client, u, doc)
		if next == nil {
			return p
		}
		switch {
		case hop == mostHops:
			p.Says = "it redirects again and again"
			return p
		case !transport.SameOrigin(next, u):
			p.Says = "it redirects to another origin, " + shownURL(next.String())
			return p
		}
		u = next
	}
}

// read makes one request for a document. It returns where the answer redirects to, nil if it does not.
func (p *Place) read(ctx context.Context, client *http.Client, u *url.URL, doc any) *url.URL {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		p.Says = "it is no URL"
		return nil
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		p.Says, p.trouble = "no answer within "+documentBound.String(), true
		if f, ok := errors.AsType[*transport.Fault](err); ok && !errors.Is(err, context.DeadlineExceeded) {
			p.Says = f.Error()
		}
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		skew := time.Until(date)
		p.Skew = &skew
	}
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		if next, err := u.Parse(to); err == nil && next.Host != "" {
			return next
		}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostDocument+1))
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case err != nil:
		p.Says, p.trouble = "the answer was cut off", true
	case resp.StatusCode != http.StatusOK:
		p.Says, p.trouble = fmt.Sprintf("HTTP %d", resp.StatusCode), resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
	case media == "text/html":
		p.Says = "a web page (text/html)"
	case len(data) > mostDocument:
		p.Says = fmt.Sprintf("more than %d KiB, which no such document has", mostDocument>>10)
	case json.Unmarshal(data, doc) != nil:
		p.Says = "no JSON object of this kind"
	default:
		p.Found = true
	}
	return nil
}

// endpointURL returns the URL that a server names as a place to go to, or says why nobody goes there: credentials are
// sent, and believed, over https alone, except on this machine and at the MCP server's own host, which sees them anyway.
// See OAuth 2.1, 1.5.
func endpointURL(raw string, server *url.URL) (*url.URL, string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "it is no URL"
	case !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http"):
		return nil, "it is neither https nor http"
	case u.Host == "" || u.Opaque != "":
		return nil, "it is no URL"
	case strings.EqualFold(u.Scheme, "https"):
	case !loopback(u.Hostname()) && (strings.EqualFold(server.Scheme, "https") || !strings.EqualFold(u.Hostname(), server.Hostname())):
		return nil, "it is not https"
	}
	if u.User != nil {
		return nil, "it has a user name in it"
	}
	u.Fragment, u.RawFragment = "", ""
	return u, ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// asciiHost is the host of a URL as the network has it: letters of another script may look like those of a host that
// somebody trusts.
func asciiHost(u *url.URL) string {
	if !strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return u.Host
	}
	name, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		return u.Host // url.URL escapes it
	}
	if port := u.Port(); port != "" {
		name = net.JoinHostPort(name, port)
	}
	return name
}

// shownURL is a URL as it is shown: what may be secret is left out, and it is short.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return transport.Snippet([]byte(raw))
	}
	bare := url.URL{Scheme: u.Scheme, Host: asciiHost(u), Path: u.Path}
	return transport.Snippet([]byte(bare.String()))
}

// Scopes are the scopes that a login should ask for: those of the challenge, else those of the resource. See the MCP
// specification, 2025-11-25, "Scope Selection Strategy".
func (a Chain) Scopes() []string {
	for _, c := range a.Challenges {
		if scope := c.Params["scope"]; scope != "" {
			return strings.Fields(scope)
		}
	}
	if a.Resource != nil {
		return slices.Clone(a.Resource.ScopesSupported)
	}
	return nil
}
