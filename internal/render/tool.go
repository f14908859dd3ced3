package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// Tool is a tool as a server describes it, as far as people want to read it.
type Tool struct {
	Name, Title, Description string
	// Signature are the parameters as they stand between the parentheses after the name.
	Signature []string
	Params    Members
	// Returns is what its results hold, if it says so.
	Returns *Members
	// Effects are what a call may do, a line each.
	Effects []string
	// Example is the line of a call.
	Example string
	// Guess is set if the example may be refused: its values could not be made up.
	Guess bool
}

// Members are what an object has in it, or what is said where that is not known.
type Members struct {
	Rows []toolargs.Row
	// LeftOut is set if there is more, deeper inside.
	LeftOut bool
	// None is said if there are no rows.
	None string
}

// leastDescription is the width below which a column of descriptions cannot be read: they go below the names then.
const leastDescription = 24

// ToolPage writes everything about one tool. On a terminal its parameters are an aligned table, on a narrow one they have
// their descriptions below them, and in a pipe they are a line each, separated by tabs: name, type, "required" or the
// default, and all the rest.
func ToolPage(w io.Writer, s Screen, t Tool) error {
	var b strings.Builder
	b.WriteString(signature(s, OneLine(t.Name), t.Signature) + "\n")
	if title := OneLine(t.Title); title != "" && title != OneLine(t.Name) {
		b.WriteString(s.Paint(Faint, wrapped(title, s.Width)) + "\n")
	}
	if text := Prose(t.Description, s.Width); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	heading := func(text string) { b.WriteString("\n" + s.Paint(Strong, text) + "\n") }
	members := func(title string, m Members, output bool) {
		if len(m.Rows) == 0 {
			b.WriteString("\n" + wrapped(m.None, s.Width) + "\n")
			return
		}
		heading(title)
		g := grid{screen: s, rows: m.Rows, output: output}
		g.write(&b)
		if m.LeftOut {
			b.WriteString(indented(s, "There is more inside of these; --schema shows all.") + "\n")
		}
	}
	members("Parameters:", t.Params, false)
	if t.Returns != nil {
		members("Returns:", *t.Returns, true)
	}
	if len(t.Effects) > 0 {
		heading("Effects:")
		for _, line := range t.Effects {
			b.WriteString(indented(s, line) + "\n")
		}
	}
	if t.Guess {
		heading("Example, with values that the server may refuse:")
	} else {
		heading("Example:")
	}
	b.WriteString("  " + iostreams.Sanitize(t.Example) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapped breaks a text at a width, if there is one.
func wrapped(text string, width int) string {
	if width <= 0 {
		return text
	}
	return wrapWords(text, width)
}

// indented is a line below a heading.
func indented(s Screen, text string) string { return Wrap(text, s.Width, "  ") }

// maxSignature is how many lines a signature takes. A tool with more parameters than that is read in its table.
const maxSignature = 4

// signature returns name(a: string, b?: number), broken between the parameters where it is too wide.
func signature(s Screen, name string, params []string) string {
	for i, p := range params {
		params[i] = OneLine(p)
	}
	line := name + "(" + strings.Join(params, ", ") + ")"
	if s.Width <= 0 || ansi.StringWidth(line) <= s.Width || len(params) == 0 {
		return s.Paint(Strong, name) + line[len(name):]
	}
	const indent = "    "
	var lines []string
	current := ""
	for i, p := range params {
		if i < len(params)-1 {
			p += ","
		} else {
			p += ")"
		}
		switch {
		case current == "":
			current = p
		case ansi.StringWidth(indent+current+" "+p) <= s.Width:
			current += " " + p
		default:
			lines = append(lines, current)
			current = p
			if len(lines) == maxSignature {
				current = fmt.Sprintf("… and %d more)", len(params)-i)
			}
		}
		if len(lines) == maxSignature {
			break
		}
	}
	lines = append(lines, current)
	for i, l := range lines {
		lines[i] = indent + Cut(l, s.Width-len(indent))
	}
	return s.Paint(Strong, name) + "(\n" + strings.Join(lines, "\n")
}

// grid is the table of the members of an object.
type grid struct {
	screen Screen
	rows   []toolargs.Row
	// output is set for what a tool returns: what is required there is always there.
	output bool
}

// need says whether a member has to be given, or what it is if it is not.
func (g grid) need(r toolargs.Row) string {
	switch {
	case r.Required && g.output:
		return "always"
	case r.Required && r.Default == "":
		return "required"
	case r.Default != "" && ansi.StringWidth(r.Default) <= longDefault:
		return r.Default
	case r.Required:
		return "required"
	}
	return ""
}

// longDefault is the width of the longest default that has a place in its column.
const longDefault = 16

// notes are what is said below, or after, the description.
func (g grid) notes(r toolargs.Row) []string {
	notes := r.Notes
	if r.Default != "" && g.need(r) != r.Default {
		notes = append([]string{"default " + r.Default}, notes...)
	}
	return notes
}

func (g grid) write(b *strings.Builder) {
	if !g.screen.Terminal && g.screen.Width <= 0 {
		g.writePlain(b)
		return
	}
	const indent = 2
	width := g.screen.Width
	if width <= 0 {
		width = 1 << 20
	}
	titles := []string{"NAME", "TYPE", "DEFAULT"}
	if g.output {
		titles[2] = "THERE"
	}
	widths := []int{len(titles[0]), len(titles[1]), 0}
	most := []int{max(width*3/10, 12), max(width/5, 10), longDefault}
	for _, r := range g.rows {
		for i, text := range []string{r.Path, r.Type, g.need(r)} {
			if n := ansi.StringWidth(OneLine(text)); n > 0 && (n <= most[i] || i > 0) {
				widths[i] = max(widths[i], min(n, most[i]), len(titles[i]))
			}
		}
	}
	used := indent
	for _, w := range widths {
		if w > 0 {
			used += w + len(gap)
		}
	}
	if width-used < leastDescription {
		g.writeBelow(b, width)
		return
	}
	line := func(cells []string, style Style) string {
		var out strings.Builder
		out.WriteString(strings.Repeat(" ", indent))
		for i, w := range widths {
			if w == 0 {
				continue
			}
			text := cells[i]
			padding := strings.Repeat(" ", max(0, w-ansi.StringWidth(text)))
			if i == 0 && style == Plain {
				text = g.screen.Paint(Strong, text)
			} else {
				text = g.screen.Paint(style, text)
			}
			out.WriteString(text + padding + gap)
		}
		return out.String() + g.screen.Paint(style, cells[3])
	}
	b.WriteString(strings.TrimRight(line(append(titles, "DESCRIPTION"), Faint), " ") + "\n")
	for _, r := range g.rows {
		name := OneLine(r.Path)
		if ansi.StringWidth(name) > widths[0] { // it has a line of its own, and stays whole
			b.WriteString(strings.Repeat(" ", indent) + g.screen.Paint(Strong, name) + "\n")
			name = ""
		}
		columns := [][]string{
			{name}, strings.Split(wrapWords(OneLine(r.Type), widths[1]), "\n"), {OneLine(g.need(r))}, g.about(r, width-used),
		}
		height := 0
		for _, c := range columns {
			height = max(height, len(c))
		}
		for i := range height {
			cells := make([]string, len(columns))
			for j, c := range columns {
				if i < len(c) {
					cells[j] = c[i]
				}
			}
			b.WriteString(strings.TrimRight(line(cells, Plain), " ") + "\n")
		}
	}
}

// about returns the lines of a description and its notes.
func (g grid) about(r toolargs.Row, width int) []string {
	var lines []string
	if text := Prose(r.Description, width); text != "" {
		lines = strings.Split(text, "\n")
	}
	for _, note := range g.notes(r) {
		for part := range strings.SplitSeq(wrapWords(OneLine(note), width), "\n") {
			lines = append(lines, g.screen.Paint(Faint, part))
		}
	}
	return lines
}

// writeBelow writes each member with its description below it.
func (g grid) writeBelow(b *strings.Builder, width int) {
	const indent = "      "
	for _, r := range g.rows {
		rest := OneLine(r.Type)
		switch need := OneLine(g.need(r)); need {
		case "":
		case "required", "always":
			rest += ", " + need
		default:
			rest += ", default " + need
		}
		name := OneLine(r.Path)
		b.WriteString("  " + g.screen.Paint(Strong, name))
		if ansi.StringWidth(name)+len(gap)+ansi.StringWidth(rest)+2 <= width {
			b.WriteString(gap + rest + "\n")
		} else {
			b.WriteString("\n" + Wrap(rest, width, indent) + "\n")
		}
		for _, l := range g.about(r, max(width-len(indent), 10)) {
			b.WriteString(strings.TrimRight(indent+l, " ") + "\n")
		}
	}
}

// writePlain writes each member on one line.
func (g grid) writePlain(b *strings.Builder) {
	for _, r := range g.rows {
		need := OneLine(g.need(r))
		if need != "" && need != "required" && need != "always" {
			need = "default " + need
		}
		about := OneLine(r.Description)
		if notes := g.notes(r); len(notes) > 0 {
			about = strings.TrimSpace(about + " (" + OneLine(strings.Join(notes, "; ")) + ")")
		}
		b.WriteString(strings.Join([]string{OneLine(r.Path), OneLine(r.Type), need, about}, "\t") + "\n")
	}
}
