package transport

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/errno"
)

// Kind says what happened on the wire.
type Kind int

// The kinds of faults.
const (
	// KindOther is a fault without a kind of its own.
	KindOther Kind = iota
	// KindDNS is a host name that could not be resolved.
	KindDNS
	// KindRefused is an address where nothing listens.
	KindRefused
	// KindDial is any other failure to open a TCP connection.
	KindDial
	// KindTLS is a failed TLS handshake.
	KindTLS
	// KindProxy is a proxy that could not be reached or refused.
	KindProxy
	// KindSevered is a connection that broke: EOF, reset, a stream that ended without a response.
	KindSevered
	// KindStatus is an HTTP status that is not a success and has no JSON-RPC response as its body.
	KindStatus
	// KindRedirect is a redirect that is not followed.
	KindRedirect
	// KindContent is a successful answer that is not MCP: a web page, an empty body, JSON that is not JSON-RPC.
	KindContent
	// KindNotHTTP is a peer that does not speak HTTP.
	KindNotHTTP
	// KindStart is a child process that could not be started.
	KindStart
	// KindExit is a child process that ended.
	KindExit
	// KindTooLarge is a message over the size limit.
	KindTooLarge
	// KindAuth is a request that was not sent because no authorization was got for it.
	KindAuth
)

// Fault is what went wrong on the wire, with the evidence. It survives the SDK's wrapping: find it with errors.As.
type Fault struct {
	Kind Kind
	// Written is set when at least one byte of the request may have reached the other side.
	Written bool
	// SessionID reports whether the request carried a session id.
	SessionID bool

	// Method and URL are those of the HTTP request; the URL is without query and user info.
	Method, URL string
	// Status, ContentType, Challenge (WWW-Authenticate, at most 4 KiB) and Location are of the HTTP answer.
	Status      int
	ContentType string
	Challenge   string
	Location    string
	// Redirect tells of a redirect that was followed before, "" if there was none.
	Redirect string
	// RetryAfter is how long the server asked to wait, and HasRetryAfter whether it did.
	RetryAfter    time.Duration
	HasRetryAfter bool
	// Body holds the first bytes of the answer, at most 4 KiB.
	Body []byte
	// Title is the title of a web page, if the answer was one.
	Title string
	// Signs are the headers of the answer that tell who gave it, "Name: value" each.
	Signs []string
	// RPCError is the JSON-RPC error object in the body of an error status, whatever its id.
	RPCError []byte
	// Proxy is the URL of the proxy that carried the request, without user info, "" if there was none; ProxySource is where
	// it was named.
	Proxy, ProxySource string
	// Reused is set when the TCP connection had carried another request before.
	Reused bool
	// CertAsked is set when the server has asked for a client certificate, CertGiven when there is one to show.
	CertAsked, CertGiven bool
	// Authorized is set when the request carried an Authorization header.
	Authorized bool
	// OwnID reports whether that error object carried the request's own id.
	OwnID bool

	// Exit tells how a child process ended, nil if it did not.
	Exit *Exit
	// Stderr holds the last lines of a child's standard error.
	Stderr []string

	// Err is the cause.
	Err error
}

// Exit tells how a process ended.
type Exit struct {
	// Status is the exit status, -1 if a signal ended the process.
	Status int
	// Signal is the name of that signal, "" if there was none.
	Signal string
}

// String returns "exit status 1" or "signal: killed".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return "exit status " + strconv.Itoa(e.Status)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Error says what happened, with the evidence that fits a line.
func (f *Fault) Error() string {
	if f.Redirect != "" && f.Kind != KindRedirect {
		return f.Redirect + ", and there " + f.plain()
	}
	return f.plain()
}

// plain says what happened at the end of all redirects.
func (f *Fault) plain() string {
	if w, ok := f.Err.(*worded); ok { //nolint:errorlint // only the outermost says it all
		return w.text
	}
	if e, ok := errors.AsType[*EncodingError](f.Err); ok {
		return e.Error()
	}
	switch f.Kind {
	case KindStatus:
		s := fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status))
		if f.Err != nil {
			return strings.TrimSpace(s) + ": " + f.Err.Error()
		}
		return strings.TrimSpace(s) + f.bodyHint()
	case KindRedirect:
		if f.Err != nil {
			return f.Err.Error()
		}
		if u, err := url.Parse(f.URL); err == nil {
			if next, err := u.Parse(f.Location); err == nil && !SameOrigin(u, next) {
				return fmt.Sprintf("HTTP %d redirects to %s, another origin, and is not followed", f.Status, f.Location)
			}
		}
		return fmt.Sprintf("HTTP %d redirects to %s", f.Status, f.Location)
	case KindContent:
		switch {
		case f.IsPage():
			return fmt.Sprintf("the answer is a web page (%d %s)%s", f.Status, f.ContentType, f.bodyHint())
		case f.Err != nil && len(f.Body) == 0:
			return "the answer cannot be decoded: " + f.Err.Error()
		case f.Status == http.StatusAccepted && len(bytes.TrimSpace(f.Body)) == 0:
			return "the answer is HTTP 202 without a body, which is for notifications: the response went elsewhere, or will never come"
		case len(bytes.TrimSpace(f.Body)) == 0:
			return fmt.Sprintf("the answer is empty (HTTP %d, content type %q)", f.Status, f.ContentType)
		case f.Err != nil && f.Status == 0: // of a child
			return fmt.Sprintf("the answer is not JSON-RPC: %v%s", f.Err, f.bodyHint())
		case f.Err != nil:
			return fmt.Sprintf("the answer is not JSON-RPC (%d %s): %v%s", f.Status, f.ContentType, f.Err, f.bodyHint())
		}
		return fmt.Sprintf("the answer is not JSON-RPC (%d %s)%s", f.Status, f.ContentType, f.bodyHint())
	case KindExit:
		if f.Exit == nil {
			return "the process closed its standard output"
		}
		return "the process ended: " + f.Exit.String()
	case KindOther, KindDNS, KindRefused, KindDial, KindTLS, KindProxy, KindSevered, KindNotHTTP, KindStart, KindTooLarge, KindAuth:
	}
	if f.Err == nil {
		return "the connection failed"
	}
	return netText(f.Err)
}

