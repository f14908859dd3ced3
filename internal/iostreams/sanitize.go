package iostreams

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The control characters that begin something longer. See ECMA-48, 5.4 (control sequences) and 5.6 (control strings).
const (
	bel = '\a'
	esc = '\x1b'
	st  = '\u009c' // string terminator, as one character
)

// Sanitize returns text that came from a server, ready for a terminal: nothing in it can move the cursor, change
// colours, set the title, write to the clipboard, or make the line read in another order than it is written.
//
// Escape sequences are taken out whole. So are all control characters (C0, DEL, C1) but line feed and tab, and the
// characters that override or isolate the direction of text (U+202A to U+202E, U+2066 to U+2069); a carriage return
// before a line feed goes with them. Bytes that are not UTF-8 become U+FFFD: a terminal could read them as C1. Other
// text, right-to-left text included, stays as it is.
func Sanitize(s string) string {
	clean := 0 // how much of s needs no change
	for clean < len(s) {
		c, n := utf8.DecodeRuneInString(s[clean:])
		if isUnsafe(c) || c == utf8.RuneError && n == 1 {
			break
		}
		clean += n
	}
	if clean == len(s) {
		return s
	}

	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:clean])
	for s = s[clean:]; s != ""; {
		c, n := utf8.DecodeRuneInString(s)
		if isUnsafe(c) {
			s = s[max(n, sequence(s)):]
			continue
		}
		b.WriteRune(c) // U+FFFD for an invalid byte
		s = s[n:]
	}
	return b.String()
}

// WriteSanitized writes what [Sanitize] would return, without a copy of the whole.
func WriteSanitized(w io.Writer, s string) error {
	const piece = 32 << 10
	out := bufio.NewWriterSize(w, piece)
	for s != "" {
		clean := 0
		for clean < len(s) && clean < piece {
			c, n := utf8.DecodeRuneInString(s[clean:])
			if isUnsafe(c) || c == utf8.RuneError && n == 1 {
				break
			}
			clean += n
		}
		if clean == 0 {
			c, n := utf8.DecodeRuneInString(s)
			if isUnsafe(c) {
				s = s[max(n, sequence(s)):]
				continue
			}
			if _, err := out.WriteRune(c); err != nil { // U+FFFD for an invalid byte
				return err
			}
			s = s[n:]
			continue
		}
		if _, err := out.WriteString(s[:clean]); err != nil {
			return err
		}
		s = s[clean:]
	}
	return out.Flush()
}

// SanitizeLine is Sanitize for a place that has one line only, such as a cell of a table: line feeds and tabs become
// spaces, several in a row one, and there are none at the ends.
func SanitizeLine(s string) string {
	words := strings.FieldsFunc(Sanitize(s), func(c rune) bool { return c == '\n' || c == '\t' || c == ' ' })
	return strings.Join(words, " ")
}

// isUnsafe reports whether a terminal does something else with c than show it.
func isUnsafe(c rune) bool {
	switch {
	case c == '\n' || c == '\t':
		return false
	case c < 0x20, 0x7f <= c && c <= 0x9f:
		return true
	case 0x202a <= c && c <= 0x202e, 0x2066 <= c && c <= 0x2069:
		return true
	}
	return false
}

// sequence returns the length of the escape sequence that s begins with, 0 if it begins with none or if the sequence is
// not complete: then only its first character is dropped, so that a stray one does not take all the rest of the text
// with it.
func sequence(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	if c == esc {
		if n == len(s) {
			return 0
		}
		// ESC and a character from @ to _ stand for the C1 character 0x40 higher.
		next := s[n]
		switch {
		case '@' <= next && next <= '_':
			c = rune(next) + 0x40
			n++
		case 0x20 <= next && next <= 0x7e:
			return intermediate(s, n)
		default:
			return 0
		}
	}
	switch c {
	case 0x9b: // CSI
		return control(s, n)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC
		return controlString(s, n)
	}
	return n
}

// intermediate returns the length of a sequence of intermediate bytes and a final one, which begins at n.
func intermediate(s string, n int) int {
	for ; n < len(s); n++ {
		switch c := s[n]; {
		case 0x20 <= c && c <= 0x2f:
		case 0x30 <= c && c <= 0x7e:
			return n + 1
		default:
			return 0
		}
	}
	return 0
}

// control returns the length of a control sequence whose parameters begin at n.
func control(s string, n int) int {
	for n < len(s) && 0x30 <= s[n] && s[n] <= 0x3f {
		n++
	}
	for n < len(s) && 0x20 <= s[n] && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && 0x40 <= s[n] && s[n] <= 0x7e {
		return n + 1
	}
	return 0
}

// controlString returns the length of a control string whose content begins at n. It ends with ST in one of its forms,
// or with BEL, as xterm has it. Any other control character breaks it off.
func controlString(s string, n int) int {
	for i, c := range s[n:] {
		switch {
		case c == bel, c == st:
			return n + i + utf8.RuneLen(c)
		case c == esc && strings.HasPrefix(s[n+i:], "\x1b\\"):
			return n + i + 2
		case c != '\t' && unicode.IsControl(c):
			return 0 // also keeps the work linear: the next attempt begins no earlier than here
		}
	}
	return 0
}
