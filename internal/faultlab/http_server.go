package faultlab

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// httpFault is what a case changes in how the answers travel over HTTP.
type httpFault struct {
	request func(x *exchange) (done bool)             // sees every HTTP request first
	live    func(x *exchange, s *session) (done bool) // sees a JSON-RPC request on a live session, before it is run
	stale   func(x *exchange)                         // answers a request on a session the server no longer has
	reply   func(x *exchange, frame string)           // writes the one answer to a POST; nil means plain JSON
	stream  func(st *stream, s *session)              // answers every POST as SSE instead

	firstSessionDies bool // odd sessions die on their first request ("Dead first session")

	path        string                        // of the address given to clients; "" means /mcp
	url         func(origin string) string    // the whole address given to clients, where a path is not enough
	tls         *tlsFault                     // not nil: HTTPS
	anyOrigin   bool                          // answers web pages of any origin
	otherOrigin bool                          // opens a second listener, which serves MCP too and records what reaches it
	other       func(x *exchange) (done bool) // sees every request to the second listener first
	listenAfter time.Duration                 // how long the port stays closed
	raw         func(c net.Conn)              // has each connection in place of HTTP; it is closed afterwards
}

// HTTPOptions are the circumstances in which a case is served over HTTP. The zero value is fit for tests.
type HTTPOptions struct {
	Addr       string        // 127.0.0.1:PORT; "" means a free port
	CertDir    string        // where an HTTPS case writes ca.pem, client.pem and client.key; "" means nowhere
	ServeFirst int           // how many requests a session that is to die answers before it does
	Delay      time.Duration // replaces the main delay of a case that has one; 0 keeps it
	Log        io.Writer     // gets every event as a line of JSON; nil means nobody
}

// Server is a case being served over HTTP.
type Server struct {
	URL    string // where a client connects
	Origin string // scheme and address of the lab; its control pages are below Origin/__
	Other  string // origin of the second listener, "" where the case has none

	c          Case
	serveFirst int
	responder  *responder
	journal    *journal
	stop       context.CancelFunc
	servers    []*http.Server
	background sync.WaitGroup // what Close waits for

	mu       sync.Mutex
	sessions map[string]*session
	issued   int
	lastDoom time.Time            // when a session last died as the case demands
	marks    map[string]time.Time // moments a case wants to remember
	streams  map[string]chan string
	resume   map[string]*lateFrame // by event id

	grants grants // what the authorization server of a case has given
}

// shutdownTime is how long Close waits for requests that are still being answered. They stop by themselves, so this is
// only for connections that never carried a request.
const shutdownTime = time.Second

// Serve opens the case over HTTP on 127.0.0.1. The caller must close the server.
func (c Case) Serve(o HTTPOptions) (*Server, error) {
	if !c.serves(HTTP) {
		return nil, fmt.Errorf("case %s is not served over http (but: %s)", c.Name, c.Over)
	}
	addr, err := loopback(o.Addr)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		c: c, serveFirst: o.ServeFirst, stop: stop, journal: newJournal(true, o.Log),
		sessions: map[string]*session{}, marks: map[string]time.Time{},
		streams: map[string]chan string{}, resume: map[string]*lateFrame{},
	}
	s.responder = newResponder(c, HTTP, ctx.Done(), s.journal.add)
	s.responder.delay = o.Delay

	scheme := "http"
	var certs *tls.Config
	if c.http.tls != nil {
		scheme = "https"
		if certs, err = c.http.tls.config(o.CertDir); err != nil {
			stop()
			return nil, err
		}
	}
	if err := s.open(ctx, addr, scheme, certs); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.URL = s.Origin + c.http.path
	if c.http.path == "" {
		s.URL = s.Origin + "/mcp"
	}
	if c.http.url != nil {
		s.URL = c.http.url(s.Origin)
	}
	return s, nil
}

// loopback checks that addr is on 127.0.0.1.
func loopback(addr string) (string, error) {
	if addr == "" {
		return freeAddr, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host != "127.0.0.1" {
		return "", fmt.Errorf("address %q: must be 127.0.0.1:PORT", addr)
	}
	return addr, nil
}

// freeAddr is a port that the system chooses.
const freeAddr = "127.0.0.1:0"

// listenAside listens on a port that the system gives to nobody by itself, so that it is still free when it is let go of for a while.
func listenAside(ctx context.Context) (l net.Listener, err error) {
	const first, last, tries = 20000, 32000, 100
	var lc net.ListenConfig
	for range tries {
		if l, err = lc.Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", first+rand.N(last-first))); err == nil {
			break
		}
	}
	return l, err
}

// open starts the listeners.
func (s *Server) open(ctx context.Context, addr, scheme string, certs *tls.Config) error {
	var lc net.ListenConfig
	listen := func() (net.Listener, error) { return lc.Listen(ctx, "tcp4", addr) }
	if s.c.http.listenAfter > 0 && addr == freeAddr {
		listen = func() (net.Listener, error) { return listenAside(ctx) }
	}
	l, err := listen()
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.Origin = scheme + "://" + l.Addr().String()
	if wait := s.c.http.listenAfter; wait > 0 {
		// The listener only chose a free port. It is opened again when the time has come.
		addr = l.Addr().String()
		if err := l.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		s.background.Go(func() {
			if !s.responder.pause(s.responder.mainDelay(wait)) {
				return
			}
			l, err := lc.Listen(ctx, "tcp4", addr)
			if err != nil {
				s.log("listen_error", "error", err.Error())
				return
			}
			s.start(ctx, l, http.HandlerFunc(s.serve), certs)
		})
	} else {
		s.start(ctx, l, http.HandlerFunc(s.serve), certs)
	}
	if s.c.http.otherOrigin {
		other, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		s.Other = "http://" + other.Addr().String()
		s.start(ctx, other, http.HandlerFunc(s.serveOther), nil)
	}
	return nil
}

