// Package prompt asks a person on a terminal, and refuses politely where there is none.
//
// What is asked always has an answer that can be given beforehand with a flag: the error says which. Questions are
// written to one stream, that of messages, so that the output stays clean in a pipe. Ctrl-C and Escape end a question at
// once, and so does the end of the context; the terminal is then as it was before. Where a terminal cannot move its
// cursor, lists are numbered lines. Text from servers is made harmless before it is shown.
//
// How it is done: while a question stands, the terminal is in raw mode, so that each key is seen as it is pressed
// (keys.go). A list or a field is a block of lines that is drawn anew after each key, on as many lines as there are
// (draw.go), and in the end replaced by one line that keeps the answer. There is no alternate screen.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	// ErrNobody says that there is nobody to ask: no terminal, or questions are not wanted.
	ErrNobody = errors.New("nobody to ask")
	// ErrCancelled says that the person does not want to answer: Ctrl-C, Escape, or the end of the input.
	ErrCancelled = errors.New("cancelled")
	// ErrInterrupted is [ErrCancelled] by Ctrl-C, for those to whom Escape means something else.
	ErrInterrupted = fmt.Errorf("interrupted: %w", ErrCancelled)
)

// cancelled is the error for a key that ends a question.
func cancelled(k key) error {
	if k.is(keyCancel) {
		return ErrInterrupted
	}
	return ErrCancelled
}

// Style is the meaning of a piece of text.
type Style int

// The styles.
const (
	// Plain is text.
	Plain Style = iota
	// Strong is what is asked, and where the cursor is.
	Strong
	// Faint is help.
	Faint
	// Good is an answer.
	Good
	// Bad is what is wrong with one.
	Bad
)

// Asker asks questions, one at a time. The zero value asks nobody.
type Asker struct {
	// In and Out are the terminal's two directions.
	In  io.Reader
	Out io.Writer
	// Allowed says that there is a person at a terminal, and that questions are wanted.
	Allowed bool
	// Dumb says that the terminal cannot move its cursor: what is asked is lines.
	Dumb bool
	// Size returns the columns and lines of the terminal, 0 for what is not known. If nil, nothing is.
	Size func() (columns, lines int)
	// Paint returns text in the colours of a style. If nil, there are none.
	Paint func(Style, string) string

	keys *keyReader
}

// Confirm asks a question that is answered by yes or no; an empty line is no. It returns [ErrNobody] if questions are
// not allowed, [ErrCancelled] for Ctrl-C and Escape, and the cause of ctx when that ends first.
func (a *Asker) Confirm(ctx context.Context, question string) (bool, error) {
	if !a.Allowed {
		return false, ErrNobody
	}
	line, err := a.line(ctx, oneLine(question)+" [y/N] ", false)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// line asks for a line below what is written already, and echoes it as it is typed: no more is wanted of the terminal than
// to go back by one column. The end of the input is an empty answer.
func (a *Asker) line(ctx context.Context, question string, hidden bool) (string, error) {
	if _, err := io.WriteString(a.Out, question); err != nil {
		return "", err
	}
	t, err := a.open()
	if err != nil {
		return "", err
	}
	defer t.close()
	echo := func(text string) {
		if t.raw {
			_, _ = io.WriteString(a.Out, text)
		}
	}
	var typed []rune
	for {
		k, err := t.next(ctx)
		if errors.Is(err, io.EOF) {
			return string(typed), nil
		}
		if err == nil && k.is(keyCancel, keyEscape) {
			err = cancelled(k)
		}
		switch {
		case err != nil:
			_, _ = fmt.Fprint(a.Out, "\r\n") // what comes has a line of its own
			return "", err
		case k.is(keyEnter), k.is(keyEnd4) && len(typed) == 0:
			echo("\r\n")
			return string(typed), nil
		case k.is(keyBackspace) && len(typed) > 0:
			last := typed[len(typed)-1]
			typed = typed[:len(typed)-1]
			if !hidden {
				n := width(string(last))
				echo(strings.Repeat("\b", n) + strings.Repeat(" ", n) + strings.Repeat("\b", n))
			}
		case k.is(keyText, keyPaste):
			text := oneLine(k.text)
			if k.kind == keyText {
				text = k.text
			}
			typed = append(typed, []rune(text)...)
			if !hidden {
				echo(text)
			}
		}
	}
}

func (a *Asker) paint(s Style, text string) string {
	if a.Paint == nil || s == Plain {
		return text
	}
	return a.Paint(s, text)
}

// size returns the room there is.
func (a *Asker) size() (columns, lines int) {
	if a.Size != nil {
		columns, lines = a.Size()
	}
	if columns <= 0 {
		columns = 80
	}
	if lines <= 0 {
		lines = 24
	}
	return columns, lines
}
