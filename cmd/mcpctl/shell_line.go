package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/toolargs"
)

// argument says what of the server in use a command takes.
type argument int

const (
	// takesNone has nothing to do with it.
	takesNone argument = iota
	// takesServer has it put in as its first word.
	takesServer
	// maySelect has it put in if it is given no other.
	maySelect
)

// besides are the commands that can be used in a shell though they take no server.
func besides() []string { return []string{"list", "get", "version", "help"} }

// argumentOf reads from the form of a command what it takes.
func argumentOf(cmd *cobra.Command) argument {
	words := strings.Fields(cmd.Use)
	if len(words) < 2 {
		return takesNone
	}
	switch {
	case words[1] == "SERVER" && len(words) == 2: // there is nothing else that another word could be
		return maySelect
	case words[1] == "SERVER":
		return takesServer
	case strings.HasPrefix(words[1], "[SERVER"):
		return maySelect
	}
	return takesNone
}

// verbsOf returns the commands that can be used in a shell, by all their names, and what they take.
func verbsOf(root *cobra.Command) map[string]argument {
	verbs := map[string]argument{}
	for _, c := range root.Commands() {
		takes := argumentOf(c)
		if c.Name() == "shell" || takes == takesNone && !slices.Contains(besides(), c.Name()) && c.GroupID != groupShell {
			continue
		}
		if c.GroupID == groupShell {
			takes = takesNone // these know what is in use
		}
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			verbs[name] = takes
		}
	}
	return verbs
}

// lineWord returns where among the words the command stands, -1 if it does not.
func lineWord(words []string, cmd *cobra.Command) int {
	return slices.IndexFunc(words, func(w string) bool { return w == cmd.Name() || cmd.HasAlias(w) })
}

