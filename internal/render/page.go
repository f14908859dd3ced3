package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Page is one thing that a server offers, a resource or a prompt, as far as people want to read of it.
type Page struct {
	Name, Title, Description string
	// Facts are what is short enough for a line.
	Facts []Fact
	// Arguments are what it takes, under their Heading. If there are none, None says so; "" says nothing.
	Heading   string
	Arguments []Fact
	None      string
	// Example is a line to paste.
	Example string
}

// Fact is a text with a name.
type Fact struct{ Label, Text string }

// Write writes the page.
func (p Page) Write(w io.Writer, s Screen) error {
	width := s.Width
	if width <= 0 {
		width = defaultWidth
	}
	var b strings.Builder
	name := OneLine(p.Name)
	b.WriteString(s.Paint(Strong, name))
	if title := OneLine(p.Title); title != "" && title != name {
		if room := width - ansi.StringWidth(name) - len(gap); ansi.StringWidth(title) <= room {
			b.WriteString(gap + s.Paint(Faint, title))
		} else {
			b.WriteString("\n" + s.Paint(Faint, Cut(title, width)))
		}
	}
	b.WriteByte('\n')
	if text := Prose(p.Description, width); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	p.writeFacts(&b, s, width)
	switch {
	case len(p.Arguments) > 0:
		b.WriteString("\n" + s.Paint(Strong, p.Heading) + "\n")
		for _, f := range p.Arguments {
			writeArgument(&b, s, f, width)
		}
	case p.None != "":
		b.WriteString("\n" + p.None + "\n")
	}
	if p.Example != "" {
		b.WriteString("\n" + s.Paint(Strong, "Example:") + "\n  " + iostreams.Sanitize(p.Example) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFacts writes the facts below each other, aligned.
func (p Page) writeFacts(b *strings.Builder, s Screen, width int) {
	if len(p.Facts) == 0 {
		return
	}
	b.WriteByte('\n')
	column := 0
	for _, f := range p.Facts {
		column = max(column, ansi.StringWidth(f.Label))
	}
	for _, f := range p.Facts {
		label := f.Label + strings.Repeat(" ", column-ansi.StringWidth(f.Label))
		indent := strings.Repeat(" ", column+len(gap))
		text := Wrap(OneLine(f.Text), width, indent)
		b.WriteString(s.Paint(Faint, label) + gap + strings.TrimPrefix(text, indent) + "\n")
	}
}

// writeArgument writes an argument on one line, if it fits, else with what there is to say of it below.
func writeArgument(b *strings.Builder, s Screen, f Fact, width int) {
	name, about := OneLine(f.Label), OneLine(f.Text)
	line := "  " + s.Paint(Strong, name)
	switch {
	case about == "":
		b.WriteString(line + "\n")
	case len("  ")+ansi.StringWidth(name)+len(gap)+ansi.StringWidth(about) <= width:
		b.WriteString(line + gap + about + "\n")
	default:
		b.WriteString(line + "\n" + Wrap(about, width, "      ") + "\n")
	}
}

// Size says in words how many bytes there are.
func Size(n int) string { return size(n) }
