package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// How another client's file is read.
//
// It is walked as our own is, with the same scopes: what is wrong with the file is an error, and what is wrong inside
// one entry is in its Err. Each key of an entry has a reader in a table, which the format may change; a key without one
// is kept as a note. The values become templates of ours (see syntax.go), so that everything after the reading,
// expansion and masking above all, is the same for all entries.

// Foreign is what there is to know of an entry that came from another client's file.
type Foreign struct {
	// Format is the client's.
	Format Format
	// Notes are what the file says of the entry and mcpctl has no place for.
	Notes []Note
	// Placeholders are what means something to the client alone.
	Placeholders []Placeholder
	// EnvFile is a file with further variables for a command, "" for none. What the entry sets itself wins.
	EnvFile string
	// Project is the directory that ${workspaceFolder} stands for, "" if there is none.
	Project string
	// File is where the entry stands.
	File string

	// dir is the directory of the client's file, as Server.Dir is that of ours.
	dir string
	// startLimit is the entry's own limit for the start.
	startLimit time.Duration
	// lines are where the keys of the entry stand, nested ones as "env.TOKEN", and the entry itself as "".
	lines map[string]int
}

// Note is a key in another client's file that mcpctl has no place for.
type Note struct {
	// Line is where the key stands.
	Line int
	Key  string
	// Message says what becomes of it.
	Message string
}

// String returns the note in a line: line 7: key "trust": has no place here, and is not used.
func (n Note) String() string {
	if n.Key == "" {
		return fmt.Sprintf("line %d: %s", n.Line, n.Message)
	}
	return fmt.Sprintf("line %d: key %q: %s", n.Line, n.Key, n.Message)
}

// notUsed is what becomes of most keys that we have no place for.
const notUsed = "mcpctl has no place for it, and does not use it"

// language is what a file is written in.
type language string

const (
	languageJSON language = "JSON"
	languageYAML language = "YAML"
	languageTOML language = "TOML"
)

// in reports whether the client's file can be written in a language. JSON is what most have, and then YAML is read alike.
func (f Format) in(l language) bool {
	if f.language == "" {
		return l == languageJSON || l == languageYAML
	}
	return l == f.language
}

// recognise returns the format of a file by its content: nil for our own. Where several clients have the same key, the
// path decides, and then the keys that only one of them has.
func recognise(file string, root *yaml.Node, written language) (*Format, *Error) {
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, nil
	}
	formats := slices.DeleteFunc(Formats(), func(f Format) bool { return !f.in(written) })
	own := written == languageYAML || written == languageJSON && valueOf(root, "version") != nil
	var keys []field
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], follow(root.Content[i+1])
		theirs := slices.ContainsFunc(formats, func(f Format) bool { return f.Key == key.Value && (!f.common || holdsServers(value)) })
		if (theirs || key.Value == "servers" && written != languageTOML) && !slices.ContainsFunc(keys, func(f field) bool { return f.name == key.Value }) {
			keys = append(keys, field{key.Value, key, value})
		}
	}
	if len(keys) > 1 {
		a, b := keys[0], keys[1]
		return nil, &Error{
			File: file, Line: b.key.Line,
			Message: fmt.Sprintf("has the keys %q and %q, in lines %d and %d, which are those of different formats", a.name, b.name, a.key.Line, b.key.Line),
			Hint:    "keep the servers below one of them",
		}
	}
	byPath := slices.IndexFunc(formats, func(f Format) bool { return f.is(absolute(file)) })
	if len(keys) == 0 {
		// A file of theirs that has no servers yet. What is called as ours is, and has a key of ours, is ours.
		if byPath >= 0 && (!own || written == languageYAML && valueOf(root, "defaults") == nil) {
			return &formats[byPath], nil
		}
		return nil, nil
	}
	key := keys[0].name
	if key == "servers" && own {
		return nil, nil
	}
	if byPath >= 0 && formats[byPath].Key == key {
		return &formats[byPath], nil
	}
	formats = slices.DeleteFunc(formats, func(f Format) bool { return f.Key != key })
	if isList := func(f Format) bool { return f.list }; keys[0].value.Kind == yaml.SequenceNode && slices.ContainsFunc(formats, isList) {
		formats = slices.DeleteFunc(formats, func(f Format) bool { return !f.list })
	} else {
		formats = slices.DeleteFunc(formats, isList)
	}
	var last *Format
	for i, f := range formats {
		last = &formats[i]
		if slices.ContainsFunc(f.marks, func(mark string) bool { return hasMark(root, key, mark) }) {
			return last, nil
		}
	}
	return last, nil
}

