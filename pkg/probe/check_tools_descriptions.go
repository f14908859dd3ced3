package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

func toolsDescriptions() Check {
	return Check{
		ID: "tools.descriptions", Title: "tools are described in plain text", Needs: []string{"tools.list"}, Applies: announcesTools,
		Why: `A model chooses tools by their descriptions: without one, a tool is rarely called, or called wrongly. Invisible
characters (escape sequences, zero-width and direction marks) do not belong there: they move the cursor of a
terminal, or hide instructions to a model from the person who approves the tool.`,
		Remedy: "Describe each tool in a sentence or two of plain text, and remove invisible characters.",
		Run: func(ctx context.Context, t *Target) Finding {
			tools, err := t.tools(ctx)
			if err != nil {
				return failure(err)
			}
			var hidden, bare []string
			for _, tl := range tools {
				switch unseen := invisible(tl.description); {
				case tl.name == "": // tools.names reports it
				case unseen != nil:
					hidden = append(hidden, fmt.Sprintf("%s has %s in its description", t.named(tl.name), andMore(unseen, 4)))
				case strings.TrimSpace(tl.description) == "":
					bare = append(bare, t.named(tl.name))
				}
			}
			switch {
			case len(hidden) > 0:
				f := warn(andMore(hidden, 1)+", which cannot be seen", "take out of the description what cannot be seen")
				f.Detail = strings.Join(hidden, "\n")
				return f
			case len(bare) > 0:
				f := warn("no description: "+andMore(bare, 5), "describe what the tool does: a model chooses by it")
				f.Detail = strings.Join(bare, "\n")
				return f
			}
			return pass(fmt.Sprintf("%d of %d", len(tools), len(tools)))
		},
	}
}

// invisible returns the names of the characters of a text that cannot be seen and are none of the usual white space, each once.
// Joiners and variation selectors belong to emoji and to some scripts.
func invisible(text string) []string {
	var names []string
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u00ad' || r == '\u200d' || r == '\u200c':
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			if name := fmt.Sprintf("%U", r); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
