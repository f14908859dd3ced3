package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// What READMEs have for other clients, in JSON. It is read by the reader of their files, so that it means here what it
// means there, and is taken over as import does.

// mostJSON bounds what is read of a snippet, in bytes: files of clients have kilobytes.
const mostJSON = 4 << 20

// snippet returns the text that --from-json names, and the file that it stands in.
func (o *addOptions) snippet(ctx context.Context, a *app) (file, text string, err error) {
	read := func(name string, r io.Reader) (string, string, error) {
		data, err := await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(r, mostJSON+1)) })
		if err == nil && len(data) > mostJSON {
			err = fmt.Errorf("larger than %d MiB", mostJSON>>20)
		}
		if err != nil {
			return "", "", usagef("--from-json: %s: %s", name, err)
		}
		return name, strings.TrimPrefix(string(data), "\ufeff"), nil
	}
	switch name, isFile := strings.CutPrefix(o.fromJSON, "@"); {
	case o.fromJSON == "-" || o.fromJSON == "@-":
		return read("-", a.io.In)
	case isFile:
		f, err := os.Open(name)
		if err != nil {
			return "", "", usagef("--from-json: %s", err)
		}
		defer f.Close() //nolint:errcheck // only read from
		return read(name, f)
	}
	return "-", o.fromJSON, nil
}

// runJSON adds what --from-json describes.
func (o *addOptions) runJSON(cmd *cobra.Command, a *app, args []string, path string) error {
	ctx := cmd.Context()
	if o.url != "" || o.bearerToken != "" || cmd.ArgsLenAtDash() >= 0 || len(args) > 1 {
		return usagef("--from-json says what the server is, and takes a name and nothing else").hint("mcpctl add NAME --from-json JSON")
	}
	file, text, err := o.snippet(ctx, a)
	if err != nil {
		return err
	}
	if file == "-" && o.fromJSON != text {
		o.yes = true // the input has been read to its end, so nobody can answer there
	}
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	servers, err := pasted.Snippet(file, text, name)
	if err != nil {
		if _, ok := errors.AsType[*config.Error](err); ok {
			return err
		}
		return usagef("--from-json: %s", err).hint(`want {"mcpServers": {"NAME": {…}}}, {"NAME": {…}}, or an entry with add NAME`)
	}
	c, err := a.loadEditable(ctx)
	if err != nil {
		return err
	}
	if len(servers) > 1 {
		for _, flag := range []string{"header", "env", "cwd", "transport", "include", "exclude"} {
			if name != "" || cmd.Flags().Changed(flag) {
				what := "--" + flag
				if name != "" {
					what = "the name " + toolargs.Quote(name)
				}
				return usagef("--from-json: %s is for one server, and these are %d: %s", what, len(servers), strings.Join(quoted(names(servers)), ", "))
			}
		}
		return o.addSeveral(cmd, a, c, path, servers)
	}
	found := servers[0]
	if name != "" {
		found.Name = name
	}
	if found.Name == "" {
		return usagef("the server needs a name").hint("%s", a.inserted(cmd, pasted.SuggestName(found, nil)))
	}
	server, err := o.adopt(a, c, found)
	if err != nil {
		return err
	}
	if o.disabled {
		server.Enabled = false
	}
	server.Tools.Include = append(server.Tools.Include, o.include...)
	server.Tools.Exclude = append(server.Tools.Exclude, o.exclude...)
	if err := o.apply(cmd.Flags(), &server); err != nil {
		return err
	}
	if err := o.misfit(cmd.Flags(), server); err != nil {
		return err
	}
	if err := server.Validate(); err != nil {
		return err
	}
	if err := o.free(cmd, a, c, server.Name); err != nil {
		return err
	}
	if err := o.writtenOut(a, found, server); err != nil {
		return err
	}
	if err := o.checkSecrets(a, server); err != nil {
		return err
	}
	return o.checkAndSave(ctx, a, path, server)
}

// adopt turns an entry of another client into ours, and tells what is lost or means something else.
func (o *addOptions) adopt(a *app, c *config.Config, found config.Server) (config.Server, error) {
	server, told, err := o.adoptOnly(a, c, found)
	if err != nil {
		return server, err
	}
	for _, r := range slices.Concat(told.Changes, told.Losses) {
		if r.File == "-" {
			r.File = ""
		}
		a.note(render.OneLine(server.Name + ": " + r.String()))
	}
	return server, nil
}

func (o *addOptions) adoptOnly(a *app, c *config.Config, found config.Server) (config.Server, config.Adoption, error) {
	used := map[string]string{}
	for _, s := range c.Servers {
		for _, v := range s.VariableNames() {
			used[v] = s.Name
		}
	}
	name := found.Name
	if config.ValidateName(name) != nil {
		name = "" // Adopt makes one
	}
	return found.Adopt(config.AdoptOptions{Name: name, Home: a.home, LiteralSecrets: o.allowLiteralSecret, Variables: used})
}

// writtenOut refuses an entry with a secret written out, with the line that adds it without.
func (o *addOptions) writtenOut(a *app, found, server config.Server) error {
	secrets := found.LiteralSecrets()
	if len(secrets) == 0 || o.allowLiteralSecret {
		return nil
	}
	e := usagef("%s: %s: a secret would be written into the file", server.Name, secrets[0].Place)
	for _, name := range sortedKeys(valuesBehind(found, server)) {
		e.hint("export %s=…", name)
	}
	return e.hint("%s", line(a.addWords(server, o))).hint("or, to save it as it is: --allow-literal-secret")
}

