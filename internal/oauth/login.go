package oauth

// A login that somebody asks for: it begins with a request that a server refuses to those who are not logged in.

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// Login asks for authorization whatever there is already, as the command login does: it finds the challenge by itself if
// refusal is nil. Nobody is asked if what it would bring could not be kept. What it brings is kept when a request has been
// accepted. The failure is an [*Error].
func (a *Authorizer) Login(ctx context.Context, refusal *transport.Refusal) error {
	if a.endpoint == nil {
		return failure(StepChallenge, Config, nil, "the server has no URL to log in to")
	}
	if s := a.o.Store; s != nil {
		if err := s.Ready(ctx, a.o.Server.URL); err != nil {
			return err
		}
	}
	d := demand{explicit: true}
	if refusal != nil {
		d.refusal = *refusal
	} else if r, err := a.knock(ctx); err != nil {
		return err
	} else {
		d.refusal = r
	}
	d.challenge, d.asks = bearer(d.refusal.Challenges)
	d.wider = wantsScopes(d.refusal.Status, d.challenge)
	a.Forgive()
	a.mu.Lock()
	a.held = nil
	a.mu.Unlock()
	return a.once(ctx, wish{seen: a.flowsDone()}, func(ctx context.Context, f *attempt) (*brought, error) { return a.flow(ctx, f, d) })
}

const (
	// connectBound is the limit on looking for a challenge where nobody has set one.
	connectBound = 30 * time.Second
	// leaveBound bounds the end of the session that this has opened: nobody waits for it.
	leaveBound = 2 * time.Second
	// knockVersion is that of the protocol in which the challenge is looked for. Servers of the later era refuse it for the
	// lack of a token, too.
	knockVersion = "2025-11-25"
)

// knock asks the server as a client would, and returns how it refuses. Servers that let everybody open a session are asked
// for their tools too. A server that refuses neither has Status 0.
func (a *Authorizer) knock(ctx context.Context) (transport.Refusal, error) {
	limit := a.o.Connect
	if limit.Value <= 0 {
		limit = Limit{Name: "connect_timeout", Value: connectBound, Source: "built-in"}
	}
	client, err := a.o.Client(a.endpoint)
	if err != nil {
		return transport.Refusal{}, failure(StepChallenge, Unreachable, err, "%v", err)
	}
	var session string
	defer func() {
		if session != "" {
			a.leave(ctx, client, session)
		}
	}()
	bound, cancel := context.WithTimeout(ctx, limit.Value)
	defer cancel()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + knockVersion + `","capabilities":{},"clientInfo":{"name":"mcpctl","version":"0"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		resp, err := a.post(bound, client, http.MethodPost, body, session)
		switch {
		case err == nil:
			_ = resp.Body.Close()
		case ctx.Err() != nil:
			return transport.Refusal{}, cancelled(ctx, StepChallenge)
		case bound.Err() != nil:
			e := failure(StepChallenge, TimedOut, err, "the server does not answer: nothing came within %s", limit)
			e.Limit = limit
			return transport.Refusal{}, e
		default:
			return transport.Refusal{}, failure(StepChallenge, Unreachable, err, "the server cannot be reached: %v", because(err))
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" && session == "" {
			session = id
		}
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			return transport.Refusal{
				Status: resp.StatusCode, Header: resp.Header,
				Challenges: transport.ParseChallenge(strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")),
			}, nil
		}
	}
	return transport.Refusal{}, nil
}

// leave ends the session that was opened to look for a challenge.
func (a *Authorizer) leave(ctx context.Context, client *http.Client, session string) {
	ctx, cancel := context.WithTimeout(ctx, leaveBound)
	defer cancel()
	if resp, err := a.post(ctx, client, http.MethodDelete, "", session); err == nil {
		_ = resp.Body.Close()
	}
}

// post sends a request of MCP without a token. The caller closes the body.
func (a *Authorizer) post(ctx context.Context, client *http.Client, method, body, session string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.endpoint.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range a.o.Server.Headers {
		if !strings.EqualFold(name, "Authorization") {
			req.Header.Set(name, value)
		}
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("MCP-Protocol-Version", knockVersion)
	}
	return client.Do(req)
}
