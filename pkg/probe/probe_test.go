package probe

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/internal/faultlab"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestMain lets the test binary play the servers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "stdio":
			os.Exit(faultlab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		case "demo":
			if err := demo.RunStdio(context.Background(), os.Stdin, os.Stdout, demo.Options{}); err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// child returns an entry that starts this test binary with the given words.
func child(t *testing.T, words ...string) config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{
		Name: "s", Command: exe, Args: words, Transport: config.TransportStdio, Enabled: true,
		// Under the race detector a process takes another second to exit, unless told otherwise.
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// fault returns an entry for a case of the laboratory over HTTP.
func fault(t *testing.T, name string) config.Server {
	t.Helper()
	c, ok := faultlab.Find(name)
	if !ok {
		t.Fatalf("no case %q", name)
	}
	srv, err := c.Serve(faultlab.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return config.Server{Name: "s", URL: srv.URL, Transport: config.TransportAuto, Enabled: true}
}

func demoHTTP(t *testing.T, stateless bool) config.Server {
	t.Helper()
	srv, err := demo.ServeHTTP(t.Context(), "", demo.HTTPOptions{Stateless: stateless})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return config.Server{Name: "s", URL: srv.URL(), Transport: config.TransportAuto, Enabled: true}
}

func statuses(r Report) string {
	var b strings.Builder
	for _, res := range r.Results {
		b.WriteString(res.ID + " " + string(res.Status) + ": " + res.Message + "\n")
	}
	return b.String()
}

// healthyServers are servers on every transport, in both eras, with and without a session.
func healthyServers(t *testing.T) map[string]config.Server {
	t.Helper()
	// Without a session id there is no session to lose, also in the era that has them.
	sessionless := demoHTTP(t, true)
	sessionless.Protocol = "2025-11-25"
	return map[string]config.Server{
		"stdio":       child(t, "demo"),
		"http":        demoHTTP(t, false),
		"modern":      demoHTTP(t, true),
		"sessionless": sessionless,
		"sse":         fault(t, "sse-only-legacy"),
		"refused":     fault(t, "session-delete-405"),
	}
}

func byID(r Report) map[string]Result {
	out := map[string]Result{}
	for _, res := range r.Results {
		out[res.ID] = res
	}
	return out
}

// TestHealthy shows that healthy servers pass every check, the drill included, on every transport and in both eras: how
// the session was killed (KD-01), that one list came through (KD-02, KD-03), and the figures over all kills (KD-04).
func TestHealthy(t *testing.T) {
	killedBy := map[string]string{
		"stdio": "sigkill", "http": "delete", "modern": "connections dropped", "sessionless": "connections dropped",
		"sse": "stream closed", "refused": "made-up id",
	}
	for name, server := range healthyServers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Run(t.Context(), &Target{Server: server, Kills: 2}, Checks())
			if r.Verdict != Pass || r.Cause != nil {
				t.Fatalf("verdict %s, cause %+v\n%s", r.Verdict, r.Cause, statuses(r))
			}
			results := byID(r)
			kill, fresh, request := results["recovery.kill"], results["recovery.fresh"], results["recovery.request"]
			if kill.Data["kills"] != 2 || kill.Data["killed_by"] != killedBy[name] {
				t.Errorf("kill %+v", kill)
			}
			if request.Data["executions"] != 1 || request.Data["request"] != "tools/list" || request.Data["attempts_unknown"] != 0 {
				t.Errorf("request %+v", request)
			}
			if strings.HasPrefix(killedBy[name], "connections") {
				if fresh.Status != Skip || kill.Data["kills_confirmed"] != 0 || request.Data["attempts"] != 1 {
					t.Errorf("fresh %+v, kill %+v, request %+v", fresh, kill, request)
				}
				return
			}
			if kill.Data["kills_confirmed"] != 2 || fresh.Data["recovered"] != 2 || fresh.Data["announced_as"] == "" || fresh.Data["killed_by"] != killedBy[name] {
				t.Errorf("kill %+v, fresh %+v", kill, fresh)
			}
			if _, http := fresh.Data["new_session"]; http != (name == "http" || name == "refused") {
				t.Errorf("fresh %+v", fresh)
			}
			if fresh.Data["generation"] != 3 || fresh.Data["handshakes"] != 1 || fresh.Data["old_generation"] != 2 {
				t.Errorf("fresh %+v", fresh)
			}
			for _, key := range []string{"detect_ms", "fresh_ms", "detect_min_ms", "detect_median_ms", "detect_max_ms", "fresh_min_ms", "fresh_median_ms", "fresh_max_ms"} {
				if ms, ok := fresh.Data[key].(float64); !ok || ms <= 0 {
					t.Errorf("%s is %v", key, fresh.Data[key])
				}
			}
		})
	}
}

