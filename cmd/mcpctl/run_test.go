package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// runHere runs a command line in this process.
func runHere(ctx context.Context, t *testing.T, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	ios, stdin, _, _ := iostreams.Test()
	stdin.WriteString(in)
	// A write that is left behind at the end of a run may still be under way.
	out, errOut := &screen{}, &screen{}
	ios.Out, ios.Err = out, errOut
	code = run(ctx, process{
		args: args,
		io:   ios,
		lookup: func(name string) (string, bool) {
			if name == "HOME" || name == "XDG_CONFIG_HOME" {
				return home, true
			}
			return os.LookupEnv(name)
		},
		home:       home,
		executable: unraced("mcpctl"), // the demonstration server
		build:      readBuild("1.2.3", "", ""),
	})
	return code, out.String(), errOut.String()
}

// screen is what was written, read while more comes.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestNothingIsLeftBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"call", "demo", "add", "a=1", "b=2"}},
		{0, []string{"tools", "demo"}},
		{5, []string{"call", "demo", "fail"}},
		{6, []string{"call", "demo", "slow", "seconds=30", "--timeout", "1"}},
		{3, []string{"tools", "--stdio", "sh -c 'exit 3'"}},
		{3, []string{"tools", "http://127.0.0.1:9/mcp", "--wait", "1ms"}},
		{2, []string{"call", "demo", "ecoh"}},
		{0, []string{"version"}},
	} {
		if code, out, errOut := runHere(t.Context(), t, "", c.args...); code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errOut)
		}
	}
}

func TestAContextThatEndsIsAnInterruption(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, args := range [][]string{
		{"call", "demo", "slow", "seconds=30", "-o", "json"},
		{"list", "--check", "--config", "-", "-o", "json"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(700*time.Millisecond, cancel)
		lap := stopwatch.Start(t)
		code, out, _ := runHere(ctx, t, "servers: {a: {command: sleep, args: ['30']}, b: {command: sleep, args: ['30']}}", args...)
		if code != codeInterrupted || !strings.Contains(out, `"class": "interrupted"`) {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
		if elapsed := lap.End(); elapsed > 3*time.Second {
			t.Errorf("%q: it took %s", args, elapsed)
		}
	}
}

// silence is an input on which nothing comes, until it is closed.
type silence chan struct{}

func (s silence) Read([]byte) (int, error) {
	<-s
	return 0, context.Canceled
}

func TestWaitingForInputCanBeInterrupted(t *testing.T) {
	for _, args := range [][]string{
		{"call", "demo", "echo", "--args", "-"},
		{"call", "demo", "echo", "message=@-"},
		{"list", "--config", "-"},
	} {
		ios, _, _, _ := iostreams.Test()
		in := make(silence)
		ios.In = in
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		code := run(ctx, process{args: args, io: ios, lookup: func(name string) (string, bool) {
			return "/nowhere", name == "HOME" || strings.HasPrefix(name, "XDG_")
		}})
		if code != codeInterrupted {
			t.Errorf("%q: exit code %d, want %d", args, code, codeInterrupted)
		}
		close(in)
	}
}

func TestVerboseTellsOfNoSecret(t *testing.T) {
	code, out, errOut := runHere(t.Context(), t, "", "tools", "http://127.0.0.1:9/mcp?token=sesame-sesame", "--wait", "1s", "-vv",
		"-H", "Authorization: Bearer open-sesame-open", "-o", "json")
	if code != codeConnect {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errOut, "level=DEBUG") {
		t.Errorf("-vv tells nothing: %s", errOut)
	}
	for name, text := range map[string]string{"stdout": out, "stderr": errOut} {
		if strings.Contains(text, "sesame") {
			t.Errorf("a secret on %s: %s", name, text)
		}
	}
}

func TestOneWriteOneMask(t *testing.T) {
	a, _ := newTestApp(t)
	var b bytes.Buffer
	a.io.Err = &b
	a.redact.Add("sesame")
	a.warn("open sesame\n")
	if b.String() != "open ***\n" {
		t.Errorf("got %q", b.String())
	}
}

func TestCtrlCWhileTheKeyringIsSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	ios, stdin, out, errOut := iostreams.Test()
	stdin.WriteString("servers: {a: {command: mcpctl, args: ['${keyring:svc/me}']}}")
	home := t.TempDir()
	code := run(ctx, process{
		args: []string{"--config", "-", "tools", "a"}, io: ios, home: home,
		lookup: func(name string) (string, bool) { return home, name == "HOME" },
		readKeyring: func(string, string) (string, error) {
			cancel()
			<-release
			return "", nil
		},
	})
	if code != codeInterrupted || out.String() != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}
