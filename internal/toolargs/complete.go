package toolargs

import (
	"encoding/json"
	"slices"
)

// A Word is a word of a command line that gives a value.
type Word struct {
	// Text is the word, not quoted.
	Text string
	// Path are the names that lead to the value.
	Path []string
}

// Complete returns the words to lay over what a command line says already, so that [Build] makes the given object of
// all. If there are no such words, as for a name that no word can hold, whole is true, and the only word is the object
// itself, which takes the place of what was said.
func Complete(in Input, object json.RawMessage) (words []Word, whole bool) {
	s := newSchema(in.Schema)
	want, _, err := parse(string(object))
	if err != nil {
		return nil, false
	}
	all := []Word{{Text: string(object)}}
	before, err := Build(in)
	if err != nil {
		return all, true
	}
	have, _, err := parse(string(before))
	if err != nil {
		return all, true
	}
	for _, how := range []wordForm{memberWords, plainWords, exactWords} {
		words := s.wordsBetween(have, want, nil, how)
		again := in
		again.Words = slices.Clone(in.Words)
		for _, w := range words {
			again.Words = append(again.Words, w.Text)
		}
		built, err := Build(again)
		if err != nil {
			continue
		}
		if v, _, err := parse(string(built)); err == nil && v.same(want) {
			return words, false
		}
	}
	return all, true
}

// wordForm is how values are written as words.
type wordForm uint8

const (
	memberWords wordForm = iota // the members of new objects one by one
	plainWords                  // a value as text, where that does
	exactWords                  // key:=JSON
)

// wordsBetween returns the words that make an object of another.
func (s *schema) wordsBetween(have, want *value, at *path, how wordForm) []Word {
	var words []Word
	for _, m := range want.members {
		was := have.get(m.name)
		to := at.to(memberStep(m.name))
		switch {
		case was != nil && was.same(m.value):
		case m.value.isObject() && was.isObject():
			words = append(words, s.wordsBetween(was, m.value, to, how)...)
		case m.value.isObject() && was == nil && how == memberWords && len(m.value.members) > 0 && len(s.properties(s.locate(to)).list) > 0:
			words = append(words, s.wordsBetween(newObject(), m.value, to, how)...)
		case how == exactWords:
			words = append(words, Word{Text: to.raw() + ":=" + string(m.value.json()), Path: to.names()})
		default:
			for _, text := range s.wordsFor(to, m.value) {
				words = append(words, Word{Text: text, Path: to.names()})
			}
		}
	}
	return words
}

// names are the names of a path that has no items in it.
func (p *path) names() []string {
	var names []string
	for _, st := range p.steps() {
		names = append(names, st.name)
	}
	return names
}

// same compares as [value.equal] does, and wants the same digits of numbers too.
func (v *value) same(w *value) bool {
	if v == nil || w == nil || v.kind != w.kind {
		return false
	}
	switch v.kind {
	case kindNumber:
		return v.literal == w.literal
	case kindArray:
		return slices.EqualFunc(v.items, w.items, (*value).same)
	case kindObject:
		return len(v.members) == len(w.members) &&
			!slices.ContainsFunc(v.members, func(m member) bool { return !m.value.same(w.get(m.name)) })
	case kindNull, kindBool, kindString:
	}
	return v.equal(w)
}
