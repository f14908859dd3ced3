package main

import (
	"github.com/mcpctl/mcpctl/internal/oauth"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// authorizer returns what gets authorization for a server, nil if the entry wants nothing of the kind: a command, auth:
// none, or a credential in its headers.
func (a *app) authorizer(server config.Server) session.Authorizer {
	if o := a.authorization(server); o != nil {
		return o
	}
	return nil
}

// authorization is authorizer for those who log in and out themselves. A server always has the same one.
func (a *app) authorization(config.Server) *oauth.Authorizer { return nil }
