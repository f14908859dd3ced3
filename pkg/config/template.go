package config

import (
	"errors"
	"fmt"
	"strings"
)

// A template is a value as it is written in an entry: text with references in it. ${NAME}, ${NAME:-default} and
// ${env:NAME} stand for a variable, ${file:PATH} for what a file holds, ${keyring:SERVICE/USER} for an entry of the
// system's keyring, $$ for a dollar; any other $ is itself.

// ReferenceKind says where the value of a reference is.
type ReferenceKind string

// The kinds of references.
const (
	// KindVariable is a variable of the environment.
	KindVariable ReferenceKind = ""
	// KindFile is what a file holds.
	KindFile ReferenceKind = "file"
	// KindKeyring is an entry of the system's keyring.
	KindKeyring ReferenceKind = "keyring"
)

// part is a piece of a template: text, or a reference when name is set.
type part struct {
	text string
	// name is the variable's, the path of the file, or SERVICE/USER.
	name string
	kind ReferenceKind
	// fallback takes the place of a variable that is unset or empty, if hasFallback is set.
	fallback    string
	hasFallback bool
}

// parseTemplate splits a value. Its errors show at most the name in a reference, because the text around it may be
// secret.
func parseTemplate(s string) ([]part, error) {
	var parts []part
	var plain strings.Builder
	for s != "" {
		before, after, found := strings.Cut(s, "$")
		plain.WriteString(before)
		switch {
		case !found:
			s = ""
		case strings.HasPrefix(after, "$"):
			plain.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "{"):
			inner, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return nil, errors.New("a ${ has no closing }; write $$ for a plain dollar")
			}
			reference, err := parseReference(inner)
			if err != nil {
				return nil, err
			}
			if plain.Len() > 0 {
				parts = append(parts, part{text: plain.String()})
				plain.Reset()
			}
			parts = append(parts, reference)
			s = rest
		default:
			plain.WriteByte('$')
			s = after
		}
	}
	if plain.Len() > 0 {
		parts = append(parts, part{text: plain.String()})
	}
	return parts, nil
}

// parseReference reads what is between ${ and }.
func parseReference(inner string) (part, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch kind, rest, _ := strings.Cut(name, ":"); kind {
	case "env":
		if strings.HasPrefix(name, "env:") {
			name = rest
		}
	case "input", "command", "config", "secrets", "inputs":
		// Only the client whose file it is in has the value.
		if strings.HasPrefix(inner, kind+":") {
			return part{name: inner}, nil
		}
	case "file", "keyring":
		if strings.HasPrefix(name, kind+":") {
			return parseOutside(ReferenceKind(kind), inner[len(kind)+1:])
		}
	}
	if !validVariable(name) {
		shown := ""
		// A long or strange text is more likely to be part of a password than of a name.
		if len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:") == "" {
			shown = name
		}
		return part{}, fmt.Errorf("${%s} is no variable; a name has letters, digits and _; write $$ for a plain dollar", shown)
	}
	if strings.Contains(fallback, "${") {
		return part{}, fmt.Errorf("the default of ${%s:-…} holds another ${; it can only be text", name)
	}
	return part{name: name, fallback: strings.ReplaceAll(fallback, "$$", "$"), hasFallback: hasFallback}, nil
}

// parseOutside reads what follows ${file: or ${keyring:.
func parseOutside(kind ReferenceKind, name string) (part, error) {
	form := "PATH"
	if kind == KindKeyring {
		form = "SERVICE/USER"
	}
	service, _, slash := strings.Cut(name, "/")
	switch {
	case strings.Contains(name, ":-"):
		return part{}, fmt.Errorf("${%s:…} takes no default, which only a variable has", kind)
	case strings.TrimSpace(name) == "", kind == KindKeyring && (!slash || service == ""):
		return part{}, fmt.Errorf("${%s:…} is incomplete; write ${%s:%s}", kind, kind, form)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }), strings.Contains(name, "${"):
		return part{}, fmt.Errorf("${%s:…} holds a control character or another ${; write ${%s:%s}", kind, kind, form)
	}
	return part{name: name, kind: kind}, nil
}

// validVariable reports whether name can stand in a reference.
func validVariable(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// maskReferences returns s with each ${…} replaced, and the rest as it is written.
func maskReferences(s, replacement string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			return b.String() + s
		}
		_, rest, closed := strings.Cut(after, "}")
		if !closed {
			return b.String() + s
		}
		b.WriteString(before + replacement)
		s = rest
	}
}

// literalText returns the text of a template that is written in the file: without references, with their defaults. A
// malformed template is all text.
func literalText(s string) string {
	parts, err := parseTemplate(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text + p.fallback)
	}
	return b.String()
}
