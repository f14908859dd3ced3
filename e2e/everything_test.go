//go:build e2e && linux

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinesThatUsersTry types the lines of the documentation, as they stand, where npx finds the server without the
// network.
func TestLinesThatUsersTry(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.cwd = directory
	u.run("add", "every", "--connect-timeout", "60s", "--", "npx", "-y", "@modelcontextprotocol/server-everything").
		exits(0).complains().shows("mcp-servers/everything", "by stdio", "13 tools: echo, ", "added every in "+u.home)
	u.run("list", "--check").exits(0).complains().shows("every\tready\tlegacy\t13\t")
	u.run("tools", "every").exits(0).complains().shows("echo\tEchoes back the input string\n")
	u.run("call", "every", "echo", "message=hi").exits(0).complains().prints("Echo: hi")
	u.run("call", "every", "get-sum", "a=2", "b=3", "-o", "json").exits(0).complains().json(
		`.version == 1 and .server == "every" and .tool == "get-sum"`,
		`.result.content == [{type: "text", text: "The sum of 2 and 3 is 5."}]`,
		`.session | .era == "legacy" and .handshakes == 1 and .recovered == false`,
	)
	u.run("doctor", "every", "--kill-session").exits(0).complains().
		shows("every   PASS   stdio", "✓ recovery.kill", "✓ recovery.fresh", "generation 2", "✓ recovery.request", "answered once")
}

// TestEverything walks from add to doctor over every transport.
func TestEverything(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server string
		// transport is what a session says that it is, configured what the entry says.
		transport, configured string
		flags                 []string
	}{
		{everythingStdio, "stdio", "stdio", nil},
		{everythingHTTP, "http", "auto", nil},
		{everythingSSE, "sse", "auto", nil},
		{everythingSSE, "sse", "sse", []string{"--transport", "sse"}},
	} {
		t.Run(strings.Join(append([]string{c.server}, c.flags...), " "), func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			line := slices.Concat([]string{"add", "every"}, c.flags, words(t, c.server))
			u.run(line...).exits(0).complains().
				shows("found mcp-servers/everything ", " by "+c.transport+", protocol 2025-11-25", "13 tools: echo, ")

			u.run("list", "--check", "-o", "json").exits(0).complains().json(
				`.version == 1 and (.servers | length) == 1`,
				`.servers[0] | .name == "every" and .transport == "`+c.configured+`" and .enabled`,
				`.servers[0] | .state == "ready" and .era == "legacy" and .tools == 13 and .latency_ms > 0`,
				`.servers[0] | has("error") | not`,
			)

			u.run("tools", "every").exits(0).complains().
				shows("echo\tEchoes back the input string\n", "get-sum\tReturns the sum of two numbers\n")
			u.run("tools", "every", "-o", "json").exits(0).complains().json(
				`.server == "every" and .problems == [] and (.tools | length) == 15`, // two of them ask, and are there for who can answer
				`.tools[] | select(.name == "get-sum") | .inputSchema.required == ["a", "b"]`,
			)
			u.run("tools", "every", "get-sum").exits(0).complains().
				shows("a\tnumber\trequired\tFirst number\n", "mcpctl call every get-sum a=1 b=1")

			u.run("call", "every", "get-sum", "a=2", "b=3").exits(0).complains().prints("The sum of 2 and 3 is 5.")
			u.run("call", "every", "get-structured-content", "location=Chicago", "-o", "json").exits(0).complains().json(
				`.result.structuredContent.temperature | type == "number"`,
				`.session.handshakes == 1 and .session.recovered == false and .elapsed_ms >= 0`,
			)

			// What doctor warns of is compared in TestHealthyServersAreHealthy.
			u.run("doctor", "every").exits(0).complains().shows("every   ", c.transport, "✓ tools", "✓ shutdown")
			u.run("doctor", "every", "-o", "json").exits(0).complains().json(
				`.version == 1 and (.summary | .servers == 1 and .failed == 0)`,
				`.servers[0] | (.verdict == "pass" or .verdict == "warn") and (has("cause") | not)`,
				`check("session.open") | .data.transport == "`+c.transport+`" and .data.server_name == "mcp-servers/everything"`,
				`check("tools.list") | .data.count == 13`,
			)
		})
	}
}

