package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/manpage"
)

// The manual says what the help says. It is made for packages (gendocs.go) and looked at by tests; the linker leaves it
// out of the program.

// The sections of the manual.
const (
	manCommands = 1
	manFiles    = 5
	manTopics   = 7
)

// manualPages returns the pages: one for each command, and one for each topic. source is the program with its version,
// date its day.
func manualPages(root *cobra.Command, source, date string) []manpage.Page {
	var pages []manpage.Page
	add := func(p manpage.Page) {
		p.Source, p.Date = source, date
		pages = append(pages, p)
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		add(commandPage(cmd))
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				walk(c)
			}
		}
	}
	walk(root)
	for _, t := range topics() {
		add(topicPage(root, t))
	}
	return pages
}

// pageName is the name of a command's page: mcpctl-config-edit.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// topicSection is the section of a topic: the configuration is a file.
func topicSection(name string) int {
	if name == "config" {
		return manFiles
	}
	return manTopics
}

// reference names a page as manuals do: mcpctl-call(1).
func reference(name string, section int) string { return name + "(" + string(rune('0'+section)) + ")" }

func topicReference(name string) string { return reference("mcpctl-"+name, topicSection(name)) }

// commandPage returns the page of a command.
func commandPage(cmd *cobra.Command) manpage.Page {
	p := manpage.Page{Name: pageName(cmd), Section: manCommands, Short: cmd.Short}
	add := func(parts ...manpage.Part) { p.Parts = append(p.Parts, parts...) }

	var forms []string
	if cmd.HasParent() {
		for form := range strings.SplitSeq(cmd.Use, " | ") {
			forms = append(forms, "  "+cmd.Parent().CommandPath()+" "+form)
		}
	} else {
		forms = []string{"  mcpctl COMMAND [FLAG...] [ARG...]", "  mcpctl help [COMMAND|TOPIC]"}
	}
	add(manpage.Part{Title: "SYNOPSIS", Text: strings.Join(forms, "\n")})
	about := cmd.Long
	switch {
	case about == "":
		about = cmd.Short + "."
	case !cmd.HasParent():
		about += manualAbout
	}
	add(manpage.Part{Title: "DESCRIPTION", Text: about})
	if cmd.HasAvailableSubCommands() {
		add(commandParts(cmd)...)
	}
	add(flagParts(cmd)...)
	if !cmd.HasParent() {
		add(manpage.Part{Title: "EXIT STATUS", Text: withoutTitle(topicExitCodes)})
		add(manpage.Part{Title: "ENVIRONMENT", Text: withoutTitle(topicEnvironment)})
		add(manpage.Part{Title: "FILES", Text: manualFiles})
	} else {
		add(manpage.Part{Title: "EXIT STATUS", Text: "0 when it is done. What the others mean is in " + topicReference("exit-codes") + "."})
	}
	add(manpage.Part{Title: "EXAMPLES", Text: cmd.Example})
	add(manpage.Part{Title: "SEE ALSO", Text: seeAlso(cmd) + "."})
	return p
}

// manualAbout is what the first page says beside the help.
const manualAbout = `

SERVER is the name of an entry of the configuration, a URL, or demo, the server
that is built in. A command that is not configured comes after --, or into
--stdio. mcpctl alone on a terminal lists the servers.

Each command has a page of its own, mcpctl-COMMAND(1), and so has each topic of
mcpctl help: mcpctl-TOPIC(7). They say what mcpctl help says.`

const manualFiles = `  ~/.config/mcpctl/config.yaml
              the servers; mcpctl config path prints where it is
  ~/.cache/mcpctl/
              how servers were reached, and tools of servers that are not on
              this machine; it may be removed at any time
  ~/.local/state/mcpctl/logs/
              what servers write to their standard error, for mcpctl logs
  ~/.local/state/mcpctl/history/
              the lines that were typed in mcpctl shell
  ~/.local/share/mcpctl/
              logins, where the system has no keyring

These are the places on Linux. The variables XDG_CONFIG_HOME, XDG_CACHE_HOME,
XDG_STATE_HOME and XDG_DATA_HOME move them.`

// commandParts returns the lists of the commands below a command.
func commandParts(cmd *cobra.Command) []manpage.Part {
	items := func(commands []*cobra.Command) []manpage.Item {
		var list []manpage.Item
		for _, c := range commands {
			if c.IsAvailableCommand() && c.Name() != "help" {
				list = append(list, manpage.Item{Term: reference(pageName(c), manCommands), Text: c.Short + "."})
			}
		}
		return list
	}
	parts := []manpage.Part{{Title: "COMMANDS"}}
	if cmd.HasParent() {
		parts[0].Items = items(cmd.Commands())
		return parts
	}
	for _, group := range cmd.Groups() {
		parts = append(parts, manpage.Part{
			Title: strings.TrimSuffix(group.Title, ":"), Sub: true, Items: items(inGroup(cmd, group.ID)),
		})
	}
	return parts
}

