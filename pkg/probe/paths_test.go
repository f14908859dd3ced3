package probe_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// TestGatewayFailure shows a proxy that does not reach the server: it is not asked for other paths, which would take as long
// again for each.
func TestGatewayFailure(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		var mu sync.Mutex
		paths := map[string]bool{}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			paths[r.URL.Path] = true
			mu.Unlock()
			w.WriteHeader(status)
		}))
		report := probe.Run(t.Context(), &probe.Target{Server: config.Server{Name: "n", URL: srv.URL + "/mcp", ConnectTimeout: time.Second, Enabled: true}}, probe.Checks())
		srv.Close()
		if cause := report.Cause; cause == nil || cause.Check != "http.endpoint" || len(paths) != 1 {
			t.Errorf("%d: %+v, asked for %v", status, cause, paths)
		}
	}
}
