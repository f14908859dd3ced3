package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestJSONKeepsWhatTheServerSent(t *testing.T) {
	raw := json.RawMessage(`{"z":1915883588174806058,"a":0.10000000000000000555,"e":1E400,"s":"<b>&\u003c"}`)
	var b bytes.Buffer
	if err := JSON(&b, Screen{}, map[string]json.RawMessage{"result": raw}); err != nil {
		t.Fatal(err)
	}
	want := `{
  "result": {
    "z": 1915883588174806058,
    "a": 0.10000000000000000555,
    "e": 1E400,
    "s": "<b>&\u003c"
  }
}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSONOnATerminalEscapesWhatTurnsText(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, Screen{Terminal: true}, "a\u202eb\u009bc\U000e0041é"); err != nil {
		t.Fatal(err)
	}
	if want := `"a\u202eb\u009bc\udb40\udc41é"` + "\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestEditStrings(t *testing.T) {
	in := ` {"k": "v", "n": 1e5, "o": {"": [], "l": ["a", {"x":"\u0061\"b"}, "c"], "e": {}}, "t": true, "z": null } `
	var paths []string
	got, err := EditStrings([]byte(in), func(path []string, text string) string {
		paths = append(paths, strings.Join(path, ".")+"="+text)
		if text == "v" {
			return `<"é`
		}
		return text
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(in, `"v"`, `"<\"é"`, 1)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if want := []string{"k=v", "o.l.[]=a", `o.l.[].x=a"b`, "o.l.[]=c"}; !slices.Equal(paths, want) {
		t.Errorf("strings %q, want %q", paths, want)
	}
}

func FuzzEditStrings(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `""`, `1`, `null`, `{"a":[1,"b",{"c":"d"}]}`, `["a","b"]`, `{"a":"b","c":[[]]}`, ` "x" `, `{"a\"":"\\"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		same, err := EditStrings([]byte(in), func(_ []string, s string) string { return s })
		if json.Valid([]byte(in)) != (err == nil) {
			t.Fatalf("valid %v, error %v", json.Valid([]byte(in)), err)
		}
		if err != nil {
			return
		}
		if string(same) != in {
			t.Fatalf("nothing was edited, and %q became %q", in, same)
		}
		edited, err := EditStrings([]byte(in), func(_ []string, s string) string { return s + `"x` })
		if err != nil || !json.Valid(edited) {
			t.Fatalf("%q became %q: %v", in, edited, err)
		}
	})
}
