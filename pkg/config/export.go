package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// How entries of ours are written into another client's file.
//
// Each entry becomes a tree in the client's words (see export_formats.go for what is known of each client), and the tree
// is spliced into the text, so that every byte outside it stays. What comes out is parsed again and must be the old tree
// with the entry in it; otherwise nothing is returned. Whatever an entry says and the client has no place for is told:
// the keys are counted against those that our own file would hold, so that a key that is new cannot be forgotten.

// MergeOptions say how entries are written into another client's file.
type MergeOptions struct {
	// Replace replaces entries of the same name that say something else; otherwise they are skipped.
	Replace bool
	// LiteralSecrets copies secrets that are written out. Otherwise they are an error.
	LiteralSecrets bool
	// Disabled are the names of disabled entries that are written even if the client has no way to switch them off.
	Disabled []string
	// Home is the user's directory, which takes the place of a leading ~; "" leaves it.
	Home string
}

// Merged is another client's file with entries of ours in it.
type Merged struct {
	// Text is the whole file.
	Text []byte
	// Added and Replaced are the names of the entries that are written.
	Added, Replaced []string
	// Skipped are those that are not.
	Skipped []Skipped
	// Losses are what the entries say and the client has no place for, or takes for something else.
	Losses []Loss
}

// Changed reports whether the file is another one now.
func (m Merged) Changed() bool { return len(m.Added)+len(m.Replaced) > 0 }

// Loss is a remark on one entry. Its Key is that of our own file.
type Loss struct {
	Server string
	Remark
}

// SkipReason says why an entry is not written.
type SkipReason string

// The reasons.
const (
	// SkipSame is an entry that is there already.
	SkipSame SkipReason = "same"
	// SkipDifferent is a name that another entry has.
	SkipDifferent SkipReason = "different"
	// SkipDisabled is a disabled entry, which the client would start.
	SkipDisabled SkipReason = "disabled"
	// SkipUnsupported is a kind of server that the client's file cannot hold.
	SkipUnsupported SkipReason = "unsupported"
)

// Skipped is an entry that is not written. Its Message says why, and what to do.
type Skipped struct {
	Name    string
	Reason  SkipReason
	Message string
}

// Writable returns the formats in which entries can be written.
func Writable() []Format {
	known := writers()
	return slices.DeleteFunc(Formats(), func(f Format) bool { _, ok := known[f.Name]; return !ok })
}

// Merge writes entries of ours into the text of the client's file; name is the file's in messages, and existing is nil
// for a file that is not there. All bytes outside the entries that are written stay as they are. The values of variables
// are never looked at. The error, an *Error, is for all entries: nothing is written then.
func (f Format) Merge(name string, existing []byte, servers []Server, o MergeOptions) (Merged, error) {
	w, ok := writers()[f.Name]
	if !ok {
		return Merged{}, &Error{File: name, Message: f.Title + "'s files are read, but not written"}
	}
	c := splitContent(existing)
	if strings.TrimSpace(c.text) == "" {
		c.text = w.dialect.empty
	}
	tree, err := f.tree(w.dialect, name, c.text)
	if err != nil {
		return Merged{}, err
	}
	var m Merged
	for _, s := range servers {
		if err := s.exportable(o); err != nil {
			return Merged{}, err
		}
		x := &exporter{format: f, writer: w, o: o, server: s, done: map[string]bool{}}
		old := entryIn(tree, f, s.Name)
		if old != nil {
			x.keepValues(name, old)
		}
		skipped := x.write()
		verb := &m.Added
		if skipped == nil && old != nil {
			verb = &m.Replaced
			skipped = x.compare(name, old)
		}
		if skipped != nil {
			m.Skipped = append(m.Skipped, *skipped)
			continue
		}
		text, err := w.dialect.put(c.text, tree, f, s.Name, x.node)
		if err != nil {
			return Merged{}, &Error{File: name, Server: s.Name, Message: "cannot be written: " + err.Error(), Hint: "change the file by hand"}
		}
		next, parseErr := w.dialect.parse(name, []byte(text))
		if parseErr != nil || !sameTree(next, withEntry(tree, f, s.Name, x.node)) {
			return Merged{}, &Error{File: name, Server: s.Name, Message: "cannot be written without changing something else in the file", Hint: "change the file by hand"}
		}
		c.text, tree = text, next
		*verb = append(*verb, s.Name)
		m.Losses = append(m.Losses, x.losses...)
	}
	if m.Text = existing; m.Changed() || len(existing) == 0 {
		m.Text = c.bytes()
	}
	return m, nil
}

