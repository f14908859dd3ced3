//go:build gendocs

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// extraCommands adds a command that writes man pages and completion scripts, for packages:
//
//	go run -tags gendocs ./cmd/mcpctl gendocs build
//
// It is not part of the program that is shipped.
func extraCommands(a *app) []*cobra.Command {
	return []*cobra.Command{{
		Use:     "gendocs DIR",
		Short:   "Write man pages and completion scripts below a directory",
		Example: "  go run -tags gendocs ./cmd/mcpctl gendocs build",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.defineFlagsBelow(cmd.Root())
			finishFlags(cmd.Root())
			return generateDocs(cmd.Root(), args[0])
		},
	}}
}

func generateDocs(root *cobra.Command, dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		// What an earlier version wrote must not be packed.
		if err := os.RemoveAll(d); err != nil {
			return err
		}
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	// A fixed date keeps packages reproducible.
	date := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	header := &doc.GenManHeader{Title: "MCPCTL", Section: "1", Source: "mcpctl", Manual: "mcpctl", Date: &date}
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, header, man); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "mcpctl.bash", "zsh": "mcpctl.zsh", "fish": "mcpctl.fish", "powershell": "mcpctl.ps1"} {
		var script bytes.Buffer
		if err := writeCompletion(root, shell, &script); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(completions, name), script.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
