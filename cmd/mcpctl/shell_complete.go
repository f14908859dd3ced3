package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/shellwords"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// Completion in a shell, unlike that of a system's shell, may ask the server: the session is there. It must not keep a
// person waiting, so an answer counts only if it comes within a second, and the next key ends the question.

// completeLimit bounds what a server is asked for a completion.
const completeLimit = time.Second

// offered are the lists of servers other than the tools, which the supervisor keeps.
type offered struct {
	mu    sync.Mutex
	lists map[offeredKey][]json.RawMessage
}

// offeredKey is a list of one session.
type offeredKey struct {
	server, method string
	generation     int
}

func newOffered() *offered { return &offered{lists: map[offeredKey][]json.RawMessage{}} }

// forget drops the lists of a server.
func (o *offered) forget(server string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.lists {
		if key.server == server {
			delete(o.lists, key)
		}
	}
}

// hear drops the lists that a server says are others now.
func (o *offered) hear(server, method string) {
	if method == "notifications/resources/list_changed" || method == "notifications/prompts/list_changed" {
		o.forget(server)
	}
}

// list returns a list of the server's, asking it once for each session.
func (o *offered) list(ctx context.Context, s *session.Supervisor, method string) []json.RawMessage {
	info := s.Stats().Info
	caps := info.Capabilities
	if caps == nil || strings.HasPrefix(method, "prompts/") && caps.Prompts == nil || strings.HasPrefix(method, "resources/") && caps.Resources == nil {
		return nil
	}
	key := offeredKey{s.Server().Name, method, info.Generation}
	o.mu.Lock()
	items, known := o.lists[key]
	o.mu.Unlock()
	if known {
		return items
	}
	err := s.Do(ctx, session.Request{Name: method, Repeatable: true}, func(ctx context.Context, sess *session.Session) error {
		list, err := sess.List(ctx, method)
		items = list.Items
		return err
	})
	if err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for old := range o.lists {
		if old.server == key.server && old.generation != key.generation {
			delete(o.lists, old)
		}
	}
	o.lists[key] = items
	return items
}

// completer completes one line.
type completer struct {
	sh   *shellState
	s    *session.Supervisor // nil if no server is in use
	root *cobra.Command
	cmd  *cobra.Command
	// words are those behind the verb that are no flags, and flags what was given.
	words []string
	flags map[string]string
	last  shellwords.Last
}

// candidates returns what can stand at the end of a text.
func (sh *shellState) candidates(ctx context.Context, text string) prompt.Completion {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(completeLimit, cancel).Stop() // as if a key had been pressed: it is nobody's failure
	list := commands(text)
	if len(list) == 0 {
		return prompt.Completion{}
	}
	line := list[len(list)-1]
	before, last, ok := shellwords.Typed(line)
	if !ok {
		return prompt.Completion{}
	}
	c := &completer{sh: sh, s: sh.supervisor(), root: sh.tree(), last: last, flags: map[string]string{}}
	words, nospace := c.offer(ctx, shellwords.Texts(before))
	done := prompt.Completion{From: len(text) - len(line) + last.Start}
	add := func(matches func(string) bool) {
		for _, w := range words {
			word, about, _ := strings.Cut(w, "\t")
			if !typeable(word) || !matches(word) {
				continue
			}
			text := toolargs.Quote(word)
			label := word
			if key, value, assigned := strings.Cut(word, "="); assigned && value != "" && strings.Contains(last.Text, "=") && !strings.Contains(key, "/") {
				label = value
			}
			done.Candidates = append(done.Candidates, prompt.Candidate{Text: text, Label: label, About: about, NoSpace: nospace || strings.HasSuffix(word, "=")})
		}
	}
	add(func(word string) bool { return strings.HasPrefix(word, last.Text) })
	if len(done.Candidates) == 0 {
		typed := strings.ToLower(last.Text)
		add(func(word string) bool { return strings.HasPrefix(strings.ToLower(word), typed) })
	}
	return done
}

// tree returns the commands, for completion: they are never run.
func (sh *shellState) tree() *cobra.Command {
	sh.grow.Do(func() {
		p := sh.a.process
		streams := *p.io
		streams.Out, streams.Err, streams.In = io.Discard, io.Discard, strings.NewReader("")
		p.io = &streams
		a := newApp(p)
		a.redact, a.keyring, a.args = sh.a.redact, sh.a.keyring, []string{cobra.ShellCompRequestCmd}
		a.dialers.Do(func() { a.fresh, a.quick = sh.a.fresh, sh.a.quick })
		sh.trunk = newWholeRootCmd(a)
		sh.extend(sh.trunk)
		finishFlags(sh.trunk)
		a.global.config, a.global.from = sh.base.config, sh.base.from
	})
	return sh.trunk
}

