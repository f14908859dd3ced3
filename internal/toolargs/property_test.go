package toolargs

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Random schemas, and random values of them: what was meant must arrive, digit for digit, however it was written.

// seed is the flag that repeats what a failing test says.
const seedFlag = "seed"

// seeded runs a test for many seeds. The first comes from -seed, or from the clock.
func seeded(t *testing.T, runs int, test func(t *testing.T, g *generator)) {
	t.Helper()
	first := uint64(time.Now().UnixNano())
	if f := flag.Lookup(seedFlag); f != nil && f.Value.String() != "0" {
		n, err := strconv.ParseUint(f.Value.String(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, runs = n, 1
	}
	for i := range uint64(runs) {
		seed := first + i
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
		test(t, g)
		if t.Failed() {
			t.Fatalf("repeat with -seed %d", seed)
		}
	}
}

// generator makes schemas, and values that are valid for them.
type generator struct {
	*rand.Rand
	// defs are the definitions of the schema, as members of $defs.
	defs []string
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// maker makes a valid value of a schema.
type maker func() *value

// object returns the schema of a whole object, and a maker of such objects.
func (g *generator) object() (string, maker) {
	g.defs = nil
	body, produce := g.properties(3)
	schema := `{"type":"object",` + body
	if len(g.defs) > 0 {
		schema += `,"$defs":{` + strings.Join(g.defs, ",") + `}`
	}
	return schema + "}", produce
}

// properties returns the keywords of an object.
func (g *generator) properties(depth int) (string, maker) {
	type property struct {
		name     string
		required bool
		produce  maker
	}
	var list []property
	var members, required []string
	for range 1 + g.IntN(5) {
		name := g.name()
		if slices.ContainsFunc(list, func(p property) bool { return p.name == name }) {
			continue
		}
		schema, produce := g.schema(depth)
		p := property{name, g.IntN(2) == 0, produce}
		list = append(list, p)
		members = append(members, quoteJSON(name)+":"+schema)
		if p.required {
			required = append(required, quoteJSON(name))
		}
	}
	body := `"properties":{` + strings.Join(members, ",") + `},"required":[` + strings.Join(required, ",") + `]`
	if g.IntN(3) == 0 {
		body += `,"additionalProperties":false`
	}
	return body, func() *value {
		v := newObject()
		for _, p := range list {
			if p.required || g.IntN(2) == 0 {
				v.put(p.name, p.produce())
			}
		}
		return v
	}
}

// name returns a name as servers have them, and now and then one that nobody would expect.
func (g *generator) name() string {
	if g.IntN(4) > 0 {
		return pick(g, "a", "b", "city", "limit", "maxItems", "page_size", "filter", "tags", "query", "owner", "x-y", "id", "k2")
	}
	return pick(g, "a.b", "a.b.c", "list[]", "k:v", "k:", "a=b", "a b", " ", "", "é", "日本", "__proto__", "constructor", "--flag", "-x",
		"{z}", "[0]", "@at", "q\"uote", "it's", "new\nline", "$ref", "a/b~c", "x=", ":=", "tags[0]", "\U0001f600", "a:=b", "toString")
}

// schema returns a schema, and a maker of its values.
func (g *generator) schema(depth int) (string, maker) {
	if depth > 0 {
		switch g.IntN(12) {
		case 0:
			body, produce := g.properties(depth - 1)
			return `{"type":"object",` + body + `}`, produce
		case 1:
			items, produce := g.schema(depth - 1)
			return `{"type":"array","items":` + items + `}`, func() *value {
				v := newArray()
				for range g.IntN(4) {
					v.items = append(v.items, produce())
				}
				return v
			}
		case 2:
			first, a := g.schema(depth - 1)
			second, b := g.schema(depth - 1)
			keyword := pick(g, "prefixItems", "items") // of 2020-12, and of the drafts before
			return `{"type":"array","` + keyword + `":[` + first + "," + second + `]}`, func() *value { return newArray(a(), b()) }
		case 3, 4:
			first, a := g.schema(depth - 1)
			second, b := g.schema(depth - 1)
			return `{"` + pick(g, "anyOf", "oneOf") + `":[` + first + "," + second + "]}", func() *value { return pick(g, a, b)() }
		case 5:
			name := fmt.Sprintf("d%d", len(g.defs))
			g.defs = append(g.defs, `"":{}`) // its place
			at := len(g.defs) - 1
			schema, produce := g.schema(depth - 1)
			g.defs[at] = `"` + name + `":` + schema
			return `{"$ref":"#/$defs/` + name + `"}`, produce
		case 6:
			schema, produce := g.schema(depth - 1)
			return `{"allOf":[` + schema + `,{"description":"again"}]}`, produce
		case 7: // a list of itself
			name := fmt.Sprintf("d%d", len(g.defs))
			g.defs = append(g.defs, `"`+name+`":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/`+name+`"}}}`)
			return `{"$ref":"#/$defs/` + name + `"}`, func() *value {
				v := newObject()
				v.put("v", g.integer())
				for range g.IntN(3) {
					outer := newObject()
					outer.put("next", v)
					v = outer
				}
				return v
			}
		case 8:
			schema, produce := g.schema(depth - 1)
			return `{"type":"object","additionalProperties":` + schema + `}`, func() *value {
				v := newObject()
				for range g.IntN(3) {
					v.put(g.name(), produce())
				}
				return v
			}
		}
	}
	return g.scalar()
}

func (g *generator) scalar() (string, maker) {
	null := &value{kind: kindNull, literal: "null"}
	orNull := func(produce maker) maker {
		return func() *value {
			if g.IntN(3) == 0 {
				return null
			}
			return produce()
		}
	}
	switch g.IntN(12) {
	case 0:
		return `{"type":"string"}`, g.text
	case 1:
		return `{"type":"integer"}`, g.integer
	case 2:
		return `{"type":"number"}`, g.number
	case 3:
		return `{"type":"boolean"}`, g.boolean
	case 4:
		return `{"type":["string","null"]}`, orNull(g.text)
	case 5:
		return `{"anyOf":[{"type":"integer"},{"type":"null"}]}`, orNull(g.integer)
	case 6:
		return `{"type":"number","nullable":true}`, orNull(g.number)
	case 7:
		values := []*value{g.text(), g.integer(), null, newString("true"), newNumber("1"), newString("1")}
		var list []string
		for _, v := range values {
			list = append(list, string(v.json()))
		}
		return `{"enum":[` + strings.Join(list, ",") + `]}`, func() *value { return pick(g, values...) }
	case 8:
		v := pick(g, g.text, g.number, g.boolean)()
		return `{"const":` + string(v.json()) + `}`, func() *value { return v }
	case 9:
		return `{"type":["integer","string","boolean"]}`, func() *value { return pick(g, g.text, g.integer, g.boolean)() }
	case 10:
		return pick(g, "{}", "true", `{"description":"anything"}`), func() *value { return g.anything(2) }
	}
	return `{"type":["boolean","number","null"]}`, func() *value { return pick(g, orNull(g.number), g.boolean)() }
}

func (g *generator) anything(depth int) *value {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			return newArray(g.anything(depth-1), g.anything(depth-1))
		case 1:
			v := newObject()
			v.put(g.name(), g.anything(depth-1))
			return v
		}
	}
	return pick(g, g.text, g.number, g.integer, g.boolean, func() *value { return &value{kind: kindNull, literal: "null"} })()
}

func (g *generator) boolean() *value {
	return &value{kind: kindBool, literal: pick(g, "true", "false")}
}

func (g *generator) text() *value {
	if g.IntN(2) == 0 {
		return newString(pick(g, "", " ", "hi", "New York", "a=b", "k:=v", "@file", "@@", "@-", "-1", "--flag", "7", "1e400", "true", "null", "{}",
			`{"a":1}`, "[1,2]", "two\nlines\n", "tab\t", `"quoted"`, "it's", `back\slash`, "\u2028", "é", "日本語", "\U0001f600", "\x00", "\x1b[31m", "\ufeff",
			"\u202e", "a,b", ",", " leading", "trailing ", "$HOME `x` $(y)", "!history", "~", "*", "%s", "#", "--"))
	}
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteRune(pick(g, rune(g.IntN(0x80)), 'a'+rune(g.IntN(26)), rune(0xa0+g.IntN(0x2000)), '"', '\\', '\''))
	}
	return newString(b.String())
}

