package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/itchyny/gojq"
	"gopkg.in/yaml.v3"
)

// Health is the call that shows whether a server does its work: a tool that its owner chose for that.
type Health struct {
	// Tool is the name of the tool, as the server has it.
	Tool string
	// Args are its arguments, one JSON object; nil stands for an empty one. No variable is expanded in them, nor in what is
	// expected, so a reference to one is refused.
	Args json.RawMessage
	// Expect says what the answer must be like.
	Expect Expect
}

// Expect is what the answer of a tool must be like. The zero value wants a result that is no error.
type Expect struct {
	// IsError wants the tool to report an error.
	IsError bool
	// Contains is a part of the text that comes back, "" for any. The text is that of all text blocks, joined by newlines,
	// and without such blocks the structured content as JSON.
	Contains string
	// Matches is a regular expression (RE2) that the text must match somewhere, "" for none.
	Matches string
	// JQ is a jq expression, "" for none. It gets the result as the server sent it, and its first output must be neither
	// false nor null.
	JQ string
	// Equals is the whole text, nil for any.
	Equals *string
	// EqualsJSON is an object or an array that the structured content must be equal to, nil for any. If the answer has no
	// structured content, the text must be that JSON.
	EqualsJSON json.RawMessage
	// Within is the most that the call may take, 0 for the limit of the request.
	Within time.Duration
}

// clone returns a copy that shares nothing with h.
func (h *Health) clone() *Health {
	if h == nil {
		return nil
	}
	out := *h
	out.Args = slices.Clone(h.Args)
	out.Expect.EqualsJSON = slices.Clone(h.Expect.EqualsJSON)
	if h.Expect.Equals != nil {
		equals := *h.Expect.Equals
		out.Expect.Equals = &equals
	}
	return &out
}

// healthKeys and expectKeys return the keys in the order in which they are written.
func healthKeys() []string { return []string{"tool", "args", "expect"} }

func expectKeys() []string {
	return []string{"is_error", "contains", "matches", "jq", "equals", "max_ms"}
}

// health reads the key of that name.
func (e *entry) health(s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "write {tool: NAME}")
		return
	}
	h := &Health{}
	for _, f := range e.fields(f.value, f.name) {
		if !e.call(h, f, "health") {
			e.unknown(f, below("health", f.name), healthKeys(), "")
			continue
		}
		s.Set(below("health", f.name), e.source("entry", f.key))
	}
	s.Health = h
}

// call reads one key of a call that stands at path. It returns false for a key that a call does not have.
func (e *entry) call(h *Health, f field, path string) bool {
	key := below(path, f.name)
	e.at.set(key, f.key)
	switch f.name {
	case "tool":
		h.Tool = e.text(field{key, f.key, f.value})
	case "args":
		if f.value.Kind != yaml.MappingNode {
			e.fail(f.value, key, "want a mapping, found "+describe(f.value), "write {NAME: value}")
			return true
		}
		var b bytes.Buffer
		e.writeJSON(&b, f.value, key)
		h.Args = b.Bytes()
	case "expect":
		e.expect(&h.Expect, field{key, f.key, f.value})
	default:
		return false
	}
	return true
}

// expect reads what the answer must be like.
func (e *entry) expect(x *Expect, f field) {
	path := f.name
	for _, f := range e.fields(f.value, path) {
		key := below(path, f.name)
		e.at.set(key, f.key)
		at := field{key, f.key, f.value}
		switch f.name {
		case "is_error":
			x.IsError = e.boolean(at, false)
		case "contains":
			x.Contains = e.text(at)
		case "matches":
			x.Matches = e.text(at)
		case "jq":
			x.JQ = e.text(at)
		case "equals":
			if f.value.Kind == yaml.MappingNode || f.value.Kind == yaml.SequenceNode {
				var b bytes.Buffer
				e.writeJSON(&b, f.value, key)
				x.EqualsJSON = b.Bytes()
			} else if text, ok := e.literal(f.value, key); ok {
				x.Equals = &text
			}
		case "max_ms":
			ms, err := strconv.ParseInt(f.value.Value, 10, 64)
			if f.value.ShortTag() != tagInt || err != nil || ms <= 0 || time.Duration(ms) > maxDuration/time.Millisecond {
				e.fail(f.value, key, "want a number of milliseconds, more than zero and at most 24h of them", "")
				continue
			}
			x.Within = time.Duration(ms) * time.Millisecond
		default:
			e.unknown(f, key, expectKeys(), "")
		}
	}
}

