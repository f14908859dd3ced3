package session

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// faultTLS opens an HTTPS case of the laboratory, and returns where its certificates are.
func faultTLS(t *testing.T, name string) (dir string, entry config.Server) {
	t.Helper()
	c, ok := faultlab.Find(name)
	if !ok {
		t.Fatalf("no case %q", name)
	}
	dir = t.TempDir()
	s, err := c.Serve(faultlab.HTTPOptions{CertDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return dir, config.Server{Name: "s", URL: s.URL, Transport: config.TransportAuto, ConnectTimeout: 10 * time.Second}
}

// secured serves MCP over TLS, and returns the file with its certificate, which is for example.com, 127.0.0.1 and ::1.
func secured(t *testing.T, set func(*httptest.Server)) (srv *httptest.Server, ca string) {
	t.Helper()
	r := &restartable{sessions: map[string]bool{}, contentType: "application/json"}
	srv = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	quiet(srv)
	if set != nil {
		set(srv)
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	return srv, ca
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// opens opens a session and lists the tools.
func opens(t *testing.T, d *Dialer, entry config.Server) {
	t.Helper()
	s := NewSupervisor(d, entry)
	t.Cleanup(func() { _ = s.Close() })
	if _, err := list(t.Context(), s); err != nil {
		t.Fatalf("%v (%s)", err, said(err))
	}
}

// said returns all that is told of a failure.
func said(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return strings.Join(append(slices.Clone(e.Evidence), e.Message, e.Hint), "\n")
}

// fails wants a session not to open, and to be told so in these words, which are expressions.
func fails(t *testing.T, d *Dialer, entry config.Server, class Class, words ...string) {
	t.Helper()
	_ = failing(t, d, entry, class, words...)
}

// failing is fails, and returns the failure.
func failing(t *testing.T, d *Dialer, entry config.Server, class Class, words ...string) *Error {
	t.Helper()
	s, err := d.Dial(t.Context(), entry)
	if err == nil {
		_ = s.Close()
		t.Fatal("it opened")
	}
	var e *Error
	if !errors.As(err, &e) || e.Class != class {
		t.Fatalf("err = %v (%s), want %s", err, ClassOf(err), class)
	}
	for _, w := range words {
		if !regexp.MustCompile(w).MatchString(said(err)) {
			t.Errorf("nothing says %q:\n%s", w, said(err))
		}
	}
	return e
}

// noProxy is an environment without proxies.
func noProxy() *Dialer { return &Dialer{Environ: []string{}} }

func TestUnknownAuthority(t *testing.T) {
	dir, entry := faultTLS(t, "tls-self-signed")
	fails(t, noProxy(), entry, ClassConnect,
		`^TLS: certificate signed by unknown authority \(issuer "faultlab test CA"\)`, `--ca-file FILE, the key tls.ca_file, or SSL_CERT_FILE; .*--insecure; if the server sends only its own certificate, .*$`)

	entry.TLS.CAFile = filepath.Join(dir, "ca.pem")
	opens(t, noProxy(), entry)

	other := filepath.Join(t.TempDir(), "other.pem")
	_, ca := secured(t, nil)
	data, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, other, data)
	entry.TLS.CAFile = other
	fails(t, noProxy(), entry, ClassConnect, "unknown authority", regexp.QuoteMeta(other)+` \(the key tls.ca_file\) does not hold that authority`)

	entry.TLS = config.TLS{InsecureSkipVerify: true}
	opens(t, noProxy(), entry)
	if got := Unverified(entry); got != "the key tls.insecure_skip_verify" {
		t.Error(got)
	}

	srv, _ := secured(t, nil)
	fails(t, noProxy(), config.Server{Name: "s", URL: srv.URL}, ClassConnect, `unknown authority: it is self-signed \(issuer "`)
}

func TestExpiredCertificate(t *testing.T) {
	dir, entry := faultTLS(t, "tls-expired")
	yesterday := time.Now().Add(-24 * time.Hour).UTC().Format(time.DateOnly)
	fails(t, noProxy(), entry, ClassConnect, "^TLS: the certificate expired on "+yesterday, "renew the server")
	entry.TLS.CAFile = filepath.Join(dir, "ca.pem")
	fails(t, noProxy(), entry, ClassConnect, "^TLS: the certificate expired on "+yesterday)
}

func TestCertificateForAnotherName(t *testing.T) {
	srv, ca := secured(t, nil)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	entry := config.Server{Name: "s", URL: "https://localhost:" + port + "/mcp", TLS: config.TLS{CAFile: ca}}
	fails(t, noProxy(), entry, ClassConnect, `^TLS: the certificate is for example.com, .*127.0.0.1.*, not for localhost`, "tls.server_name")
	entry.TLS.ServerName = "example.com"
	opens(t, noProxy(), entry)

	// The address alone is another: Host and the certificate's name stay the URL's.
	entry = config.Server{Name: "s", URL: "https://example.com:" + port + "/mcp", TLS: config.TLS{CAFile: ca}, ConnectTo: "127.0.0.1"}
	opens(t, &Dialer{Environ: []string{"HTTPS_PROXY=http://127.0.0.1:1"}}, entry)
	fails(t, noProxy(), config.Server{Name: "s", URL: "http://example.com/mcp", ConnectTo: "no-such-host.invalid:1", Wait: time.Millisecond}, ClassConnect, "no-such-host.invalid", "--connect-to")
}

func TestClientCertificate(t *testing.T) {
	dir, entry := faultTLS(t, "tls-mtls")
	ca, cert, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	entry.TLS.CAFile = ca
	e := failing(t, noProxy(), entry, ClassConnect, "^TLS: the server requires a client certificate", "--cert-file FILE --key-file FILE, or the keys tls.cert_file")
	if e.Phase != "connect" {
		t.Errorf("phase %q", e.Phase)
	}
	entry.TLS.CertFile, entry.TLS.KeyFile = cert, key
	opens(t, noProxy(), entry)

	// The certificate of another authority is shown, and refused.
	otherDir, _ := faultTLS(t, "tls-mtls")
	entry.TLS.CertFile, entry.TLS.KeyFile = filepath.Join(otherDir, "client.pem"), filepath.Join(otherDir, "client.key")
	fails(t, noProxy(), entry, ClassConnect, "^TLS: the server refuses the client certificate: ", regexp.QuoteMeta(entry.TLS.CertFile))

	// TLS 1.2 refuses within the handshake.
	srv, ca := secured(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	})
	fails(t, noProxy(), config.Server{Name: "s", URL: srv.URL, TLS: config.TLS{CAFile: ca}}, ClassConnect, "^TLS: the server requires a client certificate")
	opens(t, noProxy(), config.Server{Name: "s", URL: srv.URL, TLS: config.TLS{CAFile: ca, CertFile: cert, KeyFile: key}})
}

// TestClientCertificateWantedOverHTTP shows the hint for a server that accepts the handshake, and refuses afterwards.
func TestClientCertificateWantedOverHTTP(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "400 No required SSL certificate was sent", http.StatusBadRequest)
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	fails(t, noProxy(), config.Server{Name: "s", URL: srv.URL, TLS: config.TLS{InsecureSkipVerify: true}}, ClassConnect, "the server asks for a client certificate: --cert-file")
}

// TestFilesAreCheckedFirst shows that what is wrong with a file is told before anything is dialled: nothing listens at
// the URL.
func TestFilesAreCheckedFirst(t *testing.T) {
	dir, _ := faultTLS(t, "tls-mtls")
	in := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, in("empty"), nil)
	writeFile(t, in("der"), []byte{0x30, 0x82, 1, 2})
	writeFile(t, in("broken.pem"), []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	writeFile(t, in("locked.key"), []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	otherDir, _ := faultTLS(t, "tls-mtls")
	flag := map[string]config.Source{"tls.ca_file": {Kind: "flag", Detail: "--ca-file"}}
	for _, tt := range []struct {
		name    string
		tls     config.TLS
		sources map[string]config.Source
		words   []string
	}{
		{"missing", config.TLS{CAFile: in("none.pem")}, nil, []string{`^the key tls.ca_file .*none.pem: no such file`, "check the name"}},
		{"missing, relative", config.TLS{CAFile: "none.pem"}, flag, []string{`^--ca-file none.pem: no such file`, `working directory: .*/pkg/session/none.pem`}},
		{"a directory", config.TLS{CAFile: dir}, nil, []string{"is a directory"}},
		{"empty", config.TLS{CAFile: in("empty")}, nil, []string{"holds no PEM certificate", "BEGIN CERTIFICATE"}},
		{"DER", config.TLS{CAFile: in("der")}, nil, []string{"holds no PEM certificate", "openssl x509 -inform der"}},
		{"a key", config.TLS{CAFile: in("client.key")}, nil, []string{"holds no PEM certificate, but EC PRIVATE KEY"}},
		{"broken", config.TLS{CAFile: in("broken.pem")}, nil, []string{"the certificate in it cannot be read"}},
		{"no key", config.TLS{CertFile: in("client.pem")}, nil, []string{"tls.cert_file is given without a key"}},
		{"key missing", config.TLS{CertFile: in("client.pem"), KeyFile: in("none.key")}, nil, []string{`^the key tls.key_file .*none.key: no such file`}},
		{"key in a certificate", config.TLS{CertFile: in("client.pem"), KeyFile: in("client.pem")}, nil, []string{"holds no PEM private key, but CERTIFICATE"}},
		{"key of another pair", config.TLS{CertFile: in("client.pem"), KeyFile: filepath.Join(otherDir, "client.key")}, nil, []string{`does not belong to the certificate in .*client.pem`}},
		{"key with a passphrase", config.TLS{CertFile: in("client.pem"), KeyFile: in("locked.key")}, nil, []string{"passphrase", "openssl pkey"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entry := config.Server{Name: "s", URL: "https://127.0.0.1:1/mcp", TLS: tt.tls, Sources: tt.sources}
			e := failing(t, noProxy(), entry, ClassConfig, tt.words...)
			if e.Phase != "config" || e.Server != "s" || e.Hint == "" {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestWrongScheme(t *testing.T) {
	plain := newRestartable(t)
	fails(t, noProxy(), config.Server{Name: "s", URL: strings.Replace(plain.URL, "http:", "https:", 1)}, ClassConnect,
		"speaks plain HTTP on this port, and the URL says https://", "write http:// in the URL")
	srv, _ := secured(t, nil)
	fails(t, noProxy(), config.Server{Name: "s", URL: strings.Replace(srv.URL, "https:", "http:", 1)}, ClassConnect,
		"(?i)HTTP request to an HTTPS server", "write https:// in the URL")

	// Most servers answer with an alert.
	l := listen(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = c.Write([]byte{0x15, 3, 1, 0, 2, 2, 0x46})
	})
	fails(t, noProxy(), config.Server{Name: "s", URL: "http://" + l + "/mcp"}, ClassProtocol, "speaks HTTPS on this port", "write https:// in the URL")

	l = listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") })
	fails(t, noProxy(), config.Server{Name: "s", URL: "https://" + l + "/mcp"}, ClassConnect, `does not speak TLS on this port: its answer begins with "SSH-2"`)
}

// listen serves TCP connections one by one.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestHTTP2(t *testing.T) {
	var mu sync.Mutex
	var protos []string
	r := &restartable{sessions: map[string]bool{}, contentType: "application/json"}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		protos = append(protos, req.Proto)
		mu.Unlock()
		r.serve(w, req)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	opens(t, noProxy(), config.Server{Name: "s", URL: srv.URL, TLS: config.TLS{CAFile: ca}})
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(protos, func(p string) bool { return p != "HTTP/2.0" }) || len(protos) == 0 {
		t.Errorf("spoken were %q", protos)
	}
}

// TestBothAddresses shows that a name with two addresses is reached when only one of them answers.
func TestBothAddresses(t *testing.T) {
	addrs, err := net.DefaultResolver.LookupHost(t.Context(), "localhost")
	if err != nil || !slices.Contains(addrs, "::1") || !slices.Contains(addrs, "127.0.0.1") {
		t.Skipf("localhost is %q here", addrs)
	}
	for _, address := range []string{"[::1]:0", "127.0.0.1:0"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Skip(err)
		}
		r := &restartable{sessions: map[string]bool{}, contentType: "application/json"}
		srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(r.serve)}}
		srv.Start()
		t.Cleanup(srv.Close)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		opens(t, noProxy(), config.Server{Name: "s", URL: "http://localhost:" + port + "/mcp"})
	}
}

// testProxy is a proxy on loopback: it opens tunnels and passes on plain requests, to one server whatever they name.
type testProxy struct {
	*httptest.Server
	// to is the address of the server.
	to string
	// refuse is the status of all answers if it is not 0.
	refuse int

	mu sync.Mutex
	// password is wanted of the user "bob" if it is not empty.
	password string
	asked    []string
}

func newProxy(t *testing.T, to string) *testProxy {
	t.Helper()
	p := &testProxy{to: to}
	p.Server = httptest.NewUnstartedServer(p)
	quiet(p.Server)
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	password := p.password
	p.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:"+password))
	switch {
	case password != "" && r.Header.Get("Proxy-Authorization") != want:
		w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
		http.Error(w, "who is it?", http.StatusProxyAuthRequired)
		return
	case p.refuse != 0:
		http.Error(w, "no", p.refuse)
		return
	}
	c, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = c.Close() }()
	if r.Method != http.MethodConnect {
		r.Header.Del("Proxy-Authorization")
		_ = r.Write(c)
		resp, err := http.ReadResponse(bufio.NewReader(c), r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(c, near)
		_ = c.Close()
	}()
	_, _ = io.Copy(near, c)
	_ = near.Close()
	<-done
}

func (p *testProxy) address() string { return p.Listener.Addr().String() }

func (p *testProxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func TestProxies(t *testing.T) {
	srv, ca := secured(t, nil)
	plain := newRestartable(t)
	secret := "hunter2/secret"
	user := url.UserPassword("bob", secret).String()

	t.Run("tunnel", func(t *testing.T) {
		p := newProxy(t, srv.Listener.Addr().String())
		p.password = secret
		entry := config.Server{Name: "s", URL: "https://example.com/mcp", TLS: config.TLS{CAFile: ca}, Proxy: "http://" + user + "@" + p.address()}
		opens(t, noProxy(), entry)
		if seen := p.seen(); len(seen) == 0 || seen[0] != "CONNECT example.com:443" {
			t.Errorf("the proxy saw %q", seen)
		}
	})
	t.Run("plain", func(t *testing.T) {
		p := newProxy(t, plain.Listener.Addr().String())
		p.password = secret
		d := &Dialer{Environ: []string{"HTTP_PROXY=http://" + user + "@" + p.address(), "HTTPS_PROXY=http://127.0.0.1:1"}}
		opens(t, d, config.Server{Name: "s", URL: "http://mcp.corp.test/mcp"})
		if seen := p.seen(); len(seen) == 0 || seen[0] != "POST mcp.corp.test" {
			t.Errorf("the proxy saw %q", seen)
		}
	})
	t.Run("TLS with the proxy", func(t *testing.T) {
		p := &testProxy{to: srv.Listener.Addr().String()}
		p.Server = httptest.NewUnstartedServer(p)
		quiet(p.Server)
		p.StartTLS() // with the same certificate as the server
		t.Cleanup(p.Close)
		entry := config.Server{Name: "s", URL: "https://example.com/mcp", TLS: config.TLS{CAFile: ca}, Proxy: "https://" + p.address()}
		opens(t, noProxy(), entry)
		entry.TLS = config.TLS{InsecureSkipVerify: true}
		fails(t, noProxy(), entry, ClassConnect, "the proxy https://"+p.address()+" cannot be reached: TLS: certificate signed by unknown authority")
	})
	t.Run("not asked", func(t *testing.T) {
		p := newProxy(t, plain.Listener.Addr().String())
		for name, d := range map[string]*Dialer{
			"loopback": {Environ: []string{"HTTP_PROXY=" + p.URL}}, // the environment's proxy is never for this machine
			"NO_PROXY": {Environ: []string{"http_proxy=" + p.URL, "NO_PROXY=127.0.0.1"}},
		} {
			opens(t, d, plain.entry())
			if seen := p.seen(); len(seen) > 0 {
				t.Errorf("%s: the proxy saw %q", name, seen)
			}
		}
		entry := config.Server{Name: "s", URL: "http://no-such-host.invalid/mcp", Proxy: config.ProxyNone, Wait: time.Millisecond}
		fails(t, &Dialer{Environ: []string{"HTTP_PROXY=" + p.URL}}, entry, ClassConnect, "no such host")
		if seen := p.seen(); len(seen) > 0 {
			t.Errorf("none: the proxy saw %q", seen)
		}
		// One that is named is for all machines.
		entry = plain.entry()
		entry.Proxy = p.URL
		opens(t, noProxy(), entry)
		if len(p.seen()) == 0 {
			t.Error("the proxy was not asked")
		}
	})
	for _, tt := range []struct {
		name     string
		password string
		refuse   int
		user     string
		scheme   string
		words    []string
		status   int
	}{
		{"no password, tunnel", "x", 0, "", "https", []string{"^through the proxy http://[0-9.:]+ \\(HTTPS_PROXY\\)", "wants a user name and a password \\(HTTP 407", "USER:PASSWORD@HOST"}, 407},
		{"no password, plain", "x", 0, "", "http", []string{"wants a user name and a password \\(HTTP 407", "USER:PASSWORD@HOST"}, 407},
		{"wrong password, tunnel", "x", 0, user + "@", "https", []string{"refuses the user name and password that it got"}, 407},
		{"wrong password, plain", "x", 0, user + "@", "http", []string{"refuses the user name and password that it got"}, 407},
		{"forbidden", "", 403, user + "@", "https", []string{"refuses to connect to example.com:443: HTTP 403 Forbidden", "NO_PROXY"}, 403},
		{"not reached", "", 502, user + "@", "https", []string{"did not connect to example.com:443: HTTP 502 Bad Gateway"}, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProxy(t, "127.0.0.1:1")
			p.password, p.refuse = tt.password, tt.refuse
			d := &Dialer{Environ: []string{strings.ToUpper(tt.scheme) + "_PROXY=http://" + tt.user + p.address()}}
			e := failing(t, d, config.Server{Name: "s", URL: tt.scheme + "://example.com/mcp", Wait: time.Millisecond}, ClassConnect, tt.words...)
			if e.Status != tt.status || strings.Contains(said(e)+e.Error(), "hunter2") || strings.Contains(said(e), url.UserPassword("bob", secret).String()) {
				t.Errorf("status %d, %s", e.Status, said(e))
			}
		})
	}
	t.Run("not there", func(t *testing.T) {
		entry := config.Server{Name: "s", URL: "http://example.com/mcp", Proxy: "http://" + user + "@127.0.0.1:1", Wait: time.Millisecond}
		entry.Set("proxy", config.Source{Kind: "flag", Detail: "--proxy"})
		e := failing(t, noProxy(), entry, ClassConnect, `^through the proxy http://127.0.0.1:1 \(--proxy\)`, "the proxy http://127.0.0.1:1 cannot be reached: 127.0.0.1:1: connection refused", "check the proxy's URL")
		if strings.Contains(said(e), "hunter2") {
			t.Error("the password is told")
		}
		entry.Proxy = "http://no-such-proxy.invalid:3128"
		fails(t, noProxy(), entry, ClassConnect, "the proxy http://no-such-proxy.invalid:3128 cannot be reached: no such host: no-such-proxy.invalid", "check the proxy's URL")
	})
	t.Run("breaks off", func(t *testing.T) {
		l := listen(t, func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) })
		entry := config.Server{Name: "s", URL: "https://example.com/mcp", Proxy: "http://" + l, Wait: time.Millisecond}
		fails(t, noProxy(), entry, ClassConnect, "the proxy http://"+regexp.QuoteMeta(l)+" ended the connection")
	})
	t.Run("SOCKS", func(t *testing.T) {
		l := listen(t, func(c net.Conn) {
			// A greeting, and a refusal: 5 is "connection refused" (RFC 1928, 6).
			_, _ = io.ReadFull(c, make([]byte, 3))
			_, _ = c.Write([]byte{5, 0})
			_, _ = io.ReadFull(c, make([]byte, 4+1+len("example.com")+2))
			_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		})
		entry := config.Server{Name: "s", URL: "http://example.com/mcp", Proxy: "socks5://" + l, Wait: time.Millisecond}
		fails(t, noProxy(), entry, ClassConnect, "the proxy socks5://"+regexp.QuoteMeta(l)+" did not connect to http://example.com/mcp: .*connection refused")
	})
	t.Run("malformed", func(t *testing.T) {
		d := &Dialer{Environ: []string{"HTTPS_PROXY=http://bob:hunter%2@p:1"}}
		e := failing(t, d, config.Server{Name: "s", URL: "https://example.com/mcp"}, ClassConfig, "^the variable HTTPS_PROXY is no URL")
		if strings.Contains(said(e), "hunter") {
			t.Error("the password is told")
		}
		fails(t, &Dialer{Environ: []string{"HTTP_PROXY=http://p:1", "REQUEST_METHOD=GET"}}, config.Server{Name: "s", URL: "http://example.com/mcp"}, ClassConfig, "REQUEST_METHOD")
	})
}

