package probe

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// TestATargetKeepsNoSession shows that the memory of many examinations does not grow by their sessions: who examines
// hundreds of servers keeps the targets to the end.
func TestATargetKeepsNoSession(t *testing.T) {
	server, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	target := &Target{Server: config.Server{Name: "demo", URL: server.URL(), Transport: config.TransportAuto, Enabled: true}}
	var opened weak.Pointer[session.Session]
	checks := append(Checks(), Check{ID: "session.seen", Needs: []string{sessionOpenID}, Run: func(_ context.Context, t *Target) Finding {
		opened = weak.Make(t.opened)
		return pass("seen")
	}})
	if r := Run(t.Context(), target, checks); r.Verdict != Pass || opened == (weak.Pointer[session.Session]{}) {
		t.Fatalf("the verdict is %s: %+v", r.Verdict, r.Cause)
	}
	// Goroutines of the session may be ending still.
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for runtime.GC(); opened.Value() != nil; runtime.GC() {
		select {
		case <-limit.C:
			t.Fatal("the session is still in memory")
		case <-tick.C:
		}
	}
	runtime.KeepAlive(target)
}
