package probe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpHost() Check {
	return Check{
		ID: "http.host", Title: "foreign Host and Origin are refused", Needs: usable(),
		Applies: func(t *Target) bool { return overHTTP(t) && localURL(t.Server.URL) },
		Limit:   ownLimits, Budget: func(*Target) time.Duration { return visitTime },
		Why: `Any web page open in a browser on this machine can reach a server on this machine, by making its own host name
resolve to 127.0.0.1 (DNS rebinding). The specification therefore asks servers to check the Origin header; a
server that listens on the loopback interface should also reject a foreign Host. The check sends evil.example as
Host and as Origin.`,
		Remedy: `Reject requests with a foreign Origin with 403, and those whose Host is not localhost or a loopback address. The
SDKs have an option for it (DNS rebinding protection, allowed hosts).`,
		Run: func(ctx context.Context, t *Target) Finding {
			ctx, cancel := context.WithTimeout(ctx, t.patience(2))
			defer cancel()
			s, method, f := t.visitor(ctx)
			if f != nil {
				return *f
			}
			const foreign = "evil.example"
			usual, err := s.Visit(ctx, session.Visit{Method: method})
			if err != nil || !answers(usual) || tooMuch(usual) {
				return skip("not judged: the same request with its own Host is not answered now")
			}
			reply, err := s.Visit(ctx, session.Visit{Method: method, Header: map[string]string{"Host": foreign, "Origin": "http://" + foreign}})
			switch {
			case err != nil:
				return skip("not judged: " + failure(err).Message)
			case slices.Contains([]int{400, 401, 403, 404, 421}, reply.Status):
				return pass(fmt.Sprintf("refused with HTTP %d", reply.Status))
			case reply.RPC != nil && usual.RPC == nil:
				return pass(fmt.Sprintf("refused with the error %d", reply.RPC.Code))
			case !answers(reply) || tooMuch(reply):
				return skip("not judged: " + replyText(reply))
			}
			out := warn(fmt.Sprintf("a request with Host and Origin %s is answered with HTTP %d: any web page can use this server through the browser", foreign, reply.Status),
				"check the Host and Origin headers (DNS rebinding protection in the SDK), and answer foreign ones with 403")
			out.Data = map[string]any{"http_status": reply.Status}
			return out
		},
	}
}
