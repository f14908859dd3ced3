package transport

// How a server is reached: the address that is dialled, the proxy in between, TLS, and the encoding of bodies. net/http
// does the work; what it says when that fails is put into words here, while the types that tell what happened are still
// at hand.
//
// All requests of a connection go to one origin, so the proxy is chosen once and not for each request. TLS with an
// https:// proxy is made here and not by net/http, which would give the proxy the server's settings: its name, its
// client certificate, and leave not to check anything.

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpctl/mcpctl/internal/errno"
)

const (
	// dialTimeout bounds the TCP connection to all addresses of a host together. The connect limit is usually shorter.
	dialTimeout = 30 * time.Second
	// handshakeTimeout bounds a TLS handshake: a few round trips, on a slow link.
	handshakeTimeout = 15 * time.Second
	// idleKept is how long a TCP connection is kept that nobody uses.
	idleKept = 90 * time.Second
)

// Proxy is what carries the requests of a connection.
type Proxy struct {
	// URL is the proxy's, with its user info. The scheme is http, https, socks5 or socks5h.
	URL *url.URL
	// Source is where it was named, as shown to people: "HTTPS_PROXY", "the key proxy", "--proxy".
	Source string
	// TLS is how an https proxy is spoken with. If nil, the system's authorities are trusted.
	TLS *tls.Config
}

// String returns the proxy's URL without user info.
func (p *Proxy) String() string { return p.URL.Scheme + "://" + p.URL.Host }

// Address returns the host and port of the proxy.
func (p *Proxy) Address() string {
	port := p.URL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.URL.Scheme]
	}
	if port == "" {
		port = "1080" // RFC 1928, 3
	}
	return net.JoinHostPort(p.URL.Hostname(), port)
}

// wire is what a connection knows of its way to the server.
type wire struct {
	opts HTTPOptions
	// life ends with the connection: what TCP connections there are then are closed, also those of HTTP/2 on which net/http
	// still tidies up.
	life context.Context //nolint:containedctx // the life of the connection, not of one call
	// given is set when we have a client certificate, asked when the server wanted one, answered once it has answered
	// any request.
	given           bool
	asked, answered atomic.Bool
}

func newWire(life context.Context, opts HTTPOptions) *wire {
	if opts.Dial == nil {
		opts.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return &wire{opts: opts, life: life}
}

// transport returns the net/http transport for the way.
func (w *wire) transport() *http.Transport {
	t := &http.Transport{
		DialContext:         w.dial,
		TLSClientConfig:     w.tls(),
		DisableKeepAlives:   w.opts.NoReuse,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleKept,
		TLSHandshakeTimeout: handshakeTimeout,
		// Bodies are decoded here, where a wrong header can be told from a broken stream.
		DisableCompression:     true,
		OnProxyConnectResponse: w.tunnelAnswer,
	}
	if p := w.opts.Proxy; p != nil {
		u := *p.URL
		u.Host = p.Address()
		if u.Scheme == "https" {
			u.Scheme = "http" // the TLS is in the connection that dial returns
		}
		t.Proxy = func(*http.Request) (*url.URL, error) { return &u, nil }
	}
	return t
}

// tls returns the settings for the server. The client's certificate is shown to whoever asks for one, also when it is of
// another authority than the server names: its refusal says more than our silence would.
func (w *wire) tls() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if w.opts.TLS != nil {
		c = w.opts.TLS.Clone()
	}
	own := &tls.Certificate{}
	if len(c.Certificates) > 0 {
		own, w.given = &c.Certificates[0], true
	}
	c.Certificates = nil
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		w.asked.Store(true)
		return own, nil
	}
	return c
}

