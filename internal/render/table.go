package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Column is one column of a [Table].
type Column struct {
	Title string
	// Fixed columns keep their width when the table is too wide; the others give way.
	Fixed bool
	// Right aligns numbers.
	Right bool
}

// Cell is the text of one row in one column.
type Cell struct {
	Text  string
	Style Style
}

// Table is rows under titles. On a terminal it is aligned, coloured, and cut to the width, so that no text runs into
// the next column or onto the next line. In a pipe it is the cells alone, separated by tabs, for cut and awk.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// gap separates columns.
const gap = "  "

// leastColumn is the width below which a column says nothing any more.
const leastColumn = 6

// Write writes the table.
func (t Table) Write(w io.Writer, s Screen) error {
	rows := make([][]Cell, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = make([]Cell, len(t.Columns))
		for j, cell := range row {
			rows[i][j] = Cell{OneLine(cell.Text), cell.Style}
		}
	}
	if !s.Terminal {
		return t.writePlain(w, s, rows)
	}
	if len(rows) == 0 {
		return nil
	}
	titles := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = Cell{strings.ToUpper(c.Title), Faint}
	}
	all := append([][]Cell{titles}, rows...)
	widths := t.widths(all, s.Width)
	var b strings.Builder
	for _, row := range all {
		b.WriteString(t.line(row, widths, s))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) writePlain(w io.Writer, s Screen, rows [][]Cell) error {
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(s.Paint(cell.Style, cell.Text))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line returns one row, padded.
func (t Table) line(row []Cell, widths []int, s Screen) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString(gap)
		}
		text := Cut(cell.Text, widths[i])
		if widths[i] == 0 {
			text = ""
		}
		padding := strings.Repeat(" ", widths[i]-ansi.StringWidth(text))
		if t.Columns[i].Right {
			b.WriteString(padding)
		}
		b.WriteString(s.Paint(cell.Style, text))
		if !t.Columns[i].Right {
			b.WriteString(padding)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// widths returns the width of each column, so that the whole fits into total columns, if it can.
func (t Table) widths(rows [][]Cell, total int) []int {
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell.Text))
		}
	}
	if total <= 0 {
		return widths
	}
	sum := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for sum > total {
		widest := -1
		for i, w := range widths {
			if !t.Columns[i].Fixed && w > leastColumn && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // narrower than this it cannot be
		}
		widths[widest]--
		sum--
	}
	return widths
}
