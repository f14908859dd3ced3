package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type callOptions struct {
	serverFlags
	interactionFlags
	args        string
	noValidate  bool
	dryRun      bool
	maxChars    int
	retryUnsafe bool
	save        string
}

func newCallCmd(a *app) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [ARG...]",
		Short: "Call a tool of a server",
		Long: `Call a tool. An argument is key=value, typed by the tool's schema, or key:=JSON;
mcpctl help arguments tells the rest. What the tool returns goes to stdout, and
its error to stderr with exit code 5.

A call whose outcome is not known is repeated only if the tool says that this
does no harm, or with --retry-unsafe.`,
		Example: `  mcpctl call demo add a=1 b=2
  mcpctl call demo weather city='New York' --jq .result.structuredContent
  mcpctl call --stdio 'npx -y @example/notes' search --args @query.json`,
		ValidArgsFunction: a.completeCall(true),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.args, "args", "", "all arguments as one `JSON` object, or @FILE, or -")
	flags.StringVarP(&o.args, "data", "d", "", "the same as --args")
	_ = flags.MarkHidden("data") // it is defined in the line before
	flags.BoolVar(&o.noValidate, "no-validate", false, "send what is written, whatever the schema says")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the arguments, and call nothing")
	flags.Var((*numberValue)(&o.maxChars), "max-chars", "cut what comes back to `N` characters")
	flags.BoolVar(&o.retryUnsafe, "retry-unsafe", false, "repeat a call that may have been executed")
	flags.StringVar(&o.save, "save", "", "save images, audio and resources in `dir`")
	o.interactionFlags.register(flags)
	o.serverFlags.register(flags)
	return cmd
}

// numberValue is a flag with a whole number.
type numberValue int

func (v *numberValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is not a number", s)
	}
	*v = numberValue(n)
	return nil
}

func (v *numberValue) String() string { return strconv.Itoa(int(*v)) }
func (v *numberValue) Type() string   { return "number" }

// callDocument is the output of call.
type callDocument struct {
	Version   int             `json:"version"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Result    json.RawMessage `json:"result"`
	Truncated bool            `json:"truncated,omitempty"`
	// Saved are the files that --save has written.
	Saved     []string     `json:"saved,omitempty"`
	Session   *sessionBody `json:"session,omitempty"`
	ElapsedMS int64        `json:"elapsed_ms"`
	// Error is there when the call was made, and what came after it failed.
	Error *errorBody `json:"error,omitempty"`
}

// dryRunDocument is the output of call --dry-run.
type dryRunDocument struct {
	Version   int             `json:"version"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	DryRun    bool            `json:"dry_run"`
	Session   *sessionBody    `json:"session,omitempty"`
}

// toolCall is a call that has been prepared.
type toolCall struct {
	server    config.Server
	tool      string
	arguments json.RawMessage
	// parameters are the names that the tool's schema has.
	parameters []string
	// repeatable is set when the server says that a second execution does no harm.
	repeatable bool
	// remembered is set when the tool is taken from an earlier list: what it says is not to be relied on.
	remembered bool
	// unsafe is set when a second execution is accepted, whatever the server says.
	unsafe bool
}

func (o *callOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	flags := cmd.Flags()
	if flags.Changed("max-chars") && o.maxChars <= 0 {
		return usagef("--max-chars: must be more than zero")
	}
	if (flags.Changed("args") || flags.Changed("data")) && o.args == "" {
		return usagef("--args: is empty").hint("--args '{}'")
	}
	if err := a.callWords(ctx, args, o.stdio != ""); err != nil {
		return err
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usagef("no tool named").hint("%s", usageLine(cmd)).hint("mcpctl tools %s shows the tools there are", o.words(cmd, a, args))
	}
	source, err := o.read(ctx, a, rest[1:])
	if err != nil {
		return &serverError{server.Name, a.argumentError(o.words(cmd, a, args), rest[0], rest[1:], err)}
	}
	if err := a.interact(&o.interactionFlags); err != nil {
		return err
	}
	ctx, stop := a.working(ctx, "calling "+rest[0]+" of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		words := o.words(cmd, a, args)
		c, err := o.prepare(ctx, a, s, server, words, rest, source)
		if err != nil {
			return &serverError{server.Name, a.argumentError(words, c.tool, rest[1:], err)}
		}
		a.noteFlagLikeParameter(cmd, c)
		if o.dryRun {
			stop()
			return o.showDryRun(ctx, a, c)
		}
		start := time.Now()
		result, err := c.do(ctx, s)
		elapsed := time.Since(start)
		stop()
		if c.remembered && (err != nil || failedResult(result)) {
			s.ForgetTools() // perhaps the arguments were made for a tool that has changed
		}
		if err != nil {
			return err
		}
		a.tellRecovery()
		return o.show(ctx, a, c, result, elapsed)
	})
}

