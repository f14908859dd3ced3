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

// TestParamsGolden shows for every schema in testdata what Params, Help, Signature and Example make of it.
func TestParamsGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			schema, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			fmt.Fprintf(&got, "%s\nexample: %s\n\n", Signature("tool", schema), strings.Join(Example(schema), " "))
			for _, p := range Params(schema) {
				fmt.Fprintf(&got, "%s\n", p.Help())
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			// A checkout on Windows may have other line ends.
			if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
		})
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	flag.Uint64(seedFlag, 0, "repeat a test of random schemas with the seed that it told")
	os.Exit(m.Run())
}

func TestParamsKeepWhatTheServerSent(t *testing.T) {
	params := Params(json.RawMessage(`{"properties":{"a":{"type":"integer","default":9007199254740993,"enum":[1.0,9007199254740993],"description":"Two\nlines\u001b"}}}`))
	if len(params) != 1 {
		t.Fatalf("%d parameters", len(params))
	}
	p := params[0]
	if string(p.Default) != "9007199254740993" || len(p.Enum) != 2 || string(p.Enum[0]) != "1.0" || p.Description != "Two\nlines\x1b" {
		t.Errorf("%+v", p)
	}
	if want := "a  integer (one of 1.0, 9007199254740993, default 9007199254740993)  Two lines"; p.Help() != want {
		t.Errorf("got %q, want %q", p.Help(), want)
	}
}

func TestMissingIsWhatACallStillNeeds(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"a":{},"b":{},"c":{"default":1},"d":{}},"required":["d","c","a"]}`)
	for args, want := range map[string]string{"": "a d", "{}": "a d", `{"d":1}`: "a", `{"a":1,"d":null}`: "", "[]": "", "{": ""} {
		var names []string
		for _, p := range Missing(json.RawMessage(args), schema) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if got := Missing(nil, json.RawMessage("null")); got != nil {
		t.Errorf("without a schema: %v", got)
	}
}

// TestExampleCalls holds that what a shell makes of an example builds, and passes the check.
func TestExampleCalls(t *testing.T) {
	for _, c := range []struct{ rule, schema, want string }{
		{"nothing required", `{"properties":{"a":{}}}`, ``},
		{"a text", `{"properties":{"message":{"type":"string"}},"required":["message"]}`, `message=hi`},
		{"the order of the schema", `{"properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"required":["b","a"]}`, `a=1 b=true`},
		{"a default", `{"properties":{"a":{"type":"string","default":"x y"}},"required":["a"]}`, `a='x y'`},
		{"a default that does not fit", `{"properties":{"a":{"type":"string","default":1}},"required":["a"]}`, `a=hi`},
		{"an example", `{"properties":{"a":{"type":"string","examples":["x"]}},"required":["a"]}`, `a=x`},
		{"an enumeration", `{"properties":{"a":{"enum":["x","y"]}},"required":["a"]}`, `a=x`},
		{"a text like a file", `{"properties":{"a":{"const":"@x"}},"required":["a"]}`, `a=@@x`},
		{"null that text cannot say", `{"properties":{"a":{"type":["string","null"],"enum":[null]}},"required":["a"]}`, `a=null`},
		{"JSON where text would be a string", `{"properties":{"a":{"default":5}},"required":["a"]}`, `a:=5`},
		{"a range", `{"properties":{"a":{"type":"integer","minimum":10},"b":{"type":"number","exclusiveMaximum":-5}},"required":["a","b"]}`, `a=10 b=-6`},
		{"a length", `{"properties":{"a":{"type":"string","minLength":5}},"required":["a"]}`, `a=hihih`},
		{"a pattern", `{"properties":{"a":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\d$"}},"required":["a"]}`, `a=2026-01-31`},
		{"a format", `{"properties":{"a":{"type":"string","format":"email"}},"required":["a"]}`, `a=me@example.com`},
		{"a name that says what it is", `{"properties":{"filePath":{"type":"string"},"base_url":{"type":"string"}},"required":["filePath","base_url"]}`, `filePath=file.txt base_url=https://example.com`},
		{"a list", `{"properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"]}`, `a=hi`},
		{"a longer list", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":2}},"required":["a"]}`, `a=1 a=1`},
		{"a list of objects", `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}}},"required":["a"]}`, `a='[{"b":1}]'`},
		{"an object", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}},"required":["a"]}`, `a='{"b":"hi"}'`},
		{"an alternative", `{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"integer"}]}},"required":["a"]}`, `a=1`},
		{"alternatives of requirements", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["b"]},{"required":["a"]}]}`, `b=hi`},
		{"a reference", `{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"$ref":"#/$defs/y"}},"required":["a"]},"y":{"type":"boolean"}}}`, `a=true`},
		{"a name with an equals sign", `{"properties":{"a=b":{"type":"integer"}},"required":["a=b"]}`, `a=b=1`},
		{"a property that says it is required", `{"properties":{"a":{"type":"integer","required":true}}}`, `a=1`},
		{"a schema that requires itself", `{"properties":{"a":{"$ref":"#"}},"required":["a"]}`, ``},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := strings.Join(Example(json.RawMessage(c.schema)), " ")
			if got != c.want && c.want != "" {
				t.Errorf("got %s, want %s", got, c.want)
			}
			words := shell(got)
			args, err := Build(Input{Words: words, Schema: json.RawMessage(c.schema)})
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			if err := Check(args, json.RawMessage(c.schema)); err != nil && c.want != "" {
				t.Errorf("%s: %v", args, err)
			}
		})
	}
}

// shell splits a line as a POSIX shell does, as far as single quotes and backslashes go.
func shell(line string) []string {
	var words []string
	var word strings.Builder
	quoted, open := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, open = !quoted, true
		case c == '\\' && !quoted:
			i++
			word.WriteByte(line[i])
		case c == ' ' && !quoted:
			if open || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
		}
	}
	if open || word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}
