package render

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Column is one column of a [Table].
type Column struct {
	Title string
	// Fixed columns keep their width when the table is too wide, as long as the others can give way.
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
// the next column or onto the next line; what is wider even so loses its last columns, so the most important ones come
// first. In a pipe it is the cells alone, separated by tabs, for cut and awk.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// gap separates columns.
const gap = "  "

// leastColumn is the width below which a column says little any more.
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
	for i, cell := range row[:len(widths)] {
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

// widths returns the width of each column that is shown, so that the whole fits into total columns. A title is never
// cut, unless it stands alone.
func (t Table) widths(rows [][]Cell, total int) []int {
	natural, titles := make([]int, len(t.Columns)), make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			natural[i] = max(natural[i], ansi.StringWidth(cell.Text))
		}
	}
	if total <= 0 {
		return natural
	}
	for i, c := range t.Columns {
		titles[i] = ansi.StringWidth(c.Title)
	}
	for shown := len(natural); shown > 1; shown-- {
		widths := slices.Clone(natural[:shown])
		over := len(gap)*(shown-1) - total
		for _, w := range widths {
			over += w
		}
		flexible := func(i int) bool { return !t.Columns[i].Fixed }
		each := func(int) bool { return true }
		least := func(i int) int { return max(titles[i], leastColumn) }
		over = shrink(widths, over, flexible, least)
		over = shrink(widths, over, each, least)
		over = shrink(widths, over, each, func(i int) int { return titles[i] })
		if over <= 0 {
			return widths
		}
	}
	return []int{min(natural[0], total)}
}

// shrink takes over columns from the widest of the columns that may give way, down to the least width of each, and
// returns how much is left.
func shrink(widths []int, over int, may func(int) bool, least func(int) int) int {
	for ; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if may(i) && w > least(i) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return over
}