// TestCauses shows the root cause that is named for a fault: one failing check, the class, and what it says.
func TestCauses(t *testing.T) {
	refused := func(t *testing.T) config.Server {
		t.Helper()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Close(), l.Close() })
		// Nobody can listen at the near end of a connection as long as it is there. A port that was given back is taken by
		// another test.
		return config.Server{Name: "s", URL: "http://" + c.LocalAddr().String() + "/mcp", Transport: config.TransportAuto, Enabled: true}
	}
	over := func(name string) func(*testing.T) config.Server {
		return func(t *testing.T) config.Server { t.Helper(); return fault(t, name) }
	}
	as := func(name string) func(*testing.T) config.Server {
		return func(t *testing.T) config.Server { t.Helper(); return child(t, "stdio", name) }
	}
	entry := func(s config.Server) func(*testing.T) config.Server {
		return func(*testing.T) config.Server { s.Name, s.Enabled = "s", true; return s }
	}
	for _, tt := range []struct {
		name  string
		entry func(*testing.T) config.Server
		check string
		class string
		words string
	}{
		{"both command and URL", entry(config.Server{Command: "x", URL: "http://x", Transport: "auto"}), "config.entry", "config", "command"},
		{"variable not set", entry(config.Server{URL: "http://${NO_SUCH_VARIABLE}/", Transport: "auto"}), "config.variables", "config", "NO_SUCH_VARIABLE"},
		{"no file with authorities", entry(config.Server{URL: "https://127.0.0.1:1/mcp", TLS: config.TLS{CAFile: "no-such-file.pem"}, Transport: "auto"}), "config.network", "config", "no-such-file.pem"},
		{"no client certificate", func(t *testing.T) config.Server {
			t.Helper()
			s := fault(t, "tls-mtls")
			s.TLS.InsecureSkipVerify = true // the authority is not the point here
			return s
		}, "net.tls", "connect", "requires a client certificate"},
		{"body not gzip", over("gzip-header-lie"), "http.endpoint", "protocol", "is not gzip"},
		{"proxy not there", entry(config.Server{URL: "http://example.com/mcp", Proxy: "http://bob:hunter2@127.0.0.1:1", Transport: "auto"}), "net.proxy", "connect", "the proxy http://127.0.0.1:1 (the key proxy) cannot be reached"},
		{"command not found", entry(config.Server{Command: "no-such-command-here", Transport: "stdio"}), "command.found", "connect", "no-such-command-here"},
		{"command is a directory", func(t *testing.T) config.Server {
			t.Helper()
			return config.Server{Command: t.TempDir(), Transport: "stdio"}
		}, "command.executable", "connect", "is a directory"},
		{"answers frames only", func(t *testing.T) config.Server {
			t.Helper()
			s := child(t, "stdio", "framing-input")
			s.ConnectTimeout = 4 * time.Second
			return s
		}, "session.open", "timeout", "answers only to Content-Length framing (LSP)"},
		{"no such host", entry(config.Server{URL: "http://no-such-host.invalid/mcp", Transport: "auto"}), "net.dns", "connect", "no-such-host.invalid"},
		{"nothing listens", refused, "net.tcp", "connect", "refused"},
		{"self-signed", over("tls-self-signed"), "net.tls", "connect", "certificate"},
		{"expired", over("tls-expired"), "net.tls", "connect", "expired"},
		{"web page", over("http-html-200"), "http.endpoint", "connect", "Sign in - Corp SSO"},
		{"wrong path", over("http-wrong-path"), "http.endpoint", "connect", "404"},
		{"redirect to another origin", over("redirect-cross-origin-auth"), "http.endpoint", "connect", "redirects to"},
		{"redirect loop", over("redirect-loop"), "http.endpoint", "connect", "circles"},
		{"token wanted", over("http-401-static-bearer"), "auth.access", "auth", "401"},
		{"ends at once", as("stdio-exit-1"), "session.open", "connect", "exit status 1"},
		{"token missing in the environment", as("stdio-env-required"), "session.open", "connect", "exit status 78"},
		{"unknown version", over("proto-future"), "session.open", "protocol", "2099-01-01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := tt.entry(t)
			server.Wait = time.Second
			r := Run(t.Context(), &Target{Server: server, Kills: 1}, Checks())
			if r.Verdict != Fail || r.Cause == nil || r.Cause.Check != tt.check || r.Cause.Class != tt.class ||
				!strings.Contains(r.Cause.Message, tt.words) || r.Cause.Fix == "" {
				t.Fatalf("verdict %s, cause %+v\n%s", r.Verdict, r.Cause, statuses(r))
			}
			for _, res := range r.Results {
				if res.Status == Fail && res.ID != tt.check {
					t.Errorf("a second failure: %s: %s", res.ID, res.Message)
				}
				if res.Status == Unknown {
					t.Errorf("unknown: %s: %s", res.ID, res.Message)
				}
			}
		})
	}
}

