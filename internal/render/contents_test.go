package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func contentsOf(t *testing.T, raw string) *Contents {
	t.Helper()
	c, err := ParseContents(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestContentsInAPipeAreWhatTheyAre holds what is written, byte for byte.
func TestContentsInAPipeAreWhatTheyAre(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{"contents":[{"uri":"a://b","text":"x\u001b[31m\ny"}]}`, "x\x1b[31m\ny"},
		{`{"contents":[{"uri":"a://b","text":""}]}`, ""},
		{`{"contents":[{"uri":"a://b","blob":"AAH/"}]}`, "\x00\x01\xff"},
		{`{"contents":[{"uri":"a://b","blob":""}]}`, ""},
		{`{"contents":[{"uri":"a://b","mimeType":"text/plain","blob":"aGk="}]}`, "hi"},
		{`{"contents":[]}`, ""},
		{
			`{"contents":[{"uri":"a://b","text":"x"},{"uri":"a://c","text":"y\n"},{"uri":"a://d","mimeType":"image/png","blob":"AAH/"}]}`,
			"==> a://b <==\nx\n\n==> a://c <==\ny\n\n==> a://d <==\n[resource image/png a://d, 3 bytes; --save DIR saves it]\n",
		},
	} {
		var b bytes.Buffer
		if err := contentsOf(t, tt.raw).Write(&b, Screen{}, false); err != nil || b.String() != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.raw, b.String(), err, tt.want)
		}
	}
}

// TestContentsOnATerminalAreHarmless holds that nothing of them acts on it.
func TestContentsOnATerminalAreHarmless(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{"contents":[{"uri":"a://b","text":"x\u001b[2Jy"}]}`, "xy\n"},
		{`{"contents":[{"uri":"a://b","text":"x\n"}]}`, "x\n"},
		{`{"contents":[{"uri":"a://\u001b[2Jb","text":"x"},{"uri":"a://c","text":"y"}]}`, "==> a://b <==\nx\n\n==> a://c <==\ny\n"},
		{`{"contents":[{"uri":"a://a-very-long-name-for-a-resource/that/goes/on","text":"x"},{"uri":"b","text":"y"}]}`, "==> a://a-very-long-name-for-a-reso… <==\nx\n\n==> b <==\ny\n"},
	} {
		var b bytes.Buffer
		if err := contentsOf(t, tt.raw).Write(&b, Screen{Terminal: true, Width: 40}, false); err != nil || b.String() != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.raw, b.String(), err, tt.want)
		}
	}
}

// TestOddContents holds what is a problem, and what leaves nothing to be used.
func TestOddContents(t *testing.T) {
	for _, raw := range []string{`null`, `[]`, `"x"`, `{}`, `{"contents":null}`, `{"contents":{"uri":"a"}}`, `{"contents":"x"}`} {
		if c, err := ParseContents(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: %+v", raw, c)
		}
	}
	for item, want := range map[string]string{
		`7`:                         "is not an object",
		`{"uri":"a"}`:               "has neither text nor a blob",
		`{"uri":"a","text":7}`:      `has a "text" that is not text`,
		`{"uri":"a","blob":{}}`:     `has a "blob" that is not text in base64`,
		`{"uri":"a","blob":"%"}`:    "has a blob that is not base64",
		`{"uri":"a","text":null}`:   `has a "text" that is not text`,
		`{"text":"x","blob":"AAA"}`: "has both text and a blob; the text is taken",
	} {
		c := contentsOf(t, `{"contents":[`+item+`]}`)
		if len(c.Problems) != 1 || c.Problems[0] != "content 1 of the result "+want || c.Unusable() != !strings.Contains(want, "both") {
			t.Errorf("%s: %q, unusable %v", item, c.Problems, c.Unusable())
		}
		if err := c.Write(new(bytes.Buffer), Screen{Terminal: true}, true); err != nil {
			t.Error(item, err)
		}
	}
	if c := contentsOf(t, `{"contents":[]}`); c.Unusable() || c.Len() != 0 {
		t.Error("no contents are nothing that cannot be used")
	}
}

