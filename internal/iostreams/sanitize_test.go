package iostreams

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSanitize(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "plain text", "plain text"},
		{"line feed and tab stay", "a\n\tb", "a\n\tb"},
		{"other scripts stay", "日本語 עברית العربية 𝄞 👩‍👩‍👧", "日本語 עברית العربية 𝄞 👩‍👩‍👧"},
		{"non-breaking space is no control", "a\u00a0b", "a\u00a0b"},
		{"carriage return", "50%\r100%\r\ndone", "50%100%\ndone"},
		{"backspace, bell, null, delete", "a\bb\ac\x00d\x7fe", "abcde"},
		{"vertical tab and form feed", "a\vb\fc", "abc"},
		{"colour", "\x1b[31;1mred\x1b[0m", "red"},
		{"cursor up and erase", "ok\x1b[2A\x1b[2Kfake", "okfake"},
		{"private parameters", "\x1b[?1049hx\x1b[>4;2m", "x"},
		{"intermediate byte", "\x1b[4 qx", "x"},
		{"title, ended by BEL", "\x1b]0;evil\ax", "x"},
		{"title, ended by ST", "\x1b]0;evil\x1b\\x", "x"},
		{"link keeps its text", "\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard", "\x1b]52;c;ZXZpbA==\ax", "x"},
		{"device control", "\x1bP1$r0m\x1b\\x", "x"},
		{"application command and privacy message", "\x1b_Ga=q\x1b\\x\x1b^pm\x1b\\y", "xy"},
		{"character set", "\x1b(0x\x1b)B", "x"},
		{"reset", "\x1bcx", "x"},
		{"save and restore the cursor", "\x1b7x\x1b8", "x"},
		{"C1 control sequence", "\u009b31mred\u009b0m", "red"},
		{"C1 string", "\u009d0;evil\u009cx", "x"},
		{"C1 next line", "a\u0085b", "ab"},
		{"escape at the end", "x\x1b", "x"},
		{"unfinished control sequence keeps the rest", "x\x1b[31", "x[31"},
		{"control sequence broken off", "\x1b[3\x1b[31mx", "[3x"},
		{"unfinished string keeps the rest", "x\x1b]0;title and all the text", "x]0;title and all the text"},
		{"a string ends with its line", "\x1b]0;title\nnext\a", "]0;title\nnext"},
		{"escape before a letter of another script", "\x1bé", "é"},
		{"bidi overrides and isolates", "a\u202eb\u202ac\u2066d\u2069e", "abcde"},
		{"marks of direction stay", "a\u200eb\u200fc", "a\u200eb\u200fc"},
		{"raw C1 bytes are not UTF-8", "a\x9b31mb\xff", "a\ufffd31mb\ufffd"},
		{"a replacement character stays one", "a\ufffdb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sanitize(tt.in); got != tt.want {
				t.Errorf("Sanitize(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestSanitizeLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"one line", "one line"},
		{"two\nlines", "two lines"},
		{"\n  a list:\n\t- item\r\n\n", "a list: - item"},
		{"\x1b[2J\n\x1b[H", ""},
	}
	for _, tt := range tests {
		if got := SanitizeLine(tt.in); got != tt.want {
			t.Errorf("SanitizeLine(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// A server may send as much as it likes; beginnings of strings that never end must not be searched again and again.
func TestSanitizeIsLinear(t *testing.T) {
	for _, unit := range []string{"\x1b]", "\u009d", "\x1b[1", "\x1b(", "\x1bP\x1b"} {
		in := strings.Repeat(unit, 1<<19)
		if got := Sanitize(in); len(got) > len(in) {
			t.Errorf("%q: the result has %d bytes", unit, len(got))
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{
		"plain", "a\r\nb", "\x1b[31mred\x1b[0m", "\x1b]0;t\ax", "\x1b]0;t\x1b\\x", "\u009b1m", "\x9b1m", "\u202ea", "\x1b\x1b[m[m",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitize(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Sanitize(%q) = %q is not UTF-8", s, got)
		}
		for _, c := range got {
			if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) && c != 0x061c && c != 0x200e && c != 0x200f) {
				t.Fatalf("Sanitize(%q) = %q holds %U", s, got, c)
			}
		}
		if strings.Count(got, "\n") > strings.Count(s, "\n") {
			t.Fatalf("Sanitize(%q) = %q has more lines", s, got)
		}
		if again := Sanitize(got); again != got {
			t.Fatalf("Sanitize(%q) = %q, and of that %q", s, got, again)
		}
		if line := SanitizeLine(s); strings.ContainsAny(line, "\n\t") {
			t.Fatalf("SanitizeLine(%q) = %q", s, line)
		}
	})
}

// TestSanitizedInPieces writes what Sanitize returns, whatever stands where the pieces meet.
func TestSanitizedInPieces(t *testing.T) {
	for _, odd := range []string{"\x1b[31m", "\x1b]0;title\x1b\\", "é", "\xff", "\u202e", "\r\n", "\x1b", "\u009b2J"} {
		for before := 32<<10 - 12; before <= 32<<10+2; before++ {
			text := strings.Repeat("x", before) + odd + odd + "end"
			var b strings.Builder
			if err := WriteSanitized(&b, text); err != nil || b.String() != Sanitize(text) {
				t.Errorf("%q after %d characters: %v", odd, before, err)
			}
		}
	}
}
