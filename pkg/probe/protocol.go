package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

// ping asks for a sign of life.
func ping(ctx context.Context, t *Target) error {
	return t.sup.Do(ctx, session.Request{Name: "ping", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		_, err := s.Raw(ctx, "ping", nil)
		return err
	})
}

// unknownMethod is a method that no server has.
const unknownMethod = "mcpctl/no-such-method"
