package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type toolsOptions struct {
	serverFlags
	brief  bool
	schema bool
	all    bool
	grep   []string
	// having is what a tool must have in it, in lower case.
	having []string
}

func newToolsCmd(a *app) *cobra.Command {
	o := toolsOptions{serverFlags: serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "tools SERVER [TOOL] | tools --all [GLOB...] | tools -- COMMAND [ARG...]",
		Short: "List the tools of a server, or show one in full",
		Long: `List the tools of a server, one per line. With TOOL, show its description, its
parameters, its effects, and an example call.

SERVER is the name of a configured server, a URL, or demo; --stdio "COMMAND
LINE" or -- COMMAND starts a server that is not configured.

--grep lists the tools that have all its words, in upper or lower case, in their
name, title or description, or in those of their parameters. If there are none,
the exit code is 1.

--all lists the tools of all enabled servers at once, or of those whose names
match. A server that fails is reported on stderr and does not hide the others;
the exit code is then 1. With -o name each line is what call takes: SERVER TOOL.`,
		Example: `  mcpctl tools demo
  mcpctl tools demo weather
  mcpctl tools --all --grep 'read file'
  mcpctl tools --brief -- npx -y @example/notes ~/notes`,
		Annotations: listFormats(),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	one, several := a.completeCall(false), a.completeServers(1<<10)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if o.all {
			return several(cmd, args, word)
		}
		return one(cmd, args, word)
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.all, "all", false, "list the tools of all enabled servers")
		listVar(flags, &o.grep, "grep", "list only tools with all these `words`; repeatable")
		flags.BoolVar(&o.brief, "brief", false, "show each tool as name(param: type, optional?: type)")
		flags.BoolVar(&o.schema, "schema", false, "print the input schema of TOOL as the server sent it")
		o.register(flags)
	})
}

// toolsDocument is the output of tools.
type toolsDocument struct {
	Version    int               `json:"version"`
	Server     string            `json:"server"`
	Tools      []json.RawMessage `json:"tools"`
	Problems   []string          `json:"problems"`
	Incomplete bool              `json:"incomplete,omitempty"`
	Session    *sessionBody      `json:"session,omitempty"`
}

// schemaDocument is the output of tools SERVER TOOL --schema.
type schemaDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	// Schema is null if the server sent none.
	Schema json.RawMessage `json:"schema"`
	// OutputSchema is left out if the server sent none.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Session      *sessionBody    `json:"session,omitempty"`
}

// toolList is a server's tools, as far as its entry lets them through.
type toolList struct {
	tools      []tool
	problems   []string
	incomplete bool
	// hidden are the names of the tools that the entry's filter leaves out.
	hidden []string
}

// tool is one tool of a list.
type tool struct {
	name, title, description string
	// schema is its input schema, and outputSchema that of its results; nil if the server sent none.
	schema, outputSchema json.RawMessage
	// annotations are what the server says about calling it.
	annotations map[string]json.RawMessage
	// taskSupport says whether a call may be a task, "" if the server does not.
	taskSupport string
	// repeatable is set when the server says that a second call does no harm.
	repeatable bool
	raw        json.RawMessage
}

func (l toolList) names() []string {
	out := make([]string, len(l.tools))
	for i, t := range l.tools {
		out[i] = t.name
	}
	return out
}

// find returns the tool of that name. Of several the first is meant.
func (l toolList) find(name string) (tool, bool) {
	for _, t := range l.tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}

// unknown is the error for a name that is not in the list. Words are how the command line named the server.
func (l toolList) unknown(a *app, server, words, name string) error {
	if slices.Contains(l.hidden, name) {
		return &configError{
			server: server, message: fmt.Sprintf("the tool %q is left out by the entry's filter", name),
			hint: "see tools.include and tools.exclude in: mcpctl get " + a.configWords() + toolargs.Quote(server),
		}
	}
	e := usagef("%s has no tool %q", server, name)
	near := config.Near(name, l.names())
	switch {
	case a.shell != nil && name == server:
		e.hint("a line of the shell leaves SERVER out; use NAME changes to another")
	case len(near) > 0:
		e.hint("did you mean %s?", orList(near))
	case len(l.tools) == 0 && len(l.problems) > 0:
		e.hint("it has no tools at all: %s", l.problems[0])
	case len(l.tools) == 0:
		e.hint("it has no tools at all")
	default:
		e.hint("mcpctl tools %s shows the tools there are", words)
	}
	return e
}

