package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes value as one document, indented by two spaces, on a terminal and in a pipe alike. What is a
// [json.RawMessage] in it keeps its digits, its keys and their order.
func JSON(w io.Writer, s Screen, value any) error {
	p, err := part(value)
	if err != nil {
		return err
	}
	if len(p.parts) == 0 {
		doc := p.doc
		if s.Terminal {
			doc = escapeFormat(doc)
		}
		_, err = w.Write(doc)
		return err
	}
	d := indenter{w: bufio.NewWriterSize(w, outPiece), terminal: s.Terminal}
	for _, piece := range p.pieces() {
		_, _ = d.Write(piece) // Flush tells
	}
	_ = d.w.WriteByte('\n')
	return d.w.Flush()
}

// Marshal returns value as an indented document with a line end, without escaping the characters of HTML.
func Marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// escapeFormat writes the controls and format characters that JSON allows as they are in their escaped form, which
// means the same: such a character can only stand inside a string.
func escapeFormat(doc []byte) []byte {
	if bytes.IndexFunc(doc, func(r rune) bool { return !harmless(r) }) < 0 {
		return doc
	}
	var b bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case harmless(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := surrogates(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

// EditStrings returns the JSON text doc with every string value replaced by what edit returns for it. Path holds the
// keys and "[]" for the elements of arrays, from the root on. Keys are not edited, and nothing but the strings that
// changed is written anew: numbers keep their digits and objects their order.
func EditStrings(doc []byte, edit func(path []string, text string) string) ([]byte, error) {
	if !json.Valid(doc) {
		return nil, fmt.Errorf("edit JSON: not valid")
	}
	e := editor{in: doc, edit: edit}
	e.value()
	return append(e.out, e.in[e.pos:]...), nil
}

// editor copies a valid JSON text, string by string.
type editor struct {
	in   []byte
	pos  int
	out  []byte
	path []string
	edit func([]string, string) string
}

// structural copies everything up to and including the next byte that structures the text, and returns that byte. The
// opening quote of a string is not copied.
func (e *editor) structural() byte {
	start := e.pos
	for e.pos < len(e.in) {
		c := e.in[e.pos]
		switch c {
		case '"':
			e.out = append(e.out, e.in[start:e.pos]...)
			return c
		case '{', '}', '[', ']', ':', ',':
			e.pos++
			e.out = append(e.out, e.in[start:e.pos]...)
			return c
		}
		e.pos++
	}
	e.out = append(e.out, e.in[start:]...)
	return 0
}

// text moves past the string that begins here and returns it with its quotes.
func (e *editor) text() []byte {
	start := e.pos
	for e.pos++; e.in[e.pos] != '"'; e.pos++ {
		if e.in[e.pos] == '\\' {
			e.pos++
		}
	}
	e.pos++
	return e.in[start:e.pos]
}

// value copies one value and what follows it up to the structural byte after it, which it returns.
func (e *editor) value() byte {
	switch c := e.structural(); c {
	case '"':
		e.string()
		return e.structural()
	case '{':
		e.object()
		return e.structural()
	case '[':
		e.array()
		return e.structural()
	default: // a number or a word was copied on the way to c
		return c
	}
}

func (e *editor) object() {
	for {
		if c := e.structural(); c != '"' {
			return // the object was empty
		}
		quoted := e.text()
		e.out = append(e.out, quoted...)
		var key string
		_ = json.Unmarshal(quoted, &key) // valid, as the whole is
		e.structural()                   // the colon
		e.path = append(e.path, key)
		end := e.value()
		e.path = e.path[:len(e.path)-1]
		if end != ',' {
			return
		}
	}
}

func (e *editor) array() {
	e.path = append(e.path, "[]")
	defer func() { e.path = e.path[:len(e.path)-1] }()
	end := e.value()
	for end == ',' {
		end = e.value()
	}
}

func (e *editor) string() {
	quoted := e.text()
	var text string
	_ = json.Unmarshal(quoted, &text) // valid, as the whole is
	edited := e.edit(e.path, text)
	if edited == text {
		e.out = append(e.out, quoted...)
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(edited) // a string can always be encoded
	e.out = append(e.out, bytes.TrimRight(b.Bytes(), "\n")...)
}
