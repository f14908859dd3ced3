package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// sessionOpenID is the check that tells whether a server works at all.
const sessionOpenID = "session.open"

// lostInOpening says what it means that a session which was just given is not known any more.
func lostInOpening(f Finding) Finding {
	if f.Class == string(session.ClassSession) {
		f.Message = fmt.Sprintf("the same session was accepted by one request and rejected by the next (%s); several instances without shared sessions?", f.Message)
		f.Fix = "let the instances behind the address share their sessions, or route each session to one of them; and let a proxy before them pass the header Mcp-Session-Id of requests on"
		if _, after, ok := strings.Cut(f.Detail, "Set-Cookie: "); ok {
			name, _, _ := strings.Cut(after, "\n")
			f.Fix += ": a load balancer finds the instance of a client by the cookie " + name + " here, and most MCP clients send no cookies back"
		}
	}
	return f
}

// idleGap is a pause that a server must survive between two requests.
const idleGap = 50 * time.Millisecond

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// use makes a request: ping, where there is one, else what harmless makes. A server that does not answer ping may still
// work, and protocol.ping tells of it.
func use(ctx context.Context, t *Target) error {
	if t.pingless || t.opened.Info().Era == session.EraModern {
		begin := time.Now()
		_, err := harmless(ctx, t)
		t.pace = time.Since(begin)
		return err
	}
	patience, cancel := context.WithTimeoutCause(ctx, longPing, fmt.Errorf("no answer within %s", longPing))
	defer cancel()
	pinged := make(chan bool, 1)
	begin := time.Now()
	go func() {
		err := ping(patience, t)
		pinged <- err == nil || session.ClassOf(err) == session.ClassAnswered
	}()
	timer := time.NewTimer(slowPing)
	defer timer.Stop()
	select {
	case alive := <-pinged:
		t.pace = time.Since(begin)
		if alive {
			return nil
		}
		_, err := harmless(ctx, t)
		return err
	case <-timer.C: // both at once, so that silence costs one limit
	}
	other, stop := context.WithCancel(ctx)
	defer stop()
	listed := make(chan error, 1)
	go func() {
		_, err := harmless(other, t)
		listed <- err
	}()
	select {
	case alive := <-pinged:
		if t.pace = time.Since(begin); alive {
			stop()
			<-listed //nolint:errcheck // it was stopped
			return nil
		}
		return <-listed
	case err := <-listed:
		t.pace = time.Since(begin)
		cancel()
		if alive := <-pinged; alive {
			return nil
		}
		t.pingless = true
		return err
	}
}

// longPing bounds a ping: a slow server is no deaf one.
const longPing = 10 * time.Second

// slowPing is how long a ping may take before another request is made beside it.
const slowPing = 700 * time.Millisecond

// milliseconds returns a duration in milliseconds, with microseconds as decimals.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
