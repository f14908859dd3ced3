package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// How a file is read.
//
// yaml.v3 makes a tree; this file and entry.go walk it along the shape a configuration has, because only the tree
// knows lines, and because strictness (unknown keys, duplicate keys, literal text of numbers) is ours to define. A
// scope gathers what is wrong: one for the file as a whole, whose errors make Parse fail, and one for each entry,
// whose errors become Server.Err so that the other entries still work.
//
// Aliases make the walk longer than the file. The shape bounds its depth, except for merge keys, which are watched for
// loops; a budget bounds its length.

// version is the version of the format that this package reads and writes.
const version = 1

// aliasBudget is how many values may come through aliases in addition to four times the values written out. A file
// with hundreds of servers that share everything needs a few thousand.
const aliasBudget = 100_000

// Parse reads a configuration file's contents strictly. The name is the file's, for messages and for Path. What is wrong
// with the file (syntax, unknown or repeated top-level keys, server names that are not unique, more than one document,
// another version) is an error; what is wrong inside one entry is in that Server's Err. Every single error is an *Error;
// several are joined.
//
// The file may be another client's; its format is known by its content. See [Format] and [Foreign].
func Parse(name string, data []byte) (*Config, error) {
	root, format, err := parseAny(name, data)
	switch {
	case err != nil:
		return nil, err
	case format != nil:
		return readForeign(name, root, *format)
	}
	return read(name, root)
}

// parseAny returns the tree of a file, and the format if it is another client's.
func parseAny(name string, data []byte) (*yaml.Node, *Format, error) {
	isJSON := looksLikeJSON(data)
	if isTOMLName(name) || !isJSON && !isYAMLName(name) && looksLikeTOML(data) {
		return parseAnyTOML(name, data)
	}
	if isJSON {
		root, err := parseJSON(name, data)
		if err == nil {
			format, err := recognise(name, root, languageJSON)
			if err != nil {
				return nil, nil, err
			}
			return root, format, nil
		}
		if isJSONName(name) {
			return nil, nil, err
		}
		// It may be YAML in flow style after all.
		if root, yamlErr := parseTree(name, data); yamlErr == nil {
			return root, nil, nil
		}
		return nil, nil, err
	}
	root, syntaxErr := parseForReading(name, data)
	if syntaxErr != nil {
		return nil, nil, syntaxErr
	}
	format, err := recognise(name, root, languageYAML)
	if err != nil {
		return nil, nil, err
	}
	return root, format, nil
}

// parseAnyTOML is parseAny for TOML, in which no file of ours is written.
func parseAnyTOML(name string, data []byte) (*yaml.Node, *Format, error) {
	root, err := parseTOML(name, data)
	if err != nil {
		return nil, nil, err
	}
	format, err := recognise(name, root, languageTOML)
	if err != nil {
		return nil, nil, err
	}
	if format != nil {
		return root, format, nil
	}
	const key = "mcp_servers"
	e := &Error{File: name, Line: 1, Message: fmt.Sprintf("is TOML, and has no %q", key), Hint: "mcpctl's own files are YAML"}
	for i := 0; i < len(root.Content); i += 2 {
		if near := Near(root.Content[i].Value, []string{key}); len(near) > 0 {
			e.Line, e.Column, e.Key, e.Message, e.Hint = root.Content[i].Line, root.Content[i].Column, root.Content[i].Value, "unknown key", didYouMean(near)
			break
		}
	}
	return nil, nil, e
}

