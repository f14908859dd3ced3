package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/stderrlog"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

const (
	// usualLines is how many lines logs shows: the story of the last run or two, and a few screens.
	usualLines = 100
	// followEvery is how often a log is looked at for more: no person waits for longer, and it costs two calls of the system.
	followEvery = 200 * time.Millisecond
)

type logsOptions struct {
	lines  linesValue
	follow bool
	since  durationValue
}

func newLogsCmd(a *app) *cobra.Command {
	o := logsOptions{lines: usualLines}
	cmd := &cobra.Command{
		Use:   "logs SERVER",
		Short: "Show what a local server wrote to stderr",
		Long: `Show what a local server wrote to stderr, with the time (UTC) and the process
ID, and when the process started and ended.

Each server has a log file, without secrets. A file of more than 1 MB is
rotated, and one old file is kept. mcpctl remove does not delete it. For a
command that is not in the configuration, SERVER is the command line, as in its
errors: mcpctl logs 'npx thing'.

With -f it goes on until Ctrl-C (exit code 130), even if the server has not been
started yet. With -o json, -f prints one document per line.`,
		Example: `  mcpctl logs notes
  mcpctl logs notes -f -n 0
  mcpctl logs notes --since 10m -n all
  mcpctl logs notes --jq '.lines[] | select(.kind == "end") | .text'`,
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	cmd.Aliases = []string{"log"}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.VarP(&o.lines, "lines", "n", "show the last `N` lines, or all")
		flags.BoolVarP(&o.follow, "follow", "f", false, "keep printing new lines until Ctrl-C")
		flags.Var(&o.since, "since", "show only lines of the last `time`")
	})
}

// linesValue is a flag with a number of lines, -1 for all.
type linesValue int

func (v *linesValue) Set(s string) error {
	if s == "all" {
		*v = -1
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of lines, or all", s)
	}
	*v = linesValue(n)
	return nil
}

func (v *linesValue) String() string {
	if *v < 0 {
		return "all"
	}
	return strconv.Itoa(int(*v))
}

func (v *linesValue) Type() string { return "lines" }

// logsDocument is the output of logs.
type logsDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	// File is where the log is, also before there is one.
	File  string    `json:"file"`
	Lines []logLine `json:"lines"`
}

