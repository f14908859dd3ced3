package transport

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// escapes finds what programs send to a terminal to colour text, to move the cursor, and to set the title. See ECMA-48,
// 5.4 and 5.6.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[PX^_][^\x1b]*(\x1b\\\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]")
})

// Plain returns a line that a program wrote as a person would read it on a terminal: without colours, control and format
// characters, and with single spaces. Of UTF-16 the characters of ASCII are left.
func Plain(line string) string {
	line = escapes().ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
	line = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unseen(r):
			return -1
		}
		return r
	}, line)
	return strings.Join(strings.Fields(line), " ")
}

// Wide reports whether a line looks like UTF-16, as PowerShell and other programs of Windows write it: about every other
// byte is zero.
func Wide(line string) bool {
	const least = 4 // characters: fewer zeros may be anything
	zeros := strings.Count(line, "\x00")
	return zeros >= least && zeros >= len(line)*2/5
}

// Quote returns a line that a program wrote in quotes, as a person would read it, cut to what fits two lines of a terminal.
func Quote(line string) string {
	const most = 100
	text := Plain(line)
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return `"` + text + `"`
}