// listTools asks a server for its tools, which does no harm when it is repeated. An answer without a list in it is no
// empty list, and an error.
func listTools(ctx context.Context, s *session.Supervisor, server string) (session.List, error) {
	const method = "tools/list"
	list, err := s.ListTools(ctx)
	if err == nil && list.Incomplete && len(list.Items) == 0 {
		e := &session.Error{Server: server, Phase: method, Class: session.ClassProtocol, Outcome: session.OutcomeExecuted, Message: "the server sent no list of tools"}
		e.Hint = "correct the server: it has to answer " + method + " with an array of objects"
		if len(list.Problems) > 0 {
			e.Message += ": " + strings.TrimPrefix(list.Problems[0], method+": ")
		}
		return list, e
	}
	return list, err
}

// tools returns the tools of a server that its entry lets through.
func (a *app) tools(ctx context.Context, s *session.Supervisor, server config.Server) (toolList, error) {
	list, err := listTools(ctx, s, server.Name)
	if err != nil {
		return toolList{}, err
	}
	found := readTools(list, server)
	for _, t := range found.tools {
		if problem := headerProblem(s, t.schema); problem != "" {
			found.problems = append(found.problems, fmt.Sprintf("the tool %q cannot be called over HTTP: %s", t.name, problem))
		}
	}
	return found, nil
}

// readTools reads a list, and leaves out what the server's entry does not let through.
func readTools(list session.List, server config.Server) toolList {
	found := toolList{problems: list.Problems, incomplete: list.Incomplete}
	seen := map[string]bool{}
	for i, raw := range list.Items {
		t, problem := parseTool(raw)
		switch {
		case problem != "":
			found.problems = append(found.problems, fmt.Sprintf("tool %d of the list %s", i+1, problem))
			continue
		case !server.Tools.Allows(t.name):
			found.hidden = append(found.hidden, t.name)
			continue
		case seen[t.name]:
			found.problems = append(found.problems, fmt.Sprintf("tool %d of the list has the name of an earlier one, %q", i+1, t.name))
		}
		if problem := probe.SchemaProblem(t.schema); problem != "" {
			found.problems = append(found.problems, fmt.Sprintf("tool %d of the list, %q: %s", i+1, t.name, problem))
		}
		seen[t.name] = true
		found.tools = append(found.tools, t)
	}
	return found
}

// parseTools returns the tools that can be used.
func parseTools(items []json.RawMessage) []tool {
	var tools []tool
	for _, raw := range items {
		if t, problem := parseTool(raw); problem == "" {
			tools = append(tools, t)
		}
	}
	return tools
}

// parseTool reads one tool by itself, and no more of it than is needed: what else is odd in it is the server's own
// business. See the MCP specification, 2025-11-25, "Tools", "Data Types".
func parseTool(raw json.RawMessage) (t tool, problem string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return t, "is not an object"
	}
	text := func(key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // not text: as good as missing
		return s
	}
	t = tool{
		name: text("name"), title: text("title"), description: text("description"),
		schema: fields["inputSchema"], outputSchema: fields["outputSchema"], raw: raw,
	}
	if t.name == "" {
		return t, "has no name"
	}
	_ = json.Unmarshal(fields["annotations"], &t.annotations) // malformed hints say nothing
	says := func(hint string) bool { return string(t.annotations[hint]) == "true" }
	if t.title == "" {
		_ = json.Unmarshal(t.annotations["title"], &t.title)
	}
	t.repeatable = says("readOnlyHint") || says("idempotentHint")
	var execution map[string]json.RawMessage
	_ = json.Unmarshal(fields["execution"], &execution)
	_ = json.Unmarshal(execution["taskSupport"], &t.taskSupport)
	return t, ""
}

