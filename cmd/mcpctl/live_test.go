package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// TestTheSecondCtrlCTakesTheLiveLineAway, and it does not come back: the shell's prompt comes where it was, whatever is still at
// work in the moment until the process has ended.
func TestTheSecondCtrlCTakesTheLiveLineAway(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"shown": 2 * liveDelay, "not yet shown": liveDelay / 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ios, _, _, stderr := iostreams.Test()
				ios.SetTTY(false, false, true)
				kill := make(chan struct{})
				a := newApp(process{io: ios, lookup: func(string) (string, bool) { return "", false }, kill: kill})
				stop := a.live("waiting for ever")
				defer stop()
				time.Sleep(after)
				synctest.Wait()
				if shown := strings.Contains(stderr.String(), "waiting for ever"); shown != (after > liveDelay) {
					t.Fatalf("the line: %q", stderr.String())
				}
				close(kill)
				time.Sleep(2 * liveDelay)
				synctest.Wait()
				if out := stderr.String(); out != "" && !strings.HasSuffix(out, eraseLine) || after < liveDelay && out != "" {
					t.Errorf("what stays is %q", out)
				}
			})
		})
	}
}
