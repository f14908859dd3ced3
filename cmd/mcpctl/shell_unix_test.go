//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
)

// typing is a shell on a terminal.
type typing struct {
	*terminal
	home string
	// seen is how much of the terminal has been looked at.
	seen int
}

func shellOn(t *testing.T, columns uint16, home string, args ...string) *typing {
	t.Helper()
	env := []string{"XDG_STATE_HOME=" + home + "/state", "XDG_CACHE_HOME=" + home + "/cache"}
	return &typing{terminal: onTerminalWith(t, columns, home, env, append([]string{"shell"}, args...)...), home: home}
}

// then types, and waits for a text that comes after it.
func (s *typing) then(keys, text string) {
	s.t.Helper()
	if keys != "" {
		s.seen = len(s.out.String())
		s.answer(keys)
	}
	limit := time.After(pingTime)
	tick := time.NewTicker(20 * time.Millisecond) // polls another process
	defer tick.Stop()
	for !strings.Contains(withoutSequences(s.out.String()[s.seen:]), text) {
		select {
		case <-limit:
			s.t.Fatalf("no %q on the terminal after %q, but\n%q", text, keys, withoutSequences(s.out.String()[s.seen:]))
		case <-tick.C:
		}
	}
}

// line types a line, and waits for a text and then for the next prompt: keys that come before it are the kernel's.
func (s *typing) line(keys, text string) {
	s.t.Helper()
	s.then(keys+"\r", text)
	limit := time.After(pingTime)
	tick := time.NewTicker(20 * time.Millisecond) // polls another process
	defer tick.Stop()
	for !strings.HasSuffix(strings.TrimRight(withoutSequences(s.out.String()[s.seen:]), "\r"), "> ") {
		select {
		case <-limit:
			s.t.Fatalf("no prompt after %q, but\n%q", keys, withoutSequences(s.out.String()[s.seen:]))
		case <-tick.C:
		}
	}
}

func (s *typing) historyFile() string {
	raw, err := os.ReadFile(filepath.Join(s.home, "state", "mcpctl", "history"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

const ctrlD, ctrlR, tab = "\x04", "\x12", "\t"

// TestAPersonInAShell completes, calls, stops a call, and leaves.
func TestAPersonInAShell(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 80} {
		s := shellOn(t, columns, t.TempDir(), "demo")
		s.then("", "demo> ")
		s.then("ca"+tab, "call ")
		s.then("wea"+tab, "weather ")
		s.then(tab, "city=")
		s.line("Paris", "\n")
		s.then("call "+tab, "add ") // shows all
		s.then("\x1b", "demo> ")
		s.then(ctrlC, "^C")
		s.then("call slow seconds=60\r", "waited 0.0 of 6")
		s.then(ctrlC, "interrupted")
		s.line("", "demo> ")
		s.then("call echo message={\"a\":\r", "… ")
		s.line("[1,\r2]}", "2]}\r\n")
		s.line("_ --jq .tool", "echo\r\n")
		s.line("call add a=1 b=2\x1b[D\x1b[D\x1b[D\x1b[D\x7f4", "6\r\n") // corrects the first number
		s.then("\x1b[A", "a=4")                                          // the line before
		if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 10, Cols: 24}); err != nil {
			t.Fatal(err)
		}
		s.line("", "6\r\n")
		s.line("\x1b[200~call add a=1 b=1\ncall add a=2 b=2\x1b[201~", "4\r\n") // a key before the prompt may be lost
		s.then(ctrlD, "")
		code, out := s.end()
		if code != codeOK {
			t.Errorf("exit code %d", code)
		}
		if strings.LastIndex(out, "?2004l") < strings.LastIndex(out, "?2004h") || strings.LastIndex(out, show) < strings.LastIndex(out, hide) {
			t.Errorf("a mode of the terminal is left:\n%q", out)
		}
	}
}

