package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Tool is a tool as a server describes it, as far as people want to read it.
type Tool struct {
	Name, Title, Description string
	// Hints are what the server says about calling it, in words.
	Hints  []string
	Params []Param
	// Example is the line of a call.
	Example string
}

// Param is a parameter of a tool.
type Param struct {
	// Line is its name and, after two spaces, its type and what else is short.
	Line        string
	Description string
}

// pageWidth is the width of a page where nobody says how wide it may be.
const pageWidth = 80

// ToolPage writes everything about one tool.
func ToolPage(w io.Writer, s Screen, t Tool) error {
	width := s.Width
	if width <= 0 {
		width = pageWidth
	}
	var b strings.Builder
	name := OneLine(t.Name)
	b.WriteString(s.Paint(Strong, name))
	room := width - ansi.StringWidth(name) - len(gap)
	if title := OneLine(t.Title); title != "" && title != t.Name && room > 0 {
		b.WriteString(gap + s.Paint(Faint, Cut(title, room)))
	}
	b.WriteByte('\n')
	if text := strings.TrimSpace(iostreams.Sanitize(t.Description)); text != "" {
		b.WriteString(Wrap(text, width, "") + "\n")
	}
	if len(t.Hints) > 0 {
		b.WriteString(s.Paint(Faint, Wrap("The server says: "+strings.Join(t.Hints, ", "), width, "")) + "\n")
	}
	if len(t.Params) > 0 {
		b.WriteString("\n" + s.Paint(Strong, "Parameters:") + "\n")
		for _, p := range t.Params {
			writeParam(&b, s, p, width)
		}
	} else {
		b.WriteString("\nIt takes no parameters that its schema tells of.\n")
	}
	b.WriteString("\n" + s.Paint(Strong, "Example:") + "\n  " + iostreams.Sanitize(t.Example) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeParam writes a parameter on one line, if it fits, else with its description below.
func writeParam(b *strings.Builder, s Screen, p Param, width int) {
	const indent = "      "
	line := iostreams.Sanitize(p.Line)
	name, rest, _ := strings.Cut(line, "  ")
	about := strings.TrimSpace(iostreams.Sanitize(p.Description))
	one := OneLine(about)
	if one == "" || len("  ")+ansi.StringWidth(line)+len(gap)+ansi.StringWidth(one) <= width && !strings.Contains(about, "\n") {
		b.WriteString(strings.TrimRight("  "+s.Paint(Strong, name)+gap+rest+gap+one, " ") + "\n")
		return
	}
	b.WriteString("  " + s.Paint(Strong, name))
	if ansi.StringWidth(line)+len("  ") <= width {
		b.WriteString(gap + rest + "\n")
	} else {
		b.WriteString("\n" + Wrap(rest, width, indent) + "\n")
	}
	b.WriteString(Wrap(about, width, indent) + "\n")
}