// addedBody is one of several servers that were to be added.
type addedBody struct {
	Name   string     `json:"name"`
	State  string     `json:"state"`
	Tools  *int       `json:"tools,omitempty"`
	Target string     `json:"target"`
	Error  *errorBody `json:"error,omitempty"`
	server config.Server
	err    error
}

// addSeveralDocument is the output of add for several servers.
type addSeveralDocument struct {
	Version  int         `json:"version"`
	Config   string      `json:"config"`
	Added    []string    `json:"added"`
	Replaced []string    `json:"replaced"`
	Skipped  []string    `json:"skipped"`
	Servers  []addedBody `json:"servers"`
}

// The states of a server that was to be added.
const (
	addedNew      = "added"
	addedReplaced = "replaced"
	addedNot      = "not saved"
)

// addSeveral checks several servers at once, and saves those that work. The exit code is that of the first that does not.
func (o *addOptions) addSeveral(cmd *cobra.Command, a *app, c *config.Config, path string, found []config.Server) error {
	ctx := cmd.Context()
	bodies := make([]addedBody, len(found))
	for i, s := range found {
		b := &bodies[i]
		b.Name = s.Name
		b.server, b.err = o.adopt(a, c, s)
		if b.err != nil {
			continue
		}
		b.Name, b.Target = b.server.Name, b.server.Redacted().Target()
		if o.disabled {
			b.server.Enabled = false
		}
		if b.err = o.apply(cmd.Flags(), &b.server); b.err == nil {
			b.err = b.server.Validate()
		}
		twice := slices.ContainsFunc(bodies[:i], func(o addedBody) bool { return o.Name == b.Name })
		switch {
		case b.err != nil:
		case twice:
			b.err = usagef("there are two of that name")
		case has(c, b.Name) && !o.replace:
			b.err = usagef("there is a server %q already; to replace it: --replace", b.Name)
		default:
			b.err = o.writtenOut(a, s, b.server)
		}
	}
	for _, b := range bodies {
		if b.err == nil {
			a.tellDangers(b.server)
		}
	}
	if !o.noCheck {
		o.checkAll(ctx, a, bodies)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := config.EditContext(ctx, path, func(d *config.Document) error {
		for i := range bodies {
			b := &bodies[i]
			b.State = addedNot
			switch {
			case b.err != nil:
				continue
			case d.Has(b.Name) && o.replace:
				b.State, b.err = addedReplaced, d.Replace(b.server)
			default:
				b.State, b.err = addedNew, d.Add(b.server)
			}
			if b.err != nil {
				b.State = addedNot
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.tellSeveral(ctx, a, path, bodies)
}

// checkAll contacts all servers at once, bounded.
func (o *addOptions) checkAll(ctx context.Context, a *app, bodies []addedBody) {
	a.asks.Store(nil) // of several at once nobody knows which one asks
	stop := a.live("contacting " + plural(len(bodies), "server"))
	defer stop()
	servers := make([]config.Server, len(bodies))
	for i, b := range bodies {
		servers[i] = b.server
	}
	eachServer(a.crowd(0, listEffort()), servers, func(i int) {
		b := &bodies[i]
		if b.err != nil {
			return
		}
		s, err := a.supervise(a.quickDialer(), b.server)
		if err == nil {
			b.err = o.count(ctx, a, s, b)
			return
		}
		b.err = err
	})
}

// count lists the tools of one of several servers, and ends its session.
func (o *addOptions) count(ctx context.Context, a *app, s *session.Supervisor, b *addedBody) (err error) {
	defer func() {
		a.release(ctx, b.Name, s, err)
		err = a.needsLogin(b.server, err)
	}()
	list, err := a.tools(ctx, s, b.server)
	if err != nil {
		return err
	}
	n := len(list.tools)
	b.Tools = &n
	return nil
}

// tellSeveral shows what became of each.
func (o *addOptions) tellSeveral(ctx context.Context, a *app, path string, bodies []addedBody) error {
	doc := addSeveralDocument{Version: documentVersion, Config: path, Added: []string{}, Replaced: []string{}, Skipped: []string{}}
	code := codeOK
	t := render.Table{Columns: []render.Column{{Title: "name", Fixed: true}, {Title: "state", Fixed: true}, {Title: "tools", Right: true}, {Title: "target"}}}
	var failures strings.Builder
	for _, b := range bodies {
		tools, style := "", render.Good
		if b.Tools != nil {
			tools = fmt.Sprint(*b.Tools)
		}
		switch b.State {
		case addedNew:
			doc.Added = append(doc.Added, b.Name)
		case addedReplaced:
			doc.Replaced = append(doc.Replaced, b.Name)
		default:
			style = render.Bad
			doc.Skipped = append(doc.Skipped, b.Name)
			f, _ := classify(&notSavedError{cause: &serverError{server: b.Name, cause: b.err}}, false)
			body := f.body()
			b.Error = &body
			if code == codeOK {
				code = f.code
			}
			if f.said == f.Message { // it does not name the server
				f.said = b.Name + ": " + strings.TrimPrefix(f.said, b.Name+": ")
			}
			failures.WriteString(f.text(a.global.verbose > 0, a.errWidth()))
		}
		doc.Servers = append(doc.Servers, b)
		t.Rows = append(t.Rows, []render.Cell{{Text: b.Name, Style: render.Strong}, {Text: b.State, Style: style}, {Text: tools}, {Text: b.Target}})
	}
	a.unread = code
	if a.json() {
		if err := a.print(ctx, doc); err != nil {
			return err
		}
	} else {
		if err := t.Write(a.out(), a.screen()); err != nil {
			return err
		}
	}
	a.warn(failures.String())
	if code != codeOK {
		return reportedError(code)
	}
	return nil
}