// TestWarnings shows what works and should be mended.
func TestWarnings(t *testing.T) {
	secret := demoHTTP(t, false)
	secret.Headers = map[string]string{"Authorization": "Bearer ghp_0123456789abcdefghij0123456789abcdef"}
	idle := demoHTTP(t, false)
	idle.Tools.Exclude = []string{"no_such_*"}
	ignores := child(t, "stdio", "stdio-ignore-eof")
	for _, tt := range []struct {
		name   string
		server config.Server
		check  string
		words  string
	}{
		{"literal secret", secret, "config.secrets", "headers.Authorization"},
		{"filter without a match", idle, "config.tools", "no_such_*"},
		{"noise", child(t, "stdio", "stdio-banner"), "session.noise", `3 lines are not MCP; the first, line 2: "____ Faultlab Server v1.2.3 ____"`},
		{"replies in frames", child(t, "stdio", "framing-output"), "session.noise", "Content-Length"},
		{"arguments that no shell has seen", child(t, "demo", "$HOME/notes"), "command.arguments", "no shell replaces it"},
		{"ignores the end of input", ignores, "shutdown.close", "SIGTERM"},
		{"two tools of a name", fault(t, "dup-tool-names"), "tools.names", "twice"},
		{"capability that is none", fault(t, "caps-lie-prompts"), "protocol.capabilities", "declared, but prompts/list is unknown"},
		{"a bad tool", fault(t, "tools-bad-entry"), "tools.schemas", "inputSchema"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Run(t.Context(), &Target{Server: tt.server}, Checks())
			i := slices.IndexFunc(r.Results, func(res Result) bool { return res.ID == tt.check })
			if i < 0 || r.Results[i].Status != Warn || !strings.Contains(r.Results[i].Message, tt.words) || r.Results[i].Fix == "" {
				t.Fatalf("verdict %s\n%s", r.Verdict, statuses(r))
			}
			if r.Verdict != Warn {
				t.Errorf("verdict %s\n%s", r.Verdict, statuses(r))
			}
		})
	}
}

// TestPinned shows that a package without a version is told of, and that it is no warning.
func TestPinned(t *testing.T) {
	for _, tt := range []struct{ command, message string }{
		{"npx -y @scope/server", "no exact version: @scope/server can change by itself; with one it is written @scope/server@VERSION"},
		{"docker run -i --rm mcp/fetch:latest", "no exact version: mcp/fetch:latest can change by itself; with one it is written mcp/fetch:VERSION"},
		{"uvx mcp-server-fetch==1.2.3", "mcp-server-fetch==1.2.3"},
		{"node index.js", "nothing is fetched"},
	} {
		words := strings.Fields(tt.command)
		server := config.Server{Name: "s", Command: words[0], Args: words[1:], Transport: config.TransportStdio}
		checks, _ := Select(Checks(), []string{"config.pinned"}, nil)
		r := Run(t.Context(), &Target{Server: server}, checks)
		i := slices.IndexFunc(r.Results, func(res Result) bool { return res.ID == "config.pinned" })
		if i < 0 || r.Verdict != Pass || r.Results[i].Status != Pass || r.Results[i].Shown || r.Results[i].Message != tt.message {
			t.Errorf("%s: verdict %s\n%s", tt.command, r.Verdict, statuses(r))
		}
	}
}

