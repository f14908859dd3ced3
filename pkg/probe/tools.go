package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// tool is what the checks need to know of one tool, read tool by tool so that a bad one hides no others.
type tool struct {
	name        string
	description string
	// schema, output and annotations are its inputSchema, outputSchema and annotations, nil if it has none.
	schema, output, annotations json.RawMessage
	// misnamed is the member that has the schema in place of inputSchema, "" if none is seen.
	misnamed string
	problems []string
}

func parseTool(raw json.RawMessage) tool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return tool{problems: []string{"it is not an object"}}
	}
	var t tool
	if json.Unmarshal(fields["name"], &t.name) != nil || t.name == "" {
		problem := "it has no name"
		if fields["function"] != nil {
			problem += `: it is written as the OpenAI API wants tools, inside of "function"`
		}
		t.problems = append(t.problems, problem)
	}
	_ = json.Unmarshal(fields["description"], &t.description) // what is no text says nothing
	t.schema, t.output, t.annotations = fields["inputSchema"], fields["outputSchema"], fields["annotations"]
	for _, other := range []string{"input_schema", "parameters", "schema"} {
		if t.schema == nil && t.misnamed == "" && fields[other] != nil {
			t.misnamed = other
		}
	}
	return t
}

// named returns the name of a tool for a line of evidence: in quotes if it has characters that could make two of the line, or
// look like words of ours. Secrets are masked before: in quotes they could no longer be told.
func (t *Target) named(name string) string {
	if t.Mask != nil {
		name = t.Mask(name)
	}
	const most = 100
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !plainRune(r) && r != '*' && r != '/' && r != '…' }) {
		return strconv.Quote(name)
	}
	return name
}

// tools returns the tools of the target.
func (t *Target) tools(ctx context.Context) ([]tool, error) {
	list, err := t.list(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	tools := make([]tool, len(list.Items))
	for i, raw := range list.Items {
		tools[i] = parseTool(raw)
	}
	return tools, nil
}

// inLine returns text that holds words of a server without its line breaks.
func inLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// firstOf returns the first of several problems, and how many more there are.
func firstOf(problems []string) string {
	if len(problems) == 1 {
		return problems[0]
	}
	return fmt.Sprintf("%s; and %d more", problems[0], len(problems)-1)
}

// listed makes the finding of a list check.
func listed(ctx context.Context, t *Target, method, noun string) Finding {
	list, err := t.list(ctx, method)
	if err != nil && t.hung != "" && t.hung != method && session.ClassOf(err) != session.ClassAnswered {
		return skip("not waited for, as " + t.hung + " was not answered either")
	}
	if err != nil {
		return failure(err)
	}
	if len(list.Items) == 1 {
		noun = strings.TrimSuffix(noun, "s")
	}
	f := pass(fmt.Sprintf("%d %s", len(list.Items), noun))
	f.Data = map[string]any{"count": len(list.Items)}
	if loss := t.repeated[method]; loss != "" {
		f.Status, f.Detail, f.Data["repeated"] = Warn, loss, true
		f.Message += fmt.Sprintf("; the first %s was lost (%s) and had to be repeated on a fresh session", method, loss)
		f.Fix = "see why the server drops it: a client that does not repeat it shows nothing at all"
	}
	// protocol.pagination tells of the pages.
	problems := slices.DeleteFunc(slices.Clone(list.Problems), func(p string) bool { return slices.Contains(list.Paging, p) })
	if len(problems) > 0 {
		f.Status, f.Detail = Warn, strings.TrimSpace(strings.Join(slices.Concat(problems, []string{f.Detail}), "\n"))
		f.Message += "; " + problems[0]
		f.Fix = "answer " + method + " as the specification says, with an array of objects"
		if list.Incomplete && len(list.Items) == 0 { // no list came at all, and whoever asks for it gets an error
			f.Status, f.Class, f.Message = Fail, string(session.ClassProtocol), problems[0]
			f.Detail = strings.Join(problems[1:], "\n")
		}
	}
	return f
}

// announces reports whether the server announced a capability. It is asked only after the opening.
func announces(t *Target, has func(session.Info) bool) bool {
	return t.opened == nil || has(t.opened.Info())
}

func announcesTools(t *Target) bool {
	return announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
}

func announcesResources(t *Target) bool {
	return announces(t, func(i session.Info) bool { return i.Capabilities.Resources != nil })
}

func announcesPrompts(t *Target) bool {
	return announces(t, func(i session.Info) bool { return i.Capabilities.Prompts != nil })
}

// announced are the list methods that the server's capabilities promise.
func (t *Target) announced() []string {
	var methods []string
	if announcesTools(t) {
		methods = append(methods, "tools/list")
	}
	if announcesResources(t) {
		methods = append(methods, "resources/list", "resources/templates/list")
	}
	if announcesPrompts(t) {
		methods = append(methods, "prompts/list")
	}
	return methods
}

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// SchemaProblem says what is wrong with a tool's input schema, "" if nothing is: "it has no inputSchema". See the MCP
// specification, 2025-11-25, "Tools".
func SchemaProblem(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "it has no inputSchema"
	}
	if p := rootProblem(raw); p != "" {
		return "its inputSchema " + p
	}
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   json.RawMessage `json:"required"`
	}
	_ = json.Unmarshal(raw, &schema) // it is an object
	var properties map[string]json.RawMessage
	if string(schema.Properties) == "null" || schema.Properties != nil && json.Unmarshal(schema.Properties, &properties) != nil {
		return "its properties are not an object"
	}
	var required []string
	if schema.Required != nil && json.Unmarshal(schema.Required, &required) != nil {
		return "its required is not an array of names"
	}
	missing := slices.DeleteFunc(required, func(name string) bool { _, ok := properties[name]; return ok })
	if len(missing) > 0 && properties != nil {
		return "it requires " + strings.Join(missing, ", ") + ", which it does not describe"
	}
	return ""
}

