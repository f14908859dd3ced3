package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// uriTemplate is a URI with variables in it (RFC 6570, all levels), as servers list them. Values are texts, or lists
// or objects of them. Names are taken as they are, also those that the RFC does not allow and servers have all the same.
type uriTemplate struct {
	text  string
	parts []templatePart
	// variables are its names in their order. All are required, but for those of a query: a URI without a part of its path
	// is another URI, one without a condition is not.
	variables []promptArgument
	// lists are the variables that may have several values.
	lists []string
}

// templatePart is a literal, or an expression with variables.
type templatePart struct {
	literal string
	op      operator
	specs   []varSpec
}

// operator says how the values of an expression are put together. See RFC 6570, appendix A.
type operator struct {
	first, sep string
	// named puts the name before the value, empty what comes between the two if that is empty.
	named bool
	empty string
	// reserved leaves the characters that have a meaning in URIs as they are.
	reserved bool
	optional bool
}

// varSpec is a variable in an expression.
type varSpec struct {
	name string
	// prefix is how many characters are taken, 0 for all; explode makes each of several values a part of its own.
	prefix  int
	explode bool
}

// operatorOf returns the operator that a character stands for, false if it stands for none.
func operatorOf(c byte) (operator, bool) {
	switch c {
	case '+':
		return operator{sep: ",", reserved: true}, true
	case '#':
		return operator{first: "#", sep: ",", reserved: true}, true
	case '.':
		return operator{first: ".", sep: "."}, true
	case '/':
		return operator{first: "/", sep: "/"}, true
	case ';':
		return operator{first: ";", sep: ";", named: true}, true
	case '?':
		return operator{first: "?", sep: "&", named: true, empty: "=", optional: true}, true
	case '&':
		return operator{first: "&", sep: "&", named: true, empty: "=", optional: true}, true
	}
	return operator{sep: ","}, false
}

// errNoTemplate says that a URI has no variables.
type errNoTemplate struct{}

func (errNoTemplate) Error() string { return "it has no variables" }

// parseTemplate reads a template.
func parseTemplate(text string) (*uriTemplate, error) {
	u := &uriTemplate{text: text}
	for rest := text; rest != ""; {
		open := strings.IndexAny(rest, "{}")
		switch {
		case open < 0:
			u.parts = append(u.parts, templatePart{literal: rest})
			rest = ""
			continue
		case rest[open] == '}':
			return nil, errors.New("a } without its {")
		case open > 0:
			u.parts = append(u.parts, templatePart{literal: rest[:open]})
		}
		inside, after, closed := strings.Cut(rest[open+1:], "}")
		if !closed || strings.Contains(inside, "{") {
			return nil, errors.New("a { without its }")
		}
		part, err := parseExpression(inside)
		if err != nil {
			return nil, err
		}
		u.add(part)
		rest = after
	}
	if len(u.variables) == 0 {
		return nil, errNoTemplate{}
	}
	return u, nil
}

func parseExpression(text string) (templatePart, error) {
	if text == "" {
		return templatePart{}, errors.New("{} without a name")
	}
	op, known := operatorOf(text[0])
	switch {
	case known:
		text = text[1:]
	case strings.ContainsRune("=,!@|", rune(text[0])):
		return templatePart{}, fmt.Errorf("%c at the beginning of {%s} means nothing yet", text[0], text)
	}
	part := templatePart{op: op}
	for spec := range strings.SplitSeq(text, ",") {
		v := varSpec{name: spec}
		var digits string
		var cut bool
		if v.name, v.explode = strings.CutSuffix(spec, "*"); !v.explode {
			v.name, digits, cut = strings.Cut(spec, ":")
		}
		if cut {
			const most = 9999 // RFC 6570, 2.4.1
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || n > most {
				return part, fmt.Errorf("%q is no number of characters", digits)
			}
			v.prefix = n
		}
		if v.name == "" || strings.ContainsAny(v.name, " \t\r\n:*") {
			return part, fmt.Errorf("{%s}: %q is no name", text, v.name)
		}
		part.specs = append(part.specs, v)
	}
	return part, nil
}