// TestHistoryOfAShell is there in the next run, and has no secrets.
func TestHistoryOfAShell(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := shellOn(t, 80, home, "demo")
	s.then("", "demo> ")
	for _, line := range []string{
		"call echo message=kept", " call echo message=spaced", "call echo message=x api_token=hunter2222",
		"call echo {\"message\":\"x\",\"password\":\"hunter2222\"}", "call echo message=ghp_0123456789abcdefghijABCDEFGHIJ456789",
	} {
		s.line(line, "\r\n")
	}
	s.line("call echo message=last", "last\r\n")
	s.then(ctrlD, "")
	s.end()
	want := "call echo message=kept\ncall echo message=last\n"
	if got := s.historyFile(); got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}
	info, err := os.Stat(filepath.Join(home, "state", "mcpctl", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	again := shellOn(t, 80, home, "demo")
	again.then("", "demo> ")
	again.then(ctrlR+"kep", "message=kept")
	again.line("", "kept\r\n")
	again.then("\x1b[A\x1b[A", "message=last")
	again.then(ctrlC, "^C")
	again.then("exit\r", "")
	if code, out := again.end(); code != codeOK {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestASecondCtrlCEndsEverything when the line that the first one ends has not given up.
func TestASecondCtrlCEndsEverything(t *testing.T) {
	t.Parallel()
	var now lineAtWork
	var taken interrupts
	if mine, all := taken.take(); mine || all {
		t.Error("an interrupt was taken by nobody")
	}
	taken.give(now.interrupt)
	if mine, all := taken.take(); !mine || all {
		t.Error("an interrupt before a line was not taken")
	}
	line, cancel := context.WithCancel(t.Context())
	defer cancel()
	now.set(line, cancel)
	if mine, all := taken.take(); !mine || all || line.Err() == nil {
		t.Errorf("the first: %v, %v, %v", mine, all, line.Err())
	}
	if mine, all := taken.take(); mine || !all {
		t.Errorf("the second: %v, %v", mine, all)
	}
	now.set(t.Context(), nil)
	if mine, all := taken.take(); !mine || all {
		t.Error("one between two lines was not taken")
	}
}

// TestAShellTellsOfALostSession when its child is killed, and keeps what is being typed.
func TestAShellTellsOfALostSession(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	s := shellOn(t, 100, t.TempDir(), "--", "sh", "-c", `echo $$$$ > "$0"; exec mcpctl demo-server`, pidFile)
	s.then("", "> ")
	s.line("call echo message=first", "first\r\n") // the session is there
	s.then("call echo message=ab", "message=ab")
	kill(t, pidFile)
	s.then("", "the session was lost (")
	s.line("c", "abc\r\n")
	s.line("servers", "ready")
	s.then(ctrlD, "")
	if code, out := s.end(); code != codeOK || !regexp.MustCompile(`note: sh .*: the session was lost \(.*killed.*\) and replaced in [\d.]+ m?s`).MatchString(withoutSequences(out)) {
		t.Errorf("exit code %d: %s", code, withoutSequences(out))
	}
}

func kill(t *testing.T, pidFile string) {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// changing is a server whose tools change, which completes, and whose sessions can be taken away.
func changing(t *testing.T) (url string, server *mcp.Server) {
	t.Helper()
	server = mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			values := []string{}
			for _, v := range []string{"red", "red wine", "green"} {
				if strings.HasPrefix(v, r.Params.Argument.Value) {
					values = append(values, v)
				}
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
		},
	})
	addColour(server, "paint")
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "colour", Required: true}}},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, server
}

type colour struct {
	Loud bool `json:"loud"`
}

func addColour(server *mcp.Server, name string) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, colour) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "painted by " + name}}}, nil, nil
	})
}

// TestAShellNoticesThatToolsChanged while somebody types, and completes with the new ones.
func TestAShellNoticesThatToolsChanged(t *testing.T) {
	t.Parallel()
	url, server := changing(t)
	s := shellOn(t, 80, t.TempDir(), url)
	s.then("", "> ")
	s.then("call pai"+tab, "paint ")
	s.then("lo"+tab, "loud=")
	s.then("t"+tab, "loud=true ")
	s.seen = len(s.out.String())
	addColour(server, "sketch")
	server.RemoveTools("paint")
	s.then("", "its tools changed: ")
	s.then(ctrlC+"call sk"+tab, "sketch ")
	addColour(server, "sketch") // is said to be a change, and is none
	s.line("loud=true", "painted by sketch")
	s.line("ping -c 1", "1 received")
	if strings.Contains(s.out.String(), "same names") {
		t.Errorf("it tells of a change that is none: %q", s.out.String())
	}
	s.then(ctrlD, "")
	s.end()
}

