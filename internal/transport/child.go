package transport

// How a child process is kept.
//
// Three goroutines serve a child: one reads lines from its standard output, one drains its standard error, one waits
// for its end. Writes go through a fourth, so that a child that does not read blocks nobody past a context's end. The
// child is the leader of a process group (on Windows: of a job), and everything of the group is ended with it: wrappers
// such as npx or sh start the real server as a grandchild.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/stderrlog"
)

// Command says what to start.
type Command struct {
	// Path is the executable, found already.
	Path string
	// Args are the arguments, without the name of the program.
	Args []string
	// Env is the whole environment, "NAME=value" each.
	Env []string
	// Dir is the working directory, "" for the current one.
	Dir string
	// Mask hides secrets in what is kept as evidence, before it is cut. If nil, nothing is hidden.
	Mask func(string) string
	// Trace is told what goes over the pipes. If nil, nothing is.
	Trace *ConnTrace
	// Notify is told of each notification. If nil, nobody is.
	Notify Notification
	// Log is the file that keeps standard error, "" for none. It is masked, and bounded in size.
	Log string
}

// Grace says how patiently a child is ended: after the end of its standard input, and after SIGTERM.
type Grace struct {
	EOF, Term time.Duration
}

// The two kinds of patience.
var (
	// PatientGrace is for an orderly end. Servers that ignore the end of standard input exist; 2 s is enough for one that
	// writes something down.
	PatientGrace = Grace{EOF: 2 * time.Second, Term: 700 * time.Millisecond}
	// HastyGrace is for the end after Ctrl-C or a limit that ran out.
	HastyGrace = Grace{EOF: 500 * time.Millisecond, Term: 300 * time.Millisecond}
)

const (
	// StderrLines is how many of the last lines of standard error are kept in memory, stderrHead how many of the first ones
	// beside them, and stderrLine how long each may be.
	StderrLines = 40
	stderrHead  = 10
	stderrLine  = 2 << 10
	// NoiseLines bounds what is kept of standard output that is not MCP.
	NoiseLines = 20
	// stderrChunk is how much of a line is looked at in one piece, so that a secret in it is seen whole, and stderrEnd how
	// much at the end of a longer one may be a part of a secret.
	stderrChunk = 64 << 10
	stderrEnd   = 8 << 10
	// stuckAfter is how long a write may go on that nobody waits for.
	stuckAfter = 500 * time.Millisecond
	// killGrace is how long the system may take to end a killed group.
	killGrace = time.Second
	// drainAtEnd is how long output is read when the whole group has ended: it is in the pipe, and only a process that left
	// the group could hold that open.
	drainAtEnd = time.Second
	// drainAfterExit is how long output is still read after the leader's end: a grandchild may hold the pipe open.
	drainAfterExit = 250 * time.Millisecond
	// exitAfterOutput is how long the end of the process may lag behind the end of its output, on a busy machine. A child
	// that only closes its output keeps its caller waiting for as long.
	exitAfterOutput = 500 * time.Millisecond
	// groupPoll is the step in which the emptiness of a process group is looked at: there is no event for it. It doubles
	// up to maxGroupPoll: what has not ended at once is usually there to stay, and a look reads all of /proc.
	groupPoll    = 5 * time.Millisecond
	maxGroupPoll = 40 * time.Millisecond
	// maxPretty is how long a JSON text that spans lines may become before it is taken for noise.
	maxPretty = 1 << 20
)

