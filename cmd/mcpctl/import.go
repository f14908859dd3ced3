package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

type importOptions struct {
	from               string
	only               []string
	yes                bool
	dryRun             bool
	replace            bool
	allowLiteralSecret bool
}

func newImportCmd(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Import servers from other clients",
		Long: `Import servers from other clients: from FILE, or - for stdin; with --from, from
that client's own file; without either, from the files of all known clients.
What was found is shown as a table, and on a terminal you are asked once.
Otherwise FILE or --from is enough, and importing from all clients needs --yes.
No server is contacted or started.

  new        it will be added
  same       it is there already
  different  there is another one of that name; --replace replaces it
  conflict   two clients have different servers of that name; the first one
             wins, or the existing one. --from CLIENT takes the other
  invalid    it cannot be used as written, and is left out

Secrets in plain text are not copied: each is replaced by ${SERVER_KEY}, and the
output says where its value is now.

With -o json there are lists of objects: added, replaced, skipped, conflicts
(each with name, client, file, target, state, reason), variables (name, server,
place, file, line), losses and changes (server, file, line, key, message).`,
		Example: `  mcpctl import
  mcpctl import --from cursor --only 'git*'
  mcpctl import .mcp.json --dry-run
  mcpctl import --yes --jq '.variables[].name'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one file, and %q is one too many", cmd.CommandPath(), args[1]).hint("%s", usageLine(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault // names of files
		},
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.from, "from", "", "read only the file of this `client`: cursor, vscode …")
		listVar(flags, &o.only, "only", "import only servers that match this `name` or glob; repeatable")
		flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
		flags.BoolVar(&o.dryRun, "dry-run", false, "show what would change, and write nothing")
		flags.BoolVar(&o.replace, "replace", false, "replace servers that differ")
		flags.BoolVar(&o.allowLiteralSecret, "allow-literal-secret", false, "copy secrets in plain text")
		a.completeFlagWith(cmd, "only", func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return o.completeOnly(cmd, a, args), cobra.ShellCompDirectiveNoFileComp
		})
	})
}

// completeOnly completes the names of the servers that are there to be taken over.
func (o *importOptions) completeOnly(cmd *cobra.Command, a *app, args []string) []cobra.Completion {
	sources, err := o.sources(cmd.Context(), a, args)
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for _, i := range importPlan(new(config.Config), sources, config.AdoptOptions{}) {
		words = append(words, cobra.CompletionWithDesc(i.name, strings.Join(i.clients, ", ")))
	}
	return words
}

// importDocument is the output of import.
type importDocument struct {
	Version  int              `json:"version"`
	Config   string           `json:"config"`
	DryRun   bool             `json:"dry_run,omitempty"`
	LookedAt []importFileBody `json:"looked_at"`
	Added    []importedBody   `json:"added"`
	Replaced []importedBody   `json:"replaced"`
	Skipped  []importedBody   `json:"skipped"`
	Conflict []importedBody   `json:"conflicts"`
	Variable []importVariable `json:"variables"`
	Losses   []importRemark   `json:"losses"`
	Changes  []importRemark   `json:"changes"`
}

// importFileBody is a file that was looked at.
type importFileBody struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Servers int    `json:"servers"`
	Absent  bool   `json:"absent,omitempty"`
	Error   string `json:"error,omitempty"`
}

// importedBody is a server that was found.
type importedBody struct {
	Name string `json:"name"`
	// From is its name in the client's file, if that is another one.
	From    string   `json:"from,omitempty"`
	Client  string   `json:"client"`
	Clients []string `json:"clients,omitempty"`
	File    string   `json:"file"`
	Line    int      `json:"line,omitempty"`
	Target  string   `json:"target"`
	Enabled bool     `json:"enabled"`
	State   string   `json:"state"`
	Reason  string   `json:"reason,omitempty"`
}

// importVariable is a variable to be set.
type importVariable struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	Place  string `json:"place"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	About  string `json:"about,omitempty"`
}

