package toolargs

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A Form is an object while a person fills it in, one value at a time. What may be typed for a value is what a key=value
// word may hold, and the values are those that [Build] would make of it, so that a line of words can do the same the
// next time.
type Form struct {
	schema *schema
	root   *value
}

// NewForm returns a form for objects of a schema. Given is an object with the values that are there already, nil for
// none. An unusable schema makes a form with nothing to fill in.
func NewForm(inputSchema, given json.RawMessage) (*Form, error) {
	f := &Form{schema: newSchema(inputSchema), root: newObject()}
	if len(given) == 0 {
		return f, nil
	}
	v, _, err := parse(string(given))
	switch {
	case err != nil:
		return nil, err
	case v.kind != kindObject:
		return nil, errors.New("must be a JSON object, not " + describe(v))
	}
	f.root = v
	return f, nil
}

// FieldKind says how a value is asked for.
type FieldKind uint8

// The kinds of fields.
const (
	// FieldText is a line of text, which [Field.Parse] reads.
	FieldText FieldKind = iota
	// FieldOne is one of Choices.
	FieldOne
	// FieldSeveral is a list of some of Choices.
	FieldSeveral
	// FieldObject is an object, whose members have fields of their own: [Form.Fields].
	FieldObject
)

// Field is a value that a person can be asked for.
type Field struct {
	Param
	// Kind says how it is asked for.
	Kind FieldKind
	// Path are the names that lead to the value from the whole object.
	Path []string
	// Title is the server's, as it is.
	Title string
	// Limits are what else is said of the value, in words: "1 to 10", "email", "at most 40 characters".
	Limits []string
	// Choices are what there is to choose from.
	Choices []FieldChoice
	// Chosen are the indices of the choices that are the default.
	Chosen []int
	// Least and Most bound how many are chosen. Most is 0 if there is no bound.
	Least, Most int
	// Text is what stands in the field for the default, "" if there is none.
	Text string
	// Hint says how the value is typed, "" if that is plain.
	Hint string
	// Exact means that white space at the ends of the text is part of the value.
	Exact bool
	// Hidden means that the schema wants the text kept off the screen.
	Hidden bool
	// Null means that the value may be null.
	Null bool

	schema *schema
	node   *value
	at     *path
	form   textForm
}

// A FieldChoice is one of the values that there are to choose from.
type FieldChoice struct {
	Value json.RawMessage
	// Title is the server's name for the value, or the value itself in words.
	Title string
	// Description says more: the value, if the title hides it, and what the server says about it.
	Description string
}

// A textForm is how the text of a field is read.
type textForm uint8

const (
	asWord  textForm = iota // as the text of a key=value word
	asList                  // items between commas, or a JSON array
	asJSON                  // JSON alone
	asLoose                 // JSON if it begins like an object, an array or a string, and text otherwise
)

// maxNesting is how deep objects are asked for member by member. Schemas that hold themselves have no end, and deeper
// ones are quicker to type as JSON.
const maxNesting = 3

// Fields lists the fields of the whole object, or of an object inside it, in the order of the schema.
func (f *Form) Fields(inside ...string) []Field {
	s := f.schema
	if s.root == nil {
		return nil
	}
	var at *path
	for _, name := range inside {
		at = at.to(memberStep(name))
	}
	n := s.locate(at)
	required := s.required(n)
	names := slices.Clone(s.properties(n).list)
	for _, name := range required.list {
		names = add(names, name)
	}
	var fields []Field
	for _, name := range names {
		st := memberStep(name)
		member := s.at(n, st)
		if member.isFalse() {
			continue // the schema allows no value there
		}
		fields = append(fields, s.field(member, at.to(st), slices.Concat(inside, []string{name}), required.is[name]))
	}
	return fields
}

