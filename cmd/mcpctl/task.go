package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type taskOptions struct {
	serverFlags
	interactionFlags
	contentFlags
	status bool
	cancel bool
	save   string
}

func newTaskCmd(a *app) *cobra.Command {
	var o taskOptions
	cmd := &cobra.Command{
		Use:   "task SERVER ID",
		Short: "Wait for a task of a server, and show its result",
		Long: `Wait for a task of a server, and print its result as call does, with the same
exit codes: 5 if it failed or was cancelled. ID is what mcpctl call --detach
printed; mcpctl tasks lists the tasks.

Ctrl-C stops waiting and leaves the task alone; --cancel ends the task.

Some servers keep a task only for the session that created it, or only for a
while.`,
		Example: `  mcpctl call reports build year=2026 --detach
  mcpctl task reports 786512e2-9e0d-44bd-8f29-789f320fe840
  mcpctl task reports 786512e2-9e0d-44bd-8f29-789f320fe840 --status`,
		ValidArgsFunction: a.completeTasks(),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.status, "status", false, "print the state of the task, and do not wait")
		flags.BoolVar(&o.cancel, "cancel", false, "ask the server to end the task")
		flags.StringVar(&o.save, "save", "", "save images, audio and resources in this directory `DIR`")
		o.contentFlags.register(a, cmd)
		o.interactionFlags.register(flags)
		o.serverFlags.register(flags)
	})
}

// taskBody tells in a JSON document of the task that a call had become.
type taskBody struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	TTLMS   int64  `json:"ttl_ms,omitempty"`
}

func newTaskBody(t *session.Task) *taskBody {
	if t == nil {
		return nil
	}
	return &taskBody{ID: t.ID, Status: string(t.Status), Message: t.Message, TTLMS: t.TTL.Milliseconds()}
}

// taskDocument is the output of call --detach, task --status and task --cancel.
type taskDocument struct {
	Version int             `json:"version"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool,omitempty"`
	Task    json.RawMessage `json:"task"`
	Session *sessionBody    `json:"session,omitempty"`
}

func (o *taskOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := o.check(cmd); err != nil {
		return err
	}
	switch {
	case o.status && o.cancel:
		return usagef("--status and --cancel: choose one")
	case cmd.Flags().Changed("save") && o.save == "":
		return usagef("--save: the name of the directory is empty")
	case (o.status || o.cancel) && (o.save != "" || o.maxChars > 0):
		return usagef("--save and --max-chars are about the result, which --status and --cancel do not get")
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0 || rest[0] == "":
		return usagef("no task named").hint("%s", usageLine(cmd)).hint("mcpctl tasks %s shows the tasks there are", o.words(cmd, a, args))
	case len(rest) > 1:
		return usagef("%s takes one task, and got %q, too", cmd.CommandPath(), rest[1]).hint("%s", usageLine(cmd))
	}
	if err := a.interact(cmd.Context(), &o.interactionFlags); err != nil {
		return err
	}
	if err := a.showImages(&o.imageFlags); err != nil {
		return err
	}
	id, words := rest[0], o.words(cmd, a, args)
	what := "waiting for the task " + id + " of " + server.Name
	if o.status || o.cancel {
		what = "asking " + server.Name + " for the task " + id
	}
	ctx, stop := a.working(ctx, what)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		var t session.Task
		switch {
		case o.status:
			t, err = s.Task(ctx, id)
		case o.cancel:
			t, err = s.CancelTask(ctx, id)
		default:
			return o.wait(ctx, a, s, server, id, words, stop)
		}
		stop()
		if err != nil {
			return a.unknownTask(err, server, id, words)
		}
		a.tellRecovery()
		return o.tell(ctx, a, server, t)
	})
}

// wait waits for the task and shows its result.
func (o *taskOptions) wait(ctx context.Context, a *app, s *session.Supervisor, server config.Server, id, words string, stop func()) error {
	start := time.Now()
	answer, err := s.AwaitTask(ctx, id, nil)
	elapsed := time.Since(start)
	stop()
	if err != nil {
		return a.unknownTask(a.withTask(err, server, words), server, id, words)
	}
	a.tellRecovery()
	show := callOptions{contentFlags: o.contentFlags, save: o.save}
	return show.show(ctx, a, toolCall{server: server, tool: id, task: answer.Task, pickedUp: true}, answer.Result, elapsed)
}

// tell shows how a task stands.
func (o *taskOptions) tell(ctx context.Context, a *app, server config.Server, t session.Task) error {
	if a.json() {
		return a.printData(ctx, taskDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), Task: t.Raw, Session: a.sessionBody(),
		})
	}
	text := render.OneLine(string(t.Status))
	if t.Message != "" {
		text += ": " + render.OneLine(t.Message)
	}
	if _, err := io.WriteString(a.out(), text+"\n"); err != nil {
		return err
	}
	if o.cancel && !t.Status.Ended() {
		a.note(server.Name + " was asked to end the task, and has not done so yet")
	}
	return nil
}

