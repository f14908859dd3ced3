package render

import (
	"strings"
	"testing"
)

func TestToolPage(t *testing.T) {
	tool := Tool{
		Name:        "search",
		Title:       "Search\x1b[2J everything",
		Description: "Find things.\n\nA long paragraph that has to be broken somewhere because it is wider than the screen is.",
		Params: []Param{
			{Line: "q  string (required)", Description: "what to\x1b[2J look for\n"},
			{Line: "limit  integer (default 10)", Description: "how many to return at most, when there are more of them than anybody would read"},
			{Line: "bare  boolean"},
		},
		Hints:   []string{"changes nothing"},
		Example: "mcpctl call web search q='two  words'",
	}
	var b strings.Builder
	if err := ToolPage(&b, Screen{Width: 60}, tool); err != nil {
		t.Fatal(err)
	}
	want := `search  Search everything
Find things.

A long paragraph that has to be broken somewhere because it
is wider than the screen is.
The server says: changes nothing

Parameters:
  q  string (required)  what to look for
  limit  integer (default 10)
      how many to return at most, when there are more of
      them than anybody would read
  bare  boolean

Example:
  mcpctl call web search q='two  words'
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := ToolPage(&b, Screen{Terminal: true, Width: 20}, Tool{Name: "search", Title: "Search everything", Example: "x"}); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "search  Search ever…" {
		t.Errorf("the title on 20 columns: %q", first)
	}
	b.Reset()
	if err := ToolPage(&b, Screen{}, Tool{Name: "odd", Example: "mcpctl call web odd"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "It takes no parameters that its schema tells of.") {
		t.Errorf("got %q", b.String())
	}
}
