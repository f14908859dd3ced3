package config

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseNetworkKeys(t *testing.T) {
	s := entryOf(t, `url: https://x/mcp`,
		`tls: {ca_file: ~/ca.pem, cert_file: c.pem, key_file: "${KEY}", server_name: inner.example, insecure_skip_verify: true}`,
		`proxy: socks5://proxy.example:1080`, `max_timeout: 1h`)
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	want := TLS{CAFile: "~/ca.pem", CertFile: "c.pem", KeyFile: "${KEY}", ServerName: "inner.example", InsecureSkipVerify: true}
	if s.TLS != want || s.Proxy != "socks5://proxy.example:1080" || s.MaxTimeout != time.Hour {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"tls", "tls.ca_file", "tls.cert_file", "tls.key_file", "tls.server_name", "tls.insecure_skip_verify", "proxy", "max_timeout"} {
		if s.Sources[key].Kind != "entry" {
			t.Errorf("%s comes from %q", key, s.Sources[key])
		}
	}
}

func TestParseNetworkErrors(t *testing.T) {
	tests := []struct{ name, entry, want string }{
		{"unknown key of tls", "url: https://x\ntls: {ca_fil: a}", `4:11: server "s": key "tls.ca_fil": unknown key; did you mean "ca_file"?`},
		{"another tool's key", "url: https://x\ntls: {insecure: true}", `4:11: server "s": key "tls.insecure": unknown key; write "insecure_skip_verify", and true for no check`},
		{"key above tls", "url: https://x\nca_file: a", `4:5: server "s": key "ca_file": unknown key; write it below "tls"`},
		{"tls is text", "url: https://x\ntls: ca.pem", `4:10: server "s": key "tls": want a mapping, found text`},
		{"empty file", "url: https://x\ntls: {ca_file: \"\"}", `4:20: server "s": key "tls.ca_file": is empty; give it a value, or remove the key`},
		{"insecure is text", "url: https://x\ntls: {insecure_skip_verify: \"yes\"}", `4:33: server "s": key "tls.insecure_skip_verify": want true or false, found text`},
		{"certificate alone", "url: https://x\ntls: {cert_file: c}", `4:11: server "s": key "tls.cert_file": is set without tls.key_file; set both, or neither`},
		{"key alone", "url: https://x\ntls: {key_file: c}", `4:11: server "s": key "tls.key_file": is set without tls.cert_file; set both, or neither`},
		{"key misspelt", "url: https://x\ntls: {cert_file: c, keyfile: d}", `4:25: server "s": key "tls.keyfile": unknown key; did you mean "key_file"?`},
		{"server name with a port", "url: https://x\ntls: {server_name: \"a:443\"}", `4:11: server "s": key "tls.server_name": "a:443" is not the name of a host; write the name that the certificate has, without scheme and port`},
		{"tls of a command", "command: x\ntls: {ca_file: a}", `4:5: server "s": key "tls": belongs to a url, and this entry starts a command; remove it`},
		{"proxy of a command", "command: x\nproxy: none", `4:5: server "s": key "proxy": belongs to a url, and this entry starts a command; give the command its proxy as a variable, in env`},
		{"proxy without a scheme", "url: https://x\nproxy: proxy.example:3128", `4:5: server "s": key "proxy": has no scheme; write it as http://host:port, or none`},
		{"proxy without anything", "url: https://x\nproxy: proxy", `4:5: server "s": key "proxy": has no scheme; write it as http://host:port, or none`},
		{"proxy scheme", "url: https://x\nproxy: ftp://bob:hunter2@p", `4:5: server "s": key "proxy": must begin with http://, https://, socks5:// or socks5h://; write it as http://host:port, or none`},
		{"proxy host", "url: https://x\nproxy: http://bob:hunter2@:3128", `4:5: server "s": key "proxy": has no host; write it as http://host:port, or none`},
		{"proxy port", "url: https://x\nproxy: http://p:99999", `4:5: server "s": key "proxy": the port is not between 1 and 65535`},
		{"proxy path", "url: https://x\nproxy: http://p:80/mcp", `4:5: server "s": key "proxy": has a path, and a proxy is a host and a port only; write it as http://host:port, or none`},
		{"proxy password with a slash", "url: https://x\nproxy: http://bob:hunter/2@p:80", `4:5: server "s": key "proxy": is no URL; in a user name or password, write @ as %40, : as %3A, / as %2F and % as %25`},
		{"proxy in capitals", "url: https://x\nproxy: None", `4:5: server "s": key "proxy": is neither none nor a URL; write none`},
		{"max_timeout", "url: https://x\nmax_timeout: 60000", `4:18: server "s": key "max_timeout": 60000: write 60s or 60000s`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := entryOf(t, strings.Split(test.entry, "\n")...)
			if s.Err == nil || s.Err.Error() != "config.yaml:"+test.want {
				t.Errorf("got  %v\nwant config.yaml:%s", s.Err, test.want)
			}
			if s.Err != nil && strings.Contains(s.Err.Error(), "hunter") {
				t.Error("the password is shown")
			}
		})
	}
}

