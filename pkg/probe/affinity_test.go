package probe

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// balanced starts n instances that do not share their sessions behind a balancer that goes round by request, or by TCP
// connection, and returns the balancer's address as an entry.
func balanced(t *testing.T, n int, byConnection bool) config.Server {
	t.Helper()
	var instances []*httputil.ReverseProxy
	for range n {
		server, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		target, err := url.Parse(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		}})
	}
	var turn atomic.Int64
	var connections sync.Map // remote address → turn
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := turn.Add(1)
		if byConnection {
			known, _ := connections.LoadOrStore(r.RemoteAddr, i)
			i, _ = known.(int64)
		}
		instances[i%int64(n)].ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	return config.Server{Name: "balanced", URL: balancer.URL + "/mcp", Transport: config.TransportAuto, Enabled: true}
}

// TestAffinity shows that two instances without shared sessions are named in every one of twenty runs, however the balancer
// before them spreads the requests, and that nothing else fails because of them.
func TestAffinity(t *testing.T) {
	const runs = 20
	for _, tt := range []struct {
		name         string
		byConnection bool
	}{{"by request", false}, {"by connection", true}} {
		t.Run(tt.name, func(t *testing.T) {
			server := balanced(t, 2, tt.byConnection)
			for i := range runs {
				r := Run(t.Context(), &Target{Server: server}, Checks())
				if r.Cause == nil || r.Cause.Check != affinityID || r.Cause.Class != "session" ||
					!strings.Contains(r.Cause.Message, "of 8 connections reached an instance that does not know this session") {
					t.Fatalf("run %d: cause %+v\n%s", i+1, r.Cause, statuses(r))
				}
				for _, res := range r.Results {
					if res.Status == Fail && res.ID != affinityID || res.Status == Unknown {
						t.Errorf("run %d: %s %s: %s", i+1, res.ID, res.Status, res.Message)
					}
				}
			}
		})
	}
}

// TestOneInstance shows that one instance behind a balancer has no such fault, also on many connections.
func TestOneInstance(t *testing.T) {
	r := Run(t.Context(), &Target{Server: balanced(t, 1, true), Connections: 32, Idle: time.Millisecond}, Checks())
	results := byID(r)
	if r.Cause != nil || results[affinityID].Message != "on 32 new connections at once" || results["session.idle"].Status != Pass {
		t.Errorf("%s", statuses(r))
	}
}