// tree parses a file of the client's, and refuses what is none.
func (f Format) tree(d dialect, name, text string) (*yaml.Node, error) {
	tree, err := d.parse(name, []byte(text))
	if err != nil {
		return nil, err
	}
	if tree == nil {
		tree = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	}
	if tree.Kind != yaml.MappingNode {
		return nil, &Error{File: name, Line: tree.Line, Message: "want an object with " + f.Key + ", found " + describe(tree)}
	}
	p := newParser(name, f.Key, tree)
	top := p.scope("")
	for _, field := range top.fields(tree, "") {
		if field.name == f.Key && !isNull(field.value) {
			if field.value.Kind == yaml.MappingNode {
				top.fields(field.value, f.Key)
			} else if !f.isList() || field.value.Kind != yaml.SequenceNode {
				top.fail(field.value, f.Key, "want the servers, found "+describe(field.value), "")
			}
		}
	}
	if err := top.err(); err != nil {
		return nil, err
	}
	if servers := valueOf(tree, f.Key); f.nested != "" && servers != nil && servers.Kind == yaml.MappingNode {
		if inner := valueOf(servers, f.nested); inner != nil && inner.Kind == yaml.MappingNode && valueOf(inner, "type") == nil {
			return nil, &Error{
				File: name, Line: inner.Line, Message: fmt.Sprintf("has its servers below %s.%s, as a newer %s has them, and they are not written there", f.Key, f.nested, f.Title),
				Hint: "leave --write out, and copy what is printed",
			}
		}
	}
	for _, other := range Formats() {
		if other.Key != f.Key && (other.Key == keyMCPServers || other.Key == "servers") && valueOf(tree, other.Key) != nil && valueOf(tree, f.Key) == nil {
			return nil, &Error{
				File: name, Message: fmt.Sprintf("has the key %q, so it is not a file of %s, which has %q", other.Key, f.Title, f.Key),
				Hint: "name another file, or the client whose file it is",
			}
		}
	}
	if f.Key == "servers" && valueOf(tree, "version") != nil {
		return nil, &Error{File: name, Message: "is a file of mcpctl's own", Hint: "name another file"}
	}
	return tree, nil
}

