package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolPing() Check {
	return Check{
		ID: "protocol.ping", Title: "ping is answered", Needs: []string{"session.reuse"},
		Why: `Up to protocol version 2025-11-25 every server must answer ping. Clients use it to find dead connections, and give up a
server that does not answer.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			if s.Info().Era == session.EraModern {
				return skip("protocol " + s.Info().ProtocolVersion + " has no ping")
			}
			err = ping(ctx, t)
			var e *session.Error
			if errors.As(err, &e) && e.Class == session.ClassAnswered {
				return warn("ping is answered with an error: "+e.Message, "answer ping with an empty result")
			}
			if err != nil {
				return failure(err)
			}
			return pass("answered")
		},
	}
}

// ping asks for a sign of life.
func ping(ctx context.Context, t *Target) error {
	return t.sup.Do(ctx, session.Request{Name: "ping", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		_, err := s.Raw(ctx, "ping", nil)
		return err
	})
}

// unknownMethod is a method that no server has.
const unknownMethod = "mcpctl/no-such-method"

func protocolUnknownMethod() Check {
	return Check{
		ID: "protocol.unknown-method", Title: "unknown methods are refused", Needs: []string{"session.reuse"},
		Why: `Newer clients ask older servers for methods that they do not know. The answer must be the JSON-RPC error -32601
("method not found"); silence or a broken connection makes such clients hang or give up.`,
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			limit := t.sup.Limits().Request
			ctx, cancel := context.WithTimeoutCause(ctx, limit.Value, fmt.Errorf("no answer within %s", limit))
			defer cancel()
			_, err = s.Raw(ctx, unknownMethod, nil)
			var e *session.Error
			switch {
			case err == nil:
				return warn("an unknown method is answered with a result", "answer it with the error -32601")
			case !errors.As(err, &e):
				return failure(err)
			case e.Class == session.ClassInterrupted:
				return Finding{Status: Unknown, Message: "interrupted"}
			case e.RPC != nil:
				return pass(fmt.Sprintf("refused with the error %d", e.RPC.Code))
			case e.Status >= 400 && e.Status < 500:
				return pass(fmt.Sprintf("refused with HTTP %d", e.Status))
			}
			return warn("an unknown method is not refused: "+e.Message, "answer unknown methods with the JSON-RPC error -32601")
		},
	}
}

func protocolCapabilities() Check {
	return Check{
		ID: "protocol.capabilities", Title: "capabilities match", Needs: []string{"session.reuse"},
		Why: `Clients ask only for what the server announced in its capabilities. What works and was not announced is invisible to
them; what was announced and does not work is an error to them.`,
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
