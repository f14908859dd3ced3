package probe

import (
	"context"

	"github.com/mcpctl/mcpctl/pkg/session"
)

func httpKeepAlive() Check {
	return Check{
		ID: "http.keep-alive", Title: "connections can be reused", Needs: usable(), Applies: overHTTP,
		Why: `HTTP/1.1 connections stay open for further requests. If a proxy takes the next request on one and closes it
without an answer, every second request of a client fails, and nobody knows whether it was executed. mcpctl
repeats such a request on a new connection, if it may be repeated.`,
		Remedy: `Let the proxy close idle connections before it takes a request, or answer with Connection: close. Compare the
idle timeouts of the proxy and of the server behind it.`,
		Run: func(_ context.Context, t *Target) Finding {
			fix := "look at the proxy before the server: its idle limit must be longer than the clients', or it must say Connection: close"
			if text := t.warned(session.WarnReuse); text != "" {
				return warn(text, fix)
			}
			f := t.oddity(session.OddReuse, "none was closed without an answer", fix)
			if f.Status == Warn {
				f.Message = "a connection was kept open and then closed without an answer: " + f.Message
			}
			return f
		},
	}
}
