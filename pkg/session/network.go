package session

// How an HTTP server is reached: the entry's files and proxy become what a connection needs, and what went wrong on the
// way becomes a next step. Files are read when a session is opened, so that renewed certificates are picked up, and
// before anything is dialled, so that a wrong name is not taken for a fault of the server.

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// mostPEM is the largest file of certificates that is read, in bytes: all public authorities together are a fraction.
const mostPEM = 16 << 20

// Route says how the requests to an HTTP server travel.
type Route struct {
	// Proxy is the URL of the proxy that carries them, without user info, "" if none does; ProxySource is where it is
	// named, as shown to people: "HTTPS_PROXY", "the key proxy", "--proxy".
	Proxy, ProxySource string
	// ProxyAddress is the host and the port of the proxy.
	ProxyAddress string
	// Host and Port are what is dialled if there is no proxy.
	Host, Port string
	// TLS is how HTTPS is spoken with the server. It is a copy.
	TLS *tls.Config
	// Unverified says where it was wished that the server's certificate is not checked, "" if it is.
	Unverified string
}

// Route returns how the requests to a server travel whose variables have been expanded. It reads the files that the entry
// names and contacts nobody. The failure is an [*Error].
func (d *Dialer) Route(server config.Server) (Route, error) {
	if err := check(server); err != nil {
		return Route{}, err
	}
	r, err := d.route(server)
	if err != nil {
		return Route{}, err
	}
	u, _ := url.Parse(server.URL) // checked above
	out := Route{Host: u.Hostname(), Port: portOf(u), TLS: r.tls.Clone(), Unverified: Unverified(server)}
	out.TLS.ClientSessionCache = nil // whoever looks at certificates wants a whole handshake
	if out.TLS.ServerName == "" {
		out.TLS.ServerName = u.Hostname()
	}
	if r.connectTo != "" {
		out.Host, out.Port, _ = net.SplitHostPort(r.connectTo) // made by JoinHostPort
	}
	if r.proxy != nil {
		out.Proxy, out.ProxySource, out.ProxyAddress = r.proxy.String(), r.proxy.Source, r.proxy.Address()
	}
	return out, nil
}

// Unverified says where it was wished that the certificate of an HTTPS server is not checked: "--insecure", "the key
// tls.insecure_skip_verify". It returns "" if it is checked.
func Unverified(server config.Server) string {
	if !server.TLS.InsecureSkipVerify || strings.HasPrefix(strings.ToLower(server.URL), "http://") {
		return ""
	}
	return place(server, "tls.insecure_skip_verify")
}

// place names where the value of a key was given: the flag, or the key.
func place(server config.Server, key string) string {
	if s := server.Sources[key]; s.Kind == "flag" {
		return s.Detail
	}
	return "the key " + key
}

// route is how a server is reached.
type route struct {
	tls       *tls.Config
	proxy     *transport.Proxy
	connectTo string
}