// offer returns the words that can stand behind others, and whether they go on.
func (c *completer) offer(ctx context.Context, before []string) (words []cobra.Completion, nospace bool) {
	if len(before) == 0 {
		return c.verbs(), false
	}
	top, _, err := c.root.Find(before[:1])
	if err != nil || top == c.root {
		return nil, false
	}
	if _, known := c.sh.verbs[top.Name()]; !known {
		return nil, false
	}
	c.cmd = top
	c.cmd.SetContext(ctx)
	var open *pflag.Flag // waits for its value
	rest := false
	for _, w := range before[1:] {
		switch name, value, assigned := strings.Cut(strings.TrimPrefix(w, "--"), "="); {
		case open != nil:
			c.flags[open.Name], open = w, nil
		case rest:
			c.words = append(c.words, w)
		case w == "--":
			rest = true
		case strings.HasPrefix(w, "--") && assigned:
			c.flags[name] = value
		case strings.HasPrefix(w, "--"), len(w) == 2 && w[0] == '-':
			f := c.flag(w)
			if f != nil && f.NoOptDefVal == "" {
				open = f
			}
		case strings.HasPrefix(w, "-") && len(w) > 1:
		default:
			c.words = append(c.words, w)
		}
	}
	typed := c.last.Text
	switch {
	case open != nil:
		return c.values(ctx, open, typed, "")
	case !rest && strings.HasPrefix(typed, "--") && strings.Contains(typed, "="):
		name, value, _ := strings.Cut(typed, "=")
		f := c.flag(name)
		if f == nil {
			return nil, false
		}
		return c.values(ctx, f, value, name+"=")
	case !rest && strings.HasPrefix(typed, "-"):
		return c.flagNames(), false
	}
	return c.argument(ctx, typed)
}

// verbs are the commands, in the order of the help.
func (c *completer) verbs() []cobra.Completion {
	var words []cobra.Completion
	for _, group := range c.root.Groups() {
		for _, cmd := range c.root.Commands() {
			if _, known := c.sh.verbs[cmd.Name()]; known && cmd.GroupID == group.ID && !cmd.Hidden {
				words = append(words, described(cmd.Name(), cmd.Short))
			}
		}
	}
	return words
}

// flag returns the flag that a word names.
func (c *completer) flag(word string) *pflag.Flag {
	for _, set := range []*pflag.FlagSet{c.cmd.Flags(), c.cmd.InheritedFlags()} {
		if name, long := strings.CutPrefix(word, "--"); long {
			if f := set.Lookup(name); f != nil {
				return f
			}
		} else if f := set.ShorthandLookup(word[1:2]); f != nil {
			return f
		}
	}
	return nil
}

// flagNames are the flags of the command, its own first.
func (c *completer) flagNames() []cobra.Completion {
	var own, shared []cobra.Completion
	add := func(f *pflag.Flag) {
		if f.Hidden || slices.Contains([]string{"config", "from", "trace"}, f.Name) {
			return
		}
		if word := described("--"+f.Name, f.Usage); f.Annotations[sharedKey] == nil {
			own = append(own, word)
		} else {
			shared = append(shared, word)
		}
	}
	c.cmd.LocalFlags().VisitAll(add)
	c.cmd.InheritedFlags().VisitAll(add)
	return append(own, shared...)
}

// values completes the value of a flag. What stands before it in the word is put before the candidates.
func (c *completer) values(ctx context.Context, f *pflag.Flag, typed, before string) (words []cobra.Completion, nospace bool) {
	switch {
	case c.s != nil && f.Name == "prompt":
		words = c.prompts(ctx)
	case c.s != nil && f.Name == "resource":
		words, nospace = c.uris(ctx, typed)
	default:
		complete, ok := c.cmd.GetFlagCompletionFunc(f.Name)
		if !ok {
			complete, ok = c.root.GetFlagCompletionFunc(f.Name)
		}
		if !ok {
			return nil, false
		}
		var directive cobra.ShellCompDirective
		words, directive = complete(c.cmd, c.words, typed)
		nospace = directive&cobra.ShellCompDirectiveNoSpace != 0
		if len(words) == 0 && directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			return files(before, typed)
		}
	}
	for i, w := range words {
		words[i] = before + w
	}
	return words, nospace
}

