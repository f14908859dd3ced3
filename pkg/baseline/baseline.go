// Package baseline keeps what servers offer, the definitions of their tools, prompts and resources, in a file that people
// can read the differences of, and grades each change by what it means to those who use the server.
//
// It knows no network and no MCP session: definitions come in as JSON and go out as JSON. Numbers keep their digits.
package baseline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is one kind of things that a server offers. It is also the key of their list in a file.
type Kind string

// The kinds of definitions.
const (
	Tools             Kind = "tools"
	Prompts           Kind = "prompts"
	Resources         Kind = "resources"
	ResourceTemplates Kind = "resource_templates"
)

// Kinds returns all kinds, in the order in which changes are told.
func Kinds() []Kind { return []Kind{Tools, Prompts, Resources, ResourceTemplates} }

// Noun returns the word for one thing of the kind.
func (k Kind) Noun() string { return strings.ReplaceAll(strings.TrimSuffix(string(k), "s"), "_", " ") }

// Plural returns the word for several of them.
func (k Kind) Plural() string { return strings.ReplaceAll(string(k), "_", " ") }

// identity is the key by which the things of a kind are told apart.
func (k Kind) identity() string {
	switch k {
	case Resources:
		return "uri"
	case ResourceTemplates:
		return "uriTemplate"
	case Tools, Prompts:
	}
	return "name"
}

// Offer is what one server offers: the definitions by kind and name. A kind that is missing is not offered, which is not
// the same as an empty one.
type Offer map[Kind]map[string]any

// Problem is why a definition cannot be told from the others of its kind. It says which: "tool 4 has no name".
type Problem struct {
	Kind Kind
	// Name is the one that several have, "" for a definition that has none.
	Name string
	text string
}

// Error says what is wrong.
func (p Problem) Error() string { return p.text }

// NewOffer returns the definitions in lists, as a server sent them, by kind. Every text goes through mask, which may be
// nil. Definitions that cannot be told from others are left out, all of those that have one name, too; the problems say
// which.
func NewOffer(lists map[Kind][]json.RawMessage, mask func(string) string) (Offer, []Problem) {
	o := Offer{}
	var problems []Problem
	for _, kind := range Kinds() {
		items, ok := lists[kind]
		if !ok {
			continue
		}
		o[kind] = map[string]any{}
		twice := map[string]bool{}
		for i, raw := range items {
			value, err := decode(raw)
			if err != nil {
				problems = append(problems, Problem{Kind: kind, text: fmt.Sprintf("%s %d: %s", kind.Noun(), i+1, err)})
				continue
			}
			if mask != nil {
				value = masked(value, mask)
			}
			if p := o.add(kind, i, value); p != nil && !twice[p.Name] {
				problems = append(problems, *p)
				twice[p.Name] = p.Name != ""
			}
		}
		for name := range twice {
			delete(o[kind], name)
		}
	}
	return o, problems
}

// add puts the i-th definition of a kind in.
func (o Offer) add(kind Kind, i int, value any) *Problem {
	object, _ := value.(map[string]any)
	name, _ := object[kind.identity()].(string)
	p := Problem{Kind: kind}
	switch _, twice := o[kind][name]; {
	case object == nil:
		p.text = fmt.Sprintf("%s %d is not an object", kind.Noun(), i+1)
	case name == "":
		p.text = fmt.Sprintf("%s %d has no %s", kind.Noun(), i+1, kind.identity())
	case twice:
		p.Name, p.text = name, fmt.Sprintf("two %s are called %s", kind.Plural(), shortName(name))
	default:
		o[kind][name] = value
		return nil
	}
	return &p
}

// Counts says how much is offered: "7 tools, 1 prompt".
func (o Offer) Counts() string {
	var parts []string
	for _, kind := range Kinds() {
		if items, ok := o[kind]; ok {
			parts = append(parts, count(len(items), kind))
		}
	}
	if parts == nil {
		return "nothing is offered"
	}
	return strings.Join(parts, ", ")
}

