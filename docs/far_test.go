//go:build linux

package docs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	randv2 "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/faultlab"
)

// world is what the commands of a page find on the network: servers on this machine, and a proxy that leads names such as
// https://search.example to them, with certificates of an authority that the sandbox trusts.
type world struct {
	servers map[string]io.Closer // by their URLs in the page
	local   map[string]string    // HOST:PORT of the page to HOST:PORT of this machine, of the same width

	mu     sync.Mutex
	remote map[string]*url.URL // HOST:PORT of the page to the origin that answers for it

	key   *ecdsa.PrivateKey
	ca    *x509.Certificate
	front *http.Server // what is behind the proxy's TLS
	proxy *http.Server
	in    *handedOver
	at    string // of the proxy
}

// newWorld opens the proxy, and writes the certificate of its authority.
func newWorld(ctx context.Context, caFile string) (*world, error) {
	w := &world{servers: map[string]io.Closer{}, local: map[string]string{}, remote: map[string]*url.URL{}}
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcpctl documentation"}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, w.key.Public(), w.key)
	if err != nil {
		return nil, err
	}
	if w.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.at = l.Addr().String()
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.in = &handedOver{conns: make(chan net.Conn), done: make(chan struct{}), addr: l.Addr()}
	w.front = &http.Server{Handler: w.forward("https"), ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	w.proxy = &http.Server{Handler: http.HandlerFunc(w.serveProxy), ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	go func() { _ = w.front.Serve(tls.NewListener(w.in, &tls.Config{GetCertificate: w.certificate})) }()
	go func() { _ = w.proxy.Serve(l) }()
	return w, nil
}

func (w *world) close() {
	for _, s := range w.servers {
		_ = s.Close()
	}
	_ = w.proxy.Close()
	_ = w.front.Close()
}

// certificate makes the certificate of a name.
func (w *world) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{hello.ServerName},
		NotBefore: w.ca.NotBefore, NotAfter: w.ca.NotAfter,
	}, w.ca, w.key.Public(), w.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}, nil
}

// forward sends what comes for a name to the server that stands for it.
func (w *world) forward(scheme string) http.Handler {
	return &httputil.ReverseProxy{
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			if to := w.behind(scheme, r.In.Host); to != nil {
				r.SetURL(to)
			}
		},
	}
}

// behind returns the server that stands for a host, nil if there is none.
func (w *world) behind(scheme, host string) *url.URL {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host += map[string]string{"http": ":80", "https": ":443"}[scheme]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.remote[host]
}

func (w *world) serveProxy(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		if w.behind("http", r.Host) == nil {
			http.Error(out, "no such host", http.StatusBadGateway)
			return
		}
		w.forward("http").ServeHTTP(out, r)
		return
	}
	if w.behind("https", r.Host) == nil {
		http.Error(out, "no such host", http.StatusBadGateway)
		return
	}
	conn, _, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case w.in.conns <- conn:
	case <-w.in.done:
		_ = conn.Close()
	}
}

// handedOver is a listener of connections that were accepted elsewhere.
type handedOver struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
	addr  net.Addr
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

func (h *handedOver) Addr() net.Addr { return h.addr }

// serve starts what stands for a URL of the page: the demonstration server (demo, demo stateless), a case of the laboratory,
// or the files of a directory (files DIR).
func (w *world) serve(ctx context.Context, rest string, found func(string) string) error {
	address, what, _ := strings.Cut(rest, " ")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || what == "" {
		return fmt.Errorf("serve %s: write serve URL WHAT", rest)
	}
	if w.servers[address] != nil {
		return fmt.Errorf("serve %s: it is served already", address)
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1"
	listen := "127.0.0.1:0"
	switch old := w.local[u.Host]; {
	case local && old != "":
		_, port, _ := net.SplitHostPort(old)
		listen = "127.0.0.1:" + port
	case local:
		if listen, err = freePort(ctx, len(u.Port())); err != nil {
			return err
		}
	}
	var server io.Closer
	var at string
	switch words := strings.Fields(what); {
	case words[0] == "demo":
		s, err := demo.ServeHTTP(ctx, listen, demo.HTTPOptions{Options: demo.Options{Version: version}, Stateless: len(words) > 1})
		if err != nil {
			return err
		}
		server, at = s, s.URL()
	case words[0] == "files" && len(words) == 2:
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.FileServer(http.Dir(found(words[1]))), ReadHeaderTimeout: time.Minute}
		go func() { _ = s.Serve(l) }()
		server, at = s, "http://"+l.Addr().String()
	default:
		c, ok := faultlab.Find(what)
		if !ok {
			return fmt.Errorf("serve %s: the laboratory has no case %q", address, what)
		}
		s, err := c.Serve(faultlab.HTTPOptions{Addr: listen})
		if err != nil {
			return err
		}
		server, at = s, s.Origin
	}
	w.servers[address] = server
	to, err := url.Parse(at)
	if err != nil {
		return err
	}
	if local {
		w.local[u.Host] = u.Hostname() + ":" + to.Port()
		return nil
	}
	host := u.Host
	if u.Port() == "" {
		host += map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	}
	w.mu.Lock()
	w.remote[host] = &url.URL{Scheme: to.Scheme, Host: to.Host}
	w.mu.Unlock()
	return nil
}

func (w *world) stop(address string) error {
	s := w.servers[address]
	if s == nil {
		return fmt.Errorf("stop %s: it is not served", address)
	}
	delete(w.servers, address)
	return s.Close()
}

// freePort returns a free address whose port has so many digits: what a command prints is then as wide as in the page.
func freePort(ctx context.Context, digits int) (string, error) {
	low, high := 2000, 9999
	if digits > 4 {
		low, high = 20000, 32000
	}
	var last error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", low+randv2.IntN(high-low)) //nolint:gosec // any port
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			last = err
			continue
		}
		return address, l.Close()
	}
	return "", errors.Join(errors.New("no free port"), last)
}
