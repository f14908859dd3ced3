// Package prompt asks a person on a terminal, and refuses politely where there is none.
//
// What is asked always has an answer that can be given beforehand with a flag: the error says which.
package prompt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNobody says that there is nobody to ask: no terminal, or questions are not wanted.
var ErrNobody = errors.New("nobody to ask")

// Asker asks questions. The zero value asks nobody.
type Asker struct {
	// In and Out are the terminal's two directions.
	In  io.Reader
	Out io.Writer
	// Allowed says that there is a person at a terminal, and that questions are wanted.
	Allowed bool
}

// Confirm asks a question that is answered by yes or no; an empty line is no. It returns [ErrNobody] if questions are
// not allowed, and the cause of ctx when that ends first.
func (a Asker) Confirm(ctx context.Context, question string) (bool, error) {
	if !a.Allowed {
		return false, ErrNobody
	}
	if _, err := fmt.Fprintf(a.Out, "%s [y/N] ", question); err != nil {
		return false, err
	}
	line, err := a.line(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(a.Out) // the answer to come has no line of its own
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// line reads one line. A read of a terminal cannot be stopped, so it is left behind when ctx ends: the process is about
// to end, too.
func (a Asker) line(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(a.In).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil // end of input is an empty answer
		}
		answers <- answer{line, err}
	}()
	select {
	case got := <-answers:
		return got.line, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
