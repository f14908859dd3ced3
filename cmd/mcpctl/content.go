package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// contentFlags say how what a server sends is shown.
type contentFlags struct {
	imageFlags
	maxChars int
}

func (f *contentFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().Var((*numberValue)(&f.maxChars), "max-chars", "print at most `N` characters of the result")
	f.imageFlags.register(a, cmd)
}

// check looks at the flags.
func (f *contentFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("max-chars") && f.maxChars <= 0 {
		return usagef("--max-chars: must be more than zero")
	}
	return nil
}

// cut cuts what is shown as --max-chars says, and reports whether anything is missing.
func (f *contentFlags) cut(a *app, shown interface {
	Truncate(most int) (fromText, fromRaw int)
},
) bool {
	if f.maxChars <= 0 {
		return false
	}
	missing, fromRaw := shown.Truncate(f.maxChars)
	if a.json() {
		missing = fromRaw
	}
	if missing > 0 {
		are := "characters are"
		if missing == 1 {
			are = "character is"
		}
		a.note(fmt.Sprintf("%d more %s not shown (--max-chars %d)", missing, are, f.maxChars))
	}
	return missing > 0
}

// tellSaved tells of the files that --save has written.
func (a *app) tellSaved(files []string) {
	for _, file := range files {
		a.note("saved " + render.OneLine(file))
	}
}

// readArgument reads a file that an argument names, which may be a pipe.
func readArgument(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return toolargs.ReadAll(name, f)
}

// argumentSource reads the files and the standard input that arguments name, so that no session waits for them and nothing
// is contacted when one is missing. What else is wrong with the words is told when the schema is known.
func (a *app) argumentSource(ctx context.Context, args string, words []string) (toolargs.Source, error) {
	stdin := args == "-" || slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "=@-") })
	if stdin && a.global.config == "-" {
		return toolargs.Source{}, usagef("standard input cannot be both the configuration and arguments")
	}
	source := toolargs.Source{ReadFile: readArgument, Stdin: a.io.In}.Cached()
	_, err := await(ctx, func() (json.RawMessage, error) {
		return toolargs.Build(toolargs.Input{Words: words, Args: args, Source: source})
	})
	var unreadable *fs.PathError
	if err != nil && (ctx.Err() != nil || errors.As(err, &unreadable)) {
		return source, err
	}
	return source, nil
}

// argumentError completes an error of the arguments: with whose they are, and with the whole line when the corrected words
// are known, else with the line that shows what there is.
func (a *app) argumentError(whose, shows string, typed []string, err error) error {
	e, ok := errors.AsType[*toolargs.UsageError](err)
	if !ok {
		return err
	}
	if e.Correct != nil {
		return usagef("%s: %s", whose, e.Message).hint("%s", a.correctedArguments(typed, e.Correct))
	}
	named := *e
	named.Message = whose + ": " + e.Message
	if named.Suggestion == "" {
		named.Suggestion = shows
	}
	return &named
}