// writeJSON writes a value as JSON, its numbers digit for digit. An alias to what is around it would be endless.
func (e *entry) writeJSON(b *bytes.Buffer, n *yaml.Node, path string) {
	if e.left--; e.left < 0 {
		return
	}
	n = follow(n)
	if e.tooDeep {
		b.WriteString("null")
		return
	}
	if e.depth++; e.depth > deepestJSON {
		e.tooDeep = true
		e.fail(n, path[:strings.IndexAny(path+".", ".[")], fmt.Sprintf("holds values more than %d levels deep", deepestJSON), "remove the alias that leads back to what is around it")
	}
	defer func() { e.depth-- }()
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, f := range e.fields(n, path) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(jsonText(f.name) + ":")
			e.writeJSON(b, f.value, below(path, f.name))
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			e.writeJSON(b, item, fmt.Sprintf("%s[%d]", path, i))
		}
		b.WriteByte(']')
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
		text, problem := jsonScalar(n)
		if problem != "" {
			e.fail(n, path, problem, "put quotes around it if text is meant")
		}
		b.WriteString(text)
	}
}

// jsonScalar returns a scalar as JSON, or what is wrong with it.
func jsonScalar(n *yaml.Node) (text, problem string) {
	switch n.ShortTag() {
	case tagString, tagTimestamp, tagMerge:
		return jsonText(n.Value), ""
	case tagNull:
		return "null", ""
	case tagBool:
		return strings.ToLower(n.Value), ""
	case tagInt, tagFloat:
		if json.Valid([]byte(n.Value)) {
			return n.Value, ""
		}
		var value any // 0x1f, 1_000, +1: numbers to YAML alone
		if err := n.Decode(&value); err == nil {
			if data, err := json.Marshal(value); err == nil {
				return string(data), ""
			}
		}
		return "null", fmt.Sprintf("%s is no number that JSON has", n.Value)
	}
	return "null", "want a value that JSON has, found " + describe(n)
}

// jsonText returns text as a JSON string, without the escapes that only a web page needs.
func jsonText(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // text can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// reference is the beginning of a reference to a variable.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*`)
})

// healthProblems says what is wrong with the calls of an entry.
func (s Server) healthProblems() []problem {
	var found []problem
	if s.Health != nil {
		found = s.Health.problems("health", s.Tools)
	}
	for i, c := range s.Smoke {
		filter := s.Tools
		if c.Source.Kind == "file" { // whose calls are for any server: one that does not allow a tool is not broken
			filter = ToolFilter{}
		}
		found = append(found, c.problems(smokeKey(i), filter)...)
	}
	return found
}

// problems says what is wrong with a call that stands at path.
func (h Health) problems(path string, filter ToolFilter) []problem {
	var found []problem
	add := func(key, message, hint string) {
		found = append(found, problem{key: path + key, message: message, hint: hint})
	}
	switch {
	case h.Tool == "":
		found = append(found, problem{key: path, message: "names no tool", hint: "write {tool: NAME}", missing: true})
	case !filter.Allows(h.Tool):
		add(".tool", fmt.Sprintf("%q is left out by the entry's filter", h.Tool), "let tools.include and tools.exclude allow it")
	}
	if len(h.Args) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(h.Args, &object) != nil || object == nil {
			add(".args", "is not a JSON object", "")
		}
	}
	texts := []placedText{
		{key: ".tool", value: h.Tool},
		{key: ".args", value: string(h.Args)},
		{key: ".expect.contains", value: h.Expect.Contains},
		{key: ".expect.matches", value: h.Expect.Matches},
		{key: ".expect.equals", value: string(h.Expect.EqualsJSON)},
	}
	if h.Expect.Equals != nil {
		texts = append(texts, placedText{key: ".expect.equals", value: *h.Expect.Equals})
	}
	for _, t := range texts {
		if ref := reference().FindString(t.value); ref != "" {
			key, _, _ := strings.Cut(path, "[")
			add(t.place(), fmt.Sprintf("variables are not replaced in %s, and %s} is one", cmp.Or(key, "smoke calls"), ref), "write the value")
		}
	}
	if h.Expect.Equals != nil && h.Expect.EqualsJSON != nil {
		add(".expect.equals", "is text and JSON at once", "keep one")
	}
	if len(h.Expect.EqualsJSON) > 0 && !json.Valid(h.Expect.EqualsJSON) {
		add(".expect.equals", "is not JSON", "")
	}
	if _, err := regexp.Compile(h.Expect.Matches); err != nil {
		add(".expect.matches", fmt.Sprintf("is no regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")), "see https://golang.org/s/re2syntax")
	}
	if h.Expect.JQ != "" {
		if query, err := gojq.Parse(h.Expect.JQ); err != nil {
			add(".expect.jq", "is no jq expression: "+err.Error(), "see https://jqlang.org/manual")
		} else if _, err := gojq.Compile(query); err != nil {
			add(".expect.jq", "is no jq expression: "+err.Error(), "see https://jqlang.org/manual")
		}
	}
	if h.Expect.Within < 0 || h.Expect.Within > maxDuration {
		add(".expect.max_ms", "is not between 1 and 24h", "")
	}
	return found
}

