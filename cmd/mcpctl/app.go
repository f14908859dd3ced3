package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// process is what a run takes from the process around it.
type process struct {
	// args are the words after the program's name.
	args   []string
	io     *iostreams.IOStreams
	lookup func(string) (string, bool)
	home   string
	// executable is the path of this program, to start the demonstration server with.
	executable string
	// readKeyring returns a secret of the system's keyring, nil where there is none.
	readKeyring func(service, user string) (string, error)
	// secrets is the system's keyring for credentials of ours, nil where there is none.
	secrets oauth.Keyring
	// kill is closed when all children must be killed at once.
	kill <-chan struct{}
	// interrupt does what Ctrl-C does, for a question that has seen the key itself. If nil, nothing does.
	interrupt func()
	// interrupts lets a command take Ctrl-C for itself, nil where nobody presses it.
	interrupts *interrupts
	// widen lets the process have all processors, if it does not have them yet; nil if it always has.
	widen func()
	build build
	// loginTime is how long a person has for a login, 0 for the usual time.
	loginTime time.Duration
}

// app is what the commands of one run share.
type app struct {
	process
	global globalOptions
	filter *render.Filter
	redact *redact.Redactor
	logger *slog.Logger

	// trace is what --trace writes to, nil without it.
	trace io.WriteCloser
	// errLock keeps what is written to standard error apart, and liveShown tells whether a live line stands there.
	errLock   sync.Mutex
	liveShown bool
	// hushed counts the questions that stand: no live line is drawn over them.
	hushed int
	// lines counts the live lines that were begun and have not ended.
	lines int
	// pasting is what a person may paste, while a login is waited for: lines go above it.
	pasting *prompt.Paste
	dialers sync.Once
	// fresh opens sessions for questions about health: it remembers nothing. quick spares round trips.
	fresh, quick *session.Dialer

	// images is how --images wants them shown, "" if it was not given.
	images string
	// config is loaded at most once.
	config *config.Config
	// undefined says how the flags of the commands are defined for which this has not been done.
	undefined map[*cobra.Command][]func(*pflag.FlagSet)
	// helpError is why help could not be shown: there is no such command, or standard output takes no more.
	helpError error
	// reported is set when doctor has written its formats.
	reported bool
	// unread is the exit code when nobody reads standard output to its end: that of what was to be written.
	unread int
	// used is the supervisor whose session the output tells of, nil if there is none.
	used *session.Supervisor
	// keyring is asked for the values of entries.
	keyring *keyringReader
	// authorizers are those of the servers.
	authorizers authorizers
	// asks is how a person is asked to log in while this command line is carried out, nil if nobody may be; asksAs are the
	// flags for it.
	asks   atomic.Pointer[loginFlags]
	asksAs loginFlags
	// questions asks the person at the terminal, nil until something is asked.
	questions *prompt.Asker
	// answers answers what servers ask, nil if they may ask nothing. In a shell each line has its own.
	answers atomic.Pointer[answers]
	// logLevel is from which level on log messages of servers are shown, nil if nobody said so.
	logLevel atomic.Pointer[string]
	// logVerbose is how often -v was given, which changes from line to line in a shell, while servers speak.
	logVerbose atomic.Int32
	// listens is set when servers are to be heard also while no request is on its way.
	listens bool
	// shell is set while lines of a shell are carried out: each uses this app.
	shell *shellState
	// unverified are the servers of which it was said that their certificate is not checked.
	unverified sync.Map
}

// globalOptions are the flags that every command has.
type globalOptions struct {
	config  string
	from    string
	output  string
	json    bool
	jq      string
	verbose int
	trace   string
	color   string
	noInput bool
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, p process) int {
	if len(p.args) > 0 && p.args[0] == completeLineCommand {
		return completeLine(ctx, p)
	}
	a := newApp(p)
	a.io.Out, a.io.Err = output{newInterruptible(ctx, p.io.Out)}, newInterruptible(ctx, p.io.Err)
	a.keyring = newKeyringReader(ctx, p.readKeyring)
	a.hideSecretWords()
	root := newRootCmd(a)
	root.SetArgs(words(p.args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.helpError
	}
	a.endTrace()
	a.reportFailure(ctx, root, err)
	return a.finish(ctx, err)
}

func newApp(p process) *app {
	streams := *p.io
	streams.Out = output{streams.Out}
	p.io = &streams
	return &app{process: p, redact: new(redact.Redactor), logger: slog.New(slog.DiscardHandler)}
}

// words returns args, never nil: cobra would take nil for the words of the process.
func words(args []string) []string {
	if args == nil {
		return []string{}
	}
	return args
}

// finish reports err, if it has to be, and returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	if isBrokenPipe(err) {
		return a.unread
	}
	f, failed := classify(err, ctx.Err() != nil)
	if !failed {
		return codeOK
	}
	if f.reported {
		return f.code
	}
	if hint := a.logHint(f); hint != "" {
		f.addHint(hint)
	}
	a.shell.adapt(&f)
	if a.json() {
		doc := errorDocument{Version: documentVersion, Error: f.body(), Session: a.sessionBody()}
		if err := a.shell.failing(func() error { return a.writeDocument(doc) }); err != nil {
			a.logger.DebugContext(ctx, "error document not written", "error", err)
		}
	}
	a.warn(f.text(a.global.verbose > 0, a.errWidth()))
	return f.code
}

// json reports whether the output is a JSON document. It looks at the words themselves, because a usage error is a
// document too when the flags could not be parsed.
func (a *app) json() bool {
	if a.global.json || a.global.output == formatJSON || a.global.jq != "" {
		return true
	}
	for _, word := range a.args {
		if word == "--" {
			break
		}
		if word == "--json" || word == "--json=true" || word == "-q" || word == "--jq" || strings.HasPrefix(word, "--jq=") {
			return true
		}
	}
	formats := flagValues(a.args, "--output", "-o")
	return len(formats) > 0 && formats[len(formats)-1] == formatJSON // the last one holds
}

