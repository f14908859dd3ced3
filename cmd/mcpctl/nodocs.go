//go:build !gendocs

package main

import "github.com/spf13/cobra"

// extraCommands are those of special builds: none.
func extraCommands(*app) []*cobra.Command { return nil }
