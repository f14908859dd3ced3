package probe

import (
	"context"
	"fmt"
)

func configNetwork() Check {
	return Check{
		ID: "config.network", Title: "certificates and proxy are usable", Needs: []string{"config.variables"}, Applies: overHTTP,
		Why: `The files named under tls must exist and hold certificates and the matching key, and the proxy of the entry or
the environment must be a URL. The message names the proxy in use, without its password.`,
		Remedy: `Correct the path in tls.ca_file, tls.cert_file or tls.key_file. For the proxy, correct the key proxy, or the
variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.`,
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
