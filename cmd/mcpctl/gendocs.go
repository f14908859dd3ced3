//go:build gendocs

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// extraCommands adds a command that writes man pages and completion scripts, for packages:
//
//	go run -tags gendocs ./cmd/mcpctl gendocs build
//
// It is not part of the program that is shipped. What it writes depends on its flags only, so that packages can be built
// again byte by byte.
func extraCommands(a *app) []*cobra.Command {
	var release, date string
	cmd := &cobra.Command{
		Use:     "gendocs DIR",
		Short:   "Write man pages and completion scripts below a directory",
		Example: "  go run -tags gendocs ./cmd/mcpctl gendocs build --release 1.2.3 --date 2026-01-31",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.defineFlagsBelow(cmd.Root())
			finishFlags(cmd.Root())
			return generateDocs(cmd.Root(), args[0], strings.TrimSpace("mcpctl "+release), date)
		},
	}
	cmd.Flags().StringVar(&release, "release", "", "the `version` in the footer of the pages")
	cmd.Flags().StringVar(&date, "date", "2026-01-01", "the `day` in the footer of the pages")
	return []*cobra.Command{cmd}
}

// generateDocs writes man/mcpctl.1, man/mcpctl-TOPIC.7 and so on, and the completions.
func generateDocs(root *cobra.Command, dir, source, date string) error {
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
	for _, page := range manualPages(root, source, date) {
		f, err := os.Create(filepath.Join(man, page.FileName()))
		if err != nil {
			return err
		}
		_, err = page.WriteTo(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
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