// read makes a Config of a tree.
func read(name string, root *yaml.Node) (*Config, error) {
	cfg, err := readAsFarAsGoes(name, root)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// readAsFarAsGoes is read, returning with an error what could be read in spite of it.
func readAsFarAsGoes(name string, root *yaml.Node) (*Config, error) {
	cfg := &Config{Path: name}
	if root == nil {
		return cfg, nil
	}
	p := newParser(name, "servers", root)
	top := p.scope("")
	var servers *field
	for _, f := range top.fields(root, "") {
		switch f.name {
		case "version":
			n, err := strconv.Atoi(f.value.Value)
			switch {
			case f.value.ShortTag() != tagInt || err != nil || n < version:
				top.fail(f.value, f.name, "this mcpctl reads version 1 only", "write version: 1")
			case n > version:
				// What else it says is not for this mcpctl to judge.
				newer := p.scope("")
				newer.fail(f.value, f.name, fmt.Sprintf("the file is of version %d, and this mcpctl reads version %d", n, version),
					"update mcpctl, or use another file with --config; this one is left as it is")
				return nil, newer.err()
			}
		case "defaults":
			top.readDefaults(f)
		case "servers":
			servers = &f
		default:
			top.unknown(f, f.name, []string{"version", "defaults", "servers"}, topLevelHint(f.name))
		}
	}
	cfg.Defaults = p.defaults
	if servers != nil && !isNull(servers.value) {
		found := top.fields(servers.value, "servers")
		cfg.Servers = make([]Server, 0, len(found))
		for _, f := range found {
			cfg.Servers = append(cfg.Servers, p.server(f))
		}
	}
	if p.left < 0 {
		return nil, &Error{File: name, Message: "too many values come through aliases", Hint: "write them out, or remove the aliases to aliases"}
	}
	return cfg, top.err()
}

// topLevelHint explains a key that belongs to another client.
func topLevelHint(key string) string {
	switch key {
	case "mcp_servers":
		return `"mcp_servers" is the key of other clients' files, in TOML and in YAML; mcpctl's own is "servers"`
	case "mcp", "extensions":
		return fmt.Sprintf("%q is the key of other clients' files, and there are no servers below it here; mcpctl's own is \"servers\"", key)
	}
	switch string(plainWord(key)) {
	case "mcpservers", "mcpserver":
		return `did you mean "mcpServers"?`
	}
	return ""
}

// parser is what the scopes of one file share.
type parser struct {
	file string
	// shown is how sources begin, and dir the directory of the file.
	shown, dir string
	// serversKey is the key that holds the servers.
	serversKey string
	// left is how many more values may be looked at; negative when there were too many.
	left int
	// defaults are the file's, and defaultSources where they come from, by key.
	defaults       Defaults
	defaultSources map[string]Source
}

// newParser returns what the scopes of a file share.
func newParser(file, serversKey string, root *yaml.Node) *parser {
	shown := displayName(file)
	if filepath.IsAbs(shown) {
		shown = filepath.Base(shown) // it is long, and is told elsewhere
	}
	return &parser{file: file, shown: shown + ":", dir: directoryOf(file), left: aliasBudget + 4*countNodes(root), serversKey: serversKey}
}

// source returns the place where a key is written.
func (p *parser) source(kind string, key *yaml.Node) Source {
	return Source{Kind: kind, Detail: p.shown + strconv.Itoa(key.Line)}
}

// scope returns a scope without errors, for the entry of that name or, with "", for the file.
func (p *parser) scope(server string) *scope { return &scope{parser: p, server: server} }

// scope gathers the errors of the file or of one entry.
type scope struct {
	*parser
	server string
	errs   []*Error
}

// fail notes an error at a node.
func (c *scope) fail(at *yaml.Node, key, message, hint string) {
	c.errs = append(c.errs, &Error{File: c.file, Line: at.Line, Column: at.Column, Server: c.server, Key: key, Message: message, Hint: hint})
}

// unknown notes a key that does not belong where it is.
func (c *scope) unknown(f field, key string, known []string, hint string) {
	if hint == "" {
		hint = didYouMean(first(Near(f.name, known)))
	}
	if hint == "" {
		hint = "known are " + strings.Join(known, ", ")
	}
	c.fail(f.key, key, "unknown key", hint)
}

// err returns the errors in the order of their lines: nil, the only one, or all joined.
func (c *scope) err() error {
	slices.SortStableFunc(c.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	switch len(c.errs) {
	case 0:
		return nil
	case 1:
		return c.errs[0]
	}
	all := make([]error, len(c.errs))
	for i, err := range c.errs {
		all[i] = err
	}
	return errors.Join(all...)
}

// field is one key of a mapping with its value.
type field struct {
	name string
	// key is where the key is written, which may be in another mapping that was merged.
	key *yaml.Node
	// value is never an alias.
	value *yaml.Node
}

// fields returns the keys of a mapping in order, merged ones last. Its errors name the key below path.
func (c *scope) fields(m *yaml.Node, path string) []field {
	if m.Kind != yaml.MappingNode {
		c.fail(m, path, "want a mapping, found "+describe(m), "")
		return nil
	}
	return c.collect(m, path, nil)
}

// opened is a mapping that is being collected, and those further up.
type opened struct {
	m  *yaml.Node
	up *opened
}

// fewKeys are looked through faster than a map of them is made.
const fewKeys = 16

// collect does the work of fields. The mappings in up are being collected further up.
func (c *scope) collect(m *yaml.Node, path string, up *opened) []field {
	for o := up; o != nil; o = o.up {
		if o.m == m {
			c.fail(m, below(path, "<<"), "a mapping merges itself", "")
			return nil
		}
	}
	var merged []field
	found := make([]field, 0, len(m.Content)/2)
	var at places
	var many map[string]*yaml.Node
	if len(m.Content)/2 > fewKeys {
		many = make(map[string]*yaml.Node, len(m.Content)/2)
	} else {
		at.list = make([]keyPlace, 0, len(m.Content)/2)
	}
	earlier := func(name string) *yaml.Node {
		if many != nil {
			return many[name]
		}
		return at.get(name)
	}
	note := func(name string, key *yaml.Node) {
		if many != nil {
			many[name] = key
		} else {
			at.list = append(at.list, keyPlace{name, key})
		}
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if c.left--; c.left < 0 {
			return nil
		}
		key, value := m.Content[i], follow(m.Content[i+1])
		name := follow(key)
		if name.Kind != yaml.ScalarNode {
			c.fail(key, path, "want text as key, found "+describe(name), "")
			continue
		}
		if earlier := earlier(name.Value); earlier != nil {
			if path == c.serversKey && c.server == "" {
				c.fail(key, "", fmt.Sprintf("the server %q is defined twice, in lines %d and %d", name.Value, earlier.Line, key.Line), "rename or remove one")
			} else {
				c.fail(key, below(path, name.Value), fmt.Sprintf("is defined twice, in lines %d and %d", earlier.Line, key.Line), "keep one")
			}
			continue
		}
		note(name.Value, key)
		if isMerge(key) {
			merged = c.merge(value, path, &opened{m, up})
			continue
		}
		found = append(found, field{name.Value, key, value})
	}
	// The mapping's own keys win over merged ones, and earlier merged ones over later.
	for _, f := range merged {
		if earlier(f.name) == nil {
			note(f.name, f.key)
			found = append(found, f)
		}
	}
	return found
}

// merge returns the keys of the mapping, or the list of mappings, that a merge key points at.
func (c *scope) merge(value *yaml.Node, path string, up *opened) []field {
	if value.Kind == yaml.MappingNode {
		return c.collect(value, path, up)
	}
	if value.Kind != yaml.SequenceNode {
		c.fail(value, below(path, "<<"), "want a mapping or a list of them, found "+describe(value), "")
		return nil
	}
	var found []field
	for _, item := range value.Content {
		if c.left--; c.left < 0 {
			return nil
		}
		if item = follow(item); item.Kind != yaml.MappingNode {
			c.fail(item, below(path, "<<"), "want a list of mappings, found "+describe(item)+" in it", "")
			continue
		}
		found = append(found, c.collect(item, path, up)...)
	}
	return found
}

// readDefaults reads the values that hold for every server.
func (c *scope) readDefaults(f field) {
	if isNull(f.value) {
		return
	}
	c.defaultSources = map[string]Source{}
	for _, f := range c.fields(f.value, f.name) {
		key := below("defaults", f.name)
		switch f.name {
		case "connect_timeout":
			c.duration(f, key, &c.defaults.ConnectTimeout)
		case "timeout":
			c.duration(f, key, &c.defaults.Timeout)
		default:
			c.unknown(f, key, []string{"connect_timeout", "timeout"}, "")
			continue
		}
		c.defaultSources[f.name] = c.source("default", f.key)
	}
}

// duration reads a duration.
func (c *scope) duration(f field, key string, target *time.Duration) {
	switch f.value.ShortTag() {
	case tagInt, tagFloat, tagString:
		d, err := ParseDuration(f.value.Value)
		if err != nil {
			c.fail(f.value, key, err.Error(), "")
			return
		}
		*target = d
	default:
		c.fail(f.value, key, "want a duration such as 30s, found "+describe(f.value), "")
	}
}

// below returns the name of a key inside another.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// indexed returns the name of an element of a list.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// first returns the nearest name only: for keys, one suggestion is enough.
func first(near []string) []string { return near[:min(1, len(near))] }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull }

func countNodes(n *yaml.Node) int {
	count := 1
	for _, child := range n.Content {
		count += countNodes(child)
	}
	return count
}
