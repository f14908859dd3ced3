package main

import (
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/pasted"
)

// TestCompletedWords holds how words come back for bash, behind what is typed.
func TestCompletedWords(t *testing.T) {
	const breaks = " \t\n\"'@><=;|&(:"
	p := process{lookup: func(name string) (string, bool) { return "/place", name == "DIR" }, home: "/home/me"}
	for _, tt := range []struct{ line, word, words, text, put string }{
		{"mcpctl call odd se", "search", "mcpctl call odd", "se", "search"},
		{"mcpctl call odd ", "a b", "mcpctl call odd", "", `a\ b`},
		{"mcpctl x 'a", "a b", "mcpctl x", "a", "a b"},
		{`mcpctl x "a`, "a$b", "mcpctl x", "a", `a\$b`},
		{`mcpctl x "a`, "a!b", "mcpctl x", "a", "NOT"},
		{"mcpctl x mode=f", "mode=fast", "mcpctl x", "mode=f", "fast"},
		{"mcpctl x a:b:", "a:b:c d", "mcpctl x", "a:b:", `c\ d`},
		{"mcpctl x q=@d", "q=@dir/", "mcpctl x", "q=@d", "@dir/"},
		{"ls; A=1 mcpctl x", "xy", "mcpctl", "x", "xy"},
		{"mcpctl --config $DIR/c ~/x", "~", "mcpctl --config /place/c", "/home/me/x", "NOT"},
		{"mcpctl $(id) x", "xy", "", "", "xy"},
		{"mcpctl `id` x", "xy", "", "", "xy"},
	} {
		words, last := splitTyped(tt.line, p)
		put, ok := last.completed(tt.word, breaks)
		if !ok || !strings.HasPrefix(tt.word, last.text) {
			put = "NOT"
		}
		if got := strings.Join(words, " "); got != tt.words || last.text != tt.text || put != tt.put {
			t.Errorf("%s: words %q, text %q, put in %q; want %q, %q, %q", tt.line, got, last.text, put, tt.words, tt.text, tt.put)
		}
	}
}

// FuzzSplitTyped holds that no line breaks completion, and that what is put in is one word for a shell, which runs nothing.
func FuzzSplitTyped(f *testing.F) {
	f.Add("mcpctl call odd 'a", "a b")
	f.Add("mcpctl x ${", "$(touch x)")
	f.Add("mcpctl x $\"\\", "`id`")
	p := process{lookup: func(string) (string, bool) { return "", false }, home: "/home/me"}
	f.Fuzz(func(t *testing.T, line, word string) {
		_, last := splitTyped(line, p)
		put, ok := last.completed(word, " \t\n\"'@><=;|&(:")
		if !ok || !typeable(word) || last.raw != "" {
			return
		}
		words, err := pasted.Split(put)
		if err != nil || len(words) != 1 || strings.ReplaceAll(words[0], "$$", "$") != strings.ReplaceAll(word, "$$", "$") {
			t.Errorf("%q becomes %q: %q, %v", word, put, words, err)
		}
	})
}

// TestNamesThatCanBeOffered holds which names of a server's are left out.
func TestNamesThatCanBeOffered(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "a b": true, "é": true, "": false, " a": false, "a\tb": false, "a\x1b[m": false, "a\u202eb": false, "a\u200bb": false} {
		if typeable(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