// dial opens a connection to the server or to its proxy. All addresses of a host are tried (RFC 8305).
func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p := w.opts.Proxy
	if p == nil && w.opts.ConnectTo != "" {
		addr = w.opts.ConnectTo
	}
	c, err := w.opts.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if p == nil || p.URL.Scheme != "https" {
		return w.counted(c), nil
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.TLS != nil {
		settings = p.TLS.Clone()
	}
	settings.ServerName = p.URL.Hostname()
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secured := tls.Client(c, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return w.counted(secured), nil
}

func (w *wire) counted(conn net.Conn) net.Conn {
	_, secured := conn.(*tls.Conn)
	c := &countedConn{Conn: conn, plain: !secured}
	c.stop = context.AfterFunc(w.life, func() { _ = conn.Close() })
	return c
}

// tunnelError is a proxy's answer that is no tunnel.
type tunnelError struct {
	status     int
	retryAfter time.Duration
	hasRetry   bool
	challenge  string
	target     string
}

func (e *tunnelError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }

// tunnelAnswer looks at a proxy's answer to CONNECT. net/http keeps only its words.
func (w *wire) tunnelAnswer(_ context.Context, _ *url.URL, req *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	e := &tunnelError{status: resp.StatusCode, target: req.URL.Host, challenge: resp.Header.Get("Proxy-Authenticate")}
	if e.target == "" {
		e.target = req.Host
	}
	e.retryAfter, e.hasRetry = retryAfter(resp.Header, time.Now())
	return e
}

// mark puts into a fault what is known of the way.
func (w *wire) mark(f *Fault) {
	if p := w.opts.Proxy; p != nil {
		f.Proxy, f.ProxySource = p.String(), p.Source
	}
	f.CertAsked, f.CertGiven = w.asked.Load(), w.given
}

// worded is an error with a text of our own.
type worded struct {
	text string
	err  error
}

func (e *worded) Error() string { return e.text }
func (e *worded) Unwrap() error { return e.err }

// progress is how far a request came on its way.
type progress struct {
	mu sync.Mutex
	// handshake is set from the beginning of a TLS handshake with the server to its good end, begun ever since.
	handshake, begun, connected, reused bool
}

// watch returns a context whose requests tell how far they come.
func watch(ctx context.Context) (context.Context, *progress) {
	p := &progress{}
	set := func(change func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		change()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { set(func() { p.handshake, p.begun = true, true }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			set(func() { p.handshake = err != nil })
		},
		GotConn: func(info httptrace.GotConnInfo) { set(func() { p.connected, p.reused = true, info.Reused }) },
	}), p
}

// wireFault says what the error of a request without an answer was.
func (x *roundTrip) wireFault(err error) Fault {
	f, unread := x.h.wire.fault(err, x.way, x.fault.URL)
	if unread {
		x.fault.Written = false
	}
	return f
}

// fault says what the error of a request to a URL was that came so far on its way. It reports whether the server cannot
// have read the request, whatever was written.
func (w *wire) fault(err error, way *progress, target string) (f Fault, unread bool) {
	err = plainNetError(err)
	way.mu.Lock()
	defer way.mu.Unlock()
	f = Fault{Kind: netKind(err), Err: err}
	say := func(kind Kind, format string, args ...any) (Fault, bool) {
		f.Kind, f.Err = kind, &worded{fmt.Sprintf(format, args...), err}
		return f, unread
	}
	alert := alertOf(err)
	refusal, refused := errors.AsType[*tunnelError](err)
	switch {
	case refused:
		f.Method, f.URL = http.MethodConnect, refusal.target
		f.Status, f.RetryAfter, f.HasRetryAfter = refusal.status, refusal.retryAfter, refusal.hasRetry
		return say(KindProxy, "%s", w.refusal(refusal.status, refusal.challenge, refusal.target))
	case f.Kind == KindNotHTTP && BreaksHTTP(err):
		_, what, _ := strings.Cut(err.Error(), "transport connection broken: ")
		return say(KindNotHTTP, "the answer breaks the rules of HTTP: %s", cmp.Or(what, err.Error()))
	case f.Kind == KindNotHTTP && w.answered.Load():
		// It has spoken HTTP before, and will not have unlearned it: the connection broke within the status line.
		return say(KindSevered, "the connection broke at the beginning of the answer: %s", netText(err))
	case isSocks(err):
		return say(KindProxy, "the proxy %s did not connect to %s: %s", w.opts.Proxy, target, socksText(err))
	case f.Kind == KindProxy && w.opts.Proxy != nil:
		return say(KindProxy, "the proxy %s cannot be reached: %s", w.opts.Proxy, netText(err))
	case f.Kind == KindSevered && w.tunnels() && !way.begun && !way.connected:
		return say(KindProxy, "the proxy %s ended the connection when it was asked for one to the server: %s", w.opts.Proxy, netText(err))
	case isCertificateAlert(alert) && (w.given || w.asked.Load()) && !way.reused:
		// The server reads requests only after the certificate.
		unread = true
		if w.given {
			return say(KindTLS, "TLS: the server refuses the client certificate: %s", alert)
		}
		return say(KindTLS, "TLS: the server requires a client certificate")
	case f.Kind == KindSevered && w.asked.Load() && !w.given && !w.answered.Load() && !way.reused:
		// A reset may overtake the alert.
		return say(KindTLS, "TLS: the server requires a client certificate")
	case w.given && w.asked.Load() && !w.answered.Load() && !way.reused && strings.Contains(err.Error(), "client conn could not be established"):
		// HTTP/2 keeps no alert that comes before its first frame.
		unread = true
		return say(KindTLS, "TLS: the server refuses the client certificate: it ended the connection once it had seen it")
	case f.Kind == KindSevered && way.handshake:
		return say(KindSevered, "the connection broke during the TLS handshake: %s", netText(err))
	case f.Kind == KindSevered && !w.answered.Load() && (isEOF(err) || errno.Is(err, syscall.ECONNRESET) || errno.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection")):
		return say(KindSevered, "the connection was closed without an answer")
	case f.Kind == KindTLS:
		return say(KindTLS, "%s", TLSText(err))
	case f.Kind == KindNotHTTP && SpeaksTLS(err):
		return say(KindNotHTTP, TextHTTPS)
	case f.Kind == KindNotHTTP && SpeaksHTTP2(err):
		return say(KindNotHTTP, "the server speaks HTTP/2 without TLS on this port, as gRPC does, and no HTTP/1.1")
	}
	return f, false
}

// tunnels reports whether requests go through a proxy by CONNECT.
func (w *wire) tunnels() bool {
	return w.opts.Proxy != nil && strings.HasPrefix(w.opts.Proxy.URL.Scheme, "http") && strings.EqualFold(w.opts.Endpoint.Scheme, "https")
}

// refusal says that the proxy did not do what it was asked for.
func (w *wire) refusal(status int, challenge, target string) string {
	name, user := "a proxy", false
	if p := w.opts.Proxy; p != nil {
		name, user = "the proxy "+p.String(), p.URL.User != nil
	}
	said := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	switch {
	case status == http.StatusProxyAuthRequired && user:
		return fmt.Sprintf("%s refuses the user name and password that it got (%s)", name, said)
	case status == http.StatusProxyAuthRequired:
		if scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " "); scheme != "" && !strings.EqualFold(scheme, "Basic") {
			said += ", by " + Snippet([]byte(scheme))
		}
		return fmt.Sprintf("%s wants a user name and a password (%s)", name, said)
	case status >= http.StatusInternalServerError:
		return fmt.Sprintf("%s did not connect to %s: %s", name, target, said)
	}
	return fmt.Sprintf("%s refuses to connect to %s: %s", name, target, said)
}

// proxyAnswer reports whether an answer is the proxy's own, that it wants to know who asks.
func (x *roundTrip) proxyAnswer(resp *http.Response) (Fault, bool) {
	if resp.StatusCode != http.StatusProxyAuthRequired || x.h.opts.Proxy == nil {
		return Fault{}, false
	}
	text := x.h.wire.refusal(resp.StatusCode, resp.Header.Get("Proxy-Authenticate"), "")
	f := x.evidence(resp, Fault{Kind: KindProxy, Err: &worded{text: text, err: errors.New(text)}})
	// Usually it did not reach the server; but that cannot be known of a proxy.
	return f, true
}

// isSocks reports whether a SOCKS proxy failed to connect to the server.
func isSocks(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && strings.HasPrefix(op.Op, "socks")
}

func socksText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// netText says what a network error was: "10.0.0.1:80: connection refused", without the names of system calls.
func netText(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "no such host: " + dns.Name
	}
	op, ok := errors.AsType[*net.OpError](err)
	if ok && op.Op == "proxyconnect" {
		return netText(op.Err)
	}
	switch {
	case ok && op.Op == "dial" && op.Addr != nil && op.Err != nil:
		return op.Addr.String() + ": " + cmp.Or(errno.Text(op.Err), strings.TrimPrefix(op.Err.Error(), "connect: "))
	case isTLS(err):
		return TLSText(err)
	}
	return err.Error()
}

