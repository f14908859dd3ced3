package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// What an import is going to do is decided before anybody is asked, from the files alone: nothing is contacted, nothing is
// started, and nothing depends on the environment. So the same files lead to the same entries each time.

// importSource is a file that was looked at.
type importSource struct {
	// client is the name of the client, or of the file if it is nobody's that is known.
	client string
	path   string
	config *config.Config
	// err says why the file could not be read; absent is set when it is not there.
	err    error
	absent bool
}

// The states of what was found.
const (
	importNew       = "new"
	importSame      = "same"
	importDifferent = "different"
	importConflict  = "conflict"
	importInvalid   = "invalid"
)

// importItem is one server that was found, in one file or in several.
type importItem struct {
	state string
	// clients have it, and path is the file of the first.
	clients []string
	path    string
	// found is the entry as it stands there, and server what it becomes; after an error there is only the former.
	found  config.Server
	server config.Server
	told   config.Adoption
	err    error
	// name is the one it has, or would have, with us.
	name string
	// keys are those in which it differs from the entry that there is.
	keys []string
	// other is what a conflict is with: the client whose entry of that name is taken.
	other string
	// also is an entry that reaches the same under another name.
	also string
	// notes are what differs between several files that have it.
	notes []string
}

// taken reports whether the item is to be written.
func (i *importItem) taken(replace bool) bool {
	return i.state == importNew || i.state == importDifferent && replace
}

// reason says in words why an item is not written, or what is to be known of it.
func (i *importItem) reason() string {
	var parts []string
	switch i.state {
	case importSame:
		parts = append(parts, "is there already, and the same")
	case importDifferent:
		parts = append(parts, "there is another one of that name, which differs in "+strings.Join(i.keys, ", "))
	case importConflict:
		parts = append(parts, i.other+" has another server of that name")
	case importInvalid:
		parts = append(parts, i.err.Error())
	}
	if i.also != "" {
		parts = append(parts, "reaches the same as "+i.also)
	}
	return strings.Join(append(parts, i.notes...), "; ")
}

// target returns what an item points at, without secrets. A command that is one line of text is taken apart for it.
func (i *importItem) target() string {
	s := i.server
	if i.err != nil {
		s = i.found
	}
	if words := strings.Fields(s.Command); len(words) > 1 {
		s = s.Clone()
		s.Command, s.Args = words[0], slices.Concat(words[1:], s.Args)
	}
	return target(s)
}

// sources reads the files that the command line names, or those of all clients that are known. A file that is named must
// be there and be readable.
func (o *importOptions) sources(ctx context.Context, a *app, args []string) ([]importSource, error) {
	if len(args) == 1 {
		source, err := o.namedFile(ctx, a, args[0])
		if err != nil {
			return nil, err
		}
		return []importSource{source}, nil
	}
	formats := config.Clients()
	if o.from != "" {
		if formats = config.FindClients(o.from); len(formats) == 0 {
			return nil, unknownClient(o.from)
		}
	}
	var found []importSource
	for _, f := range formats {
		file := a.userFile(f)
		if file == "" {
			continue
		}
		source := importSource{client: f.Name, path: file}
		source.config, source.err = await(ctx, func() (*config.Config, error) { return config.LoadClient(file, f) })
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		source.absent = errors.Is(source.err, fs.ErrNotExist)
		if source.config != nil {
			source.path = source.config.Path // some clients have two names for their file
		}
		found = append(found, source)
	}
	if len(found) == 0 {
		return nil, usagef("the home directory is not known, so no client's file can be found").hint("mcpctl import FILE")
	}
	if o.from != "" {
		for _, s := range found {
			if s.err != nil && (!s.absent || len(found) == 1) {
				return nil, s.err
			}
		}
		if !slices.ContainsFunc(found, func(s importSource) bool { return !s.absent }) {
			return nil, found[0].err
		}
	}
	return found, nil
}

