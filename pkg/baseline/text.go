package baseline

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// context is how much of a line stays around what differs in it.
	context = 24
	// longestPiece is how much is shown of a line that differs, and mostLines how many such lines.
	longestPiece, mostLines = 160, 6
	// longestValue is how much is shown of a value that is no text.
	longestValue = 100
)

// Detail shows the differences, several lines each: those of texts as they were and as they are.
func (c Change) Detail() []string {
	var lines []string
	for _, d := range c.Differences {
		before, isText := d.Before.(string)
		after, isTextToo := d.After.(string)
		switch {
		case isText && isTextToo && isProse(d.Path):
			lines = append(lines, d.Path+":")
			lines = append(lines, textDifference(before, after)...)
		case d.Path != "":
			lines = append(lines, fmt.Sprintf("%s: %s → %s", Visible(d.Path), shown(d.Before), shown(d.After)))
		}
	}
	return lines
}

// isProse reports whether the text at a path is for reading.
func isProse(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "description", "title", "$comment":
		return true
	}
	return false
}

// shown returns a value on one line, cut.
func shown(value any) string {
	if value == nil {
		return "none"
	}
	return cut(string(compact(value)), longestValue)
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// textDifference shows where two texts differ: the lines before with a minus, those after with a plus.
func textDifference(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 1 && len(b) == 1 {
		a[0], b[0] = focus(a[0], b[0])
	}
	return slices.Concat(marked("- ", a), marked("+ ", b))
}

func marked(sign string, lines []string) []string {
	var out []string
	for i, line := range lines {
		if i == mostLines {
			return append(out, fmt.Sprintf("%s… %d more lines", sign, len(lines)-i))
		}
		out = append(out, sign+cut(Visible(line), longestPiece))
	}
	return out
}

// focus cuts away what two lines have in common, but for a little around what differs.
func focus(before, after string) (string, string) {
	a, b := []rune(before), []rune(after)
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	to := 0
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	piece := func(r []rune) string {
		left, right := max(from-context, 0), min(len(r)-to+context, len(r))
		text := string(r[left:right])
		if left > 0 {
			text = "…" + text
		}
		if right < len(r) {
			text += "…"
		}
		return text
	}
	return piece(a), piece(b)
}

// hidden tells of characters in a text that cannot be seen and that were not in it before, "" if there are none.
func hidden(before, after any) string {
	old, _ := before.(string)
	text, _ := after.(string)
	var names []string
	for _, r := range text {
		if name := fmt.Sprintf("U+%04X", r); invisible(r) && !strings.ContainsRune(old, r) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
