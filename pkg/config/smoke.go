package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Smoke is a call that shows whether a server does its work, one of several.
type Smoke struct {
	// Name tells the call from others, "" for the name of its tool.
	Name string
	// Server is the name of the server that the call is for, "" for any. Only a file of calls can set it.
	Server string
	// The call itself, as in Server.Health.
	Health
	// Source is where the call is written.
	Source Source
}

// cloneSmoke returns a copy that shares nothing with calls.
func cloneSmoke(calls []Smoke) []Smoke {
	out := slices.Clone(calls)
	for i := range out {
		out[i].Health = *out[i].clone()
	}
	return out
}

func smokeKeys() []string { return []string{"name", "tool", "args", "expect"} }

func smokeKey(i int) string { return fmt.Sprintf("smoke[%d]", i) }

// smoke reads the key of that name.
func (e *entry) smoke(s *Server, f field) {
	s.Smoke = e.calls(f, smokeKey, smokeKeys())
	for i, c := range s.Smoke {
		s.Set(smokeKey(i), c.Source)
	}
}

// calls reads a list of calls.
func (e *entry) calls(f field, path func(int) string, keys []string) []Smoke {
	switch {
	case f.value.Kind != yaml.SequenceNode:
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), "write [{tool: NAME}]")
		return nil
	case len(f.value.Content) == 0:
		e.fail(f.value, f.name, "is empty", "write [{tool: NAME}]")
		return nil
	}
	var calls []Smoke
	for i, item := range f.value.Content {
		if e.left--; e.left < 0 {
			return nil
		}
		at := path(i)
		e.at.set(at, item)
		if item = follow(item); item.Kind != yaml.MappingNode {
			e.fail(item, at, "want a mapping, found "+describe(item), "write {tool: NAME}")
			continue
		}
		c := Smoke{Source: e.source("entry", e.at.get(at))}
		for _, f := range e.fields(item, at) {
			key := below(at, f.name)
			switch {
			case f.name == "name":
				e.at.set(key, f.key)
				c.Name = e.text(field{key, f.key, f.value})
			case f.name == "server" && slices.Contains(keys, f.name):
				e.at.set(key, f.key)
				c.Server = e.text(field{key, f.key, f.value})
			case !e.call(&c.Health, f, at):
				e.unknown(f, key, keys, "")
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// smokeNode returns the key as it is written, nil for none.
func smokeNode(calls []Smoke) *yaml.Node {
	if len(calls) == 0 {
		return nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq}
	for _, c := range calls {
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Style: yaml.FlowStyle}
		if c.Name != "" {
			m.Content = append(m.Content, textNode("name"), textNode(c.Name))
		}
		c.put(m)
		list.Content = append(list.Content, m)
	}
	return list
}

// LoadSmoke reads a file of smoke calls. A file that cannot be read is an *Error, too.
func LoadSmoke(path string) ([]Smoke, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return ParseSmoke(path, data)
}

// ParseSmoke reads calls from YAML or JSON, strictly: a list, or a mapping with the list as "smoke". Beside the keys that
// they have in an entry, calls may name their server. Every single error is an *Error; several are joined.
func ParseSmoke(name string, data []byte) ([]Smoke, error) {
	root, syntaxErr := parseTree(name, yamlOf(data))
	if syntaxErr != nil {
		return nil, syntaxErr
	}
	if root == nil {
		return nil, &Error{File: name, Message: "holds no calls", Hint: "write [{tool: NAME}]"}
	}
	p := newParser(name, "", root)
	e := &entry{scope: p.scope(""), key: root}
	keys := append([]string{"server"}, smokeKeys()...)
	list, path := field{"", root, root}, func(i int) string { return fmt.Sprintf("[%d]", i) }
	if root.Kind == yaml.MappingNode {
		list = field{}
		for _, f := range e.fields(root, "") {
			if f.name != "smoke" {
				e.unknown(f, f.name, []string{"smoke"}, "")
				continue
			}
			list, path = f, smokeKey
		}
	}
	var calls []Smoke
	switch {
	case list.value != nil:
		calls = e.calls(list, path, keys)
	case len(e.errs) == 0:
		e.fail(root, "", "holds no calls", "write smoke: [{tool: NAME}]")
	}
	failed := len(e.errs) > 0
	for i, c := range calls {
		for _, wrong := range c.problems(path(i), ToolFilter{}) {
			if !failed || !wrong.missing {
				e.fail(e.place(wrong.key), wrong.key, wrong.message, wrong.hint)
			}
		}
		calls[i].Source.Kind = "file"
	}
	if p.left < 0 {
		return nil, &Error{File: name, Message: "too many values come through aliases", Hint: "write them out, or remove the aliases to aliases"}
	}
	if err := e.err(); err != nil {
		return nil, err
	}
	return calls, nil
}

// yamlOf makes YAML of JSON: its reader knows no tabs between values, and not all escapes. Lines and columns stay where they are, but for
// what follows such an escape. Other text is returned as it is.
func yamlOf(data []byte) []byte {
	text := bytes.TrimPrefix(data, []byte(byteOrderMark))
	if !json.Valid(text) {
		return data
	}
	text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // inside of strings JSON has none
	pair := regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)
	return pair.ReplaceAllFunc(text, func(escape []byte) []byte {
		switch {
		case string(escape) == `\/`:
			return escape[1:]
		case len(escape) < len(`\ud83d\ude00`):
			return escape // also a backslash that is escaped itself
		}
		high, _ := strconv.ParseUint(string(escape[2:6]), 16, 32)
		low, _ := strconv.ParseUint(string(escape[8:12]), 16, 32)
		return []byte(strings.ToUpper(fmt.Sprintf(`\u%08x`, 0x10000+(high-0xd800)<<10+(low-0xdc00))))
	})
}
