package probe

import (
	"context"
	"fmt"
	"net"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func netProxy() Check {
	return Check{
		ID: "net.proxy", Title: "proxy accepts connections", Needs: []string{"config.network"}, Applies: overHTTP,
		Why: `When a proxy carries the requests, mcpctl never connects to the server's own address, so the proxy's name must
resolve and its port must accept connections. The message says where the proxy is configured (the key proxy,
HTTPS_PROXY, HTTP_PROXY), without its password. Clients that ignore these variables need their own proxy
setting.`,
		Remedy: "Correct the proxy, or add the server to NO_PROXY if it can be reached directly. --proxy none bypasses it once.",
		Run: func(ctx context.Context, t *Target) Finding {
			r, err := t.dialer().Route(t.expanded)
			switch {
			case err != nil:
				return failure(err)
			case r.Proxy == "":
				return skip("no proxy is in use")
			}
			f := pass(fmt.Sprintf("%s (%s)", r.Proxy, r.ProxySource))
			f.Data = map[string]any{"proxy": r.Proxy, "proxy_source": r.ProxySource}
			ctx, cancel := netLimit(ctx, t)
			defer cancel()
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.ProxyAddress)
			if err != nil {
				f.Status, f.Class = Fail, string(session.ClassConnect)
				f.Message = fmt.Sprintf("the proxy %s (%s) cannot be reached: %s", r.Proxy, r.ProxySource, dialText(err))
				f.Fix = "correct the proxy, or bypass it: --proxy none, or add the server to NO_PROXY"
				return f
			}
			_ = conn.Close()
			return f
		},
	}
}
