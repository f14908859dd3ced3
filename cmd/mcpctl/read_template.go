package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// uriTemplate is a URI with variables in it (RFC 6570), as servers list them.
type uriTemplate struct {
	text     string
	template *uritemplate.Template
	// variables are its names in their order. All are required, but for those of a query: a URI without a part of its path
	// is another URI, one without a condition is not.
	variables []promptArgument
	// lists are the variables that may have several values.
	lists []string
}

// errNoTemplate says that a URI has no variables.
type errNoTemplate struct{}

func (errNoTemplate) Error() string { return "it has no variables" }

// parseTemplate reads a template.
func parseTemplate(text string) (*uriTemplate, error) {
	t, err := uritemplate.New(text)
	if err != nil {
		return nil, err
	}
	names := t.Varnames()
	if len(names) == 0 {
		return nil, errNoTemplate{}
	}
	u := &uriTemplate{text: text, template: t}
	optional := map[string]bool{}
	for _, part := range regexp.MustCompile(`\{([+#./;?&]?)([^{}]*)\}`).FindAllStringSubmatch(text, -1) {
		for spec := range strings.SplitSeq(part[2], ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
			if strings.HasSuffix(spec, "*") {
				u.lists = append(u.lists, name)
			}
			_, seen := optional[name]
			optional[name] = strings.ContainsAny(part[1], "?&") && (!seen || optional[name])
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(u.variables, func(v promptArgument) bool { return v.Name == name }) {
			u.variables = append(u.variables, promptArgument{Name: name, Required: !optional[name]})
		}
	}
	return u, nil
}

// schema describes the values as an object of texts.
func (u *uriTemplate) schema() json.RawMessage {
	return textSchema(u.variables, func(name string) bool { return slices.Contains(u.lists, name) })
}

// expand returns the URI with the values of an object in the places of the variables.
func (u *uriTemplate) expand(given json.RawMessage) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(given, &object); err != nil {
		return "", fmt.Errorf("%s: %w", u.text, err)
	}
	values := uritemplate.Values{}
	for name, raw := range object {
		var one string
		var several []string
		switch {
		case json.Unmarshal(raw, &one) == nil:
			values.Set(name, uritemplate.String(one))
		case json.Unmarshal(raw, &several) == nil:
			values.Set(name, uritemplate.List(several...))
		default:
			return "", &toolargs.UsageError{Param: name, Message: name + ": must be text"}
		}
	}
	uri, err := u.template.Expand(values)
	if err != nil {
		return "", fmt.Errorf("%s: %w", u.text, err)
	}
	return uri, nil
}
