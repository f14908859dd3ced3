package oauth

import (
	"context"
	"slices"

	"github.com/mcpctl/mcpctl/internal/transport"
)

// moved reports whether the server names other authorization servers now than the one that gave what is kept. That one may
// be gone for good: that it does not answer then is no reason to wait for it. challenges are those of a refusal, nil if
// there was none. See the MCP specification, 2026-07-28, "Authorization Server Binding".
func (a *Authorizer) moved(ctx context.Context, challenges []transport.Challenge) bool {
	r, ok, err := a.kept(ctx)
	if err != nil || !ok || r.Issuer == "" {
		return false
	}
	c := Chain{Challenges: challenges}
	walk{endpoint: a.endpoint, client: a.o.Client}.resource(ctx, &c)
	return c.Resource != nil && len(c.Resource.AuthorizationServers) > 0 &&
		!slices.ContainsFunc(c.Resource.AuthorizationServers, func(issuer string) bool { return sameBySlash(issuer, r.Issuer) })
}