// importRemark is what is not as it was.
type importRemark struct {
	Server  string `json:"server,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func (o *importOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	file, err := a.editablePath()
	if err != nil {
		return err
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	sources, err := o.sources(ctx, a, args)
	if err != nil {
		return err
	}
	all, err := await(ctx, func() ([]*importItem, error) { // files of variables may be read
		return importPlan(c, sources, config.AdoptOptions{Home: a.home, LiteralSecrets: o.allowLiteralSecret}), nil
	})
	if err != nil {
		return err
	}
	items, err := o.chosen(all)
	if err != nil {
		return err
	}
	explicit := len(args) > 0 || o.from != ""
	if err := unusable(items, explicit); err != nil {
		return err
	}
	if !a.json() {
		if err := o.show(a, sources, items); err != nil {
			return err
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(items), func(i *importItem) bool { return !i.taken(o.replace) })
	if len(wanted) > 0 && !o.dryRun {
		if err := o.consent(cmd, a, file, wanted, explicit); err != nil {
			return err
		}
		if err := o.write(ctx, file, wanted); err != nil {
			return err
		}
	}
	if a.json() {
		return a.print(ctx, o.document(file, sources, items))
	}
	return o.tell(a, file, items, wanted)
}

// unusable is the error of a file that was named and in which nothing can be used.
func unusable(items []*importItem, explicit bool) error {
	if !explicit || len(items) == 0 || slices.ContainsFunc(items, func(i *importItem) bool { return i.err == nil }) {
		return nil
	}
	return items[0].err
}

// consent warns of what looks dangerous, and asks, unless the answer was given beforehand. Nothing is started by importing.
func (o *importOptions) consent(cmd *cobra.Command, a *app, file string, wanted []*importItem, explicit bool) error {
	for _, i := range wanted {
		a.tellDangers(i.server)
	}
	if o.yes || explicit && !a.canPrompt() {
		return nil
	}
	var added, replaced int
	for _, i := range wanted {
		if i.state == importDifferent {
			replaced++
		} else {
			added++
		}
	}
	place := render.OneLine(file)
	question := fmt.Sprintf("Add %s to %s?", plural(added, "server"), place)
	switch {
	case added == 0:
		question = fmt.Sprintf("Replace %s in %s?", plural(replaced, "server"), place)
	case replaced > 0:
		question = fmt.Sprintf("Add %s and replace %d in %s?", plural(added, "server"), replaced, place)
	}
	sure, err := a.asker().Confirm(cmd.Context(), question)
	switch {
	case errors.Is(err, prompt.ErrNobody):
		return usagef("there is no terminal to ask on, so nothing was imported").hint("%s", a.inserted(cmd, "--yes"))
	case err != nil:
		return err
	case !sure:
		a.note("nothing was imported")
		return reportedError(codeFailed)
	}
	return nil
}

// write writes the entries, all or none. What another command has changed since they were looked at is not overwritten.
func (o *importOptions) write(ctx context.Context, file string, wanted []*importItem) error {
	return config.EditContext(ctx, file, func(d *config.Document) error {
		var added, replaced []config.Server
		for _, i := range wanted {
			now, there := d.Server(i.name)
			var err error
			switch {
			case there && now.Err == nil && now.Same(i.server):
			case there && i.state == importDifferent:
				replaced = append(replaced, i.server)
			case there:
				err = &configError{server: i.name, message: "was added by another command meanwhile, so nothing was imported", hint: "look again: mcpctl import"}
			default:
				added = append(added, i.server)
			}
			if err != nil {
				return err
			}
		}
		if err := d.ReplaceAll(replaced); err != nil {
			return err
		}
		return d.AddAll(added)
	})
}

// show shows what was found.
func (o *importOptions) show(a *app, sources []importSource, items []*importItem) error {
	for _, s := range sources {
		if s.err != nil && !s.absent {
			a.warn("mcpctl: warning: " + s.client + " was left out: " + render.OneLine(s.err.Error()) + "\n")
		}
		if s.config != nil {
			a.tellNotes(s.path, s.config.Notes)
		}
	}
	if len(items) == 0 {
		return o.showNothing(a, sources)
	}
	t := render.Table{Columns: []render.Column{{Title: "client"}, {Title: "name", Fixed: true}, {Title: "target"}, {Title: "state", Fixed: true}}}
	for _, i := range items {
		style := render.Plain
		switch i.state {
		case importNew:
			style = render.Good
		case importSame:
			style = render.Faint
		case importDifferent, importConflict, importInvalid:
			style = render.Bad
		}
		t.Rows = append(t.Rows, []render.Cell{
			{Text: strings.Join(i.clients, ",")}, {Text: i.name, Style: render.Strong}, {Text: i.target()}, {Text: i.state, Style: style},
		})
	}
	if err := t.Write(a.out(), a.screen()); err != nil {
		return err
	}
	o.showReasons(a, items)
	return nil
}

// showNothing says where nothing was found.
func (o *importOptions) showNothing(a *app, sources []importSource) error {
	var b strings.Builder
	b.WriteString("No servers found. Looked at:\n")
	for _, s := range sources {
		what := "no servers in it"
		switch {
		case s.absent:
			what = "not there"
		case s.err != nil:
			what = "not readable"
		}
		fmt.Fprintf(&b, "  %s (%s)\n", render.OneLine(a.short(s.path)), what)
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// short returns a path with ~ for the home directory.
func (a *app) short(file string) string {
	if file == "-" {
		return "standard input"
	}
	if rest, ok := strings.CutPrefix(file, a.home+string(filepath.Separator)); ok && a.home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return file
}

// mostRemarks is how many remarks of a kind have a line of their own: as many as leave the table in sight.
const mostRemarks = 6

// showReasons says why entries are left out, and what is lost or changed in those that are not.
func (o *importOptions) showReasons(a *app, items []*importItem) {
	var left, losses []string
	for _, i := range items {
		about := i.name + ": "
		switch {
		case i.state == importConflict:
			left = append(left, about+i.reason()+", so "+i.clients[0]+"'s is left out; to take that: mcpctl import "+a.configWords()+"--from "+i.clients[0]+" --only "+toolargs.Quote(i.name)+" --replace")
		case i.state == importDifferent && !o.replace:
			left = append(left, about+i.reason()+"; to replace it: --replace")
		case i.state == importInvalid:
			left = append(left, i.clients[0]+": "+i.reason())
		case i.taken(o.replace):
			if reason := i.reason(); i.state == importNew && reason != "" {
				losses = append(losses, about+reason)
			}
			if i.found.Name != i.name {
				losses = append(losses, about+fmt.Sprintf("is called %q there", i.found.Name))
			}
			if !i.server.Enabled {
				losses = append(losses, about+"stays disabled, as it is there")
			}
			for _, r := range slices.Concat(i.told.Changes, i.told.Losses) {
				r.File = a.short(r.File)
				losses = append(losses, about+r.String())
			}
		}
	}
	tell := func(list []string) {
		for n, text := range list {
			if n == mostRemarks && len(list) > mostRemarks+1 {
				a.note(plural(len(list)-n, "more note") + "; -o json has all")
				break
			}
			a.note(render.OneLine(text))
		}
	}
	tell(left)
	tell(losses)
}

// tell says what was done, and what is left to be done.
func (o *importOptions) tell(a *app, file string, items, wanted []*importItem) error {
	if len(items) == 0 {
		return nil
	}
	var b strings.Builder
	switch {
	case !slices.ContainsFunc(items, func(i *importItem) bool { return i.state != importSame }):
		b.WriteString("nothing to import: all of it is there already\n")
	case len(wanted) == 0:
		b.WriteString("nothing to import\n")
	case o.dryRun:
		b.WriteString("nothing was written, because of --dry-run\n")
	}
	for _, done := range []struct{ state, verb string }{{importNew, "added"}, {importDifferent, "replaced"}} {
		var list []string
		for _, i := range wanted {
			if i.state == done.state {
				list = append(list, toolargs.Quote(i.name))
			}
		}
		if len(list) > 0 && !o.dryRun {
			what := strings.Join(list, ", ")
			if len(list) > mostVariables {
				what = plural(len(list), "server") // the table has their names
			}
			b.WriteString(done.verb + " " + what + " in " + file + "\n")
		}
	}
	b.WriteString(variablesText(a, wanted))
	if len(wanted) > 0 && !o.dryRun {
		b.WriteString("Next: mcpctl list " + a.configWords() + "--check\n")
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// mostVariables is how many variables are shown in lines of their own.
const mostVariables = 12

// variablesText lists the variables to be set, and where their values stand.
func variablesText(a *app, wanted []*importItem) string {
	var lines []string
	for _, i := range wanted {
		for _, v := range i.told.Variables {
			where := v.About
			if v.File != "" {
				where = "now in " + a.short(v.File)
				if v.Line > 0 {
					where = fmt.Sprintf("%s:%d", where, v.Line)
				}
			}
			where = render.OneLine(where)
			if width := a.screen().Width; width > 0 && len(v.Name)+len(where)+len("    ") > width {
				lines = append(lines, "  "+v.Name+"\n      "+where)
				continue
			}
			lines = append(lines, "  "+v.Name+"  "+where)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	title := "Variables to set; their values were not copied:\n"
	if len(lines) > mostVariables+1 {
		more := len(lines) - mostVariables
		lines = append(lines[:mostVariables], fmt.Sprintf("  and %d more; -o json has all", more))
	}
	return title + strings.Join(lines, "\n") + "\n"
}

// document describes what was found and done.
func (o *importOptions) document(file string, sources []importSource, items []*importItem) importDocument {
	doc := importDocument{
		Version: documentVersion, Config: file, DryRun: o.dryRun,
		LookedAt: []importFileBody{}, Added: []importedBody{}, Replaced: []importedBody{}, Skipped: []importedBody{}, Conflict: []importedBody{},
		Variable: []importVariable{}, Losses: []importRemark{}, Changes: []importRemark{},
	}
	for _, s := range sources {
		body := importFileBody{Client: s.client, File: s.path, Absent: s.absent}
		if s.config != nil {
			body.Servers = len(s.config.Servers)
			for _, n := range s.config.Notes {
				doc.Losses = append(doc.Losses, importRemark{File: s.path, Line: n.Line, Key: n.Key, Message: n.Message})
			}
		}
		if s.err != nil && !s.absent {
			body.Error = s.err.Error()
		}
		doc.LookedAt = append(doc.LookedAt, body)
	}
	for _, i := range items {
		body := importedBody{
			Name: i.name, Client: i.clients[0], File: i.path, Line: i.told.Line, Target: i.target(),
			Enabled: i.found.Enabled, State: i.state, Reason: i.reason(),
		}
		if len(i.clients) > 1 {
			body.Clients = i.clients
		}
		if i.found.Name != i.name {
			body.From = i.found.Name
		}
		switch {
		case i.state == importNew:
			doc.Added = append(doc.Added, body)
		case i.state == importDifferent && o.replace:
			doc.Replaced = append(doc.Replaced, body)
		case i.state == importConflict:
			doc.Conflict = append(doc.Conflict, body)
		default:
			doc.Skipped = append(doc.Skipped, body)
		}
		if !i.taken(o.replace) {
			continue
		}
		for _, v := range i.told.Variables {
			doc.Variable = append(doc.Variable, importVariable{Name: v.Name, Server: i.name, Place: v.Place, File: v.File, Line: v.Line, About: v.About})
		}
		remarks := func(list []config.Remark) []importRemark {
			var out []importRemark
			for _, r := range list {
				out = append(out, importRemark{Server: i.name, File: r.File, Line: r.Line, Key: r.Key, Message: r.Message})
			}
			return out
		}
		doc.Losses = append(doc.Losses, remarks(i.told.Losses)...)
		doc.Changes = append(doc.Changes, remarks(i.told.Changes)...)
	}
	return doc
}
