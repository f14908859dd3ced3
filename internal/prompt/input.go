package prompt

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Field is a question that is answered with text.
type Field struct {
	Question string
	// Kind stands beside the question: what sort of answer is wanted.
	Kind string
	// About explains the question, in a few lines below it. What does not fit is left out.
	About string
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
	// Exact keeps what was typed as it is: white space at its ends, and the line ends and tabs of what was pasted.
	Exact bool
	// Live shows what Check says while one types, and not after enter only.
	Live bool
}

// Input asks for text. The answer has no white space at its ends, unless the field is exact. It returns [ErrNobody] if questions are not allowed,
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
	e := &editor{f: f, text: []rune(f.tidy(f.Value))}
	e.at = len(e.text)
	b := &block{t: t}
	b.begin()
	for {
		lines, column := e.lines(a, t.columns)
		b.draw(lines, len(lines)-2, column)
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
		answer := e.answer()
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

// tidy makes text fit to stand in the field.
func (f Field) tidy(text string) string {
	if f.Exact {
		return iostreams.Sanitize(text)
	}
	return harmless(text)
}

// heading returns the question and what is beside it, and the lines that explain it.
func (a *Asker) heading(question, kind, about string, columns int) []string {
	head := cut(oneLine(question), columns-1)
	line := a.paint(Strong, head)
	if kind = cut(oneLine(kind), columns-3-width(head)); kind != "" {
		line += "  " + a.paint(Faint, kind)
	}
	lines := []string{line}
	for _, l := range folded(about, columns-3) {
		lines = append(lines, "  "+a.paint(Faint, l))
	}
	return lines
}

// inputLines is Input for a terminal that cannot move its cursor.
func (a *Asker) inputLines(ctx context.Context, f Field) (string, error) {
	question := oneLine(f.Question)
	if f.Kind != "" {
		question += ", " + oneLine(f.Kind)
	}
	if f.About != "" {
		columns, _ := a.size()
		for _, l := range folded(f.About, columns-1) {
			if _, err := io.WriteString(a.Out, l+"\r\n"); err != nil {
				return "", err
			}
		}
	}
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
		if !f.Exact {
			answer = strings.TrimSpace(answer)
		}
		if answer == "" {
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
	// typed is set when the text is not what it was to begin with.
	typed bool
}

// answer is what has been typed.
func (e *editor) answer() string {
	if e.f.Exact {
		return string(e.text)
	}
	return strings.TrimSpace(string(e.text))
}

// lines returns what is shown, and the column of the cursor in the last line but one.
func (e *editor) lines(a *Asker, columns int) ([]string, int) {
	const lead = "› "
	note := a.paint(Faint, cut(oneLine(e.f.Help), columns-3))
	switch {
	case e.wrong == nil && e.f.Live && len(e.text) > 0 && e.typed:
		if wrong := checked(e.f, e.answer()); wrong != nil {
			note = a.paint(Faint, cut("… "+oneLine(wrong.Error()), columns-3))
		}
	case e.wrong != nil:
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
	head := a.heading(e.f.Question, e.f.Kind, e.f.About, columns)
	return append(head, a.paint(Good, lead)+line, "  "+note), width(lead) + column
}

// window returns the part of the text around the cursor that fits, and where in it the cursor is.
func (e *editor) window(room int) (string, int) {
	visible := strings.NewReplacer("\n", " ", "\t", " ")
	if e.f.Exact {
		visible = strings.NewReplacer("\n", "↵", "\t", " ")
	}
	clean := func(text []rune) string { return visible.Replace(string(text)) }
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
	switch {
	case e.f.Exact:
	case e.f.Unfinished != nil:
		text = harmless(text)
	default:
		text = strings.Trim(oneLine(text), " ")
	}
	r := []rune(text)
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

func (e *editor) press(k key) {
	if k.is(keyResize) {
		return
	}
	e.wrong, e.typed = nil, true
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
