package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func netTLS() Check {
	return Check{
		ID: "net.tls", Title: "certificate is valid", Needs: []string{"net.tcp"}, Applies: https,
		Why: `The server's certificate must be signed by an authority that this machine trusts, must name the host in the URL,
and must not have expired. Clients reject any other, usually without saying why.`,
		Remedy: "Renew the certificate, or trust the authority that signed it: --ca-file FILE, or the key tls.ca_file.",
		Run: func(ctx context.Context, t *Target) Finding {
			r, other := way(t, "stands between")
			if other != nil {
				return *other
			}
			ctx, cancel := netLimit(ctx, t)
			defer cancel()
			wanted := false
			if len(r.TLS.Certificates) == 0 {
				r.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					wanted = true
					return &tls.Certificate{}, nil
				}
			}
			d := tls.Dialer{Config: r.TLS}
			conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(r.Host, r.Port))
			switch limit := session.LimitsFor(t.expanded).Connect; {
			case err == nil:
			case wanted:
				return certificateDemanded()
			case ctx.Err() != nil:
				return Finding{
					Status: Fail, Class: string(session.ClassTimeout),
					Message: fmt.Sprintf("TLS: no answer to the handshake within %s (%s)", min(netTime, limit.Value), limit),
					Fix:     "see what listens on that port: it takes the connection and says nothing; a proxy or a firewall in between does that, too",
				}
			default:
				return Finding{Status: Fail, Class: "connect", Message: session.TLSMessage(err), Fix: session.TLSHint(err)}
			}
			defer func() { _ = conn.Close() }()
			secured, ok := conn.(*tls.Conn)
			if !ok || len(secured.ConnectionState().PeerCertificates) == 0 {
				return Finding{Status: Unknown, Message: "the server showed no certificate"}
			}
			if wanted && demandsCertificate(secured) {
				return certificateDemanded()
			}
			return certificate(secured.ConnectionState(), r.Unverified)
		},
	}
}

func certificateDemanded() Finding {
	return Finding{
		Status: Fail, Class: "connect", Message: "TLS: the server requires a client certificate",
		Fix: "give it one: --cert-file FILE --key-file FILE, or the keys tls.cert_file and tls.key_file",
	}
}

// alertTime is how long the refusal of a handshake without a client certificate may take: with TLS 1.3 it comes after it.
const alertTime = 500 * time.Millisecond

// demandsCertificate reports whether a server that has asked for a client certificate ends the connection without one.
func demandsCertificate(conn *tls.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(alertTime)) // of a connection that stands
	_, err := conn.Read(make([]byte, 1))
	var silent net.Error
	return err != nil && (!errors.As(err, &silent) || !silent.Timeout())
}

// certificate judges what the server has shown.
func certificate(state tls.ConnectionState, unverified string) Finding {
	leaf := state.PeerCertificates[0]
	left := time.Until(leaf.NotAfter)
	days := int(left.Hours() / 24)
	f := pass(fmt.Sprintf("%s, %d days left", tls.VersionName(state.Version), days))
	// Automatic renewals happen earlier: two weeks before the end, or with the last quarter of one that is short.
	const soon = 14 * 24 * time.Hour
	switch {
	case unverified != "":
		f = warn(fmt.Sprintf("the certificate is not checked (%s)", unverified), "trust its authority in place of that: --ca-file FILE, or the key tls.ca_file")
	case left < min(soon, leaf.NotAfter.Sub(leaf.NotBefore)/4):
		f = warn(fmt.Sprintf("the certificate ends in %d days", days), "renew it")
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	var chain []string
	for _, c := range state.PeerCertificates {
		chain = append(chain, firstWords(c.Subject.String()))
	}
	f.Detail = "names: " + firstWords(andMore(names, 6)) + "\nchain: " + strings.Join(chain, " ← ") + "\nissuer: " + firstWords(leaf.Issuer.String())
	f.Data = map[string]any{
		"not_after": leaf.NotAfter.UTC().Format(time.RFC3339), "days_left": days, "names": names, "issuer": leaf.Issuer.String(),
		"tls_version": tls.VersionName(state.Version),
	}
	return f
}
