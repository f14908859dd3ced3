package toolargs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// schemaTime is how long a schema of a few KiB may take: milliseconds, on a machine that is busy with other tests, too.
const schemaTime = 5 * time.Second

// within fails the test if the schema takes too long for any use that is made of it.
func within(t *testing.T, schema, args string) {
	t.Helper()
	begin := time.Now()
	raw := json.RawMessage(schema)
	step := func(what string) {
		t.Helper()
		if elapsed := time.Since(begin); elapsed > schemaTime {
			t.Fatalf("%s: it took %s: schema %.300q, arguments %.300q", what, elapsed, schema, args)
		}
	}
	_ = Check(json.RawMessage(args), raw)
	step("check")
	Params(raw)
	step("params")
	Signature("t", raw)
	step("signature")
	Example(raw)
	step("example")
	_, _ = Build(Input{Words: []string{"a=1", "b.c[]=2", "d:=[1]"}, Schema: raw, Source: Source{}})
	step("build")
}

// doubling returns a schema whose size grows by a line where the number of its paths doubles.
func doubling(keyword string, levels int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/l0","properties":{"a":{"$ref":"#/$defs/l0"}},"$defs":{`)
	for i := range levels {
		below := fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)
		switch keyword {
		case "properties":
			fmt.Fprintf(&b, `"l%d":{"properties":{"a":%s,"b":%s}},`, i, below, below)
		case "items":
			fmt.Fprintf(&b, `"l%d":{"items":%s,"contains":%s,"additionalProperties":%s},`, i, below, below, below)
		case "if":
			fmt.Fprintf(&b, `"l%d":{"if":%s,"then":%s,"else":%s},`, i, below, below, below)
		default:
			fmt.Fprintf(&b, `"l%d":{"%s":[%s,%s]},`, i, keyword, below, below)
		}
	}
	fmt.Fprintf(&b, `"l%d":{"type":"string"}}}`, levels)
	return b.String()
}

// TestSchemasThatGrowTakeNoTime shows that a small schema with a great many paths is no trap.
func TestSchemasThatGrowTakeNoTime(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	lists := `{"a":` + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40) + "}"
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "properties", "items", "if"} {
		t.Run(keyword, func(t *testing.T) {
			for _, args := range []string{`{}`, `{"a":1}`, deep, lists} {
				within(t, doubling(keyword, 40), args)
			}
		})
	}
}

// FuzzSchemaTime shows that no schema takes long.
func FuzzSchemaTime(f *testing.F) {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "properties", "items", "if"} {
		f.Add(doubling(keyword, 4), `{"a":{"a":1}}`)
	}
	f.Add(`{"properties":{"a":{"pattern":"(a*)*$"},"b":{"$ref":"#"}},"patternProperties":{".*":{"$ref":"#"}}}`, `{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!","b":{"b":{}}}`)
	f.Add(`{"multipleOf":1e-400,"properties":{"a":{"multipleOf":1e-1000000,"minimum":1e1000000}}}`, `{"a":1e1000000}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if len(schema)+len(args) > 16<<10 {
			t.Skip("larger ones may take longer")
		}
		within(t, schema, args)
	})
}
