package probe

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

func toolsNames() Check {
	return Check{
		ID: "tools.names", Title: "tool names are valid", Needs: []string{"tools.list"},
		Why: `Names must be unique. Most clients and models accept only A-Z, a-z, 0-9, "_", "-" and ".", and at most 64
characters: they drop other tools, or reject the whole list.`,
		Remedy:  "Rename the tools that are named.",
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
				name := t.named(tl.name)
				var faults []string
				if strings.ContainsFunc(tl.name, func(r rune) bool { return !plainRune(r) }) {
					faults = append(faults, "has characters that clients refuse")
				}
				if n := utf8.RuneCountInString(tl.name); n > longest {
					faults = append(faults, fmt.Sprintf("is %d characters long", n))
				}
				switch {
				case tl.name == "":
				case seen[tl.name]:
					problems = append(problems, fmt.Sprintf("%s appears twice", name))
				case len(faults) > 0:
					problems = append(problems, name+" "+strings.Join(faults, ", and "))
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
