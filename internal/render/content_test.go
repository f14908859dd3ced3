package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/rawjson"
)

// written returns what Write writes.
func written(t *testing.T, r *Result, s Screen, line bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, s, line); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBase64(t *testing.T) {
	data := []byte{0xff, 0xef, 0xbe, 0, 1, 2, 3}
	for n := range data {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(data[:n])
			for _, written := range []string{text, strings.ReplaceAll(text, "/", `\/`), strings.Join(strings.Split(text, ""), `\r\n`)} {
				q := rawjson.Text(`"` + written + `"`)
				if got, err := decodeBase64(q.String()); err != nil || !bytes.Equal(got, data[:n]) {
					t.Errorf("%s: %x, %v; want %x", q, got, err, data[:n])
				}
				length, ok := decodedLength(q)
				got, err := io.ReadAll(base64Reader(q))
				if !ok || length != n || err != nil || !bytes.Equal(got, data[:n]) {
					t.Errorf("%s: %d bytes, %t, then %x, %v; want %x", q, length, ok, got, err, data[:n])
				}
			}
		}
	}
	for _, q := range []string{`"A"`, `"%"`, `"AAAAA"`, `"é"`} {
		if _, ok := decodedLength(rawjson.Text(q)); ok {
			t.Errorf("%s is taken for base64", q)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"héllo", 2, "hé"},
		{"abc", 3, "abc"},
		{"abc", 9, "abc"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"", 0, ""},
		{"ae\u0301b", 2, "a"},
		{"ae\u0301b", 3, "ae\u0301"},
		{"a\r\nb", 2, "a"},
		{"a\U0001f469\u200d\U0001f680b", 2, "a"},
		{"a\U0001f469\u200d\U0001f680b", 3, "a"},
		{"a\U0001f469\u200d\U0001f680b", 4, "a\U0001f469\u200d\U0001f680"},
		{"a\U0001f44b\U0001f3fdb", 2, "a"},
		{"a\ufe0f", 1, "a"}, // there is nothing before it to keep
		{"a" + strings.Repeat("\u0301", 100), 50, "a" + strings.Repeat("\u0301", 49)},
		{"a\xff\xffb", 2, "a\xff"},
		{"नमस्ते", 3, "नम"},
	} {
		if got := firstRunes(c.text, c.n); got != c.want {
			t.Errorf("%q, %d: got %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	r, err := ParseResult([]byte("{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\x9b2J\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, r, Screen{}, false); got != "a\xffb\x9b2J" {
		t.Errorf("in a pipe %q", got)
	}
	if got := written(t, r, Screen{Terminal: true}, false); got != "a\ufffdb\ufffd2J\n" {
		t.Errorf("on a terminal %q", got)
	}
}

// What is written in one block cannot be completed in the next.
func TestSequencesAcrossBlocks(t *testing.T) {
	r, err := ParseResult([]byte(`{"content":[{"type":"text","text":"a\u001b"},{"type":"text","text":"[2Jb"},{"type":"text","text":"\u202ec"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, r, Screen{Terminal: true}, false); got != "a\n[2Jb\nc\n" {
		t.Errorf("got %q", got)
	}
}

func TestStructuredContentIsCutAsText(t *testing.T) {
	const raw = `{"content":[],"structuredContent":{"name":"long enough"}}`
	r, err := ParseResult([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if text, inRaw := r.Truncate(10); text != 17 || inRaw != 0 || string(r.Raw) != raw {
		t.Errorf("%d missing, %d in the document %s", text, inRaw, r.Raw)
	}
	if got := written(t, r, Screen{}, false); got != "{\n  \"name\"\n" {
		t.Errorf("got %q", got)
	}
}

func TestLinks(t *testing.T) {
	c := ParseContent([]byte(`[{"type":"resource_link","uri":"x://1"},{"type":"text","text":"t"},{"type":"resource_link","uri":"x://2"},
		{"type":"resource_link","uri":"x://1"},{"type":"resource_link"},{"type":"resource","resource":{"uri":"x://3","text":"here"}}]`))
	if got := strings.Join(c.Links(), " "); got != "x://1 x://2" {
		t.Errorf("links %s", got)
	}
}

func TestFileNames(t *testing.T) {
	for _, c := range []struct{ uri, name, mimeType, looks, want string }{
		{"", "", "image/png", "", "tool-1.png"},
		{"", "", "", "image/jpeg", "tool-1.jpg"},
		{"", "", "application/octet-stream", "application/pdf", "tool-1.pdf"},
		{"", "", "application/octet-stream", "application/octet-stream", "tool-1.bin"},
		{"", "chart", "image/png", "", "chart.png"},
		{"file:///a/b/Report.PDF", "", "application/pdf", "", "Report.PDF"},
		{"file:///a/b/", "", "text/plain", "", "b.txt"},
		{"file:///C:/a/b.txt", "", "text/plain", "", "b.txt"},
		{`file:///a\..\b.txt`, "", "text/plain", "", "b.txt"},
		{"https://example.com", "", "text/html", "", "tool-1.html"},
		{"https://example.com/?file=x.txt", "", "text/html", "", "tool-1.html"},
		{"https://example.com/a.tar.gz", "", "application/gzip", "", "a.tar.gz"},
		{"https://example.com/v1.2", "", "text/plain", "", "v1.2.txt"},
		{"https://example.com/x.docx", "", "application/zip", "", "x.docx"},
		{"https://example.com/x.exe", "", "image/png", "", "x.exe.png"},
		{"mem:notes/today.md", "", "text/markdown", "", "today.md"},
		{"demo://notes/1", "", "text/plain", "", "tool-1.txt"},
		{"demo://readme", "", "text/markdown", "", "readme.md"},
		{"%zz", "", "text/plain", "", "tool-1.txt"},
		{"file:///..", "", "text/plain", "", "tool-1.txt"},
		{"file:///-rf", "", "text/plain", "", "rf.txt"},
		{"file:///a%00b%0Ac%1b%5B2J.txt", "", "text/plain", "", "a_b_c__2J.txt"},
		{"file:///a%E2%80%AEtxt.exe", "", "", "", "a_txt.exe"},
		{"file:///nul", "", "text/plain", "", "_nul.txt"},
		{"file:///COM1.txt", "", "text/plain", "", "_COM1.txt"},
		{"file:///common.txt", "", "text/plain", "", "common.txt"},
		{"file:///" + strings.Repeat("é", 200) + ".txt", "", "text/plain", "", strings.Repeat("é", 50) + ".txt"},
	} {
		b := block{uri: c.uri, name: c.name, mimeType: c.mimeType}
		if got := fileName("tool", 1, &b, c.looks); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	for tool, want := range map[string]string{"../x": "_x-1.png", "": "_-1.png", "con": "_con-1.png", strings.Repeat("x", 300): strings.Repeat("x", 100) + "-1.png"} {
		if got := fileName(tool, 1, &block{mimeType: "image/png"}, ""); got != want {
			t.Errorf("tool %q: got %q, want %q", tool, got, want)
		}
	}
}

func TestDoubt(t *testing.T) {
	for _, c := range []struct{ says, looks, want string }{
		{"image/png", "image/png", ""},
		{"image/jpg", "image/jpeg", ""},
		{"audio/x-wav", "audio/wave", ""},
		{"image/png", "image/jpeg", "the server says image/png, and it looks like image/jpeg"},
		{"image/png", "text/html", "the server says image/png, and it looks like text"},
		{"image/png", "application/octet-stream", "the server says image/png, and it does not look like that"},
		{"text/plain", "image/png", "the server says text/plain, and it looks like image/png"},
		{"text/plain; charset=utf-16", "application/octet-stream", ""},
		{"audio/mpeg", "application/octet-stream", ""}, // frames without a header look like nothing
		{"application/x-own", "image/png", ""},
		{"application/octet-stream", "image/png", ""},
		{"", "image/png", ""},
	} {
		if got := doubt(c.says, c.looks); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.says, c.looks, got, c.want)
		}
	}
}

// failingReader ends with an error after some bytes, as a disk that is full ends a copy.
type failingReader struct{ left int }

func (r *failingReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, fmt.Errorf("no more")
	}
	n := min(r.left, len(p))
	r.left -= n
	return n, nil
}

func TestNoFileIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"x.tar.gz", "x.tar-2.gz", "x.tar-3.gz"} {
		path, err := writeNew(dir, "x.tar.gz", []byte(want))
		if err != nil || path != filepath.Join(dir, want) {
			t.Errorf("written to %s, %v, want %s", path, err, want)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
}

func TestAFileThatIsNotWholeIsRemoved(t *testing.T) {
	dir := t.TempDir()
	_, err := writeNewFrom(dir, "x.bin", &failingReader{left: 100_000})
	if err == nil || err.Error() != filepath.Join(dir, "x.bin")+": no more" {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A result is not copied to be read, written and saved: it may be large.
func TestALargeResultIsNotCopied(t *testing.T) {
	const size = 20 << 20
	text := strings.Repeat(`a line\n`, size/8)
	raw := []byte(`{"content":[{"type":"text","text":"` + text + `"},{"type":"image","mimeType":"image/x","data":"` + strings.Repeat("AAAA", size/4) + `"}]}`)
	dir := t.TempDir()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := ParseResult(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(io.Discard, Screen{}, false); err != nil {
		t.Fatal(err)
	}
	saved, err := r.Save(dir, "x")
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved %q, %v", saved, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("%d bytes were allocated for a result of %d", used, len(raw))
	}
	if info, err := os.Stat(saved[0]); err != nil || info.Size() != size/4*3 {
		t.Errorf("%v, %v", info, err)
	}
}

// FuzzResult shows that no result makes anything panic, that text on a terminal is harmless whatever is in it, and that
// cutting keeps valid JSON valid and text within its bound.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a\u001b[2J\ud83d\ude80e\u0301"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"isError":true}`,
		`{"content":{"type":"resource","resource":{"uri":"x:1","blob":"aGk","mimeType":"text/plain"}},"structuredContent":[1,{"a":"b"}]}`,
		`{"content":[{"type":"resource_link","uri":"x\n","name":"n","annotations":{"audience":["assistant"]}},7,null,[]]}`,
		`{"structuredContent":"text"}`, `{}`, `[]`, ` { "content" : [ ] } `, `{"content":"x","content":[{"type":"text","text":"second"}]}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, most int) {
		r, err := ParseResult(raw)
		if err != nil {
			if json.Valid(raw) && rawjson.Kind(raw) == '{' {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for _, c := range written(t, r, Screen{Terminal: true, Width: 40, Pictures: Pictures{Protocol: Sixel, Width: 64, Height: 64}}, false) {
			if c != '\n' && c != '\t' && c != '\x1b' && unicode.IsControl(c) {
				t.Fatalf("%q: %q on a terminal", raw, c)
			}
		}
		for _, c := range written(t, r, Screen{Terminal: true}, true) {
			if c != '\n' && c != '\t' && unicode.IsControl(c) || c >= 0x202a && c <= 0x202e {
				t.Fatalf("%q: %q on a terminal", raw, c)
			}
		}
		{
			most := min(max(most, 1), 1000)
			whole := r.allText()
			missing, _ := r.Truncate(most)
			if !json.Valid(r.Raw) {
				t.Fatalf("%q cut to %d is %q", raw, most, r.Raw)
			}
			if left := r.allText(); !r.bare && utf8.RuneCountInString(left)+missing != utf8.RuneCountInString(whole) || !r.bare && utf8.RuneCountInString(left) > most {
				t.Fatalf("%q cut to %d: %q, and %d missing", raw, most, left, missing)
			}
			written(t, r, Screen{}, false)
		}
	})
}

// allText is all the text that the server wrote.
func (c Content) allText() string {
	var b strings.Builder
	for _, each := range c.blocks {
		if each.isText {
			b.WriteString(each.content())
		}
	}
	return b.String()
}