// connectionKey is the context key of the number of requests a connection has carried.
type connectionKey struct{}

// startRaw hands each connection to the case until the lab stops.
func (s *Server) startRaw(ctx context.Context, l net.Listener) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	s.background.Go(func() {
		defer stop()
		for {
			c, err := l.Accept()
			if err != nil {
				return // the lab stops
			}
			s.log("connection", "from", c.RemoteAddr().String())
			s.background.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				defer func() { _ = c.Close() }()
				s.c.http.raw(c)
			})
		}
	})
}

// start serves one listener until the lab stops.
func (s *Server) start(ctx context.Context, l net.Listener, h http.Handler, certs *tls.Config) {
	if s.c.http.raw != nil {
		s.startRaw(ctx, l)
		return
	}
	srv := &http.Server{
		Handler:           h,
		TLSConfig:         certs,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(errorLog{s}, slog.LevelError),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, new(atomic.Int32))
		},
	}
	s.mu.Lock()
	closing := ctx.Err() != nil // Close stops only the servers it finds
	if !closing {
		s.servers = append(s.servers, srv)
	}
	s.mu.Unlock()
	if closing {
		_ = l.Close()
		return
	}
	s.background.Go(func() {
		var err error
		if certs != nil {
			err = srv.ServeTLS(l, "", "")
		} else {
			err = srv.Serve(l)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.log("serve_error", "error", err.Error())
		}
	})
}

// errorLog puts what net/http complains about (a refused TLS handshake, say) into the journal.
type errorLog struct{ s *Server }

// Enabled implements [slog.Handler].
func (errorLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (l errorLog) Handle(_ context.Context, r slog.Record) error {
	l.s.log("http_error", "error", strings.TrimSpace(r.Message))
	return nil
}

// WithAttrs implements [slog.Handler]. net/http has no attributes.
func (l errorLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements [slog.Handler]. net/http has no groups.
func (l errorLog) WithGroup(string) slog.Handler { return l }

// Close stops the server. Requests that the case holds open end first.
func (s *Server) Close() error {
	s.stop()
	s.mu.Lock()
	servers := s.servers
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	var errs []error
	for _, srv := range servers {
		if srv.Shutdown(ctx) != nil {
			errs = append(errs, srv.Close())
		}
	}
	s.background.Wait()
	return errors.Join(errs...)
}

func (s *Server) log(kind string, details ...any) { s.journal.add(kind, details...) }

// Events returns what the lab saw and did so far.
func (s *Server) Events() []Event { return s.journal.all() }

// Stats are the numbers a test of a client asks for first.
type Stats struct {
	Case           string         `json:"case"`
	SessionsIssued int            `json:"sessions_issued"` // one for each accepted initialize
	SessionsLive   int            `json:"sessions_live"`
	ToolExec       map[string]int `json:"tool_exec"` // runs of each tool
}

// Stats returns the numbers so far.
func (s *Server) Stats() Stats {
	st := Stats{Case: s.c.Name, ToolExec: map[string]int{}}
	s.mu.Lock()
	st.SessionsIssued = s.issued
	for _, ses := range s.sessions {
		if !ses.dead {
			st.SessionsLive++
		}
	}
	s.mu.Unlock()
	s.responder.mu.Lock()
	defer s.responder.mu.Unlock()
	maps.Copy(st.ToolExec, s.responder.executed)
	return st
}

// ForgetSessions ends every session, as a restart of the server would, and returns how many there were.
func (s *Server) ForgetSessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, ses := range s.sessions {
		if !ses.dead {
			ses.dead = true
			n++
		}
	}
	return n
}

// serve answers one HTTP request to the main listener.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/__") && r.URL.Host == "" {
		s.control(w, r)
		return
	}
	x, err := s.exchange(w, r)
	if err != nil {
		s.log("http", "method", r.Method, "url", r.URL.String(), "error", err.Error())
		return
	}
	s.log("http", x.details()...)
	if !s.c.http.anyOrigin && foreign(r.Header.Get("Origin")) {
		x.text(http.StatusForbidden, "text/plain", "Forbidden: invalid Origin header")
		return
	}
	if f := s.c.http.request; f != nil && f(x) {
		return
	}
	if r.URL.Path != "/mcp" {
		x.text(http.StatusNotFound, "text/html; charset=utf-8",
			"<!DOCTYPE html>\n<html><body><pre>Cannot "+r.Method+" "+r.URL.Path+"</pre></body></html>\n")
		return
	}
	x.endpoint()
}

// foreign reports whether an Origin header names another machine.
func foreign(origin string) bool {
	u, err := url.Parse(origin)
	if origin == "" || err != nil {
		return origin != ""
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// serveOther answers one HTTP request to the second listener, which is another origin: nothing that belongs to the
// first may reach it.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	x, err := s.exchange(w, r)
	if err != nil {
		s.log("other_origin", "method", r.Method, "url", r.URL.String(), "error", err.Error())
		return
	}
	s.log("other_origin", append(x.details(), "leaked_authorization", r.Header.Get("Authorization") != "")...)
	if f := s.c.http.other; f != nil && f(x) {
		return
	}
	x.endpoint()
}

// control serves the lab's own pages.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/__log":
		var b bytes.Buffer
		for _, e := range s.Events() {
			writeLine(&b, e)
		}
		_, _ = w.Write(b.Bytes())
	case "/__stats":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Stats())
	case "/__kill":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "{\"killed\":%d}\n", s.ForgetSessions())
	case "/__reset":
		s.journal.clear()
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}
