package toolargs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// Quote returns word so that a shell reads it as that one word. See [shellwords.Quote].
func Quote(word string) string { return shellwords.Quote(word) }

// show returns a name for a message: as it is if it is plain to read, quoted otherwise.
func show(name string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