// TestRunner shows the runner itself: needs, panics, the end of the context, and no vacuous pass.
func TestRunner(t *testing.T) {
	ok := func(context.Context, *Target) Finding { return pass("ok") }
	bad := func(context.Context, *Target) Finding { return Finding{Status: Fail, Class: "connect", Message: "bad"} }
	nothing := func(context.Context, *Target) Finding { return skip("nothing to look at") }
	never := func(*Target) bool { return false }
	boom := func(context.Context, *Target) Finding { panic("boom") }
	checks := []Check{
		{ID: "a.one", Run: bad},
		{ID: "a.two", Needs: []string{"a.one"}, Run: ok},
		{ID: "a.three", Needs: []string{"a.two"}, Run: ok},
		{ID: "b.idle", Run: nothing},
		{ID: "b.after", Needs: []string{"b.idle", "b.not-there"}, Run: ok},
		{ID: "b.never", Applies: never, Run: boom},
		{ID: "c.panics", Run: boom},
		{ID: "c.after", Needs: []string{"c.panics"}, Run: ok},
	}
	r := Run(t.Context(), &Target{}, checks)
	var got []string
	for _, res := range r.Results {
		got = append(got, res.ID+" "+string(res.Status)+" "+res.Message)
	}
	want := []string{
		"a.one fail bad", "a.two skip needs a.one", "a.three skip needs a.one",
		"b.idle skip nothing to look at", "b.after pass ok",
		"c.panics unknown the check itself broke: boom", "c.after skip needs c.panics",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if r.Verdict != Fail || !r.Incomplete || r.Cause.Check != "a.one" {
		t.Errorf("verdict %s, incomplete %v, cause %+v", r.Verdict, r.Incomplete, r.Cause)
	}

	for name, tt := range map[string]struct {
		checks []Check
		want   Status
	}{
		"nothing known":        {[]Check{{ID: "b.idle", Run: nothing}}, Unknown},
		"no checks":            {nil, Unknown},
		"unknown beside good":  {[]Check{{ID: "a", Run: ok}, {ID: "c", Run: boom}}, Warn},
		"only the check broke": {[]Check{{ID: "c", Run: boom}}, Unknown},
	} {
		if r := Run(t.Context(), &Target{}, tt.checks); r.Verdict != tt.want {
			t.Errorf("%s: verdict %s", name, r.Verdict)
		}
	}
}

// TestChecks shows that the list of checks is in order: ids are unique and dotted, needs come before, texts are there.
func TestChecks(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		if stage, name, ok := strings.Cut(c.ID, "."); !ok || stage == "" || name == "" || c.ID != strings.ToLower(c.ID) {
			t.Errorf("id %q", c.ID)
		}
		if c.Title == "" || len(c.Title) > 40 || len(c.Why) < 80 {
			t.Errorf("%s: title %q, why %q", c.ID, c.Title, c.Why)
		}
		for _, n := range c.Needs {
			if !seen[n] {
				t.Errorf("%s needs %s, which does not come before it", c.ID, n)
			}
		}
	}
}

// TestSelect shows that what is selected brings its needs along, and that words without a match are told.
func TestSelect(t *testing.T) {
	ids := func(only, skip []string) (string, string) {
		selected, unmatched := Select(Checks(), only, skip)
		var out []string
		for _, c := range selected {
			out = append(out, c.ID)
		}
		return strings.Join(out, " "), strings.Join(unmatched, " ")
	}
	if got, _ := ids([]string{"command.found"}, nil); got != "config.entry config.variables command.found" {
		t.Errorf("only command.found: %s", got)
	}
	if got, _ := ids([]string{"command.found", "config"}, []string{"config.secrets", "config.danger", "config.pinned", "config.file", "config.network", "config.tools"}); got != "config.entry config.variables command.found" {
		t.Errorf("skip: %s", got)
	}
	if _, unmatched := ids([]string{"commando"}, []string{"config.x"}); unmatched != "commando config.x" {
		t.Errorf("unmatched: %s", unmatched)
	}
}

