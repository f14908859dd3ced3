package probe

import "context"

func resourcesTemplates() Check {
	return Check{
		ID: "resources.templates", Title: "resource templates are listed", Needs: usable(), Limit: ownLimits, lists: true, Applies: announcesResources,
		Why: `Resources with a variable in their URI are listed by resources/templates/list, on all pages. A server without
any answers with an empty list, or with the error -32601.`,
		Remedy: "Answer resources/templates/list with an array named resourceTemplates.",
		Run: func(ctx context.Context, t *Target) Finding {
			list, err := t.list(ctx, "resources/templates/list")
			if err == nil && list.Unsupported {
				return skip("the server has no templates")
			}
			return listed(ctx, t, "resources/templates/list", "templates")
		},
	}
}