// Child is a running child process that speaks MCP over its standard streams. See the MCP specification, 2025-11-25,
// "stdio". It implements the SDK's Transport and can be connected once.
type Child struct {
	cmd    *exec.Cmd
	group  group
	mask   func(string) string
	trace  *ConnTrace
	notify Notification
	log    *stderrlog.Log // readStderr's alone, and Stop's when that has ended

	stdin  *os.File
	stdout *os.File
	stderr *os.File

	writes   chan write
	incoming chan jsonrpc.Message
	quiet    chan struct{} // closed when standard error has ended
	heard    chan struct{} // closed when standard output is read no more
	dead     chan struct{} // closed when nothing more can come: the fault is then set
	exited   chan struct{} // closed when the leader has been waited for
	closed   chan struct{} // closed when the shutdown has begun
	gone     chan struct{} // closed when the shutdown is over
	stopOnce sync.Once
	deadOnce sync.Once
	readers  sync.WaitGroup

	// Cancels counts the notifications that gave a request up.
	Cancels Counter
	// Strays counts the responses that belonged to no request.
	Strays atomic.Int64
	// Odd collects what the server does otherwise than the specification says.
	Odd Oddities
	// Late is set when the response to a request came that had been given up just before, and Endless when such a one came
	// without an end of its line.
	Late, Endless atomic.Bool
	// Left is set when its input was ended while it lived: what became of it then was not its own doing.
	Left atomic.Bool
	// Echoes is set when the child has sent an initialize request: only a client does that, so it sends back what it gets.
	Echoes atomic.Bool

	// unended is set while a line is looked at that has no end. It is readStdout's alone.
	unended bool

	mu    sync.Mutex
	fault *Fault
	exit  *Exit
	// exitedAt is when the process had ended.
	exitedAt time.Time
	ending   Ending
	head     []string // the first lines of standard error that are no longer in tail
	tail     []string
	noise    Noise
	pending  map[string]pendingCall
	// givenUp are the ids of requests that were given up, the latest last: what is answered all the same is late, not wrong.
	givenUp []string
	// found are the ids of responses that stood in a line with other text, the latest last: some servers write what they send
	// into such a log, too.
	found []string
	// written counts the messages that were written, notified is the number of the latest notification among them, and owed is
	// how many of those the child may still answer, although nothing is to be answered to them: some servers do.
	written, notified, owed int
	// idless is set when a response without an id was taken for that of a request: others without one are, too.
	idless bool
}

// Noise is what a child wrote to its standard output that is not MCP.
type Noise struct {
	// Lines counts them.
	Lines int
	// First is the first such line, and Number its number, from 1.
	First  string
	Number int
	// Head holds the first such lines, [NoiseLines] at most: a banner usually says what it is about in one of them.
	Head []string
}

type write struct {
	data []byte
	ex   *Exchange
	done chan error
}

// StartChild starts a process. The returned child must be ended with [Child.Stop].
func StartChild(c Command) (*Child, error) {
	k := &Child{
		cmd:      &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir},
		mask:     c.Mask,
		trace:    c.Trace,
		notify:   c.Notify,
		writes:   make(chan write),
		incoming: make(chan jsonrpc.Message),
		quiet:    make(chan struct{}),
		heard:    make(chan struct{}),
		dead:     make(chan struct{}),
		exited:   make(chan struct{}),
		closed:   make(chan struct{}),
		gone:     make(chan struct{}),
		pending:  map[string]pendingCall{},
	}
	if err := k.start(); err != nil {
		k.trace.Event("not started: %v", err)
		return nil, &Fault{Kind: KindStart, Err: err}
	}
	k.trace.Event("started, pid %d: %s", k.PID(), strings.Join(append([]string{c.Path}, c.Args...), " "))
	k.log = stderrlog.New(c.Log, k.PID(), k.commandLine(c))
	k.readers.Go(func() {
		defer close(k.heard)
		k.readStdout()
	})
	k.readers.Go(k.readStderr)
	go k.writeLoop()
	go k.wait()
	return k, nil
}

// start makes the pipes and the process. The pipes are made by hand, so that waiting for the process does not wait for
// its grandchildren.
func (k *Child) start() (err error) {
	var ours, theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			for _, f := range ours {
				_ = f.Close()
			}
		}
	}()
	pipe := func(childReads bool) (our, their *os.File) {
		r, w, perr := os.Pipe()
		if perr != nil {
			err = errors.Join(err, perr)
			return nil, nil
		}
		our, their = r, w
		if childReads {
			our, their = w, r
		}
		ours, theirs = append(ours, our), append(theirs, their)
		return our, their
	}
	var in, out, errOut *os.File
	k.stdin, in = pipe(true)
	k.stdout, out = pipe(false)
	k.stderr, errOut = pipe(false)
	if err != nil {
		return err
	}
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = in, out, errOut
	k.group.prepare(k.cmd)
	if err := k.cmd.Start(); err != nil {
		return err
	}
	if err := k.group.started(k.cmd); err != nil {
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
		return err
	}
	return nil
}

