package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/session"
)

// The actions with which an elicitation is answered. See the MCP specification, 2025-11-25, "Elicitation", "Response
// Actions".
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

const (
	// noteLength is how much of a server's message a note shows, in characters: two lines of a terminal.
	noteLength = 160
	// messageLength is how much of it a person is shown who has to answer, in characters, and messageLines in lines: it has
	// to fit a screen with the question below it.
	messageLength = 1200
	messageLines  = 12
	// codeInvalidParams is that of JSON-RPC 2.0, section 5.1.
	codeInvalidParams = -32602
)

// answerFlags say what a server that asks something is answered.
type answerFlags struct {
	elicit     string
	elicitSet  []string
	sampleWith string
	roots      []string
	// held says that sessions are held, so that each line may answer otherwise.
	held bool
}

// nothing reports whether servers are offered no more than somebody who answers forms. They hide tools that ask for a model
// or for roots from such clients.
func (f *answerFlags) nothing() bool {
	return f.sampleWith == "" && len(f.roots) == 0
}

func (f *answerFlags) register(flags *pflag.FlagSet) {
	share(flags, askedKey, f.registerAnswers)
}

func (f *answerFlags) registerAnswers(flags *pflag.FlagSet) {
	flags.StringVar(&f.elicit, "elicit", "", "how to answer a form or a page: the `action` accept, decline or cancel")
	listVar(flags, &f.elicitSet, "elicit-set", "accept, with this `key=value` in the form; repeatable; other fields keep the form's defaults")
	flags.StringVar(&f.sampleWith, "sample-with", "", "run this `command` when the server asks for a model: it gets the request as JSON on stdin and prints the answer, text or a JSON object with content")
	listVar(flags, &f.roots, "root", "offer the directory `DIR`, or a file:// URI, to the server; DIR=NAME names it; repeatable")
}

// answers answers what the servers of a run ask.
type answers struct {
	a     *app
	flags answerFlags
	// source gives the files that --elicit-set names.
	source toolargs.Source
	// sampler is the command of --sample-with.
	sampler []string
	roots   json.RawMessage
	// turn is held by whoever asks the person: one question at a time.
	turn chan struct{}
	// used are the words of --elicit-set that a form had a place for.
	mu   sync.Mutex
	told map[string]bool
}

// answer prepares for what the servers of this run ask.
func (a *app) answer(ctx context.Context, f *answerFlags) error {
	n := &answers{a: a, flags: *f, turn: make(chan struct{}, 1), told: map[string]bool{}, source: toolargs.Source{ReadFile: readArgument}.Cached()}
	if f.elicit != "" && f.elicit != actionAccept && f.elicit != actionDecline && f.elicit != actionCancel {
		return usagef("--elicit %s: it is accept, decline or cancel", f.elicit)
	}
	if len(f.elicitSet) > 0 {
		if f.elicit != "" && f.elicit != actionAccept {
			return usagef("--elicit %s and --elicit-set: values go with accept only", f.elicit)
		}
		n.flags.elicit = actionAccept
		for _, word := range f.elicitSet {
			if elicitKey(word) == "" {
				return usagef("--elicit-set %s: it is not key=value", toolargs.Quote(word))
			}
		}
		for _, word := range f.elicitSet { // each by itself: only the form says whether a name may be there twice
			_, err := await(ctx, func() (json.RawMessage, error) {
				return toolargs.Build(toolargs.Input{Words: []string{word}, Source: n.source})
			})
			if err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil {
				return usagef("--elicit-set: %s", err)
			}
		}
	}
	offered := session.Answers{
		Refused: func(q session.Question) { a.answers.Load().refused(q) },
		Elicit: func(ctx context.Context, q session.Question) (json.RawMessage, error) {
			return a.answers.Load().elicit(ctx, q)
		},
	}
	if f.sampleWith != "" {
		var err error
		if n.sampler, err = a.samplerOf(f.sampleWith); err != nil {
			return err
		}
		offered.Sample = func(ctx context.Context, q session.Question) (json.RawMessage, error) {
			return a.answers.Load().sample(ctx, q)
		}
	}
	if len(f.roots) > 0 {
		var err error
		if n.roots, err = rootsOf(f.roots); err != nil {
			return err
		}
		offered.Roots = func(context.Context, session.Question) (json.RawMessage, error) {
			return a.answers.Load().roots, nil
		}
	}
	a.answers.Store(n)
	if a.shell != nil {
		return n.fitsHeld() // what is offered was said when the sessions were opened
	}
	d := a.quickDialer()
	d.Answers = offered
	switch {
	case n.flags.elicit != "", f.held, offered.Sample != nil, offered.Roots != nil, a.canPrompt():
		d.Listen = session.ListenWhenUsed
	case !a.listens: // what is declined in any case is not worth a stream
		d.Listen = session.ListenNever
	}
	return nil
}