// logLine is one line of a log in a document.
type logLine struct {
	Time string `json:"time,omitempty"`
	PID  int    `json:"pid,omitempty"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// logLineDocument is the output of logs -f, for each line.
type logLineDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	logLine
}

// logTime is the form of the times of a log for people and programs: UTC, in milliseconds.
const logTime = "2006-01-02T15:04:05.000Z"

func newLogLine(l stderrlog.Line) logLine {
	out := logLine{PID: l.PID, Kind: string(l.Kind), Text: l.Text}
	if !l.Time.IsZero() {
		out.Time = l.Time.Format(logTime)
	}
	return out
}

func (o *logsOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	switch {
	case len(args) == 0:
		return usagef("no server named").hint("%s", usageLine(cmd)).hint("mcpctl list shows the servers there are; demo is built in")
	case len(args) > 1:
		return usagef("%s takes one server, and got %q, too", cmd.CommandPath(), args[1]).hint("%s", usageLine(cmd))
	}
	name, file, err := a.findLog(ctx, args[0])
	if err != nil {
		return err
	}
	reader := stderrlog.NewReader(file)
	lines, err := reader.Next()
	if err != nil {
		return fmt.Errorf("%s: its standard error cannot be read: %w", name, err)
	}
	lines = o.last(lines)
	if !stderrlog.Exists(file) {
		what := "has written nothing to its standard error, as far as mcpctl has started it; that would be kept in "
		if o.follow {
			what = "has written nothing yet; waiting for "
		}
		a.note(render.OneLine(name) + " " + what + file)
	}
	if o.follow {
		return o.followLog(ctx, a, name, reader, lines)
	}
	if a.json() {
		doc := logsDocument{Version: documentVersion, Server: name, File: file, Lines: []logLine{}}
		for _, l := range lines {
			doc.Lines = append(doc.Lines, newLogLine(l))
		}
		return a.print(ctx, doc)
	}
	return a.printLog(lines)
}

// last returns the lines that the flags ask for. A line without a time is as old as the one before it.
func (o *logsOptions) last(lines []stderrlog.Line) []stderrlog.Line {
	if o.since.Duration > 0 {
		begin := time.Now().Add(-o.since.Duration)
		for i, l := range slices.Backward(lines) {
			if at := l.Time; !at.IsZero() && at.Before(begin) {
				lines = lines[i+1:]
				break
			}
		}
	}
	if n := int(o.lines); n >= 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}

// followLog writes the lines, and those that come, until ctx ends. That is how it is meant to end, so nothing is said of it.
func (o *logsOptions) followLog(ctx context.Context, a *app, name string, r *stderrlog.Reader, lines []stderrlog.Line) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if err := a.printFollowed(ctx, name, lines); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return reportedError(codeInterrupted)
		case <-tick.C:
		}
		var err error
		if lines, err = r.Next(); err != nil {
			return fmt.Errorf("%s: its standard error cannot be read: %w", name, err)
		}
		if r.Missed() {
			a.note(render.OneLine(name) + " writes more than can be kept until it is read; lines are missing here")
		}
	}
}

func (a *app) printFollowed(ctx context.Context, name string, lines []stderrlog.Line) error {
	if !a.json() {
		return a.printLog(lines)
	}
	for _, l := range lines {
		doc, err := a.document(logLineDocument{documentVersion, name, newLogLine(l)})
		if err != nil {
			return err
		}
		if a.filter != nil {
			err = a.printData(ctx, doc)
		} else {
			err = a.printCompact(doc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printCompact writes a document on one line.
func (a *app) printCompact(doc rawDocument) error {
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := a.io.Out.Write(b.Bytes())
	return err
}

// printLog writes lines for people.
func (a *app) printLog(lines []stderrlog.Line) error {
	if len(lines) == 0 {
		return nil
	}
	var b strings.Builder
	screen := a.screen()
	for _, l := range lines {
		if !l.Time.IsZero() {
			b.WriteString(screen.Paint(render.Faint, l.Time.Format(logTime)+" ["+strconv.Itoa(l.PID)+"]") + " ")
		}
		text := l.Text
		if screen.Terminal {
			text = oneLine(text)
		}
		switch l.Kind {
		case stderrlog.KindStart:
			text = screen.Paint(render.Strong, "--- started: "+text)
		case stderrlog.KindEnd:
			text = screen.Paint(render.Strong, "--- ended: "+text)
		case stderrlog.KindStderr:
		}
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// findLog returns the server that a word names, and the file of its log. A log outlives its server's entry, and commands
// that never had an entry have one, too: for those the name is enough.
func (a *app) findLog(ctx context.Context, word string) (name, file string, err error) {
	if pasted.IsURL(word) {
		return "", "", noStandardError(urlServer(word).Name)
	}
	dir := config.LogDir(a.lookup)
	if dir == "" {
		return "", "", &configError{server: word, message: "nothing is kept: there is no place for it", hint: "set HOME or XDG_STATE_HOME"}
	}
	file = session.LogFile(dir, word)
	server, err := a.findOne(ctx, &serverFlags{includeDisabled: true}, word)
	switch {
	case err != nil && stderrlog.Exists(file):
		if !strings.ContainsAny(word, " \t") {
			a.note(fmt.Sprintf("there is no server %q now; this is what one of that name wrote", word))
		}
		return word, file, nil
	case err != nil:
		return "", "", err
	case server.URL != "":
		return "", "", noStandardError(server.Name)
	}
	a.maskSecretsOf(server)
	return server.Name, file, nil
}

// noStandardError is the error for a server that mcpctl does not start.
func noStandardError(name string) error {
	return &configError{
		server:  name,
		message: "it is reached by URL, so its standard error is where it runs, and nothing is kept here",
		hint:    "its log is with whoever started it; what is wrong with it from here: mcpctl doctor " + toolargs.Quote(name),
	}
}

// maskSecretsOf masks the secrets of an entry, as far as they can be had without asking anybody.
func (a *app) maskSecretsOf(server config.Server) {
	env := a.environment()
	env.Keyring = nothing().Keyring
	env.Lookup = func(name string) (string, bool) {
		value, _ := a.lookup(name)
		return value, true
	}
	_, secrets, _ := server.Expand(env) // what is wrong with it is no matter of its log
	a.redact.Add(secrets...)
}

// logHint returns the line to type for all that a server wrote to its standard error, "" if it is not kept, or if what is
// shown anyway is all of it.
func (a *app) logHint(f failure) string {
	if f.Server == "" || len(f.StderrTail) <= tailLines {
		return ""
	}
	if !stderrlog.Exists(session.LogFile(config.LogDir(a.lookup), f.Server)) {
		return ""
	}
	return "all that it wrote: mcpctl logs " + a.configWords() + toolargs.Quote(f.Server)
}
