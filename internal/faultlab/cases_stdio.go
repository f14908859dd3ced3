package faultlab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf16"
)

// stdioCases are the cases about child processes: streams, environment and exit.
func stdioCases() []Case {
	return []Case{
		{
			ID: "CASE-080", Name: "stdio-banner", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Banner lines on stdout",
			Source:  "microsoft/azure-devops-mcp#147; php-mcp/laravel#22",
			Symptom: "Parse error, connection closed.",
			Cause:   "Server logs to stdout.",
			Repro: `Before the first message: a blank line, a title line, "MCP server running on stdio, press Ctrl-C
			to stop", a line with braces. Then healthy.`,
			Right: `Skips non-JSON lines and works; doctor: WARN with the first polluting line quoted (shortened,
			sanitised).`,
			Exit: "ok.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				p.write("\n  ____ Faultlab Server v1.2.3 ____\nMCP server running on stdio, press Ctrl-C to stop\n" +
					"WARNING: config {debug} missing\n")
				return 0, false
			}},
			check: check{want: `init< .*"\\n".*Faultlab Server.*protocolVersion`},
		},
		{
			ID: "CASE-081", Name: "stdio-stderr-flood", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Megabytes on stderr",
			Source:  "mark3labs/mcp-go#956; kubestellar/console#7960",
			Symptom: "Server freezes for ever after some use.",
			Cause:   "stderr pipe not drained (about 64 KB).",
			Repro:   "1 MiB of lines on stderr before each reply.",
			Right:   "Drains all the time, keeps a bounded tail, does not print it all by default.",
			Exit:    "ok, fast.",
			stdio: stdioFault{encode: func(p *process, frame string) string {
				p.flood(strings.Repeat("x", 99) + "\n")
				return frame + "\n"
			}},
			check: check{want: `init< .*protocolVersion.*call< .*hi.*stderr [34]\d{6} bytes`, wait: 4 * time.Second},
		},
		{
			ID: "CASE-082", Name: "stdio-line-1m", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Reply line over 1 MB",
			Source:  "mark3labs/mcp-go#588; superfly/flyctl#4402",
			Symptom: `"bufio.Scanner: token too long".`,
			Cause:   "64 KB line limit.",
			Repro:   "tools/list reply is one line of about 1.1 MB (263 tools).",
			Right:   "Works.",
			Exit:    "ok; JSON output lists 263 tools.",
			server: serverFault{on: map[string]requestFunc{"tools/list": func(p *responder, r *request) bool {
				defs := p.toolDefs()
				for i := range 260 {
					defs = append(defs, describe(fmt.Sprintf("bulk_%03d", i), strings.Repeat("Lorem ipsum dolor sit amet. ", 150), noArguments))
				}
				r.result(toolList(defs, ""))
				return true
			}}},
			check: check{want: `list< \(1[01]\d{5}\)`, wait: 4 * time.Second},
		},
		{
			ID: "CASE-083", Name: "stdio-exit-1", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Server exits with a traceback",
			Source:  "samanhappy/mcphub#1015",
			Symptom: `"Connection closed" and nothing else.`,
			Cause:   "stderr and exit code are thrown away.",
			Repro: `Writes a Python traceback to stderr ending "ModuleNotFoundError: No module named 'fastmcpp'",
			exits 1.`,
			Right: "Shows exit code 1 and the last stderr lines, at once.",
			Exit:  "connect, under 2 s.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				p.complain("Traceback (most recent call last):\n  File \"server.py\", line 3, in <module>\n    import fastmcpp\n" +
					"ModuleNotFoundError: No module named 'fastmcpp'")
				return 1, true
			}},
			check: check{want: `init EOF.*exit status 1.*ModuleNotFoundError`},
		},
		{
			ID: "CASE-084", Name: "stdio-crash-mid-call", Area: "stdio", Over: Stdio, Level: 2,
			Title:   "Crash during a call",
			Source:  "microsoft/playwright-mcp#1475",
			Symptom: "Tools vanish, no error shown.",
			Cause:   "Death of the child is not tied to the pending call.",
			Repro:   "Tool crash: writes a Go panic to stderr, kills itself with SIGKILL. Other tools healthy.",
			Right: `Fails at once: "server died (signal: killed) during tools/call", stderr tail, outcome unknown,
			no repeat. doctor still works with other tools.`,
			Exit: "non-zero (connect or unknown-outcome); tool ran once.",
			server: serverFault{tools: []tool{{
				name: "crash",
				def:  describe("crash", "Count, then kill the server process.", noArguments),
				call: func(p *responder, _ *toolCall) {
					_, _ = io.WriteString(p.stderr, "panic: runtime error: invalid memory address or nil pointer dereference\n"+
						"goroutine 1 [running]: main.handleCrash(0x0)\n")
					p.log("crashing")
					killSelf()
				},
			}}},
			check: check{
				call: `{"name":"crash","arguments":{}}`,
				want: `list< .*call EOF.*exit signal: killed.*panic: runtime error`,
			},
		},
		{
			ID: "CASE-085", Name: "stdio-ignore-eof", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Server does not exit on stdin EOF",
			Source:  "codefuturist/email-mcp#61; modelcontextprotocol/python-sdk#2231",
			Symptom: "Hundreds of leftover processes.",
			Cause:   "Server ignores EOF; client does not escalate.",
			Repro:   "After EOF keeps running (60 s at most); SIGTERM works.",
			Right:   "Close stdin, wait 1-2 s, SIGTERM, then SIGKILL. Command returns quickly and leaves no process.",
			Exit:    "ok within about 5 s of the result.",
			stdio:   stdioFault{end: linger},
			check:   check{want: `call< .*STILL RUNNING after EOF.*exit after SIGTERM`},
		},
		{
			ID: "CASE-086", Name: "stdio-grandchild", Area: "stdio", Over: Stdio, Level: 2,
			Title:   "Real server is a grandchild",
			Source:  "agiletec-inc/airis-mcp-gateway#232; anthropics/claude-code#76306",
			Symptom: "npx or sh wrapper dies, the node server stays.",
			Cause:   "Only the direct child is signalled.",
			Repro: `Command starts the worker as its own child (same pipes), which ignores EOF; SIGTERM to the
			wrapper ends only the wrapper; the worker obeys SIGTERM.`,
			Right: `Child runs in its own process group (job object on Windows) and the group is signalled. No
			process left.`,
			Exit:  "ok; worker gone within about 5 s.",
			stdio: stdioFault{start: func(p *process) (int, bool) { return p.runWorker(), true }},
			check: check{want: `call< .*STILL RUNNING.*exit after SIGTERM.*group still has a process`},
		},
		{
			ID: "CASE-087", Name: "stdio-env-required", Area: "stdio", Over: Config | Stdio, Level: 2,
			Title:   "Setting env wipes PATH and HOME",
			Source:  "modelcontextprotocol/typescript-sdk#216; griptape-ai/griptape-nodes-engine#4791",
			Symptom: `"spawn npx ENOENT" as soon as one env entry is added.`,
			Cause:   "Configured env replaces the environment.",
			Repro:   "Server needs HOME, PATH and FAULTLAB_TOKEN=s3cret; else a message on stderr and exit 78.",
			Right: `Configured env is added to the inherited (or documented base) environment. Without the token:
			shows exit 78 and the stderr line.`,
			Exit: "ok with the token in the configuration; else connect.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				for _, name := range []string{"HOME", "PATH"} {
					if os.Getenv(name) == "" {
						p.complain("fatal: %s is not set in the environment", name)
						return exitConfig, true
					}
				}
				if os.Getenv("FAULTLAB_TOKEN") != staticToken {
					p.complain("fatal: FAULTLAB_TOKEN is missing or wrong")
					return exitConfig, true
				}
				return 0, false
			}},
			config: func(bin, _ string) string {
				return mcpServers(entry("e", command(bin, `, "env": {"FAULTLAB_TOKEN": "`+staticToken+`"}`, "stdio", "stdio-env-required")))
			},
			check: check{
				wantStdio: `init EOF.*exit status 78.*HOME is not set`, bareEnv: true,
				wantConfig: `"env": \{"FAULTLAB_TOKEN"`,
			},
		},
		{
			ID: "CASE-088", Name: "stdio-argv", Area: "stdio", Over: Config | Stdio, Level: 2,
			Title:   "Tilde and variables in args",
			Source:  "anthropics/claude-code#37580; Science-Discovery/Aether#1083",
			Symptom: "ENOENT for ~/path.",
			Cause:   "No shell, so ~ stays as it is; tools differ on which forms expand.",
			Repro:   `Args "~/data", "${HOME}/x", "$HOME/y", "a~b"; tool argv returns what the process got.`,
			Right: `Documented rule, the same for command, args, env, url, headers: ${VAR} expands; leading ~/
			expands or doctor warns that it will not; a~b untouched.`,
			Exit: "ok; argv output matches the documentation.",
			server: serverFault{tools: []tool{{
				name: "argv",
				def:  describe("argv", "Return this process's arguments and working directory.", noArguments),
				call: func(p *responder, c *toolCall) {
					dir, _ := os.Getwd() // "" tells as much as the error
					b, err := json.Marshal(map[string]any{"argv": p.args, "cwd": dir})
					if err != nil {
						c.fail(codeInternal, err.Error())
						return
					}
					c.text(string(b))
				},
			}}},
			config: func(bin, _ string) string {
				return mcpServers(entry("a", command(bin, "", "stdio", "stdio-argv", "~/data", "${HOME}/x", "$HOME/y", "a~b")))
			},
			check: check{
				call: `{"name":"argv","arguments":{}}`, args: []string{"~/data", "a~b"},
				wantStdio: `call< .*~/data.*a~b`, wantConfig: `"~/data", "\$\{HOME\}/x", "\$HOME/y", "a~b"`,
			},
		},
		{
			ID: "CASE-089", Name: "stdio-stderr-no-newline", Area: "stdio", Over: Stdio, Level: 3,
			Title:   "Megabytes on stderr without a newline",
			Source:  "simonx1/ruby-mcp-client#142",
			Symptom: "Memory grows, or the drain blocks.",
			Cause:   "stderr read line by line.",
			Repro:   `1 MiB with only \r as separator before each reply.`,
			Right:   "Reads chunks, bounded tail.",
			Exit:    "ok.",
			stdio: stdioFault{encode: func(p *process, frame string) string {
				p.flood(strings.Repeat("x", 99) + "\r")
				return frame + "\n"
			}},
			check: check{want: `init< .*call< .*hi.*stderr [34]\d{6} bytes`, wait: 4 * time.Second},
		},
		{
			ID: "CASE-090", Name: "stdio-ignore-term", Area: "stdio", Over: Stdio, Level: 3,
			Title:   "Server ignores EOF and SIGTERM",
			Source:  "anthropics/claude-code#76306; QuantGeekDev/mcp-framework#181",
			Symptom: "Command never returns, or leaves the process.",
			Cause:   "No SIGKILL step.",
			Repro:   "Ignores EOF (60 s at most), SIGTERM, SIGINT and SIGHUP.",
			Right:   "SIGKILL at the end of the escalation; result was printed before; a note in verbose mode.",
			Exit:    "ok within about 8 s; no process left.",
			stdio: stdioFault{
				end:    linger,
				signal: func(*process) (int, bool) { return 0, false },
			},
			check: check{want: `STILL RUNNING.*IGNORES SIGTERM`},
		},
		{
			ID: "CASE-091", Name: "stdio-slow-exit", Area: "stdio", Over: Stdio, Level: 3,
			Title:   "Server needs 1.5 s to save its state",
			Source:  "localstack/localstack-mcp-server#68",
			Symptom: "Lost data because the client kills at once.",
			Cause:   "No grace after closing stdin.",
			Repro:   "On EOF takes 1.5 s, logs clean_exit, exits 0; on SIGTERM logs killed_early, exits 1.",
			Right:   "Waits about 2 s after closing stdin before any signal.",
			Exit:    "ok; log has clean_exit.",
			stdio: stdioFault{
				end: func(p *process) int {
					p.responder.pause(1500 * time.Millisecond)
					p.log("clean_exit")
					return 0
				},
				signal: func(p *process) (int, bool) {
					p.log("killed_early")
					return 1, true
				},
			},
			check: check{want: `exit status 0.*clean_exit`},
		},
		{
			ID: "CASE-141", Name: "stdio-wants-variable", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "A variable that is set in the shell only",
			Source:  "open-webui/computer#201",
			Symptom: "The server works in a terminal, and not from the client.",
			Cause:   "Clients pass few variables on; the server's own words about it are thrown away.",
			Repro: `Without FAULTLAB_API_KEY: "Error: FAULTLAB_API_KEY environment variable is required" on stderr,
			exit 1. With it healthy.`,
			Right: `Names the variable, and says whether it is set here and was not passed, or not set at all; gives
			the line that passes it.`,
			Exit: "connect, at once; ok with the variable.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				if os.Getenv("FAULTLAB_API_KEY") == "" {
					p.complain("Error: FAULTLAB_API_KEY environment variable is required")
					return 1, true
				}
				return 0, false
			}},
			check: check{want: `init EOF.*exit status 1.*FAULTLAB_API_KEY environment variable is required`},
		},
		{
			ID: "CASE-142", Name: "stdio-http-server", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "The command starts an HTTP server",
			Source:  "GLips/Figma-Context-MCP#42",
			Symptom: "Handshake times out, though the server runs.",
			Cause:   "Without an option for stdio the server listens on a port and never reads its input.",
			Repro:   `Prints "MCP server listening on http://127.0.0.1:3939/mcp" to stderr, reads nothing, stays.`,
			Right:   "Quotes the URL and says to use it in place of the command, or to look for the option for stdio.",
			Exit:    "timeout.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				p.complain("MCP server listening on http://127.0.0.1:3939/mcp")
				return linger(p), true
			}},
			check: check{want: `init NOTHING.*STILL RUNNING.*exit after SIGTERM.*listening on http`},
		},
		{
			ID: "CASE-143", Name: "stdio-exit-0", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Ends at once with status 0 and no word",
			Source:  "ihor-sokoliuk/mcp-searxng#21; homeassistant-ai/ha-mcp#472",
			Symptom: `"Connection closed", and nothing to go by.`,
			Cause:   "No standard input (a container without -i), or a command that wants a subcommand.",
			Repro:   "Exits 0 without reading or writing anything.",
			Right:   "Says that it ended with status 0 and without a word, and what that usually means.",
			Exit:    "connect, at once.",
			stdio:   stdioFault{start: func(*process) (int, bool) { return 0, true }},
			check:   check{want: `init EOF.*exit status 0.*stderr 0 bytes`},
		},
		{
			ID: "CASE-144", Name: "stdio-usage", Area: "stdio", Over: Stdio, Level: 1,
			Title:   "Prints its usage and ends",
			Source:  "mcp-use/mcp-use#631; alfonsograziano/node-code-sandbox-mcp#56",
			Symptom: "Connection closed.",
			Cause:   "An argument that the server does not know.",
			Repro: `On stderr "usage: notes-server [-h] [--dir DIR]" and "notes-server: error: unrecognized
			arguments: --stdio"; exit 2.`,
			Right: "Names the argument, shows the lines.",
			Exit:  "connect, at once.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				p.complain("usage: notes-server [-h] [--dir DIR]\nnotes-server: error: unrecognized arguments: --stdio")
				return 2, true
			}},
			check: check{want: `init EOF.*exit status 2.*unrecognized arguments`},
		},
		{
			ID: "CASE-145", Name: "stdio-buffered", Area: "stdio", Over: Stdio, Level: 2,
			Title:   "Answers only when its input ends",
			Source:  "DeusData/codebase-memory-mcp#513; punkpeye/mcp-proxy#65",
			Symptom: "Handshake hangs; the same server works with input from a file.",
			Cause:   "Standard output is a pipe, so the runtime buffers it, and nobody flushes.",
			Repro:   "Keeps all answers back until the end of stdin, then writes them and exits 0.",
			Right:   "Times out, and says that the answer came when the input had ended: flush after each message.",
			Exit:    "timeout.",
			stdio: stdioFault{
				encode: func(p *process, frame string) string {
					p.held += frame + "\n"
					return ""
				},
				end: func(p *process) int {
					p.responder.pause(flushTime)
					p.write(p.held)
					return 0
				},
			},
			check: check{want: `init NOTHING.*list NOTHING.*exit status 0`},
		},
		{
			ID: "CASE-146", Name: "stdio-utf16", Area: "stdio", Over: Stdio, Level: 3,
			Title:   "Messages in UTF-16",
			Source:  "microsoft/WSL#6787",
			Symptom: "Parse errors about a character before the first one, or silence.",
			Cause:   "A program or shell of Windows writes UTF-16.",
			Repro:   "Every reply is UTF-16LE, the first with a byte order mark.",
			Right:   "Says that the output is UTF-16 and has to be UTF-8.",
			Exit:    "timeout or protocol; message names UTF-16.",
			stdio: stdioFault{encode: func(p *process, frame string) string {
				if p.held == "" {
					p.held = "\ufeff"
					frame = p.held + frame
				}
				return utf16le(frame + "\n")
			}},
			check: check{want: `init< .*j\\x00s\\x00o\\x00n\\x00`, raw: true},
		},
		{
			ID: "CASE-147", Name: "stdio-port-taken", Area: "stdio", Over: Stdio, Level: 2,
			Title:   "A stdio server that also listens on a port",
			Source:  "agentfront/frontmcp#451",
			Symptom: "The second client that starts the same server sees a closed connection.",
			Cause:   "The port is taken by the first one.",
			Repro:   `Node's "Error: listen EADDRINUSE: address already in use 0.0.0.0:3000" and its stack on stderr; exit 1.`,
			Right:   "Says that the port is taken, and by what it is likely to be.",
			Exit:    "connect, at once.",
			stdio: stdioFault{start: func(p *process) (int, bool) {
				p.complain("node:events:502\n      throw er; // Unhandled 'error' event\n      ^\n\n" +
					"Error: listen EADDRINUSE: address already in use 0.0.0.0:3000\n" +
					"    at Server.setupListenHandle [as _listen2] (node:net:1908:16)\n  code: 'EADDRINUSE',\n  port: 3000\n}\n\nNode.js v20.20.2")
				return 1, true
			}},
			check: check{want: `init EOF.*exit status 1.*EADDRINUSE`},
		},
		{
			ID: "CASE-424", Name: "stdio-shared-line", Area: "stdio", Over: Stdio, Level: 2,
			Title:   "A message stands in a line with other text",
			Source:  "modelcontextprotocol/servers#3173",
			Symptom: "Parse errors at a position within the line, then a time-out.",
			Cause:   "Something writes to standard output without an end of line, and the message follows.",
			Repro:   `Before each response, in its line: "Processing request... ".`,
			Right:   "Takes the message, or names the line; doctor says that other clients do not find the message.",
			Exit:    "ok; or timeout with the line shown.",
			stdio:   stdioFault{encode: func(_ *process, frame string) string { return "Processing request... " + frame + "\n" }},
			check:   check{want: `Processing request`, collect: true},
		},
	}
}

