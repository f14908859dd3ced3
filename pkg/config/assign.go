package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Operation says what an Assignment does with its key.
type Operation int

// The operations of an Assignment.
const (
	// SetText gives the key the value that the text means for it: a duration, a boolean, a number, a list with commas
	// between its items, or the text itself.
	SetText Operation = iota
	// SetJSON gives the key a value that is written as JSON.
	SetJSON
	// Unset removes the key.
	Unset
	// Append adds an item to the end of a list, unless it is in it already; args may hold a word twice.
	Append
	// RemoveItem removes an item from a list.
	RemoveItem
)

// Assignment changes one key of an entry.
type Assignment struct {
	// Key has the keys above it before it: "timeout", "env.TOKEN", "tools.include".
	Key   string
	Op    Operation
	Value string
}

// DefaultsName stands for the defaults of a file in the errors of Document.AssignDefaults.
const DefaultsName = "defaults"

// keyKind is what the value of a key is.
type keyKind int

const (
	kindText keyKind = iota
	kindBool
	kindNumber
	kindDuration
	kindList
	// kindMap is a mapping whose keys are assigned one by one, or the whole as JSON.
	kindMap
	// kindJSON is text, or JSON where it is one: the arguments of a call.
	kindJSON
)

// keyKinds returns the keys that can be assigned and what their values are. A star stands for any name.
func keyKinds() map[string]keyKind {
	return map[string]keyKind{
		"command": kindText, "args": kindList, "env": kindMap, "env.*": kindText, "inherit_env": kindList, "cwd": kindText,
		"url": kindText, "headers": kindMap, "headers.*": kindText,
		"tls": kindMap, "tls.ca_file": kindText, "tls.cert_file": kindText, "tls.key_file": kindText,
		"tls.server_name": kindText, "tls.insecure_skip_verify": kindBool,
		"proxy": kindText, "transport": kindText, "protocol": kindText, "enabled": kindBool,
		"connect_timeout": kindDuration, "timeout": kindDuration, "max_timeout": kindDuration, "wait": kindDuration,
		"session_wait": kindDuration, "keepalive": kindDuration,
		"retry": kindMap, "retry.initial": kindNumber, "retry.reconnect": kindNumber,
		"retry.park_interval": kindDuration, "retry.max_backoff": kindDuration,
		"breaker": kindMap, "breaker.threshold": kindNumber, "breaker.cooldown": kindDuration,
		"skip_preflight": kindBool,
		"tools":          kindMap, "tools.include": kindList, "tools.exclude": kindList,
		"health": kindMap, "health.tool": kindText, "health.args": kindMap, "health.args.*": kindJSON,
		"health.expect": kindMap, "health.expect.contains": kindText, "health.expect.matches": kindText,
		"health.expect.jq": kindText, "health.expect.is_error": kindBool, "health.expect.max_ms": kindNumber,
		"health.expect.equals": kindJSON, "smoke": kindMap,
		"auth": kindText, "oauth": kindMap, "oauth.client_id": kindText, "oauth.client_secret": kindText,
		"oauth.client_metadata_url": kindText, "oauth.issuer": kindText, "oauth.scopes": kindList, "oauth.grant": kindText,
		"oauth.private_key": kindText, "oauth.assertion": kindText, "oauth.redirect_uri": kindText,
		"oauth.redirect_port": kindNumber, "oauth.dpop": kindBool, "oauth.idp": kindMap,
	}
}

// AssignableKeys returns the keys that an Assignment may name, in the order of the documentation. Those that end in a
// dot want a name after it.
func AssignableKeys() []string {
	kinds := keyKinds()
	var keys []string
	for _, top := range entryKeys() {
		var below []string
		for key := range kinds {
			if key == top || strings.HasPrefix(key, top+".") {
				below = append(below, strings.TrimSuffix(key, "*"))
			}
		}
		slices.Sort(below)
		keys = append(keys, below...)
	}
	return keys
}

// KeyWords returns the values a key may have, nil if they are not a few words.
func KeyWords(key string) []string {
	switch key {
	case "transport":
		return []string{string(TransportAuto), string(TransportHTTP), string(TransportSSE), string(TransportStdio)}
	case "auth":
		return []string{"auto", "none", "oauth"}
	case "protocol":
		return []string{"auto"}
	case "keepalive":
		return []string{wordOff}
	case "inherit_env":
		return []string{"true", "false"}
	}
	if kind, ok := keyKinds()[key]; ok && kind == kindBool {
		return []string{"true", "false"}
	}
	return nil
}