// commandLine returns what was started, without secrets, as far as it is worth a line of a log.
func (k *Child) commandLine(c Command) string {
	const most = 300 // of a command that may have a program in its arguments
	text := strings.Join(append([]string{filepath.Base(c.Path)}, c.Args...), " ")
	if k.mask != nil {
		text = k.mask(text)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return visible(text)
}

// logEnd writes down how the process ended. One that wrote nothing and ended as it was told to is not worth it.
func (k *Child) logEnd() {
	k.mu.Lock()
	end, at, exit := k.ending, k.exitedAt, k.exit
	k.mu.Unlock()
	if exit == nil {
		k.log.End(time.Now(), "still running, and left to itself", true)
		return
	}
	how := exit.String()
	switch end.By {
	case "itself":
		how += ", by itself"
	case "sigterm", "sigkill":
		if !end.Leader {
			how += ", after " + strings.ToUpper(end.By)
		}
	}
	k.log.End(at, how, end.By == "itself")
}

// PID returns the process id of the child, which is also the id of its process group.
func (k *Child) PID() int { return k.cmd.Process.Pid }

// Dead is closed when the child can answer no more.
func (k *Child) Dead() <-chan struct{} { return k.dead }

// Fault returns why the child can answer no more, nil while it can.
func (k *Child) Fault() *Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault
}

// Exit tells how the process ended, nil while it runs.
func (k *Child) Exit() *Exit {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.exit
}

// Stderr returns the last lines of standard error.
func (k *Child) Stderr() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.tail...)
}

// StderrHead returns the first lines of standard error, as far as they are not among the last ones: a program may say first
// what is wrong, and then for a page how it is used.
func (k *Child) StderrHead() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.head)
}

// Noise returns what was on standard output and is not MCP.
func (k *Child) Noise() Noise {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.noise
	n.Head = slices.Clone(n.Head)
	return n
}

// GroupAlive reports whether any process of the child's group is alive.
func (k *Child) GroupAlive() bool { return k.group.alive() }

// Kill ends the whole process group at once, and the child itself if it has left its group.
func (k *Child) Kill() {
	select {
	case <-k.gone:
		return // the id of the group may be another's by now
	default:
	}
	k.group.kill()
	_ = k.cmd.Process.Kill() // it knows by itself whether the process has been waited for
}

// Ending tells what it took to end a child.
type Ending struct {
	// By is "eof" when the end of standard input was enough, "sigterm", "sigkill", or "itself" when the child had ended
	// before.
	By      string
	Elapsed time.Duration
	// Exit tells how the process ended.
	Exit Exit
	// Leader is set when the process itself ended by the end of standard input, and only others of its group did not.
	Leader bool
	// LeftRunning is set when some process of the group outlived even SIGKILL.
	LeftRunning bool
}

// Ending tells what it took to end the child. It is zero until [Child.Stop] is over.
func (k *Child) Ending() Ending {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ending
}

// Stop ends the child: the end of its standard input, then SIGTERM to its group, then SIGKILL, each after the grace for
// the step before; when hurry ends, the steps that are left get [HastyGrace] at most. It returns when nothing of the group
// is left and all goroutines have ended; further calls wait for the first one, and make it no hastier.
func (k *Child) Stop(hurry context.Context, grace Grace) {
	k.stopOnce.Do(func() {
		begin := time.Now()
		end := Ending{By: "eof"}
		if k.Exit() != nil {
			end.By = "itself"
		}
		close(k.closed)
		_ = k.stdin.Close()
		if !k.ends(hurry, grace.EOF, HastyGrace.EOF) {
			end.By, end.Leader = "sigterm", k.Exit() != nil
			k.group.terminate()
			if !k.ends(hurry, grace.Term, HastyGrace.Term) {
				end.By = "sigkill"
				k.Kill()
				end.LeftRunning = !k.ends(hurry, killGrace, killGrace)
			}
		}
		k.mu.Lock()
		end.Elapsed = time.Since(begin)
		if k.exit != nil {
			end.Exit = *k.exit
		}
		k.ending = end
		k.mu.Unlock()
		// What it wrote last is in the pipes, which end by themselves when nobody is left that holds them.
		_ = Patience(context.Background(), k.heard, drainAtEnd, drainAtEnd)
		_ = k.stdout.Close()
		_ = k.stderr.Close()
		k.readers.Wait()
		k.logEnd()
		k.die(&Fault{Kind: KindSevered, Err: ErrClosed})
		k.group.release()
		close(k.gone)
	})
	<-k.gone
}

