// Package render turns values into what people and programs read: tables, text and JSON documents.
//
// Nothing here asks a server, decides an exit code or knows a flag. Text that came from a server is made harmless
// before it reaches a terminal. Secrets are not masked here: whoever owns the streams wraps them with a redactor.
package render

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Screen says where text goes and what may be done with it. The zero value is a pipe.
type Screen struct {
	// Terminal is set when a person reads along: columns are aligned and cut to Width.
	Terminal bool
	// Colour allows colours. It may be set without Terminal, when somebody insists.
	Colour bool
	// Width is the number of columns, 0 for no limit.
	Width int
	// Pictures says how the terminal shows pictures.
	Pictures Pictures
}

// Style is the meaning of a piece of text; the colours follow from it.
type Style int

// The styles.
const (
	Plain Style = iota
	// Strong is a name, or a heading.
	Strong
	// Faint is what one may skip.
	Faint
	// Good, Warning and Bad are verdicts.
	Good
	Warning
	Bad
)

// Paint returns text in the colours of style, or as it is where colours are not wanted. The renderer is told its colours, the
// first eight, which a terminal's owner has chosen, and writes to nowhere: nothing is asked of the terminal.
func (s Screen) Paint(style Style, text string) string {
	if !s.Colour || text == "" || style == Plain {
		return text
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	l := r.NewStyle()
	switch style {
	case Strong:
		l = l.Bold(true)
	case Faint:
		l = l.Faint(true)
	case Good:
		l = l.Foreground(lipgloss.ANSIColor(termenv.ANSIGreen))
	case Warning:
		l = l.Foreground(lipgloss.ANSIColor(termenv.ANSIYellow))
	case Bad:
		l = l.Foreground(lipgloss.ANSIColor(termenv.ANSIRed))
	case Plain:
	}
	return l.Inline(true).Render(text)
}

// OneLine returns text for one line of a list: line ends and tabs become spaces, and what could move a cursor or turn
// the direction of writing is left out.
func OneLine(text string) string { return strings.TrimSpace(iostreams.SanitizeLine(text)) }

// FirstSentence returns the beginning of text up to the first end of a sentence or paragraph, on one line.
func FirstSentence(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "\n\n"); i >= 0 {
		text = text[:i]
	}
	text = OneLine(text)
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if (r == '.' || r == '!' || r == '?') && end < len(text) && text[end] == ' ' && !abbreviated(text[:end]) {
			return text[:end]
		}
	}
	return text
}

// abbreviated reports whether the full stop at the end of text belongs to an abbreviation.
func abbreviated(text string) bool {
	for _, a := range []string{"e.g.", "i.e.", "etc.", "vs.", "cf."} {
		if strings.HasSuffix(text, a) {
			return true
		}
	}
	return false
}

// Width returns how many columns of a terminal a text takes.
func Width(text string) int { return ansi.StringWidth(text) }

// Cut shortens text to width columns, with an ellipsis where something is missing. A width of 0 cuts nothing.
func Cut(text string, width int) string {
	if width <= 0 || ansi.StringWidth(text) <= width {
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// wrapWords breaks lines at spaces, and nowhere else: a date, a version, a flag stays whole. Only a word that is longer
// than a line is broken.
func wrapWords(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if ansi.StringWidth(line) <= width {
			out = append(out, line)
			continue
		}
		current := ""
		for word := range strings.FieldsSeq(line) {
			switch {
			case current == "":
				current = word
			case len(word) <= 16*width && ansi.StringWidth(current)+1+ansi.StringWidth(word) <= width:
				current += " " + word
			default:
				out = append(out, current)
				current = word
			}
			for {
				// A character takes a few bytes: no more than the beginning is looked at, however long the word is.
				start := current[:min(len(current), 16*width)]
				if len(start) == len(current) && ansi.StringWidth(current) <= width {
					break
				}
				head := ansi.Truncate(start, width, "")
				if head == "" {
					break
				}
				out = append(out, head)
				current = current[len(head):]
			}
		}
		out = append(out, current)
	}
	return strings.Join(out, "\n")
}

// Wrap breaks text into lines of at most width columns, each beginning with indent. Line ends in text stay.
func Wrap(text string, width int, indent string) string {
	if width > 0 {
		text = wrapWords(text, max(width-ansi.StringWidth(indent), 20))
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			line = indent + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
