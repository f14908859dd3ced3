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

// String returns the text of a JSON string, as encoding/json does: what is no Unicode becomes U+FFFD. It reports false
// for any other value.
func String(value []byte) (string, bool) {
	if !isString(value) {
		return "", false
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside), true
	}
	var b strings.Builder
	b.Grow(len(inside)) // what it stands for is shorter, unless it is broken
	err := WriteText(&b, value)
	return b.String(), err == nil
}

func isString(value []byte) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	end, ok := scanString(value, 0)
	return ok && end == len(value)
}

// WriteText writes the text of a JSON string in many small pieces, without a copy of the whole, see [String]. value must
// be a valid string.
func WriteText(w io.Writer, value []byte) error {
	if len(value) < 2 {
		return io.ErrUnexpectedEOF
	}
	var one [utf8.UTFMax]byte
	for inside := value[1 : len(value)-1]; len(inside) > 0; {
		n := bytes.IndexByte(inside, '\\')
		if n < 0 {
			n = len(inside)
		}
		if err := writeUnicode(w, inside[:n]); err != nil {
			return err
		}
		if inside = inside[n:]; len(inside) == 0 {
			break
		}
		c, n := unescape(inside)
		inside = inside[n:]
		if _, err := w.Write(one[:utf8.EncodeRune(one[:], c)]); err != nil {
			return err
		}
	}
	return nil
}

// writeUnicode writes text with U+FFFD for each byte that is none.
func writeUnicode(w io.Writer, text []byte) error {
	for len(text) > 0 && !utf8.Valid(text) {
		n := 0
		for {
			c, size := utf8.DecodeRune(text[n:])
			if c == utf8.RuneError && size <= 1 {
				break
			}
			n += size
		}
		if _, err := w.Write(text[:n]); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\uFFFD"); err != nil {
			return err
		}
		text = text[n+1:]
	}
	_, err := w.Write(text)
	return err
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
