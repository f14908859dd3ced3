package render

import (
	"bufio"
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzXML shows that what is escaped is read as it was, by the standard library's reader: between tags and in attributes,
// but for what XML does not allow.
func FuzzXML(f *testing.F) {
	for _, s := range []string{"", "a & b", `"<'>"`, "a\tb\r\nc", "\x00\x1b[2J", "\xff\xfe", "\ufffe\uffff\ufffd", "]]>", "é😀", "&amp;", "\u0085\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		x := xmlText{p: pen{bufio.NewWriter(&b)}}
		x.begin("a", "b", text)
		x.leaf("c", text)
		x.end("a")
		if err := x.p.out.Flush(); err != nil {
			t.Fatal(err)
		}
		var got struct {
			B string `xml:"b,attr"`
			C string `xml:"c"`
		}
		if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatalf("%q: %s", b.String(), err)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0xfffe || r == 0xffff {
				return utf8.RuneError
			}
			return r
		}, text)
		if got.B != want || got.C != want {
			t.Errorf("%q came back as %q and %q", text, got.B, got.C)
		}
	})
}