// Assign changes keys of the entry of that name, all or none, and returns those that now say something else. A value
// that comes from an anchor, by an alias or a merge key, is overridden in the entry; the anchor stays. An entry that
// was valid must be so afterwards, and one that was not must get nothing new that is wrong. The error for a name that
// is not there is a *NotFoundError, else an *Error with the key.
func (d *Document) Assign(name string, assignments []Assignment) (changed []string, err error) {
	old, ok := d.cfg.Server(name)
	if !ok {
		return nil, d.cfg.NotFound(name)
	}
	err = d.change(name, func(next *Document) error {
		var err error
		if changed, err = next.assignAll(name, []string{"servers", name}, AssignableKeys(), assignments); err != nil {
			return err
		}
		now, ok := next.cfg.Server(name)
		if !ok {
			return &Error{File: d.name, Server: name, Message: "would be lost", Hint: "edit the file by hand"}
		}
		return newProblem(old.Err, now.Err)
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// AssignDefaults changes the values that hold for every server that does not say otherwise, all or none, and returns
// the keys that now say something else. The key is without "defaults.".
func (d *Document) AssignDefaults(assignments []Assignment) (changed []string, err error) {
	next := *d
	if changed, err = next.assignAll("", []string{"defaults"}, []string{"connect_timeout", "timeout"}, assignments); err != nil {
		return nil, err
	}
	*d = next
	return changed, nil
}

// Defaults returns the values that hold for every server that does not say otherwise.
func (d *Document) Defaults() Defaults { return d.cfg.Defaults }

// assignAll does the assignments to the mapping at path, whose keys are known.
func (d *Document) assignAll(server string, path, known []string, assignments []Assignment) (changed []string, err error) {
	at := map[string]Operation{}
	start := d.tree
	for _, a := range assignments {
		if a.Key, err = d.knownKey(server, path, known, a.Key); err != nil {
			return nil, err
		}
		earlier, twice := at[a.Key]
		if twice && (earlier < Append || a.Op < Append) {
			return nil, &Error{Server: server, Key: a.Key, Message: "is given twice", Hint: "give it once"}
		}
		at[a.Key] = a.Op
	}
	// What makes room comes last: a mapping must not be empty in between.
	for _, unset := range []bool{false, true} {
		for _, a := range assignments {
			if (a.Op == Unset) != unset {
				continue
			}
			a.Key, _ = d.knownKey(server, path, known, a.Key)
			if err := d.assign(server, path, a); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range assignments {
		key, _ := d.knownKey(server, path, known, a.Key)
		full := append(slices.Clone(path), keyPath(key)...)
		if !sameValue(effective(start, full), effective(d.tree, full)) && !slices.Contains(changed, key) {
			changed = append(changed, key)
		}
	}
	return changed, nil
}

// keyPath returns the names of the mappings and the key in them. The name of a variable, a header or an argument may
// hold dots.
func keyPath(key string) []string {
	for _, free := range []string{"env.", "headers.", "health.args."} {
		if name, ok := strings.CutPrefix(key, free); ok {
			return append(strings.Split(strings.TrimSuffix(free, "."), "."), name)
		}
	}
	return strings.Split(key, ".")
}

// knownKey returns the key as it is spelt in the file, or the error for one that does not exist.
func (d *Document) knownKey(server string, path, known []string, key string) (string, error) {
	if slices.Contains(known, key) && !strings.HasSuffix(key, ".") {
		return key, nil
	}
	for _, free := range known {
		name, ok := strings.CutPrefix(key, free)
		if !ok || name == "" || !strings.HasSuffix(free, ".") {
			continue
		}
		if free == "headers." {
			// The names of headers do not know case.
			if m := effective(d.tree, append(slices.Clone(path), "headers")); m != nil && m.Kind == yaml.MappingNode {
				for i := 0; i < len(m.Content); i += 2 {
					if strings.EqualFold(m.Content[i].Value, name) {
						return free + m.Content[i].Value, nil
					}
				}
			}
		}
		return key, nil
	}
	e := &Error{Server: server, Key: key, Message: "unknown key"}
	if strings.HasSuffix(key, ".") {
		e.Message, e.Hint = "no name after the dot", "write "+key+"NAME=VALUE"
		return "", e
	}
	if server != "" {
		e.Hint = entryHint(key)
	}
	// Most people know a key by its last name.
	for _, k := range known {
		if e.Hint == "" && strings.HasSuffix(k, "."+key) {
			e.Hint = didYouMean([]string{k})
		}
	}
	if e.Hint == "" {
		e.Hint = didYouMean(first(Near(key, known)))
	}
	if e.Hint == "" {
		var tops []string
		for _, k := range known {
			if !strings.Contains(k, ".") {
				tops = append(tops, k)
			}
		}
		e.Hint = "known are " + strings.Join(tops, ", ")
	}
	return "", e
}

// assign does one assignment whose key is known.
func (d *Document) assign(server string, base []string, a Assignment) error {
	fail := func(message, hint string) error {
		return &Error{Server: server, Key: a.Key, Message: message, Hint: hint}
	}
	path := append(slices.Clone(base), keyPath(a.Key)...)
	kind := kindOf(a.Key)
	var value *yaml.Node
	switch a.Op {
	case Unset:
		return d.unset(server, a.Key, base, path)
	case Append, RemoveItem:
		if kind != kindList {
			return fail("is not a list", "write "+a.Key+"=VALUE")
		}
		list, err := d.changedList(a, path)
		if err != nil {
			return fail(err.Error(), "")
		}
		value = list
		if len(list.Content) == 0 {
			return d.unset(server, a.Key, base, path)
		}
	case SetJSON:
		node, err := jsonValue(a.Value)
		if err != nil {
			return fail("not JSON: "+err.Error(), "quote it for the shell: "+a.Key+`:='["a"]'`)
		}
		value = node
	default:
		node, message, hint := textValue(a.Key, kind, a.Value)
		if message != "" {
			return fail(message, hint)
		}
		value = node
	}
	if old := effective(d.tree, path); old != nil && sameValue(old, plainCopy(value)) {
		return nil
	}
	if err := d.materialise(base, path); err != nil {
		return err
	}
	return d.set(value, path...)
}

// kindOf returns what the value of a known key is.
func kindOf(key string) keyKind {
	if kind, ok := keyKinds()[key]; ok {
		return kind
	}
	path := keyPath(key)
	return keyKinds()[strings.Join(path[:len(path)-1], ".")+".*"]
}

// unset removes a key, and the mapping around it when that is left empty.
func (d *Document) unset(server, key string, base, path []string) error {
	if effective(d.tree, path) == nil {
		return nil
	}
	if err := d.materialise(base, path); err != nil {
		return err
	}
	// A mapping of the entry's own that an alias stands for is written out, so that there is something to remove from.
	if len(path)-1 > len(base) {
		if err := d.writeOut(path[:len(path)-1]); err != nil {
			return err
		}
	}
	if err := d.set(nil, path...); err != nil {
		return err
	}
	if n := effective(d.tree, path); n != nil {
		return &Error{File: d.name, Line: n.Line, Column: n.Column, Server: server, Key: key, Message: "comes from here by a merge key (<<)", Hint: "give it another value, or remove it there by hand"}
	}
	parent := path[:len(path)-1]
	if len(parent) < len(base) || len(parent) == len(base) && server != "" {
		return nil
	}
	if m := effective(d.tree, parent); m != nil && m.Kind == yaml.MappingNode && len(m.Content) == 0 {
		steps := *d
		if err := steps.set(nil, parent...); err == nil && effective(steps.tree, parent) == nil {
			*d = steps
		}
	}
	return nil
}

// materialise writes the mappings between an entry and a key into the entry where they come from elsewhere by a merge
// key: an own mapping of that name would hide all that is in the merged one.
func (d *Document) materialise(base, path []string) error {
	for depth := len(base) + 1; depth < len(path); depth++ {
		at := path[:depth]
		own, whole := ownValue(d.tree, at), effective(d.tree, at)
		if own == nil && whole != nil && whole.Kind == yaml.MappingNode {
			if err := d.set(styled(whole), at...); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeOut replaces an alias, or a mapping that merges others, by what it stands for.
func (d *Document) writeOut(path []string) error {
	own := ownValue(d.tree, path)
	if own == nil || own.Kind != yaml.AliasNode && len(mergeKeys(own, nil)) == 0 {
		return nil
	}
	whole := effective(d.tree, path)
	if whole == nil || whole.Kind != yaml.MappingNode {
		return nil
	}
	return d.set(styled(whole), path...)
}

// changedList returns the list at path with an item more or less.
func (d *Document) changedList(a Assignment, path []string) (*yaml.Node, error) {
	list := effective(d.tree, path)
	switch {
	case list == nil:
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: tagSeq, Style: yaml.FlowStyle}
	case list.Kind != yaml.SequenceNode:
		return nil, fmt.Errorf("is %s, not a list", describe(list))
	}
	isItem := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == a.Value }
	there := slices.ContainsFunc(list.Content, isItem)
	switch {
	case a.Op == RemoveItem && !there:
		var items []string
		for _, n := range list.Content {
			items = append(items, n.Value)
		}
		if near := didYouMean(first(Near(a.Value, items))); near != "" {
			return nil, fmt.Errorf("has no item %q; %s", a.Value, near)
		}
		return nil, fmt.Errorf("has no item %q", a.Value)
	case a.Op == RemoveItem:
		list.Content = slices.DeleteFunc(list.Content, isItem)
	case !there || a.Key == "args":
		list.Content = append(list.Content, textNode(a.Value))
	}
	return list, nil
}

// textValue returns the value that a text means for a key, or what is wrong with it.
func textValue(key string, kind keyKind, text string) (value *yaml.Node, message, hint string) {
	switch kind {
	case kindBool:
		switch strings.ToLower(text) {
		case "true":
			return boolNode(true), "", ""
		case "false":
			return boolNode(false), "", ""
		}
		return nil, fmt.Sprintf("%q is neither true nor false", text), ""
	case kindNumber:
		if n, err := strconv.Atoi(text); err == nil {
			return numberNode(n), "", ""
		}
		return nil, fmt.Sprintf("%q is not a whole number", text), ""
	case kindDuration:
		if key == "keepalive" && text == wordOff {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagString, Value: wordOff}, "", ""
		}
		duration, err := ParseDuration(text)
		if err != nil {
			return nil, err.Error(), ""
		}
		if _, bare := bareNumber(text); bare {
			text = formatDuration(duration)
		}
		return textNode(text), "", ""
	case kindList:
		if key == "inherit_env" && (text == "true" || text == "false") {
			return boolNode(text == "true"), "", ""
		}
		if strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
			node, err := jsonValue(text)
			if err != nil {
				return nil, err.Error(), ""
			}
			return node, "", ""
		}
		items := strings.Split(text, ",")
		for i, item := range items {
			items[i] = strings.TrimSpace(item)
		}
		if slices.Contains(items, "") {
			return nil, "an item is empty", "write " + key + "=a,b"
		}
		return listNode(items), "", ""
	case kindMap:
		return nil, "has keys of its own", fmt.Sprintf("write %s.NAME=VALUE, or the whole as JSON: %s:='…'", key, key)
	case kindJSON:
		if json.Valid([]byte(text)) {
			if node, err := jsonValue(text); err == nil {
				return node, "", ""
			}
		}
		return textNode(text), "", ""
	case kindText:
	}
	switch key {
	case "transport":
		transport, err := ParseTransport(text)
		if err != nil {
			return nil, err.Error(), ""
		}
		text = string(transport)
	case "protocol":
		// A date without quotes, as people write it; it is read as text.
		if (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() == tagTimestamp {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagTimestamp, Value: text}, "", ""
		}
	}
	return textNode(text), "", ""
}

// jsonValue returns the tree of a JSON value, as it is written into a file.
func jsonValue(text string) (*yaml.Node, error) {
	if !json.Valid([]byte(text)) {
		var value any
		return nil, json.Unmarshal([]byte(text), &value)
	}
	root, err := parseJSON("", []byte(text))
	if err != nil {
		return nil, err
	}
	if root == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagNull, Value: "null"}, nil
	}
	return styled(root), nil
}

// styled returns a copy of a value in the style in which new values are written: on one line where it is short.
func styled(n *yaml.Node) *yaml.Node {
	c := plainCopy(n)
	var walk func(n *yaml.Node) int
	walk = func(n *yaml.Node) int {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
		if n.Kind == yaml.ScalarNode {
			if n.ShortTag() == tagString {
				n.Style = textNode(n.Value).Style
			} else {
				n.Style = 0
			}
			return len(n.Value) + len(`"", `)
		}
		width := 2
		for _, child := range n.Content {
			width += walk(child)
		}
		n.Style = 0
		if width <= flowWidth {
			n.Style = yaml.FlowStyle
		}
		return width
	}
	walk(c)
	return c
}

// plainCopy returns a copy of a value with aliases and merge keys replaced by what they stand for, and without anchors.
// It returns nil where that is endless or far longer than the file.
func plainCopy(n *yaml.Node) *yaml.Node {
	left := aliasBudget
	var copyOf func(n *yaml.Node, depth int) *yaml.Node
	copyOf = func(n *yaml.Node, depth int) *yaml.Node {
		// Loops run through aliases, and no valid value is nested as deep.
		if left--; left < 0 || depth > deepestJSON {
			left = -1
			return nil
		}
		n = follow(n)
		c := *n
		c.Anchor, c.Alias, c.Content = "", nil, nil
		if n.Kind != yaml.MappingNode {
			for _, child := range n.Content {
				if item := copyOf(child, depth+1); item != nil {
					c.Content = append(c.Content, item)
				}
			}
			return &c
		}
		var own, merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], copyOf(n.Content[i+1], depth+1)
			if value == nil {
				return nil
			}
			switch {
			case !isMerge(key):
				own = append(own, copyOf(key, depth+1), value)
			case value.Kind == yaml.MappingNode:
				merged = append(merged, value.Content...)
			default:
				for _, item := range value.Content {
					merged = append(merged, item.Content...)
				}
			}
		}
		if left < 0 {
			return nil
		}
		// The mapping's own keys win over merged ones, and earlier merged ones over later.
		c.Content = own
		for i := 0; i+1 < len(merged); i += 2 {
			if indexOf(&c, merged[i].Value) < 0 {
				c.Content = append(c.Content, merged[i], merged[i+1])
			}
		}
		return &c
	}
	c := copyOf(n, 0)
	if left < 0 {
		return nil
	}
	return c
}

