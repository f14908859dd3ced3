package config

import (
	"fmt"
	"strings"
	"unicode"
)

// Quote returns word as a POSIX shell would need it, for a command that is shown to be pasted.
func Quote(word string) string { return quoteWord(word) }

// quoteWord returns word as a POSIX shell would need it, for display: plain words as they are, others in single
// quotes, and control characters in $'…', so that what is shown is one line and can be pasted.
func quoteWord(word string) string {
	if strings.ContainsFunc(word, unicode.IsControl) {
		var b strings.Builder
		b.WriteString("$'")
		for _, r := range word {
			switch {
			case r == '\'' || r == '\\':
				b.WriteString(`\` + string(r))
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\t':
				b.WriteString(`\t`)
			case unicode.IsControl(r):
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		return b.String() + "'"
	}
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@%+=:,./~-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// join returns the words as one command line.
func join(words []string) string { return strings.Join(words, " ") }
