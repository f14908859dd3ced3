package toolargs

import "strings"

// typed makes a value of the text of a key=value word, for schema n.
//
// A parameter that may be a string, or has no type, takes the text as it is; otherwise the text is the boolean, null,
// number, array or object that it spells in JSON, if the schema allows that; a parameter that may be an array takes
// any other text as an item. If several of these are possible, the first that the schema accepts is taken: enum
// [1, 2, "auto"] makes a number of 1. If none is possible the text stays text, which Check then refuses.
//
// file means that the text comes from a file, where spaces around anything but a string mean nothing. twice is the
// first name that an object in the text has more than once.
func (s *schema) typed(n *value, text string, file bool) (v *value, twice string) {
	allowed := s.expects(n)
	if allowed == typeAny {
		return newString(text), ""
	}
	type candidate struct {
		value *value
		twice string
	}
	var candidates []candidate
	if allowed&typeString != 0 {
		candidates = append(candidates, candidate{newString(text), ""})
	}
	js, twice := spelt(text, file)
	if js != nil && typeOf(js)&allowed != 0 {
		candidates = append(candidates, candidate{js, twice})
	}
	if allowed&typeArray != 0 {
		// The text of an array is the array, and an item only where the items are arrays and not strings.
		item := s.at(n, itemStep(0))
		if js == nil || js.kind != kindArray || s.expects(item)&(typeArray|typeString) == typeArray {
			one, twice := s.typedItem(item, text, file)
			candidates = append(candidates, candidate{newArray(one), twice})
		}
	}
	if len(candidates) == 0 {
		v := unfit(allowed, js, text)
		return v, ""
	}
	for _, c := range candidates {
		if s.fits(n, c.value) {
			return c.value, c.twice
		}
	}
	return candidates[0].value, candidates[0].twice
}

// typedItem is typed for an item of a list: text never becomes a list with one item there, which would not end for a
// schema of lists of itself.
func (s *schema) typedItem(n *value, text string, file bool) (v *value, twice string) {
	allowed := s.expects(n)
	if allowed&typeArray == 0 || allowed&typeString != 0 {
		return s.typed(n, text, file)
	}
	js, twice := spelt(text, file)
	if js != nil && typeOf(js)&allowed != 0 {
		return js, twice
	}
	return unfit(allowed, js, text), ""
}

// unfit returns what to send for a text that fits no allowed type: a number in the place of another number, and text
// otherwise.
func unfit(allowed types, js *value, text string) *value {
	if js.isNumber() && allowed&typeNumber != 0 {
		return js
	}
	return newString(text)
}

// spelt returns the JSON value that text spells, nil if that is none or a string, which would be in quotes.
func spelt(text string, file bool) (v *value, twice string) {
	if file {
		text = strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark))
	}
	v, twice, err := parse(text)
	if err != nil || v.kind == kindString {
		return nil, ""
	}
	// JSON may have spaces around it. Around a scalar they are a slip that the check should get to see.
	if v.kind != kindArray && v.kind != kindObject && text != strings.TrimSpace(text) {
		return nil, ""
	}
	return v, twice
}

// expects returns the types that schema n allows, or seems to mean.
func (s *schema) expects(n *value) types {
	if t := s.shape(n); t != 0 {
		return t
	}
	return s.typesOf(n)
}

// byteOrderMark is what some editors and shells put before the text of a file; JSON ignores it.
const byteOrderMark = "\ufeff"
