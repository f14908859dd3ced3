package config

import (
	"fmt"
	"slices"
	"strings"
)

// EmptyVariables returns the variables that the entry refers to without a default, and that are set and empty: what a
// pipeline makes of a secret that it does not have. The environment is read through lookup, as by Expand.
func (s Server) EmptyVariables(lookup func(string) (string, bool)) []UnsetVar {
	x := expansion{foreign: s.Foreign, constants: s.Foreign.constants("")}
	var found []UnsetVar
	for _, t := range s.texts() {
		parts, err := parseTemplate(t.value)
		if err != nil {
			continue
		}
		for _, p := range parts {
			_, constant := x.constants[p.name]
			if p.name == "" || p.kind != KindVariable || p.hasFallback || constant || x.placeholder(p.name) != nil {
				continue
			}
			v := UnsetVar{Name: p.name, Place: t.place()}
			if value, set := lookup(p.name); set && value == "" && !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
	}
	return found
}

// becauseEmpty replaces problems that are there because a variable is empty: they tell what is wrong with what is left.
func becauseEmpty(problems []problem, empty []UnsetVar) []problem {
	var out []problem
	for _, p := range problems {
		place := p.key
		at := func(place string) func(UnsetVar) bool {
			return func(v UnsetVar) bool { return v.Place == place }
		}
		if p.missing { // neither command nor url
			place = "url"
			if slices.ContainsFunc(empty, at("command")) {
				place = "command"
			}
		}
		var names []string
		for _, v := range empty {
			if v.Place == place {
				names = append(names, v.Name)
			}
		}
		switch len(names) {
		case 0:
		case 1:
			p.key, p.missing = place, false
			p.message, p.hint = fmt.Sprintf("the variable %s is empty", names[0]), "give it a value"
		default:
			p.key, p.missing = place, false
			p.message, p.hint = fmt.Sprintf("the variables %s are empty", strings.Join(names, ", ")), "give them values"
		}
		out = append(out, p)
	}
	return out
}
