package baseline

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// How schemas are compared.
//
// What a tool accepts may only grow, and what it answers may only shrink: a client that knows the old schema sends what
// fitted it, and relies on what it promised. So a schema is compared key by key, each difference is found to narrow or to
// widen what fits, and the direction says which of the two breaks. What this code cannot tell (a pattern that changed, a
// reference elsewhere, keys that it does not know) is risky: a person has to look. References are not followed; the definitions
// that they name are compared by their names.

// comparer compares two schemas in one direction.
type comparer struct {
	// output is set for what the tool answers.
	output bool
	found  []Difference
	depth  int
}

// deepest bounds the depth of schemas: deeper ones are no longer written by people.
const deepest = 64

// place is where in a schema a comparison is.
type place struct {
	// path is the way through the keys, and name what a person calls the value there: "filter.kind", "" for all of it.
	path, name string
	// definition is set inside a schema that references name: what it is called there is no argument's name.
	definition bool
}

func (p place) key(key string) string { return p.path + "." + key }

// property returns the place of a member of an object.
func (p place) property(name string) place {
	out := place{path: p.path + ".properties." + name, name: name, definition: p.definition}
	if p.name != "" {
		out.name = p.name + "." + name
	}
	return out
}

func (p place) items(key string) place {
	return place{path: p.key(key), name: p.name + "[]", definition: p.definition}
}

func (p place) below(keys ...string) place {
	return place{path: p.key(strings.Join(keys, ".")), name: p.name, definition: p.definition}
}

func compareInput(before, after any) []Difference {
	if before == nil || after == nil {
		return []Difference{changed(Risky, "inputSchema", "the input schema", before, after)}
	}
	var c comparer
	c.schema(before, after, place{path: "inputSchema"})
	return c.found
}

func compareOutput(before, after any) []Difference {
	switch {
	case before == nil:
		return []Difference{changed(Benign, "outputSchema", "the output schema", before, after)}
	case after == nil:
		return []Difference{changed(Breaking, "outputSchema", "the output schema", before, after)}
	}
	c := comparer{output: true}
	c.schema(before, after, place{path: "outputSchema"})
	return c.found
}

// subject names the value at a place.
func (c *comparer) subject(at place) string {
	switch {
	case at.definition:
		return "definition " + Visible(at.name)
	case at.name == "" && c.output:
		return "output"
	case at.name == "":
		return "input"
	case c.output:
		return "output field " + Visible(at.name)
	}
	return "argument " + Visible(at.name)
}

func (c *comparer) add(grade Grade, path, words string, before, after any) {
	c.found = append(c.found, Difference{grade, path, words, before, after})
}

// narrowed notes that less fits than before, and widened that more does.
func (c *comparer) narrowed(at place, key, what string, before, after any) {
	grade := Breaking
	if c.output {
		grade = Benign
	}
	c.add(grade, at.key(key), c.subject(at)+": "+what, before, after)
}

func (c *comparer) widened(at place, key, what string, before, after any) {
	grade := Benign
	if c.output {
		grade = Breaking
	}
	c.add(grade, at.key(key), c.subject(at)+": "+what, before, after)
}

// unclear notes a difference that this code cannot judge.
func (c *comparer) unclear(at place, key string, before, after any) {
	d := changed(Risky, at.key(key), c.subject(at)+": "+key, before, after)
	d.Words += ", which cannot be compared"
	c.found = append(c.found, d)
}

// schema compares two schemas at a place.
func (c *comparer) schema(before, after any, at place) {
	if equal(before, after) {
		return
	}
	if c.depth++; c.depth > deepest {
		c.add(Risky, at.path, c.subject(at)+": changed, too deep to be compared", nil, nil)
		return
	}
	defer func() { c.depth-- }()
	if isFalse(before) {
		c.add(map[bool]Grade{false: Benign, true: Breaking}[c.output], at.path, c.subject(at)+": something fits now, where nothing did", before, after)
		return
	}
	if isFalse(after) {
		c.add(map[bool]Grade{false: Breaking, true: Benign}[c.output], at.path, c.subject(at)+": nothing fits any more", before, after)
		return
	}
	a, readable := members(before)
	b, readableToo := members(after)
	if !readable || !readableToo {
		c.add(Risky, at.path, c.subject(at)+": changed in a way that cannot be compared", before, after)
		return
	}
	if old, now, ok := lifted(a, b); ok {
		c.notes(a, b, at)
		c.alternatives("anyOf", old, now, at)
		return
	}
	c.object(a, b, at)
	c.values(a, b, at)
	for _, key := range keysOf(a, b) {
		if !equal(a[key], b[key]) {
			c.keyword(key, a[key], b[key], at)
		}
	}
}

