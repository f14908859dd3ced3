package shellwords

import (
	"os/exec"
	"runtime"
	"testing"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"":              "''",
		"plain-1.2/é":   "plain-1.2/é",
		"a=b":           "a=b",
		"a=b c":         "a='b c'",
		"a b=c":         "'a b=c'",
		"it's":          `'it'\''s'`,
		"a=~":           "a='~'",
		"=ls":           "'=ls'",
		"list[]=x":      "'list[]=x'",
		"a=x\ny\x1b1\\": `a=$'x\ny\0331\\'`,
		"a=\u009b":      `a=$'\302\233'`,
	} {
		if got := quote(word, false); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
	for word, want := range map[string]string{
		"":                   `""`,
		`C:\bin\server.exe`:  `C:\bin\server.exe`,
		"a=b c":              `a="b c"`,
		`C:\Program Files\x`: `"C:\Program Files\x"`,
		`C:\My Files\`:       `'C:\My Files\'`,
		"a,b":                `"a,b"`,
		"it's":               `"it's"`,
		`{"a":"it's"}`:       `'{"a":"it''s"}'`,
		"a=$x":               "a='$x'",
		"a\x1b":              `$'a\033'`,
	} {
		if got := quote(word, true); got != want {
			t.Errorf("on Windows %q: got %s, want %s", word, got, want)
		}
	}
}

// TestQuoteComesBackFromAShell asks a real shell, where there is one.
func TestQuoteComesBackFromAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	for _, word := range []string{
		"", "plain", "a=b c", "it's", "a='", "~", "a=~/x", "a=$HOME", "`ls`", "a;b", "list[]=*", `\`, `a=\'`, "a\nb", "a\x1b1\t\\'\"",
		"\u009b", "\x7f0", "!x", "#x", "{a,b}", "<é>", "%s", "-n", "a=\"b\"",
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", `printf '%s.' `+Quote(word)).Output()
		if got := string(out); err != nil || got != word+"." {
			t.Errorf("%q: %s came back as %q, %v", word, Quote(word), got, err)
		}
	}
}
