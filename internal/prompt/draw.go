package prompt

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// What is asked of a terminal that can move its cursor.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\x1b[J"
)

// oneLine makes text harmless, and one line of it.
func oneLine(text string) string {
	return strings.ReplaceAll(harmless(text), "\n", " ")
}

// harmless leaves out what could move a cursor. Line ends stay, and tabs become spaces.
func harmless(text string) string {
	return strings.ReplaceAll(iostreams.Sanitize(text), "\t", " ")
}

func width(text string) int { return ansi.StringWidth(text) }

// cut shortens text to columns.
func cut(text string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if width(text) <= columns {
		return text
	}
	return ansi.Truncate(text, columns, "…")
}

// mostAbout is how many lines explain a question: the field below them has to be found.
const mostAbout = 3

// folded breaks text that explains a question into lines that fit. Its own line ends count as spaces.
func folded(text string, columns int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(oneLine(text)) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, cut(line, columns)), word
		}
		if len(lines) == mostAbout {
			lines[mostAbout-1] = cut(lines[mostAbout-1]+" …", columns)
			return lines
		}
	}
	if line != "" {
		lines = append(lines, cut(line, columns))
	}
	return lines
}

// block is lines at the bottom of what the terminal shows, drawn over themselves.
type block struct {
	t *terminal
	// widths are those of the lines that stand there, and at is the line with the cursor.
	widths []int
	at     int
}

// begin prepares the terminal.
func (b *block) begin() { b.write(pasteOn + hideCursor) }

func (b *block) write(text string) { _, _ = io.WriteString(b.t.asker.Out, text) }

// up returns what goes to the first line of the block. A terminal that has become narrower has broken its lines.
func (b *block) up() string {
	rows := 0
	for _, w := range b.widths[:min(b.at, len(b.widths))] {
		rows += max(1, (w+b.t.columns-1)/b.t.columns)
	}
	if rows == 0 {
		return "\r"
	}
	return "\r" + strings.Repeat("\x1b[A", rows)
}

// draw shows lines. The cursor is shown in a line and column of them, unless column is negative.
func (b *block) draw(lines []string, line, column int) {
	var out strings.Builder
	out.WriteString(hideCursor + b.up() + eraseBelow)
	b.widths = b.widths[:0]
	for i, l := range lines {
		l = cut(l, b.t.columns-1)
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(l)
		b.widths = append(b.widths, width(l))
	}
	b.at = len(lines) - 1
	if column >= 0 {
		out.WriteString(strings.Repeat("\x1b[A", len(lines)-1-line) + "\r")
		if column > 0 {
			out.WriteString(strings.Repeat("\x1b[C", column))
		}
		out.WriteString(showCursor)
		b.at = line
	}
	b.write(out.String())
}

// end replaces the block by a line, which stays.
func (b *block) end(line string) {
	text := b.up() + eraseBelow + showCursor + pasteOff
	if line != "" {
		text += cut(line, b.t.columns-1) + "\r\n"
	}
	b.write(text)
	b.widths, b.at = nil, 0
}
