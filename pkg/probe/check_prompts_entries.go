package probe

import (
	"context"
	"encoding/json"
	"fmt"
)

func promptsEntries() Check {
	return Check{
		ID: "prompts.entries", Title: "prompts can be called by name", Needs: []string{"prompts.list"}, Applies: announcesPrompts,
		Why: `Each prompt, and each of its arguments, has a unique name. Clients offer prompts as commands; they drop one
without a name, or reject the whole list.`,
		Remedy: "Give every prompt, and every argument of a prompt, a unique name.",
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "prompts/list")
			if err != nil {
				return failure(err)
			}
			var problems []string
			seen := map[string]bool{}
			for i, raw := range list.Items {
				var p struct {
					Name      string
					Arguments []struct{ Name string }
				}
				switch err := json.Unmarshal(raw, &p); {
				case err != nil || string(raw) == "null":
					problems = append(problems, fmt.Sprintf("prompt %d is no object with a name and arguments", i+1))
				case p.Name == "":
					problems = append(problems, fmt.Sprintf("prompt %d has no name", i+1))
				case seen[p.Name]:
					problems = append(problems, fmt.Sprintf("%s appears twice", firstWords(p.Name)))
				}
				seen[p.Name] = true
				for j, arg := range p.Arguments {
					if arg.Name == "" {
						problems = append(problems, fmt.Sprintf("%s: argument %d has no name", firstWords(p.Name), j+1))
					}
				}
			}
			return entriesFinding(problems, len(list.Items))
		},
	}
}
