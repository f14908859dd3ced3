package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// How results are read
//
// A result may hold fifty megabytes of text or base64. So nothing in it is copied before it is known to be needed: the
// functions below find their way in a JSON text that is known to be valid, and hand out parts of it. A string stays as it
// is written there until somebody reads it, and then passes through a small buffer.

// quoted is a string as it stands in a JSON text, with its quotes and escapes.
type quoted []byte

// stringIn returns value as a string, false if it is another kind of value.
func stringIn(value []byte) (quoted, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return quoted(value), true
}

// String returns what the string means. What is not UTF-8 in it stays as it is.
func (q quoted) String() string {
	if len(q) < 2 {
		return ""
	}
	if bytes.IndexByte(q, '\\') < 0 {
		return string(q[1 : len(q)-1])
	}
	var b strings.Builder
	b.Grow(len(q))
	_, _ = io.Copy(&b, q.reader()) // neither end fails
	return b.String()
}

// reader reads what the string means.
func (q quoted) reader() io.Reader {
	if len(q) < 2 {
		return strings.NewReader("")
	}
	return &unescaper{rest: q[1 : len(q)-1]}
}

// empty reports whether the string means "".
func (q quoted) empty() bool { return len(q) <= 2 }

// unescaper reads the inside of a JSON string.
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
		u.escape()
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// escape takes the escape that rest begins with. Half of a surrogate pair becomes U+FFFD, as encoding/json has it.
func (u *unescaper) escape() {
	if len(u.rest) < 2 { // cannot be in valid JSON
		u.rest = nil
		return
	}
	c := rune(u.rest[1])
	length := 2
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		c, length = unit(u.rest), 6
		if utf16.IsSurrogate(c) {
			pair := utf8.RuneError
			if len(u.rest) > 6 {
				pair = utf16.DecodeRune(c, unit(u.rest[6:]))
			}
			if pair != utf8.RuneError {
				length = 12
			}
			c = pair
		}
	}
	u.pending = utf8.AppendRune(u.buf[:0], c)
	u.rest = u.rest[min(length, len(u.rest)):]
}

// unit returns the UTF-16 code unit that s begins with as \uXXXX, U+FFFD if it begins with something else.
func unit(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return utf8.RuneError
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return utf8.RuneError
		}
		r = r<<4 | rune(c)
	}
	return r
}

// elements returns the elements of a JSON array, as parts of it.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(array) == 0 || array[0] != '[' {
			return
		}
		for rest := space(array[1:]); len(rest) > 0 && rest[0] != ']'; {
			n := valueLength(rest)
			if n == 0 || !yield(rest[:n]) {
				return
			}
			if rest = space(rest[n:]); len(rest) > 0 && rest[0] == ',' {
				rest = space(rest[1:])
			}
		}
	}
}

// members returns the members of a JSON object, their values as parts of it.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if len(object) == 0 || object[0] != '{' {
			return
		}
		for rest := space(object[1:]); len(rest) > 0 && rest[0] == '"'; {
			n := valueLength(rest)
			name := quoted(rest[:n]).String()
			if rest = space(rest[n:]); len(rest) == 0 {
				return
			}
			rest = space(rest[1:]) // the colon
			if n = valueLength(rest); n == 0 || !yield(name, rest[:n]) {
				return
			}
			if rest = space(rest[n:]); len(rest) > 0 && rest[0] == ',' {
				rest = space(rest[1:])
			}
		}
	}
}

// space returns s without the white space that it begins with.
func space(s []byte) []byte { return bytes.TrimLeft(s, " \t\r\n") }

// valueLength returns the length of the JSON value that s begins with.
func valueLength(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	switch s[0] {
	case '"':
		return stringLength(s)
	case '{', '[':
		depth := 0
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '"':
				i += stringLength(s[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(s)
	}
	if i := bytes.IndexAny(s, " \t\r\n,]}"); i >= 0 {
		return i
	}
	return len(s)
}

// stringLength returns the length of the JSON string that s begins with, its quotes included.
func stringLength(s []byte) int {
	for i := 1; i < len(s); i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for escapes < i-1 && s[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(s)
}

// isObject reports whether raw, which is valid JSON, is an object.
func isObject(raw json.RawMessage) bool {
	trimmed := space(raw)
	return len(trimmed) > 0 && trimmed[0] == '{'
}

// base64Reader decodes a string in either alphabet of base64, with padding or without, white space in it or not.
func base64Reader(encoded quoted) io.Reader {
	return base64.NewDecoder(base64.RawStdEncoding, &alphabet{encoded.reader()})
}

// decodeBase64 decodes text as base64Reader does.
func decodeBase64(text string) ([]byte, error) {
	return io.ReadAll(base64.NewDecoder(base64.RawStdEncoding, &alphabet{strings.NewReader(text)}))
}

// alphabet passes on the characters of the standard alphabet.
type alphabet struct{ r io.Reader }

// Read implements [io.Reader].
func (a *alphabet) Read(p []byte) (int, error) {
	for {
		n, err := a.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch c {
			case '-':
				c = '+'
			case '_':
				c = '/'
			case '=', '\n', '\r', ' ', '\t':
				continue
			}
			p[kept] = c
			kept++
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// decodedLength returns how many bytes there are in base64, false if it is none. Nothing is decoded.
func decodedLength(encoded quoted) (int, bool) {
	var buf [4096]byte
	n := 0
	for r := (&alphabet{encoded.reader()}); ; {
		k, err := r.Read(buf[:])
		for _, c := range buf[:k] {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '+' && c != '/' {
				return 0, false
			}
		}
		n += k
		if err != nil {
			return n/4*3 + max(0, n%4-1), n%4 != 1
		}
	}
}