// utf16le returns a text as Windows writes it.
func utf16le(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// exitConfig is the exit code of a server that was given a wrong configuration (EX_CONFIG of sysexits.h).
const exitConfig = 78

// flood writes 1 MiB of chunks to stderr, many times what a pipe holds.
func (p *process) flood(chunk string) {
	for n := 0; n < 1<<20; n += len(chunk) {
		_, _ = io.WriteString(p.o.Err, chunk)
	}
}

// worker is the server that the wrapper of stdio-grandchild starts. It is no case of its own.
func worker() Case {
	return Case{Name: "grandchild-worker", Over: Stdio, stdio: stdioFault{end: linger}}
}

// runWorker starts the worker on the streams of this process and waits for it.
func (p *process) runWorker() int {
	self, err := os.Executable()
	if err != nil {
		p.complain("fatal: %v", err)
		return 1
	}
	// The context never ends, because the fault is that the worker outlives the wrapper.
	cmd := exec.CommandContext(context.Background(), self, "stdio", worker().Name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.o.In, p.o.Out, p.o.Err
	if err := cmd.Start(); err != nil {
		p.complain("fatal: %v", err)
		return 1
	}
	p.log("grandchild", "worker", cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		p.log("grandchild_ended", "state", err.Error())
	}
	return 0
}