// field describes the value of schema n, which may be nil.
func (s *schema) field(n *value, at *path, names []string, required bool) Field {
	f := Field{Param: s.describe(at.step.name, n, required), Path: names, schema: s, node: n, at: at}
	f.Name = at.String()
	if t := s.annotation(n, "title"); t.isString() {
		f.Title = t.text
	}
	if format := s.annotation(n, "format"); format.isString() && format.text == "password" || s.annotation(n, "writeOnly").isTrue() {
		f.Hidden = true
	}
	allowed := s.expects(n)
	plainType := allowed &^ typeNull
	null := &value{kind: kindNull, literal: "null"}
	f.Null = allowed != typeAny && allowed&typeNull != 0 && s.fits(n, null)
	var standing *value
	if d, _, err := parse(string(f.Default)); err == nil && s.fits(n, d) {
		standing = d
	}
	f.Limits = s.limitWords(n)
	item := s.at(n, itemStep(0))
	plainList := plainType == typeArray && !s.tuple(n) && !s.branches(n)
	switch {
	case s.choices(&f, n):
	case plainType == typeBoolean:
		f.Kind, f.Choices = FieldOne, []FieldChoice{
			{Value: json.RawMessage("true"), Title: "yes"}, {Value: json.RawMessage("false"), Title: "no"},
		}
		f.nullChoice()
	case plainList && s.choices(&Field{}, item):
		s.choices(&f, item)
		f.Kind = FieldSeveral
		f.Least, f.Most = s.count(n, "minItems"), s.count(n, "maxItems")
	case plainList && s.expects(item)&(typeArray|typeObject) == 0:
		f.form, f.Hint = asList, "separated by commas"
		if s.expects(item)&typeString != 0 {
			f.Hint += `; as JSON where one holds a comma: ["a, b"]`
		}
	case plainType == typeObject && len(names) <= maxNesting && len(s.properties(n).list) > 0 && !s.branches(n):
		f.Kind = FieldObject
	case plainType == typeObject:
		f.form, f.Hint = asJSON, `JSON: {"name": value}`
	case plainType == typeArray:
		f.form, f.Hint = asJSON, `JSON: [value, value]`
	case allowed == typeAny:
		f.form, f.Hint, f.Exact = asLoose, `text; or JSON that begins with {, [ or "`, true
	case allowed&typeString != 0:
		f.Exact = true
	case allowed&(typeArray|typeObject) != 0:
		f.Hint = "JSON"
	}
	if f.Hidden = f.Hidden && f.Kind == FieldText; f.Hidden {
		return f // a default that is secret is none
	}
	switch {
	case standing == nil:
	case f.Kind == FieldText:
		f.Text = f.spell(standing)
	case f.Kind == FieldOne:
		f.choose(standing)
	case f.Kind == FieldSeveral:
		for _, one := range standing.items {
			f.choose(one)
		}
	}
	return f
}

func (f *Field) choose(v *value) {
	i := slices.IndexFunc(f.Choices, func(c FieldChoice) bool { return Equal(c.Value, v.json()) })
	if i >= 0 && !slices.Contains(f.Chosen, i) {
		f.Chosen = append(f.Chosen, i)
	}
}

// nullChoice adds null to the choices, if it is allowed and not there.
func (f *Field) nullChoice() {
	null := json.RawMessage("null")
	if f.Null && !slices.ContainsFunc(f.Choices, func(c FieldChoice) bool { return Equal(c.Value, null) }) {
		f.Choices = append(f.Choices, FieldChoice{Value: null, Title: "null", Description: "no value"})
	}
}

