package toolargs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check compares built arguments with the schema of their tool. It returns nil, or a [*UsageError] with everything that
// is wrong: unknown names, missing ones, wrong types, values outside an enumeration, a range, a length or a pattern, at
// any depth.
//
// It refuses only what it is sure of. A schema, or a part of one, that cannot be understood checks nothing: references
// out of the document (they are never fetched), patterns that RE2 does not have or that other dialects read in another
// way, keywords of the wrong type, and the keywords whose verdict turns round when something below them is not
// understood (not, if, unevaluatedProperties, more than one match of oneOf) are left to the server. So is a required
// argument that has a default: many servers list those as required and do without them.
//
// A name at the top is unknown only if the root has properties and nothing that may allow further names:
// additionalProperties other than false, patternProperties, anyOf, oneOf, allOf or $ref.
func Check(args json.RawMessage, inputSchema json.RawMessage) error {
	s := newSchema(inputSchema)
	if s.root == nil {
		return nil
	}
	v := newObject()
	if len(args) > 0 {
		var err error
		if v, _, err = parse(string(args)); err != nil {
			return &UsageError{Message: "arguments: " + err.Error(), Err: err}
		}
	}
	if v.kind != kindObject {
		return &UsageError{Message: "arguments: must be a JSON object, not " + describe(v)}
	}
	return s.verify(v)
}

// verify is Check for an object that has been read.
func (s *schema) verify(v *value) error {
	if s.root == nil {
		return nil
	}
	problems := s.unknown(v)
	meant := map[string]bool{}
	for _, p := range problems {
		if p.meant != nil {
			meant[p.meant.String()] = true
		}
	}
	c := checker{schema: s, done: map[visit][]problem{}}
	for _, p := range c.check(s.root, v, nil) {
		// One misspelt name is one mistake, although it makes another one missing.
		if p.rule == ruleMissing && meant[p.at.String()] {
			continue
		}
		problems = append(problems, p)
	}
	slices.SortStableFunc(problems, func(a, b problem) int { return cmp.Compare(a.rule, b.rule) })
	var errs []*UsageError
	for _, p := range problems {
		errs = append(errs, &UsageError{
			Param: p.at.raw(), Message: p.message, Help: s.help(p.about()), Suggestion: p.suggestion, missing: p.rule == ruleMissing,
		})
	}
	if len(errs) == 0 {
		return nil
	}
	return join(errs)
}

// A rule is a kind of mistake, in the order in which they are told.
type rule uint8

const (
	ruleUnknown rule = iota
	ruleMissing
	ruleType
	ruleLiteral
	ruleOther
)

type problem struct {
	rule       rule
	at         *path
	message    string
	suggestion string
	meant      *path // for an unknown name, the known one it is near to
}

// about returns the path of the parameter that a problem is about.
func (p problem) about() *path {
	if p.meant != nil {
		return p.meant
	}
	return p.at
}

// A path is where in the arguments a value is; nil is the whole.
type path struct {
	parent *path
	step   step
}

func (p *path) to(st step) *path { return &path{parent: p, step: st} }

func (p *path) steps() []step {
	var steps []step
	for ; p != nil; p = p.parent {
		steps = append(steps, p.step)
	}
	slices.Reverse(steps)
	return steps
}

// String returns the path as people write it: filter.limit, items[0].name; "" for the whole.
func (p *path) String() string { return p.join(show) }

// raw is String for programs: names are what they are, whatever is in them.
func (p *path) raw() string { return p.join(func(name string) string { return name }) }

