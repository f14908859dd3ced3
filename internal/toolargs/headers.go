package toolargs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// HeaderProblem says why a tool with this input schema must not be called over HTTP by a client of protocol 2026-07-28: one
// of its parameters is to be sent as a header, too, and that cannot be done. It returns "" if there is no such parameter.
// See the MCP specification, 2026-07-28, "Tools", "x-mcp-header".
func HeaderProblem(schema json.RawMessage) string {
	var root headerSchema
	_ = json.Unmarshal(schema, &root) // what is no object has no parameters
	return headerProblem(root, "", map[string]string{})
}

// headerSchema is what a schema says about headers.
type headerSchema struct {
	Type       json.RawMessage            `json:"type"`
	Header     json.RawMessage            `json:"x-mcp-header"` //nolint:tagliatelle // the specification's
	Properties map[string]json.RawMessage `json:"properties"`
}

// headerProblem looks through the properties of a schema. seen are the parameters by the headers they are to be sent as, in
// lower case, as names of headers are all alike then.
func headerProblem(s headerSchema, path string, seen map[string]string) string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var p headerSchema
		_ = json.Unmarshal(s.Properties[name], &p) // true and false are schemas, too
		place := name
		if path != "" {
			place = path + "." + name
		}
		if p.Header != nil {
			var header, kind string
			_ = json.Unmarshal(p.Type, &kind) // several types are none that a header can carry
			switch err := json.Unmarshal(p.Header, &header); {
			case err != nil || header == "":
				return fmt.Sprintf("the x-mcp-header of %s is not the name of a header", place)
			case strings.ContainsFunc(header, notInHeaderName):
				return fmt.Sprintf("the x-mcp-header of %s, %q, is not the name of a header", place, header)
			case kind != "string" && kind != "integer" && kind != "boolean":
				return fmt.Sprintf("%s has an x-mcp-header and is no string, integer or boolean", place)
			case seen[strings.ToLower(header)] != "":
				return fmt.Sprintf("%s and %s have the same x-mcp-header, %q", seen[strings.ToLower(header)], place, header)
			}
			seen[strings.ToLower(header)] = place
		}
		if problem := headerProblem(p, place, seen); problem != "" {
			return problem
		}
	}
	return ""
}

// notInHeaderName reports whether no name of a header has the character. See RFC 9110, 5.1 and 5.6.2.
func notInHeaderName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
