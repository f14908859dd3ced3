// Package uritemplate fills in URI templates (RFC 6570, all levels), as MCP servers list them (2025-11-25, "Resources",
// "Resource Templates"). Names of variables are taken as they are, also those that the RFC does not allow and servers have all
// the same.
package uritemplate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNoVariables says that a text is a plain URI.
var ErrNoVariables = errors.New("it has no variables")

// Template is a URI with variables in it.
type Template struct {
	// Text is the template as it was parsed.
	Text string
	// Variables are those in it, in their order, each once.
	Variables []Variable

	parts []part
}

// Variable is a variable of a template.
type Variable struct {
	Name string
	// Required is false for those of a query alone: a URI without a part of its path is another URI, one without a condition
	// is not.
	Required bool
	// Exploded is set for one that may have several values, each of which is a part of its own.
	Exploded bool
}

// part is a literal, or an expression with variables.
type part struct {
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

// Parse reads a template. Its error is [ErrNoVariables] if there is nothing to fill in.
func Parse(text string) (*Template, error) {
	t := &Template{Text: text}
	for rest := text; rest != ""; {
		open := strings.IndexAny(rest, "{}")
		switch {
		case open < 0:
			t.parts = append(t.parts, part{literal: rest})
			rest = ""
			continue
		case rest[open] == '}':
			return nil, errors.New("a } without its {")
		case open > 0:
			t.parts = append(t.parts, part{literal: rest[:open]})
		}
		inside, after, closed := strings.Cut(rest[open+1:], "}")
		if !closed || strings.Contains(inside, "{") {
			return nil, errors.New("a { without its }")
		}
		p, err := parseExpression(inside)
		if err != nil {
			return nil, err
		}
		t.add(p)
		rest = after
	}
	if len(t.Variables) == 0 {
		return nil, ErrNoVariables
	}
	return t, nil
}

func parseExpression(text string) (part, error) {
	if text == "" {
		return part{}, errors.New("{} without a name")
	}
	op, known := operatorOf(text[0])
	switch {
	case known:
		text = text[1:]
	case strings.ContainsRune("=,!@|", rune(text[0])):
		return part{}, fmt.Errorf("%c at the beginning of {%s} means nothing yet", text[0], text)
	}
	p := part{op: op}
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
				return p, fmt.Errorf("%q is no number of characters", digits)
			}
			v.prefix = n
		}
		if v.name == "" || strings.ContainsAny(v.name, " \t\r\n:*") {
			return p, fmt.Errorf("{%s}: %q is no name", text, v.name)
		}
		p.specs = append(p.specs, v)
	}
	return p, nil
}

// add adds an expression, and its variables.
func (t *Template) add(p part) {
	t.parts = append(t.parts, p)
	for _, v := range p.specs {
		i := slices.IndexFunc(t.Variables, func(known Variable) bool { return known.Name == v.name })
		if i < 0 {
			t.Variables = append(t.Variables, Variable{Name: v.name})
			i = len(t.Variables) - 1
		}
		t.Variables[i].Required = t.Variables[i].Required || !p.op.optional
		t.Variables[i].Exploded = t.Variables[i].Exploded || v.explode
	}
}

// Value is the value of a variable: one text, several, or several with keys, which are then as many.
type Value struct {
	Texts, Keys []string
}

// Expand returns the URI with values in the places of the variables, by their names. A variable without one, or with an empty
// list, is as if it were not there.
func (t *Template) Expand(values map[string]Value) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.specs == nil {
			b.WriteString(escapeURI(p.literal, true))
			continue
		}
		p.expand(&b, values)
	}
	return b.String()
}

// expand writes an expression with the values that there are.
func (p part) expand(b *strings.Builder, values map[string]Value) {
	before := p.op.first
	for _, v := range p.specs {
		value := values[v.name]
		if len(value.Texts) == 0 {
			continue
		}
		var texts []string
		for i, text := range value.Texts {
			if runes := []rune(text); v.prefix > 0 && len(runes) > v.prefix {
				text = string(runes[:v.prefix])
			}
			text = escapeURI(text, p.op.reserved)
			switch {
			case value.Keys != nil && v.explode:
				text = escapeURI(value.Keys[i], p.op.reserved) + "=" + text
			case value.Keys != nil:
				text = escapeURI(value.Keys[i], p.op.reserved) + "," + text
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
