package render

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// How large documents are written.
//
// A document holds what a server sent as raw JSON, 50 MB of it at times. encoding/json would copy that several times over.
// So it is given the document without the large parts, which are put into their places while the whole is written, in
// pieces.

const (
	// largePart is from which size on a raw message is left out, in bytes.
	largePart = 256 << 10
	// outPiece is how much is written at a time.
	outPiece = 64 << 10
)

// parted is a document with its large parts left out.
type parted struct {
	// doc is the document as encoding/json wrote it, with words in place of the large parts.
	doc []byte
	// words stand for the parts, each a JSON string that nobody else can have written.
	words [][]byte
	parts []json.RawMessage
}

// part encodes a value. What is large is looked for in raw messages: the value itself, the fields of a struct, and the
// elements of those that are lists.
func part(value any) (parted, error) {
	var p parted
	nonce := rand.Text()
	swap := func(raw json.RawMessage) (json.RawMessage, error) {
		if len(raw) < largePart {
			return raw, nil
		}
		if !rawjson.Valid(raw) {
			return nil, fmt.Errorf("encode: a part of %d bytes is not JSON", len(raw))
		}
		word := fmt.Appendf(nil, `"part %d %s"`, len(p.parts), nonce)
		p.words, p.parts = append(p.words, word), append(p.parts, validText(raw))
		return word, nil
	}
	value, err := swapped(value, swap)
	if err != nil {
		return p, err
	}
	p.doc, err = Marshal(value)
	p.doc = validText(p.doc)
	return p, err
}

// validText returns JSON with U+FFFD in place of bytes that are no UTF-8, as servers of another encoding send them: a document
// with such bytes is no JSON to many readers. See RFC 8259, section 8.1.
func validText(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte(string(utf8.RuneError)))
}

// swapped returns value with each raw message in it replaced.
func swapped(value any, swap func(json.RawMessage) (json.RawMessage, error)) (any, error) {
	v := reflect.ValueOf(value)
	if raw, ok := value.(json.RawMessage); ok {
		return swap(raw)
	}
	if v.Kind() != reflect.Struct {
		return value, nil
	}
	changed := reflect.New(v.Type()).Elem()
	changed.Set(v)
	for _, field := range changed.Fields() {
		if !field.CanSet() {
			continue
		}
		switch held := field.Interface().(type) {
		case json.RawMessage:
			raw, err := swap(held)
			if err != nil {
				return nil, err
			}
			field.SetBytes(raw)
		case []json.RawMessage:
			held = slices.Clone(held)
			for i, each := range held {
				var err error
				if held[i], err = swap(each); err != nil {
					return nil, err
				}
			}
			field.Set(reflect.ValueOf(held))
		}
	}
	return changed.Interface(), nil
}

// pieces returns the document as slices that follow one another.
func (p parted) pieces() [][]byte {
	var out [][]byte
	rest := p.doc
	for i, word := range p.words {
		before, after, _ := bytes.Cut(rest, word)
		out, rest = append(out, before, p.parts[i]), after
	}
	return append(out, rest)
}

// value returns the document as values of jq: numbers keep their digits.
func (p parted) value() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(p.doc))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if len(p.parts) == 0 {
		return doc, nil
	}
	parts := map[string]json.RawMessage{}
	for i, word := range p.words {
		parts[string(word[1:len(word)-1])] = p.parts[i]
	}
	return filled(doc, parts, texts{}), nil
}

// filled returns a value with the parts in their places.
func filled(value any, parts map[string]json.RawMessage, known texts) any {
	switch v := value.(type) {
	case string:
		if raw, ok := parts[v]; ok {
			return valueOf(raw, known)
		}
	case []any:
		for i := range v {
			v[i] = filled(v[i], parts, known)
		}
	case map[string]any:
		for key := range v {
			v[key] = filled(v[key], parts, known)
		}
	}
	return value
}

// texts are keys and texts of a document that may come again: in the report about a thousand servers nearly all do.
type texts map[string]string

const (
	// mostTexts are known at most, and longestText is how long they are: what is longer, or comes later, does not come often.
	mostTexts   = 4096
	longestText = 256
)

// one returns the text, or the same one that is known.
func (t texts) one(text string) string {
	if known, ok := t[text]; ok {
		return known
	}
	if len(t) < mostTexts && len(text) <= longestText {
		t[text] = text
	}
	return text
}

