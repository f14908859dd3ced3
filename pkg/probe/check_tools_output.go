package probe

import (
	"context"
	"strings"
)

func toolsOutput() Check {
	return Check{
		ID: "tools.output", Title: "output schemas are usable", Needs: []string{"tools.list"}, Applies: announcesTools,
		Why: `A tool may have an outputSchema that its structured results follow. Up to protocol version 2025-11-25 it must be
of type object; otherwise the SDKs reject the whole list of tools.`,
		Remedy: "Wrap the result in an object, or omit outputSchema.",
		Run: func(ctx context.Context, t *Target) Finding {
			tools, err := t.tools(ctx)
			if err != nil {
				return failure(err)
			}
			var problems, troubles []string
			some := false
			for _, tl := range tools {
				if len(tl.output) == 0 || string(tl.output) == "null" {
					continue
				}
				some = true
				if p := rootProblem(tl.output); p != "" {
					problems = append(problems, t.named(tl.name)+": its outputSchema "+inLine(p))
				} else if p := outputTrouble(tl.output); p != "" {
					troubles = append(troubles, t.named(tl.name)+": its outputSchema "+inLine(p))
				}
			}
			switch {
			case len(problems) > 0:
				f := warn(firstOf(problems), "give the outputSchema the type object, or leave it out")
				f.Detail = strings.Join(problems, "\n")
				return f
			case len(troubles) > 0:
				f := warn(firstOf(troubles), "write the outputSchema in the plainer form that all clients take")
				f.Detail = strings.Join(troubles, "\n")
				return f
			case !some:
				return skip("no tool has one")
			}
			return pass("all of type object")
		},
	}
}
