package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func netTCP() Check {
	return Check{
		ID: "net.tcp", Title: "port accepts connections", Needs: []string{"net.dns"}, Applies: overHTTP, Limit: ownLimits,
		Budget: func(t *Target) time.Duration { return netTime + session.LimitsFor(t.Server).Wait.Value },
		Why: `Something must listen on the host and port of the URL. "Connection refused" means that the machine is there but
nothing listens on the port; no answer at all means a firewall, or a machine that is down.`,
		Remedy: "Start the server, correct the port, or open the firewall.",
		Run: func(ctx context.Context, t *Target) Finding {
			r, other := way(t, "connects to it")
			if other != nil {
				return *other
			}
			host, port := r.Host, r.Port
			soon, cancel := netLimit(ctx, t)
			defer cancel()
			addrs, err := t.dialer().LookupHost(soon, host)
			if err != nil {
				return Finding{Status: Unknown, Message: fmt.Sprintf("%s: %s", host, dnsText(err))}
			}
			good, bad := t.dialPatiently(ctx, addrs, port)
			data := map[string]any{"reachable": good, "unreachable": bad}
			switch {
			case len(good) == 0:
				f := Finding{
					Status: Fail, Class: "connect", Message: strings.Join(bad, "; "), Data: data,
					Fix: "start the server, or check the port in the URL",
				}
				if local(host) {
					if other, _ := dialAll(soon, otherLoopback(addrs), port); len(other) > 0 {
						f.Message += "; but something listens at " + other[0]
						f.Fix = "use " + other[0] + " in the URL, or make the server listen on both addresses of this machine"
					}
				}
				return f
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
