// Package farm serves hundreds of MCP servers on this machine, for tests and benchmarks of commands that look at many: quick
// ones, slow ones, ones that never answer, and ones that are not there. It counts what reaches them from below the
// protocol: connections, TLS handshakes, requests.
package farm

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
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Kind is how a server behaves.
type Kind string

// The kinds of servers.
const (
	// Quick answers at once.
	Quick Kind = "quick"
	// Slow answers the first request after the delay, and all others at once.
	Slow Kind = "slow"
	// Hanging takes requests and never answers.
	Hanging Kind = "hanging"
	// Dead is an address at which nothing listens.
	Dead Kind = "dead"
	// Stdio is a command.
	Stdio Kind = "stdio"
)

// Options say what a farm is like.
type Options struct {
	// Kind returns how the server of a number behaves. If nil, all are quick.
	Kind func(i int) Kind
	// Delay is how long slow servers take for their first answer.
	Delay time.Duration
	// TLS makes them speak HTTPS, with a certificate of an authority of their own.
	TLS bool
	// Ports is on how many ports they listen, 0 for one. Servers of one port differ in their paths.
	Ports int
	// Host is the host in their URLs; "" is 127.0.0.1. It must resolve to that.
	Host string
	// Command is what starts a server of the kind Stdio.
	Command []string
	// Tools is how many tools a server has, 0 for two.
	Tools int
}

// Counts are what has reached a farm so far.
type Counts struct {
	// Accepted are the TCP connections, Open those that there are now, and MostOpen the most at one time.
	Accepted, Open, MostOpen int64
	// Handshakes are those of TLS that went through, and Resumed those of them that went on with an earlier one.
	Handshakes, Resumed int64
	// Requests are those of HTTP.
	Requests int64
}

// Farm is a number of servers. End it with [Farm.Close].
type Farm struct {
	opts      Options
	dir       string
	listeners []net.Listener
	servers   []*http.Server
	caFile    string
	dead      string
	over      chan struct{}

	accepted, open, mostOpen, handshakes, resumed, requests atomic.Int64
	// hosts are the handlers of the servers that were asked, by number.
	hosts sync.Map
}

// New starts a farm. Its files are kept in dir.
func New(dir string, opts Options) (*Farm, error) {
	if opts.Kind == nil {
		opts.Kind = func(int) Kind { return Quick }
	}
	opts.Ports, opts.Tools = max(opts.Ports, 1), max(opts.Tools, 2)
	if opts.Host == "" {
		opts.Host = "127.0.0.1"
	}
	f := &Farm{opts: opts, dir: dir, over: make(chan struct{})}
	var settings *tls.Config
	if opts.TLS {
		var err error
		if settings, err = f.certify(); err != nil {
			return nil, err
		}
	}
	for range opts.Ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it blocks for no time
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.listeners = append(f.listeners, listener)
		server := &http.Server{
			Handler: f, ReadHeaderTimeout: time.Minute, ConnState: f.connState, TLSConfig: settings,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of connections that were only looked at
		}
		f.servers = append(f.servers, server)
		go func() {
			if settings != nil {
				_ = server.ServeTLS(listener, "", "")
			} else {
				_ = server.Serve(listener)
			}
		}()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.dead = closed.Addr().String()
	return f, closed.Close()
}