// holdsServers reports whether a value, whose key other programs have for other things, holds servers: mappings with one
// of the keys that all servers have, or such ones below "servers".
func holdsServers(value *yaml.Node) bool {
	if value.Kind != yaml.MappingNode {
		return false
	}
	for i := 1; i < len(value.Content); i += 2 {
		entry := follow(value.Content[i])
		if entry.Kind != yaml.MappingNode {
			continue
		}
		for _, key := range []string{"type", "command", "url", "cmd", "uri"} {
			if valueOf(entry, key) != nil {
				return true
			}
		}
		if value.Content[i-1].Value == "servers" && value.Content[i] == entry && holdsServers(entry) {
			return true
		}
	}
	return false
}

// hasMark reports whether a key is in the file or in one of its entries.
func hasMark(root *yaml.Node, servers, mark string) bool {
	if valueOf(root, mark) != nil {
		return true
	}
	entries := valueOf(root, servers)
	if entries == nil || entries.Kind != yaml.MappingNode {
		return false
	}
	for i := 1; i < len(entries.Content); i += 2 {
		if entry := follow(entries.Content[i]); entry.Kind == yaml.MappingNode && valueOf(entry, mark) != nil {
			return true
		}
	}
	return false
}

func absolute(file string) string {
	if file == "-" {
		return file
	}
	if path, err := filepath.Abs(file); err == nil {
		return path
	}
	return file
}

// LoadClient returns the servers in another client's file, which must be there. Where a client reads a file that is called
// .jsonc, too, that one is taken if the other is not there; Path is the one that was read.
func LoadClient(path string, format Format) (*Config, error) {
	data, err := readFile(path)
	if other := path + "c"; errors.Is(err, fs.ErrNotExist) && format.comments && strings.HasSuffix(path, ".json") {
		if data, err = readFile(other); err == nil {
			path = other
		}
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &Error{File: path, Message: format.Title + " has no such file here", Err: fs.ErrNotExist}
		}
		return nil, err
	}
	return parseClient(path, data, format)
}

// parseClient reads the contents of another client's file.
func parseClient(path string, data []byte, format Format) (*Config, error) {
	if len(strings.TrimSpace(string(data))) == 0 {
		return &Config{Path: path, Format: &format}, nil
	}
	parse := parseJSON
	switch format.language {
	case languageTOML:
		parse = parseTOML
	case languageYAML:
		parse = parseTree
	case languageJSON:
	}
	root, err := parse(path, data)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return &Config{Path: path, Format: &format}, nil
	}
	return readForeign(path, root, format)
}

