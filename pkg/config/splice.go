package config

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// splice puts one key with its value into the lines of a text: in the place of the key at path if there is one, else
// after the last key beside it. With a nil key, the one at path is taken out with the comments directly above it. All
// other lines stay as they are. The tree root is the text's.
//
// It reports false where lines do not hold whole keys, as in {a: b}. It knows enough YAML for the files people write and
// may be wrong about others (a block scalar that ends in a line like a comment), so the caller compares what the new
// text means with what it should.
func splice(text string, root *yaml.Node, path []string, key, value *yaml.Node, indent int) (string, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	m, end := root, documentEnd(lines, root)
	for _, name := range path[:len(path)-1] {
		i := indexOf(m, name)
		if i < 0 || !ownLines(m, lines) {
			return "", false
		}
		end = nextLine(m, i, end)
		m = m.Content[i+1]
	}
	if !ownLines(m, lines) {
		return "", false
	}
	column := m.Content[0].Column - 1
	i := indexOf(m, path[len(path)-1])

	if key == nil {
		if i < 0 {
			return text, true
		}
		return cut(lines, above(lines, m, i), trimEnd(lines, m.Content[i].Line-1, nextLine(m, i, end), column)), true
	}
	piece, err := encodeKey(key, value, indent, column)
	if err != nil {
		return "", false
	}
	if i >= 0 {
		from, to := m.Content[i].Line-1, nextLine(m, i, end)
		if !holdsBlockScalar(m.Content[i+1]) {
			// Comments at the end belong to no line that is written anew, however deep they are.
			column = len(text)
		}
		return joinLines(slices.Replace(lines, from, trimEnd(lines, from, to, column), piece...)), true
	}
	last := len(m.Content) - 2
	at := trimEnd(lines, m.Content[last].Line-1, end, column)
	if head := above(lines, m, last); last > 0 && isBlank(lines[head-1]) {
		// The keys are set apart by blank lines, so this one is too.
		piece = append([]string{""}, piece...)
	}
	return joinLines(slices.Insert(lines, at, piece...)), true
}

// appendKeys puts keys with their values, by turns in pairs, after the last key of the mapping that the top-level key
// name has. It reports false where splice would.
func appendKeys(text string, root *yaml.Node, name string, pairs []*yaml.Node, indent int) (string, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	i := indexOf(root, name)
	if i < 0 || !ownLines(root, lines) || !ownLines(root.Content[i+1], lines) {
		return "", false
	}
	m, end := root.Content[i+1], nextLine(root, i, documentEnd(lines, root))
	column, last := m.Content[0].Column-1, len(m.Content)-2
	head := above(lines, m, last)
	apart := last > 0 && isBlank(lines[head-1])
	var piece []string
	for i := 0; i+1 < len(pairs); i += 2 {
		entry, err := encodeKey(pairs[i], pairs[i+1], indent, column)
		if err != nil {
			return "", false
		}
		if apart {
			piece = append(piece, "")
		}
		piece = append(piece, entry...)
	}
	return joinLines(slices.Insert(lines, trimEnd(lines, m.Content[last].Line-1, end, column), piece...)), true
}

// spliceWord puts a word in the place of a scalar that is written without quotes, or with quotes and nothing that needs
// an escape. It reports false for others.
func spliceWord(text string, old *yaml.Node, word string) (string, bool) {
	lines := strings.Split(text, "\n")
	if old.Line > len(lines) {
		return "", false
	}
	line := []rune(lines[old.Line-1])
	if old.Column > len(line) {
		return "", false
	}
	before, after := string(line[:old.Column-1]), string(line[old.Column-1:])
	for _, quote := range []string{"", `"`, "'"} {
		rest, ok := strings.CutPrefix(after, quote+old.Value+quote)
		if !ok {
			continue
		}
		piece, err := encode(textNode(word), 2)
		if err != nil {
			return "", false
		}
		lines[old.Line-1] = before + strings.TrimSuffix(piece, "\n") + rest
		return strings.Join(lines, "\n"), true
	}
	return "", false
}

// encodeKey returns the lines of one key with its value, indented to a column.
func encodeKey(key, value *yaml.Node, indent, column int) ([]string, error) {
	// The comments above and below stay in the text.
	bare := *key
	bare.HeadComment, bare.FootComment = "", ""
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{&bare, value}}, indent)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", column) + line
		}
	}
	return lines, nil
}

// ownLines reports whether m is a block mapping each of whose keys begins a line, all in the same column.
func ownLines(m *yaml.Node, lines []string) bool {
	if m.Kind != yaml.MappingNode || m.Style&yaml.FlowStyle != 0 || len(m.Content) == 0 {
		return false
	}
	column := m.Content[0].Column - 1
	for i := 0; i < len(m.Content); i += 2 {
		key := m.Content[i]
		if key.Line > len(lines) || key.Column-1 != column || indentation(lines[key.Line-1]) != column {
			return false
		}
	}
	return true
}

// nextLine returns the line after those that may belong to the i-th key: the next key's, or end.
func nextLine(m *yaml.Node, i, end int) int {
	if i+2 < len(m.Content) {
		return m.Content[i+2].Line - 1
	}
	return end
}

// trimEnd returns end without the blank lines and comments before it that are not indented deeper than column. They
// belong to what follows, or to nothing.
func trimEnd(lines []string, start, end, column int) int {
	for end > start+1 && (isBlank(lines[end-1]) || isComment(lines[end-1]) && indentation(lines[end-1]) <= column) {
		end--
	}
	return end
}

// above returns the first of the comment lines directly above the i-th key of m, or the key's own line.
func above(lines []string, m *yaml.Node, i int) int {
	line := m.Content[i].Line - 1
	column := m.Content[i].Column - 1
	for line > 0 && isComment(lines[line-1]) && indentation(lines[line-1]) == column {
		line--
	}
	return line
}

// cut returns the text without some lines, and with one blank line where there were two around them.
func cut(lines []string, from, to int) string {
	for to < len(lines) && isBlank(lines[to]) && (from == 0 || isBlank(lines[from-1])) {
		to++
	}
	for to == len(lines) && from > 0 && isBlank(lines[from-1]) {
		from--
	}
	return joinLines(slices.Delete(lines, from, to))
}

// documentEnd returns the line where the document ends by a marker, or the number of lines.
func documentEnd(lines []string, root *yaml.Node) int {
	for i := root.Line; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "...") || strings.HasPrefix(lines[i], "---") {
			return i
		}
	}
	return len(lines)
}

// holdsBlockScalar reports whether a value has text in the style of | or >, whose lines may look like comments.
func holdsBlockScalar(n *yaml.Node) bool {
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || slices.ContainsFunc(n.Content, holdsBlockScalar)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }
