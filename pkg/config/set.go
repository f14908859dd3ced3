package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// KeyKind says what the values of a key are.
type KeyKind string

// The kinds of keys.
const (
	KindText     KeyKind = "text"
	KindList     KeyKind = "list"
	KindBool     KeyKind = "true or false"
	KindDuration KeyKind = "duration"
	KindNumber   KeyKind = "whole number"
	// KindJSON is a mapping or a list of further values.
	KindJSON KeyKind = "JSON"
)

// Key is one key of an entry that can be set by itself.
type Key struct {
	// Name is the key with those around it: "tls.ca_file". A name that ends in ".*" stands for all keys below it.
	Name string
	Kind KeyKind
	// Words are the values that there are, nil when there are more than can be listed, or others, too.
	Words []string
}

// Keys returns the keys of an entry that can be set one by one, in the order in which they are written.
func Keys() []Key {
	var keys []Key
	add := func(kind KeyKind, names ...string) {
		for _, name := range names {
			k := Key{Name: name, Kind: kind}
			switch {
			case kind == KindBool:
				k.Words = []string{"true", "false"}
			case name == "transport":
				k.Words = []string{string(TransportAuto), string(TransportHTTP), string(TransportSSE), string(TransportStdio)}
			}
			keys = append(keys, k)
		}
	}
	within := func(key string, members []string) []string {
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = below(key, m)
		}
		return names
	}
	for _, key := range entryKeys() {
		switch key {
		case "args", "inherit_env":
			add(KindList, key)
		case "env", "headers":
			add(KindText, key+".*")
		case "tls":
			for _, name := range within(key, tlsKeys()) {
				if name == "tls.insecure_skip_verify" {
					add(KindBool, name)
				} else {
					add(KindText, name)
				}
			}
		case "enabled", "skip_preflight":
			add(KindBool, key)
		case "connect_timeout", "timeout", "max_timeout", "wait", "session_wait", "keepalive":
			add(KindDuration, key)
		case "retry":
			add(KindNumber, "retry.initial", "retry.reconnect")
			add(KindDuration, "retry.park_interval", "retry.max_backoff")
		case "breaker":
			add(KindNumber, "breaker.threshold")
			add(KindDuration, "breaker.cooldown")
		case "tools":
			add(KindList, "tools.include", "tools.exclude")
		case "health":
			add(KindText, "health.tool")
			add(KindJSON, "health.args", "health.args.*")
			for _, name := range within("health.expect", expectKeys()) {
				switch name {
				case "health.expect.is_error":
					add(KindBool, name)
				case "health.expect.max_ms":
					add(KindNumber, name)
				case "health.expect.equals":
					add(KindJSON, name)
				default:
					add(KindText, name)
				}
			}
		case "smoke":
			add(KindJSON, key)
		default:
			add(KindText, key)
		}
	}
	return keys
}

// FindKey returns the key that a name means: "env.TOKEN" is one below "env.*".
func FindKey(name string) (Key, bool) {
	for _, k := range Keys() {
		stem, all := strings.CutSuffix(k.Name, "*")
		if k.Name == name || all && strings.HasPrefix(name, stem) && len(name) > len(stem) {
			return k, true
		}
	}
	return Key{}, false
}

// path returns the keys on the way to one. Only the stem is split: the name of a header may hold a dot.
func (k Key) path(name string) []string {
	stem, all := strings.CutSuffix(k.Name, ".*")
	if !all {
		return strings.Split(name, ".")
	}
	return append(strings.Split(stem, "."), strings.TrimPrefix(name, stem+"."))
}

// Setting is a key of an entry, and the value that it gets.
type Setting struct {
	// Key is the key with those around it: "connect_timeout", "env.TOKEN", "tls.ca_file".
	Key string
	// Value is a string, which is read as the key's kind wants it; a []string for a list; a json.RawMessage for any value;
	// or nil, which removes the key.
	Value any
}

// Set changes single keys of the entry of that name, all or none, and leaves the rest as it is written. A key that comes
// from an anchor is set in the entry alone; one that comes from a merge key (<<) can be overridden and not be removed. The
// entry must be valid afterwards. The error for a name that is not there is a *NotFoundError.
func (d *Document) Set(name string, settings ...Setting) error {
	if !d.Has(name) {
		return d.cfg.NotFound(name)
	}
	return d.change(name, func(next *Document) error {
		// What is set comes before what is removed: an entry must not be empty in between.
		for _, removing := range []bool{false, true} {
			for _, s := range settings {
				if (s.Value == nil) != removing {
					continue
				}
				if err := next.setKey(name, s); err != nil {
					return err
				}
			}
		}
		s, _ := next.cfg.Server(name)
		return withoutPlaces(s.Err)
	})
}