// healthNode returns the key as it is written, nil for none.
func healthNode(h *Health) *yaml.Node {
	if h == nil {
		return nil
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	h.put(m)
	return m
}

// put adds the keys of a call to a mapping.
func (h *Health) put(m *yaml.Node) {
	put := func(to *yaml.Node, key string, value *yaml.Node) {
		to.Content = append(to.Content, textNode(key), value)
	}
	put(m, "tool", textNode(h.Tool))
	if n := jsonNode(h.Args); n != nil {
		put(m, "args", n)
	}
	x := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Style: yaml.FlowStyle}
	if h.Expect.IsError {
		put(x, "is_error", boolNode(true))
	}
	if h.Expect.Contains != "" {
		put(x, "contains", textNode(h.Expect.Contains))
	}
	if h.Expect.Matches != "" {
		put(x, "matches", textNode(h.Expect.Matches))
	}
	if h.Expect.JQ != "" {
		put(x, "jq", textNode(h.Expect.JQ))
	}
	if h.Expect.Equals != nil {
		put(x, "equals", textNode(*h.Expect.Equals))
	}
	if n := jsonNode(h.Expect.EqualsJSON); n != nil {
		put(x, "equals", n)
	}
	if h.Expect.Within > 0 {
		put(x, "max_ms", digitsNode(strconv.FormatInt(h.Expect.Within.Milliseconds(), 10)))
	}
	if len(x.Content) > 0 {
		put(m, "expect", x)
	}
}

// jsonNode returns JSON as a tree on one line, nil for none.
func jsonNode(raw json.RawMessage) *yaml.Node {
	var doc yaml.Node // JSON is YAML, but for escapes of pairs, which the value of a node does not have
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || doc.Encode(plainNumbers(value)) != nil {
		return nil
	}
	flow(&doc)
	return &doc
}

// plainNumbers replaces the numbers of a decoded JSON value by nodes that keep their digits.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return digitsNode(v.String())
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return value
}

func digitsNode(digits string) *yaml.Node {
	tag := tagInt
	if strings.ContainsAny(digits, ".eE") {
		tag = tagFloat
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: digits}
}

// flow makes a tree be written on one line.
func flow(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, child := range n.Content {
		flow(child)
	}
}

// redacted returns a copy in which arguments that look like secrets are masked, at any depth.
func (h *Health) redacted() *Health {
	out := h.clone()
	if out == nil || len(out.Args) == 0 {
		return out
	}
	dec := json.NewDecoder(bytes.NewReader(out.Args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return out
	}
	hidden := false
	maskArguments("", &value, &hidden)
	if hidden {
		if data, err := json.Marshal(value); err == nil {
			out.Args = data
		}
	}
	return out
}

// maskArguments masks the text in a decoded JSON value that is a secret by its name or by its looks.
func maskArguments(name string, value *any, hidden *bool) {
	switch v := (*value).(type) {
	case string:
		if v != "" && (LooksSecretName(name) || LooksSecretValue(v)) {
			*value, *hidden = masked, true
		}
	case []any:
		for i := range v {
			maskArguments(name, &v[i], hidden)
		}
	case map[string]any:
		for key, each := range v {
			maskArguments(key, &each, hidden)
			v[key] = each
		}
	}
}
