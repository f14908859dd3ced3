package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

type exportOptions struct {
	to                 string
	file               string
	write              bool
	yes                bool
	dryRun             bool
	replace            bool
	allowLiteralSecret bool
}

func newExportCmd(a *app) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export --to CLIENT [NAME...]",
		Short: "Export servers to another client",
		Long: `Write servers in another client's format: all of them, or those that are named.
Quoted globs match several servers. The result is printed; with --write it is
merged into the client's own file, or into that of --file, and everything else
in that file stays as it is. On a terminal it asks first; otherwise it needs
--yes.

Settings that the client does not support are reported on stderr. Variables are
written in the client's syntax, and their values are never read. Secrets in
plain text are refused without --allow-literal-secret. A different server of the
same name is kept, unless --replace is given.

With -o json the keys are client, path (with --write) or text, and the lists
added and replaced (names), skipped (name, reason, message) and losses (server,
key, message).`,
		Example: `  mcpctl export --to vscode > .vscode/mcp.json
  mcpctl export --to cursor notes 'git*' --write
  mcpctl export --to claude-code --write --file .mcp.json --dry-run`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.to, "to", "", "write the format of this `client`: cursor, vscode …")
		flags.BoolVar(&o.write, "write", false, "merge the servers into the client's own file")
		flags.StringVar(&o.file, "file", "", "with --write: merge the servers into this `file`")
		flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
		flags.BoolVar(&o.dryRun, "dry-run", false, "with --write: show what would change, and write nothing")
		flags.BoolVar(&o.replace, "replace", false, "with --write: replace servers that differ")
		flags.BoolVar(&o.allowLiteralSecret, "allow-literal-secret", false, "copy secrets in plain text")
	})
}

// exportDocument is the output of export.
type exportDocument struct {
	Version int    `json:"version"`
	Client  string `json:"client"`
	// Text is what would have been printed, and Path the file that is merged into: what else stands there is not shown.
	Text     string        `json:"text,omitempty"`
	Path     string        `json:"path,omitempty"`
	DryRun   bool          `json:"dry_run,omitempty"`
	Losses   []exportLoss  `json:"losses"`
	Added    []string      `json:"added"`
	Replaced []string      `json:"replaced"`
	Skipped  []exportedNot `json:"skipped"`
}

