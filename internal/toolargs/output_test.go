package toolargs

import (
	"slices"
	"testing"
)

func TestCheckOutput(t *testing.T) {
	const weather = `{"type":"object","properties":{"city":{"type":"string"},"temperature":{"type":"number"},
		"wind":{"type":"object","properties":{"speed":{"type":"number","minimum":0}},"required":["speed"],"additionalProperties":false},
		"days":{"type":"array","items":{"$ref":"#/$defs/day"}}},"required":["city","temperature"],
		"$defs":{"day":{"enum":["mon","tue"]}}}`
	for _, c := range []struct {
		name, value, schema string
		want                []string
	}{
		{"fits", `{"city":"Oslo","temperature":1,"wind":{"speed":2},"days":["mon"]}`, weather, nil},
		{"further members are allowed", `{"city":"Oslo","temperature":1,"x":1}`, weather, nil},
		{"digits beyond any float", `{"city":"Oslo","temperature":1E400}`, weather, nil},
		{"wrong type", `{"city":5,"temperature":1}`, weather, []string{`structuredContent.city: must be a string, not 5`}},
		{"missing", `{"city":"Oslo"}`, weather, []string{`structuredContent.temperature: is missing, and required`}},
		{"deep", `{"city":"Oslo","temperature":1,"wind":{"speed":-1,"gust":2},"days":["mon","fri"]}`, weather, []string{
			`structuredContent.wind.gust: the schema knows no such member, and allows no others`,
			`structuredContent.wind.speed: must be at least 0, not -1`,
			`structuredContent.days[1]: must be one of mon, tue, not "fri"`,
		}},
		{"not an object", `[1]`, weather, []string{`structuredContent: must be an object, not an array`}},
		{"alternatives", `{}`, `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, []string{
			`structuredContent: is missing structuredContent.a or structuredContent.b`,
		}},
		{"another document is never read", `{"a":1}`, `{"properties":{"a":{"$ref":"https://schemas.invalid/a.json"}}}`, nil},
		{"no schema", `{"a":1}`, ``, nil},
		{"an odd schema", `{"a":1}`, `{"type":7,"properties":[],"required":"a"}`, nil},
		{"a schema that is none", `{"a":1}`, `[]`, nil},
		{"a cycle", `{"a":{"a":{}}}`, `{"$ref":"#/$defs/n","$defs":{"n":{"$ref":"#/$defs/n"}}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CheckOutput([]byte(c.value), []byte(c.schema)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzCheckOutput shows that nothing that servers send makes the check panic or take long.
func FuzzCheckOutput(f *testing.F) {
	f.Add(`{"a":[1,null,{"b":"x"}]}`, `{"type":"object","properties":{"a":{"items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}},"required":["b"]}`)
	f.Add(`1E400`, `{"type":"integer","multipleOf":0.1}`)
	f.Add(``, `{}`)
	f.Fuzz(func(t *testing.T, value, schema string) {
		for _, line := range CheckOutput([]byte(value), []byte(schema)) {
			if line == "" {
				t.Error("an empty line")
			}
		}
	})
}
