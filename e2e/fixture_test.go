//go:build e2e && linux

package e2e

// The fixtures, in this order: the program and the servers' programs, a user who types command lines, what came of one,
// a tap on a server's standard input, a server that listens on a port, and the processes that run.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"github.com/mcpctl/mcpctl/pkg/config"
)

const (
	// commandTime bounds one command line: npx on a busy machine takes seconds to start, and a part of the tests starts it again
	// and again.
	commandTime = 2 * time.Minute
	// startTime bounds the start of a server.
	startTime = 30 * time.Second
	// endTime bounds the end of processes that are being ended.
	endTime = 5 * time.Second
	// pollStep is the step in which another process is looked at, where there is no event to wait for.
	pollStep = 20 * time.Millisecond
)

// mcpctl is the path of the program under test, directory that of this package, where node_modules is, mcpGo that of the
// server in servers/mcp-go, and homes that of a directory in which servers live that several tests use.
var mcpctl, directory, mcpGo, homes string

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// runAll builds the programs, once, and runs the tests.
func runAll(m *testing.M) (int, error) {
	var err error
	if directory, err = os.Getwd(); err != nil {
		return 0, err
	}
	for _, path := range []string{
		script("everything"), script("filesystem"), script("memory"), script("sequential-thinking"),
		module("@playwright/mcp/cli.js"), module("@modelcontextprotocol/server/dist/index.mjs"), suite(), node22(),
	} {
		if _, err := os.Stat(path); err != nil {
			return 0, fmt.Errorf("the servers are not installed, see make e2e: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "mcpctl-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mcpctl, mcpGo, homes = filepath.Join(dir, "mcpctl"), filepath.Join(dir, "mcp-go"), dir
	for _, args := range [][]string{
		// Without the tables for debuggers, which take long to write.
		{"build", "-ldflags", "-s -w", "-o", mcpctl, "../cmd/mcpctl"},
		{"build", "-C", "servers/mcp-go", "-ldflags", "-s -w", "-o", mcpGo, "."},
	} {
		build := exec.Command("go", args...)
		if out, err := build.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	}
	if err := nodeFirst(dir); err != nil {
		return 0, err
	}
	defer servers.kill()
	return m.Run(), nil
}

// nodeFirst has "node" be the one from npm, for all that is started: starting servers is most of what these tests do, and
// this one keeps what it has compiled for those that start after it.
func nodeFirst(dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	// A script, because mcpctl hands no variable to servers that an entry does not name.
	script := fmt.Sprintf("#!/bin/sh\nNODE_COMPILE_CACHE='%s' exec '%s' \"$@\"\n", filepath.Join(dir, "compiled"), node22())
	if err := os.WriteFile(filepath.Join(bin, "node"), []byte(script), 0o700); err != nil {
		return err
	}
	return os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// module returns the path of a file that npm has installed.
func module(path string) string {
	return filepath.Join(directory, "node_modules", filepath.FromSlash(path))
}

// script returns the path of a reference server's program.
func script(server string) string {
	return module("@modelcontextprotocol/server-" + server + "/dist/index.js")
}

// suite returns the path of the official conformance suite's program.
func suite() string { return module("@modelcontextprotocol/conformance/dist/index.js") }

// eventually polls until done returns true, and fails the test when that takes longer than bound. what completes the
// sentence "after 5s: …".
func eventually(t *testing.T, bound time.Duration, what func() string, done func() bool) {
	t.Helper()
	limit := time.NewTimer(bound)
	defer limit.Stop()
	tick := time.NewTicker(pollStep)
	defer tick.Stop()
	for !done() {
		select {
		case <-limit.C:
			if !done() {
				t.Fatalf("after %s: %s", bound, what())
			}
			return
		case <-tick.C:
		}
	}
}

// user is somebody with an empty home directory, who types command lines. All processes that come of it carry the
// directory in their environment as HOME, which children of mcpctl always get: by that they are found.
type user struct {
	t    *testing.T
	home string
	// cwd is the working directory.
	cwd string
	// env is added to the environment, "NAME=value" each.
	env []string
	// stdin is what the next command line reads, which is nothing unless it is set.
	stdin string
}

// newUser returns a user. At the end of the test nothing may run that the user has started.
func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t: t, home: t.TempDir(), cwd: t.TempDir()}
	// npm must do with what is installed.
	u.write(filepath.Join(u.home, ".npmrc"), "offline=true\nupdate-notifier=false\n")
	t.Cleanup(func() { nothingRuns(t, u.home) })
	return u
}

// environ is the environment of the user: nothing of the tests' own but the PATH.
func (u *user) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + u.home,
		"XDG_CONFIG_HOME=" + filepath.Join(u.home, ".config"),
		"XDG_CACHE_HOME=" + filepath.Join(u.home, ".cache"),
		"XDG_STATE_HOME=" + filepath.Join(u.home, ".local", "state"),
	}, u.env...)
}

