package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
	"gopkg.in/yaml.v3"
)

// This file makes of TOML the tree that the rest of the package walks, as json.go does of JSON. A key or a table that is
// there twice is twice in the tree, so that whoever walks it tells both places.

// isTOMLName reports whether a file is called as files of TOML are.
func isTOMLName(name string) bool { return strings.EqualFold(filepath.Ext(name), ".toml") }

// isYAMLName reports whether a file is called as files of YAML are.
func isYAMLName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		return true
	}
	return false
}

// looksLikeTOML reports whether the first line that says something is the header of a table, or a key with a value, as
// neither JSON nor YAML has them.
func looksLikeTOML(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return regexp.MustCompile(`^(\[\[?\s*[\w"'][^\]]*\]\]?\s*(#.*)?|[\w.-]+\s*=.*)$`).Match(line)
		}
	}
	return false
}

// parseTOML returns the tree of data, with the places in it.
func parseTOML(file string, data []byte) (*yaml.Node, *Error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if !utf8.Valid(data) {
		return nil, notText(file, data)
	}
	t := tomlTree{file: file, data: data, lines: lineStarts(data), kinds: map[*yaml.Node]tomlKind{}, members: map[*yaml.Node]map[string]*yaml.Node{}}
	root := t.table(tomlOpen)
	root.Line, root.Column = 1, 1
	if err := t.read(root); err != nil {
		return nil, err
	}
	return root, nil
}

// lineStarts returns the offset of each line.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// tomlKind says how a table came to be, and so what may still be added to it.
type tomlKind int

const (
	// tomlOpen is a table that only the header of one below it has named so far, and may get one of its own.
	tomlOpen tomlKind = iota
	// tomlNamed is a table with a header. Other headers may name tables below it.
	tomlNamed
	// tomlDotted is a table that a dotted key has made. More such keys may follow.
	tomlDotted
	// tomlClosed is one that is written between braces.
	tomlClosed
)

// tomlTree makes a tree.
type tomlTree struct {
	file   string
	data   []byte
	lines  []int
	parser unstable.Parser
	kinds  map[*yaml.Node]tomlKind
	// members are the values of a table by their keys: of several the last.
	members map[*yaml.Node]map[string]*yaml.Node
}

// read puts everything that the file says into root.
func (t *tomlTree) read(root *yaml.Node) (err *Error) {
	defer func() {
		if r := recover(); r != nil { // the parser has panics for states that its authors thought impossible
			err = &Error{File: t.file, Line: 1, Message: fmt.Sprintf("cannot be read as TOML: %v", r)}
		}
	}()
	t.parser.Reset(t.data)
	current := root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		if e.Kind == unstable.KeyValue {
			if err := t.keyValue(current, e, 0); err != nil {
				return err
			}
			continue
		}
		path := t.path(e.Key())
		if err := t.tooDeep(path); err != nil {
			return err
		}
		current = t.header(root, path, e.Kind == unstable.ArrayTable)
	}
	if err := t.parser.Error(); err != nil {
		return t.failed(err)
	}
	return nil
}

// failed returns what the parser says, with its place.
func (t *tomlTree) failed(err error) *Error {
	e := &Error{File: t.file, Line: 1, Message: err.Error()}
	var at *unstable.ParserError
	if !errors.As(err, &at) {
		return e
	}
	if len(at.Highlight) > 0 {
		e.Line, e.Column = t.place(int(t.parser.Range(at.Highlight).Offset))
	} else {
		e.Line = len(t.lines)
	}
	switch {
	case strings.Contains(e.Message, "start of value"), strings.HasPrefix(e.Message, "expected keyword"):
		e.Message, e.Hint = "neither text in quotes, nor a number, true or false", "put double quotes around text"
	case strings.Contains(e.Message, "invalid escape"):
		e.Hint = `write \\ for a backslash, or put single quotes around the text`
	}
	return e
}

// place returns the line and the column of an offset.
func (t *tomlTree) place(offset int) (line, column int) {
	i, found := slices.BinarySearch(t.lines, offset)
	if !found {
		i--
	}
	return i + 1, utf8.RuneCount(t.data[t.lines[i]:offset]) + 1
}

// at puts a place into a node.
func (t *tomlTree) at(n *yaml.Node, raw unstable.Range) *yaml.Node {
	n.Line, n.Column = t.place(int(raw.Offset))
	return n
}

func (t *tomlTree) table(kind tomlKind) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	t.kinds[n], t.members[n] = kind, map[string]*yaml.Node{}
	return n
}

