package session

import (
	"crypto/tls"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestNoTLSSessionCrossesTrust opens one server as several entries by one dialer: who trusts the server gets a TLS session that
// is gone on with, and nobody else does, whatever was verified for others.
func TestNoTLSSessionCrossesTrust(t *testing.T) {
	var whole, resumed atomic.Int32
	srv, ca := secured(t, func(srv *httptest.Server) {
		srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12, VerifyConnection: func(state tls.ConnectionState) error {
			if state.DidResume {
				resumed.Add(1)
			} else {
				whole.Add(1)
			}
			return nil
		}}
	})
	dir, _ := faultTLS(t, "tls-self-signed")
	other, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	d := noProxy()
	entry := func(settings config.TLS) config.Server { return config.Server{Name: "s", URL: srv.URL, TLS: settings} }
	trusts := entry(config.TLS{CAFile: ca})
	opens(t, d, trusts)
	before := resumed.Load()
	opens(t, d, trusts)
	if resumed.Load() == before {
		t.Error("one who trusts the server does not go on with the TLS session")
	}

	fails(t, d, entry(config.TLS{}), ClassConnect, "unknown authority")
	fails(t, d, entry(config.TLS{CAFile: ca, ServerName: "other.example"}), ClassConnect, "not for other.example")
	begun := whole.Load()
	opens(t, d, entry(config.TLS{InsecureSkipVerify: true}))
	opens(t, d, entry(config.TLS{CAFile: ca, ServerName: "example.com"}))
	if whole.Load() == begun {
		t.Error("an entry that trusts the server in another way made no whole handshake")
	}
	fails(t, d, entry(config.TLS{}), ClassConnect, "unknown authority") // also after somebody has not verified it

	writeFile(t, ca, other)
	fails(t, d, trusts, ClassConnect, "unknown authority") // it is what the file holds now that counts
}
