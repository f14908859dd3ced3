package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// listenHere accepts connections and drops them, and returns the port.
func listenHere(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestAHostIsLookedUpOnce for a hundred connections, at the same time and later.
func TestAHostIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	port := listenHere(t)
	var lookups atomic.Int32
	names := &Names{Lookup: func(context.Context, string) ([]string, error) {
		lookups.Add(1)
		return []string{"127.0.0.1"}, nil
	}}
	dial := func() {
		conn, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("many.test", port))
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}
	var all sync.WaitGroup
	for range 99 {
		all.Go(dial)
	}
	all.Wait()
	dial()
	if n := lookups.Load(); n != 1 {
		t.Errorf("it was looked up %d times", n)
	}
}

// TestAHostThatMovedIsLookedUpAgain when its known address is none any more. The clock of the bubble does not go on by itself.
func TestAHostThatMovedIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	port := listenHere(t)
	synctest.Test(t, func(t *testing.T) {
		addrs := []string{"127.0.0.1"}
		lookups := 0
		names := &Names{Lookup: func(context.Context, string) ([]string, error) {
			lookups++
			return addrs, nil
		}}
		for _, step := range []struct {
			now  string
			want int
		}{{"127.0.0.2", 1}, {"127.0.0.1", 2}} { // at the first nothing listens
			addrs = []string{step.now}
			conn, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("moved.test", port))
			if conn != nil {
				_ = conn.Close()
			}
			if (err == nil) != (step.now == "127.0.0.1") || lookups != step.want {
				t.Errorf("%s: %v after %d lookups", step.now, err, lookups)
			}
			time.Sleep(namesFresh)
		}
	})
}

// TestAHostWhereNothingListensIsLookedUpOnce by all who find that out together, and once more by those who do later.
func TestAHostWhereNothingListensIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	_, port, _ := net.SplitHostPort(closed.Addr().String())
	synctest.Test(t, func(t *testing.T) {
		var lookups atomic.Int32
		names := &Names{Lookup: func(context.Context, string) ([]string, error) {
			lookups.Add(1)
			return []string{"127.0.0.1"}, nil
		}}
		for round := range int32(2) {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if conn, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("dead.test", port)); err == nil {
						_ = conn.Close()
						t.Error("something listens")
					}
				})
			}
			all.Wait()
			if n := lookups.Load(); n != round+1 {
				t.Errorf("round %d: %d lookups", round, n)
			}
			time.Sleep(namesFresh)
		}
	})
}

// TestAFailureOfTheResolverIsNotKept: whoever tries again asks again, unless it is known that there is no such host.
func TestAFailureOfTheResolverIsNotKept(t *testing.T) {
	t.Parallel()
	port := listenHere(t)
	lookups := 0
	failure := &net.DNSError{Err: "server misbehaving", Name: "h.test", IsTemporary: true}
	names := &Names{Lookup: func(context.Context, string) ([]string, error) {
		if lookups++; lookups == 1 {
			return nil, failure
		}
		return []string{"127.0.0.1"}, nil
	}}
	if _, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("h.test", port)); !errors.Is(err, failure) {
		t.Error(err)
	}
	conn, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("h.test", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()

	absent := 0
	names = &Names{Lookup: func(_ context.Context, host string) ([]string, error) {
		absent++
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}}
	for range 2 {
		if _, err := names.LookupHost(t.Context(), "none.test"); err == nil {
			t.Error("there is such a host")
		}
	}
	if absent != 1 {
		t.Errorf("a host that is not there was looked up %d times", absent)
	}
}

// TestALookupEndsWithThoseWhoWait: nothing is left behind.
func TestALookupEndsWithThoseWhoWait(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	names := &Names{Lookup: func(ctx context.Context, _ string) ([]string, error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := names.DialContext(ctx, "tcp", "silent.test:1"); err == nil {
		t.Error("no error")
	}
	<-ended
}

// TestTheOtherFamilyIsTriedWhenTheFirstFails, and the error is that of the first.
func TestTheOtherFamilyIsTriedWhenTheFirstFails(t *testing.T) {
	t.Parallel()
	port := listenHere(t)
	names := &Names{Lookup: func(_ context.Context, host string) ([]string, error) {
		if host == "both.test" {
			return []string{"::1", "127.0.0.1"}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}}
	conn, err := names.DialContext(t.Context(), "tcp", net.JoinHostPort("both.test", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := names.DialContext(t.Context(), "tcp", "none.test:1"); err == nil || err.Error() != "dial tcp: lookup none.test: no such host" {
		t.Error(err)
	}
}

// TestAHostWithoutAddresses is a failure, and no connection.
func TestAHostWithoutAddresses(t *testing.T) {
	t.Parallel()
	names := &Names{Lookup: func(context.Context, string) ([]string, error) { return nil, nil }}
	if conn, err := names.DialContext(t.Context(), "tcp", "empty.test:80"); err == nil || netKind(err) != KindDial {
		t.Errorf("%v, %v", conn, err)
	}
}
