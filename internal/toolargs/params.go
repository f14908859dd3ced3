package toolargs

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Param is one parameter of a tool, as its input schema describes it.
type Param struct {
	Name string
	// Type is in words: "string", "array of string", "string or null", "any" if the schema does not say.
	Type string
	// Required means that the schema lists the parameter as required. One that has a default as well is not missed by
	// [Check].
	Required bool
	// Default is nil if there is none.
	Default json.RawMessage
	// Enum are the allowed values, if there are only some.
	Enum []json.RawMessage
	// Description is the server's text as it is. It may have several lines, and control characters.
	Description string
	// Schema is the parameter's own schema, nil if the root requires a name it has no property for.
	Schema json.RawMessage
}

// Help returns the parameter's line of help: name, type, notes and the first sentence of the description, with two
// spaces between and nothing in it that moves a cursor.
func (p Param) Help() string { return p.help(show(p.Name)) }

// help is Help under another name: a path, for a parameter inside a parameter.
func (p Param) help(name string) string {
	var notes []string
	if p.Required {
		notes = append(notes, "required")
	}
	var values []*value
	for _, e := range p.Enum {
		if v, _, err := parse(string(e)); err == nil {
			values = append(values, v)
		}
	}
	switch {
	case len(values) == 1:
		notes = append(notes, "always "+literalList(values))
	case len(values) > 1:
		notes = append(notes, "one of "+literalList(values))
	}
	if d, _, err := parse(string(p.Default)); err == nil {
		notes = append(notes, "default "+literalList([]*value{d}))
	}
	line := name + "  " + p.Type
	if len(notes) > 0 {
		line += " (" + strings.Join(notes, ", ") + ")"
	}
	if d := sentence(p.Description); d != "" {
		line += "  " + d
	}
	return line
}

// sentence returns the first sentence of a text on one line.
func sentence(text string) string {
	clean := func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case !unicode.IsGraphic(r): // format characters turn a line round
			return -1
		}
		return r
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	text = strings.Join(strings.Fields(strings.Map(clean, text)), " ")
	if i := strings.Index(text, ". "); i >= 0 && !strings.HasSuffix(text[:i], "e.g") && !strings.HasSuffix(text[:i], "i.e") {
		text = text[:i+1]
	}
	const line = 120 // under an error it should not take more than two lines of a terminal
	return cut(text, line)
}

// Params lists the parameters of an input schema: those that have properties, in the order of the schema, and then
// those that are required without. It returns nil if the schema is unusable.
func Params(inputSchema json.RawMessage) []Param {
	s := newSchema(inputSchema)
	if s.root == nil {
		return nil
	}
	required := s.required(s.root)
	names := slices.Clone(s.properties(s.root).list)
	for _, name := range required.list {
		names = add(names, name)
	}
	var params []Param
	for _, name := range names {
		params = append(params, s.describe(name, s.at(s.root, memberStep(name)), required.is[name]))
	}
	return params
}

// Missing lists the parameters that a call with these arguments still needs: required, without a default, and not
// there. It is what to ask a person for. It returns nil if the schema is unusable or args is no JSON object.
func Missing(args, inputSchema json.RawMessage) []Param {
	given := newObject()
	if len(args) > 0 {
		var err error
		if given, _, err = parse(string(args)); err != nil || given.kind != kindObject {
			return nil
		}
	}
	return slices.DeleteFunc(Params(inputSchema), func(p Param) bool {
		return !p.Required || p.Default != nil || given.has(p.Name)
	})
}

// describe makes a parameter of its schema n, which may be nil.
func (s *schema) describe(name string, n *value, required bool) Param {
	p := Param{Name: name, Type: s.typeWords(n), Required: required}
	if n == nil {
		return p
	}
	p.Schema = n.json()
	// In draft-03 a property said of itself that it is required, and many still write it so. It is worth showing, and
	// too unsure to refuse a call for.
	p.Required = p.Required || s.annotation(n, "required").isTrue()
	if d := s.annotation(n, "default"); d != nil {
		p.Default = d.json()
	}
	for _, v := range s.literals(n) {
		p.Enum = append(p.Enum, v.json())
	}
	if d := s.annotation(n, "description"); d.isString() {
		p.Description = d.text
	}
	return p
}

// locate returns the schema of the value at a path, nil if there is none.
func (s *schema) locate(at *path) *value {
	n := s.root
	for _, st := range at.steps() {
		n = s.at(n, st)
	}
	return n
}

// help returns the line of help for the parameter at a path, "" if the schema says nothing about it.
func (s *schema) help(at *path) string {
	if at == nil || s.root == nil {
		return ""
	}
	n := s.locate(at)
	required := at.step.index < 0 && s.required(s.locate(at.parent)).is[at.step.name]
	if n == nil && !required {
		return ""
	}
	return s.describe(at.step.name, n, required).help(at.String())
}

// Signature returns the tool and its parameters on one line: name(param: type, optional?: type).
func Signature(tool string, inputSchema json.RawMessage) string {
	return show(tool) + "(" + strings.Join(SignatureParams(inputSchema), ", ") + ")"
}

// SignatureParams returns what Signature has between the parentheses, each parameter by itself.
func SignatureParams(inputSchema json.RawMessage) []string {
	var parts []string
	for _, p := range Params(inputSchema) {
		name := show(p.Name)
		if !p.Required {
			name += "?"
		}
		parts = append(parts, name+": "+p.Type)
	}
	return parts
}