// run carries out the words of a line, and returns the exit code that it would have as a command of its own.
func (sh *shellState) run(ctx context.Context, words []string) int {
	a := sh.a
	a.args, a.filter, a.used, a.unread, a.reported, a.logger = words, nil, nil, codeOK, false, sh.logger
	if sh.base.config != "-" {
		a.config = nil // it may have been edited
	}
	out := sh.output()
	a.hideSecretWords()
	root := newCommands(a, "")
	sh.extend(root)
	a.global = sh.base
	args, err := sh.complete(root)
	if err == nil {
		a.args = args
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	a.reportFailure(ctx, root, err)
	code := a.finish(ctx, err)
	if out.end(); isBrokenPipe(err) {
		sh.over = true
	}
	a.io.Out = sh.out
	sh.remember()
	a.asks.Store(nil) // nobody expects a question between the lines
	return code
}

// remember notes of which sessions the line could tell.
func (sh *shellState) remember() {
	for _, status := range sh.pool.Status() {
		sh.mu.Lock()
		if _, held := sh.told[status.Server]; held {
			sh.told[status.Server] = status.Generation
		}
		sh.mu.Unlock()
	}
}

// lineOutput is standard output while a line is carried out.
type lineOutput interface {
	io.Writer
	// end ends what is left open.
	end()
}

// output puts what the line calls for in the place of standard output.
func (sh *shellState) output() lineOutput {
	var out lineOutput = &lineText{w: sh.out}
	if document := sh.document(); document != nil {
		out = document
	}
	sh.a.io.Out = out
	return out
}

// lineText is text, which ends with a line: the next command's begins on one of its own.
type lineText struct {
	w    io.Writer
	last byte
}

func (t *lineText) Write(p []byte) (int, error) {
	if n := len(p); n > 0 {
		t.last = p[n-1]
	}
	return t.w.Write(p)
}

func (t *lineText) end() {
	if t.last != 0 && t.last != '\n' {
		_, _ = io.WriteString(t.w, "\n") // whoever reads it has gone, or meets the error
	}
}

// document returns what standard output goes through in a script whose output is JSON, nil if it is another: what --jq
// lets through is no document.
func (sh *shellState) document() *lineDocument {
	a := sh.a
	if sh.talking || len(flagValues(a.args, "--jq", "-q")) > 0 || sh.base.jq != "" {
		return nil
	}
	before := a.global
	defer func() { a.global = before }()
	a.global = sh.base
	if formats := flagValues(a.args, "--output", "-o"); len(formats) > 0 && formats[len(formats)-1] != formatJSON || !a.json() {
		return nil
	}
	return &lineDocument{w: sh.out, line: sh.number}
}

// failing writes what tells of a failure: in a script that is a line, also where --jq lets nothing of it through. A nil shell
// writes it as it is.
func (sh *shellState) failing(write func() error) error {
	if sh == nil || sh.talking {
		return write()
	}
	before := sh.a.io.Out
	defer func() { sh.a.io.Out = before }()
	if _, is := before.(*lineDocument); !is {
		sh.a.io.Out = &lineDocument{w: before, line: sh.number}
	}
	return write()
}

// complete returns the words of the line with the server in them, and sets the flags that hold for all lines.
func (sh *shellState) complete(root *cobra.Command) ([]string, error) {
	a := sh.a
	words := a.args
	if words[0] == "mcpctl" {
		return nil, sh.withoutProgram(words)
	}
	cmd, _, err := root.Find(words)
	if err != nil || cmd == root || cmd.Parent() == nil {
		return words, nil // the command itself says what is wrong
	}
	a.defineFlags(cmd)
	top := cmd
	for top.Parent() != root {
		top = top.Parent()
	}
	takes, known := sh.verbs[top.Name()]
	if top.Name() == "help" && len(words) == 1 {
		return []string{"help", "shell"}, nil
	}
	if !known && !top.Hidden {
		a.shell = nil // the hint is for another shell
		defer func() { a.shell = sh }()
		return nil, usagef("%s is no command of the shell", top.Name()).hint("in another terminal: %s", line(quoted(words)))
	}
	at := lineWord(words, top)
	if at < 0 {
		return words, nil
	}
	for _, mine := range sh.defaults {
		if f := cmd.Flags().Lookup(mine.Name); f != nil {
			setLike(f, mine)
		}
	}
	if takes == takesNone || slices.Contains(words, "--help") || slices.Contains(words, "-h") {
		return words, nil
	}
	scanned := a.scan(cmd)
	positionals := 0
	for i, t := range scanned.tokens {
		switch t.kind {
		case tokenPositional:
			positionals++
		case tokenRest:
			if positionals == 0 && len(a.scanFlag(scanned.tokens[:i], "stdio")) == 0 && takesCommand(cmd) {
				return words, nil // -- COMMAND
			}
		case tokenFlag, tokenUnknown:
		}
	}
	switch {
	case len(a.scanFlag(scanned.tokens, "stdio")) > 0, cmd.Flags().Lookup("all") != nil && len(a.scanFlag(scanned.tokens, "all")) > 0:
		return words, nil
	case takes == maySelect && positionals > 0:
		return words, nil
	}
	name := sh.inUse()
	if name == "" {
		if takes == maySelect {
			return words, nil
		}
		return nil, usagef("no server is in use").hint("use NAME").hint("list shows the servers there are; demo is built in")
	}
	return slices.Insert(slices.Clone(words), at+1, name), nil
}

// takesCommand reports whether a command takes -- COMMAND in place of a server.
func takesCommand(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "-- COMMAND") }

// scanFlag returns the tokens that give a flag.
func (a *app) scanFlag(tokens []token, name string) []token {
	var given []token
	for _, t := range tokens {
		if flag, _, _ := strings.Cut(t.words[0], "="); t.kind != tokenRest && flag == "--"+name {
			given = append(given, t)
		}
	}
	return given
}

// setLike gives a flag the value of another.
func setLike(f, from *pflag.Flag) {
	if list, ok := from.Value.(pflag.SliceValue); ok {
		if to, ok := f.Value.(pflag.SliceValue); ok {
			_ = to.Replace(list.GetSlice()) // the other took it
			f.Changed = true
			return
		}
	}
	_ = f.Value.Set(from.Value.String()) // the other took it
	f.Changed = true
}

// withoutProgram refuses a line as it is typed elsewhere, with what it is here.
func (sh *shellState) withoutProgram(words []string) error {
	e := usagef("a line of the shell begins with the command, without mcpctl")
	if len(words) > 1 {
		e.hint("%s", line(quoted(words[1:])))
	}
	return e
}

