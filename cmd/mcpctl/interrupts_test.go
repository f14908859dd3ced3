package main

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheSecondSignalEndsEverything, unless it only repeats what was said: timeout(1) sends SIGTERM to the process, and again to
// its group.
func TestTheSecondSignalEndsEverything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent  []os.Signal
		after time.Duration // each one after the one before
		ends  bool
	}{
		"Ctrl-C":                                  {[]os.Signal{os.Interrupt}, 0, false},
		"Ctrl-C twice":                            {[]os.Signal{os.Interrupt, os.Interrupt}, 0, true},
		"Ctrl-C, then SIGTERM":                    {[]os.Signal{os.Interrupt, syscall.SIGTERM}, 0, true},
		"SIGTERM, then Ctrl-C":                    {[]os.Signal{syscall.SIGTERM, os.Interrupt}, 0, true},
		"SIGTERM of timeout(1)":                   {[]os.Signal{syscall.SIGTERM, syscall.SIGTERM}, time.Millisecond, false},
		"SIGTERM again later":                     {[]os.Signal{syscall.SIGTERM, syscall.SIGTERM}, echoTime, true},
		"a terminal that was closed":              {[]os.Signal{syscall.SIGHUP, syscall.SIGHUP}, time.Millisecond, false},
		"SIGTERM, that of timeout(1), and Ctrl-C": {[]os.Signal{syscall.SIGTERM, syscall.SIGTERM, os.Interrupt}, time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal)
				var told []string
				over := make(chan struct{})
				go func() {
					untilTheSecond(signals, new(interrupts), func() { told = append(told, "end") })
					told = append(told, "over")
					close(over)
				}()
				for _, s := range c.sent {
					signals <- s
					time.Sleep(c.after)
				}
				synctest.Wait()
				want := []string{"end"}
				if c.ends {
					want = append(want, "over")
				}
				if !slices.Equal(told, want) {
					t.Errorf("%q, want %q", told, want)
				}
				if !c.ends {
					close(signals)
				}
				<-over
			})
		})
	}
}
