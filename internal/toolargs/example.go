package toolargs

import (
	"encoding/json"
	regex "regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Example returns words that make a valid call with the required parameters alone, each quoted for a POSIX shell. The
// values come from defaults, examples, enumerations, and from types and limits. It returns nil if nothing is required,
// or the schema is unusable; where no valid value can be made up (a pattern), the example only shows the form.
func Example(inputSchema json.RawMessage) []string {
	s := newSchema(inputSchema)
	if s.root == nil {
		return nil
	}
	e := exampler{schema: s, budget: 2000}
	object := e.object(s.root, nil)
	var words []string
	for _, m := range object.members {
		words = append(words, s.wordsFor((*path)(nil).to(memberStep(m.name)), m.value)...)
	}
	// The words must come back as the object. Names that no word can hold are the exception.
	if built, err := Build(Input{Words: words, Schema: inputSchema}); err != nil || string(built) != string(object.json()) {
		if len(object.members) == 0 {
			return nil
		}
		return []string{Quote(string(object.json()))}
	}
	for i := range words {
		words[i] = Quote(words[i])
	}
	return words
}

// ExampleFits reports whether the schema accepts the words of [Example], as far as can be told.
func ExampleFits(inputSchema json.RawMessage) bool {
	s := newSchema(inputSchema)
	if s.root == nil {
		return true // it checks nothing
	}
	e := exampler{schema: s, budget: 2000}
	return Check(e.object(s.root, nil).json(), inputSchema) == nil
}

// wordsFor returns the words that give the value at a path, in the plainest form that does.
func (s *schema) wordsFor(at *path, v *value) []string {
	n, name := s.locate(at), at.raw()
	// comes reports whether a text, typed for the parameter, comes back as want.
	comes := func(text string, want *value) bool {
		have, _ := s.typed(n, text, false)
		return string(have.json()) == string(want.json())
	}
	if v.kind == kindArray && len(v.items) > 0 {
		// One word an item reads best, where the first makes the list and every further one comes back as an item.
		ok := comes(plainText(v.items[0]), newArray(v.items[0]))
		var words []string
		for i, item := range v.items {
			have, _ := s.typedItem(s.at(n, itemStep(i)), plainText(item), false)
			ok = ok && string(have.json()) == string(item.json()) && item.kind != kindArray && item.kind != kindObject
			words = append(words, name+"="+escapeAt(plainText(item)))
		}
		if ok {
			return words
		}
	}
	if comes(plainText(v), v) {
		return []string{name + "=" + escapeAt(plainText(v))}
	}
	return []string{name + ":=" + string(v.json())}
}

// plainText returns a string's contents, and the JSON text of anything else.
func plainText(v *value) string {
	if v.kind == kindString {
		return v.text
	}
	return string(v.json())
}

// escapeAt keeps a text from being taken for the name of a file.
func escapeAt(text string) string {
	if strings.HasPrefix(text, "@") {
		return "@" + text
	}
	return text
}

// An exampler makes values up. Its budget bounds the attempts: alternatives within alternatives would multiply.
type exampler struct {
	schema *schema
	budget int
}

// maxExampleDepth ends the examples of schemas that require themselves.
const maxExampleDepth = 6

// object returns an object with the members that n requires.
func (e *exampler) object(n *value, at *path) *value {
	s := e.schema
	names := slices.Clone(s.required(n).list)
	groups := s.groups(n)
	for _, g := range groups { // one alternative has to hold; the first is as good as any
		for _, name := range s.required(g[0]).list {
			names = add(names, name)
		}
	}
	// A property that says of itself that it is required, as in draft-03.
	for _, name := range s.properties(n).list {
		if s.annotation(s.at(n, memberStep(name)), "required").isTrue() {
			names = add(names, name)
		}
	}
	v := newObject()
	for _, name := range s.properties(n).list { // in the order of the schema
		if slices.Contains(names, name) {
			v.put(name, e.value(s.at(n, memberStep(name)), at.to(memberStep(name))))
		}
	}
	for _, name := range names {
		if !v.has(name) {
			v.put(name, e.value(s.at(n, memberStep(name)), at.to(memberStep(name))))
		}
	}
	return v
}

// groups returns the alternatives of n, and of what applies together with it in every case.
func (s *schema) groups(n *value) [][]*value {
	seen := map[*value]bool{}
	var found [][]*value
	var visit func(*value)
	visit = func(n *value) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		all, groups := s.combined(n)
		found = append(found, groups...)
		for _, sub := range all {
			visit(sub)
		}
	}
	visit(n)
	return found
}

