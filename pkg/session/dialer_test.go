package session

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestOpeningFailures shows what is said when a server cannot be opened: class, the words that name the cause, evidence.
func TestOpeningFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry func(*testing.T) config.Server
		class Class
		words []string // in the message, the hint, or the evidence
	}{
		{"no listener", refused, ClassConnect, []string{"connection refused", "nothing listens"}},
		{"no such host", func(*testing.T) config.Server { return config.Server{URL: "http://no-such-host.invalid/mcp"} }, ClassConnect, []string{"no-such-host.invalid", "check the host name"}},
		{"self-signed", overHTTP("tls-self-signed"), ClassConnect, []string{"certificate"}},
		{"web page", overHTTP("http-html-200"), ClassConnect, []string{"web page", "Sign in - Corp SSO", "/mcp"}},
		{"wrong path", overHTTP("http-wrong-path"), ClassConnect, []string{"404", "/mcp"}},
		{"login page", overHTTP("http-login-redirect"), ClassConnect, []string{"web page", "Sign in"}},
		{"other origin", overHTTP("redirect-cross-origin-auth"), ClassConnect, []string{"redirects to http://127.0.0.1"}},
		{"redirect loop", overHTTP("redirect-loop"), ClassConnect, []string{"in circles"}},
		{"token wanted", overHTTP("http-401-static-bearer"), ClassAuth, []string{"401", "Authorization: Bearer"}},
		{"unknown version", overHTTP("proto-future"), ClassProtocol, []string{"2099-01-01"}},
		{"ends at once", asChild("stdio-exit-1"), ClassConnect, []string{"exit status 1"}},
		{"variable missing", asChild("stdio-env-required"), ClassConnect, []string{"exit status 78"}},
		{"no such command", func(*testing.T) config.Server { return config.Server{Command: "no-such-command-here"} }, ClassConnect, []string{"command not found", "looked in"}},
		{"no such directory", func(*testing.T) config.Server { return config.Server{Command: "sh", Cwd: "/no/such/dir"} }, ClassConnect, []string{"/no/such/dir"}},
		{"user info", func(*testing.T) config.Server { return config.Server{URL: "http://u:p@127.0.0.1/"} }, ClassConfig, []string{"password"}},
		{"scheme", func(*testing.T) config.Server { return config.Server{URL: "ftp://127.0.0.1/"} }, ClassConfig, []string{"http://"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := tt.entry(t)
			server.Name = "s"
			server.Wait = time.Second
			if server.Transport == "" {
				server.Transport = config.TransportAuto
			}
			s, err := (&Dialer{}).Dial(t.Context(), server)
			if err == nil {
				_ = s.Close()
				t.Fatal("it opened")
			}
			var e *Error
			if !errors.As(err, &e) || e.Class != tt.class {
				t.Fatalf("err = %v (%s)", err, ClassOf(err))
			}
			said := strings.Join(append(slices.Concat(e.Evidence, e.StderrTail), e.Message, e.Hint), "\n")
			for _, w := range tt.words {
				if !strings.Contains(said, w) {
					t.Errorf("nothing says %q:\n%s", w, said)
				}
			}
		})
	}
}

func overHTTP(name string) func(*testing.T) config.Server {
	return func(t *testing.T) config.Server {
		t.Helper()
		_, entry := fault(t, name)
		return entry
	}
}

func asChild(name string) func(*testing.T) config.Server {
	return func(t *testing.T) config.Server {
		t.Helper()
		return faultChild(t, name)
	}
}

// refused returns an entry with a URL where nothing listens.
func refused(t *testing.T) config.Server {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return config.Server{URL: "http://" + l.Addr().String() + "/mcp"}
}