func TestExpandNetwork(t *testing.T) {
	s := Server{
		Name: "s", URL: "https://x/mcp",
		TLS:   TLS{CAFile: "~/${DIR}/ca.pem", CertFile: "c.pem", KeyFile: "${KEY}", ServerName: "${HOST}"},
		Proxy: "http://bob:${PW}@proxy.example:3128",
	}
	out, secrets, err := s.Expand(Environment{Lookup: lookupIn(map[string]string{"DIR": "certs", "KEY": "~/k", "HOST": "inner", "PW": "hunter%2F2"}), Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (TLS{CAFile: "/home/u/certs/ca.pem", CertFile: "c.pem", KeyFile: "~/k", ServerName: "inner"}); out.TLS != want {
		t.Errorf("%+v", out.TLS)
	}
	if out.Proxy != "http://bob:hunter%2F2@proxy.example:3128" {
		t.Error(out.Proxy)
	}
	for _, secret := range []string{"hunter%2F2", "hunter/2", base64.StdEncoding.EncodeToString([]byte("bob:hunter/2"))} {
		if !slices.Contains(secrets, secret) {
			t.Errorf("%q is not among the secrets", secret)
		}
	}
	for _, test := range []struct {
		name   string
		server Server
		want   string
	}{
		{"unset", Server{Proxy: "http://${P}:1"}, `variable not set: P (in proxy)`},
		{"empty proxy", Server{Proxy: "${EMPTY}"}, `key "proxy": is empty: its variable holds nothing`},
		{"empty file", Server{TLS: TLS{CAFile: "${EMPTY}"}}, `key "tls.ca_file": is empty: its variable holds nothing`},
		{"no proxy in the variable", Server{Proxy: "${AUTH}"}, `key "proxy": has no scheme`},
		{"address and proxy", Server{Proxy: "http://p:1", ConnectTo: "a:1"}, "does not go with a proxy"},
		{"address", Server{ConnectTo: "a:b"}, "the port is not between 1 and 65535"},
	} {
		test.server.Name, test.server.URL = "s", "https://x"
		_, _, err := test.server.Expand(Environment{Lookup: lookupIn(map[string]string{"EMPTY": "", "AUTH": "bob:hunter2@p:1"})})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestProxyPasswordIsMasked(t *testing.T) {
	for raw, want := range map[string]string{
		"http://p:1":                        "http://p:1",
		"none":                              "none",
		"http://bob@p:1":                    "http://bob@p:1",
		"http://bob:hunter2@p:1":            "http://bob:***@p:1",
		"http://bob:${PW}@p:1":              "http://bob:${PW}@p:1",
		"http://${U:-x}:${PW}@p:1":          "http://${U:-x}:${PW}@p:1",
		"http://bob:${PW:-hunter2}@p:1":     "http://bob:***@p:1",
		"http://bob:hun/ter@2@p:1":          "http://bob:***@p:1",
		"bob:hunter2@p:1":                   "bob:***@p:1",
		"http://${U:-a:b}:hunter2@${H}:312": "http://${U:-a:b}:***@${H}:312",
	} {
		s := Server{Name: "s", URL: "https://x", Proxy: raw}
		if got := s.Redacted().Proxy; got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
		if literal := len(s.LiteralSecrets()) > 0; literal != strings.Contains(want, "***") {
			t.Errorf("%s: a literal secret: %v", raw, literal)
		}
	}
}

func TestSplitConnectTo(t *testing.T) {
	for address, want := range map[string][2]string{
		"a": {"a", ""}, "a.example:8443": {"a.example", "8443"}, "127.0.0.1:1": {"127.0.0.1", "1"}, "::1": {"::1", ""},
		"[::1]": {"::1", ""}, "[fe80::1%lo]:80": {"fe80::1%lo", "80"},
	} {
		host, port, err := SplitConnectTo(address)
		if err != nil || host != want[0] || port != want[1] {
			t.Errorf("%s: %q %q %v", address, host, port, err)
		}
	}
	for _, address := range []string{"", ":80", "a:", "a:0", "a:x", "a:65536", "http://a", "a/b", "[a]:1", "[::1", "a b", "u@a"} {
		if host, port, err := SplitConnectTo(address); err == nil {
			t.Errorf("%q is taken for %q %q", address, host, port)
		}
	}
}

func TestParseProxy(t *testing.T) {
	for raw, want := range map[string]string{"p:3128": "http://p:3128", "HTTP://u:p@h": "http://u:p@h", "socks5://h:1": "socks5://h:1"} {
		if u, err := ParseProxy(raw); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v", raw, u, err)
		}
	}
	for _, raw := range []string{"ftp://p", "http://", "http://u:hun%ter@p", "http://p:x"} {
		if u, err := ParseProxy(raw); err == nil || strings.Contains(err.Error(), "hun") {
			t.Errorf("%s: %v, %v", raw, u, err)
		}
	}
}

// TestEditNetwork shows that the keys are written, read back alike, and changed in their place.
func TestEditNetwork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	s := Server{
		Name: "s", URL: "https://x/mcp", Transport: TransportAuto, Enabled: true, MaxTimeout: time.Hour,
		TLS:   TLS{CAFile: "/etc/ca.pem", CertFile: "/c.pem", KeyFile: "~/k.pem", ServerName: "inner", InsecureSkipVerify: true},
		Proxy: "http://bob:${PW}@proxy.example:3128",
	}
	if err := Edit(path, func(d *Document) error { return d.Add(s) }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `version: 1
servers:
  s:
    url: https://x/mcp
    tls:
      ca_file: /etc/ca.pem
      cert_file: /c.pem
      key_file: ~/k.pem
      server_name: inner
      insecure_skip_verify: true
    proxy: "http://bob:${PW}@proxy.example:3128"
    max_timeout: 1h
`
	if string(data) != want {
		t.Errorf("got\n%s\nwant\n%s", data, want)
	}
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := cfg.Server("s")
	if got.Err != nil || got.TLS != s.TLS || got.Proxy != s.Proxy || got.MaxTimeout != s.MaxTimeout || got.ConnectTo != "" {
		t.Errorf("%+v", got)
	}
	got.TLS = TLS{CAFile: "/etc/other.pem"}
	got.Proxy = ProxyNone
	if err := Edit(path, func(d *Document) error { return d.Replace(got) }); err != nil {
		t.Fatal(err)
	}
	data, _ = os.ReadFile(path)
	if !strings.Contains(string(data), "other.pem") || strings.Contains(string(data), "key_file") || !strings.Contains(string(data), "proxy: none\n") {
		t.Errorf("after the change:\n%s", data)
	}
}
