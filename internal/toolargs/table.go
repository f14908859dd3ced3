package toolargs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Row is one line of the table of what an object has in it: a member, or a member of one of its members.
type Row struct {
	// Path is the name as the command line has it: limit, filter.limit. What is in the items of a list is items[].name.
	Path string
	// Type is in words.
	Type string
	// Required means that the object around it needs it.
	Required bool
	// Default is a value as people write it, "" if there is none.
	Default string
	// Notes are what else the schema says, in words: the allowed values, limits, the format.
	Notes []string
	// Description is the server's text as it is. It may have several lines, and control characters.
	Description string
}

const (
	// maxRowDepth is how deep the rows go into objects within objects: further down nobody types a path any more.
	maxRowDepth = 4
	// maxNested bounds lists within lists, which have no rows of their own.
	maxNested = 20
	// maxInnerRows bounds the rows for what is inside of others. Members at the top are all there, however many.
	maxInnerRows = 200
	// mostChoices is how many values of an enumeration are written out.
	mostChoices = 12
)

// Rows lists what the object of a schema has in it, each member followed by what is inside of it. References inside the
// document are followed, and end where they come back to themselves. It reports whether something deeper was left out. If
// the schema is that of a list, the rows are those of its items. It returns nothing if the schema is unusable.
func Rows(schema json.RawMessage) (rows []Row, leftOut bool) {
	s := newSchema(schema)
	if s.root == nil {
		return nil, false
	}
	t := table{schema: s}
	t.inside(s.root, nil, "", []string{string(s.root.json())})
	return t.rows, t.leftOut
}

// TypeWords returns the type of a whole schema in words: "array of string", "any" if it does not say.
func TypeWords(schema json.RawMessage) string {
	s := newSchema(schema)
	return s.typeWords(s.root)
}

type table struct {
	schema  *schema
	rows    []Row
	inner   int
	leftOut bool
}

// inside adds rows for what is in a value of schema n, which is at a path. Above are the schemas around it, as text: the
// same one again would not end.
func (t *table) inside(n *value, at *path, path string, above []string) {
	s := t.schema
	required := s.required(n)
	names := slices.Clone(s.properties(n).list)
	for _, name := range required.list {
		names = add(names, name)
	}
	if len(names) == 0 {
		if item := t.items(n); item != nil && s.expects(n)&typeArray != 0 {
			t.below(item, at.to(itemStep(0)), path+"[]", above)
		}
		return
	}
	for _, name := range names {
		where := at.to(memberStep(name))
		full := show(name)
		if path != "" {
			full = path + "." + full
			if t.inner++; t.inner > maxInnerRows {
				t.leftOut = true
				return
			}
		}
		member := s.at(n, where.step)
		t.rows = append(t.rows, s.row(full, name, member, required.is[name]))
		t.below(member, where, full, above)
	}
}

// below is inside for a value that has a row, unless it goes too deep.
func (t *table) below(n *value, at *path, path string, above []string) {
	s := t.schema
	if n == nil || s.expects(n)&(typeObject|typeArray) == 0 || s.expects(n) == typeAny {
		return
	}
	if len(s.properties(n).list) == 0 && t.items(n) == nil {
		return
	}
	text := string(n.json())
	if slices.Contains(above, text) {
		if last := len(t.rows) - 1; last >= 0 {
			t.rows[last].Notes = append(t.rows[last].Notes, "with the same inside, again")
		}
		return
	}
	if strings.Count(path, ".") >= maxRowDepth || len(above) > maxNested {
		t.leftOut = true
		return
	}
	t.inside(n, at, path, append(slices.Clip(above), text))
}

// items returns the schema of the items of a list, nil for one without, or with a schema for each place.
func (t *table) items(n *value) *value {
	if t.schema.annotation(n, "prefixItems") != nil || t.schema.annotation(n, "items").isArray() {
		return nil
	}
	return t.schema.at(n, itemStep(0))
}

// row describes a member. Its path is for people, its name is what the schema calls it.
func (s *schema) row(path, name string, n *value, required bool) Row {
	p := s.describe(name, n, required)
	r := Row{Path: path, Type: p.Type, Required: p.Required, Description: p.Description}
	if d, _, err := parse(string(p.Default)); err == nil {
		r.Default = literalText(d) // more of it is no help
	}
	if n == nil {
		return r
	}
	list := s.literals(n)
	if len(list) > 0 {
		r.Notes = append(r.Notes, choices(list))
	}
	r.Notes = append(r.Notes, s.limitWords(n)...)
	if item := s.at(n, itemStep(0)); len(list) == 0 && item != nil && s.expects(n)&typeArray != 0 {
		if list := s.literals(item); len(list) > 0 {
			r.Notes = append(r.Notes, "each "+choices(list))
		}
		for _, limit := range s.limitWords(item) {
			r.Notes = append(r.Notes, "each "+limit)
		}
	}
	if extra := s.annotation(n, "additionalProperties"); extra.isObject() && len(s.properties(n).list) == 0 && s.words(extra) != nil {
		r.Notes = append(r.Notes, "any names, each with "+strings.Join(s.words(extra), " or "))
	}
	if examples := s.annotation(n, "examples"); examples.isArray() && len(examples.items) > 0 && len(list) == 0 {
		const few = 3
		var texts []string
		for _, e := range examples.items[:min(few, len(examples.items))] {
			texts = append(texts, literalText(e))
		}
		r.Notes = append(r.Notes, "for example "+strings.Join(texts, ", "))
	}
	if s.annotation(n, "deprecated").isTrue() {
		r.Notes = append(r.Notes, "deprecated")
	}
	return r
}

