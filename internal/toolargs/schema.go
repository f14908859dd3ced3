package toolargs

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// How a schema is read
//
// Servers send schemas of every draft, with references that lead nowhere, cycles, and keywords of the wrong type. Every
// question below is therefore answered from what can be understood, and an answer that cannot be had is the one that
// refuses nothing: a schema without a usable type allows all types, a reference that cannot be followed is a schema
// that allows everything.
//
// A parameter's schema is often spread over $ref, allOf and anyOf, so questions are put to a node together with all the
// nodes that apply in the same place. A node may be met again on that way (a cycle, or a diamond that doubles the work
// at every level), so each question visits a node once or remembers its answer.

// schema is a document of input schema and the answers found in it so far.
type schema struct {
	// root is nil if the schema is unusable: missing, null, a boolean, or anything else but an object.
	root *value
	// old means a draft before 2019-09, where the siblings of a $ref do not count.
	old bool
	// anchors are the subschemas that have a name of their own.
	anchors map[string]*value
	// foreign are subschemas inside a resource with an $id of its own. References from there mean another document.
	foreign map[*value]bool

	types   map[*value]types
	lits    map[*value][]*value
	phrases map[*value][]string
	names   map[*value]*nameSet
	fitting map[visit]bool
}

func newSchema(raw json.RawMessage) *schema {
	s := &schema{
		anchors: map[string]*value{},
		foreign: map[*value]bool{},
		types:   map[*value]types{},
		lits:    map[*value][]*value{},
		phrases: map[*value][]string{},
		names:   map[*value]*nameSet{},
		fitting: map[visit]bool{},
	}
	root, _, err := parse(string(raw))
	if err != nil || root.kind != kindObject {
		return s
	}
	s.root = root
	dialect := root.get("$schema")
	older := false
	if dialect.isString() {
		for _, draft := range []string{"draft-03", "draft-04", "draft-05", "draft-06", "draft-07"} {
			s.old = s.old || strings.Contains(dialect.text, draft)
		}
		older = strings.Contains(dialect.text, "draft-03") || strings.Contains(dialect.text, "draft-04")
	}
	s.survey(root, older, false)
	return s
}

// survey finds the anchors, and the resources with an $id of their own, in v and below.
func (s *schema) survey(v *value, older, foreign bool) {
	for _, item := range v.items {
		s.survey(item, older, foreign)
	}
	if v.kind != kindObject {
		return
	}
	if v != s.root {
		id := v.get("$id")
		if older && id == nil {
			id = v.get("id")
		}
		if id.isString() && !strings.HasPrefix(id.text, "#") {
			foreign = true
		} else if id.isString() && !foreign { // before 2019-09 this was how to write an anchor
			s.anchor(strings.TrimPrefix(id.text, "#"), v)
		}
	}
	if a := v.get("$anchor"); a.isString() && !foreign {
		s.anchor(a.text, v)
	}
	if foreign {
		s.foreign[v] = true
	}
	for _, m := range v.members {
		s.survey(m.value, older, foreign)
	}
}

func (s *schema) anchor(name string, v *value) {
	if _, ok := s.anchors[name]; !ok && name != "" {
		s.anchors[name] = v
	}
}

// target returns the schema that n refers to, nil if n refers to none or to one that is not in the document.
func (s *schema) target(n *value) *value {
	ref := n.get("$ref")
	if !ref.isString() || s.foreign[n] {
		return nil
	}
	address, fragment, _ := strings.Cut(ref.text, "#")
	if address != "" {
		id := s.root.get("$id")
		if id == nil {
			id = s.root.get("id")
		}
		if !id.isString() || strings.TrimSuffix(id.text, "#") != address {
			return nil
		}
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if fragment == "" {
		return s.root
	}
	if !strings.HasPrefix(fragment, "/") {
		return s.anchors[fragment]
	}
	v := s.root
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if v.kind == kindArray {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
			continue
		}
		if v = v.get(token); v == nil {
			return nil
		}
	}
	return v
}

// own reports whether the keywords beside a $ref count in n.
func (s *schema) own(n *value) bool { return !s.old || !n.get("$ref").isString() }

// combined returns the schemas that apply together with n in the same place: all of them, and one of each group of the
// others.
func (s *schema) combined(n *value) (all []*value, oneOf [][]*value) {
	if t := s.target(n); t != nil {
		all = append(all, t)
	}
	if !s.own(n) {
		return all, nil
	}
	if g := n.get("allOf"); g.isArray() {
		all = append(all, g.items...)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if g := n.get(key); g.isArray() && len(g.items) > 0 {
			oneOf = append(oneOf, g.items)
		}
	}
	return all, oneOf
}

