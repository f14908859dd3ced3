package probe

import (
	"context"
	"fmt"
	"strings"
)

func protocolCapabilities() Check {
	return Check{
		ID: "protocol.capabilities", Title: "capabilities match", Needs: usable(),
		Why: `Clients ask only for what the server announced in its capabilities. What works and was not announced is invisible to
them; what was announced and does not work is an error to them.`,
		Remedy: `Announce in initialize what works, and only that.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			caps := s.Info().Capabilities
			var problems, announced, unanswered []string
			for _, c := range []struct {
				name, method string
				announced    bool
			}{
				{"tools", "tools/list", caps.Tools != nil},
				{"resources", "resources/list", caps.Resources != nil},
				{"prompts", "prompts/list", caps.Prompts != nil},
			} {
				list, err := t.list(ctx, c.method)
				switch {
				case err != nil:
					unanswered = append(unanswered, c.method)
				case c.announced:
					announced = append(announced, c.name)
					if list.Unsupported {
						problems = append(problems, fmt.Sprintf("%s are announced and %s is not known", c.name, c.method))
					}
				case len(list.Items) > 0:
					problems = append(problems, fmt.Sprintf("%s works (%d entries) and is not announced", c.method, len(list.Items)))
				}
			}
			if len(problems) > 0 {
				return warn(strings.Join(problems, "; "), "announce in initialize what works, and only that")
			}
			if len(unanswered) > 0 {
				return skip("not answered: " + strings.Join(unanswered, ", "))
			}
			if len(announced) == 0 {
				return pass("none announced, none there")
			}
			return pass(strings.Join(announced, ", "))
		},
	}
}