// value returns the first of some likely values that schema n accepts.
func (e *exampler) value(n *value, at *path) *value {
	s := e.schema
	e.budget--
	if n == nil || e.budget < 0 || len(at.steps()) > maxExampleDepth {
		return newString("hi")
	}
	var list []*value
	if d := s.annotation(n, "default"); d != nil && d.kind != kindNull {
		list = append(list, d)
	}
	if x := s.annotation(n, "examples"); x.isArray() {
		list = append(list, x.items...)
	}
	if x := s.annotation(n, "example"); x != nil { // OpenAPI's
		list = append(list, x)
	}
	list = append(list, s.literals(n)...)
	for _, v := range list {
		if s.fits(n, v) {
			return v
		}
	}
	for _, g := range s.groups(n) {
		for _, sub := range g {
			if v := e.value(sub, at); s.fits(n, v) && v.kind != kindNull {
				return v
			}
		}
	}
	var first *value
	for _, v := range e.made(n, at) {
		if first == nil {
			first = v
		}
		if s.fits(n, v) {
			return v
		}
	}
	return first
}

// made returns values of the types that n allows, the likely ones first. There is always one.
func (e *exampler) made(n *value, at *path) []*value {
	s := e.schema
	allowed := s.expects(n)
	var list []*value
	if allowed&typeString != 0 {
		for _, text := range e.texts(n, at) {
			list = append(list, newString(text))
		}
	}
	if allowed&typeNumber != 0 {
		list = append(list, e.numbers(n)...)
	}
	if allowed&typeBoolean != 0 {
		list = append(list, &value{kind: kindBool, literal: "true"})
	}
	if allowed&typeArray != 0 {
		count := size(s.annotation(n, "minItems"), 1)
		v := newArray()
		for i := range count {
			v.items = append(v.items, e.value(s.at(n, itemStep(i)), at.to(itemStep(i))))
		}
		list = append(list, v, newArray())
	}
	if allowed&typeObject != 0 {
		list = append(list, e.object(n, at))
	}
	return append(list, &value{kind: kindNull, literal: "null"})
}

// size returns a limit from a schema as the size of an example: at least the given one, and no larger than is readable.
func size(limit *value, least int) int {
	const most = 20
	if !limit.isNumber() {
		return least
	}
	n, err := strconv.Atoi(limit.literal)
	if err != nil || n > most {
		return most
	}
	return max(n, least)
}

// texts returns likely texts for a string.
func (e *exampler) texts(n *value, at *path) []string {
	s := e.schema
	format := ""
	if f := s.annotation(n, "format"); f.isString() {
		format = f.text
	}
	var list []string
	switch format {
	case "uri", "url", "uri-reference", "iri", "iri-reference":
		list = append(list, "https://example.com")
	case "date":
		list = append(list, "2026-01-31")
	case "time":
		list = append(list, "12:00:00Z")
	case "date-time":
		list = append(list, "2026-01-31T12:00:00Z")
	case "duration":
		list = append(list, "PT1H")
	case "email", "idn-email":
		list = append(list, "me@example.com")
	case "uuid":
		list = append(list, "123e4567-e89b-12d3-a456-426614174000")
	case "hostname", "idn-hostname":
		list = append(list, "example.com")
	case "ipv4":
		list = append(list, "192.0.2.1")
	case "ipv6":
		list = append(list, "2001:db8::1")
	case "uri-template":
		list = append(list, "https://example.com/{id}")
	case "json-pointer":
		list = append(list, "/name")
	case "relative-json-pointer":
		list = append(list, "0/name")
	case "regex":
		list = append(list, "a.*")
	case "byte", "base64":
		list = append(list, "aGk=")
	case "color":
		list = append(list, "#ff0000")
	}
	if enc := s.annotation(n, "contentEncoding"); enc.isString() && strings.HasPrefix(enc.text, "base64") {
		list = append(list, "aGk=")
	}
	switch name := fold(at.step.name); {
	case strings.HasSuffix(name, "url"), strings.HasSuffix(name, "uri"):
		list = append(list, "https://example.com")
	case strings.HasSuffix(name, "path"), strings.HasSuffix(name, "file"), strings.HasSuffix(name, "filename"):
		list = append(list, "file.txt")
	}
	// The rest is for lengths and the commonest patterns.
	list = append(list, "hi", "h", "")
	if least := size(s.annotation(n, "minLength"), 0); least > len("hi") {
		list = append(list, strings.Repeat("hi", (least+1)/2)[:least])
	}
	list = append(list, "HI", "1", "1234", "a1", "abc123", "2026-01-31", "1.0.0", "example.com", "#ff0000", "/tmp", "0x1f")
	if p := s.annotation(n, "pattern"); p.isString() {
		list = append(list, patternTexts(p.text)...)
	}
	return list
}