// read reads the files and the standard input that the arguments name, so that no session waits for them and nothing
// is contacted when one is missing. What else is wrong with the words is told when the schema is known.
func (o *callOptions) read(ctx context.Context, a *app, words []string) (toolargs.Source, error) {
	stdin := o.args == "-" || slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "=@-") })
	if stdin && a.global.config == "-" {
		return toolargs.Source{}, usagef("standard input cannot be both the configuration and arguments")
	}
	source := toolargs.Source{ReadFile: os.ReadFile, Stdin: a.io.In}.Cached()
	_, err := await(ctx, func() (json.RawMessage, error) {
		return toolargs.Build(toolargs.Input{Words: words, Args: o.args, Source: source})
	})
	var unreadable *fs.PathError
	if err != nil && (ctx.Err() != nil || errors.As(err, &unreadable)) {
		return source, err
	}
	return source, nil
}

// prepare finds the tool and builds its arguments. Nothing has been called when it fails. Named is how the command line
// named the server, and words are what follows.
func (o *callOptions) prepare(ctx context.Context, a *app, s *session.Supervisor, server config.Server, named string, words []string, source toolargs.Source) (toolCall, error) {
	if !o.dryRun {
		known, ok := s.ListedTools() // on a session that is held
		var err error
		if !ok {
			known, ok, err = s.KnownTools(ctx)
		}
		if err != nil {
			return toolCall{tool: words[0]}, err
		}
		if ok {
			if c, err := o.build(a, readTools(known, server), server, named, words, source); err == nil {
				c.remembered, c.repeatable = true, false
				return c, nil // else what is wrong is final only after a fresh list
			}
		}
	}
	list, err := a.tools(ctx, s, server)
	if err != nil {
		return toolCall{tool: words[0]}, err
	}
	return o.build(a, list, server, named, words, source)
}

// build makes the call, with its arguments typed and checked by a list of tools.
func (o *callOptions) build(a *app, list toolList, server config.Server, named string, words []string, source toolargs.Source) (toolCall, error) {
	c := toolCall{server: server, tool: words[0], unsafe: o.retryUnsafe}
	t, known := list.find(c.tool)
	if !known && (!o.noValidate || !server.Tools.Allows(c.tool)) {
		return c, list.unknown(a, server.Name, named, c.tool)
	}
	c.repeatable = t.repeatable
	for _, p := range toolargs.Params(t.schema) {
		c.parameters = append(c.parameters, p.Name)
	}
	var err error
	c.arguments, err = toolargs.Build(toolargs.Input{
		Words:  words[1:],
		Args:   o.args,
		Schema: t.schema,
		Source: source,
	})
	if err != nil || o.noValidate {
		return c, err
	}
	return c, toolargs.Check(c.arguments, t.schema)
}

// failedResult reports whether a tool says that it failed.
func failedResult(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &r) != nil || r.IsError
}

// hints asks the server what it says about calling the tool.
func (c toolCall) hints(ctx context.Context, s *session.Session) bool {
	list, err := s.List(ctx, "tools/list")
	if err != nil {
		return false
	}
	t, _ := readTools(list, c.server).find(c.tool)
	return t.repeatable
}

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (c toolCall) do(ctx context.Context, s *session.Supervisor) (json.RawMessage, error) {
	const method = "tools/call"
	var result json.RawMessage
	req := session.Request{Name: method, Repeatable: c.repeatable, RetryUnsafe: c.unsafe}
	if c.remembered {
		req.Hints = c.hints
	}
	err := s.Do(ctx, req, func(ctx context.Context, s *session.Session) error {
		var err error
		result, err = s.Raw(ctx, method, callParams{c.tool, c.arguments})
		return err
	})
	var e *session.Error
	if errors.As(err, &e) && e.Outcome == session.OutcomeUnknown &&
		(e.Class == session.ClassInterrupted || e.Class == session.ClassTimeout) {
		told := *e
		told.Message += "; the call may have been executed"
		return nil, &told
	}
	return result, err
}

func (o *callOptions) showDryRun(ctx context.Context, a *app, c toolCall) error {
	if !a.json() {
		return a.printData(ctx, c.arguments)
	}
	return a.printData(ctx, dryRunDocument{
		Version: documentVersion, Server: a.redact.String(c.server.Name), Tool: c.tool,
		Arguments: c.arguments, DryRun: true, Session: a.sessionBody(),
	})
}

