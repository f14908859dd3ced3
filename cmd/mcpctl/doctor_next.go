package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

// next returns the line to type next, "" if nothing failed: for the whole story, and when that has been told, to see
// whether it is mended. It is the same line, about the first server that failed: whatever made it fail is in its flags.
func (o *doctorOptions) next(flags *pflag.FlagSet, a *app, reports *render.Reports) string {
	i := reports.First(probe.Fail)
	if i < 0 {
		return ""
	}
	end := slices.Index(a.args, "--")
	if end < 0 {
		end = len(a.args)
	}
	before, behind := withoutFiles(flags, a.args[:end]), a.args[end:]
	if reports.Len() > 1 {
		before = o.about(flags, a, before, reports.At(i).Name)
	}
	words := []string{"mcpctl"}
	for _, w := range before {
		words = append(words, toolargs.Quote(w))
	}
	if a.global.verbose == 0 {
		words = append(words, "-v")
	}
	for _, w := range behind {
		words = append(words, toolargs.Quote(w))
	}
	return strings.Join(words, " ")
}

// withoutFiles returns the words of a command line without the flags that write files: those are to stay as the whole run has
// written them.
func withoutFiles(flags *pflag.FlagSet, words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		name, _, whole := strings.Cut(strings.TrimPrefix(words[i], "--"), "=")
		flag := flags.Lookup(name)
		n := 1
		if strings.HasPrefix(words[i], "--") && flag != nil && flag.NoOptDefVal == "" && !whole {
			n = min(2, len(words)-i) // the value is a word by itself
		}
		if !strings.HasPrefix(words[i], "--") || name != "report" && name != "write-baseline" {
			out = append(out, words[i:i+n]...)
		}
		i += n - 1
	}
	return out
}

// about returns the words of the command line with one server in place of those that they name. A name that cannot be typed
// there, as that of one of the two demonstration servers, leaves them as they are.
func (o *doctorOptions) about(flags *pflag.FlagSet, a *app, words []string, name string) []string {
	at := arguments(flags, words)
	if len(at) == 0 {
		return words
	}
	at = at[1:] // the first is the command itself
	if o.operators.eachAddress {
		if i := strings.LastIndex(name, "@"); i > 0 {
			name = name[:i]
		}
	}
	known := slices.ContainsFunc(at, func(i int) bool { return words[i] == name })
	if a.config != nil && !known {
		_, known = a.config.Server(name)
	}
	if !known {
		return words
	}
	var out []string
	for i, w := range words {
		switch {
		case !slices.Contains(at, i):
			out = append(out, w)
		case i == at[0]:
			out = append(out, name)
		}
	}
	if len(at) == 0 {
		out = append(out, name)
	}
	return out
}

// arguments returns where in the words of a command line those stand that are neither flags nor values of flags.
func arguments(flags *pflag.FlagSet, words []string) []int {
	var at []int
	for i := 0; i < len(words); i++ {
		word := words[i]
		var flag *pflag.Flag
		switch {
		case len(word) < 2 || word[0] != '-':
			at = append(at, i)
			continue
		case strings.HasPrefix(word, "--"):
			flag = flags.Lookup(word[2:]) // nil for --flag=value
		default:
			// Of several letters in one word, the first that wants a value takes the rest of it, or the next word.
			for j := 1; j < len(word) && (flag == nil || flag.NoOptDefVal != ""); j++ {
				flag = flags.ShorthandLookup(word[j : j+1])
				if flag != nil && flag.NoOptDefVal == "" && j+1 < len(word) {
					flag = nil
					break
				}
			}
		}
		if flag != nil && flag.NoOptDefVal == "" {
			i++
		}
	}
	return at
}