// unknownClient is the error for a word that names no client.
func unknownClient(word string) error {
	e := usagef("--from: unknown client %q; known are %s", word, strings.Join(clientNames(), ", "))
	for _, near := range config.Near(word, clientNames()) {
		e.hint("--from %s", near)
	}
	return e
}

// namedFile reads the file that the command line names; --from says whose it is, where its content does not.
func (o *importOptions) namedFile(ctx context.Context, a *app, file string) (importSource, error) {
	source := importSource{client: file, path: file}
	var format *config.Format
	if o.from != "" {
		found := config.FindClients(o.from)
		switch {
		case len(found) == 0:
			return source, unknownClient(o.from)
		case len(found) > 1:
			return source, usagef("--from %s: that may be %s or %s", o.from, found[0].Title, found[1].Title).hint("--from %s", found[0].Name).hint("--from %s", found[1].Name)
		case file == "-":
			return source, usagef("--from says whose file it is, and what comes over standard input is known by its content").hint("mcpctl import -")
		}
		format = &found[0]
	}
	c, err := await(ctx, func() (*config.Config, error) {
		switch {
		case file == "-":
			return config.LoadReader("-", a.io.In)
		case format != nil:
			return config.LoadClient(file, *format)
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			e := usagef("%s: there is no such file", file)
			for _, f := range config.FindClients(file) {
				e.hint("mcpctl import --from %s", f.Name)
			}
			return nil, e
		}
		return config.Load(file)
	})
	if err != nil {
		return source, err
	}
	source.config = c
	switch {
	case c.Format != nil && c.Format.Known():
		source.client = c.Format.Name
	case file == "-":
		source.client = "stdin"
	default:
		source.client = path.Base(strings.ReplaceAll(file, `\`, "/"))
	}
	return source, nil
}

// importPlan decides what becomes of each entry in the files. There is one item for each server: two clients that have the
// same one under one name share it, and of two different ones with one name the first is taken, or the one that the
// configuration has already.
func importPlan(c *config.Config, sources []importSource, o config.AdoptOptions) []*importItem {
	o.Variables = map[string]string{}
	use := func(s config.Server, owner string) {
		for _, v := range s.VariableNames() {
			if _, used := o.Variables[v]; !used {
				o.Variables[v] = owner
			}
		}
	}
	for _, s := range c.Servers {
		use(s, s.Name)
	}
	naming := newNaming(sources)
	for _, source := range sources {
		if source.config != nil {
			for _, s := range source.config.Servers {
				use(s, naming.name(s.Name))
			}
		}
	}
	var items []*importItem
	byName := map[string][]*importItem{}
	for _, source := range sources {
		if source.config == nil {
			continue
		}
		for _, s := range source.config.Servers {
			item := &importItem{clients: []string{source.client}, path: source.path, found: s, name: naming.name(s.Name)}
			o.Name, o.File = item.name, source.path
			item.server, item.told, item.err = s.Adopt(o)
			items = append(items, item)
			byName[item.name] = append(byName[item.name], item)
		}
	}
	existing := make(map[string]int, len(c.Servers))
	for i := range c.Servers {
		existing[c.Servers[i].Name] = i
	}
	for name, same := range byName {
		if at, there := existing[name]; there {
			settle(same, c.Servers[at].Clone(), true)
		} else {
			settle(same, config.Server{}, false)
		}
	}
	items = slices.DeleteFunc(items, func(i *importItem) bool { return i.state == "" })
	tellAliases(c, items)
	return items
}

// settle sets the states of the items of one name. An item that is the same as another one is left without a state.
func settle(items []*importItem, existing config.Server, there bool) {
	valid := slices.DeleteFunc(slices.Clone(items), func(i *importItem) bool { return i.err != nil })
	for _, i := range items {
		if i.err != nil {
			i.state = importInvalid
		}
	}
	if len(valid) == 0 {
		return
	}
	isSame := func(i *importItem) bool { return there && existing.Err == nil && existing.Same(i.server) }
	first := valid[0]
	if at := slices.IndexFunc(valid, isSame); at >= 0 {
		first = valid[at]
	}
	switch {
	case isSame(first):
		first.state = importSame
	case there:
		first.state, first.keys = importDifferent, existing.Differences(first.server)
		if existing.Err != nil && len(first.keys) == 0 {
			first.keys = []string{"what is wrong with it"}
		}
	default:
		first.state = importNew
	}
	for _, i := range valid {
		switch {
		case i == first:
		case i.server.SameTarget(first.server):
			first.clients = append(first.clients, i.clients...)
			if keys := first.server.Differences(i.server); len(keys) > 0 {
				first.notes = append(first.notes, first.clients[0]+"'s is taken; "+i.clients[0]+"'s differs in "+strings.Join(keys, ", "))
			}
		default:
			i.state, i.other = importConflict, first.clients[0]
		}
	}
}

// tellAliases notes the items that reach what another entry, or another item, reaches under another name.
func tellAliases(c *config.Config, items []*importItem) {
	reach := func(s config.Server) string { // the same words, as SameTarget has it
		return s.URL + "\x00" + s.Command + "\x00" + strings.Join(s.Args, "\x00")
	}
	there := map[string][]string{}
	for i := range c.Servers {
		if s := &c.Servers[i]; s.Err == nil {
			there[reach(*s)] = append(there[reach(*s)], s.Name)
		}
	}
	// Of the entries that there are the last is named, of those that come the first.
	before := map[string][]string{}
	other := func(names []string, own string) string {
		for _, name := range names {
			if name != own {
				return name
			}
		}
		return ""
	}
	for _, i := range items {
		if i.err != nil {
			continue
		}
		key := reach(i.server)
		if i.state == importNew {
			last := slices.Clone(there[key])
			slices.Reverse(last)
			i.also = cmp.Or(other(last, i.name), other(before[key], i.name))
		}
		if names := before[key]; !slices.Contains(names, i.name) && len(names) < 2 { // two are enough to have another
			before[key] = append(names, i.name)
		}
	}
}

// naming gives names of ours to the entries of all files. A name that some file has as it is goes before one that is made
// into the same; entries of the same name keep the same one.
type naming struct{ names map[string]string }

func newNaming(sources []importSource) naming {
	n := naming{map[string]string{}}
	taken := map[string]bool{}
	var made []string
	noted := map[string]bool{}
	for _, source := range sources {
		if source.config == nil {
			continue
		}
		for _, s := range source.config.Servers {
			if name := config.AdoptedName(s.Name, nil); name == s.Name {
				n.names[s.Name], taken[name] = name, true
			} else if !noted[s.Name] {
				made = append(made, s.Name)
				noted[s.Name] = true
			}
		}
	}
	for _, theirs := range made {
		name := config.AdoptedName(theirs, func(name string) bool { return taken[name] })
		n.names[theirs], taken[name] = name, true
	}
	return n
}

func (n naming) name(theirs string) string { return n.names[theirs] }

// chosen returns the items that --only names, all without it. A glob that names none is an error.
func (o *importOptions) chosen(items []*importItem) ([]*importItem, error) {
	if len(o.only) == 0 {
		return items, nil
	}
	matches := func(glob string, i *importItem) bool {
		for _, name := range []string{i.name, i.found.Name} {
			if ok, err := path.Match(glob, name); err == nil && ok || glob == name {
				return true
			}
		}
		return false
	}
	var known []string
	for _, i := range items {
		known = append(known, i.name)
	}
	for _, glob := range o.only {
		if slices.ContainsFunc(items, func(i *importItem) bool { return matches(glob, i) }) {
			continue
		}
		if _, err := path.Match(glob, ""); err != nil {
			return nil, usagef("--only: %q is no glob", glob)
		}
		e := usagef("--only: no server %q was found", render.OneLine(glob))
		for _, near := range config.Near(glob, known) {
			e.hint("--only %s", toolargs.Quote(near))
		}
		return nil, e
	}
	return slices.DeleteFunc(items, func(i *importItem) bool {
		return !slices.ContainsFunc(o.only, func(glob string) bool { return matches(glob, i) })
	}), nil
}
