package main

import (
	"encoding/csv"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A command line uses the flags of one command, and most commands have about forty: to define those of all is most of
// what a short run would cost. So a command only says how its flags are defined, and that is done for the one that is
// run, and for those whose help is asked for.

// withFlags notes how the flags of a command are defined. It may be called several times for one.
func (a *app) withFlags(cmd *cobra.Command, define func(*pflag.FlagSet)) *cobra.Command {
	a.undefined[cmd] = append(a.undefined[cmd], define)
	return cmd
}

// defineFlags defines the flags of a command, if that has not been done.
func (a *app) defineFlags(cmd *cobra.Command) {
	for _, define := range a.undefined[cmd] {
		define(cmd.Flags())
	}
	delete(a.undefined, cmd)
}

// defineFlagsBelow defines those of a command and of all below it.
func (a *app) defineFlagsBelow(cmd *cobra.Command) {
	a.defineFlags(cmd)
	for _, c := range cmd.Commands() {
		a.defineFlagsBelow(c)
	}
}

// newRootCmd returns what the command line can need: the command that it names, with its flags. If that does not come first, it
// may be any.
func newRootCmd(a *app) *cobra.Command {
	args, only := words(a.args), ""
	switch {
	case a.completes():
		args = args[1:]
	case len(args) > 0 && slices.ContainsFunc(commandRows(), func(row commandRow) bool { return row.name == args[0] }):
		only = args[0]
	}
	root := newCommands(a, only)
	if named, _, _ := root.Find(args); named != nil { // what is wrong is told by who carries it out
		a.defineFlags(named)
	}
	if a.completes() {
		finishFlags(root)
	}
	return root
}

// newWholeRootCmd returns the commands with all their flags, for whoever looks at all of them.
func newWholeRootCmd(a *app) *cobra.Command {
	root := newCommands(a, "")
	a.defineFlagsBelow(root)
	return root
}

// listVar defines a flag that may be given several times. It is a StringArrayVar of pflag's, which would set up a CSV writer
// for each to find out that nothing is written as [].
func listVar(flags *pflag.FlagSet, list *[]string, name, usage string) {
	listVarP(flags, list, name, "", usage)
}

// listVarP is listVar with a short name.
func listVarP(flags *pflag.FlagSet, list *[]string, name, short, usage string) {
	flags.VarP((*listValue)(list), name, short, usage)
}

// listValue are the values of a flag, in the order in which they were given.
type listValue []string

func (v *listValue) Set(s string) error {
	*v = append(*v, s)
	return nil
}

// Append adds a value. With Replace and GetSlice it makes this a [pflag.SliceValue].
func (v *listValue) Append(s string) error { return v.Set(s) }

// Replace puts others in place of the values.
func (v *listValue) Replace(values []string) error { //nolint:unparam // pflag has it so
	*v = slices.Clone(values)
	return nil
}

// GetSlice returns the values.
func (v *listValue) GetSlice() []string { return slices.Clone(*v) }

// Type is the name that cobra knows such a flag by.
func (v *listValue) Type() string { return "stringArray" }

func (v *listValue) String() string {
	if len(*v) == 0 {
		return "[]"
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(*v) // into memory
	w.Flush()
	return "[" + strings.TrimSuffix(b.String(), "\n") + "]"
}
