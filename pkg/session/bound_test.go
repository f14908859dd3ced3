package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endsAfter returns when ctx ended, counted from begin, and why.
func endsAfter(ctx context.Context, begin time.Time) (time.Duration, Limit) {
	<-ctx.Done()
	limit, _ := errors.AsType[*limitError](context.Cause(ctx))
	if limit == nil {
		return time.Since(begin), Limit{}
	}
	return time.Since(begin), limit.limit
}

func TestTL03LoginRaisesEveryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		outer, cancel := WithLimit(t.Context(), Limit{Name: "session_wait", Value: 10 * time.Second})
		defer cancel()
		middle, cancel := WithLimit(outer, Limit{Name: "connect_timeout", Value: 30 * time.Second, Source: "entry"})
		defer cancel()
		probe, cancel := WithLimit(middle, Limit{Name: "probe", Value: 5 * time.Second})
		defer cancel()
		waiter, cancel := withCap(t.Context(), Limit{Name: "timeout", Value: 20 * time.Second}, Limit{Name: "max_timeout", Value: 60 * time.Second})
		defer cancel()
		defer boundOf(middle).follow(boundOf(waiter))()

		time.Sleep(4 * time.Second)
		LoginBegins(probe)
		late, cancel := WithLimit(t.Context(), Limit{Name: "timeout", Value: time.Second})
		defer cancel()
		defer boundOf(middle).follow(boundOf(late))()
		for name, ctx := range map[string]context.Context{"probe": probe, "middle": middle, "outer": outer, "waiter": waiter, "late": late} {
			switch got, limit := endsAfter(ctx, begin); {
			case got != 4*time.Second+315*time.Second:
				t.Errorf("%s ended after %s", name, got)
			case limit.Value != 315*time.Second || limit.Note == "":
				t.Errorf("%s: limit %+v", name, limit)
			}
		}
	})
}

// TestTL03APersonsTimeEndsWithinAStepThatStandsStill sets the limit of a person below the share of a step that stands still
// meanwhile: it is the person's that ends, not the floor around it.
func TestTL03APersonsTimeEndsWithinAStepThatStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connect, cancel := WithLimit(t.Context(), Limit{Name: "connect_timeout", Value: 30 * time.Second})
		defer cancel()
		step, cancel := withShare(connect, 10*time.Second, 30*time.Second)
		defer cancel()
		defer boundOf(step).suspend()()
		LoginBegins(step)
		nobody := errors.New("nobody came")
		begin := time.Now()
		person, cancel := context.WithDeadlineCause(step, begin.Add(loginTime), nobody)
		defer cancel()
		<-person.Done()
		if took := time.Since(begin); took != loginTime || !errors.Is(context.Cause(person), nobody) {
			t.Errorf("it ended after %s: %v", took, context.Cause(person))
		}
	})
}

func TestTL03NoLoginNoRaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		long, cancel := WithLimit(t.Context(), Limit{Name: "connect_timeout", Value: time.Hour, Source: "entry"})
		defer cancel()
		LoginBegins(long)
		if got, limit := endsAfter(long, begin); got != time.Hour || limit.Note != "" {
			t.Errorf("ended after %s, %+v: a limit that is long enough is left alone", got, limit)
		}
		LoginBegins(long) // too late: what has ended does not come back
		LoginBegins(t.Context())
		if long.Err() == nil {
			t.Error("it came back")
		}
	})
}

// TestTL06TheLesserLimit shows that the limit over all holds when it is less than the one that progress begins anew.
func TestTL06TheLesserLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := withCap(t.Context(), Limit{Name: "timeout", Value: 5 * time.Second}, Limit{Name: "max_timeout", Value: 2 * time.Second})
		defer cancel()
		if got, limit := endsAfter(ctx, begin); got != 2*time.Second || limit.Name != "max_timeout" || limit.Value != 2*time.Second {
			t.Errorf("ended after %s by %s", got, limit)
		}
	})
}

func TestTL06ProgressRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request, most := Limit{Name: "timeout", Value: 10 * time.Second}, Limit{Name: "max_timeout", Value: 30 * time.Second}
		begin := time.Now()
		quiet, cancel := withCap(t.Context(), request, most)
		defer cancel()
		var p progress
		_, done := p.expect(quiet, "tools/call", []byte("{}"))
		time.Sleep(6 * time.Second)
		p.report(&mcp.ProgressNotificationParams{ProgressToken: "1", Progress: 1})
		done()
		p.report(&mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 2}) // nobody waits for it
		if got, limit := endsAfter(quiet, begin); got != 16*time.Second || limit.Name != "timeout" {
			t.Errorf("ended after %s by %s", got, limit)
		}

		begin = time.Now()
		busy, cancel := withCap(t.Context(), request, most)
		defer cancel()
		var heard atomic.Int32
		// A session's own bounds lie around the request's: they are not what progress restarts.
		inner, cancel := WithLimit(WithProgress(busy, func(Progress) { heard.Add(1) }), Limit{Name: "session_wait", Value: time.Hour})
		defer cancel()
		_, done = p.expect(inner, "tools/call", []byte("{}"))
		defer done()
		var server sync.WaitGroup
		defer server.Wait()
		server.Go(func() {
			for inner.Err() == nil {
				time.Sleep(time.Second)
				p.report(&mcp.ProgressNotificationParams{ProgressToken: 2.0, Progress: 1})
			}
		})
		if got, limit := endsAfter(busy, begin); got != 30*time.Second || limit.Name != "max_timeout" {
			t.Errorf("ended after %s by %s", got, limit)
		}
		if heard.Load() == 0 {
			t.Error("nobody heard of the progress")
		}
	})
}

func TestProgressToken(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"x","arguments":{"n":1e400}}`, `{"_meta":{"progressToken":1},"arguments":{"n":1e400},"name":"x"}`},
		{"tools/call", `{"_meta":{"a":1}}`, `{"_meta":{"a":1,"progressToken":1}}`},
		{"tools/call", `{"_meta":{"progressToken":"mine"}}`, `{"_meta":{"progressToken":"mine"}}`},
		{"tools/call", `{"_meta":7}`, `{"_meta":7}`},
		{"tools/list", `{}`, `{}`},
	} {
		var p progress
		got, done := p.expect(t.Context(), c.method, []byte(c.params))
		done()
		if string(got) != c.want || len(p.requests) != 0 {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

// TestALimitThatStandsStillIsRaised: a person is asked something, and meanwhile somebody has to log in.
func TestALimitThatStandsStillIsRaised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = time.Minute
		ctx, cancel := WithLimit(t.Context(), Limit{Name: "timeout", Value: 10 * time.Second})
		defer cancel()
		begin := time.Now()
		resume := boundOf(ctx).pause()
		time.Sleep(pause)
		LoginBegins(ctx)
		time.Sleep(pause)
		resume()
		<-ctx.Done()
		if took := time.Since(begin); took != pause+loginFloor+pause {
			t.Errorf("it ended after %s, want the login's %s between two of %s", took, loginFloor, pause)
		}
	})
}
