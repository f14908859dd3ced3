package toolargs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRowsGolden shows for every schema in testdata what Rows make of it.
func TestRowsGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			schema, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			rows, leftOut := Rows(schema)
			for _, r := range rows {
				fmt.Fprintf(&got, "%s | %s | required %t | default %s | %s | %q\n", r.Path, r.Type, r.Required, r.Default, strings.Join(r.Notes, "; "), r.Description)
			}
			fmt.Fprintf(&got, "left out: %t\n", leftOut)
			golden := filepath.Join("testdata", "rows", name+".golden")
			if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
		})
	}
}

func TestRowsSayWhatASchemaSays(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"integer","minimum":1,"maximum":100}`, "1–100"},
		{`{"type":"integer","minimum":-5,"maximum":5}`, "-5 to 5"},
		{`{"type":"number","exclusiveMinimum":0,"maximum":1}`, "at most 1; more than 0"},
		{`{"type":"number","minimum":0,"exclusiveMinimum":true,"$schema":"http://json-schema.org/draft-04/schema#"}`, "more than 0"},
		{`{"type":"number","minimum":9007199254740993}`, "at least 9007199254740993"},
		{`{"type":"integer","multipleOf":5}`, "a multiple of 5"},
		{`{"type":"string","minLength":1}`, "at least 1 character"},
		{`{"type":"string","minLength":0,"maxLength":8}`, "at most 8 characters"},
		{`{"type":"string","minLength":3,"maxLength":3}`, "3 characters"},
		{`{"type":"string","pattern":"^a+$","format":"email"}`, "pattern ^a+$; format email"},
		{`{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}`, "encoded as base64; of the type image/png"},
		{`{"type":"array","items":{"type":"string","maxLength":2},"minItems":1,"maxItems":3,"uniqueItems":true}`, "1–3 items; no item twice; each at most 2 characters"},
		{`{"type":"array","items":{"enum":["a","b"]}}`, "each one of a, b"},
		{`{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}`, "at least 1"},
		{`{"allOf":[{"type":"string","maxLength":4},{"minLength":2}]}`, "2–4 characters"},
		{`{"const":"x"}`, "always x"},
		{`{"enum":["1","2","3","4","5","6","7","8","9","10","11","12","13"]}`, "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"},
		{`{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}`, "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 … and 2 more"},
		{`{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}`, "one of a, b"},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "any names, each with integer"},
		{`{"type":"string","examples":["x y",2],"deprecated":true}`, `for example "x y", 2; deprecated`},
		{`{"type":"string","pattern":7,"minLength":"2","format":[],"maximum":null}`, ""},
		{`true`, ""},
		{`7`, ""},
	} {
		rows, _ := Rows(json.RawMessage(`{"properties":{"p":` + c.schema + `}}`))
		if len(rows) != 1 {
			if c.schema != "7" {
				t.Errorf("%s: %d rows", c.schema, len(rows))
			}
			continue
		}
		if got := strings.Join(rows[0].Notes, "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.schema, got, c.want)
		}
	}
}

func TestRowsGoInside(t *testing.T) {
	for _, c := range []struct {
		name, schema, want string
		leftOut            bool
	}{
		{"objects", `{"properties":{"f":{"type":"object","properties":{"a.b":{"type":"string"},"c":{"type":"object","properties":{"d":{}}}},"required":["c"]}}}`, "f f.a.b f.c! f.c.d", false},
		{"lists", `{"properties":{"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"properties":{"b":{}}}}}}}}}}`, "l l[].a l[].a[][].b", false},
		{"references", `{"properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"y":{"type":"integer"}}}}}`, "x x.y", false},
		{"a tree", `{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"v":{},"c":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`, "n n.v n.c", false},
		{"itself", `{"type":"object","properties":{"me":{"$ref":"#"}}}`, "me me.me", false},
		{"two in turn", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}}}`, "a a.b a.b.a", false},
		{"alternatives", `{"properties":{"u":{"anyOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"object","properties":{"b":{}}},{"type":"null"}]}}}`, "u u.a u.b", false},
		{"deep", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"type":"object","properties":{"e":{"type":"object","properties":{"f":{}}}}}}}}}}}}}`, "a a.b a.b.c a.b.c.d a.b.c.d.e", true},
		{"a list at the root", `{"type":"array","items":{"type":"object","properties":{"a":{}}}}`, "[].a", false},
		{"the network", `{"properties":{"x":{"$ref":"https://example.com/x.json"}}}`, "x", false},
		{"required and not described", `{"properties":{},"required":["q"]}`, "q!", false},
		{"no object", `{"type":"string"}`, "", false},
		{"nothing", ``, "", false},
		{"no JSON", `{"properties":`, "", false},
	} {
		rows, leftOut := Rows(json.RawMessage(c.schema))
		var got []string
		for _, r := range rows {
			name := r.Path
			if r.Required && !strings.Contains(c.name, "alternatives") {
				name += "!"
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); strings.ReplaceAll(text, `"`, "") != c.want || leftOut != c.leftOut {
			t.Errorf("%s: got %s, %t, want %s", c.name, text, leftOut, c.want)
		}
	}
	// Everything at the top, whatever their number, and a bounded number of what is inside.
	var many, wide []string
	for i := range 300 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		wide = append(wide, fmt.Sprintf(`"o%d":{"type":"object","properties":{"a":{},"b":{}}}`, i))
	}
	if rows, leftOut := Rows(json.RawMessage(`{"properties":{` + strings.Join(many, ",") + `}}`)); len(rows) != 300 || leftOut {
		t.Errorf("%d rows, %t", len(rows), leftOut)
	}
	if rows, leftOut := Rows(json.RawMessage(`{"properties":{` + strings.Join(wide, ",") + `}}`)); len(rows) != 300+maxInnerRows || !leftOut {
		t.Errorf("%d rows, %t", len(rows), leftOut)
	}
}

