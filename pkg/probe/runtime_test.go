//go:build unix

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestRuntimeVersion shows what the version of a runtime means for a server that works, and for one that does not, and
// that a runtime which does not tell its version delays nobody.
func TestRuntimeVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		version string // a line of shell
		serves  bool
		status  Status
		words   string
	}{
		{"new, works", "echo v22.1.0", true, Pass, "Node.js 22.1.0"},
		{"new, fails", "echo v22.1.0", false, Pass, "Node.js 22.1.0"},
		{"old, works", "echo v16.20.2", true, Pass, "needs Node.js 18"},
		{"old, fails", "echo v16.20.2", false, Warn, "needs Node.js 18"},
		{"says nothing", "exit 3", true, Skip, "exit status 3"},
		{"hangs", "exec sleep 60", true, Skip, "no answer to --version within 2s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := filepath.Join(t.TempDir(), "node")
			run := "exit 1"
			if tt.serves {
				run = "exec " + self + " demo"
			}
			script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = --version ]; then %s; exit 0; fi\n%s\n", tt.version, run)
			if err := os.WriteFile(node, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			server := config.Server{
				Name: "s", Command: node, Transport: config.TransportStdio, Enabled: true, Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
			}
			begin := time.Now()
			r := Run(t.Context(), &Target{Server: server}, Checks())
			i := slices.IndexFunc(r.Results, func(res Result) bool { return res.ID == "command.runtime" })
			if i < 0 || r.Results[i].Status != tt.status || !strings.Contains(r.Results[i].Message, tt.words) {
				t.Fatalf("verdict %s\n%s", r.Verdict, statuses(r))
			}
			if tt.serves && r.Verdict != Pass {
				t.Errorf("verdict %s\n%s", r.Verdict, statuses(r))
			}
			if elapsed := time.Since(begin); elapsed > 20*time.Second {
				t.Errorf("it took %s", elapsed)
			}
		})
	}
}

// TestNoRuntime shows that a program which is no script of a known runtime is not asked for anything.
func TestNoRuntime(t *testing.T) {
	r := Run(t.Context(), &Target{Server: child(t, "demo")}, Checks())
	for id, want := range map[string]Status{"command.found": Pass, "command.executable": Pass, "command.arguments": Pass, "command.runtime": Skip} {
		i := slices.IndexFunc(r.Results, func(res Result) bool { return res.ID == id })
		if i < 0 || r.Results[i].Status != want {
			t.Errorf("%s is not %s\n%s", id, want, statuses(r))
		}
	}
	if r.Verdict != Pass {
		t.Errorf("verdict %s\n%s", r.Verdict, statuses(r))
	}
}