// effective returns a copy of the value that the key at path has, wherever it comes from, nil if it has none.
func effective(root *yaml.Node, path []string) *yaml.Node {
	n := root
	for _, name := range path {
		if n == nil {
			return nil
		}
		if n = follow(n); n.Kind != yaml.MappingNode {
			return nil
		}
		if value := valueOf(n, name); value != nil {
			n = value
			continue
		}
		whole := plainCopy(n)
		if whole == nil {
			return nil
		}
		n = valueOf(whole, name)
	}
	if n == nil {
		return nil
	}
	return plainCopy(n)
}

// ownValue returns the value at path that is written there, or behind an alias on the way, but not one that is merged.
func ownValue(root *yaml.Node, path []string) *yaml.Node {
	n := root
	for _, name := range path {
		if n == nil {
			return nil
		}
		if n = follow(n); n.Kind != yaml.MappingNode {
			return nil
		}
		n = valueOf(n, name)
	}
	return n
}

// sameValue reports whether two values say the same; the tag of a text that could be another thing counts.
func sameValue(a, b *yaml.Node) bool { return sameTree(a, b) }

// newProblem returns what is wrong now and was not before, without a place: the text it is about is written nowhere.
func newProblem(before, now error) error {
	known := map[string]bool{}
	for _, e := range problemsIn(before) {
		known[e.Key+"\x00"+e.Message] = true
	}
	for _, e := range problemsIn(now) {
		if !known[e.Key+"\x00"+e.Message] {
			found := *e
			found.File, found.Line, found.Column = "", 0, 0
			return &found
		}
	}
	return nil
}

// problemsIn returns the single errors of an entry.
func problemsIn(err error) []*Error {
	switch e := err.(type) { //nolint:errorlint // these are the two shapes that scope.err makes
	case *Error:
		return []*Error{e}
	case interface{ Unwrap() []error }:
		var all []*Error
		for _, one := range e.Unwrap() {
			all = append(all, problemsIn(one)...)
		}
		return all
	}
	return nil
}