func (d *Dialer) route(server config.Server) (route, *Error) {
	r := route{}
	if server.URL == "" {
		return r, nil
	}
	u, _ := url.Parse(server.URL) // checked before
	var err *Error
	var roots *x509.CertPool
	var trusted [sha256.Size]byte
	if roots, trusted, err = d.authorities(server); err != nil {
		return r, err
	}
	r.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: server.TLS.ServerName,
		InsecureSkipVerify: server.TLS.InsecureSkipVerify,
	}
	if r.tls.Certificates, err = ownCertificate(server); err != nil {
		return r, err
	}
	if u.Scheme == "https" {
		r.tls.ClientSessionCache = d.shared.resumption(server, u.Host, trusted, r.tls)
	}
	if server.ConnectTo != "" {
		host, port, bad := config.SplitConnectTo(server.ConnectTo)
		if bad != nil {
			return r, routeError(server, "--connect-to: "+bad.Error(), "write HOST or HOST:PORT", bad)
		}
		if port == "" {
			port = portOf(u)
		}
		r.connectTo = net.JoinHostPort(host, port)
	}
	if r.proxy, err = d.proxy(server, u); err != nil {
		return r, err
	}
	if r.proxy != nil {
		r.proxy.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return r, nil
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

func routeError(server config.Server, message, hint string, cause error) *Error {
	return &Error{Server: server.Name, Phase: "config", Class: ClassConfig, kind: kindConfig, Message: message, Hint: hint, Err: cause}
}

// authorities returns whom to trust: the system's authorities and those of the entry, and the hash of what is in its file. Nil
// stands for the system's.
func (d *Dialer) authorities(server config.Server) (pool *x509.CertPool, trusted [sha256.Size]byte, err *Error) {
	const key = "tls.ca_file"
	name := server.TLS.CAFile
	if name == "" {
		return nil, trusted, nil
	}
	data, err := pemFile(server, key, name)
	if err != nil {
		return nil, trusted, err
	}
	trusted = sha256.Sum256(data)
	if pool = d.shared.pool(data, trusted); pool == nil {
		return nil, trusted, noCertificate(server, key, name, data)
	}
	return pool, trusted, nil
}

// ownCertificate returns the certificate to show to the server, none if the entry has none.
func ownCertificate(server config.Server) ([]tls.Certificate, *Error) {
	const certKey, keyKey = "tls.cert_file", "tls.key_file"
	certName, keyName := server.TLS.CertFile, server.TLS.KeyFile
	switch {
	case certName == "" && keyName == "":
		return nil, nil
	case keyName == "":
		return nil, routeError(server, place(server, certKey)+" is given without a key", "give both: --cert-file and --key-file, or the keys tls.cert_file and tls.key_file", nil)
	case certName == "":
		return nil, routeError(server, place(server, keyKey)+" is given without a certificate", "give both: --cert-file and --key-file, or the keys tls.cert_file and tls.key_file", nil)
	}
	cert, err := pemFile(server, certKey, certName)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(pemTypes(cert), "CERTIFICATE") {
		return nil, noCertificate(server, certKey, certName, cert)
	}
	key, err := pemFile(server, keyKey, keyName)
	if err != nil {
		return nil, err
	}
	where := place(server, keyKey) + " " + keyName
	switch found := pemTypes(key); {
	case slices.Contains(found, "ENCRYPTED PRIVATE KEY") || strings.Contains(string(key), "Proc-Type: 4,ENCRYPTED"):
		return nil, routeError(server, where+": the key is protected by a passphrase, which nobody is asked for", "store it without one, in a file that only you can read: openssl pkey -in FILE -out NEWFILE", nil)
	case !slices.ContainsFunc(found, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") }):
		return nil, routeError(server, where+": holds no PEM private key"+insteadOf(found), "a PEM key begins with -----BEGIN PRIVATE KEY-----", nil)
	}
	pair, pairErr := tls.X509KeyPair(cert, key)
	if pairErr != nil {
		text := strings.TrimPrefix(pairErr.Error(), "tls: ")
		hint := "see that both files are of the same pair"
		if strings.Contains(text, "does not match") {
			text = fmt.Sprintf("does not belong to the certificate in %s (%s)", certName, place(server, certKey))
		}
		return nil, routeError(server, where+": "+text, hint, pairErr)
	}
	return []tls.Certificate{pair}, nil
}

// pemFile reads a file that the entry names. The names in messages are those that were given.
func pemFile(server config.Server, key, name string) ([]byte, *Error) {
	where := place(server, key) + " " + name
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		// A pipe is empty at the second session, and may never end.
		return nil, routeError(server, where+": is no regular file", "write what it gives into a file", nil)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(server, where, name, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostPEM+1))
	switch {
	case err != nil:
		return nil, fileError(server, where, name, err)
	case len(data) > mostPEM:
		return nil, routeError(server, fmt.Sprintf("%s: has more than %d MiB, and is no file of certificates", where, mostPEM>>20), "name a PEM file", nil)
	}
	return data, nil
}

func fileError(server config.Server, where, name string, err error) *Error {
	text := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		text = p.Err.Error()
	}
	hint := "check the name of the file"
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = "make it readable for you"
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name):
		if absolute, err := filepath.Abs(name); err == nil {
			hint = "a relative name starts in the working directory: " + absolute
		}
	}
	return routeError(server, where+": "+text, hint, err)
}

// noCertificate says what a file holds in place of a certificate.
func noCertificate(server config.Server, key, name string, data []byte) *Error {
	where, found := place(server, key)+" "+name, pemTypes(data)
	if slices.Contains(found, "CERTIFICATE") {
		return routeError(server, where+": the certificate in it cannot be read", "see what is wrong with it: openssl x509 -in FILE -noout -text", nil)
	}
	hint := "a PEM file has a line -----BEGIN CERTIFICATE-----"
	if len(found) == 0 && len(data) > 0 && data[0] == 0x30 { // how DER begins: a sequence
		hint = "it looks like DER: openssl x509 -inform der -in FILE -out FILE.pem"
	}
	return routeError(server, where+": holds no PEM certificate"+insteadOf(found), hint, nil)
}

// insteadOf names what a file holds, for the end of a message.
func insteadOf(found []string) string {
	if len(found) == 0 {
		return ""
	}
	return ", but " + strings.Join(slices.Compact(found), ", ")
}

// pemTypes returns the types of the blocks in a PEM file.
func pemTypes(data []byte) []string {
	var types []string
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return types
		}
		types = append(types, block.Type)
	}
}

