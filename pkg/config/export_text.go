package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

// dialect is how the files of a language are parsed and changed. Their texts have no byte order mark.
type dialect struct {
	// empty is the text of a file without anything in it.
	empty string
	parse func(name string, data []byte) (*yaml.Node, *Error)
	// put returns the text with an entry in it. Whether it means what it should is looked at afterwards.
	put func(text string, tree *yaml.Node, f Format, name string, entry *yaml.Node) (string, error)
}

func jsonDialect() dialect { return dialect{empty: "{}\n", parse: parseJSON, put: putJSON} }

// putJSON splices an entry into JSON.
func putJSON(text string, _ *yaml.Node, f Format, name string, entry *yaml.Node) (string, error) {
	// A comment at the end may lack its line end.
	root, err := hujson.Parse([]byte(text + "\n"))
	if err != nil {
		return "", errors.New("is no JSON")
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return "", errors.New("the file is no object")
	}
	wrapped := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(name), entry}}
	servers := memberOf(top, f.Key)
	if servers == nil {
		return insertMember(text, root, f.Key, wrapped), nil
	}
	object, ok := servers.Value.Value.(*hujson.Object)
	if !ok {
		return replaceValue(text, root, *servers, wrapped), nil
	}
	if old := memberOf(object, name); old != nil {
		return replaceValue(text, servers.Value, *old, entry), nil
	}
	return insertMember(text, servers.Value, name, entry), nil
}

// memberOf returns the member of a name.
func memberOf(o *hujson.Object, name string) *hujson.ObjectMember {
	for i, m := range o.Members {
		var own string
		if literal, ok := m.Name.Value.(hujson.Literal); ok && json.Unmarshal(literal, &own) == nil && own == name {
			return &o.Members[i]
		}
	}
	return nil
}

// replaceValue puts a value in the place of that of a member of an object.
func replaceValue(text string, object hujson.Value, m hujson.ObjectMember, value *yaml.Node) string {
	l := layoutOf(text, object)
	return text[:m.Value.StartOffset] + l.encode(value) + text[m.Value.EndOffset:]
}

// insertMember puts a member behind the last one of an object. Comments behind that one stay where they are.
func insertMember(text string, object hujson.Value, name string, value *yaml.Node) string {
	l := layoutOf(text, object)
	member := quoteJSON(name) + ": " + l.encode(value)
	o, _ := object.Value.(*hujson.Object)
	closing := object.EndOffset - 1
	last := object.StartOffset + 1 // behind the brace, the last value, or the comma behind that
	trailing := false
	if n := len(o.Members); n > 0 {
		last = o.Members[n-1].Value.EndOffset
		// The text behind the last value is white space, comments and at most one comma.
		if comma := commaIn(text[last:closing]); comma >= 0 {
			last, trailing = last+comma+1, true
		} else {
			text = text[:last] + "," + text[last:]
			last, closing = last+1, closing+1
		}
	}
	at := last + len(strings.TrimRight(text[last:closing], " \t\r\n"))
	if trailing {
		member += ","
	}
	switch {
	case l.oneLine && len(o.Members) > 0 && at == last:
		return text[:at] + " " + member + text[at:]
	case !strings.Contains(text[at:closing], "\n"):
		return text[:at] + "\n" + l.indent + member + "\n" + l.outer + text[closing:]
	}
	return text[:at] + "\n" + l.indent + member + text[at:]
}

// commaIn returns where a comma is outside comments, -1 if there is none.
func commaIn(text string) int {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		end := ""
		switch {
		case text[i] == ',':
			return i
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			continue
		}
		length := strings.Index(rest[2:], end)
		if length < 0 {
			return -1
		}
		i += length + 1 + len(end)
	}
	return -1
}

// layout is how the members of an object are laid out.
type layout struct {
	// outer is the indentation of the line of the object's brace, indent that of its members, and unit what each level adds.
	outer, indent, unit string
	// oneLine is set when the members follow the brace in its line.
	oneLine bool
}

