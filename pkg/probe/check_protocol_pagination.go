package probe

import (
	"context"
	"strings"
)

func protocolPagination() Check {
	return Check{
		ID: "protocol.pagination", Title: "lists end", Needs: usable(), Limit: ownLimits, lists: true,
		Why: `Lists come in pages: nextCursor asks for the next one, and the last page has none. A server that always sends
one, even an empty one, puts simple clients into an endless loop (170,000 requests a minute have been seen), and
makes others stop after the first page. From protocol version 2026-07-28 on, an empty cursor is a cursor like
any other.`,
		Remedy: "Omit nextCursor on the last page, and send a different cursor with each page.",
		Run: func(ctx context.Context, t *Target) Finding {
			var odd []string
			for _, method := range t.announced() {
				if list, err := t.list(ctx, method); err == nil {
					odd = append(odd, list.Paging...)
				}
			}
			if len(odd) > 0 {
				f := warn(odd[0], "leave nextCursor out on the last page")
				f.Detail = strings.Join(odd, "\n")
				return f
			}
			return pass("no list goes on without an end")
		},
	}
}