// write writes a file.
func (u *user) write(path, text string) {
	u.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// read reads a file.
func (u *user) read(path string) string {
	u.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		u.t.Fatal(err)
	}
	return string(raw)
}

// run types a command line after "mcpctl" and waits for its end, after which nothing may run that it has started.
func (u *user) run(args ...string) *outcome {
	u.t.Helper()
	return u.start(args...).wait()
}

// running is a command line under way.
type running struct {
	u              *user
	cmd            *exec.Cmd
	begin          time.Time
	stdout, stderr writing
	cancel         context.CancelFunc
}

// writing is what is written by a process that may be under way, and can be read already.
type writing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (w *writing) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// String returns what was written so far.
func (w *writing) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// start types a command line after "mcpctl".
func (u *user) start(args ...string) *running {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), commandTime)
	r := &running{u: u, cmd: exec.CommandContext(ctx, mcpctl, args...), begin: time.Now(), cancel: cancel}
	r.cmd.Env, r.cmd.Dir = u.environ(), u.cwd
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if u.stdin != "" {
		r.cmd.Stdin = strings.NewReader(u.stdin)
		u.stdin = ""
	}
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGTERM) }
	r.cmd.WaitDelay = endTime
	if err := r.cmd.Start(); err != nil {
		cancel()
		u.t.Fatal(err)
	}
	u.t.Cleanup(cancel)
	return r
}

// wait waits for the end, after which nothing may run that the command line has started.
func (r *running) wait() *outcome {
	r.u.t.Helper()
	o := r.ends()
	nothingRuns(r.u.t, r.u.home)
	return o
}

// ends waits for the end, for a user who has other command lines under way.
func (r *running) ends() *outcome {
	r.u.t.Helper()
	err := r.cmd.Wait()
	o := &outcome{
		t: r.u.t, line: strings.Join(append([]string{"mcpctl"}, r.cmd.Args[1:]...), " "), elapsed: time.Since(r.begin),
		code: r.cmd.ProcessState.ExitCode(), stdout: r.stdout.String(), stderr: r.stderr.String(),
	}
	r.cancel()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.fatalf("it did not end: %v", err)
	}
	return o
}

// said is what a command line that is under way has written to its standard error.
func (r *running) said() string { return r.stderr.String() }

// interrupt is Ctrl-C, and returns what came of it, with the time that it took.
func (r *running) interrupt() (*outcome, time.Duration) {
	r.u.t.Helper()
	begin := time.Now()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.u.t.Fatal(err)
	}
	o := r.wait()
	return o, time.Since(begin)
}

// outcome is what came of a command line.
type outcome struct {
	t              *testing.T
	line           string
	elapsed        time.Duration
	code           int
	stdout, stderr string
}

func (o *outcome) fatalf(format string, args ...any) {
	o.t.Helper()
	o.t.Fatalf("%s\n$ %s\nexit code %d after %s\n--- stdout\n%s\n--- stderr\n%s",
		fmt.Sprintf(format, args...), o.line, o.code, o.elapsed.Round(time.Millisecond), o.stdout, o.stderr)
}

// exits wants an exit code.
func (o *outcome) exits(code int) *outcome {
	o.t.Helper()
	if o.code != code {
		o.fatalf("the exit code is %d, want %d", o.code, code)
	}
	return o
}

// prints wants exactly this text on standard output.
func (o *outcome) prints(text string) *outcome {
	o.t.Helper()
	if o.stdout != text {
		o.fatalf("standard output is not %q", text)
	}
	return o
}

// shows wants these texts on standard output, among others.
func (o *outcome) shows(texts ...string) *outcome {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stdout, text) {
			o.fatalf("no %q on standard output", text)
		}
	}
	return o
}

// soFar is the note of what takes long, as it does on a busy machine.
var soFar = regexp.MustCompile(`(?m)^mcpctl: note: .* so far\n`)

// complains wants these texts on standard error, among others; without any, it wants standard error to be empty.
func (o *outcome) complains(texts ...string) *outcome {
	o.t.Helper()
	if len(texts) == 0 && soFar.ReplaceAllString(o.stderr, "") != "" {
		o.fatalf("standard error is not empty")
	}
	for _, text := range texts {
		if !strings.Contains(o.stderr, text) {
			o.fatalf("no %q on standard error", text)
		}
	}
	return o
}

