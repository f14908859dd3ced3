package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// traffic is what went between a client and a server: the client's requests, one word each, and the bytes both ways.
type traffic struct {
	Sent          []string `json:"sent"`
	SentBytes     int      `json:"sent_bytes"`
	ReceivedBytes int      `json:"received_bytes"`
	// Ended is set with what the server took, over stdio.
	Ended   bool    `json:"ended"`
	CPUMS   float64 `json:"cpu_ms"`
	PeakMiB float64 `json:"peak_mib"`
}

// since is what has been added to an earlier state.
func (t traffic) since(before traffic) traffic {
	t.Sent = slices.Clone(t.Sent[min(len(before.Sent), len(t.Sent)):])
	t.SentBytes -= before.SentBytes
	t.ReceivedBytes -= before.ReceivedBytes
	t.CPUMS -= before.CPUMS
	return t
}

// words are the requests, shortened, and those that come in a row counted.
func (t traffic) words() string {
	short := strings.NewReplacer("notifications/", "", "server/", "", "tools/", "", "logging/", "", "initialized", "inited", "initialize", "init")
	var words []string
	for i := 0; i < len(t.Sent); {
		n := 1
		for i+n < len(t.Sent) && t.Sent[i+n] == t.Sent[i] {
			n++
		}
		word := short.Replace(t.Sent[i])
		if n > 1 {
			word = fmt.Sprintf("%s x%d", word, n)
		}
		words = append(words, word)
		i += n
	}
	return strings.Join(words, ", ")
}

// counter is a reverse proxy that counts: requests by what they ask, and the bytes of the connections, headers included.
type counter struct {
	URL    string
	server *http.Server
	done   chan struct{}

	mu     sync.Mutex
	seen   traffic
	posts  int // requests other than GET that are not answered yet
	settle chan struct{}
}

// count opens a counting proxy before the server at a URL.
func count(ctx context.Context, target string) (*counter, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{URL: "http://" + listener.Addr().String() + to.Path, done: make(chan struct{}), settle: make(chan struct{}, 1)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
		},
		FlushInterval: -1, // each event at once
		Transport:     &http.Transport{},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway) // the client has gone, as a rule
		},
	}
	c.server = &http.Server{Handler: c.handler(proxy), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(c.done)
		_ = c.server.Serve(countedListener{listener, c})
	}()
	return c, nil
}

// close ends the proxy and its connections.
func (c *counter) close() error {
	err := c.server.Close()
	<-c.done
	return err
}

// handler takes down what is asked before it is passed on.
func (c *counter) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		word := r.Method
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			var m struct{ Method string }
			if word = "answer"; json.Unmarshal(body, &m) == nil && m.Method != "" {
				word = m.Method
			}
		}
		c.change(func() {
			c.seen.Sent = append(c.seen.Sent, word)
			if r.Method != http.MethodGet {
				c.posts++
			}
		})
		if r.Method != http.MethodGet {
			defer c.change(func() { c.posts-- })
		}
		next.ServeHTTP(w, r)
	})
}

func (c *counter) change(do func()) {
	c.mu.Lock()
	do()
	c.mu.Unlock()
	select {
	case c.settle <- struct{}{}:
	default:
	}
}

// now is what has been counted, when the requests that are on their way have been answered: streams that a client holds
// open are not waited for.
func (c *counter) now(ctx context.Context) (traffic, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, grace, errors.New("requests that are not answered"))
	defer cancel()
	for {
		c.mu.Lock()
		seen, posts := c.seen, c.posts
		c.mu.Unlock()
		if posts == 0 {
			return seen, nil
		}
		select {
		case <-c.settle:
		case <-ctx.Done():
			return seen, context.Cause(ctx)
		}
	}
}

// countedListener gives out connections that count.
type countedListener struct {
	net.Listener
	c *counter
}

func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, l.c}, nil
}

type countedConn struct {
	net.Conn
	c *counter
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.c.change(func() { c.c.seen.SentBytes += n })
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.c.change(func() { c.c.seen.ReceivedBytes += n })
	return n, err
}

// piped reads what the pipes of one path have written down, all of them together.
func piped(path string) (traffic, error) {
	files, err := filepath.Glob(path + ".*")
	if err != nil {
		return traffic{}, err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".new") })
	written := map[string]time.Time{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return traffic{}, err
		}
		written[file] = info.ModTime()
	}
	slices.SortFunc(files, func(a, b string) int { return written[a].Compare(written[b]) })
	all := traffic{Ended: true}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return traffic{}, err
		}
		var t traffic
		if err := json.Unmarshal(data, &t); err != nil {
			return traffic{}, fmt.Errorf("%s: %w", file, err)
		}
		all.Sent = append(all.Sent, t.Sent...)
		all.SentBytes += t.SentBytes
		all.ReceivedBytes += t.ReceivedBytes
		all.Ended = all.Ended && t.Ended
		all.CPUMS += t.CPUMS
		all.PeakMiB = max(all.PeakMiB, t.PeakMiB)
	}
	return all, nil
}
