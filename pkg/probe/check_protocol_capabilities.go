package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func protocolCapabilities() Check {
	return Check{
		ID: "protocol.capabilities", Title: "declared capabilities work", Needs: usable(), Limit: ownLimits, lists: true,
		Why: `Clients use only what the server declared in its capabilities. What works but was not declared is invisible to
them; what was declared but does not work is an error.`,
		Remedy: "Declare in initialize exactly what works.",
		Run: func(ctx context.Context, t *Target) Finding {
			s, err := t.sup.Session(ctx)
			if err != nil {
				return failure(err)
			}
			caps := s.Info().Capabilities
			var problems, announced, unanswered []string
			promises := []promise{
				{"tools", "tools/list", caps.Tools != nil},
				{"resources", "resources/list", caps.Resources != nil},
				{"prompts", "prompts/list", caps.Prompts != nil},
			}
			slices.SortStableFunc(promises, func(a, b promise) int { return cmp.Compare(b2i(b.announced), b2i(a.announced)) })
			for _, c := range promises {
				list, err := t.offered(ctx, c.method, c.announced)
				switch {
				case err != nil && !c.announced: // protocol.unknown-method tells of silence
				case err != nil:
					unanswered = append(unanswered, c.method)
				case c.announced:
					announced = append(announced, c.name)
					if list.Unsupported {
						problems = append(problems, fmt.Sprintf("%s are declared, but %s is unknown", c.name, c.method))
					}
				case len(list.Items) > 0:
					problems = append(problems, fmt.Sprintf("%s works (%d entries) and is not announced", c.method, len(list.Items)))
				}
			}
			if caps.Logging != nil && //nolint:staticcheck // deprecated in the modern era, and this is the other
				s.Info().Era == session.EraLegacy && t.hung == "" && t.crowded() == nil {
				if e := t.refusesLevel(ctx); e != nil {
					problems = append(problems, "logging is declared, but logging/setLevel is answered with an error: "+e.Message)
				}
			}
			if len(problems) > 0 {
				return warn(strings.Join(problems, "; "), "declare exactly what works in the capabilities of initialize")
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

// refusesLevel returns the error with which the server answers the wish for a log level, nil if it grants it, or says
// nothing. The level is that of the session, and usual.
func (t *Target) refusesLevel(ctx context.Context) *session.Error {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	err := t.sup.Do(ctx, session.Request{Name: "logging/setLevel", Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		_, err := s.Raw(ctx, "logging/setLevel", map[string]string{"level": "info"})
		return err
	})
	var e *session.Error
	if errors.As(err, &e) && e.RPC != nil {
		return e
	}
	return nil
}

// promise is a list that a server's capabilities announce, or do not.
type promise struct {
	name, method string
	announced    bool
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// offered asks for a list. One that is not announced is waited for a short while only, and once: the server owes no answer but
// an error.
func (t *Target) offered(ctx context.Context, method string, announced bool) (session.List, error) {
	if announced {
		return t.list(ctx, method)
	}
	if t.hung != "" || t.mute {
		return session.List{}, errors.New("not asked")
	}
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	s := t.current(ctx)
	if s == nil {
		return session.List{}, errors.New("no session is open")
	}
	list, err := s.List(ctx, method)
	t.mute = session.ClassOf(err) == session.ClassTimeout || ctx.Err() != nil
	return list, err
}
