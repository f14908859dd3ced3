package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// The output formats that more than one command has.
const (
	formatText = "text"
	formatJSON = "json"
	formatName = "name"
)

// formatsKey is the annotation of a command that has other formats than text and json: their names, separated by
// commas.
const formatsKey = "formats"

// listFormats are the formats of commands that list things with names.
func listFormats() map[string]string {
	return map[string]string{formatsKey: formatText + "," + formatJSON + "," + formatName}
}

// The groups of commands in the help.
const (
	groupServers = "servers"
	groupUse     = "use"
	groupTrouble = "trouble"
	groupOther   = "other"
)

// newCommands returns the command of a name, or with "" all commands. Their flags are not defined yet: see newRootCmd.
func newCommands(a *app, only string) *cobra.Command {
	a.undefined = map[*cobra.Command][]func(*pflag.FlagSet){}
	var showVersion bool
	root := &cobra.Command{
		Use:   "mcpctl",
		Short: "Add, list, call and diagnose MCP servers",
		Long:  "mcpctl adds, lists, calls and diagnoses MCP (Model Context Protocol) servers.",
		Example: `  mcpctl tools demo                              # the built-in server, to try
  mcpctl call demo add a=1 b=2
  mcpctl add notes -- npx -y @example/notes ~/notes
  mcpctl add search https://search.example/mcp
  mcpctl list --check`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // unknownCommand has its own, which are whole lines
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.unknownCommand(cmd, args)
			}
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.showVersion(cmd)
			}
			return a.overview(cmd)
		},
	}
	root.SetOut(a.io.Out)
	root.SetErr(a.io.Err)
	root.SetIn(a.io.In)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return a.flagError(cmd, err) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		a.defineFlags(cmd)
		return a.writeHelp(usageText(cmd))
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if words := cmd.Flags().Args(); cmd == root && len(words) > 0 {
			a.helpError = a.unknownCommand(cmd, words)
			return
		}
		a.defineFlags(cmd)
		a.helpError = a.writeHelp(helpText(cmd))
	})
	root.Flags().BoolVar(&showVersion, "version", false, "show the version")
	a.globalFlags(root.PersistentFlags())

	root.AddGroup(
		&cobra.Group{ID: groupServers, Title: "Servers:"},
		&cobra.Group{ID: groupUse, Title: "Using a server:"},
		&cobra.Group{ID: groupTrouble, Title: "When something is wrong:"},
		&cobra.Group{ID: groupOther, Title: "More:"},
	)
	for i, row := range commandRows() {
		if only != "" && row.name != only {
			continue
		}
		c := row.create(a)
		if c.GroupID = row.group; row.group != "" {
			if c.Annotations == nil {
				c.Annotations = map[string]string{}
			}
			c.Annotations[orderKey] = fmt.Sprintf("%02d", i)
		}
		if row.from {
			a.registerFrom(c)
		}
		a.registerBrowser(c)
		root.AddCommand(c)
	}
	help := newHelpCmd(a)
	help.GroupID = groupOther
	root.SetHelpCommand(help)
	root.AddCommand(extraCommands(a)...)
	root.InitDefaultHelpFlag()
	return root
}

// commandRow is a command in the order of the help.
type commandRow struct {
	name, group string
	create      func(*app) *cobra.Command
	// from is set for one that has --from: it takes servers and changes none.
	from bool
}

func commandRows() []commandRow {
	return []commandRow{
		{"add", groupServers, newAddCmd, false},
		{"import", groupServers, newImportCmd, false},
		{"export", groupServers, newExportCmd, false},
		{"list", groupServers, newListCmd, true},
		{"get", groupServers, newGetCmd, true},
		{"set", groupServers, newSetCmd, false},
		{"rename", groupServers, newRenameCmd, false},
		{"remove", groupServers, newRemoveCmd, false},
		{"enable", groupServers, newEnableCmd, false},
		{"disable", groupServers, newDisableCmd, false},
		{"login", groupServers, newLoginCmd, true},
		{"logout", groupServers, newLogoutCmd, true},
		{"tools", groupUse, newToolsCmd, true},
		{"call", groupUse, newCallCmd, true},
		{"resources", groupUse, newResourcesCmd, true},
		{"read", groupUse, newReadCmd, true},
		{"prompts", groupUse, newPromptsCmd, true},
		{"prompt", groupUse, newPromptCmd, true},
		{"complete", groupUse, newCompleteCmd, true},
		{"tasks", groupUse, newTasksCmd, true},
		{"task", groupUse, newTaskCmd, true},
		{"shell", groupUse, newShellCmd, true},
		{"doctor", groupTrouble, newDoctorCmd, true},
		{"ping", groupTrouble, newPingCmd, true},
		{"logs", groupTrouble, newLogsCmd, true},
		{"config", groupOther, newConfigCmd, false},
		{"completion", groupOther, newCompletionCmd, false},
		{"version", groupOther, newVersionCmd, false},
		{demoCommand, groupOther, newDemoServerCmd, false},
		{"status", "", newStatusCmd, true},
	}
}