// conditional returns the schemas that apply in the place of n in some cases. They are good for names and types, and
// nothing is ever refused because of them.
func (s *schema) conditional(n *value) []*value {
	var list []*value
	for _, key := range []string{"then", "else"} {
		if g := n.get(key); g.isObject() {
			list = append(list, g)
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		if g := n.get(key); g.isObject() {
			for _, m := range g.members {
				if m.value.kind == kindObject {
					list = append(list, m.value)
				}
			}
		}
	}
	return list
}

// A nameSet is what an object's schema calls its members, in the order of the schema.
type nameSet struct {
	list    []string
	is      map[string]bool
	longest int
}

func (n *nameSet) add(name string) {
	if !n.is[name] {
		n.is[name] = true
		n.list = append(n.list, name)
		n.longest = max(n.longest, len(name))
	}
}

// properties returns the names that the schema n gives properties for.
func (s *schema) properties(n *value) *nameSet {
	if set, ok := s.names[n]; ok {
		return set
	}
	set := &nameSet{is: map[string]bool{}}
	seen := map[*value]bool{}
	var visit func(*value)
	visit = func(n *value) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if p := n.get("properties"); p.isObject() && s.own(n) {
			for _, m := range p.members {
				set.add(m.name)
			}
		}
		all, groups := s.combined(n)
		for _, sub := range slices.Concat(all, slices.Concat(groups...), s.conditional(n)) {
			visit(sub)
		}
	}
	visit(n)
	s.names[n] = set
	return set
}

// required returns the names that n, and what applies together with it in every case, requires.
func (s *schema) required(n *value) *nameSet {
	set := &nameSet{is: map[string]bool{}}
	seen := map[*value]bool{}
	var visit func(*value)
	visit = func(n *value) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, name := range s.ownRequired(n) {
			set.add(name)
		}
		all, _ := s.combined(n)
		for _, sub := range all {
			visit(sub)
		}
	}
	visit(n)
	return set
}

func (s *schema) ownRequired(n *value) []string {
	r := n.get("required")
	if !r.isArray() || !s.own(n) {
		return nil
	}
	var names []string
	for _, item := range r.items {
		if item.isString() {
			names = append(names, item.text)
		}
	}
	return names
}

// A step leads from an object or array to one of its members or items.
type step struct {
	name  string
	index int // of an item; -1 for a member
}

func memberStep(name string) step { return step{name: name, index: -1} }
func itemStep(i int) step         { return step{index: i} }

// at returns the schema for the member or item of n that st leads to, nil if n says nothing about it. If several
// subschemas say something, the answer is a new one that combines them.
func (s *schema) at(n *value, st step) *value { return s.atOnce(n, st, map[*value]bool{}) }

