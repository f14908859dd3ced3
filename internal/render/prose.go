package render

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Prose makes a server's text of several paragraphs ready to be read: harmless, without the indentation that all of its
// lines share, and broken at the width, if there is one. What Markdown gives a meaning stays recognisable: lists hang,
// headings stand alone, and code and tables are left as they are. Lines that somebody broke at the width of an editor are
// joined where the text goes on.
func Prose(text string, width int) string {
	text = iostreams.Sanitize(strings.ReplaceAll(text, "\r\n", "\n"))
	lines := dedent(strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n"))
	var out []string
	f := proseFormat{width: width}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \r")
		if fence := fenceOf(line); fence != "" {
			end := i + 1
			for end < len(lines) && fenceOf(lines[end]) != fence {
				end++
			}
			out = append(out, lines[i:min(end+1, len(lines))]...)
			i = end
			continue
		}
		if line == "" {
			if len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "")
			}
			continue
		}
		for width > 0 && !f.verbatim(line) && i+1 < len(lines) && f.goesOn(line, lines[i+1]) {
			i++
			line += " " + strings.TrimSpace(lines[i])
		}
		out = append(out, f.wrap(line)...)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, "\n")
}

// dedent takes away the indentation that all lines but the first share: it comes from the source code in which the text
// stands.
func dedent(lines []string) []string {
	if first := strings.TrimSpace(lines[0]); strings.HasSuffix(first, ":") || marker(first) > 0 {
		return lines // what follows belongs to it
	}
	least := -1
	for i, line := range lines {
		if n := indentation(line); i > 0 && strings.TrimSpace(line) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		switch {
		case i == 0:
			out[i] = strings.TrimLeft(line, " ")
		case least > 0 && len(line) >= least:
			out[i] = line[least:]
		default:
			out[i] = strings.TrimLeft(line, " ")
			if least <= 0 {
				out[i] = line
			}
		}
	}
	return out
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// fenceOf returns the marks that begin or end a block of code on a line, "" if there are none.
func fenceOf(line string) string {
	line = strings.TrimSpace(line)
	for _, fence := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, fence) {
			return fence
		}
	}
	return ""
}

type proseFormat struct{ width int }

// verbatim reports whether a line means something only as it is: a row of a table.
func (proseFormat) verbatim(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "|") }

// marker returns the length of the mark that begins an item of a list, with its space; 0 if there is none.
func marker(line string) int {
	return len(regexp.MustCompile(`^([-*+•]|\d{1,3}[.)]) +`).FindString(line))
}

// goesOn reports whether next is the same sentence as line: it was broken because the line was full. What may be a line of
// its own stays one.
func (f proseFormat) goesOn(line, next string) bool {
	const full = 40 // columns; nobody breaks a line that is shorter
	trimmed := strings.TrimSpace(next)
	indent := indentation(line)
	if m := marker(strings.TrimLeft(line, " ")); m > 0 {
		indent += m // the rest of an item stands below its text
		if n := indentation(next); n == indentation(line) {
			indent = n
		}
	}
	switch {
	case trimmed == "" || ansi.StringWidth(line) < full || strings.HasPrefix(strings.TrimSpace(line), "#"):
		return false
	case indentation(next) != indent || marker(trimmed) > 0 || fenceOf(trimmed) != "" || f.verbatim(trimmed):
		return false
	case strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ">"):
		return false
	case strings.ContainsRune(".!?:;", rune(line[len(line)-1])):
		return false
	}
	// "limit: how many" and "Returns:" begin something new.
	return !regexp.MustCompile(`^[\w .()\[\]*-]{1,40}:( |$)`).MatchString(trimmed)
}

// wrap breaks one line, with what follows below the beginning of its text.
func (f proseFormat) wrap(line string) []string {
	if f.width <= 0 || ansi.StringWidth(line) <= f.width || f.verbatim(line) {
		return []string{line}
	}
	indent := indentation(line)
	hang := marker(line[indent:])
	if hang == 0 && indent > 0 {
		hang = 2 // so that the lines of a list without marks stay apart
	}
	if indent+hang > f.width/2 { // nothing would be left
		indent, hang = 0, 0
		line = strings.TrimLeft(line, " ")
	}
	room := f.width - indent - hang
	mark, text := line[:indent+hang], line[indent+hang:]
	if marker(line[indent:]) == 0 {
		mark, text = line[:indent], line[indent:]
	}
	var out []string
	for i, part := range strings.Split(wrapWords(text, room), "\n") {
		if i == 0 {
			out = append(out, mark+part)
			continue
		}
		out = append(out, strings.Repeat(" ", indent+hang)+part)
	}
	return out
}