// path returns the keys that lead somewhere.
func (t *tomlTree) path(keys unstable.Iterator) []*yaml.Node {
	var path []*yaml.Node
	for keys.Next() {
		k := keys.Node()
		path = append(path, t.at(&yaml.Node{Kind: yaml.ScalarNode, Tag: tagString, Value: string(k.Data)}, k.Raw))
	}
	return path
}

// tooDeep refuses what no client's file comes near: the walk of a tree calls itself.
func (t *tomlTree) tooDeep(path []*yaml.Node) *Error {
	if len(path) > deepestJSON {
		return &Error{File: t.file, Line: path[0].Line, Column: path[0].Column, Message: fmt.Sprintf("is nested deeper than %d levels", deepestJSON)}
	}
	return nil
}

// put adds a member to a table.
func (t *tomlTree) put(table, key, value *yaml.Node) *yaml.Node {
	if value.Line == 0 {
		value.Line, value.Column = key.Line, key.Column
	}
	table.Content = append(table.Content, key, value)
	t.members[table][key.Value] = value
	return value
}

// header returns the table that a header begins.
func (t *tomlTree) header(root *yaml.Node, path []*yaml.Node, isList bool) *yaml.Node {
	table := root
	for _, key := range path[:len(path)-1] {
		next := t.members[table][key.Value]
		if next != nil && next.Kind == yaml.SequenceNode && t.kinds[next] == tomlNamed {
			next = next.Content[len(next.Content)-1]
		}
		if next == nil || next.Kind != yaml.MappingNode || t.kinds[next] == tomlClosed {
			next = t.put(table, key, t.table(tomlOpen))
		}
		table = next
	}
	key := path[len(path)-1]
	there := t.members[table][key.Value]
	if isList {
		if there == nil || there.Kind != yaml.SequenceNode || t.kinds[there] != tomlNamed {
			there = t.put(table, key, &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq})
			t.kinds[there] = tomlNamed
		}
		item := t.table(tomlNamed)
		item.Line, item.Column = key.Line, key.Column
		there.Content = append(there.Content, item)
		return item
	}
	if there != nil && there.Kind == yaml.MappingNode && t.kinds[there] == tomlOpen {
		t.kinds[there] = tomlNamed
		return there
	}
	return t.put(table, key, t.table(tomlNamed))
}

// keyValue adds a key, which may be dotted, with its value.
func (t *tomlTree) keyValue(table *yaml.Node, e *unstable.Node, depth int) *Error {
	path := t.path(e.Key())
	if err := t.tooDeep(path); err != nil {
		return err
	}
	for _, key := range path[:len(path)-1] {
		next := t.members[table][key.Value]
		if next == nil || next.Kind != yaml.MappingNode || t.kinds[next] != tomlDotted {
			next = t.put(table, key, t.table(tomlDotted))
		}
		table = next
	}
	key := path[len(path)-1]
	value, err := t.value(e.Value(), key, depth)
	if err != nil {
		return err
	}
	t.put(table, key, value)
	return nil
}

// value returns the node of a value, which stands behind key.
func (t *tomlTree) value(v *unstable.Node, key *yaml.Node, depth int) (*yaml.Node, *Error) {
	if depth > deepestJSON {
		return nil, &Error{File: t.file, Line: key.Line, Column: key.Column, Message: fmt.Sprintf("is nested deeper than %d levels", deepestJSON)}
	}
	if v.Kind == unstable.Array {
		// The parser does not tell where a list begins.
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Line: key.Line, Column: key.Column}
		for children := v.Children(); children.Next(); {
			item, err := t.value(children.Node(), key, depth+1)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	}
	if v.Kind == unstable.InlineTable {
		table := t.at(t.table(tomlClosed), v.Raw)
		for children := v.Children(); children.Next(); {
			if err := t.keyValue(table, children.Node(), depth+1); err != nil {
				return nil, err
			}
		}
		return table, nil
	}
	return t.at(tomlScalar(v), v.Raw), nil
}

// tomlScalar returns the node of a value that holds no others. Numbers are written as JSON does.
func tomlScalar(v *unstable.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tagTimestamp, Value: string(v.Data)}
	switch v.Kind { //nolint:exhaustive // the others are dates and times
	case unstable.String:
		n.Tag, n.Style = tagString, yaml.DoubleQuotedStyle
	case unstable.Bool:
		n.Tag = tagBool
	case unstable.Integer:
		n.Tag = tagInt
		if number, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			n.Value = strconv.FormatInt(number, 10)
		}
	case unstable.Float:
		n.Tag, n.Value = tagFloat, strings.ReplaceAll(n.Value, "_", "")
	}
	return n
}
