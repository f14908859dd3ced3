// Package rawjson finds its way in JSON texts without copying them: a result of 50 MB is looked at where it lies, and its
// parts are slices of it. What it returns must not be written to.
//
// It decodes nothing but strings, and knows neither MCP nor where a text came from. For what is small, encoding/json is
// the better choice.
package rawjson

import (
	"bytes"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep values may be nested. It is that of encoding/json.
const maxDepth = 10000

// Valid reports whether data is one JSON value, with nothing but white space around it. See RFC 8259.
func Valid(data []byte) bool {
	_, rest, ok := Next(data)
	return ok && skipSpace(rest, 0) == len(rest)
}

// Next returns the value that data begins with, after white space, and what follows it. It reports false if there is none.
func Next(data []byte) (value, rest []byte, ok bool) {
	begin := skipSpace(data, 0)
	end, ok := scan(data, begin, 0)
	if !ok {
		return nil, nil, false
	}
	return data[begin:end:end], data[end:], true
}

// Object calls each with the members of an object in their order, key and value. It reports whether data is a valid
// object; if it is not, each may have been called for a part of it.
func Object(data []byte, each func(key string, value []byte)) bool {
	i := begins(data, '{')
	if i == 0 {
		return false
	}
	if i < len(data) && data[i] == '}' {
		return skipSpace(data, i+1) == len(data)
	}
	for i < len(data) && data[i] == '"' {
		end, ok := scanString(data, i)
		if !ok {
			return false
		}
		key, _ := String(data[i:end])
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return false
		}
		begin := skipSpace(data, i+1)
		if end, ok = scan(data, begin, 1); !ok {
			return false
		}
		each(key, data[begin:end:end])
		i = skipSpace(data, end)
		switch {
		case i >= len(data):
			return false
		case data[i] == '}':
			return skipSpace(data, i+1) == len(data)
		case data[i] != ',':
			return false
		}
		i = skipSpace(data, i+1)
	}
	return false
}

// Elements returns the elements of an array in their order. It ends at the first that is not valid, and has none for what
// is no array.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := begins(array, '[')
		if i > 0 && i < len(array) && array[i] == ']' {
			return
		}
		for i > 0 {
			end, ok := scan(array, i, 1)
			if !ok || !yield(array[i:end:end]) {
				return
			}
			i = follows(array, end)
		}
	}
}

// Get returns the last member of an object with that key, nil if there is none.
func Get(object []byte, key string) []byte {
	var found []byte
	Object(object, func(k string, value []byte) {
		if k == key {
			found = value
		}
	})
	return found
}

// begins returns where the first thing inside of an object or an array stands, 0 if data is none.
func begins(data []byte, open byte) int {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != open {
		return 0
	}
	return skipSpace(data, i+1)
}

// follows returns where what comes after the next comma stands, 0 if no comma follows.
func follows(data []byte, i int) int {
	i = skipSpace(data, i)
	if i >= len(data) || data[i] != ',' {
		return 0
	}
	return skipSpace(data, i+1)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// scan returns the end of the value that begins at i.
func scan(data []byte, i, depth int) (end int, ok bool) {
	if i >= len(data) || depth > maxDepth {
		return 0, false
	}
	switch c := data[i]; {
	case c == '"':
		return scanString(data, i)
	case c == '{':
		return scanObject(data, i, depth)
	case c == '[':
		return scanArray(data, i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return scanNumber(data, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(data[i:], []byte(word)) {
			return i + len(word), true
		}
	}
	return 0, false
}

func scanObject(data []byte, i, depth int) (int, bool) {
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, true
	}
	for i < len(data) && data[i] == '"' {
		end, ok := scanString(data, i)
		if !ok {
			return 0, false
		}
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return 0, false
		}
		if end, ok = scan(data, skipSpace(data, i+1), depth+1); !ok {
			return 0, false
		}
		i = skipSpace(data, end)
		switch {
		case i >= len(data):
			return 0, false
		case data[i] == '}':
			return i + 1, true
		case data[i] != ',':
			return 0, false
		}
		i = skipSpace(data, i+1)
	}
	return 0, false
}

func scanArray(data []byte, i, depth int) (int, bool) {
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, true
	}
	for {
		end, ok := scan(data, i, depth+1)
		if !ok {
			return 0, false
		}
		i = skipSpace(data, end)
		switch {
		case i >= len(data):
			return 0, false
		case data[i] == ']':
			return i + 1, true
		case data[i] != ',':
			return 0, false
		}
		i = skipSpace(data, i+1)
	}
}