func (g *generator) digits(most int) string {
	var b strings.Builder
	b.WriteByte('1' + byte(g.IntN(9)))
	for range g.IntN(most) {
		b.WriteByte('0' + byte(g.IntN(10)))
	}
	return b.String()
}

func (g *generator) integer() *value {
	literal := pick(g, "0", g.digits(3), g.digits(20), "9007199254740993", g.digits(60), "1e"+g.digits(2), "3.0", "10.500e1")
	return newNumber(pick(g, "", "-") + literal)
}

func (g *generator) number() *value {
	literal := pick(g, "0.1", "1e400", "1E-400", "0.1000", "0e0", g.digits(3)+"."+g.digits(25), g.digits(2)+"e+"+g.digits(2), "1.7976931348623157e309",
		"0.30000000000000004", "5e-324")
	if g.IntN(2) == 0 {
		return g.integer()
	}
	return newNumber(pick(g, "", "-") + literal)
}

// valid returns a schema and a value that Check accepts. A value that a stricter part of a union refuses is made anew.
func (g *generator) valid(t *testing.T) (json.RawMessage, *value) {
	t.Helper()
	for range 100 {
		schema, produce := g.object()
		if !json.Valid([]byte(schema)) {
			t.Fatalf("the generator wrote %s", schema)
		}
		v := produce()
		if Check(v.json(), json.RawMessage(schema)) == nil {
			return json.RawMessage(schema), v
		}
	}
	t.Fatal("no valid value in 100 attempts")
	return nil, nil
}

