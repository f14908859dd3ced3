package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// refused reports whether the server wants authorization, or refuses the one it got. The checks of the chain have nothing
// to look at otherwise.
func refused(t *Target) bool { return session.ClassOf(t.openErr) == session.ClassAuth }

// authorization walks the chain of the server's authorization, once.
func (t *Target) authorization(ctx context.Context) session.Authorization {
	if t.chain == nil {
		a := t.dialer().Authorization(ctx, t.expanded, t.openErr)
		t.chain = &a
	}
	return *t.chain
}

// asked lists the places where a document was looked for, with what they answered.
func asked(places []session.Place) string {
	var lines []string
	for _, p := range places {
		says := p.Says
		if p.Found {
			says = "found"
		}
		lines = append(lines, p.URL+": "+firstWords(says))
	}
	return strings.Join(lines, "\n")
}

// missing makes the finding of a document that was not found.
func missing(what string, places []session.Place, fix string) Finding {
	f := warn("no "+what+" was found", fix)
	if len(places) == 1 {
		f.Message = fmt.Sprintf("no %s at %s: %s", what, places[0].URL, firstWords(places[0].Says))
	}
	f.Detail = asked(places)
	return f
}
