package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLargeDocumentsAreWrittenAsSmallOnes writes a document with a large part in pieces, as encoding/json would.
func TestLargeDocumentsAreWrittenAsSmallOnes(t *testing.T) {
	large := json.RawMessage(`{"a":[],"b":{},"c":[1.50,{"d":"e\"\\"}], "text":"` + strings.Repeat(`é\n\u001b😀`+"\u009b\u202e", largePart/8) + `"}`)
	type document struct {
		Version int               `json:"version"`
		Name    string            `json:"name"`
		Result  json.RawMessage   `json:"result"`
		List    []json.RawMessage `json:"list"`
		Empty   json.RawMessage   `json:"empty,omitempty"`
	}
	doc := document{Version: 1, Name: `"part 0`, Result: large, List: []json.RawMessage{json.RawMessage("1"), large}}
	want, err := Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{false, true} {
		var got bytes.Buffer
		if err := JSON(&got, Screen{Terminal: terminal}, doc); err != nil {
			t.Fatal(err)
		}
		whole := want
		if terminal {
			whole = escapeFormat(want)
		}
		if !bytes.Equal(got.Bytes(), whole) {
			t.Errorf("terminal %t: another document of %d bytes, want %d", terminal, got.Len(), len(whole))
		}
	}
	filter, err := CompileFilter(".")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	var a, b any
	if err := filter.Apply(t.Context(), &got, Screen{}, doc); err != nil || json.Unmarshal(got.Bytes(), &a) != nil || json.Unmarshal(want, &b) != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if once, err := json.Marshal(b); err != nil || !bytes.Equal(again, once) {
		t.Error("the filter gives another document")
	}
	doc.Result = append(json.RawMessage(nil), large[:len(large)-1]...)
	got.Reset()
	if err := JSON(&got, Screen{}, doc); err == nil || got.Len() > 0 {
		t.Errorf("a part that is no JSON: %v, %d bytes", err, got.Len())
	}
}

// TestADocumentIsUTF8 writes what a server sent in another encoding: the document is JSON all the same, however large it is.
func TestADocumentIsUTF8(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, largePart} {
		raw := json.RawMessage(`"caf` + "\xe9" + strings.Repeat("x", n) + `"`)
		var out bytes.Buffer
		if err := JSON(&out, Screen{}, struct{ A json.RawMessage }{raw}); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(out.Bytes()) || !strings.Contains(out.String(), "caf\ufffdx") {
			t.Errorf("%d: %.40q", n, out.Bytes())
		}
	}
}
