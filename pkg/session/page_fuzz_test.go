package session

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// FuzzPage shows that a page of a list is read whatever it holds, that its entries are kept byte for byte, and that what
// is not read is told (OP-08).
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","n":12345678901234567890}, 1 ,null],"nextCursor":"x"}`))
	f.Add([]byte(`{"tools":null,"nextCursor":null}`))
	f.Add([]byte(`{"tools":{},"nextCursor":7}`))
	f.Add([]byte(`{"Tools":[],"tools":[{"a":1.0}],"tools":[{"a":2.50}],"nextCursor":""}`))
	f.Add([]byte(`[]`))
	f.Add([]byte("{\"tools\":[\"\\ud800\",\"\xff\"]}"))
	f.Fuzz(func(t *testing.T, result []byte) {
		before := bytes.Clone(result)
		items, next, problem := page(result, "tools")
		if !bytes.Equal(result, before) {
			t.Fatalf("%q was changed to %q", before, result)
		}
		if items == nil && problem == "" {
			t.Fatalf("%q: nothing, and no problem", result)
		}
		if next != nil && problem != "" {
			t.Fatalf("%q: cursor %q and problem %q", result, *next, problem)
		}
		rest := result
		for _, item := range items {
			at := bytes.Index(rest, item)
			if at < 0 || !json.Valid(item) {
				t.Fatalf("%q: the entry %q is not in it", result, item)
			}
			rest = rest[at+len(item):]
		}
		var plain struct {
			Tools []any `json:"tools"`
		}
		if json.Unmarshal(result, &plain) == nil && len(items) < len(plain.Tools) && slices.Contains(exactKeys(result), "tools") {
			t.Fatalf("%q: %d entries of %d", result, len(items), len(plain.Tools))
		}
	})
}

// exactKeys returns the keys of an object if none is there twice, in whatever case: encoding/json takes the last of those.
func exactKeys(object []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(object))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var keys []string
	for dec.More() {
		token, err := dec.Token()
		key, ok := token.(string)
		if err != nil || !ok || slices.ContainsFunc(keys, func(k string) bool { return bytes.EqualFold([]byte(k), []byte(key)) }) {
			return nil
		}
		keys = append(keys, key)
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
	}
	return keys
}
