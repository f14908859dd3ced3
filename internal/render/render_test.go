package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		" a\n\n b\tc \r\n":           "a b c",
		"clear\x1b[2J screen":        "clear screen",
		"title\x1b]0;owned\x07 gone": "title gone",
		"right\u202eleft":            "rightleft",
		"c1\u009b2Jx":                "c1x",
		"الرياض 👩‍👩‍👧":               "الرياض 👩‍👩‍👧",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"One. Two.":                         "One.",
		"No stop at all":                    "No stop at all",
		"Version 1.2 of it. More.":          "Version 1.2 of it.",
		"Some, e.g. this one. More.":        "Some, e.g. this one.",
		"Lines\nbroken in the middle. Yes.": "Lines broken in the middle.",
		"A paragraph\n\nAnother.":           "A paragraph",
		"Really? Yes.":                      "Really?",
		"":                                  "",
	} {
		if got := FirstSentence(in); got != want {
			t.Errorf("FirstSentence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abcdef", 0, "abcdef"},
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
	} {
		if got := Cut(c.in, c.width); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func testTable() Table {
	return Table{
		Columns: []Column{{Title: "name", Fixed: true}, {Title: "target"}, {Title: "tools", Fixed: true, Right: true}, {Title: "detail"}},
		Rows: [][]Cell{
			{{Text: "a", Style: Strong}, {Text: "https://a.example/with/a/long/path"}, {Text: "7"}, {Text: "short"}},
			{{Text: "日本", Style: Strong}, {Text: "x\ty"}, {Text: "12"}, {Text: "a description that goes on and on"}},
			{{Text: "c"}},
		},
	}
}

func TestTableInAPipeIsTabSeparated(t *testing.T) {
	var b strings.Builder
	if err := testTable().Write(&b, Screen{}); err != nil {
		t.Fatal(err)
	}
	want := "a\thttps://a.example/with/a/long/path\t7\tshort\n" +
		"日本\tx y\t12\ta description that goes on and on\n" +
		"c\t\t\t\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTableOnATerminalFitsTheWidth(t *testing.T) {
	var b strings.Builder
	if err := testTable().Write(&b, Screen{Terminal: true, Width: 50}); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		if n := len([]rune(line)); n > 50 {
			t.Errorf("line %d has %d columns: %q", i, n, line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("line %d ends in spaces: %q", i, line)
		}
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasPrefix(lines[0], "NAME  TARGET ") {
		t.Errorf("titles: %q", lines[0])
	}
	if !strings.HasPrefix(lines[2], "日本  x y ") {
		t.Errorf("a wide name pushes the next column: %q", lines[2])
	}
	if !strings.Contains(lines[1], "…") || !strings.Contains(lines[2], "…") {
		t.Errorf("nothing was cut:\n%s", b.String())
	}
}

func TestNoRowIsWiderThanTheTerminal(t *testing.T) {
	long := strings.Repeat("long-", 20)
	table := Table{
		Columns: []Column{
			{Title: "name", Fixed: true},
			{Title: "transport", Fixed: true},
			{Title: "target"},
			{Title: "latency", Fixed: true, Right: true},
			{Title: "state", Fixed: true},
		},
		Rows: [][]Cell{
			{{Text: long}, {Text: "auto"}, {Text: "https://" + long}, {Text: "12.5 s"}, {Text: "needs_authorization"}},
			{{Text: "日本語" + long}, {Text: "stdio"}, {Text: "x"}, {Text: "5 ms"}, {Text: "ready"}},
		},
	}
	titles := []string{"NAME", "TRANSPORT", "TARGET", "LATENCY", "STATE"}
	for width := 1; width <= 250; width++ {
		var b strings.Builder
		if err := table.Write(&b, Screen{Terminal: true, Width: width}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > width {
				t.Fatalf("width %d: %d columns: %q", width, n, line)
			}
		}
		shown := strings.Fields(lines[0])
		if width < len("name") {
			continue // a title alone may be cut
		}
		if len(shown) > len(titles) || !slices.Equal(shown, titles[:len(shown)]) {
			t.Errorf("width %d: the titles are %q", width, shown)
		}
		if width >= 40 && len(shown) < len(titles) {
			t.Errorf("width %d: a column is missing: %q", width, shown)
		}
	}
}

func TestFixedColumnsGiveWayLast(t *testing.T) {
	table := testTable()
	table.Rows[0][0].Text = "a-name-that-is-long"
	var b strings.Builder
	if err := table.Write(&b, Screen{Terminal: true, Width: 46}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\na-name-that-is-long  ") {
		t.Errorf("the name was cut although others could give way:\n%s", b.String())
	}
}

func TestColours(t *testing.T) {
	if got := (Screen{}).Paint(Bad, "x"); got != "x" {
		t.Errorf("without colours: %q", got)
	}
	got := (Screen{Colour: true}).Paint(Bad, "x")
	if want := "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Screen{Colour: true}).Paint(Plain, "x"); got != "x" {
		t.Errorf("plain text: %q", got)
	}
}

func TestWrap(t *testing.T) {
	got := Wrap("one two three four five six seven\n\nnext", 22, "  ")
	want := "  one two three four\n  five six seven\n\n  next"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