// readForeign makes a Config of the tree of another client's file.
func readForeign(name string, root *yaml.Node, format Format) (*Config, error) {
	cfg := &Config{Path: name, Format: &format}
	p := newParser(name, format.Key, root)
	top := p.scope("")
	r := foreignReader{parser: p, format: format, project: format.project(name), questions: map[string]string{}}
	if name != "" && name != "-" {
		r.dir = filepath.Dir(absolute(name))
	}
	var servers, groups *field
	for _, f := range top.fields(root, "") {
		switch {
		case f.name == format.Key:
			servers = &f
		case f.name == "inputs" && format.syntax.input:
			r.readInputs(f.value)
		case format.groups != "" && f.name == format.groups:
			groups = &f
		}
	}
	if servers != nil && !isNull(servers.value) {
		for _, f := range r.entries(cfg, top, servers.value) {
			if format.elsewhere != nil {
				if why := format.elsewhere(f.value); why != "" {
					cfg.Notes = append(cfg.Notes, Note{Line: f.key.Line, Message: fmt.Sprintf("the server %q is left out: %s", f.name, why)})
					continue
				}
			}
			cfg.Servers = append(cfg.Servers, r.server(f, r.project))
		}
	}
	if servers == nil {
		for _, f := range top.fields(root, "") {
			if near := Near(f.name, []string{format.Key}); len(near) > 0 {
				cfg.Notes = append(cfg.Notes, Note{Line: f.key.Line, Key: f.name, Message: format.Title + " does not know it; " + didYouMean(near)})
			}
		}
	}
	if groups != nil && groups.value.Kind == yaml.MappingNode {
		r.readGroups(cfg, top, groups.value)
	}
	if p.left < 0 {
		return nil, &Error{File: name, Message: "too many values come through aliases", Hint: "write them out"}
	}
	if err := top.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// entries returns the entries below the client's key, by their names.
func (r *foreignReader) entries(cfg *Config, top *scope, value *yaml.Node) []field {
	if !r.format.list {
		if inner := valueOf(value, r.format.nested); r.format.nested != "" && value.Kind == yaml.MappingNode && inner != nil && holdsServers(value) &&
			valueOf(follow(inner), "type") == nil {
			value = follow(inner)
		}
		return top.fields(value, r.format.Key)
	}
	if value.Kind != yaml.SequenceNode {
		top.fail(value, r.format.Key, "want a list, found "+describe(value), "write - name: NAME for each server")
		return nil
	}
	var found []field
	for _, item := range value.Content {
		if top.left--; top.left < 0 {
			return nil
		}
		item := follow(item)
		if item.Kind != yaml.MappingNode {
			top.fail(item, r.format.Key, "want a mapping for each server, found "+describe(item), "write - name: NAME")
			continue
		}
		name := valueOf(item, "name")
		if name != nil {
			name = follow(name)
		}
		switch {
		case name == nil || name.Kind != yaml.ScalarNode || name.Value == "":
			why := "it has no name"
			if valueOf(item, "uses") != nil {
				why = "it stands elsewhere, and is named here only (\"uses\")"
			}
			cfg.Notes = append(cfg.Notes, Note{Line: item.Line, Message: "a server is left out: " + why})
		case slices.ContainsFunc(found, func(f field) bool { return f.name == name.Value }):
			cfg.Notes = append(cfg.Notes, Note{Line: name.Line, Message: fmt.Sprintf("the server %q is left out: another one has that name", name.Value)})
		default:
			found = append(found, field{name.Value, name, item})
		}
	}
	return found
}

// foreignReader reads the entries of one file.
type foreignReader struct {
	*parser
	format  Format
	project string
	// dir is where the file is, "" if that is not known.
	dir string
	// questions are what the client asks, by the id of the input.
	questions map[string]string
}

// readInputs notes what is asked for.
func (r *foreignReader) readInputs(list *yaml.Node) {
	for _, item := range list.Content {
		item = follow(item)
		if item.Kind != yaml.MappingNode {
			continue
		}
		id, about := valueOf(item, "id"), valueOf(item, "description")
		if id != nil && about != nil {
			r.questions["input:"+id.Value] = about.Value
		}
	}
}

// readGroups reads the servers of projects. Of two with one name the first is taken.
func (r *foreignReader) readGroups(cfg *Config, top *scope, groups *yaml.Node) {
	for _, g := range top.fields(groups, r.format.groups) {
		if g.value.Kind != yaml.MappingNode {
			continue
		}
		servers := valueOf(g.value, r.format.Key)
		if servers == nil || servers.Kind != yaml.MappingNode {
			continue
		}
		disabled := textsOf(valueOf(g.value, r.format.disabled))
		for _, f := range top.fields(servers, r.format.Key) {
			if _, taken := cfg.Server(f.name); taken {
				cfg.Notes = append(cfg.Notes, Note{
					Line: f.key.Line, Message: fmt.Sprintf("the server %q of the project %s is left out: another one has that name", f.name, g.name),
				})
				continue
			}
			s := r.server(f, g.name)
			if slices.Contains(disabled, f.name) {
				s.Enabled = false
			}
			cfg.Servers = append(cfg.Servers, s)
		}
	}
}

// textsOf returns the texts in a list, as far as they are there.
func textsOf(list *yaml.Node) []string {
	if list == nil {
		return nil
	}
	var texts []string
	for _, item := range follow(list).Content {
		texts = append(texts, item.Value)
	}
	return texts
}

// server reads one entry.
func (r *foreignReader) server(f field, project string) Server {
	s := Server{Name: f.name, Enabled: true, Foreign: &Foreign{Format: r.format, Project: project, File: r.file, dir: directoryOf(r.file)}}
	e := &entry{scope: r.scope(f.name), key: f.key, written: map[string]string{}}
	if f.value.Kind == yaml.MappingNode {
		for _, f := range e.fields(f.value, "") {
			read, known := r.format.keys[f.name]
			if !known {
				read, known = foreignKeys()[f.name]
			}
			switch {
			case !known && slices.Contains(ownKeys(), f.name):
				e.read(&s, f)
			case !known:
				e.note(&s, f.key, f.name, notUsed)
			case !isNull(f.value):
				read(e, &s, f)
			}
		}
	} else {
		e.fail(f.value, "", "want an object with command or url, found "+describe(f.value), "")
	}
	if r.format.finish != nil {
		r.format.finish(e, &s)
	}
	s.Foreign.lines = e.lines()
	r.templates(&s)
	for _, apply := range e.after {
		apply(&s)
	}
	e.check(&s)
	s.Transport = impliedTransport(s)
	s.Err = e.err()
	return s
}

// lines returns where the keys of the entry stand.
func (e *entry) lines() map[string]int {
	lines := map[string]int{"": e.key.Line}
	for _, p := range e.at.list {
		lines[p.key] = p.node.Line
	}
	return lines
}

// ownKeys are keys of ours that no client has: whoever writes one into another client's file means it for mcpctl.
func ownKeys() []string {
	return []string{"connect_timeout", "max_timeout", "session_wait", "inherit_env", "skip_preflight"}
}

// note keeps a key that we have no place for.
func (e *entry) note(s *Server, at *yaml.Node, key, message string) {
	s.Foreign.Notes = append(s.Foreign.Notes, Note{Line: at.Line, Key: key, Message: message})
}

// templates turns the values of an entry into templates of ours.
func (r *foreignReader) templates(s *Server) {
	own := func(place, text string) string {
		template, found := r.format.syntax.template(text, r.dir)
		for _, p := range found {
			p.Place = place
			p.About = r.questions[strings.TrimSuffix(strings.TrimPrefix(p.Text, "${"), "}")]
			s.Foreign.Placeholders = append(s.Foreign.Placeholders, p)
		}
		if r.format.NoHome && (text == "~" || strings.HasPrefix(text, "~/")) {
			s.Foreign.Placeholders = append(s.Foreign.Placeholders, Placeholder{Text: "~", Place: place, Kind: PlaceholderLiteral})
		}
		return template
	}
	s.Command = own("command", s.Command)
	for i, arg := range s.Args {
		s.Args[i] = own(fmt.Sprintf("args[%d]", i), arg)
	}
	for _, name := range sortedNames(s.Env) {
		s.Env[name] = own(below("env", name), s.Env[name])
	}
	s.Cwd = own("cwd", s.Cwd)
	s.URL = own("url", s.URL)
	for _, name := range sortedNames(s.Headers) {
		s.Headers[name] = own(below("headers", name), s.Headers[name])
	}
	s.Foreign.EnvFile = own("envFile", s.Foreign.EnvFile)
	s.TLS.CAFile = own("tls.ca_file", s.TLS.CAFile)
	s.TLS.CertFile = own("tls.cert_file", s.TLS.CertFile)
	s.TLS.KeyFile = own("tls.key_file", s.TLS.KeyFile)
}

// foreignNameProblems says why the name of another client's entry cannot be used at all. It may hold more characters
// than the names of ours.
func foreignNameProblems(name string) []problem {
	switch {
	case name == "":
		return []problem{{message: "the name of a server is empty", hint: "give it one"}}
	case strings.ContainsFunc(name, unicode.IsControl):
		return []problem{{message: "the name of a server must not hold control characters", hint: "give it another one"}}
	}
	return nil
}

// foreignKey reads one key of an entry.
type foreignKey func(e *entry, s *Server, f field)

// foreignKeys are the keys that the entries of all clients may have.
func foreignKeys() map[string]foreignKey {
	return map[string]foreignKey{
		"command": func(e *entry, s *Server, f field) { e.set(s, f, "command", func() { s.Command = e.text(f) }) },
		"args":    func(e *entry, s *Server, f field) { e.set(s, f, "args", func() { s.Args = e.literals(f) }) },
		"env":     func(e *entry, s *Server, f field) { e.set(s, f, "env", func() { s.Env = e.literalMap(f) }) },
		"cwd":     func(e *entry, s *Server, f field) { e.set(s, f, "cwd", func() { s.Cwd = e.text(f) }) },
		"headers": func(e *entry, s *Server, f field) { e.set(s, f, "headers", func() { s.Headers = e.literalMap(f) }) },
		"envFile": func(e *entry, s *Server, f field) {
			e.set(s, f, "envFile", func() { s.Foreign.EnvFile = e.text(f) })
		},
		"url":           urlOver(""),
		"serverUrl":     urlOver(""),
		"httpUrl":       urlOver(TransportHTTP),
		"type":          readType,
		"transport":     readType,
		"transportType": readType,
		"disabled": func(e *entry, s *Server, f field) {
			e.set(s, f, "enabled", func() { s.Enabled = !e.boolean(f, false) })
		},
		"enabled": func(e *entry, s *Server, f field) {
			e.set(s, f, "enabled", func() { s.Enabled = e.boolean(f, true) })
		},
		"timeout": func(e *entry, s *Server, f field) {
			e.note(s, f.key, f.name, "it is not known whether it is seconds or milliseconds, so it is not used; to set one: --timeout")
		},
		"includeTools":  func(e *entry, s *Server, f field) { e.filter(s, f, &s.Tools.Include) },
		"excludeTools":  func(e *entry, s *Server, f field) { e.filter(s, f, &s.Tools.Exclude) },
		"disabledTools": func(e *entry, s *Server, f field) { e.filter(s, f, &s.Tools.Exclude) },
	}
}

// set notes where a key of ours is written, under which name, and reads it.
func (e *entry) set(s *Server, f field, key string, read func()) {
	e.at.set(key, f.key)
	if f.name != key {
		e.written[key] = f.name
	}
	read()
	s.Set(key, e.source("entry", f.key))
}

// urlOver reads a URL that is spoken to over one transport; "" leaves that open.
func urlOver(transport Transport) foreignKey {
	return func(e *entry, s *Server, f field) {
		if s.URL != "" {
			e.fail(f.key, f.name, "a second URL", "keep one of them")
			return
		}
		e.set(s, f, "url", func() { s.URL = e.text(f) })
		if transport != "" && s.Transport == "" {
			s.Transport = transport
		}
	}
}

// readType reads the kind of a server.
func readType(e *entry, s *Server, f field) {
	word := e.text(f)
	switch word {
	case "":
		return
	case "local":
		word = "stdio"
	case "remote":
		word = "auto"
	}
	e.set(s, f, "transport", func() {
		transport, err := ParseTransport(word)
		if err != nil {
			e.fail(f.value, f.name, fmt.Sprintf("%q is not a transport; write stdio, http or sse", word), "")
		}
		s.Transport = transport
	})
}

// filter reads names of tools. They are no globs.
func (e *entry) filter(s *Server, f field, globs *[]string) {
	key := "tools.include"
	if globs == &s.Tools.Exclude {
		key = "tools.exclude"
	}
	e.set(s, f, key, func() {
		for _, name := range e.literals(f) {
			*globs = append(*globs, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name))
		}
		// Theirs excludes what both name, and ours includes it.
		s.Tools.Include = slices.DeleteFunc(s.Tools.Include, func(name string) bool { return slices.Contains(s.Tools.Exclude, name) })
	})
}