// choices gives a field the values that schema n allows, if it allows just some, and reports whether it does.
func (s *schema) choices(f *Field, n *value) bool {
	titles := map[string]FieldChoice{}
	s.titles(n, titles, map[*value]bool{})
	var list []FieldChoice
	for _, v := range s.literals(n) {
		raw := string(v.json())
		if !s.fits(n, v) || slices.ContainsFunc(list, func(c FieldChoice) bool { return string(c.Value) == raw }) {
			continue
		}
		c, titled := titles[raw]
		c.Value = json.RawMessage(raw)
		text := raw
		if v.kind == kindString {
			text = show(v.text)
		}
		switch {
		case !titled || strings.TrimSpace(c.Title) == "":
			c.Title = text
		case c.Title != text && c.Description != "":
			c.Description = text + ": " + c.Description
		case c.Title != text:
			c.Description = text
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return false
	}
	f.Kind, f.Choices = FieldOne, list
	f.nullChoice()
	return true
}

// titles collects what alternatives call their values: title beside const, and the enumNames that stood beside enum
// before there was a title for it (MCP 2025-06-18, "Elicitation", and the legacy form of 2025-11-25).
func (s *schema) titles(n *value, into map[string]FieldChoice, seen map[*value]bool) {
	if n == nil || n.kind != kindObject || seen[n] {
		return
	}
	seen[n] = true
	put := func(v *value, c FieldChoice) {
		if raw := string(v.json()); c.Title != "" || c.Description != "" {
			if _, known := into[raw]; !known {
				into[raw] = c
			}
		}
	}
	if names, values := n.get("enumNames"), n.get("enum"); names.isArray() && values.isArray() {
		for i, v := range values.items[:min(len(values.items), len(names.items))] {
			if names.items[i].isString() {
				put(v, FieldChoice{Title: names.items[i].text})
			}
		}
	}
	all, groups := s.combined(n)
	for _, g := range groups {
		for _, sub := range g {
			list := s.literals(sub)
			if len(list) != 1 {
				continue
			}
			var c FieldChoice
			if t := s.annotation(sub, "title"); t.isString() {
				c.Title = t.text
			}
			if d := s.annotation(sub, "description"); d.isString() {
				c.Description = sentence(d.text)
			}
			put(list[0], c)
		}
	}
	for _, sub := range slices.Concat(all, slices.Concat(groups...)) {
		s.titles(sub, into, seen)
	}
}

// tuple reports whether the items of an array have schemas by their places.
func (s *schema) tuple(n *value) bool { return s.tupleOnce(n, map[*value]bool{}) }

func (s *schema) tupleOnce(n *value, seen map[*value]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	seen[n] = true
	if n.get("prefixItems").isArray() || n.get("items").isArray() {
		return true
	}
	all, groups := s.combined(n)
	return slices.ContainsFunc(slices.Concat(all, slices.Concat(groups...)), func(sub *value) bool { return s.tupleOnce(sub, seen) })
}

// branches reports whether an object or a list has alternatives: what one says of its members is not true of another.
func (s *schema) branches(n *value) bool { return s.branchesOnce(n, map[*value]bool{}) }

func (s *schema) branchesOnce(n *value, seen map[*value]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	seen[n] = true
	all, groups := s.combined(n)
	for _, sub := range all {
		if s.branchesOnce(sub, seen) {
			return true
		}
	}
	for _, g := range groups {
		count := 0
		for _, sub := range g {
			if s.typesOf(sub) != typeNull {
				count++
			}
			if s.branchesOnce(sub, seen) {
				return true
			}
		}
		if count > 1 {
			return true
		}
	}
	return false
}

// count returns a whole number of a schema that bounds a size, 0 if there is none.
func (s *schema) count(n *value, key string) int {
	limit := s.annotation(n, key)
	if !limit.isNumber() {
		return 0
	}
	c, err := strconv.Atoi(limit.literal)
	if err != nil {
		return 0
	}
	return max(c, 0)
}

// spell returns a value as it is typed in the field.
func (f *Field) spell(v *value) string {
	switch {
	case f.form == asList && v.kind == kindArray:
		var texts []string
		for _, item := range v.items {
			texts = append(texts, plainText(item))
		}
		text := strings.Join(texts, ", ")
		if back, err := f.read(text); err == nil && string(back.json()) == string(v.json()) {
			return text
		}
	case f.form == asWord:
		text := plainText(v)
		if back, err := f.read(text); err == nil && string(back.json()) == string(v.json()) {
			return text
		}
	case f.form == asLoose && v.kind == kindString:
		return v.text
	}
	return string(v.json())
}

// Parse reads what was typed in a [FieldText], and says what is wrong with it. An empty text is the empty value: null if
// that is allowed, an empty list, and else nothing at all, which is an error. Two quotation marks are the empty string.
func (f *Field) Parse(text string) (json.RawMessage, error) {
	v, err := f.read(text)
	if err != nil {
		return nil, err
	}
	c := checker{schema: f.schema, done: map[visit][]problem{}}
	if found := c.check(f.node, v, f.at); len(found) > 0 {
		p := found[0]
		message := strings.TrimPrefix(p.message, f.at.subject()+": ")
		if p.suggestion != "" {
			message += "; " + p.suggestion
		}
		return nil, errors.New(message)
	}
	if v.kind == kindString {
		if format := f.schema.annotation(f.node, "format"); format.isString() {
			if message := misformed(format.text, v.text); message != "" {
				return nil, errors.New(message)
			}
		}
	}
	return v.json(), nil
}

func (f *Field) read(text string) (*value, error) {
	s, n := f.schema, f.node
	allowed := s.expects(n)
	if !f.Exact {
		text = strings.TrimSpace(text)
	}
	if allowed&typeString != 0 && text == `""` {
		return newString(""), nil
	}
	if text == "" {
		switch {
		case f.Null:
			return &value{kind: kindNull, literal: "null"}, nil
		case f.form == asList:
			return newArray(), nil
		case allowed&typeString != 0:
			return nil, errors.New(`a value is wanted; "" is the empty text`)
		}
		return nil, errors.New("a value is wanted")
	}
	begins := func(chars string) bool { return strings.IndexByte(chars, strings.TrimSpace(text)[0]) >= 0 }
	switch {
	case strings.TrimSpace(text) == "":
		if allowed&typeString == 0 {
			return nil, errors.New("a value is wanted")
		}
	case f.form == asJSON, f.form == asLoose && begins(`{["`), f.form == asList && begins("["):
		v, twice, err := parse(text)
		switch {
		case err != nil:
			return nil, err
		case twice != "":
			return nil, errors.New("the name " + show(twice) + " appears twice")
		}
		return v, nil
	case f.form == asLoose:
		return newString(text), nil
	case f.form == asList:
		list := newArray()
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
			if part = strings.TrimSpace(part); part != "" {
				item, _ := s.typedItem(s.at(n, itemStep(len(list.items))), part, false)
				list.items = append(list.items, item)
			}
		}
		return list, nil
	}
	v, twice := s.typed(n, text, false)
	if twice != "" {
		return nil, errors.New("the name " + show(twice) + " appears twice")
	}
	return v, nil
}

