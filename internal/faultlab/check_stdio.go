package faultlab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stdioProbe is the client that looks at a case over stdio.
type stdioProbe struct {
	c     Case
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	out   strings.Builder
}

const (
	stdioWait = 900 * time.Millisecond  // for an answer
	exitWait  = 2500 * time.Millisecond // for the exit after the end of stdin
	termWait  = 700 * time.Millisecond  // for the exit after SIGTERM
)

func probeStdio(c Case, bin string) string {
	dir, err := os.MkdirTemp("", "faultlab")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	logFile := filepath.Join(dir, "log")

	p := &stdioProbe{c: c, lines: make(chan string, 4096)}
	// The context never ends: how the server ends is what end looks at.
	p.cmd = exec.CommandContext(context.Background(), bin, append([]string{"stdio", c.Name}, c.check.args...)...)
	setGroup(p.cmd)
	env := []string{
		"FAULTLAB_LOG=" + logFile,
		fmt.Sprintf("FAULTLAB_DELAY_MS=%d", c.check.mainDelay().Milliseconds()),
		"GORACE=atexit_sleep_ms=0", // under the race detector a process takes a second to exit otherwise
	}
	if !c.check.bareEnv {
		env = append(os.Environ(), env...)
	}
	p.cmd.Env = env
	in, errIn := p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	stderr, errErr := p.cmd.StderrPipe()
	for _, err := range []error{errIn, errOut, errErr, p.cmd.Start()} {
		if err != nil {
			return err.Error()
		}
	}
	p.in = in
	tail := make(chan string, 1)
	go func() { tail <- drain(stderr) }()
	go p.read(out)

	awaitLog(logFile)
	p.usual()
	p.end()
	killGroup(p.cmd.Process.Pid)
	p.printf("%s\n", <-tail)
	_ = p.cmd.Wait() // closes the pipes; how the process ended is known
	b, err := os.ReadFile(logFile)
	if err != nil {
		p.printf("log ERR %v\n", err)
	}
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, `"kind":"send"`) && !strings.Contains(line, `"kind":"recv"`) {
			p.printf("log %s", line)
		}
	}
	return p.out.String()
}

// startWait bounds the start of the process, on a machine that is very busy.
const startWait = 10 * time.Second

// awaitLog waits until the server has begun its log. How long a process takes to start says nothing about the case, so
// it must not count as waiting for an answer.
func awaitLog(file string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(startWait)
	for {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			return // the transcript shows that nothing came
		}
	}
}

func (p *stdioProbe) printf(format string, args ...any) { _, _ = fmt.Fprintf(&p.out, format, args...) }

// drain reads stderr to its end and returns its size and beginning.
func drain(r io.Reader) string {
	var first strings.Builder
	n, _ := io.Copy(&first, io.LimitReader(r, headLimit))
	rest, _ := io.Copy(io.Discard, r)
	return fmt.Sprintf("stderr %d bytes: %q", n+rest, first.String())
}

// read puts the lines of stdout, or whatever arrives together, into p.lines.
func (p *stdioProbe) read(out io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		var s string
		var err error
		if p.c.check.raw {
			b := make([]byte, 4096)
			var n int
			n, err = r.Read(b)
			s = string(b[:n])
		} else {
			s, err = r.ReadString('\n')
		}
		if s != "" {
			p.lines <- s
		}
		if err != nil {
			return
		}
	}
}

// usual is one run of a client.
func (p *stdioProbe) usual() {
	for i, s := range p.c.check.first {
		p.rpc(s.label, 20+i, s.method, s.params)
	}
	p.rpc("init", 1, "initialize", initializeOld)
	p.send(`{"jsonrpc":"2.0","method":` + quote(initialized) + `}`)
	p.rpc("ping", 10, "ping", `{}`)
	p.rpc("list", 2, "tools/list", `{}`)
	for i, s := range p.c.check.more {
		p.rpc(s.label, 30+i, s.method, s.params)
	}
	p.rpc("call", 7, "tools/call", p.c.check.toolCall())
	if p.c.check.cancel {
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		<-time.After(100 * time.Millisecond) // for the server to log it before stdin ends
	}
}

// send writes one line. The server may be gone; then there is no answer, which the transcript shows.
func (p *stdioProbe) send(line string) { _, _ = io.WriteString(p.in, line+"\n") }

// rpc sends a request and writes what arrives until the answer.
func (p *stdioProbe) rpc(label string, id int, method, params string) {
	p.send(requestBody(id, method, params))
	wait := stdioWait
	if p.c.check.wait != 0 {
		wait = p.c.check.wait
	}
	start := time.Now()
	deadline := time.After(wait)
	for got := 0; ; got++ {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.printf("%s EOF\n", label)
				return
			}
			p.printf("%s< (%d) %q", label, len(line), shorten(line, transcriptLimit))
			if time.Since(start) > slowAnswer {
				p.printf(" SLOW")
			}
			p.printf("\n")
			if m := parseMessage([]byte(line)); m != nil && m.isResponse() && !p.c.check.collect {
				return
			}
		case <-deadline:
			if got == 0 {
				p.printf("%s NOTHING\n", label)
			}
			return
		}
	}
}

// end closes stdin and writes how the server ends, with more and more force.
func (p *stdioProbe) end() {
	_ = p.in.Close()
	state := make(chan string, 1)
	go func() {
		// Not cmd.Wait, which closes the pipes: what the server wrote last is still to be read.
		s, err := p.cmd.Process.Wait()
		if err != nil {
			state <- err.Error()
			return
		}
		state <- s.String()
	}()
	select {
	case s := <-state:
		p.printf("exit %s\n", s)
	case <-time.After(exitWait):
		p.printf("exit STILL RUNNING after EOF\n")
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case s := <-state:
			p.printf("exit after SIGTERM %s\n", s)
		case <-time.After(termWait):
			p.printf("exit IGNORES SIGTERM\n")
		}
	}
	if groupAlive(p.cmd.Process.Pid) {
		p.printf("group still has a process\n")
	}
}
