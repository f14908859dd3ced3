package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpctl/mcpctl/internal/errno"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// netTime bounds one step on the network, together with the connect limit.
const netTime = 10 * time.Second

// netLimit bounds one step on the network: whoever wants an answer about the whole opening soon wants it about a part of
// it no later.
func netLimit(ctx context.Context, t *Target) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(netTime, session.LimitsFor(t.expanded).Connect.Value))
}

// way returns how requests to the target travel, and the finding of a check of the way that has nothing to look at: a
// proxy stands between, and the server's own address is not ours to reach.
func way(t *Target, does string) (session.Route, *Finding) {
	r, err := t.dialer().Route(t.expanded)
	if err != nil {
		f := failure(err)
		return r, &f
	}
	if r.Proxy != "" {
		f := skip(fmt.Sprintf("the proxy %s (%s) %s", r.Proxy, r.ProxySource, does))
		return r, &f
	}
	return r, nil
}

func dnsText(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host"
		}
		return dns.Err
	}
	return err.Error()
}

// dialTime bounds the wait for one address.
const dialTime = 4 * time.Second

// dialAll tries all addresses at once. An address of a family that this machine cannot reach at all is left out when
// another one is good: that is no fault of the server's.
func dialAll(ctx context.Context, addrs []string, port string) (good, bad []string) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	errs := make([]error, len(addrs))
	var all sync.WaitGroup
	for i, a := range addrs {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(a, port))
			if err == nil {
				_ = conn.Close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	good, bad = []string{}, []string{}
	for i, a := range addrs {
		if errs[i] == nil {
			good = append(good, net.JoinHostPort(a, port))
		}
	}
	for i, a := range addrs {
		if errs[i] != nil && (len(good) == 0 || !unreachable(errs[i])) {
			bad = append(bad, fmt.Sprintf("%s: %s", net.JoinHostPort(a, port), dialText(errs[i])))
		}
	}
	return good, bad
}

func unreachable(err error) bool {
	return errno.Is(err, syscall.ENETUNREACH) || errno.Is(err, syscall.EHOSTUNREACH) || errno.Is(err, syscall.EADDRNOTAVAIL)
}

// local reports whether a host is this machine, where a server usually listens on one of the two loopback addresses.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// otherLoopback returns the loopback addresses that are not among addrs: a server that listens on "localhost" listens on one
// of them alone, and clients that are told an address try the other.
func otherLoopback(addrs []string) []string {
	return slices.DeleteFunc([]string{"127.0.0.1", "::1"}, func(a string) bool { return slices.Contains(addrs, a) })
}

func dialText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return cmp.Or(errno.Text(op.Err), strings.TrimPrefix(op.Err.Error(), "connect: "))
	}
	return err.Error()
}

// dialPatiently tries all addresses, and again while none is good and somebody wished to wait for the server. What a
// request waits for by itself is not waited for here: that a port is closed is news.
func (t *Target) dialPatiently(ctx context.Context, addrs []string, port string) (good, bad []string) {
	const again = 250 * time.Millisecond
	wait := session.LimitsFor(t.expanded).Wait
	until := time.Now().Add(wait.Value)
	for {
		good, bad = dialAll(ctx, addrs, port)
		if len(good) > 0 || wait.Source == builtIn || time.Now().Add(again).After(until) || !pause(ctx, again) {
			return good, bad
		}
	}
}
