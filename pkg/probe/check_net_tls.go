package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func netTLS() Check {
	return Check{
		ID: "net.tls", Title: "certificate is good", Needs: []string{"net.tcp"}, Applies: https,
		Why: `The server's certificate must be signed by an authority that this machine trusts, name the host of the URL, and not have
expired. Clients refuse any other, usually without saying why.`,
		Remedy: `Renew the certificate, or name the authority that signed it: --ca-file FILE, the key tls.ca_file.`,
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