func (p *path) join(form func(name string) string) string {
	var b strings.Builder
	for i, st := range p.steps() {
		if st.index >= 0 {
			fmt.Fprintf(&b, "[%d]", st.index)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(form(st.name))
	}
	return b.String()
}

// subject returns the path as the beginning of a message.
func (p *path) subject() string {
	if p == nil {
		return "arguments"
	}
	return p.String()
}

// unknown returns a problem for every name at the top that the schema does not have.
func (s *schema) unknown(args *value) []problem {
	if !s.root.has("properties") || !s.root.get("properties").isObject() {
		return nil
	}
	if a := s.root.get("additionalProperties"); a != nil && !a.isFalse() {
		return nil
	}
	if s.mixed(s.root) {
		return nil
	}
	return s.strangers(s.root, args, nil)
}

// mixed reports whether n may allow names that its own properties do not show. JSON Schema would have
// additionalProperties look at the properties beside it alone, and those who write schemas often think otherwise.
func (s *schema) mixed(n *value) bool {
	return slices.ContainsFunc([]string{"patternProperties", "anyOf", "oneOf", "allOf", "$ref"}, n.has)
}

func (s *schema) strangers(n, v *value, at *path) []problem {
	names, required := s.properties(n), s.required(n)
	var free []string // a name that is given already was not meant again
	for _, name := range names.list {
		if !v.has(name) {
			free = append(free, name)
		}
	}
	var problems []problem
	for _, m := range v.members {
		if names.is[m.name] || required.is[m.name] || len(problems) == maxProblems {
			continue
		}
		where := at.to(memberStep(m.name))
		p := problem{rule: ruleUnknown, at: where, message: "unknown argument " + where.String()}
		const few = 10 // names that fit a line
		switch meant := near(m.name, free); {
		case meant != "":
			p.meant = at.to(memberStep(meant))
			p.suggestion = "did you mean " + p.meant.String() + "?"
		case len(names.list) == 0 && at == nil:
			p.suggestion = "the tool takes no arguments"
		case len(names.list) > 0 && len(names.list) <= few:
			shown := make([]string, len(names.list))
			for i, name := range names.list {
				shown[i] = show(name)
			}
			p.suggestion = "known here: " + strings.Join(shown, ", ")
		}
		problems = append(problems, p)
	}
	return problems
}

type visit struct{ schema, value *value }

// A checker walks a value along a schema. Every rule in it is monotone: leaving out what is not understood can only
// make it accept more.
type checker struct {
	schema *schema
	// done remembers what was found, and ends cycles: a schema met again for the same value while it is being looked at
	// finds nothing there.
	done map[visit][]problem
}

// fits reports whether v is what schema n allows, as far as n is understood.
func (s *schema) fits(n, v *value) bool {
	key := visit{n, v}
	fits, known := s.fitting[key]
	if !known {
		// Kept, because what is asked for the items of items is asked again by each schema above: it would double each time.
		c := checker{schema: s, done: map[visit][]problem{}}
		fits = len(c.check(n, v, (&path{}).to(step{}))) == 0
		s.fitting[key] = fits
	}
	return fits
}

func (c *checker) check(n, v *value, at *path) []problem {
	if n == nil || v == nil {
		return nil
	}
	if n.isFalse() && at != nil {
		return []problem{{rule: ruleOther, at: at, message: at.subject() + ": the schema allows no value here"}}
	}
	if n.kind != kindObject {
		return nil
	}
	key := visit{n, v}
	if found, ok := c.done[key]; ok {
		return found
	}
	c.done[key] = nil
	found := c.find(n, v, at)
	c.done[key] = found
	return found
}

func (c *checker) find(n, v *value, at *path) []problem {
	s := c.schema
	var found []problem
	if t := s.target(n); t != nil {
		found = merge(found, c.check(t, v, at))
	}
	if !s.own(n) {
		return found
	}
	if v.kind == kindNull && n.get("nullable").isTrue() { // OpenAPI's way to allow null
		return nil
	}
	// Arguments are always an object. A root that says otherwise is not understood.
	if t := ownTypes(n); t&typeOf(v) == 0 && at != nil {
		return merge(found, []problem{c.wrongType(n, v, at)})
	}
	if list := ownLiterals(n); list != nil && at != nil && !containsValue(list, v) {
		return merge(found, []problem{wrongLiteral(list, v, at)})
	}
	switch v.kind {
	case kindNumber:
		found = merge(found, checkNumber(n, v, at))
	case kindString:
		found = merge(found, checkString(n, v, at))
	case kindArray:
		found = merge(found, c.checkArray(n, v, at))
	case kindObject:
		found = merge(found, c.checkObject(n, v, at))
	case kindNull, kindBool:
	}
	if g := n.get("allOf"); g.isArray() {
		for _, sub := range g.items {
			found = merge(found, c.check(sub, v, at))
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if g := n.get(key); g.isArray() && len(g.items) > 0 {
			found = merge(found, c.checkAlternatives(g.items, v, at))
		}
	}
	return found
}

// maxProblems bounds a report: nobody mends more at once, and lists joined from both sides of a diamond would double.
const maxProblems = 20

func merge(found, more []problem) []problem {
	for _, p := range more {
		if len(found) >= maxProblems {
			break
		}
		same := func(q problem) bool { return q.message == p.message }
		if !slices.ContainsFunc(found, same) {
			found = append(slices.Clip(found), p)
		}
	}
	return found
}

func (c *checker) wrongType(n, v *value, at *path) problem {
	words := c.schema.words(n)
	if len(words) == 0 {
		words = []string{c.schema.typeWords(n)}
	}
	p := problem{rule: ruleType, at: at, message: at.subject() + ": must be " + wanted(words) + ", not " + describe(v)}
	if v.kind != kindString {
		return p
	}
	allowed := c.schema.typesOf(n)
	var meant *value
	switch {
	case allowed&typeNumber != 0:
		if literal := number(v.text); literal != "" {
			meant = newNumber(literal)
		} else if unlike(v.text) {
			p.suggestion = "JSON has no such number"
		}
	case allowed&typeBoolean != 0:
		if literal := boolean(v.text); literal != "" {
			meant = &value{kind: kindBool, literal: literal}
		}
	}
	if allowed&(typeObject|typeArray) != 0 {
		text := strings.TrimSpace(v.text)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			if _, _, err := parse(v.text); err != nil {
				p.suggestion = err.Error()
			}
		}
	}
	if meant != nil && at.parent == nil && c.schema.fits(n, meant) {
		p.suggestion = "write " + Quote(at.step.name+"="+meant.literal)
	}
	return p
}

// wanted returns types in words with their articles.
func wanted(words []string) string {
	var list []string
	for _, w := range words {
		switch {
		case w == "boolean":
			w = "true or false"
		case w == "null":
		case strings.IndexByte("aeiou", w[0]) >= 0:
			w = "an " + w
		default:
			w = "a " + w
		}
		list = append(list, w)
	}
	return strings.Join(list, " or ")
}

// describe returns what v is, short enough for a message.
func describe(v *value) string {
	const most = 60 // a value that is longer says no more about the mistake
	switch v.kind {
	case kindArray:
		return "an array"
	case kindObject:
		return "an object"
	case kindString:
		return strconv.Quote(cut(v.text, most))
	case kindNull, kindBool, kindNumber:
	}
	return cut(v.literal, most)
}

// cut shortens s to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// number returns the JSON number that was most likely meant by a text that is none, "" if there is no telling.
func number(text string) string {
	s := strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	// A comma separates thousands only where three digits follow; in 1,5 it may be a decimal point.
	if groups := strings.Split(s, ","); !slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 }) {
		s = strings.Join(groups, "")
	}
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if lower := strings.ToLower(s); strings.HasPrefix(lower, "0x") || strings.HasPrefix(lower, "0o") || strings.HasPrefix(lower, "0b") {
		n, err := strconv.ParseUint(lower, 0, 64)
		if err != nil {
			return ""
		}
		return sign + strconv.FormatUint(n, 10)
	}
	if trimmed := strings.TrimLeft(s, "0"); trimmed != s {
		s = trimmed
		if s == "" || s[0] < '0' || s[0] > '9' {
			s = "0" + s
		}
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	s = sign + strings.TrimSuffix(s, ".")
	if v, _, err := parse(s); err != nil || v.kind != kindNumber || s == text {
		return ""
	}
	return s
}

