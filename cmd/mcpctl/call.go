package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/rawjson"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type callOptions struct {
	serverFlags
	interactionFlags
	contentFlags
	args        string
	noValidate  bool
	dryRun      bool
	retryUnsafe bool
	save        string
	detach      bool
}

func newCallCmd(a *app) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [ARG...]",
		Short: "Call a tool of a server",
		Long: `Call a tool. An argument is key=value, typed by the tool's schema, or key:=JSON;
mcpctl help arguments explains the rest. The result goes to stdout. If the tool
reports an error, that goes to stderr, with exit code 5.

Text is printed as the server sent it, on a terminal without control characters.
Structured content is printed as JSON if there is no text. Images are shown if
the terminal can; other images, audio and files are described in one line each.
--save writes images, audio and resources to files named after their URIs; text
and structured content still go to stdout. --max-chars cuts text and, with -o
json, base64, but not structured content.

A call whose outcome is unknown is repeated only if the tool declares that this
is harmless, or with --retry-unsafe.

A server may turn a long call into a task. mcpctl waits for it, and cancels it
on Ctrl-C or when a time limit runs out. --detach leaves the task to the server,
prints its ID and exits; mcpctl task picks it up later. The session then stays
open at the server, because the task may belong to it.`,
		Example: `  mcpctl call demo add a=1 b=2
  mcpctl call demo weather city='New York' --jq .result.structuredContent
  mcpctl call --stdio 'npx -y @example/notes' search --args @query.json`,
		ValidArgsFunction: a.completeCall(true),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.args, "args", "", "all arguments as one `JSON` object; @FILE reads a file, - reads stdin")
		flags.StringVarP(&o.args, "data", "d", "", "the same as --args")
		_ = flags.MarkHidden("data") // it is defined in the line before
		flags.BoolVar(&o.noValidate, "no-validate", false, "send the arguments without checking them against the schema")
		flags.BoolVar(&o.dryRun, "dry-run", false, "print the arguments, and call nothing")
		flags.BoolVar(&o.retryUnsafe, "retry-unsafe", false, "repeat a call that may have been executed")
		flags.StringVar(&o.save, "save", "", "save images, audio and resources in this directory `DIR`")
		flags.BoolVar(&o.detach, "detach", false, "run the call as a task, print the task's ID, and do not wait")
		o.contentFlags.register(a, cmd)
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
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
	Tool      string          `json:"tool,omitempty"`
	Result    json.RawMessage `json:"result"`
	Truncated bool            `json:"truncated,omitempty"`
	// Task is the task that the call had become.
	Task *taskBody `json:"task,omitempty"`
	// Saved are the files that --save has written.
	Saved []string `json:"saved,omitempty"`
	// Warnings are what is wrong with the result: what the tool's output schema does not allow, and saved files that are not
	// of their type.
	Warnings  []string     `json:"warnings,omitempty"`
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
	// schema is that of the arguments.
	schema json.RawMessage
	// parameters are the names that the tool's schema has.
	parameters []string
	// repeatable is set when the server says that a second execution does no harm.
	repeatable bool
	// remembered is set when the tool is taken from an earlier list: what it says is not to be relied on.
	remembered bool
	// unsafe is set when a second execution is accepted, whatever the server says.
	unsafe bool
	// taskSupport is what the server says about running the tool as a task, and taskTools are the tools that can be one.
	taskSupport string
	taskTools   []string
	// task is the task that the call had become, and pickedUp is set when it was begun elsewhere: its id is then in place of
	// the tool's name, which nobody knows.
	task     *session.Task
	pickedUp bool
	// named is how the command line named the server.
	named string
	// outputSchema is what the tool says that it returns, nil if it does not say.
	outputSchema json.RawMessage
	// relist lists the tools anew, nil if the tool is taken from a fresh list.
	relist func(context.Context) (toolList, error)
}

