package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type promptOptions struct {
	serverFlags
	interactionFlags
	contentFlags
	args       string
	noValidate bool
	save       string
}

func newPromptCmd(a *app) *cobra.Command {
	var o promptOptions
	cmd := &cobra.Command{
		Use:   "prompt SERVER PROMPT [ARG...]",
		Short: "Print the messages of a prompt of a server",
		Long: `Print the messages that a server makes from a prompt. An argument is key=value,
as mcpctl help arguments explains; all arguments of prompts are text, so n=1 is
the text 1. Missing required arguments are asked for on a terminal.

In a pipe a single message is printed as its text alone. If there are several,
each has a line with its role above it.`,
		Example: `  mcpctl prompt demo greet name=Ada
  mcpctl prompt demo greet name=Ada style=poetic | llm
  mcpctl prompt demo tour --jq '.result.messages[].role'`,
		ValidArgsFunction: a.completePrompts(true),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.args, "args", "", "all arguments as one `JSON` object; @FILE reads a file, - reads stdin")
		flags.BoolVar(&o.noValidate, "no-validate", false, "send the arguments even if the server does not list them")
		flags.StringVar(&o.save, "save", "", "save images, audio and resources in this directory `DIR`")
		o.contentFlags.register(a, cmd)
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

// promptDocument is the output of prompt.
type promptDocument struct {
	Version   int             `json:"version"`
	Server    string          `json:"server"`
	Prompt    string          `json:"prompt"`
	Result    json.RawMessage `json:"result"`
	Truncated bool            `json:"truncated,omitempty"`
	// Saved are the files that --save has written, and Problems what is odd in the result.
	Saved     []string     `json:"saved,omitempty"`
	Problems  []string     `json:"problems,omitempty"`
	Session   *sessionBody `json:"session,omitempty"`
	ElapsedMS int64        `json:"elapsed_ms"`
	// Error is there when the messages came, and what came after them failed.
	Error *errorBody `json:"error,omitempty"`
}

// promptParams are the parameters of prompts/get.
type promptParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

func (o *promptOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := o.check(cmd); err != nil {
		return err
	}
	switch flags := cmd.Flags(); {
	case flags.Changed("args") && o.args == "":
		return usagef("--args: is empty").hint("--args '{}'")
	case flags.Changed("save") && o.save == "":
		return usagef("--save: the name of the directory is empty")
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	words := ""
	if o.stdio != "" || len(args) > 0 {
		words = o.words(cmd, a, args)
	}
	if len(rest) == 0 {
		return usagef("no prompt named").hint("%s", usageLine(cmd)).hint("mcpctl prompts %s shows the prompts there are", words)
	}
	source, err := a.argumentSource(ctx, o.args, rest[1:])
	if err != nil {
		return &serverError{server.Name, a.promptError(words, rest[0], rest[1:], err)}
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	if err := a.showImages(&o.imageFlags); err != nil {
		return err
	}
	return a.with(ctx, server, func(s *session.Supervisor) error {
		arguments, err := o.arguments(ctx, a, s, server, words, rest, source)
		if err != nil {
			return &serverError{server.Name, a.promptError(words, rest[0], rest[1:], err)}
		}
		ctx, stop := a.working(ctx, "getting "+rest[0]+" of "+server.Name)
		defer stop()
		start := time.Now()
		var raw json.RawMessage
		err = a.visiting(ctx, server.Name, func() (err error) {
			raw, err = ask(ctx, s, "prompts/get", promptParams{rest[0], arguments})
			return err
		})
		elapsed := time.Since(start)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		messages, err := render.ParseMessages(raw)
		if err != nil {
			return badResult(server.Name, "prompts/get", err)
		}
		return o.show(ctx, a, messages, promptDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), Prompt: rest[0],
			Session: a.sessionBody(), ElapsedMS: elapsed.Milliseconds(),
		})
	})
}

// arguments makes the arguments, with what the server lists of the prompt, and asks for those that are missing.
func (o *promptOptions) arguments(ctx context.Context, a *app, s *session.Supervisor, server config.Server, words string, rest []string, source toolargs.Source) (json.RawMessage, error) {
	build := func(schema json.RawMessage) (json.RawMessage, error) {
		return toolargs.Build(toolargs.Input{Words: rest[1:], Args: o.args, Schema: schema, Source: source})
	}
	if o.noValidate {
		return build(json.RawMessage(`{"additionalProperties":{"type":"string"}}`))
	}
	listing, stop := a.working(ctx, "listing the prompts of "+server.Name)
	list, err := listKind(listing, s, server.Name, promptKind())
	stop()
	if err != nil {
		return nil, err
	}
	item, ok := list.find(rest[0])
	if !ok {
		return nil, list.unknownPrompt(server.Name, words, rest[0])
	}
	schema := textSchema(item.arguments, nil)
	arguments, err := build(schema)
	if err != nil {
		return nil, err
	}
	err = toolargs.Check(arguments, schema)
	if toolargs.IsMissing(err) && a.canPrompt() {
		return a.askMissing(ctx, missingArguments{
			title:  fmt.Sprintf("%s of %s needs more arguments", item.id, server.Name),
			schema: schema, given: arguments, words: rest[1:], args: o.args, source: source,
		})
	}
	return arguments, err
}

// promptError completes an error of a prompt's arguments.
func (a *app) promptError(server, name string, typed []string, err error) error {
	return a.argumentError(name, fmt.Sprintf("mcpctl prompts %s %s shows its arguments", server, toolargs.Quote(name)), typed, err)
}

func (o *promptOptions) show(ctx context.Context, a *app, messages *render.Messages, doc promptDocument) error {
	var failed error
	if o.save != "" {
		var err error
		if doc.Saved, err = messages.Save(o.save, doc.Prompt); err != nil {
			failed = fmt.Errorf("--save: %w", err)
		}
		a.tellSaved(doc.Saved)
	}
	doc.Truncated = o.cut(a, messages)
	for _, p := range messages.Problems {
		a.warning(p)
	}
	doc.Result, doc.Problems = messages.Raw, a.maskedTexts(messages.Problems)
	a.shell.keep(doc)
	f := failure{}
	if failed != nil {
		f = newFailure(classFailed, failed.Error())
		f.Outcome = string(session.OutcomeExecuted)
		body := f.body()
		doc.Error = &body
	}
	var err error
	switch {
	case a.json():
		err = a.printData(ctx, doc)
	case messages.Len() == 0:
		a.note(strings.TrimSpace(render.OneLine(doc.Prompt) + " has no messages"))
	default:
		err = messages.Write(a.io.Out, a.screen())
	}
	if err != nil || failed == nil {
		return err
	}
	a.warn(f.text(false, a.errWidth()))
	return reportedError(f.code)
}