// unlike reports whether text is one of the numbers that JSON leaves out.
func unlike(text string) bool {
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// boolean returns the JSON boolean that text means elsewhere, "" if it means none.
func boolean(text string) string {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1", "y", "t":
		return "true"
	case "false", "no", "off", "0", "n", "f":
		return "false"
	}
	return ""
}

func containsValue(list []*value, v *value) bool { return slices.ContainsFunc(list, v.equal) }

func wrongLiteral(list []*value, v *value, at *path) problem {
	p := problem{rule: ruleLiteral, at: at}
	if len(list) == 1 {
		p.message = at.subject() + ": must be " + literalList(list) + ", not " + describe(v)
	} else {
		p.message = at.subject() + ": must be one of " + literalList(list) + ", not " + describe(v)
	}
	if v.kind == kindString {
		var texts []string
		for _, l := range list {
			if l.kind == kindString {
				texts = append(texts, l.text)
			}
		}
		if meant := near(v.text, texts); meant != "" {
			p.suggestion = "did you mean " + show(meant) + "?"
		}
	}
	return p
}

// literalList returns the first of some values, separated by commas.
func literalList(list []*value) string {
	const most, long = 12, 40 // more than that is no line of help any longer
	var words []string
	for i, v := range list {
		if i == most {
			words = append(words, "…")
			break
		}
		if v.kind == kindString {
			words = append(words, show(cut(v.text, long)))
		} else {
			words = append(words, cut(string(v.json()), long))
		}
	}
	return strings.Join(words, ", ")
}