// milliseconds1 and seconds1 read a limit for requests in the unit of the client.
func milliseconds1(e *entry, s *Server, f field) { e.limit(s, f, time.Millisecond) }
func seconds1(e *entry, s *Server, f field)      { e.limit(s, f, time.Second) }

// millisecondsStart reads a limit for requests that is one for the start, too.
func millisecondsStart(e *entry, s *Server, f field) {
	e.limit(s, f, time.Millisecond)
	s.Foreign.startLimit = s.Timeout
}

// millisecondsConnect and secondsConnect read a limit for the start alone.
func millisecondsConnect(e *entry, s *Server, f field) { e.startLimit(s, f, time.Millisecond) }
func secondsConnect(e *entry, s *Server, f field)      { e.startLimit(s, f, time.Second) }

// startLimit reads a limit for the start.
func (e *entry) startLimit(s *Server, f field, unit time.Duration) {
	e.amount(s, f, "connect_timeout", unit, &s.ConnectTimeout)
	s.Foreign.startLimit = s.ConnectTimeout
}

// limit reads a limit for requests.
func (e *entry) limit(s *Server, f field, unit time.Duration) {
	e.amount(s, f, "timeout", unit, &s.Timeout)
}

// amount reads a bare number of a unit.
func (e *entry) amount(s *Server, f field, key string, unit time.Duration, target *time.Duration) {
	e.set(s, f, key, func() {
		number, err := strconv.ParseFloat(f.value.Value, 64)
		most := float64(maxDuration) / float64(unit)
		name := map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit]
		switch {
		case f.value.Kind != yaml.ScalarNode || err != nil || math.IsNaN(number):
			e.fail(f.value, f.name, "want a number of "+name+", found "+describe(f.value), "")
		case number <= 0:
			e.fail(f.value, f.name, f.value.Value+": must be more than zero", "")
		case number > most:
			// Some write a very large number for no limit.
			*target = maxDuration
		default:
			*target = time.Duration(number * float64(unit))
		}
	})
}

