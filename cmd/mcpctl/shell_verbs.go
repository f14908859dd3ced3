package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// groupShell is the group of the commands that only a shell has.
const groupShell = "shell"

// extend adds the commands that only a shell has.
func (sh *shellState) extend(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "status" { // here it is about the sessions
			root.RemoveCommand(c)
		}
	}
	root.AddGroup(&cobra.Group{ID: groupShell, Title: "The shell:"})
	for _, c := range []*cobra.Command{sh.useCmd(), sh.serversCmd(), sh.reconnectCmd(), sh.closeCmd(), sh.lastCmd(), sh.exitCmd()} {
		c.GroupID = groupShell
		root.AddCommand(c)
	}
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	general := help.RunE
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] == "shell" {
			return sh.writeHelp(cmd.Root())
		}
		return general(cmd, args)
	}
}

// writeHelp lists the verbs, and what a person needs to begin.
func (sh *shellState) writeHelp(root *cobra.Command) error {
	var b strings.Builder
	b.WriteString("A line is a command and its words, as in a shell. JSON needs no quotes.\n")
	for _, group := range root.Groups() {
		var list strings.Builder
		for _, c := range inGroup(root, group.ID) {
			if _, known := sh.verbs[c.Name()]; known && !c.Hidden {
				fmt.Fprintf(&list, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
		if list.Len() > 0 {
			b.WriteString("\n" + group.Title + "\n" + list.String())
		}
	}
	b.WriteString("\nFlags for each line:\n" + explainedFlags(root.PersistentFlags(), "output", "jq", "verbose"))
	b.WriteString("\nhelp COMMAND explains a command, and help TOPIC one of these topics:\n  " +
		strings.ReplaceAll(render.Wrap(strings.Join(topicNames(), ", "), helpWidth-len("  "), ""), "\n", "\n  ") + "\n")
	if sh.talking {
		b.WriteString("Tab completes, Ctrl-R searches history, Ctrl-C stops a command, Ctrl-D exits.\n")
	}
	return sh.a.writeHelp(b.String())
}

// sessionDocument is what tells of one session that is held.
type sessionDocument struct {
	Version int          `json:"version"`
	Server  string       `json:"server"`
	Closed  bool         `json:"closed,omitempty"`
	Session *sessionBody `json:"session,omitempty"`
}

func (sh *shellState) useCmd() *cobra.Command {
	o := serverFlags{command: true}
	cmd := &cobra.Command{
		Use:   "use SERVER | use -- COMMAND [ARG...]",
		Short: "Open a server, or switch to one that is open",
		Long: `Open a session with a server and hold it, beside those that are open, or go back
to one. The lines that follow are for it.`,
		Example: `  mcpctl use notes
  mcpctl use https://search.example/mcp -H 'Authorization: Bearer ${TOKEN}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, ctx := sh.a, cmd.Context()
			server, rest, err := a.resolve(cmd, &o, args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0:
				return usagef("use takes one server, and got %q, too", rest[0]).hint("%s", usageLine(cmd))
			}
			s, err := sh.use(ctx, server)
			if err != nil {
				return err
			}
			a.used = s
			if !a.json() {
				if sh.talking {
					return nil // the prompt says it
				}
				_, err := fmt.Fprintf(a.out(), "%s\n", sh.greeting(s))
				return err
			}
			return a.print(ctx, sessionDocument{Version: documentVersion, Server: server.Name, Session: a.sessionBody()})
		},
	}
	o.register(cmd.Flags())
	registerBrowserOn(cmd.Flags(), &sh.a.asksAs)
	return cmd
}

// greeting says in a line what a session is with.
func (sh *shellState) greeting(s *session.Supervisor) string {
	info := s.Stats().Info
	about := render.OneLine(strings.TrimSpace(info.ServerName + " " + info.ServerVersion))
	text := render.OneLine(s.Server().Name)
	if about != "" {
		text += ": " + about
	}
	return fmt.Sprintf("%s, protocol %s, over %s", text, render.OneLine(info.ProtocolVersion), info.Transport)
}

// heldBody is one of the sessions that are held, in a document.
type heldBody struct {
	Server     string `json:"server"`
	InUse      bool   `json:"in_use"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	Generation int    `json:"generation"`
	SinceMS    int64  `json:"since_ms"`
	Era        string `json:"era,omitempty"`
	Protocol   string `json:"protocol_version,omitempty"`
}

// heldDocument is the output of servers.
type heldDocument struct {
	Version int        `json:"version"`
	Servers []heldBody `json:"servers"`
}

func (sh *shellState) serversCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "servers",
		Short:       "Show the open sessions",
		Example:     "  mcpctl servers",
		Annotations: listFormats(),
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := sh.a
			doc := heldDocument{Version: documentVersion, Servers: []heldBody{}}
			table := render.Table{Columns: []render.Column{
				{Title: "server", Fixed: true}, {Title: "state", Fixed: true}, {Title: "generation", Fixed: true}, {Title: "since", Fixed: true}, {Title: "detail"},
			}}
			for _, status := range sh.pool.Status() {
				since := time.Since(status.Since)
				b := heldBody{
					Server: status.Server, InUse: status.Server == sh.inUse(), State: string(status.State), Reason: a.redact.String(status.Reason),
					Generation: status.Generation, SinceMS: since.Milliseconds(),
				}
				detail := status.Reason
				if s, ok := sh.pool.Server(status.Server); ok {
					info := s.Stats().Info
					b.Era, b.Protocol = string(info.Era), info.ProtocolVersion
					if status.State == session.StateReady {
						detail = strings.TrimSpace(info.ServerName + " " + info.ServerVersion)
					}
				}
				doc.Servers = append(doc.Servers, b)
				name, style := status.Server, render.Plain
				if b.InUse && !a.json() {
					style = render.Strong
				}
				table.Rows = append(table.Rows, []render.Cell{
					{Text: name, Style: style}, {Text: b.State}, {Text: strconv.Itoa(b.Generation)}, {Text: shortAge(since)}, {Text: render.OneLine(detail), Style: render.Faint},
				})
			}
			switch {
			case a.json():
				return a.print(cmd.Context(), doc)
			case a.global.output == formatName:
				return a.printNames(sh.names())
			case len(table.Rows) == 0:
				a.note("no session is held; use NAME opens one")
				return nil
			}
			return table.Write(a.out(), a.screen())
		},
	}
	cmd.Aliases = []string{"status"}
	return cmd
}

// shortAge is a duration for people: whole seconds are enough.
func shortAge(d time.Duration) string { return d.Round(time.Second).String() }

// chosen returns the server that the words of a command name, else the one in use.
func (sh *shellState) chosen(cmd *cobra.Command, args []string) (string, *session.Supervisor, error) {
	name := sh.inUse()
	switch {
	case len(args) > 1:
		return "", nil, usagef("%s takes one server, and got %q, too", cmd.Name(), args[1]).hint("%s", usageLine(cmd))
	case len(args) == 1:
		name = args[0]
	case name == "":
		return "", nil, usagef("no server is in use").hint("use NAME")
	}
	s, ok := sh.pool.Server(name)
	if ok {
		return name, s, nil
	}
	e := usagef("no session with %q is held", name)
	if near := config.Near(name, sh.names()); len(near) > 0 {
		return "", nil, e.hint("did you mean %s?", orList(near))
	}
	return "", nil, e.hint("servers shows those that are")
}

func (sh *shellState) reconnectCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "reconnect [NAME]",
		Short:   "Replace a session with a fresh one",
		Example: "  mcpctl reconnect",
		RunE: func(cmd *cobra.Command, args []string) error {
			a, ctx := sh.a, cmd.Context()
			name, s, err := sh.chosen(cmd, args)
			if err != nil {
				return err
			}
			stop := a.live("opening " + name)
			_, err = s.Reconnect(ctx)
			stop()
			a.used = s
			if err != nil || !a.json() {
				return err // an event tells of the fresh session
			}
			return a.print(ctx, sessionDocument{Version: documentVersion, Server: name, Session: a.sessionBody()})
		},
	}
}