// ends reports whether the whole group ends within d, or within hasty once hurry has ended.
func (k *Child) ends(hurry context.Context, d, hasty time.Duration) bool {
	limit, stop := patience(hurry, d, hasty)
	defer stop()
	select {
	case <-k.exited:
	case <-limit.C:
		return false
	}
	for step := groupPoll; k.group.alive(); step = min(2*step, maxGroupPoll) {
		tick := time.NewTimer(step)
		select {
		case <-limit.C:
			tick.Stop()
			return false
		case <-tick.C:
		}
	}
	return true
}

// patience returns a timer for d. From the moment when hurry ends it runs for hasty at most.
func patience(hurry context.Context, d, hasty time.Duration) (timer *time.Timer, stop func()) {
	end := time.Now().Add(d)
	timer = time.NewTimer(d)
	stopHurry := context.AfterFunc(hurry, func() { timer.Reset(min(hasty, time.Until(end))) })
	return timer, func() {
		stopHurry()
		timer.Stop()
	}
}

// Patience waits until done is closed, at most for d, and for hasty at most from the moment when hurry ends. It reports
// whether done was closed in time.
func Patience(hurry context.Context, done <-chan struct{}, d, hasty time.Duration) bool {
	limit, stop := patience(hurry, d, hasty)
	defer stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}

// wait reaps the leader and keeps how it ended.
func (k *Child) wait() {
	_ = k.cmd.Wait() // the state says it all
	exit := exitOf(k.cmd.ProcessState)
	k.trace.Event("ended: %s", exit)
	k.mu.Lock()
	k.exit, k.exitedAt = &exit, time.Now()
	k.mu.Unlock()
	close(k.exited)

	// What the child wrote before its end is still to be read. If a grandchild keeps the pipe open, it is not waited for.
	if !k.drains(k.dead, nil) {
		k.die(&Fault{Kind: KindExit})
	}
}

// lastWords waits a moment for the end of standard error, which usually names the cause.
func (k *Child) lastWords() { k.drains(k.quiet, k.closed) }

// drains waits a moment for the end of an output whose process has ended, and reports whether it came. Where nobody is left that
// could hold the pipe open, only the machine is late: then it gets more. It is not waited for when nobody wants to know.
func (k *Child) drains(end, unwanted <-chan struct{}) bool {
	timer := time.NewTimer(drainAfterExit)
	defer timer.Stop()
	for more := true; ; more = false {
		select {
		case <-end:
			return true
		case <-unwanted:
			return false
		case <-timer.C:
		}
		if !more || k.group.alive() {
			return false
		}
		timer.Reset(drainAtEnd)
	}
}

// die records why the child can answer no more, and gives the reason to all requests that wait.
func (k *Child) die(f *Fault) {
	k.deadOnce.Do(func() {
		k.mu.Lock()
		f.Exit, f.Stderr, f.Written = k.exit, append([]string(nil), k.tail...), true
		k.fault = f
		calls := k.pending
		k.pending = nil
		k.mu.Unlock()
		for _, c := range calls {
			c.ex.fail(f)
		}
		close(k.dead)
	})
}

