//go:build linux

package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// volatile is what differs from run to run, and what stands for it when a page is compared.
var volatile = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DATE"},
	{regexp.MustCompile(`\d+(\.\d+)? (ns|µs|ms|s|m|min|h)\b( \d+ (s|min)\b)?`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms)\b`), "TIME"},
	{regexp.MustCompile(`(stdio +)/\S+( (d\S*|…))? +TIME`), "${1}PROGRAM TIME"}, // go run builds it where it likes
	{regexp.MustCompile(`("\w+_ms"): ?[\d.e-]+`), "$1: TIME"},
	{regexp.MustCompile(`\btime="[\d.]+"`), `time="TIME"`},
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]|localhost):\d{4,5}\b`), "$1:PORT"},
	{regexp.MustCompile(`\b(process group|process|pid|PID) \d+`), "$1 N"},
	{regexp.MustCompile(`\bsession [0-9A-Za-z-]{4,}…`), "session ID…"},
	{regexp.MustCompile(`"[0-9A-Z]{26}"`), `"ID"`},
	{regexp.MustCompile(`/authorize\?\S+`), "/authorize?QUERY"},
	{regexp.MustCompile(`/credentials/\S+`), "/credentials/FILE"},
	{regexp.MustCompile(`mcpctl-demo \S+`), "mcpctl-demo VERSION"},
	{regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), "goN"},
	{regexp.MustCompile(`[█▉▊▋▌▍▎▏]+`), "█"},
	{regexp.MustCompile(`([✓✗!] [a-z]+) TIME`), "$1"}, // nothing is said of less than a millisecond
	{regexp.MustCompile(`  +`), "  "},
	{regexp.MustCompile(` +$`), ""},
}

// plain puts a word in the place of what differs from run to run.
func plain(line string) string {
	for _, v := range volatile {
		line = v.what.ReplaceAllString(line, v.as)
	}
	return line
}

// sameLine compares a line of a page with one that a command wrote. Where a line is cut to the width, the cut may lie some
// characters further: what stands before it may be longer or shorter.
func sameLine(page, got string) bool {
	page, got = plain(page), plain(got)
	if page == got {
		return true
	}
	a, restA, cutA := strings.Cut(page, "…")
	b, restB, cutB := strings.Cut(got, "…")
	if !cutA || !cutB || restA != restB {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	const further = 8
	return strings.HasPrefix(b, a) && len(b)-len(a) <= further
}

// flat puts what doctor sets side by side, as far as the width goes, into lines of their own.
func flat(lines []string) []string {
	text := regexp.MustCompile(`   ([✓✗!] [a-z]+)`).ReplaceAllString(strings.Join(lines, "\n"), "\n  $1")
	return strings.Split(text, "\n")
}

// sameText compares the lines that a page shows with those of a command. A line "…" of the page stands for any lines.
func sameText(page, got []string) bool {
	return sameLines(flat(page), flat(got))
}

func sameLines(page, got []string) bool {
	for len(page) > 0 && strings.TrimSpace(page[0]) != "…" {
		if len(got) == 0 || !sameLine(page[0], got[0]) {
			return false
		}
		page, got = page[1:], got[1:]
	}
	if len(page) == 0 {
		return len(got) == 0
	}
	for skip := range len(got) + 1 {
		if sameLines(page[1:], got[skip:]) {
			return true
		}
	}
	return false
}

func TestWhatIsTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page, got string
		same      bool
	}{
		{"ready in 47 ms", "ready in 5 ms", true},
		{"exit code 3", "exit code 4", false},
		{"demo  PASS   196 ms", "demo  PASS  1.96 s", true},
		{"a (stdio)   PASS   stdio   /usr/local/bin/mcpctl demo-server   1.0 s", "a (stdio)   PASS   stdio   /tmp/go-build3682096956/b001/exe/mcpctl …   330 ms", true},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", true},
		{"a\n…\nd", "a\nb\nc", false},
		{"a", "a\nb", false},
		{"a\n…", "a\nb", true},
		{"in 47 ms, and more wor…", "in 5 ms, and more words …", true},
		{"and more wor…", "and other words…", false},
		{"http://127.0.0.1:36677/mcp", "http://127.0.0.1:1234/mcp", true},
		{`{"elapsed_ms": 1.5}`, `{"elapsed_ms": 20}`, true},
		{`{"tools": 1}`, `{"tools": 2}`, false},
	} {
		if sameText(strings.Split(c.page, "\n"), strings.Split(c.got, "\n")) != c.same {
			t.Errorf("%q and %q: the same is %t", c.page, c.got, !c.same)
		}
	}
}
