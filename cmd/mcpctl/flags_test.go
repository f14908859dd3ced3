package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// TestACommandHasItsFlagsHoweverItIsNamed compares the flags that are defined for a command line with those that the command has
// where all are: by its name and its aliases, with flags before it, and in the help.
func TestACommandHasItsFlagsHoweverItIsNamed(t *testing.T) {
	t.Parallel()
	_, whole := newTestApp(t)
	whole.InitDefaultHelpCmd()
	walk(whole, func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		want, help := cmd.LocalFlags().FlagUsages(), helpText(cmd)
		path := strings.Fields(cmd.CommandPath())[1:]
		names := [][]string{path}
		for _, alias := range cmd.Aliases {
			names = append(names, append(append([]string{}, path[:len(path)-1]...), alias))
		}
		for _, name := range names {
			lines := map[string][]string{
				"alone":               {},
				"after a global flag": {"-o", "json"},
				"after a shared flag": {"--timeout", "3s"},
				"after a switch":      {"--no-input"},
			}
			for how, before := range lines {
				if how == "after a shared flag" && len(name) == 0 {
					continue
				}
				args := append(append([]string{}, before...), name...)
				ios, _, _, _ := iostreams.Test()
				a := newApp(process{args: args, io: ios, lookup: func(string) (string, bool) { return "", false }})
				root := newRootCmd(a)
				root.InitDefaultHelpCmd()
				found, _, err := root.Find(name)
				if err != nil {
					t.Fatal(name, err)
				}
				found.InitDefaultHelpFlag()
				if got := found.LocalFlags().FlagUsages(); got != want {
					t.Errorf("%q: the flags\n%s\nwant\n%s", args, got, want)
				}
			}
			ios, _, out, _ := iostreams.Test()
			code := run(t.Context(), process{
				args: append(append([]string{}, name...), "--help"), io: ios,
				lookup: func(key string) (string, bool) { return t.TempDir(), key == "HOME" },
			})
			if code != codeOK || out.String() != help {
				t.Errorf("%q --help: exit code %d\n%s\nwant\n%s", name, code, out, help)
			}
		}
	})
}
