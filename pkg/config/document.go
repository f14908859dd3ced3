package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Document is a configuration file while Edit changes it. A method that returns an error has changed nothing.
//
// Every change is one of a few steps on the tree: set a key below servers to a value, or remove it. The tree says what
// the file must mean afterwards. Its text is made by splicing the lines of that key alone into the old text (see
// splice.go), which leaves blank lines, comments and the layout of everything else as they are; the tree's own
// encoding is used only where that cannot be done.
type Document struct {
	name string
	// text has no byte order mark and, unless the file mixes them, line feeds as line ends.
	text string
	// tree is text's, nil when it is empty. Its lines are those of text.
	tree *yaml.Node
	cfg  *Config
}

// newDocument parses the text of a file strictly.
func newDocument(name, text string) (*Document, error) {
	d := &Document{name: name}
	if _, format, err := parseAny(name, []byte(text)); err == nil && format != nil {
		return nil, notEdited(name, *format)
	}
	if err := d.load(text); err != nil {
		return nil, err
	}
	if d.tree != nil && d.tree.Style&yaml.FlowStyle != 0 && len(d.tree.Content) > 0 {
		// It would come out as one endless line.
		return nil, &Error{File: name, Message: "is in JSON or flow style, which is read but not edited", Hint: "write it as block style YAML, or edit it by hand"}
	}
	return d, nil
}

// load makes text the document's.
func (d *Document) load(text string) error {
	tree, syntaxErr := parseTree(d.name, []byte(text))
	if syntaxErr != nil {
		return syntaxErr
	}
	return d.loadTree(text, tree)
}

// loadTree is load for a text whose tree is known.
func (d *Document) loadTree(text string, tree *yaml.Node) error {
	cfg, err := read(d.name, tree)
	if err != nil {
		return err
	}
	d.text, d.tree, d.cfg = text, tree, cfg
	return nil
}

// Names returns the names of the servers, in the order of the file.
func (d *Document) Names() []string {
	names := make([]string, len(d.cfg.Servers))
	for i, s := range d.cfg.Servers {
		names[i] = s.Name
	}
	return names
}

// Has reports whether the file has a server of that name.
func (d *Document) Has(name string) bool { return slices.Contains(d.Names(), name) }

// Server returns the entry of that name, as Config.Server does. What is read here cannot change before it is written.
func (d *Document) Server(name string) (Server, bool) { return d.cfg.Server(name) }

// Add appends the server to the file. It is an error if the name is taken or s is not valid. Note that a Server is
// written as disabled unless Enabled is set.
func (d *Document) Add(s Server) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if d.Has(s.Name) {
		return d.taken(s.Name)
	}
	s = d.withoutDefaults(s)
	return d.change(s.Name, func(next *Document) error {
		if err := next.set(entryNode(s), "servers", s.Name); err != nil {
			return err
		}
		return next.verify(s)
	})
}

// Replace writes the server in the place of the entry of that name. The comments above the entry and the keys that do
// not change stay as they are written. Values that the file's defaults gave are not written into the entry. The error
// for a name that is not there is a *NotFoundError.
func (d *Document) Replace(s Server) error {
	if err := s.Validate(); err != nil {
		return err
	}
	old, ok := d.cfg.Server(s.Name)
	if !ok {
		return d.cfg.NotFound(s.Name)
	}
	s = d.withoutDefaults(s)
	if old.Err == nil && sameEntry(old, s) {
		return nil
	}
	entry := entryNode(s)
	return d.change(s.Name, func(next *Document) error {
		if old.Err == nil {
			steps := *next
			if steps.setChanges(entryNode(old), entry, "servers", s.Name) == nil && steps.verify(s) == nil {
				*next = steps
				return nil
			}
		}
		// The old entry is broken, or gets keys from elsewhere that the new one must not have.
		if err := next.set(entry, "servers", s.Name); err != nil {
			return err
		}
		return next.verify(s)
	})
}

// Remove removes the entry of that name with the comments directly above it. The error for a name that is not there is
// a *NotFoundError.
func (d *Document) Remove(name string) error {
	if !d.Has(name) {
		return d.cfg.NotFound(name)
	}
	return d.change(name, func(next *Document) error {
		if err := next.set(nil, "servers", name); err != nil {
			return err
		}
		if next.Has(name) {
			return &Error{File: d.name, Server: name, Message: "comes from a merge key (<<)", Hint: "remove it there by hand"}
		}
		return nil
	})
}