// unknownTask completes the error of a server that does not know a task: why that may be.
func (a *app) unknownTask(err error, server config.Server, id, words string) error {
	if e := answered(err); e != nil && e.RPC != nil && e.RPC.Code == codeNoMethod && e.Task == nil {
		return hinted(e, server.Name+" does not run tools as tasks; mcpctl call waits for the result")
	}
	e, ok := errors.AsType[*session.Error](err)
	const invalidParams = -32602 // which is also what a server answers that refuses to cancel
	if !ok || e.Class != session.ClassAnswered || e.RPC == nil || e.RPC.Code != invalidParams || e.Task != nil {
		return err
	}
	told := *e
	hint := fmt.Sprintf("it may have ended long ago, or belong to another session; mcpctl tasks %s shows those there are", words)
	if a.endsWithCommand(server) {
		hint = "a command that is started for one line knows no tasks of an earlier one; hold it: mcpctl shell " + words
	}
	if e.Phase == "tasks/cancel" {
		hint = fmt.Sprintf("to see how it stands: %s --status", a.taskLine(words, id))
	}
	told.Hint = hint
	return &told
}

// withTask adds to an error how the task can be picked up that a call had become and that goes on.
func (a *app) withTask(err error, server config.Server, words string) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Task == nil || e.Task.Status.Ended() || e.RPC != nil || a.endsWithCommand(server) {
		return err
	}
	told := *e
	told.Hint = strings.TrimPrefix(e.Hint+"\n", "\n") + "to see what became of the task: " + a.taskLine(words, e.Task.ID)
	return &told
}

// taskLine is the line that picks a task up.
func (a *app) taskLine(words, id string) string {
	if strings.HasPrefix(id, "-") {
		words += " --"
	}
	return "mcpctl task " + words + " " + toolargs.Quote(id)
}

// showDetached tells of the task that a call was left to.
func (a *app) showDetached(ctx context.Context, c toolCall, words string) error {
	if a.json() {
		return a.printData(ctx, taskDocument{
			Version: documentVersion, Server: a.redact.String(c.server.Name), Tool: c.tool, Task: c.task.Raw, Session: a.sessionBody(),
		})
	}
	if err := a.printNames([]string{c.task.ID}); err != nil {
		return err
	}
	a.note("for the result: " + a.taskLine(words, c.task.ID))
	return nil
}

// endsWithCommand reports whether a server ends with this command line, and its tasks with it.
func (a *app) endsWithCommand(server config.Server) bool {
	_, held := a.shell.entry(server.Name)
	return server.Command != "" && !held
}

// detachedFromCommand is the error for --detach with a server that ends with the command line.
func (a *app) detachedFromCommand(server config.Server, words string) error {
	return &serverError{server.Name, usagef("--detach: %s is a command that is started for this line and ends with it, and so do its tasks", server.Name).
		hint("leave --detach out, or hold it in a shell: mcpctl shell %s", words)}
}

// What a tool says about running as a task. See the MCP specification, 2025-11-25, "Tasks", "Tool-Level Negotiation".
const (
	taskRequired = "required"
	taskOptional = "optional"
)

// taskTools are the names of the tools that can run as tasks.
func (l toolList) taskTools() []string {
	var names []string
	for _, t := range l.tools {
		if s := t.taskSupport; s == taskRequired || s == taskOptional {
			names = append(names, t.name)
		}
	}
	return names
}

// asTask reports whether a task is asked for: where there is no other way, and where it is to be left alone.
func (c toolCall) asTask(detach bool) bool {
	return c.taskSupport == taskRequired || detach && c.taskSupport == taskOptional
}

// detachable returns an error if the tool does not run as a task.
func (c toolCall) detachable(s *session.Supervisor) error {
	info := s.Stats().Info
	switch {
	case !info.TaskSupport().Calls:
		return usagef("--detach: %s does not run tools as tasks", c.server.Name).hint("leave --detach out, and wait for the result")
	case info.Era == session.EraModern || c.asTask(true):
		return nil // in the modern era the server decides
	}
	e := usagef("--detach: %s says that its tool %s does not run as a task", c.server.Name, c.tool).hint("leave --detach out, and wait for the result")
	if len(c.taskTools) > 0 {
		const most = 5
		names := c.taskTools[:min(most, len(c.taskTools))]
		e.hint("of its tools these do: %s", strings.Join(names, ", "))
	}
	return e
}

// refusedAs reports whether a server refused a call that was to be a task, or was to be none.
func refusedAs(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	const invalidRequest, noMethod = -32600, -32601 // the codes for that, of JSON-RPC 2.0, section 5.1
	return ok && e.Class == session.ClassAnswered && e.Phase == "tools/call" && e.RPC != nil && slices.Contains([]int{invalidRequest, noMethod}, e.RPC.Code)
}
