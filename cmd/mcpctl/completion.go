package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/pkg/config"
)

func newCompletionCmd() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `Print the completion script of a shell: bash, zsh, fish or powershell. Load it
in the shell's start file.`,
		Example: `  source <(mcpctl completion bash)       # in ~/.bashrc
  mcpctl completion zsh > "${fpath[1]}/_mcpctl"
  mcpctl completion fish > ~/.config/fish/completions/mcpctl.fish`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one shell: %s", strings.Join(shells, ", ")).hint("%s bash", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell", "pwsh":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usagef("no completion for %q; there is one for %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// completeServers completes the names of entries, and demo, as the first most words. Nothing is contacted.
func (a *app) completeServers(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := a.loadConfig(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []cobra.Completion
		for _, s := range c.Servers {
			words = append(words, cobra.CompletionWithDesc(s.Name, s.Redacted().Target()))
		}
		if _, taken := c.Server(demoName); !taken {
			words = append(words, cobra.CompletionWithDesc(demoName, "the built-in demonstration server"))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeEntries completes the names of entries, for commands that edit them.
func (a *app) completeEntries(most int) cobra.CompletionFunc {
	all := a.completeServers(most)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words, directive := all(cmd, args, word)
		if c, err := a.loadConfig(cmd.Context()); err == nil && len(words) > len(c.Servers) {
			words = words[:len(c.Servers)]
		}
		return words, directive
	}
}

// transportNames are the values of --transport.
func transportNames() []string {
	return []string{
		string(config.TransportAuto), string(config.TransportHTTP), string(config.TransportSSE), string(config.TransportStdio),
	}
}

// colorNames are the values of --color.
func colorNames() []string {
	return []string{iostreams.ColorAuto, iostreams.ColorAlways, iostreams.ColorNever}
}

// completeFlag returns the completion of a flag's values, nil for a flag whose values are anything.
func completeFlag(name string) cobra.CompletionFunc {
	switch name {
	case "transport":
		return cobra.FixedCompletions(transportNames(), cobra.ShellCompDirectiveNoFileComp)
	case "ca-file", "cert-file", "key-file":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // names of files
		}
	case "from":
		return cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp)
	case "color":
		return cobra.FixedCompletions(colorNames(), cobra.ShellCompDirectiveNoFileComp)
	case "report":
		return completeReport
	case "output":
		return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return formatsOf(cmd), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil
}

// formatsOf returns the values of --output that a command has.
func formatsOf(cmd *cobra.Command) []string {
	if own := cmd.Annotations[formatsKey]; own != "" {
		return strings.Split(own, ",")
	}
	return []string{formatText, formatJSON}
}