// TestAllFormsOfWordsMakeTheSameObject is the first property: key=value words, key:=JSON words and the whole object.
func TestAllFormsOfWordsMakeTheSameObject(t *testing.T) {
	wholes, all := 0, 0
	seeded(t, 1000, func(t *testing.T, g *generator) {
		t.Helper()
		schema, want := g.valid(t)
		built := func(how string, in Input) {
			t.Helper()
			in.Schema = schema
			got, err := Build(in)
			if err != nil {
				t.Errorf("%s: %q: %v\nschema %s\nwant %s", how, in.Words, err, schema, want.json())
				return
			}
			v, _, err := parse(string(got))
			if err != nil || !v.same(want) {
				t.Errorf("%s: %q\nschema %s\ngot  %s\nwant %s", how, in.Words, schema, got, want.json())
			}
			if err := Check(got, schema); err != nil {
				t.Errorf("%s: %q\nschema %s\n%s is refused: %v", how, in.Words, schema, got, err)
			}
		}
		built("--args", Input{Args: string(want.json())})
		built("whole", Input{Words: []string{string(want.json())}})
		var exact []string
		for _, m := range want.members {
			exact = append(exact, m.name+":="+string(m.value.json()))
		}
		built("key:=JSON", Input{Words: exact})
		words, whole := Complete(Input{Schema: schema}, want.json())
		var texts []string
		for _, w := range words {
			texts = append(texts, w.Text)
		}
		built("key=value", Input{Words: texts})
		all++
		if whole {
			wholes++
			t.Logf("whole: %s for %s", want.json(), schema)
		}
		// Quoted for a shell, and read by one, they are the same words.
		for _, text := range texts {
			if quoted := Quote(text); !strings.Contains(quoted, "$'") {
				if back := shell(quoted); len(back) != 1 || back[0] != text {
					t.Errorf("%q is quoted %s, which is %q", text, quoted, back)
				}
			}
		}
	})
	if wholes > 0 {
		t.Errorf("%d of %d objects had no words", wholes, all)
	}
}

// TestEveryMemberLaidOverTheRestMakesTheWhole gives some members as an object, and the others as words over it.
func TestEveryMemberLaidOverTheRestMakesTheWhole(t *testing.T) {
	seeded(t, 500, func(t *testing.T, g *generator) {
		t.Helper()
		schema, want := g.valid(t)
		given := newObject()
		for _, m := range want.members {
			if g.IntN(2) == 0 {
				given.put(m.name, m.value)
			}
		}
		in := Input{Args: string(given.json()), Schema: schema}
		words, whole := Complete(in, want.json())
		if whole {
			in.Args = ""
		}
		for _, w := range words {
			in.Words = append(in.Words, w.Text)
		}
		got, err := Build(in)
		if err != nil {
			t.Errorf("%q over %s: %v", in.Words, in.Args, err)
			return
		}
		if v, _, err := parse(string(got)); err != nil || !v.same(want) {
			t.Errorf("%q over %s\nschema %s\ngot  %s\nwant %s", in.Words, in.Args, schema, got, want.json())
		}
	})
}