// proxy returns the proxy for a server, nil for none: the entry's, else the environment's unless an address to dial was
// given, which the proxy would not know.
func (d *Dialer) proxy(server config.Server, target *url.URL) (*transport.Proxy, *Error) {
	switch server.Proxy {
	case config.ProxyNone:
		return nil, nil
	case "":
		if server.ConnectTo != "" {
			return nil, nil
		}
		return d.environmentProxy(server, target)
	}
	source := place(server, "proxy")
	u, err := config.ParseProxy(server.Proxy)
	if err != nil {
		return nil, proxyError(server, source, err)
	}
	return &transport.Proxy{URL: u, Source: source}, nil
}

// environmentProxy returns the proxy that the environment names for a server. One that is meant and malformed is an
// error: to go without would end in a failure that hides the cause.
func (d *Dialer) environmentProxy(server config.Server, target *url.URL) (*transport.Proxy, *Error) {
	get := func(names ...string) (name, value string) {
		for _, name := range names {
			for _, pair := range d.environ() {
				if n, v, _ := strings.Cut(pair, "="); n == name && v != "" {
					return name, v
				}
			}
		}
		return "", ""
	}
	names := []string{"HTTP_PROXY", "http_proxy"}
	if strings.EqualFold(target.Scheme, "https") {
		names = []string{"HTTPS_PROXY", "https_proxy"}
	}
	name, raw := get(names...)
	if raw == "" {
		return nil, nil
	}
	// Whether it applies is asked with a stand-in, which is well-formed.
	_, method := get("REQUEST_METHOD")
	_, exceptions := get("NO_PROXY", "no_proxy")
	const standIn = "http://stand-in.invalid:1"
	rules := httpproxy.Config{HTTPProxy: standIn, HTTPSProxy: standIn, NoProxy: exceptions, CGI: method != ""}
	applies, err := rules.ProxyFunc()(target)
	if err != nil {
		return nil, routeError(server, "HTTP_PROXY is not used where REQUEST_METHOD is set: the sender of a web request could have set it", "unset one of them, or name the proxy: --proxy URL, or the key proxy", err)
	}
	if applies == nil {
		return nil, nil
	}
	u, err := config.ParseProxy(raw)
	if err != nil {
		return nil, proxyError(server, "the variable "+name, err)
	}
	return &transport.Proxy{URL: u, Source: name}, nil
}

func proxyError(server config.Server, source string, err error) *Error {
	message, hint := err.Error(), ""
	if e, ok := errors.AsType[*config.Error](err); ok {
		message, hint = e.Message, e.Hint
	}
	return routeError(server, source+" "+message, hint, err)
}

// describeWay adds to an error through which proxy a request went.
func describeWay(e *Error, f *transport.Fault) {
	if f.Proxy != "" {
		e.addWay(f.Proxy, f.ProxySource)
	}
}

func (e *Error) addWay(proxy, source string) {
	line := fmt.Sprintf("through the proxy %s (%s)", proxy, source)
	if !slices.Contains(e.Evidence, line) {
		e.Evidence = append(e.Evidence, line)
	}
}

// explainWay adds to the failure of an opening through which proxy it went, also when nothing came back.
func (o *opening) explainWay(e *Error) {
	if p := o.route.proxy; p != nil {
		e.addWay(p.String(), p.Source)
	}
}

// proxyMayPass reports whether a proxy's refusal can pass by itself: it did not reach the server, which may be starting.
func proxyMayPass(f *transport.Fault) bool {
	if f.Kind != transport.KindProxy {
		return false
	}
	switch f.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

const (
	hintHTTPS      = "write https:// in the URL, or the port that speaks plain HTTP"
	hintOwnCert    = "give it one: --cert-file FILE --key-file FILE, or the keys tls.cert_file and tls.key_file"
	hintProxyUser  = "put them into the proxy's URL, http://USER:PASSWORD@HOST:PORT: --proxy, the key proxy, or the variable"
	hintProxyLeave = "to go without a proxy: --proxy none, the key proxy: none, or NO_PROXY"
)

// hintName is what to do about a host name that is not known, which may be one that only a proxy knows.
func (o *opening) hintName() string {
	switch {
	case o.route.connectTo != "":
		return "check the host name in --connect-to"
	case o.route.proxy == nil && o.server.Proxy == "":
		return "check the host name in the URL; if only a proxy can reach it: --proxy URL, or the variable " + strings.ToUpper(o.endpoint().Scheme) + "_PROXY"
	}
	return "check the host name in the URL"
}

// proxyHint returns the next step when a proxy failed or refused.
func proxyHint(f *transport.Fault) string {
	switch {
	case f.Status == http.StatusProxyAuthRequired:
		return hintProxyUser
	case f.Status == http.StatusForbidden || f.Status == http.StatusMethodNotAllowed:
		return "ask who runs the proxy to allow it; " + hintProxyLeave
	case f.Status != 0:
		return "the proxy is there, and the server behind it is not: check the host and port of the URL"
	}
	return "check the proxy's URL; " + hintProxyLeave
}

// tlsHint returns the next step after a TLS failure, knowing what the entry says already.
func (o *opening) tlsHint(f *transport.Fault) string {
	if ca := o.server.TLS.CAFile; ca != "" {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](f); ok {
			return fmt.Sprintf("%s (%s) does not hold that authority: get its certificate from who runs the server", ca, place(o.server, "tls.ca_file")) + chainHint(f)
		}
	}
	if f.CertGiven && strings.Contains(f.Error(), "client certificate") {
		return fmt.Sprintf("see that %s (%s) is the certificate that this server wants, and has not expired", o.server.TLS.CertFile, place(o.server, "tls.cert_file"))
	}
	if f.CertAsked && strings.Contains(f.Error(), "client certificate") {
		return hintOwnCert
	}
	return TLSHint(f)
}

