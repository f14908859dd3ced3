package main

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

type logoutOptions struct{ serverFlags }

func newLogoutCmd(a *app) *cobra.Command {
	o := logoutOptions{serverFlags{includeDisabled: true}}
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login to a server, and revoke it",
		Long: `Forget the login to a server: its tokens are deleted here, and the authorization
server is asked to revoke them, if it can. The server itself is not contacted.
It is not an error if there was no login.`,
		Example: `  mcpctl logout search
  mcpctl logout https://search.example/mcp`,
		ValidArgsFunction: a.completeServers(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },
	}
	return cmd
}

// logoutDocument is the output of logout.
type logoutDocument struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	// Removed is set if there was something to forget, and Revoked if the authorization server knows that it is void.
	Removed bool `json:"removed"`
	Revoked bool `json:"revoked"`
}

func (o *logoutOptions) run(cmd *cobra.Command, a *app, args []string) error {
	server, rest, err := a.resolve(cmd, &o.serverFlags, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("logout takes one server, and got %q, too", rest[0]).hint("%s", usageLine(cmd))
	}
	ctx := cmd.Context()
	doc := logoutDocument{Version: documentVersion, Server: server.Name}
	var failed error
	if server.URL != "" {
		// What is kept is kept by its URL, also when the entry wants no login any more.
		plain := server.Clone()
		plain.Auth, plain.Headers = config.AuthAuto, maps.Clone(server.Headers)
		maps.DeleteFunc(plain.Headers, func(name, _ string) bool { return strings.EqualFold(name, "Authorization") })
		expanded, err := a.expand(plain)
		if err != nil {
			return err
		}
		if auth := a.authorization(expanded); auth != nil {
			doc.Removed, doc.Revoked, failed = auth.Logout(ctx)
		}
		if failed != nil && !doc.Removed {
			return &loginFailedError{server: server.Name, phase: "logout", cause: failed}
		}
	}
	if failed != nil {
		a.warn(fmt.Sprintf("mcpctl: warning: %s: the login is forgotten here, and it could not be revoked: %s\n", oneLine(server.Name), oneLine(failed.Error())))
	}
	if a.json() {
		return a.print(ctx, doc)
	}
	text := "nothing was kept for %s\n"
	switch {
	case doc.Revoked:
		text = "logged out of %s: the login is forgotten, and revoked\n"
	case doc.Removed:
		text = "logged out of %s: the login is forgotten here"
		if failed == nil {
			text += "; its authorization server cannot revoke it, and it expires by itself"
		}
		text += "\n"
	}
	return a.writeLine(fmt.Sprintf(text, render.OneLine(server.Name)))
}