// prepare checks the flags of a line that concern the whole shell.
func (sh *shellState) prepare(cmd *cobra.Command) error {
	a := sh.a
	for _, name := range []string{"config", "from", "trace"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return usagef("--%s holds for the whole shell, and is given where it is begun", name)
		}
	}
	if a.questions != nil {
		a.questions.Allowed = a.canPrompt()
	}
	for i, word := range a.args {
		if strings.HasSuffix(word, "=@-") || word == "-" && i > 0 && slices.Contains([]string{"--args", "--data", "-d"}, a.args[i-1]) ||
			word == "--args=-" || word == "--data=-" {
			return usagef("%s: standard input is what the shell reads its lines from", word).hint("@FILE")
		}
	}
	return nil
}

// speak returns a text as it is said in the shell: lines to paste leave out mcpctl and the server in use. A nil shell says
// it as it is.
func (sh *shellState) speak(text string) string {
	if sh == nil || !strings.Contains(text, "mcpctl ") {
		return text
	}
	return sh.said(text, "SERVER", toolargs.Quote(sh.inUse()))
}

// explain is speak for help, whose examples call the server demo, and some start others.
func (sh *shellState) explain(text string) string {
	if sh == nil {
		return text
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if example := strings.HasPrefix(l, "  mcpctl "); example && (strings.Contains(l, " -- ") || strings.Contains(l, " --stdio ")) {
			continue
		}
		b.WriteString(sh.said(l, "SERVER", demoName))
	}
	return b.String()
}

// said leaves out mcpctl before a verb, and the first of the words for the server behind one that takes it.
func (sh *shellState) said(text string, servers ...string) string {
	const program = "mcpctl "
	var b strings.Builder
	for l := range strings.Lines(text) {
		rest := l
		for {
			at := strings.Index(rest, program)
			if at < 0 {
				break
			}
			verb := rest[at+len(program):]
			if end := strings.IndexFunc(verb, func(r rune) bool { return r != '-' && r != '_' && (r < 'a' || r > 'z') }); end >= 0 {
				verb = verb[:end]
			}
			takes, known := sh.verbs[verb]
			if !known || verb == "" {
				b.WriteString(rest[:at+len(program)])
				rest = rest[at+len(program):]
				continue
			}
			b.WriteString(rest[:at] + verb)
			rest = rest[at+len(program)+len(verb):]
			if takes != takesNone {
				rest = withoutWord(rest, servers)
			}
		}
		b.WriteString(rest)
	}
	return b.String()
}

// withoutWord leaves out the first of the words that stands in a text by itself.
func withoutWord(text string, words []string) string {
	for _, word := range words {
		at := strings.Index(text, " "+word)
		if word == "" || at < 0 {
			continue
		}
		if end := at + 1 + len(word); end == len(text) || strings.ContainsRune(" \n:;,)", rune(text[end])) {
			return text[:at] + text[end:]
		}
	}
	return text
}

// adapt says a failure as it is said in the shell. A nil shell changes nothing.
func (sh *shellState) adapt(f *failure) {
	if sh == nil {
		return
	}
	for i, h := range f.hints {
		f.hints[i] = sh.speak(h)
	}
	for i, e := range f.evidence {
		f.evidence[i] = sh.speak(e)
	}
	f.said, f.Message, f.Hint = sh.speak(f.said), sh.speak(f.Message), strings.Join(f.hints, "\n")
}

// refuse tells what is wrong with a line that has no words.
func (sh *shellState) refuse(ctx context.Context, err error) int {
	a := sh.a
	a.args, a.filter, a.used, a.global, a.logger = nil, nil, nil, sh.base, sh.logger
	out := sh.output()
	code := a.finish(ctx, err)
	out.end()
	a.io.Out = sh.out
	return code
}

// lineDocument writes JSON documents on a line each, with the number of the line that asked for them. White space is all
// that is left out, so that everything else is what it was. It goes through them as they come.
type lineDocument struct {
	w    io.Writer
	line int

	depth   int
	quoted  bool
	escaped bool
	begun   bool
	// plain is set when what is written is no JSON.
	plain bool
}
