package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// entryKeys returns the keys of an entry, in the order in which they are written.
func entryKeys() []string {
	return []string{
		"command", "args", "env", "inherit_env", "cwd", "url", "headers", "auth", "oauth", "tls", "proxy", "transport", "protocol",
		"enabled", "connect_timeout", "timeout", "max_timeout", "wait", "session_wait", "keepalive",
		"retry", "breaker", "skip_preflight", "tools", "health", "smoke",
	}
}

// server reads one entry. A server without a usable name concerns the entry alone too: it can be listed, not used.
func (p *parser) server(f field) Server {
	s := Server{Name: f.name, Enabled: true, Dir: p.dir}
	e := &entry{scope: p.scope(f.name), key: f.key}
	if f.value.Kind == yaml.MappingNode {
		for _, f := range e.fields(f.value, "") {
			e.read(&s, f)
		}
		p.inherit(&s)
	} else {
		e.fail(f.value, "", "want a mapping with command or url, found "+describe(f.value), "")
	}
	e.check(&s)
	s.Transport = impliedTransport(s)
	s.Err = e.err()
	return s
}

// inherit fills in the file's defaults where the entry says nothing.
func (p *parser) inherit(s *Server) {
	for key, source := range p.defaultSources {
		if _, own := s.Sources[key]; own {
			continue
		}
		s.Set(key, source)
		switch key {
		case "connect_timeout":
			s.ConnectTimeout = p.defaults.ConnectTimeout
		case "timeout":
			s.Timeout = p.defaults.Timeout
		}
	}
}

// impliedTransport returns the transport that s has when it says no more than it says.
func impliedTransport(s Server) Transport {
	switch {
	case s.Command != "" && (s.Transport == "" || s.Transport == TransportAuto):
		return TransportStdio
	case s.Transport == "":
		return TransportAuto
	}
	return s.Transport
}

// entry reads the keys of one server.
type entry struct {
	*scope
	// key is the server's name in the file.
	key *yaml.Node
	// at is where each key is written, nested ones as "headers.Authorization" and "args[1]".
	at places
	// written are the names that another client has for keys of ours.
	written map[string]string
	// after are what is still to be done when the values of another client's entry have become templates.
	after []func(*Server)
	// depth is how many values writeJSON is in, and tooDeep whether they were too many once.
	depth   int
	tooDeep bool
}

// places are where keys are written. Most entries have a few, which are looked through; an entry of thousands has an index.
type places struct {
	list  []keyPlace
	index map[string]int
}

type keyPlace struct {
	key  string
	node *yaml.Node
}

// fewPlaces is how many are looked through.
const fewPlaces = 32

// set notes where a key is written.
func (p *places) set(key string, node *yaml.Node) {
	if at := p.find(key); at >= 0 {
		p.list[at].node = node
		return
	}
	if p.list == nil {
		const usual = 8
		p.list = make([]keyPlace, 0, usual)
	}
	p.list = append(p.list, keyPlace{key, node})
	switch {
	case p.index != nil:
		p.index[key] = len(p.list) - 1
	case len(p.list) > fewPlaces:
		p.index = make(map[string]int, 2*len(p.list))
		for i, known := range p.list {
			p.index[known.key] = i
		}
	}
}

// get returns where a key is written, nil if it is nowhere.
func (p *places) get(key string) *yaml.Node {
	if at := p.find(key); at >= 0 {
		return p.list[at].node
	}
	return nil
}

// find returns the number of a key, -1 if it is nowhere.
func (p *places) find(key string) int {
	if p.index != nil {
		if at, found := p.index[key]; found {
			return at
		}
		return -1
	}
	return slices.IndexFunc(p.list, func(known keyPlace) bool { return known.key == key })
}

// read reads one key into s.
func (e *entry) read(s *Server, f field) {
	e.at.set(f.name, f.key)
	switch f.name {
	case "command":
		s.Command = e.text(f)
	case "args":
		s.Args = e.literals(f)
	case "env":
		s.Env = e.literalMap(f)
	case "inherit_env":
		e.inheritEnv(f, &s.InheritEnv)
	case "cwd":
		s.Cwd = e.text(f)
	case "url":
		s.URL = e.text(f)
	case "headers":
		s.Headers = e.literalMap(f)
	case "auth":
		e.auth(s, f)
	case "oauth":
		e.oauth(s, f)
	case "tls":
		e.tls(s, f)
	case "proxy":
		s.Proxy = e.text(f)
	case "transport":
		if word := e.text(f); word != "" {
			transport, err := ParseTransport(word)
			if err != nil {
				e.fail(f.value, f.name, err.Error(), "")
			}
			s.Transport = transport
		}
	case "protocol":
		// A date is what a version looks like to YAML.
		s.Protocol = e.text(f, tagTimestamp)
	case "enabled":
		s.Enabled = e.boolean(f, true)
	case "connect_timeout":
		e.duration(f, f.name, &s.ConnectTimeout)
	case "timeout":
		e.duration(f, f.name, &s.Timeout)
	case "max_timeout":
		e.duration(f, f.name, &s.MaxTimeout)
	case "wait":
		e.duration(f, f.name, &s.Wait)
	case "session_wait":
		e.duration(f, f.name, &s.SessionWait)
	case "keepalive":
		e.keepalive(s, f)
	case "retry":
		e.retry(s, f)
	case "breaker":
		e.breaker(s, f)
	case "skip_preflight":
		s.SkipPreflight = e.boolean(f, false)
	case "tools":
		e.tools(s, f)
	case "health":
		e.health(s, f)
	case "smoke":
		e.smoke(s, f)
	default:
		e.unknown(f, f.name, entryKeys(), entryHint(f.name))
		return
	}
	s.Set(f.name, e.source("entry", f.key))
}