// TestProxyOfAnOpenSession shows that a request in an open session tells of the proxy, too, and is not repeated.
func TestProxyOfAnOpenSession(t *testing.T) {
	plain := newRestartable(t)
	p := newProxy(t, plain.Listener.Addr().String())
	entry := plain.entry()
	entry.Proxy = p.URL
	s, err := noProxy().Dial(t.Context(), entry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p.mu.Lock()
	p.password = "changed"
	p.mu.Unlock()
	_, err = s.Raw(t.Context(), "tools/call", map[string]any{"name": "x"})
	var e *Error
	if !errors.As(err, &e) || e.Outcome != OutcomeRefused || !strings.Contains(said(err), "through the proxy "+p.URL) {
		t.Errorf("%v: %s", err, said(err))
	}
}

func TestProxyRequired(t *testing.T) {
	c, _ := faultlab.Find("net-proxy-required")
	s, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	entry := config.Server{Name: "s", URL: s.URL, Wait: time.Millisecond}
	fails(t, noProxy(), entry, ClassConnect, "no such host|mcp.corp.test", "--proxy URL, or the variable HTTP_PROXY")
	opens(t, &Dialer{Environ: []string{"http_proxy=" + s.Origin}}, entry)
	entry.Proxy = s.Origin
	opens(t, noProxy(), entry)
}

func TestContentEncoding(t *testing.T) {
	_, entry := fault(t, "gzip-header-lie")
	fails(t, noProxy(), entry, ClassProtocol, `Content-Encoding says gzip but the body is not gzip \(starts with "\{"\)`, "suspect a proxy")
	// What is configured cannot make bodies that nobody can read.
	r := newRestartable(t)
	for _, accept := range []string{"", "br", "gzip, deflate, br, zstd", "identity"} {
		entry := r.entry()
		if accept != "" {
			entry.Headers = map[string]string{"accept-encoding": accept}
		}
		opens(t, noProxy(), entry)
	}
}

func TestRoute(t *testing.T) {
	d := &Dialer{Environ: []string{"HTTPS_PROXY=http://bob:hunter2@proxy.example:3128"}}
	r, err := d.Route(config.Server{Name: "s", URL: "https://x.example/mcp"})
	if err != nil || r.Proxy != "http://proxy.example:3128" || r.ProxySource != "HTTPS_PROXY" || r.Host != "x.example" || r.Port != "443" || r.TLS.ServerName != "x.example" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = d.Route(config.Server{Name: "s", URL: "https://x.example/mcp", ConnectTo: "[::1]:8443"})
	if err != nil || r.Proxy != "" || r.Host != "::1" || r.Port != "8443" || r.TLS.ServerName != "x.example" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err = d.Route(config.Server{Name: "s", URL: "https://x.example", TLS: config.TLS{CAFile: "no-such-file"}}); ClassOf(err) != ClassConfig {
		t.Error(err)
	}
}

// quiet takes the log away from a test server: what it complains of is what is tested.
func quiet(srv *httptest.Server) {
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
}
