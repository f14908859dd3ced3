package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/stopwatch"
)

// TestMain lets the test binary play a child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "leave-group" {
		leaveGroup()
		return
	}
	goleak.VerifyTestMain(m)
}

// shell starts a shell script as a child.
func shell(t *testing.T, script string) *Child {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	k, err := StartChild(Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Stop(context.WithoutCancel(t.Context()), Grace{}) })
	return k
}

// read returns the next message.
func read(t *testing.T, k *Child) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, _ := k.Connect(ctx)
	msg, err := c.Read(ctx)
	if err != nil {
		return "", err
	}
	data, err := jsonrpc.EncodeMessage(msg)
	return string(data), err
}

// TestChildOutput shows what is read from a child's standard output, and what is noise.
func TestChildOutput(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"notifications/a"}`
	for name, tt := range map[string]struct {
		output string // for printf
		noise  int
		first  string
		line   int
	}{
		"plain":               {output: message + `\n`},
		"CRLF":                {output: message + `\r\n`},
		"blank lines":         {output: `\n\n  \n` + message + `\n`},
		"byte order mark":     {output: `\357\273\277` + message + `\n`},
		"trailing space":      {output: message + `  \n`},
		"batch of one":        {output: `[` + message + `]\n`},
		"over several lines":  {output: `{\n  "jsonrpc": "2.0",\n  "method": "notifications/a"\n}\n`},
		"without a line end":  {output: message},
		"banner":              {output: `Server ready on stdio\n` + message + `\n`, noise: 1, first: "Server ready on stdio", line: 1},
		"log lines in JSON":   {output: `{"level":"info"}\n42\nnull\n` + message + `\n`, noise: 3, first: `{"level":"info"}`, line: 1},
		"broken JSON before":  {output: `{"jsonrpc": \n` + message + `\n`, noise: 1, first: `{"jsonrpc":`, line: 1},
		"pretty, no message":  {output: `{\n  "level": "info"\n}\n{\n  "jsonrpc": "2.0",\n  "method": "notifications/a"\n}\n`, noise: 1, first: "{\n\"level\": \"info\"\n}", line: 1},
		"colours":             {output: `\033[32mok\033[0m\n` + message + `\n`, noise: 1, first: "\x1b[32mok\x1b[0m", line: 1},
		"framed":              {output: `Content-Length: 44\r\n\r\n` + message + `Content-Length: 2\r\n\r\n{}`, noise: 3, first: "Content-Length: 44", line: 1},
		"framed, two headers": {output: `content-length: 44\r\nContent-Type: x\r\n\r\n` + message, noise: 1, first: "content-length: 44", line: 1},
		"no frame":            {output: `Content-Length: 9\n` + message + `\n`, noise: 1, first: "Content-Length: 9", line: 1},
		"noise after a blank": {output: `\nhello\n` + message + `\n`, noise: 1, first: "hello", line: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := shell(t, `printf '`+tt.output+`'; cat >/dev/null`)
			if name == "without a line end" {
				k = shell(t, `printf '`+tt.output+`'`)
			}
			got, err := read(t, k)
			if err != nil || got != message {
				t.Fatalf("read %s, %v", got, err)
			}
			if n := k.Noise(); n.Lines != tt.noise || n.First != tt.first || n.Number != tt.line {
				t.Errorf("noise %+v", n)
			}
		})
	}
}

// TestChildEnd shows how a child's own end is reported: with the exit status or the signal, and the end of stderr.
func TestChildEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   Exit
		text   string
	}{
		"exit status": {`echo "no token" >&2; exit 3`, Exit{Status: 3}, "exit status 3"},
		"signal":      {`kill -9 $$`, Exit{Status: -1, Signal: "killed"}, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := shell(t, tt.script)
			_, err := read(t, k)
			var f *Fault
			if !errors.As(err, &f) || f.Kind != KindExit || f.Exit == nil || *f.Exit != tt.want || !strings.Contains(f.Error(), tt.text) {
				t.Fatalf("err = %#v", err)
			}
			if name == "exit status" && (len(k.Stderr()) != 1 || k.Stderr()[0] != "no token") {
				t.Errorf("stderr %q", k.Stderr())
			}
		})
	}
}

// TestST01Stop shows what it takes to end a child, and that nothing of its group stays.
func TestST01Stop(t *testing.T) {
	grace := Grace{EOF: 300 * time.Millisecond, Term: 300 * time.Millisecond}
	for name, tt := range map[string]struct {
		script string
		by     string
	}{
		"ends with its input":       {`cat >/dev/null`, "eof"},
		"ended before":              {`exit 0`, "itself"},
		"ignores the end of input":  {`sleep 60`, "sigterm"},
		"ignores SIGTERM":           {`trap '' TERM; while :; do sleep 60; done`, "sigkill"},
		"leaves a worker behind":    {`sleep 60 & cat >/dev/null`, "sigterm"},
		"leaves a stubborn worker":  {`(trap '' TERM; while :; do sleep 60; done) & cat >/dev/null`, "sigkill"},
		"a wrapper around a server": {`sh -c 'cat >/dev/null'; true`, "eof"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := shell(t, tt.script)
			if tt.by == "itself" {
				<-k.exited
			}
			grace := grace
			if tt.by == "eof" { // it ends by itself, on a busy machine a little later
				grace.EOF = 10 * time.Second
			}
			lap := stopwatch.Start(t)
			k.Stop(t.Context(), grace)
			end := k.Ending()
			if end.By != tt.by || end.LeftRunning || k.GroupAlive() {
				t.Errorf("ending %+v, alive %v", end, k.GroupAlive())
			}
			if most := grace.EOF + grace.Term + killGrace + time.Second; lap.Took() > most {
				t.Errorf("it took %s", lap.Clock())
			}
		})
	}
}

// TestST06StopsReading shows that a child that does not read blocks nobody past the end of the context.
func TestST06StopsReading(t *testing.T) {
	k := shell(t, `sleep 60`)
	c, err := k.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	big, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"` + strings.Repeat("x", 256<<10) + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ctx, ex := WithExchange(ctx)
	if err := c.Write(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if st := ex.State(); !st.Written || st.Answered {
		t.Errorf("state %+v", st)
	}
	// Half a message is in the pipe: the child is of no use any more, and says so soon.
	select {
	case <-k.Dead():
	case <-time.After(10 * time.Second):
		t.Error("the child is still taken for alive")
	}
}

// TestNotSent shows that a request to a dead child is known not to have been sent.
func TestNotSent(t *testing.T) {
	k := shell(t, `exit 1`)
	<-k.Dead()
	c, err := k.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, ex := WithExchange(t.Context())
	msg, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Write(ctx, msg)
	var f *Fault
	if !errors.As(err, &f) || f.Written || f.Kind != KindExit {
		t.Errorf("err = %#v", err)
	}
	if st := ex.State(); st.Written || st.Fault == nil {
		t.Errorf("state %+v", st)
	}
}

// TestLateAnswerIsNoStray shows that an answer which comes after the end of the process, because a grandchild holds its
// output, counts for none that nobody asked for; before the end it does.
func TestLateAnswerIsNoStray(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":7,"result":{}}`
	early := shell(t, `echo '`+answer+`'; read line`)
	<-early.incoming
	if got := early.Strays.Load(); got != 1 {
		t.Errorf("before the end: %d strays, want 1", got)
	}
	late := shell(t, `exec 3<&0; (read line <&3; echo '`+answer+`') & exit 0`)
	<-late.Dead()
	if _, err := late.stdin.WriteString("now\n"); err != nil {
		t.Fatal(err)
	}
	<-late.incoming
	if got := late.Strays.Load(); got != 0 {
		t.Errorf("after the end: %d strays, want 0", got)
	}
}

// TestAnUnreadableResponseIsAnAnswer shows that a request ends with a response whose error is none, and does not wait for another.
func TestAnUnreadableResponseIsAnAnswer(t *testing.T) {
	k := shell(t, `echo '{"jsonrpc":"2.0","id":7,"error":"just text"}'; read line`)
	got, err := read(t, k)
	if err != nil || !strings.Contains(got, `"id":7`) || !strings.Contains(got, "cannot be read") {
		t.Errorf("read %s, %v", got, err)
	}
}

func TestStartFailure(t *testing.T) {
	_, err := StartChild(Command{Path: "/no/such/program"})
	var f *Fault
	if !errors.As(err, &f) || f.Kind != KindStart {
		t.Errorf("err = %v", err)
	}
}

// TestSecretsInLongLines shows that a secret is masked wherever it stands in a line of standard error that is longer than
// what is looked at in one piece, and that a progress bar is many lines.
func TestSecretsInLongLines(t *testing.T) {
	const secret = "sekret-0123456789abcdef"
	for _, before := range []int{stderrChunk/2 - 10, stderrChunk - 30, stderrChunk - 10, stderrChunk - 1, stderrChunk, stderrChunk + 5} {
		var trace bytes.Buffer
		mask := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
		k, err := StartChild(Command{
			Path: "/bin/sh", Args: []string{"-c", fmt.Sprintf(`{ head -c %d /dev/zero | tr '\0' x; printf '%s and more\nbar 1\rbar 2\n'; } >&2; cat`, before, secret)},
			Env: os.Environ(), Mask: mask, Trace: NewTrace(&trace, mask).Connection("s"),
		})
		if err != nil {
			t.Skip(err)
		}
		_ = k.stdin.Close()
		<-k.quiet
		k.Stop(t.Context(), HastyGrace)
		for _, text := range append(k.Stderr(), trace.String()) {
			if strings.Contains(text, "sekret") && !strings.Contains(text, "sh -c") || strings.Contains(text, "89abcdef and") {
				t.Errorf("%d before: half a secret in …%s", before, text[max(0, len(text)-60):])
			}
		}
		if tail := k.Stderr(); len(tail) != 3 || tail[2] != "bar 2" {
			t.Errorf("%d before: %d lines", before, len(tail))
		}
	}
}

// TestAWriteEndsWithTheChild shows that a request which a child does not read ends when the child is found dead, and not with its
// own limit only: the process lives, and keeps its input open.
func TestAWriteEndsWithTheChild(t *testing.T) {
	t.Parallel()
	k := shell(t, "exec >&-; sleep 30")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx, ex := WithExchange(ctx)
	c, _ := k.Connect(ctx)
	const more = 1 << 20 // than a pipe takes
	msg, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"` + strings.Repeat("x", more) + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Write(ctx, msg)
	if f, ok := errors.AsType[*Fault](err); !ok || f.Kind != KindExit || !f.Written {
		t.Errorf("the write ends with %v", err)
	}
	if st := ex.State(); !st.Written || st.Fault == nil { // a part of it is in the pipe
		t.Errorf("%+v", st)
	}
}