// files completes the name of a file.
func files(before, typed string) (words []cobra.Completion, nospace bool) {
	offers, directive := filesBehind(before, typed)
	for _, o := range offers {
		words = append(words, o.word)
	}
	return words, directive&cobra.ShellCompDirectiveNoSpace != 0
}

// argument completes a word that is no flag, by its name in the command's form.
func (c *completer) argument(ctx context.Context, typed string) (words []cobra.Completion, nospace bool) {
	form, _, _ := strings.Cut(c.cmd.Use, " | ")
	places := strings.Fields(form)[1:]
	takes := c.sh.verbs[c.cmd.Name()]
	if takes == takesServer {
		places = places[1:]
		if c.s == nil {
			return nil, false
		}
	}
	if i := strings.Index(strings.Join(places, " "), "(--"); i >= 0 { // flags of which one is needed
		places = places[len(places)-1:]
	}
	place := ""
	for i, p := range places {
		if i == len(c.words) || i < len(c.words) && strings.Contains(p, "...") {
			place = strings.Trim(p, "[].")
			break
		}
	}
	if place == "" && len(places) > 0 && strings.Contains(places[len(places)-1], "=") {
		place = places[len(places)-1]
	}
	if takes == takesServer {
		switch {
		case place == "TOOL":
			return c.tools(ctx), false
		case place == "URI":
			return c.uris(ctx, typed)
		case place == "PROMPT":
			return c.prompts(ctx), false
		case strings.HasPrefix(place, "ARG") && strings.Contains(form, " TOOL"):
			return c.toolArgument(ctx, typed)
		case strings.HasPrefix(place, "ARG"):
			return c.promptArgument(ctx, typed)
		}
	}
	switch c.cmd.Name() {
	case "close", "reconnect":
		return c.sh.names(), false
	case "use":
		words = c.sh.names()
		words = append(words, c.servers()...)
		return words, false
	}
	if c.cmd.ValidArgsFunction == nil {
		return nil, false
	}
	args := c.words
	if takes == takesServer {
		args = append([]string{c.sh.inUse()}, args...)
	}
	words, directive := c.cmd.ValidArgsFunction(c.cmd, args, typed)
	return words, directive&cobra.ShellCompDirectiveNoSpace != 0
}

// servers are the entries of the configuration that are not held.
func (c *completer) servers() []cobra.Completion {
	get, _, err := c.root.Find([]string{"ping"})
	if err != nil || get.ValidArgsFunction == nil {
		return nil
	}
	get.SetContext(c.cmd.Context())
	words, _ := get.ValidArgsFunction(get, c.words, "")
	return slices.DeleteFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "\t")
		return slices.Contains(c.sh.names(), name)
	})
}

// listed returns the tools of the server in use that its entry lets through.
func (c *completer) listed(ctx context.Context) []tool {
	list, err := c.s.Tools(ctx)
	if err != nil {
		return nil
	}
	return readTools(list, c.s.Server()).tools
}

func (c *completer) tools(ctx context.Context) []cobra.Completion {
	var words []cobra.Completion
	for _, t := range c.listed(ctx) {
		words = append(words, described(t.name, firstNonEmpty(render.FirstSentence(t.description), t.title)))
	}
	return words
}

func (c *completer) toolArgument(ctx context.Context, typed string) (words []cobra.Completion, nospace bool) {
	if key, value, assigned := strings.Cut(typed, "="); assigned && strings.HasPrefix(value, "@") {
		return files(key+"=@", value[1:])
	}
	for _, t := range c.listed(ctx) {
		if t.name == c.words[0] {
			words, directive := completeArgument(t.schema, c.words[1:], typed)
			return words, directive&cobra.ShellCompDirectiveNoSpace != 0
		}
	}
	return nil, false
}

// offeredPrompt is a prompt as servers list it. See the MCP specification, 2025-11-25, "Prompts", "Data Types".
type offeredPrompt struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Arguments   []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
	} `json:"arguments"`
}