// TLSMessage says in words why a TLS handshake failed: whose certificate, which dates, which names.
func TLSMessage(err error) string { return transport.TLSText(err) }

// alertVersion is how crypto/tls calls the alert of a server that does not speak the versions that it was offered: it has no
// type for it. See RFC 8446, 6.
const alertVersion = "protocol version not supported"

// chainHint says, for the end of a hint, that a server may have left out what leads from its certificate to an authority: it
// sent its own alone, and another has signed that. Browsers fetch what is missing, most programs do not.
func chainHint(err error) string {
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(failed.UnverifiedCertificates) != 1 {
		return ""
	}
	if cert := failed.UnverifiedCertificates[0]; bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		return ""
	}
	return "; if the server sends only its own certificate, it must send the intermediate ones, too (fullchain.pem)"
}

// TLSHint returns the next step after a TLS handshake that failed with err.
func TLSHint(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "renew the server's certificate; if its dates are right, correct this machine's clock"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use a name of the certificate in the URL, or say which one is right: the key tls.server_name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		others := "SSL_CERT_FILE"
		if runtime.GOOS == "windows" || runtime.GOOS == "darwin" { // there it is not read
			others = "the system's certificate store"
		}
		return "trust the authority: --ca-file FILE, the key tls.ca_file, or " + others + "; to test the rest without it: --insecure" + chainHint(err)
	}
	if strings.Contains(err.Error(), alertVersion) {
		return "the server speaks no TLS 1.2 or newer: update it, or the proxy before it"
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && strings.HasPrefix(string(record.RecordHeader[:]), "HTTP") || errors.Is(err, http.ErrSchemeMismatch) {
		return "write http:// in the URL, or the port that speaks HTTPS"
	}
	return "check the scheme and the port of the URL, and the server's certificate"
}

// plainToTLS reports whether a refusal says that the request was HTTP and the port wants HTTPS, in the words of the
// usual servers (Go, nginx, Apache).
var plainToTLS = lazily(`(?i)HTTP request to an HTTPS server|plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL-enabled`)

// certificateWanted is how servers say over HTTP that a client certificate is missing.
var certificateWanted = lazily(`(?i)(client|SSL|TLS) certificate`)

// statusHint returns the next step when an HTTP status is about TLS, "" if it is not.
func statusHint(f *transport.Fault) string {
	switch {
	case f.Status == http.StatusBadRequest && strings.HasPrefix(f.URL, "http://") && plainToTLS().Match(f.Body):
		return hintHTTPS
	case f.Status == http.StatusProxyAuthRequired:
		return "a proxy before the server wants credentials: give them in the proxy's URL, http://USER:PASSWORD@HOST:PORT"
	case f.CertAsked && !f.CertGiven && f.Status >= 400 && f.Status < 500 && certificateWanted().Match(f.Body):
		return "the server asks for a client certificate: --cert-file FILE --key-file FILE, or the keys tls.cert_file and tls.key_file"
	}
	return ""
}

// contentHint returns the next step when an answer is no MCP.
func contentHint(f *transport.Fault) string {
	if _, ok := errors.AsType[*transport.EncodingError](f); ok {
		return "suspect a proxy before the server, which changes the body or the header alone; to ask for plain bodies: --header 'Accept-Encoding: identity'"
	}
	switch {
	case f.Status == 0: // of a child: nobody stands before it
		return "correct what the server writes"
	case f.Status == http.StatusOK && len(f.Body) == 0 && slices.Contains(f.Signs, "Server: Caddy"):
		return "Caddy answers like that where no site of it matches: check the host name and the port in the URL, and the addresses and paths in its Caddyfile"
	case f.Err != nil:
		return "correct what the server sends, or what a proxy before it makes of that"
	}
	return "see what the server, or a proxy before it, sends: content type, content encoding, body"
}