func (sh *shellState) closeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "close [NAME]",
		Short:   "Close a session",
		Example: "  mcpctl close notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			a := sh.a
			name, _, err := sh.chosen(cmd, args)
			if err != nil {
				return err
			}
			used := name == sh.inUse()
			sh.forget(name)
			if a.json() {
				return a.print(cmd.Context(), sessionDocument{Version: documentVersion, Server: name, Closed: true})
			}
			if now := sh.inUse(); now != "" && used && sh.talking {
				a.note("now " + render.OneLine(now) + " is in use")
			}
			return nil
		},
	}
}

func (sh *shellState) lastCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "_",
		Short: "Show the last result again, or filter it with --jq",
		Long: `Show the document of the last call again, without a call: all of it, as -o json
has it, or what --jq makes of it. It is also there of tools, resources, read,
prompts, prompt and complete.`,
		Example: `  mcpctl _
  mcpctl _ --jq '.result.content[0].text'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case sh.lost != "":
				return &lostError{sh.lost}
			case sh.last == nil:
				return usagef("there is no result yet").hint("call TOOL, and then _").hint("tools, resources, read, prompts, prompt and complete leave theirs, too")
			}
			return sh.a.printData(cmd.Context(), rawDocument(sh.last))
		},
	}
}

// lostError says why a result is not there any more.
type lostError struct{ message string }

func (e *lostError) Error() string { return e.message }

func (sh *shellState) exitCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "exit",
		Short:   "Close all sessions, and leave the shell",
		Example: "  mcpctl exit",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			sh.over = true
			return nil
		},
	}
	cmd.Aliases = []string{"quit"}
	return cmd
}

// hello is what a person is told at the beginning.
func (sh *shellState) hello() string {
	s := sh.supervisor()
	if s == nil {
		return "no server is in use: use NAME opens one, list shows them, help tells the rest"
	}
	info := s.Stats().Info
	about := render.OneLine(strings.TrimSpace(info.ServerName + " " + info.ServerVersion))
	if about == "" {
		about = "protocol " + render.OneLine(info.ProtocolVersion)
	}
	return render.Cut(about, sh.a.errWidth()) + "\nhelp lists the commands, Ctrl-D ends"
}

// say writes a line to a person.
func (sh *shellState) say(text string) { _, _ = io.WriteString(sh.a.errOut(), text+"\n") }