// alertOf returns the words of the alert with which the other side ended TLS, "" if there is none. crypto/tls has no
// type for it.
func alertOf(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" && op.Err != nil {
		return strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return ""
}

// isCertificateAlert reports whether an alert can be about the client's certificate (RFC 8446, 6.2). A server that
// misses one says any of these, by its version and make.
func isCertificateAlert(alert string) bool {
	return slices.Contains([]string{
		"certificate required", "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
		"unknown certificate", "unknown certificate authority", "access denied", "handshake failure",
	}, alert)
}

// SpeaksTLS reports whether what was taken for the answer to a plain request begins as TLS does.
func SpeaksTLS(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		// An alert or a handshake message of TLS 1.0 and later; net/http quotes the bytes.
		if text := err.Error(); strings.Contains(text, `malformed HTTP response "\x15\x03`) || strings.Contains(text, `malformed HTTP response "\x16\x03`) {
			return true
		}
	}
	return false
}

// TextHTTPS is what is said of a port that speaks TLS, to which HTTP was spoken.
const TextHTTPS = "the server speaks HTTPS on this port, and the URL says http://"

// SpeaksHTTP2 reports whether the server began a connection without TLS as HTTP/2 does.
func SpeaksHTTP2(err error) bool { return errors.Is(err, errHTTP2) }