func count(n int, kind Kind) string {
	if n == 1 {
		return "1 " + kind.Noun()
	}
	return fmt.Sprintf("%d %s", n, kind.Plural())
}

// version is the version of the format of files.
const version = 1

// File is what a file holds: the offer of one server that has no name there, or those of several by their names.
type File struct {
	// One is nil if Servers is not.
	One     Offer
	Servers map[string]Offer
}

// maxSize is how many bytes a file may have: as many as the messages that it is made of.
const maxSize = 64 << 20

// Load reads a file of at most 64 MiB. The error names it, and unwraps to [fs.ErrNotExist] if there is none.
func Load(path string) (*File, error) {
	data, err := read(path)
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("is no baseline: it is larger than %d MiB", maxSize>>20)
	}
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// read returns the contents of a file, and no more of it than tells that it is too large.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// Parse reads the contents of a file.
func Parse(data []byte) (*File, error) {
	root, err := decode(data)
	object, ok := root.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("is no baseline: it is not a JSON object")
	}
	switch found := object["version"].(type) {
	case nil:
		return nil, errors.New("is no baseline: it has no version")
	case json.Number:
		if found.String() != fmt.Sprint(version) {
			return nil, fmt.Errorf("is of version %s, and this mcpctl reads version %d", found, version)
		}
	default:
		return nil, errors.New("is no baseline: its version is not a number")
	}
	delete(object, "version")
	servers, several := object["servers"]
	if !several {
		one, err := parseOffer(object)
		return &File{One: one}, err
	}
	byName, ok := servers.(map[string]any)
	if !ok || len(object) > 1 {
		return nil, errors.New("is no baseline: beside its version it has more than an object of servers")
	}
	f := &File{Servers: map[string]Offer{}}
	for name, value := range byName {
		lists, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("server %s: is not an object", Visible(name))
		}
		if f.Servers[name], err = parseOffer(lists); err != nil {
			return nil, fmt.Errorf("server %s: %w", Visible(name), err)
		}
	}
	return f, nil
}

func parseOffer(lists map[string]any) (Offer, error) {
	o := Offer{}
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		kind := Kind(key)
		items, ok := lists[key].([]any)
		switch {
		case !slices.Contains(Kinds(), kind):
			return nil, fmt.Errorf("unknown key %q", key)
		case !ok:
			return nil, fmt.Errorf("%s is not a list", key)
		}
		o[kind] = map[string]any{}
		for i, item := range items {
			if p := o.add(kind, i, item); p != nil {
				return nil, p
			}
		}
	}
	return o, nil
}

// Encode returns the contents of the file: keys sorted, definitions by name, a line for each value, and what cannot be
// seen in a text as an escape.
func (f *File) Encode() []byte {
	root := map[string]any{}
	if f.Servers != nil {
		servers := map[string]any{}
		for name, o := range f.Servers {
			servers[name] = o.lists()
		}
		root["servers"] = servers
	} else {
		root = f.One.lists()
	}
	root["version"] = json.Number(fmt.Sprint(version))
	var b bytes.Buffer
	write(&b, root, "\n")
	b.WriteByte('\n')
	return b.Bytes()
}

// lists returns the offer as it is written.
func (o Offer) lists() map[string]any {
	out := map[string]any{}
	for kind, items := range o {
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(items)) {
			list = append(list, items[name])
		}
		out[string(kind)] = list
	}
	return out
}

// Save writes the file in one piece: whoever reads it meanwhile sees the old contents or the new. The error names it.
func (f *File) Save(path string) error {
	if err := save(path, f.Encode()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fileMode is that of a new file: it is made to be read by others, and holds no secrets.
const fileMode = 0o644

func save(path string, data []byte) (err error) {
	mode := fs.FileMode(fileMode)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	err = cmp.Or(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
