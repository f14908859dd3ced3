package prompt

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Field is a question that is answered with text.
type Field struct {
	Question string
	// Help is a line below the field.
	Help string
	// Value is what stands in the field to begin with.
	Value string
	// Hidden keeps what is typed, or pasted, off the screen.
	Hidden bool
	// Check says what is wrong with an answer; nil takes any.
	Check func(string) error
	// Unfinished reports whether the text goes on in the next line. If nil, a line is all there is. What is pasted keeps
	// its line ends then.
	Unfinished func(string) bool
}

// Input asks for text. The answer has no white space at its ends. It returns [ErrNobody] if questions are not allowed,
// [ErrCancelled] for Ctrl-C, Escape and the end of the input, and the cause of ctx when that ends first.
func (a *Asker) Input(ctx context.Context, f Field) (string, error) {
	if !a.Allowed {
		return "", ErrNobody
	}
	if a.Dumb {
		return a.inputLines(ctx, f)
	}
	t, err := a.open()
	if err != nil {
		return "", err
	}
	defer t.close()
	e := &editor{f: f, text: []rune(harmless(f.Value))}
	e.at = len(e.text)
	b := &block{t: t}
	b.begin()
	for {
		lines, column := e.lines(a, t.columns)
		b.draw(lines, 1, column)
		k, err := t.next(ctx)
		if errors.Is(err, io.EOF) || err == nil && (k.is(keyCancel, keyEscape) || k.is(keyEnd4) && len(e.text) == 0) {
			err = cancelled(k)
		}
		if err != nil {
			b.end(a.paint(Faint, "✗ "+oneLine(f.Question)))
			return "", err
		}
		if !k.is(keyEnter) {
			e.press(k)
			continue
		}
		answer := strings.TrimSpace(string(e.text))
		if f.Unfinished != nil && f.Unfinished(answer) {
			e.insert("\n")
			continue
		}
		if e.wrong = checked(f, answer); e.wrong == nil {
			b.end(a.paint(Good, "✓") + " " + oneLine(f.Question) + " " + a.paint(Strong, shown(f, answer)))
			return answer, nil
		}
	}
}

func checked(f Field, answer string) error {
	if f.Check == nil {
		return nil
	}
	return f.Check(answer)
}

// shown is an answer as it stays on the screen.
func shown(f Field, answer string) string {
	switch {
	case answer == "":
		return "–"
	case f.Hidden:
		return "(not shown)"
	}
	return oneLine(answer)
}

// inputLines is Input for a terminal that cannot move its cursor.
func (a *Asker) inputLines(ctx context.Context, f Field) (string, error) {
	question := oneLine(f.Question)
	if f.Help != "" {
		question += " (" + oneLine(f.Help) + ")"
	}
	if f.Value != "" {
		question += " [" + oneLine(f.Value) + "]"
	}
	for {
		answer, err := a.answer(ctx, question+": ", f.Hidden)
		if err != nil {
			return "", err
		}
		for f.Unfinished != nil && f.Unfinished(answer) {
			more, err := a.answer(ctx, "… ", f.Hidden)
			if err != nil {
				return "", err
			}
			answer += "\n" + more
		}
		if answer = strings.TrimSpace(answer); answer == "" {
			answer = f.Value
		}
		wrong := checked(f, answer)
		if wrong == nil {
			return answer, nil
		}
		if _, err := io.WriteString(a.Out, oneLine(wrong.Error())+"\r\n"); err != nil {
			return "", err
		}
	}
}

// answer is line, with the end of the input as one that is not wanted: it would be asked again for ever.
func (a *Asker) answer(ctx context.Context, question string, hidden bool) (string, error) {
	answer, err := a.line(ctx, question, hidden)
	if err == nil && answer == "" && a.keys.err != nil && len(a.keys.buf) == 0 {
		return "", ErrCancelled
	}
	return answer, err
}

// editor is a field while it is filled in.
type editor struct {
	f     Field
	text  []rune
	at    int
	wrong error
}

// lines returns what is shown, and the column of the cursor in the second line.
func (e *editor) lines(a *Asker, columns int) ([]string, int) {
	const lead = "› "
	note := a.paint(Faint, cut(oneLine(e.f.Help), columns-3))
	if e.wrong != nil {
		note = a.paint(Bad, cut(oneLine(e.wrong.Error()), columns-3))
	}
	line, column := "", 0
	if e.f.Hidden {
		if len(e.text) > 0 {
			line = a.paint(Faint, "(typed, and not shown)")
		}
	} else {
		line, column = e.window(columns - 2 - width(lead))
	}
	return []string{
		a.paint(Strong, cut(oneLine(e.f.Question), columns-1)),
		a.paint(Good, lead) + line,
		"  " + note,
	}, width(lead) + column
}

// window returns the part of the text around the cursor that fits, and where in it the cursor is.
func (e *editor) window(room int) (string, int) {
	clean := func(text []rune) string { return strings.ReplaceAll(string(text), "\n", " ") }
	start := 0
	for start < e.at && width(clean(e.text[start:e.at])) >= room {
		// A step that leaves what is before the cursor in sight.
		start += max(1, (e.at-start)/8)
	}
	return ansiCut(clean(e.text[min(start, e.at):]), room), width(clean(e.text[min(start, e.at):e.at]))
}

// ansiCut cuts without saying so: the cursor tells that there is more.
func ansiCut(text string, columns int) string {
	for i := range text {
		if i > 4*columns { // a character takes up to four bytes
			text = text[:i]
			break
		}
	}
	for width(text) > columns {
		r := []rune(text)
		text = string(r[:len(r)-1])
	}
	return text
}

func (e *editor) insert(text string) {
	if e.f.Unfinished == nil {
		text = strings.Trim(strings.ReplaceAll(text, "\n", " "), " ")
	}
	r := []rune(text)
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

func (e *editor) press(k key) {
	if k.is(keyResize) {
		return
	}
	e.wrong = nil
	switch k.kind {
	case keyText:
		e.text = slices.Insert(e.text, e.at, []rune(k.text)...)
		e.at += len([]rune(k.text))
	case keyPaste:
		e.insert(k.text)
	case keyBackspace:
		if e.at > 0 {
			e.text = slices.Delete(e.text, e.at-1, e.at)
			e.at--
		}
	case keyDelete, keyEnd4:
		if e.at < len(e.text) {
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case keyLeft:
		e.at = max(e.at-1, 0)
	case keyRight:
		e.at = min(e.at+1, len(e.text))
	case keyHome:
		e.at = 0
	case keyEnd:
		e.at = len(e.text)
	case keyKillStart:
		e.text, e.at = e.text[e.at:], 0
	case keyKillEnd:
		e.text = e.text[:e.at]
	case keyKillWord:
		start := e.at
		for start > 0 && unicode.IsSpace(e.text[start-1]) {
			start--
		}
		for start > 0 && !unicode.IsSpace(e.text[start-1]) {
			start--
		}
		e.text, e.at = slices.Delete(e.text, start, e.at), start
	default:
	}
}