// readStdout reads messages until the end of the output.
func (k *Child) readStdout() {
	r := bufio.NewReaderSize(k.stdout, 64<<10)
	var open *spanning
	noise := func() bool {
		if open == nil {
			return true
		}
		number, text := open.number, open.text
		open = nil
		return k.passedOver(number, text)
	}
	for number := 1; ; number++ {
		line, ended, err := readEnded(r, MaxMessage)
		k.unended = !ended
		if err != nil {
			_ = noise()
			k.outputEnded(err)
			return
		}
		text := trimMessage(line)
		k.trace.line('<', line)
		if len(text) == 0 {
			continue
		}
		if n, ok := frameLength(text); ok && open == nil {
			k.noted(number, text)
			if framed := readFrame(r, n); framed != nil {
				k.trace.line('<', framed)
				if messages, ok := parseLine(trimMessage(framed)); ok {
					if !k.receiveAll(messages) {
						return
					}
				} else {
					k.noted(number, framed)
				}
			}
			continue
		}
		messages, ok := parseLine(text)
		switch {
		case ok:
			if !noise() {
				return
			}
		case open == nil && (text[0] != '{' || len(text) >= maxPretty):
			if !k.passedOver(number, text) {
				return
			}
			continue
		default:
			if open == nil {
				open = &spanning{number: number}
			}
			open.add(text)
			if !open.over() {
				continue
			}
			if messages, ok = parseLine(open.text); ok {
				k.Odd.note(OddSpanning, "the message that begins in line %d of standard output spans several", open.number)
			} else if !noise() {
				return
			}
			open = nil
		}
		if ok && text[0] == '[' {
			k.Odd.note(OddBatch, "line %d of standard output is an array", number)
		}
		if !k.receiveAll(messages) {
			return
		}
	}
}

// frameLength returns the length that a header of the Language Server Protocol announces. Some servers frame their
// messages like that, without an end of line, although MCP wants one message a line.
func frameLength(line []byte) (int, bool) {
	const name = "content-length:"
	if len(line) <= len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[len(name):])))
	return n, err == nil && n > 1 && n <= MaxMessage
}

