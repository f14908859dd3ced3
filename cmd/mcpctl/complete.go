package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type completeOptions struct {
	serverFlags
	interactionFlags
	prompt     string
	resource   string
	context    []string
	noValidate bool
}

func newCompleteCmd(a *app) *cobra.Command {
	var o completeOptions
	cmd := &cobra.Command{
		Use:   "complete SERVER --prompt NAME ARG=PREFIX | complete SERVER --resource URI ARG=PREFIX",
		Short: "Ask a server for possible values of an argument",
		Long: `Ask a server for the possible values of an argument of a prompt, or of a
variable of a resource template, that begin with PREFIX. They are printed one
per line.

--context passes the values of other arguments that the completion may depend
on.`,
		Example: `  mcpctl complete demo --prompt greet style=p
  mcpctl complete demo --resource 'demo://notes/{number}' number=
  mcpctl complete search --prompt find --context team=infra person=`,
		ValidArgsFunction: a.completeCompletion(&o),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.prompt, "prompt", "", "complete an argument of the prompt with this `NAME`")
		flags.StringVar(&o.resource, "resource", "", "complete a variable of the resource template with this `URI`")
		listVar(flags, &o.context, "context", "value of another argument, `KEY=VALUE`; repeatable")
		flags.BoolVar(&o.noValidate, "no-validate", false, "ask even if the server does not list the argument")
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
		a.completeFlagWith(cmd, "prompt", a.completeAsked(promptKind().method, func(offers []session.Offer) []cobra.Completion {
			words, _ := completePrompt(offers, nil, "", false)
			return words
		}))
		a.completeFlagWith(cmd, "resource", a.completeAsked(templateKind().method, completeURI))
	})
}

// completeDocument is the output of complete.
type completeDocument struct {
	Version   int             `json:"version"`
	Server    string          `json:"server"`
	Result    json.RawMessage `json:"result"`
	Session   *sessionBody    `json:"session,omitempty"`
	ElapsedMS int64           `json:"elapsed_ms"`
}

// completeParams are the parameters of completion/complete. See the MCP specification, 2025-11-25, "Completion".
type completeParams struct {
	Ref      completeRef      `json:"ref"`
	Argument completeArg      `json:"argument"`
	Context  *completeContext `json:"context,omitempty"`
}

type completeRef struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

type completeArg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type completeContext struct {
	Arguments map[string]string `json:"arguments"`
}

// promptRef and resourceRef say whose argument is completed.
func promptRef(name string) completeRef  { return completeRef{Type: "ref/prompt", Name: name} }
func resourceRef(uri string) completeRef { return completeRef{Type: "ref/resource", URI: uri} }

// completion is what a server answers.
type completion struct {
	values []string
	// total is how many values there are, -1 if the server does not say; more is set when there are others.
	total int
	more  bool
	raw   json.RawMessage
}

// completeValues asks a server for the values of an argument that begin with a prefix. Given are the values of others.
func completeValues(ctx context.Context, s *session.Supervisor, server string, ref completeRef, arg completeArg, given map[string]string) (completion, error) {
	params := completeParams{Ref: ref, Argument: arg}
	if len(given) > 0 {
		params.Context = &completeContext{given}
	}
	raw, err := ask(ctx, s, "completion/complete", params)
	if err != nil {
		if e := answered(err); e != nil && e.RPC != nil && e.RPC.Code == codeNoMethod {
			return completion{}, hinted(e, "the server offers no completion")
		}
		return completion{}, err
	}
	c, err := parseCompletion(raw)
	if err != nil {
		return c, badResult(server, "completion/complete", err)
	}
	return c, nil
}

func parseCompletion(raw json.RawMessage) (completion, error) {
	c := completion{raw: raw, total: -1}
	var result struct {
		Completion *struct {
			Values  *[]string       `json:"values"`
			Total   json.RawMessage `json:"total"`
			HasMore json.RawMessage `json:"hasMore"` //nolint:tagliatelle // the specification's
		} `json:"completion"`
	}
	switch err := json.Unmarshal(raw, &result); {
	case err != nil && (result.Completion == nil || result.Completion.Values == nil):
		return c, errors.New("it has no list of texts as completion.values")
	case err != nil:
		return c, errors.New("completion.values is not a list of texts")
	case result.Completion == nil || result.Completion.Values == nil:
		return c, errors.New("it has no completion.values")
	}
	c.values = *result.Completion.Values
	var total int
	if json.Unmarshal(result.Completion.Total, &total) == nil && len(result.Completion.Total) > 0 && total >= 0 {
		c.total = total
	}
	c.more = string(result.Completion.HasMore) == "true"
	return c, nil
}