// add adds an expression, and its variables.
func (u *uriTemplate) add(part templatePart) {
	u.parts = append(u.parts, part)
	for _, v := range part.specs {
		if v.explode {
			u.lists = append(u.lists, v.name)
		}
		i := slices.IndexFunc(u.variables, func(a promptArgument) bool { return a.Name == v.name })
		if i < 0 {
			u.variables = append(u.variables, promptArgument{Name: v.name})
			i = len(u.variables) - 1
		}
		u.variables[i].Required = u.variables[i].Required || !part.op.optional
	}
}

// schema describes the values as an object of texts.
func (u *uriTemplate) schema() json.RawMessage {
	return textSchema(u.variables, func(name string) bool { return slices.Contains(u.lists, name) })
}

// check checks the values that were given. Lists and objects of texts, which the RFC allows everywhere and hardly anybody
// uses, are no part of the schema that people see.
func (u *uriTemplate) check(given json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(given, &object); err != nil {
		return toolargs.Check(given, u.schema())
	}
	for name, raw := range object {
		var texts []string
		if _, ok := textMembers(raw); ok || json.Unmarshal(raw, &texts) == nil && texts != nil {
			object[name] = json.RawMessage(`""`)
		}
	}
	plain, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return toolargs.Check(plain, u.schema())
}

// templateValue is the value of a variable: a text, several, or several with keys.
type templateValue struct {
	texts, keys []string
}

// textMembers returns the members of an object of texts in their order, false if it is something else.
func textMembers(raw json.RawMessage) (templateValue, bool) {
	var v templateValue
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return v, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return v, false
		}
		value, err := decoder.Token()
		text, ok := value.(string)
		if err != nil || !ok {
			return v, false
		}
		v.keys, v.texts = append(v.keys, fmt.Sprint(key)), append(v.texts, text)
	}
	return v, true
}

// expand returns the URI with the values of an object in the places of the variables.
func (u *uriTemplate) expand(given json.RawMessage) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(given, &object); err != nil {
		return "", fmt.Errorf("%s: %w", u.text, err)
	}
	values := map[string]templateValue{}
	for name, raw := range object {
		var one string
		var several []string
		members, ok := textMembers(raw)
		switch {
		case ok:
			values[name] = members
		case json.Unmarshal(raw, &one) == nil:
			values[name] = templateValue{texts: []string{one}}
		case json.Unmarshal(raw, &several) == nil:
			values[name] = templateValue{texts: several}
		default:
			return "", &toolargs.UsageError{Param: name, Message: name + ": must be text"}
		}
	}
	var b strings.Builder
	for _, p := range u.parts {
		if p.specs == nil {
			b.WriteString(escapeURI(p.literal, true))
			continue
		}
		p.expand(&b, values)
	}
	return b.String(), nil
}

// expand writes an expression with the values that there are.
func (p templatePart) expand(b *strings.Builder, values map[string]templateValue) {
	before := p.op.first
	for _, v := range p.specs {
		value := values[v.name]
		if len(value.texts) == 0 {
			continue // no value, and an empty list, are as if the variable were not there
		}
		var texts []string
		for i, text := range value.texts {
			if runes := []rune(text); v.prefix > 0 && len(runes) > v.prefix {
				text = string(runes[:v.prefix])
			}
			text = escapeURI(text, p.op.reserved)
			switch {
			case value.keys != nil && v.explode:
				text = escapeURI(value.keys[i], p.op.reserved) + "=" + text
			case value.keys != nil:
				text = escapeURI(value.keys[i], p.op.reserved) + "," + text
			case v.explode && p.op.named:
				text = p.op.name(v.name, text)
			}
			texts = append(texts, text)
		}
		sep := ","
		if v.explode {
			sep = p.op.sep
		}
		text := strings.Join(texts, sep)
		if p.op.named && !v.explode {
			text = p.op.name(v.name, text)
		}
		b.WriteString(before + text)
		before = p.op.sep
	}
}

// name returns a value with its name before it.
func (o operator) name(name, text string) string {
	if text == "" {
		return escapeURI(name, true) + o.empty
	}
	return escapeURI(name, true) + "=" + text
}

// escapeURI writes what may not stand in a URI as %XX, and what has a meaning there as well, unless it is to be left. What is
// written so already is left with it.
func escapeURI(text string, reserved bool) string {
	const digits = "0123456789ABCDEFabcdef"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0,
			reserved && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0,
			reserved && c == '%' && i+2 < len(text) && strings.IndexByte(digits, text[i+1]) >= 0 && strings.IndexByte(digits, text[i+2]) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
