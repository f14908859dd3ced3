package session

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestTLSHints shows what is said of a server that leaves out intermediate certificates, and of one that is too old.
func TestTLSHints(t *testing.T) {
	t.Parallel()
	unknown := func(certs ...*x509.Certificate) error {
		return &tls.CertificateVerificationError{UnverifiedCertificates: certs, Err: x509.UnknownAuthorityError{}}
	}
	leaf := &x509.Certificate{RawSubject: []byte("leaf"), RawIssuer: []byte("intermediate")}
	between := &x509.Certificate{RawSubject: []byte("intermediate"), RawIssuer: []byte("root")}
	own := &x509.Certificate{RawSubject: []byte("own"), RawIssuer: []byte("own")}
	const alone = "sends only its own certificate"
	for name, c := range map[string]struct {
		err  error
		want bool
	}{"alone": {unknown(leaf), true}, "with the one above": {unknown(leaf, between), false}, "self-signed": {unknown(own), false}} {
		if hint := TLSHint(c.err); strings.Contains(hint, alone) != c.want || !strings.Contains(hint, "--ca-file") {
			t.Errorf("%s: %q", name, hint)
		}
	}
	if hint := TLSHint(&net.OpError{Op: "remote error", Err: errors.New(alertVersion)}); !strings.Contains(hint, "TLS 1.2") {
		t.Errorf("version: %q", hint)
	}
}

// TestMalformedAuthorization shows which values of an Authorization header no server can want, and that the value itself is
// not told.
func TestMalformedAuthorization(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Bearer Bearer s3cret":   "twice",
		"bearer  BEARER s3cret":  "twice",
		`"Bearer s3cret"`:        "quotes",
		`Bearer 's3cret'`:        "quotes",
		"Bearer $TOKEN":          "${NAME}",
		"Bearer %TOKEN%":         "${NAME}",
		"Bearer {{token}}":       "${NAME}",
		"Bearer <YOUR_TOKEN>":    "placeholder",
		"Bearer YOUR_API_KEY":    "placeholder",
		"Bearer your-token":      "placeholder",
		"s3cret-4b825dc642cb6eb": "no scheme",

		"Bearer s3cret":                     "",
		"bearer s3cret":                     "",
		"Basic dXNlcjpwYXNz":                "",
		"Bearer eyJhbGciOi.eyJzdWIi.c2ln-_": "",
		"Token abc+/=":                      "",
		"":                                  "",
	} {
		got := MalformedAuthorization(map[string]string{"authorization": value})
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q", value, got)
		}
	}
	if got := MalformedAuthorization(map[string]string{"Authentication": "Bearer s3cret"}); !strings.Contains(got, "is called Authorization") {
		t.Error(got)
	}
	if got := MalformedAuthorization(map[string]string{"X-Api-Key": "$KEY"}); got != "" {
		t.Error(got)
	}
}

// TestOtherCredential shows a server that refuses what it got in another header than Authorization: it is not said that there
// was nothing.
func TestOtherCredential(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	for name, sent := range map[string]string{"private-token": "no Authorization header was sent, but Private-Token", "X-Api-Key": "no Authorization header was sent, but X-Api-Key", "X-Tenant": "no Authorization header was sent"} {
		_, err := (&Dialer{}).Dial(t.Context(), config.Server{Name: "n", URL: srv.URL + "/mcp", Headers: map[string]string{name: "value"}})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Class != ClassAuth || !slices.Contains(e.Evidence, sent) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// TestKeyHint shows servers that ask for an API key, in a challenge for a bearer token, too: the header that they want is
// named, and that its value is wrong if it was sent.
func TestKeyHint(t *testing.T) {
	t.Parallel()
	const asks, refuses = "the server asks for an API key, often in a header of its own: --header '", "the server refuses the key in the header "
	for _, c := range []struct {
		challenge, says string
		headers         map[string]string
		want            string
	}{
		{`Bearer error="invalid_token"`, `{"jsonrpc":"2.0","id":null,"error":{"code":401,"message":"Unauthorized: Invalid or missing API key"}}`, nil, asks + "X-API-Key: ${API_KEY}'"},
		{"", `{"error":"missing api_key"}`, nil, asks + "X-API-Key: ${API_KEY}'"},
		{"", "send it in x-acme-api-key", nil, asks + "x-acme-api-key: ${API_KEY}'"},
		{"", "API key required", map[string]string{"Authorization": "Bearer k3y"}, asks + "X-API-Key: ${API_KEY}'"},
		{`Bearer error="invalid_token"`, "Invalid API key", map[string]string{"x-api-key": "k3y"}, refuses + "X-API-Key: check its value"},
		{"", "Unauthorized", nil, "--header 'Authorization: Bearer ${TOKEN}'"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			if c.challenge != "" {
				w.Header().Set("WWW-Authenticate", c.challenge)
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, c.says)
		}))
		_, err := (&Dialer{}).Dial(t.Context(), config.Server{Name: "n", URL: srv.URL + "/mcp", Headers: c.headers})
		srv.Close()
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Hint, c.want) || strings.Contains(e.Hint, "k3y") {
			t.Errorf("%q, %v: %+v", c.says, c.headers, err)
		}
	}
}