// valueOf decodes valid JSON as encoding/json does with UseNumber, with one copy of each text, and of those that are known none.
func valueOf(raw []byte, known texts) any {
	raw, _, _ = rawjson.Next(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '{':
		object := map[string]any{}
		rawjson.Object(raw, func(key string, value []byte) { object[known.one(key)] = valueOf(value, known) })
		return object
	case '[':
		array := []any{}
		for element := range rawjson.Elements(raw) {
			array = append(array, valueOf(element, known))
		}
		return array
	case '"':
		text, _ := rawjson.String(raw)
		return known.one(text)
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(known.one(string(raw)))
}

// indenter writes JSON that comes in pieces as encoding/json indents it, by two spaces. On a terminal it writes the
// controls and format characters that JSON allows as they are in their escaped form, see [escapeFormat].
type indenter struct {
	w        *bufio.Writer
	terminal bool

	depth int
	// fresh is set after an opening bracket: what follows is on a line of its own, unless it is the closing one.
	fresh           bool
	quoted, escaped bool
	character       []byte // the beginning of a character that the last piece cut in two
}

// Write takes the next piece. The JSON must be valid.
func (d *indenter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if d.quoted {
			end := d.inside(p)
			d.text(p[:end])
			p = p[end:]
			continue
		}
		c := p[0]
		p = p[1:]
		switch c {
		case ' ', '\n', '\t', '\r':
			continue
		case '}', ']':
			d.depth--
			if !d.fresh {
				d.line()
			}
			d.fresh = false
			_ = d.w.WriteByte(c)
			continue
		}
		if d.fresh {
			d.fresh = false
			d.line()
		}
		_ = d.w.WriteByte(c)
		switch c {
		case '"':
			d.quoted = true
		case '{', '[':
			d.depth++
			d.fresh = true
		case ',':
			d.line()
		case ':':
			_ = d.w.WriteByte(' ')
		}
	}
	return n, nil // what went wrong, Flush tells
}

// line begins a line.
func (d *indenter) line() {
	_ = d.w.WriteByte('\n')
	for range d.depth {
		_, _ = d.w.WriteString("  ")
	}
}

// inside returns how much of p belongs to the string that is open, its closing quote included.
func (d *indenter) inside(p []byte) int {
	for i, c := range p {
		switch {
		case d.escaped:
			d.escaped = false
		case c == '\\':
			d.escaped = true
		case c == '"':
			d.quoted = false
			return i + 1
		}
	}
	return len(p)
}

// text writes a part of a string.
func (d *indenter) text(p []byte) {
	if !d.terminal {
		_, _ = d.w.Write(p)
		return
	}
	p = append(d.character, p...)
	d.character = nil
	if d.quoted {
		end := len(p)
		for i := end - 1; i >= 0 && i >= end-utf8.UTFMax; i-- {
			if utf8.RuneStart(p[i]) {
				if !utf8.FullRune(p[i:]) {
					end = i
				}
				break
			}
		}
		d.character = slices.Clone(p[end:])
		p = p[:end]
	}
	for len(p) > 0 {
		n := min(len(p), outPiece)
		for n < len(p) && !utf8.RuneStart(p[n]) {
			n++
		}
		_, _ = d.w.Write(escapeFormat(p[:n]))
		p = p[n:]
	}
}

// encodeValue writes a value as jq does, a long text in pieces.
func encodeValue(w io.Writer, value any) error {
	write := func(text string) error {
		_, err := io.WriteString(w, text)
		return err
	}
	switch v := value.(type) {
	case string:
		return encodeText(w, v)
	case []any:
		if err := write("["); err != nil {
			return err
		}
		for i, each := range v {
			if i > 0 {
				_ = write(",") // the next write tells
			}
			if err := encodeValue(w, each); err != nil {
				return err
			}
		}
		return write("]")
	case map[string]any:
		if err := write("{"); err != nil {
			return err
		}
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				_ = write(",") // the next write tells
			}
			if err := encodeText(w, key); err != nil {
				return err
			}
			_ = write(":") // the next write tells
			if err := encodeValue(w, v[key]); err != nil {
				return err
			}
		}
		return write("}")
	}
	doc, err := gojq.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(doc)
	return err
}

// encodeText writes a text as a JSON string.
func encodeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, `"`); err != nil {
		return err
	}
	for text != "" {
		n := min(len(text), outPiece)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		doc, err := gojq.Marshal(text[:n])
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if _, err := w.Write(doc[1 : len(doc)-1]); err != nil {
			return err
		}
		text = text[n:]
	}
	_, err := io.WriteString(w, `"`)
	return err
}

// harmless reports whether a terminal shows a character of JSON as it is.
func harmless(r rune) bool { return r < utf8.RuneSelf || !unicode.Is(unicode.C, r) }