// exportable says why an entry must not be written into a client's file.
func (s Server) exportable(o MergeOptions) error {
	if s.Err != nil {
		return s.Err
	}
	if s.Foreign != nil {
		return &Error{File: s.Foreign.File, Server: s.Name, Message: "is an entry of another client's file", Hint: "take it over first: mcpctl import"}
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if o.LiteralSecrets {
		return nil
	}
	const message, hint = "a secret is written out, which would be copied into another program's file", "put a variable, ${NAME}, in its place, or allow it: --allow-literal-secret"
	for _, l := range s.LiteralSecrets() {
		// The others are not written in any case.
		if key := before(l.Place, ".[?"); key == "args" || key == "env" || key == "headers" || key == "url" {
			return &Error{Server: s.Name, Key: l.Place, Message: message, Hint: hint}
		}
	}
	for key, value := range map[string]string{"command": s.Command, "cwd": s.Cwd} {
		if LooksSecretValue(value) {
			return &Error{Server: s.Name, Key: key, Message: message, Hint: hint}
		}
	}
	return nil
}

// exporter writes one entry.
type exporter struct {
	format Format
	writer writer
	o      MergeOptions
	server Server
	node   *yaml.Node
	// done are the keys of ours that have a place, or a remark of their own.
	done   map[string]bool
	losses []Loss
}

func (x *exporter) lose(key, message string) {
	x.done[before(key, ".[?")] = true
	l := Loss{Server: x.server.Name, Remark: Remark{Key: key, Message: message}}
	if !slices.Contains(x.losses, l) {
		x.losses = append(x.losses, l)
	}
}

func (x *exporter) put(key string, value *yaml.Node) {
	x.node.Content = append(x.node.Content, textNode(key), value)
}

// write makes the tree of the entry, or says why there is none.
func (x *exporter) write() *Skipped {
	w, s, title := x.writer, x.server, x.format.Title
	x.node = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	skip := func(reason SkipReason, message string) *Skipped {
		return &Skipped{Name: s.Name, Reason: reason, Message: message}
	}
	kind, known := w.kinds[impliedTransport(s)]
	if !known {
		return skip(SkipUnsupported, w.elsewhere)
	}
	if !s.Enabled && w.disabled == "" && w.enabled == "" {
		if !slices.Contains(x.o.Disabled, s.Name) {
			return skip(SkipDisabled, "is disabled, and "+title+"'s file has no way to say so; to write it nevertheless, name it, or enable it")
		}
		x.lose("enabled", "is disabled here, and enabled in "+title+", whose file has no way to switch it off")
	}
	if w.named {
		x.put("name", textNode(s.Name))
	}
	if kind.word != "" {
		x.put(w.typeKey, textNode(kind.word))
	}
	x.done["transport"] = true
	if kind.loss != "" {
		x.lose("transport", title+" "+kind.loss)
	}
	for _, key := range []string{"command", "args", "env", "cwd", "url", "headers", "timeout", "tools", "enabled"} {
		x.key(key, kind)
	}
	// The file's defaults go along where there is a place for them; all else that the entry says is told.
	written := entryNode(s)
	for i := 0; i < len(written.Content); i += 2 {
		if key := written.Content[i].Value; !x.done[key] {
			x.lose(key, title+"'s file has no place for it")
		}
	}
	return nil
}

// key writes one key of ours.
func (x *exporter) key(key string, kind exportKind) {
	w, s := x.writer, x.server
	name := key
	if own, ok := w.names[key]; ok {
		name = own
	}
	switch key {
	case "command":
		if s.Command == "" {
			return
		}
		command := textNode(x.value(key, s.Command))
		if w.wholeCommand {
			list := &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Content: append([]*yaml.Node{command}, x.args()...)}
			x.done["args"] = true
			command = list
		}
		x.put(name, command)
	case "args":
		if len(s.Args) == 0 || w.wholeCommand {
			return
		}
		list := listNode(x.server.Args) // for its layout
		list.Content = x.args()
		x.put(name, list)
	case "env", "headers":
		values := map[string]map[string]string{"env": s.Env, "headers": s.Headers}[key]
		values = x.byName(key, values)
		x.done[key] = true
		if len(values) == 0 {
			return
		}
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
		for _, n := range sortedNames(values) {
			m.Content = append(m.Content, textNode(n), textNode(x.value(below(key, n), values[n])))
		}
		if key == "headers" && w.inner != "" {
			m = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(name), m}}
			name = w.inner
		}
		x.put(name, m)
	case "cwd":
		if s.Cwd == "" || !w.cwd {
			return
		}
		x.put(name, textNode(x.value(key, s.Cwd)))
	case "url":
		if s.URL == "" {
			return
		}
		x.put(kind.url, textNode(x.value(key, s.URL)))
	case "timeout":
		x.duration(key, w.timeout, s.Timeout)
		x.duration("connect_timeout", w.connectTimeout, s.ConnectTimeout)
		return
	case "tools":
		x.tools()
		return
	case "enabled":
		switch {
		case !s.Enabled && w.disabled != "":
			x.put(w.disabled, boolNode(true))
		case w.enabled != "" && (!s.Enabled || w.alwaysEnabled):
			x.put(w.enabled, boolNode(s.Enabled))
		}
	}
	x.done[key] = true
}