func layoutOf(text string, object hujson.Value) layout {
	l := layout{outer: indentAt(text, object.StartOffset), unit: unitOf(text)}
	l.indent = l.outer + l.unit
	o, _ := object.Value.(*hujson.Object)
	if len(o.Members) == 0 {
		return l
	}
	last := o.Members[len(o.Members)-1].Name.StartOffset
	l.oneLine = !strings.Contains(text[object.StartOffset:last], "\n")
	if line := text[strings.LastIndexByte(text[:last], '\n')+1 : last]; strings.Trim(line, " \t") == "" {
		l.indent = line
		if more, ok := strings.CutPrefix(line, l.outer); ok && more != "" {
			l.unit = more
		}
	}
	return l
}

// unitOf returns the indentation of the first line that has one: it is that of the top level.
func unitOf(text string) string {
	for line := range strings.Lines(text) {
		if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, `"`) && len(rest) < len(line) {
			return line[:len(line)-len(rest)]
		}
	}
	return "  "
}

// indentAt returns the indentation of the line of an offset.
func indentAt(text string, offset int) string {
	line := text[strings.LastIndexByte(text[:offset], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// encode returns a value of a member as JSON.
func (l layout) encode(value *yaml.Node) string {
	var b strings.Builder
	if l.oneLine {
		encodeJSON(&b, value, "", "")
	} else {
		encodeJSON(&b, value, "\n"+l.indent, l.unit)
	}
	return b.String()
}

// encodeJSON writes a value; line begins its lines, and "" writes all on one.
func encodeJSON(b *strings.Builder, n *yaml.Node, line, unit string) {
	n = follow(n)
	if line != "" && n.Kind == yaml.SequenceNode {
		var short strings.Builder
		if encodeJSON(&short, n, "", ""); short.Len() <= flowWidth {
			line = ""
		}
	}
	inner := line
	if line != "" {
		inner += unit
	}
	begin := func(i int) {
		if i > 0 {
			b.WriteByte(',')
			if line == "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(inner)
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			begin(i)
			b.WriteString(quoteJSON(n.Content[i].Value) + ": ")
			encodeJSON(b, n.Content[i+1], inner, unit)
		}
		if len(n.Content) > 0 {
			b.WriteString(line)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			begin(i)
			encodeJSON(b, item, inner, unit)
		}
		if len(n.Content) > 0 {
			b.WriteString(line)
		}
		b.WriteByte(']')
	default:
		switch n.ShortTag() {
		case tagString:
			b.WriteString(quoteJSON(n.Value))
		case tagNull:
			b.WriteString("null")
		default:
			b.WriteString(n.Value)
		}
	}
}

// quoteJSON returns text as JSON, with < and > as people write them.
func quoteJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func yamlDialect() dialect { return dialect{parse: parseTree, put: putYAML} }

// putYAML splices an entry into YAML. What would have to write other lines anew is an error.
func putYAML(text string, _ *yaml.Node, f Format, name string, entry *yaml.Node) (string, error) {
	root, err := parseTree("", []byte(text))
	if err != nil {
		return "", err
	}
	var servers *yaml.Node
	if root != nil {
		servers = valueOf(root, f.Key)
	}
	whole := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(name), entry}}
	if f.list {
		whole = &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Content: []*yaml.Node{entry}}
	}
	indent := indentOf(root)
	switch {
	case root == nil || len(root.Content) == 0:
		encoded, err := encode(&yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(f.Key), whole}}, indent)
		if err != nil {
			return "", err
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + encoded, nil
	case servers == nil || len(servers.Content) == 0:
		if text, ok := splice(text, root, []string{f.Key}, textNode(f.Key), whole, indent); ok {
			return text, nil
		}
	case f.list:
		if text, ok := spliceItem(text, root, f.Key, name, entry, indent); ok {
			return text, nil
		}
	default:
		if text, ok := splice(text, root, []string{f.Key, name}, textNode(name), entry, indent); ok {
			return text, nil
		}
	}
	return "", errors.New(f.Key + " is not laid out in lines of its own")
}

