package toolargs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCheckAccepts(t *testing.T) {
	for _, c := range []struct{ rule, schema, args string }{
		{"a schema of its words", wide, `{"s":"x","i":3,"n":1e400,"b":true,"z":null,"tags":[],"nums":[1],"pair":["a",1]}`},
		{"an integer with a zero fraction", `{"properties":{"a":{"type":"integer"}}}`, `{"a":3.0}`},
		{"an integer with an exponent", `{"properties":{"a":{"type":"integer"}}}`, `{"a":10e400}`},
		{"a required name that has no property", `{"properties":{"a":{}},"required":["b"],"additionalProperties":false}`, `{"b":1}`},
		{"an unknown name without properties", `{"type":"object"}`, `{"x":1}`},
		{"an unknown name with additionalProperties: true", `{"properties":{"a":{}},"additionalProperties":true}`, `{"x":1}`},
		{"an unknown name with a schema for it", `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"x":1}`},
		{"an unknown name with patternProperties", `{"properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"y":1}`},
		{"an unknown name with anyOf", `{"properties":{"a":{}},"anyOf":[{"required":["b"]}]}`, `{"b":1}`},
		{"an unknown name with oneOf", `{"properties":{"a":{}},"oneOf":[{"properties":{"b":{}}}]}`, `{"b":1}`},
		{"an unknown name with allOf", `{"properties":{"a":{}},"allOf":[{"properties":{"b":{}}}],"additionalProperties":false}`, `{"c":1}`},
		{"an unknown name with a reference", `{"properties":{"a":{}},"$ref":"#/$defs/x","$defs":{"x":{"additionalProperties":false}}}`, `{"c":1}`},
		{"an unknown name further in", `{"properties":{"a":{"properties":{"b":{}}}}}`, `{"a":{"c":1}}`},
		{"a name that one case has", `{"properties":{"a":{}},"if":{},"then":{"properties":{"b":{}}}}`, `{"b":1}`},
		{"a missing one that has a default", `{"properties":{"a":{"default":1}},"required":["a"]}`, `{}`},
		{"a missing one that has a default elsewhere", `{"properties":{"a":{"default":1}},"allOf":[{"required":["a"]}]}`, `{}`},
		{"OpenAPI's nullable", `{"properties":{"a":{"type":"string","nullable":true,"enum":["x"]}}}`, `{"a":null}`},
		{"an enumeration of numbers", `{"properties":{"a":{"enum":[1.0, 100]}}}`, `{"a":1e2}`},
		{"one of several alternatives", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null}`},
		{"draft-04's exclusive minimum", `{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":2}`},
		{"a tuple of draft-07", `{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}}}`, `{"a":["x",1]}`},
		{"a name that a pattern claims", `{"properties":{"a":{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"string"}}}}`, `{"a":{"x1":1,"y":"z"}}`},
		{"a name that an unreadable pattern may claim", `{"properties":{"a":{"patternProperties":{"(?<!x)y":{}},"additionalProperties":{"type":"string"}}}}`, `{"a":{"y":1}}`},

		{"no schema", ``, `{"x":1}`},
		{"a null schema", `null`, `{"x":1}`},
		{"a boolean schema", `false`, `{"x":1}`},
		{"a schema that is a text", `"object"`, `{"x":1}`},
		{"a schema that is an array", `[{"type":"object"}]`, `{"x":1}`},
		{"a schema that is no JSON", `{"type":`, `{"x":1}`},
		{"properties that are an array", `{"properties":[{"name":"a"}]}`, `{"x":1}`},
		{"properties that are null", `{"properties":null,"required":null}`, `{"x":1}`},
		{"a property that is null", `{"properties":{"a":null}}`, `{"a":1}`},
		{"a property that says it is required", `{"properties":{"a":{"type":"string","required":true}}}`, `{}`},
		{"required that is no list of names", `{"properties":{"a":{}},"required":"a"}`, `{}`},
		{"a type that JSON Schema does not know", `{"properties":{"a":{"type":"file"}}}`, `{"a":1}`},
		{"a type that is a schema", `{"properties":{"a":{"type":[{"type":"string"}]}}}`, `{"a":1}`},
		{"a root of another type", `{"type":"array","items":{}}`, `{"x":1}`},
		{"alternatives of other types at the root", `{"anyOf":[{"type":"string"},{"const":1}]}`, `{"x":1}`},
		{"limits of the wrong type", `{"properties":{"a":{"minimum":"1","maxLength":"x","pattern":1,"enum":{},"multipleOf":0}}}`, `{"a":0}`},
		{"a lookbehind", `{"properties":{"a":{"pattern":"(?<!x)y"}}}`, `{"a":"xy"}`},
		{"a pattern that dialects disagree about", `{"properties":{"a":{"pattern":"^\\w+$"}}}`, `{"a":"é"}`},
		{"a pattern and a final newline", `{"properties":{"a":{"pattern":"^a$"}}}`, `{"a":"a\n"}`},
		{"a remote reference", `{"properties":{"a":{"$ref":"https://example.com/s.json#/x"}}}`, `{"a":1}`},
		{"a reference that leads nowhere", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":1}`},
		{"a reference that is no text", `{"properties":{"a":{"$ref":1}}}`, `{"a":1}`},
		{"a reference that is no URI", `{"properties":{"a":{"$ref":"#/%zz"}}}`, `{"a":1}`},
		{"a reference from a resource of its own", `{"properties":{"a":{"$id":"http://x/y","$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":1}`},
		{"a cycle of references", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`, `{"a":1}`},
		{"a cycle of alternatives", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}}}`, `{"a":1}`},
		{"what stands beside a reference, in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, `{"a":"xyz"}`},
		{"not", `{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"x"}`},
		{"two matches of oneOf", `{"properties":{"a":{"oneOf":[{"type":"integer"},{"minimum":2}]}}}`, `{"a":3}`},
		{"an unknown name beside alternatives further in", `{"properties":{"a":{"properties":{"b":{}},"additionalProperties":false,"anyOf":[{}]}}}`, `{"a":{"c":1}}`},
		{"huge numbers", `{"properties":{"a":{"minimum":-1e999999999999999999999,"multipleOf":3}}}`, `{"a":1e999999999999999999999}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := Check(json.RawMessage(c.args), json.RawMessage(c.schema)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	const people = `{"properties":{
		"message":{"type":"string","description":"What to say"},
		"count":{"type":"integer","description":"How often","default":1},
		"colour":{"type":"string","enum":["red","green","blue"],"description":"Of the text"},
		"filter":{"type":"object","properties":{"limit":{"type":"integer","description":"At most so many"}},"required":["limit"],"additionalProperties":false},
		"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}},
		"required":["message"]}`
	prop := func(schema string) string { return `{"properties":{"a":` + schema + `}}` }
	for _, c := range []struct{ rule, schema, args, want, suggest, help string }{
		{
			"an unknown name, near to a missing one", people, `{"mesage":"x"}`,
			"unknown argument mesage", "did you mean message?", "",
		},
		{
			"an unknown name, near to none", people, `{"message":"x","zzz":1}`,
			"unknown argument zzz", "known here: message, count, colour, filter, items", "",
		},
		{"an unknown name for a tool without parameters", `{"properties":{}}`, `{"x":1}`, "unknown argument x", "the tool takes no arguments", ""},
		{"an unknown name with additionalProperties: false", `{"properties":{"a":{}},"additionalProperties":false}`, `{"x":1}`, "unknown argument x", "known here: a", ""},
		{
			"a missing one", people, `{}`,
			"missing required argument message", "", "message  string (required)  What to say",
		},
		{"a missing one that has no property", `{"required":["a"]}`, `{}`, "missing required argument a", "", "a  any (required)"},
		{
			"a missing one further in", people, `{"message":"x","filter":{}}`,
			"missing required argument filter.limit", "", "filter.limit  integer (required)  At most so many",
		},
		{"a missing one in an item", people, `{"message":"x","items":[{"name":"a"},{}]}`, "missing required argument items[1].name", "", "items[1].name  string (required)"},
		{
			"an unknown name further in", people, `{"message":"x","filter":{"limit":1,"limits":2}}`,
			"unknown argument filter.limits", "", "",
		},
		{
			"a wrong type", people, `{"message":"x","count":"ten"}`,
			`count: must be an integer, not "ten"`, "", "count  integer (default 1)  How often",
		},
		{"a wrong type further in", people, `{"message":"x","filter":{"limit":"ten"}}`, `filter.limit: must be an integer, not "ten"`, "", "filter.limit  integer (required)  At most so many"},
		{"a fraction for an integer", people, `{"message":"x","count":1.5}`, "count: must be an integer, not 1.5", "", ""},
		{
			"outside an enumeration", people, `{"message":"x","colour":"gren"}`,
			`colour: must be one of red, green, blue, not "gren"`, "did you mean green?", "colour  string (one of red, green, blue)  Of the text",
		},
		{
			"everything at once", people, `{"mesage":"x","count":"y","colour":1}`,
			`unknown argument mesage; count: must be an integer, not "y"; colour: must be a string, not 1`, "did you mean message?", "",
		},

		{"underscores in a number", prop(`{"type":"number"}`), `{"a":"1_000"}`, `a: must be a number, not "1_000"`, "write a=1000", "a  number"},
		{"commas in a number", prop(`{"type":"integer"}`), `{"a":"1,000,000"}`, `a: must be an integer, not "1,000,000"`, "write a=1000000", ""},
		{"a decimal comma is not guessed", prop(`{"type":"number"}`), `{"a":"1,5"}`, `a: must be a number, not "1,5"`, "-", ""},
		{"a hexadecimal number", prop(`{"type":"integer"}`), `{"a":"0x10"}`, `a: must be an integer, not "0x10"`, "write a=16", ""},
		{"a plus sign", prop(`{"type":"integer"}`), `{"a":"+5"}`, `a: must be an integer, not "+5"`, "write a=5", ""},
		{"a bare point", prop(`{"type":"number"}`), `{"a":"-.5"}`, `a: must be a number, not "-.5"`, "write a=-0.5", ""},
		{"a final point", prop(`{"type":"number"}`), `{"a":"5."}`, `a: must be a number, not "5."`, "write a=5", ""},
		{"leading zeros", prop(`{"type":"number"}`), `{"a":"007"}`, `a: must be a number, not "007"`, "write a=7", ""},
		{"a correction that does not fit either", prop(`{"type":"integer"}`), `{"a":".5"}`, `a: must be an integer, not ".5"`, "-", ""},
		{"not a number", prop(`{"type":"number"}`), `{"a":"NaN"}`, `a: must be a number, not "NaN"`, "JSON has no such number", ""},
		{"yes for true", prop(`{"type":"boolean"}`), `{"a":"Yes"}`, `a: must be true or false, not "Yes"`, "write a=true", "a  boolean"},
		{"broken JSON for an object", prop(`{"type":"object"}`), `{"a":"{x"}`, `a: must be an object, not "{x"`, "not valid JSON at character 2: invalid character 'x' looking for beginning of object key string", ""},
		{"several types", prop(`{"type":["integer","null"]}`), `{"a":true}`, "a: must be an integer or null, not true", "", "a  integer or null"},
		{"alternatives of other types", prop(`{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}`), `{"a":{}}`, "a: must be an integer or an array of string, not an object", "", ""},
		{"alternatives of constants", prop(`{"oneOf":[{"const":"x"},{"const":"y"},{"type":"null"}]}`), `{"a":"z"}`, `a: must be one of x, y, null, not "z"`, "", "a  string or null (one of x, y, null)"},
		{
			"the alternative that was meant", prop(`{"anyOf":[
				{"properties":{"kind":{"const":"line"},"to":{"type":"string"}},"required":["kind","to"]},
				{"properties":{"kind":{"const":"dot"},"size":{"type":"integer"}},"required":["kind","size"]}]}`), `{"a":{"kind":"dot","size":"x"}}`,
			`a.size: must be an integer, not "x"`, "", "",
		},
		{"alternatives that only require", `{"properties":{"a":{},"b":{},"c":{}},"anyOf":[{"required":["a"]},{"required":["b","c"]}]}`, `{}`, "missing a or b and c", "", ""},
		{"a constant", prop(`{"const":5}`), `{"a":6}`, "a: must be 5, not 6", "", "a  integer (always 5)"},
		{"a reference", `{"properties":{"a":{"$ref":"#/definitions/s"}},"definitions":{"s":{"type":"string","description":"By reference"}}}`, `{"a":1}`, "a: must be a string, not 1", "", "a  string  By reference"},
		{"a reference with escapes", `{"properties":{"a":{"$ref":"#/$defs/x~1y%20z~0"}},"$defs":{"x/y z~":{"type":"string"}}}`, `{"a":1}`, "a: must be a string, not 1", "", ""},
		{"an anchor", `{"properties":{"a":{"$ref":"#s"}},"$defs":{"x":{"$anchor":"s","type":"string"}}}`, `{"a":1}`, "a: must be a string, not 1", "", ""},
		{"the root by its address", `{"$id":"https://x/y","properties":{"a":{"$ref":"https://x/y#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":1}`, "a: must be a string, not 1", "", ""},
		{"a root that is a reference", `{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"type":"string"}},"required":["b"]}}}`, `{"a":1}`, "missing required argument b; a: must be a string, not 1", "", ""},
		{"all of several", prop(`{"allOf":[{"type":"string"},{"maxLength":1}]}`), `{"a":"xy"}`, "a: must have at most 1 character, and has 2", "", "a  string"},
		{"a false schema", prop(`false`), `{"a":1}`, "a: the schema allows no value here", "", ""},
		{"a schema for further names", `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"x":"y"}`, `x: must be an integer, not "y"`, "", "x  integer"},

		{"too small", prop(`{"minimum":1}`), `{"a":0.999}`, "a: must be at least 1, not 0.999", "", ""},
		{"too large by one digit", prop(`{"maximum":9007199254740992}`), `{"a":9007199254740993}`, "a: must be at most 9007199254740992, not 9007199254740993", "", ""},
		{"too large by hundreds of digits", prop(`{"maximum":1e308}`), `{"a":1e400}`, "a: must be at most 1e308, not 1e400", "", ""},
		{"an exclusive limit", prop(`{"exclusiveMaximum":1}`), `{"a":1.0}`, "a: must be less than 1, not 1.0", "", ""},
		{"draft-04's exclusive limit", prop(`{"minimum":1,"exclusiveMinimum":true}`), `{"a":1}`, "a: must be more than 1, not 1", "", ""},
		{"no multiple", prop(`{"multipleOf":0.1}`), `{"a":0.35}`, "a: must be a multiple of 0.1, not 0.35", "", ""},
		{"too short", prop(`{"minLength":2}`), `{"a":"é"}`, "a: must have at least 2 characters, and has 1", "", ""},
		{"no match", prop(`{"pattern":"^[a-z]+$"}`), `{"a":"A"}`, `a: must match the pattern ^[a-z]+$, not "A"`, "", ""},
		{"too few items", prop(`{"minItems":1}`), `{"a":[]}`, "a: must have at least 1 item, and has 0", "", ""},
		{"an item twice", prop(`{"uniqueItems":true}`), `{"a":[1,"x",1.0]}`, "a: must not hold 1.0 twice", "", ""},
		{"a wrong item", prop(`{"items":{"type":"number"}}`), `{"a":[1,"x"]}`, `a[1]: must be a number, not "x"`, "", "a[1]  number"},
		{"a wrong place in a tuple", prop(`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`), `{"a":[1,"x"]}`, `a[0]: must be a string, not 1; a[1]: must be an integer, not "x"`, "", ""},
		{"nothing of what should be among the items", prop(`{"contains":{"type":"integer"}}`), `{"a":["x"]}`, "a: none of its items is what the schema wants among them", "", ""},
		{"too many members", prop(`{"maxProperties":0}`), `{"a":{"b":1}}`, "a: must have at most 0 members, and has 1", "", ""},
		{"a name that is not allowed", prop(`{"propertyNames":{"maxLength":1}}`), `{"a":{"bc":1}}`, "a: the schema does not allow the name bc", "", ""},
		{"one that another needs", `{"properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "missing required argument b", "", "b  any"},
		{"a schema that another name brings", `{"properties":{"a":{},"b":{}},"dependencies":{"a":{"properties":{"b":{"type":"integer"}}}}}`, `{"a":1,"b":"x"}`, `b: must be an integer, not "x"`, "", "b  integer"},
		{"a name with spaces", `{"properties":{"a b":{"type":"string"}}}`, `{"a b":1}`, `"a b": must be a string, not 1`, "", `"a b"  string`},

		{"arguments that are no object", people, `[]`, "arguments: must be a JSON object, not an array", "", ""},
		{"arguments that are no JSON", people, `{`, "arguments: not valid JSON: it ends too early", "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := usage(t, Check(json.RawMessage(c.args), json.RawMessage(c.schema)))
			if e.Message != c.want {
				t.Errorf("message\n got %s\nwant %s", e.Message, c.want)
			}
			if c.suggest == "-" && e.Suggestion != "" || c.suggest != "" && c.suggest != "-" && e.Suggestion != c.suggest {
				t.Errorf("suggestion\n got %s\nwant %s", e.Suggestion, c.suggest)
			}
			if c.help != "" && e.Help != c.help {
				t.Errorf("help\n got %s\nwant %s", e.Help, c.help)
			}
		})
	}
}

func TestCheckNamesTheParameterAsItIs(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"a b":{"items":{"properties":{"c":{"type":"string"}}}}}}`)
	if e := usage(t, Check(json.RawMessage(`{"a b":[{"c":1}]}`), schema)); e.Param != "a b[0].c" {
		t.Errorf("%q", e.Param)
	}
}

// A server may send a schema that doubles the work at every level, or has no end. Neither may cost more than its size.
func TestCheckIsBoundedByTheSizeOfTheSchema(t *testing.T) {
	start := time.Now()
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		var b strings.Builder
		const levels = 200
		for i := range levels {
			next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
			fmt.Fprintf(&b, `"d%d":{"%s":[%s,%s]},`, i, keyword, next, next)
		}
		schema := json.RawMessage(fmt.Sprintf(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"required":["a"],"$defs":{%s"d%d":{"type":"integer"}}}`, b.String(), levels))
		args, err := Build(Input{Words: []string{"a=x"}, Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		_ = usage(t, Check(args, schema))
		if got := Signature("t", schema); got != "t(a: integer)" {
			t.Errorf("%s: %s", keyword, got)
		}
		if got := Example(schema); len(got) != 1 {
			t.Errorf("%s: %q", keyword, got)
		}
	}
	if spent := time.Since(start); spent > 20*time.Second { // it takes milliseconds; doubling would take for ever
		t.Errorf("took %v", spent)
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1", "1.0", 0},
		{"0", "-0.0", 0},
		{"0", "0e99999999999999999999", 0},
		{"100", "1e2", 0},
		{"0.001", "1E-3", 0},
		{"9007199254740993", "9007199254740992", 1},
		{"-2", "-1", -1},
		{"-2", "1", -1},
		{"0", "1e-400", -1},
		{"1e400", "1e308", 1},
		{"-1e400", "-1e308", -1},
		{"1e99999999999999999999", "9e99999999", 1},
		{"1e-99999999999999999999", "0", 1},
		{"0.12", "0.123", -1},
	} {
		if got := parseDecimal(c.a).compare(parseDecimal(c.b)); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := parseDecimal(c.b).compare(parseDecimal(c.a)); got != -c.want {
			t.Errorf("%s against %s: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
	for literal, want := range map[string]bool{"3": true, "3.0": true, "3.50": false, "35e-1": false, "350e-1": true, "1e400": true, "0.0": true, "1e-1": false} {
		if got := parseDecimal(literal).isInteger(); got != want {
			t.Errorf("%s: integer %v", literal, got)
		}
	}
}

// FuzzCheck holds that Check never panics, ends, and returns nil or a usage error with a message.
func FuzzCheck(f *testing.F) {
	f.Add(`{"s":1,"o":{"limit":"x"},"tags":[1]}`, wide)
	f.Add(`{"a":[[[]]]}`, `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"},"contains":{"$ref":"#"},"propertyNames":{"$ref":"#"}}}}`)
	f.Add(`{"a":1.5e3}`, `{"properties":{"a":{"multipleOf":0.1,"minimum":2,"exclusiveMinimum":true,"anyOf":[{"const":1},true,false,null]}}}`)
	f.Fuzz(func(t *testing.T, args, schema string) {
		if err := Check(json.RawMessage(args), json.RawMessage(schema)); err != nil {
			if e := usage(t, err); e.Message == "" {
				t.Errorf("an error without a message: %#v", e)
			}
		}
		Params(json.RawMessage(schema))
		Signature("t", json.RawMessage(schema))
		for _, w := range Example(json.RawMessage(schema)) {
			if w == "" {
				t.Error("an empty word")
			}
		}
	})
}
