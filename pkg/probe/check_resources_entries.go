package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

func resourcesEntries() Check {
	return Check{
		ID: "resources.entries", Title: "resources can be named and read", Needs: []string{"resources.list"}, Applies: announcesResources,
		Why: `A resource has a name, for people, and a URI, by which it is read. Clients drop one that lacks either, or reject
the whole list; if two have the same URI, only one can be read.`,
		Remedy: "Give every resource a name, and a unique URI with a scheme.",
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "resources/list")
			if err != nil {
				return failure(err)
			}
			var problems []string
			seen := map[string]bool{}
			for i, raw := range list.Items {
				var r struct{ Name, URI string }
				switch err := json.Unmarshal(raw, &r); {
				case err != nil || string(raw) == "null":
					problems = append(problems, fmt.Sprintf("resource %d is no object with a name and a uri", i+1))
				case r.URI == "":
					problems = append(problems, fmt.Sprintf("resource %d has no uri", i+1))
				case seen[r.URI]:
					problems = append(problems, fmt.Sprintf("%s appears twice", firstWords(r.URI)))
				case !hasScheme(r.URI):
					problems = append(problems, fmt.Sprintf("%q is not a URI with a scheme", firstWords(r.URI)))
				case r.Name == "":
					problems = append(problems, fmt.Sprintf("%s has no name", firstWords(r.URI)))
				}
				seen[r.URI] = true
			}
			return entriesFinding(problems, len(list.Items))
		},
	}
}

func hasScheme(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme != ""
}

// entriesFinding makes the finding of a check of the entries of a list.
func entriesFinding(problems []string, n int) Finding {
	switch {
	case len(problems) > 0:
		f := warn(andMore(problems, 1), "correct the entry: clients drop it, or the whole list with it")
		f.Detail = strings.Join(problems, "\n")
		return f
	case n == 0:
		return skip("there are none")
	}
	return pass(fmt.Sprintf("%d of %d", n, n))
}