// globalFlags registers the flags that every command has.
func (a *app) globalFlags(flags *pflag.FlagSet) {
	g := &a.global
	flags.StringVar(&g.config, "config", "", "use this configuration `file`, or another client's; - is stdin")
	flags.StringVarP(&g.output, "output", "o", "", "output `format`: text, json, or name for lists (default text)")
	flags.BoolVar(&g.json, "json", false, "short for -o json")
	flags.StringVarP(&g.jq, "jq", "q", "", "filter the JSON with a jq `expression`; strings are printed raw")
	flags.CountVarP(&g.verbose, "verbose", "v", "print more on stderr; twice for debugging")
	flags.StringVar(&g.trace, "trace", "", "record all messages in `FILE`, without secrets; - is stderr")
	flags.StringVar(&g.color, "color", "", "when to use colours: `auto`, always or never")
	flags.BoolVar(&g.noInput, "no-input", false, "never prompt for anything")
}

// prepare checks the global flags, before anything is contacted.
func (a *app) prepare(cmd *cobra.Command) error {
	g := &a.global
	if err := a.io.SetColor(g.color); err != nil {
		return usagef("%s", err)
	}
	if g.config == "" && cmd.Flags().Changed("config") {
		return usagef("--config: the name of the file is empty")
	}
	if f := cmd.Flags().Lookup("from"); f != nil && f.Changed && f.Value.String() == "" {
		return usagef("--from: the name of the client is empty").hint("known are %s", strings.Join(clientNames(), ", "))
	}
	if err := a.checkFormat(cmd); err != nil {
		return err
	}
	if g.jq != "" || cmd.Flags().Changed("jq") {
		filter, err := render.CompileFilter(g.jq)
		if err != nil {
			return usagef("--jq: %s", err).hint("quote it for the shell: --jq '.servers[].name'")
		}
		a.filter, g.json = filter, true
	}
	if g.verbose > 0 {
		level := slog.LevelInfo
		if g.verbose > 1 {
			level = slog.LevelDebug
		}
		a.logger = slog.New(slog.NewTextHandler(a.errOut(), &slog.HandlerOptions{Level: level}))
	}
	if err := a.allowLogin(cmd); err != nil {
		return err
	}
	if a.shell != nil {
		return a.shell.prepare(cmd)
	}
	return a.beginTrace(cmd)
}

// checkFormat checks that the command has the format of -o, and that the flags agree.
func (a *app) checkFormat(cmd *cobra.Command) error {
	g := &a.global
	formats := []string{formatText, formatJSON}
	if own := cmd.Annotations[formatsKey]; own != "" {
		formats = strings.Split(own, ",")
	}
	known := g.output == ""
	for _, f := range formats {
		known = known || f == g.output
	}
	switch {
	case !known:
		e := usagef("-o %s: %s supports the formats %s", g.output, cmd.CommandPath(), strings.Join(formats, ", "))
		if near := config.Near(g.output, formats); len(near) > 0 {
			return e.hint("-o %s", near[0])
		}
		return e
	case g.json && g.output != "" && g.output != formatJSON:
		return usagef("--json and -o %s: choose one", g.output)
	case g.jq != "" && g.output != "" && g.output != formatJSON:
		return usagef("--jq filters JSON and does not go with -o %s", g.output)
	}
	return nil
}

// flagError is what is wrong with the flags of a command line.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	help := cmd.CommandPath() + " --help"
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		return a.unknownFlag(cmd, unknown)
	case errors.As(err, &value):
		if value.GetFlag().Value.Type() == "bool" { // of which strconv says more than anybody wants to read
			return usagef("--%s: %q is neither true nor false", value.GetFlag().Name, value.GetValue())
		}
		return usagef("--%s: %s", value.GetFlag().Name, errors.Unwrap(value))
	case errors.As(err, &missing):
		return usagef("--%s needs a value", missing.GetFlag().Name).hint("%s", help)
	default:
		return usagef("%s", err).hint("%s", help)
	}
}

// noArgs refuses words after a command that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, and got %q", cmd.CommandPath(), args[0]).hint("%s", usageLine(cmd))
	}
	return nil
}

// usageLine returns how a command is used, as a hint: a line for each form.
func usageLine(cmd *cobra.Command) string {
	var forms []string
	depth := 0 // of parentheses, in which a bar is between words and not between forms
	for part := range strings.SplitSeq(cmd.Use, " | ") {
		if depth > 0 {
			forms[len(forms)-1] += " | " + part
		} else {
			forms = append(forms, "usage: "+cmd.Parent().CommandPath()+" "+part)
		}
		depth += strings.Count(part, "(") - strings.Count(part, ")")
	}
	return strings.Join(forms, "\n")
}
