package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type promptsOptions struct {
	serverFlags
	interactionFlags
	grep string
}

func newPromptsCmd(a *app) *cobra.Command {
	o := promptsOptions{serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "prompts SERVER [PROMPT] | prompts -- COMMAND [ARG...]",
		Short: "List the prompts of a server, or show one in full",
		Long: `List the prompts of a server, one per line: the name, the arguments (optional
ones with a question mark), and the description. With PROMPT, show its arguments
in full; mcpctl prompt prints its messages. If --grep finds nothing, the exit
code is 1.`,
		Example: `  mcpctl prompts demo
  mcpctl prompts demo greet
  mcpctl prompts -- npx -y @example/notes ~/notes`,
		Annotations:       listFormats(),
		ValidArgsFunction: a.completePrompts(false),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.grep, "grep", "", "list only prompts with all these `words` in the name or description")
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

// promptsDocument is the output of prompts.
type promptsDocument struct {
	Version    int               `json:"version"`
	Server     string            `json:"server"`
	Prompts    []json.RawMessage `json:"prompts"`
	Problems   []string          `json:"problems"`
	Incomplete bool              `json:"incomplete,omitempty"`
	Session    *sessionBody      `json:"session,omitempty"`
}

func (o *promptsOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := a.listWord(cmd, args); err != nil {
		return err
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return usagef("%s takes one prompt, and got %q, too", cmd.CommandPath(), rest[1]).hint("%s", usageLine(cmd))
	case len(rest) == 1 && o.grep != "":
		return usagef("--grep looks through the list, and PROMPT names one: choose one")
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	ctx, stop := a.working(ctx, "listing the prompts of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		list, err := listKind(ctx, s, server.Name, promptKind())
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		words := o.words(cmd, a, args)
		if len(rest) == 1 {
			item, ok := list.find(rest[0])
			if !ok {
				return &serverError{server.Name, list.unknownPrompt(server.Name, words, rest[0])}
			}
			list.items = []listedItem{item}
		}
		empty := len(list.items) == 0
		list = list.mentioning(o.grep)
		if err := list.showPrompts(ctx, a, server, words, len(rest) == 1); err != nil {
			return err
		}
		none := len(list.items) == 0
		if a.json() {
			return foundNothing(none, o.grep)
		}
		switch {
		case empty:
			a.note(render.OneLine(server.Name) + " has no prompts")
		case none:
			a.note(fmt.Sprintf("%s has no prompt with %q in it", render.OneLine(server.Name), o.grep))
		}
		a.tellProblems(toolList{problems: list.problems})
		return foundNothing(none, o.grep)
	})
}

// unknownPrompt is the error for a name that is not in the list. Words are how the command line named the server.
func (l listing) unknownPrompt(server, words, name string) error {
	e := usagef("%s has no prompt %q", server, name)
	near := config.Near(name, l.ids())
	switch {
	case len(near) > 0:
		e.hint("did you mean %s?", orList(near))
	case len(l.items) == 0:
		e.hint("it has no prompts at all")
	default:
		e.hint("mcpctl prompts %s shows the prompts there are", words)
	}
	return e
}

// showPrompts writes the list, or the one page that is wanted.
func (l listing) showPrompts(ctx context.Context, a *app, server config.Server, words string, page bool) error {
	doc := promptsDocument{
		Version: documentVersion, Server: a.redact.String(server.Name), Prompts: l.raws(),
		Problems: a.maskedTexts(l.problems), Incomplete: l.incomplete, Session: a.sessionBody(),
	}
	a.shell.keep(doc)
	switch {
	case a.json():
		a.tellProblems(toolList{problems: l.problems})
		return a.printData(ctx, doc)
	case a.global.output == formatName:
		return a.printNames(l.ids())
	case page:
		return l.items[0].promptPage(words).Write(a.out(), a.screen())
	}
	t := render.Table{Columns: []render.Column{{Title: "prompt", Fixed: true}, {Title: "arguments"}, {Title: "description"}}}
	for _, p := range l.items {
		var names []string
		for _, arg := range p.arguments {
			name := arg.Name
			if !arg.Required {
				name += "?"
			}
			names = append(names, name)
		}
		about := render.FirstSentence(firstNonEmpty(p.description, p.title))
		t.Rows = append(t.Rows, []render.Cell{{Text: p.id, Style: render.Strong}, {Text: strings.Join(names, ", ")}, {Text: about}})
	}
	return t.Write(a.out(), a.screen())
}

// promptPage returns what people want to read of a prompt.
func (i listedItem) promptPage(words string) render.Page {
	p := render.Page{
		Name: i.id, Title: i.title, Description: i.description,
		Heading: "Arguments:", None: "It takes no arguments.",
		Example: strings.Join(append([]string{"mcpctl prompt", words, toolargs.Quote(i.id)}, exampleWords(i.arguments)...), " "),
	}
	for _, arg := range i.arguments {
		about := firstNonEmpty(arg.Description, arg.Title)
		if arg.Required {
			about = strings.TrimSpace("(required)  " + about)
		}
		p.Arguments = append(p.Arguments, render.Fact{Label: arg.Name, Text: about})
	}
	return p
}