func (o *completeOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	flags := cmd.Flags()
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	byPrompt, byResource := flags.Changed("prompt"), flags.Changed("resource")
	switch {
	case byPrompt && byResource:
		return usagef("--prompt and --resource: choose one").hint("%s", usageLine(cmd))
	case !byPrompt && !byResource:
		return usagef("name the prompt or the template: --prompt NAME or --resource URI").hint("%s", usageLine(cmd))
	case byPrompt && o.prompt == "", byResource && o.resource == "":
		return usagef("--prompt or --resource: the name is empty")
	case len(rest) == 0:
		return usagef("no argument named").hint("%s", usageLine(cmd))
	case len(rest) > 1:
		return usagef("one argument is completed at a time, and %q is one too many", rest[1]).hint("--context %s gives another's value", rest[0])
	}
	given := map[string]string{}
	for _, word := range o.context {
		key, value, found := strings.Cut(word, "=")
		if !found || key == "" {
			return usagef("--context: %q is not KEY=VALUE", word)
		}
		given[key] = value
	}
	var arg completeArg
	arg.Name, arg.Value, _ = strings.Cut(rest[0], "=")
	if arg.Name == "" {
		return usagef("%q is not ARG=PREFIX", rest[0]).hint("%s", usageLine(cmd))
	}
	ref := promptRef(o.prompt)
	if byResource {
		ref = resourceRef(o.resource)
		if err := o.checkVariable(arg.Name); err != nil {
			return &serverError{server.Name, err}
		}
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	ctx, stop := a.working(ctx, "completing "+arg.Name+" of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		if byPrompt && !o.noValidate {
			if err := o.checkArgument(ctx, s, server, o.words(cmd, a, args), arg.Name); err != nil {
				return &serverError{server.Name, err}
			}
		}
		start := time.Now()
		c, err := completeValues(ctx, s, server.Name, ref, arg, given)
		elapsed := time.Since(start)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		doc := completeDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), Result: c.raw,
			Session: a.sessionBody(), ElapsedMS: elapsed.Milliseconds(),
		}
		a.shell.keep(doc)
		if a.json() {
			return a.printData(ctx, doc)
		}
		switch n := len(c.values); {
		case n == 0:
			a.note("there are no such values")
		case c.total > n:
			a.note(fmt.Sprintf("%d of %d values; a longer prefix shows others", n, c.total))
		case c.more:
			a.note("there are more values; a longer prefix shows others")
		}
		return render.Lines(a.io.Out, a.screen(), c.values)
	})
}

// checkVariable refuses a name that the template does not have.
func (o *completeOptions) checkVariable(name string) error {
	t, err := parseTemplate(o.resource)
	if err == nil && !o.noValidate {
		return lacksArgument(o.resource, "variable", name, t.variables)
	}
	return nil // of a plain URI, or what is none at all, the server says what is wrong
}

// checkArgument refuses a prompt that the server does not list, and a name that the prompt does not have.
func (o *completeOptions) checkArgument(ctx context.Context, s *session.Supervisor, server config.Server, words, name string) error {
	list, err := listKind(ctx, s, server.Name, promptKind())
	if err != nil {
		return err
	}
	item, ok := list.find(o.prompt)
	if !ok {
		return list.unknownPrompt(server.Name, words, o.prompt)
	}
	return lacksArgument(item.id, "argument", name, item.arguments)
}

func lacksArgument(whose, what, name string, arguments []promptArgument) error {
	names := make([]string, len(arguments))
	for i, arg := range arguments {
		names[i] = arg.Name
	}
	if slices.Contains(names, name) {
		return nil
	}
	e := usagef("%s has no %s %q", whose, what, name)
	switch near := config.Near(name, names); {
	case len(near) > 0:
		return e.hint("did you mean %s?", orList(near))
	case len(names) == 0:
		return e.hint("it takes none")
	}
	return e.hint("it has %s", strings.Join(names, ", "))
}
