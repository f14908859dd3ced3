// Package iostreams holds the process's input, output and error streams together with the facts about them that decide
// how to write: is it a terminal, how wide, in colour or not, may a question be asked.
//
// Facts live here, and the neutralising of foreign text; how something looks is package render's business. No other
// package names os.Stdin, os.Stdout, os.Stderr or the process's environment. What never comes in is a package-level
// stream: an [IOStreams] is made once in main, with [System], or in a test, with [Test], and passed on.
package iostreams

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// defaultWidth is the width in columns where no terminal says otherwise: that of the classic terminal, for which reports
// are laid out.
const defaultWidth = 80

// The values of --color.
const (
	// ColorAuto colours what goes to a terminal, unless the environment says otherwise.
	ColorAuto = "auto"
	// ColorAlways colours everything, whatever the environment says.
	ColorAlways = "always"
	// ColorNever colours nothing.
	ColorNever = "never"
)

// IOStreams are the streams of one run of the program. Make one with [System] or [Test]. The setters are for the start
// of the run; after that an IOStreams may be used by several goroutines at once, as far as its streams may.
type IOStreams struct {
	// In, Out and Err are the standard streams, or what stands in for them. Err is for everything that is not the
	// result: messages, questions, progress.
	In  io.Reader
	Out io.Writer
	Err io.Writer

	stdin, stdout, stderr terminal
	lookupEnv             func(string) (string, bool)
	color                 string
}

// terminal is what is known about one stream. The zero value is not a terminal.
type terminal struct {
	is bool
	// columns asks the terminal for its width. It is called anew each time, because windows are resized, and only if
	// is is set. If nil, or if it answers 0, the width is unknown.
	columns func() int
	// lines asks for its height, and pixels for its size in pixels, in the same way.
	lines  func() int
	pixels func() (width, height int)
	// plain is set for a terminal that prints escape sequences instead of obeying them.
	plain bool
}

// System returns the streams and the environment of this process.
func System() *IOStreams {
	return &IOStreams{
		In:        os.Stdin,
		Out:       os.Stdout,
		Err:       os.Stderr,
		stdin:     terminal{is: isTerminal(os.Stdin)},
		stdout:    outputTerminal(os.Stdout),
		stderr:    outputTerminal(os.Stderr),
		lookupEnv: os.LookupEnv,
	}
}

// Test returns streams over the three buffers it returns with them: none is a terminal and the environment is empty.
// SetTTY, SetWidth and SetEnv change that.
func Test() (ios *IOStreams, in, out, errOut *bytes.Buffer) {
	in, out, errOut = &bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{}
	return &IOStreams{In: in, Out: out, Err: errOut}, in, out, errOut
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func outputTerminal(f *os.File) terminal {
	if !isTerminal(f) {
		return terminal{}
	}
	return terminal{
		is: true,
		columns: func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return columns
		},
		lines: func() int {
			_, lines, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return lines
		},
		pixels: func() (width, height int) { return terminalPixels(f) },
		plain:  !enableSequences(f),
	}
}

// StdinTTY reports whether the input is a terminal.
func (s *IOStreams) StdinTTY() bool { return s.stdin.is }

// StdoutTTY reports whether the output is a terminal.
func (s *IOStreams) StdoutTTY() bool { return s.stdout.is }

// StderrTTY reports whether the error stream is a terminal.
func (s *IOStreams) StderrTTY() bool { return s.stderr.is }

// SetTTY says which streams are to count as terminals, for tests.
func (s *IOStreams) SetTTY(stdin, stdout, stderr bool) {
	s.stdin.is, s.stdout.is, s.stderr.is = stdin, stdout, stderr
}

// SetWidth sets the columns of the terminals there are, for tests. 0 means that a terminal does not know.
func (s *IOStreams) SetWidth(columns int) {
	s.stdout.columns = func() int { return columns }
	s.stderr.columns = s.stdout.columns
}

// SetEnv replaces the environment by a lookup function like os.LookupEnv. With nil the environment is empty.
func (s *IOStreams) SetEnv(lookup func(name string) (string, bool)) { s.lookupEnv = lookup }

// LookupEnv returns the value of an environment variable, and whether it is set.
func (s *IOStreams) LookupEnv(name string) (string, bool) {
	if s.lookupEnv == nil {
		return "", false
	}
	return s.lookupEnv(name)
}

// env returns the value of an environment variable, empty if it is not set: for the variables by whose conventions
// unset and empty are the same.
func (s *IOStreams) env(name string) string {
	value, _ := s.LookupEnv(name)
	return value
}

// Width returns the columns there are to write in: COLUMNS if it holds a positive number, else the width of the
// terminal that is the output, else of the one that is the error stream, else 80. Only terminals are asked.
func (s *IOStreams) Width() int {
	if columns, err := strconv.Atoi(s.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	for _, t := range []terminal{s.stdout, s.stderr} {
		if !t.is || t.columns == nil {
			continue
		}
		if columns := t.columns(); columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// Height returns the lines of the terminal that is the error stream, where questions are asked; 0 if they are not known.
func (s *IOStreams) Height() int {
	if !s.stderr.is || s.stderr.lines == nil {
		return 0
	}
	return s.stderr.lines()
}

// SetColor sets the rule for colours, the value of --color: auto, always or never. Anything else is an error and
// changes nothing. Empty is auto.
func (s *IOStreams) SetColor(mode string) error {
	switch mode {
	case ColorAuto, ColorAlways, ColorNever, "":
		s.color = mode
		return nil
	default:
		return fmt.Errorf("--color: %q is not one of %s, %s, %s", mode, ColorAuto, ColorAlways, ColorNever)
	}
}

// ColorEnabled reports whether to write colours, to the output if out is true, else to the error stream. The rule set
// with SetColor decides; under auto the first of these that applies: NO_COLOR set and not empty (no), CLICOLOR_FORCE
// set and neither empty nor 0 (yes), CLICOLOR=0 (no), TERM=dumb (no), and last whether the stream is a terminal that
// understands them. See https://no-color.org and https://bixense.com/clicolors.
func (s *IOStreams) ColorEnabled(out bool) bool {
	switch s.color {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if s.env("NO_COLOR") != "" {
		return false
	}
	if force := s.env("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	if s.env("CLICOLOR") == "0" || s.env("TERM") == "dumb" {
		return false
	}
	t := s.stderr
	if out {
		t = s.stdout
	}
	return t.is && !t.plain
}

// CanAnimate reports whether a line on the error stream can be rewritten in place, for progress: it is a terminal that
// obeys escape sequences. Unlike colours, no variable or flag forces this.
func (s *IOStreams) CanAnimate() bool {
	return s.stderr.is && !s.stderr.plain && s.env("TERM") != "dumb"
}

// CI reports whether the environment says that this is a build server: CI is set and not empty.
func (s *IOStreams) CI() bool { return s.env("CI") != "" }

// CanPrompt reports whether a question may be asked: only if a person can see it on the error stream and answer it on
// the input, which are both terminals, and never with --no-input, with output as JSON, or in CI.
func (s *IOStreams) CanPrompt(noInput, json, ci bool) bool {
	return s.stdin.is && s.stderr.is && !noInput && !json && !ci
}
