package config

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// This file holds the values that say how an HTTP server is reached: certificates, proxy, address. What is done with
// them is decided where connections are made; nothing here opens a file.

// ProxyNone is the value of Server.Proxy that forbids every proxy, those of the environment included.
const ProxyNone = "none"

// TLS says whom an HTTPS connection trusts, and who it says it is. The zero value trusts the system's authorities and
// shows no certificate. Relative file names start in the working directory of whoever uses the entry.
type TLS struct {
	// CAFile holds certificates of authorities, PEM, that are trusted in addition to the system's.
	CAFile string
	// CertFile and KeyFile hold the client's own certificate, with what leads to its authority, and its private key, both
	// PEM. Either both are set or none.
	CertFile, KeyFile string
	// ServerName is the name that the server's certificate must have, in place of the host of the URL.
	ServerName string
	// InsecureSkipVerify accepts any certificate: whoever sits in between can read and change everything.
	InsecureSkipVerify bool
}

// tlsKeys returns the keys of the mapping tls, in the order in which they are written.
func tlsKeys() []string {
	return []string{"ca_file", "cert_file", "key_file", "server_name", "insecure_skip_verify"}
}

// networkTexts returns the values of tls and proxy in which references are expanded, those that are set: most entries have none.
func (s *Server) networkTexts() []placedText {
	var texts []placedText
	for _, t := range [...]placedText{
		{key: "tls.ca_file", value: s.TLS.CAFile},
		{key: "tls.cert_file", value: s.TLS.CertFile},
		{key: "tls.key_file", value: s.TLS.KeyFile},
		{key: "tls.server_name", value: s.TLS.ServerName},
		{key: "proxy", value: s.Proxy},
	} {
		if t.value != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// tls reads the mapping of that name.
func (e *entry) tls(s *Server, f field) {
	for _, f := range e.fields(f.value, "tls") {
		key := below("tls", f.name)
		e.at.set(key, f.key)
		text := field{key, f.key, f.value}
		switch f.name {
		case "ca_file":
			s.TLS.CAFile = e.text(text)
		case "cert_file":
			s.TLS.CertFile = e.text(text)
		case "key_file":
			s.TLS.KeyFile = e.text(text)
		case "server_name":
			s.TLS.ServerName = e.text(text)
		case "insecure_skip_verify":
			s.TLS.InsecureSkipVerify = e.boolean(text, false)
		default:
			e.unknown(f, key, tlsKeys(), tlsHint(f.name))
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
}

// tlsHint translates a key that other tools use and that does not resemble ours.
func tlsHint(key string) string {
	switch key {
	case "ca", "cacert", "ca_cert", "ca_bundle", "root_ca":
		return `write "ca_file"`
	case "cert", "client_cert", "certificate":
		return `write "cert_file"`
	case "key", "client_key", "private_key":
		return `write "key_file"`
	case "sni":
		return `write "server_name"`
	case "insecure", "skip_verify", "verify", "reject_unauthorized", "rejectUnauthorized":
		return `write "insecure_skip_verify", and true for no check`
	}
	return ""
}

// networkProblems says what is wrong with the values about the way to a server, without printing the proxy's URL: it may
// hold a password.
func (s *Server) networkProblems() []problem {
	var found []problem
	add := func(key, message, hint string) {
		found = append(found, problem{key: key, message: message, hint: hint})
	}
	if s.Command != "" && s.URL == "" {
		const unfit = "belongs to a url, and this entry starts a command"
		if s.TLS != (TLS{}) {
			add("tls", unfit, "remove it")
		}
		if s.Proxy != "" {
			add("proxy", unfit, "give the command its proxy as a variable, in env")
		}
		if s.ConnectTo != "" {
			add("--connect-to", unfit, "remove it")
		}
		return found
	}
	switch {
	case s.TLS.CertFile != "" && s.TLS.KeyFile == "":
		found = append(found, problem{key: "tls.cert_file", message: "is set without tls.key_file", hint: "set both, or neither", missing: true})
	case s.TLS.KeyFile != "" && s.TLS.CertFile == "":
		found = append(found, problem{key: "tls.key_file", message: "is set without tls.cert_file", hint: "set both, or neither", missing: true})
	}
	for _, t := range s.networkTexts() {
		if strings.ContainsFunc(t.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			add(t.place(), "holds a line break or another control character", "remove it")
		}
	}
	if name := maskReferences(s.TLS.ServerName, "1"); strings.ContainsAny(name, "/: ") && !isAddress(name) {
		add("tls.server_name", fmt.Sprintf("%q is not the name of a host", s.TLS.ServerName), "write the name that the certificate has, without scheme and port")
	}
	if message, hint := proxyProblem(s.Proxy); message != "" {
		add("proxy", message, hint)
	}
	if s.ConnectTo != "" {
		if _, _, err := SplitConnectTo(s.ConnectTo); err != nil {
			add("--connect-to", err.Error(), "write HOST or HOST:PORT")
		}
		if s.Proxy != "" && s.Proxy != ProxyNone {
			add("--connect-to", "does not go with a proxy, which connects by itself", "--proxy none leaves the proxy out")
		}
	}
	return found
}

// proxyProblem says why a proxy cannot be used. References stand for something that is not known yet.
func proxyProblem(raw string) (message, hint string) {
	const example = "write it as http://host:port, or none"
	if raw == "" || raw == ProxyNone || strings.HasPrefix(raw, "${") {
		return "", ""
	}
	if strings.EqualFold(raw, ProxyNone) {
		return "is neither none nor a URL", "write none"
	}
	u, err := url.Parse(maskReferences(raw, "1"))
	if err != nil {
		// The message of a url.Error repeats the whole URL, with the password in it.
		if strings.Contains(raw, "@") {
			return "is no URL", "in a user name or password, write @ as %40, : as %3A, / as %2F and % as %25"
		}
		return "is no URL", example
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, strings.ToLower(u.Scheme)) {
		if !strings.Contains(raw, "://") {
			return "has no scheme", example
		}
		return "must begin with http://, https://, socks5:// or socks5h://", example
	}
	if u.Hostname() == "" {
		return "has no host", example
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return "the port is not between 1 and 65535", ""
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
			return "has a user name or password with / ? or # in it", "write / as %2F, ? as %3F and # as %23"
		}
		return "has a path, and a proxy is a host and a port only", example
	}
	return "", ""
}

// ParseProxy returns the URL of a proxy as it stands in an entry or in a variable such as HTTPS_PROXY, where the scheme
// may be missing: then it is http. The error does not repeat the text, which may hold a password.
func ParseProxy(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	if message, hint := proxyProblem(raw); message != "" {
		return nil, &Error{Message: message, Hint: hint}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, &Error{Message: "is no URL"}
	}
	u.Scheme = strings.ToLower(u.Scheme)
	return u, nil
}

// SplitConnectTo returns the host and the port of an address to dial, HOST or HOST:PORT. The port is "" if there is
// none; an IPv6 address with a port is in brackets.
func SplitConnectTo(address string) (host, port string, err error) {
	if isAddress(address) {
		return address, "", nil
	}
	host = address
	if i := strings.LastIndex(address, ":"); i > strings.LastIndex(address, "]") {
		host, port = address[:i], address[i+1:]
		if !validPort(port) {
			return "", "", fmt.Errorf("%q: the port is not between 1 and 65535", address)
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !isAddress(host) {
			return "", "", fmt.Errorf("%q: in brackets belongs an IPv6 address", address)
		}
		return host, port, nil
	}
	if host == "" || strings.ContainsAny(host, "/:@[] \t?#") {
		return "", "", fmt.Errorf("%q is not a host with a port", address)
	}
	return host, port, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func validPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65535
}

// expandNetwork expands the values about the way to a server. One that comes out empty is an error: without it the
// server would be reached in another way than the entry says.
func (x *expansion) expandNetwork(out *Server, s Server) {
	filled := func(t placedText, value string) string {
		if t.value != "" && value == "" && len(x.errs)+len(x.unset) == 0 {
			x.fail(t.place(), "is empty: its variable holds nothing")
		}
		return value
	}
	file := func(place, value string) string {
		t := placedText{key: place, value: value}
		return filled(t, x.withHome(t))
	}
	out.TLS.CAFile = file("tls.ca_file", s.TLS.CAFile)
	out.TLS.CertFile = file("tls.cert_file", s.TLS.CertFile)
	out.TLS.KeyFile = file("tls.key_file", s.TLS.KeyFile)
	name := placedText{key: "tls.server_name", value: s.TLS.ServerName}
	out.TLS.ServerName = filled(name, x.expand(name).text)
	proxy := placedText{key: "proxy", value: s.Proxy}
	out.Proxy = filled(proxy, x.expand(proxy).text)
	x.secret(ProxySecrets(out.Proxy)...)
}

// ProxySecrets returns what must be masked when a proxy's URL has been in use: the password, as it is written, as it is
// meant, and as it is sent.
func ProxySecrets(raw string) []string {
	_, _, password := splitProxy(raw)
	if password == "" {
		return nil
	}
	secrets := []string{password}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		if decoded, ok := u.User.Password(); ok {
			secrets = append(secrets, decoded, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+decoded)))
		}
	}
	return secrets
}

// splitProxy returns where the password is in a proxy's URL, well-formed or not. What cannot be told apart from a
// password is one.
func splitProxy(raw string) (before, after, password string) {
	start := 0
	if i := strings.Index(raw, "://"); i >= 0 {
		start = i + len("://")
	}
	end := strings.LastIndex(raw, "@")
	if end < start {
		return raw, "", ""
	}
	colon := strings.Index(maskSame(raw[start:end]), ":")
	if colon < 0 {
		return raw, "", ""
	}
	colon += start + 1
	return raw[:colon], raw[end:], raw[colon:end]
}

// maskSame returns s with the insides of references replaced by as many bytes, so that no colon of theirs is found.
func maskSame(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); {
		open := strings.Index(s[i:], "${")
		if open < 0 {
			break
		}
		length := strings.Index(s[i+open:], "}")
		if length < 0 {
			break
		}
		for j := i + open; j <= i+open+length; j++ {
			b[j] = 'x'
		}
		i += open + length + 1
	}
	return string(b)
}

// literalProxyPassword reports whether a proxy's password is written out, in the place of a reference.
func literalProxyPassword(raw string) bool {
	_, _, password := splitProxy(raw)
	return strings.TrimSpace(literalText(password)) != ""
}

// WithProxyPassword returns a proxy's URL with another text for the password in it.
func WithProxyPassword(raw, password string) string {
	before, after, old := splitProxy(raw)
	if old == "" {
		return raw
	}
	return before + password + after
}

// redactProxy masks the password in a proxy's URL if it is written out.
func redactProxy(raw string) string {
	if !literalProxyPassword(raw) {
		return raw
	}
	return WithProxyPassword(raw, masked)
}
