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
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

type tasksOptions struct{ serverFlags }

func newTasksCmd(a *app) *cobra.Command {
	o := tasksOptions{serverFlags{command: true}}
	cmd := &cobra.Command{
		Use:   "tasks SERVER | tasks -- COMMAND [ARG...]",
		Short: "List the tasks of a server",
		Long: `List the tasks that a server is working on, or keeps the result of. mcpctl task
waits for one and prints its result.

Servers of protocol version 2026-07-28 have no such list.`,
		Example: `  mcpctl tasks reports
  mcpctl tasks reports --jq '.tasks[] | select(.status == "working") | .taskId'`,
		Annotations:       listFormats(),
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		o.register(flags)
	})
}

// tasksDocument is the output of tasks.
type tasksDocument struct {
	Version    int               `json:"version"`
	Server     string            `json:"server"`
	Tasks      []json.RawMessage `json:"tasks"`
	Problems   []string          `json:"problems"`
	Incomplete bool              `json:"incomplete,omitempty"`
	// Unsupported is set when the server has no list of its tasks.
	Unsupported bool         `json:"unsupported,omitempty"`
	Session     *sessionBody `json:"session,omitempty"`
}

func (o *tasksOptions) run(cmd *cobra.Command, a *app, args []string) error {
	ctx := cmd.Context()
	if err := a.listWord(cmd, args); err != nil {
		return err
	}
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("%s takes one server, and got %q, too", cmd.CommandPath(), rest[0]).
			hint("for one task: %s", a.taskLine(o.words(cmd, a, args), rest[0]))
	}
	stop := a.live("listing the tasks of " + server.Name)
	defer stop()
	return a.with(ctx, server, func(s *session.Supervisor) error {
		list, err := s.Tasks(ctx)
		stop()
		if err != nil {
			return err
		}
		a.tellRecovery()
		return o.show(ctx, a, s, server, list)
	})
}

func (o *tasksOptions) show(ctx context.Context, a *app, s *session.Supervisor, server config.Server, list session.List) error {
	var tasks []session.Task
	problems := list.Problems
	for i, raw := range list.Items {
		t, ok := session.ParseTask(raw)
		if !ok {
			problems = append(problems, fmt.Sprintf("task %d of the list has no id or no status", i+1))
			continue
		}
		tasks = append(tasks, t)
	}
	switch {
	case list.Unsupported && s.Stats().Info.TaskSupport().Calls:
		a.note(server.Name + " runs tools as tasks, and has no list of them: mcpctl task takes the id of one")
	case list.Unsupported:
		a.note(server.Name + " does not run tools as tasks")
	case len(tasks) == 0 && !a.json():
		a.note(server.Name + " has no tasks")
	}
	a.tellProblems(toolList{problems: problems})
	switch {
	case a.json():
		doc := tasksDocument{
			Version: documentVersion, Server: a.redact.String(server.Name), Tasks: []json.RawMessage{}, Problems: []string{},
			Incomplete: list.Incomplete, Unsupported: list.Unsupported, Session: a.sessionBody(),
		}
		doc.Tasks = append(doc.Tasks, list.Items...)
		for _, p := range problems {
			doc.Problems = append(doc.Problems, a.redact.String(p))
		}
		return a.printData(ctx, doc)
	case a.global.output == formatName:
		names := make([]string, len(tasks))
		for i, t := range tasks {
			names[i] = t.ID
		}
		return a.printNames(names)
	}
	table := render.Table{Columns: []render.Column{
		{Title: "task", Fixed: true}, {Title: "status", Fixed: true}, {Title: "age", Fixed: true, Right: true}, {Title: "message"},
	}}
	now := time.Now()
	for _, t := range tasks {
		table.Rows = append(table.Rows, []render.Cell{
			{Text: t.ID, Style: render.Strong}, {Text: string(t.Status), Style: taskStyle(t.Status)}, {Text: ageOf(t.Created, now)}, {Text: t.Message},
		})
	}
	return table.Write(a.out(), a.screen())
}

// taskStyle is how a status is shown.
func taskStyle(s session.TaskStatus) render.Style {
	switch s {
	case session.TaskCompleted:
		return render.Good
	case session.TaskFailed:
		return render.Bad
	case session.TaskInput:
		return render.Warning
	case session.TaskWorking, session.TaskCancelled:
	}
	return render.Plain
}

// ageOf is how long ago something was, in its largest unit; "" if that is not known.
func ageOf(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	const day = 24 * time.Hour
	switch d := max(now.Sub(at), 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d/day))
	}
}

// completeTime bounds the wait for a server whose tasks are to be completed: a person waits for each key.
const completeTime = time.Second

// completeTasks completes a server and the id of one of its tasks. Unlike tools, tasks cannot be remembered, so the server is
// asked, if it need not be started for that.
func (a *app) completeTasks() cobra.CompletionFunc {
	servers := a.completeServers(1)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if f := cmd.Flags().Lookup("stdio"); f != nil && f.Changed || len(args) > 1 {
			return nil, none
		}
		if len(args) == 0 {
			return servers(cmd, args, word)
		}
		server, ok := a.completedServer(cmd, args[0])
		if !ok || server.URL == "" {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
		defer cancel()
		expanded, err := a.expand(server)
		if err != nil {
			return nil, none
		}
		s := session.NewSupervisor(a.quickDialer(), expanded)
		defer s.CloseHasty()
		list, err := s.Tasks(ctx)
		if err != nil {
			a.logger.DebugContext(ctx, "nothing to complete", "error", err)
			return nil, none
		}
		var words []cobra.Completion
		for _, raw := range list.Items {
			if t, ok := session.ParseTask(raw); ok && typeable(t.ID) {
				words = append(words, described(t.ID, strings.TrimSpace(string(t.Status)+" "+t.Message)))
			}
		}
		return words, none
	}
}