// commandMapping reads a command that is text, or an object with path, args and env.
func commandMapping(e *entry, s *Server, f field) {
	if f.value.Kind != yaml.MappingNode {
		foreignKeys()["command"](e, s, f)
		return
	}
	for _, m := range e.fields(f.value, f.name) {
		switch m.name {
		case "path":
			e.set(s, m, "command", func() { s.Command = e.text(m) })
		case "args", "env":
			if !isNull(m.value) {
				foreignKeys()[m.name](e, s, m)
			}
		default:
			e.note(s, m.key, below(f.name, m.name), notUsed)
		}
	}
}

// zedExtension says that an entry is for a server that an extension of the editor starts: it says so, or holds nothing but
// settings for it.
func zedExtension(entry *yaml.Node) string {
	if entry.Kind != yaml.MappingNode {
		return ""
	}
	theirs := valueOf(entry, "settings") != nil && valueOf(entry, "command") == nil && valueOf(entry, "url") == nil
	if source := valueOf(entry, "source"); source != nil {
		theirs = source.Value == "extension"
	}
	if theirs {
		return "an extension of Zed starts it, with a command that stands nowhere here"
	}
	return ""
}

// zedSource reads who wrote the entry. What comes from an extension is left out before.
func zedSource(*entry, *Server, field) {}

// constants returns the values of the placeholders that stand for something here.
func (f *Foreign) constants(home string) map[string]string {
	if f == nil || !f.Format.syntax.editor {
		return nil
	}
	known := map[string]string{"pathSeparator": string(filepath.Separator)}
	if home != "" {
		known["userHome"] = home
	}
	if f.Project != "" {
		known["workspaceFolder"] = f.Project
		known["workspaceFolderBasename"] = path.Base(filepath.ToSlash(f.Project))
	}
	return known
}

// Value returns what a placeholder stands for here, if anything.
func (f *Foreign) Value(p Placeholder, home string) (string, bool) {
	value, ok := f.constants(home)[strings.TrimSuffix(strings.TrimPrefix(p.Text, "${"), "}")]
	return value, ok
}

// clone returns a copy that shares nothing with f.
func (f *Foreign) clone() *Foreign {
	if f == nil {
		return nil
	}
	c := *f
	c.Notes = slices.Clone(f.Notes)
	c.Placeholders = slices.Clone(f.Placeholders)
	return &c
}

// sortedNames returns the keys of a map in order.
func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