func TestContentsAreCut(t *testing.T) {
	c := contentsOf(t, `{"n":1.50,"contents":[{"uri":"a","text":"héllo"},{"uri":"b","blob":"AAAAAAAA"}]}`)
	fromText, fromRaw := c.Truncate(7)
	if want := `{"n":1.50,"contents":[{"uri":"a","text":"héllo"},{"uri":"b","blob":"AA"}]}`; fromText != 0 || fromRaw != 6 || string(c.Raw) != want {
		t.Errorf("%d, %d: %s", fromText, fromRaw, c.Raw)
	}
	if fromText, fromRaw = c.Truncate(2); fromText != 3 || fromRaw != 5 {
		t.Errorf("%d, %d: %s", fromText, fromRaw, c.Raw)
	}
}

// TestContentsAreSavedUnderTheirNames holds that no URI leads out of the directory, and that nothing is overwritten unasked.
func TestContentsAreSavedUnderTheirNames(t *testing.T) {
	dir := t.TempDir()
	for uri, want := range map[string]string{
		"file:///a/b/notes.md": "notes.md", "demo://readme": "readme.txt", "a://../../../etc/passwd": "passwd.txt", "a://b/..": "resource.txt", "urn:isbn:123": "123.txt",
		"": "resource.txt", "a://b/.bashrc": "bashrc.txt", "file:///a/%2e%2e%2fb": "b.txt", "a://x/y z\x1b.txt": "resource.txt", "a://x/y%20z": "y_z.txt",
		"a://x/" + strings.Repeat("n", 300) + ".txt": strings.Repeat("n", 96) + ".txt",
	} {
		raw, err := json.Marshal(map[string]any{"contents": []any{map[string]string{"uri": uri, "text": "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		c := contentsOf(t, string(raw))
		to := filepath.Join(dir, "sub", want)
		_ = os.RemoveAll(filepath.Join(dir, "sub"))
		saved, err := c.SaveDir(filepath.Join(dir, "sub"), false)
		if err != nil || !slices.Equal(saved, []string{to}) {
			t.Errorf("%q: %q, %v; want %s", uri, saved, err, to)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	file := filepath.Join(dir, "one")
	one, two := contentsOf(t, `{"contents":[{"uri":"a","text":"one"}]}`), contentsOf(t, `{"contents":[{"uri":"a","text":"two"}]}`)
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if err := one.SaveFile(file, false); err != nil {
		t.Fatal(err)
	}
	holds("one")
	if err := two.SaveFile(file, false); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	holds("one")
	if err := two.SaveFile(file, true); err != nil {
		t.Fatal(err)
	}
	holds("two")
	if err := two.SaveFile(dir, true); err == nil {
		t.Error("a directory was overwritten")
	}
	if runtime.GOOS != "windows" {
		if err := two.SaveFile("/dev/null", false); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func FuzzContents(f *testing.F) {
	f.Add([]byte(`{"contents":[{"uri":"a://b","text":"x"},{"blob":"AAH/"},7]}`), 3)
	f.Fuzz(func(t *testing.T, raw []byte, most int) {
		c, err := ParseContents(raw)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := c.Write(&b, Screen{Terminal: true, Width: 20}, true); err != nil {
			t.Error(err)
		}
		if i := bytes.IndexFunc(b.Bytes(), func(r rune) bool { return r == 0x1b || r == '\r' }); i >= 0 {
			t.Errorf("%q acts on a terminal", b.String())
		}
		if most > 0 {
			c.Truncate(most)
			if !json.Valid(c.Raw) {
				t.Errorf("cut to %s", c.Raw)
			}
		}
		for _, i := range c.items {
			if name := i.fileName(); name == "" || filepath.Base(name) != name || strings.HasPrefix(name, ".") {
				t.Errorf("%q is saved as %q", i.uri, name)
			}
		}
	})
}
