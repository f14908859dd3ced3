package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestAReaderThatIsSlowGetsAll shows that after Ctrl-C a document goes whole to whoever takes some of it again and again, and that
// nobody is waited for who takes nothing.
func TestAReaderThatIsSlowGetsAll(t *testing.T) {
	document := bytes.Repeat([]byte("{}\n"), 100<<10/3)
	for name, pace := range map[string]time.Duration{"slow": 40 * time.Millisecond, "stuck": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				r, w := io.Pipe()
				got := make(chan int)
				go func() {
					var n int
					for {
						time.Sleep(pace)
						m, err := r.Read(make([]byte, 1<<10))
						if n += m; err != nil {
							got <- n
							return
						}
					}
				}()
				begin := time.Now()
				n, err := newInterruptible(ctx, w).Write(document)
				took := time.Since(begin)
				_ = w.Close()
				read := <-got
				switch {
				case name == "slow" && (err != nil || n != len(document) || read != n):
					t.Errorf("%d of %d bytes were read, %d were written: %v", read, len(document), n, err)
				case name == "stuck" && (err == nil || took != stuckWrite):
					t.Errorf("%d bytes in %s: %v", n, took, err)
				}
			})
		})
	}
}