// about is what a list has room for.
func (t tool) about() string {
	if sentence := render.FirstSentence(t.description); sentence != "" {
		return sentence
	}
	return t.title
}

// brief is the tool on one line, with its parameters.
func (t tool) brief() string {
	line := toolargs.Signature(t.name, t.schema)
	if sentence := render.FirstSentence(t.description); sentence != "" {
		line += "  " + sentence
	}
	return line
}

// matches reports whether all words, which are in lower case, are somewhere in what the server says of the tool.
func (t tool) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := []string{t.name, t.title, t.description}
	rows, _ := toolargs.Rows(t.schema)
	for _, r := range rows {
		texts = append(texts, r.Path, r.Description)
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) })
}

// matching returns the list with the tools that have the words in them.
func (l toolList) matching(words []string) toolList {
	l.tools = slices.DeleteFunc(slices.Clone(l.tools), func(t tool) bool { return !t.matches(words) })
	return l
}

// raw returns the tools as the server sent them, never nil.
func (l toolList) raw() []json.RawMessage {
	out := []json.RawMessage{}
	for _, t := range l.tools {
		out = append(out, t.raw)
	}
	return out
}

func (o *toolsOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	for _, text := range o.grep {
		words := strings.Fields(strings.ToLower(text))
		if len(words) == 0 {
			return usagef("--grep: there is no word in it").hint("--grep 'read file' finds the tools that have both words")
		}
		o.having = append(o.having, words...)
	}
	if err := a.offerAsCall(ctx); err != nil {
		return err
	}
	if o.all {
		return o.runAll(cmd, a, args)
	}
	if err := a.listWord(cmd, args); err != nil {
		return err
	}
	if len(args) > 0 && o.stdio == "" && cmd.ArgsLenAtDash() < 0 && strings.ContainsAny(args[0], "*?[") && !a.isServer(ctx, args[0]) {
		return usagef("%q may be several servers", args[0]).hint("%s", a.inserted(cmd, "--all"))
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return usagef("%s takes one tool, and got %q, too", cmd.CommandPath(), rest[1]).hint("%s", usageLine(cmd))
	case o.schema && len(rest) == 0:
		return usagef("--schema needs the name of a tool").hint("%s", usageLine(cmd))
	case len(o.having) > 0 && len(rest) > 0:
		return usagef("--grep looks through the list, and %q is one tool: choose one", rest[0])
	case o.schema && o.brief:
		return usagef("--schema and --brief: choose one")
	}
	stop := a.live("listing the tools of " + server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		list, err := a.tools(ctx, s, server)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		if len(rest) == 0 {
			return o.showAll(ctx, a, server, list)
		}
		named := o.words(cmd, a, args)
		t, ok := list.find(rest[0])
		if !ok {
			return &serverError{server.Name, list.unknown(a, server.Name, named, rest[0])}
		}
		list.tools = []tool{t}
		return o.showOne(ctx, a, server, list, named)
	})
}

// words are how the server was named on the command line, with the flags that say more about it, in a form that all
// commands take.
func (f *serverFlags) words(cmd *cobra.Command, a *app, args []string) string {
	switch {
	case f.stdio != "":
		return a.serverWords(cmd, "")
	case cmd.ArgsLenAtDash() >= 0:
		return a.serverWords(cmd, "--stdio "+toolargs.Quote(commandServer(args).Name))
	}
	return a.serverWords(cmd, toolargs.Quote(args[0]))
}

func (o *toolsOptions) showAll(ctx context.Context, a *app, server config.Server, list toolList) error {
	total := len(list.tools)
	list = list.matching(o.having)
	if len(list.tools) == 0 && len(o.having) > 0 {
		a.unread = codeFailed
	}
	if err := o.writeAll(ctx, a, server, list); err != nil {
		return err
	}
	if !a.json() {
		a.tellProblems(list)
	}
	if a.unread != codeOK {
		a.tellNoMatch(total, server.Name, o.having)
		return reportedError(a.unread)
	}
	return nil
}

