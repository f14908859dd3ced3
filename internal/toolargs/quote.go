package toolargs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns word so that a POSIX shell reads it as that one word: as it is if nothing in it means anything to a
// shell, in single quotes otherwise, and in $'…' if it holds control characters, which then cannot act on a terminal
// either. A plain key stays outside the quotes: message='hi there'.
func Quote(word string) string {
	if word == "" {
		return "''"
	}
	if plain(word) {
		return word
	}
	if i := strings.IndexByte(word, '='); i > 0 && plain(word[:i]) {
		return word[:i+1] + quoted(word[i+1:])
	}
	return quoted(word)
}

func quoted(s string) string {
	if !strings.ContainsFunc(s, acts) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\\' || r == '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case acts(r):
			// Bytes in three octal digits: they end by themselves, where \x would swallow a hex digit that follows.
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// acts reports whether a terminal does something else with r than show it: a control character, or one that turns the
// direction of writing.
func acts(r rune) bool {
	return unicode.IsControl(r) || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// plain reports whether no shell reads anything into s. Brackets are not plain: zsh takes list[]=x for a pattern; nor
// is a tilde, which bash expands after an equals sign.
func plain(s string) bool {
	if strings.HasPrefix(s, "=") { // zsh looks up the command
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:,@%+=", r) {
			return false
		}
	}
	return true
}

// show returns a name for a message: as it is if it is plain to read, quoted otherwise.
func show(name string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