func (o *callOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	flags := cmd.Flags()
	if err := o.check(cmd); err != nil {
		return err
	}
	if (flags.Changed("args") || flags.Changed("data")) && o.args == "" {
		return usagef("--args: is empty").hint("--args '{}'")
	}
	if flags.Changed("save") && o.save == "" {
		return usagef("--save: the name of the directory is empty")
	}
	if o.detach && (o.save != "" || o.maxChars > 0) {
		return usagef("--detach does not wait for a result, and --save and --max-chars are about one").hint("mcpctl task has these flags, too")
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
	if o.detach && a.endsWithCommand(server) {
		return a.detachedFromCommand(server, o.words(cmd, a, args))
	}
	source, err := a.argumentSource(ctx, o.args, rest[1:])
	if err != nil {
		return &serverError{server.Name, a.callError(o.words(cmd, a, args), rest[0], rest[1:], err)}
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	if err := a.showImages(&o.imageFlags); err != nil {
		return err
	}
	ctx, stop := a.working(ctx, "calling "+rest[0]+" of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		ctx, stop := ctx, stop
		words := o.words(cmd, a, args)
		c, err := o.prepare(ctx, a, s, server, words, rest, source)
		if toolargs.IsMissing(err) && a.canPrompt() {
			stop()
			c.arguments, err = a.askMissing(cmd.Context(), o.missing(c, rest[1:], source))
			ctx, stop = a.working(cmd.Context(), "calling "+rest[0]+" of "+server.Name)
			defer stop()
		}
		if err != nil {
			return &serverError{server.Name, a.callError(words, c.tool, rest[1:], err)}
		}
		a.noteFlagLikeParameter(cmd, c)
		if o.detach {
			if err := c.detachable(s); err != nil {
				return &serverError{server.Name, err}
			}
		}
		if o.dryRun {
			stop()
			return o.showDryRun(ctx, a, c)
		}
		start := time.Now()
		var answer session.Answer
		err = a.visiting(ctx, server.Name, func() (err error) {
			answer, err = c.do(ctx, s, o.detach)
			return err
		})
		elapsed := time.Since(start)
		stop()
		if c.remembered && (session.ClassOf(err) == session.ClassAnswered || answer.Result != nil && failedResult(answer.Result)) {
			defer o.tellChanged(ctx, a, c, rest, source) // after the result
		}
		if err != nil {
			return a.withTask(err, server, words)
		}
		a.tellRecovery()
		if c.task = answer.Task; o.detach {
			if c.task != nil {
				return a.showDetached(ctx, c, words)
			}
			a.note("the server answered at once: there is no task")
		}
		return o.show(ctx, a, c, answer.Result, elapsed)
	})
}

// prepare finds the tool and builds its arguments. Nothing has been called when it fails. Named is how the command line
// named the server, and words are what follows.
func (o *callOptions) prepare(ctx context.Context, a *app, s *session.Supervisor, server config.Server, named string, words []string, source toolargs.Source) (toolCall, error) {
	if !o.dryRun && !o.detach {
		known, ok := s.ListedTools() // on a session that is held
		var err error
		if !ok {
			known, ok, err = s.KnownTools(ctx)
		}
		if err != nil {
			return toolCall{tool: words[0]}, err
		}
		if ok {
			if c, err := o.build(a, readTools(onlyNamed(known, words[0]), server), server, named, words, source); err == nil && c.unusable(s) == nil {
				c.remembered, c.repeatable = true, false
				c.relist = func(ctx context.Context) (toolList, error) { return a.relist(ctx, s, server) }
				return c, nil // else what is wrong is final only after a fresh list
			}
		}
	}
	list, err := a.tools(ctx, s, server)
	if err != nil {
		return toolCall{tool: words[0]}, err
	}
	c, err := o.build(a, list, server, named, words, source)
	if unusable := c.unusable(s); unusable != nil {
		return c, unusable
	}
	return c, err
}

// onlyNamed is a list without the tools of other names, which need not be read.
func onlyNamed(list session.List, name string) session.List {
	list.Items = slices.DeleteFunc(slices.Clone(list.Items), func(item json.RawMessage) bool {
		is, _ := rawjson.String(rawjson.Get(item, "name"))
		return is != name
	})
	return list
}

// relist lists the tools of a server again, as an earlier list proved doubtful. It is for what is told beside an answer that
// is there already, so it gives up soon.
func (a *app) relist(ctx context.Context, s *session.Supervisor, server config.Server) (toolList, error) {
	const limit = 2 * time.Second
	s.ForgetTools()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return a.tools(ctx, s, server)
}

// tellChanged says, of a tool that refused a call or failed, that it takes something else by now than what the call was made
// for. It is not called again: it may have done something.
func (o *callOptions) tellChanged(ctx context.Context, a *app, c toolCall, words []string, source toolargs.Source) {
	list, err := c.relist(ctx)
	if err != nil {
		return
	}
	fresh, err := o.build(a, list, c.server, c.named, words, source)
	if err != nil || !bytes.Equal(fresh.arguments, c.arguments) {
		a.note(fmt.Sprintf("%s: the arguments were made for the tool %s as it was listed before, and it has changed: call it again",
			render.OneLine(c.server.Name), render.OneLine(c.tool)))
	}
}

// unusable is the error for a tool that must not be called, whatever its arguments are: nil if it may be.
func (c toolCall) unusable(s *session.Supervisor) error {
	if problem := headerProblem(s, c.schema); problem != "" {
		return &session.Error{
			Server: c.server.Name, Phase: "tools/call", Class: session.ClassProtocol, Outcome: session.OutcomeNotSent,
			Message: fmt.Sprintf("the tool %s cannot be called over HTTP: %s", c.tool, problem),
			Hint:    "its author has to correct the input schema; mcpctl tools " + c.named + " " + toolargs.Quote(c.tool) + " --schema shows it",
		}
	}
	return nil
}

// headerProblem says why a tool cannot be called on a session, because of its parameters that are sent as headers, too. Over
// stdio, and in earlier versions of the protocol, there are no such headers.
func headerProblem(s *session.Supervisor, schema json.RawMessage) string {
	if info := s.Stats().Info; info.Era != session.EraModern || info.Transport == string(config.TransportStdio) {
		return ""
	}
	return toolargs.HeaderProblem(schema)
}

// missing says what a call lacks that has been built but for some arguments.
func (o *callOptions) missing(c toolCall, words []string, source toolargs.Source) missingArguments {
	return missingArguments{
		title:  fmt.Sprintf("%s of %s needs more arguments", c.tool, c.server.Name),
		schema: c.schema, given: c.arguments, words: words, args: o.args, source: source,
	}
}

// build makes the call, with its arguments typed and checked by a list of tools.
func (o *callOptions) build(a *app, list toolList, server config.Server, named string, words []string, source toolargs.Source) (toolCall, error) {
	c := toolCall{server: server, tool: words[0], unsafe: o.retryUnsafe, named: named}
	t, known := list.find(c.tool)
	if !known && (!o.noValidate || !server.Tools.Allows(c.tool)) {
		err := list.unknown(a, server.Name, named, c.tool)
		if e, is := errors.AsType[*usageError](err); is && a.shell == nil && o.nothing() && len(list.tools) > 0 && len(config.Near(c.tool, list.names())) == 0 {
			e.hint("some servers offer more tools to a client with --sample-with or --root")
		}
		return c, err
	}
	c.repeatable, c.schema, c.outputSchema = t.repeatable, t.schema, t.outputSchema
	c.taskSupport, c.taskTools = t.taskSupport, list.taskTools()
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
	failed := false
	object := rawjson.Object(result, func(key string, value []byte) {
		if key == "isError" {
			failed = string(value) == "true"
		}
	})
	return failed || !object
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

// do calls the tool, and waits for its task if it becomes one, unless that is to be left alone.
func (c toolCall) do(ctx context.Context, s *session.Supervisor, detach bool) (session.Answer, error) {
	req := session.Request{Name: "tools/call", Repeatable: c.repeatable, RetryUnsafe: c.unsafe}
	if c.remembered {
		req.Hints = c.hints
	}
	answer, err := s.CallTool(ctx, session.ToolCall{
		Request: req, Tool: c.tool, Arguments: c.arguments, AsTask: c.asTask(detach), Detach: detach,
	})
	if c.remembered && refusedAs(err) {
		// What is remembered of the tool may be wrong about that, and nothing was executed.
		if list, err := listTools(ctx, s, c.server.Name); err == nil {
			t, _ := readTools(list, c.server).find(c.tool)
			if fresh := t.taskSupport; fresh != c.taskSupport {
				again := c
				again.taskSupport, again.remembered = fresh, false
				return again.do(ctx, s, detach)
			}
		}
	}
	var e *session.Error
	if errors.As(err, &e) && c.taskSupport == taskRequired && refusedAs(err) && !s.Stats().Info.TaskSupport().Calls {
		told := *e
		told.Hint = "the tool is said to run only as a task, and the server does not announce that it runs tools as tasks"
		return answer, &told
	}
	if e != nil && e.Outcome == session.OutcomeUnknown && e.Task == nil &&
		(e.Class == session.ClassInterrupted || e.Class == session.ClassTimeout) {
		told := *e
		told.Message += "; the call may have been executed"
		return answer, &told
	}
	return answer, err
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
	parse := render.ParseResult
	if a.json() && o.save == "" && o.maxChars == 0 {
		parse = render.BareResult // the document has it as it is
	}
	result, err := parse(raw)
	if err != nil {
		return &session.Error{
			Server: c.server.Name, Phase: "tools/call", Class: session.ClassProtocol,
			Message: "the result is not what a tool returns: " + err.Error(), Outcome: session.OutcomeExecuted, Err: err,
			Evidence: []string{"result: " + cutRunes(render.OneLine(string(raw)), noteLength)}, Hint: "correct the result in the server",
		}
	}
	doc := callDocument{
		Version: documentVersion, Server: a.redact.String(c.server.Name), Tool: c.tool,
		Task: newTaskBody(c.task), Session: a.sessionBody(), ElapsedMS: elapsed.Milliseconds(),
	}
	if c.pickedUp {
		doc.Tool = ""
	}
	if c.task != nil && c.task.Status == session.TaskFailed {
		result.IsError = true
	}
	var saveErr error
	if doc.Warnings = c.checkOutput(result); len(doc.Warnings) > 0 && c.relist != nil {
		if list, err := c.relist(ctx); err == nil { // perhaps the tool has another schema by now
			now, _ := list.find(c.tool)
			c.outputSchema = now.outputSchema
			doc.Warnings = c.checkOutput(result)
		}
	}
	if o.save != "" {
		doc.Saved, saveErr = a.save(o.save, c, result)
	}
	doc.Warnings = append(doc.Warnings, formProblems(result.Raw)...)
	doc.Warnings = append(doc.Warnings, result.Warnings()...)
	for _, warning := range doc.Warnings {
		a.warning(c.server.Name + ": " + c.tool + ": " + warning)
	}
	doc.Truncated = o.cut(a, result)
	doc.Result = result.Raw
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
		a.tellLinks(c, result)
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
		// What comes from a server is harmless on stderr wherever that goes: it is among lines of ours.
		return result.Write(a.io.Err, render.Screen{Terminal: true, Pictures: a.pictures(false)}, true)
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

// callError completes an error of a tool's arguments.
func (a *app) callError(server, tool string, typed []string, err error) error {
	return a.argumentError(tool, fmt.Sprintf("mcpctl tools %s %s shows its parameters", server, toolargs.Quote(tool)), typed, err)
}
