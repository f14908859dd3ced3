package probe

import (
	"context"
	"fmt"
	"strings"
)

func toolsNames() Check {
	return Check{
		ID: "tools.names", Title: "tool names are good", Needs: []string{"tools.list"},
		Why: `Names must be unique, and most clients and models accept only A-Z, a-z, 0-9, "_", "-" and "." in them, at most 64
characters: other tools are dropped or make the whole list fail.`,
		Remedy:  `Rename the tools that are named.`,
		Applies: announcesTools,
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "tools/list")
			if err != nil {
				return failure(err)
			}
			const longest = 64
			var problems []string
			seen := map[string]bool{}
			for i, raw := range list.Items {
				tl := parseTool(raw)
				for _, p := range tl.problems {
					problems = append(problems, fmt.Sprintf("tool %d: %s", i+1, p))
				}
				switch {
				case tl.name == "":
				case seen[tl.name]:
					problems = append(problems, t.named(tl.name)+" is there twice")
				case strings.ContainsFunc(tl.name, func(r rune) bool { return !plainRune(r) }):
					problems = append(problems, t.named(tl.name)+" has characters that clients refuse")
				case len(tl.name) > longest:
					problems = append(problems, fmt.Sprintf("%s is %d characters long", t.named(tl.name), len(tl.name)))
				}
				seen[tl.name] = true
			}
			if len(problems) > 0 {
				f := warn(problems[0], "rename the tools")
				f.Detail = strings.Join(problems, "\n")
				return f
			}
			return pass("unique and plain")
		},
	}
}
