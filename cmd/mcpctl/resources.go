package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type resourcesOptions struct {
	serverFlags
	interactionFlags
	grep string
}

func newResourcesCmd(a *app) *cobra.Command {
	o := resourcesOptions{serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "resources SERVER [URI] | resources -- COMMAND [ARG...]",
		Short: "List the resources of a server, or show one in full",
		Long: `List the resources and resource templates of a server, one per line. With URI,
or a template, show all that the server says about it; mcpctl read prints its
contents.

In a pipe the columns are the URI, the name, the type and the size, separated by
tabs; for a template the last one is "template". -o name prints the URIs, but no
templates, because those must be filled in before they can be read. If --grep
finds nothing, the exit code is 1.`,
		Example: `  mcpctl resources demo
  mcpctl resources demo 'demo://notes/{number}'
  mcpctl resources demo --grep readme -o name
  mcpctl resources -- npx -y @example/notes ~/notes`,
		Annotations:       listFormats(),
		ValidArgsFunction: a.completeResources(false),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.grep, "grep", "", "list only resources with all these `words` in the URI, name or description")
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

// resourcesDocument is the output of resources.
type resourcesDocument struct {
	Version    int               `json:"version"`
	Server     string            `json:"server"`
	Resources  []json.RawMessage `json:"resources"`
	Templates  []json.RawMessage `json:"resource_templates"`
	Problems   []string          `json:"problems"`
	Incomplete bool              `json:"incomplete,omitempty"`
	Session    *sessionBody      `json:"session,omitempty"`
}

// resourceLists are a server's resources and templates.
type resourceLists struct{ resources, templates listing }

func (l resourceLists) problems() []string {
	return append(append([]string{}, l.resources.problems...), l.templates.problems...)
}

// listResources asks a server for its resources and templates. A server that fails to list its templates has its resources
// all the same.
func listResources(ctx context.Context, s *session.Supervisor, server string) (lists resourceLists, err error) {
	if lists.resources, err = listKind(ctx, s, server, resourceKind()); err != nil {
		return lists, err
	}
	lists.templates, err = listKind(ctx, s, server, templateKind())
	e, ok := errors.AsType[*session.Error](err)
	if ok && (e.Class == session.ClassAnswered || e.Class == session.ClassProtocol) && len(lists.resources.items) > 0 {
		lists.templates = listing{incomplete: true, problems: []string{templateKind().method + ": " + e.Message}}
		return lists, nil
	}
	return lists, err
}

func (o *resourcesOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := a.listWord(cmd, args); err != nil {
		return err
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return usagef("%s takes one URI, and got %q, too", cmd.CommandPath(), rest[1]).hint("%s", usageLine(cmd))
	case len(rest) == 1 && o.grep != "":
		return usagef("--grep looks through the list, and a URI names one: choose one")
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	ctx, stop := a.working(ctx, "listing the resources of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		lists, err := listResources(ctx, s, server.Name)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		words := o.words(cmd, a, args)
		if len(rest) == 1 {
			if lists, err = lists.only(rest[0], server.Name, words); err != nil {
				return &serverError{server.Name, err}
			}
		}
		empty := len(lists.resources.items)+len(lists.templates.items) == 0
		lists.resources, lists.templates = lists.resources.mentioning(o.grep), lists.templates.mentioning(o.grep)
		if err := lists.show(ctx, a, server, words, len(rest) == 1); err != nil {
			return err
		}
		none := len(lists.resources.items)+len(lists.templates.items) == 0
		switch {
		case a.json():
			return foundNothing(none, o.grep)
		case empty:
			a.note(render.OneLine(server.Name) + " has no resources")
		case none:
			a.note(fmt.Sprintf("%s has no resource with %q in it", render.OneLine(server.Name), o.grep))
		}
		a.tellProblems(toolList{problems: lists.problems()})
		return foundNothing(none, o.grep)
	})
}

// only returns the one resource or template with that id.
func (l resourceLists) only(id, server, words string) (resourceLists, error) {
	if item, ok := l.resources.find(id); ok {
		l.resources.items, l.templates.items = []listedItem{item}, nil
		return l, nil
	}
	if item, ok := l.templates.find(id); ok {
		l.resources.items, l.templates.items = nil, []listedItem{item}
		return l, nil
	}
	e := usagef("%s lists no resource %q", server, id)
	if near := config.Near(id, append(l.resources.ids(), l.templates.ids()...)); len(near) > 0 {
		e.hint("did you mean %s?", orList(near))
	}
	return l, e.hint("it may be there all the same: mcpctl read %s %s", words, toolargs.Quote(id))
}

// show writes the lists, or the one page that is wanted.
func (l resourceLists) show(ctx context.Context, a *app, server config.Server, words string, page bool) error {
	doc := resourcesDocument{
		Version: documentVersion, Server: a.redact.String(server.Name),
		Resources: l.resources.raws(), Templates: l.templates.raws(), Problems: a.maskedTexts(l.problems()),
		Incomplete: l.resources.incomplete || l.templates.incomplete, Session: a.sessionBody(),
	}
	a.shell.keep(doc)
	switch {
	case a.json():
		a.tellProblems(toolList{problems: l.problems()})
		return a.printData(ctx, doc)
	case a.global.output == formatName && page:
		return a.printNames(append(l.resources.ids(), l.templates.ids()...))
	case a.global.output == formatName:
		return a.printNames(l.resources.ids())
	case page:
		return l.page(words).Write(a.out(), a.screen())
	}
	screen := a.screen()
	t := render.Table{Columns: []render.Column{{Title: "uri", Fixed: true}, {Title: "name"}, {Title: "type"}, {Title: "size", Right: true}}}
	for _, r := range l.resources.items {
		size := r.size
		if n, err := strconv.Atoi(size); err == nil && n >= 0 && screen.Terminal {
			size = render.Size(n)
		}
		t.Rows = append(t.Rows, []render.Cell{{Text: r.id, Style: render.Strong}, {Text: r.about()}, {Text: r.mimeType}, {Text: size}})
	}
	templates := render.Table{Columns: []render.Column{{Title: "template", Fixed: true}, {Title: "name"}, {Title: "type"}}}
	if !screen.Terminal {
		templates.Columns = append(templates.Columns, render.Column{Title: "size"})
	}
	for _, r := range l.templates.items {
		row := []render.Cell{{Text: r.id, Style: render.Strong}, {Text: r.about()}, {Text: r.mimeType}}
		if !screen.Terminal {
			row = append(row, render.Cell{Text: "template"})
		}
		templates.Rows = append(templates.Rows, row)
	}
	if err := t.Write(a.out(), screen); err != nil {
		return err
	}
	if screen.Terminal && len(t.Rows) > 0 && len(templates.Rows) > 0 {
		if _, err := fmt.Fprintln(a.out()); err != nil {
			return err
		}
	}
	return templates.Write(a.out(), screen)
}

// page returns what people want to read of the one resource or template there is.
func (l resourceLists) page(words string) render.Page {
	isTemplate := len(l.templates.items) == 1
	item := append(append([]listedItem{}, l.resources.items...), l.templates.items...)[0]
	p := render.Page{Name: item.id, Title: item.about(), Description: item.description}
	fact := func(label, text string) {
		if text != "" {
			p.Facts = append(p.Facts, render.Fact{Label: label, Text: text})
		}
	}
	if item.name != p.Title && item.name != item.id {
		fact("name", item.name)
	}
	fact("type", item.mimeType)
	size := item.size
	if n, err := strconv.Atoi(size); err == nil && n >= 0 {
		size = render.Size(n)
	}
	fact("size", size)
	fact("changed", item.modified)
	fact("meant for", item.audience)
	fact("priority", item.priority)
	example := []string{"mcpctl read", words, toolargs.Quote(item.id)}
	if isTemplate {
		if t, err := parseTemplate(item.id); err == nil {
			p.Heading = "Variables:"
			for _, v := range t.variables {
				about := "required"
				if !v.Required {
					about = "may be left out"
				}
				p.Arguments = append(p.Arguments, render.Fact{Label: v.Name, Text: about})
			}
			example = append(example, exampleWords(t.variables)...)
		}
	}
	p.Example = strings.Join(example, " ")
	return p
}