func checkNumber(n, v *value, at *path) []problem {
	var found []problem
	d := parseDecimal(v.literal)
	complain := func(format string, limit *value) {
		found = append(found, problem{rule: ruleOther, at: at, message: at.subject() + ": " +
			fmt.Sprintf(format, cut(limit.literal, 40)) + ", not " + describe(v)})
	}
	// exclusiveMinimum is a number, and was a boolean beside minimum in draft-04.
	for _, bound := range []struct {
		key, exclusive, within, beyond string
		sign                           int
	}{
		{"minimum", "exclusiveMinimum", "must be at least %s", "must be more than %s", -1},
		{"maximum", "exclusiveMaximum", "must be at most %s", "must be less than %s", 1},
	} {
		limit, exclusive := n.get(bound.key), n.get(bound.exclusive)
		if limit.isNumber() {
			c := d.compare(parseDecimal(limit.literal)) * bound.sign
			switch {
			case exclusive.isTrue() && c >= 0:
				complain(bound.beyond, limit)
			case c > 0:
				complain(bound.within, limit)
			}
		}
		if exclusive.isNumber() && d.compare(parseDecimal(exclusive.literal))*bound.sign >= 0 {
			complain(bound.beyond, exclusive)
		}
	}
	if m := n.get("multipleOf"); m.isNumber() && !multipleOf(v.literal, m.literal) {
		complain("must be a multiple of %s", m)
	}
	return found
}

func checkString(n, v *value, at *path) []problem {
	found := checkSize(n, "minLength", "maxLength", "character", utf8.RuneCountInString(v.text), at)
	if p := n.get("pattern"); p.isString() && matches(p.text, v.text) == no {
		found = append(found, problem{rule: ruleOther, at: at, message: at.subject() + ": must match the pattern " +
			show(cut(p.text, 80)) + ", not " + describe(v)})
	}
	return found
}

// checkSize compares a size with the limits of two keywords.
func checkSize(n *value, least, most, unit string, size int, at *path) []problem {
	have := decimalOf(size)
	var found []problem
	complain := func(how string, limit *value) {
		unit := unit
		if parseDecimal(limit.literal).compare(decimalOf(1)) != 0 {
			unit += "s"
		}
		found = append(found, problem{rule: ruleOther, at: at, message: fmt.Sprintf("%s: must have at %s %s %s, and has %d",
			at.subject(), how, cut(limit.literal, 40), unit, size)})
	}
	if l := n.get(least); l.isNumber() && have.compare(parseDecimal(l.literal)) < 0 {
		complain("least", l)
	}
	if l := n.get(most); l.isNumber() && have.compare(parseDecimal(l.literal)) > 0 {
		complain("most", l)
	}
	return found
}

func decimalOf(n int) decimal { return parseDecimal(strconv.Itoa(n)) }

// A verdict is whether a text matches a pattern. The zero verdict is that there is no telling.
type verdict uint8

const (
	unsure verdict = iota
	yes
	no
)

// matches says whether a pattern matches somewhere in text, if every dialect of regular expressions would agree. The
// server's is that of JavaScript, Python or Rust; they differ from RE2 and from each other in what they know (lookbehind),
// in what classes hold beyond ASCII, in how a final newline counts, and in some escapes.
func matches(pattern, text string) verdict {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return unsure
		}
	}
	for _, odd := range []string{"[[", "&&", "{,", `\Q`, `\A`, `\z`, `\a`, `\x{`, `\C`} {
		if strings.Contains(pattern, odd) {
			return unsure
		}
	}
	re, err := regexp.Compile(pattern)
	switch {
	case err != nil:
		return unsure
	case re.MatchString(text):
		return yes
	}
	return no
}

func (c *checker) checkArray(n, v *value, at *path) []problem {
	found := checkSize(n, "minItems", "maxItems", "item", len(v.items), at)
	for i, item := range v.items {
		st := itemStep(i)
		for _, sub := range ownAt(n, st) {
			found = merge(found, c.check(sub, item, at.to(st)))
		}
	}
	// Comparing each with each costs the square; 1,000 items are a moment's work, and the server checks the rest.
	if n.get("uniqueItems").isTrue() && len(v.items) <= 1000 {
		for i, item := range v.items {
			if containsValue(v.items[:i], item) {
				found = merge(found, []problem{{rule: ruleOther, at: at, message: at.subject() + ": must not hold " +
					describe(item) + " twice"}})
				break
			}
		}
	}
	contains := n.get("contains")
	if len(known(contains)) > 0 && !n.has("minContains") { // which may be 0
		one := func(item *value) bool { return c.schema.fits(contains, item) }
		if !slices.ContainsFunc(v.items, one) {
			found = merge(found, []problem{{rule: ruleOther, at: at, message: at.subject() + ": none of its items is what the schema wants among them"}})
		}
	}
	return found
}

