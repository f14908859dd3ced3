package config

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A quick way to the tree of a file that is only read.
//
// yaml.v3 takes most of the time that a file of thousands of entries takes, for what no such file has: anchors, folded
// text, comments that belong to nodes. This reader knows the plain part of YAML in which those files are written: mappings
// and lists of scalars in block style, scalars of one line, lists of words in brackets. At the first thing that it does not
// know for certain it gives up, and yaml.v3 reads the file from its beginning: whatever is wrong with a file is told by the
// same words. So it never returns an error, and its tree is the one of yaml.v3 without the comments; a fuzz test compares
// the two. Files that are edited are read by yaml.v3 alone.

// quickTree returns the tree of data, which is UTF-8 text without control characters; false if it has to be read by yaml.v3.
func quickTree(data []byte) (*yaml.Node, bool) {
	for _, unusual := range []string{"\t", "\r", "\u0085", "\u2028", "\u2029", byteOrderMark} {
		if bytes.Contains(data, []byte(unusual)) {
			return nil, false
		}
	}
	q := &quickReader{text: string(data)}
	q.next()
	if q.over || q.indent != 0 {
		return nil, false
	}
	root := q.block(0)
	return root, !q.lost && q.over && root != nil && root.Kind == yaml.MappingNode
}

// quickReader reads one text. The current line is the next that is neither empty nor a comment.
type quickReader struct {
	text string
	// at is where the line after the current one begins, and number that of the current one.
	at, number int
	// line is the current line without the space around it, and indent how far it is from the margin.
	line   string
	indent int
	// over is set after the last line, lost when something is not known.
	over, lost bool

	// Nodes and their lists are cut from larger pieces.
	nodes []yaml.Node
	lists []*yaml.Node
	// open are the contents of the collections that are being read.
	open []*yaml.Node
}

// next goes to the next line.
func (q *quickReader) next() {
	for q.at < len(q.text) {
		line := q.text[q.at:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
			q.at++
		}
		q.at += len(line)
		q.number++
		trimmed := strings.TrimLeft(line, " ")
		q.indent = len(line) - len(trimmed)
		trimmed = strings.TrimRight(trimmed, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if q.indent == 0 && (strings.HasPrefix(trimmed, "---") || strings.HasPrefix(trimmed, "...") || trimmed[0] == '%') {
			q.lost = true
		}
		q.line = trimmed
		return
	}
	q.over, q.line = true, ""
}

// deepest and longest bound what is read: files are flat, and longer keys mean something else in YAML.
const (
	deepestQuick = 30
	longestQuick = 500
)

// block reads the collection that begins at the current line.
func (q *quickReader) block(depth int) *yaml.Node {
	if depth > deepestQuick {
		q.lost = true
	}
	if q.lost {
		return nil
	}
	if isItem(q.line) {
		return q.sequence()
	}
	indent, mark := q.indent, len(q.open)
	m := q.node(yaml.MappingNode, tagMap, "", q.number, indent+1)
	for !q.over && !q.lost && q.indent == indent && !isItem(q.line) {
		key, rest, ok := q.key()
		if !ok {
			q.lost = true
			break
		}
		q.open = append(q.open, key)
		if rest != "" {
			value := q.value(rest)
			q.next()
			if !q.over && q.indent > indent { // it goes on, or is a mistake
				q.lost = true
			}
			q.open = append(q.open, value)
			continue
		}
		q.next()
		// A list may begin below its key; what has no value at all is rare.
		if q.over || q.indent < indent || q.indent == indent && !isItem(q.line) {
			q.lost = true
			break
		}
		q.open = append(q.open, q.block(depth+1))
	}
	if !q.over && q.indent > indent {
		q.lost = true
	}
	return q.close(m, mark)
}

// sequence reads a list of scalars.
func (q *quickReader) sequence() *yaml.Node {
	indent, mark := q.indent, len(q.open)
	m := q.node(yaml.SequenceNode, tagSeq, "", q.number, indent+1)
	for !q.over && !q.lost && q.indent == indent && isItem(q.line) {
		rest := strings.TrimLeft(q.line[1:], " ")
		if rest == "" || isItem(rest) || rest[0] == '#' {
			q.lost = true
			break
		}
		q.open = append(q.open, q.value(rest))
		q.next()
	}
	if !q.over && q.indent > indent {
		q.lost = true
	}
	return q.close(m, mark)
}

// isItem reports whether a line is one of a list.
func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

// close gives a collection its contents.
func (q *quickReader) close(m *yaml.Node, mark int) *yaml.Node {
	const piece = 1024
	n := len(q.open) - mark
	if cap(q.lists)-len(q.lists) < n {
		q.lists = make([]*yaml.Node, 0, max(n, piece))
	}
	begin := len(q.lists)
	q.lists = append(q.lists, q.open[mark:]...)
	m.Content = q.lists[begin:len(q.lists):len(q.lists)]
	q.open = q.open[:mark]
	return m
}

// key takes a key of the current line apart from the rest.
func (q *quickReader) key() (key *yaml.Node, rest string, ok bool) {
	end := strings.IndexByte(q.line, ':')
	if end <= 0 || end > longestQuick {
		return nil, "", false
	}
	word := q.line[:end]
	if end+1 < len(q.line) && q.line[end+1] != ' ' {
		return nil, "", false
	}
	for i := range len(word) {
		c := word[i]
		if !isWordByte(c) && (i == 0 || c != '-') {
			return nil, "", false
		}
	}
	rest = strings.TrimLeft(q.line[end+1:], " ")
	if strings.HasPrefix(rest, "#") {
		if rest == q.line[end+1:] { // there is no space before it
			return nil, "", false
		}
		rest = ""
	}
	return q.scalar(word, q.number, q.indent+1), rest, true
}

// isWordByte reports whether a byte is one of words, which stand for themselves everywhere.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/'
}

