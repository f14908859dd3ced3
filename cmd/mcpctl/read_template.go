package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/internal/uritemplate"
)

// uriTemplate is a URI template whose values come from a command line, as an object in JSON. They are texts, or lists or objects
// of them.
type uriTemplate struct {
	*uritemplate.Template
	// variables are its variables as arguments.
	variables []promptArgument
}

func parseTemplate(text string) (*uriTemplate, error) {
	parsed, err := uritemplate.Parse(text)
	if err != nil {
		return nil, err
	}
	u := &uriTemplate{Template: parsed}
	for _, v := range parsed.Variables {
		u.variables = append(u.variables, promptArgument{Name: v.Name, Required: v.Required})
	}
	return u, nil
}

// schema describes the values as an object of texts.
func (u *uriTemplate) schema() json.RawMessage {
	return textSchema(u.variables, func(name string) bool {
		return slices.ContainsFunc(u.Variables, func(v uritemplate.Variable) bool { return v.Name == name && v.Exploded })
	})
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

// textMembers returns the members of an object of texts in their order, false if it is something else.
func textMembers(raw json.RawMessage) (uritemplate.Value, bool) {
	var v uritemplate.Value
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
		v.Keys, v.Texts = append(v.Keys, fmt.Sprint(key)), append(v.Texts, text)
	}
	return v, true
}

// expand returns the URI with the values of an object in the places of the variables.
func (u *uriTemplate) expand(given json.RawMessage) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(given, &object); err != nil {
		return "", fmt.Errorf("%s: %w", u.Text, err)
	}
	values := map[string]uritemplate.Value{}
	for name, raw := range object {
		var one string
		var several []string
		members, ok := textMembers(raw)
		switch {
		case ok:
			values[name] = members
		case json.Unmarshal(raw, &one) == nil:
			values[name] = uritemplate.Value{Texts: []string{one}}
		case json.Unmarshal(raw, &several) == nil:
			values[name] = uritemplate.Value{Texts: several}
		default:
			return "", &toolargs.UsageError{Param: name, Message: name + ": must be text"}
		}
	}
	return u.Expand(values), nil
}
