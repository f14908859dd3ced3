package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// runForm asks for a server, step by step. Whatever it asks for has a flag, and the line with those is shown in the end.
func (o *addOptions) runForm(cmd *cobra.Command, a *app, path string) error {
	ctx := cmd.Context()
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	o.lend(a, nil)
	o.helped = true
	servers, err := o.askWhat(ctx, a)
	if err != nil {
		return err
	}
	if len(servers) > 1 {
		return o.addSeveral(cmd, a, c, path, servers)
	}
	found := servers[0]
	if found.Name, err = o.askName(ctx, a, c, found); err != nil {
		return err
	}
	found.Enabled = found.Enabled && !o.disabled
	if len(o.include)+len(o.exclude) > 0 {
		found.Tools = config.ToolFilter{Include: o.include, Exclude: o.exclude}
	}
	if err := o.apply(cmd.Flags(), &found); err != nil {
		return err
	}
	server, err := o.adopt(a, c, found)
	if err != nil {
		return err
	}
	if err := o.misfit(cmd.Flags(), server); err != nil {
		return err
	}
	values := valuesBehind(found, server)
	o.lend(a, values)
	for _, name := range sortedKeys(values) {
		a.note("a secret is not saved: ${" + name + "} takes its place, and has its value for the check")
	}
	if err := o.askToken(ctx, a, &server); err != nil {
		return err
	}
	if err := o.askUnset(ctx, a, server); err != nil {
		return err
	}
	if err := makeAbsolute(a, &server); err != nil {
		return err
	}
	return o.checkAndSave(ctx, a, path, server)
}

// askWhat asks for anything that describes servers.
func (o *addOptions) askWhat(ctx context.Context, a *app) ([]config.Server, error) {
	var servers []config.Server
	_, err := a.asker().Input(ctx, prompt.Field{
		Question: "Add a server", Help: "paste a URL, a command line, or JSON from a README", Unfinished: pasted.Unfinished,
		Check: func(text string) (err error) {
			servers, err = pasted.Servers(text)
			return err
		},
	})
	return servers, err
}

// askName asks for the name, which is suggested.
func (o *addOptions) askName(ctx context.Context, a *app, c *config.Config, found config.Server) (string, error) {
	taken := func(name string) bool { return has(c, name) && !o.replace }
	return a.asker().Input(ctx, prompt.Field{
		Question: "Name", Help: "what it is called on the command line", Value: pasted.SuggestName(found, taken),
		Check: func(name string) error {
			if err := config.ValidateName(name); err != nil {
				return pasted.Short(err)
			}
			if taken(name) {
				return fmt.Errorf("there is a server %q already", name)
			}
			return nil
		},
	})
}

// askToken asks for the variable with a token, unless the entry says already how it is authorized.
func (o *addOptions) askToken(ctx context.Context, a *app, server *config.Server) error {
	if server.URL == "" || len(server.Headers) > 0 || len(server.VariableNames()) > 0 {
		return nil
	}
	name, err := a.asker().Input(ctx, prompt.Field{
		Question: "Variable that holds its token", Help: "such as " + variableFor(server.Name, "token") + "; enter alone for none, or to log in",
		Check: func(name string) error {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "${"), "}")
			if _, _, ok := pasted.Assignment(name + "="); name != "" && !ok {
				return errors.New("the name of a variable is wanted, not the token: letters, digits and _")
			}
			return nil
		},
	})
	if err != nil || name == "" {
		return err
	}
	name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "$"), "{"), "}")
	pasted.SetHeader(server, "Authorization", "Bearer ${"+render.OneLine(name)+"}")
	return nil
}
