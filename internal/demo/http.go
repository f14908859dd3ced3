package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions are the circumstances of a server over HTTP. The zero value works.
type HTTPOptions struct {
	Options

	// AllowRemote permits addresses other than loopback. Whoever reaches the port may then use the server: it asks
	// for no authorization.
	AllowRemote bool
	// Stateless serves without sessions, which is the only way in which the SDK serves protocol 2026-07-28 over
	// HTTP. If false, the server speaks the revisions up to 2025-11-25, with sessions.
	Stateless bool
}

// HTTPServer is a demonstration server that listens.
type HTTPServer struct {
	url      string
	mcp      *mcp.Server
	http     *http.Server
	running  requests
	stopWait func() bool   // forgets the context of ServeHTTP
	close    func() error  // does the work of Close, once
	served   chan struct{} // closed when the listener's loop has ended, after serveErr is set
	serveErr error
	closed   chan struct{} // closed when the work of Close is done

	mu      sync.Mutex
	closing bool // new requests are refused
}

const (
	defaultAddr = "127.0.0.1:0"
	mcpPath     = "/mcp"
	// headerTime bounds how long a connection may take to send the headers of a request.
	headerTime = 10 * time.Second
	// sessionTime is how long a session may be idle. Clients that never end theirs would fill the memory otherwise.
	sessionTime = time.Hour
	// closeTime is how long Close waits for requests being answered, before it closes their connections, and again
	// after. They are cancelled and stop at once, so this is only for clients that do not read.
	closeTime = 500 * time.Millisecond
)

// Why requests are cancelled.
var (
	errServerClosing  = errors.New(Name + ": the server is closing")
	errSessionDeleted = errors.New(Name + ": the session was deleted")
)

// ServeHTTP listens on addr, HOST:PORT, and serves streamable HTTP at /mcp (MCP 2025-11-25, basic/transports) until
// Close is called or ctx ends. If addr is "", it takes a free port of 127.0.0.1. An address that is not loopback is
// refused unless o.AllowRemote is set. The caller must call Close, or Wait after ctx has ended.
func ServeHTTP(ctx context.Context, addr string, o HTTPOptions) (*HTTPServer, error) {
	if addr == "" {
		addr = defaultAddr
	}
	if !o.AllowRemote {
		if err := checkLoopback(addr); err != nil {
			return nil, err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}

	s := &HTTPServer{
		url:    "http://" + listener.Addr().String() + mcpPath,
		mcp:    NewServer(o.Options),
		served: make(chan struct{}),
		closed: make(chan struct{}),
	}
	s.mcp.AddReceivingMiddleware(s.running.middleware)
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                    o.Stateless,
		Logger:                       o.logger(),
		SessionTimeout:               sessionTime,
		PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	// A page in a browser must not use the server: the SDK checks the Host header, this the Origin.
	mux.Handle(mcpPath, http.NewCrossOriginProtection().Handler(s.guard(streamable)))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTime,
		ErrorLog:          slog.NewLogLogger(o.logger().Handler(), slog.LevelWarn),
	}
	s.close = sync.OnceValue(s.shutdown)
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.serveErr = fmt.Errorf("%s: %w", Name, err)
		}
	}()
	s.stopWait = context.AfterFunc(ctx, func() { _ = s.close() }) // Close and Wait return the error
	return s, nil
}

// checkLoopback returns an error unless addr is on a loopback address.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s: listen: %w", Name, err)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s: listen %s: not a loopback address, and the server asks for no authorization", Name, addr)
}

// URL returns the address for clients.
func (s *HTTPServer) URL() string { return s.url }

// Wait returns when the server has ended, with the error that ended it. It returns nil after Close, and after the end
// of the context that was given to ServeHTTP.
func (s *HTTPServer) Wait() error {
	<-s.served
	if s.serveErr != nil {
		return errors.Join(s.serveErr, s.Close())
	}
	<-s.closed
	return nil
}

// Close ends all requests, sessions and connections, and returns when they have gone. It takes a few seconds at most,
// whatever the clients do. It may be called again.
func (s *HTTPServer) Close() error {
	s.stopWait()
	return s.close()
}

func (s *HTTPServer) shutdown() error {
	defer close(s.closed)
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.running.end(errServerClosing)
	s.closeSessions() // ends their streams, for which Shutdown would wait
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeTime, errServerClosing)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.closeSessions() // those that began in between
	<-s.served
	if err != nil {
		return fmt.Errorf("%s: close: %w", Name, err)
	}
	return nil
}

// closeSessions closes the sessions there are. Each waits for its requests, so they are closed side by side.
func (s *HTTPServer) closeSessions() {
	var closing sync.WaitGroup
	for session := range s.mcp.Sessions() {
		closing.Go(func() { _ = session.Close() }) // a session that is broken already is as good as closed
	}
	done := make(chan struct{})
	go func() {
		closing.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeTime):
	}
}

// sessionHeader carries the id of the session (MCP 2025-11-25, basic/transports, session management).
const sessionHeader = "Mcp-Session-Id"

// guard refuses requests once the server is being closed, so that no session and no stream begins then, and cancels
// the requests of a session that its client deletes.
func (s *HTTPServer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if closing {
			http.Error(w, errServerClosing.Error(), http.StatusServiceUnavailable)
			return
		}
		if id := r.Header.Get(sessionHeader); r.Method == http.MethodDelete && id != "" {
			s.running.endSession(id, errSessionDeleted)
		}
		next.ServeHTTP(w, r)
	})
}
