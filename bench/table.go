package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is written as it is read on a terminal, and four columns further in, so that it is one in Markdown, too. The first
// column is flush left, the others are flush right; the last is flush left if wide is set, for what is no number.
type table struct {
	heads []string
	rows  [][]string
	wide  bool
	notes []string
}

// row adds one.
func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// note adds a line below the table.
func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// write writes the table with an empty line behind it, and its notes as a list.
func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.heads))
	lines := append([][]string{t.heads}, t.rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				text.WriteString("    " + cell + gap)
			case i == len(t.heads)-1 && t.wide:
				text.WriteString("  " + cell)
			default:
				text.WriteString("  " + gap + cell)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	b.WriteByte('\n')
	for _, note := range t.notes {
		b.WriteString(wrapped("- ", "  ", note))
	}
	if len(t.notes) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns is how wide a line of text is.
const columns = 96

// wrapped breaks a text into lines, the first behind one text, the others behind another.
func wrapped(first, others, text string) string {
	var b strings.Builder
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			b.WriteString(line + "\n")
			line, empty = others, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
	return b.String()
}