// TestExamplesOfRandomSchemasAreValid is the third property: the example call parses, and the check accepts it.
func TestExamplesOfRandomSchemasAreValid(t *testing.T) {
	seeded(t, 1000, func(t *testing.T, g *generator) {
		t.Helper()
		schema, _ := g.object()
		line := strings.Join(Example(json.RawMessage(schema)), " ")
		if strings.Contains(line, "$'") {
			return // a shell's own way to write control characters, which the splitter of these tests has not
		}
		words := shell(line)
		args, err := Build(Input{Words: words, Schema: json.RawMessage(schema)})
		if err != nil {
			t.Errorf("%s: %q: %v\nschema %s", line, words, err, schema)
			return
		}
		if err := Check(args, json.RawMessage(schema)); err != nil {
			t.Errorf("%s makes %s: %v\nschema %s", line, args, err, schema)
		}
	})
}

// TestFormsTakeWhatTheyShow holds that each field of a form, filled in with the text that stands for a valid value, makes
// that value, and that no field accepts what the check refuses.
func TestFormsTakeWhatTheyShow(t *testing.T) {
	seeded(t, 1000, func(t *testing.T, g *generator) {
		t.Helper()
		schema, want := g.valid(t)
		form, err := NewForm(schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range form.Fields() {
			v := want.get(f.Path[0])
			if v == nil {
				continue
			}
			switch f.Kind {
			case FieldObject:
				continue
			case FieldOne:
				i := slices.IndexFunc(f.Choices, func(c FieldChoice) bool { return Equal(c.Value, v.json()) })
				if i < 0 {
					t.Errorf("%s: %s is none of the choices %v\nschema %s", f.Name, v.json(), f.Choices, schema)
				}
				continue
			case FieldSeveral:
				for _, item := range v.items {
					if !slices.ContainsFunc(f.Choices, func(c FieldChoice) bool { return Equal(c.Value, item.json()) }) {
						t.Errorf("%s: %s is none of the choices %v\nschema %s", f.Name, item.json(), f.Choices, schema)
					}
				}
				continue
			case FieldText:
			}
			text := f.spell(v)
			got, err := f.Parse(text)
			if err != nil || string(got) != string(v.json()) {
				// Some values cannot be typed where text is taken as it is: a number beside a string, null beside text.
				if f.schema.expects(f.node)&typeString == 0 && f.form != asLoose {
					t.Errorf("%s: %q: %s, %v; want %s\nschema %s", f.Name, text, got, err, v.json(), schema)
				}
			}
			for _, typed := range []string{"", text, g.text().text, "1", "[1]", `{"a":1}`, "x, y", "null"} {
				raw, err := f.Parse(typed)
				if err != nil {
					continue
				}
				one, err := NewForm(schema, want.json())
				if err != nil {
					t.Fatal(err)
				}
				one.Set(f, raw)
				if err := one.Check(); err != nil {
					t.Errorf("%s: %q makes %s, which is refused: %v\nschema %s", f.Name, typed, raw, err, schema)
				}
			}
		}
	})
}

// FuzzForm holds that a form of any schema can be made and filled in, without a panic and in little time.
func FuzzForm(f *testing.F) {
	f.Add(wide, `{"s":"x"}`, "7")
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"$ref":"#"},"b":{"enum":[1],"enumNames":["x"]}},"anyOf":[{"$ref":"#"}]}}}`, `{}`, "[1]")
	f.Add(doubling("anyOf", 6), `{}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, given, text string) {
		if len(schema)+len(given)+len(text) > 16<<10 {
			t.Skip("larger ones may take longer")
		}
		begin := time.Now()
		form, err := NewForm(json.RawMessage(schema), json.RawMessage(given))
		if err != nil {
			return
		}
		var visit func(inside []string)
		visit = func(inside []string) {
			for _, field := range form.Fields(inside...) {
				if len(inside) > maxNesting {
					t.Fatal("no end of fields")
				}
				if field.Kind == FieldObject {
					visit(field.Path)
					continue
				}
				if raw, err := field.Parse(text); err == nil && field.Kind == FieldText {
					form.Set(field, raw)
				}
			}
		}
		visit(nil)
		if raw := form.JSON(); !json.Valid(raw) && !strings.Contains(given+text, "[[[") {
			t.Errorf("%s is no JSON", raw)
		}
		_ = form.Check()
		Complete(Input{Schema: json.RawMessage(schema), Args: given}, form.JSON())
		if elapsed := time.Since(begin); elapsed > schemaTime {
			t.Errorf("it took %s", elapsed)
		}
	})
}
