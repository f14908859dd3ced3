package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

func toolsAnnotations() Check {
	return Check{
		ID: "tools.annotations", Title: "annotations are true or false", Needs: []string{"tools.list"}, Applies: announcesTools,
		Why: `Annotations say whether a tool only reads (readOnlyHint), may destroy something (destructiveHint), and whether
repeating it is harmless (idempotentHint). Clients use them to decide which calls need approval, and mcpctl
repeats a lost call only if they allow it. A hint must be true or false; any other value is ignored. A read-only
tool is not destructive, whatever else it says.`,
		Remedy: "Set the hints to true or false.",
		Run: func(ctx context.Context, t *Target) Finding {
			tools, err := t.tools(ctx)
			if err != nil {
				return failure(err)
			}
			var problems []string
			annotated := 0
			for _, tl := range tools {
				if len(tl.annotations) > 0 {
					annotated++
				}
				if p := annotationProblem(tl.annotations); p != "" && tl.name != "" {
					problems = append(problems, t.named(tl.name)+": "+inLine(p))
				}
			}
			if len(problems) > 0 {
				f := warn(firstOf(problems), "correct the annotations: clients decide by them whether to ask a person")
				f.Detail = strings.Join(problems, "\n")
				return f
			}
			f := pass(fmt.Sprintf("%d of %d tools have some", annotated, len(tools)))
			f.Data = map[string]any{"annotated": annotated}
			return f
		},
	}
}

// annotationProblem says what is wrong with the annotations of a tool, "" if nothing is.
func annotationProblem(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var hints map[string]json.RawMessage
	if json.Unmarshal(raw, &hints) != nil {
		return "its annotations are not an object"
	}
	for _, name := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if v := string(hints[name]); v != "" && v != "true" && v != "false" && v != "null" {
			return fmt.Sprintf("%s is %s, neither true nor false", name, firstWords(v))
		}
	}
	return ""
}
