package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type promptOptions struct {
	serverFlags
	interactionFlags
	args       string
	noValidate bool
	maxChars   int
	save       string
}

func newPromptCmd(a *app) *cobra.Command {
	var o promptOptions
	cmd := &cobra.Command{
		Use:   "prompt SERVER PROMPT [ARG...]",
		Short: "Print the messages of a prompt of a server",
		Long: `Print the messages that a server makes of a prompt. An argument is key=value, as
mcpctl help arguments tells; all arguments of prompts are text, so that n=1 is
the text 1. Those that are required and missing are asked for on a terminal.

In a pipe one message is printed as its text alone. Several each have a line
with their role above them.`,
		Example: `  mcpctl prompt demo greet name=Ada
  mcpctl prompt demo greet name=Ada style=poetic | llm
  mcpctl prompt demo tour --jq '.result.messages[].role'`,
		ValidArgsFunction: a.completePrompts(true),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.args, "args", "", "all arguments as one `JSON` object, or @FILE, or -")
	flags.BoolVar(&o.noValidate, "no-validate", false, "send what is written, whatever the server lists")
	flags.Var((*numberValue)(&o.maxChars), "max-chars", "cut what comes back to `N` characters")
	flags.StringVar(&o.save, "save", "", "save images, audio and resources in `dir`")
	o.interactionFlags.register(flags)
	o.serverFlags.register(flags)
	return cmd
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
	switch flags := cmd.Flags(); {
	case flags.Changed("max-chars") && o.maxChars <= 0:
		return usagef("--max-chars: must be more than zero")
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
	stdin := a.io.In
	if a.global.config == "-" {
		stdin = nil
	}
	// What the words name is read before anything is contacted.
	source := toolargs.Source{ReadFile: os.ReadFile, Stdin: stdin}.Cached()
	var unreadable *os.PathError
	_, err = await(ctx, func() (json.RawMessage, error) {
		return toolargs.Build(toolargs.Input{Words: rest[1:], Args: o.args, Source: source})
	})
	if err != nil && (ctx.Err() != nil || errors.As(err, &unreadable)) {
		return &serverError{server.Name, a.promptError(words, rest[0], rest[1:], err)}
	}
	if err := a.interact(&o.interactionFlags); err != nil {
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
	if missing := lacking(item.arguments, arguments); len(missing) > 0 && a.canPrompt() {
		filled, err := a.fill(ctx, form{
			title: "the arguments of " + item.id + " of " + server.Name, schema: schema, given: arguments, required: true,
		})
		switch {
		case err == nil:
			arguments = filled
		case !errors.Is(err, prompt.ErrNobody):
			return nil, err
		}
	}
	return arguments, toolargs.Check(arguments, schema)
}

// promptError completes an error of the arguments: with the prompt, and with the whole line when the corrected words are
// known.
func (a *app) promptError(server, name string, typed []string, err error) error {
	e, ok := errors.AsType[*toolargs.UsageError](err)
	if !ok {
		return err
	}
	if e.Correct != nil {
		return usagef("%s: %s", name, e.Message).hint("%s", a.correctedArguments(typed, e.Correct))
	}
	named := *e
	named.Message = name + ": " + e.Message
	if named.Suggestion == "" {
		named.Suggestion = fmt.Sprintf("mcpctl prompts %s %s shows its arguments", server, toolargs.Quote(name))
	}
	return &named
}

func (o *promptOptions) show(ctx context.Context, a *app, messages *render.Messages, doc promptDocument) error {
	var failed error
	if o.save != "" {
		var err error
		if doc.Saved, err = messages.Save(o.save, doc.Prompt); err != nil {
			failed = fmt.Errorf("--save: %w", err)
		}
		for _, file := range doc.Saved {
			a.note("saved " + render.OneLine(file))
		}
	}
	if o.maxChars > 0 {
		missing, fromRaw := messages.Truncate(o.maxChars)
		if a.json() {
			missing = fromRaw
		}
		if doc.Truncated = missing > 0; doc.Truncated {
			a.noteMissing(missing, o.maxChars)
		}
	}
	for _, p := range messages.Problems {
		a.warn("mcpctl: warning: " + render.OneLine(p) + "\n")
	}
	doc.Result, doc.Problems = messages.Raw, a.maskedTexts(messages.Problems)
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