func (s *schema) atOnce(n *value, st step, seen map[*value]bool) *value {
	if n == nil || seen[n] {
		return nil
	}
	seen[n] = true
	var all []*value
	if s.own(n) {
		all = ownAt(n, st)
	}
	collect := func(list []*value) []*value {
		var found []*value
		for _, sub := range list {
			if f := s.atOnce(sub, st, seen); f != nil {
				found = append(found, f)
			}
		}
		return found
	}
	together, groups := s.combined(n)
	all = append(all, collect(together)...)
	if s.own(n) {
		groups = append(groups, s.conditional(n))
	}
	for _, g := range groups {
		switch found := collect(g); len(found) {
		case 0:
		case 1:
			all = append(all, found[0])
		default:
			all = append(all, combine("anyOf", found))
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return combine("allOf", all)
}

func combine(keyword string, schemas []*value) *value {
	v := newObject()
	v.put(keyword, newArray(schemas...))
	return v
}

// ownAt returns the schemas that n itself, without what it combines with, has for a member or item.
func ownAt(n *value, st step) []*value {
	if st.index >= 0 {
		items, first := n.get("items"), n.get("prefixItems")
		if items.isArray() { // the tuples of drafts before 2020-12
			first, items = items, n.get("additionalItems")
		}
		if first.isArray() && st.index < len(first.items) {
			return first.items[st.index : st.index+1]
		}
		return known(items)
	}
	var found []*value
	if p := n.get("properties"); p.isObject() {
		found = known(p.get(st.name))
	}
	patterns := n.get("patternProperties")
	if patterns.isObject() {
		for _, m := range patterns.members {
			if matches(m.name, st.name) == yes {
				found = append(found, m.value)
			}
		}
	}
	if len(found) == 0 {
		if a := n.get("additionalProperties"); a.isObject() {
			return []*value{a}
		}
	}
	return found
}

// known returns v in a list, or an empty list if v is no schema.
func known(v *value) []*value {
	if v == nil || v.kind != kindObject && v.kind != kindBool {
		return nil
	}
	return []*value{v}
}

// annotation returns the value of a keyword that only describes, from n or from what applies together with it.
func (s *schema) annotation(n *value, key string) *value {
	seen := map[*value]bool{}
	var visit func(*value) *value
	visit = func(n *value) *value {
		if n == nil || seen[n] {
			return nil
		}
		seen[n] = true
		// Old drafts ignore what stands beside a $ref, yet whoever wrote it there wanted it read.
		if v := n.get(key); v != nil {
			return v
		}
		all, _ := s.combined(n)
		for _, sub := range all {
			if v := visit(sub); v != nil {
				return v
			}
		}
		return nil
	}
	return visit(n)
}

// types is a set of JSON types.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeInteger
	typeFraction // a number that is not an integer
	typeString
	typeArray
	typeObject

	typeNumber = typeInteger | typeFraction
	typeAny    = typeNull | typeBoolean | typeNumber | typeString | typeArray | typeObject
)

// typeOf returns the one type of v.
func typeOf(v *value) types {
	switch v.kind {
	case kindNull:
		return typeNull
	case kindBool:
		return typeBoolean
	case kindNumber:
		if parseDecimal(v.literal).isInteger() {
			return typeInteger
		}
		return typeFraction
	case kindString:
		return typeString
	case kindArray:
		return typeArray
	case kindObject:
		return typeObject
	}
	return typeAny
}

// named returns the types that a name in a type keyword stands for: all of them if it is no name of JSON Schema.
func named(name *value) types {
	if !name.isString() {
		return typeAny // a schema as a type, as in draft-03
	}
	switch name.text {
	case "null":
		return typeNull
	case "boolean":
		return typeBoolean
	case "integer":
		return typeInteger
	case "number":
		return typeNumber
	case "string":
		return typeString
	case "array":
		return typeArray
	case "object":
		return typeObject
	}
	return typeAny
}

// typesOf returns the types that a value of schema n may have; all of them if n does not say, or contradicts itself.
func (s *schema) typesOf(n *value) types {
	if n == nil || n.kind != kindObject {
		return typeAny
	}
	if t, ok := s.types[n]; ok {
		return t
	}
	s.types[n] = typeAny // what a cycle comes back to
	t := typeAny
	if s.own(n) {
		t &= ownTypes(n)
		if list := ownLiterals(n); list != nil {
			var of types
			for _, v := range list {
				of |= typeOf(v)
			}
			t &= of
		}
	}
	all, groups := s.combined(n)
	for _, sub := range all {
		t &= s.typesOf(sub)
	}
	for _, g := range groups {
		var of types
		for _, sub := range g {
			of |= s.typesOf(sub)
		}
		t &= of
	}
	switch {
	case t == 0:
		t = typeAny
	case n.get("nullable").isTrue() && s.own(n):
		t |= typeNull
	}
	s.types[n] = t
	return t
}

// ownTypes returns the types of n's type keyword.
func ownTypes(n *value) types {
	t := n.get("type")
	switch {
	case t.isArray() && len(t.items) > 0:
		var of types
		for _, item := range t.items {
			of |= named(item)
		}
		return of
	case t.isString():
		return named(t)
	}
	return typeAny
}

// ownLiterals returns the values that n's own const and enum allow, nil if it has neither.
func ownLiterals(n *value) []*value {
	if c := n.get("const"); c != nil {
		return []*value{c}
	}
	if e := n.get("enum"); e.isArray() && len(e.items) > 0 {
		return e.items
	}
	return nil
}

// maxLiterals bounds a list of allowed values that is put together from alternatives. Nobody reads more, and nested
// alternatives may double it at every level.
const maxLiterals = 200

// literals returns the values that schema n allows if it allows just these, nil otherwise.
func (s *schema) literals(n *value) []*value {
	if n == nil || n.kind != kindObject {
		return nil
	}
	if list, ok := s.lits[n]; ok {
		return list
	}
	s.lits[n] = nil
	var list []*value
	if s.own(n) {
		list = ownLiterals(n)
	}
	all, groups := s.combined(n)
	for _, sub := range all {
		if list == nil {
			list = s.literals(sub)
		}
	}
	for _, g := range groups {
		if list == nil {
			list = s.alternatives(g)
		}
	}
	s.lits[n] = list
	return list
}

// alternatives returns the values that the schemas of a group allow if each of them allows just some.
func (s *schema) alternatives(group []*value) []*value {
	var list []*value
	for _, sub := range group {
		of := s.literals(sub)
		if of == nil && sub.isObject() && ownTypes(sub) == typeNull {
			of = []*value{{kind: kindNull, literal: "null"}}
		}
		if of == nil || len(list)+len(of) > maxLiterals {
			return nil
		}
		list = append(list, of...)
	}
	return list
}

// shape returns the types that schema n must have meant although it has no type: an object if it has properties, an
// array if it has items. It is 0 if there is no telling.
func (s *schema) shape(n *value) types {
	if n == nil || n.kind != kindObject || s.typesOf(n) != typeAny {
		return 0
	}
	has := func(key string) bool {
		v := s.annotation(n, key)
		return v.isObject() || v.isArray()
	}
	var t types
	if has("properties") {
		t |= typeObject
	}
	if has("items") || has("prefixItems") {
		t |= typeArray
	}
	return t
}

// maxWords bounds the alternatives in the words for a type; a line of help holds no more.
const maxWords = 6

// words returns the types that schema n allows, in words and in the order of the schema; nil if it allows any.
func (s *schema) words(n *value) []string {
	if n == nil || n.kind != kindObject {
		return nil
	}
	if w, ok := s.phrases[n]; ok {
		return w
	}
	s.phrases[n] = nil
	w := s.findWords(n)
	if len(w) > 0 && s.own(n) && n.get("nullable").isTrue() {
		w = add(slices.Clone(w), "null")
	}
	if slices.Contains(w, "number") { // which every integer is
		w = slices.DeleteFunc(slices.Clone(w), func(word string) bool { return word == "integer" })
	}
	if len(w) > maxWords {
		w = nil
	}
	s.phrases[n] = w
	return w
}

func (s *schema) findWords(n *value) []string {
	var w []string
	if s.own(n) {
		if t := n.get("type"); ownTypes(n) != typeAny {
			list := []*value{t}
			if t.isArray() {
				list = t.items
			}
			for _, name := range list {
				w = add(w, s.word(n, name.text))
			}
			return w
		}
		if list := ownLiterals(n); list != nil {
			for _, v := range list {
				w = add(w, literalWord(v))
			}
			return w
		}
	}
	all, groups := s.combined(n)
	for _, sub := range all {
		if w = s.words(sub); w != nil {
			return w
		}
	}
	for _, g := range groups {
		w = nil
		for _, sub := range g {
			of := s.words(sub)
			if of == nil {
				w = nil
				break
			}
			for _, name := range of {
				w = add(w, name)
			}
		}
		if w != nil {
			return w
		}
	}
	shape := s.shape(n)
	if shape == typeObject {
		return []string{"object"}
	}
	if shape == typeArray {
		return []string{s.word(n, "array")}
	}
	return nil
}

// word returns a type in words; arrays say what they hold.
func (s *schema) word(n *value, name string) string {
	if name != "array" {
		return name
	}
	items := s.words(s.at(n, itemStep(0)))
	if of := s.annotation(n, "items"); items == nil || of.isArray() || s.annotation(n, "prefixItems") != nil {
		return name // an array of anything, or a tuple
	}
	of := strings.Join(items, " or ")
	if strings.Count(of, "array of ") > 2 || len(items) > 1 && strings.Contains(of, "array of ") {
		return name // nobody can read on
	}
	if len(items) > 1 {
		of = "(" + of + ")"
	}
	return name + " of " + of
}

func literalWord(v *value) string {
	switch v.kind {
	case kindNull:
		return "null"
	case kindBool:
		return "boolean"
	case kindNumber:
		if typeOf(v) == typeInteger {
			return "integer"
		}
		return "number"
	case kindString:
		return "string"
	case kindArray:
		return "array"
	case kindObject:
		return "object"
	}
	return ""
}

// typeWords returns the type of schema n in words, "any" if it has none.
func (s *schema) typeWords(n *value) string {
	w := s.words(n)
	if len(w) == 0 {
		return "any"
	}
	return strings.Join(w, " or ")
}
