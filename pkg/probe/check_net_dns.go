package probe

import (
	"context"
	"fmt"
	"net"
	"strings"
)

func netDNS() Check {
	return Check{
		ID: "net.dns", Title: "host name resolves", Needs: []string{"config.network"}, Applies: overHTTP,
		Why: `The host name in the URL must resolve to an address. If it does not, look for a typo, a missing VPN, or a name
that exists only inside a container network.`,
		Remedy: "Correct the host name in the URL, or connect to the VPN if the name is an internal one.",
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
			addrs, err := t.dialer().LookupHost(ctx, host)
			if err != nil {
				return Finding{Status: Fail, Class: "connect", Message: fmt.Sprintf("%s: %s", host, dnsText(err)), Fix: "check the host name in the URL"}
			}
			f := pass(strings.Join(addrs, ", "))
			f.Data = map[string]any{"addresses": addrs}
			return f
		},
	}
}
