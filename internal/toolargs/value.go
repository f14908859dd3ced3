package toolargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// A value is one JSON value that forgets nothing worth keeping: the literals of numbers and strings, and the order of
// an object's members. encoding/json would turn 2^53+1 into a float and sort the names.
type value struct {
	kind kind
	// literal is the JSON text of anything but an array or an object.
	literal string
	// text is a string's contents.
	text    string
	items   []*value
	members []member
	index   map[string]int
}

type member struct {
	name string
	// literal is the name as JSON text.
	literal string
	value   *value
}

func newObject() *value           { return &value{kind: kindObject, index: map[string]int{}} }
func newArray(i ...*value) *value { return &value{kind: kindArray, items: i} }

func newString(s string) *value {
	return &value{kind: kindString, text: s, literal: quoteJSON(s)}
}

func newNumber(literal string) *value { return &value{kind: kindNumber, literal: literal} }

// get returns the member of that name, nil if v is not an object or has none.
func (v *value) get(name string) *value {
	if v == nil || v.kind != kindObject {
		return nil
	}
	if i, ok := v.index[name]; ok {
		return v.members[i].value
	}
	return nil
}

// has reports whether v is an object with a member of that name.
func (v *value) has(name string) bool { return v.get(name) != nil }

// set gives an object a member, in the place of one of the same name or at the end.
func (v *value) set(name, literal string, m *value) {
	if i, ok := v.index[name]; ok {
		v.members[i].value = m
		return
	}
	v.index[name] = len(v.members)
	v.members = append(v.members, member{name: name, literal: literal, value: m})
}

// put is set for a name that has no JSON text yet.
func (v *value) put(name string, m *value) { v.set(name, quoteJSON(name), m) }

func (v *value) isString() bool { return v != nil && v.kind == kindString }
func (v *value) isNumber() bool { return v != nil && v.kind == kindNumber }
func (v *value) isArray() bool  { return v != nil && v.kind == kindArray }
func (v *value) isObject() bool { return v != nil && v.kind == kindObject }
func (v *value) isTrue() bool   { return v != nil && v.kind == kindBool && v.literal == "true" }
func (v *value) isFalse() bool  { return v != nil && v.kind == kindBool && v.literal == "false" }

// append appends v's compact JSON text.
func (v *value) append(dst []byte) []byte {
	switch v.kind {
	case kindArray:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	case kindObject:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, m.literal...)
			dst = append(dst, ':')
			dst = m.value.append(dst)
		}
		return append(dst, '}')
	case kindNull, kindBool, kindNumber, kindString:
	}
	return append(dst, v.literal...)
}

func (v *value) json() json.RawMessage { return v.append(nil) }

// Equal compares two JSON values as JSON Schema does: numbers by what they mean, objects without regard to order. What is not
// JSON is equal to nothing.
func Equal(a, b json.RawMessage) bool {
	v, _, err := parse(string(a))
	if err != nil {
		return false
	}
	w, _, err := parse(string(b))
	return err == nil && v.equal(w)
}

// equal compares as JSON Schema does: numbers by what they mean, objects without regard to order.
func (v *value) equal(w *value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case kindNumber:
		return parseDecimal(v.literal).compare(parseDecimal(w.literal)) == 0
	case kindString:
		return v.text == w.text
	case kindArray:
		if len(v.items) != len(w.items) {
			return false
		}
		for i := range v.items {
			if !v.items[i].equal(w.items[i]) {
				return false
			}
		}
		return true
	case kindObject:
		if len(v.members) != len(w.members) {
			return false
		}
		for _, m := range v.members {
			if other := w.get(m.name); other == nil || !m.value.equal(other) {
				return false
			}
		}
		return true
	case kindNull, kindBool:
	}
	return v.literal == w.literal
}

// quoteJSON returns s as a JSON string without the escapes that only HTML needs.
func quoteJSON(s string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// parse reads one JSON value. twice is the path of the first name that an object in it has more than once, "" if there
// is none; the last of them counts.
func parse(text string) (v *value, twice string, err error) {
	if !utf8.ValidString(text) {
		return nil, "", errors.New("not UTF-8 text")
	}
	// The decoder says whether, and where, it is wrong, and bounds the depth (10,000); the scanner below may then trust
	// the text.
	var raw json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, "", syntax(text, err)
	}
	s := scanner{text: text}
	return s.value(), s.twice, nil
}

// syntax says in words where text stops being JSON.
func syntax(text string, err error) error {
	var bad *json.SyntaxError
	switch {
	case !errors.As(err, &bad):
		return fmt.Errorf("not valid JSON: %w", err)
	case strings.TrimSpace(text) == "":
		return errors.New("not valid JSON: it is empty")
	case bad.Offset >= int64(len(text)) && strings.HasPrefix(bad.Error(), "unexpected end"):
		return errors.New("not valid JSON: it ends too early")
	}
	before := text[:max(0, min(int(bad.Offset)-1, len(text)))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	if line > 1 {
		return fmt.Errorf("not valid JSON at line %d, character %d: %w", line, column, bad)
	}
	return fmt.Errorf("not valid JSON at character %d: %w", column, bad)
}

// A scanner takes text apart that is known to be JSON.
type scanner struct {
	text  string
	pos   int
	path  []string
	twice string
}

func (s *scanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) value() *value {
	s.space()
	switch s.text[s.pos] {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		literal, text := s.string()
		return &value{kind: kindString, literal: literal, text: text}
	}
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n,]}", s.text[s.pos]) < 0 {
		s.pos++
	}
	literal := s.text[start:s.pos]
	switch literal {
	case "null":
		return &value{kind: kindNull, literal: literal}
	case "true", "false":
		return &value{kind: kindBool, literal: literal}
	}
	return newNumber(literal)
}

func (s *scanner) object() *value {
	v := newObject()
	s.pos++
	for {
		s.space()
		switch s.text[s.pos] {
		case '}':
			s.pos++
			return v
		case ',':
			s.pos++
			s.space()
		}
		literal, name := s.string()
		s.path = append(s.path, name)
		if s.twice == "" && v.has(name) {
			s.twice = strings.Join(s.path, ".")
			if s.twice == "" {
				s.twice = `""`
			}
		}
		s.space()
		s.pos++ // the colon
		v.set(name, literal, s.value())
		s.path = s.path[:len(s.path)-1]
	}
}

func (s *scanner) array() *value {
	v := newArray()
	s.pos++
	for {
		s.space()
		switch s.text[s.pos] {
		case ']':
			s.pos++
			return v
		case ',':
			s.pos++
		}
		v.items = append(v.items, s.value())
	}
}

func (s *scanner) string() (literal, text string) {
	start := s.pos
	escaped := false
	for s.pos++; s.text[s.pos] != '"'; s.pos++ {
		if s.text[s.pos] == '\\' {
			escaped = true
			s.pos++
		}
	}
	s.pos++
	literal = s.text[start:s.pos]
	text = literal[1 : len(literal)-1]
	if escaped {
		// The text is known to be JSON, so this cannot fail; lone surrogates become U+FFFD here and stay as they are in
		// the literal, which is what is sent.
		if err := json.Unmarshal([]byte(literal), &text); err != nil {
			text = literal
		}
	}
	return literal, text
}