// prelude are the functions of the expressions of [outcome.json]: the check of a doctor's first server.
const prelude = `def check($id): .servers[0].checks[] | select(.id == $id); `

// json wants standard output to be one JSON document for which all jq expressions are true.
func (o *outcome) json(expressions ...string) *outcome {
	o.t.Helper()
	doc := o.document()
	for _, e := range expressions {
		got := o.evaluate(doc, e)
		if is, ok := got.(bool); !ok || !is {
			o.fatalf("%s is %v", e, got)
		}
	}
	return o
}

// number returns the number that a jq expression selects from the JSON document on standard output.
func (o *outcome) number(expression string) float64 {
	o.t.Helper()
	switch n := o.evaluate(o.document(), expression).(type) {
	case float64:
		return n
	case int:
		return float64(n)
	default:
		o.fatalf("%s is %v, not a number", expression, n)
		return 0
	}
}

func (o *outcome) document() any {
	o.t.Helper()
	dec := json.NewDecoder(strings.NewReader(o.stdout))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		o.fatalf("standard output is not JSON: %v", err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		o.fatalf("standard output has more than one document")
	}
	return doc
}

func (o *outcome) evaluate(doc any, expression string) any {
	o.t.Helper()
	query, err := gojq.Parse(prelude + expression)
	if err != nil {
		o.t.Fatalf("%s: %v", expression, err)
	}
	value, _ := query.Run(doc).Next()
	return value
}

// tap is a file that takes down what a server reads from its standard input.
type tap struct {
	t    *testing.T
	path string
}

func newTap(t *testing.T) *tap {
	t.Helper()
	return &tap{t: t, path: filepath.Join(t.TempDir(), "stdin.jsonl")}
}

// on returns a command that starts a server with the tap on its standard input.
func (p *tap) on(command ...string) []string {
	return append([]string{"sh", "-c", `tee -a "$0" | "$@"`, p.path}, command...)
}

// count returns how many messages with a method have been read. All servers with the same tap count together.
func (p *tap) count(method string) int {
	p.t.Helper()
	raw, err := os.ReadFile(p.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(raw) {
		var msg struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(line, &msg) == nil && msg.Method == method {
			n++
		}
	}
	return n
}

// await waits until n messages with a method have been read.
func (p *tap) await(method string, n int) {
	p.t.Helper()
	eventually(p.t, startTime, func() string {
		raw, _ := os.ReadFile(p.path)
		return fmt.Sprintf("%d of %d %s came to the server; it has read\n%s", p.count(method), n, method, raw)
	}, func() bool { return p.count(method) >= n })
}

// wants compares the numbers of messages with what they should be.
func (p *tap) wants(method string, n int) {
	p.t.Helper()
	if got := p.count(method); got != n {
		raw, _ := os.ReadFile(p.path)
		p.t.Errorf("%d %s came to the server, want %d; it has read\n%s", got, method, n, raw)
	}
}

// The ways to reach the servers. A server "without sessions" serves both eras at its URL.
const (
	everythingStdio    = "everything over stdio"
	everythingHTTP     = "everything over HTTP"
	everythingSSE      = "everything over SSE"
	filesystem         = "filesystem"
	memory             = "memory"
	sequentialThinking = "sequential-thinking"
	playwright         = "playwright"
	mcpGoStdio         = "mcp-go over stdio"
	mcpGoHTTP          = "mcp-go over HTTP"
	typescriptStdio    = "TypeScript SDK 2 over stdio"
	typescriptHTTP     = "TypeScript SDK 2 over HTTP, without sessions"
	typescriptSessions = "TypeScript SDK 2 over HTTP, with sessions"
	demoStdio          = "demo over stdio"
	demoHTTP           = "demo over HTTP, with sessions"
	demoStateless      = "demo over HTTP, without sessions"
)

// words returns what a user types after "add NAME" for a server. One that is reached by URL runs for all tests that want it:
// each has sessions of its own there. Tests that count what comes to a server, or kill it, start their own.
func words(t *testing.T, server string) []string {
	t.Helper()
	typescript := filepath.Join(directory, "servers", "ts-v2.mjs")
	switch server {
	case everythingStdio:
		return []string{"--", "node", script("everything")}
	case everythingHTTP:
		return []string{servers.get(t, server, modeHTTP).url}
	case everythingSSE:
		return []string{servers.get(t, server, modeSSE).url}
	case filesystem:
		return []string{"--", "node", script("filesystem"), t.TempDir()}
	case memory:
		return []string{"--env", "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl"), "--", "node", script("memory")}
	case sequentialThinking:
		return []string{"--", "node", script("sequential-thinking")}
	case playwright: // which starts its browser for the first call of a tool, and none is called here
		return []string{"--", "node", module("@playwright/mcp/cli.js"), "--headless", "--isolated"}
	case mcpGoStdio:
		return []string{"--", mcpGo}
	case mcpGoHTTP:
		return []string{servers.get(t, server, modeHTTP, mcpGo, "http").url}
	case typescriptStdio:
		return []string{"--", "node", typescript, "stdio"}
	case typescriptHTTP:
		return []string{servers.get(t, server, modeHTTP, "node", typescript, "http").url}
	case typescriptSessions:
		return []string{servers.get(t, server, modeHTTP, "node", typescript, "sessions").url}
	case demoStdio:
		return []string{"--", mcpctl, "demo-server"}
	case demoHTTP:
		return []string{servers.get(t, server, modeHTTP, mcpctl, "demo-server", "--http", "127.0.0.1:"+portWord).url}
	case demoStateless:
		return []string{servers.get(t, server, modeHTTP, mcpctl, "demo-server", "--stateless", "--http", "127.0.0.1:"+portWord).url}
	}
	t.Fatalf("no server %q", server)
	return nil
}