// offerAsCall tells servers the same as call does, so that the list of their tools is the one that call has: some servers
// hide tools from clients that cannot be asked. Nothing is asked while tools are listed.
func (a *app) offerAsCall(ctx context.Context) error {
	if err := a.answer(ctx, &answerFlags{}); err != nil {
		return err
	}
	if a.shell == nil {
		a.quickDialer().Listen = session.ListenNever
	}
	return nil
}

// fitsHeld refuses what the servers of a shell have not been offered.
func (n *answers) fitsHeld() error {
	offered := n.a.quickDialer().Answers
	switch {
	case n.sampler != nil && offered.Sample == nil:
		return usagef("--sample-with: servers are told when they are opened whether there is a model").hint("mcpctl shell SERVER --sample-with COMMAND")
	case n.roots != nil && offered.Roots == nil:
		return usagef("--root: servers are told when they are opened whether there are roots").hint("mcpctl shell SERVER --root DIR")
	}
	return nil
}

// elicitKey is the key of a word of --elicit-set, "" if there is none.
func elicitKey(word string) string {
	key, _, found := strings.Cut(word, "=")
	if !found {
		return ""
	}
	return strings.TrimSuffix(key, ":")
}

// refused tells of a question that could not be asked here, and which flag allows it.
func (n *answers) refused(q session.Question) {
	switch q.Method {
	case session.MethodElicit:
		if e, err := parseElicitation(q.Params); err == nil {
			n.declined(q.Server, e)
		}
	case session.MethodSample:
		n.once(q.Server + " asks for a language model, and there is none; to give it one: --sample-with COMMAND")
	case session.MethodRoots:
		n.a.logger.Info("roots refused", "server", q.Server, "hint", "--root DIR offers one")
	}
}

// once writes a note that has not been written before.
func (n *answers) once(text string) {
	n.mu.Lock()
	told := n.told[text]
	n.told[text] = true
	n.mu.Unlock()
	if !told {
		n.a.note(render.OneLine(text))
	}
}

