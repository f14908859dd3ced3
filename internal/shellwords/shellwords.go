// Package shellwords splits a line as a POSIX shell does, without running or replacing anything in it: no variable, no
// pattern and no command. What a shell would make of | ; & < > is an error that names the column, because nobody means it
// as text.
//
// Two things are more than a POSIX shell has: $'…' as bash has it, since lines to paste may hold it, and a JSON object
// or array that stands unquoted where a value can begin, which is taken as it is.
//
// [Quote] is the way back, for commands that are shown to be pasted.
package shellwords

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Word is a word of a line.
type Word struct {
	// Text is what it means.
	Text string
	// Start and End are where it stands in the line, in bytes.
	Start, End int
}

// Error is what is wrong with a line.
type Error struct {
	// Line is counted from 0: a line that goes on has several.
	Line int
	// Column is counted in characters, from 1.
	Column int
	// Message says what is wrong.
	Message string
	// Open is set when more could follow that makes it right.
	Open bool
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

// Last is the word at the end of a line, as far as it is written.
type Last struct {
	Word
	// Quote is the quote that is open: ', " or $ for $'; 0 if none is.
	Quote byte
	// Plain is set when there is no quote and no backslash in it.
	Plain bool
}

// Split returns the words of a line. The error is an [*Error].
func Split(line string) ([]Word, error) {
	s := scanner{text: line}
	s.run()
	if s.err != nil {
		return nil, s.err
	}
	return s.words, nil
}

// Texts returns what words mean.
func Texts(words []Word) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return texts
}

// Open reports whether a line goes on in the next: a quote is not closed, or a backslash is its end. With structures, so
// does one with an object or an array of JSON that is not closed.
func Open(line string, structures bool) bool {
	s := scanner{text: line}
	s.run()
	return s.err != nil && s.err.Open || structures && s.structure
}

// Typed returns the words before the cursor, which stands at the end of the line, and the one it stands in: an empty one
// behind white space. It is false where no word can be completed: in a comment, an open structure, behind an error.
func Typed(line string) (before []Word, last Last, ok bool) {
	s := scanner{text: line}
	s.run()
	if s.comment || s.structure || s.err != nil && !s.err.Open {
		return nil, Last{}, false
	}
	if s.in {
		return s.words, Last{Word{s.word.String(), s.start, len(line)}, s.quote, s.plain}, true
	}
	if n := len(s.words); n > 0 && s.words[n-1].End == len(line) {
		w := s.words[n-1]
		return s.words[:n-1], Last{Word: w, Plain: s.plain}, true
	}
	return s.words, Last{Word: Word{Start: len(line), End: len(line)}, Plain: true}, true
}

// scanner goes through a line once.
type scanner struct {
	text string
	pos  int

	words []Word
	// in is set inside a word, which begins at start and is plain without quotes.
	in    bool
	start int
	word  strings.Builder
	plain bool
	// quote is the quote that is open at the end.
	quote byte
	// structure is set when JSON is open at the end, comment when the end is in one.
	structure, comment bool
	err                *Error
}

func (s *scanner) fail(at int, open bool, format string, args ...any) {
	line := strings.Count(s.text[:at], "\n")
	begin := strings.LastIndexByte(s.text[:at], '\n') + 1
	s.err = &Error{line, utf8.RuneCountInString(s.text[begin:at]) + 1, fmt.Sprintf(format, args...), open}
}

func (s *scanner) begin() {
	if !s.in {
		s.in, s.start, s.plain = true, s.pos, true
		s.word.Reset()
	}
}

func (s *scanner) end() {
	if s.in {
		s.words = append(s.words, Word{s.word.String(), s.start, s.pos})
		s.in = false
	}
}

func (s *scanner) run() {
	if i := strings.IndexByte(s.text, 0); i >= 0 {
		s.fail(i, false, "a NUL byte")
	}
	for s.pos < len(s.text) && s.err == nil {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n':
			s.end()
			s.pos++
		case '#':
			if s.in {
				s.take(1)
				break
			}
			n := strings.IndexByte(s.text[s.pos:], '\n')
			if n < 0 {
				s.comment = true
				n = len(s.text) - s.pos
			}
			s.pos += n
		case '|', ';', '&', '<', '>':
			s.fail(s.pos, false, "there is no %c here, as a shell has it; in quotes it is text", c)
		case '\'':
			s.single()
		case '"':
			s.double()
		case '\\':
			s.backslash()
		case '$':
			if strings.HasPrefix(s.text[s.pos:], "$'") {
				s.dollar()
				break
			}
			s.begin()
			s.take(1)
		case '{', '[':
			s.bracket()
		default:
			s.begin()
			s.take(1)
		}
	}
	if s.err == nil {
		s.end()
	}
}

