package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// editDocument is the output of a command that changes entries.
type editDocument struct {
	Version int    `json:"version"`
	Config  string `json:"config"`
	// One of these holds the names of the entries.
	Removed  []string `json:"removed,omitempty"`
	Enabled  []string `json:"enabled,omitempty"`
	Disabled []string `json:"disabled,omitempty"`
}

// someNames wants names of entries.
func someNames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s: no server named", cmd.CommandPath()).hint("%s", usageLine(cmd))
	}
	return nil
}

// asker asks the person at the terminal.
func (a *app) asker() *prompt.Asker {
	if a.questions == nil {
		a.questions = &prompt.Asker{
			In: a.io.In, Out: masked{a.redact, a.io.Err}, Allowed: a.canPrompt(), Dumb: !a.io.CanAnimate(),
			Size: func() (int, int) { return a.io.Width(), a.io.Height() },
			Paint: func(style prompt.Style, text string) string {
				return render.Screen{Colour: a.io.ColorEnabled(false)}.Paint(promptStyle(style), text)
			},
		}
	}
	return a.questions
}

// promptStyle returns the style in which a part of a question is shown.
func promptStyle(style prompt.Style) render.Style {
	switch style {
	case prompt.Strong:
		return render.Strong
	case prompt.Faint:
		return render.Faint
	case prompt.Good:
		return render.Good
	case prompt.Bad:
		return render.Bad
	default:
		return render.Plain
	}
}

type removeOptions struct{ yes bool }

func newRemoveCmd(a *app) *cobra.Command {
	var o removeOptions
	cmd := &cobra.Command{
		Use:   "remove NAME...",
		Short: "Remove servers from the configuration",
		Long: `Remove servers from the configuration. On a terminal it asks first; otherwise it
needs --yes. Quoted globs match several servers. A login is kept: mcpctl logout
removes it.`,
		Example:           "  mcpctl remove notes\n  mcpctl remove notes search --yes",
		Aliases:           []string{"rm"},
		Args:              someNames,
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return a.withFlags(cmd, func(flags *pflag.FlagSet) {
		flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	})
}

func (o *removeOptions) run(cmd *cobra.Command, a *app, args []string) error {
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	c, err := a.loadEditable(cmd.Context())
	if err != nil {
		return err
	}
	servers, err := named(c, args)
	if err != nil {
		return err
	}
	args = names(servers)
	if !o.yes {
		sure, err := a.asker().Confirm(cmd.Context(), fmt.Sprintf("Remove %s from %s?", strings.Join(args, ", "), path))
		switch {
		case errors.Is(err, prompt.ErrNobody):
			return usagef("there is no terminal to ask on, so nothing was removed").hint("%s", a.inserted(cmd, "--yes"))
		case err != nil:
			return err
		case !sure:
			a.note("nothing was removed")
			return reportedError(codeFailed)
		}
	}
	err = a.edit(cmd.Context(), path, editDocument{Removed: args}, "removed", args, func(d *config.Document, name string) error {
		return d.Remove(name)
	})
	if err == nil {
		left := slices.DeleteFunc(slices.Clone(c.Servers), func(s config.Server) bool { return slices.Contains(args, s.Name) })
		a.tellKept(cmd.Context(), servers, left)
	}
	return err
}

func newEnableCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "enable NAME...",
		Short:             "Enable servers",
		Long:              "Enable servers. Quoted globs match several servers.",
		Example:           "  mcpctl enable notes\n  mcpctl enable 'prod-*'",
		Args:              someNames,
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.setEnabled(cmd, args, true) },
	}
}

func newDisableCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "disable NAME...",
		Short: "Disable servers without removing them",
		Long: `Disable servers without removing them: they are used only with
--include-disabled. Quoted globs match several servers.`,
		Example:           "  mcpctl disable notes\n  mcpctl disable 'staging-*'",
		Args:              someNames,
		ValidArgsFunction: a.completeEntries(1 << 10),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.setEnabled(cmd, args, false) },
	}
}

func (a *app) setEnabled(cmd *cobra.Command, args []string, enabled bool) error {
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	c, err := a.loadEditable(cmd.Context())
	if err != nil {
		return err
	}
	servers, err := named(c, args)
	if err != nil {
		return err
	}
	list := names(servers)
	doc, done := editDocument{Enabled: list}, "enabled"
	if !enabled {
		doc, done = editDocument{Disabled: list}, "disabled"
	}
	return a.edit(cmd.Context(), path, doc, done, list, func(d *config.Document, name string) error {
		return d.SetEnabled(name, enabled)
	})
}

// edit changes the entries of the given names, all or none, and says so.
func (a *app) edit(ctx context.Context, path string, doc editDocument, done string, list []string, change func(*config.Document, string) error) error {
	err := config.EditContext(ctx, path, func(d *config.Document) error {
		for _, name := range list {
			if err := change(d, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json() {
		doc.Version, doc.Config = documentVersion, path
		return a.print(ctx, doc)
	}
	_, err = io.WriteString(a.out(), done+" "+strings.Join(quoted(list), ", ")+"\n")
	return err
}

// unique returns the words without repetitions.
func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// sortedKeys returns the keys of a map in order.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
