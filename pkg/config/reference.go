package config

// Reference is a variable that an entry refers to.
type Reference struct {
	Name string
	// Place is where the entry needs it: "headers.Authorization", "args[1]".
	Place string
}

// References returns the variables of the environment that the entry refers to, in the order of its keys. What only
// another client knows is none.
func (s Server) References() []Reference {
	x := expansion{foreign: s.Foreign, constants: s.Foreign.constants("")}
	var found []Reference
	for _, t := range s.texts() {
		parts, err := parseTemplate(t.value)
		if err != nil {
			continue
		}
		for _, p := range parts {
			_, constant := x.constants[p.name]
			if p.name != "" && p.kind == KindVariable && !constant && x.placeholder(p.name) == nil {
				found = append(found, Reference{Name: p.name, Place: t.place()})
			}
		}
	}
	return found
}
