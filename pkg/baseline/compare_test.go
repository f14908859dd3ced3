package baseline

import (
	"encoding/json"
	"strings"
	"testing"
)

// offer returns what a server offers that has these definitions of one kind.
func offer(t *testing.T, kind Kind, definitions ...string) Offer {
	t.Helper()
	lists := map[Kind][]json.RawMessage{kind: {}}
	for _, d := range definitions {
		lists[kind] = append(lists[kind], json.RawMessage(d))
	}
	o, problems := NewOffer(lists, nil)
	if problems != nil {
		t.Fatal(problems)
	}
	return o
}

// told returns the message of the only change, "" for none.
func told(t *testing.T, changes []Change) string {
	t.Helper()
	switch len(changes) {
	case 0:
		return ""
	case 1:
		return changes[0].Message()
	}
	t.Errorf("%d changes: %+v", len(changes), changes)
	return ""
}

// TestInputSchemas shows how changes of what a tool accepts are graded.
func TestInputSchemas(t *testing.T) {
	closed := `{"type":"object","additionalProperties":false,"properties":`
	for _, tt := range []struct{ before, after, want string }{
		{`{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":{"type":"number"}}}`, ""},
		{`{"properties":{},"required":["a","b"]}`, `{"required":["b","a"],"properties":{}}`, ""},
		{`{"properties":{"a":{"minimum":1}}}`, `{"properties":{"a":{"minimum":1.0}}}`, ""},
		// Required and optional.
		{`{"properties":{}}`, `{"properties":{"a":{}},"required":["a"]}`, "breaking: required argument a added"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, "breaking: argument a is required now"},
		{`{"properties":{}}`, `{"properties":{"a":{}}}`, "benign: optional argument a added"},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, "benign: argument a is optional now"},
		{closed + `{"a":{}}}`, closed + `{}}`, "breaking: argument a removed"},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{}}`, "risky: argument a removed; it is still accepted, and not described"},
		{`{"properties":{"o":{"properties":{}}}}`, `{"properties":{"o":{"properties":{"a":{}},"required":["a"]}}}`, "breaking: required argument o.a added"},
		// Types.
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"properties":{"a":{"type":"string"}}}`, "breaking: argument a: type narrowed from string or null to string"},
		{`{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":{"type":"integer"}}}`, "breaking: argument a: type narrowed from number to integer"},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"number"}}}`, "benign: argument a: type widened from integer to number"},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"integer"}}}`, "breaking: argument a: type changed from string to integer"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"type":"string"}}}`, "breaking: argument a: type narrowed from any to string"},
		{`{"properties":{"a":true}}`, `{"properties":{"a":false}}`, "breaking: argument a: nothing fits any more"},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `benign: argument a: also accepts {"type":"null"}`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"properties":{"a":{"type":"string"}}}`, `breaking: argument a: no longer accepts {"type":"null"}`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}}}`, "breaking: argument a: maxLength is 3 now"},
		// Values and bounds.
		{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"properties":{"a":{"enum":["x"]}}}`, `breaking: argument a: enum value removed: "y"`},
		{`{"properties":{"a":{"enum":["x"]}}}`, `{"properties":{"a":{"enum":["y","x"]}}}`, `benign: argument a: enum value added: "y"`},
		{`{"properties":{"a":{"const":1}}}`, `{"properties":{"a":{"enum":[1,2]}}}`, `benign: argument a: enum value added: 2`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"enum":["x"]}}}`, `breaking: argument a: only these values now: "x"`},
		{`{"properties":{"a":{"maximum":10}}}`, `{"properties":{"a":{"maximum":9.5}}}`, "breaking: argument a: maximum tightened from 10 to 9.5"},
		{`{"properties":{"a":{"minimum":1}}}`, `{"properties":{"a":{"minimum":-1e400}}}`, "benign: argument a: minimum loosened from 1 to -1e400"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"maxItems":10}}}`, "breaking: argument a: maxItems is 10 now"},
		{`{"properties":{"a":{"minLength":1}}}`, `{"properties":{"a":{}}}`, "benign: argument a: minLength 1 removed"},
		{`{"properties":{"a":{"multipleOf":2}}}`, `{"properties":{"a":{"multipleOf":4}}}`, "breaking: argument a: multipleOf tightened from 2 to 4"},
		{`{"properties":{"a":{"multipleOf":0.2}}}`, `{"properties":{"a":{"multipleOf":0.1}}}`, "benign: argument a: multipleOf loosened from 0.2 to 0.1"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"pattern":"^x"}}}`, "breaking: argument a: must match a pattern now"},
		{`{"properties":{"a":{"pattern":"^y"}}}`, `{"properties":{"a":{"pattern":"^x"}}}`, "risky: argument a: pattern changed, which cannot be compared"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"uniqueItems":true}}}`, "breaking: argument a: items must be unique now"},
		{`{"properties":{"a":{"items":{"type":"number"}}}}`, `{"properties":{"a":{"items":{"type":"integer"}}}}`, "breaking: argument a[]: type narrowed from number to integer"},
		{`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, "breaking: input: other names are refused now"},
		{`{"additionalProperties":false}`, `{}`, "benign: input: other names are accepted now"},
		{`{"additionalProperties":true}`, `{}`, ""},
		{`{"$defs":{"D":{"type":"number"}}}`, `{"$defs":{"D":{"type":"integer"}}}`, "breaking: definition D: type narrowed from number to integer"},
		{`{"definitions":{"D":{"properties":{"n":{"items":{"type":"number"}}}}}}`, `{"definitions":{"D":{"properties":{"n":{"items":{"type":"integer"}}}}}}`, "breaking: definition D.n[]: type narrowed from number to integer"},
		// To write what holds anyway is no change.
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string","minLength":0,"minItems":0.0,"minProperties":0,"minContains":1}}}`, ""},
		{`{"properties":{"a":{"minLength":0,"minItems":0}}}`, `{"properties":{"a":{}}}`, ""},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"minimum":0}}}`, "breaking: argument a: minimum is 0 now"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"minLength":1}}}`, "breaking: argument a: minLength is 1 now"},
		// What only a person can judge.
		{`{"properties":{"a":{"description":"x"}}}`, `{"properties":{"a":{"description":"y"}}}`, "risky: argument a: description changed"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"default":7}}}`, "risky: argument a: default added"},
		{`{"properties":{"a":{"$ref":"#/$defs/A"}}}`, `{"properties":{"a":{"$ref":"#/$defs/B"}}}`, "risky: argument a: $ref changed, which cannot be compared"},
		{`{"not":{"required":["a"]}}`, `{"not":{"required":["b"]}}`, "risky: input: not changed, which cannot be compared"},
		{`{"properties":{"a":7}}`, `{"properties":{"a":{}}}`, "risky: argument a: changed in a way that cannot be compared"},
		// The worst comes first, and not all of many are told.
		{
			`{"properties":{"a":{"description":"x"},"b":{},"c":{},"d":{"type":"number"}}}`,
			`{"properties":{"a":{"description":"y"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"integer"},"e":{}}}`,
			"breaking: argument b: type narrowed from any to string; argument c: type narrowed from any to string; argument d: type narrowed from number to integer; and 2 more",
		},
	} {
		before := offer(t, Tools, `{"name":"t","inputSchema":`+tt.before+`}`)
		after := offer(t, Tools, `{"name":"t","inputSchema":`+tt.after+`}`)
		if got := told(t, Compare(before, after)); got != tt.want {
			t.Errorf("%s\n→ %s\n got %s\nwant %s", tt.before, tt.after, got, tt.want)
		}
		if got := Compare(before, before); got != nil {
			t.Errorf("%s differs from itself: %+v", tt.before, got)
		}
	}
}

// TestOutputSchemas shows that what a tool answers is graded the other way round.
func TestOutputSchemas(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{`{"properties":{"a":{}}}`, `{"properties":{}}`, "breaking: output field a removed"},
		{`{"properties":{}}`, `{"properties":{"a":{}}}`, "benign: output field a added"},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, "breaking: output field a is not always there any more"},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, "benign: output field a is always there now"},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"number"}}}`, "breaking: output field a: type widened from integer to number"},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"properties":{"a":{"type":"string"}}}`, "benign: output field a: type narrowed from string or null to string"},
		{`{"properties":{"a":{"enum":["x"]}}}`, `{"properties":{"a":{"enum":["x","y"]}}}`, `breaking: output field a: enum value added: "y"`},
		{`{"properties":{"a":{"items":{"maximum":1}}}}`, `{"properties":{"a":{"items":{}}}}`, `breaking: output field a[]: maximum 1 removed`},
		{`{"properties":{"a":{"minLength":0}}}`, `{"properties":{"a":{}}}`, ""},
		{`{"$defs":{"D":{"minimum":1}}}`, `{"$defs":{"D":{"minimum":0}}}`, "breaking: definition D: minimum loosened from 1 to 0"},
	} {
		before := offer(t, Tools, `{"name":"t","outputSchema":`+tt.before+`}`)
		after := offer(t, Tools, `{"name":"t","outputSchema":`+tt.after+`}`)
		if got := told(t, Compare(before, after)); got != tt.want {
			t.Errorf("%s\n→ %s\n got %s\nwant %s", tt.before, tt.after, got, tt.want)
		}
	}
}

// TestDefinitions shows how the rest of a definition is graded.
func TestDefinitions(t *testing.T) {
	for _, tt := range []struct {
		kind          Kind
		before, after string
		want          string
	}{
		{Tools, `{"name":"t"}`, "", "breaking: the tool t was removed"},
		{Tools, "", `{"name":"t"}`, "benign: the tool t was added"},
		{Tools, `{"name":"t","outputSchema":{}}`, `{"name":"t"}`, "breaking: the output schema removed"},
		{Tools, `{"name":"t"}`, `{"name":"t","outputSchema":{}}`, "benign: the output schema added"},
		{Tools, `{"name":"t","title":"a"}`, `{"name":"t","title":"b"}`, "risky: title changed"},
		{Tools, `{"name":"t","description":"a"}`, "{\"name\":\"t\",\"description\":\"a\u200b\"}", "risky: description changed, with characters that cannot be seen: U+200B"},
		{Tools, `{"name":"t","annotations":{"readOnlyHint":true}}`, `{"name":"t","annotations":{"readOnlyHint":false}}`, "risky: readOnlyHint changed from true to false"},
		{Tools, `{"name":"t","annotations":{"readOnlyHint":true}}`, `{"name":"t"}`, "risky: readOnlyHint changed from true to none"},
		{Tools, `{"name":"t"}`, `{"name":"t","_meta":{"a":1}}`, "risky: _meta added"},
		{Prompts, `{"name":"p","arguments":[{"name":"a"}]}`, `{"name":"p","arguments":[]}`, "breaking: argument a removed"},
		{Prompts, `{"name":"p"}`, `{"name":"p","arguments":[{"name":"a","required":true}]}`, "breaking: required argument a added"},
		{Prompts, `{"name":"p"}`, `{"name":"p","arguments":[{"name":"a"}]}`, "benign: optional argument a added"},
		{Prompts, `{"name":"p","arguments":[{"name":"a"}]}`, `{"name":"p","arguments":[{"name":"a","required":true}]}`, "breaking: argument a is required now"},
		{Prompts, `{"name":"p","arguments":[{"name":"a","required":true}]}`, `{"name":"p","arguments":[{"name":"a","required":false}]}`, "benign: argument a is optional now"},
		{Prompts, `{"name":"p","arguments":[{"name":"a","description":"x"}]}`, `{"name":"p","arguments":[{"name":"a"}]}`, "risky: argument a: description removed"},
		{Prompts, `{"name":"p","arguments":[{"name":"a"},{"name":"b"}]}`, `{"name":"p","arguments":[{"name":"b"},{"name":"a"}]}`, "benign: the order of the arguments changed"},
		{Resources, `{"uri":"a://b","name":"n","size":1}`, `{"uri":"a://b","name":"n","size":2}`, "benign: size changed"},
		{Resources, `{"uri":"a://b","mimeType":"text/plain"}`, `{"uri":"a://b","mimeType":"text/html"}`, "risky: mimeType changed"},
		{Resources, `{"uri":"a://b"}`, "", "breaking: the resource a://b was removed"},
		{ResourceTemplates, `{"uriTemplate":"a://{b}"}`, "", "breaking: the resource template a://{b} was removed"},
	} {
		of := func(definition string) Offer {
			if definition == "" {
				return offer(t, tt.kind)
			}
			return offer(t, tt.kind, definition)
		}
		if got := told(t, Compare(of(tt.before), of(tt.after))); got != tt.want {
			t.Errorf("%s → %s\n got %s\nwant %s", tt.before, tt.after, got, tt.want)
		}
	}
}

// TestLookAlikes shows that something new whose name passes for another's is more than an addition.
func TestLookAlikes(t *testing.T) {
	for name, want := range map[string]string{
		"mv":        "benign: the tool mv was added",
		"rm\u200b":  "risky: the tool rm<U+200B> was added, with characters that cannot be seen in its name: U+200B, and its name looks like rm",
		"rm ":       `risky: the tool "rm " was added, and its name looks like rm`,
		"RM":        "risky: the tool RM was added, and its name looks like rm",
		"\u2066 mv": `risky: the tool "<U+2066> mv" was added, with characters that cannot be seen in its name: U+2066`,
	} {
		if got := told(t, Compare(offer(t, Tools, `{"name":"rm"}`), offer(t, Tools, `{"name":"rm"}`, `{"name":"`+name+`"}`))); got != want {
			t.Errorf("%q\n got %s\nwant %s", name, got, want)
		}
	}
	if got := told(t, Compare(offer(t, Resources, `{"uri":"file:///a"}`), offer(t, Resources, `{"uri":"file:///a"}`, `{"uri":"file:///A"}`))); got != "benign: the resource file:///A was added" {
		t.Error(got)
	}
}

// TestMissingKinds shows that a list which is not offered any more is no empty list.
func TestMissingKinds(t *testing.T) {
	some, none := offer(t, Tools, `{"name":"a"}`, `{"name":"b"}`), Offer{}
	if got := told(t, Compare(some, none)); got != "breaking: the server offers no tools any more; 2 tools before: a, b" {
		t.Error(got)
	}
	if got := told(t, Compare(offer(t, Prompts), none)); got != "breaking: the server offers no prompts any more; its list was empty before" {
		t.Error(got)
	}
	if got := told(t, Compare(none, some)); got != "benign: tools are offered now: 2 tools" {
		t.Error(got)
	}
	if changes := Compare(some, offer(t, Tools)); len(changes) != 2 || changes[1].Name != "b" || changes[1].Grade() != Breaking {
		t.Errorf("%+v", changes)
	}
}

// TestDetail shows that the evidence shows texts as they were and as they are, also what cannot be seen.
func TestDetail(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, tt := range []struct{ before, after, want string }{
		{"Say it.", "Say it\u202e.", "description:\n- Say it.\n+ Say it<U+202E>."},
		{long + "end", long + "other end", "description:\n- …ord word word word word end\n+ …ord word word word word other end"},
		{"a\nb\nc", "a\nB\nb2\nc", "description:\n- b\n+ B\n+ b2"},
		{"a", "a\n1\n2\n3\n4\n5\n6\n7\n8", "description:\n+ 1\n+ 2\n+ 3\n+ 4\n+ 5\n+ 6\n+ … 2 more lines"},
	} {
		text := func(s string) string { return string(compact(map[string]any{"name": "t", "description": s})) }
		changes := Compare(offer(t, Tools, text(tt.before)), offer(t, Tools, text(tt.after)))
		if len(changes) != 1 || strings.Join(changes[0].Detail(), "\n") != tt.want {
			t.Errorf("got  %q\nwant %q", changes[0].Detail(), tt.want)
		}
	}
	changes := Compare(offer(t, Tools, `{"name":"t","inputSchema":{"type":"object"}}`), offer(t, Tools, `{"name":"t","inputSchema":{"type":"array"}}`))
	if got := strings.Join(changes[0].Detail(), "\n"); got != `inputSchema.type: "object" → "array"` {
		t.Error(got)
	}
}
