package render

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResult(t *testing.T) {
	blob := base64.StdEncoding.EncodeToString([]byte("nonce 6f76fba4"))
	for _, c := range []struct {
		name, raw, want string
		isError         bool
	}{
		{"text", `{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}`, "a\n\nb", false},
		{"text comes before structured content", `{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}`, "t", false},
		{"structured", `{"content":[],"structuredContent":{"id":1915883588174806058,"e":1E400}}`, "{\n  \"id\": 1915883588174806058,\n  \"e\": 1E400\n}\n", false},
		{"structured without content", `{"structuredContent":[1]}`, "[\n  1\n]\n", false},
		{"empty", `{}`, "", false},
		{"null content", `{"content":null}`, "", false},
		{"error", `{"content":[{"type":"text","text":"boom"}],"isError":true}`, "boom", true},
		{"error in quotes", `{"content":[],"isError":"true"}`, "", true},
		{"no error", `{"content":[],"isError":false}`, "", false},
		{"image", `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, "see\n[image image/png, 3 bytes; --save DIR saves it]\n", false},
		{"audio", `{"content":[{"type":"audio","mimeType":"audio/wav","data":"` + strings.Repeat("AAAA", 1000) + `"}]}`, "[audio audio/wav, 3.0 kB; --save DIR saves it]\n", false},
		{"bad base64", `{"content":[{"type":"image","mimeType":"image/png","data":"%"}]}`, "[image image/png, not valid base64]\n", false},
		{"link", `{"content":[{"type":"text","text":"see:"},{"type":"resource_link","name":"linked-doc","uri":"probe://linked"}]}`, "see:\n[link linked-doc probe://linked]\n", false},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","blob":"` + blob + `"}},{"type":"resource","resource":{"uri":"x:2","text":"plain"}}]}`, "nonce 6f76fba4\nplain", false},
		{"binary resource", `{"content":[{"type":"resource","resource":{"uri":"x:1","blob":"AAAA"}}]}`, "[resource x:1, 3 bytes; --save DIR saves it]\n", false},
		{"unknown", `{"content":[{"type":"hologram"}]}`, "[block of the unknown type \"hologram\"; -o json shows it]\n", false},
		{"not a block", `{"content":[7,null]}`, "[block that cannot be read; -o json shows it]\n[block that cannot be read; -o json shows it]\n", false},
		{"content is no array", `{"content":{"type":"text","text":"alone"}}`, "alone", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ParseResult([]byte(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := r.Write(&b, Screen{}, false); err != nil {
				t.Fatal(err)
			}
			if b.String() != c.want || r.IsError != c.isError {
				t.Errorf("got %q, error %v; want %q, %v", b.String(), r.IsError, c.want, c.isError)
			}
			if string(r.Raw) != c.raw {
				t.Errorf("the result was changed to %s", r.Raw)
			}
		})
	}
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `7`} {
		if _, err := ParseResult([]byte(raw)); err == nil {
			t.Errorf("%s: no error", raw)
		}
	}
}

func TestResultOnATerminal(t *testing.T) {
	r, err := ParseResult([]byte(`{"content":[{"type":"text","text":"a\u001b[2Jb\tc\nd"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b, Screen{Terminal: true}, false); err != nil {
		t.Fatal(err)
	}
	if want := "ab\tc\nd\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestTruncate(t *testing.T) {
	raw := `{"content":[{"type":"text","text":"héllo"},{"type":"text","text":"world"},{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}],"structuredContent":{"text":"long enough"},"n":12345678901234567890}`
	for _, c := range []struct {
		most, fromText, fromRaw int
		text, raw               string
	}{
		{100, 0, 0, "héllo\nworld\n[image image/png, 6 bytes; --save DIR saves it]\n", raw},
		{
			7, 3, 11, "héllo\nwo\n[image image/png, 6 bytes; --save DIR saves it]\n",
			strings.NewReplacer(`"world"`, `"wo"`, "AAAAAAAA", "").Replace(raw),
		},
		{
			2, 8, 16, "hé\n\n[image image/png, 6 bytes; --save DIR saves it]\n",
			strings.NewReplacer(`"héllo"`, `"hé"`, `"world"`, `""`, "AAAAAAAA", "").Replace(raw),
		},
	} {
		r, err := ParseResult([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if text, raw := r.Truncate(c.most); text != c.fromText || raw != c.fromRaw {
			t.Errorf("Truncate(%d) = %d, %d; want %d, %d", c.most, text, raw, c.fromText, c.fromRaw)
		}
		var b bytes.Buffer
		if err := r.Write(&b, Screen{}, false); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.text {
			t.Errorf("Truncate(%d): text %q, want %q", c.most, b.String(), c.text)
		}
		if string(r.Raw) != c.raw {
			t.Errorf("Truncate(%d): raw %s\nwant %s", c.most, r.Raw, c.raw)
		}
	}
}

func TestSave(t *testing.T) {
	r, err := ParseResult([]byte(`{"content":[
		{"type":"text","text":"not saved"},
		{"type":"image","mimeType":"image/png","data":"AAAA"},
		{"type":"resource","resource":{"uri":"file:///etc/passwd","mimeType":"text/plain; charset=utf-8","text":"hi"}},
		{"type":"audio","mimeType":"audio/x-strange","data":"AAAA"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "made", "here")
	saved, err := r.Save(dir, "../evil tool")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"_evil_tool-2.png", "passwd.txt", "_evil_tool-4.bin"}
	var names []string
	for _, path := range saved {
		names = append(names, filepath.Base(path))
		if filepath.Dir(path) != dir {
			t.Errorf("%s is not in %s", path, dir)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("saved %q, want %q", names, want)
	}
	if got, err := os.ReadFile(saved[1]); err != nil || string(got) != "hi" {
		t.Errorf("got %q, %v", got, err)
	}
	again, err := r.Save(dir, "../evil tool")
	if err != nil || filepath.Base(again[0]) != "_evil_tool-2-2.png" {
		t.Errorf("saved again as %q, %v", again, err)
	}
}
