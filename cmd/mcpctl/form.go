package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/prompt"
	"github.com/mcpctl/mcpctl/internal/render"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// form asks a person at the terminal for the values of an object.
type form struct {
	// title says what the object is for, a line.
	title string
	// schema is the object's JSON Schema.
	schema json.RawMessage
	// given is an object with the values that are there already, nil for none. They are not asked for.
	given json.RawMessage
	// required leaves out what may be missing.
	required bool
}

// fill asks for what is missing, and returns the whole object. It returns [prompt.ErrNobody] if there is nobody to ask,
// [prompt.ErrCancelled] if the person does not want to, and a [*toolargs.UsageError] if what was filled in is not what
// the schema allows, and no field is left that could change it.
func (a *app) fill(ctx context.Context, f form) (json.RawMessage, error) {
	if !a.canPrompt() {
		return f.given, prompt.ErrNobody
	}
	object, err := toolargs.NewForm(f.schema, f.given)
	if err != nil {
		return f.given, err
	}
	if title := render.OneLine(f.title); title != "" {
		a.warn(render.Cut(title, a.errWidth()) + "\n")
	}
	w := formWalk{a: a, form: object, asked: map[string]bool{}}
	if err := w.object(ctx, nil, f.required); err != nil {
		return f.given, err
	}
	// Every value is right by itself. What is wrong with them together is asked for again.
	for optional := f.required; ; {
		err := object.Check()
		if err == nil {
			return object.JSON(), nil
		}
		again, cancelled := w.again(ctx, err)
		switch {
		case cancelled != nil:
			return f.given, cancelled
		case again:
		case !optional:
			return object.JSON(), err
		default: // perhaps one of those that may be missing is what is wanted
			a.warn(formProblem(err))
			optional = false
			if err := w.object(ctx, nil, false); err != nil {
				return f.given, err
			}
		}
	}
}

// formProblem is what is wrong with an object, in a line.
func formProblem(err error) string { return "  " + render.OneLine(err.Error()) + "\n" }

// formWalk is a form while it is filled in.
type formWalk struct {
	a    *app
	form *toolargs.Form
	// asked are the fields that have been answered, or left empty.
	asked map[string]bool
}

// object asks for the members of an object, as far as they are not there.
func (w *formWalk) object(ctx context.Context, inside []string, required bool) error {
	for _, field := range w.form.Fields(inside...) {
		there := w.form.Value(field)
		switch {
		case there != nil && field.Kind == toolargs.FieldObject && !w.asked[field.Name]:
			// What was given by hand is made complete, and not extended.
			if strings.HasPrefix(string(there), "{") {
				if err := w.object(ctx, field.Path, true); err != nil {
					return err
				}
			}
		case there != nil, w.asked[field.Name], required && (!field.Required || field.Default != nil):
		default:
			if err := w.ask(ctx, field, required); err != nil {
				return err
			}
		}
	}
	return nil
}

// again asks once more for the values that an error is about, and reports whether there were any.
func (w *formWalk) again(ctx context.Context, err error) (bool, error) {
	var all *toolargs.UsageError
	if !errors.As(err, &all) {
		return false, nil
	}
	problems := all.Problems
	if len(problems) == 0 {
		problems = []*toolargs.UsageError{all}
	}
	found := false
	for _, p := range problems {
		field, ok := w.find(nil, p.Param)
		if !ok {
			continue
		}
		found = true
		w.a.warn(formProblem(p))
		field.Required = true
		if text := w.form.Text(field); text != "" && !secretField(field) {
			field.Text = text
		}
		if err := w.ask(ctx, field, true); err != nil {
			return true, err
		}
	}
	return found, nil
}

// find returns the field of a path, as an error names it.
func (w *formWalk) find(inside []string, param string) (toolargs.Field, bool) {
	for _, field := range w.form.Fields(inside...) {
		name := strings.Join(field.Path, ".")
		if name == param && param != "" && field.Kind != toolargs.FieldObject {
			return field, true
		}
		if field.Kind == toolargs.FieldObject && strings.HasPrefix(param, name+".") {
			if found, ok := w.find(field.Path, param); ok {
				return found, true
			}
		}
	}
	return toolargs.Field{}, false
}

