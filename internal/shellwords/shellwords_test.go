package shellwords_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/mcpctl/mcpctl/internal/shellwords"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

func TestALineIsSplitAsAShellWould(t *testing.T) {
	for line, want := range map[string][]string{
		``:                          nil,
		`  `:                        nil,
		`# all of it`:               nil,
		`call add a=1 b=2`:          {"call", "add", "a=1", "b=2"},
		`call add  # and a comment`: {"call", "add"},
		`a#b`:                       {"a#b"},
		`message='two words'`:       {"message=two words"},
		`"a \"b\" \x $y"`:           {`a "b" \x $y`},
		`a\ b ''`:                   {"a b", ""},
		"'a\nb' c":                  {"a\nb", "c"},
		"a \\\nb":                   {"a", "b"},
		"{\"a\": \\\n1}":            {`{"a": 1}`},
		`$'a\nb\'\x41\101\u00e9'`:   {"a\nb'AAé"},
		`$HOME *.go ~ !x`:           {"$HOME", "*.go", "~", "!x"},
		`f:={"a": [1, 2]} x`:        {`f:={"a": [1, 2]}`, "x"},
		`{"a": "}' | "} x`:          {`{"a": "}' | "}`, "x"},
		`--args={"a": 1}`:           {`--args={"a": 1}`},
		`{a: 1}`:                    {"{a:", "1}"},
		`list[]=x [a-z]*`:           {"list[]=x", "[a-z]*"},
		`m={ x`:                     {"m={", "x"},
		`add(a: 1)`:                 {"add(a:", "1)"},
	} {
		words, err := shellwords.Split(line)
		if err != nil || !slices.Equal(shellwords.Texts(words), append([]string{}, want...)) {
			t.Errorf("%s: %q, %v; want %q", line, shellwords.Texts(words), err, want)
		}
		for _, w := range words {
			if w.Start >= w.End || w.End > len(line) {
				t.Errorf("%s: the word %q stands from %d to %d", line, w.Text, w.Start, w.End)
			}
		}
	}
}

func TestAnErrorNamesTheColumn(t *testing.T) {
	for line, want := range map[string]string{
		`tools | head`:   "column 7: there is no | here",
		`a; b`:           "column 2: there is no ; here",
		`größe > x`:      "column 7: there is no > here",
		`call 'a`:        "column 6: the quote ' is not closed",
		`call x="a`:      "column 8: the quote \" is not closed",
		"'a\nb' c | d":   "column 6: there is no | here",
		`a \`:            "column 3: nothing behind the backslash",
		"a \x00b":        "column 3: a NUL byte",
		`call x=$'\000'`: "column 10: a NUL byte",
	} {
		_, err := shellwords.Split(line)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestALineGoesOnInTheNext(t *testing.T) {
	for line, want := range map[string][2]bool{
		`call add`:        {false, false},
		`call 'a`:         {true, true},
		`call "a`:         {true, true},
		`call a \`:        {true, true},
		`call x:={`:       {false, true},
		`call x:={"a": [`: {false, true},
		`call [1,`:        {false, true},
		`tools [abc`:      {false, false},
		`call x:={"a":1}`: {false, false},
		`a | 'b`:          {false, false},
		`# it's`:          {false, false},
	} {
		if got := [2]bool{shellwords.Open(line, false), shellwords.Open(line, true)}; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

func TestTheWordAtTheCursor(t *testing.T) {
	for line, want := range map[string]struct {
		before int
		text   string
		start  int
		quote  byte
		plain  bool
	}{
		``:              {0, "", 0, 0, true},
		`ca`:            {0, "ca", 0, 0, true},
		`call `:         {1, "", 5, 0, true},
		`call ad`:       {1, "ad", 5, 0, true},
		`call x='a b`:   {1, "x=a b", 5, '\'', false},
		`call x="a b`:   {1, "x=a b", 5, '"', false},
		`call a\ b`:     {1, "a b", 5, 0, false},
		`call 'a b' c=`: {2, "c=", 11, 0, true},
	} {
		before, last, ok := shellwords.Typed(line)
		if !ok || len(before) != want.before || last.Text != want.text || last.Start != want.start || last.Quote != want.quote || last.Plain != want.plain {
			t.Errorf("%s: %d words before %+v, %v; want %+v", line, len(before), last, ok, want)
		}
	}
	for _, line := range []string{`call x:={"a`, `# ca`, `a | b`} {
		if _, _, ok := shellwords.Typed(line); ok {
			t.Errorf("%s: a word can be completed", line)
		}
	}
}

// FuzzSplit compares with a parser of real shells where both must agree, and wants every quoted word back.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{`call add a=1`, `'a b' "c \" d" e\ f`, `$'a\n'`, `x:={"a":[1]}`, "a \\\n b", `"`, `{`, `#`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := shellwords.Split(line)
		if e, ok := errors.AsType[*shellwords.Error](err); err != nil && (!ok || e.Column < 1 || e.Open != shellwords.Open(line, false)) {
			t.Fatalf("%q: %v", line, err)
		}
		shellwords.Typed(line)
		end := 0
		for _, w := range words {
			if w.Start < end || w.End < w.Start || w.End > len(line) {
				t.Fatalf("%q: the word %q stands from %d to %d", line, w.Text, w.Start, w.End)
			}
			end = w.End
		}
		if !strings.ContainsRune(line, 0) {
			back, err := shellwords.Split(toolargs.Quote(line))
			if len(back) != 1 || err != nil || back[0].Text != line && !strings.ContainsRune(strings.ToValidUTF8(line, "\x00"), 0) {
				t.Fatalf("%q, quoted %s: %q, %v", line, toolargs.Quote(line), shellwords.Texts(back), err)
			}
		}
		if err != nil || strings.ContainsAny(line, "$`{}[]()*?~!#\x00\r\\\n=^@+") || strings.ToValidUTF8(line, "") != line {
			return // where a shell does more, or reads it otherwise
		}
		var want []string
		for word, err := range syntax.NewParser().WordsSeq(strings.NewReader(line)) {
			if err != nil {
				return
			}
			text, err := expand.Literal(nil, word)
			if err != nil {
				return
			}
			want = append(want, text)
		}
		if !slices.Equal(shellwords.Texts(words), append([]string{}, want...)) {
			t.Fatalf("%q: %q, and a shell reads %q", line, shellwords.Texts(words), want)
		}
	})
}