// TestEverythingAsks has the server ask for what it can: a form, a language model, roots. Its tools for that are there only
// for clients that offer an answer.
func TestEverythingAsks(t *testing.T) {
	t.Parallel()
	for _, server := range []string{everythingStdio, everythingHTTP, everythingSSE} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(slices.Concat([]string{"add", "every", "--no-check"}, words(t, server))...).exits(0)
			u.run("call", "every", "trigger-elicitation-request").exits(0).shows("User declined").complains("declined", "--elicit-set name=…")
			for _, tool := range []string{"trigger-sampling-request", "get-roots-list"} {
				u.run("call", "every", tool).exits(2).prints("").complains("every has no tool", "some servers offer more tools to a client with --sample-with or --root")
			}
			u.run("call", "every", "get-roots-list", "--root", u.home+"=Home").exits(0).shows("Home", "file://"+u.home)
		})
	}
}

// TestMistakesWithEverything shows the codes of what users get wrong with a server that is healthy.
func TestMistakesWithEverything(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), startRemote(t, modeHTTP)
	u.run("add", "every", r.url).exits(0)
	u.run("call", "every", "get-sun", "a=2", "b=3").exits(2).prints("").complains("get-sun", "get-sum")
	u.run("call", "every", "get-sum", "a=2").exits(2).prints("").complains("get-sum", "missing", "b  number (required)")
	u.run("call", "every", "get-sum", "a=two", "b=3", "-o", "json").exits(2).
		json(`.error | .class == "usage" and .exit_code == 2 and (.message | contains("get-sum"))`)
	// The server's own refusal, when the arguments are not checked here.
	u.run("call", "every", "get-sum", "a=two", "b=3", "--no-validate", "-o", "json").exits(5).json(`.result.isError`)

	wrong := "http://127.0.0.1:" + r.port + "/"
	u.run("add", "wrong", wrong).exits(3).prints("").complains("404", "nothing was saved")
	u.run("doctor", wrong, "-o", "json").exits(1).json(
		`.servers[0] | .verdict == "fail" and .cause.check == "http.endpoint" and .cause.class == "connect"`,
		`check("http.endpoint") | .data.http_status == 404`,
		`check("session.open") | .status == "skip"`,
	)
	r.kill()
	u.run("list", "--check", "-o", "json").exits(1).json(
		`.servers | length == 1`,
		`.servers[0] | .state == "failed" and .error.class == "connect" and .error.exit_code == 3 and .error.retryable`,
	)
	u.run("call", "every", "echo", "message=hi", "-o", "json").exits(3).
		json(`.error | .class == "connect" and .server == "every" and .outcome != "executed"`)
}

// TestServersSeeTheUsualEnvironment asks the server itself what it was given: what programs need, what the entry says,
// and nothing else of ours.
func TestServersSeeTheUsualEnvironment(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.env = []string{"MCPCTL_E2E_TOKEN=hidden", "LC_ALL=C.UTF-8"}
	u.run("add", "every", "--env", "MCPCTL_E2E=seen", "--cwd", u.home, "--", "node", script("everything")).exits(0)
	u.run("call", "every", "get-env", "--jq", `.result.content[0].text | fromjson`).exits(0).json(
		`.HOME == "`+u.home+`" and .MCPCTL_E2E == "seen" and (.PATH | length) > 0`,
		`.XDG_CONFIG_HOME == "`+filepath.Join(u.home, ".config")+`" and .LC_ALL == "C.UTF-8"`,
		`has("MCPCTL_E2E_TOKEN") | not`,
	)
}

// TestSeveralServersAtOnce checks and examines all reference servers at once, with one among them that does not work.
func TestSeveralServersAtOnce(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, c := range []struct{ name, server string }{
		{"stdio", everythingStdio}, {"http", everythingHTTP}, {"sse", everythingSSE}, {"files", filesystem}, {"memory", memory},
	} {
		u.run(slices.Concat([]string{"add", c.name, "--no-check"}, words(t, c.server))...).exits(0)
	}
	u.run("add", "gone", "--no-check", newRemote(t, modeHTTP).url).exits(0)
	u.run("list", "--check").exits(1).
		shows("stdio\tready\t", "http\tready\t", "sse\tready\t", "files\tready\t", "memory\tready\t", "gone\tfailed\t").
		complains("mcpctl doctor gone")
	u.run("doctor", "-o", "json").exits(1).json(
		`.summary | .servers == 6 and .passed + .warned == 5 and .failed == 1`,
		`[.servers[] | .name] == ["stdio", "http", "sse", "files", "memory", "gone"]`,
		`[.servers[] | select(.verdict == "fail") | .name] == ["gone"]`,
		`.servers[5].cause | .check == "net.tcp" and .class == "connect"`,
	)
	u.run("doctor", "stdio", "http", "sse", "files", "memory", "--kill-session", "-o", "json").exits(0).complains().json(
		`[.servers[].checks[] | select(.id == "recovery.fresh") | .data.handshakes] == [1, 1, 1, 1, 1]`,
	)
}