// value reads what is behind a key, or behind the mark of an item. It is the end of the current line.
func (q *quickReader) value(rest string) *yaml.Node {
	column := q.indent + utf8.RuneCountInString(q.line[:len(q.line)-len(rest)]) + 1
	switch rest[0] {
	case '"', '\'':
		text, after, ok := quoted(rest)
		if !ok || !isEnd(after) {
			break
		}
		n := q.node(yaml.ScalarNode, tagString, text, q.number, column)
		n.Style = yaml.DoubleQuotedStyle
		if rest[0] == '\'' {
			n.Style = yaml.SingleQuotedStyle
		}
		return n
	case '[':
		if n, ok := q.flow(rest, column); ok {
			return n
		}
	default:
		if text, ok := plainText(rest); ok {
			return q.scalar(text, q.number, column)
		}
	}
	q.lost = true
	return nil
}

// quoted takes a text in quotes apart from what is behind it. There is none with escapes.
func quoted(text string) (inner, after string, ok bool) {
	inner, after, ok = strings.Cut(text[1:], text[:1])
	if !ok || text[0] == '"' && strings.Contains(inner, `\`) || text[0] == '\'' && strings.HasPrefix(after, "'") {
		return "", "", false
	}
	return inner, after, true
}

// isEnd reports whether nothing but a comment is left of a line.
func isEnd(after string) bool {
	return after == "" || strings.HasPrefix(strings.TrimLeft(after, " "), "#") && after[0] == ' '
}

// plainText returns a plain scalar without the comment behind it.
func plainText(rest string) (string, bool) {
	if i := strings.Index(rest, " #"); i >= 0 {
		rest = strings.TrimRight(rest[:i], " ")
	}
	if rest == "" || strings.HasSuffix(rest, ":") || strings.Contains(rest, ": ") {
		return "", false
	}
	switch c := rest[0]; {
	case isWordByte(c), c == '$', c == '+', c == '(':
	case c == '-' && len(rest) > 1 && rest[1] != ' ':
	case c >= utf8.RuneSelf:
	default:
		return "", false
	}
	return rest, true
}

// flow reads a list of words in brackets.
func (q *quickReader) flow(rest string, column int) (*yaml.Node, bool) {
	mark := len(q.open)
	m := q.node(yaml.SequenceNode, tagSeq, "", q.number, column)
	m.Style = yaml.FlowStyle
	left := rest[1:]
	at := func() int { return column + utf8.RuneCountInString(rest[:len(rest)-len(left)]) }
	for first := true; ; first = false {
		left = strings.TrimLeft(left, " ")
		if first && strings.HasPrefix(left, "]") {
			break
		}
		if left == "" {
			return nil, false
		}
		if left[0] == '"' || left[0] == '\'' {
			text, after, ok := quoted(left)
			if !ok {
				return nil, false
			}
			n := q.node(yaml.ScalarNode, tagString, text, q.number, at())
			n.Style = yaml.DoubleQuotedStyle
			if left[0] == '\'' {
				n.Style = yaml.SingleQuotedStyle
			}
			q.open = append(q.open, n)
			left = after
		} else {
			word := left
			if end := strings.IndexAny(left, ",]"); end >= 0 {
				word = left[:end]
			}
			word = strings.TrimRight(word, " ")
			if !isFlowWord(word) {
				return nil, false
			}
			q.open = append(q.open, q.scalar(word, q.number, at()))
			left = left[len(word):]
		}
		left = strings.TrimLeft(left, " ")
		if left == "" || left[0] == ']' {
			break
		}
		if left[0] != ',' {
			return nil, false
		}
		left = left[1:]
	}
	if left == "" || !isEnd(left[1:]) {
		return nil, false
	}
	return q.close(m, mark), true
}

// isFlowWord reports whether a word stands for itself in brackets.
func isFlowWord(word string) bool {
	for i := range len(word) {
		c := word[i]
		inside := i > 0 && i < len(word)-1 && (c == ':' || c == '=' || c == '@' || c == '+')
		if !isWordByte(c) && !inside && (c != '-' || len(word) == 1) {
			return false
		}
	}
	return word != ""
}

// scalar returns a plain scalar, with the tag that it has in YAML.
func (q *quickReader) scalar(text string, line, column int) *yaml.Node {
	n := q.node(yaml.ScalarNode, tagString, text, line, column)
	if !isPlainlyText(text) {
		n.Tag = ""
		n.Tag = n.ShortTag()
	}
	return n
}

// isPlainlyText reports whether a plain scalar can be seen to be text without trying what else it may be: true, false, yes, no,
// on, off, null and their like by their first letter, numbers and dates by letters that they never have, as in 10s.
func isPlainlyText(text string) bool {
	switch c := text[0] | 0x20; {
	case c >= 'a' && c <= 'z':
		return !strings.ContainsRune("fnoty", rune(c))
	case text[0] >= '0' && text[0] <= '9':
		return strings.ContainsAny(text, "hms")
	}
	return false
}

func (q *quickReader) node(kind yaml.Kind, tag, value string, line, column int) *yaml.Node {
	const first, most = 16, 256
	if len(q.nodes) == cap(q.nodes) {
		q.nodes = make([]yaml.Node, 0, min(max(first, 2*cap(q.nodes)), most))
	}
	q.nodes = append(q.nodes, yaml.Node{Kind: kind, Tag: tag, Value: value, Line: line, Column: column})
	return &q.nodes[len(q.nodes)-1]
}
