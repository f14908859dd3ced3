package session

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// inFlight is how many requests are on their way at once.
const inFlight = 1000

// TestNothingIsLeftOfAThousandRequests shows that of requests that end in the middle, because nobody waits for them any more or
// because the session is closed, neither a goroutine nor a connection is left: the server is still there when that is looked at.
func TestNothingIsLeftOfAThousandRequests(t *testing.T) {
	for _, over := range []config.Transport{config.TransportHTTP, config.TransportStdio} {
		for how, byClose := range map[string]bool{"given up": false, "closed": true} {
			t.Run(string(over)+", "+how, func(t *testing.T) {
				var arrived atomic.Int32
				all := make(chan struct{})
				arrive := func() {
					if arrived.Add(1) == inFlight {
						close(all)
					}
				}
				entry := config.Server{
					Name: "s", Transport: config.TransportStdio, Command: "sh",
					Args: []string{"-c", `read -r line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'; ` +
						`while read -r line; do case $line in *tools/call*) printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/arrived"}';; esac; done`},
				}
				if over == config.TransportHTTP {
					r := newRestartable(t)
					r.handle = func(_ http.ResponseWriter, req *http.Request, method string) bool {
						if method != "tools/call" {
							return false
						}
						arrive()
						<-req.Context().Done()
						return true
					}
					entry = r.entry()
				}
				nothing := nothingLeft(t)
				s := NewSupervisor(&Dialer{OnNotification: func(_ string, n Notification) {
					if n.Method == "notifications/arrived" {
						arrive()
					}
				}}, entry)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var done sync.WaitGroup
				for range inFlight {
					done.Go(func() {
						_, err := call(ctx, s, "x", nil, false)
						var e *Error
						if !errors.As(err, &e) || e.Class != ClassInterrupted {
							t.Errorf("err = %v", err)
						}
					})
				}
				<-all
				if byClose {
					_ = s.Close()
				}
				cancel()
				done.Wait()
				_ = s.Close()
				nothing()
			})
		}
	}
}
