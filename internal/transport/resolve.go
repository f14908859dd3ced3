package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// namesKept is how long the addresses of a host are good for further connections: as long as a run over many servers of
	// one host, and not so long that a session that is held open misses a move.
	namesKept = 30 * time.Second
	// absenceKept is how long it is known that there is no such host. Those who wait for a name to appear ask again later. A
	// lookup that failed in another way says nothing of the host, and is no answer for those who ask after it.
	absenceKept = time.Second
	// namesFresh is how long addresses count as just looked up: where nothing listens then, a new lookup would not help.
	namesFresh = time.Second
	// mostHosts are remembered: more than a configuration names.
	mostHosts = 4096
	// fallbackDelay is how long the addresses of the other family wait for those of the first (RFC 8305, 8).
	fallbackDelay = 300 * time.Millisecond
	// leastDial is the least time for one address of several.
	leastDial = 2 * time.Second
)

// Names dials hosts whose addresses it looks up once, for all connections of some time. The zero value works. It may be used
// by several goroutines at once.
type Names struct {
	// Lookup finds the addresses of a host. If nil, the system's resolver does.
	Lookup func(ctx context.Context, host string) ([]string, error)

	mu    sync.Mutex
	known map[string]*name
}

// name is what is known of one host.
type name struct {
	// done is closed when the lookup is over.
	done  chan struct{}
	addrs []string
	err   error
	// at is when the lookup was over, and until how long it is good.
	at, until time.Time
	// waiters are those who wait for the lookup; cancel ends it when there are none left.
	waiters int
	cancel  context.CancelFunc
}

// DialContext is like that of [net.Dialer].
func (n *Names) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || net.ParseIP(host) != nil || slices.Contains([]byte(host), '%') {
		return dialer.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	begin := time.Now()
	known, err := n.look(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	conn, err := dialAny(ctx, dialer, network, port, known.addrs)
	if err == nil || begin.Sub(known.at) < namesFresh || ctx.Err() != nil {
		return conn, err
	}
	// The host may have moved.
	n.forget(host, known)
	now, lookupErr := n.look(ctx, host)
	if lookupErr != nil || slices.Equal(now.addrs, known.addrs) {
		return nil, err
	}
	return dialAny(ctx, dialer, network, port, now.addrs)
}

// LookupHost is like that of [net.Resolver].
func (n *Names) LookupHost(ctx context.Context, host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	known, err := n.look(ctx, host)
	if err != nil {
		return nil, err
	}
	return slices.Clone(known.addrs), nil
}

// look returns what is known of a host, and has addresses for it.
func (n *Names) look(ctx context.Context, host string) (*name, error) {
	n.mu.Lock()
	known := n.known[host]
	if known != nil && known.over() && !time.Now().Before(known.until) {
		known = nil
	}
	if known == nil {
		known = n.begin(ctx, host)
	}
	known.waiters++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if known.waiters--; known.waiters == 0 && !known.over() {
			known.cancel()
			if n.known[host] == known {
				delete(n.known, host)
			}
		}
	}()
	select {
	case <-known.done:
		return known, known.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin looks a host up. n.mu is held. The lookup ends when nobody waits for it any more.
func (n *Names) begin(ctx context.Context, host string) *name {
	if n.known == nil || len(n.known) >= mostHosts {
		n.known = map[string]*name{}
	}
	lookup := n.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	known := &name{done: make(chan struct{}), cancel: cancel}
	n.known[host] = known
	go func() {
		defer cancel()
		addrs, err := lookup(ctx, host)
		known.addrs, known.err, known.at = addrs, err, time.Now()
		known.until = known.at
		if err == nil {
			known.until = known.at.Add(namesKept)
		} else if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound && !dns.IsTemporary {
			known.until = known.at.Add(absenceKept)
		}
		close(known.done)
	}()
	return known
}

// over reports whether the lookup is.
func (k *name) over() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// forget drops what was known of a host, unless more is known by now.
func (n *Names) forget(host string, known *name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[host] == known {
		delete(n.known, host)
	}
}

// dialAny tries addresses one after the other, and those of the other family beside them if the first take long (RFC 8305).
// The error is that of the first address.
func dialAny(ctx context.Context, d *net.Dialer, network, port string, addrs []string) (net.Conn, error) {
	isIPv4 := func(addr string) bool { ip := net.ParseIP(addr); return ip != nil && ip.To4() != nil }
	var first, others []string
	for _, addr := range addrs {
		if isIPv4(addr) == isIPv4(addrs[0]) {
			first = append(first, addr)
		} else {
			others = append(others, addr)
		}
	}
	if len(others) == 0 {
		return dialEach(ctx, d, network, port, first)
	}
	type result struct {
		conn  net.Conn
		err   error
		first bool
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, failed := make(chan result), make(chan struct{})
	left := make(chan struct{})
	defer close(left)
	try := func(addrs []string, isFirst bool) {
		conn, err := dialEach(ctx, d, network, port, addrs)
		select {
		case results <- result{conn, err, isFirst}:
		case <-left:
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	go try(first, true)
	go func() {
		timer := time.NewTimer(fallbackDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-failed:
		case <-left:
			return
		}
		try(others, false)
	}()
	var firstErr error
	for range 2 {
		r := <-results
		if r.err == nil {
			return r.conn, nil
		}
		if r.first {
			firstErr = r.err
			close(failed)
		}
	}
	return nil, firstErr
}

// dialEach tries addresses one after the other, each for its share of the time. The error is that of the first.
func dialEach(ctx context.Context, d *net.Dialer, network, port string, addrs []string) (net.Conn, error) {
	var firstErr error
	if len(addrs) == 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the host has no address")}
	}
	for i, addr := range addrs {
		part, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok && i < len(addrs)-1 {
			left := time.Until(deadline)
			part, cancel = context.WithTimeout(ctx, max(left/time.Duration(len(addrs)-i), min(left, leastDial)))
		}
		conn, err := d.DialContext(part, network, net.JoinHostPort(addr, port))
		cancel()
		if err == nil {
			return conn, nil
		}
		if firstErr == nil {
			firstErr = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, firstErr
}
