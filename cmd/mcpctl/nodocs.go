//go:build !gendocs

package main

import "github.com/spf13/cobra"

// extraCommands are those of special builds: none.
func extraCommands() []*cobra.Command { return nil }