// remote is a server that listens on a port of this machine: "everything", unless it was given another program.
type remote struct {
	t *testing.T
	// mode is the word by which the server "everything" knows the transport.
	mode string
	// command starts the server, with these variables beside PATH, HOME and PORT.
	command []string
	env     []string
	port    string
	url     string
	home    string
	cmd     *exec.Cmd
	// output is a file, and no pipe: nothing of it runs in this process.
	output string
}

// The modes of a remote server.
const (
	modeHTTP = "streamableHttp"
	modeSSE  = "sse"
)

// portWord stands for the port in the command of a remote server, which also finds it in the variable PORT.
const portWord = "{PORT}"

// common are the servers that several tests use. Each is started for the first of them, and killed at the end of all.
type common struct {
	mu  sync.Mutex
	all map[string]*shared
}

// shared is one of them, nil if it could not be started.
type shared struct {
	once sync.Once
	*remote
}

var servers common

// get returns the server of a name, which listens: "everything", unless there is another command.
func (c *common) get(t *testing.T, name, mode string, command ...string) *remote {
	t.Helper()
	return c.start(t, name, mode, func(r *remote) {
		if len(command) > 0 {
			r.command = command
			for i, word := range command {
				command[i] = strings.ReplaceAll(word, portWord, r.port)
			}
		}
	})
}

// start returns the server of a name, which is set up if it is not there yet.
func (c *common) start(t *testing.T, name, mode string, set func(*remote)) *remote {
	t.Helper()
	c.mu.Lock()
	if c.all == nil {
		c.all = map[string]*shared{}
	}
	s := c.all[name]
	if s == nil {
		s = &shared{}
		c.all[name] = s
	}
	c.mu.Unlock()
	s.once.Do(func() {
		home, err := os.MkdirTemp(homes, "server-") //nolint:usetesting // it outlives the test that comes first
		if err != nil {
			t.Fatal(err)
		}
		r := remoteIn(t, mode, home)
		set(r)
		r.start()
		s.remote = r
	})
	if s.remote == nil {
		t.Fatalf("%s could not be started, as another test tells", name)
	}
	return s.remote
}

// kill ends them all.
func (c *common) kill() {
	for _, s := range c.all {
		if s.remote != nil {
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			_ = s.cmd.Wait() // that it was killed is no news
		}
	}
}

// startRemote starts the server "everything" and returns when it listens. It is killed at the end of the test.
func startRemote(t *testing.T, mode string) *remote {
	t.Helper()
	r := newRemote(t, mode)
	r.start()
	return r
}

// newRemote returns a server "everything" that has a port and does not run yet.
func newRemote(t *testing.T, mode string) *remote {
	t.Helper()
	r := remoteIn(t, mode, t.TempDir())
	t.Cleanup(func() {
		r.kill()
		nothingRuns(t, r.home)
	})
	return r
}

// remoteIn is newRemote in a home directory, with nobody who ends it.
func remoteIn(t *testing.T, mode, home string) *remote {
	t.Helper()
	r := &remote{t: t, mode: mode, home: home, command: []string{"node", script("everything"), mode}}
	r.output = filepath.Join(r.home, "output.txt")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, r.port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	path := "/mcp"
	if mode == modeSSE {
		path = "/sse"
	}
	r.url = "http://127.0.0.1:" + r.port + path
	return r
}

