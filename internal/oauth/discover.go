package oauth

// What a server that wants authorization says of how to get it: a chain of documents, each of which names the next. It is
// read to explain a refusal; nobody is logged in, and no credential is sent.

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

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Place is a URL at which a document was looked for, and what was found there.
type Place struct {
	URL string
	// Found is set when the document is there and can be used.
	Found bool
	// Says is what the URL answered, in words: "HTTP 404", "a web page (text/html)", "no JSON".
	Says string
}

// ResourceMetadata is how a protected server describes itself. See RFC 9728, 2.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	// DPoPRequired is set when the server takes only tokens that are bound to a key (RFC 9449).
	DPoPRequired bool `json:"dpop_bound_access_tokens_required"`
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
	// Issuer is the authorization server that the resource metadata names first, "" if none.
	Issuer string
	// Server is nil if no metadata of the authorization server was found, or none that may be used.
	Server       *ServerMetadata
	ServerPlaces []Place
	// SlashOnly is set when the issuer in the metadata differs from the one that was asked for by a slash at the end.
	SlashOnly bool
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

// Discover walks the chain that a refusal begins: the challenge, the metadata of the protected resource, the metadata of
// its authorization server. client is that of [Options]. No credential is sent. See the MCP specification, 2025-11-25,
// "Authorization", and RFC 9728 and 8414.
func Discover(ctx context.Context, server *url.URL, r transport.Refusal, client func(*url.URL) (*http.Client, error)) Chain {
	a := Chain{Status: r.Status, Challenges: r.Challenges}
	w := walk{endpoint: server, client: client}
	w.resource(ctx, &a)
	if a.Resource != nil && len(a.Resource.AuthorizationServers) > 0 {
		a.Issuer = a.Resource.AuthorizationServers[0]
		w.issuer(ctx, &a)
	}
	return a
}

// walk is the walk along the documents of one server.
type walk struct {
	endpoint *url.URL
	client   func(*url.URL) (*http.Client, error)
}

// resource looks for the metadata of the protected resource: where the challenge says, or else at the well-known places. See
// RFC 9728, 3.1 and 5.1.
func (w walk) resource(ctx context.Context, a *Chain) {
	origin := url.URL{Scheme: w.endpoint.Scheme, Host: w.endpoint.Host}
	var places []string
	for _, c := range a.Challenges {
		if named := c.Params["resource_metadata"]; named != "" {
			places = []string{named}
			break
		}
	}
	if places == nil {
		if path := strings.TrimSuffix(w.endpoint.EscapedPath(), "/"); path != "" {
			places = append(places, origin.String()+resourceWellKnown+path)
		}
		places = append(places, origin.String()+resourceWellKnown)
	}
	for _, place := range places {
		var doc ResourceMetadata
		says := w.fetch(ctx, place, &doc)
		switch {
		case says == "" && doc.Resource == "":
			says = "JSON without a resource"
		case says == "" && !covers(doc.Resource, w.endpoint):
			says = fmt.Sprintf("it is about %s", transport.Snippet([]byte(doc.Resource)))
		}
		a.ResourcePlaces = append(a.ResourcePlaces, Place{URL: shownURL(place), Found: says == "", Says: says})
		if says == "" {
			a.Resource = &doc
			return
		}
	}
}

// covers reports whether a resource is the server, or what the server is a part of.
func covers(resource string, endpoint *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !transport.SameOrigin(r, endpoint) {
		return false
	}
	path, own := strings.TrimSuffix(r.Path, "/"), strings.TrimSuffix(endpoint.Path, "/")
	return own == path || strings.HasPrefix(own, path+"/")
}

// issuer looks for the metadata of the authorization server at all places where it may be. See RFC 8414, 3.1, and OpenID
// Connect Discovery 1.0, 4.
func (w walk) issuer(ctx context.Context, a *Chain) {
	u, err := url.Parse(a.Issuer)
	if err != nil || u.Host == "" {
		a.ServerPlaces = []Place{{URL: shownURL(a.Issuer), Says: "it is no URL"}}
		return
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin.String() + serverWellKnown + path, origin.String() + openIDWellKnown + path}
	if path != "" {
		places = append(places, origin.String()+path+openIDWellKnown)
	}
	for _, place := range places {
		var doc ServerMetadata
		says := w.fetch(ctx, place, &doc)
		slash := says == "" && doc.Issuer != a.Issuer && strings.TrimSuffix(doc.Issuer, "/") == strings.TrimSuffix(a.Issuer, "/") && path == ""
		switch {
		case says == "" && doc.Issuer == "":
			says = "JSON without an issuer"
		case says == "" && doc.Issuer != a.Issuer && !slash:
			says = fmt.Sprintf("its issuer is %s, and %s was asked for", transport.Snippet([]byte(doc.Issuer)), transport.Snippet([]byte(a.Issuer)))
		}
		a.ServerPlaces = append(a.ServerPlaces, Place{URL: shownURL(place), Found: says == "", Says: says})
		if says == "" {
			a.Server, a.SlashOnly = &doc, slash
			return
		}
	}
}

// fetch reads a JSON document and returns "", or says what is there in its place.
func (w walk) fetch(ctx context.Context, place string, doc any) string {
	u, err := url.Parse(place)
	switch {
	case err != nil || u.Host == "":
		return "it is no URL"
	case !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Host, w.endpoint.Host) && !loopback(u.Hostname()):
		return "not asked: it is not https"
	}
	ctx, cancel := context.WithTimeout(ctx, documentBound)
	defer cancel()
	client, err := w.client(u)
	if err != nil {
		return err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return "it is no URL"
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if f, ok := errors.AsType[*transport.Fault](err); ok {
			return f.Error()
		}
		return "no answer within " + documentBound.String()
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostDocument))
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case err != nil:
		return "the answer was cut off"
	case resp.StatusCode != http.StatusOK:
		return fmt.Sprintf("HTTP %d", resp.StatusCode)
	case media == "text/html":
		return "a web page (text/html)"
	case json.Unmarshal(data, doc) != nil:
		return "no JSON object of this kind"
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// shownURL is a URL as it is shown: what may be secret is left out, and it is short.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return transport.Snippet([]byte(raw))
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
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
