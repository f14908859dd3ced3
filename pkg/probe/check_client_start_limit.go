package probe

import (
	"context"
	"fmt"
)

func clientStartLimit() Check {
	return Check{
		ID: "client.start-limit", Title: "it starts within the client's limit", Needs: []string{sessionOpenID},
		Why: `Each client waits only so long for a server to start. When npx or uvx has to download a new release, starting
takes longer than usual.`,
		Remedy: `Install the package beforehand, so that starting it downloads nothing, or raise the client's timeout if it has
one.`,
		Applies: func(t *Target) bool { return fromClient(t) && format(t).StartLimitOf(t.Server) > 0 },
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.open(ctx)
			if err != nil {
				return failure(err)
			}
			client := format(t)
			took, limit := s.Info().Elapsed, client.StartLimitOf(t.Server)
			f := pass(fmt.Sprintf("%s of the %s that %s waits", FormatElapsed(took), FormatElapsed(limit), client.Title))
			if took > limit {
				f = warn(fmt.Sprintf("the opening took %s, and %s waits %s", FormatElapsed(took), client.Title, FormatElapsed(limit)), client.StartRemedy)
			}
			f.Data = map[string]any{"start_ms": milliseconds(took), "limit_ms": milliseconds(limit)}
			return f
		},
	}
}