// Close ends all servers.
func (f *Farm) Close() error {
	close(f.over)
	var errs []error
	for _, s := range f.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Counts tell what has reached the farm so far.
func (f *Farm) Counts() Counts {
	return Counts{
		Accepted: f.accepted.Load(), Open: f.open.Load(), MostOpen: f.mostOpen.Load(),
		Handshakes: f.handshakes.Load(), Resumed: f.resumed.Load(), Requests: f.requests.Load(),
	}
}

// Reset begins the counts anew. No connection may be open.
func (f *Farm) Reset() {
	for _, n := range []*atomic.Int64{&f.accepted, &f.open, &f.mostOpen, &f.handshakes, &f.resumed, &f.requests} {
		n.Store(0)
	}
	f.hosts.Clear()
}

// URL returns where the server of a number is.
func (f *Farm) URL(i int) string {
	scheme := "http"
	if f.opts.TLS {
		scheme = "https"
	}
	if f.opts.Kind(i) == Dead {
		return scheme + "://" + f.dead + "/mcp/" + strconv.Itoa(i)
	}
	_, port, _ := net.SplitHostPort(f.listeners[i%len(f.listeners)].Addr().String())
	return fmt.Sprintf("%s://%s/mcp/%d", scheme, net.JoinHostPort(f.opts.Host, port), i)
}

// Configure writes a configuration with the first n servers, and returns its path. The keys are lines that each entry has,
// too, such as "connect_timeout: 3s".
func (f *Farm) Configure(n int, keys ...string) (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i := range n {
		_, _ = fmt.Fprintf(&b, "  s%04d:\n", i)
		if f.opts.Kind(i) == Stdio {
			_, _ = fmt.Fprintf(&b, "    command: %q\n    args: [", f.opts.Command[0])
			for j, arg := range f.opts.Command[1:] {
				if j > 0 {
					b.WriteString(", ")
				}
				b.WriteString(strconv.Quote(arg))
			}
			b.WriteString("]\n")
		} else {
			_, _ = fmt.Fprintf(&b, "    url: %q\n", f.URL(i))
			if f.opts.TLS {
				_, _ = fmt.Fprintf(&b, "    tls:\n      ca_file: %q\n", f.caFile)
			}
		}
		for _, key := range keys {
			b.WriteString("    " + key + "\n")
		}
	}
	file, err := os.CreateTemp(f.dir, "servers-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(b.String())
	return file.Name(), errors.Join(err, file.Close())
}

// host is one server.
type host struct {
	// made is done when the handler is made, by the first request.
	made    sync.Once
	handler http.Handler
	// first is done when the first request has been kept waiting.
	first sync.Once
}

// ServeHTTP hands a request to the server whose number is in its path.
func (f *Farm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/mcp/"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kind := f.opts.Kind(i)
	if kind == Hanging {
		_, _ = io.Copy(io.Discard, r.Body) // then the end of the connection is noticed
		select {
		case <-r.Context().Done():
		case <-f.over:
		}
		return
	}
	made, _ := f.hosts.LoadOrStore(i, &host{})
	h, ok := made.(*host)
	if !ok {
		http.Error(w, "no server", http.StatusInternalServerError)
		return
	}
	h.made.Do(func() { h.handler = f.handler(i) })
	if kind == Slow {
		h.first.Do(func() {
			timer := time.NewTimer(f.opts.Delay)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
			}
		})
	}
	h.handler.ServeHTTP(w, r)
}

// handler returns a server of the SDK.
func (f *Farm) handler(i int) http.Handler {
	server := NewServer("farm-"+strconv.Itoa(i), f.opts.Tools)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// toolInput is what the tools of the farm take.
type toolInput struct {
	Text string `json:"text" jsonschema:"what is given back"`
}

// schemas has the schema of the tools once for the servers of all farms.
var schemas = mcp.NewSchemaCache()

// NewServer returns a server with so many tools, each of which gives back what it is given.
func NewServer(name string, tools int) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1.0.0"}, &mcp.ServerOptions{SchemaCache: schemas})
	for i := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("echo_%d", i), Description: "Gives back the text that it is given."},
			func(_ context.Context, _ *mcp.CallToolRequest, in toolInput) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
	}
	return server
}

func (f *Farm) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.accepted.Add(1)
		open := f.open.Add(1)
		for {
			if most := f.mostOpen.Load(); open <= most || f.mostOpen.CompareAndSwap(most, open) {
				break
			}
		}
	case http.StateClosed, http.StateHijacked:
		f.open.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// certify makes an authority and the settings of servers that it vouches for, and writes the authority's certificate.
func (f *Farm) certify() (*tls.Config, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "farm authority"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "farm"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", f.opts.Host}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	f.caFile = filepath.Join(f.dir, "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})
	if err := os.WriteFile(f.caFile, text, 0o600); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: key}},
		VerifyConnection: func(state tls.ConnectionState) error {
			f.handshakes.Add(1)
			if state.DidResume {
				f.resumed.Add(1)
			}
			return nil
		},
	}, nil
}
