package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

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

func netDNS() Check {
	return Check{
		ID: "net.dns", Title: "host name resolves", Needs: []string{"config.network"}, Applies: overHTTP,
		Why: `The host name of the URL must have an address. When it has none, look for a misspelling, a missing VPN, or a name
that exists only inside a container network.`,
		Run: func(ctx context.Context, t *Target) Finding {
			r, other := way(t, "resolves it")
			if other != nil {
				return *other
			}
			host := r.Host
			if net.ParseIP(host) != nil {
				return skip(host + " is an address")
			}
			ctx, cancel := netLimit(ctx, t)
			defer cancel()
			addrs, err := net.DefaultResolver.LookupHost(ctx, host)
			if err != nil {
				return Finding{Status: Fail, Class: "connect", Message: fmt.Sprintf("%s: %s", host, dnsText(err)), Fix: "check the host name in the URL"}
			}
			f := pass(strings.Join(addrs, ", "))
			f.Data = map[string]any{"addresses": addrs}
			return f
		},
	}
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

func netTCP() Check {
	return Check{
		ID: "net.tcp", Title: "port accepts connections", Needs: []string{"net.dns"}, Applies: overHTTP,
		Why: `Something must listen at the host and port of the URL. "Connection refused" means that the machine is there and nothing
listens on the port; no answer at all means a firewall, or a machine that is not there.`,
		Run: func(ctx context.Context, t *Target) Finding {
			r, other := way(t, "connects to it")
			if other != nil {
				return *other
			}
			host, port := r.Host, r.Port
			ctx, cancel := netLimit(ctx, t)
			defer cancel()
			addrs, err := net.DefaultResolver.LookupHost(ctx, host)
			if err != nil {
				return Finding{Status: Unknown, Message: fmt.Sprintf("%s: %s", host, dnsText(err))}
			}
			good, bad := dialAll(ctx, addrs, port)
			data := map[string]any{"reachable": good, "unreachable": bad}
			switch {
			case len(good) == 0:
				return Finding{
					Status: Fail, Class: "connect", Message: strings.Join(bad, "; "), Data: data,
					Fix: "start the server, or check the port in the URL",
				}
			case len(bad) > 0 && !local(host):
				return Finding{
					Status: Warn, Message: strings.Join(bad, "; "), Data: data,
					Fix: "some clients try only one address: make the server listen on all of them, or drop the name's other addresses",
				}
			}
			f := pass(strings.Join(good, ", "))
			f.Data = data
			return f
		},
	}
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
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// local reports whether a host is this machine, where a server usually listens on one of the two loopback addresses.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func dialText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}

func netTLS() Check {
	return Check{
		ID: "net.tls", Title: "certificate is good", Needs: []string{"net.tcp"}, Applies: https,
		Why: `The server's certificate must be signed by an authority that this machine trusts, name the host of the URL, and not have
expired. Clients refuse any other, usually without saying why.`,
		Run: func(ctx context.Context, t *Target) Finding {
			r, other := way(t, "stands between")
			if other != nil {
				return *other
			}
			ctx, cancel := netLimit(ctx, t)
			defer cancel()
			d := tls.Dialer{Config: r.TLS}
			conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(r.Host, r.Port))
			if err != nil {
				return Finding{Status: Fail, Class: "connect", Message: session.TLSMessage(err), Fix: session.TLSHint(err)}
			}
			defer func() { _ = conn.Close() }()
			secured, ok := conn.(*tls.Conn)
			if !ok || len(secured.ConnectionState().PeerCertificates) == 0 {
				return Finding{Status: Unknown, Message: "the server showed no certificate"}
			}
			state := secured.ConnectionState()
			leaf := state.PeerCertificates[0]
			days := int(time.Until(leaf.NotAfter).Hours() / 24)
			f := pass(fmt.Sprintf("%s, %d days left", tls.VersionName(state.Version), days))
			const soon = 14 // automatic renewals happen earlier
			switch {
			case r.Unverified != "":
				f = warn(fmt.Sprintf("the certificate is not checked (%s)", r.Unverified), "trust its authority in place of that: --ca-file FILE, or the key tls.ca_file")
			case days < soon:
				f = warn(fmt.Sprintf("the certificate ends in %d days", days), "renew it")
			}
			f.Data = map[string]any{"not_after": leaf.NotAfter.UTC().Format(time.RFC3339), "days_left": days}
			return f
		},
	}
}