// TestACompletionAsksTheServer for the values of a prompt's arguments and of a template's variables, and quotes them.
func TestACompletionAsksTheServer(t *testing.T) {
	t.Parallel()
	url, server := changing(t)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "wall", URITemplate: "wall://{colour}/top"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	server.AddResource(&mcp.Resource{Name: "floor", URI: "wall://floor"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	a, _ := newTestApp(t)
	sh := newShell(a, pflag.NewFlagSet("", pflag.ContinueOnError))
	defer sh.close(t.Context())
	if _, err := sh.use(t.Context(), urlServer(url)); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"prompt ":                   {"greet"},
		"prompt greet ":             {"colour="},
		"prompt greet colour=re":    {"colour=red", "colour='red wine'"},
		"prompt greet colour='red ": {"colour='red wine'"},
		"read wall://g":             {"wall://green/top"},
		"read wall://f":             {"wall://floor"},
		"call paint loud=":          {"loud=true", "loud=false"},
		"call PA":                   {"paint"},
		"call paint -o ":            {"text", "json"},
		"call --output=j":           {"--output=json"},
		"call --no-v":               {"--no-validate"},
		"close ":                    {url},
		"call x | ":                 nil,
	} {
		var got []string
		c := sh.candidates(t.Context(), line)
		for _, each := range c.Candidates {
			got = append(got, each.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestAShellIsReadAsItGoes by a driver that waits for each answer, while sessions are lost behind its back.
func TestAShellIsReadAsItGoes(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	d := drive(t, "-o", "json", "--", "sh", "-c", `echo $$$$ > "$0"; exec mcpctl demo-server`, pidFile)
	type answer struct {
		Line   int `json:"line"`
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
		Session struct {
			Recovered  bool `json:"recovered"`
			Handshakes int  `json:"handshakes"`
		} `json:"session"`
	}
	lives := 1
	for i := 1; i <= 30; i++ {
		recovered := i%10 == 5
		if recovered {
			kill(t, pidFile)
			lives++
		}
		var got answer
		if err := json.Unmarshal(d.ask(fmt.Sprintf("call add a=%d b=1", i)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Line != i || len(got.Result.Content) != 1 || got.Result.Content[0].Text != strconv.Itoa(i+1) ||
			got.Session.Recovered != recovered || got.Session.Handshakes != lives {
			t.Errorf("line %d: %+v", i, got)
		}
	}
	// A megabyte goes there and back.
	long := strings.Repeat("x", 1<<20)
	if got := d.ask("call echo message=" + long); !bytes.Contains(got, []byte(long)) {
		t.Errorf("%d bytes came back", len(got))
	}
	if err := d.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil || strings.Count(d.stderr.String(), "the session was lost (") != 3 {
		t.Errorf("%v: %s", err, &d.stderr)
	}
}

// driver drives a shell through pipes.
type driver struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func drive(t *testing.T, args ...string) *driver {
	t.Helper()
	home := t.TempDir()
	d := &driver{t: t, cmd: exec.CommandContext(t.Context(), "mcpctl", append([]string{"shell"}, args...)...)}
	d.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home)
	d.cmd.Stderr = &d.stderr
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReader(out)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
	})
	return d
}

// ask writes a line and returns the one that answers it.
func (d *driver) ask(line string) []byte {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
	got, err := d.out.ReadBytes('\n')
	if err != nil {
		d.t.Fatalf("%v: %s", err, &d.stderr)
	}
	return got
}

// TestCtrlCEndsAScript while a call runs, and while it waits for a line.
func TestCtrlCEndsAScript(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"call slow seconds=60", "# nothing"} {
		d := drive(t, "demo")
		d.ask("call echo message=a")
		if _, err := io.WriteString(d.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = d.cmd.Wait() // the code tells
		if code := d.cmd.ProcessState.ExitCode(); code != codeInterrupted {
			t.Errorf("%s: exit code %d: %s", line, code, &d.stderr)
		}
	}
}

// TestAShellDoesNotGrow over many lines.
func TestAShellDoesNotGrow(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceAllowance > 0 {
		t.Skip("takes a while")
	}
	d := drive(t, "demo", "-o", "json", "--keep-going")
	resident := func() int {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.cmd.Process.Pid))
		if err != nil {
			t.Skip("no /proc here")
		}
		pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
		if err != nil {
			t.Fatal(err)
		}
		return pages * os.Getpagesize() >> 20
	}
	lines := func(n int) {
		for i := range n {
			d.ask([]string{"call echo message=a", "call nothing", "_", "call add a=1", "wrong 'x'"}[i%5])
		}
	}
	lines(500)
	before := resident()
	lines(4000)
	if after := resident(); after > before+40 {
		t.Errorf("%d MiB became %d MiB", before, after)
	}
}

// TestLinesLeaveNothingBehind makes the commands of many lines: what a library remembers of them would be there for as long as
// the program is.
func TestLinesLeaveNothingBehind(t *testing.T) {
	a, _ := newTestApp(t)
	held := func(lines int) int64 {
		for range lines {
			newWholeRootCmd(a)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // far from the bound
	}
	before := held(10)
	if after := held(400); after-before > 200<<10 {
		t.Errorf("400 lines keep %d KB", (after-before)>>10)
	}
}

// TestAShellSaysWhatWasAskedFor opens a fresh session, which is no loss.
func TestAShellSaysWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := shellOn(t, 80, t.TempDir(), "demo")
	s.then("", "demo> ")
	s.line("reconnect", "demo: a fresh session, opened in ")
	if strings.Contains(s.out.String(), "was lost") {
		t.Errorf("a loss is told of: %q", s.out.String())
	}
}
