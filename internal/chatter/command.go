package chatter

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// life bounds a server of a command: a test that fails leaves none for long.
const life = 5 * time.Minute

// Main serves over stdio until its input ends, or with --http until it is killed; it then tells its address on stderr,
// as the demonstration server does. It returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var s Server
	flags := flag.NewFlagSet("chatter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	http := flags.Bool("http", false, "serve over HTTP")
	flags.StringVar(&s.Answer, "answer", "", "answer as json, chunked, sse or lines")
	flags.BoolVar(&s.Modern, "modern", false, "speak the modern era only")
	flags.BoolVar(&s.Quiet, "quiet", false, "announce no logging")
	heard := flags.String("heard", "", "append what is heard to this file")
	if flags.Parse(args) != nil {
		return 2
	}
	if *heard != "" {
		f, err := os.OpenFile(*heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		defer func() { _ = f.Close() }()
		var mu sync.Mutex
		s.Heard = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = io.WriteString(f, line+"\n")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), life)
	defer cancel()
	if *http {
		return s.serveHTTP(ctx, stderr)
	}
	s.Serve(stdin, stdout)
	return 0
}

func (s *Server) serveHTTP(ctx context.Context, stderr io.Writer) int {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintf(stderr, "listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: life}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	_ = server.Serve(l)
	return 0
}

// Serve speaks over standard streams until the input ends. A request that waits for ever is given up then.
func (s *Server) Serve(r io.Reader, w io.Writer) {
	done := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			all.Go(func() {
				s.hear(line, done, func(t text) error {
					mu.Lock()
					defer mu.Unlock()
					t.tail += "\n"
					return t.writeTo(w)
				})
			})
		}
		if err != nil {
			close(done)
			all.Wait()
			return
		}
	}
}