// byName writes the values that a client takes from variables of its own by their names, and returns the others.
func (x *exporter) byName(key string, values map[string]string) map[string]string {
	w := x.writer
	rest, variables := map[string]string{}, &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	var list []string
	for _, name := range sortedNames(values) {
		parts, _ := parseTemplate(values[name])
		last := part{}
		if len(parts) > 0 {
			last = parts[len(parts)-1]
		}
		plain := last.name != "" && last.kind == KindVariable && !last.hasFallback
		switch alone := plain && len(parts) == 1; {
		case key == "env" && w.envVariables != "" && alone && last.name == name:
			list = append(list, name)
		case key == "headers" && w.headerVariable != "" && alone:
			variables.Content = append(variables.Content, textNode(name), textNode(last.name))
		case key == "headers" && w.bearerVariable != "" && plain && len(parts) == 2 && parts[0].text == "Bearer " && strings.EqualFold(name, "authorization"):
			x.put(w.bearerVariable, textNode(last.name))
		default:
			for _, p := range parts {
				if key == "headers" && w.headerNames && p.name != "" && p.kind == KindVariable && !slices.Contains(list, p.name) {
					list = append(list, p.name)
				}
			}
			rest[name] = values[name]
		}
	}
	if key == "env" && w.inherits {
		for _, name := range x.server.InheritEnv.Names {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		x.done["inherit_env"] = !x.server.InheritEnv.All
	}
	if len(variables.Content) > 0 {
		x.put(w.headerVariable, variables)
	}
	if len(list) > 0 {
		x.put(w.envVariables, listNode(list))
	}
	return rest
}

// args are the arguments as the client has them.
func (x *exporter) args() []*yaml.Node {
	var list []*yaml.Node
	for i, arg := range x.server.Args {
		list = append(list, textNode(x.value(fmt.Sprintf("args[%d]", i), arg)))
	}
	return list
}

// duration writes a limit in the client's unit.
func (x *exporter) duration(key string, to exportUnit, d time.Duration) {
	if d <= 0 || to.key == "" {
		return
	}
	n := (int64(d) + int64(to.unit) - 1) / int64(to.unit)
	if written := time.Duration(n * int64(to.unit)); written != d {
		x.lose(key, fmt.Sprintf("%s counts in %s, so it is rounded up to %s", x.format.Title, formatDuration(to.unit), formatDuration(written)))
	}
	x.put(to.key, &yaml.Node{Kind: yaml.ScalarNode, Tag: tagInt, Value: fmt.Sprint(n)})
	x.done[key] = true
}

// tools writes the filter. Those of the clients hold names; with both lists theirs leaves out what both name, and ours
// does not.
func (x *exporter) tools() {
	t, w := x.server.Tools, x.writer
	include, globs := toolNames(t.Include)
	exclude, moreGlobs := toolNames(t.Exclude)
	if w.globs {
		include, globs, exclude, moreGlobs = t.Include, nil, t.Exclude, nil
	}
	exclude = slices.DeleteFunc(slices.Clone(exclude), func(name string) bool { return slices.Contains(include, name) })
	lists := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	write := func(key, place string, names, globs, all []string) {
		switch {
		case len(all) == 0:
			return
		case key == "":
			x.lose(place, x.format.Title+"'s file has no place for it")
			return
		case len(globs) > 0:
			x.lose(place, x.format.Title+"'s file takes names and no globs, so globs are left out")
		}
		x.done["tools"] = true
		if len(names) > 0 {
			lists.Content = append(lists.Content, textNode(key), listNode(names))
		}
	}
	write(w.include, "tools.include", include, globs, t.Include)
	write(w.exclude, "tools.exclude", exclude, moreGlobs, t.Exclude)
	switch {
	case w.toolsBelow == "":
		x.node.Content = append(x.node.Content, lists.Content...)
	case len(lists.Content) > 0:
		x.put(w.toolsBelow, lists)
	}
}

// toolNames splits globs into those that mean one name, which is returned, and the others.
func toolNames(list []string) (names, globs []string) {
	for _, glob := range list {
		var b strings.Builder
		plain := true
		for i := 0; i < len(glob); i++ {
			switch c := glob[i]; c {
			case '*', '?', '[':
				plain = false
			case '\\':
				if i++; i < len(glob) {
					b.WriteByte(glob[i])
				}
			default:
				b.WriteByte(c)
			}
		}
		if plain {
			names = append(names, b.String())
		} else {
			globs = append(globs, glob)
		}
	}
	return names, globs
}

// value returns a template as the client writes it.
func (x *exporter) value(place, template string) string {
	parts, err := parseTemplate(template)
	if err != nil {
		return template // the entry is checked before
	}
	var b strings.Builder
	for i, p := range parts {
		switch {
		case p.name == "":
			x.literal(place, p.text)
			if i == 0 && homeExpands(place) {
				p.text = x.home(p.text, len(parts) == 1)
			}
			b.WriteString(p.text)
		case p.kind == KindFile && x.format.syntax.file && (filepath.IsAbs(p.name) || x.server.Dir != "" && !strings.HasPrefix(p.name, "~")):
			path := p.name
			if !filepath.IsAbs(path) {
				path = filepath.Join(x.server.Dir, path)
			}
			b.WriteString("${file:" + path + "}")
		case p.kind != KindVariable:
			x.lose(place, fmt.Sprintf("%s does not replace ${%s:…}, and gets it as it is written; put the value into a variable", x.format.Title, p.kind))
			b.WriteString("${" + string(p.kind) + ":" + p.name + "}")
		default:
			b.WriteString(x.variable(place, p))
		}
	}
	return b.String()
}

// variable returns a reference to a variable.
func (x *exporter) variable(place string, p part) string {
	w, title := x.writer, x.format.Title
	if w.about != "" {
		x.lose(place, title+" "+w.about)
	}
	whole := "${" + p.name + "}"
	if p.hasFallback {
		whole = "${" + p.name + ":-" + p.fallback + "}"
	}
	switch {
	case w.variable == "" && w.unsure:
		x.lose(place, "whether "+title+" replaces variables is not known; it is written as it is here")
		return whole
	case w.variable == "":
		x.lose(place, title+" replaces no variables, so the server gets the text ${…} as it is written")
		return whole
	case len(w.places) > 0 && !slices.Contains(w.places, before(place, ".[?")):
		x.lose(place, title+" replaces no variables there, so the server gets the text ${…} as it is written")
		return whole
	case p.hasFallback && !w.fallback:
		x.lose(place, title+" knows no default for a variable, so the default is left out")
	case p.hasFallback:
		return whole
	}
	return strings.ReplaceAll(w.variable, "NAME", p.name)
}

// literal tells of text that the client takes for a variable.
func (x *exporter) literal(place, text string) {
	if !strings.ContainsAny(text, "${") {
		return
	}
	template, _ := x.format.template(text)
	if parts, err := parseTemplate(template); err != nil || len(parts) != 1 || parts[0].name != "" || parts[0].text != text {
		x.lose(place, "holds text that is meant as it is, and "+x.format.Title+" takes it for a variable")
	}
}

// home replaces a leading ~, which few clients know.
func (x *exporter) home(text string, alone bool) string {
	rest, ok := strings.CutPrefix(text, "~")
	switch {
	case !ok || rest == "" && !alone || rest != "" && !os.IsPathSeparator(rest[0]) && rest[0] != '/':
		return text
	case x.format.syntax.editor && x.format.Known():
		return "${userHome}" + rest
	case x.o.Home == "":
		return text
	}
	return x.o.Home + rest
}

// compare says why the entry that is there stays, if it does. What it says that means nothing to us is kept in the new
// one only if that reaches the same server: an approval was given to a server, not to a name.
func (x *exporter) compare(file string, old *yaml.Node) *Skipped {
	there, ours := x.read(file, old), x.read(file, x.node)
	if there.Err == nil && ours.Err == nil && there.Foreign != nil && ours.Foreign != nil && there.Same(ours) && there.Foreign.EnvFile == "" {
		return &Skipped{Name: x.server.Name, Reason: SkipSame, Message: "is there already"}
	}
	if !x.o.Replace {
		return &Skipped{Name: x.server.Name, Reason: SkipDifferent, Message: "is there already, and different; to replace it: --replace"}
	}
	if there.Foreign == nil {
		return nil
	}
	for _, n := range there.Foreign.Notes {
		value := valueOf(old, n.Key)
		switch {
		case value == nil || valueOf(x.node, n.Key) != nil:
		case there.SameTarget(ours):
			x.put(n.Key, value)
		default:
			x.losses = append(x.losses, Loss{Server: x.server.Name, Remark: Remark{
				File: file, Line: n.Line, Key: n.Key, Message: "was in the entry that is replaced, which is that of another server, and is gone",
			}})
		}
	}
	return nil
}

// refers reports whether a template refers to anything.
func refers(template string) bool {
	parts, err := parseTemplate(template)
	return err == nil && slices.ContainsFunc(parts, func(p part) bool { return p.name != "" })
}

// keepValues leaves what is written out in env and headers of the client's own entry where ours refers to a variable: it
// may stand nowhere else. It is kept for the same server only.
func (x *exporter) keepValues(file string, old *yaml.Node) {
	theirs := x.read(file, old)
	if theirs.Err != nil || !theirs.SameTarget(x.server) {
		return
	}
	x.server = x.server.Clone()
	keep := func(key string, ours, theirs map[string]string) {
		for _, name := range sortedNames(ours) {
			value, there := theirs[name]
			if there && value != "" && !refers(value) && refers(ours[name]) {
				ours[name] = value
				x.lose(below(key, name), "what is written out there stays as it is")
			}
		}
	}
	keep("env", x.server.Env, theirs.Env)
	keep("headers", x.server.Headers, theirs.Headers)
}

// read reads an entry as the client's file holds it.
func (x *exporter) read(file string, entry *yaml.Node) Server {
	value := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(x.server.Name), entry}}
	if x.format.isList() {
		value = &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Content: []*yaml.Node{entry}}
	}
	cfg, err := readForeign(file, &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode(x.format.Key), value}}, x.format)
	if err != nil || len(cfg.Servers) != 1 {
		return Server{Err: errors.New("no entry")}
	}
	return cfg.Servers[0]
}