// screen says where text on standard output goes.
func (a *app) screen() render.Screen {
	s := render.Screen{Terminal: a.io.StdoutTTY(), Colour: a.io.ColorEnabled(true)}
	if s.Terminal {
		s.Width = a.io.Width()
		s.Pictures = a.pictures(true)
	}
	return s
}

// errWidth is the width of standard error's terminal, 0 if there is none.
func (a *app) errWidth() int {
	if !a.io.StderrTTY() {
		return 0
	}
	return a.io.Width()
}

// out returns standard output with the secrets masked. What a tool returned is data and goes to a.io.Out.
func (a *app) out() io.Writer { return masked{a.redact, a.io.Out} }

// errOut returns standard error with the secrets masked. Several may write to it at once, whole lines each, and a live
// line gives way.
func (a *app) errOut() io.Writer { return errOutput{a} }

type errOutput struct{ a *app }

func (o errOutput) Write(p []byte) (int, error) {
	o.a.errLock.Lock()
	defer o.a.errLock.Unlock()
	if o.a.pasting != nil && o.a.pasting.Above(o.a.redact.Bytes(p)) {
		return len(p), nil
	}
	if o.a.liveShown {
		_, _ = io.WriteString(o.a.io.Err, eraseLine)
	}
	return masked{o.a.redact, o.a.io.Err}.Write(p)
}

// output is standard output. Its errors are told from those of other pipes.
type output struct{ w io.Writer }

func (o output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

const (
	// stuckWrite is how long a write may go on after Ctrl-C: one that somebody reads is over in less.
	stuckWrite = 200 * time.Millisecond
	// stuckPiece is how much is written at a time then: whoever reads slowly, reads.
	stuckPiece = 4 << 10
)

// interruptible is a stream whose writes end with a context: a pipe that nobody reads, and a terminal that was stopped,
// would keep us for ever. A write that is left behind ends with the process, and nothing follows it.
type interruptible struct {
	ctx context.Context //nolint:containedctx // the life of the run
	w   io.Writer
	// file is set for a file on a disk, which keeps nobody, and is slow at times.
	file bool

	stuck atomic.Bool
}

func newInterruptible(ctx context.Context, w io.Writer) *interruptible {
	o := &interruptible{ctx: ctx, w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		o.file = err == nil && info.Mode().IsRegular()
	}
	return o
}

// Write writes p, or as much of it as is taken until the context ends.
func (o *interruptible) Write(p []byte) (written int, err error) {
	if o.file {
		return o.w.Write(p)
	}
	for {
		piece := p[written:]
		if o.ctx.Err() != nil {
			piece = piece[:min(len(piece), stuckPiece)]
		}
		n, err := o.write(piece)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

func (o *interruptible) write(p []byte) (int, error) {
	if o.stuck.Load() {
		return 0, o.ctx.Err()
	}
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	go func() {
		n, err := o.w.Write(p)
		done <- written{n, err}
	}()
	select {
	case end := <-done:
		return end.n, end.err
	case <-o.ctx.Done():
	}
	timer := time.NewTimer(stuckWrite)
	defer timer.Stop()
	select {
	case end := <-done:
		return end.n, end.err
	case <-timer.C:
		o.stuck.Store(true)
		return 0, o.ctx.Err()
	}
}

// masked masks secrets in each write by itself, so nothing is held back. Its users write whole lines.
type masked struct {
	redact *redact.Redactor
	w      io.Writer
}

func (m masked) Write(p []byte) (int, error) {
	if _, err := m.w.Write(m.redact.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// warn writes text, whole lines, to standard error. There is nobody to tell when that fails.
func (a *app) warn(text string) { _, _ = io.WriteString(a.errOut(), a.shell.speak(text)) }

// note tells a person something beside the output.
func (a *app) note(text string) { a.warn("mcpctl: note: " + text + "\n") }

// writeDocument writes a JSON document in which every string is masked.
func (a *app) writeDocument(doc any) error {
	raw, err := a.document(doc)
	if err != nil {
		return err
	}
	return render.JSON(a.io.Out, a.screen(), raw)
}

// print writes a document to standard output, through the filter of --jq if there is one.
func (a *app) print(ctx context.Context, doc any) error {
	raw, err := a.document(doc)
	if err != nil {
		return err
	}
	return a.printData(ctx, raw)
}

// printData is like print, for a document that holds what a server returned as data: nothing in it is masked.
func (a *app) printData(ctx context.Context, doc any) error {
	if a.filter == nil {
		return render.JSON(a.io.Out, a.screen(), doc)
	}
	if err := a.filter.Apply(ctx, a.io.Out, a.screen(), doc); err != nil {
		if isBrokenPipe(err) || ctx.Err() != nil {
			return err
		}
		return &filterError{cause: err}
	}
	return nil
}

// document returns value as JSON with the secrets masked in its strings. Masking the whole text could hit the digits
// of a number.
func (a *app) document(value any) (rawDocument, error) {
	raw, err := render.Marshal(value)
	if err != nil {
		return nil, err
	}
	return render.EditStrings(raw, func(_ []string, text string) string { return a.redact.String(text) })
}

// canPrompt reports whether a person can be asked something.
func (a *app) canPrompt() bool {
	return a.io.CanPrompt(a.global.noInput, a.json(), a.io.CI())
}

// names returns the names of servers.
func names(servers []config.Server) []string {
	out := make([]string, 0, len(servers))
	for _, s := range servers {
		out = append(out, s.Name)
	}
	return slices.Clip(out)
}
