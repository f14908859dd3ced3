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
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/internal/uritemplate"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type readOptions struct {
	serverFlags
	interactionFlags
	contentFlags
	save  string
	force bool
	watch bool
	count int
}

func newReadCmd(a *app) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "read SERVER URI [VARIABLE=VALUE...]",
		Short: "Print a resource of a server, save it, or watch it",
		Long: `Print the contents of a resource. Text is printed as it is. Binary content is
written as bytes in a pipe or with --save; on a terminal it is described in one
line, and images are shown if the terminal can. If a resource has several
contents, each has a line ==> URI <== above it.

A URI template is filled in with VARIABLE=VALUE (RFC 6570).

--watch prints the resource, and again whenever the server says that it has
changed, until Ctrl-C or --count. A session that is lost meanwhile is replaced,
and if the resource is gone, mcpctl waits for it to come back. With -o json each
version is one document per line.

--save DIR/ makes a file name from the URI; nothing is overwritten without
--force. With --watch the file is written again after each change.`,
		Example: `  mcpctl read demo demo://readme
  mcpctl read notes 'notes://{year}/{name}' year=2026 name=todo
  mcpctl read demo demo://picture > picture.png
  mcpctl read https://search.example/mcp file:///log --watch`,
		ValidArgsFunction: a.completeResources(true),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.save, "save", "", "save it as `FILE`, or in a directory: DIR/")
		flags.BoolVar(&o.force, "force", false, "let --save overwrite an existing file")
		flags.BoolVar(&o.watch, "watch", false, "print it again whenever it changes")
		flags.Var((*numberValue)(&o.count), "count", "with --watch: stop after `N` changes")
		o.contentFlags.register(a, cmd)
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

