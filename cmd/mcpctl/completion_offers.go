package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// rememberedOffers returns what is remembered of a server by a method, and nil if nothing is.
func (a *app) rememberedOffers(cmd *cobra.Command, server config.Server, method string) []session.Offer {
	expanded, err := a.expand(server)
	if err != nil {
		a.logger.DebugContext(cmd.Context(), "nothing to complete", "error", err)
		return nil
	}
	return a.quickDialer().RememberedOffers(expanded, method)
}

// completeAfterServer completes a server, and what comes after it by complete.
func (a *app) completeAfterServer(complete func(cmd *cobra.Command, server config.Server, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)) cobra.CompletionFunc {
	servers := a.completeServers(1)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if f := cmd.Flags().Lookup("stdio"); f != nil && f.Changed {
			server, err := stdioServer(f.Value.String())
			if err != nil {
				return nil, none
			}
			return complete(cmd, server, args, word)
		}
		if len(args) == 0 {
			return servers(cmd, args, word)
		}
		server, ok := a.completedServer(cmd, args[0])
		if !ok {
			return nil, none
		}
		return complete(cmd, server, args[1:], word)
	}
}

// completeResources completes a server and a URI; for read also the variables of a template.
func (a *app) completeResources(reads bool) cobra.CompletionFunc {
	return a.completeAfterServer(func(cmd *cobra.Command, server config.Server, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if !reads {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeVariables(args[0], args[1:], word)
		}
		offers := append(slices.Clone(a.rememberedOffers(cmd, server, resourceKind().method)), a.rememberedOffers(cmd, server, templateKind().method)...)
		return completeURI(offers), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeURI returns the URIs and templates of what is offered.
func completeURI(offers []session.Offer) []cobra.Completion {
	var words []cobra.Completion
	for _, o := range offers {
		if id := firstNonEmpty(o.URI, o.URITemplate); typeable(id) {
			words = append(words, described(id, firstNonEmpty(o.Title, o.Description, o.Name)))
		}
	}
	return words
}

// completeVariables completes the variables of a template.
func completeVariables(uri string, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	t, err := parseTemplate(uri)
	if err != nil {
		return nil, none
	}
	return completeArgument(t.schema(), given, word)
}

// completePrompts completes a server and a prompt; for prompt also its arguments.
func (a *app) completePrompts(gets bool) cobra.CompletionFunc {
	return a.completeAfterServer(func(cmd *cobra.Command, server config.Server, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completePrompt(a.rememberedOffers(cmd, server, promptKind().method), args, word, gets)
	})
}

// completePrompt completes the name of a prompt, and its arguments.
func completePrompt(offers []session.Offer, args []string, word string, gets bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	switch {
	case len(args) == 0:
		var words []cobra.Completion
		for _, o := range offers {
			if typeable(o.Name) {
				words = append(words, described(o.Name, firstNonEmpty(o.Description, o.Title)))
			}
		}
		return words, none
	case !gets:
		return nil, none
	}
	if key, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(value, "@") && typeable(key) {
		return nil, cobra.ShellCompDirectiveDefault // key=@FILE
	}
	i := slices.IndexFunc(offers, func(o session.Offer) bool { return o.Name == args[0] })
	if i < 0 {
		return nil, none
	}
	return completeArgument(textSchema(offeredArguments(offers[i]), nil), args[1:], word)
}

func offeredArguments(o session.Offer) []promptArgument {
	var arguments []promptArgument
	for _, arg := range o.Arguments {
		arguments = append(arguments, promptArgument{Name: arg.Name, Description: arg.Description, Required: arg.Required})
	}
	return arguments
}

// completeCompletion completes the argument whose values complete asks for.
func (a *app) completeCompletion(o *completeOptions) cobra.CompletionFunc {
	return a.completeAfterServer(func(cmd *cobra.Command, server config.Server, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case o.resource != "":
			return completeVariables(o.resource, nil, word)
		}
		return completePrompt(a.rememberedOffers(cmd, server, promptKind().method), []string{o.prompt}, word, true)
	})
}

// completeAsked completes the flags --prompt and --resource of complete by what is remembered of the server before them.
func (a *app) completeAsked(method string, words func([]session.Offer) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if server, ok := a.completedServer(cmd, args[0]); ok {
				return words(a.rememberedOffers(cmd, server, method)), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