// TestStrict shows that with Strict a warning fails, and says that it was only a warning.
func TestStrict(t *testing.T) {
	r := Run(t.Context(), &Target{Server: child(t, "stdio", "stdio-banner")}, Checks())
	Strict(&r)
	if r.Verdict != Fail || r.Cause == nil || r.Cause.Check != "session.noise" || !strings.Contains(r.Cause.Message, "--strict") {
		t.Errorf("verdict %s, cause %+v", r.Verdict, r.Cause)
	}
	good := Run(t.Context(), &Target{Server: child(t, "demo")}, Checks())
	if Strict(&good); good.Verdict != Pass {
		t.Errorf("verdict %s", good.Verdict)
	}
}

// TestAServerOnTheOtherLoopback shows that a server which listens on [::1] alone is found when 127.0.0.1 is asked.
func TestAServerOnTheOtherLoopback(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := config.Server{Name: "n", URL: "http://127.0.0.1:" + port + "/mcp", Transport: "auto"}
	r := Run(t.Context(), &Target{Server: server}, Checks())
	if r.Cause == nil || r.Cause.Check != "net.tcp" || !strings.Contains(r.Cause.Message, "something listens at [::1]:"+port) || !strings.Contains(r.Cause.Fix, "[::1]:"+port) {
		t.Errorf("cause %+v", r.Cause)
	}
}

// TestSchemaTrouble shows what is found in schemas that clients and models choke on, and what is not complained of.
func TestSchemaTrouble(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/Nope"}}}`:                                   "x refers to #/$defs/Nope, which is not there",
		`{"type":"object","properties":{"x":{"type":"any"}}}`:                                            `x has the type "any"`,
		`{"type":"object","properties":{"x":{"type":["string","str"]}}}`:                                 `x has the type "str"`,
		`{"type":"object","properties":{"x":{"type":null}}}`:                                             `x has the type null`,
		`{"type":"object","properties":{"x":{"type":{}}}}`:                                               `x has the type {}`,
		`{"type":"object","properties":{"x":{"type":"string","enum":[]}}}`:                               "x has enum without anything in it",
		`{"type":"object","properties":{"x":{"anyOf":null}}}`:                                            "x has anyOf without anything in it",
		`{"type":"object","properties":{"x":{"anyOf":[{"type":"int"}]}}}`:                                `x has the type "int"`,
		`{"type":"object","properties":{"x":{"type":"array","items":{"$ref":"#/definitions/No"}}}}`:      "x[] refers to #/definitions/No",
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`: "",
		`{"type":"object","properties":{"x":{"type":"integer","exclusiveMaximum":true}}}`:                "x has exclusiveMaximum: true",
		`{"type":"object","properties":{"x":{"type":"integer","exclusiveMaximum":9}}}`:                   "",
		`{"type":"object","properties":{"x":{"type":"string","required":true}}}`:                         "x has required: true",
		`{"type":"object","properties":{"x":{"type":"object","required":["y"]}}}`:                        "",
		`{"type":"object","properties":{"x":{"type":"array","items":[{"type":"string"}]}}}`:              "x has a list as items",
		`{"type":"object","properties":{"x":{"type":"array","prefixItems":[{"type":"string"}]}}}`:        "",
		`{"type":"object","properties":{"uids[]":{"type":"string"}}}`:                                    `the parameter "uids[]" has a name`,
		`{"type":"object","properties":{"a.b-c_1":{"type":"object","properties":{"a b":{}}}}}`:           "",
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"string"}}}`:      "",
		`{"type":"object","properties":{"x":{"type":"array","items":{"$ref":"#"}}}}`:                     "",
		`{"type":"object","properties":{"x":{"$ref":"#/anyOf/0"}}}`:                                      "x refers to #/anyOf/0",
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/T/anyOf/0"}},"$defs":{"T":{"anyOf":[{}]}}}`: "",
		`{"type":"object","properties":{"x":{"$ref":"#anchor"}}}`:                                        "",
		`{"type":"object","properties":{"x":{"type":["string","null"],"enum":["a",null]}}}`:              "",
	} {
		if got := schemaTrouble(json.RawMessage(schema)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
	for schema, want := range map[string]string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:      "", // as of all servers of one SDK
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`: "",
		`{"type":"object","properties":{"r":true}}`:                                  "the schema of r is true",
		`{"type":"object","properties":{"s":{"$ref":"#/$defs/S"}}}`:                  "which is not there",
	} {
		if got := outputTrouble(json.RawMessage(schema)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("output %s: %q, want %q", schema, got, want)
		}
	}
}
