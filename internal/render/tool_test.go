package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// searchTool has everything that a page can show.
func searchTool() Tool {
	input := json.RawMessage(`{"type":"object","required":["query","sort"],"properties":{
		"query":{"type":"string","minLength":1,"maxLength":200,"description":"what to\u001b[2J look for; quotes keep words together"},
		"sort":{"type":"string","enum":["relevance","date","size"],"description":"the order"},
		"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"how many at most"},
		"note":{"type":"string","default":"a default that is longer than its column","description":"- one\n- two, which is a long item of a list that has to be broken"},
		"cursor":{"anyOf":[{"type":"string","pattern":"^[a-z0-9]{8}$"},{"type":"null"}],"default":null},
		"filter":{"type":"object","description":"leave out what does not fit","required":["owner"],"properties":{
			"owner":{"type":"string","format":"email"},
			"a_rather_long_parameter_name_that_is_too_wide":{"type":"number","exclusiveMinimum":0}}}}}`)
	output := json.RawMessage(`{"type":"object","required":["hits"],"properties":{"hits":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}}}}`)
	t := Tool{
		Name: "search", Title: "Search\x1b[2J everything", Signature: toolargs.SignatureParams(input),
		Description: "Find things.\n\n    A long paragraph that has to be broken somewhere because it is wider than the screen is.\n\n    ```\n    code {  stays  }\n    ```",
		Effects:     []string{"changes nothing", "may reach outside (the server does not say)"},
		Example:     "mcpctl call web search query='two  words' sort=relevance",
		Returns:     &Members{},
	}
	t.Params.Rows, _ = toolargs.Rows(input)
	t.Returns.Rows, _ = toolargs.Rows(output)
	t.Returns.LeftOut = true
	return t
}

// TestToolPage compares the page on terminals of two widths, in colour, and in a pipe with what they were.
func TestToolPage(t *testing.T) {
	for name, screen := range map[string]Screen{
		"tool_80.txt":     {Terminal: true, Width: 80},
		"tool_40.txt":     {Terminal: true, Width: 40},
		"tool_colour.txt": {Terminal: true, Width: 100, Colour: true},
		"tool_pipe.txt":   {},
	} {
		var b strings.Builder
		if err := ToolPage(&b, screen, searchTool()); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			whole := strings.Contains(line, "a_rather_long") || strings.Contains(line, "mcpctl call") // to copy
			if n := ansi.StringWidth(line); screen.Width > 0 && n > screen.Width && !whole {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
			if strings.ContainsRune(line, '\x1b') && !screen.Colour {
				t.Errorf("%s: a control character in %q", name, line)
			}
		}
	}
}

func TestToolPageOfOddTools(t *testing.T) {
	page := func(s Screen, tool Tool) string {
		var b strings.Builder
		if err := ToolPage(&b, s, tool); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := page(Screen{}, Tool{Name: "odd", Example: "mcpctl call web odd", Guess: true, Params: Members{None: "Nothing is known."}})
	want := "odd()\n\nNothing is known.\n\nExample, with values that the server may refuse:\n  mcpctl call web odd\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var params []string
	for range 300 {
		params = append(params, "parameter?: string")
	}
	got = page(Screen{Terminal: true, Width: 50}, Tool{Name: "many", Signature: params})
	head, _, _ := strings.Cut(got, "\n\n")
	if strings.Count(head, "\n") != 1+maxSignature || !strings.HasSuffix(head, "\n    … and 292 more)") {
		t.Errorf("the signature is %q", head)
	}
}

func TestProse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"short", "Find.", 40, "Find."},
		{"broken", "a paragraph that is too wide for the screen", 20, "a paragraph that is\ntoo wide for the\nscreen"},
		{"not broken", "a paragraph that is too wide for the screen", 0, "a paragraph that is too wide for the screen"},
		{"a docstring", "First.\n\n    Second\n      more\n    ", 40, "First.\n\nSecond\n  more"},
		{"lists hang", "- one two three four five\n* six\n10. seven eight nine ten", 20, "- one two three four\n  five\n* six\n10. seven eight nine\n    ten"},
		{"sections keep their lines", "Args:\n    city: the name of a city, real\n    n: how many", 24, "Args:\n    city: the name of\n      a city, real\n    n: how many"},
		{"lines of an editor are joined", "The first line of a text that was broken, as\nits author liked it, at some column and not at\nours.", 80, "The first line of a text that was broken, as its author liked it, at some column\nand not at ours."},
		{"short lines are not", "One\ntwo\nthree", 80, "One\ntwo\nthree"},
		{"sentences are not", "The first line of a text that ends where it ends.\nThe second line.", 80, "The first line of a text that ends where it ends.\nThe second line."},
		{"labels are not", "The first line of a text which has no full stop\nReturns: a number", 80, "The first line of a text which has no full stop\nReturns: a number"},
		{"code stays", "Use:\n```\nsome code that is wider than the screen, and stays\n\n\nso\n```\nend", 20, "Use:\n```\nsome code that is wider than the screen, and stays\n\n\nso\n```\nend"},
		{"code without an end", "~~~\na   b", 20, "~~~\na   b"},
		{"tables stay", "| a | b | c | d | e | f | g |\n|---|---|", 20, "| a | b | c | d | e | f | g |\n|---|---|"},
		{"blank lines are one", "\n\na\n\n\n\nb\n\n", 20, "a\n\nb"},
		{"harmless", "a\x1b[2Jb\u202ec\r\nd", 20, "abc\nd"},
		{"too deep to hang", strings.Repeat(" ", 3) + "\n" + strings.Repeat(" ", 30) + "deep words here\nx", 20, "deep words here\nx"},
	} {
		if got := Prose(c.text, c.width); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func FuzzProse(f *testing.F) {
	for _, seed := range []string{"a\n    b\n\tc", "- x\n  y", "```\ncode", "1. a\n   b", "\x1b[31m\u202e", "世界 世界 世界 世界 世界", "|a|\n# h\n> q"} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 10 + (width%100+100)%100
		got := Prose(text, width)
		if strings.ContainsAny(got, "\x1b\r\x07") {
			t.Errorf("%q is not harmless", got)
		}
		code := false
		for line := range strings.SplitSeq(got, "\n") {
			if fenceOf(line) != "" {
				code = true // from here on lines may be as they are
			}
			if n := ansi.StringWidth(line); n > width && !code && !strings.HasPrefix(strings.TrimSpace(line), "|") {
				t.Errorf("%d columns, want %d: %q", n, width, line)
			}
		}
		letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if want, have := letters(Prose(text, 0)), letters(got); want != have {
			t.Errorf("broken at %d columns it is %q, and not %q", width, have, want)
		}
	})
}
