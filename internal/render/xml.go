package render

import (
	"strings"
	"unicode/utf8"
)

// xmlText is an XML 1.0 document that is written from its beginning to its end, indented. The standard library's encoder
// brings the names of all entities of HTML with it, which every command would set up when it starts.
type xmlText struct {
	p     pen
	begun bool
	depth int
}

// begin opens an element with attributes: names and values in turn.
func (x *xmlText) begin(name string, attributes ...string) {
	x.open(name, attributes)
	x.p.text("\n")
	x.depth++
}

// end closes the element that was opened last.
func (x *xmlText) end(name string) {
	x.depth--
	x.indent()
	x.p.text("</" + name + ">\n")
}

// leaf writes an element that holds text and no others.
func (x *xmlText) leaf(name, text string, attributes ...string) {
	x.open(name, attributes)
	x.p.text(escapeXML(text) + "</" + name + ">\n")
}

func (x *xmlText) open(name string, attributes []string) {
	if !x.begun {
		x.begun = true
		x.p.text(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	}
	x.indent()
	x.p.text("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		x.p.text(" " + attributes[i] + `="` + escapeXML(attributes[i+1]) + `"`)
	}
	x.p.text(">")
}

func (x *xmlText) indent() { x.p.text(strings.Repeat("  ", x.depth)) }

// escapeXML returns text as it may stand between tags and in an attribute. Line ends and tabs are written as numbers, since
// readers of attributes make spaces of them. What XML does not allow at all becomes U+FFFD (XML 1.0, 2.2 and 3.3.3).
func escapeXML(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch r {
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '\t':
			b.WriteString("&#x9;")
		case '\n':
			b.WriteString("&#xA;")
		case '\r':
			b.WriteString("&#xD;")
		default:
			if r < ' ' || r == 0xfffe || r == 0xffff || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
				r = utf8.RuneError
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