// rootProblem says what is wrong with the root of a tool's schema, which must have the type object.
func rootProblem(raw json.RawMessage) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return "is not an object"
	}
	var kind string
	switch err := json.Unmarshal(root["type"], &kind); {
	case root["type"] == nil:
		for _, key := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
			if root[key] != nil {
				return fmt.Sprintf("has %s and no type at its root; clients that require \"type\": \"object\" there drop the tool, or the whole list", key)
			}
		}
		return "has no type, and \"object\" is wanted"
	case err != nil || kind != "object":
		return fmt.Sprintf("has the type %s, and \"object\" is wanted", firstWords(string(root["type"])))
	}
	return ""
}

// schemaTrouble says what clients are known to choke on in a schema that is right, "" if nothing: where it stands, and who
// has the trouble.
func schemaTrouble(raw json.RawMessage) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return ""
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if root[key] != nil {
			return fmt.Sprintf("its inputSchema has %s at the root, which clients on the Claude API refuse", key)
		}
	}
	if name, refused := refusedName(root); refused {
		return fmt.Sprintf("the parameter %q has a name for which clients on the Claude API refuse all tools: they take letters, digits, _, . and -, 64 at most",
			firstWords(name))
	}
	return inside{root}.trouble("", root, 0)
}

// outputTrouble says the same of an output schema, which the SDKs check results with.
func outputTrouble(raw json.RawMessage) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return ""
	}
	if t := (inside{root}).trouble("", root, 0); t != "" {
		return "is one that clients choke on: " + t
	}
	return ""
}

// inside looks for trouble inside a schema, whose root references are resolved in.
type inside struct{ root map[string]json.RawMessage }

// has reports whether a reference within the schema leads to something. See RFC 6901.
func (in inside) has(ref string) bool {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path == "" {
		return true
	}
	if path, ok = strings.CutPrefix(path, "/"); !ok {
		return true // an anchor
	}
	at := in.root
	for step := range strings.SplitSeq(path, "/") {
		if decoded, err := url.PathUnescape(step); err == nil {
			step = decoded
		}
		raw, ok := at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		if !ok {
			return false
		}
		if at = nil; json.Unmarshal(raw, &at) != nil {
			return true // into an array, or a schema that is true
		}
	}
	return true
}

// plainTypes are the types of JSON Schema.
func plainTypes() []string {
	return []string{"string", "number", "integer", "boolean", "object", "array", "null"}
}