// readDocument is the output of read.
type readDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	URI     string `json:"uri"`
	// Update counts the changes with --watch; what was there at first has 0. AtMS is since the beginning.
	Update    *int            `json:"update,omitempty"`
	AtMS      *int64          `json:"at_ms,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	// Saved are the files that --save has written.
	Saved []string `json:"saved,omitempty"`
	// Problems tell what is odd in the result.
	Problems  []string     `json:"problems,omitempty"`
	Session   *sessionBody `json:"session,omitempty"`
	ElapsedMS int64        `json:"elapsed_ms"`
	// Error is there when the resource was read and something else failed, or while watching, when it was not.
	Error *errorBody `json:"error,omitempty"`
}

// readParams are the parameters of the requests about one resource.
type readParams struct {
	URI string `json:"uri"`
}

// check looks at the flags.
func (o *readOptions) check(cmd *cobra.Command) error {
	flags := cmd.Flags()
	switch {
	case flags.Changed("count") && o.count <= 0:
		return usagef("--count: must be more than zero")
	case flags.Changed("count") && !o.watch:
		return usagef("--count says how many changes --watch waits for")
	case flags.Changed("save") && o.save == "":
		return usagef("--save: the name of the file is empty")
	case o.save == "-":
		return usagef("--save -: without --save it goes to standard output")
	case o.force && o.save == "":
		return usagef("--force says what --save may do")
	}
	if info, err := os.Stat(o.save); o.save != "" && err == nil && info.Mode().IsRegular() && !o.force {
		return usagef("--save: %s exists, and nothing was read", o.save).hint("--force overwrites it")
	}
	return nil
}

// saveInDir reports whether --save names a directory.
func (o *readOptions) saveInDir() bool {
	if strings.HasSuffix(o.save, "/") || os.IsPathSeparator(o.save[len(o.save)-1]) {
		return true
	}
	info, err := os.Stat(o.save)
	return err == nil && info.IsDir()
}

func (o *readOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := o.contentFlags.check(cmd); err != nil {
		return err
	}
	if err := o.check(cmd); err != nil {
		return err
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	if err != nil {
		return err
	}
	words := ""
	if o.stdio != "" || len(args) > 0 {
		words = o.words(cmd, a, args)
	}
	if len(rest) == 0 || rest[0] == "" {
		return usagef("no resource named").hint("%s", usageLine(cmd)).hint("mcpctl resources %s shows the resources there are", words)
	}
	uri, err := a.resourceURI(ctx, rest, words)
	if err != nil {
		return &serverError{server.Name, err}
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	if err := a.showImages(&o.imageFlags); err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, a, server, uri)
	}
	ctx, stop := a.working(ctx, "reading "+uri+" of "+server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		start := time.Now()
		raw, err := readResource(ctx, s, server.Name, uri)
		elapsed := time.Since(start)
		stop()
		if err != nil {
			return o.notThere(err, uri, rest[0], words)
		}
		a.tellRecovery()
		contents, err := render.ParseContents(raw)
		if err != nil {
			return badResult(server.Name, "resources/read", err)
		}
		return o.show(ctx, a, contents, readDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), URI: uri,
			Session: a.sessionBody(), ElapsedMS: elapsed.Milliseconds(),
		})
	})
}

// notThere completes the error of a server that does not give a resource: with its URI, if that was made of a template,
// and with what shows the others.
func (o *readOptions) notThere(err error, uri, typed, words string) error {
	e := answered(err)
	if e == nil || e.RPC == nil {
		return err
	}
	told := *e
	if told.Hint == "" {
		told.Hint = "mcpctl resources " + words + " shows the resources there are"
	}
	if uri != typed {
		told.Hint = "the URI was " + uri + "\n" + told.Hint
	}
	return &told
}

// readResource reads a resource. When the server does not know it, the error tells of those that are like it.
func readResource(ctx context.Context, s *session.Supervisor, server, uri string) (json.RawMessage, error) {
	raw, err := ask(ctx, s, "resources/read", readParams{uri})
	e := answered(err)
	if e == nil || e.RPC == nil {
		return raw, err
	}
	switch e.RPC.Code {
	case codeNoMethod:
		return raw, hinted(e, "the server offers no resources")
	case codeNoResource, codeBadParams, codeInternal: // servers do not agree on how to say that there is none
		return raw, hinted(e, nearListed(ctx, s, server, uri, resourceKind(), templateKind()))
	}
	return raw, err
}

// The codes of JSON-RPC errors with which servers answer that something is not there. See the MCP specification,
// 2025-11-25, "Resources", "Error Handling", where it is -32002; later ones have -32602.
const (
	codeNoMethod   = -32601
	codeBadParams  = -32602
	codeInternal   = -32603
	codeNoResource = -32002
)

// resourceURI returns the URI that the words name: a URI, or a template and values for its variables. What is missing is
// asked for, if there is somebody to ask. Server is how the command line named it.
func (a *app) resourceURI(ctx context.Context, words []string, server string) (string, error) {
	t, err := parseTemplate(words[0])
	if err != nil {
		if len(words) == 1 {
			return words[0], nil // no URI may hold braces, and who knows what a server makes of them
		}
		if errors.Is(err, uritemplate.ErrNoVariables) {
			return "", usagef("%s is no template, so %q is one word too many", words[0], words[1]).
				hint("mcpctl resources %s shows the templates there are", server)
		}
		return "", usagef("%s: %s", words[0], err)
	}
	source, err := a.argumentSource(ctx, "", words[1:])
	if err != nil {
		return "", err
	}
	given, err := toolargs.Build(toolargs.Input{Words: words[1:], Schema: t.schema(), Source: source})
	if err != nil {
		return "", a.templateError(t, server, words[1:], err)
	}
	if missing := lacking(t.variables, given); len(missing) > 0 && a.canPrompt() {
		filled, err := a.fill(ctx, form{title: "the variables of " + t.Text, schema: t.schema(), given: given, required: true})
		switch {
		case err == nil:
			given = filled
		case !errors.Is(err, prompt.ErrNobody):
			return "", err
		}
	}
	if err := t.check(given); err != nil {
		return "", a.templateError(t, server, words[1:], err)
	}
	return t.expand(given)
}

// templateError completes an error of a template's variables with the line that fills them in.
func (a *app) templateError(t *uriTemplate, server string, typed []string, err error) error {
	e, ok := errors.AsType[*toolargs.UsageError](err)
	if !ok {
		return err
	}
	if e.Correct != nil {
		return usagef("%s: %s", t.Text, e.Message).hint("%s", a.correctedArguments(typed, e.Correct))
	}
	out := *e
	out.Message = t.Text + ": " + e.Message
	if out.Suggestion == "" {
		line := append([]string{"mcpctl read", server, toolargs.Quote(t.Text)}, exampleWords(t.variables)...)
		out.Suggestion = "write " + strings.Join(line, " ")
	}
	return &out
}

// show writes what a resource holds, or saves it.
func (o *readOptions) show(ctx context.Context, a *app, contents *render.Contents, doc readDocument) error {
	err := o.keep(contents, &doc, o.force)
	if contents.Unusable() {
		err = badResult(doc.Server, "resources/read", errors.New(contents.Problems[0]))
	}
	doc.Truncated = o.cut(a, contents)
	doc.Result, doc.Problems = contents.Raw, a.maskedTexts(contents.Problems)
	o.tell(a, contents, doc)
	a.shell.keep(doc)
	switch {
	case err != nil:
		return a.showFailed(ctx, doc, err)
	case a.json():
		return a.printData(ctx, doc)
	case o.save != "":
		return nil
	case contents.Len() == 0:
		a.note(render.OneLine(doc.URI) + " has no contents")
		return nil
	}
	return contents.Write(a.io.Out, a.screen(), false)
}

// tell tells of the files, and of what is odd. That nothing can be used is an error, and told as such.
func (o *readOptions) tell(a *app, contents *render.Contents, doc readDocument) {
	a.tellSaved(doc.Saved)
	if contents.Unusable() {
		return
	}
	for _, p := range contents.Problems {
		a.warning(p)
	}
}

// keep saves the contents, if that is wanted.
func (o *readOptions) keep(contents *render.Contents, doc *readDocument, replace bool) error {
	var err error
	switch {
	case o.save == "" || contents.Unusable():
		return nil
	case o.saveInDir():
		doc.Saved, err = contents.SaveDir(o.save, replace)
	default:
		if err = contents.SaveFile(o.save, replace); err == nil {
			doc.Saved = []string{o.save}
		}
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	return nil
}

// showFailed tells of a failure after the resource was read. With -o json all that was read is there, too.
func (a *app) showFailed(ctx context.Context, doc readDocument, err error) error {
	f, _ := classify(err, false)
	f.Outcome = string(session.OutcomeExecuted)
	if a.json() {
		body := f.body()
		doc.Error = &body
		if err := a.printData(ctx, doc); err != nil {
			return err
		}
	}
	a.warn(f.text(false, a.errWidth()))
	return reportedError(f.code)
}
