package probe

import (
	"context"
	"strings"
)

// configPinned only tells: most entries name no version, as the pages of the servers have it, and that is a choice.
func configPinned() Check {
	return Check{
		ID: "config.pinned", Title: "version is pinned", Needs: []string{"config.entry"}, Applies: stdio,
		Why: `Commands such as npx, uvx and docker download what they start. Without a version they start the newest one, or
whatever is cached, so the server can change from one day to the next and differ between machines. This is only
reported; it is never a warning.`,
		Remedy: "No fix is required. For the same server every time, pin a version, commit or digest, as the message shows.",
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
