package session

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// shared is what the connections of one dialer have in common, so that a thousand servers on one host, or with one authority,
// cost one lookup and one pool of certificates, and one whole TLS handshake. TCP connections are not shared: each ends with
// its session, whatever becomes of the others, and what it went through is evidence about one server.
type shared struct {
	names transport.Names

	mu sync.Mutex
	// pools are the authorities to trust, by what is in their files.
	pools map[[sha256.Size]byte]*x509.CertPool
	// resumptions are the TLS sessions that can be gone on with, by the origin and whom it is trusted by and shown.
	resumptions map[string]tls.ClientSessionCache
}

const (
	// mostPools and mostOrigins bound what is kept: more is dropped as a whole, and made again when it is needed. A TLS
	// session holds the server's certificates, some KiB.
	mostPools   = 64
	mostOrigins = 256
	// sessionsOfOrigin is how many TLS sessions are kept of one: several servers may answer behind it.
	sessionsOfOrigin = 4
)

// LookupHost returns the addresses of a host, as the sessions of the dialer find them: those that were looked up within the
// last half minute are not asked for again.
func (d *Dialer) LookupHost(ctx context.Context, host string) ([]string, error) {
	return d.shared.names.LookupHost(ctx, host)
}

// pool returns the system's authorities and those in the contents of a file, nil if there are none in it.
func (s *shared) pool(data []byte, key [sha256.Size]byte) *x509.CertPool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pool := s.pools[key]; pool != nil {
		return pool
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // there is none: the file's are trusted all the same
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil
	}
	if s.pools == nil || len(s.pools) >= mostPools {
		s.pools = map[[sha256.Size]byte]*x509.CertPool{}
	}
	s.pools[key] = pool
	return pool
}

// resumption returns where the TLS sessions of a server are kept. Only a server of the same origin goes on with them that
// trusts the same authorities, in the same way, and shows the same certificate. The contents of the file of authorities have
// the hash trusted, zero for the system's.
func (s *shared) resumption(server config.Server, origin string, trusted [sha256.Size]byte, settings *tls.Config) tls.ClientSessionCache {
	var own strings.Builder
	for _, c := range settings.Certificates {
		for _, der := range c.Certificate {
			sum := sha256.Sum256(der)
			own.WriteString(hex.EncodeToString(sum[:]))
		}
	}
	key := fmt.Sprintf("%s %s %x %t %q %s", strings.ToLower(origin), server.ConnectTo, trusted, settings.InsecureSkipVerify, settings.ServerName, own.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if cache := s.resumptions[key]; cache != nil {
		return cache
	}
	if s.resumptions == nil || len(s.resumptions) >= mostOrigins {
		s.resumptions = map[string]tls.ClientSessionCache{}
	}
	cache := tls.NewLRUClientSessionCache(sessionsOfOrigin)
	s.resumptions[key] = cache
	return cache
}
