package probe

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func sessionEnded() Check {
	return Check{
		ID: "session.ended", Title: "ended sessions are refused with 404", Needs: []string{"shutdown.close"}, Applies: remotely,
		Limit: ownLimits, Budget: func(*Target) time.Duration { return visitTime },
		Why: `A request with the id of a session that the server does not know must be answered with 404: that is how a client
learns that it has to open a new one. With 400, 401 or 500, most clients report an error after every restart of
the server, until somebody restarts them too. The check uses the id of the session that has just been ended.`,
		Remedy: "Answer requests with an unknown Mcp-Session-Id with 404. Keep 400 for requests without the header.",
		Run: func(ctx context.Context, t *Target) Finding {
			ctx, cancel := context.WithTimeout(ctx, t.patience(2))
			defer cancel()
			s := t.closed
			switch {
			case s == nil:
				return skip("no session was ended")
			case s.ID() == "":
				return skip("there is no session")
			}
			if f := t.crowded(); f != nil {
				return *f
			}
			reply, err := s.Visit(ctx, session.Visit{Method: t.lightMethod(s)})
			if deleted := s.Deleted(); err == nil && !reply.Refused() && deleted >= 200 && deleted < 300 {
				f := warn(fmt.Sprintf("DELETE is accepted (%d), but the session still works", deleted),
					"forget the session on DELETE, and answer its id with 404; answer DELETE with 405 if sessions cannot be ended")
				f.Data = map[string]any{"http_status": reply.Status, "delete_status": deleted}
				return f
			}
			if err == nil && !reply.Refused() { // it does not let sessions be ended
				const madeUp = "mcpctl-made-up-session"
				reply, err = s.Visit(ctx, session.Visit{Method: t.lightMethod(s), Header: map[string]string{"Mcp-Session-Id": madeUp}})
			}
			switch {
			case err != nil:
				return skip("not answered: " + failure(err).Message)
			case tooMuch(reply), !reply.Lost && (reply.Status == http.StatusUnauthorized || reply.Status == http.StatusForbidden || reply.Status >= 500):
				return skip("not judged: " + replyText(reply))
			case reply.Status == http.StatusNotFound:
				return pass("with 404")
			case !reply.Refused():
				return pass("any session id is answered")
			}
			f := warn(fmt.Sprintf("a request with an ended session is answered with %s instead of 404", replyText(reply)),
				"answer an unknown Mcp-Session-Id with 404: few clients open a new session on any other status")
			f.Data = map[string]any{"http_status": reply.Status}
			return f
		},
	}
}