// flagParts returns all flags of a command with their explanations: a manual has room for what the help only names.
func flagParts(cmd *cobra.Command) []manpage.Part {
	own, asked, shared, auth := sortFlags(cmd)
	parts := []manpage.Part{{Title: "OPTIONS", Items: flagItems(own)}}
	for _, more := range []struct {
		title string
		flags *pflag.FlagSet
		topic string
	}{
		{"What the server asks", asked, "questions"},
		{"The server", shared, "connecting"},
		{"Logins", auth, "authorization"},
	} {
		if items := flagItems(more.flags); len(items) > 0 {
			parts = append(parts, manpage.Part{
				Title: more.title, Sub: true, Text: "More about them is in " + topicReference(more.topic) + ".", Items: items,
			})
		}
	}
	if cmd.HasParent() {
		parts = append(parts, manpage.Part{
			Title: "All commands", Sub: true, Items: flagItems(cmd.Root().PersistentFlags()),
		})
	}
	return parts
}

// flagItems explains flags.
func flagItems(flags *pflag.FlagSet) []manpage.Item {
	var items []manpage.Item
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := placeholder(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		switch {
		case value == "":
		case f.NoOptDefVal != "":
			term += "[=" + value + "]"
		default:
			term += " " + value
		}
		text := strings.ToUpper(usage[:1]) + usage[1:]
		if unset := []string{"", "[]", "0", "0s", "false"}; value != "" && f.NoOptDefVal == "" && !slices.Contains(unset, f.DefValue) &&
			!strings.Contains(usage, "(default") {
			text += " (default " + f.DefValue + ")"
		}
		items = append(items, manpage.Item{Term: term, Text: text + "."})
	})
	return items
}

// seeAlso names the pages that go with a command: the one above it, and the topics that explain its flags.
func seeAlso(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		var names []string
		for _, t := range topics() {
			names = append(names, topicReference(t.name))
		}
		return strings.Join(names, ", ")
	}
	names := []string{reference(pageName(cmd.Parent()), manCommands)}
	_, asked, shared, auth := sortFlags(cmd)
	for _, more := range []struct {
		flags *pflag.FlagSet
		topic string
	}{{shared, "connecting"}, {asked, "questions"}, {auth, "authorization"}} {
		if more.flags.HasFlags() {
			names = append(names, topicReference(more.topic))
		}
	}
	names = append(names, mentioned(cmd.Root(), cmd.Long, names, pageName(cmd))...)
	return strings.Join(append(names, topicReference("exit-codes")), ", ")
}

// mentioned returns the pages of the commands and topics that a text names, but for those that are known and for itself.
func mentioned(root *cobra.Command, text string, known []string, itself string) []string {
	mention := regexp.MustCompile(`mcpctl (help )?([a-z-]+)`)
	var names []string
	for _, m := range mention.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		name := reference("mcpctl-"+m[2], manCommands)
		switch found, _, err := root.Find([]string{m[2]}); {
		case m[1] != "" && slices.Contains(topicNames(), m[2]):
			name = topicReference(m[2])
		case err != nil || found == root || !found.IsAvailableCommand() || found.Name() != m[2]:
			continue
		}
		if !slices.Contains(names, name) && !slices.Contains(known, name) && name != reference(itself, manCommands) {
			names = append(names, name)
		}
	}
	return names
}

// topicPage returns the page of a topic.
func topicPage(root *cobra.Command, t topic) manpage.Page {
	p := manpage.Page{Name: "mcpctl-" + t.name, Section: topicSection(t.name), Short: t.short}
	names := append([]string{reference("mcpctl", manCommands)}, mentioned(root, t.text(), nil, "")...)
	p.Parts = []manpage.Part{
		{Title: "DESCRIPTION", Text: withoutTitle(t.text())},
		{Title: "SEE ALSO", Text: strings.Join(names, ", ") + "."},
	}
	return p
}

// withoutTitle returns the text of a topic without its title, which the page has itself.
func withoutTitle(text string) string {
	if first, rest, ok := strings.Cut(text, "\n\n"); ok && !strings.ContainsAny(first, ".:\n") {
		return rest
	}
	return text
}