// ask asks for a value, and puts it in its place.
func (w *formWalk) ask(ctx context.Context, field toolargs.Field, required bool) error {
	w.asked[field.Name] = true
	var value json.RawMessage
	var err error
	switch field.Kind {
	case toolargs.FieldObject:
		return w.inside(ctx, field, required)
	case toolargs.FieldOne:
		value, err = w.one(ctx, field)
	case toolargs.FieldSeveral:
		value, err = w.several(ctx, field)
	case toolargs.FieldText:
		value, err = w.text(ctx, field)
	}
	if err != nil || value == nil {
		return err
	}
	w.form.Set(field, value)
	return nil
}

// inside asks for an object member by member: one that may be missing if it is wanted at all, and its members that may
// be missing if no other is there.
func (w *formWalk) inside(ctx context.Context, field toolargs.Field, required bool) error {
	must := slices.ContainsFunc(w.form.Fields(field.Path...), func(f toolargs.Field) bool { return f.Required && f.Default == nil })
	if !field.Required || !must {
		leave := prompt.Option{Label: "–", Description: "leave it out"}
		if field.Required {
			leave = prompt.Option{Label: "{}", Description: "leave it empty"}
		}
		chosen, err := w.a.asker().Choose(ctx, prompt.Choice{
			Question: fieldQuestion(field), Kind: fieldKind(field), About: field.Description,
			Options: []prompt.Option{leave, {Label: "fill it in"}},
		})
		if err != nil {
			return err
		}
		if chosen[0] == 0 {
			if field.Required {
				w.form.Set(field, json.RawMessage("{}"))
			}
			return nil
		}
	}
	if field.Required {
		w.form.Set(field, json.RawMessage("{}"))
	}
	return w.object(ctx, field.Path, required && must)
}

// one asks for one of the values that there are.
func (w *formWalk) one(ctx context.Context, field toolargs.Field) (json.RawMessage, error) {
	c := fieldChoice(field)
	c.Chosen = field.Chosen
	none := 0
	if !field.Required {
		none = 1
		c.Options = slices.Insert(c.Options, 0, prompt.Option{Label: "–", Description: "leave it out"})
		for i := range c.Chosen {
			c.Chosen[i]++
		}
	}
	chosen, err := w.a.asker().Choose(ctx, c)
	if err != nil || chosen[0] < none {
		return nil, err
	}
	return field.Choices[chosen[0]-none].Value, nil
}

// several asks for a list of the values that there are. If it may be missing, choosing none leaves it out, unless others
// are chosen by default.
func (w *formWalk) several(ctx context.Context, field toolargs.Field) (json.RawMessage, error) {
	c := fieldChoice(field)
	c.Many, c.Least, c.Most, c.Chosen = true, field.Least, field.Most, field.Chosen
	c.OrNone = !field.Required
	chosen, err := w.a.asker().Choose(ctx, c)
	if err != nil || len(chosen) == 0 && !field.Required && (len(field.Chosen) == 0 || field.Least > 0) {
		return nil, err
	}
	return field.Several(chosen), nil
}

// text asks for a value that is typed.
func (w *formWalk) text(ctx context.Context, field toolargs.Field) (json.RawMessage, error) {
	var help []string
	switch {
	case !field.Required:
		help = append(help, "enter alone leaves it out")
	case field.Null:
		help = append(help, "enter alone is null")
	}
	if field.Hint != "" {
		help = append(help, field.Hint)
	}
	var value json.RawMessage
	question := prompt.Field{
		Question: fieldQuestion(field), Kind: fieldKind(field), About: field.Description,
		Help: strings.Join(help, " · "), Value: field.Text, Hidden: secretField(field), Exact: field.Exact, Live: true,
	}
	question.Check = func(text string) (err error) {
		value = nil
		if text == "" && !field.Required {
			return nil
		}
		value, err = field.Parse(text)
		return err
	}
	text, err := w.a.asker().Input(ctx, question)
	if err != nil {
		return nil, err
	}
	if question.Hidden {
		w.a.redact.Add(text)
	}
	return value, nil
}

