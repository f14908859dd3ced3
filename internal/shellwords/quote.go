package shellwords

import (
	"fmt"
	"runtime"
	"strings"
	"unicode"
)

// Quote returns word so that a POSIX shell reads it as that one word: as it is if nothing in it means anything to a
// shell, in single quotes otherwise, and in $'…' if it holds control characters, or those that turn the direction of
// text, which then cannot act on a terminal either. A plain key stays outside the quotes: message='hi there'.
//
// On Windows it is for cmd.exe and PowerShell as far as they agree, which is on double quotes; what these do not hold safely is
// quoted for PowerShell.
func Quote(word string) string { return quote(word, runtime.GOOS == "windows") }

func quote(word string, windows bool) string {
	isPlain, inQuotes := plain, quoted
	if windows {
		isPlain, inQuotes = plainOnWindows, quotedOnWindows
	}
	if word == "" {
		return inQuotes("")
	}
	if isPlain(word) {
		return word
	}
	if i := strings.IndexByte(word, '='); i > 0 && isPlain(word[:i]) {
		return word[:i+1] + inQuotes(word[i+1:])
	}
	return inQuotes(word)
}

// plainOnWindows is plain for cmd.exe and PowerShell, to which a comma and an at sign mean something, and a backslash nothing.
func plainOnWindows(s string) bool {
	return !strings.ContainsAny(s, ",@%") && plain(strings.ReplaceAll(s, `\`, "/"))
}

func quotedOnWindows(s string) string {
	switch {
	case strings.ContainsFunc(s, acting):
		return quoted(s) // no shell there has a way to write it
	case strings.ContainsAny(s, "\"$`%") || strings.HasSuffix(s, `\`):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return `"` + s + `"`
}

func quoted(s string) string {
	if !strings.ContainsFunc(s, acting) {
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
		case acting(r):
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

// acting reports whether a terminal does something else with r than show it.
func acting(r rune) bool {
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

// Unescape removes the backslashes that a shell removes. In double quotes it leaves those before ordinary characters.
func Unescape(s string, inQuotes bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case s[i] == '\n': // the line goes on
		case inQuotes && !strings.ContainsRune("$`\"\\", rune(s[i])):
			b.WriteByte('\\')
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// EscapeBackslashes doubles the backslashes that would escape something, but those before a double quote, which stays escaped.
func EscapeBackslashes(text string) string {
	var b strings.Builder
	single := false
	for i := range len(text) {
		c := text[i]
		single = single != (c == '\'')
		b.WriteByte(c)
		if c == '\\' && !single && !strings.HasPrefix(text[i+1:], `"`) {
			b.WriteByte(c)
		}
	}
	return b.String()
}