// members returns the keys of a schema; one that is true has none. It returns false for what is no schema.
func members(value any) (map[string]any, bool) {
	if value == nil || isTrue(value) {
		return map[string]any{}, true
	}
	object, ok := value.(map[string]any)
	return object, ok
}

// isNote reports whether a key of a schema only tells something.
func isNote(key string) bool {
	switch key {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

// notes compares what a schema only tells.
func (c *comparer) notes(a, b map[string]any, at place) {
	for _, key := range keysOf(a, b) {
		if isNote(key) && !equal(a[key], b[key]) {
			c.note(key, a[key], b[key], at)
		}
	}
}

func (c *comparer) note(key string, before, after any, at place) {
	c.found = append(c.found, changed(Risky, at.key(key), c.subject(at)+": "+key, before, after))
}

// lifted returns two schemas as alternatives, if one of them is a choice and nothing else, and the other is none: a value that
// may be left out is often written so.
func lifted(a, b map[string]any) (old, now []any, ok bool) {
	choice := func(m map[string]any) []any {
		for key := range m {
			if key != "anyOf" && !isNote(key) {
				return nil
			}
		}
		list, _ := m["anyOf"].([]any)
		return list
	}
	bare := func(m map[string]any) []any {
		out := map[string]any{}
		for key, value := range m {
			if !isNote(key) {
				out[key] = value
			}
		}
		return []any{out}
	}
	switch _, isChoice := a["anyOf"]; {
	case isChoice && b["anyOf"] == nil && choice(a) != nil:
		return choice(a), bare(b), true
	case !isChoice && choice(b) != nil:
		return bare(a), choice(b), true
	}
	return nil, nil, false
}

// alternatives compares two lists of schemas of which one has to fit.
func (c *comparer) alternatives(key string, before, after []any, at place) {
	old := slices.DeleteFunc(slices.Clone(before), func(s any) bool { return slices.ContainsFunc(after, func(t any) bool { return equal(s, t) }) })
	now := slices.DeleteFunc(slices.Clone(after), func(s any) bool { return slices.ContainsFunc(before, func(t any) bool { return equal(s, t) }) })
	switch {
	case len(old) == 0 && len(now) == 0: // the order
	case len(old) == 0:
		c.widened(at, key, "also accepts "+listed(now), before, after)
	case len(now) == 0:
		c.narrowed(at, key, "no longer accepts "+listed(old), before, after)
	case len(old) == 1 && len(now) == 1:
		c.schema(old[0], now[0], at.below(key))
	default:
		c.unclear(at, key, before, after)
	}
}

// object compares what two schemas say about the members of an object.
func (c *comparer) object(a, b map[string]any, at place) {
	old, _ := members(a["properties"])
	now, _ := members(b["properties"])
	wasRequired, required := texts(a["required"]), texts(b["required"])
	for _, name := range keysOf(old, now) {
		member := at.property(name)
		_, was := old[name]
		_, is := now[name]
		switch {
		case !was && slices.Contains(required, name): // told below
		case !was && c.output:
			c.add(Benign, member.path, c.subject(member)+" added", nil, now[name])
		case !was:
			c.add(Benign, member.path, "optional "+c.subject(member)+" added", nil, now[name])
		case !is && (c.output || isFalse(b["additionalProperties"])):
			c.add(Breaking, member.path, c.subject(member)+" removed", old[name], nil)
		case !is:
			c.add(Risky, member.path, c.subject(member)+" removed; it is still accepted, and not described", old[name], nil)
		default:
			c.schema(old[name], now[name], member)
		}
	}
	for _, name := range required {
		member, subject := at.property(name), c.subject(at.property(name))
		_, known := old[name]
		switch {
		case slices.Contains(wasRequired, name):
		case c.output && known:
			c.add(Benign, at.key("required"), subject+" is always there now", a["required"], b["required"])
		case c.output:
			c.add(Benign, member.path, subject+" added", nil, now[name])
		case known:
			c.add(Breaking, at.key("required"), subject+" is required now", a["required"], b["required"])
		default:
			c.add(Breaking, member.path, "required "+subject+" added", nil, now[name])
		}
	}
	for _, name := range wasRequired {
		if _, is := now[name]; slices.Contains(required, name) || !is && old[name] != nil { // its end is told above
			continue
		}
		if c.output {
			c.add(Breaking, at.key("required"), c.subject(at.property(name))+" is not always there any more", a["required"], b["required"])
		} else {
			c.add(Benign, at.key("required"), c.subject(at.property(name))+" is optional now", a["required"], b["required"])
		}
	}
	more, moreNow := a["additionalProperties"], b["additionalProperties"]
	switch isOpen, wasOpen := open(moreNow), open(more); {
	case equal(more, moreNow), isOpen && wasOpen:
	case isFalse(moreNow):
		c.narrowed(at, "additionalProperties", "other names are refused now", more, moreNow)
	case isFalse(more):
		c.widened(at, "additionalProperties", "other names are accepted now", more, moreNow)
	default:
		c.schema(more, moreNow, place{
			path: at.key("additionalProperties"), name: strings.TrimPrefix(at.name+".*", "."), definition: at.definition,
		})
	}
}

// open reports whether a schema lets everything through.
func open(value any) bool {
	m, ok := members(value)
	return ok && len(m) == 0
}

// values compares what two schemas say about a value as a whole: its types, and which ones there are.
func (c *comparer) values(a, b map[string]any, at place) {
	c.types(a["type"], b["type"], at)
	old, was := choices(a)
	now, is := choices(b)
	switch {
	case !was && !is:
	case !was:
		c.narrowed(at, "enum", "only these values now: "+listed(now), nil, now)
	case !is:
		c.widened(at, "enum", "other values than "+listed(old)+" now", old, nil)
	default:
		missing := func(from, in []any) []any {
			return slices.DeleteFunc(slices.Clone(from), func(v any) bool {
				return slices.ContainsFunc(in, func(w any) bool { return equal(v, w) })
			})
		}
		if removed := missing(old, now); len(removed) > 0 {
			c.narrowed(at, "enum", "enum value removed: "+listed(removed), old, now)
		}
		if added := missing(now, old); len(added) > 0 {
			c.widened(at, "enum", "enum value added: "+listed(added), old, now)
		}
	}
}

// choices returns the values that a schema allows one by one.
func choices(m map[string]any) ([]any, bool) {
	if value, ok := m["const"]; ok {
		return []any{value}, true
	}
	list, ok := m["enum"].([]any)
	return list, ok
}

// types compares the types that are allowed.
func (c *comparer) types(before, after any, at place) {
	old, now := texts(before), texts(after)
	allows := func(types []string, one string) bool {
		return len(types) == 0 || slices.Contains(types, one) || one == "integer" && slices.Contains(types, "number")
	}
	all := func(some, types []string) bool {
		if len(some) == 0 {
			return len(types) == 0
		}
		return !slices.ContainsFunc(some, func(t string) bool { return !allows(types, t) })
	}
	from, to := typesText(old), typesText(now)
	switch fewer, more := !all(old, now), !all(now, old); {
	case fewer && more:
		c.add(Breaking, at.key("type"), fmt.Sprintf("%s: type changed from %s to %s", c.subject(at), from, to), before, after)
	case fewer:
		c.narrowed(at, "type", fmt.Sprintf("type narrowed from %s to %s", from, to), before, after)
	case more:
		c.widened(at, "type", fmt.Sprintf("type widened from %s to %s", from, to), before, after)
	}
}

func typesText(types []string) string {
	if len(types) == 0 {
		return "any"
	}
	return Visible(strings.Join(types, " or "))
}

// keyword compares the values of one key.
func (c *comparer) keyword(key string, before, after any, at place) {
	switch key {
	case "type", "enum", "const", "properties", "required", "additionalProperties": // compared already
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		c.bound(key, before, after, at, +1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		c.bound(key, before, after, at, -1)
	case "multipleOf":
		c.multiple(before, after, at)
	case "uniqueItems":
		if isTrue(after) {
			c.narrowed(at, key, "items must be unique now", before, after)
		} else if isTrue(before) {
			c.widened(at, key, "items need not be unique any more", before, after)
		}
	case "pattern", "format":
		switch {
		case before == nil && key == "pattern":
			c.narrowed(at, key, "must match a pattern now", before, after)
		case after == nil:
			c.widened(at, key, key+" removed", before, after)
		default:
			c.unclear(at, key, before, after)
		}
	case "items":
		c.items(before, after, at)
	case "anyOf", "oneOf":
		old, isList := before.([]any)
		now, isListToo := after.([]any)
		switch {
		case isList && isListToo:
			c.alternatives(key, old, now, at)
		case isList && after == nil:
			c.widened(at, key, key+" removed", before, after)
		case isListToo && before == nil:
			c.narrowed(at, key, "only one of several forms now", before, after)
		default:
			c.unclear(at, key, before, after)
		}
	case "$defs", "definitions":
		c.definitions(key, before, after, at)
	default:
		if isNote(key) {
			c.note(key, before, after, at)
		} else {
			c.unclear(at, key, before, after)
		}
	}
}

// items compares the schemas of the items of an array.
func (c *comparer) items(before, after any, at place) {
	old, isList := before.([]any) // one for each, as older drafts have it
	now, isListToo := after.([]any)
	switch {
	case isList && isListToo && len(old) == len(now):
		for i := range old {
			c.schema(old[i], now[i], at.items(fmt.Sprintf("items.%d", i)))
		}
	case isList || isListToo:
		c.unclear(at, "items", before, after)
	default:
		c.schema(before, after, at.items("items"))
	}
}

// definitions compares the schemas that references name.
func (c *comparer) definitions(key string, before, after any, at place) {
	old, readable := members(before)
	now, readableToo := members(after)
	if !readable || !readableToo {
		c.unclear(at, key, before, after)
		return
	}
	for _, name := range keysOf(old, now) {
		a, was := old[name]
		b, is := now[name]
		if was && is {
			c.schema(a, b, place{path: at.key(key + "." + name), name: name, definition: true})
		} else if was {
			c.add(Benign, at.key(key+"."+name), "definition "+Visible(name)+" removed", a, nil)
		}
	}
}

// bound compares the values of a bound; sign is +1 for a least value, and -1 for a greatest.
func (c *comparer) bound(key string, before, after any, at place, sign int) {
	old, now := number(before), number(after)
	if implied, ok := impliedBound(key); ok && (before == nil && equal(after, implied) || after == nil && equal(before, implied)) {
		return // to write what holds anyway changes nothing
	}
	switch {
	case before != nil && old == nil || after != nil && now == nil:
		c.unclear(at, key, before, after)
	case old == nil:
		c.narrowed(at, key, fmt.Sprintf("%s is %s now", key, after), before, after)
	case now == nil:
		c.widened(at, key, fmt.Sprintf("%s %s removed", key, before), before, after)
	case now.Cmp(old) == sign:
		c.narrowed(at, key, fmt.Sprintf("%s tightened from %s to %s", key, before, after), before, after)
	default:
		c.widened(at, key, fmt.Sprintf("%s loosened from %s to %s", key, before, after), before, after)
	}
}

// impliedBound returns the bound that holds when the key is not there.
func impliedBound(key string) (json.Number, bool) {
	switch key {
	case "minLength", "minItems", "minProperties":
		return "0", true
	case "minContains":
		return "1", true
	}
	return "", false
}

// multiple compares the values of multipleOf.
func (c *comparer) multiple(before, after any, at place) {
	const key = "multipleOf"
	old, now := fraction(before), fraction(after)
	divides := func(part, whole *big.Rat) bool { return new(big.Rat).Quo(whole, part).IsInt() }
	switch {
	case before == nil:
		c.narrowed(at, key, fmt.Sprintf("%s is %s now", key, after), before, after)
	case after == nil:
		c.widened(at, key, fmt.Sprintf("%s %s removed", key, before), before, after)
	case old == nil || now == nil:
		c.unclear(at, key, before, after)
	case divides(now, old):
		c.widened(at, key, fmt.Sprintf("%s loosened from %s to %s", key, before, after), before, after)
	default:
		c.narrowed(at, key, fmt.Sprintf("%s tightened from %s to %s", key, before, after), before, after)
	}
}

// fraction returns a positive number of usual size exactly, nil for others.
func fraction(value any) *big.Rat {
	n, ok := value.(json.Number)
	const longest = 40
	if !ok || len(n) > longest || strings.ContainsAny(n.String(), "eE") {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || r.Sign() <= 0 {
		return nil
	}
	return r
}

// texts returns a text, or a list of them, as a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			if text, ok := item.(string); ok && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}

// listed returns values for a line, not all of them if there are many.
func listed(values []any) string {
	const most = 4
	var words []string
	for i, v := range values {
		if i == most {
			words = append(words, fmt.Sprintf("… (%d)", len(values)))
			break
		}
		words = append(words, shown(v))
	}
	return strings.Join(words, ", ")
}
