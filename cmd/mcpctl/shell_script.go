package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// mostLine bounds a line of a script: no message to a server can be longer.
const mostLine = 64 << 20

// scriptReader reads the lines of a script as they come.
type scriptReader struct {
	in *bufio.Reader
	// number counts the lines that were read.
	number int
}

// next returns the next command, which may be spread over several lines, and the number of its first. The error is
// io.EOF at the end.
func (r *scriptReader) next() (text string, number int, err error) {
	var b strings.Builder
	for {
		l, err := r.line()
		if err != nil && (!errors.Is(err, io.EOF) || l == "" && b.Len() == 0) {
			return "", r.number, err
		}
		if number == 0 {
			number = r.number
		}
		b.WriteString(l)
		if errors.Is(err, io.EOF) || !shellwords.Open(b.String(), false) {
			return b.String(), number, nil
		}
		b.WriteByte('\n')
	}
}

// line returns the next line without its end. At the end of the input the error is io.EOF, also if there is a line.
func (r *scriptReader) line() (string, error) {
	var all []byte
	for {
		part, err := r.in.ReadSlice('\n')
		all = append(all, part...)
		if len(all) > mostLine {
			return "", fmt.Errorf("line %d is longer than %d MB", r.number+1, mostLine>>20)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(all) > 0 {
			r.number++
		}
		text := strings.TrimSuffix(string(all), "\n")
		if r.number == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // Windows begins files and pipes with one
		}
		return strings.TrimSuffix(text, "\r"), err
	}
}

// script carries out what comes on standard input, up to the first failure or to the end.
func (sh *shellState) script(ctx context.Context) error {
	r := &scriptReader{in: bufio.NewReader(sh.a.io.In)}
	first := codeOK
	for !sh.over {
		type command struct {
			text   string
			number int
		}
		c, err := await(ctx, func() (command, error) {
			text, number, err := r.next()
			return command{text, number}, err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return exitCode(first)
		case err != nil:
			return fmt.Errorf("standard input: %w", err)
		}
		sh.number = c.number
		code := sh.one(ctx, c.text)
		if ctx.Err() != nil {
			return reportedError(codeInterrupted)
		}
		if code == codeOK {
			continue
		}
		if first == codeOK {
			first = code
		}
		if sh.keepGoing || sh.over {
			sh.tell(fmt.Sprintf("line %d: exit code %d", sh.number, code))
			continue
		}
		sh.tell(fmt.Sprintf("the script ends at line %d with exit code %d; --keep-going runs what follows, too", sh.number, code))
		return reportedError(code)
	}
	return exitCode(first)
}

// exitCode is the end of a run with a code.
func exitCode(code int) error {
	if code == codeOK {
		return nil
	}
	return reportedError(code)
}

// one carries out a line, if there is a command in it.
func (sh *shellState) one(ctx context.Context, text string) int {
	words, err := shellwords.Split(text)
	if wrong, ok := errors.AsType[*shellwords.Error](err); ok {
		if sh.talking {
			return sh.refuse(ctx, usagef("%s", wrong))
		}
		sh.number += wrong.Line
		return sh.refuse(ctx, usagef("line %d, %s", sh.number, wrong))
	}
	if len(words) == 0 {
		return codeOK
	}
	return sh.run(ctx, shellwords.Texts(words))
}

func (d *lineDocument) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+len(`"line":,`)+20)
	for i, c := range p {
		if d.depth == 0 && !d.plain {
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				continue
			}
			if c != '{' && c != '[' {
				d.plain = true
			}
		}
		if d.plain {
			out = append(out, p[i:]...)
			break
		}
		out = d.next(out, c)
	}
	if _, err := d.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// next appends what becomes of one character of a document.
func (d *lineDocument) next(out []byte, c byte) []byte {
	switch {
	case d.escaped:
		d.escaped = false
	case d.quoted && c == '\\':
		d.escaped = true
	case c == '"':
		d.quoted = !d.quoted
	case d.quoted:
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		return out
	case c == '{' || c == '[':
		d.depth++
		d.begun = false
		if out = append(out, c); d.depth == 1 && c == '{' && d.line > 0 {
			out = append(out, `"line":`+strconv.Itoa(d.line)...)
			d.begun = true
		}
		return out
	case c == '}' || c == ']':
		if d.depth--; d.depth == 0 {
			d.begun = false
			return append(out, c, '\n')
		}
	}
	if d.begun { // the first key of the document
		d.begun = false
		out = append(out, ',')
	}
	return append(out, c)
}

// end ends what is left open: a document that was not written to its end.
func (d *lineDocument) end() {
	if d.depth > 0 {
		_, _ = io.WriteString(d.w, "\n") // whoever reads it has gone, or meets the error
	}
}