// setKey does one setting.
func (d *Document) setKey(name string, s Setting) error {
	key, known := FindKey(s.Key)
	if !known {
		return unknownKey(name, s.Key)
	}
	path := append([]string{"servers", name}, key.path(s.Key)...)
	if s.Value == nil {
		return d.unset(name, s.Key, path)
	}
	value, err := key.node(s.Value)
	if err != nil {
		err.Server, err.Key = name, s.Key
		return err
	}
	return d.set(value, path...)
}

// unset removes a key, and the mapping that it leaves empty.
func (d *Document) unset(name, key string, path []string) error {
	remove := path
	for len(remove) > 3 {
		_, parent := keyAt(d.tree, remove[:len(remove)-1])
		if parent == nil || parent.Kind != yaml.MappingNode || len(parent.Content) != 2 {
			break
		}
		remove = remove[:len(remove)-1]
	}
	before, _ := d.cfg.Server(name)
	if err := d.set(nil, remove...); err != nil {
		return err
	}
	after, _ := d.cfg.Server(name)
	if _, still := after.Sources[path[2]]; still && sameEntry(before, after) {
		return &Error{
			File: d.name, Server: name, Key: key, Message: "comes from an anchor or a merge key (<<), which other entries share",
			Hint: "give it another value, or remove it there by hand",
		}
	}
	return nil
}

// node returns the value of the kind.
func (k Key) node(value any) (*yaml.Node, *Error) {
	switch value := value.(type) {
	case []string:
		return listNode(value), nil
	case json.RawMessage:
		if !json.Valid(value) {
			return nil, &Error{Message: "is not JSON"}
		}
		return jsonNode(value), nil
	case string:
		return k.textNode(value)
	}
	return nil, &Error{Message: fmt.Sprintf("cannot be set to a %T", value)}
}

// textNode reads text as the kind wants it.
func (k Key) textNode(value string) (*yaml.Node, *Error) {
	switch k.Kind {
	case KindBool:
		switch strings.ToLower(value) {
		case "true", "yes", "on":
			return boolNode(true), nil
		case "false", "no", "off":
			return boolNode(false), nil
		}
		return nil, &Error{Message: fmt.Sprintf("want true or false, found %q", value)}
	case KindDuration:
		if k.Name == "keepalive" && value == wordOff {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagString, Value: wordOff}, nil
		}
		d, err := ParseDuration(value)
		if err != nil {
			return nil, &Error{Message: err.Error()}
		}
		if _, bare := bareNumber(value); bare {
			value = formatDuration(d)
		}
		return textNode(value), nil
	case KindNumber:
		if value == "" || strings.Trim(value, "0123456789") != "" {
			return nil, &Error{Message: fmt.Sprintf("want a whole number, found %q", value)}
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagInt, Value: value}, nil
	case KindList:
		if k.Name == "inherit_env" && (value == "true" || value == "false") {
			return boolNode(value == "true"), nil
		}
		return listNode([]string{value}), nil
	case KindJSON:
		if json.Valid([]byte(value)) {
			return jsonNode(json.RawMessage(value)), nil
		}
		return textNode(value), nil
	case KindText:
	}
	if k.Name == "protocol" {
		return entryNode(Server{Protocol: value, Enabled: true}).Content[1], nil
	}
	return textNode(value), nil
}

// unknownKey is the error for a key that no entry has.
func unknownKey(server, name string) *Error {
	var known []string
	for _, k := range Keys() {
		known = append(known, strings.TrimSuffix(k.Name, ".*"))
	}
	e := &Error{Server: server, Key: name, Message: "unknown key"}
	if near := Near(name, known); len(near) > 0 {
		e.Hint = didYouMean(near)
	} else if e.Hint = entryHint(name); e.Hint == "" {
		e.Hint = "mcpctl help config"
	}
	if k := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name+".") }); k >= 0 {
		e.Message, e.Hint = "is a mapping, whose keys are set one by one", "for instance "+known[k]
	}
	if name == "env" || name == "headers" {
		e.Message, e.Hint = "is a mapping, whose keys are set one by one", "write "+name+".NAME"
	}
	return e
}

// withoutPlaces returns what is wrong with an entry that is not in the file: its lines would lead nowhere.
func withoutPlaces(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs := slices.Clone(joined.Unwrap())
		for i, e := range errs {
			errs[i] = withoutPlaces(e)
		}
		return errors.Join(errs...)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		bare := *e
		bare.File, bare.Line, bare.Column = "", 0, 0
		return &bare
	}
	return err
}