// Several returns the list of some of the choices.
func (f *Field) Several(chosen []int) json.RawMessage {
	list := []byte{'['}
	for i, c := range chosen {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, f.Choices[c].Value...)
	}
	return append(list, ']')
}

// Value returns what is in the place of a field, nil if nothing is.
func (f *Form) Value(field Field) json.RawMessage {
	v := f.root
	for _, name := range field.Path {
		v = v.get(name)
	}
	if v == nil {
		return nil
	}
	return v.json()
}

// Text returns what is in the place of a [FieldText], as it is typed there, "" if nothing is.
func (f *Form) Text(field Field) string {
	v, _, err := parse(string(f.Value(field)))
	if err != nil || field.Kind != FieldText {
		return ""
	}
	return field.spell(v)
}

// Set puts a value, which is valid JSON, in the place of a field. The objects around it are made as far as they are
// missing; what is there and is no object is replaced.
func (f *Form) Set(field Field, raw json.RawMessage) {
	set, _, err := parse(string(raw))
	if err != nil {
		return
	}
	v := f.root
	last := len(field.Path) - 1
	for _, name := range field.Path[:last] {
		next := v.get(name)
		if !next.isObject() {
			next = newObject()
			v.put(name, next)
		}
		v = next
	}
	v.put(field.Path[last], set)
}

// JSON returns the object as it is filled in so far.
func (f *Form) JSON() json.RawMessage { return f.root.json() }

// Check is the function of that name for what is filled in.
func (f *Form) Check() error { return f.schema.verify(f.root) }

// IsMissing reports whether an error of [Check] says of required arguments that they are missing, and nothing else.
func IsMissing(err error) bool {
	var e *UsageError
	if !errors.As(err, &e) {
		return false
	}
	if len(e.Problems) == 0 {
		return e.missing
	}
	return !slices.ContainsFunc(e.Problems, func(p *UsageError) bool { return !p.missing })
}
