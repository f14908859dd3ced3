package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// renameDocument is the output of rename.
type renameDocument struct {
	Version int         `json:"version"`
	Config  string      `json:"config"`
	Renamed renamedBody `json:"renamed"`
}

type renamedBody struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newRenameCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Rename a server",
		Long: `Give a server another name. The entry stays where it is in the file, with its
comments, and its login stays valid. Baselines saved by doctor still hold the
old name.`,
		Example: "  mcpctl rename notes old-notes",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s takes the old name and the new one", cmd.CommandPath()).hint("%s", usageLine(cmd))
			}
			return nil
		},
		ValidArgsFunction: a.completeEntries(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.rename(cmd, args[0], args[1]) },
	}
}

func (a *app) rename(cmd *cobra.Command, from, to string) error {
	path, err := a.editablePath()
	if err != nil {
		return err
	}
	c, err := a.loadEditable(cmd.Context())
	if err != nil {
		return err
	}
	if _, ok := c.Server(from); !ok {
		return c.NotFound(from)
	}
	err = config.EditContext(cmd.Context(), path, func(d *config.Document) error {
		if from == to && d.Has(from) {
			return nil
		}
		return d.Rename(from, to)
	})
	if err != nil {
		return err
	}
	if a.json() {
		return a.print(cmd.Context(), renameDocument{Version: documentVersion, Config: path, Renamed: renamedBody{from, to}})
	}
	if from == to {
		a.note(fmt.Sprintf("%s is its name already", toolargs.Quote(to)))
		return nil
	}
	_, err = fmt.Fprintf(a.out(), "renamed %s to %s\n", toolargs.Quote(from), toolargs.Quote(to))
	return err
}