func (c *completer) offeredPrompts(ctx context.Context) []offeredPrompt {
	var all []offeredPrompt
	for _, raw := range c.sh.offered.list(ctx, c.s, "prompts/list") {
		var p offeredPrompt
		if json.Unmarshal(raw, &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

func (c *completer) prompts(ctx context.Context) []cobra.Completion {
	var words []cobra.Completion
	for _, p := range c.offeredPrompts(ctx) {
		words = append(words, described(p.Name, firstNonEmpty(p.Description, p.Title)))
	}
	return words
}

// promptArgument completes an argument of a prompt: its name, and its value as the server does.
func (c *completer) promptArgument(ctx context.Context, typed string) (words []cobra.Completion, nospace bool) {
	name, given := c.flags["prompt"], c.words
	switch {
	case c.flags["resource"] != "":
		key, value, assigned := strings.Cut(typed, "=")
		if !assigned {
			for _, v := range variables(c.flags["resource"]) {
				words = append(words, v+"=")
			}
			return words, true
		}
		return c.ask(ctx, map[string]string{"type": "ref/resource", "uri": c.flags["resource"]}, key, value, key+"=", ""), false
	case name == "" && len(c.words) > 0:
		name, given = c.words[0], c.words[1:]
	}
	key, value, assigned := strings.Cut(typed, "=")
	if assigned {
		return c.ask(ctx, map[string]string{"type": "ref/prompt", "name": name}, key, value, key+"=", ""), false
	}
	for _, p := range c.offeredPrompts(ctx) {
		if p.Name != name {
			continue
		}
		for _, a := range p.Arguments {
			if slices.ContainsFunc(given, func(g string) bool { return gives(g, a.Name) }) {
				continue
			}
			about := a.Description
			if a.Required {
				about = strings.TrimSpace("required  " + about)
			}
			words = append(words, described(a.Name+"=", about))
		}
	}
	return words, true
}

// uris completes a resource: those that are listed, and those of templates, whose variables the server completes.
func (c *completer) uris(ctx context.Context, typed string) (words []cobra.Completion, nospace bool) {
	var r struct {
		URI         string `json:"uri"`
		Template    string `json:"uriTemplate"` //nolint:tagliatelle // as MCP has it
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
	}
	for _, raw := range c.sh.offered.list(ctx, c.s, "resources/list") {
		r.URI, r.Name, r.Title, r.Description = "", "", "", ""
		if json.Unmarshal(raw, &r) == nil && strings.HasPrefix(r.URI, typed) {
			words = append(words, described(r.URI, firstNonEmpty(r.Title, r.Description, r.Name)))
		}
	}
	for _, raw := range c.sh.offered.list(ctx, c.s, "resources/templates/list") {
		r.Template, r.Name, r.Title, r.Description = "", "", "", ""
		if json.Unmarshal(raw, &r) != nil {
			continue
		}
		literal, rest, has := strings.Cut(r.Template, "{")
		if !has {
			continue
		}
		if !strings.HasPrefix(typed, literal) {
			if strings.HasPrefix(literal, typed) {
				words, nospace = append(words, described(literal, firstNonEmpty(r.Title, r.Description, r.Template))), true
			}
			continue
		}
		name, after, _ := strings.Cut(rest, "}")
		if strings.ContainsAny(after, "{}") {
			after, nospace = "", true
		}
		args := map[string]string{"type": "ref/resource", "uri": r.Template}
		words = append(words, c.ask(ctx, args, strings.TrimLeft(name, "+#./;?&"), typed[len(literal):], literal, after)...)
	}
	return words, nospace && len(words) == 1
}

// variables are the names in a URI template. See RFC 6570.
func variables(template string) []string {
	var names []string
	for part := range strings.SplitSeq(template, "{") {
		inside, _, closed := strings.Cut(part, "}")
		if !closed {
			continue
		}
		for name := range strings.SplitSeq(strings.TrimLeft(inside, "+#./;?&"), ",") {
			names = append(names, strings.TrimRight(name, "*"))
		}
	}
	return names
}

// ask has the server complete the value of an argument. See the MCP specification, 2025-11-25, "Completion".
func (c *completer) ask(ctx context.Context, ref map[string]string, name, value, before, after string) []cobra.Completion {
	const method = "completion/complete"
	if caps := c.s.Stats().Info.Capabilities; caps == nil || caps.Completions == nil {
		return nil
	}
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": name, "value": value}}
	known := map[string]string{}
	for _, w := range c.words {
		if key, v, assigned := strings.Cut(w, "="); assigned {
			known[key] = v
		}
	}
	if len(known) > 0 {
		params["context"] = map[string]any{"arguments": known}
	}
	var answer struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	err := c.s.Do(ctx, session.Request{Name: method, Repeatable: true}, func(ctx context.Context, s *session.Session) error {
		raw, err := s.Raw(ctx, method, params)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &answer)
	})
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for _, v := range answer.Completion.Values {
		words = append(words, before+iostreams.SanitizeLine(v)+after)
	}
	return words
}