// spliceItem puts an item into a list: in the place of the one of that name, or behind the last.
func spliceItem(text string, root *yaml.Node, key, name string, entry *yaml.Node, indent int) (string, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !ownLines(root, lines) {
		return "", false
	}
	list := valueOf(root, key)
	column := list.Column - 1
	for _, item := range list.Content {
		if line := lines[item.Line-1]; indentation(line) != column || !strings.HasPrefix(line[column:], "- ") {
			return "", false
		}
	}
	encoded, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Content: []*yaml.Node{entry}}, indent)
	if err != nil {
		return "", false
	}
	var piece []string
	for line := range strings.Lines(encoded) {
		piece = append(piece, strings.Repeat(" ", column)+strings.TrimSuffix(line, "\n"))
	}
	end := nextLine(root, indexOf(root, key), documentEnd(lines, root))
	if i := indexInList(list, name); i >= 0 {
		from, to := list.Content[i].Line-1, end
		if i+1 < len(list.Content) {
			to = list.Content[i+1].Line - 1
		}
		return joinLines(slices.Replace(lines, from, trimEnd(lines, from, to, len(text)), piece...)), true
	}
	at := trimEnd(lines, list.Content[len(list.Content)-1].Line-1, end, column)
	return joinLines(slices.Insert(lines, at, piece...)), true
}

func tomlDialect() dialect { return dialect{parse: parseTOML, put: putTOML} }

// putTOML puts a table at the end of a file of TOML, or in the place of the one that is there.
func putTOML(text string, tree *yaml.Node, f Format, name string, entry *yaml.Node) (string, error) {
	var b strings.Builder
	b.WriteString("[" + tomlKey(f.Key) + "." + tomlKey(name) + "]\n")
	for i := 0; i+1 < len(entry.Content); i += 2 {
		b.WriteString(tomlKey(entry.Content[i].Value) + " = ")
		encodeTOML(&b, entry.Content[i+1])
		b.WriteByte('\n')
	}
	table := b.String()
	if entryIn(tree, f, name) == nil {
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		return text + table, nil
	}
	from, to := -1, -1
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		switch path, isHeader := tomlHeader(line); {
		case !isHeader:
		case len(path) >= 2 && path[0] == f.Key && path[1] == name:
			if len(path) == 2 && from < 0 {
				from = i
			}
		case from >= 0 && to < 0:
			to = i
		}
	}
	if from < 0 {
		return "", errors.New("the entry has no table of its own")
	}
	if to < 0 {
		to = len(lines)
	}
	for to > from+1 && (isBlank(lines[to-1]) || isComment(lines[to-1])) {
		to-- // what stands above the next table is about that
	}
	return strings.Join(lines[:from], "") + table + strings.Join(lines[to:], ""), nil
}

// tomlHeader returns the keys in the header of a table.
func tomlHeader(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if !regexp.MustCompile(`^\[.*\]\s*(#.*)?$`).MatchString(line) {
		return nil, false
	}
	tree, err := parseTOML("", []byte(line))
	if err != nil {
		return nil, false
	}
	var path []string
	for n := tree; n.Kind == yaml.MappingNode && len(n.Content) == 2; n = n.Content[1] {
		path = append(path, n.Content[0].Value)
	}
	return path, len(path) > 0
}

// tomlKey returns a key, with quotes if it needs them.
func tomlKey(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return key
	}
	return tomlText(key)
}

// tomlText returns text between quotes. The escapes of JSON are some of TOML's, which wants one for DEL, too.
func tomlText(text string) string { return strings.ReplaceAll(quoteJSON(text), "\x7f", `\u007f`) }

// encodeTOML writes a value in one line.
func encodeTOML(b *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			encodeTOML(b, item)
		}
		b.WriteByte(']')
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(" " + tomlKey(n.Content[i].Value) + " = ")
			encodeTOML(b, n.Content[i+1])
		}
		b.WriteString(" }")
	default:
		if n.ShortTag() == tagString {
			b.WriteString(tomlText(n.Value))
		} else {
			b.WriteString(n.Value)
		}
	}
}
