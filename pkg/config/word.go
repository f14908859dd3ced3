package config

import (
	"strings"

	"github.com/mcpctl/mcpctl/internal/shellwords"
)

// Quote returns word as a shell needs it, for a command that is shown to be pasted: one line, whatever is in it. A home directory
// at its beginning stays one.
func Quote(word string) string {
	if inHome, ok := strings.CutPrefix(word, "~/"); ok && inHome != "" && !strings.Contains(inHome, "=") {
		return "~/" + shellwords.Quote(inHome)
	}
	return shellwords.Quote(word)
}

// join returns the words as one command line.
func join(words []string) string { return strings.Join(words, " ") }