// Answered reports whether the server has answered any request over the connection with HTTP.
func (h *HTTP) Answered() bool { return h.wire.answered.Load() }

// AnswersTLS reports whether what listens where requests go answers to the beginning of TLS, whatever it thinks of it. Nothing
// is asked of it.
func (h *HTTP) AnswersTLS(ctx context.Context) bool {
	e := h.opts.Endpoint
	conn, err := h.wire.dial(ctx, "tcp", net.JoinHostPort(e.Hostname(), port(e)))
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	settings := &tls.Config{ServerName: e.Hostname(), MinVersion: tls.VersionTLS12}
	err = tls.Client(conn, settings).HandshakeContext(ctx)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return err == nil || certificate || alertOf(err) != ""
}

// TLSText says in words why TLS failed: whose certificate, which dates, which names.
func TLSText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return netText(err) // it did not come to that
	}
	if isEOF(err) {
		return "TLS: the server ended the connection during the handshake"
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "the server speaks plain HTTP on this port, and the URL says https://"
	}
	if alert := alertOf(err); alert != "" {
		return "TLS: the server ended the handshake: " + alert
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if bytes.HasPrefix(record.RecordHeader[:], []byte("HTTP")) {
			return "the server speaks plain HTTP on this port, and the URL says https://"
		}
		return fmt.Sprintf("TLS: the server does not speak TLS on this port: its answer begins with %q", record.RecordHeader[:])
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Cert != nil && invalid.Reason == x509.Expired {
		return "TLS: " + expiredText(invalid.Cert, err, time.Now())
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok && host.Certificate != nil {
		return "TLS: " + namesText(host)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		cert := leaf(err)
		if cert == nil {
			cert = unknown.Cert
		}
		return "TLS: certificate signed by unknown authority" + issuerText(cert)
	}
	text := err.Error()
	for _, prefix := range []string{"tls: ", "failed to verify certificate: ", "x509: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return "TLS: " + text
}

// leaf returns the server's certificate if the verification of it failed, else nil.
func leaf(err error) *x509.Certificate {
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		return v.UnverifiedCertificates[0]
	}
	return nil
}

func expiredText(cert *x509.Certificate, err error, now time.Time) string {
	which := "the certificate"
	if own := leaf(err); own != nil && !own.Equal(cert) {
		which = fmt.Sprintf("the certificate of the authority %q", subject(cert))
	}
	if now.Before(cert.NotBefore) {
		return fmt.Sprintf("%s is valid from %s on, and this machine's clock says %s", which, date(cert.NotBefore), date(now))
	}
	return fmt.Sprintf("%s expired on %s", which, date(cert.NotAfter))
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// namesText says for which names a certificate is, and for which it is not.
func namesText(e x509.HostnameError) string {
	const most = 5 // enough to recognise whose certificate it is
	names := slices.Clone(e.Certificate.DNSNames)
	for _, ip := range e.Certificate.IPAddresses {
		names = append(names, ip.String())
	}
	for i, n := range names {
		names[i] = Snippet([]byte(n))
	}
	switch {
	case len(names) == 0:
		return fmt.Sprintf("the certificate names no host, so it is not for %s either", e.Host)
	case len(names) > most:
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return fmt.Sprintf("the certificate is for %s, not for %s", strings.Join(names, ", "), e.Host)
}

func issuerText(cert *x509.Certificate) string {
	if cert == nil {
		return ""
	}
	if bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		return fmt.Sprintf(": it is self-signed (issuer %q)", subject(cert))
	}
	issuer := cert.Issuer.CommonName
	if issuer == "" {
		issuer = cert.Issuer.String()
	}
	return fmt.Sprintf(" (issuer %q)", Snippet([]byte(issuer)))
}

func subject(cert *x509.Certificate) string {
	if cert.Subject.CommonName != "" {
		return Snippet([]byte(cert.Subject.CommonName))
	}
	return Snippet([]byte(cert.Subject.String()))
}

// EncodingError is an answer whose body is not what its Content-Encoding says, or is encoded in a way that nobody asked
// for.
type EncodingError struct {
	// Encoding is the value of the header.
	Encoding string
	// Start is how the body begins, when that shows that the header is wrong.
	Start []byte
}

// Error says what the header says, and how the body begins.
func (e *EncodingError) Error() string {
	if e.Start == nil {
		return fmt.Sprintf("the answer has the Content-Encoding %s, which was not asked for", Snippet([]byte(e.Encoding)))
	}
	return fmt.Sprintf("Content-Encoding says gzip but the body is not gzip (starts with %q)", e.Start)
}

// acceptEncoding sets what bodies may be encoded with: what decode can undo, whatever is configured. Only the wish for no
// encoding is respected, because it gets round a proxy that encodes badly.
func (w *wire) acceptEncoding(r *http.Request) {
	accept := "gzip"
	if own := w.opts.Header.Values("Accept-Encoding"); len(own) == 1 && strings.EqualFold(strings.TrimSpace(own[0]), "identity") {
		accept = "identity"
	}
	r.Header.Set("Accept-Encoding", accept)
}

// decode makes the answer's body the plain one. A body that is not what the header says is an error at once when it is
// the answer to a message; behind an error status, which says more, it is taken as it is.
func decode(req *http.Request, resp *http.Response) error {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	success := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
	default:
		if success && req.Method == http.MethodPost {
			return &EncodingError{Encoding: encoding}
		}
		return nil
	}
	body := &gzipBody{src: bufio.NewReader(resp.Body), body: resp.Body, lenient: !success}
	resp.Body = body
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
	if success && req.Method == http.MethodPost {
		if err := body.check(); err != nil {
			body.lenient = true // the body is evidence now
			return err
		}
	}
	return nil
}

// gzipBody is a body that is decoded when it is read: a stream may begin long after its headers.
type gzipBody struct {
	src     *bufio.Reader
	body    io.Closer
	lenient bool
	out     io.Reader
}

// gzipMagic is how gzip begins (RFC 1952, 2.3.1).
const gzipMagic = "\x1f\x8b"

// check returns an error if the body begins otherwise than gzip does. An empty one is fine.
func (b *gzipBody) check() error {
	head, _ := b.src.Peek(len(gzipMagic))
	if len(head) == 0 || string(head) == gzipMagic {
		return nil
	}
	return &EncodingError{Encoding: "gzip", Start: bytes.Clone(head[:1])}
}

func (b *gzipBody) Read(p []byte) (int, error) {
	if b.out == nil {
		head, err := b.src.Peek(len(gzipMagic))
		switch wrong := b.check(); {
		case wrong != nil && !b.lenient:
			return 0, wrong
		case wrong != nil:
			b.out = b.src
		case len(head) == 0:
			return 0, err
		default:
			if b.out, err = gzip.NewReader(b.src); err != nil {
				b.out = nil
				return 0, err
			}
		}
	}
	return b.out.Read(p)
}

func (b *gzipBody) Close() error { return b.body.Close() }