// entryHint translates a key that other clients use and that does not resemble ours.
func entryHint(key string) string {
	switch key {
	case "type":
		return `write "transport"`
	case "serverUrl", "httpUrl", "uri", "endpoint":
		return `write "url"`
	case "cmd":
		return `write "command"`
	case "environment":
		return `write "env"`
	case "ca_file", "cert_file", "key_file", "server_name", "insecure_skip_verify":
		return `write it below "tls"`
	case "disabled":
		return `write "enabled", with the opposite value`
	}
	return ""
}

// text reads a key whose value must be text, or have one of the tags in also.
func (e *entry) text(f field, also ...string) string {
	if f.value.Kind != yaml.ScalarNode || !slices.Contains(append(also, tagString), f.value.ShortTag()) {
		e.fail(f.value, f.name, "want text, found "+describe(f.value), "")
		return ""
	}
	if f.value.Value == "" {
		e.fail(f.value, f.name, "is empty", "give it a value, or remove the key")
	}
	return f.value.Value
}

// literal reads a scalar as it is written: 8080 and true are text to a command line.
func (e *entry) literal(n *yaml.Node, key string) (string, bool) {
	if n.Kind == yaml.ScalarNode && slices.Contains([]string{tagString, tagInt, tagFloat, tagBool, tagTimestamp, tagMerge}, n.ShortTag()) {
		return n.Value, true
	}
	hint := ""
	if isNull(n) {
		hint = `write "" for empty text`
		if n.Value != "" {
			hint = fmt.Sprintf("put quotes around %s if that text is meant", n.Value)
		}
	}
	e.fail(n, key, "want text, found "+describe(n), hint)
	return "", false
}

// literals reads a list of texts.
func (e *entry) literals(f field) []string {
	if f.value.Kind != yaml.SequenceNode {
		e.fail(f.value, f.name, "want a list, found "+describe(f.value), "write [first, second]")
		return nil
	}
	return e.items(f.value, f.name)
}

// items reads the elements of a list; path is the list's key.
func (e *entry) items(list *yaml.Node, path string) []string {
	var words []string
	for i, item := range list.Content {
		if e.left--; e.left < 0 {
			return nil
		}
		key := indexed(path, i)
		e.at.set(key, item)
		word, _ := e.literal(follow(item), key)
		words = append(words, word)
	}
	return words
}

// literalMap reads a mapping of texts.
func (e *entry) literalMap(f field) map[string]string {
	if f.value.Kind != yaml.MappingNode {
		e.fail(f.value, f.name, "want a mapping, found "+describe(f.value), "write {NAME: value}")
		return nil
	}
	m := map[string]string{}
	for _, member := range e.fields(f.value, f.name) {
		key := below(f.name, member.name)
		e.at.set(key, member.key)
		if value, ok := e.literal(member.value, key); ok {
			m[member.name] = value
		}
	}
	return m
}

// boolean reads true or false.
func (e *entry) boolean(f field, otherwise bool) bool {
	if f.value.Kind == yaml.ScalarNode && f.value.ShortTag() == tagBool {
		switch strings.ToLower(f.value.Value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	e.fail(f.value, f.name, "want true or false, found "+describe(f.value), "")
	return otherwise
}

// inheritEnv reads true, false, or a list of names.
func (e *entry) inheritEnv(f field, target *InheritEnv) {
	switch {
	case f.value.Kind == yaml.SequenceNode:
		target.Names = e.items(f.value, f.name)
	case f.value.ShortTag() == tagBool:
		target.All = e.boolean(f, false)
	default:
		e.fail(f.value, f.name, "want true, false or a list of names, found "+describe(f.value), "")
	}
}

// tools reads the filter.
func (e *entry) tools(s *Server, f field) {
	for _, f := range e.fields(f.value, f.name) {
		key := below("tools", f.name)
		e.at.set(key, f.key)
		switch f.name {
		case "include":
			s.Tools.Include = e.literals(field{key, f.key, f.value})
			if f.value.Kind == yaml.SequenceNode && len(f.value.Content) == 0 {
				e.fail(f.value, key, "is empty", "remove it to allow all tools, or set enabled: false")
			}
		case "exclude":
			s.Tools.Exclude = e.literals(field{key, f.key, f.value})
		default:
			e.unknown(f, key, []string{"include", "exclude"}, "")
			continue
		}
		s.Set(key, e.source("entry", f.key))
	}
}

// check adds what is wrong with the values themselves, where reading them has not found an error already.
func (e *entry) check(s *Server) {
	problems := append(s.ownNameProblems(), append(s.problems(), s.writtenProblems()...)...)
	if len(problems) == 0 {
		return
	}
	failed := map[string]bool{}
	for _, err := range e.errs {
		failed[err.Key] = true
	}
	broken := len(e.errs) > 0
	for _, p := range problems {
		key := p.key
		if written, ok := e.written[key]; ok {
			key = written
		}
		// With something else wrong, what seems to be missing may only be misspelt.
		if failed[key] || p.missing && broken {
			continue
		}
		e.fail(e.place(p.key), key, p.message, p.hint)
	}
}

// place returns where a key is written, or the server's name for what is written nowhere.
func (e *entry) place(key string) *yaml.Node {
	if at := e.at.get(key); at != nil {
		return at
	}
	return e.key
}