func (o *callOptions) show(ctx context.Context, a *app, c toolCall, raw json.RawMessage, elapsed time.Duration) error {
	result, err := render.ParseResult(raw)
	if err != nil {
		return &session.Error{
			Server: c.server.Name, Phase: "tools/call", Class: session.ClassProtocol,
			Message: "the result is not what a tool returns: " + err.Error(), Outcome: session.OutcomeExecuted, Err: err,
		}
	}
	doc := callDocument{
		Version: documentVersion, Server: a.redact.String(c.server.Name), Tool: c.tool,
		Session: a.sessionBody(), ElapsedMS: elapsed.Milliseconds(),
	}
	var saveErr error
	if o.save != "" {
		doc.Saved, saveErr = result.Save(o.save, c.tool)
		for _, path := range doc.Saved {
			a.note("saved " + path)
		}
	}
	missing := 0
	if o.maxChars > 0 {
		fromText, fromRaw := result.Truncate(o.maxChars)
		if missing = fromText; a.json() {
			missing = fromRaw
		}
	}
	if missing > 0 {
		are := "characters are"
		if missing == 1 {
			are = "character is"
		}
		a.note(fmt.Sprintf("%d more %s not shown (--max-chars %d)", missing, are, o.maxChars))
	}
	doc.Result, doc.Truncated = result.Raw, missing > 0
	a.shell.keep(doc)
	if result.IsError {
		a.unread = codeTool
	}
	switch {
	case saveErr != nil && (a.json() || !result.IsError):
		return showAfterCall(a, doc, result, "--save: "+saveErr.Error())
	case a.json():
		err := a.printData(ctx, doc)
		if filter, ok := errors.AsType[*filterError](err); ok {
			return showAfterCall(a, doc, result, filter.Error())
		}
		if err != nil {
			return err
		}
	default:
		if err := showText(a, c, result); err != nil {
			return err
		}
		if saveErr != nil {
			a.warn(fmt.Sprintf("mcpctl: error: --save: %s\n", saveErr))
		}
	}
	if result.IsError {
		return reportedError(codeTool)
	}
	return nil
}

// showText writes what the tool returned to stdout, and its error to stderr.
func showText(a *app, c toolCall, result *render.Result) error {
	switch {
	case !result.IsError:
		return result.Write(a.io.Out, a.screen(), false)
	case result.Silent():
		a.warn(fmt.Sprintf("mcpctl: error: %s: %s: the tool reported an error and said nothing about it\n",
			render.OneLine(c.server.Name), render.OneLine(c.tool)))
		return nil
	default:
		return result.Write(a.io.Err, render.Screen{Terminal: a.io.StderrTTY()}, true)
	}
}

// showAfterCall shows everything that the call returned when something after it failed: the call must not be made again
// for the sake of a filter or a file.
func showAfterCall(a *app, doc callDocument, result *render.Result, message string) error {
	f := newFailure(classFailed, message+"; the call was executed, and the whole result is on stdout")
	f.Outcome = string(session.OutcomeExecuted)
	body := f.body()
	doc.Error = &body
	var err error
	if a.json() {
		err = render.JSON(a.io.Out, a.screen(), doc)
	} else {
		err = result.Write(a.io.Out, a.screen(), false)
	}
	if err != nil {
		return err
	}
	a.warn(f.text(false, a.errWidth()))
	return reportedError(codeFailed)
}

// noteFlagLikeParameter says which of the two was meant when a flag of ours has the name of a parameter.
func (a *app) noteFlagLikeParameter(cmd *cobra.Command, c toolCall) {
	for _, p := range c.parameters {
		flag := cmd.Flags().Lookup(strings.ReplaceAll(p, "_", "-"))
		if flag == nil || !flag.Changed {
			continue
		}
		a.note(fmt.Sprintf("--%s was taken as mcpctl's own; the parameter of the tool is written %s=…", flag.Name, toolargs.Quote(p)))
	}
}

// argumentError completes an error of the arguments: with the tool, and with the whole line when the corrected words
// are known.
func (a *app) argumentError(server, tool string, typed []string, err error) error {
	var e *toolargs.UsageError
	if !errors.As(err, &e) {
		return err
	}
	if e.Correct != nil {
		return usagef("%s: %s", tool, e.Message).hint("%s", a.correctedArguments(typed, e.Correct))
	}
	named := *e
	named.Message = tool + ": " + e.Message
	if named.Suggestion == "" && named.Help == "" {
		named.Suggestion = fmt.Sprintf("mcpctl tools %s %s shows its parameters", server, toolargs.Quote(tool))
	}
	return &named
}