// entryIn returns the entry of a name in the client's file, nil if there is none.
func entryIn(tree *yaml.Node, f Format, name string) *yaml.Node {
	servers := valueOf(tree, f.Key)
	if servers == nil {
		return nil
	}
	servers = follow(servers)
	if servers.Kind != yaml.SequenceNode {
		if entry := valueOf(servers, name); entry != nil {
			return follow(entry)
		}
		return nil
	}
	if i := indexInList(servers, name); i >= 0 {
		return follow(servers.Content[i])
	}
	return nil
}

// indexInList returns where the entry of a name is in a list, -1 if it is not.
func indexInList(list *yaml.Node, name string) int {
	return slices.IndexFunc(list.Content, func(item *yaml.Node) bool {
		own := valueOf(follow(item), "name")
		return own != nil && own.Value == name
	})
}

// withEntry returns a copy of the tree with an entry in it.
func withEntry(tree *yaml.Node, f Format, name string, entry *yaml.Node) *yaml.Node {
	out := *tree
	out.Content = slices.Clone(tree.Content)
	kind := &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
	if f.isList() {
		kind = &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq}
	}
	servers := *kind
	if old := valueOf(tree, f.Key); old != nil && !isNull(old) {
		servers = *follow(old)
		servers.Content = slices.Clone(servers.Content)
	}
	if servers.Kind == yaml.SequenceNode {
		if i := indexInList(&servers, name); i >= 0 {
			servers.Content[i] = entry
		} else {
			servers.Content = append(servers.Content, entry)
		}
	} else {
		putIn(&servers, name, entry)
	}
	putIn(&out, f.Key, &servers)
	return &out
}

