package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/docs"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

func newConfigCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Find, check and edit the configuration file",
		Long: `Find, check and edit the configuration file. mcpctl help config explains its
keys.`,
		Example: "  mcpctl config path\n  mcpctl config validate\n  mcpctl config edit",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			e := usagef("there is no command \"config %s\"", args[0])
			var known []string
			for _, c := range cmd.Commands() {
				known = append(known, c.Name())
			}
			for _, near := range config.Near(args[0], known) {
				return e.hint("mcpctl config %s", near)
			}
			return e.hint("mcpctl config %s", strings.Join(known, ", "))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	const group = "config"
	cmd.AddGroup(&cobra.Group{ID: group, Title: "Commands:"})
	for _, c := range []*cobra.Command{newConfigEditCmd(a), newConfigPathCmd(a), newConfigSchemaCmd(a), newConfigValidateCmd(a)} {
		c.GroupID = group
		cmd.AddCommand(c)
	}
	return cmd
}

// pathDocument is the output of config path.
type pathDocument struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	// Source says why it is this file.
	Source string `json:"source"`
}

func newConfigPathCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print which configuration file is used",
		Long:    "Print which configuration file is used, whether it exists or not.",
		Example: "  mcpctl config path\n  cat \"$(mcpctl config path)\"",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.configPath()
			if err != nil {
				return err
			}
			if !a.json() {
				_, err := io.WriteString(a.out(), path+"\n")
				return err
			}
			_, err = os.Stat(path)
			return a.print(cmd.Context(), pathDocument{documentVersion, path, path == "-" || err == nil, a.pathSource()})
		},
	}
}

// pathSource says what chose the configuration file.
func (a *app) pathSource() string {
	if a.global.config != "" {
		return "flag --config"
	}
	for _, name := range []string{"MCPCTL_CONFIG", "XDG_CONFIG_HOME"} {
		if value, _ := a.lookup(name); value != "" {
			return "environment, " + name
		}
	}
	return "built-in"
}

func newConfigSchemaCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Long: `Print the JSON Schema (2020-12) of the configuration file. Editors use it to
complete and check keys. For yaml-language-server, the first line of the
configuration is "# yaml-language-server: $schema=" and the schema's file name.`,
		Example: "  mcpctl config schema >mcpctl.schema.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.filter != nil {
				return a.printData(cmd.Context(), rawDocument(docs.ConfigSchema()))
			}
			_, err := a.io.Out.Write(docs.ConfigSchema())
			return err
		},
	}
}

// validateDocument is the output of config validate.
type validateDocument struct {
	Version  int           `json:"version"`
	Path     string        `json:"path"`
	Valid    bool          `json:"valid"`
	Servers  []string      `json:"servers"`
	Problems []problemBody `json:"problems"`
	Notes    []string      `json:"notes"`
}

// problemBody is one thing that is wrong in a file.
type problemBody struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Server  string `json:"server,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newConfigValidateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check the configuration, and show all errors",
		Long: `Check the configuration, or another file, and show all errors with line and
column. No server is started or contacted. FILE may be another client's; - is
stdin. The exit code is 2 if there are errors. A variable that is not set is
only a note.`,
		Example: "  mcpctl config validate\n  mcpctl config validate .mcp.json -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one file, and got %q, too", cmd.CommandPath(), args[1]).hint("%s", usageLine(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.validate(cmd, args) },
	}
}

func (a *app) validate(cmd *cobra.Command, args []string) error {
	path, err := a.configPath()
	if len(args) > 0 {
		path, err = args[0], nil
	}
	if err != nil {
		return err
	}
	data, err := await(cmd.Context(), func() ([]byte, error) {
		if path == "-" {
			return io.ReadAll(io.LimitReader(a.io.In, config.MaxSize))
		}
		return config.Content(path)
	})
	if err != nil {
		return err
	}
	doc := validateDocument{Version: documentVersion, Path: path, Servers: []string{}, Problems: []problemBody{}, Notes: []string{}}
	if data == nil && path != "-" {
		if len(args) > 0 || a.global.config != "" {
			return &configError{message: path + ": does not exist", hint: "mcpctl config path", cause: fs.ErrNotExist}
		}
		doc.Notes = append(doc.Notes, "the file does not exist, which is an empty configuration")
	}
	c, problems := config.Check(path, data)
	if c != nil {
		doc.Servers = names(c.Servers)
		for _, s := range c.Servers {
			doc.Notes = append(doc.Notes, a.unsetNotes(s)...)
			for _, n := range noteTexts(s) {
				doc.Notes = append(doc.Notes, s.Name+": "+n)
			}
		}
		for _, n := range c.Notes {
			doc.Notes = append(doc.Notes, n.String())
		}
	}
	doc.Valid = len(problems) == 0
	for _, p := range problems {
		doc.Problems = append(doc.Problems, problemBody{p.Line, p.Column, p.Server, p.Key, causeOf(p), p.Hint})
	}
	if a.json() {
		if err := a.print(cmd.Context(), doc); err != nil {
			return err
		}
		if !doc.Valid {
			return reportedError(codeUsage)
		}
		return nil
	}
	for _, n := range doc.Notes {
		a.note(render.OneLine(n))
	}
	if !doc.Valid {
		if _, err := io.WriteString(a.out(), problemLines(problems)); err != nil {
			return err
		}
		return &configError{message: fmt.Sprintf("%s: %s", path, plural(len(problems), "problem"))}
	}
	_, err = fmt.Fprintf(a.out(), "%s is good: %s\n", render.OneLine(path), plural(len(doc.Servers), "server"))
	return err
}

// causeOf returns the message of a problem with its cause.
func causeOf(p *config.Error) string {
	if p.Err != nil {
		return p.Message + ": " + p.Err.Error()
	}
	return p.Message
}

// problemLines returns the problems as lines for people: the place first, as compilers write it, the hint below.
func problemLines(problems []*config.Error) string {
	var b strings.Builder
	for _, p := range problems {
		bare := *p
		bare.Hint = ""
		b.WriteString(oneLine(bare.Error()) + "\n")
		if p.Hint != "" {
			b.WriteString("  hint: " + oneLine(p.Hint) + "\n")
		}
	}
	return b.String()
}

// unsetNotes says which variables an entry needs that are not set.
func (a *app) unsetNotes(s config.Server) []string {
	_, err := a.expand(s)
	var unset *config.UnsetError
	if !errors.As(err, &unset) {
		return nil
	}
	f := unsetFailure(unset)
	return []string{toolargs.Quote(s.Name) + ": " + f.Message}
}