// exportLoss is what a client's file does not say as ours does.
type exportLoss struct {
	Server  string `json:"server"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

// exportedNot is a server that is not written.
type exportedNot struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (o *exportOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if !o.write {
		for _, name := range []string{"file", "dry-run", "replace"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s goes with --write", name).hint("%s", a.inserted(cmd, "--write"))
			}
		}
	}
	format, err := o.format(a)
	if err != nil {
		return err
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	servers, left, err := o.servers(c, args)
	if err != nil {
		return err
	}
	merge := config.MergeOptions{Replace: o.replace, LiteralSecrets: o.allowLiteralSecret, Disabled: args, Home: a.home}
	if o.write {
		return o.merge(cmd, a, format, servers, left, merge)
	}
	m, err := format.Merge("", nil, servers, merge)
	if err != nil {
		return err
	}
	m.Skipped = append(left, m.Skipped...)
	if a.json() {
		doc := o.document(format, m)
		doc.Text = string(m.Text)
		return a.print(ctx, doc)
	}
	o.tell(a, m)
	if !m.Changed() && len(m.Skipped) > 0 {
		return reportedError(codeFailed)
	}
	_, err = a.out().Write(m.Text)
	return err
}

// format returns the format that --to names.
func (o *exportOptions) format(a *app) (config.Format, error) {
	var known []string
	var named []config.Format
	for _, f := range config.Writable() {
		known = append(known, f.Name)
		if f.Name == o.to {
			return f, nil
		}
		if first, _, ok := strings.Cut(f.Name, "-"); ok && first == o.to {
			named = append(named, f)
		}
	}
	list := strings.Join(known, ", ")
	if o.to == "" {
		return config.Format{}, usagef("export: no client named; one of %s", list).hint("mcpctl export --to %s", known[0])
	}
	if len(named) > 0 { // by the first word, as --from takes it
		there := slices.DeleteFunc(slices.Clone(named), func(f config.Format) bool {
			_, err := os.Stat(a.userFile(f))
			return err != nil
		})
		if len(there) == 1 && o.write && o.file == "" {
			return there[0], nil
		}
		e := usagef("--to %s: that may be %s or %s", o.to, named[0].Title, named[len(named)-1].Title)
		for _, f := range named {
			e.hint("--to %s", f.Name)
		}
		return config.Format{}, e
	}
	for _, f := range config.Clients() {
		if f.Name == o.to {
			return config.Format{}, usagef("--to %s: %s's files are read, but not written; those of %s are", o.to, f.Title, list)
		}
	}
	e := usagef("--to: unknown client %q; known are %s", o.to, list)
	for _, near := range config.Near(o.to, known) {
		e.hint("--to %s", near)
	}
	return config.Format{}, e
}

// servers returns the entries that are named. One that is broken is an error if it is named itself, and left out of all
// others.
func (o *exportOptions) servers(c *config.Config, args []string) (servers []config.Server, left []config.Skipped, err error) {
	found, err := named(c, args)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range found {
		if s.Err != nil && !slices.Contains(args, s.Name) {
			left = append(left, config.Skipped{Name: s.Name, Reason: "invalid", Message: s.Err.Error()})
			continue
		}
		servers = append(servers, s)
	}
	if len(found) == 0 {
		return nil, nil, usagef("there are no servers to export").hint("mcpctl add")
	}
	return servers, left, nil
}

// merge writes into the client's file. What would be done is looked at first, because nobody should wait for an answer
// with the file locked; what is done then must still be that.
func (o *exportOptions) merge(cmd *cobra.Command, a *app, f config.Format, servers []config.Server, left []config.Skipped, merge config.MergeOptions) error {
	ctx, path := cmd.Context(), o.file
	if cmd.Flags().Changed("file") && path == "" || path == "-" {
		return usagef("--file: name a file")
	}
	if path == "" {
		if path = f.FileToMerge(runtime.GOOS, a.home, a.lookup); path == "" {
			return usagef("it is not known where %s has its file", f.Title).hint("%s", a.inserted(cmd, "--file", "FILE"))
		}
	}
	plan, err := await(ctx, func() (config.Merged, error) {
		old, err := config.ReadForMerge(path)
		if err != nil {
			return config.Merged{}, err
		}
		return f.Merge(path, old, servers, merge)
	})
	if err != nil {
		return err
	}
	plan.Skipped = append(left, plan.Skipped...)
	if !a.json() {
		o.tell(a, plan)
	}
	if plan.Changed() && !o.dryRun {
		if err := o.consent(cmd, a, f, path, plan); err != nil {
			return err
		}
		done, err := f.MergeFile(ctx, path, servers, merge, func(m config.Merged) error {
			if !slices.Equal(m.Added, plan.Added) || !slices.Equal(m.Replaced, plan.Replaced) {
				return &configError{message: "was changed by another program meanwhile, so nothing was written", hint: "look again: " + line(quoted(a.args))}
			}
			return nil
		})
		if err != nil {
			return err
		}
		plan.Losses = done.Losses
	}
	if a.json() {
		doc := o.document(f, plan)
		doc.Path, doc.DryRun = path, o.dryRun
		return a.print(ctx, doc)
	}
	return o.tellDone(a, path, plan)
}

// consent asks, unless the answer was given beforehand.
func (o *exportOptions) consent(cmd *cobra.Command, a *app, f config.Format, path string, m config.Merged) error {
	if o.yes {
		return nil
	}
	what := "Add " + countedNames(m.Added)
	switch {
	case len(m.Added) == 0:
		what = "Replace " + countedNames(m.Replaced)
	case len(m.Replaced) > 0:
		what += " and replace " + countedNames(m.Replaced)
	}
	sure, err := a.asker().Confirm(cmd.Context(), fmt.Sprintf("%s in %s's file %s?", what, f.Title, render.OneLine(a.short(path))))
	switch {
	case errors.Is(err, prompt.ErrNobody):
		return usagef("there is no terminal to ask on, so nothing was written").hint("%s", a.inserted(cmd, "--yes"))
	case err != nil:
		return err
	case !sure:
		a.note("nothing was written")
		return reportedError(codeFailed)
	}
	return nil
}

// mostNames is how many names a sentence holds.
const mostNames = 4

// countedNames returns names, or how many they are.
func countedNames(list []string) string {
	if len(list) > mostNames {
		return plural(len(list), "server")
	}
	return strings.Join(quoted(list), ", ")
}

// tell tells what is left out, and what is lost: what is said of several keys of a server in one line.
func (o *exportOptions) tell(a *app, m config.Merged) {
	var notes []string
	for _, s := range m.Skipped {
		if s.Reason != config.SkipSame {
			notes = append(notes, toolargs.Quote(s.Name)+" is left out: it "+s.Message)
			if s.Reason == "invalid" {
				notes[len(notes)-1] = toolargs.Quote(s.Name) + " is left out: " + s.Message
			}
		}
	}
	type about struct{ servers, keys []string }
	said := map[string]*about{}
	var order []string
	for _, l := range m.Losses {
		// Servers with the same trouble share a line, too.
		id := l.Server + "\n" + l.Message
		if said[id] == nil {
			said[id] = &about{servers: []string{l.Server}}
			order = append(order, id)
		}
		if l.Key != "" {
			said[id].keys = append(said[id].keys, l.Key)
		}
	}
	var merged []string
	servers := map[string][]string{}
	for _, id := range order {
		_, message, _ := strings.Cut(id, "\n")
		text := strings.Join(said[id].keys, ", ") + ": " + message
		if servers[text] == nil {
			merged = append(merged, text)
		}
		servers[text] = append(servers[text], said[id].servers...)
	}
	for _, text := range merged {
		notes = append(notes, countedNames(servers[text])+": "+text)
	}
	for n, text := range notes {
		if n == 2*mostRemarks && len(notes) > 2*mostRemarks+1 {
			a.note(plural(len(notes)-n, "more note") + "; -o json has all")
			break
		}
		a.note(render.OneLine(text))
	}
}

// tellDone says what was done to a file.
func (o *exportOptions) tellDone(a *app, path string, m config.Merged) error {
	var b strings.Builder
	added, replaced := "added ", "replaced "
	if o.dryRun {
		added, replaced = "would add ", "would replace "
	}
	if len(m.Added) > 0 {
		b.WriteString(added + strings.Join(quoted(m.Added), ", ") + " in " + path + "\n")
	}
	if len(m.Replaced) > 0 {
		b.WriteString(replaced + strings.Join(quoted(m.Replaced), ", ") + " in " + path + "\n")
	}
	switch {
	case m.Changed() && o.dryRun:
		b.WriteString("nothing was written, because of --dry-run\n")
	case m.Changed():
	case !slices.ContainsFunc(m.Skipped, func(s config.Skipped) bool { return s.Reason != config.SkipSame }):
		b.WriteString("nothing to write: all of it is there already\n")
	default:
		b.WriteString("nothing to write\n")
	}
	_, err := io.WriteString(a.out(), b.String())
	return err
}

// document describes what is written.
func (o *exportOptions) document(f config.Format, m config.Merged) exportDocument {
	doc := exportDocument{
		Version: documentVersion, Client: f.Name, Losses: []exportLoss{}, Skipped: []exportedNot{},
		Added: append([]string{}, m.Added...), Replaced: append([]string{}, m.Replaced...),
	}
	for _, l := range m.Losses {
		doc.Losses = append(doc.Losses, exportLoss{l.Server, l.Key, l.Message})
	}
	for _, s := range m.Skipped {
		doc.Skipped = append(doc.Skipped, exportedNot{s.Name, string(s.Reason), s.Message})
	}
	return doc
}
