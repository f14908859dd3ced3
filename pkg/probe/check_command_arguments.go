package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func commandArguments() Check {
	return Check{
		ID: "command.arguments", Title: "arguments are plausible", Needs: []string{"command.found"}, Applies: stdio,
		Why: `No shell is involved between an entry and the process: $HOME, ~user, *, %APPDATA% and quotes reach the server as
written. In a configuration file only ${NAME} and a leading ~/ are replaced; placeholders from an example or of
another client, such as ${workspaceFolder}, are not. Some servers accept such values silently and then find
nothing.`,
		Remedy: `Use ${NAME} and ~/ in a configuration file, or the value itself. Replace the placeholders. Remove quotes: args
are already separate.`,
		Run: func(_ context.Context, t *Target) Finding {
			doubts := doubtfulArguments(t.expanded, t.meant())
			if len(doubts) == 0 {
				return pass("nothing that looks unexpanded")
			}
			f := warn(doubts[0].said, doubts[0].fix)
			lines := make([]string, len(doubts))
			places := make([]string, len(doubts))
			for i, d := range doubts {
				lines[i], places[i] = d.said, d.place
			}
			if more := len(doubts) - 1; more > 0 {
				f.Message += fmt.Sprintf("; and %d more", more)
				f.Detail = strings.Join(lines, "\n")
			}
			f.Data = map[string]any{"places": slices.Sorted(maps.Keys(set(places)))}
			return f
		},
	}
}

// meant reports which arguments have a dollar sign on purpose, nil for an entry that is in no file: there it is $$.
func (t *Target) meant() func(int) bool {
	if t.ConfigPath == "" {
		return nil
	}
	return func(i int) bool { return i < len(t.Server.Args) && strings.Contains(t.Server.Args[i], "$$") }
}

func set(words []string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[w] = true
	}
	return m
}
