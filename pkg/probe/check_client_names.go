package probe

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func clientNames() Check {
	return Check{
		ID: "client.names", Title: "the client accepts the tool names", Needs: []string{"tools.list"},
		Why: `Clients put the name of the server in front of each tool's name, and limit the length of both together. A tool
with a longer name is left out, or makes every request to the model fail.`,
		Remedy: "Give the server a shorter name in the client's file, or shorten the names of the tools.",
		Applies: func(t *Target) bool {
			return fromClient(t) && format(t).LongestName > 0 && announces(t, func(i session.Info) bool { return i.Capabilities.Tools != nil })
		},
		Run: func(ctx context.Context, t *Target) Finding {
			names, err := t.allowedTools(ctx)
			if err != nil {
				return failure(err)
			}
			client := format(t)
			prefix := utf8.RuneCountInString(strings.ReplaceAll(client.NamePrefix, "{server}", t.Server.Name))
			var long []string
			longest := 0
			for _, name := range names {
				n := prefix + utf8.RuneCountInString(name)
				longest = max(longest, n)
				if n > client.LongestName {
					long = append(long, fmt.Sprintf("%s: %d characters", t.named(name), n))
				}
			}
			with := ""
			if client.NamePrefix != "" {
				with = ", with " + strings.ReplaceAll(client.NamePrefix, "{server}", t.Server.Name) + " in front"
			}
			if len(long) == 0 {
				return pass(fmt.Sprintf("at most %d of %d characters%s", longest, client.LongestName, with))
			}
			fix := "give the tools shorter names"
			if strings.Contains(client.NamePrefix, "{server}") {
				fix = "give the server a shorter name in " + client.Title + "'s file, or the tools shorter ones"
			}
			f := warn(fmt.Sprintf("names of more than %d characters%s %s: %s", client.LongestName, with, client.LongNames, some(long)), fix)
			f.Detail = strings.Join(long, "\n")
			f.Data = map[string]any{"longest": longest, "limit": client.LongestName}
			return f
		},
	}
}

// some returns the first of many.
func some(all []string) string {
	const shown = 2
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}
