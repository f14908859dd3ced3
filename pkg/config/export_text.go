package config

import (
	"bytes"
	"encoding/json"
	"errors"
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