// numbers returns likely numbers for the limits of n.
func (e *exampler) numbers(n *value) []*value {
	s := e.schema
	list := []*value{newNumber("1"), newNumber("0")}
	for _, key := range []string{"minimum", "maximum", "multipleOf"} {
		if limit := s.annotation(n, key); limit.isNumber() {
			list = append(list, limit)
		}
	}
	for _, beside := range []struct {
		key  string
		step int64
	}{{"exclusiveMinimum", 1}, {"minimum", 1}, {"exclusiveMaximum", -1}, {"maximum", -1}} {
		limit := s.annotation(n, beside.key)
		if !limit.isNumber() {
			continue
		}
		if whole, err := strconv.ParseInt(limit.literal, 10, 64); err == nil {
			list = append(list, newNumber(strconv.FormatInt(whole+beside.step, 10)))
		}
	}
	return append(list, newNumber("0.5"), newNumber("-1"))
}

// patternTexts returns short texts that a pattern matches: as little as it wants, and once whatever may repeat.
func patternTexts(pattern string) []string {
	re, err := regex.Parse(pattern, regex.Perl)
	if err != nil {
		return nil
	}
	const most = 200 // characters; a pattern can ask for thousands
	var texts []string
	for _, times := range []int{0, 1} {
		m := matcher{times: times, left: most}
		m.write(re)
		if m.left > 0 {
			texts = append(texts, m.text.String())
		}
	}
	return texts
}

// A matcher writes a text that a regular expression matches.
type matcher struct {
	// times is how often that is written which may be left out.
	times int
	// left is how much may still be written.
	left int
	text strings.Builder
}

func (m *matcher) write(re *regex.Regexp) {
	if m.left <= 0 {
		return
	}
	switch re.Op {
	case regex.OpLiteral:
		m.left -= len(re.Rune)
		m.text.WriteString(string(re.Rune))
	case regex.OpCharClass:
		m.rune(likely(re.Rune))
	case regex.OpAnyChar, regex.OpAnyCharNotNL:
		m.rune('a')
	case regex.OpStar, regex.OpQuest:
		m.repeat(re.Sub[0], m.times)
	case regex.OpPlus:
		m.repeat(re.Sub[0], 1)
	case regex.OpRepeat:
		m.repeat(re.Sub[0], max(re.Min, min(m.times, max(re.Max, 0))))
	case regex.OpConcat, regex.OpCapture:
		for _, sub := range re.Sub {
			m.write(sub)
		}
	case regex.OpAlternate:
		m.write(re.Sub[0])
	case regex.OpNoMatch, regex.OpEmptyMatch, regex.OpBeginLine, regex.OpEndLine, regex.OpBeginText, regex.OpEndText,
		regex.OpWordBoundary, regex.OpNoWordBoundary:
	}
}

func (m *matcher) rune(r rune) {
	m.left--
	m.text.WriteRune(r)
}

func (m *matcher) repeat(re *regex.Regexp, times int) {
	for range times {
		if m.left <= 0 {
			return
		}
		m.write(re)
	}
}

// likely returns a character of a class, which is given as pairs of first and last: a letter or a digit if it has one.
func likely(class []rune) rune {
	for _, r := range "a1A_-" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