func (c *checker) checkObject(n, v *value, at *path) []problem {
	s := c.schema
	var found []problem
	missing := func(name string) {
		where := at.to(memberStep(name))
		if v.has(name) || s.annotation(s.at(n, where.step), "default") != nil || s.annotation(s.locate(where), "default") != nil {
			return
		}
		found = merge(found, []problem{{rule: ruleMissing, at: where, message: "missing required argument " + where.String()}})
	}
	for _, name := range s.ownRequired(n) {
		missing(name)
	}
	for _, key := range []string{"dependentRequired", "dependencies"} {
		d := n.get(key)
		if !d.isObject() {
			continue
		}
		for _, m := range d.members {
			if !v.has(m.name) {
				continue
			}
			for _, name := range m.value.items { // none, unless it is a list of names
				if name.isString() {
					missing(name.text)
				}
			}
		}
	}
	found = merge(found, checkSize(n, "minProperties", "maxProperties", "member", len(v.members), at))
	if n.get("additionalProperties").isFalse() && at != nil && !s.mixed(n) {
		found = merge(found, s.strangers(n, v, at))
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		if d := n.get(key); d.isObject() {
			for _, m := range d.members {
				if v.has(m.name) {
					found = merge(found, c.check(m.value, v, at))
				}
			}
		}
	}
	names := n.get("propertyNames")
	for _, m := range v.members {
		st := memberStep(m.name)
		for _, sub := range c.ownAt(n, st) {
			found = merge(found, c.check(sub, m.value, at.to(st)))
		}
		if len(known(names)) > 0 && !s.fits(names, newString(m.name)) {
			found = merge(found, []problem{{rule: ruleOther, at: at, message: at.subject() + ": the schema does not allow the name " + show(m.name)}})
		}
	}
	return found
}

// ownAt is the function of that name, without the schema for additional properties if a pattern that cannot be read
// might have claimed the name.
func (c *checker) ownAt(n *value, st step) []*value {
	found := ownAt(n, st)
	extra := n.get("additionalProperties")
	if len(found) != 1 || found[0] != extra {
		return found
	}
	patterns := n.get("patternProperties")
	if patterns.isObject() && slices.ContainsFunc(patterns.members, func(m member) bool { return matches(m.name, st.name) == unsure }) {
		return nil
	}
	return found
}

// checkAlternatives checks v against anyOf or oneOf and says what is wrong with the alternative that was most likely
// meant.
func (c *checker) checkAlternatives(group []*value, v *value, at *path) []problem {
	s := c.schema
	var best []problem
	var allowed types
	least := -1
	onlyMissing := true
	var needs []string
	for _, sub := range group {
		found := c.check(sub, v, at)
		if len(found) == 0 {
			return nil
		}
		allowed |= s.typesOf(sub)
		if s.typesOf(sub)&typeOf(v) == 0 {
			continue
		}
		// A wrong literal weighs more than anything else: it is how alternatives are told apart.
		weight := len(found)
		var names []string
		for _, p := range found {
			if p.rule == ruleLiteral {
				weight += maxProblems
			}
			if p.rule == ruleMissing {
				names = append(names, p.at.String())
			}
		}
		onlyMissing = onlyMissing && len(names) == len(found)
		needs = add(needs, strings.Join(names, " and "))
		if least < 0 || weight < least {
			best, least = found, weight
		}
	}
	if list := s.alternatives(group); list != nil && at != nil && !containsValue(list, v) {
		return []problem{wrongLiteral(list, v, at)}
	}
	if best == nil {
		if at == nil {
			return nil // alternatives for something that arguments never are
		}
		of := combine("anyOf", group)
		return []problem{c.wrongType(of, v, at)}
	}
	if onlyMissing && len(needs) > 1 {
		return []problem{{rule: ruleMissing, at: at, message: "missing " + strings.Join(needs, " or ")}}
	}
	return best
}