// elicitation is what a server wants to know. See the MCP specification, 2025-11-25, "Elicitation", "Protocol Messages".
type elicitation struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` //nolint:tagliatelle // the specification's
	URL     string          `json:"url"`
	ID      string          `json:"elicitationId"` //nolint:tagliatelle // the specification's
}

// elicitResult is the answer.
type elicitResult struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// emptySchema is the form of a server that only wants a yes.
const emptySchema = `{"type":"object","properties":{}}`

// parseElicitation reads a question, and says what is wrong with it.
func parseElicitation(params json.RawMessage) (elicitation, error) {
	var e elicitation
	bad := func(format string, args ...any) (elicitation, error) {
		return e, &session.RPCError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(params, &e); err != nil {
		return bad("elicitation: %v", err)
	}
	switch e.Mode {
	case "", "form":
		e.Mode = "form"
	case "url":
		if err := checkPage(e.URL); err != nil {
			return bad("elicitation: %v", err)
		}
		return e, nil
	default:
		return bad("elicitation: the mode %.40q is not known", e.Mode)
	}
	if len(e.Schema) == 0 || string(e.Schema) == "null" {
		e.Schema = json.RawMessage(emptySchema)
	}
	var schema struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(e.Schema, &schema); err != nil || schema.Type != nil && string(schema.Type) != `"object"` {
		return bad("elicitation: requestedSchema is not the schema of an object")
	}
	return e, nil
}

// elicit answers elicitation/create.
func (n *answers) elicit(ctx context.Context, q session.Question) (json.RawMessage, error) {
	e, err := parseElicitation(q.Params)
	if err != nil {
		n.once(q.Server + " asks something that cannot be answered: " + cutRunes(render.OneLine(err.Error()), noteLength))
		return nil, err
	}
	var r elicitResult
	switch {
	case n.flags.elicit == actionAccept && e.Mode == "url":
		n.once(fmt.Sprintf("%s asks to open %s (%s); accepted as --elicit says: open it yourself", q.Server, e.URL, hostOf(e.URL)))
		r.Action = actionAccept
	case n.flags.elicit == actionAccept:
		r = n.fromFlags(q.Server, e)
	case n.flags.elicit != "":
		r.Action = n.flags.elicit
	case n.a.canPrompt() && !q.Idle:
		r, err = n.ask(ctx, q, e)
	default:
		r.Action = actionDecline
		n.declined(q.Server, e)
	}
	if err != nil {
		return nil, err
	}
	n.a.logger.InfoContext(ctx, "asked", "server", q.Server, "message", cutRunes(e.Message, noteLength), "answer", r.Action)
	return compactJSON(r)
}

// declined tells of a question that nobody could be asked.
func (n *answers) declined(server string, e elicitation) {
	n.once(fmt.Sprintf("%s asks %s; declined, as there is nobody to ask; to answer: %s", server, n.short(e), flagsFor(e)))
}

// short is what a server asks, for a note.
func (n *answers) short(e elicitation) string {
	text := fmt.Sprintf("%q", cutRunes(render.OneLine(e.Message), noteLength))
	if e.Mode == "url" {
		return "to open " + e.URL + " (" + text + ")"
	}
	return text
}

// cutRunes cuts text to a number of characters.
func cutRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// mostFlags is how many values a note names: who has to give more looks at the form.
const mostFlags = 4

// flagsFor are the flags that answer a question.
func flagsFor(e elicitation) string {
	if e.Mode == "url" {
		return "--elicit accept"
	}
	params := toolargs.Params(e.Schema)
	wanted := slices.DeleteFunc(slices.Clone(params), func(p toolargs.Param) bool { return !p.Required || p.Default != nil })
	if len(wanted) == 0 && len(params) == 0 || len(wanted) == 0 && everyDefault(params) {
		return "--elicit accept"
	}
	if len(wanted) == 0 {
		wanted = params
	}
	var words []string
	for _, p := range wanted[:min(len(wanted), mostFlags)] {
		words = append(words, "--elicit-set "+toolargs.Quote(cutRunes(render.OneLine(p.Name), noteLength))+"=…")
	}
	if len(wanted) > mostFlags {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

func everyDefault(params []toolargs.Param) bool {
	return !slices.ContainsFunc(params, func(p toolargs.Param) bool { return p.Default == nil })
}

// fromFlags fills in a form with the values of --elicit-set and the form's defaults. A form that is not complete then is
// declined.
func (n *answers) fromFlags(server string, e elicitation) elicitResult {
	params := toolargs.Params(e.Schema)
	has := map[string]bool{}
	var names []string
	for _, p := range params {
		has[p.Name] = true
		names = append(names, render.OneLine(p.Name))
	}
	var words []string
	for _, word := range n.flags.elicitSet {
		key := elicitKey(word)
		name, _, _ := strings.Cut(key, ".")
		if has[key] || has[name] || has[strings.TrimSuffix(key, "[]")] {
			words = append(words, word)
			continue
		}
		what := "it has no fields"
		if len(names) > 0 {
			what = "it has " + cutRunes(strings.Join(names, ", "), noteLength)
		}
		n.once(fmt.Sprintf("--elicit-set %s: the form of %s has no %s; %s", toolargs.Quote(word), server, key, what))
	}
	content, err := toolargs.Build(toolargs.Input{Words: words, Schema: e.Schema, Source: n.source})
	if err == nil {
		content = withDefaults(content, params)
		err = checkForm(content, e.Schema)
	}
	if err != nil {
		usage := err.Error()
		n.once(fmt.Sprintf("%s asks %s; declined, as the answer is not complete: %s; to answer: %s", server, n.short(e), cutRunes(render.OneLine(usage), 2*noteLength), missingFlags(content, e)))
		return elicitResult{Action: actionDecline}
	}
	return elicitResult{Action: actionAccept, Content: content}
}

// missingFlags are the flags that complete an answer.
func missingFlags(content json.RawMessage, e elicitation) string {
	var words []string
	for _, p := range toolargs.Missing(content, e.Schema) {
		words = append(words, "--elicit-set "+toolargs.Quote(cutRunes(render.OneLine(p.Name), noteLength))+"=…")
	}
	if len(words) == 0 {
		return flagsFor(e)
	}
	return strings.Join(words[:min(len(words), mostFlags)], " ")
}

// checkForm checks the values of a form. What is required is, though it may have a default: that has been filled in.
func checkForm(content, schema json.RawMessage) error { return toolargs.Check(content, schema) }

// withDefaults adds the defaults of what is not there, in the order of the form.
func withDefaults(content json.RawMessage, params []toolargs.Param) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(content, &given) != nil {
		return content
	}
	out := bytes.TrimSuffix(bytes.Clone(bytes.TrimSpace(content)), []byte("}"))
	for _, p := range params {
		if _, there := given[p.Name]; there || p.Default == nil {
			continue
		}
		name, err := compactJSON(p.Name)
		if err != nil {
			return content
		}
		if len(given) > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), p.Default...)
		if given == nil {
			given = map[string]json.RawMessage{}
		}
		given[p.Name] = p.Default
	}
	return append(out, '}')
}

// ask has the person at the terminal answer.
func (n *answers) ask(ctx context.Context, q session.Question, e elicitation) (elicitResult, error) {
	var r elicitResult
	err := n.person(ctx, q, func(ctx context.Context) error {
		var err error
		if e.Mode == "url" {
			r.Action, err = n.visit(ctx, page{server: q.Server, message: e.Message, url: e.URL, id: e.ID, wait: q.Again})
			return err
		}
		r, err = n.askForm(ctx, q.Server, e)
		return err
	})
	return r, n.ended(ctx, q.Server, err, &r)
}

// person holds the terminal for a question, and lets the live line and the limits of time rest meanwhile.
func (n *answers) person(ctx context.Context, q session.Question, question func(context.Context) error) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-n.turn }()
	ctx, done := q.ByPerson(ctx)
	defer done()
	release := n.a.hush()
	defer release()
	return question(ctx)
}

// ended turns the end of a question that was not answered into an answer: Escape, Ctrl-C, a server that does not wait.
func (n *answers) ended(ctx context.Context, server string, err error, r *elicitResult) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, prompt.ErrInterrupted):
		if n.a.interrupt != nil {
			n.a.interrupt()
			<-ctx.Done() // the request's end withdraws the question; an answer could be quicker, and bring it to a good end
			return context.Cause(ctx)
		}
	case errors.Is(err, prompt.ErrNobody):
		n.once(server + " asks something, and the form cannot be shown here: declined")
		*r = elicitResult{Action: actionDecline}
		return nil
	case errors.Is(err, prompt.ErrCancelled):
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		n.once(fmt.Sprintf("%s was not answered within %s: cancelled", server, session.PersonLimit))
	case ctx.Err() != nil:
		n.once(server + " waits for the answer no more")
		return err
	default:
		return err
	}
	*r = elicitResult{Action: actionCancel}
	return nil
}

// say shows who asks, and what. Nothing of the server's begins a line.
func (n *answers) say(server, message string) {
	text := cutRunes(strings.TrimSpace(iostreams.Sanitize(message)), messageLength)
	lines := strings.Split(render.Wrap(text, n.a.io.Width(), "  "), "\n")
	if len(lines) > messageLines {
		lines = append(lines[:messageLines], "  …")
	}
	head := render.Screen{Colour: n.a.io.ColorEnabled(false)}.Paint(render.Strong, render.Cut(render.OneLine(server), n.a.io.Width()-len(" asks:")-1)+" asks:")
	n.a.warn(head + "\n" + strings.Join(lines, "\n") + "\n")
}

// secretive finds names of fields in which a server may not ask for anything: forms are no place for secrets. See the MCP
// specification, 2025-11-25, "Elicitation", "User Interaction Model".
func secretive(params []toolargs.Param) string {
	words := regexp.MustCompile(`(?i)passw|passphrase|secret|token|api_?-?key|private_?-?key|credential|card_?-?number|\bcvv\b|\bpin\b`)
	for _, p := range params {
		if words.MatchString(p.Name) {
			return p.Name
		}
	}
	return ""
}

// askForm has a person fill in a form.
func (n *answers) askForm(ctx context.Context, server string, e elicitation) (elicitResult, error) {
	n.say(server, e.Message)
	params := toolargs.Params(e.Schema)
	if name := secretive(params); name != "" {
		n.a.note(fmt.Sprintf("it asks for %q: servers may not ask for secrets in a form; decline if you are not sure", render.OneLine(name)))
	}
	if len(params) == 0 {
		action, err := n.choose(ctx, "Your answer to "+server, prompt.Option{Label: "Accept"})
		if action == actionAccept {
			return elicitResult{Action: actionAccept, Content: json.RawMessage("{}")}, err
		}
		return elicitResult{Action: action}, err
	}
	action, err := n.choose(ctx, "Your answer to "+server, prompt.Option{Label: "Fill in the form", Description: fields(params)})
	if err != nil || action != actionAccept {
		return elicitResult{Action: action}, err
	}
	schema := e.Schema
	for {
		content, err := n.a.fill(ctx, form{title: "For " + server, schema: schema})
		if err != nil {
			return elicitResult{}, err
		}
		if wrong := checkForm(content, e.Schema); wrong != nil {
			n.a.note(cutRunes(render.OneLine(wrong.Error()), 2*noteLength))
			schema = withValues(schema, content)
			continue
		}
		at, err := n.a.asker().Select(ctx, "Send this to "+server+"?", []prompt.Option{
			{Label: "Send", Description: string(content)}, {Label: "Change it"}, {Label: "Decline"}, {Label: "Cancel"},
		})
		if err != nil {
			return elicitResult{}, err
		}
		switch at {
		case 0:
			return elicitResult{Action: actionAccept, Content: content}, nil
		case 2:
			return elicitResult{Action: actionDecline}, nil
		case 3:
			return elicitResult{Action: actionCancel}, nil
		}
		schema = withValues(schema, content)
	}
}

// compactJSON is a value as it goes over the wire: on one line, with all text as it is.
func compactJSON(value any) (json.RawMessage, error) {
	raw, err := render.Marshal(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fields names what a form asks for.
func fields(params []toolargs.Param) string {
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// choose asks for one of the three actions.
func (n *answers) choose(ctx context.Context, question string, accept ...prompt.Option) (string, error) {
	at, err := n.a.asker().Select(ctx, question, append(slices.Clone(accept),
		prompt.Option{Label: "Decline", Description: "say no"}, prompt.Option{Label: "Cancel", Description: "say neither yes nor no"}))
	switch {
	case err != nil:
		return "", err
	case at < len(accept):
		return actionAccept, nil
	case at == len(accept):
		return actionDecline, nil
	}
	return actionCancel, nil
}

// withValues returns the schema of a form with the values that were given as its defaults, in the same order.
func withValues(schema, content json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(content, &values) != nil {
		return schema
	}
	return editMembers(schema, func(key string, properties json.RawMessage) json.RawMessage {
		if key != "properties" {
			return properties
		}
		return editMembers(properties, func(name string, property json.RawMessage) json.RawMessage {
			value, given := values[name]
			var members map[string]json.RawMessage
			if !given || json.Unmarshal(property, &members) != nil {
				return property
			}
			members["default"] = value
			changed, err := json.Marshal(members)
			if err != nil {
				return property
			}
			return changed
		})
	})
}

// editMembers returns an object with its members changed, in their order. What is no object stays.
func editMembers(object json.RawMessage, edit func(key string, value json.RawMessage) json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(strings.NewReader(string(object)))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return object
	}
	var members []string
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return object
		}
		encoded, err := compactJSON(name)
		if err != nil {
			return object
		}
		members = append(members, string(encoded)+":"+string(edit(name, value)))
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}