// scanString returns the end of the string whose opening quote is at i.
func scanString(data []byte, i int) (int, bool) {
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1, true
		case c < 0x20:
			return 0, false
		case c == '\\':
			i++
			if i >= len(data) {
				return 0, false
			}
			switch data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(data)-i <= 4 || !isHex(data[i+1]) || !isHex(data[i+2]) || !isHex(data[i+3]) || !isHex(data[i+4]) {
					return 0, false
				}
				i += 4
			default:
				return 0, false
			}
		}
	}
	return 0, false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func scanNumber(data []byte, i int) (int, bool) {
	digits := func() bool {
		begin := i
		for i < len(data) && '0' <= data[i] && data[i] <= '9' {
			i++
		}
		return i > begin
	}
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if !digits() {
		return 0, false
	}
	if i < len(data) && data[i] == '.' {
		i++
		if !digits() {
			return 0, false
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return 0, false
		}
	}
	return i, true
}

// Kind returns the byte that tells of which kind the value is that data begins with, after white space: one of { [ " t f n,
// or the first of a number. It is 0 if there is nothing.
func Kind(data []byte) byte {
	if i := skipSpace(data, 0); i < len(data) {
		return data[i]
	}
	return 0
}

// String returns the text of a JSON string, as encoding/json does: what is no Unicode becomes U+FFFD. It reports false
// for any other value.
func String(value []byte) (string, bool) {
	if !isString(value) {
		return "", false
	}
	text := Text(value).String()
	if !utf8.ValidString(text) {
		text = strings.Map(func(r rune) rune { return r }, text)
	}
	return text, true
}

func isString(value []byte) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	end, ok := scanString(value, 0)
	return ok && end == len(value)
}

// Text is a string as it stands in a JSON text, with its quotes and escapes. Bytes in it that are no Unicode stay as they
// are.
type Text []byte

// TextOf returns a valid value as a string, false if it is of another kind.
func TextOf(value []byte) (Text, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return Text(value), true
}

// String returns what the string means.
func (t Text) String() string {
	inside := t.inside()
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	var b strings.Builder
	b.Grow(len(inside))            // what it stands for is shorter
	_, _ = io.Copy(&b, t.Reader()) // neither end fails
	return b.String()
}

// Empty reports whether the string means "".
func (t Text) Empty() bool { return len(t.inside()) == 0 }

// After returns the string without its first n bytes, as they stand there. None of them may be the first of an escape whose end
// is not among them.
func (t Text) After(n int) Text { return t[n:] } // what comes before the first byte stands for the quote

// Reader reads what the string means, without a copy of the whole.
func (t Text) Reader() io.Reader { return &unescaper{rest: t.inside()} }

func (t Text) inside() []byte {
	if len(t) < 2 {
		return nil
	}
	return t[1 : len(t)-1]
}

// unescaper reads the inside of a string.
type unescaper struct {
	rest    []byte
	pending []byte // a character that was written as an escape, as far as it is not read
	buf     [utf8.UTFMax]byte
}

// Read implements [io.Reader].
func (u *unescaper) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.pending) > 0 {
			k := copy(p[n:], u.pending)
			u.pending = u.pending[k:]
			n += k
			continue
		}
		if len(u.rest) == 0 {
			break
		}
		// No further than there is room: else a long text would be searched anew for each piece of it.
		plain := u.rest[:min(len(u.rest), len(p)-n)]
		if i := bytes.IndexByte(plain, '\\'); i >= 0 {
			plain = plain[:i]
		}
		if len(plain) > 0 {
			n += copy(p[n:], plain)
			u.rest = u.rest[len(plain):]
			continue
		}
		c, length := unescape(u.rest)
		u.pending = utf8.AppendRune(u.buf[:0], c)
		u.rest = u.rest[length:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// unescape returns what the escape that s begins with stands for, and its length. Half of a pair of surrogates stands for
// U+FFFD.
func unescape(s []byte) (c rune, n int) {
	if len(s) < 2 {
		return utf8.RuneError, len(s)
	}
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(s[1]), 2
	}
	c, ok := unit(s)
	switch {
	case !ok:
		return utf8.RuneError, len(s)
	case !utf16.IsSurrogate(c):
		return c, 6
	}
	if low, ok := unit(s[6:]); ok {
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unit returns the number of the escape \uXXXX that s begins with.
func unit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}