// TestOpenings shows what opens, and how: transport and era.
func TestOpenings(t *testing.T) {
	modern, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{Stateless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = modern.Close() })
	for _, tt := range []struct {
		name      string
		entry     func(*testing.T) config.Server
		transport string
		era       Era
	}{
		{"healthy", overHTTP("healthy"), "http", EraLegacy},
		{"modern over HTTP", func(*testing.T) config.Server { return config.Server{URL: modern.URL()} }, "http", EraModern},
		{"modern, pinned", func(*testing.T) config.Server { return config.Server{URL: modern.URL(), Protocol: "2026-07-28"} }, "http", EraModern},
		{"pinned to an older one", func(*testing.T) config.Server { return config.Server{URL: modern.URL(), Protocol: "2025-06-18"} }, "http", EraLegacy},
		{"only the modern era, stdio", asChild("modern-only"), "stdio", EraModern},
		{"only the modern era, HTTP", overHTTP("modern-only"), "http", EraModern},
		{"older transport", overHTTP("sse-only-legacy"), "sse", EraLegacy},
		{"moved within the origin", overHTTP("redirect-307-slash"), "http", EraLegacy},
		{"moved, with 301", overHTTP("redirect-301-post"), "http", EraLegacy},
		{"versions named with 400", overHTTP("proto-http-400-new"), "http", EraLegacy},
		{"probe refused", overHTTP("discover-32602"), "http", EraLegacy},
		{"connections that serve once", overHTTP("http-conn-reuse-eof"), "http", EraLegacy},
		{"late listener", overHTTP("net-late-listen"), "http", EraLegacy},
		{"banner on standard output", asChild("stdio-banner"), "stdio", EraLegacy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := tt.entry(t)
			server.Name = "s"
			if server.Transport == "" {
				server.Transport = config.TransportAuto
			}
			s := supervise(t, server)
			sess, err := s.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			info := sess.Info()
			if info.Transport != tt.transport || info.Era != tt.era || info.Generation != 1 {
				t.Errorf("%+v", info)
			}
			if l, err := list(t.Context(), s); err != nil || len(l.Items) == 0 {
				t.Errorf("list: %d tools, %v", len(l.Items), err)
			}
		})
	}
}

// TestST02Noise shows that what is not MCP on standard output is passed over, counted and kept.
func TestST02Noise(t *testing.T) {
	s := supervise(t, faultChild(t, "stdio-banner"))
	sess, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := sess.Noise(); n.Lines == 0 || n.First == "" || n.Number == 0 {
		t.Errorf("%+v", n)
	}
}

// TestST04Environment shows what a child gets of our environment.
func TestST04Environment(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_DATA_HOME=/x", "HTTPS_PROXY=p", "SECRET_TOKEN=s", "NAMED=n", "USER=u"}
	for _, tt := range []struct {
		name   string
		server config.Server
		want   string
	}{
		{"usual", config.Server{}, "PATH=/bin HOME=/h LC_ALL=C XDG_DATA_HOME=/x HTTPS_PROXY=p USER=u"},
		{"named", config.Server{InheritEnv: config.InheritEnv{Names: []string{"NAMED"}}}, "PATH=/bin HOME=/h LC_ALL=C XDG_DATA_HOME=/x HTTPS_PROXY=p NAMED=n USER=u"},
		{"all", config.Server{InheritEnv: config.InheritEnv{All: true}}, strings.Join(environ, " ")},
		{"own", config.Server{Env: map[string]string{"USER": "me", "A": "b"}}, "PATH=/bin HOME=/h LC_ALL=C XDG_DATA_HOME=/x HTTPS_PROXY=p A=b USER=me"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(childEnv(tt.server, environ), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestRawDigits shows that a result comes back byte for byte, and parameters go out digit for digit.
func TestRawDigits(t *testing.T) {
	for name, server := range map[string]config.Server{"http": overHTTP("call-bigint-arg")(t), "stdio": faultChild(t, "call-bigint-arg")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := supervise(t, server)
			sess, err := s.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const digits = "2574604874062343519"
			params := []byte(`{"name":"raw","arguments":{"id":` + digits + `}}`)
			result, err := sess.Raw(t.Context(), "tools/call", rawJSON(params))
			if err != nil || !strings.Contains(string(result), digits) {
				t.Errorf("result %s, %v", result, err)
			}
		})
	}
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// TestPF04SkipPreflight shows that with skip_preflight an answer is judged by its bytes, not by the type it claims.
func TestPF04SkipPreflight(t *testing.T) {
	r := newRestartable(t)
	r.contentType, r.before = "text/html", "data: "
	entry := r.entry()
	if _, err := (&Dialer{}).Dial(t.Context(), entry); ClassOf(err) != ClassConnect {
		t.Errorf("with preflight: %v", err)
	}
	entry.SkipPreflight = true
	s := supervise(t, entry)
	if _, err := call(t.Context(), s, "x", nil, false); err != nil {
		t.Errorf("without: %v", err)
	}
}