// IsPage reports whether the answer was a web page.
func (f *Fault) IsPage() bool {
	return f.Title != "" || strings.HasPrefix(f.ContentType, "text/html") || strings.HasPrefix(f.ContentType, "application/xhtml")
}

// bodyHint returns the title or the first bytes of the body, for the end of a message.
func (f *Fault) bodyHint() string {
	if f.Title != "" {
		return fmt.Sprintf(": %q", f.Title)
	}
	s := f.Snippet()
	if f.IsPage() {
		s = Snippet([]byte(html.UnescapeString(string(anyTag().ReplaceAll(f.Body, []byte(" "))))))
	}
	if text := http.StatusText(f.Status); len(s) >= len(text) && strings.EqualFold(s[:len(text)], text) {
		s = strings.TrimLeft(s[len(text):], ":,.- ") // some bodies begin with the status once more
	}
	if s != "" {
		return ": " + s
	}
	return ""
}

// Snippet returns the first bytes of the body on one line, at most 160 characters.
func (f *Fault) Snippet() string { return Snippet(f.Body) }

// Snippet returns the beginning of a text on one line, at most 160 characters.
func Snippet(text []byte) string {
	const most = 160 // two lines of a terminal
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}

var titleTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
})

// anyTag matches the tags of a page, and what is not text in it.
var anyTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)\s*>|<[^>]*>`)
})

// pageTitle returns the title of a web page.
func pageTitle(body []byte) string {
	m := titleTag().FindSubmatch(body)
	if m == nil {
		return ""
	}
	return Snippet([]byte(html.UnescapeString(string(m[1]))))
}

// signHeaders are the headers by which those who stand before a server can be told from it.
func signHeaders() []string {
	return []string{"Server", "Cf-Mitigated", "Ngrok-Error-Code", "X-Amzn-Errortype", "X-Amzn-Waf-Action", "X-Vercel-Error", "X-Render-Routing", "X-Deny-Reason", "Upgrade"}
}

// stickyCookies are those by which load balancers find the instance that a client has used before.
func stickyCookies() []string {
	return []string{"AWSALB", "AWSALBCORS", "AWSALBTG", "AWSELB", "ARRAffinity", "ApplicationGatewayAffinity", "GCLB", "GAESA", "INGRESSCOOKIE", "SERVERID", "__cflb", "acusessionaffinity"}
}

// signs returns the headers of an answer that tell who gave it.
func signs(h http.Header, mask func(string) string) []string {
	var found []string
	for _, name := range signHeaders() {
		v := h.Get(name)
		if mask != nil {
			v = mask(v)
		}
		if v = Snippet([]byte(v)); v != "" {
			found = append(found, name+": "+v)
		}
	}
	for _, v := range h.Values("Set-Cookie") {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(stickyCookies(), name) { // the value is nobody's concern
			found = append(found, "Set-Cookie: "+name)
		}
	}
	return found
}

// retryAfter reads a Retry-After header: seconds or a date. See RFC 9110, 10.2.3.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	// A day is more than any limit here: it keeps sums and products in range. So does a number that is too large for any type.
	const most = 24 * 60 * 60
	n, err := strconv.Atoi(v)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(v, "-"):
		return most * time.Second, true
	case err == nil:
		return time.Duration(min(max(n, 0), most)) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), most*time.Second), true
	}
	return 0, false
}

// netKind tells what a network error was. The end of the caller's context is to be looked at before.
func netKind(err error) Kind {
	op, ok := errors.AsType[*net.OpError](err)
	if ok && op.Op == "proxyconnect" {
		return KindProxy // whatever it was, it was not the server
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return KindDNS
	}
	if ok {
		switch {
		case op.Op == "dial" && (errno.Is(err, syscall.ECONNREFUSED) || errno.Is(err, syscall.ECONNRESET)):
			return KindRefused // reset: who listened went while the connection stood in the queue
		case op.Op == "dial":
			return KindDial
		}
	}
	if isTLS(err) {
		return KindTLS
	}
	if _, ok := errors.AsType[*EncodingError](err); ok {
		return KindContent
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return KindContent
	}
	if errors.Is(err, errHTTP2) || strings.Contains(err.Error(), "malformed HTTP") || brokenHTTP(err) { // net/http has no type for it
		return KindNotHTTP
	}
	return KindSevered
}

// brokenHTTP reports whether an answer breaks the rules of HTTP: it would be no other if it were asked for again.
func brokenHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	for _, text := range []string{"multiple Content-Length headers", "bad Content-Length", "unsupported transfer encoding", "invalid byte in chunk length", "malformed chunked encoding"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// BreaksHTTP reports whether an answer was HTTP, and not as it has to be: a header that is none, two lengths.
func BreaksHTTP(err error) bool {
	return brokenHTTP(err) && !strings.Contains(err.Error(), "malformed HTTP")
}

func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid) ||
		errors.Is(err, http.ErrSchemeMismatch) ||
		strings.Contains(err.Error(), "tls: ")
}

// isEOF reports whether a stream ended, properly or in the middle.
func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
