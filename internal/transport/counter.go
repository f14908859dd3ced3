package transport

import (
	"context"
	"sync"
)

// cancelledMethod is the notification with which a sender gives a request up. See the MCP specification, 2025-11-25,
// "Cancellation". The SDK sends it in the background.
const cancelledMethod = "notifications/cancelled"

// Counter counts events that somebody may wait for.
type Counter struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed at the next event; nil if nobody waits
}

func (c *Counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Wait returns when n events have been counted, or ctx ends.
func (c *Counter) Wait(ctx context.Context, n int) {
	for {
		c.mu.Lock()
		if c.n >= n {
			c.mu.Unlock()
			return
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