// choices says which values are allowed.
func choices(list []*value) string {
	if len(list) == 1 {
		return "always " + literalText(list[0])
	}
	shown := list
	if len(list) > mostChoices+1 { // instead of one more the note would say that there is one more
		shown = list[:mostChoices]
	}
	texts := make([]string, len(shown))
	for i, v := range shown {
		texts[i] = literalText(v)
	}
	text := "one of " + strings.Join(texts, ", ")
	if more := len(list) - len(shown); more > 0 {
		text += fmt.Sprintf(" … and %d more", more)
	}
	return text
}

// literalText returns a value as people write it, cut to what a line has room for.
func literalText(v *value) string {
	const most = 60
	if v.kind == kindString {
		return show(cut(v.text, most))
	}
	return cut(string(v.json()), most)
}

// limitWords returns what the schema n says about the size and the form of a value, in words.
func (s *schema) limitWords(n *value) []string {
	nodes := s.together(n)
	get := func(key string) *value {
		for _, n := range nodes {
			if v := n.get(key); v != nil {
				return v
			}
		}
		return nil
	}
	number := func(key string) string {
		if v := get(key); v.isNumber() {
			return cut(v.literal, 40)
		}
		return ""
	}
	var words []string
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	least, most := number("minimum"), number("maximum")
	above, below := number("exclusiveMinimum"), number("exclusiveMaximum")
	if get("exclusiveMinimum").isTrue() { // as in draft-04
		least, above = "", least
	}
	if get("exclusiveMaximum").isTrue() {
		most, below = "", most
	}
	add(between(least, most, ""))
	if above != "" {
		add("more than " + above)
	}
	if below != "" {
		add("less than " + below)
	}
	if of := number("multipleOf"); of != "" && of != "1" {
		add("a multiple of " + of)
	}
	add(between(number("minLength"), number("maxLength"), "character"))
	if p := get("pattern"); p.isString() {
		add("pattern " + show(cut(p.text, 120)))
	}
	if f := get("format"); f.isString() && f.text != "" {
		add(formatWords(f.text))
	}
	if e := get("contentEncoding"); e.isString() && e.text != "" {
		add("encoded as " + show(cut(e.text, 40)))
	}
	if m := get("contentMediaType"); m.isString() && m.text != "" {
		add("of the type " + show(cut(m.text, 60)))
	}
	add(between(number("minItems"), number("maxItems"), "item"))
	if get("uniqueItems").isTrue() {
		add("no item twice")
	}
	add(between(number("minProperties"), number("maxProperties"), "member"))
	return words
}

// together returns the schemas that a value of schema n must fit in every case: n, what it combines with, and the one
// alternative that is left beside null.
func (s *schema) together(n *value) []*value {
	var found []*value
	seen := map[*value]bool{}
	var visit func(*value)
	visit = func(n *value) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		found = append(found, n)
		all, groups := s.combined(n)
		for _, sub := range all {
			visit(sub)
		}
		for _, g := range groups {
			left := slices.DeleteFunc(slices.Clone(g), func(sub *value) bool { return sub.isObject() && ownTypes(sub) == typeNull })
			if len(left) == 1 {
				visit(left[0])
			}
		}
	}
	visit(n)
	return found
}

// between says that something lies between two limits, either of which may be "". Unit is what is counted, if anything is.
func between(least, most, unit string) string {
	noun := func(n string) string {
		switch {
		case unit == "":
			return ""
		case n == "1":
			return " " + unit
		}
		return " " + unit + "s"
	}
	switch {
	case unit != "" && least == "0":
		return between("", most, unit)
	case least == "" && most == "":
		return ""
	case most == "":
		return "at least " + least + noun(least)
	case least == "":
		return "at most " + most + noun(most)
	case least == most && unit != "":
		return least + noun(least)
	case strings.HasPrefix(least, "-") || strings.HasPrefix(most, "-"):
		return least + " to " + most + noun(most)
	}
	return least + "–" + most + noun(most)
}