// putIn sets a key of a mapping.
func putIn(m *yaml.Node, key string, value *yaml.Node) {
	if i := indexOf(m, key); i >= 0 {
		m.Content[i+1] = value
		return
	}
	m.Content = append(m.Content, textNode(key), value)
}

// MergeFile is Merge into a file, which is locked against mcpctl's own edits and replaced as a whole, with the mode it
// had, 0600 for a new one. A symbolic link stays one. Before it is written, agree sees what comes out; with its error
// the file stays as it is.
func (f Format) MergeFile(ctx context.Context, path string, servers []Server, o MergeOptions, agree func(Merged) error) (m Merged, err error) {
	target, err := followLinks(path)
	if err != nil {
		return Merged{}, fileError(path, "cannot be found", err)
	}
	made, err := makeDir(filepath.Dir(target))
	written := false
	defer func() {
		for _, dir := range made {
			if !written {
				_ = os.Remove(dir) // succeeds for empty ones only
			}
		}
	}()
	if err != nil {
		return Merged{}, fileError(path, "cannot make its directory", err)
	}
	unlock, err := lock(ctx, path, target, lockWait)
	if err != nil {
		return Merged{}, err
	}
	defer unlock()
	old, mode, err := readTheirs(path, target)
	if err != nil {
		return Merged{}, err
	}
	if m, err = f.Merge(path, old, servers, o); err != nil {
		return Merged{}, err
	}
	if err := agree(m); err != nil {
		return Merged{}, err
	}
	if !m.Changed() || bytes.Equal(m.Text, old) {
		return m, nil
	}
	if err := replaceFile(path, target, old, m.Text, mode); err != nil {
		return Merged{}, err
	}
	written = true
	return m, nil
}

// FileToMerge returns the path of the user's file of the client, as UserFile does: where the client reads one that is
// called .jsonc, too, and only that one is there, it is that.
func (f Format) FileToMerge(goos, home string, lookup func(string) (string, bool)) string {
	path := f.UserFile(goos, home, lookup)
	if _, err := os.Stat(path); err == nil || path == "" || !f.comments || !strings.HasSuffix(path, ".json") {
		return path
	}
	if _, err := os.Stat(path + "c"); err == nil {
		return path + "c"
	}
	return path
}

// ReadForMerge returns the contents of a client's file, nil for one that is not there.
func ReadForMerge(path string) ([]byte, error) {
	target, err := followLinks(path)
	if err != nil {
		return nil, fileError(path, "cannot be found", err)
	}
	data, _, err := readTheirs(path, target)
	return data, err
}

// readTheirs returns the contents of another program's file, and its mode, which is none of our business.
func readTheirs(path, target string) ([]byte, fs.FileMode, error) {
	data, err := readForEdit(path, target)
	if err != nil {
		return nil, 0, err
	}
	mode := privateMode
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	return data, mode, nil
}