// TestExamplesFit has examples for schemas whose values have to be made up.
func TestExamplesFit(t *testing.T) {
	for _, schema := range []string{
		`{"type":"string","pattern":"^[A-Z]{3}-\\d{4}$"}`,
		`{"type":"string","pattern":"^(foo|bar):[a-f0-9]{8}(\\.x)?$"}`,
		`{"type":"string","pattern":"^\\S+@\\S+$","minLength":3}`,
		`{"type":"string","format":"date-time"}`,
		`{"type":"string","format":"uri-template"}`,
		`{"type":"string","contentEncoding":"base64"}`,
		`{"type":"integer","minimum":10,"multipleOf":7,"maximum":14}`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
		`{"type":"array","items":{"type":"object","properties":{"a":{"enum":["x"]}},"required":["a"]},"minItems":2}`,
		`{"type":"string","enum":["a b","c"]}`,
		`{"type":"string","default":"-dash"}`,
		`{"type":"string","examples":["it's"]}`,
		`{"type":["integer","null"]}`,
		`{"type":"object","properties":{"in":{"type":"string","format":"email"}},"required":["in"]}`,
	} {
		whole := json.RawMessage(`{"type":"object","properties":{"p":` + schema + `},"required":["p"]}`)
		if !ExampleFits(whole) {
			t.Errorf("%s: the example %q does not fit", schema, Example(whole))
		}
	}
	if schema := json.RawMessage(`{"properties":{"p":{"type":"string","pattern":"^\\d$","minLength":50}},"required":["p"]}`); ExampleFits(schema) {
		t.Errorf("the example %q is said to fit", Example(schema))
	}
	for pattern, want := range map[string]string{`^a*b+$`: "b ab", `x{2,3}`: "xx xx", `[^a-z]`: "1 1", `(?i)hi`: "HI HI", `(`: "", `^.{5000}$`: ""} {
		if got := strings.Join(patternTexts(pattern), " "); !strings.EqualFold(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add(`{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"c":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`)
	f.Add(`{"type":"array","items":{"$ref":"#"}}`)
	f.Add(`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#/properties/a"}],"pattern":"(((a{9}){9}){9})","items":{"enum":[1]}}},"required":["a"]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		rows, _ := Rows(json.RawMessage(schema))
		for _, r := range rows {
			if r.Path == "" || r.Type == "" {
				t.Errorf("%s: a row without a name or a type: %+v", schema, r)
			}
		}
		ExampleFits(json.RawMessage(schema))
	})
}

func TestQuoteHidesNothing(t *testing.T) {
	if got, want := Quote("a\u202eb"), `$'a\342\200\256b'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
