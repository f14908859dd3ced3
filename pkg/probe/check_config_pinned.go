package probe

import (
	"context"
	"strings"
)

// configPinned only tells: most entries name no version, as the pages of the servers have it, and that is a choice.
func configPinned() Check {
	return Check{
		ID: "config.pinned", Title: "the version is written down", Needs: []string{"config.entry"}, Applies: stdio,
		Why: `A command such as npx, uvx or docker fetches what it starts. Without a version it starts what is newest, or what it happens
to have: a server that worked yesterday can be another one today, and on another machine. It is told, and is never a warning.`,
		Remedy: `Nothing has to be mended. To have the same server each time, write its version, or a commit or digest, as the message shows.`,
		Run: func(_ context.Context, t *Target) Finding {
			var pinned, loose, examples []string
			for _, p := range t.Server.Packages() {
				if p.Pinned {
					pinned = append(pinned, p.Text)
					continue
				}
				loose, examples = append(loose, p.Text), append(examples, p.Example)
			}
			switch {
			case len(loose) > 0:
				f := pass("no exact version: " + strings.Join(loose, ", ") + " can change by itself; with one it is written " + strings.Join(examples, ", "))
				f.Data = map[string]any{"unpinned": loose}
				return f
			case len(pinned) > 0:
				return pass(strings.Join(pinned, ", "))
			}
			return pass("nothing is fetched")
		},
	}
}
