package main

import (
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/probe"
)

func newCompletionCmd(*app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the shell completion script",
		Long: `Print the completion script of a shell: bash, zsh, fish or powershell. Load it
in the shell's startup file.`,
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
			if !slices.Contains(append(shells, "pwsh"), args[0]) {
				return usagef("no completion for %q; there is one for %s", args[0], strings.Join(shells, ", "))
			}
			return writeCompletion(cmd.Root(), args[0], cmd.OutOrStdout())
		},
	}
}

// writeCompletion writes the completion script of a shell. Packages install what it writes.
func writeCompletion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "bash":
		_, err := io.WriteString(out, bashScript)
		return err
	case "zsh":
		_, err := io.WriteString(out, zshScript)
		return err
	case "fish":
		return root.GenFishCompletion(out, true)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}

// mostDescribed servers are described however their names begin: more than fit on a screen.
const mostDescribed = 500

// completeServers completes the names of entries, and demo, as the first most words. Nothing is contacted.
func (a *app) completeServers(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := a.loadConfig(cmd.Context())
		if err != nil { // the command itself tells what is wrong, when it is run
			a.logger.DebugContext(cmd.Context(), "nothing to complete", "error", err)
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []cobra.Completion
		for _, s := range c.Servers {
			switch {
			case !typeable(s.Name) || slices.Contains(args, s.Name):
			case len(c.Servers) > mostDescribed && !strings.HasPrefix(s.Name, begun): // the shell may still find a likeness
				words = append(words, s.Name)
			default:
				words = append(words, described(s.Name, s.RedactedTarget()))
			}
		}
		if _, taken := c.Server(demoName); !taken && !slices.Contains(args, demoName) {
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
		if c, err := a.loadConfig(cmd.Context()); err == nil {
			if _, taken := c.Server(demoName); !taken {
				words = slices.DeleteFunc(words, func(w cobra.Completion) bool { return strings.HasPrefix(w, demoName+"\t") })
			}
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

// completes reports whether the command line asks what a command line could go on with. Only then are the values of flags
// completed: that takes a while to prepare, and cobra holds on to each flag with a completion for as long as the program runs.
func (a *app) completes() bool {
	return len(a.args) > 0 && (a.args[0] == cobra.ShellCompRequestCmd || a.args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completeFlagWith completes the values of a flag that is defined.
func (a *app) completeFlagWith(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if a.completes() {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // it is defined
	}
}

// completeFlag returns the completion of a flag's values. Most have values that nobody can know, and are no files.
func completeFlag(name string) cobra.CompletionFunc {
	fixed := func(words ...cobra.Completion) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch name {
	case "transport":
		return fixed(transportNames()...)
	case "auth":
		return fixed("auto", "none", "oauth")
	case "grant":
		return fixed(grantNames()...)
	case "client-secret", "assertion", "idp-client-secret", "idp-id-token":
		return completeSecret
	case "redirect-uri":
		return fixed("http://127.0.0.1:8765/callback")
	case "log-level":
		return cobra.FixedCompletions(append(logLevels(), logOff), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	case "config", "ca-file", "cert-file", "key-file", "private-key", "trace", "smoke", "baseline", "write-baseline", "file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault) // names of files
	case "save":
		return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if cmd.Name() == "read" { // one file, or a directory for it
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case "cwd", "root":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "args", "data", "from-json":
		return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if strings.HasPrefix(word, "@") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	case "to":
		var words []cobra.Completion
		for _, f := range config.Writable() {
			words = append(words, described(f.Name, f.Title))
		}
		return fixed(words...)
	case "from":
		var words []cobra.Completion
		for _, f := range config.Clients() {
			words = append(words, described(f.Name, f.Title))
		}
		return fixed(words...)
	case "header":
		return fixed("Authorization: Bearer ${TOKEN}", "X-Api-Key: ${API_KEY}")
	case "color":
		return fixed(colorNames()...)
	case "protocol":
		return fixed(append([]string{"auto"}, mcp.SupportedProtocolVersions()...)...)
	case "proxy":
		return fixed("none", "http://", "socks5://")
	case "elicit":
		return fixed(actionAccept, actionDecline, actionCancel)
	case "fail-on":
		return fixed("breaking", "risky", "any")
	case "lines":
		return fixed("all")
	case "http":
		return fixed("127.0.0.1:8080", "127.0.0.1:0")
	case "only", "skip":
		return fixed(checkWords(true)...)
	case "explain":
		return fixed(checkWords(false)...)
	case "report":
		return completeReport
	case "output":
		return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return formatsOf(cmd), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
}

// completeSecret completes where a secret is: a file behind an @.
func completeSecret(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.HasPrefix(word, "@") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return []cobra.Completion{"${SECRET}"}, cobra.ShellCompDirectiveNoFileComp
}

// checkWords are the checks of doctor with their titles, and the stages if they are wanted.
func checkWords(stages bool) []cobra.Completion {
	var words []cobra.Completion
	said := map[string]bool{}
	for _, c := range probe.Checks() {
		if s := c.Stage(); stages && !said[s] {
			said[s] = true
			words = append(words, cobra.CompletionWithDesc(s, "all checks of this stage"))
		}
		words = append(words, described(c.ID, c.Title))
	}
	return words
}

// formatsOf returns the values of --output that a command has.
func formatsOf(cmd *cobra.Command) []string {
	if own := cmd.Annotations[formatsKey]; own != "" {
		return strings.Split(own, ",")
	}
	return []string{formatText, formatJSON}
}