// start starts the server and returns when it listens.
func (r *remote) start() {
	r.t.Helper()
	if err := r.launch(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, startTime, func() string { return fmt.Sprintf("nothing listens on port %s: %s", r.port, r.log()) }, func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", r.port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// launch starts the server and does not wait for it.
func (r *remote) launch() error {
	output, err := os.OpenFile(r.output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	r.cmd = exec.Command(r.command[0], r.command[1:]...)
	r.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "PORT=" + r.port}, r.env...)
	r.cmd.Stdout, r.cmd.Stderr = output, output
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return r.cmd.Start()
}

// kill ends the server as a crash does: SIGKILL to its process group.
func (r *remote) kill() {
	r.t.Helper()
	if r.cmd == nil || r.cmd.ProcessState != nil {
		return
	}
	send(r.t, -r.cmd.Process.Pid, syscall.SIGKILL)
	_ = r.cmd.Wait() // that it was killed is no news
}

// log returns what the server has written, in all its lives.
func (r *remote) log() string {
	raw, err := os.ReadFile(r.output)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// opened and ended count the sessions by what the server has written, all its lives together.
func (r *remote) opened() int {
	if r.mode == modeSSE {
		return strings.Count(r.log(), "Client Connected:")
	}
	return strings.Count(r.log(), "Session initialized with ID:")
}

func (r *remote) ended() int {
	if r.mode == modeSSE {
		return strings.Count(r.log(), "Client Disconnected:")
	}
	return strings.Count(r.log(), "Transport closed for session")
}

// posts counts the messages that have come to the server.
func (r *remote) posts() int {
	if r.mode == modeSSE {
		return strings.Count(r.log(), "Client Message from")
	}
	return strings.Count(r.log(), "Received MCP POST request")
}

// wantsSessions wants that so many sessions have been opened, and that none of them is left at the server.
func (r *remote) wantsSessions(opened int) {
	r.t.Helper()
	if got := r.opened(); got != opened {
		r.t.Errorf("%d sessions were opened, want %d; the server says\n%s", got, opened, r.log())
	}
	eventually(r.t, endTime, func() string {
		return fmt.Sprintf("%d sessions were opened and %d ended; the server says\n%s", r.opened(), r.ended(), r.log())
	}, func() bool { return r.ended() == r.opened() })
}

// entry is the server as an entry of the configuration. A replacement is waited for as long as the server may take to start.
func (r *remote) entry() config.Server {
	return config.Server{Name: "every", URL: r.url, Transport: config.TransportAuto, Enabled: true, SessionWait: startTime}
}

// process is one that runs.
type process struct {
	pid     int
	command string
}

// processes returns those that run with a home directory: the mark of a test. Zombies do not run.
func processes(t *testing.T, home string) []process {
	t.Helper()
	mark := []byte("\x00HOME=" + home + "\x00")
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), mark) {
			continue // it has ended, is somebody else's, or does not carry the mark
		}
		dir := filepath.Dir(path)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		words, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, process{pid, string(bytes.ReplaceAll(bytes.TrimRight(words, "\x00"), []byte{0}, []byte{' '}))})
	}
	return found
}

// nothingRuns wants that no process is left of those that run with a home directory, and ends those that are.
func nothingRuns(t *testing.T, home string) {
	t.Helper()
	var left []process
	limit := time.Now().Add(endTime)
	tick := time.NewTicker(pollStep)
	defer tick.Stop()
	for left = processes(t, home); len(left) > 0 && time.Now().Before(limit); left = processes(t, home) {
		<-tick.C
	}
	if len(left) == 0 {
		return
	}
	var b strings.Builder
	for _, p := range left {
		fmt.Fprintf(&b, "\n%7d %s", p.pid, p.command)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	t.Errorf("after %s there still runs:%s", endTime, b.String())
}

// runningWith returns the process with a home directory whose command line begins with these words.
func runningWith(t *testing.T, home string, words ...string) process {
	t.Helper()
	beginning := strings.Join(words, " ")
	all := processes(t, home)
	for _, p := range all {
		if strings.HasPrefix(p.command, beginning) {
			return p
		}
	}
	t.Fatalf("no process %q runs, but %v", beginning, all)
	return process{}
}

// groupOf returns the process group of a process.
func groupOf(t *testing.T, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

// send sends a signal to a process, or to a group if pid is negative.
func send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatalf("%s to %d: %v", signal, pid, err)
	}
}