// tellNoMatch says that --grep has found nothing, as grep does by its exit code alone.
func (a *app) tellNoMatch(total int, of string, words []string) {
	what := orList(words)
	if len(words) > 1 {
		what = "all of " + strings.Join(words, ", ")
	}
	a.note(fmt.Sprintf("%s of %s, and none with %s", plural(total, "tool"), render.OneLine(of), what))
}

func (o *toolsOptions) writeAll(ctx context.Context, a *app, server config.Server, list toolList) error {
	doc := a.toolsDocument(server, list)
	switch {
	case a.json():
		return a.printTools(ctx, doc, list)
	case a.global.output == formatName:
		return a.printNames(list.names())
	case len(list.tools) == 0:
		if len(o.having) == 0 {
			a.note(server.Name + " has no tools")
		}
		return nil
	case o.brief:
		var b strings.Builder
		for _, t := range list.tools {
			b.WriteString(render.Cut(t.brief(), a.screen().Width) + "\n")
		}
		_, err := io.WriteString(a.out(), b.String())
		return err
	}
	t := render.Table{Columns: []render.Column{{Title: "tool", Fixed: true}, {Title: "description"}}}
	for _, each := range list.tools {
		t.Rows = append(t.Rows, []render.Cell{{Text: each.name, Style: render.Strong}, {Text: each.about()}})
	}
	return t.Write(a.out(), a.screen())
}

func (o *toolsOptions) showOne(ctx context.Context, a *app, server config.Server, list toolList, words string) error {
	t := list.tools[0]
	doc := a.toolsDocument(server, list)
	switch {
	case o.schema:
		schema := t.schema
		if schema == nil {
			schema = json.RawMessage("null")
		}
		if !a.json() {
			return a.printData(ctx, schema)
		}
		return a.printData(ctx, schemaDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), Tool: t.name,
			Schema: schema, OutputSchema: t.outputSchema, Session: a.sessionBody(),
		})
	case a.json():
		return a.printTools(ctx, doc, list)
	case a.global.output == formatName:
		return a.printNames(list.names())
	case o.brief:
		return o.writeAll(ctx, a, server, list)
	}
	page := t.page(words)
	page.Example = a.shell.speak(page.Example)
	return render.ToolPage(a.out(), a.screen(), page)
}

// toolsDocument returns the document of a list, which a shell keeps.
func (a *app) toolsDocument(server config.Server, list toolList) toolsDocument {
	doc := toolsDocument{
		Version: documentVersion, Server: a.redact.String(server.Name),
		Tools: list.raw(), Problems: []string{}, Incomplete: list.incomplete, Session: a.sessionBody(),
	}
	for _, p := range list.problems {
		doc.Problems = append(doc.Problems, a.redact.String(p))
	}
	a.shell.keep(doc)
	return doc
}

func (a *app) printTools(ctx context.Context, doc toolsDocument, list toolList) error {
	a.tellProblems(list)
	return a.printData(ctx, doc)
}

// tellProblems warns of what is wrong with a list.
func (a *app) tellProblems(list toolList) {
	const most = 10 // a server whose every tool is odd has said it by then
	for i, p := range list.problems {
		if i == most && len(list.problems) > most+1 {
			a.warn(fmt.Sprintf("mcpctl: warning: and %d more such problems; -o json has all\n", len(list.problems)-most))
			return
		}
		a.warning(p)
	}
}

// tellRecovery says, with -v, that the session was replaced on the way.
func (a *app) tellRecovery() {
	if a.used == nil || a.global.verbose == 0 || a.shell != nil { // which has told already
		return
	}
	if r := a.used.Stats().Recovery; r != nil {
		text := fmt.Sprintf("the session was lost (%s) and replaced in %s", render.OneLine(r.Cause), shortLatency(r.Elapsed))
		switch {
		case r.Repeated:
			text += "; the request was sent again: " + r.Reason
		case r.Reason != "":
			text += "; the request was not sent again: " + r.Reason
		}
		a.note(text)
	}
}