// keywords says what is wrong with the keywords of one schema, "" if nothing is.
func (in inside) keywords(schema map[string]json.RawMessage) string {
	var types []string
	if one := ""; json.Unmarshal(schema["type"], &one) == nil {
		types = []string{one}
	} else if schema["type"] != nil && json.Unmarshal(schema["type"], &types) != nil {
		return fmt.Sprintf("has the type %s, which JSON Schema does not know", firstWords(string(schema["type"])))
	}
	for _, t := range types {
		if !slices.Contains(plainTypes(), t) && string(schema["type"]) != "null" {
			return fmt.Sprintf("has the type %q, which JSON Schema does not know", firstWords(t))
		}
	}
	if string(schema["type"]) == "null" {
		return "has the type null (not \"null\"), which JSON Schema does not know"
	}
	for _, key := range []string{"enum", "anyOf", "oneOf", "allOf"} {
		var list []json.RawMessage
		if schema[key] != nil && (json.Unmarshal(schema[key], &list) != nil || len(list) == 0) {
			return fmt.Sprintf("has %s without anything in it, which clients and models refuse", key)
		}
	}
	if old := olderForm(schema); old != "" {
		return "has " + old + ", which JSON Schema 2020-12 does not allow: clients on the Claude API refuse all tools for it"
	}
	if ref := ""; json.Unmarshal(schema["$ref"], &ref) == nil && !in.has(ref) {
		return fmt.Sprintf("refers to %s, which is not there", firstWords(ref))
	}
	return ""
}

// olderForm names a keyword in a form that an older draft had and that is an error in the present one, "" if there is none.
func olderForm(schema map[string]json.RawMessage) string {
	for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if v := string(schema[key]); v == "true" || v == "false" {
			return fmt.Sprintf("%s: %s (a number since draft 6)", key, v)
		}
	}
	if v := string(schema["required"]); v == "true" || v == "false" {
		return fmt.Sprintf("required: %s (a list of names in the object around it since draft 4)", v)
	}
	if strings.HasPrefix(string(schema["items"]), "[") {
		return "a list as items (now called prefixItems)"
	}
	return ""
}

// parameterName is what clients on the Claude API take for the name of a parameter.
var parameterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) })

// refusedName returns the first parameter of a tool whose name is refused by clients on the Claude API, false if there is none.
func refusedName(root map[string]json.RawMessage) (string, bool) {
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(root["properties"], &properties) // what is none has no names
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !parameterName().MatchString(name) {
			return name, true
		}
	}
	return "", false
}

// deepestSchema bounds the search: deeper schemas are made by programs, and no person writes them.
const deepestSchema = 12

// trouble looks through a schema at a path, and through what it holds.
func (in inside) trouble(path string, schema map[string]json.RawMessage, depth int) string {
	if depth > deepestSchema {
		return ""
	}
	if wrong := in.keywords(schema); wrong != "" {
		return cmp.Or(path, "its root") + " " + wrong
	}
	if ref := ""; json.Unmarshal(schema["$ref"], &ref) == nil && ref != "" && !strings.HasPrefix(ref, "#") {
		return fmt.Sprintf("%s refers to %s, which clients do not fetch", cmp.Or(path, "its inputSchema"), firstWords(ref))
	}
	if string(schema["type"]) == `"array"` && schema["items"] == nil && schema["prefixItems"] == nil {
		return path + " is an array without items, which clients on the OpenAI API refuse"
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(schema["properties"], &properties) // what is none has no trouble here
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		own := strings.TrimPrefix(path+"."+firstWords(name), ".")
		if p := string(properties[name]); p == "true" || p == "false" {
			return fmt.Sprintf("the schema of %s is %s; clients that want an object there drop the tool, or the whole list", own, p)
		}
		var inner map[string]json.RawMessage
		if json.Unmarshal(properties[name], &inner) != nil || inner == nil {
			return fmt.Sprintf("the schema of %s is not an object", own)
		}
		if t := in.trouble(own, inner, depth+1); t != "" {
			return t
		}
	}
	var items map[string]json.RawMessage
	if json.Unmarshal(schema["items"], &items) == nil && items != nil {
		if t := in.trouble(path+"[]", items, depth+1); t != "" {
			return t
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		var some []map[string]json.RawMessage
		if json.Unmarshal(schema[key], &some) != nil {
			continue // some of it may be true or false
		}
		for _, one := range some {
			if wrong := in.keywords(one); one != nil && wrong != "" {
				return cmp.Or(path, "its root") + " " + wrong
			}
		}
	}
	return ""
}
