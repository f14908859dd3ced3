package faultlab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// stdioFault is what a case changes in the process that serves stdio.
type stdioFault struct {
	start  func(p *process) (code int, exit bool) // runs before anything is read
	read   func(in *bufio.Reader) ([]byte, error) // reads one message; nil means one line
	encode func(p *process, frame string) string  // how one message is written; nil means one line
	signal func(p *process) (code int, exit bool) // on a signal; nil means exit with 128 plus its number
	end    func(p *process) (code int)            // after the end of stdin; nil means a prompt exit with 0

	notified string // what each notification is answered with; "" means nothing, which is right
}

// StdioOptions are the circumstances in which a case is served over standard streams.
type StdioOptions struct {
	In       io.Reader
	Out, Err io.Writer
	Args     []string      // what the command line has after the name of the case
	Delay    time.Duration // replaces the main delay of a case that has one; 0 keeps it
	Log      io.Writer     // gets every event as a line of JSON; nil means nobody
}

// process is a case being served over standard streams.
type process struct {
	c         Case
	o         StdioOptions
	responder *responder
	log       func(kind string, details ...any)
	out       sync.Mutex // held while writing to stdout
	encoding  sync.Mutex // held while a message is encoded
	held      string     // what a case keeps for later
}

// lingerTime bounds every case that refuses to exit, so that a client that leaks processes does not leak them for ever.
const lingerTime = 60 * time.Second

// flushTime is how long answers in progress have after the end of stdin.
const flushTime = 50 * time.Millisecond

// ServeStdio plays the case as an MCP server on the given streams and returns its exit code. It takes over the signals
// of the process, and some cases kill the process, so it must be the last thing the process does.
func (c Case) ServeStdio(o StdioOptions) int {
	p := &process{c: c, o: o, log: newJournal(false, o.Log).add}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p.responder = newResponder(c, Stdio, ctx.Done(), p.log)
	p.responder.args, p.responder.delay, p.responder.stderr = o.Args, o.Delay, o.Err
	p.log("start", "case", c.Name, "ppid", os.Getppid(), "args", o.Args,
		"home", os.Getenv("HOME") != "", "path", os.Getenv("PATH") != "")

	exit := make(chan int, 2) // one from the signals, one from the end of stdin
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer func() {
		signal.Stop(signals)
		close(signals) // ends watch
	}()
	go p.watch(signals, exit)
	go func() { exit <- p.serve() }()
	code := <-exit
	p.log("exit", "code", code)
	return code
}

// watch ends the process on a signal, unless the case has other ideas.
func (p *process) watch(signals <-chan os.Signal, exit chan<- int) {
	for s := range signals {
		p.log("signal", "sig", s.String())
		code, leave := 1, true
		if n, ok := s.(syscall.Signal); ok {
			code = 128 + int(n)
		}
		if f := p.c.stdio.signal; f != nil {
			code, leave = f(p)
		}
		if leave {
			exit <- code
			return
		}
	}
}

// serve reads and answers messages until the end of stdin.
func (p *process) serve() int {
	if f := p.c.stdio.start; f != nil {
		if code, exit := f(p); exit {
			return code
		}
	}
	read := p.c.stdio.read
	if read == nil {
		read = readLine
	}
	in := bufio.NewReader(p.o.In)
	for {
		raw, err := read(in)
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			p.log("recv", "raw", head(string(raw)))
			p.take(raw)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.log("read_error", "error", err.Error())
			}
			break
		}
	}
	p.log("stdin_eof")
	if f := p.c.stdio.end; f != nil {
		return f(p)
	}
	p.responder.pause(flushTime)
	return 0
}

func readLine(in *bufio.Reader) ([]byte, error) { return in.ReadBytes('\n') }

// take acts on one message.
func (p *process) take(raw []byte) {
	m := parseMessage(raw)
	switch {
	case m == nil:
		p.emit(errorFrame("null", codeParse, "Parse error"))
	case m.isResponse():
		p.responder.deliver(m)
	case m.isNotification():
		p.responder.note(m)
		if s := p.c.stdio.notified; s != "" {
			p.emit(s)
		}
	case m.isRequest():
		go p.responder.handle(m, p.emit)
	default:
		p.emit(errorFrame("null", codeInvalidRequest, "Invalid Request"))
	}
}

// emit writes one message.
func (p *process) emit(frame string) {
	line := frame + "\n"
	if f := p.c.stdio.encode; f != nil {
		p.encoding.Lock()
		line = f(p, frame)
		p.encoding.Unlock()
	}
	p.write(line)
	p.log("send", "bytes", len(line), "head", head(frame))
}

// write writes to stdout. An error means that the client is gone, which the end of stdin tells as well.
func (p *process) write(s string) {
	p.out.Lock()
	defer p.out.Unlock()
	_, _ = io.WriteString(p.o.Out, s)
}

// complain writes a line to stderr.
func (p *process) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.o.Err, format+"\n", args...)
}

// linger is a process that does not exit at the end of stdin.
func linger(p *process) int {
	p.responder.pause(lingerTime)
	p.log("linger_expired")
	return 3
}

// killSelf dies without a chance to clean up (SIGKILL, where there are signals).
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}
