package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// registerFrom registers --from with commands that take servers and change none.
func (a *app) registerFrom(commands ...*cobra.Command) {
	for _, c := range commands {
		a.withFlags(c, a.registerFromOn)
	}
}

func (a *app) registerFromOn(flags *pflag.FlagSet) {
	share(flags, sharedKey, func(flags *pflag.FlagSet) {
		flags.StringVar(&a.global.from, "from", "", "use the servers configured in this `client`: cursor, vscode …")
	})
}

// clientNames are the values of --from.
func clientNames() []string {
	var names []string
	for _, f := range config.Clients() {
		names = append(names, f.Name)
	}
	return names
}

// userFile returns the file of a client's for this user, "" if there is no place for one.
func (a *app) userFile(f config.Format) string { return f.UserFile(runtime.GOOS, a.home, a.lookup) }

// client returns the client that --from names, and its file.
func (a *app) client() (config.Format, string, error) {
	word := a.global.from
	if a.global.config != "" {
		return config.Format{}, "", usagef("--from and --config both say where the servers are: choose one")
	}
	found := config.FindClients(word)
	if len(found) > 1 { // by one word of their names
		var there []config.Format
		for _, f := range found {
			if _, err := os.Stat(a.userFile(f)); err == nil {
				there = append(there, f)
			}
		}
		if len(there) != 1 {
			e := usagef("--from %s: that may be %s or %s", word, found[0].Title, found[1].Title)
			for _, f := range found {
				e.hint("--from %s", f.Name)
			}
			return config.Format{}, "", e
		}
		found = there
	}
	if len(found) == 0 {
		e := usagef("--from: unknown client %q; known are %s", word, strings.Join(clientNames(), ", "))
		for _, near := range config.Near(word, clientNames()) {
			e.hint("--from %s", near)
		}
		return config.Format{}, "", e
	}
	path := a.userFile(found[0])
	if path == "" {
		return config.Format{}, "", usagef("--from %s: the home directory is not known", word).hint("--config FILE")
	}
	return found[0], path, nil
}

// clientServers are the servers of one client's file.
type clientServers struct {
	format  config.Format
	servers []config.Server
}

// clients returns what is in the files of the known clients, as far as they are there and can be read. Nothing is
// started. Where the command line says which file is meant, no other one is looked at.
func (a *app) clients(ctx context.Context) []clientServers {
	if a.global.from != "" || a.global.config != "" {
		return nil
	}
	var found []clientServers
	for _, f := range config.Clients() {
		path := a.userFile(f)
		if path == "" {
			continue
		}
		c, err := await(ctx, func() (*config.Config, error) { return config.LoadClient(path, f) })
		if err != nil {
			a.logger.DebugContext(ctx, "client not read", "client", f.Name, "error", err)
			continue
		}
		if len(c.Servers) > 0 {
			found = append(found, clientServers{f, c.Servers})
		}
	}
	return found
}

// elsewhere returns the lines to type for a server that the configuration lacks and other clients have.
func (a *app) elsewhere(ctx context.Context, name string) []string {
	var lines []string
	for _, c := range a.clients(ctx) {
		for _, s := range c.servers {
			if s.Name == name {
				lines = append(lines, c.format.Name+" has one: "+a.corrected(name, "--from", c.format.Name, toolargs.Quote(name)))
			}
		}
	}
	return lines
}

// offers returns the lines to type for the servers that other clients have.
func (a *app) offers(ctx context.Context) []string {
	var lines []string
	for _, c := range a.clients(ctx) {
		lines = append(lines, fmt.Sprintf("%s has %s: mcpctl doctor --from %s", c.format.Name, plural(len(c.servers), "server"), c.format.Name))
	}
	return lines
}

// notFound is the error for a name that the configuration lacks.
func (a *app) notFound(ctx context.Context, c *config.Config, name string) error {
	missing := c.NotFound(name)
	lines := a.elsewhere(ctx, name)
	if len(lines) == 0 && (len(missing.Near) > 0 || a.configWords() == "") {
		return missing
	}
	if len(lines) == 0 {
		return usagef("no server %q", name).hint("mcpctl list %s shows the servers there are", strings.TrimSpace(a.configWords()))
	}
	e := usagef("no server %q", name)
	for _, l := range lines {
		e.hint("%s", l)
	}
	if len(missing.Near) > 0 {
		e.hint("did you mean %s?", orList(missing.Near))
	}
	return e
}

// loadEditable is loadConfig for a command that changes entries.
func (a *app) loadEditable(ctx context.Context) (*config.Config, error) {
	c, err := a.loadConfig(ctx)
	if err != nil {
		return nil, err
	}
	return c, c.Editable()
}

// tellNotes tells what another client's file says and mcpctl has no place for.
func (a *app) tellNotes(about string, notes []config.Note) {
	for _, n := range notes {
		a.note(render.OneLine(about + ": " + n.String()))
	}
}

// noteTexts returns the notes for a document.
func noteTexts(s config.Server) []string {
	if s.Foreign == nil {
		return nil
	}
	var texts []string
	for _, n := range s.Foreign.Notes {
		texts = append(texts, n.String())
	}
	return texts
}