// readFrame reads the rest of a frame: headers up to a blank line, then n bytes. It returns nil, and has read nothing but
// headers, if no JSON follows.
func readFrame(r *bufio.Reader, n int) []byte {
	const mostHeaders = 8 // the protocol has two
	isJSON := func() bool {
		start, err := r.Peek(1)
		return err == nil && (start[0] == '{' || start[0] == '[')
	}
	for range mostHeaders {
		if isJSON() { // a message on a line of its own: there was no frame
			return nil
		}
		line, err := readLine(r, stderrLine)
		if err != nil {
			return nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if !isJSON() {
			return nil
		}
		var frame bytes.Buffer // it grows as the bytes come, not as they are announced
		if _, err := io.CopyN(&frame, r, int64(n)); err != nil {
			return nil
		}
		return frame.Bytes()
	}
	return nil
}

// lineMessage is a message on a line, with its envelope.
type lineMessage struct {
	envelope
	data []byte
}

// parseLine returns the JSON-RPC messages on a line: usually one, sometimes several or a batch. It reports false if
// there is anything else on the line.
func parseLine(line []byte) ([]lineMessage, bool) {
	if line[0] != '{' && line[0] != '[' {
		return nil, false
	}
	if e, ok := parseEnvelope(line); ok { // nearly always
		return []lineMessage{{e, line}}, true
	}
	var messages []lineMessage
	for len(line) > 0 {
		value, rest, ok := rawjson.Next(line)
		if !ok {
			return nil, false
		}
		for m := range splitBatch(value) {
			e, ok := parseEnvelope(m)
			if !ok {
				return nil, false
			}
			messages = append(messages, lineMessage{e, m})
		}
		line = bytes.TrimSpace(rest)
	}
	return messages, len(messages) > 0
}

// receiveAll gives messages to the SDK. It reports false when nobody reads any more.
func (k *Child) receiveAll(messages []lineMessage) bool {
	for _, m := range messages {
		if !k.receive(m) {
			return false
		}
	}
	return true
}

// receive gives a message to the SDK. It reports false when nobody reads any more.
func (k *Child) receive(m lineMessage) bool {
	e, data := m.envelope, m.data
	k.notify.notify(e)
	k.Odd.heard(e)
	if e.isCall() && e.Method == "initialize" {
		k.Echoes.Store(true)
	}
	if e.isResponse() {
		data = k.deliver(e, data)
		if data == nil {
			return true
		}
	}
	msg, err := jsonrpc.DecodeMessage(carried(e, data))
	if err != nil {
		k.noted(0, data)
		if !e.isResponse() {
			return true
		}
		// Its request must not wait for another, and the exchange has what the server said.
		if msg, err = jsonrpc.DecodeMessage(unreadable(data)); err != nil {
			return true
		}
	}
	return k.pass(msg)
}

// passedOver keeps a line that is not MCP. A response that stands in it with other text is given to its request all the same;
// one that cannot be read ends it, with the reason. It reports false when nobody reads any more.
func (k *Child) passedOver(number int, line []byte) bool {
	k.noted(number, line)
	if k.unended { // the child has ended, perhaps in the middle of it
		return true
	}
	if message, e, ok := messageIn(line); ok && e.isResponse() && !e.nullID() {
		if !k.waits(e.id()) {
			return true
		}
		k.mu.Lock()
		k.found = remembered(k.found, e.id())
		k.mu.Unlock()
		k.Odd.note(OddLine, "the response with the id %.40s stands in a line with other text: %s", e.ID, Quote(k.evidence(line)))
		return k.receive(lineMessage{e, message})
	}
	id, why := brokenAnswer(line)
	if why == nil || !k.waits(canonicalID(id)) {
		return true
	}
	k.mu.Lock()
	call := k.pending[canonicalID(id)]
	delete(k.pending, canonicalID(id))
	k.mu.Unlock()
	body := []byte(k.evidence(line))
	call.ex.fail(&Fault{Kind: KindContent, Written: true, Body: body[:min(len(body), faultBody)], Err: why})
	msg, err := jsonrpc.DecodeMessage(unreadable([]byte(`{"id":` + string(call.id) + `}`)))
	if err != nil {
		return true
	}
	return k.pass(msg)
}

// pass gives the SDK a message, and reports false when nobody reads any more.
func (k *Child) pass(msg jsonrpc.Message) bool {
	select {
	case k.incoming <- msg:
		return true
	case <-k.closed:
		return false
	}
}

// waits reports whether a request with an id waits for its response.
func (k *Child) waits(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.pending[id]
	return ok
}

// deliver gives a response to the exchange of its request, and returns it with the request's own id. An error without
// an id is the answer to the only request that waits, if there is just one, and if it is not the answer to a notification;
// else nobody can tell, and it is noise.
func (k *Child) deliver(e envelope, data []byte) []byte {
	k.mu.Lock()
	id := e.id()
	if e.nullID() {
		if k.answersNotification(e) {
			k.owed--
			k.mu.Unlock()
			k.Odd.note(OddNotified, "a notification is answered: %s", Quote(k.evidence(data)))
			return nil
		}
		if len(k.pending) != 1 {
			k.mu.Unlock()
			k.noted(0, data)
			return nil
		}
		for id = range k.pending { //nolint:revive // takes the only key
		}
		k.idless = true
	}
	call, ok := k.pending[id]
	delete(k.pending, id)
	if ok && call.number > k.notified && !e.nullID() {
		k.owed = 0 // it came after the notifications: who answers them does so in their turn
	}
	over, late := k.fault != nil, slices.Contains(k.givenUp, id) && id != ""
	again := slices.Contains(k.found, id) && id != ""
	k.mu.Unlock()
	if !ok && again { // it stood in a line with other text before
		k.Strays.Add(1)
		return data
	}
	if !ok {
		if late {
			k.Late.Store(true)
			k.Endless.Store(k.unended)
		}
		if !over { // what comes later was asked for, by a request that was given up at the end
			k.Strays.Add(1)
			if late {
				return data
			}
			k.Odd.note(OddStray, "a response with the id %.40s, which no request has", e.ID)
		}
		return data
	}
	k.Odd.own(e, envelope{ID: call.id})
	call.ex.answer(e)
	return forSDK(data, e, envelope{ID: call.id}, call.ex)
}

// noted keeps a line that is not MCP.
func (k *Child) noted(number int, line []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noise.Lines++
	if k.noise.Lines > NoiseLines {
		return
	}
	text := k.evidence(line)
	k.noise.Head = append(k.noise.Head, text)
	if k.noise.Lines == 1 {
		k.noise.First, k.noise.Number = text, number
	}
}

// evidence returns a line as it is kept: masked, then cut.
func (k *Child) evidence(line []byte) string {
	text := string(line[:min(len(line), stderrChunk)]) // of a flood the beginning will do
	if k.mask != nil {
		text = k.mask(text)
	}
	return strings.ToValidUTF8(text[:min(len(text), stderrLine)], "")
}

// outputEnded decides what the end of standard output means.
func (k *Child) outputEnded(err error) {
	if errors.Is(err, errTooLarge) {
		k.die(&Fault{Kind: KindTooLarge, Err: err})
		return
	}
	// Usually the process is ending: its exit status belongs to the story.
	timer := time.NewTimer(exitAfterOutput)
	defer timer.Stop()
	select {
	case <-k.exited:
		k.lastWords()
	case <-timer.C:
		if k.group.ending() { // and only the machine is late
			select {
			case <-k.exited:
				k.lastWords()
			case <-k.closed:
			}
		}
	case <-k.closed:
	}
	k.die(&Fault{Kind: KindExit})
}

// readStderr keeps what comes on standard error, so that the child never blocks on it.
func (k *Child) readStderr() {
	defer close(k.quiet)
	defer k.log.Flush()
	chunk := make([]byte, stderrChunk/2)
	var line []byte
	skipping := false // the rest of a line that is too long
	for {
		n, err := k.stderr.Read(chunk)
		for data := chunk[:n]; len(data) > 0; {
			end := bytes.IndexAny(data, "\r\n") // a progress bar writes the same line over and over
			part := data
			if end >= 0 {
				part = data[:end]
			}
			if !skipping {
				line = append(line, part...)
			}
			if end < 0 {
				if len(line) > stderrChunk {
					k.said(line, true)
					line, skipping = line[:0], true
				}
				break
			}
			k.said(line, false)
			line, skipping = line[:0], false
			data = data[end+1:]
		}
		if err != nil {
			k.said(line, false)
			return
		}
		k.log.Flush()
	}
}

// said keeps a line of standard error. Of one that is cut, the end is left out: a secret may begin there.
func (k *Child) said(line []byte, cut bool) {
	if len(line) == 0 {
		return
	}
	text := string(line)
	if k.mask != nil {
		text = k.mask(text)
	}
	if cut {
		text = strings.ToValidUTF8(text[:max(0, len(text)-stderrEnd)], "") + " …"
	}
	k.trace.line('!', []byte(text))
	k.log.Line(visible(text))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tail = append(k.tail, strings.ToValidUTF8(text[:min(len(text), stderrLine)], ""))
	if len(k.tail) > StderrLines {
		if len(k.head) < stderrHead {
			k.head = append(k.head, k.tail[0])
		}
		k.tail = k.tail[1:]
	}
}

// writeLoop writes one message after the other.
func (k *Child) writeLoop() {
	for {
		select {
		case w := <-k.writes:
			k.trace.line('>', bytes.TrimSuffix(w.data, []byte("\n")))
			n, err := k.stdin.Write(w.data)
			if n > 0 {
				w.ex.wrote()
			}
			w.done <- err
		case <-k.closed:
			return
		}
	}
}

// Connect implements the SDK's Transport.
func (k *Child) Connect(context.Context) (mcp.Connection, error) {
	return &childConn{k: k, closed: make(chan struct{})}, nil
}

// childConn is the SDK's view of a child.
type childConn struct {
	k      *Child
	once   sync.Once
	closed chan struct{}
}

func (c *childConn) SessionID() string { return "" }

// Close is called by the SDK. The child is ended by [Child.Stop]; here its input ends, which lets it go by itself.
func (c *childConn) Close() error {
	c.once.Do(func() {
		c.k.Left.Store(c.k.Fault() == nil && c.k.Exit() == nil)
		_ = c.k.stdin.Close()
		close(c.closed)
	})
	return nil
}

func (c *childConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.k.incoming:
		return msg, nil
	default:
	}
	select {
	case msg := <-c.k.incoming:
		return msg, nil
	case <-c.k.dead:
		return nil, c.k.Fault()
	case <-c.closed:
		return nil, io.EOF
	case <-c.k.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *childConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	k := c.k
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	e, _ := parseEnvelope(data)
	var ex *Exchange
	if e.isCall() {
		ex = exchangeOf(ctx)
		e.Method = ex.rename(e.Method)
		ex.begin(e.Method)
		data = ex.params(data)
		if f := k.expect(ctx, e, ex); f != nil {
			unsent := *f
			unsent.Written = false
			ex.fail(&unsent)
			return &unsent
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.Method != "" && e.nullID() {
		k.notifies()
	}
	w := write{data: append(data, '\n'), ex: ex, done: make(chan error, 1)}
	select {
	case k.writes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.closed:
		return c.unsent(ex, ErrClosed)
	case <-k.dead:
		return c.unsent(ex, nil)
	}
	// From here on the request may have been written, in part at least.
	var stuck <-chan time.Time
	for dead := k.dead; ; {
		select {
		case err := <-w.done:
			if e.Method == cancelledMethod {
				k.Cancels.add()
			}
			if err == nil {
				return nil
			}
			if ex.State().Written {
				f := &Fault{Kind: KindSevered, Written: true, Err: err}
				ex.fail(f)
				return f
			}
			return c.unsent(ex, err)
		case <-dead: // the write fails in a moment, unless something holds the pipe open and does not read
			dead, stuck = nil, time.After(stuckAfter)
		case <-stuck:
			ex.wrote()
			return k.Fault()
		case <-ctx.Done():
			ex.wrote()
			go k.watch(w)
			return context.Cause(ctx)
		case <-k.closed:
			ex.wrote()
			return ErrClosed
		}
	}
}

// watch gives a child up that does not read its input: half a message is in the pipe, and nothing can follow it. A write
// that nobody waits for any more is usually over in a moment; so the child gets one.
func (k *Child) watch(w write) {
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		k.die(&Fault{Kind: KindSevered, Err: errors.New("the process does not read its standard input")})
	case <-w.done: //nolint:errcheck // a failed write is the next one's to tell
	case <-k.dead:
	case <-k.closed:
	}
}

// unsent records that the child was dead before anything of the request was written.
func (c *childConn) unsent(ex *Exchange, err error) error {
	// The reason is with the reader of the output, which may be a moment behind.
	timer := time.NewTimer(drainAfterExit)
	defer timer.Stop()
	select {
	case <-c.k.dead:
	case <-timer.C:
	}
	f := Fault{Kind: KindExit, Exit: c.k.Exit(), Stderr: c.k.Stderr(), Err: err}
	switch known := c.k.Fault(); {
	case known != nil:
		f.Kind = known.Kind
	case f.Exit == nil: // it lives, and its output is open
		f.Kind, f.Err = KindSevered, errors.New("the process has closed its standard input")
	}
	ex.fail(&f)
	return &f
}

// notifies counts a notification that is about to be written.
func (k *Child) notifies() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.written++
	k.notified = k.written
	k.owed++
}

// answersNotification reports whether a response without an id is the answer to a notification: some servers send one, an
// empty result, or an error that says that they do not know the method. Nothing else is told from the answer to a request that
// has lost its id. The caller holds the lock.
func (k *Child) answersNotification(e envelope) bool {
	if k.owed == 0 || k.idless {
		return false
	}
	if e.Error == nil {
		return len(e.Result) <= len("null") && (e.Result == nil || string(e.Result) == "{}" || string(e.Result) == "null" || string(e.Result) == "true")
	}
	return refusesMessage(e.Error)
}

// refusesMessage reports whether an error says that a message is not one that the server takes: its method is not known, or it
// is no request at all, as a notification is none.
func refusesMessage(failure []byte) bool {
	const invalidRequest, unknownMethod = -32600, -32601 // JSON-RPC 2.0, 5.1
	var e struct {
		Code float64 `json:"code"`
	}
	_ = json.Unmarshal(failure, &e) // what cannot be read has no code
	return e.Code == invalidRequest || e.Code == unknownMethod
}

// expect notes that the response to a request is to be delivered to an exchange. It returns the child's fault if the
// child is dead.
func (k *Child) expect(ctx context.Context, msg envelope, ex *Exchange) *Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fault != nil {
		return k.fault
	}
	k.written++
	k.pending[msg.id()] = pendingCall{id: msg.ID, ex: ex, number: k.written}
	// What nobody waits for any more is not kept.
	context.AfterFunc(ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if _, ok := k.pending[msg.id()]; ok {
			k.givenUp = remembered(k.givenUp, msg.id())
		}
		delete(k.pending, msg.id())
	})
	return nil
}

// Gone is closed when [Child.Stop] is over.
func (k *Child) Gone() <-chan struct{} { return k.gone }
