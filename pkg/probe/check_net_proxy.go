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
		Why: `When a proxy carries the requests, the server's own address is never dialled from here, and everything depends on the
proxy: its name must resolve, and its port must accept connections. Where it comes from (the key proxy, HTTPS_PROXY, HTTP_PROXY) is
told, without its password. Clients that ignore these variables need a way of their own.`,
		Remedy: `Correct the proxy, or name the server in NO_PROXY if it can be reached without one; --proxy none goes without it once.`,
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
				f.Fix = "correct the proxy, or go without it: --proxy none, or name the server in NO_PROXY"
				return f
			}
			_ = conn.Close()
			return f
		},
	}
}