// take adds characters to the word.
func (s *scanner) take(n int) {
	s.word.WriteString(s.text[s.pos : s.pos+n])
	s.pos += n
}

func (s *scanner) single() {
	s.begin()
	s.plain = false
	from := s.pos
	n := strings.IndexByte(s.text[from+1:], '\'')
	if n < 0 {
		s.open(from, '\'', s.text[from+1:])
		return
	}
	s.pos++
	s.take(n)
	s.pos++
}

// open is the end of a line in a quote. What is written of it is part of the word.
func (s *scanner) open(at int, quote byte, text string) {
	s.word.WriteString(text)
	s.quote = quote
	name := string(quote)
	if quote == '$' {
		name = "$'"
	}
	s.fail(at, true, "the quote %s is not closed", name)
}

func (s *scanner) double() {
	s.begin()
	s.plain = false
	from := s.pos
	for s.pos++; s.pos < len(s.text); {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return
		case c == '\\' && s.pos+1 < len(s.text):
			switch next := s.text[s.pos+1]; next {
			case '\n':
			case '$', '`', '"', '\\':
				s.word.WriteByte(next)
			default:
				s.word.WriteString(s.text[s.pos : s.pos+2])
			}
			s.pos += 2
		default:
			s.take(1)
		}
	}
	s.open(from, '"', "")
}

func (s *scanner) backslash() {
	if s.pos+1 == len(s.text) {
		s.begin()
		s.plain = false
		s.fail(s.pos, true, "nothing behind the backslash")
		return
	}
	if s.text[s.pos+1] == '\n' { // as if neither were there
		s.pos += 2
		return
	}
	s.begin()
	s.plain = false
	s.pos++
	s.take(1)
}

// dollar reads $'…', in which a backslash writes characters that cannot be typed.
func (s *scanner) dollar() {
	s.begin()
	s.plain = false
	from := s.pos
	for s.pos += 2; s.pos < len(s.text); {
		c := s.text[s.pos]
		if c == '\'' {
			s.pos++
			return
		}
		if c != '\\' || s.pos+1 == len(s.text) {
			s.take(1)
			continue
		}
		s.pos++
		s.escaped()
		if s.err != nil {
			return
		}
	}
	s.open(from, '$', "")
}

// escaped reads what follows a backslash in $'…'.
func (s *scanner) escaped() {
	simple := map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}
	c := s.text[s.pos]
	if meant, ok := simple[c]; ok {
		s.word.WriteByte(meant)
		s.pos++
		return
	}
	number := func(skip, most, base int) (uint64, bool) {
		rest := s.text[s.pos+skip:]
		n := 0
		for n < min(most, len(rest)) {
			if _, err := strconv.ParseUint(rest[n:n+1], base, 8); err != nil {
				break
			}
			n++
		}
		value, err := strconv.ParseUint(rest[:n], base, 32)
		if err != nil {
			return 0, false
		}
		if value == 0 {
			s.fail(s.pos-1, false, "a NUL byte")
		}
		s.pos += skip + n
		return value, true
	}
	switch {
	case c >= '0' && c <= '7':
		if value, ok := number(0, 3, 8); ok {
			s.word.WriteByte(byte(value)) //nolint:gosec // as a shell does
			return
		}
	case c == 'x':
		if value, ok := number(1, 2, 16); ok {
			s.word.WriteByte(byte(value)) //nolint:gosec // two digits
			return
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if value, ok := number(1, most, 16); ok {
			s.word.WriteRune(rune(value)) //nolint:gosec // one that is none becomes the replacement character
			return
		}
	}
	s.word.WriteByte('\\')
	s.take(1)
}

// bracket reads an object or an array of JSON where a value can begin. What is none is text.
func (s *scanner) bracket() {
	value := !s.in || s.text[s.pos-1] == '='
	s.begin()
	if !value {
		s.take(1)
		return
	}
	n, closed := structure(s.text[s.pos:])
	switch {
	case closed:
		// A backslash at the end of a line stands in no JSON, so it is the shell's.
		if text := strings.ReplaceAll(s.text[s.pos:s.pos+n], "\\\n", ""); json.Valid([]byte(text)) {
			s.word.WriteString(text)
			s.pos += n
			return
		}
	case plausible(s.text[s.pos:]):
		s.structure = true
	}
	s.take(1)
}

// structure returns the length of an object or an array, and whether it is closed.
func structure(text string) (n int, closed bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// plausible reports whether text can be the beginning of an object or an array: a lone bracket may be text.
func plausible(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\n")
	if rest == "" {
		return true
	}
	if text[0] == '{' {
		return rest[0] == '"'
	}
	return strings.IndexByte(`"{[-0123456789tfn`, rest[0]) >= 0
}
