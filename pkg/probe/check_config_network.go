package probe

import (
	"context"
	"fmt"
)

func configNetwork() Check {
	return Check{
		ID: "config.network", Title: "certificates and proxy are usable", Needs: []string{"config.variables"}, Applies: overHTTP,
		Why: `The files that tls names must be there and hold certificates and the key that belongs to them, and the proxy of the entry,
or of the environment, must be a URL. The proxy that applies is named here, without its password.`,
		Remedy: `Correct the path in tls.ca_file, tls.cert_file or tls.key_file, or the proxy: the key proxy, or the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.`,
		Run: func(_ context.Context, t *Target) Finding {
			r, err := t.dialer().Route(t.expanded)
			switch {
			case err != nil:
				return failure(err)
			case r.Proxy != "":
				f := pass(fmt.Sprintf("through the proxy %s (%s)", r.Proxy, r.ProxySource))
				f.Data = map[string]any{"proxy": r.Proxy, "proxy_source": r.ProxySource}
				return f
			}
			return pass("no proxy")
		},
	}
}