// SetEnabled enables or disables the entry of that name. An entry without the key is enabled, so enabling removes it
// where that is enough. The error for a name that is not there is a *NotFoundError.
func (d *Document) SetEnabled(name string, enabled bool) error {
	s, ok := d.cfg.Server(name)
	if !ok {
		return d.cfg.NotFound(name)
	}
	if s.Enabled == enabled && s.Err == nil {
		return nil
	}
	return d.change(name, func(next *Document) error {
		if enabled {
			if err := next.set(nil, "servers", name, "enabled"); err != nil {
				return err
			}
			if s, _ := next.cfg.Server(name); s.Enabled {
				return nil
			}
		}
		return next.set(boolNode(enabled), "servers", name, "enabled")
	})
}

// Rename gives the entry called from the name to, in its place. The error for a name that is not there is a
// *NotFoundError.
func (d *Document) Rename(from, to string) error {
	old, ok := d.cfg.Server(from)
	if !ok {
		return d.cfg.NotFound(from)
	}
	if err := ValidateName(to); err != nil {
		return err
	}
	if d.Has(to) {
		return &Error{File: d.name, Server: to, Message: "already exists", Hint: "choose another name"}
	}
	return d.change(from, func(next *Document) error {
		if err := next.rename(from, to); err != nil {
			return err
		}
		got, ok := next.cfg.Server(to)
		if !ok || (got.Err == nil) != (old.Err == nil) || !sameEntry(got, old) {
			return &Error{File: d.name, Server: from, Message: "cannot be renamed", Hint: "edit the file by hand"}
		}
		return nil
	})
}

// change runs steps that are about one entry, on a copy. It is an error if another entry comes to mean something else
// by them, as one that shares an anchor may.
func (d *Document) change(name string, steps func(next *Document) error) error {
	next := *d
	if err := steps(&next); err != nil {
		return err
	}
	if err := d.othersStay(&next, func(other string) bool { return other == name }, name); err != nil {
		return err
	}
	*d = next
	return nil
}

// othersStay returns an error if an entry has come to mean something else in next that is not meant to be changed. The name
// is that of the one that is.
func (d *Document) othersStay(next *Document, changed func(name string) bool, name string) error {
	places := make(map[string]int, len(next.cfg.Servers))
	for i := range next.cfg.Servers {
		places[next.cfg.Servers[i].Name] = i
	}
	for i := range d.cfg.Servers {
		before := &d.cfg.Servers[i]
		if changed(before.Name) {
			continue
		}
		at, ok := places[before.Name]
		if ok {
			after := &next.cfg.Servers[at]
			ok = (before.Err == nil) == (after.Err == nil) && (sameValues(before, after) || sameEntry(*before, *after))
		}
		if !ok {
			return &Error{File: d.name, Server: name, Message: fmt.Sprintf("the change would change server %q too, which shares values with it", before.Name), Hint: "edit the file by hand"}
		}
	}
	return nil
}

// sameValues reports whether two servers have the same values, from the same kinds of places: then they are written alike,
// whatever their lines are.
func sameValues(a, b *Server) bool {
	if len(a.Sources) != len(b.Sources) {
		return false
	}
	for key, source := range a.Sources {
		if other, ok := b.Sources[key]; !ok || other.Kind != source.Kind {
			return false
		}
	}
	x, y := *a, *b
	x.Sources, y.Sources, x.Err, y.Err = nil, nil, nil, nil
	return reflect.DeepEqual(x, y) //nolint:govet // their errors have been put aside
}

// verify checks that the entry reads back as it was meant.
func (d *Document) verify(s Server) error {
	got, ok := d.cfg.Server(s.Name)
	switch {
	case !ok || got.Err == nil && !sameEntry(got, s):
		return &Error{File: d.name, Server: s.Name, Message: "holds a value that cannot be written to the file", Hint: "use UTF-8 text without control characters"}
	case got.Err != nil:
		return got.Err
	}
	return nil
}

// withoutDefaults returns s without the sources of values that the file's defaults no longer explain, because the
// caller changed the value or has it from another file.
func (d *Document) withoutDefaults(s Server) Server {
	s = s.Clone()
	if s.Sources["connect_timeout"].Kind == "default" && s.ConnectTimeout != d.cfg.Defaults.ConnectTimeout {
		delete(s.Sources, "connect_timeout")
	}
	if s.Sources["timeout"].Kind == "default" && s.Timeout != d.cfg.Defaults.Timeout {
		delete(s.Sources, "timeout")
	}
	return s
}

// sameEntry reports whether two servers are written alike.
func sameEntry(a, b Server) bool { return sameTree(entryNode(a), entryNode(b)) }

