package rawjson

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds are texts of all kinds, right and wrong.
func seeds() []string {
	return []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, ` { "a" : [ 1 , -2.5e+10 , "x" ] , "b" : null } `, `{"a":1,"a":2}`, `{"a":1,}`, `[1,]`, `[,1]`,
		`"a\"b\\c\/d\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\x"`, `"\u12"`, "\"a\nb\"", `"a`, "\"\xff\"", `tru`, `true`, `nulll`, `-`, `01`, `1.`, `1e`, `-0`,
		`0.10e-5`, `[[[[]]]]`, `{"a":{"b":[{}]}}`, `{"\u0061":1}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `[1 2]`, `1 2`, "\ufeff{}", `{"a":tru}`, `}`, `]`,
		`{"a":[1,"x]",{"b":"}"}],"a\u0062":"\ud83d\ude80\ud83d","":null}`, ` [ 1 , "\\" , [ ] , { } ] `, `"x"`, `-1.5e3`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
	}
}

func TestNestingHasAnEnd(t *testing.T) {
	for _, c := range []struct {
		depth int
		want  bool
	}{{9000, true}, {1_000_000, false}} {
		if got := Valid([]byte(strings.Repeat("[", c.depth) + strings.Repeat("]", c.depth))); got != c.want {
			t.Errorf("%d deep: %t", c.depth, got)
		}
	}
}

func TestStringsOfJSON(t *testing.T) {
	for _, q := range []string{
		`""`, `"a"`, `"a\nb"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u2713"`, `"\ud83d\ude80"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`,
		`"\ude80\ud83d"`, `"\ud83d\ud83d\ude80"`, `"é✓🚀"`, `"a\\"`, `"\u001b[2J"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(q), &want); err != nil {
			t.Fatal(err)
		}
		if got := Text(q).String(); got != want {
			t.Errorf("%s: got %q, want %q", q, got, want)
		}
		if got := Text(q).Empty(); got != (want == "") {
			t.Errorf("%s: empty: %t", q, got)
		}
		// In pieces of every size.
		for size := 1; size < 5; size++ {
			var b strings.Builder
			if _, err := io.CopyBuffer(&b, struct{ io.Reader }{Text(q).Reader()}, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("%s, %d bytes at a time: got %q, want %q", q, size, b.String(), want)
			}
		}
	}
	if got := Text("\"a\xffb\\u0041\"").String(); got != "a\xffbA" {
		t.Errorf("what is not UTF-8 became %q", got)
	}
}

// FuzzAgainstEncodingJSON wants the same of both: what is valid, the members of an object, the elements of an array, the
// text of a string.
func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := Valid(data), json.Valid(data); got != want {
			t.Fatalf("valid: %t, want %t: %q", got, want, data)
		}
		if !json.Valid(data) {
			if Object(data, func(string, []byte) {}) {
				t.Fatalf("an object: %q", data)
			}
			for range Elements(data) { // ends, and does not panic
			}
			_, _ = String(data)
			return
		}
		trimmed := bytes.TrimSpace(data)
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) == nil && object != nil {
			got := map[string][]byte{}
			if !Object(data, func(key string, value []byte) { got[key] = value }) || len(got) != len(object) {
				t.Fatalf("%d members, want %d: %q", len(got), len(object), data)
			}
			for key, value := range object {
				if !bytes.Equal(got[key], value) || !bytes.Equal(Get(data, key), value) {
					t.Fatalf("%q is %q, want %q", key, got[key], value)
				}
			}
		}
		var array []json.RawMessage
		if json.Unmarshal(data, &array) == nil && array != nil {
			got := slices.Collect(Elements(data))
			if !slices.EqualFunc(got, array, func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Fatalf("%q, want %q", got, array)
			}
		}
		var text string
		if trimmed[0] == '"' && json.Unmarshal(data, &text) == nil {
			if got, ok := String(trimmed); !ok || got != text {
				t.Fatalf("%q, want %q", got, text)
			}
			quoted, ok := TextOf(trimmed)
			if got := quoted.String(); !ok || got != text && utf8.Valid(trimmed) {
				t.Fatalf("%q, want %q", got, text)
			}
		}
	})
}

func TestNothingIsCopied(t *testing.T) {
	large := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}}`)
	n := testing.AllocsPerRun(10, func() {
		result := Get(large, "result")
		for element := range Elements(Get(result, "content")) {
			if len(Get(element, "text")) < 1<<20 {
				t.Error("no text")
			}
		}
	})
	if n > 20 { // the keys
		t.Errorf("%v allocations", n)
	}
}