// fieldQuestion is the name of a field, with its title if that says something else.
func fieldQuestion(field toolargs.Field) string {
	title := render.OneLine(field.Title)
	if title == "" || strings.EqualFold(title, field.Name) {
		return field.Name
	}
	return title + " (" + field.Name + ")"
}

// fieldKind says what is wanted in a field, in words.
func fieldKind(field toolargs.Field) string {
	var words []string
	switch field.Kind {
	case toolargs.FieldOne:
	case toolargs.FieldSeveral:
		words = append(words, "any of these")
	default:
		words = append(words, field.Type)
	}
	words = append(words, field.Limits...)
	if !field.Required {
		words = append(words, "optional")
	}
	return strings.Join(words, ", ")
}

func fieldChoice(field toolargs.Field) prompt.Choice {
	c := prompt.Choice{Question: fieldQuestion(field), Kind: fieldKind(field), About: field.Description}
	for _, choice := range field.Choices {
		c.Options = append(c.Options, prompt.Option{Label: choice.Title, Description: choice.Description})
	}
	return c
}

// secretField reports whether what is typed in a field is kept off the screen: the schema says so, or its name does.
func secretField(field toolargs.Field) bool {
	if field.Kind != toolargs.FieldText {
		return false
	}
	return field.Hidden || field.Exact && secretArgument(field.Path)
}

// secretArgument reports whether the name of an argument says that its value is a secret. A key alone is one of a header
// or a variable, and of an argument it is what something is found by; and a token may be where a list goes on.
func secretArgument(names []string) bool {
	name := names[len(names)-1]
	if !config.LooksSecretName(name) {
		return false
	}
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
	has := func(text string) bool { return strings.Contains(name, text) }
	switch {
	case strings.HasSuffix(name, "key"):
		return slices.ContainsFunc([]string{"api", "secret", "private", "access", "auth", "sign", "encrypt", "licen"}, has)
	case strings.HasSuffix(name, "token"):
		return !slices.ContainsFunc([]string{"page", "next", "continu", "sync", "cursor"}, has)
	}
	return true
}

// missingArguments are arguments that lack some that are required.
type missingArguments struct {
	// title says what they are for.
	title string
	// schema is that of the whole.
	schema json.RawMessage
	// given are the arguments that the words made.
	given json.RawMessage
	// words, args and source are what the command line said: see [toolargs.Input].
	words  []string
	args   string
	source toolargs.Source
}

// askMissing asks for the arguments that are missing, and shows the line that would have done without. Secrets are not in
// it. The errors are those of [app.fill].
func (a *app) askMissing(ctx context.Context, m missingArguments) (json.RawMessage, error) {
	filled, err := a.fill(ctx, form{title: m.title, schema: m.schema, given: m.given, required: true})
	if err != nil {
		return filled, err
	}
	in := toolargs.Input{Words: m.words, Args: m.args, Schema: m.schema, Source: m.source}
	more, whole := toolargs.Complete(in, filled)
	secrets := secretPaths(m.schema, filled)
	var words []string
	if !whole {
		for _, word := range m.words {
			words = append(words, toolargs.Quote(word))
		}
	} else if len(secrets) > 0 {
		return filled, nil // there is no line without them
	}
	hidden := false
	for _, word := range more {
		if slices.ContainsFunc(secrets, func(path []string) bool { return slices.Equal(path, word.Path) }) {
			hidden = true
			continue
		}
		words = append(words, toolargs.Quote(word.Text))
	}
	text := "the same again: " + a.correctedArguments(m.words, words)
	if hidden {
		text += " (it asks for the secret)"
	}
	a.note(text)
	return filled, nil
}

// secretPaths returns the paths of the values that are kept off the screen.
func secretPaths(schema, object json.RawMessage) [][]string {
	f, err := toolargs.NewForm(schema, object)
	if err != nil {
		return nil
	}
	var paths [][]string
	var visit func(inside []string)
	visit = func(inside []string) {
		for _, field := range f.Fields(inside...) {
			switch {
			case f.Value(field) == nil:
			case field.Kind == toolargs.FieldObject:
				visit(field.Path)
			case secretField(field):
				paths = append(paths, field.Path)
			}
		}
	}
	visit(nil)
	return paths
}