// setChanges brings the mapping at path from one state to another, key by key, so that what stays the same is not
// touched.
func (d *Document) setChanges(from, to *yaml.Node, path ...string) error {
	// New keys come first: a mapping must not be empty in between.
	for i := 0; i+1 < len(to.Content); i += 2 {
		key, value := to.Content[i].Value, to.Content[i+1]
		at := append(slices.Clone(path), key)
		old := valueOf(from, key)
		var err error
		switch {
		case old != nil && sameTree(old, value):
		case old != nil && old.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			err = d.setChanges(old, value, at...)
		default:
			err = d.set(value, at...)
		}
		if err != nil {
			return err
		}
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if key := from.Content[i].Value; valueOf(to, key) == nil {
			if err := d.set(nil, append(slices.Clone(path), key)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReplaceAll is Replace for many servers, all or none: the file is parsed a few times, however many they are.
func (d *Document) ReplaceAll(servers []Server) error {
	next := *d
	if len(servers) > 1 && next.replaceTogether(servers) {
		*d = next
		return nil
	}
	for _, s := range servers {
		if err := next.Replace(s); err != nil {
			return err
		}
	}
	*d = next
	return nil
}

// replaceTogether replaces servers each in a document of its own, which has the lines of one entry. It reports false, and has
// changed nothing, where an entry has more to it than its lines, or is not good: what is wrong is found one by one.
func (d *Document) replaceTogether(servers []Server) bool {
	if d.tree == nil || hasAnchors(d.tree) {
		return false
	}
	lines := strings.Split(strings.TrimSuffix(d.text, "\n"), "\n")
	at := indexOf(d.tree, "servers")
	if at < 0 || !ownLines(d.tree, lines) || !ownLines(d.tree.Content[at+1], lines) {
		return false
	}
	entries, end := d.tree.Content[at+1], nextLine(d.tree, at, documentEnd(lines, d.tree))
	places := make(map[string]int, len(entries.Content)/2)
	for i := 0; i+1 < len(entries.Content); i += 2 {
		places[entries.Content[i].Value] = i
	}
	wanted := make(map[int]Server, len(servers))
	changed := make(map[string]bool, len(servers))
	for _, s := range servers {
		i, ok := places[s.Name]
		if !ok || changed[s.Name] || s.Validate() != nil {
			return false
		}
		wanted[i], changed[s.Name] = s, true
	}
	want := cloneTree(d.tree)
	var text strings.Builder
	done := 0 // lines that are written
	write := func(until int) {
		for ; done < until; done++ {
			text.WriteString(lines[done] + "\n")
		}
	}
	for i := 0; i+1 < len(entries.Content); i += 2 {
		s, ok := wanted[i]
		if !ok {
			continue
		}
		from, to := entries.Content[i].Line-1, nextLine(entries, i, end)
		head := d.headOfOne()
		alone, err := newDocument(d.name, head+joinLines(lines[from:to]))
		if err != nil || alone.Replace(s) != nil {
			return false
		}
		write(from)
		text.WriteString(strings.TrimPrefix(alone.text, head))
		done = to
		want.Content[at+1].Content[i+1] = valueOf(valueOf(alone.tree, "servers"), s.Name)
	}
	write(len(lines))
	tree := d.treeOf(text.String(), want)
	if tree == nil {
		return false
	}
	next := *d
	if next.loadTree(text.String(), tree) != nil {
		return false
	}
	for _, s := range wanted {
		if next.verify(d.withoutDefaults(s)) != nil {
			return false
		}
	}
	if d.othersStay(&next, func(name string) bool { return changed[name] }, "") != nil {
		return false
	}
	*d = next
	return true
}

// headOfOne is the beginning of a document with one entry, which reads like this one.
func (d *Document) headOfOne() string {
	head := ""
	if defaults := valueOf(d.tree, "defaults"); defaults != nil {
		if text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{textNode("defaults"), defaults}}, indentOf(d.tree)); err == nil {
			head = text
		}
	}
	return head + "servers:\n"
}

// hasAnchors reports whether anything in a tree is meant to be used in another place, too.
func hasAnchors(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAnchors)
}

// AddAll is Add for many servers, all or none: the file is parsed a few times, however many they are.
func (d *Document) AddAll(servers []Server) error {
	if len(servers) == 0 {
		return nil
	}
	next := *d
	// The first makes the mapping, where there is none, into whose lines the others go.
	if err := next.Add(servers[0]); err != nil {
		return err
	}
	if err := next.addTogether(servers[1:]); err != nil {
		return err
	}
	*d = next
	return nil
}

// addTogether adds servers to those that are there already.
func (d *Document) addTogether(servers []Server) error {
	taken := map[string]bool{}
	for _, name := range d.Names() {
		taken[name] = true
	}
	want := cloneTree(d.tree)
	var pairs []*yaml.Node
	added := make([]Server, 0, len(servers))
	for _, s := range servers {
		if err := s.Validate(); err != nil {
			return err
		}
		if taken[s.Name] {
			return d.taken(s.Name)
		}
		taken[s.Name] = true
		s = d.withoutDefaults(s)
		added = append(added, s)
		pairs = append(pairs, textNode(s.Name), entryNode(s))
	}
	if len(added) == 0 {
		return nil
	}
	if m := valueOf(want, "servers"); m != nil && m.Kind == yaml.MappingNode {
		m.Content = append(m.Content, pairs...)
	}
	if text, ok := appendKeys(d.text, d.tree, "servers", pairs, indentOf(d.tree)); ok {
		if tree := d.treeOf(text, want); tree != nil {
			return d.change("", func(next *Document) error {
				if err := next.loadTree(text, tree); err != nil {
					return err
				}
				for _, s := range added {
					if err := next.verify(s); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	// The lines are not of the kind that can be added to.
	for _, s := range added {
		if err := d.Add(s); err != nil {
			return err
		}
	}
	return nil
}

// taken is the error for a name that another server has.
func (d *Document) taken(name string) error {
	return &Error{File: d.name, Server: name, Message: "already exists", Hint: "replace it, or choose another name"}
}

// set makes value that of the key at path, or removes the key if value is nil. Mappings on the way are made.
func (d *Document) set(value *yaml.Node, path ...string) error {
	want := cloneTree(d.tree)
	if want == nil || len(want.Content) == 0 {
		want = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
		want.Content = []*yaml.Node{textNode("version"), {Kind: yaml.ScalarNode, Tag: tagInt, Value: fmt.Sprint(version)}}
	}
	if !setIn(want, value, path) {
		return &Error{File: d.name, Server: path[1], Message: "is not a mapping, so it cannot be edited", Hint: "replace or remove it"}
	}
	if alias := orphan(want); alias != nil {
		return &Error{File: d.name, Server: path[1], Message: fmt.Sprintf("holds the anchor &%s, which line %d refers to", alias.Value, alias.Line), Hint: "move the anchor by hand first"}
	}
	text, tree, err := d.render(want, path)
	if err != nil {
		return &Error{File: d.name, Server: path[1], Message: "cannot be written", Err: err}
	}
	if tree == nil {
		return d.load(text)
	}
	return d.loadTree(text, tree)
}

// rename gives a server another name.
func (d *Document) rename(from, to string) error {
	want, syntaxErr := parseTree(d.name, []byte(d.text))
	if syntaxErr != nil {
		return syntaxErr
	}
	servers := follow(valueOf(want, "servers"))
	i := indexOf(servers, from)
	if i < 0 || servers.Content[i].Kind == yaml.AliasNode {
		return &Error{File: d.name, Server: from, Message: "is not named here, but through an alias or a merge key (<<)", Hint: "rename it by hand"}
	}
	key := servers.Content[i]
	if text, ok := spliceWord(d.text, key, to); ok {
		key.Value, key.Tag = to, tagString
		if tree := d.treeOf(text, want); tree != nil {
			return d.loadTree(text, tree)
		}
	}
	key.Value, key.Tag, key.Style = to, tagString, textNode(to).Style
	text, err := encode(want, indentOf(d.tree))
	if err != nil {
		return &Error{File: d.name, Server: from, Message: "cannot be renamed", Err: err}
	}
	return d.load(text)
}

// render returns the text of the tree want, which differs from the document at path only. The text's tree is nil if it
// has not been read back yet.
func (d *Document) render(want *yaml.Node, path []string) (string, *yaml.Node, error) {
	indent := indentOf(d.tree)
	if d.tree == nil {
		// There may be comments.
		text := d.text
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		encoded, err := encode(want, indent)
		if err != nil {
			return "", nil, err
		}
		if tree := d.treeOf(text+encoded, want); tree != nil {
			return text + encoded, tree, nil
		}
		return encoded, nil, nil
	}
	// A word takes the place of a word, and whatever else is in the line stays as it is.
	_, old := keyAt(d.tree, path)
	if _, value := keyAt(want, path); old != nil && value != nil && old.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode {
		if text, ok := spliceWord(d.text, old, value.Value); ok {
			if tree := d.treeOf(text, want); tree != nil {
				return text, tree, nil
			}
		}
	}
	// The fewer lines are written anew, the better. Where a key cannot be spliced in, as into {a: b}, the key around
	// it may be.
	for depth := len(path); depth > 0; depth-- {
		key, value := keyAt(want, path[:depth])
		if text, ok := splice(d.text, d.tree, path[:depth], key, value, indent); ok {
			if tree := d.treeOf(text, want); tree != nil {
				return text, tree, nil
			}
		}
	}
	text, err := encode(want, indent)
	return text, nil, err
}

// treeOf returns the tree of a text that says what the tree want does, nil for one that does not.
func (d *Document) treeOf(text string, want *yaml.Node) *yaml.Node {
	tree, err := parseTree(d.name, []byte(text))
	if err != nil || !sameTree(tree, want) {
		return nil
	}
	return tree
}

// cloneTree returns a copy of a tree. Its aliases stand for nodes of the copy.
func cloneTree(root *yaml.Node) *yaml.Node {
	copies := map[*yaml.Node]*yaml.Node{}
	var clone func(n *yaml.Node) *yaml.Node
	clone = func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return nil
		}
		out := *n
		copies[n] = &out
		out.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			out.Content[i] = clone(child)
		}
		if n.Kind == yaml.AliasNode {
			// An anchor comes before its aliases, or is around them.
			out.Alias = copies[n.Alias]
		}
		return &out
	}
	return clone(root)
}

// setIn makes value that of the key at path below m, or removes the key. It reports false if there is something else
// than a mapping on the way.
func setIn(m, value *yaml.Node, path []string) bool {
	i := indexOf(m, path[0])
	if len(path) == 1 {
		switch {
		case value == nil && i >= 0:
			m.Content = slices.Delete(m.Content, i, i+2)
		case value == nil:
		case i >= 0:
			keepComment(m.Content[i], m.Content[i+1], value)
			m.Content[i+1] = value
		default:
			m.Content = append(m.Content, textNode(path[0]), value)
		}
		return true
	}
	if i < 0 {
		if value == nil {
			return true
		}
		i = len(m.Content)
		m.Content = append(m.Content, textNode(path[0]), &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap})
	}
	child := m.Content[i+1]
	switch {
	case child.Kind == yaml.AliasNode && child.Alias.Kind == yaml.MappingNode:
		// The anchor's mapping is others' too: this one takes it over by a merge key, to have keys of its own.
		merge := &yaml.Node{Kind: yaml.ScalarNode, Tag: tagMerge, Value: "<<"}
		child = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap, Content: []*yaml.Node{merge, child}}
		m.Content[i+1] = child
	case isNull(child) && path[0] == "servers":
		child = &yaml.Node{Kind: yaml.MappingNode, Tag: tagMap}
		keepComment(m.Content[i], m.Content[i+1], child)
		m.Content[i+1] = child
	case child.Kind != yaml.MappingNode:
		return false
	}
	if len(child.Content) == 0 {
		child.Style &^= yaml.FlowStyle
		keepComment(m.Content[i], child, child)
	}
	return setIn(child, value, path[1:])
}

// keepComment puts the comment at the end of a value's line where it will be at the end of the new value's first line.
func keepComment(key, old, value *yaml.Node) {
	comment := old.LineComment
	old.LineComment = ""
	switch {
	case comment == "":
	case value.Kind == yaml.ScalarNode || value.Style&yaml.FlowStyle != 0:
		value.LineComment = comment
	case key.LineComment == "":
		key.LineComment = comment
	}
}

// indexOf returns where the key is among the contents of a mapping, -1 if it has none of its own.
func indexOf(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := follow(m.Content[i]); k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// valueOf returns the value of a key of a mapping, nil if it has none of its own.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	if i := indexOf(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// keyAt returns the nodes of the key at path and its value, nil if there is none.
func keyAt(m *yaml.Node, path []string) (key, value *yaml.Node) {
	for _, name := range path {
		i := indexOf(m, name)
		if i < 0 {
			return nil, nil
		}
		key, m = m.Content[i], m.Content[i+1]
	}
	return key, m
}

// orphan returns an alias whose anchor is not in the tree before it, nil if there is none.
func orphan(root *yaml.Node) *yaml.Node {
	anchors := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node) *yaml.Node
	walk = func(n *yaml.Node) *yaml.Node {
		if n.Kind == yaml.AliasNode && !anchors[n.Alias] {
			return n
		}
		anchors[n] = true
		for _, child := range n.Content {
			if alias := walk(child); alias != nil {
				return alias
			}
		}
		return nil
	}
	return walk(root)
}

// indentOf returns by how many spaces the file indents, 2 if it does not say.
func indentOf(root *yaml.Node) int {
	if root == nil {
		return 2
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0 {
			// More than 9 is not possible in the encoder.
			return min(max(value.Content[0].Column-key.Column, 2), 9)
		}
	}
	return 2
}
